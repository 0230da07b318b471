"""Documents are split into passages where people would split them."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.core.records import Argument, Document, Passage, Premise, document_id, judged_text
from pnyx.formats.documents.document_passages import documents_of_page, passages_of_record
from pnyx.formats.text.blocks import Block, Page
from pnyx.formats.text.passages import (
    LEAST_WORDS,
    MOST_WORDS,
    WHOLE_WORDS,
    count_words,
    cut_text,
    passages_of,
)
from pnyx.formats.text.plain_text import blocks_of_text


def words(count, start=0):
    """So many different words, sentences of ten."""
    return " ".join(f"w{start + n}" + "." * (n % 10 == 9 or n == count - 1) for n in range(count))


def paragraph(count, start=0, **fields):
    return Block(words(count, start), **fields)


def sizes(passages):
    return [count_words(one.text) for one in passages]


def shown(blocks, title=""):
    return [(one.text, one.heading, one.speaker) for one in passages_of(blocks, title)]


# Short documents ---------------------------------------------------------------------------------


def test_a_short_document_is_one_passage():
    assert sizes(passages_of([paragraph(WHOLE_WORDS - 100), paragraph(100)])) == [WHOLE_WORDS]
    assert sizes(passages_of([paragraph(WHOLE_WORDS - 99), paragraph(100)])) == [81, 100]
    assert passages_of([]) == passages_of([Block("  ")]) == []


def test_headings_of_a_short_document_are_above_it_or_lines_within_it():
    blocks = [
        Block("Rents", "heading", 1),
        Block("One."),
        Block("For", "heading", 2),
        Block("Two."),
    ]
    assert shown(blocks) == [("One.\n\nFor\n\nTwo.", "Rents", "")]
    assert shown(blocks[:2]) == [("One.", "Rents", "")]
    assert shown(blocks[:2], "Rents") == [("One.", "", "")]


def test_a_short_document_is_split_at_headings_where_two_sections_could_be_passages():
    def sections(first, second):
        return [
            Block("For", "heading", 1), paragraph(first), Block("Against", "heading", 1),
            paragraph(second, 500),
        ]  # fmt: skip

    split = passages_of(sections(LEAST_WORDS, LEAST_WORDS))
    assert [(one.heading, count_words(one.text)) for one in split] == [("For", 40), ("Against", 40)]
    assert len(passages_of(sections(LEAST_WORDS, LEAST_WORDS - 1))) == 1


def test_a_short_document_of_several_speakers_is_split():
    blocks = blocks_of_text("Ann: Yes, of course.\n\nBob: No, never.\n\nAnn: Why not?")
    assert shown(blocks) == [
        ("Yes, of course.", "", "Ann"), ("No, never.", "", "Bob"), ("Why not?", "", "Ann"),
    ]  # fmt: skip
    assert shown([Block("Only I speak.", "turn", 0, "Ann")]) == [("Only I speak.", "", "Ann")]


# Voices ------------------------------------------------------------------------------------------


def test_turns_of_one_speaker_are_joined_and_unnamed_posts_are_not():
    named = [Block("One.", "turn", 0, "Ann"), Block("Two.", "paragraph", 0, "Ann"),
             Block("Three.", "turn", 0, "Ann"), Block("Four.", "turn", 0, "Bob")]  # fmt: skip
    assert shown(named) == [("One.\n\nTwo.\n\nThree.", "", "Ann"), ("Four.", "", "Bob")]
    posts = [Block("One.", "turn"), Block("Two.", "turn"), Block("Three."), Block("Four.")]
    assert [one.text for one in passages_of(posts)] == ["One.", "Two.", "Three.\n\nFour."]


def test_a_long_turn_is_cut_and_keeps_its_speaker():
    blocks = [
        paragraph(MOST_WORDS + 50, kind="turn", speaker="Ann"),
        Block("No.", "turn", 0, "Bob"),
    ]
    assert [(one.speaker, count_words(one.text)) for one in passages_of(blocks)] == [
        ("Ann", 100), ("Ann", 100), ("Bob", 1),
    ]  # fmt: skip


# Headings ----------------------------------------------------------------------------------------


def test_the_path_of_headings_is_above_each_passage():
    blocks = [
        Block("Rents", "heading", 1), paragraph(100), Block("For", "heading", 2), paragraph(60),
        Block("Costs", "heading", 3), paragraph(50), Block("Against", "heading", 2), paragraph(45),
    ]  # fmt: skip
    assert [one.heading for one in passages_of(blocks)] == [
        "Rents", "Rents › For", "Rents › For › Costs", "Rents › Against",
    ]  # fmt: skip
    assert [one.heading for one in passages_of(blocks, "Rents")] == [
        "", "For", "For › Costs", "Against",
    ]  # fmt: skip


def test_a_heading_with_nothing_under_it_is_a_text():
    blocks = [
        Block("Rents", "heading", 1), Block("Empty", "heading", 2), Block("For", "heading", 2),
        paragraph(200), Block("The end", "heading", 1),
    ]  # fmt: skip
    assert [(one.text[:7], one.heading) for one in passages_of(blocks)][:2] == [
        ("Empty", "Rents"), ("w0 w1 w", "Rents › For"),
    ]  # fmt: skip
    assert passages_of(blocks)[-1].text == "The end"
    # One that is the title is shown as such already.
    assert shown([Block("Rents", "heading", 1), Block("For", "heading", 1), Block("So.")],
                 "Rents") == [("So.", "For", "")]  # fmt: skip


def test_a_heading_longer_than_a_heading_is_a_paragraph():
    blocks = [Block(words(41), "heading", 1), Block("So.")]
    assert shown(blocks) == [(f"{words(41)}\n\nSo.", "", "")]
    assert shown([Block(words(40), "heading", 1), Block("So.")]) == [("So.", words(40), "")]


# Paragraphs and lists ----------------------------------------------------------------------------


def test_paragraphs_are_passages_and_short_neighbours_are_joined():
    assert sizes(passages_of([paragraph(60), paragraph(70), paragraph(80)])) == [60, 70, 80]
    assert sizes(passages_of([paragraph(20), paragraph(70), paragraph(120)])) == [90, 120]
    assert sizes(passages_of([paragraph(130), paragraph(20), paragraph(60)])) == [150, 60]
    assert sizes(passages_of([paragraph(140), paragraph(20), paragraph(140)])) == [140, 20, 140]
    exactly = [paragraph(LEAST_WORDS), paragraph(LEAST_WORDS), paragraph(150)]
    assert sizes(passages_of(exactly)) == [40, 40, 150]
    exactly[0] = paragraph(LEAST_WORDS - 1)
    assert sizes(passages_of(exactly)) == [79, 150]


def test_a_list_stays_with_its_lead_in():
    items = [paragraph(15, n * 15, kind="item") for n in range(4)]
    blocks = [paragraph(90), Block("There are four reasons:"), *items, paragraph(100)]
    assert sizes(passages_of(blocks)) == [90, 64, 100]
    assert passages_of(blocks)[1].text.startswith("There are four reasons:\n\nw0")


@pytest.mark.parametrize(("words_before", "split"), [(39, [90, 84, 100]), (40, [90, 85, 100])])
def test_a_short_paragraph_leads_in_a_list(words_before, split):
    items = [paragraph(15, n * 15, kind="item") for n in range(3)]
    assert (
        sizes(passages_of([paragraph(90), paragraph(words_before), *items, paragraph(100)]))
        == split
    )


def test_a_cut_is_at_the_sentence_end_next_to_the_middle():
    def parts(*lengths):
        text = " ".join(words(length, 1000 * length).replace(". ", " ") for length in lengths)
        return [count_words(part) for part in cut_text(text)]

    assert parts(70, 20, 70) == [70, 90]  # 70 and 90 are equally far from 80: the first
    assert parts(69, 22, 69) == [69, 91]
    assert parts(69, 21, 70) == [90, 70]
    assert parts(100, 100, 100) == [100, 100, 100]
    assert parts(151, 20) == [76, 95]  # a sentence longer than a passage is cut first


def test_the_last_passage_is_evened_out():
    items = [paragraph(30, n * 30, kind="item") for n in range(6)]
    assert sizes(passages_of([*items, paragraph(20)])) == [150, 50]
    assert sizes(passages_of([*items[:5], paragraph(35), paragraph(2)])) == [120, 67]


def test_a_long_paragraph_is_cut_at_sentence_ends_into_equal_parts():
    parts = cut_text(words(MOST_WORDS + 10))
    assert [count_words(part) for part in parts] == [80, 80]
    assert all(part.endswith(".") for part in parts)
    assert cut_text(words(MOST_WORDS)) == [words(MOST_WORDS)]
    assert [count_words(part) for part in cut_text(words(450))] == [150, 150, 150]
    long = " ".join(f"extraordinarily{n}" for n in range(400))  # one sentence of long words
    assert "".join(cut_text(long)).replace(" ", "") == long.replace(" ", "")
    assert all(re.fullmatch(r"extraordinarily\d+( extraordinarily\d+)*", p) for p in cut_text(long))


# Properties --------------------------------------------------------------------------------------

_BLOCKS = st.builds(
    Block,
    st.one_of(
        st.text(string.printable + "äß語。\ud800\x00", min_size=1, max_size=600).map(
            lambda text: " ".join(text.split())
        ),
        st.integers(1, 400).map(words),
    ),
    st.sampled_from(["heading", "paragraph", "item", "turn"]),
    st.integers(0, 4),
    st.sampled_from(["", "", "Ann", "Bob"]),
)


@pytest.mark.all
@settings(deadline=None, max_examples=150)
@given(st.lists(_BLOCKS, max_size=12), st.sampled_from(["", "w0."]))
def test_every_word_is_in_exactly_one_passage_in_order(blocks, title):
    blocks = [
        Block(b.text, b.kind, b.level, "" if b.kind == "heading" else b.speaker) for b in blocks
    ]
    passages = passages_of(blocks, title)
    found = "".join("".join(one.text.split()) for one in passages)
    at = 0
    for block in blocks:
        said = "".join(block.text.split())
        here = found.find(said, at)
        if block.kind == "heading":  # above passages, or a text
            above = any(block.text in one.heading.split(" › ") for one in passages)
            is_deep = sum(b.kind == "heading" for b in blocks) > 4
            assert block.text.split() == title.split() or above or here >= 0 or is_deep
            continue
        assert here >= 0
        at = here + len(said)
    of_text = sum(len("".join(b.text.split())) for b in blocks if b.kind != "heading")
    of_headings = sum(len("".join(b.text.split())) for b in blocks if b.kind == "heading")
    assert of_text <= len(found) <= of_text + of_headings
    above = sum(count_words(b.text) for b in blocks if b.kind == "heading")  # lines of a whole text
    assert all(n <= WHOLE_WORDS + above for n in sizes(passages) if len(passages) == 1)
    assert all(count <= MOST_WORDS for count in sizes(passages) if len(passages) > 1)


@pytest.mark.parametrize(
    "text", ["a" * 1_000_000, "語" * 300_000, "ab. " * 100_000, "x" * 100 + " y" * 100_000]
)
def test_sizes_are_bounded_whatever_the_text(text):
    passages = passages_of([Block(text)])
    assert all(count <= MOST_WORDS and len(one.text) <= 16 * 2 * MOST_WORDS
               for one, count in zip(passages, sizes(passages), strict=True))  # fmt: skip
    assert "".join(one.text for one in passages).replace(" ", "") == text.replace(" ", "")


def test_words_without_blanks_count():
    assert count_words("ab " * 3) == 3
    assert count_words("x" * 16) == 1
    assert count_words("x" * 17) == 2
    assert count_words("語語語") == 2


# Records -----------------------------------------------------------------------------------------


def test_a_page_becomes_passages_with_their_context():
    page = Page((Block("For", "heading", 1), paragraph(100), paragraph(100, 100)), "Rents", "u")
    first, second = documents_of_page("a b.md", page, {"year": "2024"})
    assert (first.id, second.id) == ("a b.md#1", "a b.md#2")
    assert first.passage == Passage("a b.md", 1, 2, "For")
    assert second.passage.described == "passage 2 of 2, under “For”"
    assert (second.title, second.url, second.extra) == ("Rents", "u", {"year": "2024"})
    assert judged_text(second) == f"Rents\nFor\n{words(100, 100)}"
    assert {document_id(first), document_id(second)} == {"a b.md"}
    (whole,) = documents_of_page("a b.md", page, unit="document")
    assert (whole.id, whole.passage) == ("a b.md", None)
    assert whole.text == page.text
    (short,) = documents_of_page("a.md", Page((Block("One."),)))
    assert (short.id, short.passage) == ("a.md", None)
    (said,) = documents_of_page("a.csv#1", Page((Block("One.", "turn", 0, "Ann"),)))
    assert (said.id, said.passage) == ("a.csv#1", Passage("a.csv#1", speaker="Ann"))
    assert judged_text(said) == "Ann:\nOne."
    assert list(documents_of_page("a.md", Page())) == []


def test_passages_do_not_repeat_what_is_long():
    blocks = (Block("So.", "turn", 0, "s" * 10_000), paragraph(400))
    page = Page(blocks, "t" * 10_000, "u" * 10_000)
    first, *others = documents_of_page("a.md", page, {"long": "x" * 10_000, "short": "x"})
    assert first.extra == {"long": "x" * 10_000, "short": "x"}
    assert first.passage.speaker == "s" * 200
    for one in others:
        assert (one.extra, one.url, len(one.title)) == ({"short": "x"}, "", 300)


def test_records_of_a_collection_are_split_with_their_labels():
    text = f"{words(100)}\n\n{words(100, 100)}"
    made = list(passages_of_record(Document("d", text, "Rents", extra={"year": 1})))
    assert [(one.id, one.text, one.title) for one in made] == [
        ("d#1", words(100), "Rents"), ("d#2", words(100, 100), "Rents"),
    ]  # fmt: skip
    argument = Argument("a", "Rents should be capped", (Premise(words(200)),), "pro", "Caps?")
    first, second = passages_of_record(argument)
    assert (first.stance, second.topic, second.title) == ("pro", "Caps?", argument.conclusion)
    assert first.text.split() + second.text.split() == words(200).split()
    assert judged_text(second) == f"Rents should be capped\n{second.text}"
    for length, parts in ((1000, 2), (1001, 1)):
        argument = Argument("a", "c" * length, (Premise(words(200)),))
        assert len(list(passages_of_record(argument))) == parts
    short = Argument("a", "Rents should be capped", (Premise("So."),), "pro")
    assert list(passages_of_record(short)) == [short]
    assert list(passages_of_record(made[0])) == [made[0]]
    long_name = Document("d" * 1001, text)
    assert list(passages_of_record(long_name)) == [long_name]
