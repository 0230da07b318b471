"""Draw training steps of passages with a claim and its opposite, one of which they support."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import torch
from debate_sets import Passage, Topic
from reader import OPPOSES, SUPPORTS, Words, pack
from relevance_steps import Step

SHARES = {
    "idebate": 0.38,
    "debatewise": 0.10,
    "procon": 0.03,
    "ibm": 0.10,
    "key-points": 0.05,
    "perspectrum": 0.14,
    "ibm-claims": 0.03,
    "point": 0.14,
    "views": 0.03,
}
"""Share of passages drawn from each set. Short ones are cheap, so many of them are used."""

_FIRST = 0.5
"""Share of shortened passages that keep the beginning, where the side is clearest."""
_WHOLE = 0.25
"""Share of long passages that are not shortened."""
_LEAST, _MOST = 25, 60
_POINT = 0.25
"""Share of passages that start with their point, like a heading."""

_HOUSE = re.compile(r"^this house (would|should) ", re.IGNORECASE)
_PLAIN = 0.6
"""Share of motions ("This House would ...") that are reworded as "We should ..."."""

_DRAWN = 1200
_TOKENS = 1500


class SideFeed:
    """Endless steps of passages of a known side, the same for the same seed.

    Args:
        topics: topics to train on.
        passages: passages of these topics.
        words: the tokenizer.
        seed: seed of the random draws.
        tokens: approximate number of tokens in a step.
    """

    def __init__(
        self,
        topics: Mapping[str, Topic],
        passages: Sequence[Passage],
        words: Words,
        seed: int = 0,
        tokens: int = _TOKENS,
    ) -> None:
        self._topics, self._words, self._tokens = topics, words, tokens
        self._random = random.Random(seed)
        self._all: dict[str, list[Passage]] = defaultdict(list)
        for passage in passages:
            if passage.side and topics[passage.topic].negation:
                self._all[passage.source].append(passage)
        for key, topic in topics.items():
            if topic.source != "key-points" and topic.negation:
                self._all["point"] += [Passage(p, key, "point", side) for side, p in topic.points]
        self._drawn: dict[str, list[Passage]] = defaultdict(list)

    def reseed(self, seed: int) -> None:
        """Restart the random draws with another seed."""
        self._random = random.Random(seed)

    def steps(self) -> Iterator[Step]:
        """Yield steps of texts of similar length."""
        while True:
            rows = sorted((self._row() for _ in range(_DRAWN)), key=_length)
            blocks: list[list[tuple[list[int], list[list[int]]]]] = [[]]
            for row in rows:
                if (len(blocks[-1]) + 1) * _length(row) > self._tokens:
                    blocks.append([])
                blocks[-1].append(row)
            self._random.shuffle(blocks)
            yield from map(_step, filter(None, blocks))

    def _row(self) -> tuple[list[int], list[list[int]]]:
        """Return a passage and two statements, the one that it supports first."""
        draw = self._random
        shares = {source: SHARES[source] for source in SHARES if self._all[source]}
        [source] = draw.choices(list(shares), list(shares.values()))
        if not self._drawn[source]:
            self._drawn[source] = list(self._all[source])
            draw.shuffle(self._drawn[source])
        passage = self._drawn[source].pop()
        topic = self._topics[passage.topic]
        pair = [topic.claim, topic.negation][:: passage.side]
        if draw.random() < _PLAIN:
            pair = [_HOUSE.sub("We should ", statement) for statement in pair]
        return self._words.passage(self._read(passage)), list(map(self._words.statement, pair))

    def _read(self, passage: Passage) -> str:
        """Return the whole passage, its beginning or another part."""
        words, draw = passage.text.split(), self._random
        if len(words) > _MOST and draw.random() >= _WHOLE:
            size = draw.randint(_LEAST, _MOST)
            start = 0 if draw.random() < _FIRST else draw.randint(0, len(words) - size)
            words = words[start : start + size]
        text = " ".join(words)
        if passage.bears > 0 and passage.source != "perspectrum" and draw.random() < _POINT:
            text = f"{passage.point} {text}"
        return text


def _step(block: list[tuple[list[int], list[list[int]]]]) -> Step:
    relations = torch.tensor([SUPPORTS, OPPOSES] * len(block))
    return Step(pack(block), relations, torch.ones(len(relations)), paired=True)


def _length(row: tuple[list[int], list[list[int]]]) -> int:
    return len(row[0]) + sum(map(len, row[1]))
