"""Questions with their definitions of relevance as Markdown, for people to write and edit.

    ## q1: Should voting be compulsory?

    The question looks for ...
    - effects on turnout

Everything between two such headings, without the blank lines around it, is the definition. A line
that begins with `#` is escaped by a backslash, as everywhere in Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import IO

from pnyx.corpora.base import Row, unique
from pnyx.corpora.questions import question_id
from pnyx.errors import InputError, shorten
from pnyx.files import clean_text, scan_lines
from pnyx.records import Question

__all__ = ["scan_guidelines", "write_guidelines"]

_HEADING = re.compile(r"##[ \t]+(?P<id>\S+):[ \t]+(?P<text>\S.*)")
_EXPECTED = "expected a heading ## ID: QUESTION"


@dataclass(slots=True)
class _Open:
    """A question whose definition is being read."""

    line: int
    question: Question
    lines: list[str] = field(default_factory=list)

    def row(self) -> Row[Question]:
        text = "\n".join(self.lines).strip("\n")
        return self.line, replace(self.question, definition=text if text.strip() else "")


def scan_guidelines(source: str) -> Iterator[Row[Question]]:
    """Questions with definitions, as Markdown; a title line (`# ...`) may come first."""
    yield from unique(_rows(source), question_id, source)


def _rows(source: str) -> Iterator[Row[Question]]:
    current: _Open | None = None
    for number, line in scan_lines(source):
        if isinstance(line, InputError):
            yield line
        elif line.startswith("##") and not line.startswith("###"):
            if current is not None:
                yield current.row()
            found = _HEADING.fullmatch(line.rstrip())
            current = found and _Open(number, Question(found["id"], found["text"]))
            if found is None:
                yield _fault(line, source, number)
        elif current is not None:
            current.lines.append(line[1:] if re.match(r"\\+#", line) else line)
        elif line.strip() and not line.startswith("# "):
            yield _fault(line, source, number)
    if current is not None:
        yield current.row()


def _fault(line: str, source: str, number: int) -> InputError:
    return InputError(f"found {shorten(line, 40)!r}, {_EXPECTED}", path=source, line=number)


def write_guidelines(stream: IO[str], records: Iterable[Question]) -> None:
    """Write questions with their definitions as Markdown.

    Raises:
        InputError: an id with white space, a text of several lines, or a field without a place.
    """
    for q in records:
        shown = repr(shorten(q.id, 40))
        if not re.fullmatch(r"\S+", q.id) or clean_text(q.id) != q.id:
            raise InputError(f"{shown}: a heading cannot hold an id with white space or NUL")
        if q.text != q.text.strip() or not q.text.isprintable():
            raise InputError(f"{shown}: a heading cannot hold a text of several lines or tabs")
        if q.description or q.narrative or q.extra:
            raise InputError(f"{shown}: the format holds nothing but id, text and definition")
        if q.definition != q.definition.strip("\n") or not _holds(q.definition):
            raise InputError(f"{shown}: Markdown would not give this definition back")
        lines = [f"\\{x}" if re.match(r"\\*#", x) else x for x in q.definition.split("\n")]
        stream.write("\n".join([f"## {q.id}: {q.text}", "", *lines, "", ""]))


def _holds(definition: str) -> bool:
    """Whether lines can represent it: no other line ends, no NUL, and more than white space."""
    if "\r" in definition or clean_text(definition) != definition:
        return False
    return bool(definition.strip()) or not definition
