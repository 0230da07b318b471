"""Does the text argue for this side of the question (ConQRet, BERDS)?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pnyx.corpora.fields import Fields
from pnyx.errors import InputError
from pnyx.judge.claims import claims
from pnyx.judge.questions import JudgeQuestion, Support
from pnyx.judge.tasks.reading import carried, group, read_questions
from pnyx.records import SIDES, Side

__all__ = ["ASKS", "EXAMPLE", "ITEMS", "KIND", "NAME", "PROMPTS", "ask_stance", "read"]

NAME = "stance"
ITEMS = "stance-items"
KIND = Support
ASKS = "does the text argue for this side?"
PROMPTS = ("stance", "stance-direct")
EXAMPLE = (
    '{"id": "1", "text": "Free buses fill up.", "question": "Should buses be free?",'
    ' "stance": "pro"}'
)


def read(path: str) -> list[JudgeQuestion]:
    """Read items: `id`, `text`, `question`, `stance` (`pro` or `con`: the side asked about).

    Optional: `guideline`, `group`. `text_id` is carried along, like any unknown field.

    Raises:
        InputError: a line is not such an item.
    """
    return read_questions(path, _question, name=ITEMS)


def ask_stance(
    item_id: str,
    question: str,
    text: str,
    side: Side,
    *,
    guideline: str = "",
    group: str = "",
    extra: Mapping[str, Any] | None = None,
) -> Support:
    """Make the question whether a text argues for one side of `question`; see `ask_relevance`."""
    return Support(
        id=item_id,
        text=text,
        statement=claims(question)[SIDES.index(side)],
        task=NAME,
        question=question,
        guideline=guideline,
        group=group,
        extra=extra or {},
    )


def _question(fields: Fields) -> Support:
    identifier = fields.identifier("id")
    question = fields.required("question")
    stance = cast("Side | None", fields.choice("stance", SIDES))
    if stance is None:
        raise InputError("stance is empty, expected pro or con")
    return ask_stance(
        identifier,
        question,
        fields.required("text"),
        stance,
        guideline=fields.text("guideline"),
        group=group(fields),
        extra=carried(fields, stance=stance),
    )
