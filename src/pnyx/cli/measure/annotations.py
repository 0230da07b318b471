"""Measures of relevance annotations: by threshold, and the amount of relevant information."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pnyx.cli.measure.tables import few_warning
from pnyx.cli.options import Outcome, warn
from pnyx.core.errors import InputError, escaped
from pnyx.display.tables import Column, Table, draws_legend, interval, number
from pnyx.judging.judge_names import short_name

if TYPE_CHECKING:
    from pnyx.cli.measure.options import MeasureSpec
    from pnyx.display.tables import Part
    from pnyx.judging.measures.thresholds import Amount, Curve, Thresholds
    from pnyx.judging.verdicts import Verdict

_SHOWN_THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_COUNTED_FROM = (0.5, 0.7, 0.9)  # probabilities from which documents are counted
_SHOWN_K = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


def measure_by_threshold(results: str, spec: MeasureSpec) -> Outcome:
    """Measure F1, precision and recall by threshold on the probability, and by number of documents.

    Compares a probability threshold with taking the first k of each question (DIRAS, section 5,
    Fig. 6). The best threshold and the best k are biased upward on the labels that chose them, so
    those for each question are also chosen on the other questions.
    """
    from pnyx.display.plots import thresholds_plot
    from pnyx.judging.measures.thresholds import GRID, measure_thresholds
    from pnyx.judging.verdicts import read_annotations

    at, truth = spec.at or _SHOWN_THRESHOLDS, spec.truth()
    try:
        result = measure_thresholds(
            read_annotations(results, judge=spec.by),
            truth,
            grid=sorted({*GRID, *at}),
            bootstrap=spec.bootstrap,
        )
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(error.problem, path=results) from error
    line = "dashed line: F1 at the best threshold; shaded: its 95 % interval"
    spec.draw(lambda: thresholds_plot(result, [*_notes(result), line]))
    counts = result.counts
    few = few_warning(result.bootstrap, counts["questions"], "question")
    return Outcome(result.row(), lambda: _report(result, at), counts["unscored"], few)


def _notes(result: Thresholds) -> list[str]:
    c = result.counts
    notes = [
        f"{c['relevant']} of {c['scored']} pairs of {c['questions']} questions are relevant; "
        f"{c['unscored']} unscored and {c['unlabelled']} unlabelled pairs are left out"
    ]
    for what, choice in (("threshold", result.best_threshold), ("k", result.best_cutoff)):
        held_out = choice.held_out
        notes.append(
            f"best {what} {choice.at:g}: F1 {number(choice.f1.value)}; chosen on the other "
            f"questions: {number(held_out.value)} {interval(held_out)}"
        )
    gain = f"{number(result.gain.value)} {interval(result.gain)}"
    notes.append(f"threshold minus k, both chosen on the other questions: {gain}")
    return notes


def _report(result: Thresholds, at: Sequence[float]) -> list[Part]:
    ks = [k for k in result.cutoffs.at if k in _SHOWN_K]
    return [
        [f"{escaped(short_name(result.judge)) or 'annotations'}: which documents to take"],
        _curve("from", result.thresholds, at, result.best_threshold.at),
        _curve("first", result.cutoffs, ks, result.best_cutoff.at),
        [*_notes(result), *draws_legend("the questions", result.bootstrap)],
    ]


def _curve(name: str, curve: Curve, ticks: Sequence[float], best: float) -> Table:
    columns = (
        Column(name),
        Column("F1, 95 % interval", "figure"),
        Column("precision", "number"),
        Column("recall", "number"),
        Column("mean F1 of questions", "figure"),
    )
    rows = [
        (f"{at:g}" + (" best" if at == best else ""), curve.f1[i], curve.precision[i].value,
         curve.recall[i].value, curve.mean_f1[i])
        for i, at in enumerate(curve.at)
        if at in ticks or at == best
    ]  # fmt: skip
    return Table(columns, rows)


def measure_amounts(results: str, spec: MeasureSpec) -> Outcome:
    """Estimate how much relevant information there is on each question, without labels.

    The sum of the probabilities is the expected number of relevant documents, if they are
    calibrated; per document it is DIRAS's Fig. 5.
    """
    from pnyx.display.plots import amount_plot
    from pnyx.formats import read_questions
    from pnyx.judging.measures.thresholds import measure_amount
    from pnyx.judging.verdicts import read_annotations

    drawn = False

    def watched() -> Iterator[Verdict]:
        nonlocal drawn
        for annotation in read_annotations(results, judge=spec.by):
            drawn = drawn or annotation.extra.get("weight") not in (None, 1, 1.0)
            yield annotation

    at = sorted(set(spec.at or _COUNTED_FROM))
    amounts = measure_amount(watched(), at)
    questions = () if spec.topics is None else read_questions(spec.topics, on_warning=warn)
    names = {question.id: question.text for question in questions}
    if drawn:
        warn("the pairs were drawn (weight): the amounts are those of the pairs, not of the corpus")
    spec.draw(lambda: amount_plot(amounts, names))
    row = {question: count.row() for question, count in amounts.items()}
    unscored = any(count.unscored for count in amounts.values())
    return Outcome(row, lambda: [_amounts(amounts, names, at)], unscored)


def _amounts(counts: Mapping[str, Amount], names: dict[str, str], at: Sequence[float]) -> Table:
    columns = [Column("question"), Column("documents", "count"), Column("unscored", "count")]
    columns += [Column(name, "number") for name in ("expected", "mean")]
    columns += [Column(f"from {t:g}", "number") for t in at]
    rows = []
    for question, amount in counts.items():
        counted = [
            f"{count} ({count / amount.documents:.1%})" if amount.documents else str(count)
            for count in amount.reaching.values()
        ]
        expected = None if amount.mean is None else f"{amount.expected:.1f}"
        name = escaped(names.get(question) or question, 60) or "-"
        rows.append((name, amount.documents, amount.unscored, expected, amount.mean, *counted))
    return Table(columns, rows)
