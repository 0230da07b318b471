"""Words to term numbers: the compiled scan, the dictionary, and both against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.corpora.tokens import Tokenizer
from pnyx.records import Document
from pnyx.search import segments, words
from pnyx.search.index import build_index
from pnyx.search.words import WordNumbers

TOKENIZER = Tokenizer()
texts = st.text(
    st.sampled_from("abcT'_ \n\x00’éß日本語กข\U0001f600\ud800") | st.characters(), max_size=30
)
batches = st.lists(st.lists(texts, max_size=6), min_size=1, max_size=4)


def numbered(batches, *, compiled):
    owner = WordNumbers(TOKENIZER, compiled=compiled)
    out = [owner.number([TOKENIZER.spaced(text) for text in batch]) for batch in batches]
    return [(tokens.tolist(), counts.tolist()) for tokens, counts in out], list(owner.terms)


@settings(deadline=None)  # the first call compiles
@given(batches)
def test_both_ways_number_the_terms_as_they_are_met(batches):
    by_hand: dict[str, int] = {}
    expected = []
    for batch in batches:
        tokens, counts = [], []
        for text in batch:
            found = TOKENIZER.words(text)
            counts.append(len(found))
            for word in found:
                term = TOKENIZER.term(word)
                tokens.append(-1 if term is None else by_hand.setdefault(term, len(by_hand)))
        expected.append((tokens, counts))
    for compiled in (False, True):
        assert numbered(batches, compiled=compiled) == (expected, list(by_hand))


@given(texts)
def test_spaced_parts_the_words_and_nothing_else(text):
    spaced = TOKENIZER.spaced(text)
    assert spaced.split() == TOKENIZER.words(text)
    assert "\n" not in spaced


def test_a_newline_inside_of_a_text_is_refused():
    for texts in (["a b", "c\nd"], ["\n" * 100]):
        for compiled in (False, True):
            with pytest.raises(ValueError, match="holds a newline"):
                WordNumbers(TOKENIZER, compiled=compiled).number(texts)


def many(count, seed):
    rng = np.random.default_rng(seed)
    return [
        " ".join(f"w{n}" for n in rng.integers(0, count, 200)) + " long" * 9 + "x" * (count // 9)
        for _ in range(count // 100)
    ]


def test_the_tables_grow_in_the_middle_of_a_text():
    batches = [many(60_000, 1), many(9_000, 2), ["y" * 3_000_000 + " end"]]
    assert numbered(batches, compiled=True) == numbered(batches, compiled=False)


def test_forgetting_words_forgets_no_term(monkeypatch):
    monkeypatch.setattr(words, "_REMEMBERED", 50)
    batches = [many(2000, seed) for seed in range(5)]
    assert numbered(batches, compiled=True) == numbered(batches, compiled=False)


def test_large_corpora_take_the_compiled_way_and_give_the_same_index(tmp_path, monkeypatch):
    rows = [Document(str(n), text) for n, text in enumerate(many(4000, 3))]
    build_index(rows, tmp_path / "plain")
    monkeypatch.setattr(words, "_COMPILE_AFTER", 20_000)
    monkeypatch.setattr(segments, "_CHUNK_CHARACTERS", 30_000)
    build_index(rows, tmp_path / "compiled")
    name = "segment-000001.data"
    assert (tmp_path / "plain" / name).read_bytes() == (tmp_path / "compiled" / name).read_bytes()


def test_what_goes_wrong_while_counting_stops_the_build(tmp_path, monkeypatch):
    def broken(*_):
        raise MemoryError("no room")

    monkeypatch.setattr(WordNumbers, "number", broken)
    with pytest.raises(MemoryError, match="no room"):
        build_index([Document("1", "text")], tmp_path / "i")
    assert not (tmp_path / "i").exists()
