"""Few-shot examples for a teacher: as many relevant as irrelevant ones (DIRAS, section 3.2)."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from pnyx.annotate.labelled import LabelledPair, group_of
from pnyx.corpora.trim import trim
from pnyx.errors import InputError, shorten
from pnyx.judge.questions import Shot

__all__ = ["ShotPool"]

_WORDS = 300


class ShotPool:
    """Labelled pairs to draw `count` examples from, half relevant and half not."""

    def __init__(self, pairs: Iterable[LabelledPair], count: int = 4, seed: int = 0) -> None:
        if count < 2 or count % 2:
            raise InputError(f"{count} examples, expected an even number: half of them relevant")
        self._half = count // 2
        self._pairs = [pair for pair in pairs if pair.value is not None]
        random.Random(seed).shuffle(self._pairs)
        for value, name in ((True, "relevant"), (False, "irrelevant")):
            found = sum(pair.value is value for pair in self._pairs)
            if found < self._half:
                raise InputError(f"found {found} {name} examples, expected at least {self._half}")

    def shots(self, row: Mapping[str, Any]) -> tuple[Shot, ...]:
        """Return the examples for a relevance item, documents cut to 300 words."""
        chosen: list[tuple[int, LabelledPair]] = []
        for value in (True, False):
            chosen += islice(self._others(row, value), self._half)
        if len(chosen) < 2 * self._half:
            shown = shorten(str(row["id"]), 40)
            raise InputError(
                f"too few examples for {shown!r} but for its own question and document"
            )
        return tuple(
            Shot(trim(pair.document, _WORDS), pair.question, bool(pair.value))
            for _, pair in sorted(chosen, key=lambda placed: placed[0])
        )

    def _others(self, row: Mapping[str, Any], value: bool) -> Iterator[tuple[int, LabelledPair]]:
        for place, pair in enumerate(self._pairs):
            if pair.value is value and not _same(pair, row):
                yield place, pair


def _same(pair: LabelledPair, row: Mapping[str, Any]) -> bool:
    """Say whether a pair is the item's own question and document, by name or by words."""
    if pair.doc_id and pair.doc_id == str(row.get("doc_id")) and pair.group == group_of(row):
        return True
    same_question = pair.question.split() == str(row["question"]).split()
    return same_question and pair.document.split() == str(row["document"]).split()
