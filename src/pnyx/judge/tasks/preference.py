"""Which of two arguments answers the question better (ConQRet, RAG-Direct)?"""

from __future__ import annotations

from pnyx.corpora.fields import Fields
from pnyx.judge.questions import JudgeQuestion, Preference
from pnyx.judge.tasks.reading import carried, group, read_questions, texts

__all__ = ["ASKS", "EXAMPLE", "ITEMS", "KIND", "NAME", "PROMPTS", "read"]

NAME = "preference"
ITEMS = "preference-items"
KIND = Preference
ASKS = "which of two arguments is better?"
PROMPTS = ("preference",)
EXAMPLE = '{"id": "1", "question": "Is tea healthy?", "a": "Yes.", "b": "It depends on the cup."}'


def read(path: str) -> list[JudgeQuestion]:
    """Read items: `id`, `a`, `b`, `question`; optional `criterion`, `documents`, `group`.

    Raises:
        InputError: a line is not such an item.
    """
    return read_questions(path, _question, name=ITEMS)


def _question(fields: Fields) -> Preference:
    return Preference(
        id=fields.identifier("id"),
        a=fields.text("a"),
        b=fields.text("b"),
        question=fields.required("question"),
        criterion=fields.text("criterion"),
        documents=texts(fields, "documents"),
        group=group(fields),
        extra=carried(fields),
    )
