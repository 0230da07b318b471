"""Split the topics of several sets into halves for development and test, and report on the test.

Near-duplicate questions (from any set) and debates that share an argument are in the same half, so
that no choice is reported on a near-duplicate of the question on which it was made.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
from effectiveness import WORDS
from effectiveness_sets import Collection

from pnyx.core.records import Qrel, RunEntry
from pnyx.models.embed.embedder import Embedder
from pnyx.search.measures.retrieval import measure_retrieval
from pnyx.stats.base import Bootstrap
from pnyx.stats.significance import Comparison, conclude, holm

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

__all__ = [
    "DEVELOPMENT",
    "MARGIN",
    "TEST",
    "Report",
    "Rows",
    "arguments",
    "halves",
    "report_halves",
]

DEVELOPMENT, TEST = "development", "test"

MARGIN = 0.02
"""Maximum loss of a choice to any alternative; set before any choice."""

Rows = dict[str, tuple[dict[str, list[RunEntry]], list[Qrel]]]
"""Row of the tables -> (system -> run, qrels)."""

NEAR = 0.7
"""Minimum cosine of topics that count as the same question: "Ban X", "Should X be banned?"."""

_FORMULA = re.compile(
    r"^\W*(this house|we)\s+(would|believes?( that)?|supports?|regrets?|thinks?)\s+", re.IGNORECASE
)

Key = tuple[str, str]
"""Set and topic."""


def halves(collections: Sequence[Collection], embedder: Embedder) -> dict[str, dict[str, str]]:
    """Return the half of each topic, by set.

    Groups of topics are assigned in order of size, then of a hash; each goes to the half with fewer
    topics of the sets in the group, so that the halves of each set have about the same size.

    Args:
        collections: the sets.
        embedder: used to find near-duplicate topics.
    """
    texts = {(c.name, q.id): _FORMULA.sub("", q.text) for c in collections for q in c.questions}
    keys = list(texts)
    positions = {key: n for n, key in enumerate(keys)}
    links = _near(embedder.encode(list(texts.values())))
    links += [(positions[a], positions[b]) for c in collections for a, b in _sharing(c)]
    out: dict[str, dict[str, str]] = {c.name: {} for c in collections}
    balance: dict[str, int] = defaultdict(int)  # set -> development less test
    for group in sorted(_groups(len(keys), links), key=lambda g: (-len(g), _hash(keys[g[0]]))):
        sizes: dict[str, int] = defaultdict(int)
        for n in group:
            sizes[keys[n][0]] += 1
        imbalance = sum(balance[name] * size for name, size in sizes.items())
        tie = _hash(keys[group[0]]) % 2 == 0
        first = imbalance < 0 or (imbalance == 0 and tie)
        for name, size in sizes.items():
            balance[name] += size if first else -size
        for n in group:
            name, topic = keys[n]
            out[name][topic] = DEVELOPMENT if first else TEST
    return out


def _near(vectors: np.ndarray) -> list[tuple[int, int]]:
    close = np.triu(vectors @ vectors.T >= NEAR, 1)
    return [(int(a), int(b)) for a, b in np.argwhere(close)]


def _sharing(collection: Collection) -> Iterable[tuple[Key, Key]]:
    """Yield pairs of debates that share a document; graded pools share documents by design."""
    first: dict[str, str] = {}
    for q in collection.qrels.get("sides", ()):
        topic = first.setdefault(q.doc_id, q.topic_id)
        if topic != q.topic_id:
            yield (collection.name, topic), (collection.name, q.topic_id)


def _groups(count: int, links: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return the connected components, each in order."""
    parent = list(range(count))

    def root(n: int) -> int:
        while parent[n] != n:
            parent[n] = parent[parent[n]]
            n = parent[n]
        return n

    for a, b in links:
        parent[max(root(a), root(b))] = min(root(a), root(b))
    members: Mapping[int, list[int]] = defaultdict(list)
    for n in range(count):
        members[root(n)].append(n)
    return list(members.values())


def _hash(key: Key) -> int:
    return int.from_bytes(blake2b("/".join(key).encode(), digest_size=8).digest(), "big")


# --- reporting --------------------------------------------------------------------------------


def report_halves(
    report: Report,
    rows: Rows,
    chosen: str,
    others: Sequence[str],
    measure: str,
    labels: Mapping[str, str],
) -> None:
    """Report means of all systems on the test halves, and differences from the chosen one.

    Args:
        report: the report.
        rows: rows of the test halves.
        chosen: the chosen system.
        others: the systems to compare it with.
        measure: the measure, in the notation of ir-measures.
        labels: system -> suffix of its name.
    """
    headings = []
    cells: dict[str, list[str]] = {name: [] for name in [*others, chosen]}
    against: list[tuple[str, Comparison]] = []
    for row, (runs, qrels) in rows.items():
        for other in others:
            pair = {name: runs[name] for name in (other, chosen)}
            measured = measure_retrieval(
                pair, qrels, [measure], baseline=other, test="t", margin=MARGIN,
                bootstrap=Bootstrap(10_000),
            )  # fmt: skip
            for run in measured.runs[: 2 if other == others[-1] else 1]:
                value = run.measures[measure]
                cells[run.name].append(f"{value.value:.3f} [{value.low:.3f}, {value.high:.3f}]")
            against.append((other, measured.comparisons[0]))
        headings.append(f"{row} ({len(measured.runs[0].per_topic)})")
    report.head(f"{measure}, test halves", *headings)
    for name, texts in cells.items():
        report.row(name + labels.get(name, ""), *texts)
    _differences(report, against, chosen, others, headings)


def _differences(
    report: Report,
    against: Sequence[tuple[str, Comparison]],
    chosen: str,
    others: Sequence[str],
    headings: Sequence[str],
) -> None:
    """Report the differences of the chosen system from the others, corrected over the table."""
    two_sided = holm([c.test.p for _, c in against])
    margins = [c.against for _, c in against]
    not_lower = holm([m.p_not_lower if m else None for m in margins])
    equivalent = holm([m.p_equivalent if m else None for m in margins])
    cells: dict[str, list[str]] = {other: [] for other in others}
    for (other, c), *ps in zip(against, two_sided, not_lower, equivalent, strict=True):
        word = WORDS[conclude(c.test.difference, *ps)]
        p = "–" if ps[0] is None else f"{ps[0]:.3f}" if ps[0] >= 0.0005 else "<.001"
        cells[other].append(f"{c.test.difference:+.3f} [{c.low:+.3f}, {c.high:+.3f}] p {p}, {word}")
    report.head(f"test halves: {chosen} minus", *headings)
    for other, texts in cells.items():
        report.row(other, *texts)
    report.line()
    report.line(
        f"Better, worse: two-sided p below .05; not worse: a loss of {MARGIN:g} or more is "
        "rejected, one-sided p below .05; equivalent: so is a gain of as much; inconclusive: none "
        "of these. Every p, also those shown, is after Holm's correction over the "
        f"{len(against)} differences of the table."
    )
