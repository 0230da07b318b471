"""Does the document help to answer the question (DIRAS), under a definition of relevance?

With a stance (ConQRet) it must help to argue that side: the statement is then the side's claim.
"""

from __future__ import annotations

from pnyx.corpora.fields import Fields
from pnyx.judge.claims import claims
from pnyx.judge.questions import Support
from pnyx.judge.tasks.reading import carried, group, read_supports

__all__ = ["EXAMPLE", "NAME", "PROMPT", "SIDES", "read"]

NAME = "relevance"
PROMPT = "relevance"
EXAMPLE = (
    '{"id": "1", "question": "Should buses be free?", "document": "Fares cost cities little."}'
)

SIDES = ("pro", "con")


def read(path: str) -> list[Support]:
    """Read items: `id`, `question`, `document`; optional `definition`, `stance`, `group`.

    `question_id` and `doc_id` are carried along, like any unknown field.

    Raises:
        InputError: a line is not such an item.
    """
    return read_supports(path, _question, name="relevance-items")


def _question(fields: Fields) -> Support:
    identifier = fields.identifier("id")
    question = fields.required("question")
    stance = fields.choice("stance", SIDES)
    return Support(
        id=identifier,
        text=fields.required("document"),
        statement=question if stance is None else claims(question)[SIDES.index(stance)],
        task=NAME,
        question=question,
        guideline=fields.text("definition"),
        group=group(fields),
        extra=carried(fields, stance=stance or ""),
    )
