"""What this room adds to Pnyx."""

from __future__ import annotations

from typing import Final

from pnyx.core.rooms import CommandDoor

COMMANDS: Final = (
    CommandDoor(
        "argue",
        "pnyx.cases.commands:command",
        30,
        "Documents",
        "Argue both sides of a question, with citations.",
    ),
)
