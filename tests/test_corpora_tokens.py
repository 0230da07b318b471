"""Text to index terms, over many scripts."""

import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.errors import InputError
from pnyx.formats.text.folded_words import STOP_WORDS, FoldedWords
from pnyx.formats.text.tokens import Tokenizer, languages

ENGLISH = Tokenizer()
PLAIN = Tokenizer("none")


def test_folded_english_is_what_lexical_students_were_fitted_to():
    folded = FoldedWords("english")
    text = "The government’s policies aren't working: O'Neill's running, e.g. at 3.5 percent"
    assert [folded.term(word) for word in folded.words(text)] == [
        None, "govern", "polici", "aren't", "work", "o'neil", "run", "e", "g", None, "3", "5",
        "percent",
    ]  # fmt: skip


def test_lucenes_thirty_three_stop_words():
    assert len(STOP_WORDS) == 33
    assert ENGLISH.terms(" ".join(STOP_WORDS).upper()) == []


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("ＦＵＬＬ ﬁne STRASSE Straße", ["full", "fine", "strasse", "strasse"]),
        ("cafe\u0301 café CAFÉ", ["café"] * 3),
        ("co\u00adoperate می\u200cخواهم", ["cooperate", "میخواهم"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("東京都", ["東京", "京都"]),
        ("水", ["水"]),
        ("日本のGDPは2020年", ["日本", "本の", "gdp", "は", "2020", "年"]),
        ("ｶﾞｲﾄﾞ", ["ガイ", "イド"]),
        ("대한민국", ["대한", "한민", "민국"]),
        ("__ _ -- ... ''", []),
        ("a_b snake_case", ["a_b", "snake_case"]),
        ("don’t don't rock'n'roll", ["don't", "don't", "rock'n'roll"]),
        ("x" * 300, ["x" * 255]),
    ],
)
def test_words_of_many_scripts(text, terms):
    assert PLAIN.terms(text) == terms


def test_ascii_takes_a_shorter_way_to_the_same_words():
    text = "It's THE dog's_bone; 'quoted' -- 100% don't e-mail a_b __x__"
    assert PLAIN.terms(text) == PLAIN.terms(text + " \u2028")


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_gives_short_words_that_contain_a_letter_or_digit(text):
    for term in PLAIN.terms(text):
        assert 0 < len(term) <= 255
        assert term.encode()
        assert any(unicodedata.category(c)[0] in "LNM" for c in term)


@given(st.text())
def test_case_and_compatibility_forms_do_not_matter(text):
    folded = unicodedata.normalize("NFKC", text)
    assert PLAIN.terms(folded) == PLAIN.terms(text)


def test_unspaced_text_of_any_length_is_linear():
    assert len(PLAIN.terms("漢" * 100_000)) == 99_999


def test_every_language_round_trips_through_the_manifest():
    assert {"none", "english", "german", "arabic"} <= set(languages())
    for language in languages():
        tokenizer = Tokenizer(language)
        assert Tokenizer.from_manifest(tokenizer.to_manifest()) == tokenizer
        assert tokenizer.terms("universities 東京都")


@pytest.mark.parametrize("change", [{"version": 2}, {"name": "other"}, {"language": "klingon"}])
def test_an_unknown_tokenizer_is_refused(change):
    with pytest.raises(ValueError, match="unknown tokenizer"):
        Tokenizer.from_manifest(ENGLISH.to_manifest() | change)


def test_an_unknown_language_names_the_known_ones():
    with pytest.raises(InputError, match="unknown language 'klingon', expected one of: none, "):
        Tokenizer("klingon")


@pytest.mark.all
def test_all_characters_at_once():
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    assert PLAIN.terms(everything)
    assert ENGLISH.terms(everything)


@given(st.text(alphabet="ab_1' .'\n-Z$", max_size=30))
def test_the_quick_way_through_ascii_finds_the_same_words(text):
    assert PLAIN.words(text) == re.findall(r"\w+(?:'\w+)*", text.lower(), re.ASCII)
