"""Two judges on the same items: items scored by one only, disagreements, and agreement."""

from __future__ import annotations

import json
import threading
import weakref
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pnyx.core.errors import InputError
from pnyx.judging.measures.raters import measure_raters
from pnyx.judging.verdicts import Verdict
from pnyx.stats.base import BOOTSTRAP, Bootstrap, Measured
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.records import SourceRow

_VALUES: Final = 12
"""Most distinct values for which a table of both judges' values is shown."""

_DRAWN: Final = 20_000
"""Most items for which intervals are computed: with more, that takes minutes."""

_SQL: Final = (
    "SELECT a.item, a.task, a.dimension, coalesce(t.name, ''), a.n, a.value, a.probability, "
    "a.doubt, a.unscored, b.n, b.value, b.probability, b.doubt, b.unscored "
    "FROM judgement a JOIN judgement b ON b.source = ? AND b.item = a.item "
    "AND b.dimension = a.dimension AND (b.task = a.task OR b.task = '' OR a.task = '') "
    "LEFT JOIN topic t ON t.id = coalesce(a.topic, b.topic) WHERE a.source = ? ORDER BY a.n, b.n"
)


@dataclass(frozen=True, slots=True)
class ItemVerdict:
    """One judge's answer to an item: line `n` of its source; `doubt` as in `JudgementRow`."""

    n: int
    value: Any
    probability: float | None
    doubt: float
    unscored: str

    @property
    def confidence(self) -> float | None:
        """The probability of the value; None if there is none."""
        return self.doubt if 0 <= self.doubt <= 1 else None


@dataclass(frozen=True, slots=True)
class JudgedTwice:
    """An item that both judges were asked about."""

    item: str
    task: str
    dimension: str
    topic: str
    first: ItemVerdict
    second: ItemVerdict

    @property
    def unscored(self) -> int:
        """How many of the two judges left it unscored."""
        return (self.first.value, self.second.value).count(None)

    @property
    def distance(self) -> float:
        """The distance of two numbers; 1 for other values that differ."""
        a, b = self.first.value, self.second.value
        numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (a, b))
        return abs(float(a) - float(b)) if numbers else float(a != b)

    @property
    def confidence(self) -> float | None:
        """The lower of the two confidences; None if one is missing."""
        both = self.first.confidence, self.second.confidence
        return None if None in both else min(both)  # type: ignore[type-var]


@dataclass(frozen=True, slots=True)
class ComparedJudges:
    """Two judges compared."""

    unscored: Sequence[JudgedTwice]  # by one or both; by only one first
    differing: Sequence[JudgedTwice]  # ordered by distance, then by confidence
    asked: int  # items that both judged
    agreed: int  # of these, items with the same value
    values: Sequence[Any]  # of the table; None stands for unscored
    table: Sequence[Sequence[int]]  # `[a][b]` counts
    agreement: Sequence[tuple[str, str, Measured]]  # (dimension, measure, value)
    drawn: bool  # whether intervals were drawn
    problem: str  # why there is no agreement
    repeated: int  # duplicate lines of items


_KEPT: weakref.WeakKeyDictionary[Catalogue, dict[tuple[int, int], ComparedJudges]] = (
    weakref.WeakKeyDictionary()
)
_LOCK = threading.Lock()


def compare_judges(catalogue: Catalogue, first: SourceRow, second: SourceRow) -> ComparedJudges:
    """Compare the judges of two sources on their common items; the result is cached."""
    comparisons = _KEPT.setdefault(catalogue, {})
    key = first.id, second.id
    if key not in comparisons:
        with _LOCK:  # another thread may have computed it meanwhile
            if key not in comparisons:
                comparisons[key] = _compared(*_joined(catalogue, first, second))
    return comparisons[key]


def _joined(
    catalogue: Catalogue, first: SourceRow, second: SourceRow
) -> tuple[list[JudgedTwice], int]:
    """Return the common items, once each, and the number of duplicate lines."""
    items: dict[tuple[str, str, str], JudgedTwice] = {}
    repeated = 0
    for item, task, dimension, topic, *columns in catalogue.each(_SQL, second.id, first.id):
        key = item, task, dimension
        if key in items:
            repeated += 1
        else:
            verdicts = _verdict(*columns[:5]), _verdict(*columns[5:])
            items[key] = JudgedTwice(item, task, dimension, topic, *verdicts)
    return list(items.values()), repeated


def _verdict(
    n: int, coded: str | None, probability: float | None, doubt: float, unscored: str
) -> ItemVerdict:
    value = None if coded is None else json.loads(coded)
    return ItemVerdict(n, value, probability, doubt, unscored)


def _compared(items: Sequence[JudgedTwice], repeated: int) -> ComparedJudges:
    scored = [pair for pair in items if not pair.unscored]
    unscored = sorted((pair for pair in items if pair.unscored), key=lambda pair: pair.unscored)
    differing = [pair for pair in scored if pair.distance > 0]
    differing.sort(key=lambda p: (-p.distance, p.confidence is None, -(p.confidence or 0.0)))
    values, table = _table(items)
    agreement, problem = _agreement(scored)
    return ComparedJudges(
        unscored, differing, len(items), len(scored) - len(differing), values, table, agreement,
        len(scored) <= _DRAWN, problem, repeated,
    )  # fmt: skip


def _table(items: Sequence[JudgedTwice]) -> tuple[list[Any], list[list[int]]]:
    """Return the values in order, None last, and the count of each pair."""
    counts = Counter((json.dumps(p.first.value), json.dumps(p.second.value)) for p in items)
    keys = {key for pair in counts for key in pair}
    if not items or len(keys) > _VALUES:
        return [], []
    order = sorted(keys, key=_rank)
    table = [[counts[row, column] for column in order] for row in order]
    return [json.loads(key) for key in order], table


def _rank(key: str) -> tuple[int, float, str]:
    value = json.loads(key)
    if value is None:
        return 3, 0.0, ""
    if isinstance(value, bool):
        return 0, -float(value), ""  # yes before no
    return (1, float(value), "") if isinstance(value, int | float) else (2, 0.0, key)


def _agreement(scored: Sequence[JudgedTwice]) -> tuple[list[tuple[str, str, Measured]], str]:
    """Return agreement by dimension, with intervals over topics, or over items without any."""
    if len(scored) < 2:
        return [], f"{len(scored)} items have a value of both: agreement needs at least 2"
    sides = [
        [
            Verdict(id=f"{p.task}/{p.item}", value=verdict.value, dimension=p.dimension,
                    group=p.topic, line=n)
            for n, p in enumerate(scored, 1)
            for verdict in ((p.first, p.second)[side],)
        ]
        for side in (0, 1)
    ]  # fmt: skip
    bootstrap = BOOTSTRAP if len(scored) <= _DRAWN else Bootstrap(draws=0)
    try:
        raters = measure_raters(None, sides, bootstrap=bootstrap)
    except InputError as error:
        return [], f"no agreement: {error.problem}"
    compared = next((pair for pair in raters.compared if pair.kind == "human-human"), None)
    if compared is None:
        return [], "no item has a value of both"
    numeric = not all(isinstance(pair.first.value, bool | str) for pair in scored)
    names = ["accuracy", "kappa", "alpha_nominal"]
    names += ["alpha_ordinal", "alpha_interval", "spearman"] if numeric else []
    return [
        (dimension, name, measures[name])
        for dimension, measures in compared.per_dimension.items()
        for name in names
    ], ""
