"""Draw training steps of passages with statements of known relation."""

from __future__ import annotations

import itertools
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from debate_sets import MOST_WORDS, NEAR, Passage, Rows, Topic, turned
from reader import NEITHER, OPPOSES, SUPPORTS, Packed, Words, pack

NOT = 3
"""Not in support; it is unknown whether it opposes."""

SHARES = {
    "idebate": 0.20,
    "debatewise": 0.08,
    "procon": 0.03,
    "introduction": 0.07,
    "encyclopaedic": 0.12,
    "ibm": 0.10,
    "key-points": 0.06,
    "perspectrum": 0.12,
    "ibm-claims": 0.05,
    "point": 0.12,
    "views": 0.08,
}
"""Share of passages drawn from each set. A `point` alone is short, and its side is clear."""

_OUTRIGHT = 0.35
"""Share of passages into which the supported claim is inserted, to make the side explicit."""

_MID_SENTENCE = 0.5
"""Share of passages whose first or last words are cut off, as in passages of web pages."""
_LEAST_CUT, _MOST_FIRST, _MOST_LAST = 60, 15, 10

_LEAST_MIXED = 40

_DRAWN = 400
_TOKENS = 2300
_MOST = 8

Statement = tuple[str, int, float]
"""Text, relation, weight in the loss."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the input of the network, and relation and weight of each pair.

    If `paired`, consecutive statements are pairs of a right one and its opposite.
    """

    packed: Packed
    relations: torch.Tensor
    weights: torch.Tensor
    paired: bool = False


class Feed:
    """Endless steps, the same for the same seed.

    Args:
        topics: topics to train on.
        vectors: vectors of their claims, unit length.
        passages: passages of these topics.
        neutral: passages without a side: encyclopaedic ones and reports.
        neutral_vectors: their vectors, unit length.
        words: the tokenizer.
        seed: seed of the random draws.
        mixed: share of the passages with a side that are shortened and surrounded by neutral text
            on the same topic, so that style does not reveal which passages take a side.
        tokens: approximate number of tokens in a step.
    """

    def __init__(
        self,
        topics: Mapping[str, Topic],
        vectors: Rows,
        passages: Sequence[Passage],
        neutral: Sequence[str],
        neutral_vectors: Rows,
        words: Words,
        seed: int = 0,
        mixed: float = 0.0,
        tokens: int = _TOKENS,
    ) -> None:
        self._tokens = tokens
        self._topics, self._words, self._random = topics, words, random.Random(seed)
        self._mixed, self._neutral = mixed, neutral
        self._keys = list(topics)
        near = vectors @ vectors.T
        self._near = {
            key: [self._keys[j] for j in np.argsort(-near[i])[:40] if near[i, j] < NEAR]
            for i, key in enumerate(self._keys)
        }
        self._drawn: dict[str, list[Passage]] = defaultdict(list)
        self._all: dict[str, list[Passage]] = defaultdict(list)
        for passage in passages:
            self._all[passage.source].append(passage)
        for key, topic in topics.items():
            if topic.source != "key-points":
                self._all["point"] += [Passage(p, key, "point", side) for side, p in topic.points]
        self._beside: dict[str, list[str]] = {}
        close = neutral_vectors @ vectors.T
        self._around = {k: np.argsort(-close[:, i])[:12] for i, k in enumerate(self._keys)}
        for text, row in zip(neutral, close, strict=True):
            self._all["encyclopaedic"].append(Passage(text, "", "encyclopaedic"))
            self._beside[text] = [self._keys[j] for j in np.argsort(-row)[:12]]

    def reseed(self, seed: int) -> None:
        """Restart the random draws with another seed."""
        self._random = random.Random(seed)

    def steps(self) -> Iterator[Step]:
        """Yield steps of texts of similar length."""
        while True:
            drawn = [self._row() for _ in range(_DRAWN)]
            drawn.sort(key=self._length)
            blocks, block = [], [drawn[0]]
            for row in itertools.islice(drawn, 1, None):
                if (len(block) + 1) * self._length(row) > self._tokens:
                    blocks.append(block)
                    block = []
                block.append(row)
            blocks.append(block)
            self._random.shuffle(blocks)
            yield from map(self._step, blocks)

    def _length(self, row: tuple[list[int], list[Statement]]) -> int:
        return len(row[0]) + sum(len(self._words.statement(text)) for text, _, _ in row[1])

    def _step(self, block: list[tuple[list[int], list[Statement]]]) -> Step:
        tokens = [
            (p, [self._words.statement(s) for s, _, _ in statements]) for p, statements in block
        ]
        relations = torch.tensor([r for _, statements in block for _, r, _ in statements])
        weights = torch.tensor([w for _, statements in block for _, _, w in statements])
        return Step(pack(tokens), relations, weights)

    def _row(self) -> tuple[list[int], list[Statement]]:
        [source] = self._random.choices(list(SHARES), list(SHARES.values()))
        if not self._drawn[source]:
            self._drawn[source] = list(self._all[source])
            self._random.shuffle(self._drawn[source])
        passage = self._drawn[source].pop()
        statements = (
            self._statements(passage) if passage.topic else self._off(self._beside[passage.text], 4)
        )
        return self._words.passage(
            self._cut(self._mix(passage, self._outright(passage)))
        ), statements

    def _mix(self, passage: Passage, text: str) -> str:
        words, draw = text.split(), self._random
        if not passage.side or len(words) < _LEAST_MIXED or draw.random() >= self._mixed:
            return text
        size = draw.randint(len(words) // 2, len(words) * 3 // 4)
        start = draw.randint(0, len(words) - size)
        around = self._neutral[draw.choice(self._around[passage.topic])].split()
        most = max(MOST_WORDS - size, 0)
        before = draw.randint(0, most)
        parts = (around[:before], words[start : start + size], around[before:most])
        return " ".join(word for part in parts for word in part)

    def _cut(self, text: str) -> str:
        words, draw = text.split(), self._random
        if len(words) <= _LEAST_CUT or draw.random() > _MID_SENTENCE:
            return text
        last = draw.randint(0, _MOST_LAST) if draw.random() < 0.5 else 0
        return " ".join(words[draw.randint(0, _MOST_FIRST) : len(words) - last])

    def _outright(self, passage: Passage) -> str:
        """Return the text, sometimes with the claim that it supports as an additional sentence."""
        if not passage.side or self._random.random() > _OUTRIGHT:
            return passage.text
        topic = self._topics[passage.topic]
        claim = topic.claim if passage.side > 0 else topic.negation
        if not claim:
            return passage.text
        sentences = re.split(r"(?<=[.!?]) ", passage.text)
        sentences.insert(self._random.randint(0, len(sentences)), claim)
        return " ".join(sentences)

    def _off(self, keys: Sequence[str], count: int, weight: float = 1.0) -> list[Statement]:
        """Return claims of other topics, half of them negated."""
        statements = []
        for key in self._random.sample(keys, min(count, len(keys))):
            topic = self._topics[key]
            negate = topic.negation and self._random.random() < 0.5
            statements.append((topic.negation if negate else topic.claim, NEITHER, weight))
        return statements

    def _statements(self, passage: Passage) -> list[Statement]:
        topic, side = self._topics[passage.topic], passage.side
        first = [(topic.claim, _relation(side), 1.0)]
        if topic.negation:
            first.append((topic.negation, _relation(-side), 1.0))
        first += self._own_point(passage)
        more = self._points(passage, topic)
        more += self._off(self._near[passage.topic], 2 if side else 1, 0.7)
        if self._random.random() < 0.2:
            more += self._off(self._keys, 1, 0.5)
        return first + self._random.sample(more, min(len(more), _MOST - len(first)))

    def _own_point(self, passage: Passage) -> list[Statement]:
        """Return the point that a passage makes or answers and, sometimes, its negation."""
        if not passage.bears:
            return []
        statements: list[Statement] = [(passage.point, _relation(passage.bears), 1.0)]
        if self._random.random() < 0.5:
            negated = turned(passage.point)
            if negated and not negated.startswith("It is not"):
                statements.append((negated, _relation(-passage.bears), 0.7))
        return statements

    def _points(self, passage: Passage, topic: Topic) -> list[Statement]:
        """Return points of the topic that the passage does not make, or probably does not."""
        draw, side = self._random.choice, passage.side
        if passage.source == "key-points":
            yes: list[Statement] = [(draw(passage.yes), SUPPORTS, 1.0)] if passage.yes else []
            return yes + ([(draw(passage.no), NOT, 0.7)] if passage.no else [])
        if not side:
            return [(draw(topic.points)[1], NOT, 0.7)] if topic.points else []
        statements: list[Statement] = []
        for wanted, weight in ((side, 0.4), (-side, 1.0)):
            points = [
                p for s, p in topic.points if s == wanted and p not in (passage.point, passage.text)
            ]
            if points:
                statements.append((draw(points), NOT, weight))
        return statements


def _relation(sign: int) -> int:
    return {1: SUPPORTS, -1: OPPOSES, 0: NEITHER}[sign]
