"""Reader of judged reports: `reports.jsonl` of `pnyx judge report`, or lines of Auto-ARGUE."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import parse_json_object
from pnyx.core.records import NODES
from pnyx.formats.base import located, parse_rows, scan_json_objects, strict, unique
from pnyx.formats.reports.judged_report import JudgedReport, report_adapter
from pnyx.judging.verdicts import file_of
from pnyx.reports.tree import auto_argue

REPORTS = "reports.jsonl"
"""Name of the file in a results folder."""


def read_judged_reports(path: str | Path) -> Iterator[JudgedReport]:
    """Yield the judged reports of a results folder, its `reports.jsonl` or `-`, streaming.

    Unknown fields are ignored. InputError at the first error: a field is missing or has the wrong
    type, an answer refers to a nugget that the report does not list, a run has two reports on a
    topic, or the file holds none.
    """
    file = file_of(path, (REPORTS,))
    rows = parse_rows(scan_json_objects(file), _report, file)
    once = unique(rows, lambda r: (r.run_id, r.topic_id), file, "run and topic")
    yield from (report for _, report in strict(once, file, "judged reports"))


_ODD = ("\\u", "NaN", "Infinity")
_HUGE = re.compile(r"[0-9][eE]\+?[0-9]{3}")


def judged_report_at(text: str, path: str, line: int) -> JudgedReport:
    """Return the report in a line of a file; InputError with its position."""
    # In one step, unless it may hold something that JSON or a text file cannot.
    if not (any(odd in text for odd in _ODD) or _HUGE.search(text)):
        with contextlib.suppress(ValueError):
            report: JudgedReport = report_adapter().validate_json(text, strict=True)
            with contextlib.suppress(InputError):
                _check(report)
                return report
    row = parse_json_object(text, path=path, number=line)
    try:
        return _report(row)
    except InputError as error:
        raise located(error, path, line) from error


def _report(row: Mapping[str, Any]) -> JudgedReport:
    """Return the report in a line; InputError without its position: see above."""
    from pydantic import ValidationError

    if row.keys() >= auto_argue.KEYS:
        return auto_argue.report_of(row)
    try:
        # Strict, with JSON's types: lists become tuples, and nothing else is converted.
        report: JudgedReport = report_adapter().validate_json(json.dumps(row), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = shorten(".".join(map(str, first["loc"])), 100)
        if first["type"] == "missing":
            raise InputError(f"no {path}, expected a judged report") from None
        expected = first["msg"].removeprefix("Input should be ")
        value = shorten(json.dumps(first["input"], ensure_ascii=False), 60)
        raise InputError(f"{path}: found {value}, expected {expected}") from None
    _check(report)
    return report


def _check(report: JudgedReport) -> None:
    """Raise InputError if a report contradicts itself."""
    answers = {nugget.id: len(nugget.answers) for nugget in report.nuggets}
    if len(answers) < len(report.nuggets):
        ids = [nugget.id for nugget in report.nuggets]
        twice = next(twin for twin in ids if ids.count(twin) > 1)
        raise InputError(f"nuggets: found the id {shorten(twice, 40)!r} twice, expected it once")
    if report.missing and report.sentences:
        raise InputError("missing: found true, expected a missing report to have no sentences")
    for number, sentence in enumerate(report.sentences):
        for nugget, n in sentence.answers:
            if not 0 <= n < answers.get(nugget, 0):
                problem = f"answer {n} of nugget {shorten(nugget, 40)!r}"
                raise InputError(
                    f"sentences.{number}.answers: found {problem}, which is not listed"
                )
        if sentence.repeats is not None and not _is_repeated(report, sentence.repeats):
            problem = f"found {sentence.repeats}, expected the position of a sentence that is new"
            raise InputError(f"sentences.{number}.repeats: {problem}")
        unknown = next((node for node in sentence.findings if node not in NODES), None)
        if unknown is not None:
            expected = ", ".join(NODES)
            problem = shorten(unknown, 40)
            raise InputError(f"sentences.{number}.findings: found {problem!r}, expected {expected}")


def _is_repeated(report: JudgedReport, position: int) -> bool:
    in_report = 0 <= position < len(report.sentences)
    return in_report and report.sentences[position].repeats is None
