"""What this room adds to Pnyx."""

from __future__ import annotations

from typing import Final

from pnyx.core.rooms import CommandDoor

COMMANDS: Final = (
    CommandDoor("files split", "pnyx.crawl.commands:split", 10),
    CommandDoor("files web", "pnyx.crawl.commands:web", 20),
)
