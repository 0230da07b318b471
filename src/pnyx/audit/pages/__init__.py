"""Pages of trials and of compared judges."""
