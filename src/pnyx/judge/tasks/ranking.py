"""In what order do the documents serve the query (listwise; ConQRet Table 9, DIRAS 4.1)?"""

from __future__ import annotations

from pnyx.corpora.fields import Fields
from pnyx.judge.questions import JudgeQuestion, Ranking
from pnyx.judge.tasks.reading import carried, group, read_questions, texts

__all__ = ["ASKS", "EXAMPLE", "ITEMS", "KIND", "NAME", "PROMPTS", "read"]

NAME = "ranking"
ITEMS = "ranking-items"
KIND = Ranking
ASKS = "in what order do the documents serve the query?"
PROMPTS = ("ranking",)
EXAMPLE = (
    '{"id": "1", "query": "Is tea healthy?", "documents": ["Tea is brewed.", "Tea calms nerves."]}'
)


def read(path: str) -> list[JudgeQuestion]:
    """Read items: `id`, `query`, `documents`; optional `criterion`, `group`.

    Raises:
        InputError: a line is not such an item.
    """
    return read_questions(path, _question, name=ITEMS)


def _question(fields: Fields) -> Ranking:
    return Ranking(
        id=fields.identifier("id"),
        query=fields.required("query"),
        texts=texts(fields, "documents"),
        criterion=fields.text("criterion"),
        group=group(fields),
        extra=carried(fields),
    )
