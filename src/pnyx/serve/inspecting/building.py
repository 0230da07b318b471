"""A catalogue is built: what was given is read once, in one pass, into a file of SQLite."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, Final

from pnyx.errors import InputError
from pnyx.serve.inspecting.given import Found
from pnyx.serve.rendering import slug

FACETS: Final = ("value", "task", "judge", "dimension", "topic", "run")
"""Facets of judgements, as they are shown."""

SENTENCES_A_REPORT: Final = 10_000
"""In the index of words judgements count up from 1; sentences down, so many for each report."""

SEARCHED: Final = ("explanation", "evidence", "statement", "text", "question", "document")
"""Fields of a judgement's line whose words are in the index."""

_FLUSH: Final = 5000
_ODD: Final = re.compile(r"[^A-Za-z0-9_-]+")
_KEY_LENGTH: Final = 18
"""Of a facet's key: four of them, joined, are one plain part of an address."""


def _sql(name: str) -> str:
    return resources.files("pnyx.serve.inspecting").joinpath(name).read_text(encoding="utf-8")


class Builder:
    """Writes a catalogue.

    Args:
        path: the file, which is not there yet.
    """

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = MEMORY")
        self.connection.execute("PRAGMA synchronous = OFF")
        self.connection.executescript(_sql("schema.sql"))
        self.connection.execute("BEGIN")
        self._ids: dict[str, dict[str, int]] = {"run": {}, "topic": {}}
        self._slugs: set[str] = {"all"}  # `all` stands for all sources in addresses
        self._waiting: dict[str, list[tuple[Any, ...]]] = {}
        self._sources = self._files = self._judgements = self._reports = 0

    @contextmanager
    def source(self, found: Found) -> Iterator[int]:
        """Add a source, and what is added within; of one with a fault, only the fault is kept."""
        self._sources += 1
        number = self._sources
        kept = {table: dict(ids) for table, ids in self._ids.items()}
        counts = self._judgements, self._reports, self._files
        row = (number, self._free(found.name), found.path, found.kind)
        sql = "INSERT INTO source (id, name, slug, path, kind) VALUES (?, ?, ?, ?, ?)"
        self.connection.execute("SAVEPOINT source")
        try:
            self.connection.execute(sql, (row[0], row[1], slug(row[1]), row[2], row[3]))
            yield number
            self.flush()
        except (InputError, sqlite3.Error) as error:
            self._waiting.clear()
            self.connection.execute("ROLLBACK TO source")
            self._ids = kept
            self._judgements, self._reports, self._files = counts
            problem = str(error)
            if isinstance(error, sqlite3.Error):
                problem = f"{found.path}: holds what cannot be kept: {error}"
            sql = (
                "INSERT INTO source (id, name, slug, path, kind, problem) VALUES (?, ?, ?, ?, ?, ?)"
            )
            self.connection.execute(sql, (*row[:2], slug(row[1]), *row[2:], problem))
        self.connection.execute("RELEASE source")

    def _free(self, name: str) -> str:
        """Return a name whose part of an address no other source has, whatever its case."""
        made, number = name, 1
        while slug(made).lower() in self._slugs:
            number += 1
            made = f"{name}-{number}"
        self._slugs.add(slug(made).lower())
        return made

    # What a source holds -------------------------------------------------------------------------

    def about(self, source: int, **told: Any) -> None:
        """Set columns of a source; `about` is what it says of itself."""
        if "about" in told:
            told["about"] = json.dumps(told["about"])
        columns = ", ".join(f"{name} = ?" for name in told)
        self.connection.execute(
            f"UPDATE source SET {columns} WHERE id = ?", (*told.values(), source)
        )

    def file(self, source: int, path: str | Path, name: str) -> int:
        """Add a file of a source, of the format `name`; return its number."""
        self._files += 1
        self._add("file", (self._files, source, str(path), name))
        return self._files

    def run(self, name: str) -> int:
        """Return the number of a run."""
        return self._id("run", name)

    def topic(self, name: str, title: str = "") -> int:
        """Return the number of a topic; its title counts where none is known yet."""
        known = self._ids["topic"]
        if name not in known or title:
            number = self._id("topic", name)
            if title:
                sql = "UPDATE topic SET title = ? WHERE id = ? AND title = ''"
                self.connection.execute(sql, (title, number))
        return known[name]

    def judgement(self, values: tuple[Any, ...]) -> int:
        """Add a judgement: its columns from `source` on; return its number."""
        self._judgements += 1
        self._add("judgement", (self._judgements, *values))
        return self._judgements

    def report(self, values: tuple[Any, ...], states: Sequence[str], texts: Sequence[str]) -> int:
        """Add a report: its columns from `source` on, and each sentence's state and text."""
        self._reports += 1
        number = self._reports
        self._add("report", (number, *values))
        for n, state in enumerate(states):
            self._add("sentence", (number, n, state))
        for n, text in enumerate(texts):
            place = number * SENTENCES_A_REPORT + min(n, SENTENCES_A_REPORT - 1)
            self._add("words", (-place, text), "rowid, text")
        return number

    def item(self, values: tuple[Any, ...]) -> None:
        """Add where an item is: (id, file, place, line)."""
        self._add("item", values)

    def words(self, judgement: int, text: str) -> None:
        """Let a judgement be found by words."""
        if text:
            self._add("words", (judgement, text), "rowid, text")

    def value(self, values: tuple[Any, ...], no_interval: str = "") -> None:
        """Add a measure: (source, run, topic, name, place, value, low, high, scored, asked)."""
        self._add("value", (*values, no_interval))

    def difference(self, values: tuple[Any, ...]) -> None:
        """Add a difference: (source, run, baseline, measure, difference, low, high, p, bool)."""
        self._add("difference", values)

    # The end -------------------------------------------------------------------------------------

    def finish(self, files: Mapping[str, tuple[int, int]]) -> None:
        """Make the indexes and the facets; `files` is what was read (`given.state`)."""
        rows = [(path, *state) for path, state in files.items()]
        self.connection.executemany("INSERT INTO given VALUES (?, ?, ?)", rows)
        self.connection.execute("COMMIT")
        self.connection.executescript(_sql("indexes.sql"))
        self.connection.execute("BEGIN")
        self._make_facets()
        for table in ("run", "topic"):
            self._count(table)
        self.connection.execute("COMMIT")
        self.connection.execute("ANALYZE")

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    def _make_facets(self) -> None:
        columns = {
            "value": "verdict",
            "topic": "coalesce((SELECT name FROM topic t WHERE t.id = topic), '')",
            "run": "coalesce((SELECT name FROM run r WHERE r.id = run), '')",
        }
        taken: Counter[tuple[int, str]] = Counter()
        for facet in FACETS:
            column = columns.get(facet, facet)
            group = "verdict" if facet == "value" else facet
            sql = f"SELECT source, {column} AS v, count(*) FROM judgement GROUP BY source, {group}"
            found = self.connection.execute(f"SELECT * FROM ({sql}) WHERE v != ''").fetchall()
            every: Counter[str] = Counter()
            for _, value, count in found:
                every[value] += count
            found += [(0, value, count) for value, count in every.items()]
            for source, value, count in sorted(found, key=lambda one: (one[0], -one[2], one[1])):
                key = _ODD.sub("-", f"{facet[0]}-{value}").strip("-")[:_KEY_LENGTH]
                taken[source, key] += 1
                key += f"-{taken[source, key]}" if taken[source, key] > 1 else ""
                row = (source, facet, value, key, count)
                self.connection.execute("INSERT INTO facet VALUES (?, ?, ?, ?, ?)", row)

    def _count(self, table: str) -> None:
        """Set the counts of runs or topics."""
        sql = (
            f"UPDATE {table} SET asked = f.asked, scored = f.scored FROM (SELECT {table} AS own, "
            "count(*) AS asked, sum(verdict != 'unscored') AS scored FROM judgement "
            f"WHERE {table} NOT NULL GROUP BY 1) AS f WHERE f.own = id"
        )
        self.connection.execute(sql)
        reports = f"(SELECT count(*) FROM report p WHERE p.{table} = {table}.id AND NOT p.missing)"
        self.connection.execute(f"UPDATE {table} SET reports = {reports}")

    def flush(self) -> None:
        """Write what waits."""
        for table, rows in self._waiting.items():
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                self.connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
                rows.clear()

    def _add(self, table: str, row: tuple[Any, ...], columns: str = "") -> None:
        rows = self._waiting.setdefault(f"{table} ({columns})" if columns else table, [])
        rows.append(row)
        if len(rows) >= _FLUSH:
            self.flush()

    def _id(self, table: str, name: str) -> int:
        known = self._ids[table]
        if name not in known:
            sql = f"INSERT INTO {table} (name, slug) VALUES (?, ?)"
            known[name] = self.connection.execute(sql, (name, slug(name))).lastrowid or 0
        return known[name]
