"""Does the text support the statement (BERDS perspective detection; ARGUE attestation)?"""

from __future__ import annotations

from pnyx.corpora.fields import Fields
from pnyx.judge.questions import Support
from pnyx.judge.tasks.reading import carried, group, read_supports

__all__ = ["EXAMPLE", "NAME", "PROMPT", "read"]

NAME = "support"
PROMPT = "support"
EXAMPLE = '{"id": "1", "text": "Fares fell and ridership rose.", "statement": "Buses got cheaper."}'


def read(path: str) -> list[Support]:
    """Read items: `id`, `text`, `statement`; optional `question`, `guideline`, `group`, `text_id`.

    Raises:
        InputError: a line is not such an item.
    """
    return read_supports(path, _question, name="support-items")


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
