"""Does the text argue for this side of the question (ConQRet, BERDS)?"""

from __future__ import annotations

from pnyx.corpora.fields import Fields
from pnyx.errors import InputError
from pnyx.judge.claims import claims
from pnyx.judge.questions import Support
from pnyx.judge.tasks.reading import carried, group, read_supports
from pnyx.judge.tasks.relevance import SIDES

__all__ = ["EXAMPLE", "NAME", "PROMPT", "read"]

NAME = "stance"
PROMPT = "stance"
EXAMPLE = (
    '{"id": "1", "text": "Free buses fill up.", "question": "Should buses be free?",'
    ' "stance": "pro"}'
)


def read(path: str) -> list[Support]:
    """Read items: `id`, `text`, `question`, `stance` (`pro` or `con`: the side asked about).

    Optional: `guideline`, `group`. `text_id` is carried along, like any unknown field.

    Raises:
        InputError: a line is not such an item.
    """
    return read_supports(path, _question)


def _question(fields: Fields) -> Support:
    identifier = fields.identifier("id")
    question = fields.required("question")
    stance = fields.choice("stance", SIDES)
    if stance is None:
        raise InputError("no stance, expected pro or con")
    return Support(
        id=identifier,
        text=fields.required("text"),
        statement=claims(question)[SIDES.index(stance)],
        task=NAME,
        question=question,
        guideline=fields.text("guideline"),
        group=group(fields),
        extra=carried(fields, stance=stance),
    )
