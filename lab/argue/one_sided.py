"""Collections with one side alone: is the other side invented? (`debates.py --one-sided`)

Of up to 30 debates with arguments on both sides (drawn by chance) those of one side are taken away,
of every second one pro's, of the others con's; all other debates stay, to be mistaken for them. A
side is invented where anything is argued for the side that is not there without the warning that
the documents may not argue it; what is argued with the warning is counted for itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pages import Asked, Collection, indexed, kept_alone, reworded

from pnyx.models.embed.embedder import Embedder
from pnyx.stats.intervals import wilson

MOST = 30
FIRST = {"development": 0, "test": 30}
"""Of the debates in their order by chance, the first that is asked. On the first 30 test debates
the rule was too lax and was made stricter, so these are no longer reported."""
NAMES = {1: "pro", -1: "con"}


@dataclass(frozen=True)
class OneSided:
    """A question, in its collection, and the side (1 or -1) on which that holds nothing."""

    collection: Collection
    asked: Asked
    lacks: int


def drawn(found: dict[str, Collection], part: str) -> dict[str, int]:
    """Return the debates drawn: page -> the side (of its title) that is taken away."""
    both = [one.question.id for c in found.values() for one in c.asked
            if one.part == part and c.sides(one) == {1, -1}]  # fmt: skip
    order = np.random.default_rng(0).permutation(len(both))[FIRST[part] :][:MOST]
    return {both[i]: 1 if place % 2 else -1 for place, i in enumerate(order)}


def questions(found: dict[str, Collection], lacks: dict[str, int]) -> list[OneSided]:
    """Return what is asked on these debates; of two in own words, each debate's in turn."""
    asked = []
    for place, (page, lost) in enumerate(lacks.items()):
        own = [(c, one) for c in found.values() for one in c.asked
               if re.sub(r" [+-]$", "", one.question.id) == page]  # fmt: skip
        if own:
            collection, one = own[place % len(own)]
            sign = -1 if one.question.id.endswith(" -") else 1
            asked.append(OneSided(collection, one, sign * lost))
    return asked


def reduced(
    found: dict[str, Collection],
    lacks: Mapping[str, int],
    work: Path,
    folder: Path,
    embedder: Embedder,
) -> None:
    """Take the sides away from the collections of `work`; index what is left in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    gone = {
        doc_id for c in found.values() for one in c.asked if one.question.id in lacks
        for doc_id in c.labels if c.side(one, doc_id) == lacks[one.question.id]
    }  # fmt: skip
    for name, collection in found.items():
        whole = indexed(collection, work, embedder)
        collection.documents = [d for d in collection.documents if d.id not in gone]
        if not (folder / name).exists():
            kept_alone(collection.documents, whole, folder / name)


def counted(asked: Sequence[OneSided], rows: Sequence[dict[str, Any]]) -> list[int]:
    """Return for how many questions the lacking side is argued, or at all cited; so the other."""
    return [
        sum(bool(row[how][NAMES[sign * one.lacks]]) for one, row in zip(asked, rows, strict=True))
        for sign in (1, -1) for how in ("argued", "cited")
    ]  # fmt: skip


def measure(found: dict[str, Collection], part: str, bench: Any, report: Any) -> None:
    """Ask by titles and in own words, as `debates.py` does, and write the table."""
    lacks = drawn(found, part)
    folder = bench.work / "one-sided" / part
    reduced(found, lacks, bench.work, folder, bench.embedder)
    bench = replace(bench, work=folder)
    asked = {"titles": questions(found, lacks)}
    reworded(found)
    asked["own words"] = questions(found, lacks)
    report.line(f"{part.capitalize()} debates of which one side is left. [95 % interval, Wilson]")
    report.head("questions", "the other side argued without a warning", "or with one",
                "the side that is there argued without a warning", "or with one")  # fmt: skip
    for words, ones in asked.items():
        for variant in ("default",):
            pairs = [(one.collection, one.asked) for one in ones]
            rows = bench.rows(f"{variant}, {words}", pairs, variant=variant)
            shares = (f"{n} of {len(ones)}: {n / len(ones):.2f} {_interval(n, len(ones))}"
                      for n in counted(ones, rows))  # fmt: skip
            report.row(f"{words}, {variant}", *shares)


def _interval(count: int, of: int) -> str:
    low, high = wilson(count, of)
    return f"[{low:.2f}, {high:.2f}]"
