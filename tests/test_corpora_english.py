"""English terms are those of Lucene's EnglishAnalyzer."""

from __future__ import annotations

import json
import random
from pathlib import Path
from unicodedata import is_normalized, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.formats.text.tokens import Tokenizer
from pnyx.formats.text.words import automaton, split_by_automaton, split_words

ENGLISH = Tokenizer()

LUCENE = json.loads((Path(__file__).parent / "lucene_terms.json").read_text(encoding="utf-8"))
"""Texts and the terms that Lucene 8.8.1 printed for them."""


@pytest.mark.parametrize("case", LUCENE["cases"], ids=lambda case: ascii(case["text"][:12]))
def test_terms_are_lucenes(case):
    text = case["text"]
    if is_normalized("NFC", text):
        assert ENGLISH.terms(text) == case["terms"]
    else:  # Lucene keeps letters apart that a question as it is typed has as one
        assert ENGLISH.terms(text) == ENGLISH.terms(normalize("NFC", text)) != case["terms"]


def test_two_of_lucenes_texts_have_letters_in_two_characters():
    assert sum(not is_normalized("NFC", case["text"]) for case in LUCENE["cases"]) == 2


def character_of_each_class() -> str:
    """Return three characters of each class that the automaton tells apart."""
    rng = random.Random(7)
    by_class: dict[int, list[str]] = {}
    for point, number in enumerate(automaton().classes):
        by_class.setdefault(number, []).append(chr(point))
    return "".join(own[0] + rng.choice(own) + own[-1] for own in by_class.values())


texts = st.deferred(
    lambda: st.text(st.sampled_from(character_of_each_class()) | st.characters(), max_size=40)
)


@given(texts)
def test_the_quick_ways_find_the_words_of_the_automaton(text):
    assert split_words(text) == split_by_automaton(text)


@given(st.text(st.sampled_from("ab_1'.:,;\"\u2019 \né\u203f"), max_size=40))
def test_the_quick_ways_through_plain_text_find_the_words_of_the_automaton(text):
    assert split_words(text) == split_by_automaton(text)


def test_no_letter_changes_its_class_in_lower_case():
    classes = automaton().classes
    plain = {0, *classes[:128]}
    letters = (chr(point) for point in range(0x10000) if classes[point] in plain)
    for letter in letters:
        for lower in letter.replace("\u0130", "i").lower():
            assert classes[ord(lower)] == classes[ord(letter)] or classes[ord(letter)] == 0


@given(texts)
def test_terms_of_any_text_are_words_in_lower_case(text):
    for term in ENGLISH.terms(text):
        assert 0 < len(term) <= 255
        assert term == "".join(map(str.lower, term))


@pytest.mark.parametrize("row", ["_", "\u200d", "\U0001f1e6\u0301", "_" * 200 + "\u0301" * 100])
def test_rows_in_which_no_word_begins_are_read_in_linear_time(row, monkeypatch):
    """Counts the moves of the automaton: they must not grow with the window, 255, either."""
    known = automaton()
    moves = 0

    class Counted(list[int]):
        def __getitem__(self, key):
            nonlocal moves
            moves += 1
            return super().__getitem__(key)

    counted = type(known)(
        known.classes, [Counted(m) for m in known.moves], known.ends, known.window
    )
    monkeypatch.setattr("pnyx.formats.text.words.automaton", lambda: counted)
    text = (row * 5000)[:5000]
    split_by_automaton(text)
    assert moves < 5 * len(text)
