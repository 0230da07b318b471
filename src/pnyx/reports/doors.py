"""What this room adds to Pnyx."""

from __future__ import annotations

from typing import Final

from pnyx.core.rooms import CommandDoor, PageDoor, ReaderDoor

MERGED_RESULTS: Final = {"plan": "pnyx.reports.runs:merge_reports"}
"""Field of a manifest -> function that merges the shares of such results, besides their answers."""

SAMPLED: Final = {"judge report": "pnyx.reports.sampling:questions_of_record"}
"""Command -> function that reconstructs its questions from its record."""

COMMANDS: Final = (
    CommandDoor(
        "nuggets",
        "pnyx.reports.nuggets_command:command",
        20,
        "Campaigns",
        "Draft nugget banks, merge them, and compare reports with them.",
    ),
    CommandDoor(
        "compare",
        "pnyx.reports.compare_command:command",
        30,
        "Campaigns",
        "Compare leaderboards with each other and with people's labels.",
    ),
    CommandDoor(
        "report",
        "pnyx.reports.commands:command",
        90,
        "Documents",
        "Write reports on requests, with citations, within a limit.",
    ),
    CommandDoor("judge report", "pnyx.reports.judge_command:command", 10),
    CommandDoor("measure report", "pnyx.reports.measure_command:report", 60),
)

MEASURED_BY: Final = {"reports.jsonl": "report"}
"""File in a results folder -> word of `pnyx measure` that measures such results."""

PAGES: Final = (PageDoor("pnyx.reports.pages.report:PAGES", 40),)

READERS: Final = {
    "reports": ReaderDoor(
        "pnyx.reports.pages.judged_reader:read_reports",
        "results",
        file="reports.jsonl",
        recognise="pnyx.reports.pages.judged_reader:is_judged_reports",
    ),
}
"""Part of a source -> its reader."""

REPORTS: Final = {"judged": "pnyx.reports.pages.judged_texts:JudgedTexts"}
"""Kind of a report in the catalogue -> its `web.results.report_texts.ReportTexts`."""

COMPARISONS: Final = {"reports": "pnyx.reports.pages.report_pair:show_reports"}
"""What is compared -> the function that makes the page of two."""

DEFINITIONS: Final = ("pnyx.reports.pages.measure_definitions:with_reports",)
"""Functions that add the definitions of this room's measures to those of a table."""
