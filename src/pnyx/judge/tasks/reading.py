"""What the readers of items files share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pnyx.corpora.base import parse_rows, scan_json_objects, strict, unique
from pnyx.corpora.fields import Fields
from pnyx.judge.questions import Support

__all__ = ["carried", "read_supports"]


def read_supports(path: str, parse: Callable[[Fields], Support]) -> list[Support]:
    """Read a JSONL items file, one question a line, ids unique.

    Raises:
        InputError: a line is no JSON object, `parse` refuses it, an id comes twice, or there is
            no item at all.
    """

    def question(row: dict[str, Any]) -> Support:
        return parse(Fields(row))

    rows = unique(parse_rows(scan_json_objects(path), question, path), lambda q: q.id, path)
    return [question for _, question in strict(rows, path, "items")]


def carried(fields: Fields, **known: str) -> Mapping[str, Any]:
    """Return what goes along to the answers: `known` fields that are there, and all unknown."""
    return {**{name: value for name, value in known.items() if value}, **fields.rest}
