"""Writing a report to a request, under a limit."""
