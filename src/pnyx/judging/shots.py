"""Few-shot examples: rated texts shown in a prompt before the text to be rated."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from statistics import fmean

from pnyx.core.errors import InputError
from pnyx.formats.base import Options, scanned, strict
from pnyx.formats.fields import Fields
from pnyx.formats.format_table import FORMATS
from pnyx.formats.text.segment import trim
from pnyx.judging.dimensions import definition, normalised, scale_of
from pnyx.judging.questions import RatedShot, Rating

RATED = "rated-items"
"""Format of a file of rated texts (docs/reference/formats.md)."""

SHOT_WORDS = 300
"""Longest example, in words."""

_SCALE = (1.0, 3.0)
"""The default scale of ratings in a file."""


@dataclass(frozen=True, slots=True)
class RatedExample:
    """A text rated by people; `scores` are pairs of a dimension and a number in [0, 1]."""

    id: str
    text: str
    scores: tuple[tuple[str, float], ...]


def read_rated(path: str, task: str = "quality") -> list[RatedExample]:
    """Read a file of rated texts.

    Raises:
        InputError: a line is malformed, a dimension does not belong to the task, a rating is not on
            its scale, or there are no lines.
    """
    rows = FORMATS[RATED].scan(path, Options())
    texts = scanned(path, lambda row: _rated(Fields(row), task), rows=rows)
    return [text for _, text in strict(texts, path, "rated texts")]


def _rated(fields: Fields, task: str) -> RatedExample:
    scale = fields.rest.get("scale") or _SCALE
    low, high = float(scale[0]), float(scale[1])
    scores = []
    for name, value in fields.rest["ratings"].items():
        definition(task, name)
        if not low <= value <= high:
            raise InputError(f"ratings: found {name} {value:g}, expected {low:g} to {high:g}")
        scores.append((name, normalised(value, (low, high))))
    return RatedExample(fields.identifier("id"), fields.required("text"), tuple(sorted(scores)))


class RatedPool:
    """Rated texts; each question gets `count` of them, from worst to best, by a fixed rule."""

    def __init__(self, texts: Iterable[RatedExample], count: int) -> None:
        if count < 1:
            raise InputError(f"found {count} examples, expected at least 1")
        self._texts, self._count = list(texts), count
        self._ranked = lru_cache(maxsize=64)(self._rank)

    def shown(self, question: Rating) -> Rating:
        """Return the question with its examples; InputError if there are too few."""
        ranked = self._ranked(frozenset(question.dimensions))
        words = question.text.split()
        chosen = []
        edges = [len(ranked) * part // self._count for part in range(self._count + 1)]
        for start, end in pairwise(edges):
            near = _outwards(ranked[start:end])
            others = (t for t in near if t.id != question.id and t.text.split() != words)
            text = next(others, None)
            if text is None:
                raise InputError(
                    f"found {len(ranked)} texts that are rated on each dimension asked about, too "
                    f"few for {self._count} examples ({2 * self._count} are enough)"
                )
            chosen.append(text)
        chosen.sort(key=lambda text: hash_of(text.id))
        scale = scale_of(question.task, question.scale)
        shots = []
        for text in chosen:
            scores = dict(text.scores)
            ratings = tuple((name, scale.nearest(scores[name])) for name in question.dimensions)
            shots.append(RatedShot(trim(text.text, SHOT_WORDS), ratings))
        return replace(question, shots=tuple(shots))

    def _rank(self, dimensions: frozenset[str]) -> tuple[RatedExample, ...]:
        texts = [text for text in self._texts if dimensions <= {name for name, _ in text.scores}]

        def place(text: RatedExample) -> tuple[float, str]:
            return fmean(s for name, s in text.scores if name in dimensions), hash_of(text.id)

        return tuple(sorted(texts, key=place))


def _outwards(part: Sequence[RatedExample]) -> list[RatedExample]:
    """Return texts from the middle of their order outwards."""
    middle = len(part) // 2
    return [part[n] for n in sorted(range(len(part)), key=lambda n: abs(n - middle))]


def hash_of(identifier: str) -> str:
    """Return a hash that orders examples deterministically."""
    return hashlib.sha256(identifier.encode("utf-8", "replace")).hexdigest()
