"""What this room adds to Pnyx."""

from __future__ import annotations

from typing import Final

from pnyx.core.rooms import CommandDoor, PageDoor

RUN_MEASURES: Final = ("pnyx.perspectives.measures.mrecall",)
"""Modules that register a measure with ir-measures when they are imported."""

COMMANDS: Final = (
    CommandDoor("compare retrievers", "pnyx.perspectives.retrievers_command:command", 20),
    CommandDoor("measure perspectives", "pnyx.perspectives.measure_command:perspectives", 20),
)

PAGES: Final = (PageDoor("pnyx.perspectives.pages:PAGES", 90),)
