"""Items that ask whether a document supports a perspective (BERDS, Appendix A)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pnyx.core.records import Perspective
from pnyx.formats.text.segment import split_words
from pnyx.judging.questions import Support

PASSAGE_WORDS = 100
"""BERDS, 4.2."""


def pair_id(question_id: str, text_id: str, perspective_id: str) -> str:
    """Return the id of the item that asks whether a text supports a perspective."""
    return f"{question_id}/{text_id}/{perspective_id}"


def ask_perspectives(
    doc_id: str,
    text: str,
    perspectives: Sequence[Perspective],
    *,
    question: str = "",
    words: int = PASSAGE_WORDS,
) -> Iterator[Support]:
    """Yield the question whether a document supports each of a question's perspectives.

    Questions about one passage are adjacent, so that a judge reads it once. `question_id`,
    `doc_id`, `perspective_id` and `text_id` are copied to the answers; for a document in several
    passages also `passage`, from 1, and their number, `passages`.

    Args:
        doc_id: id of the document.
        text: the whole document.
        perspectives: all perspectives on one question.
        question: its text, if the judge should see it.
        words: length of the longest passage; 0 keeps the document whole.
    """
    passages = (split_words(text, words) if words else []) or [text]
    for number, passage in enumerate(passages, 1):
        text_id = f"{doc_id}#{number}" if len(passages) > 1 else doc_id
        cut = {"passage": number, "passages": len(passages)} if len(passages) > 1 else {}
        for perspective in perspectives:
            yield Support(
                id=pair_id(perspective.question_id, text_id, perspective.id),
                text=passage,
                statement=perspective.text,
                question=question,
                group=perspective.question_id,
                extra={
                    "question_id": perspective.question_id,
                    "doc_id": doc_id,
                    "perspective_id": perspective.id,
                    "text_id": text_id,
                    **cut,
                },
            )
