"""Lines that report on written reports and merged nuggets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pnyx.core.errors import count_of, escaped, shorten

if TYPE_CHECKING:
    from pnyx.reports.nuggets.merge import MergedBanks
    from pnyx.reports.writing.report import Report


def apart_lines(merged: MergedBanks) -> list[str]:
    """Return lines on questions of merged nugget banks that ask the same but stay separate."""
    return [
        f"{escaped(row['topic_id'], 40)}: {shorten(row['first']['text'], 60)!r} "
        f"({escaped(row['first']['bank'], 40)}) and {shorten(row['second']['text'], 60)!r} "
        f"({escaped(row['second']['bank'], 40)}) ask the same but stay separate: {row['apart']}"
        for row in merged.apart
    ]


def report_line(report: Report) -> str:
    """Return one line about a report."""
    from pnyx.cases.page.notes import said_of_precision

    name, count = escaped(report.request.id, 60), len(report.response.sentences)
    if report.no_evidence:
        so = "the report says so" if count else "the limit is too short to say so"
        return f"{name}: no evidence was found, {so}"
    if report.failed:
        return f"{name}: nothing usable was written"
    count -= report.negative
    line = f"{name}: {count_of(count, 'sentence')} from "
    line += f"{len(report.response.references)} of {len(report.gathered.documents)} documents"
    line += said_of_precision(report.response, report.support, report.measures)
    if report.without_evidence:
        parts = "; ".join(shorten(part, 80) for part in report.without_evidence)
        line += f"; no evidence on {len(report.without_evidence)} parts: {parts}"
    return line


def report_rows(
    reports: Sequence[Report], rows: Sequence[dict[str, Any]], index: str
) -> dict[str, Any]:
    """Return reports with their rows in a run, for JSON."""
    return {
        "index": index,
        "reports": [
            {
                "request": report.request.id,
                "response": row,
                "limit": str(report.limits),
                "queries": [query.text for query in report.gathered.queries],
                "relevance": report.gathered.relevance,
                "no_evidence": report.no_evidence,
                "without_evidence": list(report.without_evidence),
                "failed": report.failed,
                "measures": {name: m.row() for name, m in report.measures.items()},
                "judges": dict(report.judges),
                "problems": list(report.problems),
                "settings": dict(report.settings),
            }
            for report, row in zip(reports, rows, strict=True)
        ],
    }
