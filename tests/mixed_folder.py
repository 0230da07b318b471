"""A folder of ordinary files, as people have them, written by other libraries than the readers."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

HEAD = "Rent control review 2024"
LONG = (
    "Families are being pushed out of the district they grew up in, and I meet them every week, "
    "which is why a cap on rents would let them stay where they are, say most of the tenants."
)
NAMES = ("Opening", "Middle", "Closing")
PAGE = """<html><head><title>Rent caps</title></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/news">News</a></li></ul></nav>
<div class="cookie-banner"><p>We use cookies on this page. Accept all of them?</p></div>
<h1>Rent caps</h1>
<p>First paragraph on rent caps, which many tenants of this town have asked for since spring.</p>
<p>Second paragraph, before the break of the line.<br><br>Third paragraph, after the break.</p>
<ul><li>A short item</li><li>Another <a href="x">item</a></li></ul>
<h2>Comments</h2>
<div class="comment"><span class="author">anna92</span><p>Good, rents are too high here.</p></div>
<div class="comment"><span class="author">Bob</span><p>No way. Landlords will leave.</p></div>
<aside>Related: buy our things</aside><footer>Copyright 2024, imprint</footer></body></html>"""
MARKDOWN = """---
title: Notes on rents
---
# Rent **control**

Some *text* with a [link](https://example.org/a_b) and a note[^1].

- one item
- another item

| year | rent |
|------|------|
| 2020 | 100 |

[^1]: The text of the note.
"""


def write_pdf(path: Path, pages: int = 3, *, password: str = "") -> None:
    """Write pages with a running head, page numbers and a word hyphenated at a line end."""
    from fpdf import FPDF

    class Paper(FPDF):
        def header(self) -> None:
            self.set_font("Helvetica", size=8)
            self.cell(0, 8, HEAD, new_x="LMARGIN", new_y="NEXT")

        def footer(self) -> None:
            self.set_y(-15)
            self.set_font("Helvetica", size=8)
            self.cell(0, 8, f"Page {self.page_no()} of {pages}", align="C")

    paper = Paper()
    for page in range(pages):
        paper.add_page()
        for number in range(3):
            paper.set_font("Helvetica", size=11)
            text = f"{NAMES[page]} {number}. {LONG} Compul-\nsory rules seldom help anyone."
            paper.multi_cell(0, 5, text, new_x="LMARGIN", new_y="NEXT")
            paper.ln(4)
    if password:
        paper.set_encryption(owner_password=password, user_password=password)
    paper.output(str(path))


def write_docx(path: Path) -> None:
    """Write a Word file with a heading, list items, a table and turns of speakers."""
    import docx

    document = docx.Document()
    document.add_heading("Minutes", 0)
    document.add_paragraph(LONG)
    document.add_paragraph("the first point", style="List Bullet")
    document.add_paragraph("Cllr Moss: I am for it.")
    document.add_paragraph("Mr Lind: I am not.")
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "2020", "100"
    document.save(str(path))


def write_odt(path: Path) -> None:
    """Write an OpenDocument text with a heading and a list."""
    from odf.opendocument import OpenDocumentText
    from odf.text import H, List, ListItem, P, Span

    document = OpenDocumentText()
    document.text.addElement(H(outlinelevel=2, text="Letter"))
    paragraph = P(text="Rents ")
    paragraph.addElement(Span(text="rose"))
    paragraph.addText(" again.")
    document.text.addElement(paragraph)
    items, item = List(), ListItem()
    item.addElement(P(text="a point"))
    items.addElement(item)
    document.text.addElement(items)
    document.save(str(path))


def write_epub(path: Path, chapter: str = "<h1>One</h1><p>Caf\u00e9s close.</p>") -> None:
    """Write an e-book of one chapter."""
    with zipfile.ZipFile(path, "w") as book:
        book.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="text/book.opf"/></rootfiles></container>',
        )
        book.writestr(
            "text/book.opf",
            '<package xmlns="http://www.idpf.org/2007/opf"><metadata '
            'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The book</dc:title></metadata>'
            '<manifest><item id="a" href="a%20b.xhtml" media-type="application/xhtml+xml"/>'
            '</manifest><spine><itemref idref="a"/></spine></package>',
        )
        head = '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml">'
        book.writestr("text/a b.xhtml", f"{head}<body>{chapter}</body></html>")


def write_xlsx(path: Path, sheets: int = 1) -> None:
    """Write a spreadsheet with authors and comments."""
    import openpyxl

    book = openpyxl.Workbook()
    for number in range(sheets):
        sheet = book.active if number == 0 else book.create_sheet(f"More {number}")
        sheet.append(["Author", "Comment", "Likes"])
        sheet.append(["Anna", "Rents are too high in this town.", 3])
        sheet.append([None, None, None])
        sheet.append(["Bob", "Owners will sell.", 4])
    book.save(path)


def write_parquet(path: Path) -> None:
    """Write a Parquet file with a column of texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"user": ["Anna", "Bob"], "body": ["Rents are high.", "Owners sell."]})
    pq.write_table(table, path)


def write_mixed_folder(folder: Path) -> None:
    """Write about 20 files: ordinary ones, some that are empty, broken or of other types."""
    (folder / "Letters 2024").mkdir(parents=True)
    (folder / "plain.txt").write_text("A plain text on rents.\n")
    (folder / "Letters 2024" / "Br\u00fcssel, final_v2 (1).txt").write_bytes(
        "R\u00f6str\u00e4tt \u00e4r r\u00e4tt.".encode("latin-1")
    )
    (folder / "wide.txt").write_bytes("Mieten d\u00fcrfen nicht steigen.".encode("utf-16"))
    (folder / "notes.md").write_text(MARKDOWN)
    (folder / "spec.rst").write_text("Rents\n=====\n\nA text in reST.\n")
    (folder / "page.html").write_text(PAGE)
    (folder / "old.htm").write_bytes("<p>Die M\u00e4rkte \u00e4ndern sich.</p>".encode("latin-1"))
    write_pdf(folder / "review.pdf")
    write_pdf(folder / "locked.pdf", 1, password="secret")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nonsense")
    (folder / "login.pdf").write_text("<html>please log in</html>")
    write_docx(folder / "minutes.docx")
    write_odt(folder / "letter.odt")
    write_epub(folder / "book.epub")
    write_xlsx(folder / "survey.xlsx")
    write_parquet(folder / "rows.parquet")
    (folder / "thread.csv").write_text('author,comment\nAnna,"High, too high."\nBob,No way.\n')
    (folder / "thread.tsv").write_text("id\ttext\n1\tTabs are fine.\n")
    rows = [{"id": "7", "author": "Cem", "text": "Rows of lines."}, {"id": "8", "text": ""}]
    (folder / "thread.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "posts.json").write_text(json.dumps({"posts": [{"message": "Rows of an object."}]}))
    (folder / "mail.eml").write_bytes(
        b"From: Anna Berg <a@example.org>\r\nSubject: =?utf-8?q?Caf=C3=A9s?=\r\n\r\nClose them.\r\n"
    )
    (folder / "empty.txt").write_text(" \n")
    (folder / "photo.heic").write_bytes(b"\0\1\2")
    (folder / ".hidden").write_text("no")
    (folder / "~$minutes.docx").write_text("no")
