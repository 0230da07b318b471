"""What this room adds to Pnyx."""

from __future__ import annotations

from typing import Final

from pnyx.core.rooms import CommandDoor, MeasureDoor

COMMANDS: Final = (
    CommandDoor(
        "check",
        "pnyx.audit.check_command:command",
        10,
        "Judges",
        "Can a judge be trusted? Its verdicts against people's labels.",
    ),
    CommandDoor(
        "audit",
        "pnyx.audit.commands:command",
        40,
        "Judges",
        "Test a judge with trials, and write its card.",
    ),
)

MEASURED: Final = {
    "preference": MeasureDoor(
        "pnyx.audit.preferences:measure_preferences", frozenset(("labels", "draws", "seed"))
    ),
}
"""Task -> how `pnyx measure RESULTS` measures its answers."""

DOCUMENTS: Final = ("pnyx.audit.pages.trials:TRIALS", "pnyx.audit.pages.cards:CARDS")
