"""Numbers and tables as the measuring commands print them."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["interval", "number", "table"]


def number(value: float | None) -> str:
    """Return a value with three digits, a dash where there is none."""
    return "-" if value is None else f"{value:z.3f}"


def interval(low: float | None, high: float | None) -> str:
    """Return the bounds with three digits, a dash where there are none."""
    return "-" if low is None or high is None else f"[{low:z.3f}, {high:z.3f}]"


def table(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return aligned lines: the first `left` columns to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
