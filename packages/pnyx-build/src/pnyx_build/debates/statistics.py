"""The size of a benchmark of judged pairs: ConQRet's Table 2, and its Figure 2 of lengths."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from pnyx.formats.conqret import ConqretTopic

ROWS = {
    "topics": "topics",
    "judged": "topics with judged pairs",
    "per_topic": "documents per topic",
    "relevant_per_topic": "relevant documents per topic",
    "per_side": "relevant documents per stance",
    "documents": "documents in pairs",
    "cited": "sources on the pages",
    "pro": "relevant pairs, pro",
    "con": "relevant pairs, con",
    "both_sides": "documents that both sides cite",
    "irrelevant": "irrelevant pairs",
}
"""The rows of Table 2; averages are over the topics that have judged pairs, None without one."""


def statistics_of(topics: Sequence[ConqretTopic]) -> dict[str, Any]:
    """Count the topics of a split and their pairs: `ROWS`, and all `pairs`."""
    judged = [topic for topic in topics if topic.judged]
    pro, con = (sum(len(topic.relevant[side]) for topic in judged) for side in ("pro", "con"))
    irrelevant = sum(len(topic.irrelevant) for topic in judged)
    documents = {d for t in judged for docs in (*t.relevant.values(), t.irrelevant) for d in docs}
    count = len(judged)
    return {
        "topics": len(topics),
        "judged": count,
        "pairs": pro + con + irrelevant,
        "documents": len(documents),
        "per_topic": (pro + con + irrelevant) / count if count else None,
        "relevant_per_topic": (pro + con) / count if count else None,
        "per_side": (pro + con) / (2 * count) if count else None,
        "pro": pro,
        "con": con,
        "irrelevant": irrelevant,
        "both_sides": sum(len({*t.relevant["pro"]} & {*t.relevant["con"]}) for t in judged),
        "cited": sum(len(topic.debate.sources) for topic in topics if topic.debate is not None),
    }


def lengths_of(texts: Iterable[str]) -> dict[str, Any] | None:
    """Measure texts in words, divided by white space; None if there are none."""
    import numpy as np

    counts = np.array([len(text.split()) for text in texts])
    if not len(counts):
        return None
    tenth, median, ninetieth = map(float, np.percentile(counts, [10, 50, 90]))
    return {
        "documents": len(counts),
        "mean": float(counts.mean()),
        "median": median,
        "tenth": tenth,
        "ninetieth": ninetieth,
        "longest": int(counts.max()),
        "bins": length_bins(counts.tolist()),
    }


def length_bins(counts: Sequence[int]) -> list[list[int]]:
    """Return [lower bound, upper bound, count] by bins: 1, 2, 5, 10, 20, 50 ..."""
    edges = [0, 1]
    while edges[-1] <= max(counts, default=0):
        power, step = divmod(len(edges) - 2, 3)
        edges.append((2, 5, 10)[step] * 10**power)
    bins = [
        [low, high, sum(low <= count < high for count in counts)]
        for low, high in itertools.pairwise(edges)
    ]
    filled = [number for number, (_, _, count) in enumerate(bins) if count]
    return bins[filled[0] : filled[-1] + 1] if filled else []


def lengths_plot(bins: Sequence[Sequence[int]], what: str) -> str:
    """Return a histogram as an SVG document."""
    from pnyx.display.svg import MARGIN, Axes, bar, document, drawn_text, ticks

    marks = ticks(0, max(count for _, _, count in bins))
    axes = Axes(MARGIN + 56, MARGIN + 44, 44 * len(bins), 220)
    parts = [drawn_text(f"{what} by length in words", MARGIN, MARGIN + 10, "head")]
    parts += axes.up([(mark / marks[-1], f"{mark:,.0f}") for mark in marks])
    for number, (low, high, count) in enumerate(bins):
        x, y = axes.x(number / len(bins)), axes.y(count / marks[-1])
        parts.append(bar(x + 2, y, 40, axes.y(0) - y, f"{low:,} to {high - 1:,}: {count:,}"))
        parts.append(drawn_text(f"{low:,}", x + 2, axes.y(0) + 16, "tick"))
    wide, high = int(axes.x(1) + 2 * MARGIN), int(axes.y(0) + 34)
    notes = ["Each bar starts at the number of words below it; three bars span a factor of ten."]
    return document(f"lengths of {what}", wide, high, parts, notes)
