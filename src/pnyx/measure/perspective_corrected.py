"""MRecall and Precision with the judge's own errors taken into account.

A judge that is wrong on one pair in seven moves every figure. Where people labelled pairs that it
also answered, each verdict can be read as the chance that people would say yes, and the measure is
what these chances give on average: a prediction-powered estimate (Angelopoulos et al., Science
382, 2023) with the recalibrated judge as the predictor, whose mean error on the labelled pairs
is nought by its fit.

What it assumes:

- People's yes has the same chance for a given verdict (and probability) on the labelled pairs as
  on those measured. It holds where the former are a random sample of the latter; where they come
  from other retrievers or corpora, it is an assumption. The share of yes may differ.
- Perspectives of a question are covered independently of each other, given the verdicts.
- Within a perspective the judge's errors may fall together: one that misreads it does so on every
  document. The estimate lies between errors that fall apart and errors that fall together
  entirely, where the labelled perspectives lie (`Correction.together`).
- Questions, labelled and measured, are drawn independently of each other. Both are drawn anew in
  each draw of the bootstrap, and the curve is fitted again, so that the interval holds what is
  not known of the judge, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from pnyx.errors import InputError, shorten
from pnyx.judge.curves import Curve, fit
from pnyx.measure.bootstrap import draw_weights, percentile_interval
from pnyx.measure.perspective_covering import Covering, below_one
from pnyx.measure.perspective_labelled import Labelled
from pnyx.measure.perspective_table import Table
from pnyx.measure.weighted import Floats

__all__ = [
    "Corrected",
    "Correction",
    "Signal",
]

Signal: TypeAlias = Literal["probability", "verdict"]
"""What the chance that people say yes is read from."""

Index: TypeAlias = npt.NDArray[np.intp]

_YES, _NO = 0.75, 0.25
"""Any two numbers: of a verdict alone, the curve learns one chance for yes and one for no."""
_NO_INFORMATION = 1e-9


@dataclass(frozen=True, slots=True)
class Corrected:
    """A mean over questions, with the judge's errors taken into account.

    Attributes:
        value: the estimate; None where it cannot be said how far errors fall together.
        low: lower end of its 95 % interval, of the estimate with all errors falling together
            where `value` is None.
        high: upper end, of that with all errors falling apart.
        scored: questions of which all pairs within the depth are scored; the others are left out.
        asked: all questions.
        apart: of MRecall, the estimate with errors that fall apart; it is the higher.
        together: with errors that fall together within a perspective.
    """

    value: float | None
    low: float | None
    high: float | None
    scored: int
    asked: int
    apart: float | None = None
    together: float | None = None

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return {name: getattr(self, name) for name in self.__slots__}


class Correction:
    """What people would say, given what the judge says; see the module's docstring.

    Args:
        labelled: what it is learned from.
        tables: what it is for. The judge's probabilities count where it gives one for every pair,
            labelled and measured, else its verdicts alone.
        draws: of the bootstrap; 0 for no intervals.
        seed: of the bootstrap.

    Attributes:
        signal: which of them.
        together: how far the judge's errors fall together within a perspective, from 0, apart,
            to 1: where the share of labelled perspectives that some document supports lies between
            what either would give. None where no labelled perspective has two documents.
    """

    def __init__(self, labelled: Labelled, tables: Sequence[Table], draws: int, seed: int) -> None:
        self._judge, self._labelled, self._draws, self._seed = labelled.judge, labelled, draws, seed
        pairs = labelled.pairs
        stated = all(one.probability is not None for one in pairs) and not any(
            np.isnan(table.probability[~table.unscored]).any() for table in tables
        )
        self.signal: Signal = "probability" if stated else "verdict"
        self._signals = np.array(
            [one.probability if stated else _YES if one.value else _NO for one in pairs],
            dtype=np.float64,
        )
        self._truth = np.array([one.truth for one in pairs], dtype=np.bool_)
        questions = _numbered([one.question_id for one in pairs])
        self._questions = int(questions.max()) + 1
        self._samples = [np.arange(len(pairs)), *_resampled(questions, draws, seed)]
        self._curves = [self._fit(self._signals, self._truth, rows) for rows in self._samples]
        named = all(one.perspective_id for one in pairs)
        perspectives = [(one.question_id, one.perspective_id) for one in pairs] if named else []
        self._perspectives = _numbered(perspectives)
        self._apartness = np.array(
            [1 - self._together(curve, rows) for curve, rows in
             zip(self._curves, self._samples, strict=True)]
        )  # fmt: skip
        self._document_curves = self._of_documents()

    @property
    def together(self) -> float | None:
        """See the class."""
        found = 1 - float(self._apartness[0])
        return None if np.isnan(found) else found

    def check_judge(self, judge: str) -> None:
        """Refuse verdicts of another judge.

        Raises:
            InputError: `judge` is another one than that of the labelled pairs.
        """
        if judge != self._judge:
            theirs, own = shorten(judge, 60), shorten(self._judge, 60)
            raise InputError(
                f"the labelled pairs were answered by {own!r}, the verdicts are of {theirs!r}: "
                "expected the same judge"
            )

    def row(self) -> dict[str, Any]:
        """Return what the estimates rest on, for `--json`."""
        documents = self._document_curves
        return {
            "judge": self._judge,
            "signal": self.signal,
            "pairs": len(self._labelled.pairs),
            "unscored": self._labelled.unscored,
            "yes": int(self._truth.sum()),
            "questions": self._questions,
            "documents": 0 if documents is None else documents[1],
            "errors_together": self.together,
        }

    def mrecall(self, tables: Sequence[Table], k: int) -> Corrected:
        """Return the mean of MRecall@k that people's verdicts would give.

        A perspective is covered unless people would say no to all its documents: with a chance of 1
        less the product of these, where errors fall apart, or of the largest yes, where they fall
        together, or in between (`together`).
        """
        closed = [table for table in tables if not table.unscored[:k].any()]
        covering = Covering(closed, k, self._signals_of)
        apart, together, between = list[float](), list[float](), list[float]()
        drawn = zip(self._curves, self._apartness, self._topics(len(closed)), strict=True)
        for curve, share, weights in drawn:
            alone, alike = covering.chances(curve)
            for means, chances in (
                (apart, alone),
                (together, alike),
                (between, share * alone + (1 - share) * alike),
            ):
                means.append(_weighted_mean(covering.recalls(chances), weights))
        open_ = self.together is None
        return Corrected(
            _first(between),
            self._end(together if open_ else between, len(closed), 0),
            self._end(apart if open_ else between, len(closed), 1),
            len(closed),
            len(tables),
            _first(apart),
            _first(together),
        )

    def precision(self, tables: Sequence[Table], k: int) -> Corrected:
        """Return the mean of Precision@k that people's verdicts would give.

        A document's chance to support some perspective is read from the greatest of the judge's
        probabilities for it (or whether there is a yes), by a curve fitted on labelled documents
        all of whose perspectives are labelled: no independence is assumed here. None without such.
        """
        closed = [table for table in tables if not table.unscored[:k].any()]
        if self._document_curves is None:
            return Corrected(None, None, None, 0, len(tables))
        curves, _ = self._document_curves
        signals = [self._signals_of(table)[:k].max(axis=1) for table in closed]
        topics = np.repeat(np.arange(len(closed)), [len(one) for one in signals])
        flat = np.concatenate(signals) if signals else np.empty(0)
        drawn = []
        for curve, weights in zip(curves, self._topics(len(closed)), strict=True):
            shares = np.bincount(topics, weights=curve(flat), minlength=len(closed)) / k
            drawn.append(_weighted_mean(shares, weights))
        low, high = (self._end(drawn, len(closed), end) for end in (0, 1))
        return Corrected(_first(drawn), low, high, len(closed), len(tables))

    def _signals_of(self, table: Table) -> Floats:
        if self.signal == "probability":
            return table.probability
        return np.where(table.yes, _YES, _NO)

    def _fit(self, signals: Floats, truth: npt.NDArray[np.bool_], rows: Index) -> Curve:
        return fit("platt", signals[rows].tolist(), truth[rows].tolist())

    def _together(self, curve: Curve, rows: Index) -> float:
        """Return how far errors fall together among some labelled pairs; NaN where that is open."""
        if not len(self._perspectives):
            return np.nan
        # A question that was drawn twice has its perspectives twice.
        times = np.bincount(rows, minlength=len(self._truth))
        chances = curve(self._signals)
        clusters = self._perspectives
        weights = np.zeros(int(clusters.max()) + 1)
        weights[clusters] = times
        largest, observed = np.zeros(len(weights)), np.zeros(len(weights))
        np.maximum.at(largest, clusters, chances)
        np.maximum.at(observed, clusters, self._truth.astype(np.float64))
        apart = 1 - np.exp(np.bincount(clusters, weights=np.log1p(-below_one(chances))))
        between = float(weights @ (apart - largest))
        if between < _NO_INFORMATION:
            return np.nan
        return float(np.clip(weights @ (apart - observed) / between, 0.0, 1.0))

    def _of_documents(self) -> tuple[list[Curve], int] | None:
        """Return the curves of whole documents, and how many documents they rest on."""
        pairs = self._labelled.pairs
        if not all(one.doc_id and one.perspective_id for one in pairs):
            return None
        places: dict[tuple[str, str], list[int]] = {}
        known: dict[str, set[str]] = {}
        for place, one in enumerate(pairs):
            places.setdefault((one.question_id, one.doc_id), []).append(place)
            known.setdefault(one.question_id, set()).add(one.perspective_id)
        whole = [own for (question, _), own in places.items() if len(own) == len(known[question])]
        if not whole:
            return None
        signals = np.array([self._signals[own].max() for own in whole])
        truth = np.array([bool(self._truth[own].any()) for own in whole])
        own = _numbered([pairs[document[0]].question_id for document in whole])
        samples = [np.arange(len(whole)), *_resampled(own, self._draws, self._seed)]
        return [self._fit(signals, truth, rows) for rows in samples], len(whole)

    def _topics(self, count: int) -> Iterator[Floats]:
        """Yield the weights of the measured questions: each once, then as often as drawn."""
        yield np.ones(count)
        # Not the seed of the labelled ones: the two are drawn independently.
        for block in draw_weights(np.arange(count), self._draws, self._seed + 1):
            yield from block
        if not count:
            yield from np.ones((self._draws, 0))

    def _end(self, drawn: Sequence[float], topics: int, end: int) -> float | None:
        if len(drawn) < 2 or topics < 2 or self._questions < 2:
            return None
        interval = percentile_interval(np.array(drawn[1:]))
        return None if interval is None else interval[end]


def _numbered(keys: Sequence[Any]) -> Index:
    """Return the number of each key, in the order of their first places."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)


def _resampled(clusters: Index, draws: int, seed: int) -> Iterator[Index]:
    """Yield the places of what is drawn, clusters whole."""
    for block in draw_weights(clusters, draws, seed):
        for weights in block:
            yield np.repeat(np.arange(len(clusters)), weights.astype(np.intp))


def _weighted_mean(values: Floats, weights: Floats) -> float:
    total = float(weights.sum())
    return float(weights @ values) / total if total else np.nan


def _first(drawn: Sequence[float]) -> float | None:
    return None if np.isnan(drawn[0]) else drawn[0]
