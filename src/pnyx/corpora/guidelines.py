"""Questions with their definitions of relevance as Markdown, for people to write and edit.

    ## q1: Should voting be compulsory?

    The question looks for ...
    - effects on turnout

Everything between two such headings is the definition; a leading `#` is escaped by a backslash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import IO

from pnyx.corpora.base import Format, Row, unique, with_options
from pnyx.errors import InputError, shorten
from pnyx.files import clean_text, scan_lines
from pnyx.records import Question

__all__ = ["FORMATS", "write_guidelines"]

_HEADING = re.compile(r"##[ \t]+(?P<id>\S+):[ \t]+(?P<text>\S.*)")
_EXPECTED = "expected a heading ## ID: QUESTION"


@dataclass(slots=True)
class _Open:
    line: int
    question: Question
    lines: list[str] = field(default_factory=list)

    def row(self) -> Row[Question]:
        text = "\n".join(self.lines).strip("\n")
        return self.line, replace(self.question, definition=text if text.strip() else "")


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
    """Write questions with their definitions as Markdown."""
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
    """Whether Markdown lines give this definition back."""
    if "\r" in definition or clean_text(definition) != definition:
        return False
    return bool(definition.strip()) or not definition


FORMATS = (
    Format(
        "guidelines",
        "questions",
        "questions with definitions of relevance as Markdown, for people to edit",
        with_options(lambda source: unique(_rows(source), attrgetter("id"), source)),
        "## q1: Is tea healthy?\n\nEffects of tea on health:\n- on the heart\n- on sleep\n",
        write_guidelines,
    ),
)
