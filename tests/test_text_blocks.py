# ruff: noqa: E501 - texts and their blocks side by side
"""Plain text, paragraph by paragraph: what is a heading, an item, a turn, a quotation or a letter."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pnyx.formats.text.blocks import Block
from pnyx.formats.text.plain_text import (
    blocks_of_text,
    in_one_line,
    joined_lines,
    rst_page,
    turn_opening,
    with_turns,
)

LINE = "This is a sentence of the text that goes on."


def shown(blocks: Iterable[Block]) -> list[tuple[str, ...]]:
    """Return blocks as (kind with level, speaker, text), without what is empty."""
    return [
        (f"{b.kind}{b.level or ''}", *([b.speaker] if b.speaker else []), b.text) for b in blocks
    ]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("> a b c.\n>> d e f.", [("turn", "a b c."), ("turn", "d e f.")]),
        ("> a b c.\nd e f.", [("turn", "a b c."), ("paragraph", "d e f.")]),
        ("x > y is so.", [("paragraph", "x > y is so.")]),
        ("Subject: Rents\n\nText here, yes.", [("paragraph", "Subject: Rents"), ("paragraph", "Text here, yes.")]),
        ("Subject: Rents\nFrom: Anna\n\nText.", [("heading1", "Rents"), ("paragraph", "From: Anna"), ("paragraph", "Text.")]),
        ("Betreff: Miete\nVon: Anna\nJa, so.", [("heading1", "Miete"), ("paragraph", "Von: Anna"), ("paragraph", "Ja, so.")]),
        ("AB,\nText follows.", [("paragraph", "AB, Text follows.")]),
        ("   > a b c.", [("turn", "a b c.")]),
        ("AB\nText follows.", [("heading2", "AB"), ("paragraph", "Text follows.")]),
        ("Anna van der: Yes.\n\nAnna van der: No.", [("paragraph", "Anna van der: Yes."), ("paragraph", "Anna van der: No.")]),
        ("Bob: a.\nAnn: b.\n\nOn 1 May 2024, Cem wrote:\n> Bob: Yes.", [("turn", "Bob", "a."), ("turn", "Ann", "b."), ("paragraph", "On 1 May 2024, Cem wrote:"), ("turn", "Bob", "Yes.")]),
        ("ABC\nText follows.", [("heading1", "ABC"), ("paragraph", "Text follows.")]),
        ("ABC!\nText follows.", [("paragraph", "ABC!"), ("paragraph", "Text follows.")]),
        ("ABC,\nText follows.", [("paragraph", "ABC, Text follows.")]),
        ("THE CITY\nTHE RENT\nText.", [("paragraph", "THE CITY THE RENT Text.")]),
        ("123\nText.", [("paragraph", "123 Text.")]),
        ("-----\nTitle\n-----\nText.", [("heading1", "Title"), ("paragraph", "Text.")]),
        ("Title\n~~~\nText.", [("heading2", "Title"), ("paragraph", "Text.")]),
        ("Title\n---", [("heading2", "Title")]),
        ("Ti\n==\nText.", [("paragraph", "Ti == Text.")]),
        ("***\n---\nText.", [("paragraph", "*** --- Text.")]),
        ("Anna:\nBob: Yes, I do.\nAnna: I see.", [("paragraph", "Anna"), ("turn", "Bob", "Yes, I do."), ("turn", "Anna", "I see.")]),
        ("Anna van der Berg: Yes.\n\nAnna van der Berg: No.", [("turn", "Anna van der Berg", "Yes."), ("turn", "Anna van der Berg", "No.")]),
        ("Anna van der berg: Yes.\n\nAnna van der berg: No.", [("paragraph", "Anna van der berg: Yes."), ("paragraph", "Anna van der berg: No.")]),
        ("anna berg: Yes.\n\nanna berg: No.", [("paragraph", "anna berg: Yes."), ("paragraph", "anna berg: No.")]),
        ("10:15 anna berg: Yes.\n\n10:16 anna berg: No.", [("turn", "anna berg", "Yes."), ("turn", "anna berg", "No.")]),
        ("Note: a.\nNote: b.\nBob: c.\nAnn: d.", [("paragraph", "Note: a. Note: b."), ("turn", "Bob", "c."), ("turn", "Ann", "d.")]),
        ("bob: a.\nBob: b.", [("paragraph", "bob: a."), ("paragraph", "Bob: b.")]),
        ("bob: a.\nbob: b.", [("turn", "bob", "a."), ("turn", "bob", "b.")]),
        ("Bob: a.\nAnn: b.\n- c\nd e.", [("turn", "Bob", "a."), ("turn", "Ann", "b."), ("item", "c d e.")]),
        ("A line that ends,\nGoes on here.", [("paragraph", "A line that ends, Goes on here.")]),
        ("A line of words\nthat goes on.", [("paragraph", "A line of words that goes on.")]),
        ("A line that ends.\nthat goes on.", [("paragraph", "A line that ends."), ("paragraph", "that goes on.")]),
        ("1) a\n(2) b\n12. c\n\u2022 e\n\u2013 f", [("item", "a"), ("item", "b"), ("item", "c"), ("item", "e"), ("item", "f")]),
        ("a 1234. d\n-g", [("paragraph", "a 1234. d -g")]),
        ("Dear Sir, one.\n\nHEADING\n\nmore of it.\n\nDear Madam, two.\n\nAnn Marrow, Tarl", [("turn", "letter 1", "Dear Sir, one."), ("heading1", "HEADING"), ("paragraph", "more of it."), ("turn", "letter 2", "Dear Madam, two."), ("paragraph", "letter 2", "Ann Marrow, Tarl")]),
        ("Dear Sir, one.\n\nAnn: x.\n\nDear Madam, two.\n\nAnn: y.\n\nmore", [("turn", "letter 1", "Dear Sir, one."), ("turn", "Ann", "x."), ("turn", "letter 2", "Dear Madam, two."), ("turn", "Ann", "y."), ("paragraph", "more")]),
        ("Sirs, one.\n\n(Mrs) E. Cole\n\nMadam - two.\n\nJ. Marrow", [("turn", "letter 1", "Sirs, one."), ("paragraph", "letter 1", "(Mrs) E. Cole"), ("turn", "letter 2", "Madam - two."), ("paragraph", "letter 2", "J. Marrow")]),
        ("On 1 May 2024, Bob wrote:\n> Yes.\n\nmore\n\n> No.", [("paragraph", "On 1 May 2024, Bob wrote:"), ("turn", "Bob", "Yes."), ("paragraph", "more"), ("turn", "No.")]),
        ("On 1 May 2024, Bob wrote:\n> Yes.\n>\n> And.", [("paragraph", "On 1 May 2024, Bob wrote:"), ("turn", "Bob", "Yes."), ("turn", "Bob", "And.")]),
        ("On Monday at noon, Ann Lee <a@b> wrote:\n> Yes.", [("paragraph", "On Monday at noon, Ann Lee <a@b> wrote:"), ("turn", "Ann Lee", "Yes.")]),
        ("Le 1 mai, Ann a \u00e9crit\u00a0:\n> Oui.", [("paragraph", "Le 1 mai, Ann a \u00e9crit :"), ("turn", "Ann", "Oui.")]),
        ("Bob wrote:\n> Yes.", [("paragraph", "Bob wrote:"), ("turn", "Yes.")]),
        ("a\vb\x85c\u2028d", [("paragraph", "a b c d")]),
        ("a\0b", [("paragraph", "a\ufffdb")]),
        # Short lines are headings unless most paragraphs are short.
        (f"One\n\nTwo\n\n{LINE}\n\n{LINE}", [("heading2", "One"), ("heading2", "Two"), ("paragraph", LINE), ("paragraph", LINE)]),
        (f"One\n\nTwo\n\n{LINE}", [("paragraph", "One"), ("paragraph", "Two"), ("paragraph", LINE)]),
    ],
)  # fmt: skip
def test_blocks_of_a_text(text: str, blocks: list[tuple[str, ...]]) -> None:
    assert shown(blocks_of_text(text)) == blocks


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Short line here", "heading2"),
        ("2 Another line?", "heading2"),
        ("RENTS", "heading1"),
        ("Is it so?", "heading2"),
        ('He said "It is so"', "heading2"),
        ("It is so.", "paragraph"),
        ("It is so:", "paragraph"),
        ('"It is so"', "paragraph"),
        ("so it is", "paragraph"),
        ("A Topic: here", "paragraph"),
        ("Twelve a b c d e f g h i j k", "heading2"),
        ("Thirteen a b c d e f g h i j k l", "paragraph"),
    ],
)
def test_a_short_line_without_a_full_stop_is_a_heading(line: str, kind: str) -> None:
    blocks = blocks_of_text(f"{LINE}\n\n{line}\n\n{LINE}\n\n{LINE}")
    assert shown(blocks)[1] == (kind, line)
    assert shown(blocks_of_text(f"{LINE}\n\n{LINE}\n\n{line}"))[2] == ("paragraph", line)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Bob: a", "Bob"),
        ("  Bob: a", "Bob"),
        ("Bob:", "Bob"),
        ("Bob:a", ""),
        ("<bob> hi", "bob"),
        (f"<{'b' * 30}> hi", "b" * 30),
        (f"<{'b' * 31}> hi", ""),
        ("http: x", ""),
        ("HTTP: x", ""),
        ("Mr Bob (owners): x", "Mr Bob (owners)"),
        ("Bob (of the union): x", ""),
        ("O'Neil-Smith: x", "O'Neil-Smith"),
        ("1Bob: x", ""),
        ("A B C D E F: x", "A B C D E F"),
        ("A B C D E F G: x", ""),
        ("[10:15] Bob: x", "Bob"),
        ("[10:15:01 am] bob lee: x", "bob lee"),
        ("10:15 - bob lee: x", "bob lee"),
        ("10:5 bob lee: x", ""),
        (" " * 96 + "Bob: x", "Bob"),
        (" " * 97 + "Bob: x", ""),  # the colon is the 101st character
    ],
)
def test_a_turn_begins_with_a_name(line: str, name: str) -> None:
    assert turn_opening(line) == name


@pytest.mark.parametrize(
    ("lengths", "joined"),
    [
        # A line is full if the next word would make it longer than 80 % of the width.
        ((100, 70, 9), [171, 9]),
        ((100, 70, 10), [182]),
        ((120, 90, 9), [221]),
        ((121, 97, 9), [219, 9]),  # beyond 120 characters, only a small letter goes on
    ],
)
def test_full_lines_are_joined(lengths: tuple[int, int, int], joined: list[int]) -> None:
    lines = [letter * n for letter, n in zip("wxY", lengths, strict=True)]
    assert [len(text) for text in joined_lines(lines)] == joined


def test_invisible_characters_ligatures_and_blanks_are_plain() -> None:
    assert in_one_line("co\u00adop\u200b \u2060e\ufb03e\ufb00 \ufb05\n\tx") == "coop effieff st x"
    assert in_one_line("e\u0301") == "\u00e9"


def test_paragraphs_with_two_names_become_turns() -> None:
    blocks = [Block("Bob: a."), Block("Ann: b.", "item"), Block("Ann: c."), Block("Bob:")]
    assert shown(with_turns(blocks)) == [
        ("turn", "Bob", "a."), ("item", "Ann: b."), ("turn", "Ann", "c."), ("paragraph", "Bob:"),
    ]  # fmt: skip
    assert shown(with_turns(blocks[:2])) == [("paragraph", "Bob: a."), ("item", "Ann: b.")]
    quoted = [Block("Bob: a.", "paragraph", 0, "Cem"), Block("Ann: c.")]
    assert shown(with_turns(quoted)) == [("paragraph", "Cem", "Bob: a."), ("turn", "Ann", "c.")]


def test_the_first_heading_of_a_text_in_rst_is_its_title() -> None:
    page = rst_page("Title\r\n=====\r\n:Author: Ann\r\n\r\nText [#note]_ and [*]_ here.")
    assert (page.title, shown(page.blocks)[0]) == ("Title", ("heading1", "Title"))
    assert page.blocks[-1].text == "Text and here."
    assert rst_page("Text.\n\nTitle\n=====\n\nMore.").title == ""
    assert rst_page("").title == ""
