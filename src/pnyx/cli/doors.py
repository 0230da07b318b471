"""What this room adds to Pnyx."""

from __future__ import annotations

from typing import Final

from pnyx.core.rooms import CommandDoor

COMMANDS: Final = (
    CommandDoor(
        "judge",
        "pnyx.cli.judge:command",
        20,
        "Judges",
        "Ask a judge about each item of a file.",
    ),
    CommandDoor(
        "measure",
        "pnyx.cli.measure.commands:command",
        30,
        "Judges",
        "Measure answers against labels, and runs against qrels, with confidence intervals.",
    ),
    CommandDoor("judge calibrate", "pnyx.cli.calibrate:command", 30),
    CommandDoor("label sample", "pnyx.cli.sample:command", 10),
    CommandDoor("measure thresholds", "pnyx.cli.measure.annotations:thresholds", 40),
    CommandDoor("measure amount", "pnyx.cli.measure.annotations:amount", 50),
)
