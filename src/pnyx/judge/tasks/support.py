"""Does the text support the statement (BERDS perspective detection; ARGUE attestation)?"""

from __future__ import annotations

from pnyx.corpora.fields import Fields
from pnyx.judge.questions import JudgeQuestion, Support
from pnyx.judge.tasks.reading import carried, group, read_questions

__all__ = ["ASKS", "EXAMPLE", "ITEMS", "KIND", "MANY", "NAME", "PROMPTS", "read"]

NAME = "support"
ITEMS = "support-items"
KIND = Support
ASKS = "does the text support the statement?"
PROMPTS = (
    *("support", "support-direct"),
    *("support-perspective", "support-perspective-direct"),
    *("support-perspective-one-shot", "support-perspective-one-shot-direct"),
)
MANY = "support-many"
EXAMPLE = '{"id": "1", "text": "Fares fell and ridership rose.", "statement": "Buses got cheaper."}'


def read(path: str) -> list[JudgeQuestion]:
    """Read items: `id`, `text`, `statement`; optional `question`, `guideline`, `group`, `text_id`.

    Raises:
        InputError: a line is not such an item.
    """
    return read_questions(path, _question, name=ITEMS)


def _question(fields: Fields) -> Support:
    return Support(
        id=fields.identifier("id"),
        text=fields.required("text"),
        statement=fields.required("statement"),
        task=NAME,
        question=fields.text("question"),
        guideline=fields.text("guideline"),
        group=group(fields),
        extra=carried(fields),
    )
