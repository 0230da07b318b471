"""Readers of single files by kind, and the fingerprint of their content."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from pnyx.core.errors import InputError
from pnyx.core.files import guarded, open_binary

if TYPE_CHECKING:
    from pnyx.formats.text.blocks import Page

READING_VERSION = 3
"""Increase when files are read into different documents than before, to refresh indexes."""

_MOST_BYTES = 64 * 1024 * 1024
"""Bytes of a file that is one document; tables may have any size."""
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The content of a file that is one document, and the encoding that was assumed, if any."""

    page: Page
    assumed: str = ""


def read_file(path: Path) -> ReadFile:
    """Read a file that is one document; InputError if it cannot be read."""
    parts: list[bytes] = []
    with open_binary(path) as stream:
        while part := guarded(lambda: stream.read(_CHUNK), str(path)):
            parts.append(part)
            if len(parts) * _CHUNK > _MOST_BYTES:
                raise InputError(f"is larger than {_MOST_BYTES >> 20} MB", path=path)
    content = b"".join(parts)
    try:
        return READERS[path.suffix.lower()](content)
    except InputError as error:
        raise InputError(error.problem, path=path) from error
    except (RecursionError, MemoryError) as error:
        raise InputError(
            "cannot be read: it is nested too deeply or too large", path=path
        ) from error


def _decoded(content: bytes) -> tuple[str, str]:
    from pnyx.formats.text.encodings import decoded_bytes

    return decoded_bytes(content)


def _text(content: bytes) -> ReadFile:
    from pnyx.formats.text.blocks import Page
    from pnyx.formats.text.plain_text import blocks_of_text

    text, assumed = _decoded(content)
    return ReadFile(Page(blocks_of_text(text)), assumed)


def _rst(content: bytes) -> ReadFile:
    from pnyx.formats.text.plain_text import rst_page

    text, assumed = _decoded(content)
    return ReadFile(rst_page(text), assumed)


def _markdown(content: bytes) -> ReadFile:
    from pnyx.formats.text.markdown_text import markdown_page

    text, assumed = _decoded(content)
    return ReadFile(markdown_page(text), assumed)


def _web_page(content: bytes) -> ReadFile:
    from pnyx.formats.text.pages import decoded_page, extract_page

    text, assumed = decoded_page(content)
    return ReadFile(extract_page(text), assumed)


def _pdf(content: bytes) -> ReadFile:
    from pnyx.formats.text.pdf_text import extract_pdf

    return ReadFile(extract_pdf(content))


def _office(name: str) -> Callable[[bytes], ReadFile]:
    def read(content: bytes) -> ReadFile:
        from pnyx.formats.text import office_files

        return ReadFile(getattr(office_files, name)(content))

    return read


READERS: dict[str, Callable[[bytes], ReadFile]] = {
    ".txt": _text,
    ".rst": _rst,
    ".md": _markdown,
    ".markdown": _markdown,
    ".html": _web_page,
    ".htm": _web_page,
    ".pdf": _pdf,
    ".docx": _office("extract_docx"),
    ".odt": _office("extract_odt"),
    ".epub": _office("extract_epub"),
    ".eml": _office("extract_email"),
}
"""File extension -> reader of such a file as one document."""

TABLES = (".csv", ".tsv", ".json", ".jsonl", ".xlsx", ".parquet")
"""Extensions of files whose rows are documents."""

ALONE = (*READERS, ".xlsx", ".parquet")
"""Extensions of single files read as in a folder; other tables are in one of the formats."""

_OPTIONAL = {".xlsx": "openpyxl", ".parquet": "pyarrow"}


def content_mark(path: Path) -> str:
    """Return a fingerprint of a file's content, and of how it would be read here."""
    suffix = path.suffix.lower()
    library = _OPTIONAL.get(suffix)
    there = library is None or importlib.util.find_spec(library) is not None
    digest = blake2b(f"{READING_VERSION} {suffix} {there}".encode(), digest_size=16)
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except OSError:
        return ""
    return digest.hexdigest()
