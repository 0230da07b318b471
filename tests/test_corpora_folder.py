"""A folder of ordinary files: every file is read or accounted for."""

from __future__ import annotations

import io
import json
import os
import sys
import tracemalloc
import zipfile

import pytest

from mixed_folder import (
    HEAD,
    MARKDOWN,
    NAMES,
    write_docx,
    write_epub,
    write_mixed_folder,
    write_odt,
    write_parquet,
    write_pdf,
    write_xlsx,
)
from pnyx.core.errors import InputError
from pnyx.core.files import write_jsonl
from pnyx.formats import read_evidence
from pnyx.formats.file_account import FileAccount, FileOutcome


def read(folder, **how):
    """Return the documents of a folder by their ids, and its account."""
    accounts: list[FileAccount] = []
    found = {d.id: d for d in read_evidence(str(folder), on_account=accounts.append, **how)}
    return found, accounts[0]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixed") / "files"
    write_mixed_folder(folder)
    return read(folder)


def test_every_file_of_a_mixed_folder_is_accounted_for(mixed):
    _, account = mixed
    assert account.line() == (
        "23 files: 18 read, 1 without text (empty.txt), 3 unreadable (broken.pdf: cannot be read "
        "as PDF: Stream has ended unexpectedly, locked.pdf: needs a password, login.pdf: is not a "
        "PDF file), 1 of unknown type (photo.heic)"
    )
    assert account.notes() == [
        "not in UTF-8, encoding assumed: Letters 2024/Br\u00fcssel, final_v2 (1).txt "
        "(Windows-1252), old.htm (Windows-1252), wide.txt (UTF-16)"
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain.txt", "A plain text on rents."),
        ("Letters 2024/Br\u00fcssel, final_v2 (1).txt", "R\u00f6str\u00e4tt \u00e4r r\u00e4tt."),
        ("wide.txt", "Mieten d\u00fcrfen nicht steigen."),
        ("old.htm", "Die M\u00e4rkte \u00e4ndern sich."),
        ("spec.rst", "Rents\n\nA text in reST."),
        ("letter.odt", "Letter\n\nRents rose again.\n\na point"),
        ("book.epub", "One\n\nCaf\u00e9s close."),
        ("mail.eml", "Caf\u00e9s\n\nAnna Berg:\nClose them."),
        ("thread.csv#1", "High, too high."),
        ("thread.csv#2", "No way."),
        ("thread.tsv#1", "Tabs are fine."),
        ("thread.jsonl#1", "Rows of lines."),
        ("posts.json#1", "Rows of an object."),
        ("survey.xlsx#2", "Owners will sell."),
        ("rows.parquet#1", "Rents are high."),
    ],
)
def test_each_type_of_file_is_read(mixed, name, text):
    assert mixed[0][name].text == text


def test_nothing_else_becomes_a_document(mixed):
    assert len(mixed[0]) == 21


def test_markdown_leaves_no_markup(mixed):
    document = mixed[0]["notes.md"]
    assert document.title == "Notes on rents"
    assert document.text == (
        "Rent control\n\nSome text with a link and a note.\n\none item\n\nanother item\n\n"
        "year | rent\n\n2020 | 100\n\nThe text of the note."
    )


def test_a_web_page_keeps_its_paragraphs_items_and_posts_without_its_furniture(mixed):
    document = mixed[0]["page.html"]
    assert document.title == "Rent caps"
    assert document.text.split("\n\n") == [
        "Rent caps",
        "First paragraph on rent caps, which many tenants of this town have asked for since "
        "spring.",
        "Second paragraph, before the break of the line.",
        "Third paragraph, after the break.",
        "A short item",
        "Another item",
        "Comments",
        "anna92:\nGood, rents are too high here.",
        "Bob:\nNo way. Landlords will leave.",
    ]


def test_a_pdf_has_paragraphs_without_running_heads_and_hyphens(mixed):
    text = mixed[0]["review.pdf"].text
    assert HEAD not in text
    assert "Page 1" not in text
    assert "Compulsory rules seldom help anyone." in text
    assert [part.partition(".")[0] for part in text.split("\n\n")] == [
        f"{name} {number}" for name in NAMES for number in range(3)
    ]


def test_a_word_file_keeps_headings_items_speakers_and_rows(mixed):
    parts = mixed[0]["minutes.docx"].text.split("\n\n")
    assert parts[0] == "Minutes"
    assert parts[2:] == [
        "the first point",
        "Cllr Moss:\nI am for it.",
        "Mr Lind:\nI am not.",
        "2020 | 100",
    ]


def test_a_row_keeps_its_further_cells(mixed):
    assert mixed[0]["thread.jsonl#1"].extra == {"row_id": "7", "author": "Cem"}
    assert mixed[0]["survey.xlsx#1"].extra == {"Author": "Anna", "Likes": 3}


# Tables ------------------------------------------------------------------------------------------


def test_the_longest_column_is_taken_where_none_has_a_usual_name(tmp_path):
    (tmp_path / "a.csv").write_text("who,view\nAnna,Rents are far too high in this town.\n")
    found, account = read(tmp_path)
    assert found["a.csv#1"].text == "Rents are far too high in this town."
    assert account.notes() == ["no column named text, longest column taken: a.csv ('view')"]


@pytest.mark.parametrize(("text", "is_text"), [("x" * 19, False), ("x" * 20, True)])
def test_a_column_without_texts_is_not_taken(tmp_path, text, is_text):
    (tmp_path / "a.csv").write_text(f"k,v\n1,{text}\n")
    (tmp_path / "b.txt").write_text("Text.")
    found, account = read(tmp_path)
    assert ("a.csv#1" in found) == is_text
    problem = "unreadable (a.csv: no column of texts; name it text)"
    assert (problem in account.line()) != is_text


def test_semicolons_and_other_encodings_of_tables(tmp_path):
    table = "name;kommentar\nJ\u00fcrgen;Mieten, ja, sind f\u00fcr alle hoch.\n"
    (tmp_path / "a.csv").write_bytes(table.encode("cp1252"))
    found, account = read(tmp_path)
    assert found["a.csv#1"].text == "Mieten, ja, sind f\u00fcr alle hoch."
    assert found["a.csv#1"].extra == {"name": "J\u00fcrgen"}
    assert account.notes() == ["not in UTF-8, encoding assumed: a.csv (Windows-1252)"]


def test_several_sheets_are_named(tmp_path):
    write_xlsx(tmp_path / "a.xlsx", 2)
    assert list(read(tmp_path)[0]) == [
        f"a.xlsx#{s}:{n}" for s in ("Sheet", "More 1") for n in (1, 2)
    ]


def test_files_in_formats_of_pnyx_keep_their_format(tmp_path):
    argument = {"id": "a", "conclusion": "Ban", "premises": ["It harms."], "stance": "pro"}
    write_jsonl(tmp_path / "arguments.jsonl", [argument])
    write_jsonl(tmp_path / "labels.jsonl", [{"id": "1", "value": True}])
    found, account = read(tmp_path)
    assert found["arguments.jsonl#a"].stance == "pro"
    assert account.line() == "2 files: 1 read, 1 with other data (labels.jsonl: labels)"


def test_rows_that_are_not_json_are_counted(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "Good."}\n{broken\n')
    found, account = read(tmp_path)
    assert list(found) == ["a.jsonl#1"]
    assert account.notes() == ["rows that cannot be read were left out: a.jsonl (1)"]


def test_a_missing_library_is_named_and_the_rest_is_read(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    write_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.xlsx").write_bytes(b"PK")
    found, account = read(tmp_path)
    assert len(found) == 2
    assert "b.xlsx: reading spreadsheets needs an extra: pip install 'pnyx[tables]'" in (
        account.line()
    )


# The account -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "ending"), [(10, "9.heic)"), (11, "9.heic and 1 more)")])
def test_the_first_ten_names_are_shown(count, ending):
    account = FileAccount("f", [FileOutcome(f"{n}.heic", "unknown") for n in range(count)])
    assert account.line().endswith(ending)


def test_one_file():
    assert FileAccount("f", [FileOutcome("a", "read")]).line() == "1 file: 1 read"


def test_strict_files_refuse_what_is_left_out(tmp_path):
    (tmp_path / "a.txt").write_text("Text.")
    assert len(read(tmp_path, strict_files=True)[0]) == 1
    (tmp_path / "b.txt").write_text(" ")
    with pytest.raises(InputError, match=r"2 files: 1 read, 1 without text \(b.txt\)"):
        list(read_evidence(str(tmp_path), strict_files=True))


def test_python_warns_of_what_is_left_out(tmp_path):
    (tmp_path / "a.txt").write_text("Text.")
    (tmp_path / "b.heic").write_text(" ")
    with pytest.warns(UserWarning, match=r"2 files: 1 read, 1 of unknown type \(b.heic\)"):
        assert len(list(read_evidence(tmp_path))) == 1


def test_libraries_print_nothing(tmp_path, capfd, caplog):
    write_pdf(tmp_path / "good.pdf", 1)
    raw = (tmp_path / "good.pdf").read_bytes()
    (tmp_path / "cut.pdf").write_bytes(raw[: len(raw) // 2])
    (tmp_path / "odd.pdf").write_bytes(raw.replace(b"startxref", b"startxyef"))
    read(tmp_path)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_entered_is_named(tmp_path):
    (tmp_path / "a.txt").write_text("Text.")
    (tmp_path / "sub").mkdir(mode=0)
    assert "1 unreadable (sub: Permission denied)" in read(tmp_path)[1].line()


def test_an_index_and_hidden_folders_within_are_passed_over(tmp_path):
    (tmp_path / "a.txt").write_text("Text.")
    for name in (".git", "my.index"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "b.txt").write_text("Other.")
    (tmp_path / "my.index" / "manifest.json").write_text('{"kind": "pnyx-index"}')
    assert read(tmp_path)[1].line() == "1 file: 1 read"


def test_odd_names_are_ids(tmp_path):
    names = ["a b.txt", "a\nb.txt", "\u00e4\u4f60 #1.txt"]
    for name in names:
        (tmp_path / name).write_text("Text.")
    (tmp_path / os.fsdecode(b"\xff.txt")).write_text("Text.")
    assert set(read(tmp_path)[0]) == {*names, "\\xff.txt"}


# Hostile files -----------------------------------------------------------------------------------


def outcome(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    (tmp_path / "good.txt").write_text("Text.")
    return read(tmp_path)[1].line()


def zipped(parts):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return held.getvalue()


@pytest.mark.parametrize("name", ["a.docx", "a.odt", "a.epub", "a.xlsx"])
def test_zip_bombs_are_refused(tmp_path, name):
    bomb = zipped({"content.xml": b"\0" * (1 << 24), "word/document.xml": b"\0" * (1 << 24)})
    assert "is a zip bomb" in outcome(tmp_path, name, bomb)


@pytest.mark.all
def test_a_part_that_shrinks_less_is_not_a_bomb(tmp_path):
    paragraphs = "".join(f"<p>{n} is a number of this long text.</p>" for n in range(40_000))
    write_epub(tmp_path / "a.epub", paragraphs)
    assert read(tmp_path)[1].line() == "1 file: 1 read"


ENTITY = '<!DOCTYPE x [<!ENTITY a "{}"><!ENTITY b SYSTEM "file:///etc/passwd">]>'


def test_entities_are_not_resolved(tmp_path):
    write_docx(tmp_path / "a.docx")
    parts = {}
    with zipfile.ZipFile(tmp_path / "a.docx") as archive:
        for name in archive.namelist():
            content = archive.read(name)
            if name == "word/document.xml":
                content = content.replace(b"?>", b"?>" + ENTITY.format("lol").encode(), 1)
                content = content.replace(b"I am for it.", b"I am &b; for it.")
            parts[name] = content
    (tmp_path / "a.docx").write_bytes(zipped(parts))
    assert "root:" not in str(read(tmp_path)[0].values())


def test_an_entity_bomb_is_not_expanded(tmp_path):
    levels = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9))
    body = (
        f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "lol">{levels}]>'
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:text>'
        "<text:p>Before &e9; after</text:p></office:text></office:body></office:document-content>"
    )
    (tmp_path / "a.odt").write_bytes(zipped({"content.xml": body}))
    (tmp_path / "good.txt").write_text("Text.")
    tracemalloc.start()
    found, _ = read(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6
    assert len(str(found.get("a.odt"))) < 1000


@pytest.mark.all
def test_a_line_of_ten_megabytes_and_nuls(tmp_path):
    assert outcome(tmp_path, "a.txt", b"word " * 2_000_000) == "2 files: 2 read"
    assert "a.txt: is not text" in outcome(tmp_path, "a.txt", b"\0\1\2\3" * 100)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.docx", b"PK\3\4 broken"),
        ("a.docx", zipped({"x": "y"})),
        ("a.odt", zipped({"content.xml": "<a"})),
        ("a.epub", zipped({"META-INF/container.xml": "<a/>"})),
        ("a.xlsx", zipped({"x": "y"})),
        ("a.parquet", b"PAR1"),
        ("a.json", b"[{"),
        ("a.json", b"[" * 100_000),
        ("a.csv", b"\0\1\2\3" * 100),
        ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 100),
        ("a.eml", b"Content-Type: text/plain; charset=nonsense\n\nText"),
    ],
)
def test_broken_files_are_unreadable(tmp_path, name, content):
    line = outcome(tmp_path, name, content)
    assert line.startswith("2 files: 1 read, 1 unreadable (a.")


@pytest.mark.all
def test_a_large_table_is_streamed(tmp_path):
    row = "Anna," + "Rents are high. " * 20 + "\n"
    with (tmp_path / "a.csv").open("w") as stream:
        stream.write("author,comment\n")
        stream.writelines(row for _ in range(30_000))  # 10 MB
    tracemalloc.start()
    assert sum(1 for _ in read_evidence(str(tmp_path))) == 30_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


def test_an_odt_is_written_by_another_library(tmp_path):
    write_odt(tmp_path / "a.odt")
    assert read(tmp_path)[0]["a.odt"].title == "Letter"
    assert MARKDOWN.count("**") == 2
    assert json.dumps(read(tmp_path)[1].notes()) == "[]"
