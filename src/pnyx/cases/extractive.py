"""The writer that needs no language model: it quotes the best-supported sentences of a side.

Documents are picked by maximal marginal relevance (BERDS, Eq. 1). A sentence that nearly repeats
an earlier one is not written again; its document is cited with the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pnyx.cases.case import Draft, sentence
from pnyx.cases.plan import POINTS
from pnyx.core.records import SIDES, Argument, Evidence, Question, Sentence, Side
from pnyx.formats.text.citations import without_notes
from pnyx.formats.text.segment import split_sentences
from pnyx.judging.statements import statements_of
from pnyx.models.embed.encoder import Encoder, load_encoder
from pnyx.search.quotable import (
    MAX_SENTENCES,
    MIN_REASON,
    flaw,
    has_verb,
    is_quotable,
    reason_probabilities,
)

_BORNE = ("leaning", "conceding")
"""Flaws that are accepted if no passage of a side has a sentence without flaws."""

_STATED = ("", "heading", "definition", "figures", "appeal")
"""Flaws accepted in stated conclusions: the document argues for them; people omit full stops."""

_CENTRAL = 4.0
"""Log-odds of a reason equivalent to one unit of `central`.

Chosen from 0 to 6 on the training folders. It also keeps sentences on other matters from the
headline.
"""

_GIVING_REASONS = 0.3
"""Weight of the probability of a reason, as a cosine, in choosing premises; not tuned."""

MIN_PREMISE = 0.3
"""Probability of a reason from which a sentence is quoted as a premise, unless the document itself
states the conclusion. On development folders it keeps 77 % of the sentences marked as reasons, and
drops 54 % of the others."""

_LONGEST = 1_000
"""Characters of a stated conclusion that is quoted as one."""

Vectors = npt.NDArray[np.float32]
Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class _Point:
    """One document's candidate sentences; the conclusion is in row 0 of `vectors`."""

    document: Evidence
    texts: tuple[str, ...]
    vectors: Vectors
    reasons: Floats  # the probability that a sentence states a reason
    stated: bool  # whether the document itself states the conclusion


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractiveWriter:
    """Quotes, orders and deduplicates; deterministic, and grounded by construction.

    Args:
        points: at most this many conclusions a side.
        premises: at most this many premises for each conclusion.
        repeat: cosine in [0, 1] from which two sentences count as the same.
        novelty: weight in [0, 1] of a point's difference from those chosen; 0 looks only at how
            well the other documents bear it out.
        order: what each place further down the given order costs: first come documents that are
            surely on the question and the side, and of good quality.
    """

    name: ClassVar = "extractive"
    points: int = POINTS
    premises: int = 2
    repeat: float = 0.85
    novelty: float = 0.2
    order: float = 0.1
    encoder: Encoder | None = None

    async def write(self, question: Question, side: Side, documents: Sequence[Evidence]) -> Draft:
        """Return up to `points` conclusions with their premises; empty without documents."""
        import anyio

        claim = statements_of(question)[SIDES.index(side)]
        return await anyio.to_thread.run_sync(self._write, question, claim, documents)

    def _write(self, question: Question, claim: str, documents: Sequence[Evidence]) -> Draft:
        encoder = self.encoder or load_encoder()
        query, asserted = encoder.encode([question.text, claim])
        for borne in ((), _BORNE):  # do not leave a side empty because sentences refer to others
            points = (_candidate(encoder, document, asserted, borne) for document in documents)
            candidates = [point for point in points if point is not None]
            if candidates:
                break
        else:
            return Draft(())
        arguing = [p for p in candidates if p.stated or p.reasons[0] >= MIN_REASON]
        chosen = self._choose(arguing or candidates)
        return Draft(tuple(self._sentences(chosen, candidates, query)), quotes=True)

    def _choose(self, candidates: list[_Point]) -> list[_Point]:
        """Pick points by maximal marginal relevance; similarity is measured on conclusions."""
        support = [
            borne_out - self.order * position
            for position, borne_out in enumerate(_mutual_support(candidates))
        ]
        chosen: list[int] = []
        while len(chosen) < self.points:
            taken = [candidates[j].vectors[0] for j in chosen]
            left = [
                i
                for i, point in enumerate(candidates)
                if i not in chosen and not self._repeats(point.vectors[0], taken)
            ]
            if not left:
                break

            def gain(i: int) -> float:
                likeness = max(
                    (float(candidates[i].vectors[0] @ candidates[j].vectors[0]) for j in chosen),
                    default=0.0,
                )
                return (1 - self.novelty) * support[i] - self.novelty * likeness

            chosen.append(max(left, key=lambda i: (gain(i), -i)))
        return [
            candidates[i] for i in sorted(chosen)
        ]  # in the order of the documents: the strongest first

    def _sentences(
        self, chosen: list[_Point], candidates: list[_Point], query: Vectors
    ) -> list[Sentence]:
        written: list[Vectors] = []
        out: list[Sentence] = []
        for point in chosen:
            if self._repeats(point.vectors[0], written):
                continue
            picked = [0, *self._premises(point, query, written)]
            for position in picked:
                vector = point.vectors[position]
                written.append(vector)
                cited = (point.document.id, *self._also_said_by(point, vector, candidates))
                role = "conclusion" if position == 0 else "premise"
                out.append(sentence(role, point.texts[position], cited))
        return out

    def _premises(self, point: _Point, query: Vectors, written: list[Vectors]) -> list[int]:
        """Pick reasons close to the point and the question, in the document's order."""
        closeness = point.vectors @ (point.vectors[0] + query)
        order = np.argsort(-closeness - _GIVING_REASONS * point.reasons, kind="stable")
        picked: list[int] = []
        for i in map(int, order):
            if len(picked) == self.premises:
                break
            before = [*written, point.vectors[0], *(point.vectors[j] for j in picked)]
            if not (point.stated or point.reasons[i] >= MIN_PREMISE):
                continue
            if i != 0 and not self._repeats(point.vectors[i], before):
                picked.append(i)
        return sorted(picked)

    def _repeats(self, vector: Vectors, written: list[Vectors]) -> bool:
        return any(float(vector @ other) >= self.repeat for other in written)

    def _also_said_by(self, point: _Point, vector: Vectors, all_points: list[_Point]) -> list[str]:
        others = (p for p in all_points if p is not point)
        return [p.document.id for p in others if float((p.vectors @ vector).max()) >= self.repeat]


def _mutual_support(points: list[_Point]) -> list[float]:
    """Return, for each point, how much the other documents support it.

    The mean cosine of its sentences to the closest sentence of each other document. On the bundled
    example it picks a mean quality of 2.4, closeness to the question 2.1 (of the 64 labels by which
    this score, `novelty` and `order` were chosen).
    """
    support = []
    for point in points:
        others = [
            float((point.vectors @ other.vectors.T).max(axis=1).mean())
            for other in points
            if other is not point
        ]
        support.append(sum(others) / len(others) if others else 0.0)
    return support


def central(vectors: Vectors, claim: Vectors) -> Vectors:
    """Return how well each sentence summarises its text, by the text and by the claim.

    Chosen on development pages of `lab/argue` by likeness to people's title: 0.454,
    typicality alone 0.433.
    """
    position = np.arange(len(vectors)) / len(vectors)
    scores: Vectors = vectors @ vectors.mean(axis=0) + 0.5 * (vectors @ claim) - 0.1 * position
    return scores


def headline(texts: Sequence[str], vectors: Vectors, claim: Vectors) -> tuple[int, float]:
    """Return the index of the sentence that best argues for its text, and its probability.

    Args:
        texts: the sentences of one passage, at least one.
        vectors: their embeddings.
        claim: the embedding of what the side says.
    """
    chances = reason_probabilities(texts, vectors)
    odds = np.log(chances) - np.log1p(-chances)
    best = int(np.argmax(odds + _CENTRAL * central(vectors, claim)))
    return best, float(chances[best])


def _heads(stated: str) -> bool:
    """Return whether a stated conclusion cannot be quoted; a claim may lack its full stop."""
    words = [word.strip(".,;:!'’\"()") for word in stated.lower().split()]
    fits = len(stated) <= _LONGEST and len(words) >= 3
    return not fits or not has_verb(words) or flaw(stated) not in _STATED


def _candidate(
    encoder: Encoder, document: Evidence, claim: Vectors, borne: Sequence[str]
) -> _Point | None:
    """Return a document's usable sentences, its conclusion first; None if it has none."""
    opening = document.conclusion if isinstance(document, Argument) else ""
    body = [without_notes(s) for s in split_sentences(document.text)[:MAX_SENTENCES]]
    following = dict(zip(body, [*body[1:], ""], strict=False))
    usable = [
        s for s, after in following.items() if is_quotable(s) and flaw(s, after) in ("", *borne)
    ]
    if opening and opening in document.text and not _heads(opening):
        # Only a verbatim conclusion may be quoted as one.
        usable = [opening, *(s for s in usable if s not in opening)]
    if not usable:
        return None
    vectors = encoder.encode(usable)
    stated = usable[0] == opening
    if not stated:
        # Without a stated conclusion, the sentence that argues best is used instead.
        best, _ = headline(usable, vectors, claim)
        order = [best, *(i for i in range(len(usable)) if i != best)]
        usable, vectors = [usable[i] for i in order], vectors[order]
    return _Point(document, tuple(usable), vectors, reason_probabilities(usable, vectors), stated)
