"""Names and counts of a results folder (`pnyx.runs.results` writes it)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["ANSWERS", "MANIFEST", "tally"]

ANSWERS = "answers.jsonl"
MANIFEST = "manifest.json"


def tally(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return `asked`, `scored`, `unscored` and, most frequent first, `reasons`."""
    asked, reasons = 0, Counter[str]()
    for row in rows:
        asked += 1
        if row["unscored"] is not None:
            reasons[row["unscored"].partition(":")[0]] += 1
    return {
        "asked": asked,
        "scored": asked - reasons.total(),
        "unscored": reasons.total(),
        "reasons": dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
    }
