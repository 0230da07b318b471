"""Pages of trials and of judges' cards."""
