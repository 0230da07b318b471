"""Judged reports measured: by topic, by run with intervals over topics, runs against a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from pnyx.errors import InputError, shorten
from pnyx.judge.reports.records import JudgedReport
from pnyx.measure.core.base import BOOTSTRAP, Bootstrap, Measured, plain
from pnyx.measure.core.intervals import column_means
from pnyx.measure.core.significance import Compared, Comparison, Test
from pnyx.measure.core.weighted import numbers
from pnyx.measure.reports.nuggets import WEIGHTS, checked_weights
from pnyx.measure.reports.registry import MAIN, REPORT_MEASURES, measure_report
from pnyx.measure.runs.retrieval import compare_runs

__all__ = ["MeasuredReports", "Missing", "Reports", "measure_reports"]

Missing: TypeAlias = Literal["skip", "zero"]
"""How a topic counts on which a run has no report: not at all, or as 0 by every measure."""


@dataclass(frozen=True, slots=True)
class MeasuredReports:
    """The reports of one run.

    Attributes:
        name: of the run.
        measures: name -> mean over topics; `scored` topics have a value, of `asked`.
        items: name -> (scored, asked) sentences, nuggets and so on of all topics.
        per_topic: topic -> name -> value; `scored` and `asked` count items.
        missing: topics without a report.
    """

    name: str
    measures: Mapping[str, Measured]
    items: Mapping[str, tuple[int, int]]
    per_topic: Mapping[str, Mapping[str, Measured]]
    missing: tuple[str, ...]

    @property
    def unscored(self) -> int:
        """How many items are unscored, each once, whatever measures it enters."""
        kinds: dict[str, int] = {}
        for name, (scored, asked) in self.items.items():
            kind = REPORT_MEASURES[name].items
            kinds[kind] = max(kinds.get(kind, 0), asked - scored)
        return sum(count for kind, count in kinds.items() if "," not in kind)

    def row(self) -> dict[str, Any]:
        """Return the object of `--json` for this run (docs/measures.md)."""
        return {
            "run": self.name,
            "topics": {"asked": len(self.per_topic), "missing": list(self.missing)},
            "measures": plain(self.measures),
            "items": {
                name: {"of": REPORT_MEASURES[name].items, "scored": scored, "asked": asked}
                for name, (scored, asked) in self.items.items()
            },
            "per_group": plain(self.per_topic),
        }


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Reports(Compared):
    """Runs of judged reports, measured on the same topics.

    `comparisons` are of each other run with the baseline, if any, by the measures `compared`.
    """

    runs: tuple[MeasuredReports, ...]
    compared: tuple[str, ...]
    missing: Missing
    weights: Mapping[str, float]

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics, in order."""
        return tuple(self.runs[0].per_topic)

    def rows(self) -> list[dict[str, Any]]:
        """Return the mean of each measure, run by run."""
        return [{"run": run.name, "measure": n, **m.row()}
                for run in self.runs for n, m in run.measures.items()]  # fmt: skip

    def row(self) -> dict[str, Any]:
        """Return the object of `--json` (docs/measures.md); one run also stands at the top."""
        return {
            "task": "report",
            **self._runs_row(),
            "missing": self.missing,
            "weights": dict(self.weights),
            "compared": list(self.compared),
            **self._methods_row(),
        }


def measure_reports(
    reports: Iterable[JudgedReport] | Mapping[str, Iterable[JudgedReport]],
    *,
    topics: Sequence[str] | None = None,
    missing: Missing = "skip",
    weights: Mapping[str, float] = WEIGHTS,
    compared: Sequence[str] = MAIN,
    baseline: str | None = None,
    test: Test = "t",
    bootstrap: Bootstrap = BOOTSTRAP,
) -> Reports:
    """Measure judged reports: means over topics with intervals, each with what it rests on.

    Args:
        reports: what `pnyx.judge.read_judged_reports` yields, of any runs; or name -> those of one
            run.
        topics: that count; by default all on which some run has a report. Other reports are left
            out.
        missing: how a topic counts on which a run has no report.
        weights: importance of a nugget -> weight from 0; others weigh 1.
        compared: measures by which runs are compared with the baseline, as one family.
        baseline: name of the run that the others are compared with.
        test: of the differences to the baseline, over topics; two-sided, corrected by
            Holm-Bonferroni over all runs and measures compared.
        bootstrap: over topics; its seed is also that of the randomisation test.

    Raises:
        InputError: a run has two reports on a topic, or there is no report on these topics.
        ValueError: no run of the baseline's name, a measure or weight that there is not.
    """
    unknown = [name for name in compared if name not in REPORT_MEASURES]
    if unknown:
        raise ValueError(f"found the measure {unknown[0]!r}, expected one of REPORT_MEASURES")
    weights = checked_weights(weights)
    runs = _by_run(reports)
    if baseline is not None and baseline not in runs:
        raise ValueError(f"found the baseline {baseline!r}, expected one of {', '.join(runs)}")
    known = list(dict.fromkeys(topic for run in runs.values() for topic in run))
    known = known if topics is None else list(dict.fromkeys(topics))
    if not any(topic in run for run in runs.values() for topic in known):
        raise InputError("found no judged report on these topics, expected one")
    measured, tables = [], {}
    for name, own in runs.items():
        found = _measured(name, own, known, missing, weights)
        values = [numbers([m.value for m in one.values()]) for one in found.values()]
        tables[name] = np.stack(values)
        measured.append(_run(name, own, found, column_means(tables[name], bootstrap)))
    comparisons: tuple[Comparison, ...] = ()
    if baseline is not None:
        columns = [list(REPORT_MEASURES).index(name) for name in compared]
        chosen = {name: table[:, columns] for name, table in tables.items()}
        same = dict.fromkeys(runs, known)
        comparisons = compare_runs(chosen, same, list(compared), baseline, test, bootstrap)
    return Reports(
        runs=tuple(measured),
        compared=tuple(compared),
        missing=missing,
        weights=weights,
        comparisons=comparisons,
        baseline=baseline,
        test=test,
        bootstrap=bootstrap,
    )


_Run: TypeAlias = Mapping[str, JudgedReport]  # topic -> report


def _by_run(
    reports: Iterable[JudgedReport] | Mapping[str, Iterable[JudgedReport]],
) -> dict[str, dict[str, JudgedReport]]:
    if isinstance(reports, Mapping):
        named = ((name, report) for name, own in reports.items() for report in own)
    else:
        named = ((report.run_id, report) for report in reports)
    runs: dict[str, dict[str, JudgedReport]] = {}
    for name, report in named:
        run = runs.setdefault(name, {})
        if report.topic_id in run:
            where = f"topic {shorten(report.topic_id, 40)!r}"
            raise InputError(f"run {shorten(name, 40)!r} has two reports on {where}, expected one")
        run[report.topic_id] = report
    return runs


def _measured(
    name: str, own: _Run, topics: Sequence[str], missing: Missing, weights: Mapping[str, float]
) -> dict[str, dict[str, Measured]]:
    absent = Measured(0.0 if missing == "zero" else None, 0, 0)
    found = {}
    for topic in topics:
        report = own.get(topic, JudgedReport(topic, name, missing=True))
        found[topic] = (
            dict.fromkeys(REPORT_MEASURES, absent)
            if report.missing
            else measure_report(report, weights)
        )
    return found


def _run(
    name: str, own: _Run, found: Mapping[str, Mapping[str, Measured]], means: Sequence[Measured]
) -> MeasuredReports:
    items = {
        measure: (
            sum(one[measure].scored for one in found.values()),
            sum(one[measure].asked for one in found.values()),
        )
        for measure in REPORT_MEASURES
    }
    missing = tuple(topic for topic in found if topic not in own or own[topic].missing)
    return MeasuredReports(
        name, dict(zip(REPORT_MEASURES, means, strict=True)), items, found, missing
    )
