"""The stored form of records: one JSON object per line, lossless, private to the format."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import json_line, parse_json_object
from pnyx.core.records import STANCES, Argument, Document, Evidence, Passage, Premise, judged_text

EXTRA_FIELDS = ("topic",)
"""Fields that can be searched in addition to title and text."""

_PASSAGE: Final = {"document": str, "number": int, "count": int, "heading": str, "speaker": str}
"""Fields of a passage and their types."""

_HALF_CHARACTERS = re.compile("[\ud800-\udfff]")


def to_row(record: Evidence) -> dict[str, Any]:
    """Return the record as a JSON object; `from_row` gives an equal record back."""
    if isinstance(record, Document):
        row: dict[str, Any] = {"kind": "document", "id": record.id, "text": record.text}
        optional: dict[str, Any] = {"title": record.title}
    else:
        row = {"kind": "argument", "id": record.id, "conclusion": record.conclusion}
        optional = {
            "premises": [_premise_row(p) for p in record.premises],
            "stance": record.stance,
            "topic": record.topic,
        }
        if record.body is not None:
            row["body"] = record.body
    optional |= {"url": record.url, "source": record.source, "extra": dict(record.extra)}
    if record.passage is not None:
        optional["passage"] = _passage_row(record.passage)
    return row | {name: value for name, value in optional.items() if value}


def _passage_row(passage: Passage) -> dict[str, Any]:
    row = {name: getattr(passage, name) for name in _PASSAGE}
    return {name: value for name, value in row.items() if value != ""}


def _premise_row(premise: Premise) -> dict[str, Any]:
    row = {"text": premise.text, "stance": premise.stance, "extra": dict(premise.extra)}
    return {name: value for name, value in row.items() if value or name == "text"}


def from_row(row: dict[str, Any]) -> Evidence:
    """Return the record of an object of `to_row`, or raise KeyError, TypeError or ValueError."""
    fields = dict(row)
    passage = _passage(fields.pop("passage", None))
    if fields.pop("kind") == "document":
        return Document(**_checked(fields), passage=passage)
    premises = fields.pop("premises", [])
    checked_premises = tuple(Premise(**_checked(premise)) for premise in premises)
    return Argument(**_checked(fields), premises=checked_premises, passage=passage)


def _passage(row: dict[str, Any] | None) -> Passage | None:
    if row is None:
        return None
    for name, value in row.items():
        if type(value) is not _PASSAGE[name]:
            raise TypeError(f"{name} of a passage is invalid")
    return Passage(**row)


def _checked(fields: dict[str, Any]) -> dict[str, Any]:
    for name, value in fields.items():
        kind = dict if name == "extra" else str
        if not isinstance(value, kind) or (name == "stance" and value not in STANCES):
            raise TypeError(f"{name} is invalid")
    return fields


def encode(record: Evidence, *, number: int) -> bytes:
    """Return the record as one line of UTF-8 JSON; half a surrogate pair becomes U+FFFD."""
    if not isinstance(record.id, str) or not record.id:
        raise InputError(f"record {number} has no id, expected a non-empty string")
    if _HALF_CHARACTERS.search(record.id):
        raise InputError(f"record {number} has the id {shorten(record.id, 40)}, expected Unicode")
    try:
        line = json_line(to_row(record))
    except (TypeError, ValueError, RecursionError) as error:
        problem = f"record {number} ({shorten(record.id, 40)}) cannot be stored as JSON"
        raise InputError(f"{problem}: {shorten(str(error))}") from error
    try:
        return line.encode() + b"\n"
    except UnicodeEncodeError:
        return _HALF_CHARACTERS.sub("\ufffd", line).encode() + b"\n"


def decode(line: bytes) -> Evidence:
    """Return the record of a line of `encode`; InputError, KeyError, TypeError or ValueError."""
    return from_row(parse_json_object(line.decode(), path="", number=1, keep_surrogates=True))


def searched_text(record: Evidence, extra_fields: Iterable[str] = ()) -> str:
    """Return the searched text of a record: its judged text and the extra fields requested."""
    return "\n".join([judged_text(record), *(_extra_field(record, n) for n in extra_fields)])


def _extra_field(record: Evidence, name: str) -> str:
    value = getattr(record, name, None) or record.extra.get(name, "")
    return value if isinstance(value, str) else ""
