"""Sampling of pairs to label: some from the top, some from the rest (DIRAS, section 2)."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import Evidence, Question, judged_text
from pnyx.search.engine import DocumentIndex
from pnyx.search.pipeline import Searcher


@dataclass(frozen=True, slots=True)
class PairSample:
    """How to sample pairs for each question; InputError for a number out of range.

    Attributes:
        k: how many of the best documents count as the top, at least 1.
        top: how many of these to sample; all if there are fewer.
        rest: how many of the other documents to sample.
        seed: a question's sample depends only on it and on the question's id.
    """

    k: int = 20
    top: int = 10
    rest: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"k is {self.k}, expected at least 1")
        if self.top < 0 or self.rest < 0 or self.top + self.rest == 0:
            raise InputError(
                f"{self.top} of the top and {self.rest} of the rest, expected counts of which at "
                "least one is above 0"
            )


@dataclass(frozen=True, slots=True)
class SampledPair:
    """A question and a document to label.

    Attributes:
        rank: the document's, 1-based; None beyond the top.
        weight: how many documents of its stratum it represents, at least 1.
    """

    question: Question
    document: Evidence
    stratum: Literal["top", "rest"]
    rank: int | None
    weight: float

    def row(self) -> dict[str, Any]:
        """Return the pair as a line of relevance items (docs/reference/formats.md)."""
        question, document = self.question, self.document
        return {
            "id": f"{question.id}/{document.id}",
            "question": question.text,
            "document": judged_text(document),
            "group": question.id,
            "question_id": question.id,
            "doc_id": document.id,
            "stratum": self.stratum,
            "rank": self.rank,
            "weight": self.weight,
            **({"definition": question.definition} if question.definition else {}),
        }


def sample_pairs(
    searcher: Searcher, questions: Iterable[Question], plan: PairSample | None = None
) -> Iterator[SampledPair]:
    """Sample pairs for each question (ids distinct), the top first, each in index order.

    Raises:
        InputError: a question's id appears twice, the searcher does not use an index folder, or
            the index has no data of a kind that the search needs.
    """
    plan, index = plan or PairSample(), searcher.engine
    if not isinstance(index, DocumentIndex):
        raise InputError(f"{index.name} is not an index folder; pairs are sampled from one")
    seen: set[str] = set()
    for retrieved in searcher.search(questions, plan.k):
        question = retrieved.question
        if question.id in seen:
            raise InputError(f"question {shorten(question.id, 40)!r} appears twice")
        seen.add(question.id)
        rng = random.Random(_seed(plan.seed, question.id))
        numbers = index.numbers([hit.doc_id for hit in retrieved.hits]).tolist()
        ranks = {number: hit.rank for number, hit in zip(numbers, retrieved.hits, strict=True)}
        drawn = sorted(rng.sample(sorted(ranks), min(plan.top, len(ranks))))
        weight = len(ranks) / len(drawn) if drawn else 0.0
        for number, document in zip(drawn, index.documents_at(drawn), strict=True):
            yield SampledPair(question, document, "top", ranks[number], weight)
        others = len(index) - len(ranks)
        wanted = min(plan.rest, others)
        for document in index.documents_at(_beyond(rng, len(index), set(ranks), wanted)):
            yield SampledPair(question, document, "rest", None, others / wanted)


def _seed(seed: int, question_id: str) -> int:
    """Return a seed for one question, so that its sample does not depend on other questions."""
    digest = hashlib.sha256(f"{seed}\n{question_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


def _beyond(rng: random.Random, documents: int, top: set[int], wanted: int) -> list[int]:
    drawn = rng.sample(range(documents - len(top)), wanted)
    for number in sorted(top):  # never builds a list of the millions of other documents
        drawn = [document + (document >= number) for document in drawn]
    return sorted(drawn)
