"""Make the question for a judge from a line of an items file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import SIDES, Side
from pnyx.formats.fields import Fields
from pnyx.judging.dimensions import definition, dimensions_of, scales_of
from pnyx.judging.questions import Preference, Ranking, RatedShot, Rating, Support
from pnyx.judging.rag.rag import dimensions_for
from pnyx.judging.stances import ask_claims, ask_relevance, ask_stance

if TYPE_CHECKING:
    from pnyx.judging.dimensions.own import OwnDimensions


def make_support(fields: Fields) -> Support:
    """Make a question from the fields text, statement."""
    return Support(
        id=fields.identifier("id"),
        text=fields.required("text"),
        statement=fields.required("statement"),
        question=fields.text("question"),
        guideline=fields.text("guideline"),
        **_shared(fields),
    )


def supported_as(task: str) -> Callable[[Fields], Support]:
    """Return a function that makes a question from the same fields for another task."""
    return lambda fields: replace(make_support(fields), task=task)


def make_relevance(fields: Fields) -> Support:
    """Make a question from the fields question, document; stance."""
    identifier, question = fields.identifier("id"), fields.required("question")
    stance = cast("Side | None", fields.choice("stance", SIDES))
    return ask_relevance(
        identifier,
        question,
        fields.required("document"),
        definition=fields.text("definition"),
        stance=stance,
        **_shared(fields, stance=stance or ""),
    )


def make_stance(fields: Fields) -> Support:
    """Make a question from the fields text, question, stance."""
    identifier, question = fields.identifier("id"), fields.required("question")
    stance = cast("Side | None", fields.choice("stance", SIDES))
    if stance is None:
        raise InputError("stance is empty, expected pro or con")
    return ask_stance(
        identifier,
        question,
        fields.required("text"),
        stance,
        guideline=fields.text("guideline"),
        **_shared(fields, stance=stance),
    )


def make_quality(fields: Fields, custom: OwnDimensions | None = None) -> Rating:
    """Make a question from the fields text; dimensions, those of `custom` if given."""
    identifier = fields.identifier("id")
    defined = dimensions_of("quality") if custom is None else custom.dimensions
    dimensions = _texts(fields, "dimensions") or tuple(defined)
    for name in dimensions:
        if custom is None:
            definition("quality", name)
        elif name not in defined:
            expected = ", ".join(defined)
            raise InputError(f"dimensions: found {shorten(name, 40)!r}, expected {expected}")
    scale = next(iter(scales_of("quality").values())) if custom is None else custom.scale
    return Rating(
        id=identifier,
        text=fields.required("text"),
        dimensions=tuple(dict.fromkeys(dimensions)),
        scale=scale.bounds,
        custom=custom,
        shots=() if custom is None else tuple(RatedShot(*example) for example in custom.examples),
        question=fields.text("topic"),
        stance=fields.text("stance"),
        documents=_texts(fields, "documents"),
        **_shared(fields),
    )


def make_preference(fields: Fields) -> Preference:
    """Make a question from the fields a, b, question."""
    return Preference(
        id=fields.identifier("id"),
        a=fields.text("a"),
        b=fields.text("b"),
        question=fields.required("question"),
        criterion=fields.text("criterion"),
        documents=_texts(fields, "documents"),
        **_shared(fields),
    )


def make_sides(fields: Fields) -> Preference:
    """Make a question from the fields text, question."""
    identifier, question = fields.identifier("id"), fields.required("question")
    text, criterion = fields.required("text"), fields.text("guideline")
    return ask_claims(identifier, question, text, definition=criterion, **_shared(fields))


def make_ranking(fields: Fields) -> Ranking:
    """Make a question from the fields query, documents."""
    return Ranking(
        id=fields.identifier("id"),
        query=fields.required("query"),
        texts=_texts(fields, "documents"),
        criterion=fields.text("criterion"),
        **_shared(fields),
    )


def make_rag(fields: Fields) -> Rating:
    """Make a question from the fields query, documents, argument."""
    identifier, query = fields.identifier("id"), fields.required("query")
    text, other = fields.text("argument"), fields.text("argument_2")
    dimensions = _texts(fields, "dimensions") or dimensions_for(text, other)
    for name in dimensions:
        definition("rag", name)
    rows = fields.rest.get("documents") or ()
    ids = [row.get("id") if isinstance(row, dict) else None for row in rows]
    documents: dict[str, Any] = {} if None in ids else {"doc_ids": list(map(str, ids))}
    shared = _shared(fields)
    return Rating(
        id=identifier,
        text=text,
        dimensions=tuple(dict.fromkeys(dimensions)),
        scale=(0, 1),
        task="rag",
        question=query,
        stance=fields.text("stance"),
        documents=_texts(fields, "documents"),
        other=other,
        group=shared["group"],
        extra={**documents, **fields.rest},
    )


def _shared(fields: Fields, **more: str) -> dict[str, Any]:
    """Return the group (a number counts as its digits) and the fields copied to the answers."""
    stated = fields.rest.get("group") not in (None, "")
    group = fields.identifier("group") if stated else fields.text("group")
    carried = {name: value for name, value in more.items() if value}
    return {"group": group, "extra": {**carried, **fields.rest}}


def _texts(fields: Fields, name: str) -> tuple[str, ...]:
    value = fields.rest.pop(name, None) or ()
    return tuple(item["text"] if isinstance(item, dict) else item for item in value)
