"""What the fields of a nugget bank must be, dialect by dialect, and which of them it can hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from pnyx.corpora.fields import a_list, an_object, string, unlike, within
from pnyx.errors import InputError

Check: TypeAlias = Callable[[Any, str], object]
"""Refuses, by an InputError, a value that a field of that name cannot have."""

Checks: TypeAlias = Mapping[str, Check]
"""Field that a dialect knows -> what it must be where it is neither missing nor null."""

AGGREGATORS = ("AND", "OR", "NOT", "SUM", "Default")


def whole_number(value: Any, name: str) -> int:
    """Return `value` where it is an integer."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise unlike(value, name, "an integer")


def grade(value: Any, name: str) -> int | str:
    """Return a quality or importance: text or an integer."""
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise unlike(value, name, "text or an integer")


def one_of(options: Collection[str]) -> Check:
    """Return the check of a text that must be one of a few."""

    def check(value: Any, name: str) -> None:
        if not isinstance(value, str) or value not in options:
            raise unlike(value, name, f"one of {', '.join(options)}")

    return check


def checked(fields: Mapping[str, Any], checks: Checks) -> None:
    """Refuse the first field that is not what a dialect expects."""
    for name, check in checks.items():
        if fields.get(name) is not None:
            check(fields[name], name)


def fitting(name: str, value: Any, checks: Checks) -> bool:
    """Whether a dialect can have a further field of this name with this value."""
    try:
        checked({name: value}, checks)
    except InputError:
        return False
    return True


def _texts(value: Any, name: str) -> None:
    for place, text in enumerate(a_list(value, name, "a list of text")):
        string(text, f"{name}[{place}]")


def _flag(value: Any, name: str) -> None:
    if not isinstance(value, bool):
        raise unlike(value, name, "true or false")


def _object_of(checks: Checks, required: Collection[str]) -> Check:
    def check(value: Any, name: str) -> None:
        fields = an_object(value, name)
        with within(name):
            for field in required:
                if fields.get(field) is None:
                    raise InputError(f"no {field}")
            checked(fields, checks)

    return check


def _list_of(check: Check) -> Check:
    def check_all(value: Any, name: str) -> None:
        for place, one in enumerate(a_list(value, name)):
            check(one, f"{name}[{place}]")

    return check_all


def _sources(value: Any, name: str) -> None:
    _object_of({"doc_id": string, **REFERENCE}, ("doc_id",))(value, name)


_CREATOR: Checks = {
    "is_human": _flag,
    "assessor_id": string,
    "llm_model": string,
    "llm_backend": string,
    "llm_prompt": _texts,
    "llm_prompt_strategy": string,
    "source_data": _list_of(_sources),
    "creation_date": string,
    "contact": _texts,
    "format": string,
}

_OFFSETS: Checks = {
    "start_offset": whole_number,
    "end_offset": whole_number,
    "encoding": string,
    "metadata": an_object,
}

_COMMON: Checks = {
    "quality": grade,
    "importance": grade,
    "creator": _list_of(_object_of(_CREATOR, ("is_human",))),
    "metadata": an_object,
}

REFERENCE: Checks = {
    "collection": string,
    "text": string,
    "offsets": _object_of(_OFFSETS, ("start_offset", "end_offset", "encoding")),
    **_COMMON,
}

# Fields of the NuggetBank format, version 3; RAGTIME 2026 knows the metadata alone.
ANSWER: Checks = _COMMON
NUGGET: Checks = {"test_collection": string, **_COMMON}
BANK: Checks = {"test_collection": string, **_COMMON}
SUBMITTED: Checks = {"metadata": an_object}

# Fields that nuggetizer's `assign` adds.
ASSIGNED_NUGGET: Checks = {
    "assignment": one_of(("support", "partial_support", "not_support", "failed")),
    "reasoning": string,
}
ASSIGNED_BANK: Checks = {"answer_text": string, "response_length": whole_number}
