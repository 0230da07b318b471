"""Writes a catalogue: rows of sources, then indexes, counts and facets."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, Final

from pnyx.core.errors import InputError
from pnyx.formats.label_words import ADJUDICATED
from pnyx.judging.labels import consensus, counted
from pnyx.web.rendering import slug
from pnyx.web.results.kinds import TABLES, Kind
from pnyx.web.results.sources import GivenSource, State

SENTENCES_A_REPORT: Final = 10_000
"""In the word index, judgements count up from 1; sentences count down, this many per report."""

SEARCHED: Final = ("explanation", "evidence", "statement", "text", "question", "document")
"""Fields of a judgement's line whose words are in the index."""

_FLUSH: Final = 5000
_ODD: Final = re.compile(r"[^A-Za-z0-9_-]+")
_CLASSES: Final = "('yes', 'no', 'a', 'b', 'tie', 'pro', 'con')"
_LABELS: Final = (
    "SELECT item, task, dimension, judge, verdict FROM judgement WHERE source IN (SELECT id FROM "
    f"source WHERE kind = 'labels') AND verdict IN {_CLASSES} ORDER BY source, n"
)
_LABELLED: Final = (
    "UPDATE judgement SET label = coalesce((SELECT l.verdict FROM temp.label l WHERE "
    "l.item = judgement.item AND l.task IN ('', judgement.task) "
    "AND l.dimension IN ('', judgement.dimension) LIMIT 1), '') WHERE EXISTS (SELECT 1 FROM "
    "temp.label) AND source NOT IN (SELECT id FROM source WHERE kind = 'labels')"
)
_DISAGREED: Final = (
    "UPDATE judgement SET judges = 'disagree' WHERE (SELECT count(*) FROM source WHERE asked) > 1 "
    f"AND verdict IN {_CLASSES} AND (item, task, dimension) IN (SELECT item, task, dimension "
    f"FROM judgement WHERE verdict IN {_CLASSES} AND source NOT IN (SELECT id FROM source WHERE "
    "kind = 'labels') GROUP BY 1, 2, 3 HAVING count(DISTINCT value) > 1)"
)
_KEY_LENGTH: Final = 18
"""Length of a facet's key: four of them, joined, fit in one part of an address."""


def _sql(name: str) -> str:
    return resources.files("pnyx.web.results").joinpath(name).read_text(encoding="utf-8")


class Builder:
    """Writes a catalogue into a new SQLite file."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = MEMORY")
        self.connection.execute("PRAGMA synchronous = OFF")
        self.connection.executescript(_sql("schema.sql"))
        self.connection.execute("BEGIN")
        self._ids: dict[str, dict[str, int]] = {"run": {}, "topic": {}}
        self._slugs: set[str] = {"all"}  # `all` stands for all sources in addresses
        self._waiting: dict[str, list[tuple[Any, ...]]] = {}
        self._last: Counter[str] = Counter()
        self.banks: Sequence[str] = ()  # files of nugget banks

    @contextmanager
    def source(self, source: GivenSource) -> Iterator[int]:
        """Add a source and its contents; if it has a fault, only the fault is kept."""
        number = self._next("source")
        ids = {table: dict(ids_of_table) for table, ids_of_table in self._ids.items()}
        last = self._last.copy()
        name = self._free(source.name)
        row = (number, name, slug(name), source.path, source.kind)
        sql = "INSERT INTO source (id, name, slug, path, kind, problem) VALUES (?, ?, ?, ?, ?, ?)"
        self.connection.execute("SAVEPOINT source")
        try:
            self.connection.execute(sql, (*row, ""))
            yield number
            self.flush()
        except (InputError, sqlite3.Error) as error:
            self._waiting.clear()
            self.connection.execute("ROLLBACK TO source")
            self._ids, self._last = ids, last
            problem = str(error)
            if isinstance(error, sqlite3.Error):
                problem = f"{source.path}: holds data that cannot be stored: {error}"
            self.connection.execute(sql, (*row, problem))
        self.connection.execute("RELEASE source")

    def _free(self, name: str) -> str:
        """Return a name whose part of an address is unique among sources, ignoring case."""
        free, number = name, 1
        while slug(free).lower() in self._slugs:
            number += 1
            free = f"{name}-{number}"
        self._slugs.add(slug(free).lower())
        return free

    def _next(self, table: str) -> int:
        self._last[table] += 1
        return self._last[table]

    # Contents of a source -------------------------------------------------------------------------

    def about(self, source: int, **columns: Any) -> None:
        """Set columns of a source; `about` is its own description, as JSON values."""
        if "about" in columns:
            columns["about"] = json.dumps(columns["about"])
        names = ", ".join(f"{name} = ?" for name in columns)
        values = (*columns.values(), source)
        self.connection.execute(f"UPDATE source SET {names} WHERE id = ?", values)

    def file(self, source: int, path: str | Path, part: str) -> int:
        """Add a file of a source; return its number."""
        number = self._next("file")
        self.add("file", (number, source, str(path), part))
        return number

    def run(self, name: str) -> int:
        """Return the number of a run."""
        return self._id("run", name)

    def topic(self, name: str, title: str = "", request: str = "", background: str = "") -> int:
        """Return the number of a topic; its text is stored if none is known yet."""
        number = self._id("topic", name)
        for column, text in (("title", title), ("request", request), ("background", background)):
            if text:
                sql = f"UPDATE topic SET {column} = ? WHERE id = ? AND {column} = ''"
                self.connection.execute(sql, (text, number))
        return number

    def _id(self, table: str, name: str) -> int:
        ids = self._ids[table]
        if name not in ids:
            sql = f"INSERT INTO {table} (name, slug) VALUES (?, ?)"
            ids[name] = self.connection.execute(sql, (name, slug(name))).lastrowid or 0
        return ids[name]

    def judgement(self, columns: tuple[Any, ...], words: str) -> None:
        """Add a judgement, its columns from `source` on, and its words for the search."""
        number = self._next("judgement")
        self.add("judgement", (number, *columns))
        if words:
            self.add("words (rowid, text)", (number, words))

    def report(self, columns: tuple[Any, ...], states: Sequence[str], texts: Sequence[str]) -> None:
        """Add a report: its columns from `source` on, and each sentence's state and text."""
        number = self._next("report")
        self.add("report", (number, *columns))
        for n, state in enumerate(states):
            self.add("sentence", (number, n, state))
        for n, text in enumerate(texts):
            row_number = number * SENTENCES_A_REPORT + min(n, SENTENCES_A_REPORT - 1)
            self.add("words (rowid, text)", (-row_number, text))

    def value(self, columns: tuple[Any, ...], no_interval: str = "") -> None:
        """Add a measure, its columns from `source` to `asked`, and why it has no interval."""
        self.add("value", (*columns, no_interval))

    def add(self, table: str, row: tuple[Any, ...]) -> None:
        """Add a row of any other table."""
        rows = self._waiting.setdefault(table, [])
        rows.append(row)
        if len(rows) >= _FLUSH:
            self.flush()

    def flush(self) -> None:
        """Write the buffered rows."""
        for table, rows in self._waiting.items():
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                self.connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
                rows.clear()

    # Finishing
    # -------------------------------------------------------------------------------------

    def finish(self, state: State) -> None:
        """Make indexes, counts and facets; `state` is that of the source files."""
        rows = [(path, *size_and_time) for path, size_and_time in state.items()]
        self.connection.executemany("INSERT INTO given VALUES (?, ?, ?)", rows)
        self.connection.execute("COMMIT")
        self.connection.executescript(_sql("indexes.sql"))
        self.connection.execute("BEGIN")
        self._join_labels()
        self.connection.execute(_DISAGREED)
        for kind in TABLES:
            self._count_rows(kind)
        for table in ("run", "topic"):
            self._count_of(table)
        self.connection.execute("COMMIT")
        self.connection.execute("ANALYZE")

    def _join_labels(self) -> None:
        """Give each judgement the label that people agree on, if any (`judge.labels`)."""
        labels = self.connection.execute(_LABELS).fetchall()
        first, several = counted((key, who == ADJUDICATED, v) for *key_, who, v in labels
                                 for key in [tuple(key_)])  # fmt: skip
        agreed = ((*key, consensus(several.get(key) or [label])) for key, label in first.items())
        rows = [row for row in agreed if row[-1] is not None]
        self.connection.execute("CREATE TEMP TABLE label (item, task, dimension, verdict)")
        self.connection.executemany("INSERT INTO temp.label VALUES (?, ?, ?, ?)", rows)
        self.connection.execute("CREATE INDEX temp.label_item ON label (item)")
        self.connection.execute(_LABELLED)
        self.connection.execute("DROP TABLE temp.label")

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    def _count_rows(self, kind: Kind[Any]) -> None:
        """Count a table's rows, of each source and by each facet."""
        taken: Counter[tuple[int, str]] = Counter()
        for facet, expression in {"": "''", **kind.facets}.items():
            counted = self._grouped(kind, expression, facet)
            every: Counter[str] = Counter()
            for _, value, count in counted:
                every[value] += count
            counted += [(0, value, count) for value, count in every.items()] if kind.of else []
            for source, value, count in sorted(counted, key=lambda row: (row[0], -row[2], row[1])):
                key = _ODD.sub("-", f"{facet[:1]}-{value}").strip("-")[:_KEY_LENGTH]
                taken[source, key] += 1
                key += f"-{taken[source, key]}" if taken[source, key] > 1 else ""
                row = (kind.name, source, facet, value, key, count)
                self.connection.execute("INSERT INTO facet VALUES (?, ?, ?, ?, ?, ?)", row)

    def _grouped(self, kind: Kind[Any], expression: str, facet: str) -> list[tuple[int, str, int]]:
        source = f"{kind.of}.source" if kind.of else "0"
        sql = (
            f"SELECT {source} AS source, {expression} AS v, count(*) AS n "
            f"FROM {kind.base} GROUP BY 1, 2"
        )
        if facet in ("run", "topic"):
            sql = f"SELECT g.source, o.name, g.n FROM ({sql}) g JOIN {facet} o ON o.id = g.v"
        where = "WHERE v != ''" if facet and facet not in ("run", "topic") else ""
        return self.connection.execute(f"SELECT * FROM ({sql}) {where}").fetchall()

    def _count_of(self, table: str) -> None:
        """Set the counts of runs or topics."""
        self.connection.execute(
            f"UPDATE {table} SET asked = f.asked, scored = f.scored FROM (SELECT {table} AS own, "
            "count(*) AS asked, sum(verdict != 'unscored') AS scored FROM judgement "
            f"WHERE {table} NOT NULL GROUP BY 1) AS f WHERE f.own = id"
        )
        reports = f"(SELECT count(*) FROM report p WHERE p.{table} = {table}.id AND NOT p.missing)"
        self.connection.execute(f"UPDATE {table} SET reports = {reports}")
