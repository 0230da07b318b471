"""How large a benchmark of judged pairs is: ConQRet's Table 2, and its Figure 2 of lengths."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
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
        return asdict(self)


def statistics_of(topics: Sequence[ConqretTopic]) -> SplitStatistics:
    """Count the topics of a split and their pairs."""
    judged = [topic for topic in topics if topic.judged]
    pro, con = (sum(len(topic.relevant[side]) for topic in judged) for side in ("pro", "con"))
    irrelevant = sum(len(topic.irrelevant) for topic in judged)
    documents = {d for t in judged for docs in (*t.relevant.values(), t.irrelevant) for d in docs}
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
        return {**asdict(self), "bins": [[bin_.low, bin_.high, bin_.count] for bin_ in self.bins]}


def lengths_of(texts: Iterable[str]) -> Lengths | None:
    """Measure texts in words, as white space divides them; None where there are none."""
    import numpy as np

    counts = np.array([len(text.split()) for text in texts])
    if not len(counts):
        return None
    tenth, median, ninetieth = map(float, np.percentile(counts, [10, 50, 90]))
    bins = length_bins(counts.tolist())
    mean, longest = float(counts.mean()), int(counts.max())
    return Lengths(len(counts), mean, median, tenth, ninetieth, longest, bins)


def length_bins(counts: Sequence[int]) -> tuple[LengthBin, ...]:
    """Count lengths by bins of which three make a factor of ten: 1, 2, 5, 10, 20, 50 ..."""
    highest = max(counts, default=0)
    edges = [0, 1]
    while edges[-1] <= highest:
        power, step = divmod(len(edges) - 2, 3)
        edges.append((2, 5, 10)[step] * 10**power)
    bins = [
        LengthBin(low, high, sum(low <= count < high for count in counts))
        for low, high in itertools.pairwise(edges)
    ]
    filled = [number for number, bin_ in enumerate(bins) if bin_.count]
    return tuple(bins[filled[0] : filled[-1] + 1]) if filled else ()


def lengths_plot(lengths: Lengths, what: str) -> str:
    """Return a histogram as an SVG document."""
    from pnyx.view.svg import MARGIN, Axes, bar, document, drawn_text, ticks

    marks = ticks(0, max(bin_.count for bin_ in lengths.bins))
    axes = Axes(MARGIN + 56, MARGIN + 44, 44 * len(lengths.bins), 220)
    parts = [drawn_text(f"{what} by length in words", MARGIN, MARGIN + 10, "head")]
    parts += axes.up([(mark / marks[-1], f"{mark:,.0f}") for mark in marks])
    for number, bin_ in enumerate(lengths.bins):
        x, y = axes.x(number / len(lengths.bins)), axes.y(bin_.count / marks[-1])
        label = f"{bin_.low:,} to {bin_.high - 1:,}: {bin_.count:,}"
        parts.append(bar(x + 2, y, 40, axes.y(0) - y, label))
        parts.append(drawn_text(f"{bin_.low:,}", x + 2, axes.y(0) + 16, "tick"))
    wide, high = int(axes.x(1) + 2 * MARGIN), int(axes.y(0) + 34)
    notes = ["A bar begins at the number of words below it; three bars make a factor of ten."]
    return document(f"lengths of {what}", wide, high, parts, notes)
