"""What this room adds to Pnyx."""

from __future__ import annotations

from typing import Final

from pnyx.core.rooms import CommandDoor, PageDoor

COMMANDS: Final = (
    CommandDoor(
        "nuggets",
        "pnyx.reports.nuggets_command:command",
        20,
        "Campaigns",
        "Draft nugget banks, merge them, and hold reports against them.",
    ),
    CommandDoor(
        "compare",
        "pnyx.reports.compare_command:command",
        30,
        "Campaigns",
        "Compare leaderboards with each other and with people's.",
    ),
    CommandDoor(
        "report",
        "pnyx.reports.commands:command",
        90,
        "Documents",
        "Write reports to requests, with citations, under a limit.",
    ),
    CommandDoor("judge report", "pnyx.reports.judge_command:command", 10),
    CommandDoor("measure report", "pnyx.reports.measure_command:report", 60),
)

PAGES: Final = (PageDoor("pnyx.reports.pages.report:PAGES", 40),)
