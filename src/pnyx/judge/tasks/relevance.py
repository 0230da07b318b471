"""Does the document help to answer the question (DIRAS), under a definition of relevance?

With a stance (ConQRet) it must help to argue that side: the statement is then the side's claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pnyx.corpora.fields import Fields
from pnyx.judge.claims import claims
from pnyx.judge.questions import JudgeQuestion, Support
from pnyx.judge.tasks.reading import carried, group, read_questions
from pnyx.records import SIDES, Side

__all__ = [
    "ASKS",
    "EXAMPLE",
    "ITEMS",
    "KIND",
    "NAME",
    "PROMPTS",
    "ask_relevance",
    "question_of",
    "read",
]

NAME = "relevance"
ITEMS = "relevance-items"
KIND = Support
ASKS = "does the document help with the question?"
PROMPTS = (
    *("relevance", "relevance-direct"),
    *("relevance-probability", "relevance-probability-direct"),
    *("relevance-examples", "relevance-examples-direct"),
)
EXAMPLE = (
    '{"id": "1", "question": "Should buses be free?", "document": "Fares cost cities little."}'
)


def read(path: str) -> list[JudgeQuestion]:
    """Read items: `id`, `question`, `document`; optional `definition`, `stance`, `group`.

    `question_id` and `doc_id` are carried along, like any unknown field.

    Raises:
        InputError: a line is not such an item.
    """
    return read_questions(path, _question, name=ITEMS)


def question_of(row: Mapping[str, Any]) -> Support:
    """Make the question of one line.

    Args:
        row: a line of relevance items that the format has checked.
    """
    return _question(Fields(row))


def ask_relevance(
    item_id: str,
    question: str,
    document: str,
    *,
    definition: str = "",
    stance: Side | None = None,
    group: str = "",
    extra: Mapping[str, Any] | None = None,
) -> Support:
    """Make the question whether a document helps to answer `question`, or to argue one side of it.

    Args:
        item_id: unique among the questions of a run.
        question: the contentious question.
        document: the text that is judged.
        definition: what makes a document relevant; worth more than a better judge (DIRAS).
        stance: the side that the document must help to argue; None for either.
        group: the topic, for per-topic measures.
        extra: fields that go along to the answers.
    """
    return Support(
        id=item_id,
        text=document,
        statement=question if stance is None else claims(question)[SIDES.index(stance)],
        task=NAME,
        question=question,
        guideline=definition,
        group=group,
        extra=extra or {},
    )


def _question(fields: Fields) -> Support:
    identifier = fields.identifier("id")
    question = fields.required("question")
    stance = cast("Side | None", fields.choice("stance", SIDES))
    return ask_relevance(
        identifier,
        question,
        fields.required("document"),
        definition=fields.text("definition"),
        stance=stance,
        group=group(fields),
        extra=carried(fields, stance=stance or ""),
    )
