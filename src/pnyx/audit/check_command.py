"""`pnyx check`: compare a judge's verdicts with people's labels in one table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from pnyx.cli.measure.tables import few_warning
from pnyx.cli.options import Outcome, refuse_same_file, refuse_two_outputs
from pnyx.cli.params import Raw, verb
from pnyx.core.errors import OptionError, escaped
from pnyx.core.spec import Spec, file_opt, opt, out_opt
from pnyx.display.tables import OwnWords
from pnyx.formats.runs.sources import run_names
from pnyx.formats.text_types import FileName, Words
from pnyx.judging.answers import ANSWERS
from pnyx.judging.measures.options import BootstrapSpec

if TYPE_CHECKING:
    from pnyx.audit.checks.items import CheckItems
    from pnyx.display.tables import Part
    from pnyx.stats.base import Bootstrap


class ChoosingSpec(Spec, heading="Several results", rare="baseline minimize prices card"):
    """How the judges of several results are compared."""

    baseline: Words | None = opt(None, metavar="NAME", default_text="the most accurate")
    minimize: Literal["dollars", "seconds"] = opt("dollars", "Cost to minimize.")
    prices: FileName | None = file_opt(
        None, "Prices of models (TOML); they override the packaged ones."
    )
    card: tuple[FileName, ...] = file_opt((), "Card of a judge (.json), of pnyx audit.")


def compare_results(
    results: Sequence[str],
    labels: Sequence[str],
    spec: ChoosingSpec,
    *,
    margin: float | None,
    html: str | None,
    bootstrap: Bootstrap,
) -> Outcome:
    """Compare the judges of results on the items that all were asked, and name the one to take."""
    if len(labels) != 1:
        raise OptionError("several results require one --labels FILE")
    named = dict(zip(run_names(results), results, strict=True))
    if spec.baseline is not None and spec.baseline not in named:
        names = escaped(", ".join(named), 200)
        raise OptionError(f"--baseline {escaped(spec.baseline, 60)}: expected one of {names}")
    from pnyx.audit.card_file import read_card
    from pnyx.audit.checks.comparison import CHOICE_MARGIN
    from pnyx.audit.display.judges import judge_notes, judge_parts, judges_html
    from pnyx.audit.judge_choice import choose_judge
    from pnyx.core.files import write_text
    from pnyx.models.chat.prices import read_prices

    result = choose_judge(
        named,
        labels[0],
        margin=CHOICE_MARGIN if margin is None else margin,
        by=spec.minimize,
        baseline=spec.baseline,
        prices=None if spec.prices is None else read_prices(spec.prices),
        cards=[read_card(path) for path in spec.card],
        bootstrap=bootstrap,
    )
    accuracy = [judge.measures["accuracy"] for judge in result.judges]
    unscored = any(m.scored < m.asked for m in accuracy)
    if html is not None:
        write_text(html, judges_html(result))
    few = few_warning(result.bootstrap, result.clusters, "cluster")
    notes = [*judge_notes(result), *few]
    parts = [] if html == "-" else judge_parts(result)
    return Outcome(result.row(), parts, unscored, notes)


EXIT_WORSE = 1
_OF_ONE_TABLE = (
    *("judge", "human", "group", "id", "probability", "yes", "no", "cost", "bar", "against"),
    *("plan", "a_first"),
)
"""Fields without effect on several results."""


class _ColumnsSpec(Spec, heading="Columns", rare="id cost probability yes no"):
    """The columns of the table."""

    judge: tuple[Words, ...] = opt(
        (),
        "Column of a judge's verdicts.",
        "--verdict",
        metavar="COL",
        default_text="guessed",
        replaces=("--judge",),
    )
    human: tuple[Words, ...] = opt(
        (), "Column of a person's labels.", metavar="COL", default_text="guessed"
    )
    group: Words | None = opt(
        None, "Column that clusters the rows, such as their question.", metavar="COL"
    )
    id: Words | None = opt(None, "Column of ids.", "--id-column", metavar="COL", replaces=("--id",))
    probability: tuple[Words, ...] = opt(
        (), "Column of probabilities of yes, for each judge.", metavar="COL"
    )
    yes: tuple[Words, ...] = opt((), "Values that mean yes, such as 4,5.", metavar="VALUES")
    no: tuple[Words, ...] = opt((), "Values that mean no.", metavar="VALUES")
    labels: tuple[FileName, ...] = file_opt(())
    cost: tuple[Words, ...] = opt(
        (),
        "Column with the cost of an answer in US dollars, for each judge.",
        metavar="COL",
    )


class _DecisionSpec(Spec, heading="Decision", rare="margin"):
    """How good a judge must be."""

    bar: tuple[Words, ...] = opt(
        (),
        "Minimum value that the judge must reach, e.g. kappa=0.6; for ece, brier and "
        "mean_absolute_error, the maximum.",
        metavar="MEASURE=VALUE",
    )
    against: FileName | None = file_opt(None)
    margin: float | None = opt(None, within="(0, 1)", default_text="0.02, with --against 0.1")

    @property
    def bars(self) -> dict[str, float]:
        """Measure -> bar; OptionError if one is not MEASURE=VALUE, or a measure is given twice."""
        bars: dict[str, float] = {}
        for text in self.bar:
            name, _, number = text.partition("=")
            try:
                value = float(number)
            except ValueError:
                value = math.nan
            if not name.strip() or not math.isfinite(value):
                expected = "expected MEASURE=VALUE, such as kappa=0.6"
                raise OptionError(f"--bar {escaped(text, 60)}: {expected}")
            if name.strip() in bars:
                raise OptionError(f"--bar {escaped(text, 60)}: the measure is given twice")
            bars[name.strip()] = value
        return bars


class _OutputSpec(Spec, heading="Output"):
    """The files to write."""

    html: FileName | None = out_opt(None)
    out: FileName | None = out_opt(None, "", "-o", "--out")


class _PlanSpec(Spec, heading="How many labels", rare="measure"):
    """The goal of a plan of more labels."""

    plan: bool = opt(
        False,
        "Say how many more rows to label, for --half-width or each --bar, and which first.",
        "--labels-needed",
        replaces=("--plan",),
    )
    half_width: float | None = opt(
        None, "Target half-width of the interval.", within="(0, 1)", needs="plan"
    )
    measure: Literal["kappa", "accuracy", "tpr", "tnr"] = opt("kappa", needs="half_width")


class _PairsSpec(Spec, heading="Pairs", rare="a_first b_first by_position"):
    """The verdicts of a judge that compared two texts in both orders."""

    a_first: Words | None = opt(
        None, "Column of verdicts on pairs with text A shown first.", metavar="COL"
    )
    b_first: Words | None = opt(
        None, "Column of verdicts on the same pairs with text B first.", metavar="COL"
    )
    by_position: bool = opt(
        False,
        "A and B (1 and 2) in the cells name the text shown first and second.",
        needs="a_first",
    )


class CheckTableSpec(
    BootstrapSpec, _OutputSpec, ChoosingSpec, _PairsSpec, _PlanSpec, _DecisionSpec, _ColumnsSpec
):
    """All options of `pnyx check`."""

    def refuse(self, *names: str, reason: str) -> None:
        """Raise OptionError if one of these options, which have no effect here, is set."""
        for name in names:
            if self.given(name):
                raise OptionError(f"{self.flag(name)} has no effect with {reason}")


@verb("check", short_help="Can a judge be trusted? Its verdicts against people's labels.")
@click.argument("tables", nargs=-1, required=True, type=Raw(), metavar="TABLE...")
def command(tables: tuple[FileName, ...], spec: CheckTableSpec, as_json: bool) -> int:
    """Check a judge against people's labels in one TABLE.

    TABLE is CSV, TSV, JSON, JSON Lines, Parquet or XLSX with a row for each answer, or a results
    folder of pnyx judge (with --labels). Intervals are 95 %.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx judge support ex/items.jsonl --out results
      $ pnyx check results --labels ex/item-labels.jsonl --bar accuracy=0.8
      Of 35 answers that people labelled "yes", the judge said "yes" to 17 ...
      65 %).
      Of 205 that people labelled "no", it said "no" to 194 (95 %, 89 to 98 %).
      Above the bar: accuracy 0.88 (0.81 to 0.92, 8 groups), at least 0.8.

    \b
    More: pnyx check --help-all, docs/recipes/check-a-judge.md.
    \f
    If some rows have no label, the judge's rate of yes is also corrected by the labels. If several
    people labelled an answer, their majority counts, or the mean of their ratings; --html and
    --json also compare people with each other, and the judge with each of them. Several judges are
    compared on the same rows, and the cheapest that is good enough is named (--cost).

    Intervals are made by a bootstrap over the groups. A bar is reached if the whole interval is at
    or above it, missed if all of it is below; labels of fewer than five groups decide nothing.
    Without --bar, a kappa of at least 0.6 is called trustworthy (Landis and Koch 1977), of ratings
    an ordinal alpha of at least 0.667.

    Exit status with --bar: 0 if every judge reaches every bar, 1 if a bar is missed, 3 if this
    cannot be decided yet or something is unscored. Without --bar: 0, or 3 if something is unscored.
    With --against, an earlier --out, 1 if a figure is worse by more than --margin (0.1).

    --labels-needed says how many more rows to label. --a-first and --b-first check a judge that
    compares two texts, by its verdicts in both orders.

    Several results folders are compared on the items that all their judges were asked, as in
    docs/reference/measures/check.md#choosing-a-judge: accuracy, dollars and seconds (of the
    manifests), and cascades of two judges. The cheapest that loses less than --margin is named.

    See also: pnyx audit run (trials of a judge, and its card), pnyx audit card (has it become
    worse?).

    \b
      pnyx check results.csv --verdict verdict --human label --group question
      pnyx check results.csv --verdict small --verdict large --human label
      pnyx check later.csv --verdict verdict --human label --against check.json
      pnyx check results.csv --verdict verdict --human label \\
        --labels-needed --half-width 0.05
      pnyx check pairs.csv --a-first forward --b-first backward --human human
      pnyx check packaged mini --labels people.jsonl --margin 0.05
    """
    _refuse_files(tables, spec, as_json=as_json)
    if (spec.a_first is None) != (spec.b_first is None):
        raise OptionError("give --a-first and --b-first together")
    spec.check_needs()
    if len(tables) > 1:
        spec.refuse(*_OF_ONE_TABLE, reason="several results")
        outcome = compare_results(
            tables,
            spec.labels,
            spec,
            margin=spec.margin,
            html=spec.html,
            bootstrap=spec.bootstrap,
        )
        return _show(outcome, spec, as_json=as_json)
    (table,) = tables
    spec.refuse("baseline", "minimize", "prices", "card", reason="one table")
    if spec.a_first is not None and spec.b_first is not None:
        return _show(_pairs(table, spec, spec.a_first, spec.b_first), spec, as_json=as_json)
    items = _items(table, spec)
    if spec.plan:
        return _show(_plan(items, spec), spec, as_json=as_json)
    return _report(items, spec, as_json=as_json)


def _refuse_files(tables: Sequence[str], spec: CheckTableSpec, *, as_json: bool) -> None:
    """Raise OptionError if a file is named for two purposes."""
    named = {f"--labels {n}": path for n, path in enumerate(spec.labels, 1)}
    for number, table in enumerate(tables, 1):
        name = f"TABLE {number}" if len(tables) > 1 else "TABLE"
        named[name] = str(Path(table) / ANSWERS) if Path(table).is_dir() else table
    for flag, path in (("--html", spec.html), ("--out", spec.out)):
        refuse_two_outputs(flag, path, as_json=as_json)
        refuse_same_file(flag, path, **named)
    if [*tables, *spec.labels].count("-") > 1:
        raise OptionError("only one file can be standard input")
    if len(set(spec.labels)) < len(spec.labels):
        raise OptionError("--labels names a file twice")
    if len(set(tables)) < len(tables):
        raise OptionError("the same results are given twice")


def _items(table: str, spec: CheckTableSpec) -> CheckItems:
    """Read the table, with the labels of further files."""
    from pnyx.audit.checks.columns import read_check_items

    return read_check_items(
        table,
        judge=spec.judge,
        human=spec.human,
        group=spec.group,
        id=spec.id,
        probability=spec.probability,
        yes=spec.yes,
        no=spec.no,
        labels=[Path(path) for path in spec.labels] or None,
    )


def _plan(items: CheckItems, spec: CheckTableSpec) -> Outcome:
    """Plan the labels of each judge."""
    from pnyx.audit.checks.plan import plan_labels
    from pnyx.audit.display.check_plan import plan_parts

    spec.refuse("html", "against", "margin", "cost", reason="--labels-needed")
    if not spec.bars and spec.half_width is None:
        raise OptionError("--labels-needed requires --half-width X or --bar MEASURE=VALUE")
    plans = [
        plan_labels(
            items,
            judge,
            half_width=spec.half_width,
            measure=spec.measure,
            bars=spec.bars,
            bootstrap=spec.bootstrap,
        )
        for judge in items.judges
    ]
    parts: list[Part] = []
    for plan in plans:
        parts += [[OwnWords(f"{escaped(plan.judge, 60)}:")]] if len(plans) > 1 else []
        parts += plan_parts(plan)
    row = plans[0].row() if len(plans) == 1 else [plan.row() for plan in plans]
    return Outcome(row, parts, notes=[escaped(note, 300) for note in items.notes])


def _pairs(table: str, spec: CheckTableSpec, a_first: str, b_first: str) -> Outcome:
    """Check verdicts on pairs in both orders."""
    from pnyx.audit.checks.pairs import check_pairs
    from pnyx.audit.checks.table import read_table_rows
    from pnyx.audit.display.check_pairs import pair_parts

    spec.refuse(
        *("judge", "probability", "yes", "no", "labels", "cost", "bar", "against", "margin"),
        *("plan", "html"),
        reason="--a-first",
    )
    result = check_pairs(
        read_table_rows(table),
        a_first=a_first,
        b_first=b_first,
        human=spec.human,
        group=spec.group or "",
        id=spec.id or "",
        by_position=spec.by_position,
        bootstrap=spec.bootstrap,
    )
    notes = [escaped(note, 300) for note in result.notes]
    return Outcome(result.row(), pair_parts(result), result.unscored, notes)


def _show(outcome: Outcome, spec: CheckTableSpec, *, as_json: bool) -> int:
    """Write and print a plan or a check of pairs, and return the exit status."""
    from pnyx.core.files import write_json

    if spec.out is not None:
        write_json(spec.out, outcome.row)
    if spec.out == "-":
        outcome = replace(outcome, parts="")
    return outcome.show(as_json=as_json)


def _report(items: CheckItems, spec: CheckTableSpec, *, as_json: bool) -> int:
    """Check the judges, write and print the result, and return the exit status."""
    from pnyx.audit.checks.check import check
    from pnyx.audit.display.check import check_html, check_text
    from pnyx.core.files import write_json, write_text

    checked = check(
        items,
        bars=spec.bars,
        cost=spec.cost,
        against=spec.against,
        margin=spec.margin,
        bootstrap=spec.bootstrap,
    )
    row: dict[str, Any] = checked.row()
    if spec.html is not None:
        write_text(spec.html, check_html(checked))
    if spec.out is not None:
        write_json(spec.out, row)
    text = "" if "-" in (spec.html, spec.out) else check_text(checked, spec.html or "")
    status = Outcome(row, text, checked.unscored).show(as_json=as_json)
    if any(moved.verdict == "worse" for moved in checked.drift):
        return EXIT_WORSE
    return checked.decide().exit_status if spec.bar else status
