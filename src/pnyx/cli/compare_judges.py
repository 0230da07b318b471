"""`pnyx compare judges`: which of several judges to take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import click

from pnyx.app.measure_specs import BootstrapSpec
from pnyx.app.spec import file_opt, opt
from pnyx.cli.common.options import Outcome
from pnyx.cli.common.params import verb
from pnyx.cli.measure.runs import chance, draws_legend, few_warning, run_names
from pnyx.errors import InputError, OptionError, escaped, shorten
from pnyx.view.tables import Column, Table

if TYPE_CHECKING:
    from pnyx.audit.choosing import ChosenJudge, ComparedJudge, JudgeCascade
    from pnyx.view.tables import Part


class ChoosingSpec(BootstrapSpec, heading="Choice"):
    """What judges are held against, and what is good enough."""

    labels: str = file_opt(..., "People's labels (JSONL).", metavar="LABELS")
    margin: float = opt(
        0.02, "Accuracy that may be lost: choose it before looking.", within="(0, 1)"
    )
    baseline: str | None = opt(
        None, "Judge not to fall behind.", metavar="NAME", shown="the most accurate"
    )
    by: Literal["dollars", "seconds"] = opt("dollars", "What is to be cheap.")
    prices: str | None = file_opt(None, "Prices of models (TOML); they override the packaged ones.")
    card: tuple[str, ...] = file_opt(
        (), "Card of a judge (pnyx audit card, .json), for its trials. Repeatable."
    )


@verb("judges", short_help="Which of several judges to take.")
@click.argument("answers", nargs=-1, required=True, metavar="ANSWERS...")
def judges(answers: tuple[str, ...], spec: ChoosingSpec) -> Outcome:
    """Compare the judges of several results folders on the items that all were asked about.

    Of each: accuracy, F1, AUROC, calibration error and Brier score with 95 % intervals, dollars for
    1,000 answers, seconds an answer, and the trials of its --card. Nothing is asked again: costs
    are what the folders' manifests say, at the prices of --prices.

    Each judge is tested against the most accurate (--baseline): is it less accurate by --margin or
    more? Those that are shown not to be (p of Tango's score test, corrected by Holm-Bonferroni,
    < .025) are good enough, and the cheapest of them is named. So is a cascade of two, if cheaper:
    a cheap judge that answers where it is sure, and a dear one for the rest. Its thresholds are
    chosen on one half of the labels (drawn by --seed, whole groups), all its figures are of the
    other. docs/measures.md defines each. Exit status 3: some answers are unscored.

    \b
    Example:
      pnyx judge support items.jsonl --out packaged
      pnyx judge support items.jsonl --llm openai:gpt-4o-mini --out mini
      pnyx compare judges packaged mini --labels people.jsonl --margin 0.05
    """
    if len(answers) < 2:
        raise OptionError("give the results of two judges or more")
    if len(set(answers)) < len(answers):
        raise OptionError("the results of a judge are given twice")
    named = dict(zip(run_names(answers), answers, strict=True))
    if spec.baseline is not None and spec.baseline not in named:
        found = escaped(", ".join(named), 200)
        raise OptionError(f"--baseline {escaped(spec.baseline, 60)}: expected one of {found}")
    from pnyx.audit.choosing import choose_judge
    from pnyx.models.chat.prices import read_prices

    result = choose_judge(
        named,
        spec.labels,
        margin=spec.margin,
        by=spec.by,
        baseline=spec.baseline,
        prices=None if spec.prices is None else read_prices(spec.prices),
        cards=[_card(path) for path in spec.card],
        bootstrap=spec.bootstrap,
    )
    accuracy = [one.measures["accuracy"] for one in result.judges]
    unscored = any(m.scored < m.asked for m in accuracy)
    return Outcome(result.row(), lambda: _report(result), unscored, _notes(result))


def _card(path: str) -> Mapping[str, Any]:
    from pnyx.files import read_json

    card = read_json(path)
    if card is None or card.get("format") != "pnyx-card":
        raise InputError("expected a card, as pnyx audit card --out FILE.json writes it", path=path)
    return card


def _notes(result: ChosenJudge) -> list[str]:
    notes = []
    if result.left_out:
        notes.append(f"{result.left_out} labelled items were not asked of every judge: left out")
    for one in result.judges:
        m = one.measures["accuracy"]
        if m.scored < m.asked:
            notes.append(f"{escaped(one.name, 40)}: {m.asked - m.scored} of {m.asked} unscored")
        if (one.usd if result.by == "dollars" else one.seconds) is None:
            notes.append(f"{escaped(one.name, 40)}: its {result.by} are not known ({_WHY})")
    return notes + few_warning(result.bootstrap, result.clusters, "item or group")


_WHY = "no price, no manifest, or answers from the store or an earlier part of the run"


def _report(result: ChosenJudge) -> list[Part]:
    shown = list(result.judges[0].measures)
    shown = [name for name in shown if all(name in one.measures for one in result.judges)]
    columns = [Column("judge"), *(Column(name, "figure") for name in shown)]
    columns += [Column("answers", "counts"), Column("$ / 1,000", "number")]
    columns += [Column("s / answer", "number"), Column("trials")]
    rows: list[Sequence[Any]] = []
    for one in result.judges:
        measured = [one.measures[name] for name in shown]
        rows.append([escaped(one.name, 40), *measured, measured[0], *_costs(one), _trials(one)])
    title = f"{result.task}: {result.items} items that all judges were asked about"
    parts: list[Part] = [Table(columns, rows, title=title), _tests(result)]
    if result.cascade is not None:
        parts.append(_cascade(result.cascade))
    drawn = f"{result.clusters} items or groups"
    return [*parts, [_choice(result)], draws_legend(drawn, result.bootstrap)]


def _costs(one: ComparedJudge | JudgeCascade) -> list[float | None]:
    return [None if one.usd is None else 1000 * one.usd, one.seconds]


def _trials(one: ComparedJudge) -> str:
    if not one.trials:
        return "no card"
    passed = sum(outcome == "passed" for outcome in one.trials.values())
    others = ", ".join(f"{n} {o}" for n, o in one.trials.items() if o != "passed")
    return f"{passed} of {len(one.trials)} passed" + (f"; {others}" if others else "")


def _tests(result: ChosenJudge) -> Table:
    names = ("difference", "95 % interval", "p", "(Holm)", "p not less", "(Holm) ", "shown")
    rows = []
    for c in result.comparisons:
        against = c.against
        less = (None, None) if against is None else (against.p_not_lower, against.p_not_lower_holm)
        difference = "-" if c.test.difference is None else f"{c.test.difference:+.3f}"
        cells = [difference, (c.low, c.high), *map(chance, (c.test.p, c.p_holm, *less))]
        rows.append([escaped(c.run, 80), *cells, c.conclusion.replace("lower", "less")])
    kinds = [Column(n, "interval" if n == "95 % interval" else "number") for n in names]
    legend = (
        f"accuracy less that of {escaped(result.baseline, 40)}; not less: by {result.margin:g} or "
        "more, one-sided p (Holm) < .025; Tango's intervals"
    )
    return Table([Column("judge"), *kinds], rows, legend=[legend])


def _cascade(one: JudgeCascade) -> Table:
    columns = (Column("cascade"), Column("accuracy", "figure"), Column("kept", "share"),
               Column("$ / 1,000", "number"), Column("s / answer", "number"))  # fmt: skip
    limits = (("no to", one.low), ("yes from", one.high))
    sides = [f"{side} {limit:.4g}" for side, limit in limits if limit is not None]
    legend = (
        f"{escaped(one.first, 40)} keeps {' and '.join(sides)}; thresholds chosen on the other "
        f"half of the labels (pnyx calibrate --error {one.error:g}, then pnyx judge --cascade)"
    )
    row = (escaped(one.name, 80), one.accuracy, one.kept, *_costs(one))
    return Table(columns, [row], legend=[legend])


def _choice(result: ChosenJudge) -> str:
    if result.choice is None:
        return f"no choice: the {result.by} of a judge that is good enough are not known"
    named = shorten(result.choice, 80)
    if result.choice == result.baseline:
        return f"take {named}: no cheaper judge is shown to be good enough"
    return f"take {named}: the cheapest that is good enough, by {result.by}"
