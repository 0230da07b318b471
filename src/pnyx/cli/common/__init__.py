"""What commands share: options, progress, plans, exit statuses."""

EXIT_BAD_INPUT = 2
EXIT_UNSCORED = 3
"""Finished, but something is unscored."""
EXIT_INTERRUPTED = 130
