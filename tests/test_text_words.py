"""Encodings, lines, words, names and citation marks of texts, by hand."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from pnyx.core.errors import InputError
from pnyx.formats.text.citations import cited_sentences, without_marks, without_notes
from pnyx.formats.text.encodings import (
    Encoding,
    decoded_bytes,
    decoded_lines,
    encoding_of,
    encoding_of_bytes,
)
from pnyx.formats.text.folded_words import FoldedWords, languages
from pnyx.formats.text.lookalikes import name_shape, undisguised
from pnyx.formats.text.segment import (
    count_length,
    named_words,
    split_passages,
    split_sentences,
    split_words,
)
from pnyx.formats.text.tokens import Tokenizer, stem
from pnyx.formats.text.words import clean, folded, split_by_automaton, words_of
from pnyx.formats.text.words import split_words as unicode_words

# Encodings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "codec", "assumed"),
    [
        (b"a\0b\0", "utf-16-le", "UTF-16"),
        (b"\0a\0b", "utf-16-be", "UTF-16"),
        (b"a\0b\0c\0dd", "utf-16-le", "UTF-16"),  # 3 of 4 second bytes are 0
        (("a" * 20 + "ж" * 19).encode("utf-16-le"), "utf-16-le", "UTF-16"),
        (("a" * 19 + "\0").encode("utf-16-le"), "utf-16-le", "UTF-16"),  # 1 in 20 may be 0
        (b"ab", "utf-8", ""),
        (codecs.BOM_UTF32_LE + "a".encode("utf-32-le"), "utf-32", "UTF-32"),
        (codecs.BOM_UTF16_LE + "a".encode("utf-16-le"), "utf-16", "UTF-16"),
        (codecs.BOM_UTF8 + b"a", "utf-8-sig", ""),
        (b"\x81\x8d\x8f\x90\x9d" * 10, "latin-1", "LATIN-1"),
        ("家賃は毎年上がり、誰もがより多く払う。".encode("shift_jis"), "shift_jis", "SHIFT_JIS"),
        ("Η ενοικίαση αυξάνεται κάθε χρόνο και όλοι πληρώνουν".encode("cp1253"), "cp1253",
         "Windows-1253"),
    ],
)  # fmt: skip
def test_the_encoding_of_bytes(content: bytes, codec: str, assumed: str) -> None:
    assert encoding_of_bytes(content) == Encoding(codec, assumed)


@pytest.mark.parametrize(
    "content",
    [
        b"a\0",  # a single pair decides nothing
        b"a\0bc",  # half of the second bytes
        b"\0\0\0\0",
        ("a" * 18 + "\0").encode("utf-16-le"),  # 1 in 19 is more than 5 %
    ],
)
def test_bytes_that_are_not_text(content: bytes) -> None:
    with pytest.raises(InputError, match="is not text"):
        encoding_of_bytes(content)


def test_lines_of_a_file_keep_their_ends(tmp_path: Path) -> None:
    path = tmp_path / "a"

    def lines(content: bytes) -> list[str]:
        path.write_bytes(content)
        return list(decoded_lines(path, Encoding("utf-8")))

    assert lines(b"a\r\nb\rc\nd") == ["a\r\n", "b\r", "c\n", "d"]
    assert lines(b"a\nb\n\nc\xff") == ["a\n", "b\n", "\n", "c\ufffd"]
    assert [len(line) for line in lines(b"x" * (1 << 18) + b"y\nz")] == [(1 << 18) + 2, 1]
    assert lines(b"") == []


@pytest.mark.parametrize(
    ("content", "codec"),
    [
        (b"", "utf-8"),
        (b"x" * (1 << 20) + b"\xe9 caf", "cp1252"),  # read in pieces of a megabyte
        (b"x" * ((1 << 20) - 1) + "é".encode() + b" caf", "utf-8"),
        (b"x" * (1 << 20) + b"a\0b\0", "utf-8"),  # only the beginning tells UTF-16
    ],
)
def test_the_encoding_of_a_file_of_several_pieces(
    content: bytes, codec: str, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(content)
    if b"\0" in content:
        with pytest.raises(InputError, match="is not text"):
            encoding_of(tmp_path / "a")
    else:
        assert encoding_of(tmp_path / "a").codec == codec


def test_marks_of_byte_order_are_no_text() -> None:
    assert decoded_bytes(b"\xef\xbb\xbfa") == ("a", "")
    assert decoded_bytes("\ufeffa".encode("utf-16")) == ("a", "UTF-16")


# Words -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words", "terms"),
    [
        ("Don't stop 'quoted' it''s O'Neil's x_y __ 4.5",
         ["don't", "stop", "quoted", "it", "s", "o'neil's", "x_y", "__", "4", "5"],
         ["don't", "stop", "quot", None, None, "o'neil", "x_y", None, "4", "5"]),
        ("naïve CAFÉ’s", ["naïve", "café’s"], ["naïv", "café"]),
        ("ﬁne\u00adly a\u200db", ["finely", "ab"], ["fine", "ab"]),
        ("日本語 kanji語", ["日本", "本語", "kanji", "語"], ["日本", "本語", "kanji", "語"]),
        ("한국어abc", ["한국", "국어", "abc"], ["한국", "국어", "abc"]),
        ("don’t the runs", ["don’t", "the", "runs"], ["don't", None, "run"]),
    ],
)  # fmt: skip
def test_folded_words_and_their_terms(text: str, words: list[str], terms: list[str | None]) -> None:
    english, none = FoldedWords("english"), FoldedWords("none")
    assert none.words(text) == english.words(text) == words
    assert english.spaced(text).split() == words
    # Words without a letter or digit are None, as " s" is stemmed to nothing.
    assert [english.term(word) for word in words if word != "s"] == [
        term for word, term in zip(words, terms, strict=True) if word != "s"
    ]


def test_only_english_has_stop_words_and_each_language_its_stemmer() -> None:
    english, german, none = (FoldedWords(name) for name in ("english", "german", "none"))
    assert [each.term("the") for each in (english, german, none)] == [None, "the", "the"]
    assert [each.term("houses") for each in (english, none)] == ["hous", "houses"]
    assert german.term("häusern") == "haus"
    assert [each.stemmer for each in (english, german, none)] == ["porter", "german", None]
    assert english.to_manifest()["stop_words"] == "lucene-english-33"
    assert none.to_manifest()["stop_words"] is None
    assert [none.term(word) for word in ("x's", "naïve’s", "__", "_a")] == [
        "x", "naïve", None, "_a",
    ]  # fmt: skip
    assert languages()[0] == "none"
    assert not {"porter", "dutch_porter"} & set(languages())
    with pytest.raises(InputError, match="unknown language 'klingon', expected one of: none, ara"):
        FoldedWords("klingon")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a.b a,b 1,5 1.5 a_b _ __a it's a:b x'",
         ["a.b", "a", "b", "1,5", "1.5", "a_b", "__a", "it's", "a:b", "x"]),
        ("日本 é.e 1;2 a;b", ["日", "本", "é.e", "1;2", "a", "b"]),
        ("\U0001f600a", ["\U0001f600", "a"]),
        ("a" * 256 + " b", ["a" * 255, "a", "b"]),
        ("", []),
    ],
)  # fmt: skip
def test_words_of_unicode(text: str, words: list[str]) -> None:
    assert unicode_words(text) == split_by_automaton(text) == words


def test_texts_on_one_line_and_folded() -> None:
    assert clean("a\0b\n\tc \u2028") == "ab c"
    assert folded(" A\nSS ß") == "a ss ss"
    assert words_of("Don't A_b ß") == ("don", "t", "a_b", "ss")


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("run_1", "run-l"), ("Run-I", "run-l"), (" run 1 ", "run-l"), ("run\u2013|", "run-l"),
        ("r\u0443n", "ryn"), ("a\u0301b", "ab"), ("0K", "ok"), ("a\u200bb", "ab"),
    ],
)  # fmt: skip
def test_the_shape_of_a_name(name: str, shape: str) -> None:
    assert name_shape(name) == shape


def test_a_disguised_text_is_that_of_latin_letters() -> None:
    assert undisguised("\u0410dmin É\u200b ru n") == "admin e ru n"
    assert undisguised("a\u0370") == "a\u0371"  # no accent, but a letter after the accents


PORTER = """
caresses caress ponies poni ties ti caress caress cats cat feed feed agreed agre plastered plaster
bled bled motoring motor sing sing conflated conflat troubled troubl sized size hopping hop
tanned tan falling fall hissing hiss fizzed fizz failing fail filing file happy happi sky sky
relational relat conditional condit rational ration valenci valenc hesitanci hesit digitizer digit
conformabli conform radicalli radic differentli differ vileli vile analogousli analog
vietnamization vietnam predication predic operator oper feudalism feudal decisiveness decis
hopefulness hope callousness callous formaliti formal sensitiviti sensit sensibiliti sensibl
triplicate triplic formative form formalize formal electriciti electr electrical electr hopeful hope
goodness good revival reviv allowance allow inference infer airliner airlin gyroscopic gyroscop
adjustable adjust defensible defens irritant irrit replacement replac adjustment adjust
dependent depend adoption adopt homologou homolog communism commun activate activ angulariti angular
homologous homolog effective effect bowdlerize bowdler probate probat rate rate cease ceas
controll control roll roll is is by by say sai toy toi yes ye a a
""".split()
"""Words and their stems in Porter's paper (Program 14, 1980), and short ones."""


@pytest.mark.parametrize(("word", "expected"), list(zip(PORTER[::2], PORTER[1::2], strict=True)))
def test_the_stems_of_porters_paper(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_possessives_capitals_and_letters_beyond_16_bits_of_english_words() -> None:
    english = Tokenizer()
    assert [english.term(word) for word in ("Cats's", "x\u2019S", "'s", "THE", "\u0130t")] == [
        "cat", "x", "", None, None,
    ]  # fmt: skip
    assert english.words("Cats \u0130X e\u0301") == ["cats", "ix", "\u00e9"]
    assert stem("\U0001d4d0ings") == "\U0001d4d0ing"  # no vowel before -ing
    assert stem("\U0001d4d0aings") == "\U0001d4d0a"


# Sentences and lengths ---------------------------------------------------------------------------


def test_texts_are_cut_at_words_and_sentences() -> None:
    assert split_words("a b c d e", 2) == ["a b", "c d", "e"]
    assert split_words("x" * 65, 1) == ["x" * 64, "x"]
    with pytest.raises(ValueError, match="the number of words is 0, expected at least 1"):
        split_words("a", 0)
    text = "One two. Three four five. Six."
    assert split_passages(text, 5, sentences=True) == ["One two. Three four five.", "Six."]
    assert split_passages(text, 4, sentences=True) == ["One two.", "Three four five. Six."]
    assert split_passages(text, 2, sentences=True) == ["One two.", "Three four", "five.", "Six."]
    assert split_passages("", 2, sentences=True) == []
    assert split_sentences("One. Two.\nThree") == ["One.", "Two.", "Three"]
    assert split_sentences("a \ud800. B.") == ["a \ud800.", "B."]


def test_names_are_capitalised_or_numbers_and_not_first() -> None:
    assert named_words("Rents in Tarl rose by 4a since May") == {"Tarl", "4a", "May"}
    assert named_words("2020 was bad") == {"2020"}


def test_lengths_are_counted_as_in_campaigns() -> None:
    texts = ["ﬁne a\u00a0b", "½"]
    assert count_length(texts, "words") == 4
    assert count_length(["a\u2003½ b"], "nfkc-words") == 3
    assert count_length(["a", "b"], "chars") == 3
    assert count_length(["ﬁ"], "chars") == 2


# Citations ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("A [1].", [("A.", [1])]),
        ("A. [1][2] B [3, 1] c.", [("A.", [1, 2]), ("B c.", [3, 1])]),
        ("A [9]. [2]", [("A.", [9, 2])]),
        ("A [1] b [1].", [("A b.", [1])]),
        ("[1]", []),
        ('A.[1] B!" [2]', [("A.", [1]), ('B!"', [2])]),
        ("A [12345].", [("A [12345].", [])]),
    ],
)
def test_sentences_with_what_they_cite(text: str, sentences: list[tuple[str, list[int]]]) -> None:
    assert cited_sentences(text) == sentences


def test_marks_of_other_numbers_stay() -> None:
    assert without_marks("A [1][2] b [3, 1] c.", lambda n: n < 3) == ("A b [3, 1] c.", [1, 2])
    assert without_marks("A [1, 2] b.") == ("A b.", [1, 2])


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Rents rose.[3]", "Rents rose."), ("Rents rose [3].", "Rents rose."),
        ("in [3].", "in [3]."), ("see [3].", "see [3]."), ("rose [ii] x", "rose [ii] x"),
        ("[a] b", "[a] b"), ("rose [note 3]", "rose"), ("rose[citation needed]", "rose"),
        ("rose, [4] and", "rose, and"), ("value.[1–3]", "value."), ("word¹²", "word"),
        ("m²", "m²"), ("area¹.", "area."), ("rose†", "rose"), ("rents.12", "rents."),
        ("end.12", "end.12"), ("rents.1234", "rents.1234"),
    ],
)  # fmt: skip
def test_notes_of_a_source_are_removed(text: str, plain: str) -> None:
    assert without_notes(text) == plain
