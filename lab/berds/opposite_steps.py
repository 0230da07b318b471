"""Draw training steps of passages with four pairs of opposite statements in many wordings."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import torch
from debate_sets import Passage, Topic
from reader import NEITHER, OPPOSES, SUPPORTS, Words, pack
from relevance_steps import Step
from side_steps import SHARES
from wordings import Pair, patterns, written, written_pair

_WRITTEN = 0.6
"""Share of passages from topics with hand-written questions."""
_PAIRS, _QUESTIONS = 4, 3
"""Pairs per passage, the last one from another topic; maximum number of hand-written ones."""
_OTHER = 0.7
"""Share of last pairs that are a hand-written question."""

_LEAST, _MOST, _WHOLE, _LONGEST = 25, 55, 0.1, 90
_POINT = 0.2
"""Share of passages that start with their point, like a heading."""
_PLAIN = 0.6
_HOUSE = re.compile(r"^this house (would|should) ", re.IGNORECASE)
_DRAWN, _TOKENS = 500, 2600

Row = tuple[list[int], list[list[int]]]


class OppositeFeed:
    """Endless steps, the same for the same seed.

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
        self._tokens = tokens
        self._topics, self._words, self._draw = topics, words, random.Random(seed)
        self._questions = {k: v for k, v in written().items() if k in topics and topics[k].negation}
        self._keys = list(self._questions)
        self._of_set: dict[str, list[Passage]] = defaultdict(list)
        self._of_topic: dict[str, dict[int, list[Passage]]] = defaultdict(
            partial(defaultdict, list)
        )
        for passage in passages:
            if passage.side and topics[passage.topic].negation:
                self._of_set[passage.source].append(passage)
                self._of_topic[passage.topic][passage.side].append(passage)
        self._shares = {name: share for name, share in SHARES.items() if name in self._of_set}

    def reseed(self, seed: int) -> None:
        """Restart the random draws with another seed."""
        self._draw = random.Random(seed)

    def steps(self) -> Iterator[Step]:
        """Yield passages with pairs of statements, the right one first in each pair."""
        relations = [SUPPORTS, OPPOSES] * (_PAIRS - 1) + [NEITHER] * 2
        while True:
            blocks: list[list[Row]] = [[]]
            for row in sorted((self._row() for _ in range(_DRAWN)), key=_length):
                if (len(blocks[-1]) + 1) * _length(row) > self._tokens:
                    blocks.append([])
                blocks[-1].append(row)
            self._draw.shuffle(blocks)
            for block in filter(None, blocks):
                targets = torch.tensor(relations * len(block))
                yield Step(pack(block), targets, torch.ones(len(targets)), paired=True)

    def _row(self) -> Row:
        draw, passage = self._draw, self._passage()
        pairs = [pair[:: passage.side] for pair in self._pairs(passage)] + [self._other(passage)]
        plain = [draw.random() < _PLAIN for _ in pairs]
        statements = [
            _HOUSE.sub("We should ", text) if as_we else text
            for pair, as_we in zip(pairs, plain, strict=True)
            for text in pair
        ]
        return self._words.passage(self._read(passage)), list(
            map(self._words.statement, statements)
        )

    def _passage(self) -> Passage:
        draw = self._draw
        if draw.random() < _WRITTEN:
            sides = self._of_topic[draw.choice(self._keys)]
            if pool := sides[draw.choice((1, -1))]:
                return draw.choice(pool)
        [name] = draw.choices(list(self._shares), list(self._shares.values()))
        return draw.choice(self._of_set[name])

    def _pairs(self, passage: Passage) -> list[Pair]:
        """Return pairs about the topic of a passage, the side of its claim first."""
        draw, topic = self._draw, self._topics[passage.topic]
        questions = self._questions.get(passage.topic, [])
        pairs = [written_pair(sign, text, draw) for sign, text in
                 draw.sample(questions, min(_QUESTIONS, len(questions)))]  # fmt: skip
        usual, specific = patterns(topic.claim, topic.negation)
        pairs += draw.sample(specific, min(len(specific), max(0, _PAIRS - 1 - len(pairs))))
        pairs += draw.sample(usual, max(0, _PAIRS - len(pairs)))
        return pairs[: _PAIRS - 1]

    def _other(self, passage: Passage) -> Pair:
        """Return a pair about another topic."""
        draw = self._draw
        key = draw.choice([k for k in draw.sample(self._keys, 2) if k != passage.topic])
        if draw.random() < _OTHER:
            return written_pair(*draw.choice(self._questions[key]), draw)
        return self._topics[key].claim, self._topics[key].negation

    def _read(self, passage: Passage) -> str:
        words, draw = passage.text.split(), self._draw
        if len(words) > _MOST and draw.random() >= _WHOLE:
            size = draw.randint(_LEAST, _MOST)
            start = 0 if draw.random() < 0.5 else draw.randint(0, len(words) - size)
            words = words[start : start + size]
        text = " ".join(words[:_LONGEST])
        heads = passage.bears > 0 and passage.source != "perspectrum" and draw.random() < _POINT
        return f"{passage.point} {text}" if heads else text


def _length(row: Row) -> int:
    return len(row[0]) + sum(map(len, row[1]))
