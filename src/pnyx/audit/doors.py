"""What this room adds to Pnyx."""

from __future__ import annotations

from typing import Final

from pnyx.core.rooms import CommandDoor

COMMANDS: Final = (
    CommandDoor(
        "check",
        "pnyx.audit.check_command:command",
        10,
        "Judges",
        "Can a judge be trusted? Its verdicts against people's labels, in one table.",
    ),
    CommandDoor(
        "audit",
        "pnyx.audit.commands:command",
        40,
        "Judges",
        "Test a judge with trials, and write its card.",
    ),
    CommandDoor("compare judges", "pnyx.audit.compare_judges:judges", 10),
    CommandDoor("measure preference", "pnyx.audit.preference_command:preference", 70),
)

DOCUMENTS: Final = ("pnyx.audit.pages.trials:TRIALS", "pnyx.audit.pages.cards:CARDS")
