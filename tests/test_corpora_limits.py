"""Limits of the file readers, each at its boundary."""

from __future__ import annotations

import io
import random
import zipfile
from pathlib import Path

import pytest

import pnyx
from pnyx.corpora.text.blocks import Block
from pnyx.corpora.text.encodings import encoding_of_bytes
from pnyx.corpora.text.office_files import extract_docx
from pnyx.corpora.text.passages import _between_words, passages_of
from pnyx.errors import InputError


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


@pytest.mark.parametrize(("noise", "bomb"), [(12_000, False), (4_000, True)])
def test_a_part_that_shrinks_more_than_two_hundred_times_is_a_bomb(noise, bomb):
    part = random.Random(0).randbytes(noise) + bytes(2_000_000)
    content = _zipped({"a": part})
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        (info,) = archive.infolist()
        assert (info.file_size > 200 * info.compress_size) is bomb
        assert info.file_size < 400 * info.compress_size
    with pytest.raises(InputError) as caught:
        extract_docx(content)
    assert ("zip bomb" in str(caught.value)) is bomb


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
    with pytest.warns(UserWarning):
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
