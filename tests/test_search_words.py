"""Words to term numbers: the compiled scan, the dictionary, and both against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.core.records import Document
from pnyx.formats.text.tokens import Tokenizer
from pnyx.search.build import build_index
from pnyx.search.lexical import segments
from pnyx.search.lexical import term_numbers as words
from pnyx.search.lexical.term_numbers import WordNumbers

TOKENIZER = Tokenizer()
FOLDED = Tokenizer("none")
texts = st.text(
    st.sampled_from("abcT'_1. \n\x00’éßİΣ日本語กข©\u200d\ufe0f\U0001f600\U0001f1e6\ud800")
    | st.characters(exclude_categories=()),
    max_size=30,
)
batches = st.lists(st.lists(texts, max_size=6), min_size=1, max_size=4)


def numbered(batches, *, compiled, tokenizer=TOKENIZER):
    owner = WordNumbers(tokenizer, compiled=compiled)
    out = [owner.number(batch) for batch in batches]
    return [(tokens.tolist(), counts.tolist()) for tokens, counts in out], list(owner.terms)


@pytest.mark.parametrize("tokenizer", [TOKENIZER, FOLDED], ids=["english", "none"])
@settings(deadline=None)  # the first call compiles
@given(batches=batches)
def test_both_ways_number_the_terms_as_they_are_met(tokenizer, batches):
    by_hand: dict[str, int] = {}
    expected = []
    for batch in batches:
        tokens, counts = [], []
        for text in batch:
            found = tokenizer.words(text)
            counts.append(len(found))
            for word in found:
                term = tokenizer.term(word)
                tokens.append(-1 if term is None else by_hand.setdefault(term, len(by_hand)))
        expected.append((tokens, counts))
    for compiled in (False, True):
        found = numbered(batches, compiled=compiled, tokenizer=tokenizer)
        assert found == (expected, list(by_hand))


@pytest.mark.parametrize("character", ["x", "é", "漢", "\U00010428", "_", "\u200d"])
def test_the_compiled_scan_cuts_long_words_as_the_automaton_does(character):
    batches = [[character * 600 + "a", character * 254 + "'b" + character * 3]]
    assert numbered(batches, compiled=True) == numbered(batches, compiled=False)


def many(count, seed):
    rng = np.random.default_rng(seed)
    return [
        " ".join(f"w{n}" for n in rng.integers(0, count, 200)) + " long" * 9 + "x" * (count // 9)
        for _ in range(count // 100)
    ]


@pytest.mark.all
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
