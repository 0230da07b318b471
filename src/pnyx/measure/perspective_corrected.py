"""MRecall and Precision corrected for the judge's errors.

A judge that is wrong on one pair in seven moves every figure. Where people labelled pairs that it
also answered, there are two ways to take that into account:

- `prediction-powered`: where enough of the measured questions are labelled themselves, down to the
  depth measured (`perspective_powered`). It assumes only that these were picked at random.
- `calibrated`: each verdict is read as the chance that people would say yes, by a curve fitted on
  the labelled pairs, and the measure is what these chances give on average.

The second assumes:

- Labelled and measured questions are drawn from the same kind of questions, with the same kind of
  documents: people's yes has the same chance for a given verdict, but for what differs from
  question to question. Where they come from elsewhere, that the judge's log-odds are off by a
  common amount of standard deviation `shift`, which is stated and not learned.
- What differs between questions and between perspectives are log-odds that their pairs share, given
  the verdicts (`perspective_effects`).

The interval should contain what people would say of the measured questions, and what they say on
average of others like them. So in each draw the estimate is moved, in log-odds, by as much as the
labelled questions leave open (each is left out in turn and all learned anew; Student's t, since
they are few) and by a shift; the measured questions are drawn anew; and what people say of each is
drawn, given the chances and what its pairs share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from pnyx.errors import InputError, shorten
from pnyx.judge.curves import Platt, fit
from pnyx.measure.base import BOOTSTRAP, Bootstrap
from pnyx.measure.gold import Joined
from pnyx.measure.perspective_covering import Covering
from pnyx.measure.perspective_effects import (
    Covered,
    Effects,
    People,
    Shares,
    drawn_interval,
    effects_of,
    logit,
    shared_spread,
)
from pnyx.measure.perspective_powered import Labels, place_of, powered
from pnyx.measure.perspective_table import Table, mrecall, precision
from pnyx.measure.weighted import Floats

__all__ = [
    "FEW",
    "FEWEST",
    "Corrected",
    "Correction",
    "Method",
    "Signal",
]

FEWEST = 8
"""With fewer labelled questions nothing is corrected: the intervals do not hold
(docs/decisions/perspective-measures.md)."""

FEW = 30
"""With fewer there is a warning: the intervals are wide, and the estimates depend on single
questions."""

Signal: TypeAlias = Literal["probability", "verdict"]
"""What the chance that people say yes is read from."""

Method: TypeAlias = Literal["calibrated", "prediction-powered"]
"""How a value was corrected; see the module's docstring."""

Index: TypeAlias = npt.NDArray[np.intp]

_YES, _NO = 0.75, 0.25
"""Any two numbers: of a verdict alone, the curve learns one chance for yes and one for no."""
_GROUPS = 40
"""So many times labelled questions are left out, in groups where there are more questions."""


@dataclass(frozen=True, slots=True)
class Corrected:
    """A mean over questions, with the judge's errors taken into account.

    Attributes:
        value: the estimate; None where there are too few labelled questions, or where it cannot be
            said how far errors fall together.
        low: lower end of its 95 % interval, of the estimate with all errors falling together
            where only the latter is not known.
        high: upper end, of that with all errors falling apart.
        scored: questions of which all pairs within the depth are scored; the others are left out.
        asked: all questions.
        apart: of a calibrated MRecall, the estimate with errors that fall apart; it is the higher.
        together: with errors that fall together within a perspective.
        method: how it was corrected; None where it was not.
        labelled: questions with labels that it rests on.
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
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class _Learned:
    """What some labelled questions say of the judge.

    Attributes:
        pairs: the curve of a pair.
        effects: what its question and its perspective add; None where that is open.
        documents: the curve of a whole document; None without labelled ones.
    """

    pairs: Platt
    effects: Effects | None
    documents: Platt | None

    def shifted(self, by: float) -> _Learned:
        """Return it for a judge whose log-odds are off by so much."""
        documents = None if self.documents is None else _shifted(self.documents, by)
        return _Learned(_shifted(self.pairs, by), self.effects, documents)


Estimate: TypeAlias = Callable[[_Learned], Floats]
"""From what is learned to the expectation of each measured question."""


class Correction:
    """What people would say, given what the judge says; see the module's docstring.

    Args:
        labelled: what it is learned from.
        tables: what it is for. The judge's probabilities count where it gives one for every pair,
            labelled and measured, else its verdicts alone.
        shift: standard deviation of how far the judge's log-odds may be off, all in the same
            direction, on the measured pairs; 0 where labelled and measured questions are of the
            same kind.
        bootstrap: of the intervals.

    Attributes:
        signal: which of them.
        effects: what questions and perspectives share beyond the judge's answers; None where no
            labelled perspective has two documents.

    Raises:
        InputError: no labelled pair is scored.
        ValueError: the shift is not a number from 0.
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
        self._labels = Labels(self._pairs)
        self._learned = self._learn(np.ones(self._questions, dtype=np.bool_))
        self.effects = self._learned.effects
        self._anew: list[_Learned] = []
        if bootstrap.draws and self._questions >= FEWEST:
            groups = np.arange(self._questions) % min(self._questions, _GROUPS)
            self._anew = [self._learn(groups != left_out) for left_out in range(groups.max() + 1)]

    def check_judge(self, judge: str) -> None:
        """Refuse verdicts of another judge.

        Raises:
            InputError: `judge` is another one than that of the labelled pairs.
        """
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
        """Return the mean of MRecall@k that people's verdicts would give.

        Calibrated, a perspective is covered unless people would say no to all its documents, over
        what these have in common.
        """
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

        open_ = self.effects is None
        if open_:
            low, high = self._interval(together)[0], self._interval(apart)[1]
        else:
            low, high = self._interval(expected)
        return Corrected(
            None if open_ else float(expected(self._learned).mean()),
            low,
            high,
            len(closed),
            len(tables),
            float(apart(self._learned).mean()),
            float(together(self._learned).mean()),
            "calibrated",
            self._questions,
        )

    def precision(self, tables: Sequence[Table], k: int) -> Corrected:
        """Return the mean of Precision@k that people's verdicts would give.

        Calibrated, a document's chance to support some perspective is read from the greatest of the
        judge's probabilities for it (or whether there is a yes), by a curve fitted on labelled
        documents all of whose perspectives are labelled. None without such.
        """
        closed = [table for table in tables if not table.unscored[:k].any()]
        found = self._powered(closed, len(tables), k, precision, 1 / k)
        learned = self._learned.documents
        questions = len({int(self._question_of[own[0]]) for own in self._documents})
        if found is not None or not closed or learned is None or questions < FEWEST:
            return found or Corrected(None, None, None, len(closed), len(tables))
        signals = [self._signals_of(table)[:k].max(axis=1) for table in closed]
        sizes = np.array([len(one) for one in signals])
        topics = np.repeat(np.arange(len(closed)), sizes)
        flat = np.concatenate(signals)

        def expected(learned: _Learned) -> Floats:
            chances = (learned.documents or learned.pairs)(flat)
            return np.bincount(topics, weights=chances, minlength=len(closed)) / k

        shared = self._shared_by_documents(learned)
        people = Shares(learned(flat), topics, len(closed), k, shared)
        low, high = self._interval(expected, people)
        value = float(expected(self._learned).mean())
        return Corrected(
            value, low, high, len(closed), len(tables), method="calibrated", labelled=questions
        )

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
        """Return the signal of each document, and whether people say that it supports some."""
        own = [list(places) for places in whole]
        signals = np.array([self._signals[places].max() for places in own])
        return signals, np.array([self._truth[places].max() for places in own])

    def _shared_by_documents(self, curve: Platt) -> float:
        """Return the standard deviation of what a question's documents share, in log-odds."""
        signals, truth = self._of_documents(self._documents)
        questions = np.array([self._question_of[own[0]] for own in self._documents])
        return shared_spread(curve(signals), truth, questions)

    def _interval(
        self, estimate: Estimate, people: People | None = None
    ) -> tuple[float | None, float | None]:
        """Return the interval of a mean; see the module's docstring.

        Args:
            estimate: of each measured question.
            people: what they say of each; by default whether it is covered, by its chance.
        """
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
        measure: Callable[[Table, int], Any],
        weight: float,
    ) -> Corrected | None:
        """Return the prediction-powered estimate; None where too few questions are labelled."""
        judged, people = self._labels.values(closed, k, measure)
        known = int(np.isfinite(people).sum())
        if known < FEWEST:
            return None
        filled = len(judged) / len(closed)  # of a question without documents all is known
        estimate = powered(people, judged, weight, self._bootstrap.confidence)
        value, low, high = (filled * one for one in estimate)
        shown = self._bootstrap.draws > 0
        return Corrected(
            value,
            low if shown else None,
            high if shown else None,
            len(closed),
            asked,
            method="prediction-powered",
            labelled=known,
        )


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


def _shifted(curve: Platt, by: float) -> Platt:
    return Platt(curve.slope, curve.intercept + by)


def _log_odds(means: Floats) -> float:
    return float(logit(means.mean()[None])[0])


def _numbered(keys: Sequence[Any]) -> Index:
    """Return the number of each key, in the order of their first places."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)
