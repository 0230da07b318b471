"""What this room adds to Pnyx."""

from __future__ import annotations

from typing import Final

from pnyx.core.rooms import CommandDoor, PageDoor, ReaderDoor

MERGED_RESULTS: Final = {"plan": "pnyx.reports.runs:merge_reports"}
"""Field of a manifest -> what puts the shares of such results together, beside their answers."""

SAMPLED: Final = {"judge report": "pnyx.reports.sampling:questions_of_record"}
"""Command -> the questions that it asks again, of its record."""

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

READERS: Final = {
    "reports": ReaderDoor(
        "pnyx.reports.pages.judged_reader:read_reports",
        "results",
        file="reports.jsonl",
        recognise="pnyx.reports.pages.judged_reader:is_judged_reports",
    ),
}
"""Part of a source -> what reads it."""

REPORTS: Final = {"judged": "pnyx.reports.pages.judged_texts:JudgedTexts"}
"""Kind of a report in the catalogue -> its `web.results.report_texts.ReportTexts`."""

COMPARISONS: Final = {"reports": "pnyx.reports.pages.report_pair:show_reports"}
"""What is compared -> what makes the page of two."""

DEFINITIONS: Final = ("pnyx.reports.pages.measure_definitions:with_reports",)
"""What adds the definitions of this room's measures to those of a table."""
