"""Validation of judges' files: a model for each format, built from the types of its fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, create_model, model_validator

from pnyx.core.records import Node
from pnyx.formats.label_words import LABEL_WORDS, PARTLY
from pnyx.formats.rows import Filled, FilledId, Id, Number, Row, distinct, must, says


def _as_object(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


def _lowered(value: Any) -> Any:
    return (value.lower() or None) if isinstance(value, str) else value


def _is_value(value: Any) -> bool:
    if isinstance(value, float):
        return isfinite(value)
    return isinstance(value, bool | int | str | list)


def _is_relevance(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in LABEL_WORDS
    return isinstance(value, bool)


class _Document(Row):
    text: str


class _Ranked(_Document):
    id: Id | None = None


_Side = Annotated[Literal["pro", "con"], BeforeValidator(_lowered)]
_Stance = Annotated[Literal["pro", "con", "neutral"] | None, BeforeValidator(_lowered)]


class _View(Row):
    text: Filled
    stance: _Stance = None
    id: Id | None = None


_Names = Annotated[list[Filled], Field(min_length=1), distinct(lambda _, name: name)]
_Documents = list[Annotated[_Document, BeforeValidator(_as_object)]]
_RankedDocuments = Annotated[
    list[Annotated[_Ranked, BeforeValidator(_as_object)]],
    Field(min_length=1),
    distinct(lambda _, document: document.id, ": id"),
]
_Views = Annotated[
    list[Annotated[_View, BeforeValidator(_as_object)]],
    Field(min_length=1),
    distinct(lambda position, view: view.id or str(position + 1), ": id"),
]
_Value = Annotated[Any, must(_is_value, "true, false, a finite number, text or a list")]
_Relevance = Annotated[Any, must(_is_relevance, "true, false, null, yes, no or partially")]
_Scale = Annotated[
    list[Number],
    must(lambda ends: len(ends) == 2 and ends[0] < ends[1], "[LOWEST, HIGHEST]"),
]

_USUAL: dict[str, Any] = {
    **dict.fromkeys(("text", "question", "statement", "document", "query", "claim"), Filled),
    **dict.fromkeys(("group", "annotator"), Id),
    **dict.fromkeys(("text_id", "question_id", "doc_id", "perspective_id"), Id),
    "dimensions": _Names,
    "documents": _Documents,
    "gain": Number,
    "notes": dict[str, Any],
    "options": _Names,
    "partial": bool,
    "perspectives": _Views,
    "probability": Annotated[Number, must(lambda value: 0 <= value <= 1, "0 to 1")],
    "ratings": Annotated[dict[str, Number], Field(min_length=1)],
    "scale": _Scale,
    "seconds": Number,
    "stance": Annotated[_Side | None, BeforeValidator(_lowered)],
    "uncertain": bool | Number,
    "unscored": Filled | None,
    "weight": Annotated[Number, must(lambda value: value > 0, "a number above 0")],
}
"""Field -> its type, unless a format overrides it; all others are text."""

_OTHERS: dict[tuple[str, str], Any] = {
    ("stance-items", "stance"): _Side,
    ("ranking-items", "documents"): _RankedDocuments,
    ("rag-items", "documents"): _RankedDocuments,
    ("rating-items", "stance"): _Stance,
    ("answers", "task"): Filled,
    ("answers", "value"): _Value | None,
    ("labels", "value"): _Value,
    ("labelled-pairs", "value"): _Relevance | None,
    ("report-examples", "node"): Node,
    ("report-examples", "value"): Annotated[
        Any, must(_is_relevance, "true, false, yes, no or partially")
    ],
    ("argument-pairs", "a"): Filled,
    ("argument-pairs", "b"): Filled,
}


def _answered_or_not(row: Any) -> Any:
    """Check that an answer has either a value or the reason for its absence."""
    if row.value is not None and row.unscored is not None:
        raise says("both value and unscored, expected one of them to be null")
    if row.value is None and row.unscored is None:
        raise says("value is null and unscored gives no reason")
    return row


def _labelled_or_not(row: Any) -> Any:
    """Check an open pair (no probability), an answered one (no reason) and a partial one (yes)."""
    value = row.value
    if value is not None and row.unscored is not None:
        raise says("both value and unscored, expected one of them to be null")
    if value is None and row.probability is not None:
        raise says("value is null, expected no probability either")
    relevant = LABEL_WORDS[value.strip().lower()] if isinstance(value, str) else value
    if row.partial and not relevant:
        raise says("partial is true, expected a value that is yes")
    return row


def _in_part(row: Any) -> Any:
    """Check that only nuggets are partly given."""
    word = row.value.strip().lower() if isinstance(row.value, str) else ""
    if word == PARTLY and row.node not in ("relevant", "answers"):
        raise says(f"value: found {PARTLY}, expected yes or no at {row.node}")
    return row


def _compared(row: Any) -> Any:
    """Check that a second argument comes with a first to compare."""
    if (row.argument_2 or "").strip() and not (row.argument or "").strip():
        raise says("argument_2 without argument, expected both or the first alone")
    return row


_WHOLE: dict[str, Callable[[Any], Any]] = {
    "answers": _answered_or_not,
    "labelled-pairs": _labelled_or_not,
    "rag-items": _compared,
    "report-examples": _in_part,
}
"""Format -> the check of a whole row."""


@cache
def model_of(name: str, required: tuple[str, ...], optional: tuple[str, ...]) -> type[Row]:
    """Return the model of a format with these fields; other fields are kept."""
    fields = dict[str, Any](id=(FilledId, ...))
    for field in required:
        fields[field] = _OTHERS.get((name, field), _USUAL.get(field, str)), ...
    for field in optional:
        kind = _OTHERS.get((name, field), str if field == "question" else _USUAL.get(field, str))
        fields[field] = kind | None, None
    checks: dict[str, Any] = {}
    if name in _WHOLE:
        checks["whole"] = model_validator(mode="after")(_WHOLE[name])
    return create_model(name, __base__=Row, __validators__=checks, **fields)


def plain_of(
    name: str, required: tuple[str, ...], optional: tuple[str, ...]
) -> Callable[[Mapping[str, Any]], bool]:
    """Return a fast check that accepts most valid rows, several times as fast as the model.

    It never accepts an invalid row.
    """
    needed, filled = {"id", *required}, {"id"}
    usual: dict[str, set[type]] = {"value": {bool}, "probability": {float}}
    allowed: dict[str, set[type]] = {"id": {str}}
    for field in (*required, *optional):
        kind = _OTHERS.get((name, field), _USUAL.get(field, str))
        types: set[type] = {str} if kind in (str, Id, Filled) else usual.get(field, set())
        nullable = field == "unscored" or (field in optional and field != "value")
        allowed[field] = types | {type(None)} if nullable else types
        filled |= {field} if kind == Filled else set()

    def is_plain(row: Mapping[str, Any]) -> bool:
        for field, value in row.items():
            if field in allowed:
                kind = type(value)
                if kind not in allowed[field]:
                    return False
                if kind is float and not 0 <= value <= 1:
                    return False
                # Non-ASCII text could contain a lone surrogate; a leading space, blank text.
                if kind is str and not (
                    value.isascii() and (value[:1] > " " or field not in filled)
                ):
                    return False
        return needed <= row.keys()

    return is_plain if _WHOLE.get(name) in (None, _answered_or_not) else lambda _: False
