"""What this room adds to Pnyx."""

from __future__ import annotations

from typing import Final

from pnyx.core.rooms import CommandDoor, PageDoor

COMMANDS: Final = (CommandDoor("judge dimensions", "pnyx.quality.commands:dimensions", 20),)

PAGES: Final = (PageDoor("pnyx.quality.pages:PAGES", 80),)
