"""TREC topics: `<top>` in the SGML of the newswire tracks, and `<topic number="1">` in XML."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import MAX_LINE_BYTES, scan_lines
from pnyx.core.records import Question
from pnyx.formats.base import Row, format_of, scanned, with_options

_FIELDS = {
    "num": "id",
    "number": "id",
    "title": "title",
    "query": "title",
    "desc": "description",
    "description": "description",
    "question": "description",
    "narr": "narrative",
    "narrative": "narrative",
}
"""Tag -> the question's field."""
_FURTHER = ("dom", "smry", "con", "fac", "nat", "time", "def", "subtopic", "objectives", "aspects")
"""Tags of fields that are kept under their names."""
_TOPICS = ("top", "topic")
_AROUND = ("topics", "xml", "parameters", "head")
_TAG = re.compile(
    rf"<(/?)({'|'.join((*_FIELDS, *_FURTHER, *_TOPICS, *_AROUND))})\b([^<>]*)>", re.IGNORECASE
)
_SKIPPED = re.compile(r"<\?[^<>]*\?>|<!DOCTYPE[^<>]*>|<head>[^<>]*</head>", re.IGNORECASE)
_NUMBER = re.compile(r"""\b(?:number|id|num)\s*=\s*["']([^"'<>]+)["']""", re.IGNORECASE)
_LABEL = re.compile(
    r"(?:Number|Topic|Description|Narrative|Domain|Summary|Concept\(s\)|Concepts?|Factor\(s\)|"
    r"Factors?|Definition\(s\)|Definitions?|Nationality|Time)\s*:",
    re.IGNORECASE,
)
"""Labels at the beginning of fields of the newswire tracks."""
_ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&"))
_COMMENT_START, _COMMENT_END = "<!--", "-->"
RECOGNISED = re.compile(rb"<top>|<topic\s[^<>]*\b(?:number|id|num)\s*=", re.IGNORECASE)
"""Pattern at the beginning of such a file."""


class _Topic:
    """The fields of one topic while it is read."""

    def __init__(self, line: int, number: str) -> None:
        self.line = line
        self.parts: dict[str, list[str]] = {"id": [number]} if number else {}
        self.field = "title"
        self.size = 0

    def open(self, tag: str) -> None:
        """Begin a field; a second one of the same name is added to the first."""
        self.field = _FIELDS.get(tag, tag)
        if self.field == "description" and tag == "question" and "title" not in self.parts:
            self.field = "title"

    def add(self, text: str, source: str, line: int) -> None:
        """Add text to the open field; InputError if the topic gets too long."""
        self.size += len(text)
        if self.size > MAX_LINE_BYTES:
            limit = MAX_LINE_BYTES >> 20
            raise InputError(f"the topic is longer than {limit} MB", path=source, line=line)
        if text.strip():
            self.parts.setdefault(self.field, []).append(text)

    def fields(self) -> dict[str, str]:
        """Return the text of each field in one line, without its label."""
        texts = {name: _plain(" ".join(parts)) for name, parts in self.parts.items()}
        return {name: text for name, text in texts.items() if text}


def _plain(text: str) -> str:
    line = " ".join(text.split())
    line = _LABEL.sub("", line, count=1).strip() if _LABEL.match(line) else line
    for escape, letter in _ESCAPES:
        line = line.replace(escape, letter)
    return line


def _without_comments(source: str) -> Iterator[Row[str]]:
    """Yield the lines without XML comments, which may span several lines.

    A regular expression would take quadratic time on comments that are not closed.
    """
    opened_at = 0  # the line of the open comment
    for number, line in scan_lines(source):
        if isinstance(line, InputError):
            yield line
            continue
        parts, rest = [], line
        while rest:
            if opened_at:
                _, closed, rest = rest.partition(_COMMENT_END)
                opened_at = 0 if closed else opened_at
            else:
                text, opened, rest = rest.partition(_COMMENT_START)
                parts.append(text)
                opened_at = number if opened else 0
        yield number, "".join(parts)
    if opened_at:
        problem = f"the comment {_COMMENT_START} is not closed, expected {_COMMENT_END}"
        yield InputError(problem, path=source, line=opened_at)


def _rows(source: str) -> Iterator[Row[dict[str, str]]]:
    topic: _Topic | None = None
    for row in _without_comments(source):
        if isinstance(row, InputError):
            yield row
            continue
        number, line = row
        text, start = _SKIPPED.sub("", line), 0
        for tag in _TAG.finditer(text):
            topic = yield from _between(text[start : tag.start()], topic, source, number)
            start = tag.end()
            closes, name = bool(tag[1]), tag[2].lower()
            if name in _TOPICS:
                if topic is not None:
                    yield topic.line, topic.fields()
                attribute = _NUMBER.search(tag[3])
                topic = None if closes else _Topic(number, attribute[1] if attribute else "")
            elif topic is not None and not closes and name not in _AROUND:
                topic.open(name)
        topic = yield from _between(text[start:], topic, source, number)
    if topic is not None:
        yield topic.line, topic.fields()


def _between(
    text: str, topic: _Topic | None, source: str, line: int
) -> Generator[Row[dict[str, str]], None, _Topic | None]:
    """Add the text between two tags to the topic; text outside of any topic is a fault."""
    try:
        if topic is not None:
            topic.add(text, source, line)
        elif text.strip():
            stray = shorten(text.strip(), 40)
            raise InputError(f"found {stray!r} outside of a topic, expected <top>")
    except InputError as error:
        yield InputError(error.problem, path=source, line=line)
        topic = None
    return topic


def _parse(fields: dict[str, str]) -> Question:
    rest = dict(fields)
    identifier = rest.pop("id", "")
    if not identifier:
        raise InputError("topic without <num>, expected <num> Number: 301")
    title, description = rest.pop("title", ""), rest.pop("description", "")
    if not (title or description):
        raise InputError(f"topic {shorten(identifier, 30)}: no <title> and no <desc>")
    return Question(
        id=identifier,
        text=title or description,
        description=description if title else "",
        narrative=rest.pop("narrative", ""),
        extra=rest,
    )


def _scan(source: str) -> Iterator[Row[Question]]:
    return scanned(source, _parse, rows=_rows(source), what="topic number")


FORMATS = (format_of("trec-topics", with_options(_scan)),)
