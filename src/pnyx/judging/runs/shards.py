"""Shards: a share of a run's items for each of several machines, dealt in the same way on all."""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pnyx.core.errors import OptionError, shorten
from pnyx.judging.questions import JudgeQuestion
from pnyx.judging.runs.engine import item_bytes

POSITION = "shard_position"
"""Additional field of each row of a shard: the position of its item among all items."""

_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Shard:
    """Shard number `number`, from 1, of `of`."""

    number: int
    of: int

    @classmethod
    def read(cls, text: str | None) -> Shard | None:
        """Return the shard that `--shard` names; OptionError unless it is I/N."""
        if text is None:
            return None
        match = re.fullmatch(r"([0-9]{1,5})/([0-9]{1,5})", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]) <= _MOST:
            excerpt = shorten(text, 40)
            raise OptionError(f"--shard: found {excerpt!r}, expected I/N, I from 1 to N, as in 2/8")
        return cls(int(match[1]), int(match[2]))

    def holds(self, name: object) -> bool:
        """Return whether the item with this name is in the shard."""
        digest = hashlib.blake2b(repr(name).encode("utf-8", "surrogatepass"), digest_size=8)
        return int.from_bytes(digest.digest()) % self.of == self.number - 1

    def about(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the manifest fields about a shard, and the settings of the whole run."""
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
        return {"number": self.number, "of": self.of, "settings_sha256": digest}


class Dealt:
    """The items of a shard (all items without one); the attributes are set by iterating.

    Items whose prompts begin alike stay together, so that they can share calls here, too.

    Attributes:
        positions: positions of the shard's items among all items.
        count: the number of all items.
        sha256: the hash of all items.
    """

    def __init__(self, items: Iterable[JudgeQuestion], shard: Shard | None) -> None:
        self._items, self._shard = items, shard
        self.positions: Sequence[int] = ()
        self.count, self.sha256 = 0, ""

    def __iter__(self) -> Iterator[Any]:
        positions, digest, count = array("q"), hashlib.sha256(), 0
        for count, item in enumerate(self._items, 1):
            digest.update(item_bytes(item))
            if self._shard is None or self._shard.holds(item.beginning):
                positions.append(count - 1)
                yield item
        self.positions, self.count, self.sha256 = positions, count, digest.hexdigest()

    def marked(self, rows: Iterator[Any]) -> Iterator[Any]:
        """Yield the row, or the rows, of each item of the shard with its position."""
        return rows if self._shard is None else marked(rows, self.positions)


def marked(rows: Iterable[Any], places: Iterable[Any]) -> Iterator[Any]:
    """Yield the row, or the rows, of each item with its position."""
    for item_rows, position in zip(rows, places, strict=True):
        for row in item_rows if isinstance(item_rows, list) else (item_rows,):
            row[POSITION] = position
        yield item_rows
