"""Nuggets: what an ideal report says, as questions with answers (ARGUE) or as claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pnyx.core.records import extra_fields


@dataclass(frozen=True, slots=True)
class NuggetReference:
    """A document that attests an answer or a claim; `extra` holds offsets, collection and so on."""

    doc_id: str
    extra: Mapping[str, Any] = extra_fields()


@dataclass(frozen=True, slots=True)
class NuggetAnswer:
    """An answer to a nugget's question, with the documents that attest it."""

    text: str
    references: tuple[NuggetReference, ...] = ()
    extra: Mapping[str, Any] = extra_fields()

    @property
    def doc_ids(self) -> tuple[str, ...]:
        """The documents that attest it, without duplicates, in order."""
        return tuple(dict.fromkeys(reference.doc_id for reference in self.references))


@dataclass(frozen=True, slots=True)
class Nugget:
    """Content of an ideal report: a question with its answers (ARGUE), or a plain claim.

    `id` is unique within a bank. A claim has no answers: it is its own answer, and `references`
    attest it. A question without answers is known to have none in the collection. `aggregator` is
    `AND` (all answers are required), `OR` (one is enough) or another word of the bank; empty if the
    bank does not say. `importance` is `vital`, `okay` or another word of the bank, or empty.
    `sub_nuggets` are the parts that a bank lists; their ids are unique among them.
    """

    id: str
    text: str
    answers: tuple[NuggetAnswer, ...] = ()
    is_claim: bool = False
    aggregator: str = ""
    importance: str = ""
    references: tuple[NuggetReference, ...] = ()
    sub_nuggets: tuple[Nugget, ...] = ()
    extra: Mapping[str, Any] = extra_fields()

    @property
    def expected(self) -> tuple[NuggetAnswer, ...]:
        """The answers that a report can give: those of the question, or the claim itself."""
        return (NuggetAnswer(self.text, self.references),) if self.is_claim else self.answers

    @property
    def unanswerable(self) -> bool:
        """Whether its question is known to have no answer in the collection."""
        return not self.is_claim and not self.answers


@dataclass(frozen=True, slots=True)
class NuggetBank:
    """The nuggets of one topic. `title` is the topic's text; `metadata` and `extra` are unchanged.

    `run_id` and `team_id` belong to a submitted bank (RAGTIME 2026) and are otherwise empty.
    """

    topic_id: str
    nuggets: tuple[Nugget, ...] = ()
    title: str = ""
    run_id: str = ""
    team_id: str = ""
    metadata: Mapping[str, Any] = extra_fields()
    extra: Mapping[str, Any] = extra_fields()

    @property
    def attesting(self) -> dict[str, list[tuple[str, int]]]:
        """Document id -> the (nugget id, position of the answer) pairs that it attests."""
        pairs: dict[str, list[tuple[str, int]]] = {}
        for nugget in self.nuggets:
            for position, answer in enumerate(nugget.expected):
                for doc_id in answer.doc_ids:
                    pairs.setdefault(doc_id, []).append((nugget.id, position))
        return pairs
