"""Two judges on the same items: what only one scored, where they differ, how far they agree."""

from __future__ import annotations

import json
import threading
import weakref
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pnyx.errors import InputError
from pnyx.serve.inspecting.asking import ON_A_PAGE, NotThereError
from pnyx.serve.inspecting.pages import Shown
from pnyx.serve.inspecting.wording import VerdictView, of_value

if TYPE_CHECKING:
    from pnyx.measure.core.base import Measured
    from pnyx.serve.inspecting.catalogue import Catalogue
    from pnyx.serve.inspecting.records import Source

_VALUES: Final = 12
"""Different values up to which a table of both judges' values is shown."""

_DRAWN: Final = 20_000
"""Items up to which intervals are drawn: of more, that takes minutes."""

_SQL: Final = (
    "SELECT a.item, a.task, a.dimension, coalesce(t.name, ''), a.n, a.value, a.probability, "
    "a.doubt, a.unscored, b.n, b.value, b.probability, b.doubt, b.unscored "
    "FROM judgement a JOIN judgement b ON b.source = ? AND b.item = a.item "
    "AND b.dimension = a.dimension AND (b.task = a.task OR b.task = '' OR a.task = '') "
    "LEFT JOIN topic t ON t.id = coalesce(a.topic, b.topic) WHERE a.source = ? ORDER BY a.n, b.n"
)


@dataclass(frozen=True, slots=True)
class Said:
    """What one of them said: the number of its judgement, its value, and how sure it was."""

    n: int
    value: Any
    probability: float | None
    sure: float | None
    unscored: str

    @property
    def verdict(self) -> VerdictView:
        """As it is shown."""
        return of_value(self.value, self.probability, self.unscored)


@dataclass(frozen=True, slots=True)
class Both:
    """An item that both judged."""

    item: str
    task: str
    dimension: str
    topic: str
    first: Said
    second: Said

    @property
    def apart(self) -> float:
        """How far two numbers are apart; 1 for other values that differ."""
        a, b = self.first.value, self.second.value
        if isinstance(a, bool) or isinstance(b, bool):
            return float(a != b)
        if isinstance(a, int | float) and isinstance(b, int | float):
            return abs(float(a) - float(b))
        return float(a != b)

    @property
    def sure(self) -> float | None:
        """The confidence of the less sure of the two; None where one states none."""
        if self.first.sure is None or self.second.sure is None:
            return None
        return min(self.first.sure, self.second.sure)


@dataclass(frozen=True, slots=True)
class ComparedJudges:
    """Two judges compared.

    Attributes:
        unscored: items that one or both left unscored; one alone first.
        differing: items with different values: the farthest apart and the surest first.
        asked: items that both were asked about; `agreed` of them have the same value.
        values: of the table; `table[a][b]` counts; None stands for unscored. Empty for many values.
        agreement: (dimension, measure, value).
        drawn: whether intervals were drawn.
        problem: why there is no agreement.
        repeated: further lines about items that were counted once.
    """

    unscored: Sequence[Both]
    differing: Sequence[Both]
    asked: int
    agreed: int
    values: Sequence[Any]
    table: Sequence[Sequence[int]]
    agreement: Sequence[tuple[str, str, Measured]]
    drawn: bool
    problem: str = ""
    repeated: int = 0


_KEPT: weakref.WeakKeyDictionary[Any, dict[tuple[int, int], ComparedJudges]] = (
    weakref.WeakKeyDictionary()
)
_ONE_AT_A_TIME = threading.Lock()


def compare_judges(catalogue: Catalogue, first: Source, second: Source) -> ComparedJudges:
    """Compare the judges of two sources on the items that both have; it is computed once."""
    kept = _KEPT.setdefault(catalogue, {})
    key = first.id, second.id
    if key not in kept:
        with _ONE_AT_A_TIME:  # who waits for another's work finds it done
            if key not in kept:
                kept[key] = _compared(*_joined(catalogue, first, second))
    return kept[key]


def _joined(catalogue: Catalogue, first: Source, second: Source) -> tuple[list[Both], int]:
    """Return the items that both have, once each, and how many further lines there are."""
    found: dict[tuple[str, str, str], Both] = {}
    rows = catalogue.all(_SQL, second.id, first.id)
    for item, task, dimension, topic, *said in rows:
        key = item, task, dimension
        if key not in found:
            one, other = _said(said[:5]), _said(said[5:])
            found[key] = Both(item, task, dimension, topic, one, other)
    return list(found.values()), len(rows) - len(found)


def _said(row: Sequence[Any]) -> Said:
    n, value, probability, doubt, unscored = row
    held = None if value is None else json.loads(value)
    return Said(n, held, probability, doubt if 0 <= doubt <= 1 else None, unscored)


def _compared(items: Sequence[Both], repeated: int) -> ComparedJudges:
    scored = [one for one in items if None not in (one.first.value, one.second.value)]
    unscored = [one for one in items if None in (one.first.value, one.second.value)]
    unscored.sort(key=lambda one: one.first.value is None and one.second.value is None)
    differing = [one for one in scored if one.apart > 0]
    differing.sort(key=lambda one: (-one.apart, one.sure is None, -(one.sure or 0.0)))
    values, table = _table(items)
    agreement, problem = _agreement(scored)
    return ComparedJudges(
        unscored, differing, len(items), len(scored) - len(differing), values, table, agreement,
        len(scored) <= _DRAWN, problem, repeated,
    )  # fmt: skip


def _table(items: Sequence[Both]) -> tuple[list[Any], list[list[int]]]:
    """Return the values in order, None last, and how often each pair of them occurs."""
    counts = Counter((_key(one.first.value), _key(one.second.value)) for one in items)
    keys = {key for pair in counts for key in pair}
    if not items or len(keys) > _VALUES:
        return [], []
    order = sorted(keys, key=lambda key: (key == "null", *_rank(key)))
    table = [[counts[row, column] for column in order] for row in order]
    return [json.loads(key) for key in order], table


def _key(value: Any) -> str:
    return json.dumps(value)


def _rank(key: str) -> tuple[int, float, str]:
    value = json.loads(key)
    if isinstance(value, bool):
        return 0, -float(value), ""  # yes before no
    return (1, float(value), "") if isinstance(value, int | float) else (2, 0.0, key)


def _agreement(scored: Sequence[Both]) -> tuple[list[tuple[str, str, Measured]], str]:
    """Return agreement by dimension, with intervals over topics, or over items without any."""
    from pnyx.judge.verdicts import Verdict
    from pnyx.measure.answers.raters import measure_raters
    from pnyx.measure.core.base import BOOTSTRAP, Bootstrap

    if len(scored) < 2:
        return [], f"{len(scored)} items have a value of both: agreement needs at least 2"
    sides = [
        [
            Verdict(
                id=f"{one.task}/{one.item}", value=said.value, dimension=one.dimension,
                group=one.topic, line=n,
            )
            for n, one in enumerate(scored, 1)
            for said in ((one.first, one.second)[side],)
        ]
        for side in (0, 1)
    ]  # fmt: skip
    bootstrap = BOOTSTRAP if len(scored) <= _DRAWN else Bootstrap(draws=0)
    try:
        found = measure_raters(None, sides, bootstrap=bootstrap)
    except InputError as error:
        return [], f"no agreement: {error.problem}"
    compared = next((one for one in found.compared if one.kind == "human-human"), None)
    if compared is None:
        return [], "no item has a value of both"
    numeric = not all(isinstance(one.first.value, bool | str) for one in scored)
    names = ("exact", "kappa", "alpha_nominal") + (
        ("alpha_ordinal", "alpha_interval", "spearman") if numeric else ()
    )
    return [
        (dimension, name, measures[name])
        for dimension, measures in compared.per_dimension.items()
        for name in names
    ], ""


def judges_pages(compared: ComparedJudges) -> int:
    """Return how many pages its lists take together."""
    return max(1, -(-(len(compared.unscored) + len(compared.differing)) // ON_A_PAGE))


def show_judges(catalogue: Catalogue, first: str, second: str, number: int) -> Shown:
    """Show two judges side by side: what one left unscored first, then their disagreements."""
    sources = catalogue.source(first), catalogue.source(second)
    compared = compare_judges(catalogue, *sources)
    pages = judges_pages(compared)
    if not 1 <= number <= pages:
        raise NotThereError(f"this list has {pages} pages")
    start = (number - 1) * ON_A_PAGE
    stop, open_ = start + ON_A_PAGE, len(compared.unscored)
    values = {
        "sources": sources,
        "compared": compared,
        "unscored": compared.unscored[start:stop],
        "differing": compared.differing[max(0, start - open_) : max(0, stop - open_)],
        "first_differing": max(0, start - open_) + 1,
        "page": number,
        "pages": pages,
        "shown": [of_value(value, None, "").word for value in compared.values],
    }
    return Shown("inspecting/compare_judges.html.j2", values)
