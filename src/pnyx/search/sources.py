"""Which files the documents of an index come from, so that a changed folder can be refreshed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pnyx.core.errors import InputError
from pnyx.core.records import Evidence, Unit
from pnyx.formats.base import Options
from pnyx.formats.documents.file_readers import content_mark
from pnyx.formats.documents.folder import FolderFile, FolderFiles, documents_of, files_of_folder
from pnyx.formats.file_account import FileAccount, FileOutcome, Outcome
from pnyx.formats.recognition import find_format

UNKNOWN = -1
"""Number of the source of documents passed by a program."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a source, and how many documents of the index come from it.

    Attributes:
        source: number of the source, or `UNKNOWN`.
        name: path within the source; empty if the source is one file.
        mark: identifies the content; empty if it cannot be compared.
        documents: how many documents come from it; those of one file are consecutive.
        outcome: what became of it.
        problem: why it was not read.
    """

    source: int
    name: str
    mark: str
    documents: int
    outcome: Outcome = "read"
    problem: str = ""


@dataclass(frozen=True, slots=True)
class IndexSource:
    """A file or folder that was indexed, and how it was read.

    `unit` is as requested: by default passages of a folder, and documents of a collection.
    """

    path: str
    format: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    unit: Unit | None = None


@dataclass(frozen=True, slots=True)
class IndexSources:
    """The sources of an index, and their files in the order of the documents."""

    sources: tuple[IndexSource, ...] = ()
    files: tuple[SourceFile, ...] = ()

    @classmethod
    def of_manifest(cls, manifest: Mapping[str, Any]) -> IndexSources:
        """Return what an index records; documents of older indexes are of an unknown source."""
        content = manifest.get("sources")
        if content is None:
            documents = manifest["statistics"]["documents"]
            return cls((), (SourceFile(UNKNOWN, "", "", documents),))
        sources = tuple(IndexSource(**row) for row in content["sources"])
        return cls(sources, tuple(SourceFile(*row) for row in content["files"]))

    def to_manifest(self) -> dict[str, Any]:
        """Return what an index records."""
        sources = [
            {
                "path": source.path,
                "format": source.format,
                "columns": dict(source.columns),
                "unit": source.unit,
            }
            for source in self.sources
        ]
        rows = [
            [file.source, file.name, file.mark, file.documents, file.outcome, file.problem]
            for file in self.files
        ]
        return {"sources": sources, "files": rows}

    def number_of(self, path: str) -> int | None:
        """Return the number of a source by its path; None if the index does not have it."""
        wanted = absolute(path)
        paths = [source.path for source in self.sources]
        return paths.index(wanted) if wanted and wanted in paths else None

    def joined(self, other: IndexSources) -> IndexSources:
        """Return these sources followed by those of documents that were added."""
        first = len(self.sources)
        added = (
            file if file.source == UNKNOWN else replace(file, source=file.source + first)
            for file in other.files
        )
        return IndexSources(self.sources + other.sources, (*self.files, *added))


def absolute(path: str) -> str:
    """Return the path that identifies a source; empty if it has none."""
    return os.path.realpath(path) if path != "-" and Path(path).exists() else ""


class SourceReader:
    """Documents of files and folders, recording where each comes from; to be read once.

    The options are those of `read_evidence`, and whether documents are split into passages: by
    default those of a folder, and of a file of prose, are.

    Attributes:
        long_documents: documents left whole, by default, although they are longer than a passage.
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        format: str | None = None,  # noqa: A002 - as on the command line
        columns: Mapping[str, str] | None = None,
        on_warning: Callable[[str], None] | None = None,
        on_account: Callable[[FileAccount], None] | None = None,
        strict_files: bool = False,
        unit: Unit | None = None,
    ) -> None:
        self.paths = list(paths)
        self.long_documents = 0
        self._unit = unit
        self._how: dict[str, Any] = {
            "on_warning": on_warning,
            "on_account": on_account,
            "strict_files": strict_files,
        }
        self._format, self._columns = format, dict(columns or {})
        self._files: list[SourceFile] = []

    def __iter__(self) -> Iterator[Evidence]:
        for number, path in enumerate(self.paths):
            yield from self._read(number, path)

    def _read(self, number: int, path: str) -> Iterator[Evidence]:
        from pnyx.formats import read_evidence

        detected = find_format(path, self._format, "evidence", self._columns)
        if detected.name != "folder":
            mark = content_mark(Path(path)) if path != "-" and Path(path).is_file() else ""
            count = 0
            how = {"format": self._format, "columns": self._columns, **self._how}
            for record in read_evidence(path, **how):
                for part in self._parts(record):
                    count += 1
                    yield part
            self._files.append(SourceFile(number, "", mark, count))
            return
        options = Options(self._columns, **self._how)
        options.refuse_columns(path, "a folder")
        files = files_of_folder(path)
        before = len(self._files)
        yield from read_files(number, files, files.files, self._files, self._unit)
        options.report(files.account)
        if not any(file.documents for file in self._files[before:]):
            raise InputError("holds no documents", path=path)

    def _parts(self, record: Evidence) -> Iterator[Evidence]:
        """Yield a record of a collection, or its passages if requested."""
        if self._unit == "passage":
            from pnyx.formats.documents.document_passages import passages_of_record

            yield from passages_of_record(record)
            return
        if self._unit is None:
            from pnyx.formats.text.passages import WHOLE_WORDS, count_words

            self.long_documents += count_words(record.text) > WHOLE_WORDS
        yield record

    def sources(self) -> IndexSources:
        """Return where the documents that were read come from."""
        sources = (
            IndexSource(absolute(path), self._format, self._columns, self._unit)
            for path in self.paths
        )
        return IndexSources(tuple(sources), tuple(self._files))


def read_files(
    number: int,
    folder: FolderFiles,
    files: Iterable[FolderFile],
    noted: list[SourceFile],
    unit: Unit | None = None,
) -> Iterator[Evidence]:
    """Yield the passages of some files of a folder, recording the outcome of each file."""
    account = folder.account
    for file in files:
        mark, count = content_mark(file.path), 0
        for record in documents_of(file, account, unit or "passage", strict=folder.is_single):
            count += 1
            yield record
        last = account.files[-1]
        noted.append(SourceFile(number, file.name, mark, count, last.outcome, last.problem))


class GivenReader:
    """Documents passed by a program, counted; their source cannot be read again."""

    def __init__(self, records: object) -> None:
        self._records = records
        self._count = 0

    def __iter__(self) -> Iterator[Evidence]:
        from pnyx.formats import read_evidence

        for record in read_evidence(self._records):
            self._count += 1
            yield record

    def sources(self) -> IndexSources:
        """Return that these documents are of an unknown source."""
        return IndexSources((), (SourceFile(UNKNOWN, "", "", self._count),))


def reader_of(records: object) -> SourceReader | GivenReader:
    """Return a reader of whatever `read_evidence` takes."""
    if isinstance(records, SourceReader):
        return records
    if isinstance(records, str | Path):
        return SourceReader([str(records)])
    return GivenReader(records)


def outcome_of(file: SourceFile) -> FileOutcome:
    """Return what became of a file when it was last read."""
    return FileOutcome(file.name, file.outcome, file.problem)
