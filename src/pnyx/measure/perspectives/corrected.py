"""MRecall and Precision corrected for the judge's errors (docs/decisions/perspective-measures.md).

`prediction-powered`: where people label some of the measured questions, picked at random. The
judge's values on all questions, plus their difference to people's on the labelled ones
(Angelopoulos et al., Science 382, 2023), weighted so that the variance is least (PPI++,
Angelopoulos, Duchi and Zrnic 2023). Nothing is assumed about the judge.

`calibrated`: each verdict is read as the chance that people would say yes, by a curve fitted on
labelled pairs; that assumes the same kind of questions, or that the judge's log-odds are off by a
stated `shift`. In each draw the estimate is moved, in log-odds, by as much as the labelled
questions leave open (each is left out in turn; Student's t) and by a shift; the measured questions
are drawn anew; and what people say of each is drawn, given the chances and what its pairs share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from pnyx.errors import InputError, shorten
from pnyx.judge.calibration.curves import Platt, fit
from pnyx.measure.core.base import BOOTSTRAP, Bootstrap, row_of
from pnyx.measure.core.ground_truth import Joined, Pair
from pnyx.measure.core.intervals import log_odds_interval
from pnyx.measure.core.weighted import Floats
from pnyx.measure.perspectives.effects import (
    Covered,
    Covering,
    Effects,
    People,
    Shares,
    drawn_interval,
    effects_of,
    logit,
    shared_spread,
)
from pnyx.measure.perspectives.table import Bounded, Table, mrecall, precision

FEWEST = 8  # With fewer labelled questions nothing is corrected: the intervals do not hold.

FEW = 30  # With fewer there is a warning: the intervals are wide and depend on single questions.

Signal: TypeAlias = Literal["probability", "verdict"]
Method: TypeAlias = Literal["calibrated", "prediction-powered"]
Index: TypeAlias = npt.NDArray[np.intp]

_YES, _NO = 0.75, 0.25
"""Any two numbers: of a verdict alone, the curve learns one chance for yes and one for no."""
_GROUPS = 40  # Labelled questions are left out one by one, or in so many groups


@dataclass(frozen=True, slots=True)
class Corrected:
    """A mean over questions, corrected for the judge's errors; None where too little is labelled.

    Of a calibrated MRecall, `apart` and `together` are the estimates with errors that fall apart,
    or together within a perspective; they bound the interval where it is unknown how far they do.
    """

    value: float | None
    low: float | None
    high: float | None
    scored: int
    asked: int
    apart: float | None = None
    together: float | None = None
    method: Method | None = None
    labelled: int = 0

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return row_of(self, " ".join(self.__slots__))


@dataclass(frozen=True, slots=True)
class _Learned:
    """What labelled questions say of the judge: a pair's curve, effects, a document's curve."""

    pairs: Platt
    effects: Effects | None
    documents: Platt | None

    def shifted(self, by: float) -> _Learned:
        """Return it for a judge whose log-odds are off by so much."""
        pairs, whole = self.pairs, self.documents
        moved = None if whole is None else Platt(whole.slope, whole.intercept + by)
        return _Learned(Platt(pairs.slope, pairs.intercept + by), self.effects, moved)


Estimate: TypeAlias = Callable[[_Learned], Floats]
"""From what is learned to the expectation of each measured question."""


class Correction:
    """What people would say, given what the judge says; see the module's docstring.

    The judge's probabilities are the `signal` where it gives one for every pair, else its verdicts.
    """

    def __init__(
        self,
        labelled: Joined,
        tables: Sequence[Table],
        *,
        shift: float = 0.0,
        bootstrap: Bootstrap = BOOTSTRAP,
    ) -> None:
        if not 0 <= shift < np.inf:
            raise ValueError(f"shift: found {shift!r}, expected a number from 0")
        # In the order of the file, by which questions are left out in groups.
        scored = (one for one in labelled.pairs if one.verdict.value is not None)
        self._pairs = sorted(scored, key=lambda one: one.verdict.line)
        if not self._pairs:
            raise InputError("holds no scored answer with a label")
        self._labelled, self._shift, self._bootstrap = labelled, shift, bootstrap
        said = [one.verdict for one in self._pairs]
        stated = all(one.probability is not None for one in said) and not any(
            np.isnan(table.probability[~table.unscored]).any() for table in tables
        )
        self.signal: Signal = "probability" if stated else "verdict"
        self._signals = np.array(
            [one.probability if stated else _YES if one.value else _NO for one in said],
            dtype=np.float64,
        )
        self._truth = np.array([one.gold.yes for one in self._pairs], dtype=np.float64)
        places = [place_of(one) for one in self._pairs]
        self._question_of = _numbered([question for question, _, _ in places])
        self._questions = int(self._question_of.max()) + 1
        self._perspective_of = (
            _numbered([(question, view) for question, _, view in places])
            if all(view for _, _, view in places)
            else None
        )
        self._documents = _whole(places)
        self._said = {place_of(one): one.gold.yes for one in self._pairs}
        self._learned = self._learn(np.ones(self._questions, dtype=np.bool_))
        self.effects = self._learned.effects
        self._anew: list[_Learned] = []
        if bootstrap.draws and self._questions >= FEWEST:
            groups = np.arange(self._questions) % min(self._questions, _GROUPS)
            self._anew = [self._learn(groups != left_out) for left_out in range(groups.max() + 1)]

    def check_judge(self, judge: str) -> None:
        """Refuse verdicts of another judge than that of the labelled pairs."""
        if judge != self._labelled.judge:
            theirs, own = shorten(judge, 60), shorten(self._labelled.judge, 60)
            raise InputError(
                f"the labelled pairs were answered by {own!r}, the verdicts are of {theirs!r}: "
                "expected the same judge"
            )

    def row(self) -> dict[str, Any]:
        """Return what the estimates rest on, for `--json`."""
        effects = self.effects
        return {
            "judge": self._labelled.judge,
            "signal": self.signal,
            "pairs": len(self._pairs),
            "unscored": len(self._labelled.pairs) - len(self._pairs),
            "yes": int(self._truth.sum()),
            "questions": self._questions,
            "fewest_questions": FEWEST,
            "few_questions": FEW,
            "documents": len(self._documents),
            "question_spread": None if effects is None else effects.question,
            "perspective_spread": None if effects is None else effects.perspective,
            "shift": self._shift,
        }

    def mrecall(self, tables: Sequence[Table], k: int) -> Corrected:
        """Return the mean of MRecall@k that people's verdicts would give."""
        closed = [table for table in tables if not table.unscored[:k].any()]
        found = self._powered(closed, len(tables), k, mrecall, 1.0)
        if found is not None or not closed or self._questions < FEWEST:
            return found or Corrected(None, None, None, len(closed), len(tables))
        covering = Covering(closed, k, self._signals_of)

        def expected(learned: _Learned) -> Floats:
            return covering.expected(learned.pairs, learned.effects or Effects(0.0, 0.0))

        def apart(learned: _Learned) -> Floats:
            return covering.recalls(covering.chances(learned.pairs)[0])

        def together(learned: _Learned) -> Floats:
            return covering.recalls(covering.chances(learned.pairs)[1])

        value = None
        if self.effects is None:
            low, high = self._interval(together)[0], self._interval(apart)[1]
        else:
            value = float(expected(self._learned).mean())
            low, high = self._interval(expected)
        ends = float(apart(self._learned).mean()), float(together(self._learned).mean())
        counts = len(closed), len(tables)
        return Corrected(value, low, high, *counts, *ends, "calibrated", self._questions)

    def precision(self, tables: Sequence[Table], k: int) -> Corrected:
        """Return the mean of Precision@k that people's verdicts would give.

        Calibrated, a document's chance to support some perspective is read from its highest signal,
        by a curve fitted on documents all of whose perspectives are labelled.
        """
        closed = [table for table in tables if not table.unscored[:k].any()]
        found = self._powered(closed, len(tables), k, precision, 1 / k)
        learned = self._learned.documents
        questions_of = np.array([self._question_of[own[0]] for own in self._documents])
        questions = len(np.unique(questions_of))
        if found is not None or not closed or learned is None or questions < FEWEST:
            return found or Corrected(None, None, None, len(closed), len(tables))
        signals = [self._signals_of(table)[:k].max(axis=1) for table in closed]
        sizes = np.array([len(one) for one in signals])
        topics = np.repeat(np.arange(len(closed)), sizes)
        flat = np.concatenate(signals)

        def expected(learned: _Learned) -> Floats:
            chances = (learned.documents or learned.pairs)(flat)
            return np.bincount(topics, weights=chances, minlength=len(closed)) / k

        whole, truth = self._of_documents(self._documents)
        shared = shared_spread(learned(whole), truth, questions_of)
        people = Shares(learned(flat), topics, len(closed), k, shared)
        low, high = self._interval(expected, people)
        value = float(expected(self._learned).mean())
        counts = len(closed), len(tables)
        return Corrected(value, low, high, *counts, method="calibrated", labelled=questions)

    def _signals_of(self, table: Table) -> Floats:
        if self.signal == "probability":
            return table.probability
        return np.where(table.yes, _YES, _NO)

    def _learn(self, kept: npt.NDArray[np.bool_]) -> _Learned:
        """Learn from some labelled questions, (questions,)."""
        rows = kept[self._question_of]
        signals, truth = self._signals[rows], self._truth[rows]
        pairs = _fit(signals, truth)
        effects = None
        if self._perspective_of is not None:
            clusters = self._question_of[rows], self._perspective_of[rows]
            effects = effects_of(pairs(signals), truth, *clusters)
        whole = [own for own in self._documents if kept[self._question_of[own[0]]]]
        documents = _fit(*self._of_documents(whole)) if whole else None
        return _Learned(pairs, effects, documents)

    def _of_documents(self, whole: Sequence[Sequence[int]]) -> tuple[Floats, Floats]:
        """Return each document's signal, and whether people say that it supports some."""
        own = [list(places) for places in whole]
        signals = np.array([self._signals[places].max() for places in own])
        return signals, np.array([self._truth[places].max() for places in own])

    def _interval(
        self, estimate: Estimate, people: People | None = None
    ) -> tuple[float | None, float | None]:
        """Return the interval of a mean; see the module's docstring."""
        means = estimate(self._learned)
        value = float(means.mean())
        if not self._anew or len(means) < 2:
            return None, None
        if not 0 < value < 1:
            return value, value
        centre, *anew = (_log_odds(estimate(one)) for one in (self._learned, *self._anew))
        left = len(anew)
        learned = ((left - 1) / left * sum((one - centre) ** 2 for one in anew)) ** 0.5
        lower, upper = (
            _log_odds(estimate(self._learned.shifted(by))) for by in (-self._shift, self._shift)
        )
        rng = np.random.default_rng(self._bootstrap.seed)
        moves = learned * rng.standard_t(left - 1, self._bootstrap.draws)
        moves += (upper - lower) / 2 * rng.normal(size=self._bootstrap.draws)
        confidence = self._bootstrap.confidence
        return drawn_interval(people or Covered(means), moves, rng, confidence)

    def _powered(
        self,
        closed: Sequence[Table],
        asked: int,
        k: int,
        measure: Callable[[Table, int], Bounded],
        weight: float,
    ) -> Corrected | None:
        """Return the prediction-powered estimate; None where too few questions are labelled."""
        some = [table for table in closed if table.documents]
        judged = np.array([measure(table, k).value for table in some], dtype=np.float64)
        people = np.array([self._people(table, k, measure) for table in some], dtype=np.float64)
        known = int(np.isfinite(people).sum())
        if known < FEWEST:
            return None
        filled = len(judged) / len(closed)  # of a question without documents all is known
        estimate = powered(people, judged, weight, self._bootstrap.confidence)
        value, low, high = (filled * one for one in estimate)
        found = Corrected(
            value, low, high, len(closed), asked, None, None, "prediction-powered", known
        )
        return found if self._bootstrap.draws else replace(found, low=None, high=None)

    def _people(self, table: Table, k: int, measure: Callable[[Table, int], Bounded]) -> float:
        """Return people's value; NaN where a pair of the first k documents has no label."""
        said = [
            [self._said.get((table.topic, doc, view)) for view in table.perspectives]
            for doc in table.documents[:k]
        ]
        if any(truth is None for row in said for truth in row):
            return np.nan
        yes = table.yes.copy()
        yes[:k] = said
        value = measure(replace(table, yes=yes), k).value
        return np.nan if value is None else value


def place_of(pair: Pair) -> tuple[str, str, str]:
    """Return question, document and perspective of a pair; empty where they are not named."""
    one = pair.verdict
    document = one.doc_id or str(one.extra.get("text_id") or "")
    return one.question_id or one.group or one.id, document, one.perspective_id


def _whole(pairs: Sequence[tuple[str, str, str]]) -> list[list[int]]:
    """Return the pairs of each document that has labels for all perspectives of its question."""
    if not all(document and view for _, document, view in pairs):
        return []
    places: dict[tuple[str, str], list[int]] = {}
    known: dict[str, set[str]] = {}
    for place, (question, document, view) in enumerate(pairs):
        places.setdefault((question, document), []).append(place)
        known.setdefault(question, set()).add(view)
    return [own for (question, _), own in places.items() if len(own) == len(known[question])]


def _fit(signals: Floats, truth: Floats) -> Platt:
    found = fit("platt", signals.tolist(), truth.tolist())
    assert isinstance(found, Platt)  # noqa: S101 - by its name
    return found


def _log_odds(means: Floats) -> float:
    return float(logit(means.mean()[None])[0])


def _numbered(keys: Sequence[Any]) -> Index:
    """Return the number of each key, in the order of their first places."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)


def powered(
    people: Floats, judged: Floats, weight: float, confidence: float = BOOTSTRAP.confidence
) -> tuple[float, float, float]:
    """Return the prediction-powered mean of shares, and its interval; at least two are known.

    The interval is symmetric in log-odds, of Student's t; for it alone a 0 and a 1 of `weight` are
    added (Agresti and Coull, Am. Stat. 52, 1998).
    """
    known = np.isfinite(people)
    count, others = int(known.sum()), int((~known).sum())
    said, there, rest = people[known], judged[known], judged[~known]
    share = _tuned(said, there, judged, count, others)
    value = float(said.mean())
    unlabelled = 0.0
    if others:
        value += share * float(rest.mean() - there.mean())
        unlabelled = share**2 * (float(rest.var(ddof=1)) / others if others > 1 else 0.25)
    value = min(1.0, max(0.0, value))
    errors = said - share * there
    total = count + 2 * weight
    middle = (count * value + weight) / total
    squares = float(((errors - errors.mean()) ** 2).sum())
    squares += weight * (value**2 + (1 - value) ** 2)
    variance = squares / (total - 1) / total + unlabelled
    spread = variance / (middle * (1 - middle)) ** 2
    low, high = log_odds_interval(middle, spread, total - 1, confidence)
    return value, min(low, value), max(high, value)


def _tuned(said: Floats, there: Floats, judged: Floats, count: int, others: int) -> float:
    """Return the share of the judge's values that makes the variance least, in [0, 1]."""
    spread = float(judged.var(ddof=1))
    if not others or not spread:
        return 0.0
    together = float(np.cov(said, there)[0, 1])
    return min(1.0, max(0.0, together / (spread * (1 + count / others))))
