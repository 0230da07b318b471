"""The catalogue of results, queried by pages (`pnyx.web.results.open_catalogue` builds it)."""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pnyx.core.files import decoded, parse_json_object, read_line_at, scan_raw_lines
from pnyx.core.records import Evidence, Perspective, Response
from pnyx.core.restricted_mode import hides_text, textless
from pnyx.core.rooms import ReaderDoor, load, named, required
from pnyx.formats import read_perspectives
from pnyx.formats.reports.responses import parse_response
from pnyx.judging.runs.engine import rows_in
from pnyx.web.rendering import slug
from pnyx.web.results import kinds
from pnyx.web.results.kinds import Kind
from pnyx.web.results.records import (
    ROWS_A_PAGE,
    FacetValue,
    JudgementRow,
    MeasureValue,
    NotFoundError,
    ReportRow,
    Row,
    RowPage,
    RunCounts,
    SentenceRow,
    SourceRow,
    TopicCounts,
    offset_of,
    page_of,
)
from pnyx.web.results.report_texts import ReportTexts


class Catalogue:
    """Results in SQLite; NotFoundError: no such name, InputError: a file has changed."""

    def __init__(self, path: str | Path, store: str = "") -> None:
        self.path, self.store = Path(path), store
        self._idle: list[sqlite3.Connection] = []
        weakref.finalize(self, _close, self._idle)

    # Queries -------------------------------------------------------------------------------------

    def each(self, sql: str, *values: Any) -> Iterator[Any]:
        """Yield the rows of a query as they are read."""
        try:
            connection = self._idle.pop()
        except IndexError:
            uri = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
            connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        try:
            yield from connection.execute(sql, values)
        finally:
            self._idle.append(connection)

    def all(self, sql: str, *values: Any) -> list[Any]:
        """Return the rows of a query."""
        return list(self.each(sql, *values))

    def first(self, sql: str, *values: Any) -> Any:
        """Return the first row of a query."""
        rows = self.all(f"{sql} LIMIT 1", *values)
        if not rows:
            raise NotFoundError("this is not among the results")
        return rows[0]

    def rows(self, kind: Kind[Row], tail: str = "", *values: Any) -> list[Row]:
        """Return rows of a kind.

        `tail` starts with WHERE, or is empty for all rows in their order.
        """
        tail = tail or f"ORDER BY {kind.order}"
        return [kind.row(*row) for row in self.all(f"{kind.sql} {tail}", *values)]

    def row(self, kind: Kind[Row], tail: str, *values: Any) -> Row:
        """Return the first row of a kind that fits."""
        return kind.row(*self.first(f"{kind.sql} {tail}", *values))

    # Tables --------------------------------------------------------------------------------------

    def facets(self, source: str = "", kind: Kind[Any] = kinds.JUDGEMENTS) -> list[FacetValue]:
        """Return the ways to narrow a table of a source, or of all sources."""
        number = self.source(source).id if source else 0
        sql = "SELECT facet, value, key, count FROM facet WHERE kind = ? AND source = ? "
        rows = self.all(f"{sql} AND facet != '' ORDER BY rowid", kind.name, number)
        return [FacetValue(*row) for row in rows]

    def count(self, kind: Kind[Any], /, **chosen: str) -> int:
        """Return the number of rows of a table; for one facet from its stored count."""
        narrowed = [name for name in chosen if name != "source" and chosen[name]]
        if len(narrowed) > 1:
            where, values = self._where(kind, chosen)
            sql = f"SELECT count(*) FROM {kind.base} {_index(kind, chosen)} WHERE {where}"
            return int(self.all(sql, *values)[0][0])
        facet = narrowed[0] if narrowed else ""
        value = chosen[facet] if facet else ""
        if facet in ("topic", "run"):
            value = (self.topic(value) if facet == "topic" else self.run(value)).name
        source = self.source(chosen["source"]).id if chosen.get("source") else 0
        sql = (
            "SELECT sum(count) FROM facet WHERE kind = ? AND source = ? AND facet = ? AND value = ?"
        )
        return int(self.all(sql, kind.name, source, facet, value)[0][0] or 0)

    def table(
        self, kind: Kind[Row], number: int = 1, sort: str = "", /, **chosen: str
    ) -> RowPage[Row]:
        """Return a page of a table; `sort` is a field, `-` before it: greatest first."""
        total = self.count(kind, **chosen)
        limit = f"LIMIT {ROWS_A_PAGE} OFFSET {offset_of(number, total)}"
        where, values = self._where(kind, chosen)
        if sort:
            if sort.removeprefix("-") not in kind.select:
                raise NotFoundError("this table has no such column")
            expression = kind.select[sort.removeprefix("-")]
            order = f"{expression} {'DESC' if sort[0] == '-' else 'ASC'}, {kind.order}"
            rows = self.rows(kind, f"WHERE {where} ORDER BY {order} {limit}", *values)
        else:  # names are read only for the displayed rows
            keys = (
                f"SELECT {kind.key.strip('()')} FROM {kind.base} {_index(kind, chosen)} "
                f"WHERE {where} ORDER BY {kind.order} {limit}"
            )
            tail = f"WHERE {kind.key} IN ({keys}) ORDER BY {kind.order}"
            rows = self.rows(kind, tail, *values)
        return page_of(rows, total, number)

    def every(self, kind: Kind[Row], /, **chosen: str) -> Iterator[Row]:
        """Yield all rows of a table in the order of their files."""
        where, values = self._where(kind, chosen)
        key = kind.key.strip("()")
        for row in self.each(f"{kind.sql} WHERE {where} ORDER BY {key}", *values):
            yield kind.row(*row)

    def _where(self, kind: Kind[Any], chosen: Mapping[str, str]) -> tuple[str, list[Any]]:
        """Return the condition of the chosen facets, without empty ones, and its values."""
        where: list[str] = []
        values: list[Any] = []
        for name, value in chosen.items():
            if value and name in ("source", "run", "topic"):
                where.append(f"{kind.of}.{name} = ?")
                values.append(getattr(self, name)(value).id)
            elif value:
                where.append(f"{kind.facets[name]} = ?")
                values.append(value)
        return " AND ".join(where) or "1", values

    # Sources, runs, topics -----------------------------------------------------------------------

    def sources(self) -> list[SourceRow]:
        """Return all sources, those with a problem first, then as they were given."""
        files: dict[int, dict[str, str]] = {}
        for source, part, path in self.each("SELECT source, format, path FROM file ORDER BY id"):
            files.setdefault(source, {})[part] = path
        return [
            replace(source, about=json.loads(str(source.about)), files=files.get(source.id, {}))
            for source in self.rows(kinds.SOURCES)
        ]

    def sources_in(self, sql: str, *values: Any) -> tuple[SourceRow, ...]:
        """Return the sources whose numbers a query returns, in their usual order."""
        ids = {row[0] for row in self.each(sql, *values)}
        return tuple(source for source in self.sources() if source.id in ids)

    def source(self, name: str) -> SourceRow:
        """Return a source."""
        wanted = slug(name)
        source = next((source for source in self.sources() if slug(source.name) == wanted), None)
        if source is None:
            raise NotFoundError("no source of this name was read")
        return source

    def runs(self) -> list[RunCounts]:
        """Return all runs."""
        return self.rows(kinds.RUNS)

    def run(self, name: str) -> RunCounts:
        """Return a run."""
        return self.row(kinds.RUNS, "WHERE slug = ?", slug(name))

    def topics(self) -> list[TopicCounts]:
        """Return all topics."""
        return self.rows(kinds.TOPICS)

    def topic(self, name: str) -> TopicCounts:
        """Return a topic."""
        return self.row(kinds.TOPICS, "WHERE slug = ?", slug(name))

    # Measures ------------------------------------------------------------------------------------

    def values(
        self, *, source: str = "", run: str = "", topic: str = "", topics: bool = False
    ) -> list[MeasureValue]:
        """Return measures of a run, a topic or the judge itself; with `topics`, for each topic."""
        chosen = {"source": source, "run": run, "topic": topic}
        where, values = self._where(kinds.MEASURES, chosen)
        where += " AND v.run NOT NULL" if run or topic else " AND v.run IS NULL"
        where += "" if topic or topics else " AND v.topic IS NULL"
        tail = f"WHERE {where} ORDER BY v.source, r.name, t.name, v.place"
        return self.rows(kinds.MEASURES, tail, *values)

    # Judgements ----------------------------------------------------------------------------------

    def judgements(self, number: int = 1, **chosen: str) -> RowPage[JudgementRow]:
        """Return a page of judgements: unscored ones first, then by increasing confidence."""
        return self.table(kinds.JUDGEMENTS, number, **chosen)

    def judgement(self, source: str, n: int) -> JudgementRow:
        """Return the judgement of a source's n-th line, from 1."""
        tail = "WHERE j.source = ? AND j.n = ?"
        return self.row(kinds.JUDGEMENTS, tail, self.source(source).id, n)

    def judgements_of_item(self, item: str, source: str) -> list[JudgementRow]:
        """Return a source's judgements of an item."""
        tail = "WHERE j.source = ? AND j.item = ? ORDER BY j.n"
        return self.rows(kinds.JUDGEMENTS, tail, self.source(source).id, item)

    def judgements_under(self, source: str, name: str) -> list[JudgementRow]:
        """Return a source's judgements of the item with this id, or of items `ID/...`."""
        tail = "WHERE j.source = ? AND (j.item = ? OR j.item > ? AND j.item < ?) ORDER BY j.n"
        values = self.source(source).id, name, f"{name}/", f"{name}0"
        return self.rows(kinds.JUDGEMENTS, tail, *values)

    def judged_on(self, *, run: str = "", topic: str = "") -> list[tuple[str, int, int, str]]:
        """Return (source, scored, asked, key of the facet) of the judgements of a run or topic.

        The key is empty where all judgements of the source are.
        """
        where, values = self._where(kinds.JUDGEMENTS, {"run": run, "topic": topic})
        facet, name = ("run", self.run(run).name) if run else ("topic", self.topic(topic).name)
        return self.all(
            "SELECT s.name, o.scored, o.asked, iif(o.asked = s.asked, '', f.key) FROM ("
            "SELECT j.source AS source, "
            "count(*) AS asked, sum(j.doubt >= 0) AS scored FROM judgement j "
            f"WHERE {where} GROUP BY 1) o JOIN source s ON s.id = o.source "
            "JOIN facet f ON f.kind = 'judgements' AND f.source = s.id AND f.facet = ? "
            "AND f.value = ? ORDER BY o.scored = o.asked, s.id",
            *values, facet, name,
        )  # fmt: skip

    def line(self, judgement: JudgementRow) -> dict[str, Any]:
        """Return the whole line of a judgement, read from its file (restricted mode: no texts)."""
        path, number = self._path(judgement.file), judgement.line
        rows = rows_in(read_line_at(path, judgement.place, number), path, number)
        matching = (row for row in rows if row.get("dimension", "") == judgement.dimension)
        return _hidden(next(matching, rows[0]))

    def lines(self, source: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield (n, line) of all judgements of a source, read from its files in order."""
        sql = "SELECT file, n, place FROM judgement WHERE source = ? ORDER BY n"
        numbers: dict[tuple[int, int], list[int]] = {}
        for f, n, offset in self.each(sql, self.source(source).id):
            numbers.setdefault((f, offset), []).append(n)
        for file in dict.fromkeys(file for file, _ in numbers):
            path = self._path(file)
            for line, offset, raw in scan_raw_lines(path):
                if line_numbers := numbers.get((file, offset)):
                    rows = rows_in(decoded(raw, path, line).rstrip("\r\n"), path, line)
                    yield from (
                        (n, _hidden(row)) for n, row in zip(line_numbers, rows, strict=True)
                    )

    def item(self, judgement: JudgementRow) -> dict[str, Any]:
        """Return the item of a judgement; empty if no items file was given."""
        sql = "SELECT file, place, line FROM item WHERE name = ? ORDER BY rowid LIMIT 1"
        places = self.all(sql, judgement.item)
        return self._line(*places[0]) if places else {}

    # Reports -------------------------------------------------------------------------------------

    def reports(self, **chosen: str) -> list[ReportRow]:
        """Return reports of a `source`, `run`, `topic`, `kind`, unscored findings first."""
        where, values = self._where(kinds.REPORTS, chosen)
        order = "p.scored = p.asked, s.id, r.name, t.name, p.side"
        return self.rows(kinds.REPORTS, f"WHERE {where} ORDER BY {order}", *values)

    def report(
        self, source: str, run: str, topic: str, side: str = "", *, kind: str = ""
    ) -> ReportRow:
        """Return the report of a run on a topic: the judged one, if it was judged."""
        chosen = {"source": source, "run": run, "topic": topic, "side": side, "kind": kind}
        where, values = self._where(kinds.REPORTS, chosen)
        return self.row(kinds.REPORTS, f"WHERE {where} ORDER BY p.kind", *values)

    @cached_property
    def perspectives(self) -> dict[tuple[str, str], Perspective]:
        """Perspectives whose texts are among the results, by question and id."""
        return {
            (p.question_id, p.id): p
            for source in self.sources()
            if source.kind == "perspectives" and "perspectives" in source.files
            for p in read_perspectives(source.files["perspectives"], gold=True)
        }

    @cached_property
    def _collections(self) -> list[Callable[[str], Evidence | None]]:
        readers: dict[str, ReaderDoor] = named("READERS")
        return [
            load(readers[part].documents)(path)
            for part, path in self.each("SELECT format, path FROM file")
            if part in readers and readers[part].documents
        ]

    def passage(self, doc_id: str) -> Evidence | None:
        """Return a document from the given indexes; None if there is none."""
        if hides_text():
            return None
        documents = (find_document(doc_id) for find_document in self._collections)
        return next((document for document in documents if document is not None), None)

    def report_texts(self, report: ReportRow) -> ReportTexts:
        """Return the reader of a report's texts."""
        texts: ReportTexts = required("REPORTS", report.kind)(self, report)
        return texts

    def report_line(self, report: ReportRow) -> tuple[str, str]:
        """Return the line of a report, and the path of its file."""
        path = self._path(report.file)
        return read_line_at(path, report.place, report.line), path

    def response(self, report: ReportRow) -> Response:
        """Return a report of the kind `response`, read from its file, with its texts."""
        return parse_response(self._line(report.file, report.place, report.line, hide=False))

    def texts(self, report: ReportRow) -> list[str]:
        """Return the texts of a report's sentences (restricted mode: empty ones)."""
        if hides_text():
            return [""] * report.sentences
        return self.report_texts(report).sentences()

    def sentences(self, report: ReportRow) -> list[SentenceRow]:
        """Return the sentences of a report and their states."""
        return self.rows(kinds.SENTENCES, "WHERE n.report = ? ORDER BY n.n", report.id)

    # Files ---------------------------------------------------------------------------------------

    def _line(self, file: int, offset: int, line: int, *, hide: bool = True) -> dict[str, Any]:
        path = self._path(file)
        row = parse_json_object(read_line_at(path, offset, line), path=path, number=line)
        return _hidden(row) if hide else row

    def _path(self, file: int) -> str:
        return str(self.first("SELECT path FROM file WHERE id = ?", file)[0])


def _index(kind: Kind[Any], chosen: Mapping[str, str]) -> str:
    """Return the index to read a list from: SQLite may choose to read all rows instead."""
    narrowed = {name for name, value in chosen.items() if value}
    if not kind.indexes[0] or narrowed & {"topic", "run"}:
        return ""
    return f"INDEXED BY {kind.indexes[narrowed != {'source'}]}"


def _hidden(row: dict[str, Any]) -> dict[str, Any]:
    hidden: dict[str, Any] = textless(row) if hides_text() else row
    return hidden


def _close(connections: Sequence[sqlite3.Connection]) -> None:
    for connection in connections:
        connection.close()
