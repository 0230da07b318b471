"""The collection of the load test: idebate's arguments (PNYX_DATA/arguana_counterargs)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from pnyx.core.records import Argument, Premise

__all__ = ["SIZE", "arguments", "topics"]

SIZE = 9_500
_ARGUMENTS, _DEBATES = "arguments.jsonl.gz", "debates.jsonl.gz"


def _rows(data: Path, name: str) -> Iterator[dict]:
    with gzip.open(data / "arguana_counterargs" / name, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def topics(data: Path) -> dict[str, str]:
    """Return the title of each debate."""
    return {row["debate"]: row["title"] for row in _rows(data, _DEBATES)}


def arguments(data: Path, size: int = SIZE) -> Iterator[Argument]:
    """Yield the first `size` arguments, each with its side on the title of its debate."""
    named = topics(data)
    for position, row in enumerate(_rows(data, _ARGUMENTS)):
        if position == size:
            return
        text = row["premise"] if not row["conclusion"] else ""
        yield Argument(
            row["id"],
            row["conclusion"] or "",
            () if text else (Premise(row["premise"]),),
            row["stance"],
            topic=named.get(row["debate"], ""),
            source="idebate.org",
            body=text or None,
        )
