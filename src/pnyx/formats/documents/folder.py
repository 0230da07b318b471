"""A folder of ordinary files as documents: texts, web pages, PDF, Word, e-books, tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pnyx.core.errors import InputError, MissingExtra
from pnyx.core.records import Evidence, Unit
from pnyx.formats.base import Format, Options, Row, format_of
from pnyx.formats.documents.file_readers import ALONE, READERS, TABLES, read_file
from pnyx.formats.file_account import FileAccount, FileOutcome

_IGNORED = frozenset({"thumbs.db", "desktop.ini"})
"""Files created by file managers."""
_PLAIN = frozenset({"jsonl", "csv", "tsv", "folder"})
"""Formats of generic rows: within a folder, a row's id starts with its file."""
_ANY_ROWS = frozenset({"questions", "topics", "topics-tsv", "beir-queries", "sides-items"})
"""Formats that match almost any table: one with a usual column of texts holds documents."""


_HEAD_BYTES = 1 << 18

_recognise: list[Callable[[str], Format | None]] = []


def recognise_by(format_of_file: Callable[[str], Format | None]) -> None:
    """Set the function that recognises Pnyx's own formats; called by `pnyx.formats.recognition`."""
    _recognise[:] = [format_of_file]


def is_index_folder(folder: Path) -> bool:
    """Whether a folder is an index of Pnyx."""
    manifest = folder / "manifest.json"
    try:
        if not manifest.is_file():
            return False
        with manifest.open("rb") as stream:
            return b'"pnyx-index"' in stream.read(_HEAD_BYTES)
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class FolderFile:
    """A file of a folder; `name` is its path within the folder, used in document ids."""

    path: Path
    name: str


@dataclass(slots=True)
class FolderFiles:
    """The files of a folder, or one file; files not read are already in the account."""

    files: list[FolderFile]
    account: FileAccount
    is_single: bool = False


def files_of_folder(source: str) -> FolderFiles:
    """Return the files of a folder by their names, or one file; InputError if there is none."""
    root = Path(source)
    account = FileAccount(source)
    if root.is_file():
        if root.suffix.lower() not in (*ALONE, *TABLES):
            endings = ", ".join(ALONE)
            raise InputError(f"expected a folder, or a file that ends in {endings}", path=source)
        return FolderFiles([FolderFile(root, _readable(root.name))], account, is_single=True)
    if not root.is_dir():
        raise InputError("cannot be read: No such file or directory", path=source)
    files = sorted(_walk(root, account), key=lambda file: file.path)
    return FolderFiles(files, account)


def scan_folder(source: str, options: Options) -> Iterator[Row[Evidence]]:
    """Yield the documents of all files, by name; documents left out are in the account."""
    options.refuse_columns(source, "a folder")
    folder = files_of_folder(source)
    number = 0
    for file in folder.files:
        for record in documents_of(file, folder.account, "document", strict=folder.is_single):
            number += 1
            yield number, record
    options.report(folder.account)


def documents_of(
    file: FolderFile, account: FileAccount, unit: Unit = "document", *, strict: bool = False
) -> Iterator[Evidence]:
    """Yield the documents or passages of a file, and record its outcome in the account.

    InputError or MissingExtra only if faults are to be raised (`strict`).
    """
    try:
        if file.path.suffix.lower() in TABLES:
            outcome = yield from _rows(file, unit)
        else:
            outcome = yield from _whole(file, unit)
    except (InputError, MissingExtra) as error:
        if strict:
            raise
        problem = error.problem if isinstance(error, InputError) else str(error)
        outcome = FileOutcome(file.name, "unreadable", problem)
    account.files.append(outcome)


def _whole(file: FolderFile, unit: Unit) -> Generator[Evidence, None, FileOutcome]:
    from pnyx.formats.documents.document_passages import documents_of_page

    read = read_file(file.path)
    filled = False
    for document in documents_of_page(file.name, read.page, unit=unit):
        filled = True
        yield document
    return FileOutcome(file.name, "read" if filled else "empty", assumed=read.assumed)


def _rows(file: FolderFile, unit: Unit) -> Generator[Evidence, None, FileOutcome]:
    """Yield the rows of a table, or the records of a file in one of Pnyx's own formats."""
    from pnyx.formats.documents.document_passages import documents_of_page
    from pnyx.formats.documents.table_rows import open_table

    own_format = _own_format(file.path)
    if own_format is not None and own_format.kind == "evidence":
        rows = 0
        for row in own_format.rows(str(file.path), Options()):
            if isinstance(row, InputError):
                raise row
            rows += 1
            yield replace(row[1], id=f"{file.name}#{row[1].id}")
        return FileOutcome(file.name, "read" if rows else "empty")
    table = open_table(file.path)
    if own_format is not None and not (table.is_usual and own_format.name in _ANY_ROWS):
        return FileOutcome(file.name, "other", own_format.name)
    if not table.text_column:
        problem = "no column of texts; name it text" if next(table.rows, None) else ""
        return FileOutcome(file.name, "unreadable" if problem else "empty", problem)
    filled = False
    for location, page, extra in table.pages():
        for document in documents_of_page(f"{file.name}#{location}", page, extra, unit):
            filled = True
            yield document
    column = "" if table.is_usual else table.text_column
    faults = len(table.faults)
    return FileOutcome(file.name, "read" if filled else "empty", "", table.assumed, column, faults)


def _own_format(path: Path) -> Format | None:
    """Return the format of Pnyx that a table has; None for rows of any kind."""
    if path.suffix.lower() not in (".csv", ".tsv", ".json", ".jsonl"):
        return None
    try:
        detected = _recognise[0](str(path))
    except InputError:
        return None
    return None if detected is None or detected.name in _PLAIN else detected


def _walk(root: Path, account: FileAccount) -> Iterator[FolderFile]:
    """Yield the files to read; the others go to the account."""
    real = Path(os.path.realpath(root))

    def unread(error: OSError) -> None:
        name = _name(Path(error.filename), root)
        account.files.append(FileOutcome(name, "unreadable", str(error.strerror)))

    for folder, folders, names in os.walk(root, onerror=unread):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if not _is_ignored(here / name, account, root))
        for name in sorted(names):
            path = here / name
            if name.startswith((".", "~$")) or name.lower() in _IGNORED:
                continue
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(real):
                account.files.append(FileOutcome(_name(path, root), "link"))
            elif not path.is_file():  # never a named pipe, which would block
                problem = "is a link to nothing" if path.is_symlink() else "is not a regular file"
                account.files.append(FileOutcome(_name(path, root), "unreadable", problem))
            elif path.suffix.lower() not in READERS and path.suffix.lower() not in TABLES:
                account.files.append(FileOutcome(_name(path, root), "unknown"))
            else:
                yield FolderFile(path, _name(path, root))


def _is_ignored(path: Path, account: FileAccount, root: Path) -> bool:
    """Whether a folder is not entered: hidden, a link, or an index made from these files."""
    if path.is_symlink():
        account.files.append(FileOutcome(_name(path, root), "link"))
        return True
    return path.name.startswith(".") or is_index_folder(path)


def _name(path: Path, root: Path) -> str:
    return _readable(path.relative_to(root).as_posix())


def _readable(name: str) -> str:
    """Return a file's name as text: bytes that are not UTF-8 are escaped."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


FORMATS = (format_of("folder", scan_folder),)
