"""The exit statuses of commands other than 0 and 1."""

from typing import Final

EXIT_BAD_INPUT: Final = 2
EXIT_UNSCORED: Final = 3
"""Finished, but something is unscored."""
EXIT_INTERRUPTED: Final = 130
