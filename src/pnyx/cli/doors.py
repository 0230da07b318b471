"""What this room adds to Pnyx."""

from __future__ import annotations

from typing import Final

from pnyx.core.rooms import CommandDoor

COMMANDS: Final = (
    CommandDoor(
        "results",
        "pnyx.cli.results:command",
        50,
        "Campaigns",
        "Merge the shares of a run that several machines judged (--shard).",
    ),
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
    CommandDoor(
        "calibrate",
        "pnyx.cli.calibrate:command",
        50,
        "Judges",
        "Recalibrate a judge's probabilities on labels, and find thresholds for reliable answers.",
    ),
    CommandDoor(
        "sample",
        "pnyx.cli.sample:command",
        60,
        "Judges",
        "Draw questions for people to label: at random, or where judges differ.",
    ),
    CommandDoor("measure thresholds", "pnyx.cli.measure.annotations:thresholds", 40),
    CommandDoor("measure amount", "pnyx.cli.measure.annotations:amount", 50),
)
