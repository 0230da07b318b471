"""Example questions and the topics of labels, from the index itself."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from pnyx.core.records import SIDES, Argument
from pnyx.display.text import one_line
from pnyx.search.hits import has_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pnyx.core.records import Evidence
    from pnyx.search.engine import DocumentIndex

_READ: Final = 2000
"""Most documents to look at, spread over the index."""
_MOST_READ: Final = 20_000
_MOST_TOPICS: Final = 2000
_SHOWN: Final = 3
_LONGEST: Final = 120
_FEWEST_WORDS: Final = 3


def example_questions(index: DocumentIndex) -> tuple[str, ...]:
    """Return up to three questions with arguments on both sides: topics of labels, or clusters."""
    if not len(index):
        return ()
    documents = list(_some(index, _READ))
    counts: dict[str, Counter[str]] = {}
    for document in documents:
        if isinstance(document, Argument) and document.topic and document.stance in SIDES:
            counts.setdefault(one_line(document.topic), Counter())[document.stance] += 1
    both = {
        topic: min(by_side[s] for s in SIDES) for topic, by_side in counts.items() if _asks(topic)
    }
    ranked = sorted((t for t in both if both[t]), key=lambda t: (-both[t], t))
    if not ranked and has_all(index, "clusters"):
        topics = Counter(t.label for t in index.topics([d.id for d in documents]) if t is not None)
        ranked = [t for label, _ in topics.most_common() if _asks(t := one_line(label))]
    return tuple(ranked[:_SHOWN])


def label_topics(index: DocumentIndex) -> tuple[str, ...]:
    """Return at most 2,000 topics of labels, the most frequent first, of 20,000 documents."""
    labelled = (document for document in _some(index, _MOST_READ) if isinstance(document, Argument))
    counts = Counter(
        argument.topic for argument in labelled if argument.topic and argument.stance in SIDES
    )
    return tuple(topic for topic, _ in counts.most_common(_MOST_TOPICS))


def _some(index: DocumentIndex, most: int) -> Iterator[Evidence]:
    """Yield documents spread over the index."""
    if len(index):
        places = np.linspace(0, len(index) - 1, min(most, len(index)))
        yield from index.documents_at(np.unique(places.astype(np.int64)).tolist())


def _asks(text: str) -> bool:
    return len(text) <= _LONGEST and len(text.split()) >= _FEWEST_WORDS
