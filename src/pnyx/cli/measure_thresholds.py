"""`pnyx measure thresholds` and `amount`: which documents to take, and how much there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from pnyx.app.measure_specs import TruthSpec
from pnyx.cli.measure_runs import check_plot, drawing_options, draws_legend, few_warning, finish
from pnyx.cli.options import json_option, warn
from pnyx.cli.params import takes
from pnyx.cli.tables import interval, number, table
from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.measure.amount import Amount
    from pnyx.measure.thresholds import Curve, Thresholds

__all__ = ["amount", "thresholds"]

_SHOWN_K = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


def _numbers(_: click.Context, __: click.Parameter, value: str) -> tuple[float, ...]:
    """Read rising probabilities between commas."""
    try:
        found = tuple(float(part) for part in value.split(","))
    except ValueError:
        shown = shorten(value, 40)
        raise click.BadParameter(f"found {shown!r}, expected numbers like 0.3,0.7") from None
    if not all(0 < t <= 1 for t in found) or list(found) != sorted(set(found)):
        raise InputError(f"--at {shorten(value, 40)}: expected rising ones above 0, at most 1")
    return found


@click.command(short_help="F1 by threshold on the probability, and by k.")
@click.argument("annotations", type=click.Path())
@takes("truth", TruthSpec)
@click.option(
    "--at",
    callback=_numbers,
    default="0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9",
    show_default=True,
    help="Thresholds that the table shows; --json has 0.01 to 0.99.",
)
@click.option("--plot", metavar="FILE.svg", help="Draw both curves.")
@drawing_options
@json_option
def thresholds(
    annotations: str, truth: TruthSpec, plot: str | None, as_json: bool, **options: Any
) -> int:
    """Measure F1, precision and recall of ANNOTATIONS by threshold, and by number of documents.

    Taking the documents from a probability on is set against taking the first k of each question
    (DIRAS, section 5, Fig. 6). The best threshold and the best k are too good on the labels that
    they were chosen on; so each question's is also chosen on the other questions. Intervals come
    from drawing whole questions. Exit status 3: some labelled pairs are unscored.

    \b
    Example:
      pnyx measure thresholds labels.jsonl --qrels qrels.txt --plot thresholds.svg
    """
    from pnyx.judge.verdicts import read_annotations
    from pnyx.measure.base import Bootstrap
    from pnyx.measure.thresholds import GRID, measure_thresholds

    check_plot(plot)
    try:
        found = measure_thresholds(
            read_annotations(annotations, judge=truth.judge),
            truth.truth(),
            grid=sorted({*GRID, *options["at"]}),
            bootstrap=Bootstrap(options["draws"], options["seed"]),
        )
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(error.problem, path=annotations) from error
    if plot is not None:
        from pnyx.files import atomic_text
        from pnyx.view.plots import thresholds_plot

        with atomic_text(plot) as stream:
            line = "dashed line: F1 at the best threshold; shaded: its 95 % interval"
            stream.write(thresholds_plot(found, [*_notes(found), line]))
    return finish(
        found.row(),
        few_warning(found.bootstrap, found.counts["questions"], "question"),
        lambda: _report(found, options["at"]),
        as_json,
        unscored=found.counts["unscored"],
    )


def _notes(found: Thresholds) -> list[str]:
    c = found.counts
    notes = [
        f"{c['relevant']} of {c['scored']} pairs of {c['questions']} questions are relevant; "
        f"{c['unscored']} unscored and {c['unlabelled']} unlabelled pairs are left out"
    ]
    for what, choice in (("threshold", found.best_threshold), ("k", found.best_cutoff)):
        held_out = choice.held_out
        notes.append(
            f"best {what} {choice.at:g}: F1 {number(choice.f1.value)}; chosen on the other "
            f"questions: {number(held_out.value)} {interval(held_out.low, held_out.high)}"
        )
    gain = found.gain
    notes.append(
        f"by threshold higher than by k, both so chosen: {number(gain.value)} "
        f"{interval(gain.low, gain.high)}"
    )
    return notes


def _report(found: Thresholds, at: Sequence[float]) -> list[str]:
    ks = [k for k in found.cutoffs.at if k in _SHOWN_K]
    lines = [f"{shorten(found.judge) or 'annotations'}: which documents to take", ""]
    lines += table(_rows("from", found.thresholds, at, found.best_threshold.at))
    lines += [
        "",
        *table(_rows("first", found.cutoffs, ks, found.best_cutoff.at)),
        "",
        *_notes(found),
    ]
    return lines + draws_legend("the questions", found.bootstrap)


def _rows(name: str, curve: Curve, shown: Sequence[float], best: float) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = [(name, "F1", "95 % interval", "precision", "recall",
                                  "mean F1 of questions", "95 % interval")]  # fmt: skip
    for i, at in enumerate(curve.at):
        if at in shown or at == best:
            f1, mean = curve.f1[i], curve.mean_f1[i]
            values = number(curve.precision[i].value), number(curve.recall[i].value)
            bounds = interval(mean.low, mean.high)
            label = f"{at:g}" + (" best" if at == best else "")
            rows.append((label, number(f1.value), interval(f1.low, f1.high), *values,
                         number(mean.value), bounds))  # fmt: skip
    return rows


@click.command(short_help="How much relevant information there is, by question.")
@click.argument("annotations", type=click.Path())
@click.option("--judge", metavar="NAME", help="Whose annotations, where there are several.")
@click.option("--topics", type=click.Path(), help="Questions, to call them by their words.")
@click.option(
    "--at",
    callback=_numbers,
    default="0.5,0.7,0.9",
    show_default=True,
    help="Probabilities that documents are counted from.",
)
@click.option("--plot", metavar="FILE.svg", help="Draw a bar for each question.")
@json_option
def amount(
    annotations: str,
    judge: str | None,
    topics: str | None,
    at: tuple[float, ...],
    plot: str | None,
    as_json: bool,
) -> int:
    """Say how much of what ANNOTATIONS cover is relevant to each question; no labels are needed.

    The sum of the probabilities is how many relevant documents are to be expected, if they are
    calibrated; by document it is DIRAS's Fig. 5. Exit status 3: some pairs are unscored.

    \b
    Example:
      pnyx measure amount labels.jsonl --topics questions.md --plot amount.svg
    """
    from pnyx.corpora import read_questions
    from pnyx.judge.verdicts import read_annotations
    from pnyx.measure.amount import measure_amount

    check_plot(plot)
    drawn = False

    def watched() -> Any:
        nonlocal drawn
        for one in read_annotations(annotations, judge=judge):
            drawn = drawn or one.extra.get("weight") not in (None, 1, 1.0)
            yield one

    found = measure_amount(watched(), at)
    names = {} if topics is None else {q.id: q.text for q in read_questions(topics)}
    if drawn:
        warn("the pairs were drawn (weight): the amounts are those of the pairs, not of the corpus")
    if plot is not None:
        from pnyx.files import atomic_text
        from pnyx.view.plots import amount_plot

        with atomic_text(plot) as stream:
            stream.write(amount_plot(found, names))
    row = {question: one.row() for question, one in found.items()}
    unscored = any(one.unscored for one in found.values())
    return finish(row, (), lambda: table(_amounts(found, names, at)), as_json, unscored=unscored)


def _amounts(
    found: Mapping[str, Amount], names: dict[str, str], at: Sequence[float]
) -> list[Sequence[str]]:
    counted = [f"from {t:g}" for t in at]
    rows: list[Sequence[str]] = [
        ("question", "documents", "unscored", "expected", "mean", *counted)
    ]
    for question, one in found.items():
        cells = []
        for count in one.reaching.values():
            share = f" ({count / one.documents:.1%})" if one.documents else ""
            cells.append(f"{count}{share}")
        expected = "-" if one.mean is None else f"{one.expected:.1f}"
        name = shorten(names.get(question) or question, 60) or "-"
        head = (name, str(one.documents), str(one.unscored), expected, number(one.mean))
        rows.append((*head, *cells))
    return rows
