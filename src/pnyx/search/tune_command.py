"""`pnyx search tune`: a model's parameters, chosen on topics with qrels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import click

from pnyx.cli.measure.tables import PlotSpec, few_warning, listed
from pnyx.cli.options import Outcome, warn
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, OptionError, escaped, shorten
from pnyx.core.progress import reporting
from pnyx.core.spec import file_opt, opt, out_opt, topics_opt
from pnyx.display.svg import MARGIN, Axes, Axis, document, drawn_text
from pnyx.display.tables import Column, Table, chance, draws_legend, interval, number, shown
from pnyx.formats.text_types import SourceName
from pnyx.judging.measures.options import BootstrapSpec
from pnyx.search.common_index import IndexCommand, open_documents
from pnyx.search.open_search import scoring_of
from pnyx.search.options import ScoringSpec
from pnyx.stats.base import TEST, Bootstrap

if TYPE_CHECKING:
    from pnyx.display.tables import Part
    from pnyx.search.parameter_search import Parameters, Setting, Tuned, Tuning


_SHOWN_OTHERS = 4


class TuneSpec(ScoringSpec, BootstrapSpec, PlotSpec, heading="Tuning"):
    """Which model is tuned, on what data, and how settings are chosen."""

    model: Literal["dirichlet", "bm25", "touche", "hybrid"] = opt(...)
    topics: str = topics_opt(...)
    qrels: str = file_opt(..., metavar="QRELS")
    tried: tuple[str, ...] = opt(
        (),
        "Tune this parameter, over these values: mu, k1, b, wc, wq or dense-weight; "
        "the others stay fixed.",
        "--try",
        metavar="NAME[=V,V...]",
        default_text="all of the model",
    )
    measure: str = opt("nDCG@10")
    folds: int = opt(5, "Number of cross-validation folds.", low=2)
    test: Literal["t", "randomisation"] = opt(TEST)
    plot: str | None = out_opt(None, metavar="FILE.svg")

    def tuning(self) -> Tuning:
        """Return the tuning settings."""
        from pnyx.search.parameter_search import Tuning

        self.check_needs()
        self.check_plot()
        if self.topics == self.qrels == "-":
            raise OptionError("only one of --topics and --qrels can be standard input")
        scoring = scoring_of(self)
        if self.embedder is not None and not scoring.embeds:
            raise OptionError("--set embedder requires --model touche or hybrid")
        tried = _tried(self.tried)
        return Tuning(scoring, tried, self.measure, self.folds, self.test, self.draws, self.seed)


def _tried(options: tuple[str, ...]) -> dict[str, tuple[float, ...]]:
    """Read NAME or NAME=V,V,...; a name alone means the usual values."""
    from pnyx.search.parameter_search import GRIDS

    tried: dict[str, tuple[float, ...]] = {}
    for option in options:
        name, equals, values = option.partition("=")
        name = name.strip().replace("-", "_")
        if name in tried:
            raise InputError(f"--try {shorten(option, 40)}: {shorten(name, 40)} is given twice")
        try:
            usual = GRIDS.get(name, ())
            tried[name] = tuple(float(v) for v in values.split(",")) if equals else usual
        except ValueError:
            expected = "expected NAME or NAME=NUMBER,NUMBER,..."
            raise InputError(f"--try {shorten(option, 60)}: {expected}") from None
    return tried


@verb(
    "tune",
    kind=IndexCommand,
    short_help="Tune a model's parameters on topics with qrels.",
    without={"spec": "mu k1 b wc wq dense_weight"},
)
@click.argument("index")
def command(index: SourceName, spec: TuneSpec) -> Outcome:
    """Tune the parameters of --model on topics with qrels, and cross-validate the gain.

    Every combination of values ranks every topic (grid search). The best setting over all topics is
    printed as options of pnyx search.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx index ex/arguments.jsonl --out my.index --words-only
      $ pnyx search tune my.index --topics ex/questions.md \\
          --qrels ex/qrels.txt --model bm25 --try k1=0.9,1.2
      ...
      k1                nDCG@10
      0.9  0.257 [0.199, 0.324]  best
      1.2  0.256 [0.199, 0.322]  default

    \b
    More: pnyx search tune --help-all.
    \f
    The best setting's own mean is biased upward, since these topics chose it. In cross-validation
    each topic is measured with the setting that is best on the other folds and compared with the
    usual values (paired, two-sided). Do not report results on topics used for tuning.

    Needs pip install 'pnyx[retrieval]'. Exit status 3: the measure is not defined for some topic.
    """
    from pnyx.formats import read_qrels, read_questions
    from pnyx.models.embed.embedder import embedder_from
    from pnyx.search.parameter_search import tune

    tuning = spec.tuning()
    embedder = embedder_from(spec.embedder) if tuning.scoring.embeds else None
    with reporting() as show:
        tuned = tune(
            open_documents(index),
            list(read_questions(spec.topics, on_warning=warn)),
            read_qrels(spec.qrels),
            tuning,
            embedder=embedder,
            report=show,
        )
    spec.draw(lambda: tuning_plot(tuned, [*_legend(tuned), *_worth(tuned)]))
    count = f"{len(tuned.settings)} settings, {tuned.topics} topics of {escaped(spec.qrels)}"
    parts: list[Part] = [[f"tune: {tuned.tuning.scoring}, {count}"]]
    parts += [_curve(tuned, name) for name in tuning.grid]
    parts.append(_settings(tuned))
    use = f"use: {' '.join(tuned.options())}"  # as one line, to be copied to a command line
    report = f"{shown(parts)}\n\n{use}"
    notes = [
        *(
            f"{listed(topics)} {what}, left out"
            for topics, what in (
                (tuned.unjudged, "without qrels"),
                (tuned.unasked, "of the qrels not among the topics"),
            )
            if topics
        ),
        *[f"{tuned.measure} is not defined for {listed(tuned.undefined)}, left out"]
        * bool(tuned.undefined),
        *few_warning(spec.bootstrap, tuned.topics, "topic"),
    ]
    return Outcome(tuned.row(), report, tuned.undefined, notes, ascii=True)


# What is printed ---------------------------------------------------------------------------------


def _curve(tuned: Tuned, name: str) -> Table:
    rows = []
    for value, setting in tuned.curve(name):
        ends = ("best", tuned.best), ("default", tuned.default)
        marks = [what for what, end in ends if end.parameters[name] == value]
        rows.append((f"{value:g}", setting.mean, ", ".join(marks)))
    columns = Column(name.replace("_", "-")), Column(tuned.measure, "figure"), Column("")
    return Table(columns, rows)


def _settings(tuned: Tuned) -> Table:
    """Return the default and the best settings; equal means are in the order of choice."""
    ends = [("default: ", tuned.default), ("best: ", tuned.best)]
    if tuned.best is tuned.default:
        ends = [("default, best: ", tuned.default)]
    others = [s for s in tuned.settings if s is not tuned.best and s is not tuned.default]
    others.sort(key=lambda s: math.inf if s.mean.value is None else -s.mean.value)
    listed = [*ends, *(("", setting) for setting in others[:_SHOWN_OTHERS])]
    return Table(
        (Column("setting"), Column(tuned.measure, "figure")),
        [(label + _named(setting.parameters), setting.mean) for label, setting in listed],
        notes=_worth(tuned),
        legend=_legend(tuned),
    )


def _named(parameters: Parameters) -> str:
    return ", ".join(f"{name.replace('_', '-')} {value:g}" for name, value in parameters.items())


def _worth(tuned: Tuned) -> list[str]:
    """Report the effect of tuning on held-out topics."""
    score, test = tuned.held_out, tuned.test
    chosen = {_named(fold.parameters) for fold in tuned.folds}
    same = "the same setting in all" if len(chosen) == 1 else f"{len(chosen)} settings"
    difference = "-" if test.difference is None else f"{test.difference:+.3f}"
    return [
        f"chosen on the other folds ({len(tuned.folds)}; {same}): {tuned.measure} "
        f"{number(score.value)} {interval(score.low, score.high)}",
        f"less the default's {number(tuned.default.mean.value)}: {difference} "
        f"{interval(tuned.low, tuned.high)}, p {chance(test.p)}",
    ]


def _legend(tuned: Tuned) -> list[str]:

    tuning = tuned.tuning
    named = "t-test" if tuning.test == "t" else "randomisation test"
    return [
        "By parameter, the others are as in the best setting. The best setting's own mean is too "
        "high: these topics chose it.",
        f"p: two-sided paired {named}; folds by seed {tuning.seed}",
        *draws_legend("the topics", Bootstrap(tuning.draws, tuning.seed)),
    ]


def tuning_plot(tuned: Tuned, notes: Sequence[str] = ()) -> str:
    """Return a panel for each parameter, the others as in the best setting, as an SVG document."""
    curves = {name: tuned.curve(name) for name in tuned.tuning.grid}
    settings = [setting for curve in curves.values() for _, setting in curve] + [tuned.default]
    means = [x for s in settings for x in (s.mean.value, s.mean.low, s.mean.high) if x is not None]
    scale = Axis(means)
    parts = [drawn_text(f"{tuned.measure} by parameter", MARGIN, MARGIN + 10, "head")]
    axes = Axes(MARGIN + 40, MARGIN + 44, 300, 200)
    for name, curve in curves.items():
        parts += _tuned_panel(tuned, name, curve, axes, scale)
        axes = Axes(axes.x(1) + 56, axes.top, axes.wide, axes.high)
    wide, high = int(axes.left - 56 + MARGIN), int(axes.y(0) + 30)
    return document(f"{tuned.measure} by parameter", wide, high, parts, notes)


def _tuned_panel(
    tuned: Tuned,
    name: str,
    curve: Sequence[tuple[float, Setting]],
    axes: Axes,
    scale: Axis,
) -> list[str]:
    at = scale.at
    places = {value: n / max(1, len(curve) - 1) for n, (value, _) in enumerate(curve)}
    parts = [drawn_text(name.replace("_", " "), axes.left, MARGIN + 32, "head")]
    parts += axes.up([(at(tick), f"{tick:.3g}") for tick in scale.marks])
    for value, x in places.items():
        parts.append(drawn_text(f"{value:g}", axes.x(x), axes.y(0) + 16, "tick"))
    middle, low, high = (
        [(places[v], at(y)) for v, s in curve if (y := getattr(s.mean, end)) is not None]
        for end in ("value", "low", "high")
    )
    parts += axes.band(low, high)
    default, best = tuned.default.mean.value, tuned.best.mean.value
    if default is not None:
        parts.append(axes.line((0, at(default)), (1, at(default)), "base"))
    parts.append(axes.path(middle))
    if best is not None:
        parts.append(axes.dot(places[tuned.best.parameters[name]], at(best)))
    return parts
