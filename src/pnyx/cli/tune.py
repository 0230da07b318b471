"""`pnyx tune`: a model's parameters, chosen on topics with qrels."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.measure_runs import (
    chance,
    check_plot,
    drawing_options,
    draws_legend,
    few_warning,
    listed,
)
from pnyx.cli.options import json_option
from pnyx.cli.progress import reporting
from pnyx.cli.searching import tuning_options
from pnyx.errors import InputError, shorten
from pnyx.view.tables import Column, Table, filled, interval, number

if TYPE_CHECKING:
    from pnyx.audit.settings import Parameters, Tuning
    from pnyx.audit.tuning import Tuned
    from pnyx.measure.base import Bootstrap

__all__ = ["command"]

_SHOWN_OTHERS = 4


def _tried(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
    """Read NAME or NAME=V,V,...; None stands for the usual values."""
    tried: dict[str, Any] = {}
    for one in given:
        name, equals, values = one.partition("=")
        name = name.strip().replace("-", "_")
        if name in tried:
            raise InputError(f"--try {shorten(one, 40)}: {shorten(name, 40)} is given twice")
        try:
            tried[name] = tuple(float(v) for v in values.split(",")) if equals else None
        except ValueError:
            expected = "expected NAME or NAME=NUMBER,NUMBER,..."
            raise InputError(f"--try {shorten(one, 60)}: {expected}") from None
    return tried


@click.command(name="tune")
@click.argument("index", type=click.Path())
@click.option("--topics", required=True, type=click.Path(), help="File of topics.")
@click.option("--qrels", required=True, metavar="QRELS", help="Judgements of documents of INDEX.")
@tuning_options
@click.option(
    "--try",
    "tried",
    multiple=True,
    callback=_tried,
    metavar="NAME[=V,V...]",
    help="Choose this parameter, of these values: mu, k1, b, wc, wq or dense-weight. Repeatable; "
    "parameters that are not named stay as they are  [default: all of the model].",
)
@click.option(
    "--measure",
    default="nDCG@10",
    show_default=True,
    help="What decides, in the notation of ir-measures.",
)
@click.option(
    "--folds",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    help="Of the cross-validation.",
)
@click.option(
    "--test",
    type=click.Choice(["t", "randomisation"]),
    default="t",
    show_default=True,
    help="Paired test against the defaults.",
)
@click.option("--plot", metavar="FILE.svg", help="Draw the measure by each parameter.")
@drawing_options
@json_option
def command(
    index: str, topics: str, qrels: str, plot: str | None, as_json: bool, **options: Any
) -> int:
    """Choose the parameters of --model on topics with qrels, and say what the choice is worth.

    Every combination of values ranks every topic. The best on all topics is printed as options of
    pnyx search. Its own mean is too high, since these topics chose it; so it is cross-validated:
    each topic is measured with what is best on the other folds, and that is compared with the
    defaults (paired, two-sided). Topics that were tuned on are not to be reported on.

    Needs pip install 'pnyx[retrieval]'. Exit status 3: the measure is not defined for some topic.

    \b
    Example:
      pnyx tune my.index --topics topics.jsonl --qrels qrels.txt --model bm25
      pnyx tune my.index --topics topics.jsonl --qrels qrels.txt --model hybrid \\
        --try mu=500,1000,2000 --try dense-weight --measure AP --plot tuned.svg
    """
    from pnyx.audit.tuning import tune
    from pnyx.corpora import read_qrels, read_questions
    from pnyx.search.index import Index

    check_plot(plot)
    if [topics, qrels].count("-") > 1:
        raise click.UsageError("only one of --topics and --qrels can be standard input")
    tuning = _tuning(options)
    with reporting() as report:
        found = tune(
            Index.open(index),
            list(read_questions(topics)),
            read_qrels(qrels),
            tuning,
            embedder=_embedder(tuning, options["embedder"]),
            report=report,
        )
    if plot is not None:
        from pnyx.files import atomic_text
        from pnyx.view.plots import tuning_plot

        with atomic_text(plot) as stream:
            stream.write(tuning_plot(found, [*_legend(found), *_worth(found)]))
    for line in _notes(found):
        click.echo(f"pnyx: {line}", err=True)
    if as_json:
        click.echo(json.dumps(found.row(), allow_nan=False))
    else:
        click.echo("\n\n".join(_report(found, qrels)))
    return EXIT_UNSCORED if found.undefined else 0


def _tuning(options: dict[str, Any]) -> Tuning:
    from pnyx.audit.settings import GRIDS, Tuning
    from pnyx.search.scoring import Scoring

    for flag in ("lexical", "fusion"):
        if options[flag] is not None and options["model"] != "hybrid":
            raise click.UsageError(f"--{flag} goes with --model hybrid")
    parts = {name: options[name] for name in ("lexical", "fusion") if options[name] is not None}
    scoring = Scoring(options["model"], flat=options["flat"], **parts)
    if options["embedder"] is not None and not scoring.embeds:
        raise click.UsageError("--embedder goes with --model touche or hybrid")
    tried = {n: GRIDS.get(n, ()) if v is None else v for n, v in options["tried"].items()}
    return Tuning(
        scoring,
        tried,
        options["measure"],
        options["folds"],
        options["test"],
        options["draws"],
        options["seed"],
    )


def _embedder(tuning: Tuning, spec: str | None) -> Any:
    if not tuning.scoring.embeds:
        return None
    from pnyx.models.embedding import embedder_from

    return embedder_from(spec)


# What is printed ---------------------------------------------------------------------------------


def _notes(found: Tuned) -> list[str]:
    """Return what a reader of the numbers must know, a line each."""
    notes = []
    if found.unjudged:
        notes.append(f"{listed(found.unjudged)} without qrels, left out")
    if found.unasked:
        notes.append(f"{listed(found.unasked)} of the qrels not among the topics, left out")
    if found.undefined:
        notes.append(f"{found.measure} is not defined for {listed(found.undefined)}, left out")
    return notes + few_warning(_bootstrap(found.tuning), found.topics, "topic")


def _report(found: Tuned, qrels: str) -> list[str]:
    """Return the paragraphs and tables for people; the last can be copied to a command line."""
    said = f"{len(found.settings)} settings, {found.topics} topics of {shorten(qrels, 200)}"
    return [
        filled(f"tune: {found.tuning.scoring}, {said}"),
        *(_curve(found, name).text() for name in found.tuning.grid),
        _settings(found).text(),
        f"use: {' '.join(found.options())}",
    ]


def _curve(found: Tuned, name: str) -> Table:
    columns = Column(name.replace("_", "-")), Column(found.measure, "figure"), Column("")
    rows = []
    for value, setting in found.curve(name):
        ends = ("best", found.best), ("default", found.default)
        marks = [what for what, one in ends if one.parameters[name] == value]
        rows.append((f"{value:g}", setting.mean, ", ".join(marks)))
    return Table(columns, rows)


def _settings(found: Tuned) -> Table:
    """Return the default and the best settings; those of equal means in the order of choice."""
    ordered = sorted(found.settings, key=lambda one: -(one.mean.value or 0.0))
    others = [one for one in ordered if one is not found.best and one is not found.default]
    ends = [("default: ", found.default), ("best: ", found.best)]
    if found.best is found.default:
        ends = [("default, best: ", found.default)]
    shown = [*ends, *(("", one) for one in others[:_SHOWN_OTHERS])]
    return Table(
        (Column("setting"), Column(found.measure, "figure")),
        [(label + _named(setting.parameters), setting.mean) for label, setting in shown],
        notes=_worth(found),
        legend=_legend(found),
    )


def _named(parameters: Parameters) -> str:
    return ", ".join(f"{name.replace('_', '-')} {value:g}" for name, value in parameters.items())


def _worth(found: Tuned) -> list[str]:
    """Say what the choice is worth on topics that had no say in it."""
    held, test = found.held_out, found.test
    chosen = {_named(fold.chosen) for fold in found.folds}
    said = "the same setting in all" if len(chosen) == 1 else f"{len(chosen)} settings"
    difference = "-" if test.difference is None else f"{test.difference:+.3f}"
    return [
        f"chosen on the other folds ({len(found.folds)}; {said}): {found.measure} "
        f"{number(held.value)} {interval(held.low, held.high)}",
        f"less the default's {number(found.default.mean.value)}: {difference} "
        f"{interval(found.low, found.high)}, p {chance(test.p)}",
    ]


def _legend(found: Tuned) -> list[str]:
    tuning = found.tuning
    named = "t-test" if tuning.test == "t" else "randomisation test"
    lines = [
        "By parameter, the others are as in the best setting. The best setting's own mean is too "
        "high: these topics chose it.",
        f"p: two-sided paired {named}; folds by seed {tuning.seed}",
    ]
    return lines + draws_legend("the topics", _bootstrap(tuning))


def _bootstrap(tuning: Tuning) -> Bootstrap:
    from pnyx.measure.base import Bootstrap

    return Bootstrap(tuning.draws, tuning.seed)
