"""Pages of judged reports."""
