"""`pnyx measure retrieval`: TREC runs against qrels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pnyx.cli.measure_runs import (
    check_plot,
    compared_legend,
    drawing_options,
    draws_legend,
    few_warning,
    finish,
    listed,
    margin_option,
    mark,
    run_names,
    run_notes,
    runs_table,
    untested_note,
    with_baseline,
)
from pnyx.cli.options import json_option
from pnyx.cli.tables import number, table
from pnyx.errors import shorten

if TYPE_CHECKING:
    from pnyx.measure.retrieval import MeasuredRun, Retrieval
    from pnyx.view.plots import Panel

__all__ = ["retrieval"]


_HELP = """Measure RUNs (TREC run files) on QRELS (TREC, diversity or BEIR qrels).

Any measure of ir-measures, by its notation; each with a 95 % interval from drawing topics anew.
With --baseline, each other run is compared with it: difference, its interval, a paired two-sided
test corrected by Holm-Bonferroni over all runs and measures, and the effect size. That a run is
not worse is shown by --margin only: no difference found is inconclusive.
Documents are ordered by score, equal scores by document id, last first, as in trec_eval.

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
  pnyx measure retrieval bm25.run touche.run --qrels qrels.txt --baseline bm25.run
  pnyx measure retrieval my.run --qrels qrels.txt --measure nDCG@5 --measure 'AP(rel=2)'
"""


@click.command(
    name="retrieval",
    short_help="TREC runs, on qrels.",
    help=_HELP,
    epilog=_EXAMPLE,
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--qrels", required=True, metavar="QRELS", help="Judgements.")
@click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE",
    help="In ir-measures notation; repeatable  [default: nDCG@10 P@10 AP R@100; "
    "with diversity qrels also alpha_nDCG@10 ERR_IA@10 StRecall@10].",
)
@click.option("--baseline", metavar="RUN", help="Run that the others are compared with.")
@click.option(
    "--test",
    type=click.Choice(["t", "randomisation"]),
    default="t",
    show_default=True,
    help="Paired test against the baseline.",
)
@margin_option
@click.option(
    "--topics-of",
    type=click.Choice(["qrels", "run", "both"]),
    default="qrels",
    show_default=True,
    help="Topics that are measured.",
)
@click.option("--per-topic", is_flag=True, help="Show each topic's values, too.")
@click.option("--plot", metavar="FILE.svg", help="Draw means and intervals.")
@drawing_options
@json_option
def retrieval(
    runs: tuple[str, ...],
    qrels: str,
    measures: tuple[str, ...],
    baseline: str | None,
    test: Any,
    margin: float | None,
    topics_of: Any,
    per_topic: bool,
    plot: str | None,
    draws: int,
    seed: int,
    as_json: bool,
) -> int:
    """Measure runs; see `_HELP`."""
    check_plot(plot)
    if margin is not None and baseline is None:
        raise click.UsageError("--margin goes with --baseline")
    paths, chosen = with_baseline(list(runs), baseline)
    if [*paths, qrels].count("-") > 1:
        raise click.UsageError("only one of RUN and QRELS can be standard input")
    from pnyx.files import atomic_text
    from pnyx.measure.base import Bootstrap
    from pnyx.measure.retrieval import measure_retrieval

    names = dict(zip(paths, run_names(paths), strict=True))
    found = measure_retrieval(
        {name: path for path, name in names.items()},
        qrels,
        measures,
        topics_of=topics_of,
        baseline=None if chosen is None else names[chosen],
        test=test,
        margin=margin,
        bootstrap=Bootstrap(draws, seed),
    )
    if plot is not None:
        from pnyx.view.plots import interval_plot

        with atomic_text(plot) as stream:
            stream.write(interval_plot(_panels(found), _legend(found)))
    return finish(
        found.row(),
        _notes(found),
        lambda: _report(found, qrels, per_topic),
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


def _report(found: Retrieval, qrels: str, per_topic: bool) -> list[str]:
    """Return the tables for people."""
    sizes = sorted({len(run.per_topic) for run in found.runs})
    topics = " to ".join(map(str, sizes if len(sizes) < 3 else (sizes[0], sizes[-1])))
    runs = f"{len(found.runs)} run{'s' if len(found.runs) > 1 else ''}"
    lines = [f"retrieval: {runs} on {topics} topics of {shorten(qrels, 200)}", ""]
    lines += runs_table(found, "topics", lambda run, name: run.measures[name])
    for run in found.runs if per_topic else ():
        lines += ["", shorten(run.name), *table(_topic_rows(run))]
    if found.comparisons:
        lines += ["", "d: mean difference in standard deviations of the topics' differences"]
    legend = _legend(found)
    return [*lines, *([] if found.comparisons or not legend else [""]), *legend]


def _topic_rows(run: MeasuredRun) -> list[list[str]]:
    rows = [["topic", *run.measures]]
    for topic, values in run.per_topic.items():
        rows.append([shorten(topic, 40), *(number(values[name]) for name in run.measures)])
    return rows


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
