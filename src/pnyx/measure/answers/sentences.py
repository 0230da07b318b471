"""How well the sentences of a cited response are supported by what they cite (ARGUE).

Sentence precision is the share of sentences that at least one cited document supports (Auto-ARGUE).
A sentence without citations is unsupported. One without a yes and with a missing verdict is
unscored: the missing one could have been a yes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pnyx.judge.answers import Answer, Judged
from pnyx.measure.core.base import Measured
from pnyx.measure.core.intervals import share_of
from pnyx.records import Response

__all__ = ["SentenceVerdict", "citation_precision", "sentence_precision", "sentence_verdict"]

SentenceVerdict = Literal["supported", "unsupported", "unscored"]

Support = Mapping[tuple[int, str], Answer]


def sentence_verdict(response: Response, position: int, support: Support) -> SentenceVerdict:
    """Return what the verdicts on a sentence's citations say of the sentence as a whole."""
    citations = response.sentences[position].citations
    answers = [support.get((position, c.doc_id)) for c in citations]
    if any(isinstance(a, Judged) and a.value is True for a in answers):
        return "supported"
    if any(not isinstance(a, Judged) for a in answers):
        return "unscored"
    return "unsupported"


def sentence_precision(response: Response, support: Support) -> Measured:
    """Return the share of scored sentences that are supported (Wilson, 95 %)."""
    verdicts = [sentence_verdict(response, i, support) for i in range(len(response.sentences))]
    scored = [v for v in verdicts if v != "unscored"]
    return share_of(scored.count("supported"), len(scored), len(verdicts))


def citation_precision(response: Response, support: Support) -> Measured:
    """Return the share of scored citations, each once by sentence, that support it."""
    asked = dict.fromkeys(
        (position, citation.doc_id)
        for position, sentence in enumerate(response.sentences)
        for citation in sentence.citations
    )
    answers = [support.get(key) for key in asked]
    scored = [a for a in answers if isinstance(a, Judged)]
    return share_of(sum(a.value is True for a in scored), len(scored), len(asked))
