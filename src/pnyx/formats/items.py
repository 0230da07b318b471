"""The files that judges read and write (docs/reference/formats.md).

Items, answers and labels stay plain objects: unknown fields are kept unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from pnyx.formats.base import json_lines, table


@dataclass(frozen=True)
class ItemFormat:
    """The fields of one kind of judges' file (`formats.toml`), whose types are in `item_rows`."""

    name: str
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    key: tuple[str, ...] = ("id",)

    @cached_property
    def _validate(self) -> Callable[[Mapping[str, Any]], Any]:
        from pnyx.formats.item_rows import model_of
        from pnyx.formats.rows import checked

        return partial(checked, model_of(self.name, self.required, self.optional))

    @cached_property
    def _is_plain(self) -> Callable[[Mapping[str, Any]], bool]:
        from pnyx.formats.item_rows import plain_of

        return plain_of(self.name, self.required, self.optional)

    def parse(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Check one row and return it with its id as text."""
        if isinstance(row, dict) and self._is_plain(row):
            return row
        key = self._validate(row).id
        return row if row["id"] == key and isinstance(row, dict) else {**row, "id": key}

    def identity(self, row: Mapping[str, Any]) -> Hashable:
        """Return the key that may occur only once in a file."""
        if not any(map(row.get, self.key[1:])):  # most have no dimension or annotator
            return str(row[self.key[0]])
        return tuple(str(row.get(name) or "") for name in self.key)

    def identities(self) -> Callable[[Mapping[str, Any]], Hashable]:
        """Return a key function equivalent to `identity` within one file, using less memory.

        Most files have one task and judge, and no dimension: there it is the id alone.
        """
        numbers, by_rest = dict[Hashable, int](), dict[Hashable, int]()

        def identity(row: Mapping[str, Any]) -> Hashable:
            rest = tuple(map(row.get, self.key[1:]))
            number = by_rest.get(rest)
            if number is None:
                texts = tuple(str(part or "") for part in rest)
                number = by_rest[rest] = numbers.setdefault(texts, len(numbers))
            key = row["id"] if type(row["id"]) is str else str(row["id"])
            return key if number == 0 else (number, key)

        return identity


ITEM_FORMATS: dict[str, ItemFormat] = {
    name: ItemFormat(
        name,
        tuple(row["required"].split()),
        tuple(row.get("optional", "").split()),
        tuple(row.get("key", "id").split()),
    )
    for name, row in table().items()
    if "required" in row
}

FORMATS = tuple(
    json_lines(item.name, item.parse, key=item.identity, what=" and ".join(item.key))
    for item in ITEM_FORMATS.values()
)
