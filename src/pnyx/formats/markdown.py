"""Questions with definitions of relevance as Markdown for people to edit.

    ## q1: Should voting be compulsory?

Everything up to the next such heading is the definition, where a leading `#` is escaped by a
backslash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import IO

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import clean_text, scan_lines
from pnyx.core.records import Question
from pnyx.formats.base import Row, format_of, unique, with_options

_HEADING = re.compile(r"##[ \t]+(?P<id>\S+):[ \t]+(?P<text>\S.*)")
_A_HEADING = "expected a heading ## ID: QUESTION"


def _questions(source: str) -> Iterator[Row[Question]]:
    opened: tuple[int, re.Match[str]] | None = None
    lines: list[str] = []

    def closed() -> Iterator[Row[Question]]:
        if opened is not None:
            at, heading = opened
            text = "\n".join(lines).strip("\n")
            definition = text if text.strip() else ""
            yield at, Question(heading["id"], heading["text"], definition=definition)

    for number, line in scan_lines(source):
        if isinstance(line, InputError):
            yield line
        elif line.startswith("##") and not line.startswith("###"):
            yield from closed()
            match = _HEADING.fullmatch(line.rstrip())
            opened, lines = match and (number, match), []
            if match is None:
                yield _fault(line, source, number, _A_HEADING)
        elif opened is not None:
            lines.append(line[1:] if re.match(r"\\+#", line) else line)
        elif line.strip() and not line.startswith("# "):
            yield _fault(line, source, number, _A_HEADING)
    yield from closed()


def _fault(line: str, source: str, number: int, expected: str) -> InputError:
    return InputError(f"found {shorten(line, 40)!r}, {expected}", path=source, line=number)


def write_guidelines(stream: IO[str], records: Iterable[Question]) -> None:
    """Write questions with their definitions as Markdown."""
    for q in records:
        question_id = repr(shorten(q.id, 40))
        if not re.fullmatch(r"\S+", q.id) or clean_text(q.id) != q.id:
            raise InputError(f"{question_id}: a heading cannot hold an id with white space or NUL")
        if q.text != q.text.strip() or not q.text.isprintable():
            raise InputError(
                f"{question_id}: a heading cannot hold a text of several lines or tabs"
            )
        if q.description or q.narrative or q.extra:
            raise InputError(f"{question_id}: the format holds only id, text and definition")
        if q.definition != q.definition.strip("\n") or not _holds(q.definition):
            raise InputError(f"{question_id}: Markdown would change this definition when read back")
        lines = [f"\\{x}" if re.match(r"\\*#", x) else x for x in q.definition.split("\n")]
        stream.write("\n".join([f"## {q.id}: {q.text}", "", *lines, "", ""]))


def _holds(definition: str) -> bool:
    """Whether this definition is unchanged when read back from Markdown lines."""
    if "\r" in definition or clean_text(definition) != definition:
        return False
    return bool(definition.strip()) or not definition


GUIDELINES = format_of(
    "guidelines",
    with_options(lambda source: unique(_questions(source), attrgetter("id"), source)),
    write_guidelines,
)
FORMATS = (GUIDELINES,)
