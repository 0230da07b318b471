"""Reports to a request: evidence gathered by several searches, written under a hard limit."""
