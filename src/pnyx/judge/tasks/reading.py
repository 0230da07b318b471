"""What the readers of items files share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pnyx.corpora.base import Options, scanned, strict
from pnyx.corpora.fields import Fields
from pnyx.corpora.registry import FORMATS
from pnyx.judge.questions import JudgeQuestion

__all__ = ["carried", "group", "read_questions", "texts"]


def read_questions(
    path: str, parse: Callable[[Fields], JudgeQuestion], *, name: str | None = None
) -> list[JudgeQuestion]:
    """Read a JSONL items file, one question a line, ids unique.

    Args:
        path: the file, or `-`.
        parse: makes the question of a line.
        name: the items format that `pnyx validate` knows it by, if it does.

    Raises:
        InputError: a line is no JSON object, the format or `parse` refuses it, an id comes twice,
            or there is no item at all.
    """

    def question(row: dict[str, Any]) -> JudgeQuestion:
        return parse(Fields(row))

    rows = None if name is None else FORMATS[name].scan(path, Options())
    read = strict(scanned(path, question, rows=rows), path, "items")
    return [question for _, question in read]


def group(fields: Fields) -> str:
    """Return the topic of an item, empty where it has none; a number counts as its digits."""
    value = fields.rest.get("group")
    return fields.identifier("group") if value not in (None, "") else fields.text("group")


def carried(fields: Fields, **known: str) -> Mapping[str, Any]:
    """Return what goes along to the answers: `known` fields that are there, and all unknown."""
    return {**{name: value for name, value in known.items() if value}, **fields.rest}


def texts(fields: Fields, name: str) -> tuple[str, ...]:
    """Return a list of texts, or of objects that each have a `text`; empty where absent.

    The items format has checked it.
    """
    value = fields.rest.pop(name, None) or ()
    return tuple(item["text"] if isinstance(item, dict) else item for item in value)
