"""Replies of writers: sentences and the documents they cite, in the forms that models use.

The schema that is sent remains strict. In reading, a citation may be `"1"`, `"Document 1"` or a
bare number, a sentence may be plain text, and unknown fields are ignored. None of this changes the
content, and each deviation is noted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from pnyx.core.errors import shorten
from pnyx.core.records import Document
from pnyx.formats.text.citations import without_marks
from pnyx.judging.llm.leniency import mark_departure
from pnyx.judging.llm.structured_replies import reading_itself

if TYPE_CHECKING:
    from pydantic import BaseModel

_TOKEN = re.compile(r"[0-9]+|[^\W\d_]+|[^\w\s]|_")
_DOCUMENT_WORDS = frozenset("document documents doc docs source sources passage passages".split())
_BETWEEN = frozenset(("and", *"[](),;&#"))
_BRACKETS = re.compile(r"[\[(]([^\[\]()]{1,120})[\])]")
_MAX_DIGITS = 9
_LABELS = frozenset("title heading label number id point role".split())
"""Fields that models add to a point or a sentence, without premises or citations."""


def cited_ids(
    text: str, numbers: Iterable[int], documents: Sequence[Document], problems: list[str]
) -> tuple[str, list[str]]:
    """Return a text without citation marks, and the ids it cites by marks or numbers."""

    def known(number: int) -> bool:
        return 1 <= number <= len(documents)

    def as_mark(match: re.Match[str]) -> str:
        numbers = _numbers_in(match[1])
        named = _DOCUMENT_WORDS.intersection(match[1].lower().split())
        if not (named and numbers and all(map(known, numbers))):
            return match.group()
        return f"[{', '.join(map(str, numbers))}]"

    clean, marked = without_marks(_BRACKETS.sub(as_mark, text), known)
    cited = []
    for number in dict.fromkeys([*numbers, *marked]):
        if known(number):
            cited.append(documents[number - 1].id)
        else:
            problem = f"removed a citation of document {shorten(number, 20)} from "
            problem += f"{shorten(clean, 60)!r}: {len(documents)} documents were given"
            problems.append(problem)
    return clean, cited


def sentences_of(reply: Any) -> Iterator[tuple[str, str, list[int]]]:
    """Yield role, text and cited numbers of each sentence of a reply of points."""
    for point in reply.points:
        yield "conclusion", point.conclusion.text, point.conclusion.citations
        for premise in point.premises:
            yield "premise", premise.text, premise.citations


@cache
def points_reply() -> type[BaseModel]:
    """Return the schema of an argument: points, each a conclusion and its premises."""
    from pydantic import BeforeValidator

    sentence: Any = _cited_sentence()
    premises: Any = Annotated[list[sentence], BeforeValidator(_listed)]
    point: Any = _read_leniently("Point", _point_fields, conclusion=sentence, premises=premises)
    return _read_leniently("Reply", _plain_fields, points=list[point])


@cache
def sentences_reply() -> type[BaseModel]:
    """Return the schema of a report: sentences in reading order."""
    sentence: Any = _cited_sentence()
    return _read_leniently("Report", _plain_fields, sentences=list[sentence])


@cache
def _cited_sentence() -> type[BaseModel]:
    """Return the schema of a sentence: its text, and the numbers of the documents it cites."""
    from pydantic import BeforeValidator, Field

    text = Annotated[str, Field(pattern=r"\S")]
    citations: Any = Annotated[list[int], BeforeValidator(_citation_numbers)]
    return _read_leniently("Sentence", _sentence_fields, text=text, citations=citations)


def _read_leniently(name: str, before: Any, **parts: Any) -> type[BaseModel]:
    """Return a strict schema whose values are first normalised by `before`."""
    from pydantic import ConfigDict, create_model, model_validator

    def prepare(_: Any, value: Any) -> Any:
        value = before(value)
        if not isinstance(value, dict):
            return value
        if extra := [key for key in value if key not in parts]:
            mark_departure("fields")
        return {key: part for key, part in value.items() if key not in extra}

    fields: dict[str, Any] = {part: (kind, ...) for part, kind in parts.items()}
    validator: Any = model_validator(mode="before")
    model: type[BaseModel] = create_model(
        name,
        __config__=ConfigDict(strict=True, extra="forbid"),
        __validators__={"prepare": validator(classmethod(prepare))},
        **fields,
    )
    return reading_itself(model)


def _plain_fields(value: Any) -> Any:
    """Return an object with its keys in lower case, which must stay distinct."""
    if not isinstance(value, dict):
        return value
    plain = {str(key).strip().lower(): part for key, part in value.items()}
    if len(plain) < len(value):
        raise ValueError("a key is repeated")
    if plain.keys() != value.keys():
        mark_departure("fields")
    return plain


def _point_fields(value: Any) -> Any:
    return _completed(_plain_fields(value), "conclusion", "premises")


def _sentence_fields(value: Any) -> Any:
    if isinstance(value, str):
        mark_departure("fields")
        return {"text": value, "citations": []}
    return _completed(_plain_fields(value), "text", "citations")


def _completed(value: Any, required: str, listed: str) -> Any:
    """Return an object with an empty list if it has none and no unknown field could be meant."""
    if not isinstance(value, dict) or value.get(listed) is not None:
        return value
    if not value.keys() <= {required, listed, *_LABELS}:
        return value
    mark_departure("fields")
    return {**value, listed: []}


def _listed(value: Any) -> Any:
    """Return a list for a single premise in place of a list."""
    if isinstance(value, str | dict):
        mark_departure("fields")
        return [value]
    return value


def _citation_numbers(value: Any) -> Any:
    """Return cited numbers as integers if all can be read; else the value unchanged."""
    entries = value if isinstance(value, list) else [value]
    numbers: list[Any] = []
    for entry in entries:
        if isinstance(entry, str):
            entry_numbers = _numbers_in(entry)
            if entry_numbers is None:
                return value
            numbers += entry_numbers
        elif isinstance(entry, float) and entry.is_integer():
            numbers.append(int(entry))
        elif isinstance(entry, int) and not isinstance(entry, bool):
            numbers.append(entry)
        else:
            return value
    if numbers != value or any(isinstance(entry, float) for entry in entries):
        mark_departure("number")
    return numbers


def _numbers_in(text: str) -> list[int] | None:
    """Return the numbers of `2`, `[1, 2]`, `Document 1` or `documents 1 and 2`; None for others."""
    numbers = []
    for token in _TOKEN.findall(text):
        if token.isdigit() and len(token) <= _MAX_DIGITS:
            numbers.append(int(token))
        elif token.lower() not in _DOCUMENT_WORDS and token not in _BETWEEN:
            return None
    return numbers
