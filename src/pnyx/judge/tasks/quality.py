"""How good is the argument, on 15 dimensions (ConQRet, Table 11; Wachsmuth et al. 2017b)?"""

from __future__ import annotations

from pnyx.corpora.fields import Fields
from pnyx.judge.dimensions import definition, dimensions_of
from pnyx.judge.questions import JudgeQuestion, Rating
from pnyx.judge.tasks.reading import carried, group, read_questions, texts

__all__ = ["ASKS", "EXAMPLE", "ITEMS", "KIND", "NAME", "PROMPTS", "SCALE", "read"]

NAME = "quality"
ITEMS = "rating-items"
KIND = Rating
ASKS = "how good is the argument, on each dimension?"
PROMPTS = ("quality",)
EXAMPLE = '{"id": "1", "text": "Tea is healthy, for it holds antioxidants.", "topic": "tea"}'
SCALE = (1, 3)
"""Low, average, high."""


def read(path: str) -> list[JudgeQuestion]:
    """Read items: `id`, `text`; optional `topic`, `stance`, `documents`, `dimensions`, `group`.

    Without `dimensions`, all of the task's are rated.

    Raises:
        InputError: a line is not such an item, or names an unknown dimension.
    """
    return read_questions(path, _question, name=ITEMS)


def _question(fields: Fields) -> Rating:
    identifier = fields.identifier("id")
    dimensions = texts(fields, "dimensions") or tuple(dimensions_of(NAME))
    for name in dimensions:
        definition(NAME, name)
    return Rating(
        id=identifier,
        text=fields.required("text"),
        dimensions=tuple(dict.fromkeys(dimensions)),
        scale=SCALE,
        question=fields.text("topic"),
        stance=fields.text("stance"),
        documents=texts(fields, "documents"),
        group=group(fields),
        extra=carried(fields),
    )
