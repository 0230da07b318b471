"""Leaderboards, as a catalogue gives them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from pnyx.serve.inspecting.asking import ON_A_PAGE, Asked, NotThereError, paged
from pnyx.serve.inspecting.records import Board, BoardRow, Difference, Source, Value

_VALUE = (
    "SELECT s.name, coalesce(r.name, ''), coalesce(t.name, ''), v.measure, v.value, v.low, v.high, "
    "v.scored, v.asked, v.no_interval FROM value v JOIN source s ON s.id = v.source "
    "LEFT JOIN run r ON r.id = v.run LEFT JOIN topic t ON t.id = v.topic WHERE "
)


class Boards(Asked):
    """The part of a catalogue that knows measures of runs."""

    @abstractmethod
    def source(self, name: str) -> Source:
        """Return a source."""

    @abstractmethod
    def sources(self) -> list[Source]:
        """Return all sources."""

    def boards(self) -> list[Source]:
        """Return the sources that measure runs, as they were given."""
        ids = {
            row[0]
            for row in self.all(
                "SELECT DISTINCT source FROM value WHERE topic IS NULL AND run NOT NULL"
            )
        }
        return [one for one in self.sources() if one.id in ids]

    def measures(self, source: str) -> list[str]:
        """Return the names of the measures of a source's runs, in the order of its file."""
        own = "FROM value WHERE source = ? AND topic IS NULL AND run NOT NULL"
        sql = f"SELECT measure {own} GROUP BY measure ORDER BY min(place)"
        return [row[0] for row in self.all(sql, self.source(source).id)]

    def leaderboard(
        self,
        source: str,
        measures: Sequence[str] = (),
        *,
        by: str = "",
        ascending: bool = False,
        page: int = 1,
    ) -> Board:
        """Return runs with their values over all topics, those without a value first.

        Args:
            source: its name.
            measures: that are shown; all by default.
            by: the measure that runs are sorted by, the best first; the first by default.
            ascending: the other way round, the least first.
            page: of the list.
        """
        held = self.source(source)
        every = self.measures(source)
        by = by or next(iter(every), "")
        if by not in every:
            raise NotThereError("this leaderboard has no such measure")
        order = "ASC" if ascending else "DESC"
        own = "FROM value WHERE source = ? AND run NOT NULL AND topic IS NULL"
        total = self.all(f"SELECT count(DISTINCT run) {own}", held.id)[0][0]
        sql = (
            f"SELECT r.id, r.name FROM (SELECT DISTINCT run {own}) o JOIN run r ON r.id = o.run "
            "LEFT JOIN value v ON v.source = ? AND v.topic IS NULL AND v.measure = ? "
            f"AND v.run = r.id ORDER BY v.value NOT NULL, v.value {order}, r.name "
            f"LIMIT {ON_A_PAGE} OFFSET {(page - 1) * ON_A_PAGE}"
        )
        runs = self.all(sql, held.id, held.id, by)
        rows = self._rows(held, runs)
        return Board(held, measures or every, paged(rows, total, page), by)

    def differences(self, source: str) -> list[Difference]:
        """Return the differences to a baseline that a source's file has."""
        return self._differences("d.source = ?", self.source(source).id)

    def _rows(self, held: Source, runs: Sequence[tuple[int, str]]) -> list[BoardRow]:
        marks = ", ".join("?" * len(runs))
        ids = [number for number, _ in runs]
        where = f"v.source = ? AND v.topic IS NULL AND v.run IN ({marks})"
        values: dict[str, dict[str, Value]] = {name: {} for _, name in runs}
        for one in self._values(where, held.id, *ids):
            values[one.run][one.measure] = one
        differences: dict[str, dict[str, Difference]] = {name: {} for _, name in runs}
        for other in self._differences(f"d.source = ? AND d.run IN ({marks})", held.id, *ids):
            differences[other.run][other.measure] = other
        return [BoardRow(name, values[name], differences[name]) for _, name in runs]

    def _values(self, where: str, *values: Any) -> list[Value]:
        order = "ORDER BY v.source, r.name, t.name, v.place"
        return [Value(*row) for row in self.all(f"{_VALUE} {where} {order}", *values)]

    def _differences(self, where: str, *values: Any) -> list[Difference]:
        sql = (
            "SELECT r.name, b.name, d.measure, d.difference, d.low, d.high, d.p, d.significant "
            "FROM difference d JOIN run r ON r.id = d.run JOIN run b ON b.id = d.baseline WHERE "
        )
        rows = self.all(f"{sql} {where} ORDER BY d.rowid", *values)
        return [
            Difference(*(*row[:-1], None if row[-1] is None else bool(row[-1]))) for row in rows
        ]


def _flag(value: int | None) -> bool | None:
    return None if value is None else bool(value)
