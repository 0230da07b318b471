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
        "Run the main task on the bundled example, or write its files.",
    ),
    CommandDoor(
        "doctor",
        "pnyx.housekeeping.doctor:command",
        10,
        "Housekeeping",
        "Show what is installed, and what an endpoint supports.",
    ),
    CommandDoor(
        "files",
        "pnyx.housekeeping.files_command:command",
        20,
        "Housekeeping",
        "Split, collect, check, convert, repeat and merge files.",
    ),
    CommandDoor("files validate", "pnyx.housekeeping.validate:command", 30),
    CommandDoor("files convert", "pnyx.housekeeping.convert:command", 40),
    CommandDoor("files repeat", "pnyx.housekeeping.repeat:command", 50),
    CommandDoor("files merge", "pnyx.housekeeping.merge_command:command", 60),
    CommandDoor(
        "store",
        "pnyx.housekeeping.store:command",
        50,
        "Housekeeping",
        "Show, clean and export the judgement store.",
    ),
    CommandDoor(
        "prompt",
        "pnyx.housekeeping.prompt:command",
        60,
        "Housekeeping",
        "List the packaged prompts, or show the exact request to a model.",
    ),
)
