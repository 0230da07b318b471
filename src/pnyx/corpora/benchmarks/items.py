"""The files that judges read and write (docs/formats.md, "Files that judges read and write").

Items, answers and labels stay plain objects: unknown fields are carried along untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from pnyx.corpora.base import json_lines

ADJUDICATED = "adjudicated"
"""The annotator of a label that decides where others differ: it alone counts."""

PARTLY = "partially"
LABEL_WORDS: dict[str, bool] = {"yes": True, PARTLY: True, "no": False}
"""What people write for relevant and not; partly relevant is relevant, as in DIRAS."""


@dataclass(frozen=True)
class ItemFormat:
    """The fields of one kind of judges' file, whose types are in `item_rows`.

    `required` fields must be there, `optional` ones may be null; `key` occurs once.
    """

    name: str
    description: str
    example: str
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    key: tuple[str, ...] = ("id",)

    @cached_property
    def _validate(self) -> Callable[[Mapping[str, Any]], Any]:
        from pnyx.corpora.benchmarks.item_rows import model_of
        from pnyx.corpora.rows import checked

        return partial(checked, model_of(self.name))

    def parse(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Check one row and return it with its id as text."""
        return {**row, "id": self._validate(row).id}

    def identity(self, row: Mapping[str, Any]) -> Hashable:
        """Return what may occur once in a file."""
        values = tuple(str(row.get(name) or "") for name in self.key)
        return values if len(values) > 1 else values[0]


def _items(
    name: str, description: str, example: str, required: str, optional: str = "", key: str = "id"
) -> ItemFormat:
    names = tuple(required.split()), tuple(optional.split()), tuple(key.split())
    return ItemFormat(name, description, example, *names)


ITEM_FORMATS: dict[str, ItemFormat] = {
    f.name: f
    for f in (
        _items(
            "support-items",
            "items for `pnyx judge support`: does the text support the statement?",
            '{"id": "1", "text": "Prices rose by 4 %.", "statement": "Prices rose."}',
            "text statement",
            "question guideline group text_id question_id doc_id perspective_id",
        ),
        _items(
            "nugget-items",
            "items for `pnyx judge nugget`: does the text give this answer, or claim?",
            '{"id": "1", "text": "Built about 1450.", "statement": "In the 15th century.", '
            '"question": "When was it built?"}',
            "text statement",
            "question guideline group text_id doc_id",
        ),
        _items(
            "relevance-items",
            "items for `pnyx judge relevance`: does the document help to answer the question?",
            '{"id": "1", "question": "Is tea healthy?", "document": "Tea holds antioxidants."}',
            "question document",
            "definition stance group question_id doc_id",
        ),
        _items(
            "stance-items",
            "items for `pnyx judge stance`: does the text argue for this side of the question?",
            '{"id": "1", "text": "Tea calms.", "question": "Is tea healthy?", "stance": "pro"}',
            "text question stance",
            "guideline group text_id",
        ),
        _items(
            "preference-items",
            "items for `pnyx judge preference`: which of two answers the question better?",
            '{"id": "1", "question": "Is tea healthy?", "a": "Yes.", "b": "It depends."}',
            "a b question",
            "criterion documents group",
        ),
        _items(
            "sides-items",
            "items for `pnyx judge sides`: which side of the question does the text argue for?",
            '{"id": "1", "text": "Tea calms.", "question": "Is tea healthy?"}',
            "text question",
            "guideline group",
        ),
        _items(
            "ranking-items",
            "items for `pnyx judge ranking`: in what order do the documents serve the query?",
            '{"id": "1", "query": "Is tea healthy?", '
            '"documents": ["Tea holds antioxidants.", {"id": "d2", "text": "Tea is a drink."}]}',
            "query documents",
            "criterion group",
        ),
        _items(
            "rating-items",
            "items for `pnyx judge quality`: how good is the text?",
            '{"id": "1", "text": "Tea is healthy, for it holds antioxidants.", "topic": "tea"}',
            "text",
            "topic stance documents dimensions group",
        ),
        _items(
            "rated-items",
            "texts with people's ratings, the examples of `pnyx judge quality --shots`",
            '{"id": "1", "text": "Tea is healthy, for it holds antioxidants.", '
            '"ratings": {"cogency": 2, "clarity": 3}, "scale": [1, 3]}',
            "text ratings",
            "scale topic group",
        ),
        _items(
            "report-examples",
            "answered questions of the tree, the examples of `pnyx judge report --shots`",
            '{"id": "1", "node": "attests", "text": "Tea holds antioxidants.", '
            '"statement": "Tea cures colds.", "value": "no"}',
            "node text statement value",
            "question group",
        ),
        _items(
            "rag-items",
            "items for `pnyx judge rag`: how good are an argument and the documents it rests on?",
            '{"id": "1", "query": "Is tea healthy?", "stance": "pro", '
            '"argument": "Tea is healthy: it calms nerves [1].", '
            '"documents": ["Tea calms nerves.", {"id": "d2", "text": "Tea is a drink."}]}',
            "query documents",
            "stance argument argument_2 dimensions group",
        ),
        _items(
            "answers",
            "a judge's answers, one a line; `value` is null where there is none",
            '{"id": "1", "task": "support", "value": true, "probability": 0.9, "unscored": null, '
            '"judge": "minilm", "prompt_hash": "", "explanation": "", "group": ""}',
            "task value unscored judge",
            "probability explanation evidence method prompt_hash dimension group notes",
            key="id task dimension judge",
        ),
        _items(
            "labels",
            "people's labels, one a line; several annotators may label the same item",
            '{"id": "1", "value": true, "annotator": "anna"}',
            "value",
            "gain uncertain annotator dimension group seconds comment shown seen at",
            key="id dimension annotator",
        ),
        _items(
            "labelled-pairs",
            "relevance items with labels, as `pnyx annotate label` writes them and students learn",
            '{"id": "1", "question": "Is tea healthy?", "document": "Tea holds antioxidants.", '
            '"value": true, "probability": 0.9}',
            "question document value",
            "probability unscored explanation partial weight judge definition stance group "
            "question_id doc_id",
        ),
        _items(
            "argument-pairs",
            "two arguments that contradict each other, for `pnyx build draft --from pairs`",
            '{"id": "1", "a": "Tea calms people.", "b": "Tea keeps people awake."}',
            "a b",
        ),
        _items(
            "debate-claims",
            "claims with the views on them, for `pnyx build draft --from claims`",
            '{"id": "1", "claim": "Tea is healthy", "perspectives": '
            '[{"text": "Tea calms people.", "stance": "pro"}]}',
            "claim perspectives",
        ),
        _items(
            "survey-questions",
            "questions with answers to choose from, for `pnyx build draft --from survey`",
            '{"id": "1", "question": "How healthy is tea?", '
            '"options": ["Very", "Not very", "Not at all", "Refused"]}',
            "question options",
        ),
        _items(
            "drafts",
            "questions with opposing perspectives, as `pnyx build` drafts and filters them",
            '{"id": "1", "question": "Is tea healthy?", "perspectives": '
            '[{"text": "Tea is healthy.", "stance": "pro"}, '
            '{"text": "Tea is not healthy.", "stance": "con"}]}',
            "question perspectives",
        ),
    )
}

FORMATS = tuple(
    json_lines(
        item.name,
        "items",
        item.description,
        item.example + "\n",
        item.parse,
        key=item.identity,
        what=" and ".join(item.key),
    )
    for item in ITEM_FORMATS.values()
)
