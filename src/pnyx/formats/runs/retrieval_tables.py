"""Topics, runs and qrels as tables with a header, or as JSON: PyTerrier, ranx, pytrec_eval, pandas.

A table is CSV (with commas, semicolons or tabs), Parquet, a JSON list of objects or JSON Lines. The
JSON of ranx and pytrec_eval is one object: topic -> document -> score or grade.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from pnyx.core.compression import plain_name
from pnyx.core.errors import InputError, escaped, shorten
from pnyx.core.files import read_head
from pnyx.core.records import Qrel, Question, RunEntry
from pnyx.formats.base import (
    Options,
    Row,
    format_of,
    located,
    scan_json_objects,
    scanned,
    unique,
    with_options,
)
from pnyx.formats.cells import is_missing, plain_id
from pnyx.formats.documents.tables import (
    delimiter_of,
    read_parquet,
    scan_cells,
)
from pnyx.formats.fields import an_object, number, unlike
from pnyx.formats.jsonstream import scan_items
from pnyx.formats.questions import parse_question
from pnyx.formats.runs.retrieval_columns import (
    DOCUMENT,
    GRADE,
    QUESTION,
    QUESTION_ID,
    RANK,
    SCORE,
    SUBTOPIC,
    TAG,
    TOPIC,
    column_of,
)
from pnyx.formats.runs.trec import parse_float, parse_grade, trec_eval_order

T = TypeVar("T")

_HEAD_BYTES = 1 << 16


def _rows(source: str) -> tuple[Iterator[Row[dict[str, Any]]], str]:
    """Return the rows of a table, and the unit of a row's number."""
    head = read_head(source, _HEAD_BYTES)
    if head.startswith(b"PAR1"):
        return iter(read_parquet(source)), "row"
    start = head.lstrip()[:1]
    if start == b"[":
        return scan_items(source, None, "row"), "row"
    if start == b"{":
        return scan_json_objects(source), "line"
    return scan_cells(source, delimiter_of(head)), "line"


def _no_column(what: str, row: Mapping[str, Any]) -> InputError:
    names = ", ".join(shorten(name, 30) for name in list(row)[:8]) or "none"
    return InputError(f"no {what} (columns found: {names})")


def _text(row: Mapping[str, Any], usual: tuple[str, ...], what: str) -> str:
    """Return a required cell as text; a whole number becomes its digits."""
    name = column_of(row, usual)
    if name is None:
        raise _no_column(f"{what} column, such as {usual[0]}", row)
    value = plain_id(row[name])
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise unlike(value, name, "an id")
    if not value.strip():
        raise InputError(f"{name} is empty")
    return value


def _number(value: Any, name: str) -> float:
    return parse_float(value.strip(), name) if isinstance(value, str) else number(value, name)


def entry_of_row(row: object, tag: str = "run") -> RunEntry:
    """Return the run entry of a table's row; its rank is 0 if the table has none."""
    cells = an_object(row)
    rank, score = column_of(cells, RANK), column_of(cells, SCORE)
    if score is None:
        raise _no_column("score column", cells)
    tag_column = column_of(cells, TAG)
    name = cells[tag_column] if tag_column is not None else ""
    rank_value = 0.0 if rank is None else _number(cells[rank], rank)
    if not float(rank_value).is_integer():
        raise unlike(cells[str(rank)], str(rank), "an integer")
    return RunEntry(
        _text(cells, TOPIC, "topic"),
        _text(cells, DOCUMENT, "document"),
        int(rank_value),
        _number(cells[score], score),
        ("_".join(name.split()) if isinstance(name, str) else "") or tag,
    )


def qrel_of_row(row: object) -> Qrel:
    """Return the judgement of a table's row."""
    cells = an_object(row)
    grade, subtopic = column_of(cells, (*GRADE, *SCORE)), column_of(cells, SUBTOPIC)
    if grade is None:
        raise _no_column("label or relevance column", cells)
    part = "" if subtopic is None or cells[subtopic] in (None, "") else str(cells[subtopic])
    return Qrel(
        _text(cells, TOPIC, "topic"),
        _text(cells, DOCUMENT, "document"),
        _grade(cells[grade], grade),
        part.strip() or "0",
    )


def _grade(value: Any, name: str) -> int:
    if isinstance(value, str):
        return parse_grade(value.strip())
    exact = number(value, name)
    if not float(exact).is_integer():
        raise unlike(value, name, "an integer")
    return int(exact)


def question_of_row(row: object) -> Question:
    """Return the question of a table's row; further columns go to `extra`."""
    cells = {str(name): value for name, value in an_object(row).items() if not is_missing(value)}
    identifier = _text(cells, QUESTION_ID, "id")
    text = column_of(cells, QUESTION)
    if text is None:
        raise _no_column("query, question or title column", cells)
    rest = {name: value for name, value in cells.items() if name != text and value != ""}
    del rest[str(column_of(cells, QUESTION_ID))]
    return parse_question({**rest, "id": identifier, "text": cells[text]})


def ranked_entries(rows: Iterable[Row[RunEntry]]) -> Iterator[Row[RunEntry]]:
    """Yield the entries of a run without ranks, each with its rank by score in its topic."""
    all_rows = list(rows)
    topics: dict[str, dict[str, float]] = {}
    for row in all_rows:
        if not isinstance(row, InputError):
            topics.setdefault(row[1].topic_id, {})[row[1].doc_id] = row[1].score
    ranks = {
        (topic, doc_id): rank
        for topic, scores in topics.items()
        for rank, (_, doc_id) in enumerate(trec_eval_order(scores), 1)
    }
    for row in all_rows:
        if isinstance(row, InputError):
            yield row
        else:
            line, entry = row
            yield line, replace(entry, rank=ranks[entry.topic_id, entry.doc_id])


# Formats ------------------------------------------------------------------------------------------


def _tag(source: str) -> str:
    """Return the tag of a run without one: the name of its file."""
    stem = "" if source == "-" else Path(plain_name(source)).stem
    return "_".join(stem.split()) or "run"


_PAIR = attrgetter("topic_id", "doc_id")
_JUDGED = attrgetter("topic_id", "subtopic", "doc_id")


def _scan_run_table(source: str) -> Iterator[Row[RunEntry]]:
    rows, unit = _rows(source)
    tag = _tag(source)
    has_ranks = True

    def parse(row: object) -> RunEntry:
        nonlocal has_ranks
        has_ranks = column_of(an_object(row), RANK) is not None
        return entry_of_row(row, tag)

    entries = scanned(source, parse, _PAIR, rows=rows, what="topic and document", unit=unit)
    first = next(entries, None)
    if first is None:
        return
    every = chain((first,), entries)
    yield from every if has_ranks else ranked_entries(every)


def _scan_qrels_table(source: str) -> Iterator[Row[Qrel]]:
    rows, unit = _rows(source)
    what = "topic, subtopic and document"
    return scanned(source, qrel_of_row, _JUDGED, rows=rows, what=what, unit=unit)


def _scan_topics_table(source: str, options: Options) -> Iterator[Row[Question]]:
    options.refuse_columns(source)
    rows, unit = _rows(source)
    warn = options.on_warning

    def parse(row: object) -> Question:
        nonlocal warn
        if warn is not None:
            columns = [str(column_of(an_object(row), usual)) for usual in (QUESTION_ID, QUESTION)]
            names = " and ".join(shorten(column, 30) for column in columns)
            warn(f"{escaped(source)}: topics are read from the columns {names}")
            warn = None
        return question_of_row(row)

    return scanned(source, parse, rows=rows, unit=unit)


def members(
    topics: Iterable[Row[tuple[str, Any]]], parse: Callable[[str, str, Any], T], source: str
) -> Iterator[Row[T]]:
    """Yield the record that `parse` returns for each topic, document and value of `source`.

    Rows are numbered by their topic.
    """
    for row in topics:
        if isinstance(row, InputError):
            yield row
            continue
        position, (topic, documents) = row
        try:
            values = an_object(documents, shorten(topic, 40), "an object of documents")
            records = [parse(topic, document, value) for document, value in values.items()]
        except InputError as error:
            yield located(error, source, position, "topic")
            continue
        yield from ((position, record) for record in records)


def entry_of_member(tag: str) -> Callable[[str, str, Any], RunEntry]:
    """Return the parser of topic, document and score, as in ranx and pytrec_eval."""

    def parse(topic: str, document: str, score: Any) -> RunEntry:
        _filled(topic, document)
        return RunEntry(topic, document, 0, number(score, f"score of {shorten(document, 40)}"), tag)

    return parse


def qrel_of_member(topic: str, document: str, grade: Any) -> Qrel:
    """Return the judgement of topic, document and grade, as in ranx and pytrec_eval."""
    _filled(topic, document)
    return Qrel(topic, document, _grade(grade, f"grade of {shorten(document, 40)}"))


def _filled(topic: str, document: str) -> None:
    if not topic.strip() or not document.strip():
        raise InputError("an id is empty")


def _scan_json(
    source: str, parse: Callable[[str, str, Any], T], key: Callable[[T], Hashable]
) -> Iterator[Row[T]]:
    topics = scan_items(source, None, "topic", members=True)
    return unique(members(topics, parse, source), key, source, "topic and document", "topic")


def _scan_run_json(source: str) -> Iterator[Row[RunEntry]]:
    return ranked_entries(_scan_json(source, entry_of_member(_tag(source)), _PAIR))


def _scan_qrels_json(source: str) -> Iterator[Row[Qrel]]:
    return _scan_json(source, qrel_of_member, _JUDGED)


def question_of_member(member: tuple[str, Any]) -> Question:
    """Return the question of an id and its text, or an object of its fields."""
    identifier, value = member
    if isinstance(value, str):
        value = {"text": value}
    row = an_object(value, shorten(identifier, 40), "a text or an object with one")
    return question_of_row({**row, "qid": identifier})


def _scan_topics_json(source: str) -> Iterator[Row[Question]]:
    rows = scan_items(source, None, "topic", members=True)
    return scanned(source, question_of_member, rows=rows, unit="topic")


FORMATS = (
    format_of("topics-table", _scan_topics_table),
    format_of("topics-json", with_options(_scan_topics_json)),
    format_of("run-table", with_options(_scan_run_table)),
    format_of("run-json", with_options(_scan_run_json)),
    format_of("qrels-table", with_options(_scan_qrels_table)),
    format_of("qrels-json", with_options(_scan_qrels_json)),
)
