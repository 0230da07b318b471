"""Rows checked by pydantic; an error becomes one line: location, found, expected.

Import this only when a row is read: pydantic is slow to import.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from pnyx.core.errors import InputError, shorten
from pnyx.formats.fields import unlike

M = TypeVar("M", bound=BaseModel)

_EXPECTED = {
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "float_type": "a finite number",
    "finite_number": "a finite number",
}
"""pydantic's error type -> the expectation in words."""


class Row(BaseModel):
    """An object of JSON; unknown fields are kept, types are never converted."""

    model_config = ConfigDict(extra="allow", strict=True)


def checked(model: type[M], value: Any) -> M:
    """Validate a value by a model; InputError describes the first faulty field."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise input_error(error) from None


def input_error(error: ValidationError) -> InputError:
    """Return the first of a value's errors, worded like Pnyx's own."""
    first = error.errors(include_url=False)[0]
    kind, value, context = first["type"], first["input"], first.get("ctx", {})
    if kind == "missing":
        name = first["loc"][-1]
        names_found = ", ".join(shorten(field, 30) for field in list(value)[:8]) or "none"
        where = place_of(first["loc"][:-1])
        return InputError(f"{where}{where and ': '}no {name} (fields found: {names_found})")
    where = place_of(first["loc"])
    if kind == "says":
        return InputError(f"{where}{context['text']}".strip())
    if kind in ("too_short", "string_pattern_mismatch"):
        return InputError(f"{where} is empty")
    if kind == "literal_error":
        context["expected"] = "one of " + ", ".join(re.findall("'([^']*)'", context["expected"]))
    expected = context.get("expected") or _EXPECTED.get(kind) or first["msg"]
    return unlike(value, where, expected)


def place_of(loc: Sequence[str | int]) -> str:
    """Return the path of a value within its row: `answers[0]: references[1]`."""
    location = ""
    for part in loc:
        location += (
            f"[{part}]" if isinstance(part, int) else f"{location and ': '}{shorten(part, 40)}"
        )
    return location


def wrong(expected: str) -> PydanticCustomError:
    """Return the error for an unexpected value."""
    return PydanticCustomError("expected", "{expected}", {"expected": expected})


def says(text: str) -> PydanticCustomError:
    """Return an error whose text follows the name of the field."""
    return PydanticCustomError("says", "{text}", {"text": text})


def must(holds: Callable[[Any], bool], expected: str) -> AfterValidator:
    """Return a check of a value beyond its type."""

    def check(value: Any) -> Any:
        if not holds(value):
            raise wrong(expected)
        return value

    return AfterValidator(check)


def distinct(key: Callable[[int, Any], Hashable | None], at: str = "") -> AfterValidator:
    """Return a check that the keys of a list, `key(position, value)`, are distinct or None."""

    def check(values: list[Any]) -> list[Any]:
        seen: set[Hashable] = set()
        for position, value in enumerate(values):
            name = key(position, value)
            if name is not None and name in seen:
                raise says(f"[{position}]{at}: found {shorten(str(name), 40)!r} twice")
            seen.add(name)
        return values

    return AfterValidator(check)


def _digits(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Filled = Annotated[str, Field(pattern=r"[^\s\x1c-\x1f]")]
"""Text that is not blank."""

Id = Annotated[str, BeforeValidator(_digits)]
"""An id, perhaps empty; an integer counts as its digits."""

FilledId = Annotated[Filled, BeforeValidator(_digits)]

Number = Annotated[float, Field(allow_inf_nan=False)]
