"""How large a benchmark of judged pairs is: ConQRet's Table 2, and its Figure 2 of lengths."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pnyx.corpora.benchmarks.conqret import ConqretTopic


@dataclass(frozen=True, slots=True)
class SplitStatistics:
    """The rows of Table 2 for one split; averages are over the topics that have judged pairs.

    Attributes:
        topics: all of them.
        judged: those with a judged pair.
        pairs: relevant and irrelevant ones.
        documents: distinct ones in pairs.
        per_topic: pairs of a topic, on average.
        relevant_per_topic: its relevant pairs, both sides together.
        per_side: its relevant pairs of one side.
        pro: relevant pairs in all.
        con: relevant pairs in all.
        irrelevant: irrelevant pairs in all.
        both_sides: documents that both sides of a topic cite.
        cited: sources on the pages, cited by a side or not.
    """

    topics: int
    judged: int
    pairs: int
    documents: int
    per_topic: float | None
    relevant_per_topic: float | None
    per_side: float | None
    pro: int
    con: int
    irrelevant: int
    both_sides: int
    cited: int

    def row(self) -> dict[str, Any]:
        """Return the fields as an object of JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def statistics_of(topics: Sequence[ConqretTopic]) -> SplitStatistics:
    """Count the topics of a split and their pairs."""
    judged = [topic for topic in topics if topic.judged]
    pro = sum(len(topic.relevant["pro"]) for topic in judged)
    con = sum(len(topic.relevant["con"]) for topic in judged)
    irrelevant = sum(len(topic.irrelevant) for topic in judged)
    documents = {d for t in judged for docs in t.relevant.values() for d in docs}
    documents |= {document for topic in judged for document in topic.irrelevant}
    count = len(judged)
    return SplitStatistics(
        topics=len(topics),
        judged=count,
        pairs=pro + con + irrelevant,
        documents=len(documents),
        per_topic=(pro + con + irrelevant) / count if count else None,
        relevant_per_topic=(pro + con) / count if count else None,
        per_side=(pro + con) / (2 * count) if count else None,
        pro=pro,
        con=con,
        irrelevant=irrelevant,
        both_sides=sum(len(set(t.relevant["pro"]) & set(t.relevant["con"])) for t in judged),
        cited=sum(len(topic.debate.sources) for topic in topics if topic.debate is not None),
    )


@dataclass(frozen=True, slots=True)
class LengthBin:
    """Documents of at least `low` and fewer than `high` words."""

    low: int
    high: int
    count: int


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lengths of documents in words; the bins are equally wide on a logarithmic scale."""

    documents: int
    mean: float
    median: float
    tenth: float
    ninetieth: float
    longest: int
    bins: tuple[LengthBin, ...]

    def row(self) -> dict[str, Any]:
        """Return the fields as an object of JSON."""
        plain = {name: getattr(self, name) for name in self.__slots__ if name != "bins"}
        return {**plain, "bins": [[one.low, one.high, one.count] for one in self.bins]}


def lengths_of(texts: Iterable[str]) -> Lengths | None:
    """Measure texts in words, as white space divides them; None where there are none."""
    import numpy as np

    counts = np.array([len(text.split()) for text in texts])
    if not len(counts):
        return None
    tenth, median, ninetieth = np.percentile(counts, [10, 50, 90])
    return Lengths(
        documents=len(counts),
        mean=float(counts.mean()),
        median=float(median),
        tenth=float(tenth),
        ninetieth=float(ninetieth),
        longest=int(counts.max()),
        bins=length_bins(counts.tolist()),
    )


def length_bins(counts: Sequence[int]) -> tuple[LengthBin, ...]:
    """Count lengths by bins of which three make a factor of ten: 1, 2, 5, 10, 20, 50 ..."""
    tops: Mapping[int, int] = {0: 2, 1: 5, 2: 10}
    highest = max(counts, default=0)
    edges = [0, 1]
    while edges[-1] <= highest:
        place = len(edges) - 2
        edges.append(tops[place % 3] * 10 ** (place // 3))
    found = tuple(
        LengthBin(low, high, sum(low <= one < high for one in counts))
        for low, high in itertools.pairwise(edges)
    )
    filled = [number for number, one in enumerate(found) if one.count]
    return found[filled[0] : filled[-1] + 1] if filled else ()
