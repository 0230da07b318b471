"""Converting texts to term numbers, which is most of the work of indexing.

A dictionary serves small corpora, a compiled scan large ones. Both number terms in order
of first occurrence, so the index is the same to the last byte.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from itertools import pairwise
from types import ModuleType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pnyx.core.native import can_compile
from pnyx.formats.text.tokens import Tokenizer

_COMPILE_AFTER: Final = 16_000_000
"""Characters after which loading the compiled scan (about a second) pays off."""

_REMEMBERED: Final = 1 << 21
"""Different words after which both methods clear their caches, to limit memory."""

_MISSING: Final = -1

Tokens = NDArray[np.int32]
Counts = NDArray[np.int64]


class WordNumbers:
    """Numbers the terms of documents; `terms` is term -> number, in the order of the numbers."""

    def __init__(self, tokenizer: Tokenizer, *, compiled: bool | None = None) -> None:
        self.terms: dict[str, int] = {}
        self._tokenizer = tokenizer
        self._compiled = compiled
        self._seen = 0
        self._known: dict[str, int] = {}
        self._table: _Table | None = None

    def number(self, texts: Sequence[str]) -> tuple[Tokens, Counts]:
        """Return the term number of each word, -1 if left out, and the words per document."""
        self._seen += sum(map(len, texts))
        pays = self._seen > _COMPILE_AFTER and can_compile()
        large = pays if self._compiled is None else self._compiled
        if self._table is None and large:
            self._table, self._known = _Table(self._tokenizer), {}
        if self._table is None:
            return self._by_dictionary(texts)
        return self._table.number(texts, self)

    def _by_dictionary(self, texts: Sequence[str]) -> tuple[Tokens, Counts]:
        numbers: list[int] = []
        counts = []
        cache = self._known
        for text in texts:
            words = self._tokenizer.words(text)
            counts.append(len(words))
            for word in words:
                number = cache.get(word)
                if number is None:
                    if len(cache) >= _REMEMBERED:
                        cache.clear()
                    number = cache[word] = self.of_word(word)
                numbers.append(number)
        return np.array(numbers, dtype=np.int32), np.array(counts, dtype=np.int64)

    def of_word(self, word: str) -> int:
        """Return the number of a word's term, a new one for a new term; -1 if it is left out."""
        term = self._tokenizer.term(word)
        return _MISSING if term is None else self.terms.setdefault(term, len(self.terms))


class _Table:
    """The words of the compiled scan: a hash table with open addressing."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        from pnyx.search.lexical import wordscan

        self._scan: ModuleType = wordscan
        self._prepared = tokenizer.prepared
        rules = tokenizer.automaton
        self._rules = (
            np.frombuffer(rules.classes, dtype=np.uint8),
            np.array(rules.moves, dtype=np.uint8),
            np.array(rules.ends, dtype=np.uint8),
            rules.window,
        )
        self._basis = np.uint64(secrets.randbits(64))
        self._clear()

    def _clear(self) -> None:
        self._hashes = np.zeros(1 << 16, dtype=np.uint64)
        self._slots = np.full(1 << 16, -1, dtype=np.int32)
        self._letters = np.zeros(1 << 20, dtype=np.uint8)
        self._ends = np.zeros(1 << 16, dtype=np.int64)
        self._terms = np.zeros(0, dtype=np.int32)  # word number -> term number

    def number(self, texts: Sequence[str], owner: WordNumbers) -> tuple[Tokens, Counts]:
        if len(self._terms) >= _REMEMBERED:
            self._clear()
        coded = [self._prepared(text).encode("utf-8", "surrogatepass") for text in texts]
        stops = np.cumsum([0, *map(len, coded)])[1:]
        text = np.frombuffer(b"".join(coded), dtype=np.uint8)
        numbers = np.empty(len(text), dtype=np.int32)  # a one-byte character may be a word
        counts = np.zeros(len(texts), dtype=np.int64)
        state = np.array([0, len(self._terms), 0, 0, 0], dtype=np.int64)
        tables = (self._hashes, self._slots, self._letters, self._ends)
        while not self._scan.scan(
            text, stops, self._rules, self._basis, tables, state, (numbers, counts)
        ):
            self._grow(len(text) - int(state[0]))
            tables = (self._hashes, self._slots, self._letters, self._ends)
        self._learn(int(state[1]), owner)
        return self._terms[numbers[: state[2]]], counts

    def _learn(self, word_count: int, owner: WordNumbers) -> None:
        first = len(self._terms)
        places = self._ends[first : word_count + 1].tolist()
        letters = self._letters[places[0] : places[-1]].tobytes()
        numbers = [
            owner.of_word(letters[a - places[0] : b - places[0]].decode("utf-8", "surrogatepass"))
            for a, b in pairwise(places)
        ]
        self._terms = np.concatenate([self._terms, np.array(numbers, dtype=np.int32)])

    def _grow(self, rest: int) -> None:
        """Make room for twice as many words, and for the longest one that may come."""
        hashes = np.zeros(2 * len(self._hashes), dtype=np.uint64)
        slots = np.full(len(hashes), -1, dtype=np.int32)
        self._scan.rehash(self._hashes, self._slots, hashes, slots)
        self._hashes, self._slots = hashes, slots
        self._ends = np.concatenate([self._ends, np.zeros_like(self._ends)])
        room = np.zeros(max(len(self._letters), rest), dtype=np.uint8)
        self._letters = np.concatenate([self._letters, room])
