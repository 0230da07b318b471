"""The files that judges read and write (docs/formats.md, "Files that judges read and write").

Items, answers and labels stay plain objects: unknown fields are carried along untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pnyx.corpora.base import json_lines
from pnyx.corpora.fields import Fields, a_list, an_object, number, string, unlike
from pnyx.errors import InputError, shorten
from pnyx.records import NODES, SIDES, STANCES

Check: TypeAlias = Callable[[Any, str], object]

ADJUDICATED = "adjudicated"
"""The annotator of a label that decides where others differ: it alone counts."""

PARTLY = "partially"
LABEL_WORDS: dict[str, bool] = {"yes": True, PARTLY: True, "no": False}
"""What people write for relevant and not; partly relevant is relevant, as in DIRAS."""


def _not_blank(value: Any, name: str) -> None:
    if not string(value, name).strip():
        raise InputError(f"{name} is empty")


def _some(value: Any, name: str) -> list[Any]:
    if not (found := a_list(value, name)):
        raise InputError(f"{name} is empty")
    return found


def _names(value: Any, name: str) -> None:
    seen: set[str] = set()
    for i, item in enumerate(_some(value, name)):
        _not_blank(item, f"{name}[{i}]")
        if item in seen:
            raise InputError(f"{name}[{i}]: found {shorten(item, 40)!r} twice")
        seen.add(item)


def _documents(value: Any, name: str) -> None:
    for i, item in enumerate(a_list(value, name)):
        string(item.get("text") if isinstance(item, dict) else item, f"{name}[{i}]")


def _ranked(value: Any, name: str) -> None:
    """Documents as above, at least one, whose ids differ where they are given."""
    _documents(_some(value, name), name)
    seen: set[str] = set()
    for i, item in enumerate(value):
        if isinstance(item, dict) and item.get("id") is not None:
            place = f"{name}[{i}].id"
            _identifier(item["id"], place)
            if str(item["id"]) in seen:
                raise InputError(f"{place}: found {shorten(str(item['id']), 40)!r} twice")
            seen.add(str(item["id"]))


def _views(value: Any, name: str) -> None:
    """Perspectives, at least one: texts, or objects with text, stance and own id."""
    seen: set[str] = set()
    for i, item in enumerate(_some(value, name)):
        place = f"{name}[{i}]"
        given = item if isinstance(item, dict) else {"text": item}
        _not_blank(given.get("text"), place)
        _one_of(STANCES)(given.get("stance"), f"{place}.stance")
        if given.get("id") is not None:
            _identifier(given["id"], f"{place}.id")
        key = str(given.get("id") or i + 1)
        if key in seen:
            raise InputError(f"{place}: found the id {shorten(key, 40)!r} twice")
        seen.add(key)


def _identifier(value: Any, name: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        string(value, name)


def _value(value: Any, name: str) -> None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        number(value, name)
    elif not isinstance(value, bool | str | list):
        raise unlike(value, name, "true, false, a number, text or a list")


def _must(holds: Callable[[Any], bool], expected: str, first: Check = lambda *_: None) -> Check:
    """Return the check of a field for which `first` passes and something holds."""

    def check(value: Any, name: str) -> None:
        first(value, name)
        if not holds(value):
            raise unlike(value, name, expected)

    return check


def _is_relevance(value: Any) -> bool:
    word = isinstance(value, str) and value.strip().lower() in LABEL_WORDS
    return word or value is None or isinstance(value, bool)


_VALUES = "true, false, yes, no or partially"


def _flag_or_number(value: Any, name: str) -> None:
    if not isinstance(value, bool):
        number(value, name)


def _one_of(options: tuple[str, ...]) -> Check:
    return lambda value, name: Fields({name: value}).choice(name, options)


def _side(value: Any, name: str) -> None:
    if Fields({name: value}).choice(name, SIDES) is None:
        raise InputError(f"{name} is empty, expected pro or con")


def _ratings(value: Any, name: str) -> None:
    """A number for each dimension, at least one."""
    an_object(value, name)
    if not value:
        raise InputError(f"{name} is empty, expected a number for each dimension")
    for dimension, rating in value.items():
        number(rating, f"{name}.{shorten(dimension, 40)}")


def _bounds(value: Any, name: str) -> None:
    """Lowest and highest value."""
    two = isinstance(value, list) and len(value) == 2
    ends = [number(end, name) for end in a_list(value, name)]
    if not two or ends[0] >= ends[1]:
        raise InputError(f"{name}: found {shorten(repr(value), 40)}, expected [LOWEST, HIGHEST]")


def _reason(value: Any, name: str) -> None:
    if value is not None:
        _not_blank(value, name)


def _anything(value: Any, name: str) -> None:
    """Checked with the row as a whole."""


_USUAL: dict[str, Check] = {
    **dict.fromkeys(("text", "question", "statement", "document", "query", "claim"), _not_blank),
    **dict.fromkeys(("group", "annotator"), _identifier),
    **dict.fromkeys(("text_id", "question_id", "doc_id", "perspective_id"), _identifier),
    "documents": _documents,
    "gain": number,
    "notes": an_object,
    "options": _names,
    "perspectives": _views,
    "probability": _must(lambda value: 0 <= value <= 1, "0 to 1", number),
    "stance": _one_of(SIDES),
    "unscored": _reason,
}
"""Field -> its check, where a format does not give another; all others are text."""


@dataclass(frozen=True, slots=True)
class ItemFormat:
    """The fields of one kind of judges' file.

    `optional` fields are checked where they are there and not null; the fields of `key` occur once
    together; `whole` checks the row as a whole.
    """

    name: str
    description: str
    example: str
    required: Mapping[str, Check]
    optional: Mapping[str, Check] = field(default_factory=dict)
    key: tuple[str, ...] = ("id",)
    whole: Callable[[Mapping[str, Any]], None] | None = None

    def parse(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Check one row and return it with its id as text."""
        identifier = Fields(row).identifier("id")
        for name, check in self.required.items():
            if name not in row:
                found = ", ".join(shorten(k, 30) for k in list(row)[:8])
                raise InputError(f"no {name} (fields found: {found})")
            check(row[name], name)
        for name, check in self.optional.items():
            if row.get(name) is not None:
                check(row[name], name)
        if self.whole is not None:
            self.whole(row)
        return {**row, "id": identifier}

    def identity(self, row: Mapping[str, Any]) -> Hashable:
        """Return what may occur once in a file."""
        values = tuple(str(row.get(name) or "") for name in self.key)
        return values if len(values) > 1 else values[0]


def _answered_or_not(row: Mapping[str, Any]) -> None:
    """An answer has either a value or the reason why it has none."""
    scored, unscored = row["value"] is not None, row["unscored"] is not None
    if scored:
        _value(row["value"], "value")
    if scored and unscored:
        raise InputError("both value and unscored, expected one of them to be null")
    if not scored and not unscored:
        raise InputError("value is null and unscored gives no reason")


def _labelled_or_not(row: Mapping[str, Any]) -> None:
    """An open pair has no probability, an answered one no reason; only a yes is partial."""
    value = row["value"]
    if value is not None and row.get("unscored") is not None:
        raise InputError("both value and unscored, expected one of them to be null")
    if value is None and row.get("probability") is not None:
        raise InputError("value is null, expected no probability either")
    relevant = LABEL_WORDS[value.strip().lower()] if isinstance(value, str) else value
    if row.get("partial") and not relevant:
        raise InputError("partial is true, expected a value that is yes")


def _in_part(row: Mapping[str, Any]) -> None:
    """Only nuggets are given in part."""
    word = row["value"].strip().lower() if isinstance(row["value"], str) else ""
    if word == PARTLY and row["node"] not in ("relevant", "answers"):
        raise InputError(f"value: found {PARTLY}, expected yes or no at {row['node']}")


def _compared(row: Mapping[str, Any]) -> None:
    """A second argument is there for comparison with a first."""
    if (row.get("argument_2") or "").strip() and not (row.get("argument") or "").strip():
        raise InputError("argument_2 without argument, expected both or the first alone")


def _items(
    name: str,
    description: str,
    example: str,
    required: str,
    optional: str = "",
    *,
    key: str = "id",
    whole: Callable[[Mapping[str, Any]], None] | None = None,
    **others: Check,
) -> ItemFormat:
    """Return a format of the names of its fields; `others` replace the usual checks."""

    def checks(names: str, own: Mapping[str, Check]) -> dict[str, Check]:
        return {name: own.get(name) or _USUAL.get(name, string) for name in names.split()}

    fields = checks(required, others), checks(optional, {"question": string, **others})
    return ItemFormat(name, description, example, *fields, tuple(key.split()), whole)


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
            stance=_side,
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
            documents=_ranked,
        ),
        _items(
            "rating-items",
            "items for `pnyx judge quality`: how good is the text?",
            '{"id": "1", "text": "Tea is healthy, for it holds antioxidants.", "topic": "tea"}',
            "text",
            "topic stance documents dimensions group",
            stance=_one_of(STANCES),
            dimensions=_names,
        ),
        _items(
            "rated-items",
            "texts with people's ratings, the examples of `pnyx judge quality --shots`",
            '{"id": "1", "text": "Tea is healthy, for it holds antioxidants.", '
            '"ratings": {"cogency": 2, "clarity": 3}, "scale": [1, 3]}',
            "text ratings",
            "scale topic group",
            ratings=_ratings,
            scale=_bounds,
        ),
        _items(
            "report-examples",
            "answered questions of the tree, the examples of `pnyx judge report --shots`",
            '{"id": "1", "node": "attests", "text": "Tea holds antioxidants.", '
            '"statement": "Tea cures colds.", "value": "no"}',
            "node text statement value",
            "question group",
            whole=_in_part,
            node=_must(lambda value: value in NODES, f"one of {', '.join(NODES)}", string),
            value=_must(lambda value: value is not None and _is_relevance(value), _VALUES),
        ),
        _items(
            "rag-items",
            "items for `pnyx judge rag`: how good are an argument and the documents it rests on?",
            '{"id": "1", "query": "Is tea healthy?", "stance": "pro", '
            '"argument": "Tea is healthy: it calms nerves [1].", '
            '"documents": ["Tea calms nerves.", {"id": "d2", "text": "Tea is a drink."}]}',
            "query documents",
            "stance argument argument_2 dimensions group",
            documents=_ranked,
            dimensions=_names,
            whole=_compared,
        ),
        _items(
            "answers",
            "a judge's answers, one a line; `value` is null where there is none",
            '{"id": "1", "task": "support", "value": true, "probability": 0.9, "unscored": null, '
            '"judge": "minilm", "prompt_hash": "", "explanation": "", "group": ""}',
            "task value unscored judge",
            "probability explanation evidence method prompt_hash dimension group notes",
            key="id task dimension judge",
            whole=_answered_or_not,
            task=_not_blank,
            value=_anything,
        ),
        _items(
            "labels",
            "people's labels, one a line; several annotators may label the same item",
            '{"id": "1", "value": true, "annotator": "anna"}',
            "value",
            "gain uncertain annotator dimension group seconds comment shown seen at",
            key="id dimension annotator",
            value=_value,
            uncertain=_flag_or_number,
            seconds=number,
        ),
        _items(
            "labelled-pairs",
            "relevance items with labels, as `pnyx annotate label` writes them and students learn",
            '{"id": "1", "question": "Is tea healthy?", "document": "Tea holds antioxidants.", '
            '"value": true, "probability": 0.9}',
            "question document value",
            "probability unscored explanation partial weight judge definition stance group "
            "question_id doc_id",
            whole=_labelled_or_not,
            value=_must(_is_relevance, "true, false, null, yes, no or partially"),
            partial=_must(lambda value: isinstance(value, bool), "true or false"),
            weight=_must(lambda value: value > 0, "a number above 0", number),
        ),
        _items(
            "argument-pairs",
            "two arguments that contradict each other, for `pnyx build draft --from pairs`",
            '{"id": "1", "a": "Tea calms people.", "b": "Tea keeps people awake."}',
            "a b",
            a=_not_blank,
            b=_not_blank,
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
