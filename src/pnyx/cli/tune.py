"""`pnyx tune`: a model's parameters, chosen on topics with qrels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import click

from pnyx.app.measure_specs import BootstrapSpec
from pnyx.app.open_search import scoring_of
from pnyx.app.search_specs import ScoringSpec
from pnyx.app.spec import file_opt, opt, out_opt
from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.common.options import print_result, say
from pnyx.cli.common.params import verb
from pnyx.cli.common.progress import reporting
from pnyx.cli.measure.runs import PlotSpec, chance, draws_legend, few_warning, listed
from pnyx.errors import InputError, OptionError, escaped, shorten
from pnyx.measure.core.base import TEST
from pnyx.view.tables import Column, Table, filled, interval, number

if TYPE_CHECKING:
    from pnyx.audit.tuning import Parameters, Tuned, Tuning
    from pnyx.measure.core.base import Bootstrap

_SHOWN_OTHERS = 4


class TuneSpec(ScoringSpec, BootstrapSpec, PlotSpec, heading="Tuning"):
    """Which model is tuned, on what, and how the choice is made."""

    model: Literal["dirichlet", "bm25", "touche", "hybrid"] = opt(..., "Ranking model to tune.")
    topics: str = file_opt(..., "File of topics.")
    qrels: str = file_opt(..., "Judgements of documents of INDEX.", metavar="QRELS")
    tried: tuple[str, ...] = opt(
        (),
        "Tune this parameter, over these values: mu, k1, b, wc, wq or dense-weight. Repeatable; "
        "other parameters stay fixed.",
        "--try",
        metavar="NAME[=V,V...]",
        shown="all of the model",
    )
    measure: str = opt("nDCG@10", "Measure to optimise, in the notation of ir-measures.")
    folds: int = opt(5, "Number of cross-validation folds.", low=2)
    test: Literal["t", "randomisation"] = opt(TEST, "Paired test against the usual values.")
    plot: str | None = out_opt(None, "Draw the measure by each parameter.", metavar="FILE.svg")

    def tuning(self) -> Tuning:
        """Return what is tuned."""
        from pnyx.audit.tuning import Tuning

        self.check_needs()
        self.check_plot()
        if self.topics == self.qrels == "-":
            raise OptionError("only one of --topics and --qrels can be standard input")
        scoring = scoring_of(self)
        if self.embedder is not None and not scoring.embeds:
            raise OptionError("--embedder goes with --model touche or hybrid")
        tried = _tried(self.tried)
        return Tuning(scoring, tried, self.measure, self.folds, self.test, self.draws, self.seed)


def _tried(given: tuple[str, ...]) -> dict[str, tuple[float, ...]]:
    """Read NAME or NAME=V,V,...; a name alone stands for the usual values."""
    from pnyx.audit.tuning import GRIDS

    tried: dict[str, tuple[float, ...]] = {}
    for one in given:
        name, equals, values = one.partition("=")
        name = name.strip().replace("-", "_")
        if name in tried:
            raise InputError(f"--try {shorten(one, 40)}: {shorten(name, 40)} is given twice")
        try:
            usual = GRIDS.get(name, ())
            tried[name] = tuple(float(v) for v in values.split(",")) if equals else usual
        except ValueError:
            expected = "expected NAME or NAME=NUMBER,NUMBER,..."
            raise InputError(f"--try {shorten(one, 60)}: {expected}") from None
    return tried


@verb("tune", without={"spec": "mu k1 b wc wq dense_weight"})
@click.argument("index")
def command(index: str, spec: TuneSpec, as_json: bool) -> int:
    """Tune the parameters of --model on topics with qrels, and cross-validate the gain.

    Every combination of values ranks every topic (grid search). The best setting over all topics is
    printed as options of pnyx search. Its own mean is biased upward, since these topics chose it.
    In cross-validation each topic is measured with the setting that is best on the other folds and
    compared with the usual values (paired, two-sided). Do not report results on topics used for
    tuning.

    Needs pip install 'pnyx[retrieval]'. Exit status 3: the measure is not defined for some topic.

    \b
    Example:
      pnyx tune my.index --topics topics.jsonl --qrels qrels.txt --model bm25
      pnyx tune my.index --topics topics.jsonl --qrels qrels.txt \\
        --model hybrid --try mu=500,1000,2000 --measure AP --plot tuned.svg
    """
    from pnyx.audit.tuning import tune
    from pnyx.corpora import read_qrels, read_questions
    from pnyx.search.index import Index
    from pnyx.view.plots import tuning_plot

    tuning = spec.tuning()
    with reporting() as show:
        found = tune(
            Index.open(index),
            list(read_questions(spec.topics)),
            read_qrels(spec.qrels),
            tuning,
            embedder=_embedder(tuning, spec.embedder),
            report=show,
        )
    spec.draw(lambda: tuning_plot(found, [*_legend(found), *_worth(found)]))
    for line in _notes(found):
        say(line)
    report = "\n\n".join(_report(found, spec.qrels))
    print_result(found.row(), report, as_json=as_json, err=False, allow_nan=False)
    return EXIT_UNSCORED if found.undefined else 0


def _embedder(tuning: Tuning, spec: str | None) -> Any:
    if not tuning.scoring.embeds:
        return None
    from pnyx.models.embed.embedder import embedder_from

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
    said = f"{len(found.settings)} settings, {found.topics} topics of {escaped(qrels)}"
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
    ordered = sorted(
        found.settings, key=lambda one: math.inf if one.mean.value is None else -one.mean.value
    )
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
    chosen = {_named(fold.parameters) for fold in found.folds}
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
    from pnyx.measure.core.base import Bootstrap

    return Bootstrap(tuning.draws, tuning.seed)
