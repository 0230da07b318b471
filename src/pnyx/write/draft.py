"""What a writer returns, before it is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pnyx.records import Citation, Evidence, Question, Sentence, Side

__all__ = ["Draft", "Writer", "conclusion", "premise"]


@dataclass(frozen=True, slots=True)
class Draft:
    """One side's argument as written, its sentences in reading order; `problems` are for people.

    `failed` if the writer gave nothing usable (as opposed to having nothing to say).
    """

    sentences: tuple[Sentence, ...]
    problems: tuple[str, ...] = ()
    failed: bool = False


class Writer(Protocol):
    """Argues one side of a question from the given documents, citing them."""

    @property
    def name(self) -> str: ...  # noqa: D102

    async def write(self, question: Question, side: Side, documents: Sequence[Evidence]) -> Draft:
        """Write the argument for `side` from `documents` (best first), citing their ids."""
        ...


def conclusion(text: str, citations: tuple[str, ...]) -> Sentence:
    """Return a sentence that opens a point."""
    return _sentence(text, citations, "conclusion")


def premise(text: str, citations: tuple[str, ...]) -> Sentence:
    """Return a sentence that gives a reason for the conclusion before it."""
    return _sentence(text, citations, "premise")


def _sentence(text: str, citations: tuple[str, ...], role: str) -> Sentence:
    return Sentence(text, tuple(Citation(c) for c in dict.fromkeys(citations)), {"role": role})
