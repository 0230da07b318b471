"""Questions and topics: JSONL in the field's dialects, and tab-separated lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

from pnyx.corpora.base import Row, encode, parse_rows, scan_json_objects, unique
from pnyx.corpora.evidence import flatten_metadata
from pnyx.corpora.fields import Fields, merged
from pnyx.errors import InputError, shorten
from pnyx.files import scan_lines
from pnyx.records import Question

__all__ = [
    "parse_question",
    "question_id",
    "scan_beir_queries",
    "scan_questions",
    "scan_topics",
    "scan_topics_tsv",
    "write_beir_queries",
    "write_questions",
    "write_topics",
    "write_topics_tsv",
]

_IDS = ("id", "_id", "qid", "query_id", "request_id", "topic_id", "narrative_id")
_TEXTS = ("text", "query", "title", "question", "narrative", "problem_statement")
_DESCRIPTIONS = ("description", "problem_statement")
_NARRATIVES = ("narrative", "background")
_RESERVED = (*_DESCRIPTIONS, *_NARRATIVES, "definition")


def question_id(question: Question) -> str:
    """Return the id: the key by which questions are checked for duplicates."""
    return question.id


def parse_question(row: Mapping[str, Any]) -> Question:
    """Read a question in any dialect: BEIR, report requests, TREC topics, Pnyx's own.

    Of several names for the same thing the first in the list counts; the others stay in `extra`.

    Raises:
        InputError: a field is missing, empty or of the wrong type.
    """
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


def scan_questions(source: str) -> Iterator[Row[Question]]:
    """Questions as JSONL."""
    rows = parse_rows(scan_json_objects(source), parse_question, source)
    yield from unique(rows, question_id, source)


scan_topics = scan_questions


def scan_beir_queries(source: str) -> Iterator[Row[Question]]:
    """BEIR queries: `_id, text, metadata`."""

    def parse(row: dict[str, Any]) -> Question:
        return parse_question(flatten_metadata(row))

    yield from unique(parse_rows(scan_json_objects(source), parse, source), question_id, source)


def _row(question: Question, names: Mapping[str, str]) -> dict[str, Any]:
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


def write_questions(stream: IO[str], records: Iterable[Question]) -> None:
    """Write `id, text, description, narrative, definition`, the latter three where present.

    Raises:
        InputError: an unknown field bears the name of a known one.
    """
    for q in records:
        stream.write(encode(_row(q, {"id": "id", "text": "text"}), q.id))


def write_topics(stream: IO[str], records: Iterable[Question]) -> None:
    """Write report requests: `request_id, title, problem_statement, background`.

    Raises:
        InputError: an unknown field bears the name of a known one.
    """
    names = {
        "id": "request_id",
        "text": "title",
        "description": "problem_statement",
        "narrative": "background",
    }
    for q in records:
        stream.write(encode(_row(q, names), q.id))


def write_beir_queries(stream: IO[str], records: Iterable[Question]) -> None:
    """Write BEIR queries; what BEIR does not know goes to the metadata.

    Raises:
        InputError: an unknown field bears the name of a known one.
    """
    for q in records:
        flat = _row(q, {"id": "id", "text": "text"})
        if "_id" in flat or "metadata" in flat:
            shown = shorten(q.id)
            raise InputError(f"{shown!r}: BEIR cannot hold an unknown field _id or metadata")
        row = {"_id": flat.pop("id"), "text": flat.pop("text"), "metadata": flat}
        stream.write(encode(row, q.id))


def scan_topics_tsv(source: str) -> Iterator[Row[Question]]:
    """One question a line: id, a tab, the text."""

    def parse(line: str) -> Question:
        identifier, tab, text = line.partition("\t")
        if not tab or not identifier.strip() or not text.strip():
            raise InputError(f"found {shorten(line, 40)!r}, expected id, a tab and a text")
        return Question(identifier, text)

    rows: Iterator[Row[str]] = (
        line if isinstance(line, InputError) else (number, line)
        for number, line in scan_lines(source)
        if isinstance(line, InputError) or line.strip()
    )
    yield from unique(parse_rows(rows, parse, source), question_id, source)


def write_topics_tsv(stream: IO[str], records: Iterable[Question]) -> None:
    """Write one question a line.

    Raises:
        InputError: a question has more than id and text, or they hold tabs or line ends.
    """
    for q in records:
        if q.description or q.narrative or q.definition or q.extra:
            shown = shorten(q.id)
            raise InputError(f"{shown!r}: the format holds only id and text, and there is more")
        if re.search(r"[\t\r\n\0]", q.id) or q.id.startswith("\ufeff"):
            raise InputError(f"id {shorten(q.id)!r} holds a tab or line end")
        if re.search(r"[\r\n\0]", q.text):
            raise InputError(f"{shorten(q.id)!r}: the text holds a line end")
        stream.write(f"{q.id}\t{q.text}\n")
