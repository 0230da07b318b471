"""Questions and topics: JSONL in the field's dialects, and tab-separated lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

from pnyx.corpora.base import (
    Format,
    Row,
    json_lines,
    row_writer,
    scan_text_lines,
    scanned,
    with_options,
)
from pnyx.corpora.evidence import beir_row, flatten_metadata
from pnyx.corpora.fields import Fields, merged
from pnyx.errors import InputError, shorten
from pnyx.records import Question

__all__ = ["FORMATS", "parse_question", "write_questions"]

_IDS = ("id", "_id", "qid", "query_id", "request_id", "topic_id", "narrative_id")
_TEXTS = ("text", "query", "title", "question", "narrative", "problem_statement")
_DESCRIPTIONS = ("description", "problem_statement")
_NARRATIVES = ("narrative", "background")
_OWN = {"id": "id", "text": "text"}
_REQUEST = {
    "id": "request_id",
    "text": "title",
    "description": "problem_statement",
    "narrative": "background",
}
"""What a report request calls the fields."""
_RESERVED = (*_DESCRIPTIONS, *_NARRATIVES, "definition")


def parse_question(row: Mapping[str, Any]) -> Question:
    """Read a question in any dialect; the first of several names for a field counts."""
    fields = Fields(row)
    identifier = fields.identifier(*_IDS)
    for name in _IDS:  # topic_id and narrative_id often mirror request_id
        if name in fields.rest and str(fields.rest[name]) == identifier:
            del fields.rest[name]
    return Question(
        id=identifier,
        text=fields.required(*_TEXTS),
        description=fields.text(*_DESCRIPTIONS),
        narrative=fields.text(*_NARRATIVES),
        definition=fields.text("definition"),
        extra=fields.rest,
    )


def _row(question: Question, names: Mapping[str, str] = _OWN) -> dict[str, Any]:
    row = {names["id"]: question.id, names["text"]: question.text}
    for field in ("description", "narrative", "definition"):
        if value := getattr(question, field):
            row[names.get(field, field)] = value
    clash = {*_IDS, *_TEXTS, *_RESERVED}.intersection(question.extra)
    higher = _precedes(_IDS, names["id"]) | _precedes(_TEXTS, names["text"])
    if taken := clash & (higher | set(_RESERVED)):
        shown, name = shorten(question.id), min(taken)
        raise InputError(f"{shown!r}: the format cannot hold an unknown field named {name}")
    return dict(merged(row, question.extra, ()))


def _precedes(names: tuple[str, ...], name: str) -> set[str]:
    """Return the names that a reader would prefer to `name`."""
    return set(names[: names.index(name) + 1])


def _tsv(line: str) -> Question:
    identifier, tab, text = line.partition("\t")
    if not tab or not identifier.strip() or not text.strip():
        raise InputError(f"found {shorten(line, 40)!r}, expected id, a tab and a text")
    return Question(identifier, text)


def _scan_tsv(source: str) -> Iterator[Row[Question]]:
    return scanned(source, _tsv, rows=scan_text_lines(source))


def _write_tsv(stream: IO[str], records: Iterable[Question]) -> None:
    for q in records:
        if q.description or q.narrative or q.definition or q.extra:
            shown = shorten(q.id)
            raise InputError(f"{shown!r}: the format holds only id and text, and there is more")
        if re.search(r"[\t\r\n\0]", q.id) or q.id.startswith("\ufeff"):
            raise InputError(f"id {shorten(q.id)!r} holds a tab or line end")
        if re.search(r"[\r\n\0]", q.text):
            raise InputError(f"{shorten(q.id)!r}: the text holds a line end")
        stream.write(f"{q.id}\t{q.text}\n")


write_questions = row_writer(_row)

FORMATS = (
    json_lines(
        "questions",
        "questions",
        "one question a line: id, text; optional description, narrative, definition",
        '{"id": "q1", "text": "Is tea healthy?", "definition": "Effects of tea on health."}\n',
        parse_question,
        write_questions,
    ),
    json_lines(
        "beir-queries",
        "questions",
        "BEIR queries.jsonl: _id, text, metadata",
        '{"_id": "q1", "text": "Is tea healthy?", "metadata": {}}\n',
        lambda row: parse_question(flatten_metadata(row)),
        row_writer(lambda q: beir_row(_row(q), q.id, titled=False)),
    ),
    json_lines(
        "topics",
        "questions",
        "report requests: request_id, title, problem_statement, background; RAG topics",
        '{"request_id": "q1", "title": "Is tea healthy?", "problem_statement": "I drink a lot.", '
        '"background": "A layperson.", "limit": 2000}\n',
        parse_question,
        row_writer(lambda q: _row(q, _REQUEST)),
    ),
    Format(
        "topics-tsv",
        "questions",
        "one question a line: id, tab, text (TREC RAG 2024)",
        with_options(_scan_tsv),
        "q1\tIs tea healthy?\n",
        _write_tsv,
    ),
)
