"""Texts rated by people, to train and measure a quality model: CSV, TSV or JSONL.

Webis-ArgQuality-20 and IBM-ArgQ-Rank-30kArgs are read as they were published.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pnyx.core.compression import plain_name
from pnyx.core.errors import InputError, shorten
from pnyx.formats.base import Row, parse_rows, scan_json_objects, strict
from pnyx.formats.documents.tables import scan_cells
from pnyx.formats.fields import rename, unlike

_NAMES = {
    "text": ("text", "Premise", "argument"),
    "quality": ("quality", "Combined Quality", "WA"),
    "is_argument": ("is_argument", "Is Argument?"),
    "topic": ("topic", "Topic ID"),
}
"""Field -> its name, and those of the two published sets."""

_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")


@dataclass(frozen=True, slots=True)
class RatedText:
    """A text and its rating by people.

    Attributes:
        text: holds a word.
        quality: on any scale; meaningless if it is not an argument.
        is_argument: true if the file does not say.
        topic: empty if the file does not say.
        flagged: the file says whether it is an argument.
    """

    text: str
    quality: float
    is_argument: bool = True
    topic: str = ""
    flagged: bool = False


def read_rated(path: str, columns: Mapping[str, str] | None = None) -> Iterator[RatedText]:
    """Yield the rated texts of a file, streaming.

    Args:
        path: a table if the name ends in .csv or .tsv, else JSONL; gzip or not.
        columns: `text`, `quality`, `is_argument` or `topic` -> the file's name for it.

    Raises:
        InputError: at the first fault, naming file and line; also if there is no text at all.
    """
    mapping = dict(columns or {})
    if unknown := sorted(set(mapping) - set(_NAMES)):
        expected = ", ".join(_NAMES)
        raise InputError(f"--column {shorten(unknown[0], 40)}: expected one of {expected}")
    rows = parse_rows(_rows(path), lambda row: _parse(rename(row, mapping)), path)
    for _, row in strict(rows, path, "rated texts"):
        yield row


def _rows(path: str) -> Iterator[Row[dict[str, Any]]]:
    name = plain_name(path).lower()
    if name.endswith((".csv", ".tsv")):
        yield from scan_cells(path, "\t" if name.endswith(".tsv") else ",")
    else:
        yield from scan_json_objects(path)


def _parse(row: Mapping[str, Any]) -> RatedText:
    text = _first(row, "text")
    if text is None:
        names_found = ", ".join(shorten(name, 30) for name in list(row)[:8]) or "none"
        raise InputError(f"no text (fields found: {names_found}); name it with --column text=NAME")
    if not isinstance(text, str) or not text.strip():
        raise InputError("text is empty")
    if not any(character.isalpha() for character in text):
        raise InputError(f"text: found {shorten(text, 40)!r}, expected a word")
    flag, topic = _first(row, "is_argument"), _first(row, "topic")
    argument = True if flag is None else _flag(flag)
    quality = _first(row, "quality")
    if quality is None and argument:
        raise InputError("no quality; name it with --column quality=NAME")
    return RatedText(
        text=text,
        quality=_number(quality) if argument else 0.0,
        is_argument=argument,
        topic="" if topic is None else str(topic).strip(),
        flagged=flag is not None,
    )


def _first(row: Mapping[str, Any], field: str) -> Any:
    present = (row[name] for name in _NAMES[field] if row.get(name) not in (None, ""))
    return next(present, None)


def _flag(value: Any) -> bool:
    word = str(value).strip().lower()
    if isinstance(value, bool | int | str) and word in (*_TRUE, *_FALSE):
        return word in _TRUE
    raise unlike(value, "is_argument", "true or false")


def _number(value: Any) -> float:
    try:
        number = float(value) if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise unlike(value, "quality", "a finite number")
    return number
