"""All measures of a judged report, by name (docs/reference/measures.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from pnyx.core.plugins import loaded
from pnyx.formats.reports.judged_report import JudgedReport
from pnyx.judging.measures import sentences
from pnyx.reports.measures import nuggets
from pnyx.stats.base import Measured
from pnyx.stats.intervals import UNIT, Range


@dataclass(frozen=True, slots=True)
class ReportMeasure:
    """One measure of a report.

    Attributes:
        of: the report -> its value, None if nothing is scored, and its number of `items`.
        items: the things that are scored.
        low: its minimum; 0 except for penalties.
        high: its maximum.
        weighted: whether it takes the weights of nuggets.
        main: whether it is compared and written to leaderboards by default.
        parts: the measures that it is made of.
        zero_if_empty: whether it is 0 for an empty report, like the recalls, and not undefined.
    """

    of: Callable[..., Measured]
    items: str
    low: float = 0
    high: float = 1
    weighted: bool = False
    main: bool = False
    parts: tuple[str, ...] = ()
    zero_if_empty: bool = False

    @property
    def range(self) -> Range | None:
        """Its minimum and maximum; None if it is not a share."""
        return UNIT if (self.low, self.high) == UNIT else None

    @property
    def of_submission(self) -> bool:
        """Whether its items are the report's own, so that the writer controls if there are any."""
        return self.items in ("sentences", "citations", "steps")

    @property
    def is_share(self) -> bool:
        """Whether it is a share of items, or made of shares."""
        return self.high == 1


_ANY = math.inf
_OF_NUGGETS = ("nuggets", "answers")

REPORT_MEASURES: dict[str, ReportMeasure] = {
    measure.of.__name__: measure
    for measure in (
        ReportMeasure(sentences.sentence_precision, "sentences", main=True, zero_if_empty=True),
        ReportMeasure(sentences.sentence_precision_own, "sentences", zero_if_empty=True),
        ReportMeasure(sentences.sentence_precision_all, "sentences", zero_if_empty=True),
        ReportMeasure(sentences.citation_precision, "citations", main=True, zero_if_empty=True),
        ReportMeasure(sentences.citation_relevance, "citations", main=True, zero_if_empty=True),
        ReportMeasure(sentences.citation_recall, "documents", main=True),
        ReportMeasure(nuggets.nugget_recall, "nuggets", main=True),
        ReportMeasure(nuggets.nugget_recall_weighted, "nuggets", weighted=True, main=True),
        ReportMeasure(nuggets.nugget_recall_and, "nuggets"),
        ReportMeasure(nuggets.nugget_recall_or, "nuggets"),
        ReportMeasure(nuggets.answer_recall, "answers"),
        ReportMeasure(
            nuggets.f1,
            "sentences, nuggets",
            main=True,
            parts=("sentence_precision", "nugget_recall"),
        ),
        ReportMeasure(
            nuggets.f1_weighted,
            "sentences, nuggets",
            weighted=True,
            main=True,
            parts=("sentence_precision", "nugget_recall_weighted"),
        ),
        ReportMeasure(nuggets.strict_vital_score, "nuggets"),
        ReportMeasure(nuggets.strict_all_score, "nuggets"),
        ReportMeasure(nuggets.vital_score, "nuggets"),
        ReportMeasure(nuggets.all_score, "nuggets"),
        ReportMeasure(sentences.negatives_confirmed, "sentences"),
        ReportMeasure(sentences.reward, "steps", high=_ANY),
        ReportMeasure(sentences.penalty, "steps", low=-_ANY, high=0),
        ReportMeasure(sentences.net_reward, "steps", low=-_ANY, high=_ANY),
        ReportMeasure(sentences.reward_per_step, "steps", low=-_ANY, high=_ANY),
        ReportMeasure(sentences.sentences, "reports", high=_ANY),
        ReportMeasure(sentences.words, "reports", high=_ANY),
        ReportMeasure(sentences.characters, "reports", high=_ANY),
        ReportMeasure(sentences.citations, "reports", high=_ANY),
        ReportMeasure(sentences.cited_documents, "reports", high=_ANY),
    )
}

MAIN: tuple[str, ...] = tuple(name for name, measure in REPORT_MEASURES.items() if measure.main)

SHOWN: tuple[str, ...] = (
    "f1",
    *(n for n in REPORT_MEASURES if n == "sentence_precision_own" or (n in MAIN and n != "f1")),
)
"""Measures on pages: F1, the other main ones, and sentence precision also without quotations."""


@cache
def report_measures() -> dict[str, ReportMeasure]:
    """Return all measures by name, those of plugins last."""
    return {**REPORT_MEASURES, **dict(loaded("measures", REPORT_MEASURES, ReportMeasure))}


def measure_report(
    report: JudgedReport,
    weights: Mapping[str, float] = nuggets.WEIGHTS,
    names: Sequence[str] | None = None,
    *,
    strict: bool = False,
) -> dict[str, Measured]:
    """Return the measures of one report, without intervals; empty for a missing one.

    An empty report is 0 for precision, too, so that saying nothing does not raise a mean. For a
    report compared with nuggets as a whole, measures of its sentences are unknown, never 0.

    Args:
        report: a judged report.
        weights: importance of a nugget -> weight.
        names: of the measures; by default all.
        strict: campaign rules: rewards of repeated sentences count once, and a measure of
            sentences or citations is 0 for a report that has none to measure.
    """
    measures = report_measures()
    if names is not None:
        measures = {name: measures[name] for name in names}
    if not strict:
        report = _without_repetitions(report)
    values = {
        name: _value(measure, report, weights)
        for name, measure in measures.items()
        if not (report.missing or (report.whole and measure.items not in _OF_NUGGETS))
    }
    if report.empty:
        values |= {
            name: Measured(0.0, 0, 0) for name, measure in measures.items() if measure.zero_if_empty
        }
    if strict:
        values |= {
            name: replace(value, value=0.0)
            for name, value in values.items()
            if value.value is None and _nothing_to_measure(measures[name], report, weights)
        }
    return {name: values.get(name, Measured(None, 0, 0)) for name in measures}


def _without_repetitions(report: JudgedReport) -> JudgedReport:
    """Return a report in which all sentences count, whether or not they repeat earlier ones."""
    if all(sentence.repeats is None for sentence in report.sentences):
        return report
    sentences = tuple(replace(sentence, repeats=None) for sentence in report.sentences)
    return replace(report, sentences=sentences)


def _value(measure: ReportMeasure, report: JudgedReport, weights: Mapping[str, float]) -> Measured:
    value: Measured = measure.of(report, weights) if measure.weighted else measure.of(report)
    return value


def _nothing_to_measure(
    measure: ReportMeasure, report: JudgedReport, weights: Mapping[str, float]
) -> bool:
    """Whether a measure is undefined only because the report has none of its items.

    Items missing from a bank, or unscored by a judge, are not up to the report.
    """
    parts = [report_measures()[part] for part in measure.parts] or [measure]
    values = [(part.of_submission, _value(part, report, weights)) for part in parts]
    undefined = [(is_own, value.asked) for is_own, value in values if value.value is None]
    return all(is_own and not count for is_own, count in undefined)
