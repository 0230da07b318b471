"""A folder of text files, web pages and PDFs, each of them a document."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from pnyx.corpora.base import Format, Options, Row
from pnyx.corpora.pages import extract_page
from pnyx.errors import InputError, MissingExtra, shorten
from pnyx.files import clean_text, guarded, open_binary, read_lines
from pnyx.records import Document

__all__ = ["FORMATS", "SUFFIXES", "scan_folder"]

_MAX_BYTES = 256 * 1024 * 1024


def scan_folder(source: str, options: Options) -> Iterator[Row[Document]]:
    """Yield a document for each readable file by its path; what is left out is warned of."""
    if options.columns:
        raise InputError("a folder has no columns to map", path=source)
    root = Path(source)
    single = root.is_file()
    if single and root.suffix.lower() not in _READERS:
        raise InputError(f"expected a folder, or a file that ends in {_ENDINGS}", path=source)
    outside: list[Path] = []
    paths = [root] if single else sorted(_walk(root, outside))
    if not single and not root.is_dir():
        raise InputError("cannot be read: No such file or directory", path=source)
    empty: list[str] = []
    for number, path in enumerate(paths, start=1):
        name = path.name if single else path.relative_to(root).as_posix()
        try:
            document = _READERS[path.suffix.lower()](path, name)
        except InputError as error:
            yield error
            continue
        if document.text.strip():
            yield number, document
        else:
            empty.append(name)
    links = sorted(path.relative_to(root).as_posix() for path in outside)
    for left_out, one, many in (
        (empty, "file holds no text", "files hold no text"),
        (links, "link leads out of the folder", "links lead out of the folder"),
    ):
        if left_out and options.on_warning is not None:
            shown = ", ".join(shorten(name, 60) for name in left_out[:3])
            more = f" and {len(left_out) - 3} more" if len(left_out) > 3 else ""
            what = f"{one} and was" if len(left_out) == 1 else f"{many} and were"
            options.on_warning(f"{len(left_out)} {what} left out: {shown}{more}")


def _walk(root: Path, outside: list[Path]) -> Iterator[Path]:
    """Yield the files to read; links out of the folder go to `outside`."""
    real = Path(os.path.realpath(root))
    for folder, folders, names in os.walk(root):
        outside += (path for path in map(Path(folder).joinpath, folders) if _leaves(path, real))
        for name in names:
            path = Path(folder, name)
            if path.suffix.lower() in SUFFIXES and not name.startswith(".") and path.is_file():
                # And never a named pipe, which would be waited for.
                if _leaves(path, real):
                    outside.append(path)
                else:
                    yield path


def _leaves(path: Path, root: Path) -> bool:
    """Whether it is a link to somewhere outside of `root`, itself without links."""
    return path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root)


def _bytes(path: Path) -> bytes:
    with open_binary(path) as stream:
        content: bytes = guarded(lambda: stream.read(_MAX_BYTES + 1), str(path))
    if len(content) > _MAX_BYTES:
        raise InputError(f"is larger than {_MAX_BYTES // 1024**2} MB", path=path)
    return content


def _text(path: Path, name: str) -> Document:
    return Document(id=name, text="\n".join(line for _, line in read_lines(path)).strip())


def _html(path: Path, name: str) -> Document:
    try:
        page = extract_page(_bytes(path))
    except InputError as error:
        raise InputError(error.problem, path=path) from error
    return Document(id=name, text=page.text, title=page.title, url=page.url)


def _pdf(path: Path, name: str) -> Document:
    try:
        import pypdf
    except ImportError as error:
        raise MissingExtra("reading PDF files", "ingest") from error
    content = _bytes(path)
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        pages = [page.extract_text().strip() for page in reader.pages]
        title = (reader.metadata.title if reader.metadata else None) or ""
    except Exception as error:  # a hostile file may trip the parser anywhere
        raise InputError(f"cannot be read as PDF: {shorten(str(error))}", path=path) from error
    text = "\n\n".join(page for page in pages if page)
    return Document(id=name, text=clean_text(text), title=clean_text(str(title)))


_READERS: dict[str, Callable[[Path, str], Document]] = {
    ".txt": _text,
    ".html": _html,
    ".htm": _html,
    ".pdf": _pdf,
}
_ENDINGS = ", ".join(_READERS)
SUFFIXES = tuple(_READERS)
"""Files of other names are passed over."""

FORMATS = (
    Format(
        "folder",
        "evidence",
        "a folder of .txt, .html, .htm and .pdf files, or one such file; the id is the path",
        scan_folder,
        "corpus/tea.txt\ncorpus/pages/coffee.html\n",
    ),
)
