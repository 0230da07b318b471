"""Transcripts and subtitles (.vtt, .srt) and rich text (.rtf), read as documents of a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.core.errors import InputError
from pnyx.formats.documents.file_readers import read_file
from pnyx.formats.text.rich_text import blocks_of_rich_text
from pnyx.formats.text.subtitles import blocks_of_subtitles
from tries import tries

CALL = """WEBVTT
Kind: captions

NOTE recorded on Monday

STYLE
::cue { color: red }

1
00:00:01.000 --> 00:00:05.000 align:start
<v Dr Lind>Rents rose <b>faster</b>

00:05.000 --> 00:09.000
<v Dr Lind>than wages &amp; prices.

00:00:09.500 --> 00:00:12.000
[applause]
<v.loud Ann Roe>That is not true.
"""

CAPTIONS = """\ufeff1\r
00:00:01,000 --> 00:00:02,000\r
- buses should be free\r
\r
2\r
00:00:02,000 --> 00:00:03,500\r
buses should be free\r
{\\an8}<i>because the poor</i>\r
\r
3\r
00:00:03,500 --> 00:00:05,000\r
because the poor\r
ride them most\r
"""


def said(text: str) -> list[tuple[str, str]]:
    return [(block.speaker, block.text) for block in blocks_of_subtitles(text)]


def test_a_call_is_read_by_its_speakers():
    assert said(CALL) == [
        ("Dr Lind", "Rents rose faster"),
        ("Dr Lind", "than wages & prices."),
        ("Ann Roe", "That is not true."),
    ]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["Kim Yu: It costs too much.", "Lee: Not for us,", "as we own it."],
         [("Kim Yu", "It costs too much."), ("Lee", "Not for us, as we own it.")]),
        (["Kim: One name is not a talk.", "So it is text."],
         [("", "Kim: One name is not a talk. So it is text.")]),
        ([">> Good morning.", "- And - well - yes."], [("", "Good morning. And - well - yes.")]),
        (["(door slams)", "♪ la la", "[ 60 % of it ] is paid"], [("", "[ 60 % of it ] is paid")]),
        (["<v Eve><c.x>Yes</c> <00:00:02.000>now", "2 < 3 and 4 > 3"],
         [("", "Eve: Yes now 2 < 3 and 4 > 3")]),
    ],
)  # fmt: skip
def test_what_is_said_in_a_cue(lines, expected):
    cues = (f"0{n}:00.000 --> 0{n}:05.000\n{line}\n" for n, line in enumerate(lines))
    assert said("WEBVTT\n\n" + "\n".join(cues)) == expected


def test_captions_without_names_are_one_paragraph_and_repeat_nothing():
    assert said(CAPTIONS) == [("", "buses should be free because the poor ride them most")]


@pytest.mark.parametrize("text", ["", "WEBVTT\n", "1\n2\nno times\n", "--> 1\nx", "1:00 --> x\ny"])
def test_what_is_in_no_cue_is_not_said(text):
    assert said(text) == []


RICH = rb"""{\rtf1\ansi\ansicpg1251\deff0{\fonttbl{\f0\fnil Arial;}}{\colortbl;\red0;}
{\*\generator Word 16;}{\info{\title Secret}}{\header Page 1}\pard\f0\fs24
\'ce\'ed said: \ldblquote no\rdblquote  \endash  \{not\} 5\~%\_a
 d\u233\'e9e, \uc2\u8364 EUtwo \u-10179??\u-8704??.\par
{\field{\*\fldinst HYPERLINK "http://x.example"}{\fldrslt The link}} and {\b bold} words.\line
\pict{\*\blipuid 00}}"""


def test_rich_text_is_read_without_its_markup():
    first, *others = (block.text for block in blocks_of_rich_text(RICH))
    assert first == "Он said: “no” – {not} 5 %-a dée, €two \U0001f600."
    assert others == ["The link and bold words."]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (rb"one\par two\par\par three", ["one", "two", "three"]),
        (rb"\trowd first\cell second\cell\row\trowd third\cell\row", ["first | second", "third"]),
        (rb"{\trowd {a\par}\cell {b\par}\cell}\row c", ["a | b", "c"]),
        (rb"a\bin3 \par b", ["ar b"]),  # three bytes of a binary object
        (rb"a\bin0 \par b", ["a", "b"]),
        (rb"{\pict 0102}{\stylesheet Normal;}a", ["a"]),
        (rb"a{\*\unknown b}c{d}", ["acd"]),
        (rb"\uc0\u97b\uc1\u99 x{\uc3\u100 xyzd}\u101 xf", ["abcddef"]),
        (rb"\uc2\u8364\'80\'81x", ["\u20acx"]),
        (b"\\u8364\r\n?x", ["\u20acx"]),
        (rb"{\u8364}x", ["\u20acx"]),  # what stands in does not reach out of a group
        (
            rb"They {\deleted never }agreed{\footnote A note.}{\v to it}{\xe agreed}.",
            ["They agreed."],
        ),
        (rb"{\v0 seen}{\deleted0  too}", ["seen too"]),
        (rb"caf\'e9}} after", ["caf\u00e9 after"]),  # closed once too often
        (rb"\ansicpg99999 caf\'e9", ["caf\u00e9"]),
        (b"\\ansicpg65001 caf\xc3\xa9", ["caf\u00e9"]),
        (rb"\u55357 ?x", ["\ufffdx"]),  # half a character
        (rb"line\\one\line two", ["line\\one two"]),
        (b"split\r\nword", ["splitword"]),  # a line break of the file is none of the text
    ],
)
def test_parts_of_rich_text(body, expected):
    blocks = blocks_of_rich_text(b"{\\rtf1\\ansi " + body + b"}")
    assert [block.text for block in blocks] == expected


def test_a_file_of_another_kind_is_no_rich_text(tmp_path):
    path = tmp_path / "letter.rtf"
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match=r"letter\.rtf: cannot be read as RTF: it does not begin"):
        read_file(path)


TOKENS = st.sampled_from(
    [*"{}x ", "\\par ", "\\*", "\\bin9 ", "\\u55357 ", "\\u-1?", "\\uc9 ", "\\ansicpg037 ", "\\'ff",
     "{\\pict", "\\", "\\'", "\n", "\x00", "\xff", "00:01.000 --> 00:02.000\n", "<v A>", "Ann: "]
)  # fmt: skip


@settings(max_examples=tries(100), deadline=None)
@given(st.lists(TOKENS, max_size=40).map("".join))
def test_nothing_raises_but_input_errors(text):
    blocks_of_rich_text(b"{\\rtf1 " + text.encode("latin-1"))
    assert all(block.text for block in blocks_of_subtitles(text))


def test_a_folder_of_them_is_indexed(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    folder = Path("talks")
    folder.mkdir()
    (folder / "call.VTT").write_text(CALL, "utf-8")
    (folder / "clip.srt").write_text(CAPTIONS, "utf-8")
    (folder / "letter.rtf").write_bytes(RICH)
    status, _, told = call("index", "talks", "--out", "i", "--words-only")
    assert status == 0
    assert "3 files: 3 read" in told
    status, out, _ = call("search", "i", "wages and prices", "--json")
    assert status == 0
    assert json.loads(out)[0]["id"] == "call.VTT#1"
