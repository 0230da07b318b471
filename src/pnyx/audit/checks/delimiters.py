"""Where the cells of a table are: the character between them, and the row of the header."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from pnyx.core.errors import InputError

DELIMITERS = ",;\t|"
"""In the order in which they are preferred."""
_HEADER_ROWS = 20
"""First rows, among which the header is."""
_SAMPLE_CHARACTERS = 1 << 20
SAMPLE_ROWS = 200
"""Rows from which the delimiter and the header are chosen."""
_LEAST_SHARE = 0.5
"""Least share of rows that are as wide as the header."""
_UNFIT = (False, 0.0, 0)

NumberedLine = tuple[int, str]


def delimiter_of(lines: Iterator[NumberedLine]) -> tuple[str, Iterator[NumberedLine]]:
    """Return the delimiter of a table, and its lines without a first one that states it (`sep=;`).

    The delimiter is the one by which most sampled rows have as many cells as the header, at least
    two; one with a header in the first row is preferred. InputError: there is none.
    """
    sample: list[NumberedLine] = []
    size = 0
    for number, line in islice(lines, SAMPLE_ROWS):
        if sample or line.strip():
            sample.append((number, line))
        size += len(line)
        if size > _SAMPLE_CHARACTERS:
            break
    if sample and (stated := _stated(sample[0][1])):
        return stated, chain(sample[1:], lines)
    texts = [line for _, line in sample]
    fits = {delimiter: _fit(texts, delimiter) for delimiter in DELIMITERS}
    best = max(fits, key=lambda delimiter: fits[delimiter])
    if not fits[best][-1]:
        start = " ".join(texts[0].split())[:60] if texts else ""
        problem = f"found one column ({start!r}), expected a table with a header, such as CSV"
        raise InputError(problem, line=sample[0][0] if sample else None)
    return best, chain(sample, lines)


def header_index(rows: Sequence[Sequence[object]]) -> int:
    """Return the index of the header: the first row with more than half the cells of the fullest.

    A title or a note above the header fills a cell or two. Rows of another width than most are not
    among the fullest: they are notes, or broken.
    """
    widths = Counter(len(row) for row in rows if len(row) > 1)
    usual = max(widths, key=lambda width: (widths[width], width), default=1)
    filled = [sum(cell is not None and str(cell).strip() != "" for cell in row) for row in rows]
    most = max((n for row, n in zip(rows, filled, strict=True) if len(row) == usual), default=0)
    fits = (index for index, count in enumerate(filled[:_HEADER_ROWS]) if 2 * count > most)
    return next(fits, 0)


def _stated(line: str) -> str:
    """Return the delimiter that a first line for Excel states."""
    name, _, stated = line.strip("\r\n").strip('"').partition("=")
    return stated[0] if name.lower() == "sep" and stated.strip(" ") in tuple(DELIMITERS) else ""


def _fit(lines: list[str], delimiter: str) -> tuple[bool, float, int]:
    """Return whether the table begins in the first row, the share of rows as wide, and the width.

    The share is of the rows from the header on. Without a table, all three are 0.
    """
    try:
        rows = [row for row in csv.reader(lines, delimiter=delimiter) if any(row)]
    except csv.Error:
        rows = []
    first = header_index(rows)
    width = len(rows[first]) if rows else 0
    share = sum(len(row) == width for row in rows) / (len(rows) - first) if rows else 0.0
    usual = share >= _LEAST_SHARE
    return (first == 0 and usual, share, width) if width > 1 and (usual or not first) else _UNFIT
