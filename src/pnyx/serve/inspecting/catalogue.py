"""The catalogue of results: what pages ask of it. It is built by `pnyx.serve.inspecting.building`.

A file of SQLite that is only read here; each thread has a connection of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from pnyx.corpora.benchmarks.responses import parse_response
from pnyx.errors import InputError
from pnyx.files import decoded, parse_json_object, read_line_at, scan_raw_lines
from pnyx.judge.reports.reading import judged_report_at
from pnyx.judge.reports.records import JudgedReport, report_of_row
from pnyx.records import Response
from pnyx.restricted import hides_text, textless
from pnyx.serve.inspecting.asking import ON_A_PAGE, NotThereError, paged
from pnyx.serve.inspecting.boards import Boards
from pnyx.serve.inspecting.building import FACETS
from pnyx.serve.inspecting.records import (
    Facet,
    Filter,
    Judgement,
    Linked,
    Listed,
    ReportAt,
    Run,
    SentenceAt,
    Source,
    Topic,
    Value,
)
from pnyx.serve.rendering import slug

_JUDGEMENT: Final = (
    "SELECT j.id, s.name, j.n, j.item, j.task, j.dimension, j.value, j.verdict, j.probability, "
    "j.doubt, j.unscored, j.judge, coalesce(r.name, ''), coalesce(t.name, ''), j.doc, "
    "j.perspective, j.file, j.place, j.line FROM judgement j JOIN source s ON s.id = j.source "
    "LEFT JOIN run r ON r.id = j.run LEFT JOIN topic t ON t.id = j.topic "
)
_REPORT: Final = (
    "SELECT p.id, s.name, r.name, t.name, p.kind, p.side, p.sentences, p.scored, p.asked, "
    "p.missing, p.file, p.place, p.line FROM report p JOIN source s ON s.id = p.source "
    "JOIN run r ON r.id = p.run JOIN topic t ON t.id = p.topic "
)

_RUN: Final = "id, name, reports, scored, asked"
_TOPIC: Final = "id, name, title, reports, scored, asked"


class Catalogue(Boards):
    """What was read of results: sources, runs, topics, judgements, reports, measures.

    Names in arguments may also be their `slug`, as in addresses. Lists have what is unscored first.
    Every method raises NotThereError for a name that is not there, and InputError where a file has
    changed so that a row cannot be read from it.

    Args:
        path: the file that `build` made.
        store: the judgement store with prompts and replies; empty: those that manifests name.
    """

    def __init__(self, path: str | Path, store: str = "") -> None:
        super().__init__(path)
        self.store = store

    # Sources, runs, topics -----------------------------------------------------------------------

    def sources(self) -> list[Source]:
        """Return all sources, those with a problem first, then as they were given."""
        held: dict[int, dict[str, str]] = {}
        for source, name, path in self.all("SELECT source, format, path FROM file ORDER BY id"):
            held.setdefault(source, {})[name] = path
        columns = "id, name, path, kind, task, judge, finished, scored, asked, dollars, problem"
        rows = self.all(f"SELECT {columns}, about FROM source ORDER BY problem = '', id")
        return [Source(*(*row[:-1], json.loads(row[-1]), held.get(row[0], {}))) for row in rows]

    def source(self, name: str) -> Source:
        """Return a source."""
        wanted = slug(name)
        found = next((one for one in self.sources() if slug(one.name) == wanted), None)
        if found is None:
            raise NotThereError("no source of this name was read")
        return found

    def runs(self) -> list[Run]:
        """Return all runs by name."""
        return [Run(*row) for row in self.all(f"SELECT {_RUN} FROM run ORDER BY name")]

    def run(self, name: str) -> Run:
        """Return a run."""
        return Run(*self.one(f"SELECT {_RUN} FROM run WHERE slug = ?", slug(name)))

    def topics(self) -> list[Topic]:
        """Return all topics by id."""
        return [Topic(*row) for row in self.all(f"SELECT {_TOPIC} FROM topic ORDER BY name")]

    def topic(self, name: str) -> Topic:
        """Return a topic."""
        return Topic(*self.one(f"SELECT {_TOPIC} FROM topic WHERE slug = ?", slug(name)))

    def values(
        self, *, source: str = "", run: str = "", topic: str = "", topics: bool = False
    ) -> list[Value]:
        """Return measures; with neither run nor topic, those of the judge or campaign itself.

        With a run alone those over all topics and, with `topics`, on each; with a topic alone those
        of all runs on it.
        """
        where = ["v.run NOT NULL" if run or topic else "v.run IS NULL"]
        where += [] if topic or topics else ["v.topic IS NULL"]
        more, values = self._named_ids("v", source, run, topic)
        return self._values(" AND ".join([*where, *more]), *values)

    def judged_on(self, *, run: str = "", topic: str = "") -> list[tuple[str, int, int]]:
        """Return (source, scored, asked) of the judgements that name a run or topic."""
        where, values = self._named_ids("j", "", run, topic)
        sql = (
            "SELECT s.name, o.scored, o.asked FROM (SELECT j.source AS source, count(*) AS asked, "
            "sum(j.doubt >= 0) AS scored FROM judgement j "
            f"WHERE {' AND '.join(where)} GROUP BY 1) o JOIN source s ON s.id = o.source "
            "ORDER BY o.scored = o.asked, s.id"
        )
        return [tuple(row) for row in self.all(sql, *values)]

    def _named_ids(
        self, table: str, source: str, run: str, topic: str
    ) -> tuple[list[str], list[int]]:
        """Return conditions and their values for the names that are not empty."""
        held = [("source", self.source(source).id)] if source else []
        held += [("run", self.run(run).id)] if run else []
        held += [("topic", self.topic(topic).id)] if topic else []
        return [f"{table}.{column} = ?" for column, _ in held], [value for _, value in held]

    # Judgements ----------------------------------------------------------------------------------

    def facets(self, source: str = "") -> list[Facet]:
        """Return the ways to narrow a source's judgements, or those of all sources."""
        held = 0 if not source else self.source(source).id
        sql = "SELECT facet, value, key, count FROM facet WHERE source = ? ORDER BY rowid"
        return [Facet(*row) for row in self.all(sql, held)]

    def facet_keys(self, facet: str, value: str) -> dict[str, str]:
        """Return source -> key of a facet's value, for the sources with judgements of it."""
        sql = (
            "SELECT s.name, f.key FROM facet f JOIN source s ON s.id = f.source "
            "WHERE f.facet = ? AND f.value = ?"
        )
        return dict(self.all(sql, facet, value))

    def judgements(self, chosen: Filter | None = None, page: int = 1) -> Listed[Judgement]:
        """Return a page of judgements: the unscored first, then by confidence, the least first."""
        chosen = chosen or Filter()
        where, values = self._where(chosen)
        index = _index_of(chosen)
        total = self._count(chosen, index, where, values)
        ids = (
            f"SELECT j.id FROM judgement j {index} WHERE {where} ORDER BY j.doubt, j.source, j.n "
            f"LIMIT {ON_A_PAGE} OFFSET {(page - 1) * ON_A_PAGE}"
        )
        sql = f"{_JUDGEMENT} WHERE j.id IN ({ids}) ORDER BY j.doubt, j.source, j.n"
        return paged([judgement_of(row) for row in self.all(sql, *values)], total, page)

    def _count(self, chosen: Filter, index: str, where: str, values: Sequence[Any]) -> int:
        """Return how many judgements a list has; of one narrowed once that is known already."""
        source = self.source(chosen.source).id if chosen.source else 0
        narrowed = [name for name in FACETS if getattr(chosen, name)]
        if len(narrowed) < 2:
            name = narrowed[0] if narrowed else "value"
            sql = "SELECT coalesce(sum(count), 0) FROM facet WHERE source = ? AND facet = ?"
            wanted = [getattr(chosen, name)] if narrowed else []
            if wanted and name in ("topic", "run"):
                wanted = [getattr(self, name)(wanted[0]).name]
            sql += " AND value = ?" if wanted else ""
            found: int = self.all(sql, source, name, *wanted)[0][0]
            return found
        sql = f"SELECT count(*) FROM judgement j {index} WHERE {where}"
        counted: int = self.all(sql, *values)[0][0]
        return counted

    def all_judgements(self, chosen: Filter | None = None) -> Iterator[Judgement]:
        """Yield all judgements in the order of their lines."""
        where, values = self._where(chosen or Filter())
        last = 0
        while rows := self.all(
            f"{_JUDGEMENT} WHERE {where} AND j.id > ? ORDER BY j.id LIMIT 5000", *values, last
        ):
            last = rows[-1][0]
            yield from map(judgement_of, rows)

    def judgement(self, source: str, n: int) -> Judgement:
        """Return the judgement of a source's n-th line, from 1."""
        where = "WHERE j.source = ? AND j.n = ?"
        return judgement_of(self.one(f"{_JUDGEMENT} {where}", self.source(source).id, n))

    def judgement_by_id(self, number: int) -> Judgement:
        """Return a judgement by its number in the catalogue."""
        return judgement_of(self.one(f"{_JUDGEMENT} WHERE j.id = ?", number))

    def judgements_of_item(self, item: str, source: str = "") -> list[Judgement]:
        """Return what was said of an item, of one source or by all."""
        sources = [self.source(source)] if source else self.sources()
        sql = f"{_JUDGEMENT} WHERE j.source = ? AND j.item = ? ORDER BY j.n"
        return [judgement_of(row) for one in sources for row in self.all(sql, one.id, item)]

    def row(self, judgement: Judgement) -> dict[str, Any]:
        """Return the whole line of a judgement, read from its file (restricted mode: no texts)."""
        return self._row(judgement.file, judgement.place, judgement.line)

    def item(self, judgement: Judgement) -> dict[str, Any]:
        """Return the item that a judgement is about; empty where no file of items was given."""
        sql = "SELECT file, place, line FROM item WHERE name = ? ORDER BY rowid LIMIT 1"
        found = self.all(sql, judgement.item)
        return self._row(*found[0]) if found else {}

    def rows(self, source: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield (n, line) of all judgements of a source, read from its files in order."""
        sql = "SELECT file, n, place FROM judgement WHERE source = ? ORDER BY n"
        numbers = {(f, place): n for f, n, place in self.all(sql, self.source(source).id)}
        for file in dict.fromkeys(file for file, _ in numbers):
            path = self._path(file)
            for line, place, raw in scan_raw_lines(path):
                n = numbers.get((file, place))
                if n is not None:
                    text = decoded(raw, path, line)
                    yield n, _hidden(parse_json_object(text, path=path, number=line))

    # Reports -------------------------------------------------------------------------------------

    def reports(
        self, *, source: str = "", run: str = "", topic: str = "", kind: str = ""
    ) -> list[ReportAt]:
        """Return reports, those with something unscored first."""
        where, values = self._named_ids("p", source, run, topic)
        condition = " AND ".join([*where, "? IN ('', p.kind)"])
        order = "ORDER BY p.scored = p.asked, s.id, r.name, t.name, p.side"
        found = self.all(f"{_REPORT} WHERE {condition} {order}", *values, kind)
        return [_report(row) for row in found]

    def report_by_id(self, number: int) -> ReportAt:
        """Return a report by its number in the catalogue."""
        return _report(self.one(f"{_REPORT} WHERE p.id = ?", number))

    def report_at(
        self, source: str, run: str, topic: str, *, side: str = "", kind: str = ""
    ) -> ReportAt:
        """Return where the report of a run on a topic is: the judged one, if it was judged."""
        sql = f"{_REPORT} WHERE p.source = ? AND p.run = ? AND p.topic = ? AND ? IN ('', p.side) "
        sql += "AND ? IN ('', p.kind) ORDER BY p.kind"
        ids = self.source(source).id, self.run(run).id, self.topic(topic).id
        return _report(self.one(sql, *ids, side, kind))

    def judged_report(self, at: ReportAt) -> JudgedReport:
        """Return a report of the kind `judged`, read from its file."""
        path = self._path(at.file)
        found = judged_report_at(read_line_at(path, at.place, at.line), path, at.line)
        return report_of_row(found.row()) if hides_text() else found

    def response(self, at: ReportAt) -> Response:
        """Return a report of the kind `response`, read from its file (restricted: no texts)."""
        return parse_response(self._row(at.file, at.place, at.line, hide=False))

    def texts(self, at: ReportAt) -> list[str]:
        """Return the texts of a report's sentences (restricted mode: empty ones)."""
        if hides_text():
            return [""] * at.sentences
        found = self.judged_report(at) if at.kind == "judged" else self.response(at)
        return [one.text for one in found.sentences]

    def sentences(self, at: ReportAt) -> list[SentenceAt]:
        """Return the sentences of a report and their states."""
        found = self.all("SELECT n, state FROM sentence WHERE report = ? ORDER BY n", at.id)
        return [SentenceAt(at, n, state) for n, state in found]

    def links(self, at: ReportAt, sentence: int | None = None) -> list[Linked]:
        """Return the judgements that a report's findings rest on, of all sentences or one."""
        found = []
        for place, node, about, name in self._named(at):
            if sentence in (None, place):
                found += [
                    Linked(one, place, node, about)
                    for one in self.judgements_under(at.source, name)
                ]
        return found

    def judgements_under(self, source: str, name: str) -> list[Judgement]:
        """Return what was said of the item of this id, or of those whose ids begin `ID/`."""
        held = self.source(source).id
        where = "WHERE j.source = ? AND (j.item = ? OR j.item > ? AND j.item < ?) ORDER BY j.n"
        rows = self.all(f"{_JUDGEMENT} {where}", held, name, f"{name}/", f"{name}0")
        return [judgement_of(row) for row in rows]

    def sentences_of(self, judgement: Judgement) -> list[SentenceAt]:
        """Return the sentences whose findings rest on a judgement, in its run's report."""
        if not (judgement.run and judgement.topic):
            return []
        try:
            at = self.report_at(judgement.source, judgement.run, judgement.topic)
        except NotThereError:
            return []
        item = judgement.item
        places = {
            place
            for place, _, _, name in self._named(at)
            if item == name or item.startswith(f"{name}/")
        }
        return [one for one in self.sentences(at) if one.n in places]

    def _named(self, at: ReportAt) -> Iterator[tuple[int, str, str, str]]:
        """Yield (sentence, node, what it is about, id of judgements) of each finding."""
        if at.kind != "judged":
            for place in range(at.sentences):
                yield place, "attests", "", f"{at.topic}/{at.run}/{place}"
            return
        for place, sentence in enumerate(self.judged_report(at).sentences):
            for one in sentence.citations:
                for node, finding in (("relevant", one.relevant), ("attests", one.attests)):
                    if finding.id:
                        yield place, node, one.doc_id, finding.id
            for node, finding in sentence.findings.items():
                if finding.id:
                    yield place, node, "", finding.id

    # Files ---------------------------------------------------------------------------------------

    def document(self, source: str) -> dict[str, Any]:
        """Return the JSON document that a source is (measures, trials, calibrations)."""
        file = next(iter(self.source(source).files.values()), None)
        if file is None:
            raise NotThereError("this source has no file that can be shown")
        try:
            found = json.loads(Path(file).read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise InputError("cannot be read any more", path=file) from error
        return _hidden(found) if isinstance(found, dict) else {"rows": found}

    def _row(self, file: int, place: int, line: int, *, hide: bool = True) -> dict[str, Any]:
        path = self._path(file)
        row = parse_json_object(read_line_at(path, place, line), path=path, number=line)
        return _hidden(row) if hide else row

    def _path(self, file: int) -> str:
        path: str = self.one("SELECT path FROM file WHERE id = ?", file)[0]
        return path

    def _where(self, chosen: Filter) -> tuple[str, list[Any]]:
        where, values = [], []
        for one in fields(chosen):
            value = getattr(chosen, one.name)
            if not value:
                continue
            column = "verdict" if one.name == "value" else one.name
            where.append(f"j.{column} = ?")
            if one.name in ("source", "run", "topic"):
                value = getattr(self, one.name)(value).id
            values.append(value)
        return " AND ".join(where) or "1", values


def _index_of(chosen: Filter) -> str:
    """Return which index a list is read from: SQLite's own choice may be to read all rows."""
    if chosen.topic or chosen.run:
        return ""
    narrowed = any(getattr(chosen, name) for name in FACETS)
    return f"INDEXED BY judgement_{'source' if chosen.source and not narrowed else 'list'}"


def judgement_of(row: Sequence[Any]) -> Judgement:
    """Return the judgement that a row of the catalogue is."""
    (number, source, n, item, task, dimension, value, verdict, probability, doubt, *rest) = row
    confidence = doubt if 0 <= doubt <= 1 else None
    held = None if value is None else json.loads(value)
    return Judgement(
        number, source, n, item, task, dimension, held, verdict, probability, confidence, *rest
    )


def _report(row: Sequence[Any]) -> ReportAt:
    *first, missing, file, place, line = row
    return ReportAt(*(*first, bool(missing), file, place, line))


def _hidden(row: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = textless(row) if hides_text() else dict(row)
    return found
