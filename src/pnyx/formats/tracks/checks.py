"""Checking a file of responses or requests against the rules of a track."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import Question
from pnyx.formats.base import Row, scan_json_objects
from pnyx.formats.tracks.requests import ReportRequest, request_of
from pnyx.formats.tracks.responses import Submitted, problems_of, submitted
from pnyx.formats.tracks.rules import Finding, TrackRules

_LISTED = 12
_OURS = ("sentences_key",)
"""Warnings in every track: autojudge-base accepts either name."""


def _found(
    rules: TrackRules, category: str, problem: str, line: int | None = None, topic: str = ""
) -> Finding:
    mild = category in rules.smells or category in _OURS
    return Finding(category, problem, "warning" if mild else "error", line, topic)


def check_run(
    path: str, rules: TrackRules, requests: Mapping[str, ReportRequest] | None = None
) -> Iterator[int | Finding]:
    """Yield the line of each readable response, and all findings.

    Args:
        path: JSON Lines; `-` is standard input.
        rules: the track's.
        requests: topic id -> its request, if they are known: with them limits of requests, texts
            of topics and missing and unknown topics are checked, too.

    Raises:
        InputError: the file cannot be read at all.
    """
    checked = _Run(rules, requests or {})
    empty = True
    for row in scan_json_objects(path):
        empty = False
        if isinstance(row, InputError):
            yield Finding("structural", row.problem, line=row.line)
            continue
        line, values = row
        try:
            response = submitted(values, rules)
        except InputError as error:
            yield Finding("structural", error.problem, line=line)
            continue
        yield line
        yield from checked.response(line, response)
    if empty:
        yield Finding("structural", "holds no responses")
    yield from checked.missing()


class _Run:
    """Checks across responses."""

    def __init__(self, rules: TrackRules, requests: Mapping[str, ReportRequest]) -> None:
        self._rules, self._requests = rules, requests
        self._lines: dict[str, dict[str, int]] = {}

    def response(self, line: int, response: Submitted) -> Iterator[Finding]:
        """Yield the findings for the next response."""
        rules, topic = self._rules, response.topic_id
        for category, problem in problems_of(response, rules, self._requests.get(topic)):
            yield _found(rules, category, problem, line, topic)
        if rules.one_run and self._lines and response.run_id not in self._lines:
            run_id, first = shorten(response.run_id, 40), shorten(next(iter(self._lines)), 40)
            problem = f"run_id: found {run_id!r}, expected {first!r} as before"
            yield _found(rules, "run_id_mixed", problem, line, topic)
        seen = self._lines.setdefault(response.run_id, {})
        if topic and seen.setdefault(topic, line) != line:
            problem = f"topic {shorten(topic, 40)!r} again, first in line {seen[topic]}"
            yield _found(rules, "duplicate_topics", problem, line, topic)
        yield from self._about(line, response, topic)

    def _about(self, line: int, response: Submitted, topic: str) -> Iterator[Finding]:
        if not self._requests or not topic:
            return
        request = self._requests.get(topic)
        if request is None:
            problem = f"topic {shorten(topic, 40)!r} is not among the requests"
            yield _found(self._rules, "new_topics", problem, line, topic)
            return
        field = self._rules.narrative_field
        if self._rules.require_exact_narrative and response.metadata.get(field) != request.title:
            problem = f"{field}: found {shorten(response.metadata.get(field), 40)}"
            problem += f", expected {shorten(request.title, 40)!r}"
            yield _found(self._rules, "narrative", problem, line, topic)

    def missing(self) -> Iterator[Finding]:
        """Yield the topics without a response."""
        for run_id, lines in self._lines.items():
            left = [topic for topic in self._requests if topic not in lines]
            if not left:
                continue
            of = f"run {shorten(run_id, 40)}: " if len(self._lines) > 1 else ""
            listed = ", ".join(shorten(topic, 40) for topic in left[:_LISTED])
            more = f" and {len(left) - _LISTED} more" if len(left) > _LISTED else ""
            count = f"{len(left)} of {len(self._requests)} topics have no response"
            yield _found(self._rules, "missing_topics", f"{of}{count}: {listed}{more}")


def check_requests(rows: Iterable[Row[Question]], rules: TrackRules) -> Iterator[int | Finding]:
    """Yield the line of each request, and fields missing for checks of the track's reports."""
    for row in rows:
        if isinstance(row, InputError):
            yield Finding("structural", row.problem, line=row.line)
            continue
        line, question = row
        try:
            request = request_of(question)
        except InputError as error:
            yield Finding("structural", error.problem, line=line, topic=question.id)
            continue
        yield line
        field = rules.length_limit_request_field
        if rules.length_limit is None and field and getattr(request, field, None) is None:
            problem = f"no {field}: the length of its report cannot be checked"
            yield Finding("length", problem, "warning", line, request.id)
