"""Which character separates the cells of a table."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice

from pnyx.errors import InputError

DELIMITERS = ",;\t|"
"""In the order in which they are preferred."""
_SAMPLE_LINES = 200
_SAMPLE_CHARACTERS = 1 << 20

NumberedLine = tuple[int, str]


def delimiter_of(lines: Iterator[NumberedLine]) -> tuple[str, Iterator[NumberedLine]]:
    """Return the delimiter of a table and its lines, without one that states it (`sep=;`).

    The delimiter is the one by which most sampled rows have as many cells as the header, at least
    two. InputError: there is none.
    """
    sample: list[NumberedLine] = []
    size = 0
    for number, line in islice(lines, _SAMPLE_LINES):
        sample.append((number, line))
        size += len(line)
        if size > _SAMPLE_CHARACTERS:
            break
    while sample and not sample[0][1].strip():
        sample.pop(0)
    if sample and (stated := _stated(sample[0][1])):
        return stated, chain(sample[1:], lines)
    texts = [line for _, line in sample]
    best = max(DELIMITERS, key=lambda delimiter: _fit(texts, delimiter))
    if _fit(texts, best) == (0.0, 0):
        found = " ".join(texts[0].split())[:60] if texts else ""
        problem = f"found one column ({found!r}), expected a table with a header, such as CSV"
        raise InputError(problem, line=sample[0][0] if sample else None)
    return best, chain(sample, lines)


def _stated(line: str) -> str:
    """Return the delimiter that a first line for Excel states."""
    text = line.strip().strip('"').lower()
    stated = line.strip("\r\n").strip('"')[4:5]
    return stated if text[:4] == "sep=" and len(text) <= 5 and stated in tuple(DELIMITERS) else ""


def _fit(lines: list[str], delimiter: str) -> tuple[float, int]:
    """Return the share of rows as wide as the header, and its width; zeros where it is one cell."""
    try:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if any(row)]
    except csv.Error:
        return 0.0, 0
    if not widths or widths[0] < 2:
        return 0.0, 0
    return Counter(widths)[widths[0]] / len(widths), widths[0]
