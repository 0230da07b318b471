"""Limits of the file readers, each at its boundary."""

from __future__ import annotations

import io
import random
import zipfile
from pathlib import Path

import pytest
from lxml import etree

import pnyx
from pnyx.core.errors import InputError
from pnyx.formats.text.blocks import Block
from pnyx.formats.text.encodings import encoding_of_bytes
from pnyx.formats.text.office_files import _TEXT, _odt_blocks, extract_docx
from pnyx.formats.text.pages import _main_text, _says_something
from pnyx.formats.text.passages import _between_words, passages_of
from pnyx.formats.text.pdf_text import _joined, _Line, _without_running_heads
from pnyx.formats.text.plain_text import _in_capitals, _is_short, _wrap_width, turn_opening
from pnyx.formats.text.web_blocks import WebBlock, parsed_page, web_blocks


def test_a_text_has_at_most_two_percent_of_control_characters():
    assert encoding_of_bytes(b"\x01\x01" + b"a" * 98).codec == "utf-8"
    with pytest.raises(InputError, match="is not text"):
        encoding_of_bytes(b"\x01\x01\x01" + b"a" * 97)


def test_one_odd_character_in_five_within_words_is_still_western():
    assert encoding_of_bytes(b"a\xe4b a\xe4b a\xe4b a\xe4b a\xa4b").assumed == "Windows-1252"
    assert encoding_of_bytes(b"a\xe4b a\xe4b a\xe4b a\xa4b").assumed != "Windows-1252"


def test_an_encoding_is_guessed_from_twenty_four_bytes_on():
    for count, assumed in ((23, "Windows-1252"), (24, "Windows-1251")):
        letters = "Арендарастёткаждыйгодприэтом"[:count]
        spaced = " ".join(letters[i : i + 6] for i in range(0, count, 6))
        assert encoding_of_bytes(spaced.encode("cp1251")).assumed == assumed


def _zipped(parts: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return stream.getvalue()


@pytest.mark.parametrize(("noise", "bomb"), [(8_000, False), (7_000, True)])
def test_a_part_that_shrinks_more_than_two_hundred_times_is_a_bomb(noise, bomb):
    part = random.Random(0).randbytes(noise) + bytes(2_000_000)
    content = _zipped({"a": part})
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        (info,) = archive.infolist()
        assert (info.file_size > 200 * info.compress_size) is bomb
        assert 180 < info.file_size / info.compress_size < 220
    with pytest.raises(InputError) as caught:
        extract_docx(content)
    assert ("zip bomb" in str(caught.value)) is bomb


@pytest.mark.all
@pytest.mark.parametrize(("count", "refused"), [(20_000, False), (20_001, True)])
def test_a_file_has_at_most_twenty_thousand_parts(count, refused):
    content = _zipped({str(number): b"" for number in range(count)})
    with pytest.raises(InputError) as caught:
        extract_docx(content)
    assert ("20,000 parts" in str(caught.value)) is refused


@pytest.mark.parametrize(("faults", "read"), [(999, 1), (1_000, 0)])
def test_a_table_with_a_thousand_bad_lines_is_not_read(faults, read, tmp_path):
    Path(tmp_path / "files").mkdir()
    good = '{"text": "Rents rose by a tenth in the year after the cap."}\n'
    Path(tmp_path / "files/rows.jsonl").write_text(good + "[1]\n" * faults)
    Path(tmp_path / "files/note.txt").write_text("A note that is always read, and found again.")
    with pytest.warns(UserWarning, match="rows.jsonl"):
        collection = pnyx.open(tmp_path / "files", features=())
    assert len(collection) == 1 + read


def test_a_passage_is_under_its_four_nearest_headings():
    blocks = [Block(f"Level {level}", "heading", level) for level in range(1, 6)]
    (passage,) = passages_of([*blocks, Block("Rents rose by a tenth.")])
    assert passage.heading == "Level 2 › Level 3 › Level 4 › Level 5"


def test_a_cut_moves_back_to_a_blank_by_at_most_nineteen_words():
    text = "a " + "b" * 40
    starts = [0, *range(2, len(text))]  # a word for each letter
    assert _between_words(text, starts, 20) == 1
    assert _between_words(text, starts, 21) == 21


def _page(*lines: tuple[str, float, float]) -> list[_Line]:
    return [_Line(text, place, size) for text, place, size in lines]


def _left_of_heads(heads: list[str], pages_with_heads: int) -> int:
    """Return how many running heads are left of ten pages, of which some begin with them."""
    pages = []
    for letter in "abcdefghij":
        body = [(f"A line {letter}{end} of the text.", 0.0, 10.0) for end in "uvwxyz"]
        first = [(head, 0.0, 10.0) for head in heads] if len(pages) < pages_with_heads else []
        pages.append(_page(*first, *body))
    return sum(line.text in heads for page in _without_running_heads(pages) for line in page)


def test_a_running_head_is_on_half_of_the_pages_within_three_lines_of_an_edge():
    assert _left_of_heads(["The Courier"], 5) == 0
    assert _left_of_heads(["The Courier"], 4) == 4
    assert _left_of_heads(["The Courier", "City edition", "Weekend"], 5) == 0
    assert _left_of_heads(["The Courier", "City edition", "Weekend", "One crown"], 5) == 5


def test_lines_that_are_far_apart_or_larger_are_paragraphs_and_headings():
    usual = [("a line that goes on", 700 - 12 * n, 10.0) for n in range(6)]
    near, far = ("and on", 640 - 15.5, 10.0), ("and on", 640 - 15.7, 10.0)
    assert _joined([_page(*usual, near)]).count("\n\n") == 0
    assert _joined([_page(*usual, far)]).count("\n\n") == 1
    text = [("a line of the text that goes on and on", 600 - 12 * n, 10.0) for n in range(9)]
    assert "===" not in _joined([_page(("A title", 700, 11.5), *text)])
    assert "===" in _joined([_page(("A title", 700, 11.6), *text)])


def test_blocks_of_a_page_are_kept_by_their_links_and_their_words():
    def kept(linked: float, extracted: str = "") -> list[str]:
        blocks = [
            WebBlock(Block("Rents rose again in the city this year."), 0.0, posted=False),
            WebBlock(Block("More news about rents and flats here."), linked, posted=False),
        ]
        return [block.text for block in _main_text(blocks, extracted)]

    assert len(kept(0.5)) == 2
    assert len(kept(0.51)) == 1
    assert [_says_something(Block("a b c d e f")), _says_something(Block("a b c d e"))] == [
        True,
        False,
    ]


def test_names_capitals_headings_and_wrapped_lines_at_their_lengths():
    assert turn_opening("A" * 50 + ": I agree with that.") == "A" * 50
    assert turn_opening("A" * 51 + ": I agree with that.") == ""
    assert _in_capitals("A" * 80)
    assert not _in_capitals("A" * 81)
    assert _is_short(Block("Words " * 11 + "end"))
    assert not _is_short(Block("Words " * 12 + "end"))
    assert _is_short(Block("W" * 80))
    assert not _is_short(Block("W" * 81))
    assert _wrap_width(["w" * 120] * 3) == 120
    assert _wrap_width(["w" * 121] * 3) == _wrap_width(["w" * 120] * 2) == 0
    assert _wrap_width(["w" * 100, "w" * 81, "w" * 81]) == 100
    assert _wrap_width(["w" * 100, "w" * 81, "w" * 80]) == 0


def test_authors_and_furniture_of_pages_at_their_lengths():
    def speakers(length: int) -> list[str]:
        name = "N" * length
        post = f"<div class='post'><span class='author'>{name}</span><p>I pay more now.</p></div>"
        root = parsed_page(f"<html><body>{post * 2}</body></html>")
        return [block.block.speaker for block in web_blocks(root)]

    assert speakers(60)[0] == "N" * 60
    assert "N" * 61 not in speakers(61)


def test_an_extract_of_half_a_page_decides_on_what_lies_around_it():
    def kept(after: str) -> list[str]:
        blocks = [WebBlock(Block(text)) for text in ("aaaa bbbb", "cccc dddd", after)]
        return [block.text for block in _main_text(blocks, "aaaa bbbb\ncccc dddd")]

    assert kept("eeee ffff gggg hhhh") == ["aaaa bbbb", "cccc dddd"]
    assert kept("eeee ffff gggg hhhhh") == ["aaaa bbbb", "cccc dddd", "eeee ffff gggg hhhhh"]


def test_an_open_document_is_read_to_a_depth_of_two_hundred():
    def read(depth: int) -> int:
        inner = f"<text:p xmlns:text='{_TEXT[1:-1]}'>Rents rose by a tenth.</text:p>"
        for _ in range(depth):
            inner = f"<text:section xmlns:text='{_TEXT[1:-1]}'>{inner}</text:section>"
        root = etree.fromstring(f"<body>{inner}</body>", etree.XMLParser(huge_tree=True))
        return len(list(_odt_blocks(root)))

    assert (read(200), read(201)) == (1, 0)


@pytest.mark.parametrize(("length", "kept"), [(40, 1), (41, 2)])
def test_furniture_is_at_most_half_of_a_page(length, kept):
    page = f"<html><body><p>{'t' * 40}</p><div class='sidebar'><p>{'s' * length}</p></div>"
    root = parsed_page(f"{page}</body></html>")
    assert len(web_blocks(root)) == kept
