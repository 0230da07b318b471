"""Pairs of texts that a judge compared in both orders: flips, position bias, and people's view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pnyx.audit.checks.check_rows import TableRows
from pnyx.audit.checks.pair_words import NAME_COLUMNS, Choice, PairWords
from pnyx.core.errors import InputError, shorten
from pnyx.core.tabular import Result
from pnyx.formats.cells import is_missing
from pnyx.judging.labels import consensus
from pnyx.judging.questions import TURNED
from pnyx.stats.base import BOOTSTRAP, Bootstrap, Measured, row_of
from pnyx.stats.intervals import cluster_mean

_WORTH: Mapping[Choice, float] = {"a": 1.0, "tie": 0.5, "b": 0.0}
_MEASURES = "flips first_slot combined a_first b_first settled"
_COUNTS = "pairs both_orders agree reversed first_both second_both labels tied_labels unscored"


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """A pair of texts, A and B, with the verdicts in both orders.

    Attributes:
        id: of the pair; pairs without a group that share an id count as one group.
        group: what clusters the pairs; empty without one.
        a_first: the verdict with A shown first; None if it is unscored.
        b_first: the verdict with B shown first, also in terms of A and B.
        labels: what people say.
        one_order: whether there was one order only, whose verdict is then the combined one.
    """

    id: str
    group: str
    a_first: Choice | None
    b_first: Choice | None
    labels: tuple[Choice, ...] = ()
    one_order: bool = False

    @property
    def combined(self) -> Choice | None:
        """The verdict of both orders: a tie where they differ, None if one is unscored."""
        if self.one_order:
            return self.a_first
        if self.a_first is None or self.b_first is None:
            return None
        return self.a_first if self.a_first == self.b_first else "tie"


@dataclass(frozen=True, slots=True, repr=False)
class PairCheck(Result):
    """What verdicts in both orders show about a judge.

    Attributes:
        pairs: how many there are; `both_orders` have a verdict in both.
        agree: pairs on which both orders say the same.
        reversed: pairs on which the other text wins in the other order, without a tie.
        first_both: those of them on which the text shown first wins both times.
        second_both: those on which the text shown second does.
        flips: share of pairs on which the two orders differ.
        first_slot: how often the text shown first wins, ties as half; 0.5 without position bias.
        labels: pairs with a label; `tied_labels` are those on which people are divided.
        combined: how often the combined verdict is what people say; ties count as an answer.
        a_first: the same of the verdict with A shown first.
        b_first: the same of the verdict with B shown first.
        settled: the same of the pairs on which both orders prefer the same text.
        unscored: pairs without a combined verdict.
        clusters: groups, or pairs where they have none.
        notes: what was assumed, a line each.
    """

    pairs: int
    both_orders: int
    agree: int
    reversed: int
    first_both: int
    second_both: int
    flips: Measured
    first_slot: Measured
    labels: int
    tied_labels: int
    combined: Measured
    a_first: Measured
    b_first: Measured
    settled: Measured
    unscored: int
    clusters: int
    bootstrap: Bootstrap
    notes: tuple[str, ...] = ()

    @property
    def position_bias(self) -> bool | None:
        """Whether the interval of `first_slot` excludes one half; None without an interval."""
        low, high = self.first_slot.low, self.first_slot.high
        return None if low is None or high is None else low > 0.5 or high < 0.5

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each measure."""
        return [{"measure": name, **getattr(self, name).row()} for name in _MEASURES.split()]

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        interval = self.bootstrap.row("cluster bootstrap", clusters=self.clusters)
        names = f"{_COUNTS} {_MEASURES} position_bias notes"
        return {**row_of(self, names), "interval": interval}


def measure_pairs(
    pairs: Sequence[JudgedPair], *, notes: tuple[str, ...] = (), bootstrap: Bootstrap = BOOTSTRAP
) -> PairCheck:
    """Measure flips, position bias and agreement with people; intervals are by groups."""
    numbers: dict[tuple[str, str], int] = {}
    keys = ((pair.group, "" if pair.group else pair.id) for pair in pairs)
    clusters = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.intp)

    def mean(values: Iterable[float | None], total: int) -> Measured:
        column = np.array([np.nan if v is None else v for v in values], dtype=np.float64)
        return cluster_mean(column, clusters, bootstrap, total, (0.0, 1.0))

    counts = Counter[str]()
    both: list[tuple[Choice, Choice] | None] = []
    for pair in pairs:
        verdicts = None
        if pair.a_first is not None and pair.b_first is not None:
            verdicts = (pair.a_first, pair.b_first)
            counts["both"] += 1
            counts["agree"] += pair.a_first == pair.b_first
            counts["first"] += verdicts == ("a", "b")
            counts["second"] += verdicts == ("b", "a")
        both.append(verdicts)
    twice = len(pairs) - sum(pair.one_order for pair in pairs)
    labels = [consensus(pair.labels) if pair.labels else None for pair in pairs]
    labelled = sum(label is not None for label in labels)
    return PairCheck(
        pairs=len(pairs),
        both_orders=counts["both"],
        agree=counts["agree"],
        reversed=counts["first"] + counts["second"],
        first_both=counts["first"],
        second_both=counts["second"],
        flips=mean((None if v is None else float(v[0] != v[1]) for v in both), twice),
        first_slot=mean((None if v is None else _first_wins(*v) for v in both), twice),
        labels=labelled,
        tied_labels=sum(bool(pair.labels) for pair in pairs) - labelled,
        combined=mean(_right([pair.combined for pair in pairs], labels), labelled),
        a_first=mean(_right([pair.a_first for pair in pairs], labels), labelled),
        b_first=mean(_right([pair.b_first for pair in pairs], labels), labelled),
        settled=mean(_right([_settled(pair) for pair in pairs], labels), labelled),
        unscored=sum(pair.combined is None for pair in pairs),
        clusters=len(numbers),
        bootstrap=bootstrap,
        notes=notes,
    )


def _first_wins(a_first: Choice, b_first: Choice) -> float:
    """Return how often the text shown first wins of two showings, ties as half."""
    return (_WORTH[a_first] + 1 - _WORTH[b_first]) / 2


def _settled(pair: JudgedPair) -> Choice | None:
    same = pair.a_first == pair.b_first and pair.a_first != "tie"
    return pair.a_first if same else None


def _right(
    verdicts: Sequence[Choice | None], labels: Sequence[Choice | None]
) -> list[float | None]:
    """Return whether each verdict is what people say, None if either is missing."""
    return [
        None if verdict is None or label is None else float(verdict == label)
        for verdict, label in zip(verdicts, labels, strict=True)
    ]


def check_pairs(
    table: TableRows,
    *,
    a_first: str,
    b_first: str,
    human: Sequence[str] = (),
    group: str = "",
    id: str = "",  # noqa: A002 - as the option
    by_position: bool = False,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> PairCheck:
    """Check a table of pairs that a judge compared in both orders.

    Args:
        table: a row for each pair.
        a_first: the column of verdicts with A shown first.
        b_first: the column of verdicts with B shown first.
        human: columns of people's labels; the majority counts.
        group: the column of groups, such as questions.
        id: the column of ids.
        by_position: A and B (1 and 2) name the text shown first and second. By default they name
            the two texts, in whichever order these are shown.
        bootstrap: how intervals are drawn.

    Raises:
        InputError: a column is missing, or a cell cannot be read.
    """
    for column in (a_first, b_first, *human, *filter(None, (group, id))):
        if column not in table.columns:
            columns = shorten(", ".join(table.columns), 200)
            problem = f"no column is called {shorten(column, 40)!r}: the table has {columns}"
            raise InputError(problem, path=table.source)
    named = (names for names in NAME_COLUMNS if set(names) <= set(table.columns))
    words = PairWords(*next(named, ("", "")), by_position, table.source)
    pairs = [
        JudgedPair(
            id=_name(row.get(id)) or str(line),
            group=_name(row.get(group)),
            a_first=words.choice(row, a_first, line),
            b_first=words.choice(row, b_first, line, b_first=True),
            labels=tuple(c for name in human if (c := words.choice(row, name, line)) is not None),
        )
        for line, row in table.rows
    ]
    if not pairs:
        raise InputError("the table has no rows", path=table.source)
    notes = (*table.notes, *_position_notes(pairs, by_position=by_position))
    return measure_pairs(pairs, notes=notes, bootstrap=bootstrap)


def _name(cell: object) -> str:
    """Return the name of a pair or group in a cell, empty if the cell is."""
    return "" if is_missing(cell) else str(cell).strip()


def _position_notes(pairs: Sequence[JudgedPair], *, by_position: bool) -> list[str]:
    """Return a warning if most verdicts are reversed, as they are if cells name positions."""
    both = [(p.a_first, p.b_first) for p in pairs if p.a_first and p.b_first]
    turned = sum(first != "tie" and second == TURNED[first] for first, second in both)
    if by_position or 2 * turned <= len(both):
        return []
    return [
        f"{turned} of {len(both)} verdicts flip with the order: if the cells name the text "
        "shown first or second, rather than text A or B, use --by-position"
    ]
