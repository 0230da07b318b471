"""Lines of PDF files, Markdown, Word, OpenDocument, e-books and e-mails as blocks of text."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from docx import Document as WordFile
from docx.document import Document as WordDocument

from mixed_folder import write_epub
from pnyx.core.errors import InputError
from pnyx.formats.text.blocks import Block
from pnyx.formats.text.markdown_text import markdown_page
from pnyx.formats.text.office_files import extract_docx, extract_email, extract_epub, extract_odt
from pnyx.formats.text.pdf_text import (
    _joined,
    _leading,
    _Line,
    _paragraph,
    _separated,
    _without_running_heads,
    extract_pdf,
)


def shown(blocks: Iterable[Block]) -> list[tuple[str, ...]]:
    """Return blocks as (kind with level, speaker, text), without what is empty."""
    return [
        (f"{b.kind}{b.level or ''}", *([b.speaker] if b.speaker else []), b.text) for b in blocks
    ]


# PDF ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pages", "left"),
    [
        ([["Head 1", "a", "b", "c", "d", "1"], ["Head 2", "e", "f", "g", "h", "2"]],
         [["a", "b", "c", "d"], ["e", "f", "g", "h"]]),
        ([["Head", "a", "b"], ["Head", "c"], ["x", "d"]],  # on three pages, or on both of two
         [["Head", "a", "b"], ["Head", "c"], ["x", "d"]]),
        ([["Head", "a", "b"], ["HEAD", "c"], ["head", "d"]], [["a", "b"], ["c"], ["d"]]),
        # A heading with the words of the running head above it stays.
        ([["Head", "Head", "a"], ["Head", "Head", "c"]], [["Head", "a"], ["Head", "c"]]),
        ([["a", "Page 1 of 3"], ["b", "- 2 -"], ["Seite 3/9"], ["p. 4"], ["4 von 5"], ["12345"],
          ["Page x"]], [["a"], ["b"], [], [], [], ["12345"], ["Page x"]]),
        ([["1", "2", "3", "4", "5", "6", "7", "8"]], [["2", "3", "4", "5"]]),
        ([["a"], [], ["b"]], [["a"], ["b"]]),
    ],
)  # fmt: skip
def test_running_heads_and_page_numbers_are_removed(
    pages: list[list[str]], left: list[list[str]]
) -> None:
    read = _without_running_heads([[_Line(text) for text in page] for page in pages])
    assert [[line.text for line in page] for page in read] == left


def test_the_usual_distance_of_lines_is_below_100_points() -> None:
    def distance(*places: float) -> float:
        return _leading([_Line("a", place) for place in places])

    assert distance(700, 690, 670, 570, 580) == 10  # the lower third of 10 and 20
    assert distance(700, 688, 676, 654, 632) == 12
    assert distance(200, 100) == 0
    assert distance(200, 101) == 99
    assert distance(700) == 0


X = "x" * 40
BEFORE, ENDED = _Line(X, 700, 10), _Line(f"{X}.", 700, 10)


@pytest.mark.parametrize(
    ("before", "above", "line", "separated"),
    [
        (BEFORE, BEFORE, _Line("yes", 688, 10), False),
        (BEFORE, BEFORE, _Line("yes", 684, 10), True),
        (BEFORE, BEFORE, _Line("yes", 701, 10), True),
        (BEFORE, BEFORE, _Line("yes", 700, 10), False),
        (BEFORE, BEFORE, _Line("yes", 688, 11.4), False),
        (BEFORE, BEFORE, _Line("yes", 688, 11.6), True),
        (BEFORE, BEFORE, _Line("- yes", 688, 10), True),
        (ENDED, ENDED, _Line("Bob: yes", 688, 10), True),
        (BEFORE, BEFORE, _Line("Bob: yes", 688, 10), False),
        (ENDED, ENDED, _Line("yes", 688, 10), False),
        # At the top of a page.
        (ENDED, None, _Line("yes", 688, 10), True),
        (BEFORE, None, _Line("yes", 688, 10), False),
        (BEFORE, None, _Line("Yes", 688, 10), True),
    ],
)
def test_a_paragraph_ends_before_a_line(
    before: _Line, above: _Line | None, line: _Line, separated: bool
) -> None:
    assert _separated(before, above, line, 12.0, 40, 10.0) is separated


@pytest.mark.parametrize(
    ("text", "separated"),
    [
        ("x" * 31 + ".", False),
        ("x" * 30 + ".", True),
        ("x" * 30, False),
        (f"  {'x' * 30}.  ", True),
    ],
)
def test_without_places_a_short_line_that_ends_a_sentence_ends_a_paragraph(
    text: str, separated: bool
) -> None:
    line = _Line(text, 0, 10)  # 80 % of 40 characters are 32
    assert _separated(line, line, _Line("Yes", 0, 10), 0.0, 40, 10.0) is separated


def test_headings_of_a_pdf_are_of_two_levels() -> None:
    def heading(size: float, usual: float = 10) -> str:
        return _paragraph([_Line("Ti-", 0, size), _Line("tle", 0, 30)], usual, 20)

    assert [heading(size) for size in (11.5, 11.6, 17.3, 17.4)] == [
        "Title", "Title\n---", "Title\n---", "Title\n===",
    ]  # fmt: skip
    assert heading(20, usual=0) == "Title"


def test_a_sentence_goes_on_on_the_next_page() -> None:
    first = [_Line("a long first line here", 700, 10), _Line("and on", 688, 10)]
    assert _joined([first, [_Line("goes on", 700, 10)]]) == "a long first line here and on goes on"
    assert _joined([first, [_Line("Goes on", 700, 10)]]).endswith("and on\n\nGoes on")
    assert _joined([]) == ""


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"<html>", "is not a PDF file"),
        (b" " * 1020 + b"%PDF-1.4", "cannot be read as PDF: "),
        (b" " * 1021 + b"%PDF-1.4", "is not a PDF file"),
    ],
)
def test_a_file_that_is_not_a_pdf(content: bytes, problem: str) -> None:
    with pytest.raises(InputError, match=f"^{problem}"):
        extract_pdf(content)


# Markdown ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "title", "blocks"),
    [
        ("---\ntitle: 'A b'\n---\n# H\n\ntext", "A b", [("heading1", "H"), ("paragraph", "text")]),
        ("---\nTITLE: A\n...\ntext", "A", [("paragraph", "text")]),
        ("---\nx: 1\n---\ntext", "", [("paragraph", "text")]),
        ("text\n\n# H", "H", [("paragraph", "text"), ("heading1", "H")]),
        ("# H\n\n## I", "H", [("heading1", "H"), ("heading2", "I")]),
        ("", "", []),
        ("text[^1] and [^2](x)\n\n[^1]: note\n[^3]:  more", "",
         [("paragraph", "text and ^2"), ("paragraph", "note"), ("paragraph", "more")]),
        ("text\n[a]: http://x", "", [("paragraph", "text")]),
        ("- [ ] a\n- [X] b\n- [y] c", "", [("item", "a"), ("item", "b"), ("item", "[y] c")]),
        ("[x] a", "", [("paragraph", "[x] a")]),
        ("1. a\n\n   b\n2. c", "", [("item", "a"), ("paragraph", "b"), ("item", "c")]),
        ("> a\n>\n> b\n\nc", "", [("turn", "a"), ("turn", "b"), ("paragraph", "c")]),
        ("> - a", "", [("item", "a")]),
        ("|a|b|\n|-|-|\n|1|**2**|\n|||", "", [("paragraph", "a | b"), ("paragraph", "1 | 2")]),
        ("`a*b` c\nd  \ne", "", [("paragraph", "a*b c d e")]),
        ("a<br/><br>b<b>c</b>", "", [("paragraph", "a"), ("paragraph", "bc")]),
        ("    code: here\n\nz", "", [("paragraph", "code: here"), ("paragraph", "z")]),
        ("```\na\n\nb\n```", "", [("paragraph", "a"), ("paragraph", "b")]),
        ("a* b_c _d", "", [("paragraph", "a b_c d")]),
        ("a <!-- x --> b\r\rc", "", [("paragraph", "a b"), ("paragraph", "c")]),
    ],
)  # fmt: skip
def test_title_and_blocks_of_markdown(text: str, title: str, blocks: list[tuple[str, ...]]) -> None:
    page = markdown_page(text)
    assert (page.title, shown(page.blocks)) == (title, blocks)


# Word, OpenDocument and e-books ------------------------------------------------------------------


def saved(document: WordDocument) -> bytes:
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def test_headings_items_and_cells_of_a_word_file() -> None:
    word = WordFile()
    word.add_heading("Title", 0)
    word.add_heading("Part", 2)
    word.add_paragraph("one", style="List Number")
    word.add_paragraph("First.\n\nSecond.")
    table = word.add_table(2, 3)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
    table.cell(0, 2).text = "c"
    table.cell(1, 2).text = "wide"
    page = extract_docx(saved(word))
    assert (page.title, shown(page.blocks)) == ("Title", [
        ("heading1", "Title"), ("heading2", "Part"), ("item", "one"), ("paragraph", "First."),
        ("paragraph", "Second."), ("paragraph", "wide | c"), ("paragraph", "wide"),
    ])  # fmt: skip
    word.core_properties.title = "Named"
    assert extract_docx(saved(word)).title == "Named"
    plain = WordFile()
    plain.add_paragraph("Text.")
    assert extract_docx(saved(plain)).title == ""


NAMESPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table")
)


def odt(body: str, title: str | None = None) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("content.xml", f"<office:document {NAMESPACES}>{body}</office:document>")
        if title is not None:
            dc = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
            archive.writestr("meta.xml", f"<meta {dc}><dc:title>{title}</dc:title></meta>")
    return stream.getvalue()


def test_blocks_of_an_open_document() -> None:
    items = "<text:list-item><text:p>a</text:p><text:p>b</text:p></text:list-item>"
    cells = "<table:table-cell><text:p>1</text:p></table:table-cell><table:table-cell/>"
    body = (
        '<text:h text:outline-level="3">Part</text:h><text:h text:outline-level="x">Odd</text:h>'
        f"<text:list>{items}</text:list><text:p>c<text:s/>d<text:tab/>e<text:note>n</text:note>f"
        f"</text:p><!-- x --><table:table><table:table-row>{cells}</table:table-row></table:table>"
        "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:p> </text:p>"
    )
    page = extract_odt(odt(f"<office:text>{body}</office:text>"))
    assert shown(page.blocks) == [
        ("heading3", "Part"), ("heading1", "Odd"), ("item", "a"), ("paragraph", "b"),
        ("paragraph", "c d ef"), ("paragraph", "1"),
    ]  # fmt: skip
    assert page.title == "Part"
    assert extract_odt(odt("<office:text><text:p>a</text:p></office:text>", "T")).title == "T"
    assert extract_odt(odt("<office:text><text:p>a</text:p></office:text>")).title == ""
    with pytest.raises(InputError, match="cannot be read as OpenDocument: it has no text"):
        extract_odt(odt("<office:spreadsheet/>"))


def test_an_e_book_has_its_title_or_first_heading(tmp_path: Path) -> None:
    write_epub(tmp_path / "a.epub", "<h2>One</h2><p>Cafés close.</p>")
    content = (tmp_path / "a.epub").read_bytes()
    page = extract_epub(content)
    assert (page.title, shown(page.blocks)) == (
        "The book", [("heading2", "One"), ("paragraph", "Cafés close.")],
    )  # fmt: skip
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            part = old.read(name).replace(b"<dc:title>The book</dc:title>", b"")
            more = b'</manifest><spine><itemref idref="nav"/><itemref idref="b"/>'
            nav = b'<item id="b" href="b.png" media-type="image/png"/>'
            new.writestr(name, part.replace(b"</manifest><spine>", nav + more))
    page = extract_epub(stream.getvalue())
    assert (page.title, len(page.blocks)) == ("One", 2)


# E-mails -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "body", "title", "blocks"),
    [
        ("From: Ann Lee <a@b.org>\nSubject: Rents", "One.\n\nTwo.", "Rents",
         [("heading1", "Rents"), ("turn", "Ann Lee", "One."), ("paragraph", "Ann Lee", "Two.")]),
        ("From: ann@b.org", "One.", "", [("turn", "ann", "One.")]),
        ("Subject: Rents", "- One\n- Two", "Rents",
         [("heading1", "Rents"), ("turn", "One"), ("item", "Two")]),
        ("From: Ann <a@b.org>", "Bob: One.\n\nCem: Two.\n\n> Three.", "",
         [("turn", "Bob", "One."), ("turn", "Cem", "Two."), ("turn", "Three.")]),
        ("From: Ann <a@b.org>\nContent-Type: text/html", "<h1>H</h1><p>One.", "",
         [("heading1", "H"), ("paragraph", "Ann", "One.")]),
    ],
)  # fmt: skip
def test_blocks_of_an_e_mail(
    head: str, body: str, title: str, blocks: list[tuple[str, ...]]
) -> None:
    page = extract_email(f"{head}\n\n{body}".encode())
    assert (page.title, shown(page.blocks)) == (title, blocks)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\xd0\xcf\x11\xe0 more", "needs a password, or is an older Office file"),
        (b"PK broken", "is not Word"),
    ],
)
def test_a_file_that_is_not_from_a_word_processor(content: bytes, problem: str) -> None:
    with pytest.raises(InputError, match=f"^{problem}$"):
        extract_docx(content)
