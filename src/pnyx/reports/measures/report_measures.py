"""Measures of judged reports: by topic, by run with intervals over topics, against a baseline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from pnyx.core.errors import InputError, escaped, shorten
from pnyx.core.tabular import Result
from pnyx.formats.reports.judged_report import JudgedReport, JudgedSentence
from pnyx.judging.measures.sentences import citation_recall, sentence_precision
from pnyx.reports.measures.nuggets import WEIGHTS, checked_weights
from pnyx.reports.measures.registry import MAIN, measure_report, report_measures
from pnyx.search.measures.table import ComparedRuns, RunTable, against
from pnyx.stats.base import BOOTSTRAP, TEST, Bootstrap, Measured, plain
from pnyx.stats.significance import Test

Missing: TypeAlias = Literal["skip", "zero"]
"""How a topic without a report of a run counts: not at all, or as 0 for every measure."""


@dataclass(frozen=True, slots=True, repr=False)
class MeasuredReports(Result):
    """The reports of one run.

    Attributes:
        name: of the run.
        measures: name -> mean over topics; `scored` topics have a value, of `asked`.
        items: name -> (scored, asked) sentences, nuggets and so on over all topics.
        pooled: name of a share -> its value over the items of all topics, as of one long report
            (Auto-ARGUE's `_micro`).
        per_topic: topic -> name -> value; `scored` and `asked` count items.
        missing: topics without a report.
        repeated: number of sentences that repeat another one of their report.
        precision_once: mean sentence precision over topics if these counted once.
    """

    name: str
    measures: Mapping[str, Measured]
    items: Mapping[str, tuple[int, int]]
    pooled: Mapping[str, float | None]
    per_topic: Mapping[str, Mapping[str, Measured]]
    missing: tuple[str, ...]
    repeated: int = 0
    precision_once: float | None = None

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each measure."""
        return [{"measure": name, **measured.row()} for name, measured in self.measures.items()]

    def _heading(self) -> list[str]:
        return [f"{shorten(self.name)}: {len(self.per_topic):,} topics"]

    @property
    def unscored(self) -> dict[str, tuple[int, int]]:
        """Kind of items -> (unscored, all), by the main measure with the most unscored."""
        main = {report_measures()[name].items for name in MAIN}
        result: dict[str, tuple[int, int]] = {}
        for name, (scored, total) in self.items.items():
            kind = report_measures()[name].items
            counts = "," not in kind and (name in MAIN or kind not in main)
            if counts and total - scored > result.get(kind, (0, 0))[0]:
                result[kind] = (total - scored, total)
        return result

    def row(self) -> dict[str, Any]:
        """Return the object of `--json` for this run (docs/reference/measures.md)."""
        return {
            "run": self.name,
            "topics": {"asked": len(self.per_topic), "missing": list(self.missing)},
            "measures": plain(self.measures),
            "repeated": {"sentences": self.repeated, "precision_once": self.precision_once},
            "items": {
                name: {
                    "of": report_measures()[name].items,
                    **({"pooled": self.pooled[name]} if name in self.pooled else {}),
                    "scored": scored,
                    "asked": total,
                }
                for name, (scored, total) in self.items.items()
            },
            "per_group": plain(self.per_topic),
        }


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Reports(ComparedRuns):
    """Runs of judged reports, measured on the same topics.

    `comparisons` compare each other run with the baseline, if any, by the measures `compared`.
    """

    runs: tuple[MeasuredReports, ...]
    compared: tuple[str, ...]
    missing: Missing
    weights: Mapping[str, float]
    strict: bool = False

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics, in order."""
        return tuple(self.runs[0].per_topic)

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`; a single run is also at top level."""
        return {
            "task": "report",
            **self._runs_row(),
            "missing": self.missing,
            "strict": self.strict,
            "weights": dict(self.weights),
            "compared": list(self.compared),
            **self._methods_row(),
        }


def measure_reports(
    reports: Iterable[JudgedReport] | Mapping[str, Iterable[JudgedReport]],
    *,
    topics: Sequence[str] | None = None,
    missing: Missing = "skip",
    strict: bool = False,
    weights: Mapping[str, float] = WEIGHTS,
    compared: Sequence[str] = MAIN,
    baseline: str | None = None,
    test: Test = TEST,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> Reports:
    """Measure judged reports: means over topics with intervals and counts.

    Args:
        reports: as yielded by `pnyx.reports.read_judged_reports`, from any runs; or name -> those
            of one run.
        topics: the topics to measure; by default all on which some run has a report. Other reports
            are left out.
        missing: how a topic counts on which a run has no report.
        strict: campaign rules; see `measure_report`.
        weights: importance of a nugget -> weight from 0, replacing those in `WEIGHTS`; `other` is
            for any other importance, or none.
        compared: measures for comparing runs with the baseline, as one family.
        baseline: name of the run that the others are compared with.
        test: of the differences to the baseline, over topics; two-sided, corrected by
            Holm-Bonferroni over all runs and measures compared.
        bootstrap: over topics; its seed is also that of the randomisation test.

    Raises:
        InputError: a run has two reports on a topic, or there is no report on these topics.
        ValueError: there is no run named `baseline`, or a measure or weight is unknown.
    """
    weights = checked_weights(weights)
    by_run = _by_run(reports)
    _check_names(compared, by_run, baseline)
    every = sorted({topic for by_topic in by_run.values() for topic in by_topic})
    measured_topics = every if topics is None else list(dict.fromkeys(topics))
    if not any(topic in by_topic for by_topic in by_run.values() for topic in measured_topics):
        raise InputError("found no judged report on these topics, expected one")
    how = _Measuring(missing, weights, strict, bootstrap)
    table = RunTable({name: how.cells(run, measured_topics) for name, run in by_run.items()})
    runs = tuple(how.run(name, run, table) for name, run in by_run.items())
    return Reports(
        runs=runs,
        compared=tuple(compared),
        missing=missing,
        strict=strict,
        weights=weights,
        comparisons=table.compare(against(by_run, baseline, compared), test, bootstrap),
        baseline=baseline,
        test=test,
        bootstrap=bootstrap,
    )


_Run: TypeAlias = Mapping[str, JudgedReport]  # topic -> report


def _by_run(
    reports: Iterable[JudgedReport] | Mapping[str, Iterable[JudgedReport]],
) -> dict[str, dict[str, JudgedReport]]:
    if isinstance(reports, Mapping):
        named = ((name, report) for name, of_run in reports.items() for report in of_run)
    else:
        named = ((report.run_id, report) for report in reports)
    runs: dict[str, dict[str, JudgedReport]] = {}
    for name, report in named:
        run = runs.setdefault(name, {})
        if report.topic_id in run:
            where = f"topic {escaped(report.topic_id)!r}"
            raise InputError(f"run {escaped(name)!r} has two reports on {where}, expected one")
        run[report.topic_id] = report
    return runs


def _check_names(compared: Sequence[str], runs: Iterable[str], baseline: str | None) -> None:
    unknown = [name for name in compared if name not in report_measures()]
    if unknown:
        raise ValueError(f"found the measure {unknown[0]!r}, expected one of report_measures()")
    if baseline is not None and baseline not in runs:
        raise ValueError(f"found the baseline {baseline!r}, expected one of {', '.join(runs)}")


def means_over_topics(
    per_topic: Mapping[str, Mapping[str, Measured]],
    names: Sequence[str],
    bootstrap: Bootstrap = BOOTSTRAP,
) -> dict[str, Measured]:
    """Return the mean of each named measure over topics, with its interval."""
    definitions = report_measures()
    table = RunTable({"": per_topic})
    return table.means("", names, bootstrap, [definitions[name].range for name in names])


@dataclass(frozen=True, slots=True)
class _Measuring:
    """Computes the values of a run's reports."""

    missing: Missing
    weights: Mapping[str, float]
    strict: bool
    bootstrap: Bootstrap

    def cells(self, run: _Run, topics: Sequence[str]) -> dict[str, dict[str, Measured]]:
        """Return topic -> measure -> value."""
        absent = Measured(0.0 if self.missing == "zero" else None, 0, 0)
        values = {}
        for topic in topics:
            report = run.get(topic)
            if report is None or report.missing:
                values[topic] = dict.fromkeys(report_measures(), absent)
            else:
                values[topic] = measure_report(report, self.weights, strict=self.strict)
        return values

    def run(self, name: str, run: _Run, table: RunTable[Measured]) -> MeasuredReports:
        """Return the means over topics, and their counts."""
        cells = table.cells[name]
        measures = report_measures()
        items = {
            measure: (
                sum(row[measure].scored for row in cells.values()),
                sum(row[measure].asked for row in cells.values()),
            )
            for measure in measures
        }
        reports = [run[topic] for topic in cells if topic in run]
        return MeasuredReports(
            name,
            means_over_topics(cells, tuple(measures), self.bootstrap),
            items,
            _pooled(reports, self.weights, strict=self.strict),
            cells,
            tuple(topic for topic in cells if topic not in run or run[topic].missing),
            sum(s.repeats is not None for report in reports for s in report.sentences),
            self._precision_once(cells, run),
        )

    def _precision_once(
        self, cells: Mapping[str, Mapping[str, Measured]], run: _Run
    ) -> float | None:
        """Return the mean of sentence precision over topics if repetitions gained nothing."""
        values = [
            sentence_precision(run[topic]).value
            if topic in run and run[topic].sentences
            else row["sentence_precision"].value
            for topic, row in cells.items()
        ]
        decided = [value for value in values if value is not None]
        return math.fsum(decided) / len(decided) if decided else None


def _pooled(
    reports: Sequence[JudgedReport], weights: Mapping[str, float], *, strict: bool
) -> dict[str, float | None]:
    """Return the shares of all reports as of one; documents are told apart by their topics."""
    sentences: list[JudgedSentence] = []
    for report in reports:
        before = len(sentences)
        sentences += [
            s if s.repeats is None else replace(s, repeats=before + s.repeats)
            for s in report.sentences
        ]
    whole = JudgedReport(
        "all",
        "",
        tuple(sentences),
        tuple(nugget for report in reports for nugget in report.nuggets),
        whole=any(report.whole for report in reports),
    )
    pooled = measure_report(whole, weights, strict=strict)
    of_topics = [citation_recall(report) for report in reports]
    total = sum(topic.asked for topic in of_topics)
    cited = sum((topic.value or 0.0) * topic.scored for topic in of_topics)
    return {
        **{name: pooled[name].value for name, m in report_measures().items() if m.is_share},
        "citation_recall": cited / total if total else None,
    }
