"""Questions and topics: JSONL in several dialects, tab-separated lines and Touché XML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any
from xml.parsers import expat

from pnyx.core.errors import InputError, escaped, shorten
from pnyx.core.files import scan_lines
from pnyx.core.records import Question
from pnyx.formats.base import (
    Options,
    Row,
    format_of,
    json_lines,
    row_writer,
    scan_text_lines,
    scanned,
    with_options,
)
from pnyx.formats.documents.evidence import beir_row, flatten_metadata
from pnyx.formats.fields import Fields, merged

_IDS = ("id", "_id", "qid", "query_id", "request_id", "topic_id", "narrative_id")
_HEADER_IDS = (*_IDS, "topic", "number", "query-id", "queryid", "topicid")
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
"""Names of the fields in a report request."""
_RESERVED = (*_DESCRIPTIONS, *_NARRATIVES, "definition")

_FIELDS = ("number", "title", "description", "narrative")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_.-]*")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def parse_question(row: Mapping[str, Any]) -> Question:
    """Read a question in any dialect; the first of several names for a field is used."""
    fields = Fields(row)
    identifier = fields.identifier(*_IDS)
    for name in _IDS:  # topic_id and narrative_id often mirror request_id
        if name in fields.rest and str(fields.rest[name]) == identifier:
            del fields.rest[name]
    text = fields.required(*_TEXTS)
    if row.get("problem_statement") == text:  # without a title, the text is both
        fields.rest["problem_statement"] = text
        if row.get("title") == text:
            fields.rest["title"] = text  # has one, which is to be written again
    return Question(
        id=identifier,
        text=text,
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
    extra = dict(question.extra)
    if names is _REQUEST and question.text == question.description:
        del row["title"]  # the request had none, or its title is among the other fields
        row |= {"title": extra.pop("title")} if extra.get("title") == question.text else {}
    preferred = {*_IDS[: _IDS.index(names["id"]) + 1], *_TEXTS[: _TEXTS.index(names["text"]) + 1]}
    if taken := {*_RESERVED, *preferred}.intersection(extra):  # a reader's fields
        question_id, name = shorten(question.id), min(taken)
        raise InputError(f"{question_id!r}: the format cannot hold an unknown field named {name}")
    return dict(merged(row, extra, ()))


def _is_header(line: str) -> bool:
    """Whether a line is the header of a table of topics, as written by pandas and PyTerrier."""
    names = [name.strip().strip('"').lower() for name in line.split("\t")]
    return len(names) == 2 and names[0] in _HEADER_IDS and names[1] in _TEXTS


def _topic_lines(source: str, options: Options) -> Iterator[Row[str]]:
    """Yield the lines of tab-separated topics; warn about a header, which is left out."""
    first = True
    for row in scan_text_lines(source):
        if first and not isinstance(row, InputError) and _is_header(row[1]):
            if options.on_warning is not None:
                names = " and ".join(shorten(name.strip(), 30) for name in row[1].split("\t"))
                header = f"{escaped(source)}:{row[0]}: the header {names}"
                options.on_warning(f"{header} is not read as a topic")
        else:
            yield row
        first = False


def _scan_tsv(source: str, options: Options) -> Iterator[Row[Question]]:
    options.refuse_columns(source)
    return scanned(source, _tsv, rows=_topic_lines(source, options))


def _tsv(line: str) -> Question:
    identifier, tab, text = line.partition("\t")
    if not tab or not identifier.strip() or not text.strip():
        raise InputError(f"found {shorten(line, 40)!r}, expected id, a tab and a text")
    return Question(identifier, text)


def _write_tsv(stream: IO[str], records: Iterable[Question]) -> None:
    for number, q in enumerate(records):
        if q.description or q.narrative or q.definition or q.extra:
            question_id = shorten(q.id)
            raise InputError(
                f"{question_id!r}: the format holds only id and text, and there is more"
            )
        if number == 0 and _is_header(f"{q.id}\t{q.text}"):
            raise InputError(f"id {shorten(q.id)!r} and its text would be taken for a header")
        if re.search(r"[\t\r\n\0]", q.id) or q.id.startswith("\ufeff"):
            raise InputError(f"id {shorten(q.id)!r} holds a tab or line end")
        if re.search(r"[\r\n\0]", q.text):
            raise InputError(f"{shorten(q.id)!r}: the text holds a line end")
        stream.write(f"{q.id}\t{q.text}\n")


write_questions = row_writer(_row)


class _Topics:
    """Expat handlers that gather (line, fields) for each `<topic>`; no entity expands."""

    def __init__(self, source: str) -> None:
        self.done: list[tuple[int, dict[str, str]]] = []
        self._source = source
        self._line = 0
        self._topic: dict[str, str] | None = None
        self._field: str | None = None
        self._keep = False
        self._text: list[str] = []
        self._held: list[bytes] = []
        self._held_bytes = self._pushed = self._wanted = 0
        self.parser: Any = expat.ParserCreate("UTF-8")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text.append
        self.parser.StartDoctypeDeclHandler = self._doctype

    def push(self, data: bytes, *, at_once: bool = False) -> None:
        """Parse more data, or buffer it until there is enough: Expat before 2.6 rereads."""
        self._held.append(data)
        self._held_bytes += len(data)
        if self._held_bytes < self._wanted and not at_once:
            return
        self._pushed += self._held_bytes
        buffered = b"".join(self._held)
        self._held.clear()
        self._held_bytes = 0
        self.parser.Parse(buffered, False)
        self._wanted = self._pushed - max(0, self.parser.CurrentByteIndex)

    def _fault(self, problem: str) -> InputError:
        return InputError(problem, path=self._source, line=self.parser.CurrentLineNumber)

    def _doctype(self, *_: object) -> None:
        raise self._fault("found a document type, expected plain <topics>")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self._field is not None:
            raise self._fault(f"found <{shorten(name, 30)}> inside <{self._field}>, expected text")
        if name == "topic":
            self._topic, self._line = {}, self.parser.CurrentLineNumber
        elif self._topic is not None:
            if name in self._topic:
                raise self._fault(f"found <{shorten(name, 30)}> twice in one topic")
            self._field, self._keep = name, attributes.get("xml:space") == "preserve"
            self._text.clear()
        elif name != "topics":
            raise self._fault(f"found <{shorten(name, 30)}>, expected <topics>")

    def _end(self, name: str) -> None:
        if self._field is not None and self._topic is not None:
            text = "".join(self._text)
            self._topic[self._field] = text if self._keep else text.strip()
            self._field = None
        elif name == "topic" and self._topic is not None:
            self.done.append((self._line, self._topic))
            self._topic = None


def _rows(source: str) -> Iterator[Row[dict[str, str]]]:
    topics = _Topics(source)
    try:
        for _, line in scan_lines(source, keepends=True):
            if isinstance(line, InputError):
                topics.push(b"", at_once=True)
                yield from topics.done
                yield line
                return
            topics.push(line.encode())
            yield from topics.done
            topics.done.clear()
        topics.push(b"", at_once=True)
        topics.parser.Parse(b"", True)
        yield from topics.done
    except expat.ExpatError as error:
        problem = f"not valid XML ({expat.errors.messages[error.code]})"
        yield InputError(problem, path=source, line=error.lineno)
    except InputError as error:
        yield error


def _parse(fields: dict[str, str]) -> Question:
    for name in ("number", "title"):
        if not fields.get(name, "").strip():
            raise InputError(f"topic without <{name}>")
    return Question(
        id=fields["number"],
        text=fields["title"],
        description=fields.get("description", ""),
        narrative=fields.get("narrative", ""),
        extra={k: v for k, v in fields.items() if k not in _FIELDS and v},
    )


def _write(stream: IO[str], records: Iterable[Question]) -> None:
    stream.write("<topics>\n")
    for q in records:
        if q.definition:
            raise InputError(f"{shorten(q.id)!r}: the format cannot hold a definition")
        values = zip(_FIELDS, (q.id, q.text, q.description, q.narrative), strict=True)
        parts = [_element(name, value) for name, value in values if value]
        more = [(k, v) for k, v in q.extra.items() if (k, v) != ("title", q.text)]
        parts += [_element(_unknown(name, value), value) for name, value in more]
        stream.write("<topic>\n" + "".join(parts) + "</topic>\n")
    stream.write("</topics>\n")


def _unknown(name: str, value: Any) -> str:
    """Return the name of a further element, if it is a valid one."""
    if name in (*_FIELDS, "topic", "topics") or not _NAME.fullmatch(name):
        raise InputError(f"{shorten(name)!r} cannot be the name of an element")
    if not isinstance(value, str) or not value:
        raise InputError(f"{name}: an element can hold only text that is not empty")
    return name


def _element(name: str, value: str) -> str:
    if bad := _NOT_XML.search(value):
        raise InputError(f"{name}: XML cannot hold the character {shorten(bad[0])}")
    space = ' xml:space="preserve"' if value != value.strip() else ""
    text = value.translate(_ESCAPES)
    return f"<{name}{space}>{text}</{name}>\n"


FORMATS = (
    json_lines("questions", parse_question, write_questions),
    json_lines(
        "beir-queries",
        lambda row: parse_question(flatten_metadata(row)),
        row_writer(lambda q: beir_row(_row(q), q.id, titled=False)),
    ),
    json_lines("topics", parse_question, row_writer(lambda q: _row(q, _REQUEST))),
    format_of(
        "topics-tsv",
        _scan_tsv,
        _write_tsv,
    ),
    format_of(
        "touche-topics",
        with_options(lambda source: scanned(source, _parse, rows=_rows(source))),
        _write,
    ),
)


def topic_order(topic: str) -> tuple[bool, int, str]:
    """Return a sort key: numbers first, by size."""
    number = topic.isascii() and topic.isdigit() and len(topic) < 19
    return not number, int(topic) if number else 0, topic
