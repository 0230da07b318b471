"""The blocks of word processors' files (.docx, .odt), e-books (.epub) and e-mails (.eml)."""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

from pnyx.core.errors import InputError, shorten
from pnyx.formats.text.blocks import Block, Page
from pnyx.formats.text.pages import blocks_of_markup
from pnyx.formats.text.plain_text import blocks_of_text, in_one_line, with_turns
from pnyx.formats.text.quiet_libraries import quiet

_MOST_UNPACKED = 256 * 1024 * 1024
"""Maximum bytes of all parts of a file, unpacked."""
_MOST_RATIO = 200
"""A part over a megabyte with a compression ratio above this is treated as a zip bomb."""
_MOST_PARTS = 20_000
_MOST_DEPTH = 200
_MOST_CELLS = 200

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_ODT_SKIPPED = frozenset(
    {f"{_TEXT}tracked-changes", f"{_TEXT}note", f"{_OFFICE}annotation", f"{_TEXT}table-of-content"}
)
_DC = "{http://purl.org/dc/elements/1.1/}"


def extract_docx(content: bytes) -> Page:
    """Return the blocks of a Word file and its title."""
    import docx

    with _unpacked(content, "Word"):
        document = docx.Document(io.BytesIO(content))
        blocks = with_turns(list(_docx_blocks(document)))
        title = in_one_line(document.core_properties.title or "")
    return Page(blocks, title or _first_heading(blocks))


def _docx_blocks(document: Any) -> Iterator[Block]:
    from docx.table import Table

    for part in document.iter_inner_content():
        if isinstance(part, Table):
            for row in part.rows:
                cells: list[str] = []
                for cell in row.cells[:_MOST_CELLS]:
                    text = in_one_line(cell.text)
                    if not cells or cells[-1] != text:  # a merged cell occurs once for each column
                        cells.append(text)
                yield from _paragraph(" | ".join(filter(None, cells)))
            continue
        style = (part.style.name or "").lower() if part.style is not None else ""
        text = part.text
        if style.startswith("heading ") or style == "title":
            level = int(style[8:]) if style[8:].isdigit() else 1
            yield from _heading(text, level)
        elif style.startswith("list") or (
            part._p.pPr is not None and part._p.pPr.numPr is not None
        ):
            yield from (replace(block, kind="item") for block in _paragraph(text))
        else:
            for line in text.split("\n\n"):
                yield from _paragraph(line)


def extract_odt(content: bytes) -> Page:
    """Return the blocks of an OpenDocument text and its title."""
    with _unpacked(content, "OpenDocument") as archive:
        body = _xml(archive, "content.xml").find(f".//{_OFFICE}text")
        if body is None:
            raise InputError("cannot be read as OpenDocument: it has no text")
        blocks = with_turns(list(_odt_blocks(body)))
        title = ""
        if "meta.xml" in archive.namelist():
            title = in_one_line(_xml(archive, "meta.xml").findtext(f".//{_DC}title") or "")
    return Page(blocks, title or _first_heading(blocks))


def _odt_blocks(element: Any, depth: int = 0, *, item: bool = False) -> Iterator[Block]:
    for child in element:
        tag = child.tag
        if tag in _ODT_SKIPPED or not isinstance(tag, str) or depth > _MOST_DEPTH:
            continue
        if tag == f"{_TEXT}h":
            level = child.get(f"{_TEXT}outline-level") or "1"
            yield from _heading(_odt_text(child), int(level) if level.isdigit() else 1)
        elif tag == f"{_TEXT}p":
            for block in _paragraph(_odt_text(child)):
                yield replace(block, kind="item") if item else block
            item = False
        elif tag == f"{_TABLE}table-row":
            cells = (in_one_line(_odt_text(cell)) for cell in child[:_MOST_CELLS])
            yield from _paragraph(" | ".join(filter(None, cells)))
        else:
            yield from _odt_blocks(child, depth + 1, item=tag == f"{_TEXT}list-item")


def _odt_text(element: Any) -> str:
    """Return the text of a paragraph, without notes and annotations."""
    from lxml import etree

    parts: list[str] = []
    walk = etree.iterwalk(element, events=("start", "end"))
    for event, node in walk:
        if event == "start":
            if node.tag in _ODT_SKIPPED:
                walk.skip_subtree()
                continue
            spaced = node.tag in (f"{_TEXT}s", f"{_TEXT}tab", f"{_TEXT}line-break", f"{_TEXT}p")
            parts += [" "] if spaced else []
            parts.append(node.text or "")
        elif node is not element:
            parts.append(node.tail or "")
    return "".join(parts)


def extract_epub(content: bytes) -> Page:
    """Return the blocks of an e-book, chapter by chapter, and its title."""
    with _unpacked(content, "EPUB") as archive:
        container = _xml(archive, "META-INF/container.xml")
        root = container.find(".//{*}rootfile")
        name = "" if root is None else root.get("full-path") or ""
        package = _xml(archive, name)
        files = {
            item.get("id"): posixpath.normpath(
                posixpath.join(posixpath.dirname(name), unquote(item.get("href") or ""))
            )
            for item in package.iterfind(".//{*}manifest/{*}item")
            if "html" in (item.get("media-type") or "") and item.get("properties") != "nav"
        }
        order = [ref.get("idref") for ref in package.iterfind(".//{*}spine/{*}itemref")]
        blocks: list[Block] = []
        for reference in order:
            if reference in files:
                blocks += blocks_of_markup(archive.read(files[reference]))
        title = in_one_line(package.findtext(f".//{_DC}title") or "")
    return Page(with_turns(blocks), title or _first_heading(blocks))


def extract_email(content: bytes) -> Page:
    """Return the blocks of an e-mail: subject, who wrote it, and its text."""
    from email import policy
    from email.parser import BytesParser

    try:
        message: Any = BytesParser(policy=policy.default).parsebytes(content)
        body = message.get_body(preferencelist=("plain", "html"))
        text = body.get_content() if body is not None else ""
        subject = in_one_line(str(message.get("subject") or ""))
        sender = message.get("from")
        named = sender.addresses[0] if sender is not None and sender.addresses else None
        speaker = (named.display_name or named.username) if named is not None else ""
        is_html = body is not None and body.get_content_subtype() == "html"
    except (LookupError, ValueError, AttributeError, TypeError, RecursionError) as error:
        raise InputError(f"cannot be read as an e-mail: {shorten(str(error))}") from error
    if not isinstance(text, str):
        raise InputError("cannot be read as an e-mail: its text is not text")
    blocks = blocks_of_markup(text.encode("utf-8", "replace")) if is_html else blocks_of_text(text)
    written = [
        replace(block, speaker=in_one_line(speaker), kind="turn" if number == 0 else block.kind)
        if block.kind in ("paragraph", "item") and not block.speaker
        else block
        for number, block in enumerate(blocks)
    ]
    return Page((*_heading(subject, 1), *written), subject)


def _heading(text: str, level: int) -> list[Block]:
    text = in_one_line(text)
    return [Block(text, "heading", max(1, level))] if text else []


def _paragraph(text: str) -> list[Block]:
    text = in_one_line(text)
    return [Block(text)] if text.strip("| ") else []


def _first_heading(blocks: tuple[Block, ...] | list[Block]) -> str:
    return blocks[0].text if blocks and blocks[0].kind == "heading" else ""


@contextmanager
def _unpacked(content: bytes | IO[bytes], what: str) -> Iterator[zipfile.ZipFile]:
    """Open a zipped file whose unpacked size is bounded; InputError for unreadable files."""
    from lxml import etree

    try:
        stream = io.BytesIO(content) if isinstance(content, bytes) else content
        with quiet("docx"), zipfile.ZipFile(stream) as archive:
            _check_parts(archive.infolist())
            yield archive
    except InputError:
        raise
    except zipfile.BadZipFile as error:
        stream.seek(0)
        encrypted = stream.read(4) == b"\xd0\xcf\x11\xe0"  # a password
        problem = "needs a password, or is an older Office file" if encrypted else f"is not {what}"
        raise InputError(problem) from error
    except (etree.LxmlError, zlib.error, OSError, EOFError, NotImplementedError) as error:
        raise InputError(f"cannot be read as {what}: {shorten(str(error))}") from error
    except (KeyError, ValueError, AttributeError, TypeError, RuntimeError, IndexError) as error:
        # A part is missing, encrypted, or of an unexpected type.
        raise InputError(f"cannot be read as {what}: {shorten(str(error))}") from error


def check_archive(path: Path, what: str) -> None:
    """Reject a zipped file that is damaged, needs a password or would not fit into memory."""
    try:
        head = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    with head, _unpacked(head, what):
        pass


def _check_parts(parts: list[zipfile.ZipInfo]) -> None:
    if len(parts) > _MOST_PARTS or sum(part.file_size for part in parts) > _MOST_UNPACKED:
        raise InputError(f"contains more than {_MOST_UNPACKED >> 20} MB or {_MOST_PARTS:,} parts")
    for part in parts:
        if part.flag_bits & 1:
            raise InputError("needs a password")
        if part.file_size > 1 << 20 and part.file_size > _MOST_RATIO * part.compress_size:
            raise InputError(f"is a zip bomb: a part is compressed to less than 1/{_MOST_RATIO}")


def _xml(archive: zipfile.ZipFile, name: str) -> Any:
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(archive.read(name), parser)
