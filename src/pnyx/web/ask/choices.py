"""What a request may choose: fields of the command line's specs, within limits.

A request cannot choose files, addresses, keys or spending: these are set when the server is
started.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

from pnyx.cases.options import ArgueSpec
from pnyx.core.errors import InputError, shorten
from pnyx.core.spec import Opt, Spec, opts_of
from pnyx.judging.format_options import FormatSpec
from pnyx.judging.options import AskingSpec, CombiningSpec, JudgeSpec, ModelSpec, SpendingSpec
from pnyx.search.options import SearchSpec

S = TypeVar("S", bound=Spec)

LONGEST: Final = 2000
"""Characters of a question."""
MOST_HITS: Final = 100
"""Documents of one answer."""
MOST_VIEWS: Final = 50
"""Perspectives of one answer."""
MOST_ITEMS: Final = 256
"""Items judged by one request."""

_CLOSED: Final = frozenset({"embedder", "shots"})
"""Fields that name an address, or are useless without a file."""

_LIMITS: Final[Mapping[str, int]] = {
    "asked": 200,
    "context": 32_000,
    "depth": 1000,
    "feedback": 100,
    "max_tokens": 16_000,
    "per_side": 100,
    "points": 20,
    "retrieve": 200,
    "samples": 10,
    "window": 200,
    "words": 2000,
}
"""Field -> the greatest value that a request may choose; the server's own may be greater."""

_MOST_TOPICS: Final = 20


OF_ARGUMENT: Final = ("stance", "certainty")
"""Fields of a search that an argument sets by its own fields."""


def open_fields(spec: type[Spec]) -> Iterator[tuple[dataclasses.Field[Any], Opt]]:
    """Yield the fields of a spec that a request may choose, in order."""
    for field, option in opts_of(spec):
        if not (option.raw or field.name in _CLOSED):
            yield field, option


JUDGE_FIELDS: Final = frozenset(
    field.name for spec in (AskingSpec, CombiningSpec, FormatSpec) for field, _ in open_fields(spec)
)
"""Fields of the judge's options that a request may choose."""


def limit_of(name: str) -> int | None:
    """Return the greatest value that a request may choose for a field; None for no limit."""
    return _LIMITS.get(name)


def chosen(base: S, row: Mapping[str, Any]) -> S:
    """Return the server's choices, overridden by a request's; InputError, OptionError."""
    fields = {field.name: field for field, _ in open_fields(type(base))}
    for name, value in row.items():
        if name not in fields:
            raise InputError(f"{shorten(name, 40)!r} is not a field that a request may choose")
        if isinstance(value, bool) and not isinstance(fields[name].default, bool):
            raise InputError(f"{name}: found {str(value).lower()}, expected another type")
        _check_limit(name, value)
    spec = type(base).from_row({**base.row(), **row})
    for name in row:
        _check_limit(name, getattr(spec, name))
    return spec


def _check_limit(name: str, value: Any) -> None:
    most = _LIMITS.get(name)
    if most is not None and isinstance(value, int | float) and value > most:
        raise InputError(f"{name}: found {value:g}, expected at most {most}")
    if isinstance(value, list | tuple) and len(value) > _MOST_TOPICS:
        raise InputError(f"{name}: found {len(value)} values, expected at most {_MOST_TOPICS}")
    for text in value if isinstance(value, list | tuple) else [value]:
        if isinstance(text, str) and len(text) > LONGEST:
            raise InputError(
                f"{name}: found {len(text):,} characters, expected at most {LONGEST:,}"
            )


def chosen_for(
    argue: ArgueSpec, search: SearchSpec, row: Mapping[str, Any]
) -> tuple[ArgueSpec, SearchSpec]:
    """Return an argument's choices, including `stance` and `certainty`, and its `search`."""
    argue_row = dict(row)
    inner = argue_row.pop("search", None) or {}
    if not isinstance(inner, Mapping):
        raise InputError("search: expected an object of search options")
    for name in OF_ARGUMENT:
        if name in inner:
            raise InputError(f"search.{name}: expected among the options of the argument")
    base = dataclasses.replace(search, stance=None, certainty=None)
    return chosen(argue, argue_row), chosen(base, inner)


def judge_choices(server: ModelSpec, row: Mapping[str, Any]) -> tuple[JudgeSpec, FormatSpec]:
    """Return the options of the server's judge; a request can only change how it is asked."""
    formats = {field.name for field, _ in open_fields(FormatSpec)}
    for name in row:
        if name not in JUDGE_FIELDS:
            raise InputError(f"{shorten(name, 40)!r} is not an option that a request may choose")
    names = {field.name for spec in (ModelSpec, SpendingSpec) for field, _ in opts_of(spec)}
    model_row = {name: value for name, value in server.row().items() if name in names}
    if "llm" in model_row:
        model_row["judge"] = model_row.pop("llm")
    return (
        chosen(JudgeSpec.from_row(model_row), {k: v for k, v in row.items() if k not in formats}),
        chosen(FormatSpec(), {k: v for k, v in row.items() if k in formats}),
    )


def question_text(value: Any) -> str:
    """Return a submitted question; InputError if it is invalid."""
    if not isinstance(value, str):
        raise InputError(f"question: found {shorten(repr(value), 40)}, expected a text")
    if not value.strip():
        raise InputError("question: found no words, expected a question")
    if len(value) > LONGEST:
        raise InputError(f"question: found {len(value):,} characters, expected at most {LONGEST:,}")
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise InputError("question: found invalid UTF-8")
    return value


def whole(name: str, value: Any, low: int, high: int) -> int:
    """Return a whole number within a range, from a number or text; InputError otherwise."""
    text = str(value).strip() if isinstance(value, int | str) else ""
    if isinstance(value, bool) or not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise InputError(
            f"{name}: found {shorten(repr(value), 40)}, expected a number from {low} to {high}"
        )
    number = int(text)
    if not low <= number <= high:
        raise InputError(f"{name}: found {number}, expected a number from {low} to {high}")
    return number
