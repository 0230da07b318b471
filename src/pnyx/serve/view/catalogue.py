"""The catalogue of results: what pages ask of it. It is built by `pnyx.serve.view.opening`."""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pnyx.corpora.benchmarks.responses import parse_response
from pnyx.files import decoded, parse_json_object, read_line_at, scan_raw_lines
from pnyx.judge.reports.reading import judged_report_at
from pnyx.judge.reports.records import JudgedReport, report_of_row
from pnyx.records import Response
from pnyx.restricted import hides_text, textless
from pnyx.serve.rendering import slug
from pnyx.serve.view import kinds
from pnyx.serve.view.kinds import Kind
from pnyx.serve.view.records import (
    DifferenceRow,
    FacetRow,
    JudgementRow,
    LinkedJudgement,
    MeasureRow,
    NotFoundError,
    ReportRow,
    Row,
    RowPage,
    RunRow,
    SentenceRow,
    SourceRow,
    TopicRow,
)

ROWS_A_PAGE: Final = 100
"""Rows on a page of a table."""


def pages_of(total: int) -> int:
    """Return on how many pages so many rows stand."""
    return max(1, -(-total // ROWS_A_PAGE))


def offset_of(number: int, total: int) -> int:
    """Return how many rows stand before a page; NotFoundError where the table ends before it."""
    pages = pages_of(total)
    if not 1 <= number <= pages:
        raise NotFoundError(f"this list has {pages} pages")
    return (number - 1) * ROWS_A_PAGE


def page_of(rows: Sequence[Row], total: int, number: int) -> RowPage[Row]:
    """Return a page of a table."""
    return RowPage(rows, total, number, pages_of(total), offset_of(number, total) + 1)


def cut_page(rows: Sequence[Row], number: int) -> RowPage[Row]:
    """Return a page of rows that are all there."""
    offset = offset_of(number, len(rows))
    return page_of(rows[offset : offset + ROWS_A_PAGE], len(rows), number)


class Catalogue:
    """What was read of results: a file of SQLite that is only read, by several threads at once.

    Names in arguments may also be their `slug`, as in addresses. Tables have what is unscored
    first. Every method raises NotFoundError for a name that is not there, and InputError where a
    file has changed so that a row cannot be read from it.

    Args:
        path: the file that `open_catalogue` made.
        store: the judgement store with prompts and replies; empty: those that manifests name.
    """

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
        """Return rows of a kind; `tail` begins with WHERE, or is empty for all in their order."""
        tail = tail or f"ORDER BY {kind.order}"
        return [kind.row(*row) for row in self.all(f"{kind.sql} {tail}", *values)]

    def row(self, kind: Kind[Row], tail: str, *values: Any) -> Row:
        """Return the first row of a kind that fits."""
        return kind.row(*self.first(f"{kind.sql} {tail}", *values))

    # Tables --------------------------------------------------------------------------------------

    def facets(self, source: str = "", kind: Kind[Any] = kinds.JUDGEMENTS) -> list[FacetRow]:
        """Return the ways to narrow a table of a source, or of all sources."""
        number = self.source(source).id if source else 0
        sql = "SELECT facet, value, key, count FROM facet WHERE kind = ? AND source = ? "
        rows = self.all(f"{sql} AND facet != '' ORDER BY rowid", kind.name, number)
        return [FacetRow(*row) for row in rows]

    def count(self, kind: Kind[Any], /, **chosen: str) -> int:
        """Return how many rows a table has; of one narrowed once that is known already."""
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
        sql = "SELECT count FROM facet WHERE kind = ? AND source = ? AND facet = ? AND value = ?"
        counts = self.all(sql, kind.name, source, facet, value)
        return int(counts[0][0]) if counts else 0

    def table(
        self, kind: Kind[Row], number: int = 1, sort: str = "", /, **chosen: str
    ) -> RowPage[Row]:
        """Return a page of a table.

        Args:
            kind: of its rows.
            number: of the page, from 1.
            sort: a field of `kind.select` to sort by in place of the usual order, with `-` before
                it the greatest first.
            chosen: `source` and facets, each by name: what rows must have.
        """
        total = self.count(kind, **chosen)
        limit = f"LIMIT {ROWS_A_PAGE} OFFSET {offset_of(number, total)}"
        where, values = self._where(kind, chosen)
        if sort:
            if sort.removeprefix("-") not in kind.select:
                raise NotFoundError("this table has no such column")
            expression = kind.select[sort.removeprefix("-")]
            order = f"{expression} {'DESC' if sort[0] == '-' else 'ASC'}, {kind.order}"
            rows = self.rows(kind, f"WHERE {where} ORDER BY {order} {limit}", *values)
        else:  # names are read of the rows that are shown alone
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
        where: list[str] = []
        values: list[Any] = []
        for name, value in chosen.items():
            if value:
                where.append(f"{kind.source if name == 'source' else kind.facets[name]} = ?")
                if name in ("source", "run", "topic"):
                    value = getattr(self, name)(value).id
                values.append(value)
        return " AND ".join(where) or "1", values

    # Sources, runs, topics -----------------------------------------------------------------------

    def sources(self) -> list[SourceRow]:
        """Return all sources, those with a problem first, then as they were given."""
        files: dict[int, dict[str, str]] = {}
        for source, part, path in self.each("SELECT source, format, path FROM file ORDER BY id"):
            files.setdefault(source, {})[part] = path
        rows = self.all(f"{kinds.SOURCES.sql} ORDER BY {kinds.SOURCES.order}")
        return [SourceRow(*[*row, json.loads(a), files.get(row[0], {})]) for *row, a in rows]

    def source(self, name: str) -> SourceRow:
        """Return a source."""
        wanted = slug(name)
        source = next((source for source in self.sources() if slug(source.name) == wanted), None)
        if source is None:
            raise NotFoundError("no source of this name was read")
        return source

    def runs(self) -> list[RunRow]:
        """Return all runs."""
        return self.rows(kinds.RUNS)

    def run(self, name: str) -> RunRow:
        """Return a run."""
        return self.row(kinds.RUNS, "WHERE slug = ?", slug(name))

    def topics(self) -> list[TopicRow]:
        """Return all topics."""
        return self.rows(kinds.TOPICS)

    def topic(self, name: str) -> TopicRow:
        """Return a topic."""
        return self.row(kinds.TOPICS, "WHERE slug = ?", slug(name))

    def _ids(self, alias: str, names: Mapping[str, str]) -> tuple[list[str], list[int]]:
        """Return conditions and their values for the names that are not empty."""
        chosen = {column: name for column, name in names.items() if name}
        values = [getattr(self, column)(name).id for column, name in chosen.items()]
        return [f"{alias}.{column} = ?" for column in chosen], values

    # Measures ------------------------------------------------------------------------------------

    def values(
        self, *, source: str = "", run: str = "", topic: str = "", topics: bool = False
    ) -> list[MeasureRow]:
        """Return measures; with neither run nor topic, those of the judge or campaign itself.

        With a run alone those over all topics and, with `topics`, on each; with a topic alone those
        of all runs on it.
        """
        where, values = self._ids("v", {"source": source, "run": run, "topic": topic})
        where += ["v.run NOT NULL" if run or topic else "v.run IS NULL"]
        where += [] if topic or topics else ["v.topic IS NULL"]
        tail = f"WHERE {' AND '.join(where)} ORDER BY v.source, r.name, t.name, v.place"
        return self.rows(kinds.MEASURES, tail, *values)

    def measures(self, source: str) -> list[str]:
        """Return the names of the measures of a source's runs, in the order of its file."""
        sql = f"SELECT measure {_OF_RUNS} AND source = ? GROUP BY measure ORDER BY min(place)"
        return [row[0] for row in self.all(sql, self.source(source).id)]

    def measured_sources(self) -> list[SourceRow]:
        """Return the sources that measure runs, as they were given."""
        ids = {row[0] for row in self.each(f"SELECT DISTINCT source {_OF_RUNS}")}
        return [source for source in self.sources() if source.id in ids]

    def ranked_runs(
        self, source: str, by: str, number: int = 1, *, ascending: bool = False
    ) -> RowPage[str]:
        """Return runs by a measure, the best first; those without a value before all others."""
        order, source_id = "ASC" if ascending else "DESC", self.source(source).id
        total = self.all(f"SELECT count(DISTINCT run) {_OF_RUNS} AND source = ?", source_id)[0][0]
        names = self.all(
            f"SELECT r.name FROM (SELECT DISTINCT run {_OF_RUNS} AND source = ?) o "
            "JOIN run r ON r.id = o.run LEFT JOIN value v ON v.source = ? AND v.topic IS NULL AND "
            f"v.measure = ? AND v.run = r.id ORDER BY v.value NOT NULL, v.value {order}, r.name "
            f"LIMIT {ROWS_A_PAGE} OFFSET {offset_of(number, total)}",
            source_id, source_id, by,
        )  # fmt: skip
        return page_of([name for (name,) in names], total, number)

    def values_of_runs(self, source: str, runs: Sequence[str]) -> list[MeasureRow]:
        """Return the values of runs over all topics."""
        tail = f"WHERE v.source = ? AND v.topic IS NULL AND r.name IN ({_marks(runs)})"
        order = "ORDER BY v.source, r.name, v.place"
        return self.rows(kinds.MEASURES, f"{tail} {order}", self.source(source).id, *runs)

    def differences_of_runs(self, source: str, runs: Sequence[str]) -> list[DifferenceRow]:
        """Return the differences of runs to their baselines."""
        tail = f"WHERE d.source = ? AND r.name IN ({_marks(runs)}) ORDER BY d.rowid"
        return self.rows(kinds.DIFFERENCES, tail, self.source(source).id, *runs)

    # Judgements ----------------------------------------------------------------------------------

    def judgements(self, number: int = 1, **chosen: str) -> RowPage[JudgementRow]:
        """Return a page of judgements: the unscored first, then by confidence, the least first."""
        return self.table(kinds.JUDGEMENTS, number, **chosen)

    def judgement(self, source: str, n: int) -> JudgementRow:
        """Return the judgement of a source's n-th line, from 1."""
        tail = "WHERE j.source = ? AND j.n = ?"
        return self.row(kinds.JUDGEMENTS, tail, self.source(source).id, n)

    def judgements_of_item(self, item: str, source: str) -> list[JudgementRow]:
        """Return what a source says of an item."""
        tail = "WHERE j.source = ? AND j.item = ? ORDER BY j.n"
        return self.rows(kinds.JUDGEMENTS, tail, self.source(source).id, item)

    def judgements_under(self, source: str, name: str) -> list[JudgementRow]:
        """Return what a source says of the item of this id, or of those whose ids begin `ID/`."""
        tail = "WHERE j.source = ? AND (j.item = ? OR j.item > ? AND j.item < ?) ORDER BY j.n"
        values = self.source(source).id, name, f"{name}/", f"{name}0"
        return self.rows(kinds.JUDGEMENTS, tail, *values)

    def judged_on(self, *, run: str = "", topic: str = "") -> list[tuple[str, int, int, str]]:
        """Return (source, scored, asked, key of the facet) of the judgements of a run or topic."""
        where, values = self._ids("j", {"run": run, "topic": topic})
        facet, name = ("run", self.run(run).name) if run else ("topic", self.topic(topic).name)
        return self.all(
            "SELECT s.name, o.scored, o.asked, f.key FROM (SELECT j.source AS source, "
            "count(*) AS asked, sum(j.doubt >= 0) AS scored FROM judgement j "
            f"WHERE {' AND '.join(where)} GROUP BY 1) o JOIN source s ON s.id = o.source "
            "JOIN facet f ON f.kind = 'judgements' AND f.source = s.id AND f.facet = ? "
            "AND f.value = ? ORDER BY o.scored = o.asked, s.id",
            *values, facet, name,
        )  # fmt: skip

    def line(self, judgement: JudgementRow) -> dict[str, Any]:
        """Return the whole line of a judgement, read from its file (restricted mode: no texts)."""
        return self._line(judgement.file, judgement.place, judgement.line)

    def lines(self, source: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield (n, line) of all judgements of a source, read from its files in order."""
        sql = "SELECT file, n, place FROM judgement WHERE source = ? ORDER BY n"
        numbers = {(f, place): n for f, n, place in self.each(sql, self.source(source).id)}
        for file in dict.fromkeys(file for file, _ in numbers):
            path = self._path(file)
            for line, place, raw in scan_raw_lines(path):
                n = numbers.get((file, place))
                if n is not None:
                    row = parse_json_object(decoded(raw, path, line), path=path, number=line)
                    yield n, _hidden(row)

    def item(self, judgement: JudgementRow) -> dict[str, Any]:
        """Return the item that a judgement is about; empty where no file of items was given."""
        sql = "SELECT file, place, line FROM item WHERE name = ? ORDER BY rowid LIMIT 1"
        places = self.all(sql, judgement.item)
        return self._line(*places[0]) if places else {}

    # Reports -------------------------------------------------------------------------------------

    def reports(
        self, *, source: str = "", run: str = "", topic: str = "", kind: str = ""
    ) -> list[ReportRow]:
        """Return reports, those with something unscored first."""
        where, values = self._ids("p", {"source": source, "run": run, "topic": topic})
        condition = " AND ".join([*where, "? IN ('', p.kind)"])
        order = "ORDER BY p.scored = p.asked, s.id, r.name, t.name, p.side"
        return self.rows(kinds.REPORTS, f"WHERE {condition} {order}", *values, kind)

    def report(
        self, source: str, run: str, topic: str, side: str = "", *, kind: str = ""
    ) -> ReportRow:
        """Return where the report of a run on a topic is: the judged one, if it was judged."""
        where, ids = self._ids("p", {"source": source, "run": run, "topic": topic})
        more = "? IN ('', p.side) AND ? IN ('', p.kind) ORDER BY p.kind"
        return self.row(kinds.REPORTS, f"WHERE {' AND '.join([*where, more])}", *ids, side, kind)

    def judged_report(self, report: ReportRow) -> JudgedReport:
        """Return a report of the kind `judged`, read from its file."""
        path = self._path(report.file)
        text = read_line_at(path, report.place, report.line)
        judged = judged_report_at(text, path, report.line)
        return report_of_row(judged.row()) if hides_text() else judged

    def response(self, report: ReportRow) -> Response:
        """Return a report of the kind `response`, read from its file, with its texts."""
        return parse_response(self._line(report.file, report.place, report.line, hide=False))

    def texts(self, report: ReportRow) -> list[str]:
        """Return the texts of a report's sentences (restricted mode: empty ones)."""
        if hides_text():
            return [""] * report.sentences
        judged = report.kind == "judged"
        read = self.judged_report(report) if judged else self.response(report)
        return [sentence.text for sentence in read.sentences]

    def sentences(self, report: ReportRow) -> list[SentenceRow]:
        """Return the sentences of a report and their states."""
        return self.rows(kinds.SENTENCES, "WHERE n.report = ? ORDER BY n.n", report.id)

    def links(self, report: ReportRow, sentence: int | None = None) -> list[LinkedJudgement]:
        """Return the judgements that a report's findings rest on, of all sentences or one."""
        return [
            LinkedJudgement(judgement, place, node, about)
            for place, node, about, name in self._finding_ids(report)
            if sentence in (None, place)
            for judgement in self.judgements_under(report.source, name)
        ]

    def sentences_of(self, judgement: JudgementRow) -> list[SentenceRow]:
        """Return the sentences whose findings rest on a judgement, in its run's report."""
        if not (judgement.run and judgement.topic):
            return []
        try:
            report = self.report(judgement.source, judgement.run, judgement.topic)
        except NotFoundError:
            return []
        item = judgement.item
        numbers = {
            place + 1
            for place, _, _, name in self._finding_ids(report)
            if item == name or item.startswith(f"{name}/")
        }
        return [sentence for sentence in self.sentences(report) if sentence.n in numbers]

    def _finding_ids(self, report: ReportRow) -> Iterator[tuple[int, str, str, str]]:
        """Yield (sentence from 0, node, what it is about, id of judgements) of each finding."""
        if report.kind != "judged":
            for place in range(report.sentences):
                yield place, "attests", "", f"{report.topic}/{report.run}/{place}"
            return
        for place, sentence in enumerate(self.judged_report(report).sentences):
            for citation in sentence.citations:
                nodes = (("relevant", citation.relevant), ("attests", citation.attests))
                for node, finding in nodes:
                    if finding.id:
                        yield place, node, citation.doc_id, finding.id
            for node, finding in sentence.findings.items():
                if finding.id:
                    yield place, node, "", finding.id

    # Files ---------------------------------------------------------------------------------------

    def _line(self, file: int, place: int, line: int, *, hide: bool = True) -> dict[str, Any]:
        path = self._path(file)
        row = parse_json_object(read_line_at(path, place, line), path=path, number=line)
        return _hidden(row) if hide else row

    def _path(self, file: int) -> str:
        return str(self.first("SELECT path FROM file WHERE id = ?", file)[0])


_OF_RUNS: Final = "FROM value WHERE topic IS NULL AND run NOT NULL"


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def _index(kind: Kind[Any], chosen: Mapping[str, str]) -> str:
    """Return which index a list is read from: SQLite's own choice may be to read all rows."""
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
