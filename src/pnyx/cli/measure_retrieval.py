"""`pnyx measure retrieval`: TREC runs against qrels."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.measure_runs import chance, check_plot, listed, run_names, with_baseline
from pnyx.cli.options import json_option
from pnyx.cli.tables import interval, number, table
from pnyx.errors import shorten

if TYPE_CHECKING:
    from pnyx.measure.retrieval import Comparison, MeasuredRun, Retrieval
    from pnyx.view.plot import Panel

__all__ = ["retrieval"]

_FEW_TOPICS = 10
_MEASURE = re.compile(r"[^\W\d]\w*(\(.*\))?(@[\w.]+)?")
_BETTER, _WORSE = "▲", "▼"

_HELP = """Measure RUNs (TREC run files) on QRELS (TREC, diversity or BEIR qrels).

Any measure of ir-measures, by its notation; each with a 95 % interval from drawing topics anew.
With --baseline, each other run is compared with it: difference, its interval, a paired two-sided
test corrected by Holm-Bonferroni over all runs and measures, and the effect size.
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


class _Command(click.Command):
    """A command whose --measure takes several values in a row."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat --measure before what follows one and is neither option nor file."""
        spread: list[str] = []
        naming = False
        for place, argument in enumerate(args):
            given = place > 0 and args[place - 1] == "--measure"
            naming = given or (naming and _reads_as_measure(argument))
            spread += ["--measure", argument] if naming and not given else [argument]
        return super().parse_args(ctx, spread)


def _reads_as_measure(argument: str) -> bool:
    return _MEASURE.fullmatch(argument) is not None and not Path(argument).exists()


@click.command(
    name="retrieval", cls=_Command, short_help="TREC runs, on qrels.", help=_HELP, epilog=_EXAMPLE
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
@click.option(
    "--topics-of",
    type=click.Choice(["qrels", "run", "both"]),
    default="qrels",
    show_default=True,
    help="Topics that are measured.",
)
@click.option("--per-topic", is_flag=True, help="Show each topic's values, too.")
@click.option("--plot", metavar="FILE.svg", help="Draw means and intervals.")
@click.option(
    "--draws",
    type=click.IntRange(0, 1_000_000),
    default=1000,
    show_default=True,
    help="Draws of the bootstrap; 0 for no intervals.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all that is drawn."
)
@json_option
def retrieval(
    runs: tuple[str, ...],
    qrels: str,
    measures: tuple[str, ...],
    baseline: str | None,
    test: Any,
    topics_of: Any,
    per_topic: bool,
    plot: str | None,
    draws: int,
    seed: int,
    as_json: bool,
) -> int:
    """Measure runs; see `_HELP`."""
    check_plot(plot)
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
        draws=draws,
        seed=seed,
    )
    if plot is not None:
        from pnyx.view.plot import interval_plot

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
    if found.draws and fewest < _FEW_TOPICS:
        topics = f"{fewest} topic{'s' if fewest > 1 else ''}"
        notes.append(f"warning: intervals drawn from {topics} are too narrow, or none")
    return notes


def _run_notes(run: MeasuredRun) -> list[str]:
    notes = []
    if run.absent:
        notes.append(f"{listed(run.absent)} absent, counted as empty rankings (trec_eval -c)")
    if run.unjudged:
        notes.append(f"{listed(run.unjudged)} without qrels, not measured")
    if run.rearranged:
        notes.append(
            f"{_have(len(run.rearranged))} another order by rank than by score; the score "
            "counts, equal ones by document id, last first (trec_eval)"
        )
    if not run.judged_documents:
        notes.append("warning: none of its documents is in the qrels; are the ids the same?")
    return notes


def _have(count: int) -> str:
    return "1 topic has" if count == 1 else f"{count} topics have"


def _report(found: Retrieval, qrels: str, per_topic: bool) -> list[str]:
    """Return the tables for people."""
    sizes = sorted({len(run.per_topic) for run in found.runs})
    topics = " to ".join(map(str, sizes if len(sizes) < 3 else (sizes[0], sizes[-1])))
    runs = f"{len(found.runs)} run{'s' if len(found.runs) > 1 else ''}"
    lines = [f"retrieval: {runs} on {topics} topics of {shorten(qrels, 200)}", ""]
    lines += _spaced(table(_rows(found), left=2), len(found.runs))
    for run in found.runs if per_topic else ():
        lines += ["", shorten(run.name), *table(_topic_rows(run))]
    if found.comparisons:
        lines += ["", "d: mean difference in standard deviations of the topics' differences"]
    legend = _legend(found)
    return [*lines, *([] if found.comparisons or not legend else [""]), *legend]


def _spaced(lines: Sequence[str], runs: int) -> list[str]:
    """Put an empty line between the measures where each has several runs."""
    header, *rest = lines
    if runs == 1:
        return list(lines)
    blocks = [rest[n : n + runs] for n in range(0, len(rest), runs)]
    return [header, *(line for block in blocks for line in ("", *block))]


def _rows(found: Retrieval) -> list[list[str]]:
    compared = _comparisons(found)
    header = ["measure", "run", "mean" + ("  " if compared else ""), "95 % interval", "topics"]
    if found.baseline is not None:
        header += ["difference", "95 % interval", "p", "p (Holm)", "d"]
    rows = [header]
    for name in found.runs[0].measures:
        for place, run in enumerate(found.runs):
            m = run.measures[name]
            mark = f" {_mark(compared.get((run.name, name))):1}" if compared else ""
            topics = str(m.asked) if m.scored == m.asked else f"{m.scored} of {m.asked}"
            cells = [
                "" if place else name,
                shorten(run.name, 40),
                number(m.value) + mark,
                interval(m.low, m.high),
                topics,
            ]
            if found.baseline is not None:
                cells += _compared(compared.get((run.name, name)))
            rows.append(cells)
    return rows


def _comparisons(found: Retrieval) -> dict[tuple[str, str], Comparison]:
    return {(c.run, c.measure): c for c in found.comparisons}


def _compared(c: Comparison | None) -> list[str]:
    if c is None:
        return ["baseline", "", "", "", ""]
    difference = c.test.difference
    return [
        "-" if difference is None else f"{difference:+.3f}",
        interval(c.low, c.high),
        chance(c.test.p),
        chance(c.p_holm),
        "-" if c.test.effect is None else f"{c.test.effect:+.2f}",
    ]


def _mark(c: Comparison | None) -> str:
    if c is None or not c.significant or c.test.difference is None:
        return ""
    return _BETTER if c.test.difference > 0 else _WORSE


def _topic_rows(run: MeasuredRun) -> list[list[str]]:
    rows = [["topic", *run.measures]]
    for topic, values in run.per_topic.items():
        rows.append([shorten(topic, 40), *(number(values[name]) for name in run.measures)])
    return rows


def _legend(found: Retrieval) -> list[str]:
    lines = []
    if found.baseline is not None:
        tests = sum(c.p_holm is not None for c in found.comparisons)
        test = "t-test" if found.test == "t" else "randomisation test"
        lines.append(
            f"{_BETTER} {_WORSE} higher, lower than {shorten(found.baseline, 40)}: p < .05 in a "
            f"two-sided paired {test}, Holm-Bonferroni over {tests} "
            f"comparison{'' if tests == 1 else 's'}"
        )
    if found.draws:
        lines.append(
            f"95 % intervals: {found.draws} draws (seed {found.seed}) of the topics with "
            "replacement, percentiles"
        )
    return lines


def _panels(found: Retrieval) -> list[Panel]:
    from pnyx.view.plot import Panel, Point

    compared = _comparisons(found)
    panels = []
    for name in found.runs[0].measures:
        points = []
        reference = None
        for run in found.runs:
            m = run.measures[name]
            mark = _mark(compared.get((run.name, name)))
            points.append(Point(run.name, m.value, m.low, m.high, mark))
            if run.name == found.baseline:
                reference = m.value
        panels.append(Panel(name, points, reference))
    return panels
