"""Reads judged reports into the catalogue of `pnyx view`, and measures them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pnyx.core.errors import InputError
from pnyx.core.files import MAX_LINE_BYTES, clean_text, open_text
from pnyx.core.nuggets import NuggetBank
from pnyx.core.restricted_mode import hides_text
from pnyx.formats.reports.judged_report import ANSWERED_ONLY, JudgedReport, JudgedSentence
from pnyx.reports.measures.registry import SHOWN, measure_report
from pnyx.reports.measures.report_measures import means_over_topics
from pnyx.reports.pages.judged_texts import read_banks
from pnyx.reports.tree import auto_argue
from pnyx.reports.tree.report_reader import judged_report_at
from pnyx.stats.base import Measured
from pnyx.web.results.builder import Builder
from pnyx.web.results.measure_reader import MICRO
from pnyx.web.results.reader import lines_of
from pnyx.web.results.sources import GivenSource

_STATES: Final = ("unscored", "penalty", "reward", "neutral")
"""States of a sentence; with several steps, the first of these counts."""

_POOLED: Final = ("sentence_precision", "citation_precision", "citation_relevance",
                  "citation_recall", "nugget_recall")  # fmt: skip


def is_judged_reports(path: Path) -> bool:
    """Return whether a file holds judged reports, by its first line."""
    with open_text(path) as stream:
        head = stream.readline(MAX_LINE_BYTES)
    if (
        head.startswith(auto_argue.BEGINNING.encode()) and b'"judgment_type_id"' in head
    ):  # Auto-ARGUE's format
        return True
    if not all(key in head for key in (b'"sentences"', b'"nuggets"', b'"run_id"', b'"relevant"')):
        return False
    try:
        row = json.loads(head)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and {"sentences", "nuggets", "run_id", "topic_id"} <= row.keys()


def read_reports(builder: Builder, source: int, files: GivenSource) -> None:
    """Read judged reports, and measure them."""
    path = files.files["reports"]
    file = builder.file(source, path, "reports")
    seen: set[tuple[int, int]] = set()
    measures = _ReportMeasures(builder, source)
    banks: dict[str, NuggetBank] | None = None
    judges: dict[str, None] = {}
    for line, offset, text in lines_of(path):
        report = judged_report_at(text, path, line)
        if ANSWERED_ONLY in report.notes:
            banks = read_banks(builder.banks) if banks is None else banks
            report = auto_argue.completed(report, banks.get(report.topic_id))
            judges[auto_argue.NAME] = None
        ids = builder.run(report.run_id), builder.topic(report.topic_id)
        if ids in seen:
            raise InputError("found a second report of its run and topic", path=path, line=line)
        seen.add(ids)
        values = [finding.value for finding in _findings(report)]
        counts = sum(value is not None for value in values), len(values)
        states = [_state(sentence) for sentence in report.sentences]
        texts = [] if hides_text() else [clean_text(s.text) for s in report.sentences]
        head = (source, *ids, "judged", "", len(states), *counts, int(report.missing))
        builder.report((*head, file, offset, line), states, texts)
        measures.add(report, *ids)
    measures.finish()
    if judges:
        builder.about(source, judge=", ".join(judges))


def _findings(report: JudgedReport) -> Iterator[Any]:
    for sentence in report.sentences:
        yield from sentence.findings.values()
        for citation in sentence.citations:
            yield from (citation.relevant, citation.attests)


def _state(sentence: JudgedSentence) -> str:
    outcomes = {step.outcome for step in sentence.steps}
    return next((state for state in _STATES if state in outcomes), "neutral")


class _ReportMeasures:
    """Measures each report on its own, to save memory, and runs over all topics."""

    def __init__(self, builder: Builder, source: int) -> None:
        self.builder, self.source = builder, source
        self.runs: dict[int, dict[str, list[float | None]]] = {}
        self.topics: set[str] = set()
        self.pooled: dict[int, dict[str, tuple[float, int, int]]] = {}

    def add(self, report: JudgedReport, run: int, topic: int) -> None:
        """Measure a report."""
        measures = measure_report(report, names=SHOWN)
        self.topics.add(report.topic_id)
        values = [measures[name].value for name in SHOWN]
        self.runs.setdefault(run, {})[report.topic_id] = values
        self._write(run, topic, measures)
        pooled = self.pooled.setdefault(run, {})
        for name in _POOLED:
            m = measures[name]
            got, scored, total = pooled.get(name, (0.0, 0, 0))
            got += 0.0 if m.value is None else m.value * m.scored
            pooled[name] = got, scored + m.scored, total + m.asked

    def finish(self) -> None:
        """Add the means over all topics, as in `pnyx measure report`."""
        absent: list[float | None] = [None] * len(SHOWN)
        for run, values in self.runs.items():
            per_topic = {
                topic: {
                    name: Measured(value, 0, 0)
                    for name, value in zip(SHOWN, values.get(topic, absent), strict=True)
                }
                for topic in sorted(self.topics)
            }
            self._write(run, None, means_over_topics(per_topic, SHOWN))
            for name, (got, scored, total) in self.pooled[run].items():
                of = total if name == "citation_recall" else scored
                order = SHOWN.index(name) + 0.5  # next to the mean over topics
                where = (self.source, run, None, f"{name}{MICRO}", order)
                self.builder.value((*where, got / of if of else None, None, None, scored, total))

    def _write(self, run: int, topic: int | None, measures: Mapping[str, Any]) -> None:
        for order, (name, m) in enumerate(measures.items()):
            where = (self.source, run, topic, name, order)
            self.builder.value((*where, m.value, m.low, m.high, m.scored, m.asked), m.no_interval)
