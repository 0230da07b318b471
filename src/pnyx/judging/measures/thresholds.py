"""The amount of relevant information, and which documents to take (DIRAS, section 5).

Questions differ in this amount, so a fixed k either misses relevant documents or includes
irrelevant ones; a threshold on a calibrated probability need not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pnyx.core.errors import InputError
from pnyx.core.tabular import Result
from pnyx.judging.measures.ground_truth import Truth, truth_of_labels
from pnyx.judging.verdicts import Source, read_annotations
from pnyx.stats.base import BOOTSTRAP, Bootstrap, Measured, row_of
from pnyx.stats.intervals import UNIT, Range, draw_weights, drawn_value
from pnyx.stats.weighted_measures import Floats, numbers, ratio

GRID: tuple[float, ...] = tuple(n / 100 for n in range(1, 100))

CUTOFFS: tuple[int, ...] = (
    *range(1, 51), *range(55, 101, 5), *range(110, 201, 10), *range(250, 1001, 50)
)  # fmt: skip
"""Values of k to try, if some question has that many documents."""

_SERIES = "f1 precision recall mean_f1"


@dataclass(frozen=True, slots=True)
class Amount:
    """The amount of relevant information for a question, by the judge's probabilities.

    `documents` are scored pairs. `expected` is the sum of their probabilities, the expected number
    of relevant documents if they are calibrated, and `mean` is that per document, in [0, 1] (DIRAS,
    Fig. 5). `reaching` counts the documents that reach each threshold.
    """

    documents: int
    unscored: int
    expected: float
    mean: float | None
    reaching: Mapping[float, int]

    def row(self) -> dict[str, Any]:
        """Return it as JSON."""
        counts = [
            {"threshold": t, "count": n, "share": n / self.documents if self.documents else None}
            for t, n in self.reaching.items()
        ]
        return {**row_of(self, "documents unscored expected mean"), "reaching": counts}


class Amounts(Result, dict[str, Amount]):
    """Question -> amount, highest mean first, questions without scored pairs last."""

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each question, with a column for each threshold."""
        return [{"question": question, **row_of(amount, "documents unscored expected mean"),
                 **{f"from {t:g}": n for t, n in amount.reaching.items()}}
                for question, amount in self.items()]  # fmt: skip


def measure_amount(annotations: Source, at: Sequence[float] = (0.5, 0.7, 0.9)) -> Amounts:
    """Return the amount of relevant information for each question; no labels are needed.

    Args:
        annotations: a judge's: a file, or the result of `read_annotations` or `pnyx.ask`.
        at: thresholds, each above 0 and at most 1.
    """
    scores: dict[str, list[float]] = {}
    unscored: Counter[str] = Counter()
    for annotation in read_annotations(annotations):
        values = scores.setdefault(annotation.question_id, [])
        if annotation.probability is None:
            unscored[annotation.question_id] += 1
        else:
            values.append(annotation.probability)
    amounts = {}
    for question, values in scores.items():
        seen = np.asarray(values)
        amounts[question] = Amount(
            len(values),
            unscored[question],
            float(seen.sum()),
            float(seen.mean()) if values else None,
            {t: int((seen >= t).sum()) for t in at},
        )

    def place(item: tuple[str, Amount]) -> tuple[bool, float, str]:
        question, amount = item
        return amount.mean is None, -(amount.mean or 0.0), question

    return Amounts(sorted(amounts.items(), key=place))


# Which documents to take --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Curve:
    """The quality at each cutoff: of all documents together, and questions' mean F1."""

    at: tuple[float, ...]
    f1: tuple[Measured, ...]
    precision: tuple[Measured, ...]
    recall: tuple[Measured, ...]
    mean_f1: tuple[Measured, ...]

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return one object for each point, with its cutoff under `name`."""
        series = row_of(self, _SERIES)
        return [
            {name: at, **{n: points[i] for n, points in series.items()}}
            for i, at in enumerate(self.at)
        ]


@dataclass(frozen=True, slots=True)
class BestThreshold:
    """The cutoff with the highest F1; `f1` on the same data, `held_out` on other questions."""

    at: float
    f1: Measured
    held_out: Measured

    def row(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"at": self.at, "f1": self.f1.row(), "held_out_f1": self.held_out.row()}


@dataclass(frozen=True, slots=True, repr=False)
class Thresholds(Result):
    """Thresholds compared with numbers of documents (cutoffs), and the best of each.

    `gain` is the increase in F1 by threshold over k, both chosen on the other questions.
    `per_question` has `documents`, `relevant`, `unscored`, and F1 at the best threshold, at the
    best k, and at the question's own best k; `counts` has `asked`, `scored`, `unscored`,
    `unlabelled`, `relevant` pairs and `questions`.
    """

    judge: str
    thresholds: Curve
    cutoffs: Curve
    best_threshold: BestThreshold
    best_cutoff: BestThreshold
    gain: Measured
    per_question: Mapping[str, Mapping[str, Any]]
    counts: Mapping[str, int]
    bootstrap: Bootstrap

    def rows(self) -> list[dict[str, Any]]:
        """Return F1 at each threshold, then at each k."""
        curves = {"threshold": self.thresholds, "k": self.cutoffs}
        return [
            {"measure": "f1", "by": name, "at": at, **f1.row()}
            for name, curve in curves.items()
            for at, f1 in zip(curve.at, curve.f1, strict=True)
        ]

    def row(self) -> dict[str, Any]:
        """Return everything as JSON."""
        clusters = self.counts["questions"]
        return {
            **row_of(self, "judge counts"),
            "thresholds": self.thresholds.rows("threshold"),
            "cutoffs": self.cutoffs.rows("k"),
            **row_of(self, "best_threshold best_cutoff gain per_question"),
            "interval": self.bootstrap.row("cluster bootstrap", clusters=clusters),
        }


@dataclass(slots=True)
class _Pairs:
    """The scored, labelled pairs of one question."""

    probability: list[float]
    relevant: list[bool]
    unscored: int = 0


@dataclass(frozen=True, slots=True)
class _Taken:
    """The documents taken per question and cutoff, (questions, cutoffs), and the relevant ones."""

    at: Floats
    hits: Floats
    taken: Floats
    relevant: Floats

    def f1(self, weights: Floats) -> Floats:
        """Return F1 of all documents together, (draws, cutoffs)."""
        bottom = weights @ self.taken + (weights @ self.relevant)[:, None]
        return ratio(2 * (weights @ self.hits), bottom)

    def precision(self, weights: Floats) -> Floats:
        return ratio(weights @ self.hits, weights @ self.taken)

    def recall(self, weights: Floats) -> Floats:
        return ratio(weights @ self.hits, (weights @ self.relevant)[:, None])

    def each(self) -> Floats:
        """Return F1 of each question, (questions, cutoffs), NaN if undefined."""
        return ratio(2 * self.hits, self.taken + self.relevant[:, None])

    def mean_f1(self, weights: Floats) -> Floats:
        each = self.each()
        has = np.isfinite(each)
        return ratio(weights @ np.where(has, each, 0.0), weights @ has.astype(np.float64))

    def held_out(self) -> _Taken:
        """Return the same with one cutoff per question: the best one for the other questions."""
        bottom = self.taken + self.relevant[:, None]
        others = ratio(2 * (self.hits.sum(axis=0) - self.hits), bottom.sum(axis=0) - bottom)
        rows, places = np.arange(len(others)), [_highest(other) for other in others]
        hits, taken = (part[rows, places][:, None] for part in (self.hits, self.taken))
        return _Taken(np.zeros(1), hits, taken, self.relevant)


def _highest(f1: Floats) -> int:
    """Return the position of the highest value, the middle one of ties; NaN is the lowest."""
    f1s = np.nan_to_num(f1, nan=-1.0)
    places = np.flatnonzero(f1s >= f1s.max() - 1e-12)
    return int(places[(len(places) - 1) // 2])


def measure_thresholds(
    annotations: Source,
    truth: Truth | Source,
    *,
    grid: Sequence[float] = GRID,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> Thresholds:
    """Measure how well probabilities select documents, compared with the first k.

    A document is taken if its probability is at least the threshold. The first k are the question's
    documents with the highest probabilities; ties count with the mean over all their orders.

    Args:
        annotations: a judge's, as for `read_annotations`; unscored ones are left out and counted.
        truth: human labels by id, as for `join_labels`, or `truth_of_qrels`; pairs without one are
            left out and counted.
        grid: thresholds to try, in (0, 1].
        bootstrap: resamples whole questions.

    Raises:
        InputError: no pair is both scored and labelled, or none is relevant.
    """
    label_of = truth if callable(truth) else truth_of_labels(truth)
    judge, pairs, counts = _read(annotations, label_of)
    ready = [q for q in pairs.values() if q.probability]
    if not ready:
        raise InputError("no scored pair has a label")
    if not any(any(q.relevant) for q in ready):
        raise InputError("none of the labelled pairs is relevant, so there is nothing to find")
    most = max(len(q.probability) for q in ready)
    by_threshold = _stacked(np.asarray(grid), [_from_threshold(q, grid) for q in ready], ready)
    cutoffs = [k for k in CUTOFFS if k <= most]
    by_rank = _stacked(np.asarray(cutoffs), [_first(q, cutoffs) for q in ready], ready)
    drawn = _Drawn(len(ready), bootstrap, counts["scored"], counts["asked"])
    thresholds, ranks = _curve(by_threshold, drawn), _curve(by_rank, drawn)
    best_threshold = _choice(by_threshold, thresholds, drawn)
    best_cutoff = _choice(by_rank, ranks, drawn)
    at = int(np.flatnonzero(by_threshold.at == best_threshold.at)[0])
    k = int(np.flatnonzero(by_rank.at == best_cutoff.at)[0])
    return Thresholds(
        judge=judge,
        thresholds=thresholds,
        cutoffs=ranks,
        best_threshold=best_threshold,
        best_cutoff=best_cutoff,
        gain=_gain(by_threshold, by_rank, drawn),
        per_question=_per_question(pairs, by_threshold, by_rank, at, k),
        counts=counts,
        bootstrap=bootstrap,
    )


def _read(annotations: Source, truth: Truth) -> tuple[str, dict[str, _Pairs], dict[str, int]]:
    pairs: dict[str, _Pairs] = {}
    judge = ""
    counts = dict.fromkeys(("asked", "scored", "unscored", "unlabelled", "relevant"), 0)
    for annotation in read_annotations(annotations):
        judge = judge or annotation.judge
        relevant = truth(annotation)
        if relevant is None:
            counts["unlabelled"] += 1
            continue
        counts["asked"] += 1
        question = pairs.setdefault(annotation.question_id, _Pairs([], []))
        if annotation.probability is None:
            question.unscored += 1
            counts["unscored"] += 1
            continue
        counts["scored"] += 1
        counts["relevant"] += relevant
        question.probability.append(annotation.probability)
        question.relevant.append(relevant)
    counts["questions"] = sum(bool(q.probability) for q in pairs.values())
    return judge, pairs, counts


def _from_threshold(pairs: _Pairs, grid: Sequence[float]) -> tuple[Floats, Floats]:
    """Return the numbers of relevant and of all documents that reach each threshold."""
    order = np.sort(np.asarray(pairs.probability))
    hits = np.sort(np.asarray(pairs.probability)[np.asarray(pairs.relevant)])
    at = np.asarray(grid)
    taken = len(order) - np.searchsorted(order, at, side="left")
    above = len(hits) - np.searchsorted(hits, at, side="left")
    return above.astype(np.float64), taken.astype(np.float64)


def _first(pairs: _Pairs, cutoffs: Sequence[int]) -> tuple[Floats, Floats]:
    """Return the expected number of relevant documents among the first k, and their number."""
    probability = np.asarray(pairs.probability)
    values, block, sizes = np.unique(-probability, return_inverse=True, return_counts=True)
    hits = np.bincount(block, np.asarray(pairs.relevant, dtype=np.float64), len(values))
    at = np.concatenate([[0.0], np.cumsum(sizes)])
    k = np.minimum(np.asarray(cutoffs, dtype=np.float64), len(probability))
    return np.interp(k, at, np.concatenate([[0.0], np.cumsum(hits)])), k


def _stacked(at: Floats, parts: Sequence[tuple[Floats, Floats]], pairs: Sequence[_Pairs]) -> _Taken:
    relevant = np.array([float(sum(q.relevant)) for q in pairs])
    return _Taken(at, np.stack([p[0] for p in parts]), np.stack([p[1] for p in parts]), relevant)


class _Drawn:
    """All questions once, then draws of them, shared by all measures."""

    def __init__(self, questions: int, bootstrap: Bootstrap, scored: int, total: int) -> None:
        drawn = draw_weights(np.arange(questions), bootstrap) if questions > 1 else ()
        self.weights = [np.ones((1, questions)), np.concatenate([np.empty((0, questions)), *drawn])]
        self._base = scored, total, questions, bootstrap

    def measured(
        self, measure: Callable[[Floats], Floats], bounds: Range | None = UNIT
    ) -> tuple[Measured, ...]:
        """Return a measure's value at each cutoff, (draws, cutoffs), with its interval."""
        (values,), draws = map(measure, self.weights)
        return tuple(
            drawn_value(v, draws[:, i], *self._base, bounds=bounds) for i, v in enumerate(values)
        )


def _curve(taken: _Taken, drawn: _Drawn) -> Curve:
    series = (drawn.measured(getattr(taken, name)) for name in _SERIES.split())
    return Curve(tuple(taken.at.tolist()), *series)


def _choice(taken: _Taken, curve: Curve, drawn: _Drawn) -> BestThreshold:
    best = _highest(numbers([point.value for point in curve.f1]))
    f1 = curve.f1[best]
    held_out = Measured(None, f1.scored, f1.asked)
    if len(taken.relevant) > 1:
        (held_out,) = drawn.measured(taken.held_out().f1)
    return BestThreshold(float(taken.at[best]), f1, held_out)


def _gain(by_threshold: _Taken, by_rank: _Taken, drawn: _Drawn) -> Measured:
    if len(by_threshold.relevant) < 2:
        (gain,) = drawn.measured(lambda weights: np.full((len(weights), 1), np.nan))
        return gain
    first, other = by_threshold.held_out(), by_rank.held_out()
    (gain,) = drawn.measured(lambda weights: first.f1(weights) - other.f1(weights), None)
    return gain


def _per_question(
    pairs: Mapping[str, _Pairs], by_threshold: _Taken, by_rank: _Taken, at: int, k: int
) -> dict[str, dict[str, Any]]:
    def number(value: float) -> float | None:
        return float(value) if np.isfinite(value) else None

    f1s, ranked = by_threshold.each(), by_rank.each()
    out: dict[str, dict[str, Any]] = {}
    row = 0
    for question, pair in pairs.items():
        out[question] = {
            "documents": len(pair.probability),
            "relevant": sum(pair.relevant),
            "unscored": pair.unscored,
        }
        if pair.probability:
            best = np.nanmax(ranked[row], initial=-1.0)
            out[question] |= {
                "taken": int(by_threshold.taken[row, at]),
                "f1_at_threshold": number(f1s[row, at]),
                "f1_at_k": number(ranked[row, k]),
                "f1_at_own_best_k": number(best) if best >= 0 else None,
            }
            row += 1
    return out
