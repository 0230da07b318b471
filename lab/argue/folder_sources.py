"""Folders of ordinary files with labelled paragraphs: the source format, and writing the files.

A folder is `NAME/head.txt` (propositions and questions) and `NAME/01.txt`, ... (files with labelled
paragraphs). `write_files` renders it like a real folder: Markdown, web pages, PDF, Word and so on,
in several encodings, with navigation, hyphenated line ends and running heads.
"""

from __future__ import annotations

import csv
import io
import json
import re
import textwrap
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Literal
from zlib import crc32

Stance = Literal["yes", "no", "mixed", "none", "other"]
"""The stance of a paragraph on a question: one side, both, none, or about another topic."""

_PROPOSITION = re.compile(r"([a-d]): (.+)")
_QUESTION = re.compile(r"\? ([a-d])([+-]) (.+)")
_PARAGRAPH = re.compile(r"\[([^\]]+)\] (.+)")
_SPEAKER = re.compile(r"@([^:]{1,60}): (.+)")
_HEADING = re.compile(r"(#{1,4}) (.+)")
_REASON = "^"


@dataclass(frozen=True)
class Question:
    """A question in everyday words; yes means that the proposition holds, or that it does not."""

    id: str
    text: str
    proposition: str
    polarity: Literal["+", "-"]


@dataclass(frozen=True)
class Block:
    """A heading (`level` 1 to 4, no labels) or a paragraph."""

    text: str  # without marks
    level: int = 0
    labels: tuple[str, ...] = ()
    speaker: str = ""
    item: bool = False
    reasons: tuple[str, ...] = ()  # sentences that state a reason for the paragraph's side

    def stance(self, question: Question) -> Stance:
        """Return its stance on a question."""
        if self.labels == ("x",):
            return "other"
        for label in self.labels:
            if label[0] == question.proposition:
                if label[1] == "*":
                    return "mixed"
                return "yes" if label[1] == question.polarity else "no"
        return "none"


@dataclass(frozen=True)
class SourceFile:
    """A file of a folder; it is rendered in the format of its suffix."""

    path: str
    style: str
    blocks: tuple[Block, ...]

    @property
    def paragraphs(self) -> tuple[Block, ...]:
        """Its blocks without headings."""
        return tuple(block for block in self.blocks if not block.level)


@dataclass(frozen=True)
class Folder:
    """A labelled folder."""

    name: str
    language: str
    propositions: dict[str, str]
    questions: tuple[Question, ...]
    files: tuple[SourceFile, ...] = field(repr=False)

    def sides(self, question: Question) -> set[str]:
        """Return which sides are argued anywhere: "yes", "no"."""
        stances = {p.stance(question) for f in self.files for p in f.paragraphs}
        return stances & {"yes", "no"}


def read_folder(source: Path) -> Folder:
    """Read `head.txt` and the numbered files of a folder; ValueError names an invalid line."""
    propositions: dict[str, str] = {}
    questions: list[Question] = []
    language = "en"
    for number, line in _lines(source / "head.txt"):
        if match := _PROPOSITION.fullmatch(line):
            propositions[match[1]] = match[2]
        elif match := _QUESTION.fullmatch(line):
            polarity: Literal["+", "-"] = "+" if match[2] == "+" else "-"
            identifier = f"{source.name}-{len(questions) + 1:02}"
            questions.append(Question(identifier, match[3], match[1], polarity))
        elif line.startswith("language: "):
            language = line.removeprefix("language: ")
        elif not line.startswith("folder: "):
            raise ValueError(f"{source / 'head.txt'}:{number}: {line[:60]!r}")
    files = tuple(_files(source))
    return Folder(source.name, language, propositions, tuple(questions), files)


def _files(source: Path) -> Iterator[SourceFile]:
    """Yield the files of a folder; see `read_folder`."""
    files: list[tuple[str, str, list[Block]]] = []
    for path in sorted(source.glob("[0-9]*.txt")):
        for number, line in _lines(path):
            if line.startswith("=== "):
                files.append((line.removeprefix("=== "), "", []))
            elif line.startswith("style: "):
                files[-1] = (files[-1][0], line.removeprefix("style: "), files[-1][2])
            else:
                block = _block(line)
                if block is None:
                    raise ValueError(f"{path}:{number}: {line[:60]!r}")
                files[-1][2].append(block)
    for name, style, blocks in files:
        yield SourceFile(name, style, tuple(blocks))


def read_folders(root: Path) -> list[Folder]:
    """Read all folders below `root`, by name."""
    return [read_folder(path.parent) for path in sorted(root.glob("*/head.txt"))]


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip():
            yield number, line.strip()


def _block(line: str) -> Block | None:
    if heading := _HEADING.fullmatch(line):
        return Block(heading[2], level=len(heading[1]))
    if not (match := _PARAGRAPH.fullmatch(line)):
        return None
    labels, text, speaker = tuple(match[1].split()), match[2], ""
    item = text.startswith("- ")
    text = text.removeprefix("- ")
    if speech := _SPEAKER.fullmatch(text):
        speaker, text = speech[1], speech[2]
    reasons = tuple(_reasons(text))
    return Block(text.replace(_REASON, ""), 0, labels, speaker, item, reasons)


_END = re.compile(r"(?<=[.!?…])[\"”’)]*\s+(?=[\"“‘(^A-ZÄÖÜ0-9])")


def _reasons(text: str) -> Iterator[str]:
    for sentence in _END.split(text):
        if sentence.startswith(_REASON):
            yield sentence.replace(_REASON, "").strip()


def write_files(folder: Folder, out: Path) -> list[Path]:
    """Write the files of a folder below `out`, and return their paths in order."""
    paths = []
    for file in folder.files:
        path = out / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_rendered(file))
        paths.append(path)
    return paths


def _choice(file: SourceFile, count: int, what: str = "") -> int:
    """Return a number below `count` that depends only on the file and `what`."""
    return crc32(f"{file.path}{what}".encode()) % count


def _rendered(file: SourceFile) -> bytes:
    ending = Path(file.path).suffix.lower()
    if ending in (".md", ".markdown"):
        return _markdown(file).encode()
    if ending in (".html", ".htm"):
        return _html(file)
    if ending == ".pdf":
        return _pdf(file)
    if ending == ".docx":
        return _docx(file)
    if ending == ".odt":
        return _odt(file)
    if ending == ".epub":
        return _epub(file)
    if ending in (".csv", ".tsv", ".json", ".jsonl"):
        return _rows(file, ending)
    if ending == ".rst":
        return _rst(file).encode()
    return _text(file)


def _spoken(block: Block, bold: str = "") -> str:
    speaker = f"{bold}{block.speaker}:{bold} " if block.speaker else ""
    return f"{speaker}{block.text}"


def _markdown(file: SourceFile) -> str:
    parts: list[str] = []
    for block in file.blocks:
        if block.level:
            parts.append(f"{'#' * block.level} {block.text}")
        elif block.item:
            parts.append(f"{'*' if _choice(file, 2) else '-'} {_spoken(block, '**')}")
        else:
            parts.append(_spoken(block, "**"))
    front = f"---\ntitle: {Path(file.path).stem}\ntags: [{file.style}]\n---\n\n"
    return (front if _choice(file, 3) == 0 else "") + "\n\n".join(parts) + "\n"


def _rst(file: SourceFile) -> str:
    parts = []
    for block in file.blocks:
        line = {1: "=", 2: "-"}.get(block.level, "~") * len(block.text)
        parts.append(f"{block.text}\n{line}" if block.level else _spoken(block, "**"))
    return "\n\n".join(parts) + "\n"


_CODINGS = ("utf-8", "utf-8", "utf-8", "cp1252", "utf-16", "utf-8-sig")

_PLAIN = str.maketrans("–—‘’“”…", "--''\"\".")


def _text(file: SourceFile) -> bytes:
    """Render plain text, in long or wrapped lines; some files are not in UTF-8."""
    width = (0, 72, 0)[_choice(file, 3)]
    parts = []
    for block in file.blocks:
        line = f"- {_spoken(block)}" if block.item else _spoken(block)
        line = f"{block.text.upper()}\n" if block.level == 1 else line
        parts.append(textwrap.fill(line, width) if width and not block.level else line.rstrip())
    text = "\n\n".join(parts) + "\n"
    coding = _CODINGS[_choice(file, len(_CODINGS), "coding")]
    if coding == "cp1252" and re.search(r"[À-ÿ]", text):
        return text.encode(coding, errors="replace")
    return text.encode("utf-8" if coding == "cp1252" else coding)


_FURNITURE = (
    "<nav><a href='/'>Home</a> | <a href='/news'>News</a> | <a href='/about'>About us</a></nav>",
    "<div class='cookie'>We use cookies to improve your visit. <button>Accept all</button></div>",
    "<aside><h3>Most read</h3><ul><li>Ten walks for rainy days</li><li>Roads</li></ul></aside>",
)


def _html(file: SourceFile) -> bytes:
    title = next((b.text for b in file.blocks if b.level), Path(file.path).stem)
    thread = any(block.speaker for block in file.blocks)
    breaks = not thread and _choice(file, 4) == 0
    parts: list[str] = []
    for block in file.blocks:
        text = escape(block.text, quote=False)
        if block.level:
            parts.append(f"<h{block.level}>{text}</h{block.level}>")
        elif block.speaker:
            who = f"<span class='user'>{escape(block.speaker)}</span>"
            parts.append(f"<div class='post'>{who}<div class='body'><p>{text}</p></div></div>")
        elif block.item:
            parts.append(f"<ul><li>{text}</li></ul>")
        else:
            parts.append(f"{text}<br><br>" if breaks else f"<p>{text}</p>")
    body = "\n".join(parts)
    head = "" if _choice(file, 3) == 0 else "<meta charset='utf-8'>"
    furniture = _FURNITURE[_choice(file, len(_FURNITURE))]
    page = (
        f"<!doctype html><html><head>{head}<title>{escape(title)}</title></head><body>{furniture}"
        f"<article>{body}</article><footer>© The publisher. Share this page. Contact.</footer>"
        "</body></html>"
    )
    return page.encode() if head else page.encode("cp1252", errors="xmlcharrefreplace")


def _pdf(file: SourceFile) -> bytes:
    """Render pages with a running head, page numbers, and words hyphenated at line ends."""
    from fpdf import FPDF

    title = next((b.text for b in file.blocks if b.level), Path(file.path).stem)[:70]

    class Paper(FPDF):  # type: ignore[misc]
        def header(self) -> None:
            self.set_font("Helvetica", size=8)
            self.cell(0, 8, _latin(title), new_x="LMARGIN", new_y="NEXT")

        def footer(self) -> None:
            self.set_y(-15)
            self.set_font("Helvetica", size=8)
            self.cell(0, 8, f"Page {self.page_no()} of {{nb}}", align="C")

    paper = Paper(format="A5")
    paper.add_page()
    for block in file.blocks:
        paper.set_font("Times", style="B" if block.level else "", size=14 if block.level else 11)
        text = f"- {_spoken(block)}" if block.item else _spoken(block)
        for line in _divided(_latin(text), 62):
            paper.cell(0, 5, line, new_x="LMARGIN", new_y="NEXT")
        paper.ln(4)
    return bytes(paper.output())


def _latin(text: str) -> str:
    return text.translate(_PLAIN).encode("latin-1", errors="replace").decode("latin-1")


def _divided(text: str, width: int) -> Iterator[str]:
    """Yield lines of at most `width` characters; some long words are hyphenated."""
    line = ""
    for word in text.split():
        if len(line) + 1 + len(word) <= width:
            line = f"{line} {word}".strip()
            continue
        room = width - len(line) - 2
        if room >= 4 and len(word) >= 9 and word.isalpha():
            cut = min(room, len(word) - 4)
            yield f"{line} {word[:cut]}-".strip()
            line = word[cut:]
        else:
            yield line
            line = word
    if line:
        yield line


def _docx(file: SourceFile) -> bytes:
    import docx

    document = docx.Document()
    for block in file.blocks:
        if block.level:
            document.add_heading(block.text, block.level)
        elif block.item:
            document.add_paragraph(_spoken(block), style="List Bullet")
        else:
            paragraph = document.add_paragraph()
            if block.speaker:
                paragraph.add_run(f"{block.speaker}: ").bold = True
            paragraph.add_run(block.text)
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def _odt(file: SourceFile) -> bytes:
    from odf.opendocument import OpenDocumentText
    from odf.text import H, List, ListItem, P

    document = OpenDocumentText()
    for block in file.blocks:
        if block.level:
            document.text.addElement(H(outlinelevel=block.level, text=block.text))
        elif block.item:
            item, items = ListItem(), List()
            item.addElement(P(text=_spoken(block)))
            items.addElement(item)
            document.text.addElement(items)
        else:
            document.text.addElement(P(text=_spoken(block)))
    stream = io.BytesIO()
    document.write(stream)
    return stream.getvalue()


_CONTAINER = (
    '<?xml version="1.0"?><container version="1.0" '
    'xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile '
    'full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)


def _epub(file: SourceFile) -> bytes:
    parts = [
        f"<h{b.level}>{escape(b.text)}</h{b.level}>" if b.level else f"<p>{escape(_spoken(b))}</p>"
        for b in file.blocks
    ]
    page = (
        '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>'
        f"{escape(Path(file.path).stem)}</title></head><body>{''.join(parts)}</body></html>"
    )
    package = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0" '
        'unique-identifier="i"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<dc:identifier id="i">x</dc:identifier><dc:title>{escape(Path(file.path).stem)}'
        '</dc:title><dc:language>en</dc:language></metadata><manifest><item id="c" '
        'href="c.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="c"/></spine></package>'
    )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr("META-INF/container.xml", _CONTAINER)
        book.writestr("book.opf", package)
        book.writestr("c.xhtml", page)
    return stream.getvalue()


def _rows(file: SourceFile, ending: str) -> bytes:
    rows = [
        {"id": str(number), "author": block.speaker or "anonymous", "text": block.text}
        for number, block in enumerate(file.paragraphs, start=1)
    ]
    if ending == ".json":
        return json.dumps(rows, ensure_ascii=False, indent=1).encode()
    if ending == ".jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    stream = io.StringIO()
    table = csv.DictWriter(stream, list(rows[0]), delimiter="\t" if ending == ".tsv" else ",")
    table.writeheader()
    table.writerows(rows)
    return stream.getvalue().encode()


_WORD = re.compile(r"\w+")


def words_of(text: str) -> str:
    """Return only the words of a text, to compare a quotation with its source."""
    return " ".join(_WORD.findall(text.casefold()))


def paragraph_of(sentence: str, blocks: Sequence[Block]) -> Block | None:
    """Return the paragraph that a quoted sentence is from, or None.

    It shares the most four-word sequences with the sentence, at least half of them.
    """
    wanted = _runs(words_of(sentence))
    best, most = None, 0.5
    for block in blocks:
        share = len(wanted & _runs(words_of(_spoken(block)))) / max(1, len(wanted))
        if share >= most:
            best, most = block, share + 1e-9
    return best


def _runs(words: str, size: int = 4) -> set[tuple[str, ...]]:
    split = words.split()
    if len(split) < size:
        return {tuple(split)}
    return {tuple(split[i : i + size]) for i in range(len(split) - size + 1)}
