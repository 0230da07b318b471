"""Debates as Kialo exports them: a numbered tree of claims, each for or against its parent."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import MAX_LINE_BYTES, scan_lines
from pnyx.core.records import Argument, Premise, Side
from pnyx.formats.base import Row, format_of, scanned, with_options

_DISCUSSION = re.compile(r"\s*Discussion (?:Title|Name)\s*:(.*)", re.IGNORECASE)
_CLAIM = re.compile(r"\s*((?:\d{1,6}\.)+)[ \t]+(?:(pro|con)[ \t]*:[ \t]*)?(.*)", re.IGNORECASE)
_SEE = re.compile(r"\s*+-?>?\s*+See\s++(?:\d+\.)+\s*+", re.IGNORECASE)
"""A claim that only refers to the number under which it is written in full."""
_OTHER_SIDE: dict[Side, Side] = {"pro": "con", "con": "pro"}
BEGINNING = re.compile(
    rb"\s*Discussion (?:Title|Name)\s*:[^\n]*\n\s*1\.[ \t]|"
    rb"\s*1\.[ \t][^\n]*\n\s*1\.1\.[ \t]+(?:Pro|Con)[ \t]*:",
    re.IGNORECASE,
)
"""Pattern at the beginning of such a file."""


class _Claim:
    """One claim: its number, such as 1.2, the side it takes on its parent, and its text."""

    def __init__(self, line: int, number: str, side: Side | None, text: str) -> None:
        self.line, self.number, self.side = line, number, side
        self.parts = [text] if text.strip() else []
        self.size = len(text)

    def add(self, line: str) -> None:
        """Add a further line; InputError if the claim gets too long."""
        self.size += len(line)
        if self.size > MAX_LINE_BYTES:
            raise InputError(f"a claim is longer than {MAX_LINE_BYTES >> 20} MB")
        if line.strip():
            self.parts.append(line)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.parts).split())


def _side(word: str | None) -> Side | None:
    if word is None:
        return None
    return "pro" if word.lower() == "pro" else "con"


def _claims(source: str) -> Iterator[Row[_Claim]]:
    """Yield each claim; lines without a number continue the claim before them."""
    claim: _Claim | None = None
    for number, line in scan_lines(source):
        if isinstance(line, InputError):
            yield line
        elif begins := _CLAIM.fullmatch(line):
            if claim is not None:
                yield claim.line, claim
            claim = _Claim(number, begins[1].rstrip("."), _side(begins[2]), begins[3])
        elif claim is not None:
            try:
                claim.add(line)
            except InputError as error:
                yield InputError(error.problem, path=source, line=claim.line)
                claim = None
        elif line.strip() and not _DISCUSSION.match(line):
            stray = shorten(line.strip(), 40)
            problem = f"found {stray!r}, expected the first claim, such as 1. Zoos are bad."
            yield InputError(problem, path=source, line=number)
    if claim is not None:
        yield claim.line, claim


def _arguments(source: str) -> Iterator[Row[Argument]]:
    """Yield each claim below a thesis, with its side on the thesis."""
    theses: dict[str, str] = {}
    sides: dict[str, Side | None] = {}
    for row in _claims(source):
        if isinstance(row, InputError):
            yield row
            continue
        line, claim = row
        root, _, below = claim.number.partition(".")
        if not below:
            theses[root] = claim.text
            continue
        parent = claim.number.rpartition(".")[0]
        sides[claim.number] = _on_thesis(claim.side, parent, sides)
        if not claim.text or _SEE.fullmatch(claim.text):
            continue
        if parent != root and parent not in sides:
            yield InputError(f"claim {claim.number} comes before {parent}", path=source, line=line)
            continue
        yield (
            line,
            Argument(
                id=claim.number,
                conclusion="",
                premises=(Premise(claim.text),),
                stance=sides[claim.number],
                topic=theses.get(root, ""),
                source="kialo",
                extra={"parent": parent, **({"on_parent": claim.side} if claim.side else {})},
            ),
        )


def _on_thesis(side: Side | None, parent: str, sides: dict[str, Side | None]) -> Side | None:
    """Return the side on the thesis: a con of a con is a pro. None if a side is not stated."""
    if "." not in parent or side is None:
        return side
    above = sides.get(parent)
    return above if above is None or side == "pro" else _OTHER_SIDE[above]


def _scan(source: str) -> Iterator[Row[Argument]]:
    return scanned(source, lambda argument: argument, rows=_arguments(source), what="number")


FORMATS = (format_of("kialo", with_options(_scan)),)
