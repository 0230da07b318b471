"""Limits of formats and readers: the last value that is allowed, and the first that is not."""

from __future__ import annotations

import io
import os
import zipfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pypdf
import pytest
from docx import Document as WordFile
from openpyxl import Workbook

import pnyx
from pnyx.core.errors import InputError
from pnyx.core.records import Document, RunEntry
from pnyx.formats.documents.document_passages import passages_of_record
from pnyx.formats.documents.file_readers import read_file
from pnyx.formats.documents.tables import read_parquet, write_parquet
from pnyx.formats.rag.rag_files import read_rag
from pnyx.formats.reports.submissions import read_submissions
from pnyx.formats.runs.rankings import judgements_of
from pnyx.formats.runs.trec import as_ranked
from pnyx.formats.text.blocks import Block
from pnyx.formats.text.encodings import encoding_of_bytes
from pnyx.formats.text.folded_words import FoldedWords
from pnyx.formats.text.language import language_of
from pnyx.formats.text.office_files import _TEXT, _check_parts, _odt_blocks, extract_docx
from pnyx.formats.text.pages import _main_text, decoded_page, extract_page
from pnyx.formats.text.pdf_text import _joined, _Line, extract_pdf
from pnyx.formats.text.plain_text import blocks_of_text
from pnyx.formats.text.segment import split_sentences, trim, word_weight
from pnyx.formats.text.web_blocks import WebBlock

# Documents ---------------------------------------------------------------------------------------


def _second_passage(**fields: Any) -> Any:
    text = " ".join(["word"] * 200)
    _, second = passages_of_record(Document("d", text, **fields))
    return second


def test_passages_repeat_titles_addresses_and_fields_up_to_a_length() -> None:
    assert [len(_second_passage(title="t" * n).title) for n in (299, 300, 301)] == [299, 300, 300]
    assert [len(_second_passage(url="u" * n).url) for n in (2000, 2001)] == [2000, 0]
    fields = {"kept": "x" * 200, "lost": "x" * 201}
    assert list(_second_passage(extra=fields).extra) == ["kept"]
    assert [
        len(list(passages_of_record(Document("d" * n, " ".join(["word"] * 200)))))
        for n in (1000, 1001)
    ] == [2, 1]


@pytest.mark.parametrize(
    ("size", "problem"), [(64 << 20, "is not text"), ((64 << 20) + 1, "is larger than 64 MB")]
)
def test_a_file_that_is_one_document_has_at_most_64_megabytes(
    size: Any, problem: Any, tmp_path: Path
) -> None:
    with (tmp_path / "a.txt").open("wb") as stream:
        os.truncate(stream.fileno(), size)  # no byte of it is on the disk
    with pytest.raises(InputError, match=problem):
        read_file(tmp_path / "a.txt")


@pytest.mark.parametrize(("row", "is_read"), [(200, True), (201, False)])
def test_the_column_of_texts_is_chosen_from_the_first_200_rows(
    row: Any, is_read: Any, tmp_path: Path
) -> None:
    rows = ['{"k": 1}'] * (row - 1) + ['{"k": 1, "view": "' + "x" * 4020 + '"}']
    (tmp_path / "files").mkdir()
    (tmp_path / "files/rows.jsonl").write_text("\n".join(rows))
    (tmp_path / "files/note.txt").write_text("A note.")
    with pytest.warns(UserWarning, match="rows.jsonl"):
        documents = list(pnyx.read_evidence(tmp_path / "files"))
    assert [d.id for d in documents] == ["note.txt", *[f"rows.jsonl#{row}"] * is_read]


@pytest.mark.parametrize(("notes", "is_read"), [(19, True), (20, False)])
def test_the_header_of_a_sheet_is_among_its_first_20_rows(
    notes: Any, is_read: Any, tmp_path: Path
) -> None:
    book = Workbook()
    for number in range(notes):
        book.active.append([f"Note {number}"])
    book.active.append(["text", "author", "year"])
    book.active.append(["Rents rose by a tenth.", "Ann", 2024])
    book.save(tmp_path / "a.xlsx")
    texts = [d.text for d in pnyx.read_evidence(tmp_path / "a.xlsx")] if is_read else []
    assert texts == ["Rents rose by a tenth."] * is_read
    if not is_read:
        with pytest.raises(InputError):
            list(pnyx.read_evidence(tmp_path / "a.xlsx", strict_files=True))


def test_whole_numbers_of_64_bits_are_numbers_in_parquet(tmp_path: Path) -> None:
    largest = 9_223_372_036_854_775_807
    for column, kind in (
        ([largest, -largest - 1], int),
        ([largest + 1, 1], str),
        ([-largest - 2, 1], str),
    ):
        rows = [{"n": number} for number in column]
        write_parquet(tmp_path / "a.parquet", partial(iter, rows), {})
        read = [row["n"] for _, row in read_parquet(tmp_path / "a.parquet")]
        assert read == [kind(number) for number in column]


@pytest.mark.parametrize(("depth", "is_read"), [(99, True), (100, False)])
def test_a_field_of_a_document_is_nested_in_at_most_a_hundred_levels(
    depth: Any, is_read: Any, tmp_path: Path
) -> None:
    nested = "[" * depth + "1" + "]" * depth  # within the object of the row
    (tmp_path / "a.jsonl").write_text(f'{{"id": "a", "text": "So.", "x": {nested}, "y": [[]]}}\n')
    if is_read:
        assert [d.id for d in pnyx.read_evidence(tmp_path / "a.jsonl")] == ["a"]
    else:
        with pytest.raises(InputError, match="nested deeper than 100 levels"):
            list(pnyx.read_evidence(tmp_path / "a.jsonl"))


# RAG rows, runs and reports ----------------------------------------------------------------------


@pytest.mark.parametrize(("row", "is_read"), [(200, True), (201, False)])
def test_columns_of_rag_rows_are_recognised_in_the_first_200(row: Any, is_read: Any) -> None:
    rows: list[dict[str, Any]] = [{"contexts": ["Rents rose."]}] * (row - 1)
    rows.append({"contexts": ["Rents rose."], "answer": "They rose."})
    if is_read:
        records = read_rag(rows)
        assert records is not None
        assert [record.id for record in records.records] == ["200"]
    else:
        with pytest.raises(InputError, match="expected columns of a question"):
            read_rag(rows)


def test_twelve_columns_and_five_rows_are_named() -> None:
    for count, end in ((12, "c11. Name them"), (13, "c11, .... Name them")):
        with pytest.raises(InputError) as caught:
            read_rag([{f"c{n}": "x" for n in range(count)}])
        assert f"found: c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, {end}" in str(caught.value)
    good = {"contexts": ["Rents rose."], "answer": "They rose."}
    for count, named in ((5, "rows 2, 3, 4, 5, 6)"), (6, "rows 2, 3, 4, 5, 6, ...)")):
        records = read_rag([good, *[{**good, "answer": ""}] * count])
        assert records is not None
        assert records.skipped_line().endswith(named)


def test_a_grade_is_at_most_a_million() -> Any:
    def judged(grade: int) -> int:
        return judgements_of([{"qid": "1", "docno": "a", "label": grade}]).grades("1")["a"]

    assert judged(1_000_000) == 1_000_000
    with pytest.raises(InputError, match="grade 1000001, expected at most 1000000"):
        judged(1_000_001)


def test_scores_beyond_single_precision_and_at_nought_stay_apart() -> Any:
    def lowered(score: float) -> float:
        entries = [RunEntry("1", name, rank, score) for rank, name in enumerate("ab", 1)]
        first, second = as_ranked(entries)
        assert first.score == score
        return second.score

    # A step is 2^-23 of the score before, here of 3.4e38, and 1e-30 where that would be less.
    assert lowered(1e39) == pytest.approx(3.4e38 * (1 - 2**-23), rel=1e-7)
    assert lowered(0.0) == pytest.approx(-1e-30, rel=1e-6, abs=0)


@pytest.mark.parametrize(("length", "left_out"), [(100, 0), (101, 1)])
def test_a_run_id_has_at_most_100_characters_in_a_campaign(
    length: Any, left_out: Any, tmp_path: Path
) -> None:
    row = '{{"metadata": {{"run_id": "{}", "topic_id": "1"}}, "responses": [{{"text": "So."}}]}}\n'
    path = tmp_path / "a.jsonl"
    path.write_text(row.format("r" * length) + row.format("other"))
    assert len(read_submissions([str(path)], strict=True).left_out) == left_out


# Texts -------------------------------------------------------------------------------------------


def test_an_encoding_is_guessed_from_the_first_65536_bytes() -> None:
    russian = " Аренда растёт каждый год при этом все платят больше".encode("cp1251")
    first = b"a\xe4b"
    for padding, is_western in ((65_000, False), (65_535, True)):
        assumed = encoding_of_bytes(first + b"x" * padding + russian).assumed
        assert (assumed == "Windows-1252") is is_western


def test_a_word_of_folded_text_has_at_most_255_characters() -> None:
    assert [len(FoldedWords("none").term("x" * n) or "") for n in (254, 255, 256)] == [
        254,
        255,
        255,
    ]


def test_the_language_is_that_of_two_words_in_the_first_3000_characters() -> None:
    text = "zz " * 997  # 2,991 characters
    assert language_of(f"{text}  the and") == "English"  # ends at 3,000
    assert language_of(f"{text}   the and") == ""
    assert [language_of(words) for words in ("the zz", "the and")] == ["", "English"]


def _others(count: int) -> str:
    return " ".join(f"zz{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(count))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("the and " + _others(14), "English"),  # 2 of 16 words are an eighth
        ("the and " + _others(15), ""),
        ("the and of to are " + _others(200), "English"),  # 5 words are enough of any number
        ("the and of to " + _others(36), ""),
        # Half as many again as of any other language: "die der" are German words only.
        ("the and of die der " + _others(3), ""),
        ("the and of to die der " + _others(3), "English"),
    ],
)
def test_the_words_that_decide_on_a_language(text: Any, language: Any) -> None:
    assert language_of(text) == language


def test_sentences_and_words_at_their_lengths() -> None:
    assert [len(s) for s in split_sentences("a" * 20_000)] == [20_000]
    assert [len(s) for s in split_sentences("a" * 20_001)] == [20_000, 1]
    assert [word_weight("a" * n) for n in (7, 8, 15, 16)] == [1, 2, 2, 3]
    assert trim("a" * 7 + " b", 1) == "a" * 7 + " …"
    assert trim("a" * 9 + " b", 1) == "a" * 8 + " …"
    assert trim("one two", 2) == "one two"
    assert trim("one two three", 2) == "one two …"


def test_the_attribution_of_a_quotation_has_at_most_300_characters() -> Any:
    def speaker(length: int) -> str:
        line = f"On 1 May, Bob wrote {'x' * (length - 32)}, Ann wrote:"
        assert len(line) == length
        return blocks_of_text(f"{line}\n\n> Yes, they are low.")[-1].speaker

    assert [speaker(300), speaker(301)] == ["Ann", ""]


def test_an_underlined_heading_has_at_most_160_characters() -> None:
    kinds = [blocks_of_text("T" * n + "\n====\n\nText.")[0].kind for n in (160, 161)]
    assert kinds == ["heading", "paragraph"]


# Web pages, PDF and office files -----------------------------------------------------------------


def test_the_title_of_a_page_has_at_most_500_characters() -> Any:
    def title(length: int) -> str:
        text = "<p>Rents rose again in the whole city this year, and tenants protest.</p>" * 3
        return extract_page(f"<html><head><title>{'t' * length}</title></head>{text}").title

    assert [len(title(n)) for n in (500, 501)] == [500, 500]


@pytest.mark.parametrize(("padding", "text"), [(0, "ą"), (1, "±")])
def test_a_page_names_its_encoding_within_4096_bytes(padding: Any, text: Any) -> None:
    start, meta = b"<html><!--", b'--><meta charset="iso-8859-2'
    head = start + b" " * (4096 - len(start) - len(meta) + padding) + meta
    content = head + b'"><p>\xb1</p></html>'
    assert text in decoded_page(content)[0]


@pytest.mark.parametrize(("count", "is_kept"), [(3000, True), (3001, False)])
def test_up_to_3000_blocks_are_sought_within_lines(count: Any, is_kept: Any) -> None:
    links = WebBlock(Block("and rents rose"), 1.0)
    others = [WebBlock(Block(f"Menu {n}"), 1.0) for n in range(count - 1)]
    kept = _main_text([links, *others], "Prices and rents rose again.")
    assert kept == [Block("and rents rose")] * is_kept


def test_a_heading_of_a_pdf_has_at_most_150_characters() -> None:
    usual = [_Line("a line of the text that goes on and on", 600 - 12.0 * n, 10) for n in range(40)]
    for length, headings in ((150, 1), (151, 0)):
        text = _joined([[_Line("H" * length, 700, 20), *usual]])
        assert text.count("\n===") == headings


@pytest.mark.parametrize(("count", "is_read"), [(5000, True), (5001, False)])
def test_a_pdf_has_at_most_5000_pages(
    count: Any, is_read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = SimpleNamespace(extract_text=lambda visitor_text: None)
    book = SimpleNamespace(is_encrypted=False, pages=[page] * count, metadata=None)
    monkeypatch.setattr(pypdf, "PdfReader", lambda stream: book)
    if is_read:
        assert extract_pdf(b"%PDF").blocks == ()
    else:
        with pytest.raises(InputError, match="has more than 5,000 pages"):
            extract_pdf(b"%PDF")


def _part(size: int) -> zipfile.ZipInfo:
    part = zipfile.ZipInfo("a")
    part.file_size = part.compress_size = size
    return part


@pytest.mark.parametrize(
    ("parts", "is_read"),
    [
        ([_part(0)] * 20_000, True),
        ([_part(0)] * 20_001, False),
        ([_part(128 << 20)] * 2, True),
        ([*[_part(128 << 20)] * 2, _part(1)], False),
    ],
)
def test_an_office_file_has_limited_parts(parts: Any, is_read: Any) -> None:
    if is_read:
        _check_parts(parts)
    else:
        with pytest.raises(InputError, match="contains more than 256 MB or 20,000 parts"):
            _check_parts(parts)


def test_a_row_of_an_office_file_is_read_up_to_its_200th_cell() -> None:
    from lxml import etree

    table = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
    cells = "".join(f"<t:table-cell><x:p>c{n}</x:p></t:table-cell>" for n in range(1, 202))
    row = f"<t:table-row>{cells}</t:table-row>"
    body = etree.fromstring(f"<b xmlns:t='{table}' xmlns:x='{_TEXT[1:-1]}'>{row}</b>")
    (block,) = _odt_blocks(body)
    assert block.text.endswith(" | c199 | c200")
    word = WordFile()
    for cell, number in zip(word.add_table(1, 201).rows[0].cells, range(1, 202), strict=True):
        cell.text = f"c{number}"
    stream = io.BytesIO()
    word.save(stream)
    (block,) = extract_docx(stream.getvalue()).blocks
    assert block.text.endswith(" | c199 | c200")


def test_a_folder_names_ten_files_of_each_outcome(tmp_path: Path) -> None:
    for number in range(11):
        (tmp_path / f"{number:02}.heic").touch()
    (tmp_path / "a.txt").write_text("A note.")
    with pytest.warns(UserWarning, match=r"11 of unknown type \(00.heic, .*09.heic and 1 more\)"):
        assert len(list(pnyx.read_evidence(tmp_path))) == 1
