"""Rows of tab-separated tables, with cells quoted as in CSV or not quoted at all."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pnyx.core.errors import InputError
from pnyx.core.files import MAX_LINE_BYTES

_QUOTED = re.compile(r'(?<![^\t])"((?:[^"]++|"")*+)"(?=\t|\Z)')
_OPEN = re.compile(r'(?<![^\t])"(?:[^"]++|"")*+\Z')


def tsv_rows(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of its first line, cells) of each row; `lines` are numbered, with their ends.

    A cell in quotes may contain tabs and line ends. But most tables are written without quoting: a
    quotation mark that opens a cell and is not closed in its line is taken literally if this line
    and the next one have as many cells as the header, or if it is never closed.
    """
    reader = _Lines(lines)
    width = 0
    while (line := reader.take()) is not None:
        raw = line.text.split("\t")
        cells, is_open = _cells(line.text)
        if is_open:
            following = reader.peek()
            rows = width > 1 and len(raw) == width and following is not None
            if rows and following is not None and len(following.text.split("\t")) == width:
                cells = raw
            else:
                cells = _over_lines(reader, line) or raw
        elif len(cells) != width and len(raw) == width:
            cells = raw
        width = width or len(cells)
        yield line.number, cells


class _Line(NamedTuple):
    """A line: its number, its text and its end, which is part of a cell in quotes."""

    number: int
    text: str
    end: str


class _Lines:
    """Numbered lines, with pushback."""

    def __init__(self, lines: Iterable[tuple[int, str]]) -> None:
        self._lines = iter(lines)
        self._back: deque[_Line] = deque()

    def take(self) -> _Line | None:
        if self._back:
            return self._back.popleft()
        line = next(self._lines, None)
        if line is None:
            return None
        text = line[1].rstrip("\r\n")
        return _Line(line[0], text, line[1][len(text) :])

    def peek(self) -> _Line | None:
        line = self.take()
        if line is not None:
            self._back.appendleft(line)
        return line

    def put_back(self, lines: Iterable[_Line]) -> None:
        self._back.extendleft(reversed(list(lines)))


def _over_lines(reader: _Lines, first: _Line) -> list[str] | None:
    """Return the cells of a row with a cell over several lines; None if it is never closed."""
    following: list[_Line] = []
    size = len(first.text)
    while (line := reader.take()) is not None:
        following.append(line)
        size += len(line.text) + len(line.end)
        if size > MAX_LINE_BYTES:
            limit = MAX_LINE_BYTES // (1024 * 1024)
            raise InputError(f"a quoted cell is longer than {limit} MB", line=first.number)
        if line.text.count('"') % 2:
            whole = [first, *following]
            ends = [line.end for line in whole[:-1]]
            parts = [line.text for line in whole]
            cells, is_open = _cells("".join(map("".join, zip(parts, [*ends, ""], strict=True))))
            if not is_open:
                if any("\n" in cell and cell.startswith('"') for cell in cells):
                    break  # a quotation mark within the cell, which was thus not quoted
                return cells
    reader.put_back(following)
    return None


def _cells(text: str) -> tuple[list[str], bool]:
    """Return the cells of a line, and whether the last one is in quotes that are not closed."""
    if '"' not in text:
        return text.split("\t"), False
    cells: list[str] = []
    position = 0
    while True:
        if text.startswith('"', position):
            if quoted := _QUOTED.match(text, position):
                cells.append(quoted[1].replace('""', '"'))
                position = quoted.end() + 1
                if quoted.end() >= len(text):
                    return cells, False
                continue
            if _OPEN.match(text, position):
                return [*cells, text[position:]], True
        end = text.find("\t", position)
        if end < 0:
            return [*cells, text[position:]], False
        cells.append(text[position:end])
        position = end + 1
