"""What this room adds to Pnyx."""

from __future__ import annotations

from typing import Final

from pnyx.core.rooms import CommandDoor

COMMANDS: Final = (
    CommandDoor(
        "corpus",
        "pnyx.crawl.commands:command",
        80,
        "Documents",
        "Split documents into passages, or build a corpus from the web.",
    ),
)
