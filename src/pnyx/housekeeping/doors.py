"""What this room adds to Pnyx."""

from __future__ import annotations

from typing import Final

from pnyx.core.rooms import CommandDoor

COMMANDS: Final = (
    CommandDoor(
        "demo",
        "pnyx.housekeeping.demo:command",
        10,
        "Documents",
        "Run the main task on the bundled example: search, argue both sides, judge, report.",
    ),
    CommandDoor(
        "doctor",
        "pnyx.housekeeping.doctor:command",
        10,
        "Housekeeping",
        "Show what is installed, what an endpoint supports, and what will be used.",
    ),
    CommandDoor(
        "validate",
        "pnyx.housekeeping.validate:command",
        20,
        "Housekeeping",
        "Check a file against its format.",
    ),
    CommandDoor(
        "convert",
        "pnyx.housekeeping.convert:command",
        30,
        "Housekeeping",
        "Convert between equivalent formats, without loss.",
    ),
    CommandDoor(
        "repeat",
        "pnyx.housekeeping.repeat:command",
        40,
        "Housekeeping",
        "Reproduce results from their record, and compare them byte by byte.",
    ),
    CommandDoor(
        "store",
        "pnyx.housekeeping.store:command",
        50,
        "Housekeeping",
        "Inspect, clean, export and merge judgement stores.",
    ),
    CommandDoor(
        "prompt",
        "pnyx.housekeeping.prompt:command",
        60,
        "Housekeeping",
        "Show the packaged prompts and the exact requests to a model.",
    ),
)
