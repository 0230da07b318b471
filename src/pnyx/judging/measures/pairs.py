"""Answers with their labels, as pairs and as memory-efficient columns (for a million pairs)."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from pnyx.judging.verdicts import Verdict, VerdictRow
from pnyx.stats.weighted_measures import Floats, Index, numbers


@dataclass(frozen=True, slots=True)
class Gold:
    """The labels of a question: majority, mean grade, whether most were unsure, mean rating."""

    yes: bool | None = None
    gain: float | None = None
    uncertain: bool | None = None
    rating: float | None = None
    group: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """A labelled question: the judge's verdict, and its label."""

    verdict: Verdict
    gold: Gold

    @property
    def group(self) -> str:
        """The topic of the label, else of the answer; empty if neither has one."""
        return self.gold.group or self.verdict.group or self.verdict.question_id


class PairColumns(Sequence[Pair]):
    """Pairs stored as columns, created on access; most share a verdict and a label."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.values: list[Any] = []
        self.verdicts: list[Verdict] = []
        self.gold: list[Gold] = []
        self._probabilities, self._lines = array("d"), array("q")

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> PairColumns:
        """Return pairs as columns."""
        if isinstance(pairs, cls):
            return pairs
        columns = cls()
        for pair in pairs:
            v = pair.verdict
            columns.add((v, v.id, v.value, v.probability, v.line), pair.gold)
        return columns

    def add(self, row: VerdictRow, gold: Gold) -> None:
        """Add a pair."""
        verdict, key, value, probability, line = row
        self.verdicts.append(verdict)
        self.ids.append(key)
        self.values.append(value)
        self._probabilities.append(np.nan if probability is None else probability)
        self._lines.append(line)
        self.gold.append(gold)

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> Pair: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Pair]: ...

    def __getitem__(self, at: int | slice) -> Pair | Sequence[Pair]:
        if isinstance(at, slice):
            return [self[position] for position in range(*at.indices(len(self)))]
        stated = self._probabilities[at]
        verdict = replace(
            self.verdicts[at],
            id=self.ids[at],
            value=self.values[at],
            probability=None if np.isnan(stated) else stated,
            line=self._lines[at],
        )
        return Pair(verdict, self.gold[at])

    def by_id(self) -> PairColumns:
        """Return the pairs by id, then dimension."""
        order = np.argsort(np.array(self.ids, dtype=object), kind="stable")
        if any(
            verdict.dimension
            for verdict in {id(verdict): verdict for verdict in self.verdicts}.values()
        ):
            named = np.array([verdict.dimension for verdict in self.verdicts], dtype=object)
            order = np.lexsort((named, np.array(self.ids, dtype=object)))
        columns = PairColumns()
        for name in ("ids", "values", "verdicts", "gold"):
            column = np.empty(len(order), dtype=object)
            column[:] = getattr(self, name)
            setattr(columns, name, column[order].tolist())
        columns._probabilities = array("d", np.array(self._probabilities)[order].tobytes())
        columns._lines = array("q", np.array(self._lines)[order].tobytes())
        return columns

    @property
    def groups(self) -> list[str]:
        """The group of each pair."""
        both = zip(self.gold, self.verdicts, strict=True)
        return [gold.group or verdict.group or verdict.question_id for gold, verdict in both]

    @property
    def unscored(self) -> list[str]:
        """The reason of each unscored answer."""
        both = zip(self.verdicts, self.values, strict=True)
        return [verdict.unscored for verdict, value in both if value is None]

    def in_order(self) -> Index:
        """Return the positions of the pairs in the order of the answers' lines."""
        return np.argsort(np.frombuffer(self._lines, dtype=np.int64), kind="stable")

    def value(self) -> Floats:
        """Return the answers as numbers, (pairs,), NaN for none."""
        return numbers(self.values)

    def probability(self) -> Floats:
        """Return the probabilities of yes, (pairs,), NaN for none."""
        return np.array(self._probabilities, dtype=np.float64)

    def labels(self, of: Callable[[Gold], float | None]) -> Floats:
        """Return a number for each pair's label, (pairs,), NaN for none."""
        distinct = {id(gold): gold for gold in self.gold}
        code = {key: position for position, key in enumerate(distinct)}
        codes = np.fromiter(map(code.__getitem__, map(id, self.gold)), np.intp, len(self))
        return numbers([of(gold) for gold in distinct.values()])[codes]
