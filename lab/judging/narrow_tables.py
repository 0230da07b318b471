"""Markdown tables that fit a page: six columns at most.

python lab/judging/narrow_tables.py FILE...    # changes the tables of pages
"""

from __future__ import annotations

import itertools
import math
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

COLUMNS = 6


def narrowed(lines: Iterable[str]) -> list[str]:
    """Turn tables of too many columns on their side, or split them by columns."""
    out: list[str] = []
    for is_table, some in itertools.groupby(lines, lambda line: line.startswith("|")):
        table = list(some)
        cells = [[c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table]
        wide = is_table and len(table) > 2 and len(cells[0]) > COLUMNS
        out += _narrow(*cells) if wide else table
    return out


def _narrow(head: list[str], rules: list[str], *rows: list[str]) -> list[str]:
    labels = _labels(rows)
    if len(rows) < COLUMNS:
        sides = [", ".join(filter(None, row[:labels])) for row in (head, *rows)]
        turned = [[head[at], *(row[at] for row in rows)] for at in range(labels, len(head))]
        return _table([sides, ["---", *["---:"] * len(rows)], *turned])
    figures = len(head) - labels
    tables = math.ceil(figures / max(COLUMNS - labels, 1))
    width = math.ceil(figures / tables)
    out: list[str] = []
    for start in range(labels, len(head), width):
        part = slice(start, start + width)
        out += ["", *_table([*row[:labels], *row[part]] for row in (head, rules, *rows))]
    return out[1:]


def _labels(rows: Sequence[Sequence[str]]) -> int:
    """Return how many of the first columns tell the rows apart; 1 if none do."""
    counts = range(1, len(rows[0]))
    return next((n for n in counts if len({tuple(row[:n]) for row in rows}) == len(rows)), 1)


def _table(rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in rows]


if __name__ == "__main__":
    for page in map(Path, sys.argv[1:]):
        lines = page.read_text(encoding="utf-8").split("\n")
        page.write_text("\n".join(narrowed(lines)), encoding="utf-8")
