"""`pnyx measure retrieval`: TREC runs against qrels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import click

from pnyx.app.measure_specs import ComparingSpec
from pnyx.app.spec import Spec, opt
from pnyx.cli.measure_runs import (
    check_plot,
    compared_legend,
    draws_legend,
    few_warning,
    finish,
    listed,
    mark,
    named_runs,
    run_notes,
    runs_table,
    untested_note,
)
from pnyx.cli.params import json_option, takes, verb
from pnyx.errors import shorten
from pnyx.view.tables import Column, Table

if TYPE_CHECKING:
    from pnyx.cli.measure_runs import Part
    from pnyx.measure.retrieval import MeasuredRun, Retrieval
    from pnyx.view.plots import Panel

__all__ = ["RetrievalSpec", "retrieval"]


_HELP = """Measure RUNs (TREC run files) on QRELS (TREC, diversity or BEIR qrels).

Any measure of ir-measures, by its notation; each with a 95 % interval from drawing topics anew.
With --baseline, each other run is compared with it: difference, its interval, a paired two-sided
test corrected by Holm-Bonferroni over all runs and measures, and the effect size. Only --margin
can show that a run is not worse: a difference that is not significant is inconclusive.
Documents are ordered by score, ties by descending document id, as in trec_eval.

\b
--topics-of qrels  all topics of the qrels; one that a run lacks counts as an
                   empty ranking, 0 as a rule (trec_eval -c)
--topics-of run    of these, the topics that the run has (trec_eval)
--topics-of both   of these, the topics that every run has

docs/measures.md defines all of this. Needs pip install 'pnyx[retrieval]'.
Exit status 3: a measure is not defined for some topic.
"""

_EXAMPLE = """\b
Example:
  pnyx measure retrieval bm25.run my.run --qrels qrels.txt --baseline bm25.run
  pnyx measure retrieval my.run --qrels qrels.txt --measure 'AP(rel=2)'
"""


@dataclass(frozen=True, kw_only=True)
class _RankingSpec(Spec):
    """What of runs is measured on which topics."""

    heading: ClassVar[str] = "Measures"

    qrels: str = opt(..., "Judgements.", metavar="QRELS", raw=True)
    measures: tuple[str, ...] = opt(
        (),
        "In ir-measures notation. Repeatable.",
        "--measure",
        metavar="MEASURE",
        shown="nDCG@10 P@10 AP R@100; with diversity qrels also alpha_nDCG@10 ERR_IA@10 "
        "StRecall@10",
    )
    topics_of: Literal["qrels", "run", "both"] = opt("qrels", "Topics that are measured.")
    per_topic: bool = opt(False, "Show each topic's values, too.")
    plot: str | None = opt(None, "Draw means and intervals.", metavar="FILE.svg", raw=True)


@dataclass(frozen=True, kw_only=True)
class RetrievalSpec(ComparingSpec, _RankingSpec):
    """All that is chosen."""

    margin: float | None = opt(
        None,
        "Also test that a run is not lower than the baseline by X or more (choose X beforehand).",
        metavar="X",
        low=0,
        above=True,
        needs=("--baseline", lambda spec: spec.baseline is not None),
        heading=ComparingSpec.heading,
    )


@verb("retrieval", short_help="TREC runs, on qrels.", help=_HELP, epilog=_EXAMPLE)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@takes("spec", RetrievalSpec)
@json_option
def retrieval(runs: tuple[str, ...], spec: RetrievalSpec, as_json: bool) -> int:
    """Measure runs; see `_HELP`."""
    check_plot(spec.plot)
    spec.check_needs()
    names, baseline = named_runs(runs, spec.baseline, spec.qrels)
    from pnyx.files import atomic_text
    from pnyx.measure.retrieval import measure_retrieval

    found = measure_retrieval(
        names,
        spec.qrels,
        spec.measures,
        topics_of=spec.topics_of,
        baseline=baseline,
        test=spec.test,
        margin=spec.margin,
        bootstrap=spec.bootstrap,
    )
    if spec.plot is not None:
        from pnyx.view.plots import interval_plot

        with atomic_text(spec.plot) as stream:
            stream.write(interval_plot(_panels(found), _legend(found)))
    return finish(
        found.row(),
        _notes(found),
        lambda: _report(found, spec),
        as_json,
        unscored=found.undefined,
    )


def _notes(found: Retrieval) -> list[str]:
    """Return what a reader of the numbers must know, a line each."""
    notes = []
    for run in found.runs:
        absent = f"{listed(run.absent)} absent, counted as empty rankings (trec_eval -c)"
        known = (
            (run.absent, absent),
            (run.unjudged, f"{listed(run.unjudged)} without qrels, not measured"),
        )
        notes += run_notes(run.name, known, len(run.rearranged))
        if not run.judged_documents:
            foreign = "warning: none of its documents is in the qrels; are the ids the same?"
            notes.append(f"{shorten(run.name, 40)}: {foreign}")
    if found.without_relevant:
        shown = listed(found.without_relevant)
        have = "have" if len(found.without_relevant) > 1 else "has"
        notes.append(f"{shown} of the qrels {have} no relevant document; measured all the same")
    if found.undefined:
        notes.append(f"{found.undefined} values of single topics are not defined and left out")
    fewest = min(len(run.per_topic) for run in found.runs)
    notes += untested_note(found.comparisons, "topics")
    return notes + few_warning(found.bootstrap, fewest, "topic")


def _report(found: Retrieval, spec: RetrievalSpec) -> list[Part]:
    """Return the tables for people."""
    sizes = sorted({len(run.per_topic) for run in found.runs})
    topics = " to ".join(map(str, sizes if len(sizes) < 3 else (sizes[0], sizes[-1])))
    runs = f"{len(found.runs)} run{'s' if len(found.runs) > 1 else ''}"
    title = f"retrieval: {runs} on {topics} topics of {shorten(spec.qrels, 200)}"
    means = runs_table(found, "topics", lambda run, name: run.measures[name], title=title)
    effect = ["d: mean difference in standard deviations of the topics' differences"]
    legend = [*effect * bool(found.comparisons), *_legend(found)]
    return [means, *map(_topics, found.runs if spec.per_topic else ()), legend]


def _topics(run: MeasuredRun) -> Table:
    columns = [Column("topic"), *(Column(name, "number") for name in run.measures)]
    rows = [
        (shorten(topic, 40), *(values[name] for name in run.measures))
        for topic, values in run.per_topic.items()
    ]
    return Table(columns, rows, title=shorten(run.name))


def _legend(found: Retrieval) -> list[str]:
    return [*compared_legend(found), *draws_legend("the topics", found.bootstrap)]


def _panels(found: Retrieval) -> list[Panel]:
    from pnyx.view.plots import Panel, Point

    compared = {(c.run, c.measure): c for c in found.comparisons}
    panels = []
    for name in found.runs[0].measures:
        points = []
        reference = None
        for run in found.runs:
            m = run.measures[name]
            marked = mark(compared.get((run.name, name)))
            points.append(Point(run.name, m.value, m.low, m.high, marked))
            if run.name == found.baseline:
                reference = m.value
        panels.append(Panel(name, points, reference))
    return panels
