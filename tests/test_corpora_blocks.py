# ruff: noqa: E501 - texts and their blocks side by side
"""Blocks of plain text, Markdown and web pages: what is read in which order."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.errors import InputError
from pnyx.formats.documents.file_readers import READERS
from pnyx.formats.text.blocks import Block, Page
from pnyx.formats.text.encodings import encoding_of_bytes
from pnyx.formats.text.markdown_text import markdown_page
from pnyx.formats.text.pages import extract_page
from pnyx.formats.text.plain_text import blocks_of_text, joined_lines, rst_page


def shown(blocks):
    """Return blocks as (kind with level, speaker, text), without what is empty."""
    return [
        (f"{b.kind}{b.level or ''}", *([b.speaker] if b.speaker else []), b.text) for b in blocks
    ]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("One.\n\nTwo.", [("paragraph", "One."), ("paragraph", "Two.")]),
        ("Compul-\nsory voting.", [("paragraph", "Compulsory voting.")]),
        ("Compul\u00adsory.", [("paragraph", "Compulsory.")]),
        ("The di\ufb03cult question of \ufb01nes.", [("paragraph", "The difficult question of fines.")]),
        ("Anti-\nAmerican.", [("paragraph", "Anti- American.")]),
        ("nai\u0308ve cafe\u0301", [("paragraph", "na\u00efve caf\u00e9")]),
        ("First line is here.\nSecond one too.", [("paragraph", "First line is here."), ("paragraph", "Second one too.")]),
        (
            "This is a line that was wrapped at a width of\nabout forty characters, and here it\nends.",
            [("paragraph", "This is a line that was wrapped at a width of about forty characters, and here it ends.")],
        ),
        ("- one\n- two goes\n  on\n\n* three", [("item", "one"), ("item", "two goes on"), ("item", "three")]),
        ("1. one\n2) two", [("item", "one"), ("item", "two")]),
        ("Title\n=====\n\nText.", [("heading1", "Title"), ("paragraph", "Text.")]),
        ("Part\n----\nText.", [("heading2", "Part"), ("paragraph", "Text.")]),
        ("=====\nTitle\n=====\n\nText.", [("heading1", "Title"), ("paragraph", "Text.")]),
        ("INTRODUCTION\nSome text follows.", [("heading1", "INTRODUCTION"), ("paragraph", "Some text follows.")]),
        ("Why it matters\n\nIt does, for all.", [("heading2", "Why it matters"), ("paragraph", "It does, for all.")]),
        ("It does, for all.\n\nThe end", [("paragraph", "It does, for all."), ("paragraph", "The end")]),
        (
            "Anna Berg: I am for it.\nIt helps.\n\nMr Lind (owners): I am not.",
            [("turn", "Anna Berg", "I am for it."), ("paragraph", "Anna Berg", "It helps."), ("turn", "Mr Lind (owners)", "I am not.")],
        ),
        ("Anna: only one turn.", [("paragraph", "Anna: only one turn.")]),
        ("Note: one.\n\nDate: two.", [("paragraph", "Note: one."), ("paragraph", "Date: two.")]),
        (
            "First: it costs much.\n\nThird: it helps.",
            [("paragraph", "First: it costs much."), ("paragraph", "Third: it helps.")],
        ),
        (
            "[12:03] anna: hi there.\n<bob> hello you.",
            [("turn", "anna", "hi there."), ("turn", "bob", "hello you.")],
        ),
        (
            "From: Anna <a@x>\nTo: Bob\nSubject: Rents\n\nNo.\n\nOn 1 May 2024, Bob <b@x> wrote:\n> Yes, they\n> are low.\n>\n> - so",
            [
                ("paragraph", "From: Anna <a@x>"), ("paragraph", "To: Bob"), ("heading1", "Rents"),
                ("paragraph", "No."), ("paragraph", "On 1 May 2024, Bob <b@x> wrote:"),
                ("turn", "Bob", "Yes, they are low."), ("item", "Bob", "so"),
            ],
        ),
        ("", []),
        (" \n\n\t", []),
    ],
)  # fmt: skip
def test_blocks_of_text(text, blocks):
    assert shown(blocks_of_text(text)) == blocks


@pytest.mark.parametrize(("short", "kind"), [(2, "heading"), (3, "paragraph")])
def test_many_short_lines_in_a_row_are_no_headings(short, kind):
    lines = [f"I agree with number {n}" for n in range(short)]
    texts = [f"This is sentence {n} of a text." for n in range(10)]
    assert [b.kind for b in blocks_of_text("\n\n".join([*lines, *texts]))[:short]] == [kind] * short


@pytest.mark.parametrize(("width", "count"), [(120, 1), (121, 2)])
def test_lines_are_joined_up_to_a_width(width, count):
    assert len(joined_lines(["x" * width, "Y" * 10 + "."])) == count


def test_the_text_of_a_page_keeps_names_out_of_sentences():
    page = Page((Block("Hi.", "turn", 0, "Anna"), Block("More.", "paragraph", 0, "Anna")))
    assert page.text == "Anna:\nHi.\n\nMore."


words = st.lists(st.text("abcdefghij\u00e4\u00f6\u4f60,;?!'", min_size=1, max_size=12), max_size=8)
lines = st.lists(words.map(" ".join), max_size=12)


@given(lines)
def test_blocks_contain_every_word_of_a_plain_text_in_order(rows):
    text = "\n".join(rows)
    found = " ".join(
        f"{b.speaker} {b.text}" if b.kind == "turn" else b.text for b in blocks_of_text(text)
    )
    assert re.findall(r"\w", found) == re.findall(r"\w", text)


@given(st.sampled_from(sorted(READERS)), st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(suffix, content):
    with contextlib.suppress(InputError):
        READERS[suffix](content)


@given(
    st.text(
        st.characters(codec="utf-8") | st.sampled_from("<>&#*_`[]()|-:\n\t\r \"'"), max_size=300
    )
)
def test_any_text_is_read_as_text_markdown_and_web_page(text):
    for blocks in (
        blocks_of_text(text),
        markdown_page(text).blocks,
        extract_page(f"<p>{text}").blocks,
    ):
        for block in blocks:
            assert block.text == " ".join(block.text.split())
            assert block.text or block.kind == "turn"


@pytest.mark.parametrize("count", [1, 2])
def test_a_name_in_small_letters_must_occur_twice(count):
    text = "\n\n".join(["Anna: I am for it.", "Bob: I am not.", *["cem: me neither."] * count])
    assert [b.kind for b in blocks_of_text(text)][2:] == (
        ["paragraph"] if count == 1 else ["turn", "turn"]
    )


def test_a_wrapped_text_joins_lines_that_end_a_sentence_at_the_width():
    line = "This line ends at the width of it all."
    wrapped = f"{line}\n{line}\n\n{line}\nAnd so."
    assert [b.text for b in blocks_of_text(wrapped)] == [f"{line} {line}", f"{line} And so."]
    assert len(blocks_of_text(f"{line}\n{line}")) == 2


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("Title\n=====\n\n**Anna:** I am for it.\n\n**Bob:** I am not.",
         [("heading1", "Title"), ("turn", "Anna", "I am for it."), ("turn", "Bob", "I am not.")]),
        ("See `the site <http://x.org>`_ and ``code`` and :ref:`that` [1]_.",
         [("paragraph", "See the site and code and that.")]),
        (".. note::\n   :class: x\n\n   A note, here.\n\n.. _t: http://x", [("paragraph", "A note, here.")]),
        ("2 * 3 and a*b*c", [("paragraph", "2 * 3 and a*b*c")]),
    ],
)  # fmt: skip
def test_rst(text, blocks):
    assert shown(rst_page(text).blocks) == blocks


# Markdown -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("> quoted\n> view", [("turn", "quoted view")]),
        ("- [x] done\n- open\n\n  more", [("item", "done"), ("item", "open"), ("paragraph", "more")]),
        ("**open and _open", [("paragraph", "open and open")]),
        ("a * b and snake_case", [("paragraph", "a * b and snake_case")]),
        ("~~struck~~ <b>bold</b> ![image](x.png)", [("paragraph", "struck bold image")]),
        ("one<br><br>two", [("paragraph", "one"), ("paragraph", "two")]),
        ("<div>block of <b>HTML</b></div>", [("paragraph", "block of HTML")]),
        ("```\nprint(1)\n```", [("paragraph", "print(1)")]),
        ("Anna: yes.\n\nBob: no.", [("turn", "Anna", "yes."), ("turn", "Bob", "no.")]),
        ("Text.\n[1]: http://x.org", [("paragraph", "Text.")]),
    ],
)  # fmt: skip
def test_markdown(text, blocks):
    assert shown(markdown_page(text).blocks) == blocks


# Web pages ----------------------------------------------------------------------------------------

LONG = "This sentence is long enough to be taken for the text of a page by anybody who reads it. "


def web(body):
    return shown(extract_page(f"<html><body>{body}</body></html>").blocks)


def test_links_around_the_text_are_left_out_and_links_within_stay():
    menu = "".join(f'<li><a href="/{n}">Section {n} of the site</a></li>' for n in range(9))
    assert web(f"<ul>{menu}</ul><p>{LONG}<a href='x'>{LONG}</a></p>") == [
        ("paragraph", (LONG + LONG).strip())
    ]


@pytest.mark.parametrize(
    "furniture",
    [
        "<nav>Home</nav>", "<footer>Imprint of this page and so on</footer>",
        "<div class='site-footer'>Imprint of this page and so on</div>",
        "<div role='navigation'>Here you are now on this page</div>",
        "<p hidden>This is hidden from those who read the page</p>",
        "<p style='display: none'>This is hidden from those who read the page</p>",
        "<div id='cookieConsent'>We use cookies, do you accept all of them?</div>",
        "<script>alert(1)</script>",
    ],
)  # fmt: skip
def test_furniture_is_left_out(furniture):
    assert (
        web(f"{furniture}<p>{LONG}</p><p>{LONG}</p>{furniture}")
        == [("paragraph", LONG.strip())] * 2
    )


def test_a_name_that_sounds_like_furniture_does_not_hide_the_text():
    assert web(f"<div class='no-sidebar'><p>{LONG}</p></div>") == [("paragraph", LONG.strip())]


def test_one_comment_is_no_thread_and_two_are():
    def comment(n):
        return (
            f"<li class='comment'><cite>User{n} says:</cite><p>My view number {n} is this.</p></li>"
        )

    assert [b[0] for b in web(f"<p>{LONG}</p><ul>{comment(1)}</ul>")] == [
        "paragraph",
        "item",
        "paragraph",
    ]
    assert web(f"<p>{LONG}</p><ul>{comment(1)}{comment(2)}</ul>")[1:] == [
        ("turn", f"User{n}", f"My view number {n} is this.") for n in (1, 2)
    ]


def test_replies_within_posts_have_their_own_speaker():
    inner = "<div class='post'><b class='author'>Bob</b><p>I disagree with you.</p></div>"
    outer = (
        f"<div class='post'><b class='author'>Anna</b><p>I am for it.</p>{inner}<p>Last.</p></div>"
    )
    assert [b[1:] for b in web(outer)] == [
        ("Anna", "I am for it."), ("Bob", "I disagree with you."), ("Anna", "Last.")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("Die M\u00e4rkte \u00e4ndern sich f\u00fcr alle \u2013 so ist es.", "cp1252"),
        ("Czy miasto powinno ograniczy\u0107 czynsze? \u017baden z w\u0142a\u015bcicieli nie poda\u0142 \u017ar\u00f3d\u0142a. M\u00f3wi\u0105, \u017ce mieszka\u0144 b\u0119dzie mniej.", "cp1250"),
        ("\u0413\u043e\u0440\u043e\u0434 \u0434\u043e\u043b\u0436\u0435\u043d \u043e\u0433\u0440\u0430\u043d\u0438\u0447\u0438\u0442\u044c \u043f\u043b\u0430\u0442\u0443, \u0433\u043e\u0432\u043e\u0440\u044f\u0442 \u043b\u044e\u0434\u0438.", "cp1251"),
        ("Ein Text.", "utf-16-le"),
        ("Ein Text.", "utf-16-be"),
        ("Ein sch\u00f6ner Text.", "utf-16"),
        ("Ein sch\u00f6ner Text.", "utf-8-sig"),
        ("Ein sch\u00f6ner Text.", "utf-8"),
    ],
)  # fmt: skip
def test_encodings_are_recognised(text, codec):
    content = text.encode(codec)
    found = encoding_of_bytes(content)
    assert content.decode(found.codec).removeprefix("\ufeff") == text
    assert bool(found.assumed) == (codec not in ("utf-8", "utf-8-sig"))


LETTERS = """LETTERS TO THE EDITOR

Sir, The wolves were here first. They should stay.

J. Marrow, Tarl

Sir \u2013 I lost nine ewes. Shoot them.

Dear Editor, Thank you for the crossword.
"""


def test_each_letter_to_the_editor_has_its_own_writer():
    blocks = blocks_of_text(LETTERS)
    writers = [(block.speaker, block.text[:12]) for block in blocks if block.kind != "heading"]
    assert writers == [
        ("letter 1", "Sir, The wol"),
        ("letter 1", "J. Marrow, T"),
        ("letter 2", "Sir \u2013 I lost"),
        ("letter 3", "Dear Editor,"),
    ]


@pytest.mark.parametrize(
    "text", ["Sir David Marrow said so.", "Madam Chair, the motion.", "Dear me"]
)
def test_a_title_is_not_a_salutation(text):
    assert {block.speaker for block in blocks_of_text(f"{text}\n\n{text}")} == {""}


def test_one_letter_has_no_number():
    (block,) = blocks_of_text("Dear Sir, I write about wolves.")
    assert (block.kind, block.speaker) == ("paragraph", "")
