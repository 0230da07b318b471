"""What this room adds to Pnyx."""

from __future__ import annotations

from typing import Final

from pnyx.core.rooms import CommandDoor

COMMANDS: Final = (
    CommandDoor(
        "annotate",
        "pnyx.relevance.commands:command",
        10,
        "Campaigns",
        "Annotate relevance at scale, and train a small judge.",
    ),
)
