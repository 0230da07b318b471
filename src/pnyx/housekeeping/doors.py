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
        "files",
        "pnyx.housekeeping.files_command:command",
        20,
        "Housekeeping",
        "Split, collect, check, convert, repeat and merge files of documents and results.",
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
        "Show, clean and export the judgement store, which keeps the replies of models.",
    ),
    CommandDoor(
        "prompt",
        "pnyx.housekeeping.prompt:command",
        60,
        "Housekeeping",
        "List the packaged prompts, or show the exact request to a model.",
    ),
)
