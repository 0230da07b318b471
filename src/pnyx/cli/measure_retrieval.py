"""`pnyx measure retrieval`: TREC runs against qrels."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.measure_runs import (
    BETTER,
    WORSE,
    MeasuresCommand,
    check_plot,
    difference_cells,
    drawing_options,
    draws_legend,
    few_warning,
    listed,
    margin_cells,
    margin_legend,
    margin_option,
    mark,
    rearranged_note,
    run_names,
    spaced,
    test_legend,
    with_baseline,
)
from pnyx.cli.options import json_option
from pnyx.cli.tables import interval, number, table
from pnyx.errors import shorten

if TYPE_CHECKING:
    from pnyx.measure.retrieval import Comparison, MeasuredRun, Retrieval
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
  pnyx measure retrieval my.run --qrels qrels.txt --measure nDCG@5 'AP(rel=2)' --json
"""


@click.command(
    name="retrieval",
    cls=MeasuresCommand,
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
    metavar="MEASURE...",
    help="In ir-measures notation; several in a row, or repeated  [default: nDCG@10 P@10 AP R@100; "
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
    from pnyx.corpora import read_qrels, read_run
    from pnyx.files import atomic_text
    from pnyx.measure.retrieval import measure_retrieval

    names = dict(zip(paths, run_names(paths), strict=True))
    found = measure_retrieval(
        {name: read_run(path) for path, name in names.items()},
        read_qrels(qrels),
        measures,
        topics_of=topics_of,
        baseline=None if chosen is None else names[chosen],
        test=test,
        margin=margin,
        draws=draws,
        seed=seed,
    )
    if plot is not None:
        from pnyx.view.plots import interval_plot

        with atomic_text(plot) as stream:
            stream.write(interval_plot(_panels(found), _legend(found)))
    for line in _notes(found):
        click.echo(f"pnyx: {line}", err=True)
    if as_json:
        click.echo(json.dumps(found.row(), ensure_ascii=False, allow_nan=False))
    else:
        click.echo("\n".join(_report(found, qrels, per_topic)))
    return EXIT_UNSCORED if found.undefined else 0


def _notes(found: Retrieval) -> list[str]:
    """Return what a reader of the numbers must know, a line each."""
    notes = []
    for run in found.runs:
        notes += [f"{shorten(run.name, 40)}: {note}" for note in _run_notes(run)]
    if found.without_relevant:
        shown = listed(found.without_relevant)
        have = "have" if len(found.without_relevant) > 1 else "has"
        notes.append(f"{shown} of the qrels {have} no relevant document; measured all the same")
    if found.undefined:
        notes.append(f"{found.undefined} values of single topics are not defined and left out")
    untested = sum(c.p_holm is None for c in found.comparisons)
    if untested:
        notes.append(f"{untested} comparisons have too few topics or no variance for the test")
    fewest = min(len(run.per_topic) for run in found.runs)
    return notes + few_warning(found.draws, fewest, "topic")


def _run_notes(run: MeasuredRun) -> list[str]:
    notes = []
    if run.absent:
        notes.append(f"{listed(run.absent)} absent, counted as empty rankings (trec_eval -c)")
    if run.unjudged:
        notes.append(f"{listed(run.unjudged)} without qrels, not measured")
    if run.rearranged:
        notes.append(rearranged_note(len(run.rearranged)))
    if not run.judged_documents:
        notes.append("warning: none of its documents is in the qrels; are the ids the same?")
    return notes


def _report(found: Retrieval, qrels: str, per_topic: bool) -> list[str]:
    """Return the tables for people."""
    sizes = sorted({len(run.per_topic) for run in found.runs})
    topics = " to ".join(map(str, sizes if len(sizes) < 3 else (sizes[0], sizes[-1])))
    runs = f"{len(found.runs)} run{'s' if len(found.runs) > 1 else ''}"
    lines = [f"retrieval: {runs} on {topics} topics of {shorten(qrels, 200)}", ""]
    lines += spaced(table(_rows(found), left=2), len(found.runs))
    for run in found.runs if per_topic else ():
        lines += ["", shorten(run.name), *table(_topic_rows(run))]
    if found.comparisons:
        lines += ["", "d: mean difference in standard deviations of the topics' differences"]
    legend = _legend(found)
    return [*lines, *([] if found.comparisons or not legend else [""]), *legend]


def _rows(found: Retrieval) -> list[list[str]]:
    compared = _comparisons(found)
    margins = any(c.against for c in found.comparisons)
    header = ["measure", "run", "mean" + ("  " if compared else ""), "95 % interval", "topics"]
    if found.baseline is not None:
        header += ["difference", "95 % interval", "p", "p (Holm)", "d"]
    header += ["p not lower", "(Holm)", "shown"] if margins else []
    rows = [header]
    for name in found.runs[0].measures:
        for place, run in enumerate(found.runs):
            m = run.measures[name]
            marked = f" {mark(compared.get((run.name, name))):1}" if compared else ""
            topics = str(m.asked) if m.scored == m.asked else f"{m.scored} of {m.asked}"
            cells = [
                "" if place else name,
                shorten(run.name, 40),
                number(m.value) + marked,
                interval(m.low, m.high),
                topics,
            ]
            if found.baseline is not None:
                cells += _compared(compared.get((run.name, name)))
            cells += margin_cells(compared.get((run.name, name))) if margins else []
            rows.append(cells)
    return rows


def _comparisons(found: Retrieval) -> dict[tuple[str, str], Comparison]:
    return {(c.run, c.measure): c for c in found.comparisons}


def _compared(c: Comparison | None) -> list[str]:
    return ["baseline", "", "", "", ""] if c is None else difference_cells(c)


def _topic_rows(run: MeasuredRun) -> list[list[str]]:
    rows = [["topic", *run.measures]]
    for topic, values in run.per_topic.items():
        rows.append([shorten(topic, 40), *(number(values[name]) for name in run.measures)])
    return rows


def _legend(found: Retrieval) -> list[str]:
    lines = []
    if found.baseline is not None:
        lines.append(
            f"{BETTER} {WORSE} higher, lower than {shorten(found.baseline, 40)}: "
            + test_legend(found.test, found.comparisons)
        )
        lines += margin_legend(found.comparisons)
    if found.draws:
        lines.append(draws_legend("the topics", found.draws, found.seed))
    return lines


def _panels(found: Retrieval) -> list[Panel]:
    from pnyx.view.plots import Panel, Point

    compared = _comparisons(found)
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
