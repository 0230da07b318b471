"""Collections that contain only one side: is the other side invented? (`debates.py --one-sided`)

Up to 30 debates with arguments on both sides are drawn at random. The pro arguments are removed
from every second one, the con arguments from the others. All other debates stay in the collection,
as distractors. A side is invented if anything is argued for the removed side without the warning
that the documents may not argue it. Arguments with the warning are counted separately.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pages import Collection, DebateQuestion, indexed, reworded, subset_index

from pnyx.models.embed.embedder import Embedder
from pnyx.stats.intervals import wilson

MOST = 30
FIRST = {"development": 0, "test": 30}
"""Position of the first debate used, in the random order. The rule was too lax on the first 30 test
debates and was made stricter, so they are no longer reported."""
NAMES = {1: "pro", -1: "con"}


@dataclass(frozen=True)
class OneSided:
    """A question, its collection, and the side (1 or -1) for which the collection has nothing."""

    collection: Collection
    item: DebateQuestion
    missing: int


def drawn(by_name: dict[str, Collection], part: str) -> dict[str, int]:
    """Return the drawn debates: page -> the side (of its title) to remove."""
    both = [item.question.id for c in by_name.values() for item in c.questions
            if item.part == part and c.sides(item) == {1, -1}]  # fmt: skip
    order = np.random.default_rng(0).permutation(len(both))[FIRST[part] :][:MOST]
    return {both[i]: 1 if position % 2 else -1 for position, i in enumerate(order)}


def questions(by_name: dict[str, Collection], missing: dict[str, int]) -> list[OneSided]:
    """Return a question for each of these debates; if there are several, they alternate."""
    items = []
    for position, (page, lost) in enumerate(missing.items()):
        candidates = [(c, item) for c in by_name.values() for item in c.questions
               if re.sub(r" [+-]$", "", item.question.id) == page]  # fmt: skip
        if candidates:
            collection, item = candidates[position % len(candidates)]
            sign = -1 if item.question.id.endswith(" -") else 1
            items.append(OneSided(collection, item, sign * lost))
    return items


def reduced(
    by_name: dict[str, Collection],
    missing: Mapping[str, int],
    work: Path,
    folder: Path,
    embedder: Embedder,
) -> None:
    """Remove the sides from the collections of `work`, and index the rest in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    gone = {
        doc_id for c in by_name.values() for item in c.questions if item.question.id in missing
        for doc_id in c.labels if c.side(item, doc_id) == missing[item.question.id]
    }  # fmt: skip
    for name, collection in by_name.items():
        whole = indexed(collection, work, embedder)
        collection.documents = [d for d in collection.documents if d.id not in gone]
        if not (folder / name).exists():
            subset_index(collection.documents, whole, folder / name)


def counted(items: Sequence[OneSided], rows: Sequence[dict[str, Any]]) -> list[int]:
    """Return how often each side is argued, or at least cited; the missing side comes first."""
    pairs = list(zip(items, rows, strict=True))
    return [
        sum(bool(row[how][NAMES[sign * item.missing]]) for item, row in pairs)
        for sign in (1, -1)
        for how in ("argued", "cited")
    ]


def measure(by_name: dict[str, Collection], part: str, bench: Any, report: Any) -> None:
    """Ask by titles and in people's own words, as in `debates.py`, and write the table."""
    missing = drawn(by_name, part)
    folder = bench.work / "one-sided" / part
    reduced(by_name, missing, bench.work, folder, bench.embedder)
    bench = replace(bench, work=folder)
    by_words = {"titles": questions(by_name, missing)}
    reworded(by_name)
    by_words["own words"] = questions(by_name, missing)
    report.line(f"{part.capitalize()} debates of which one side is left. [95 % interval, Wilson]")
    report.head("questions", "the other side argued without a warning", "or with one",
                "the side that is there argued without a warning", "or with one")  # fmt: skip
    for words, items in by_words.items():
        for variant in ("default",):
            pairs = [(item.collection, item.item) for item in items]
            rows = bench.rows(f"{variant}, {words}", pairs, variant=variant)
            shares = (f"{n} of {len(items)}: {n / len(items):.2f} {_interval(n, len(items))}"
                      for n in counted(items, rows))  # fmt: skip
            report.row(f"{words}, {variant}", *shares)


def _interval(count: int, of: int) -> str:
    low, high = wilson(count, of)
    return f"[{low:.2f}, {high:.2f}]"
