"""Refreshing an index from a folder or file that changed: new, changed and deleted files."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import InputError
from pnyx.core.files import atomic_folder
from pnyx.core.folders import locked
from pnyx.core.records import Evidence
from pnyx.formats.base import Options
from pnyx.formats.documents.file_readers import content_mark
from pnyx.formats.documents.folder import FolderFile, FolderFiles, files_of_folder
from pnyx.formats.file_account import FileAccount, named
from pnyx.formats.text.tokens import Tokenizer
from pnyx.search.document_quality import FEATURE as QUALITY
from pnyx.search.features.access import Feature, write_feature
from pnyx.search.features.vectors import VECTORS
from pnyx.search.lexical.index import WordIndex
from pnyx.search.lexical.manifest import count, read_manifest, write_manifest
from pnyx.search.lexical.segments import FIELDS
from pnyx.search.sources import IndexSources, SourceFile, SourceReader, outcome_of, read_files

_CARRIED = (QUALITY, VECTORS)
"""Features kept for unchanged documents; the others are recomputed for all."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What was refreshed.

    Attributes:
        new, changed, deleted: names of files.
        documents: how many documents the index holds now.
        dropped: features that must be remade, as they depend on all documents.
    """

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    documents: int = 0
    dropped: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.deleted)

    def line(self) -> str:
        """Return what was refreshed, in one line."""
        return f"files refreshed: {self.changes}" if self else "no file has changed"

    @property
    def changes(self) -> str:
        """The numbers of new, changed and deleted files with their names; empty for none."""
        parts = [
            f"{len(names):,} {label} ({named(names)})"
            for names, label in (
                (self.new, "new"),
                (self.changed, "changed"),
                (self.deleted, "deleted"),
            )
            if names
        ]
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class _Changes:
    number: int
    folder: FolderFiles
    to_read: tuple[FolderFile, ...]
    unchanged: tuple[SourceFile, ...]
    """Files of this source that did not change."""
    refreshed: Refreshed


def is_source(index: str | Path, path: str) -> bool:
    """Whether an index was made from this file or folder, so that it can be refreshed."""
    return IndexSources.of_manifest(read_manifest(Path(index))).number_of(path) is not None


def refresh_index(
    index: str | Path,
    path: str,
    *,
    on_account: Callable[[FileAccount], None] | None = None,
    on_warning: Callable[[str], None] | None = None,
    on_progress: Callable[[int], None] | None = None,
    strict_files: bool = False,
) -> Refreshed:
    """Bring an index up to date with a file or folder that it was made from.

    Files are compared by their content. Documents of new and changed files are read and indexed,
    those of changed and deleted files are removed; other documents keep their vectors and quality.
    All or nothing: a kill leaves the index as it was.

    Raises:
        InputError: the index was not made from `path`, or no document would be left.
        PnyxError: the disk is full, or another process is writing.
    """
    folder = Path(index)
    with locked(folder):
        sources = IndexSources.of_manifest(read_manifest(folder))
        number = sources.number_of(path)
        if number is None:
            raise InputError(f"was not made from {path}", path=index)
        changes = _changes(sources, number, path)
        account = changes.folder.account
        account.files += map(outcome_of, changes.unchanged)
        if not changes.refreshed:
            Options(on_warning=on_warning, on_account=on_account).report(account)
            documents: int = read_manifest(folder)["statistics"]["documents"]
            return replace(changes.refreshed, documents=documents)
        options = Options({}, on_warning, on_account, strict_files)
        return _rebuilt(folder, sources, changes, options, on_progress)


def _changes(sources: IndexSources, number: int, path: str) -> _Changes:
    """Compare the files of a source with those that are in the index."""
    source = sources.sources[number]
    before = {file.name: file for file in sources.files if file.source == number}
    if "" in before:  # one file in one of the formats
        single = FolderFile(Path(path), "")
        current = FolderFiles([single], FileAccount(path), is_single=True)
    else:
        current = files_of_folder(source.path)
        current.account.source = path
    new: list[str] = []
    changed: list[str] = []
    unchanged: list[SourceFile] = []
    to_read: list[FolderFile] = []
    for file in current.files:
        old = before.pop(file.name, None)
        if old is not None and old.mark and old.mark == content_mark(file.path):
            unchanged.append(old)
            continue
        (new if old is None else changed).append(file.name or Path(path).name)
        to_read.append(file)
    refreshed = Refreshed(tuple(new), tuple(changed), tuple(before))
    return _Changes(number, current, tuple(to_read), tuple(unchanged), refreshed)


def _rebuilt(
    folder: Path,
    sources: IndexSources,
    changes: _Changes,
    options: Options,
    on_progress: Callable[[int], None] | None,
) -> Refreshed:
    """Write the index with the unchanged documents and those of the files read."""
    from pnyx.search.build import write_segments

    index = WordIndex.open(folder)
    manifest = read_manifest(folder)
    names = {file.name for file in changes.unchanged}
    files: list[SourceFile] = []
    numbers: list[int] = []
    offset = 0
    for file in sources.files:
        if file.source != changes.number or file.name in names:
            files.append(file)
            numbers += range(offset, offset + file.documents)
        offset += file.documents
    noted: list[SourceFile] = []

    def records() -> Iterator[Evidence]:
        yield from index.documents_at(numbers)
        yield from _read(sources, changes, noted, options)
        options.report(changes.folder.account)

    read = records()
    first = next(read, None)
    if first is None:
        raise InputError("contains no documents, so the index was not changed", path=folder)
    with atomic_folder(folder, replace=True) as temporary:
        chained = itertools.chain([first], read)
        entries = write_segments(
            chained, temporary, *_tokenizer_and_fields(manifest), [], on_progress
        )
        features = _carried(index, temporary, numbers)
        content: dict[str, Any] = {
            "tokenizer": manifest["tokenizer"],
            "fields": manifest["fields"],
            "statistics": count(entries),
            "segments": entries,
            "sources": IndexSources(sources.sources, (*files, *noted)).to_manifest(),
        }
        write_manifest(temporary, content | ({"features": features} if features else {}))
    dropped = tuple(sorted(set(manifest.get("features", {})).difference(features)))
    documents = count(entries)["documents"]
    return replace(changes.refreshed, documents=documents, dropped=dropped)


def _tokenizer_and_fields(manifest: Mapping[str, Any]) -> tuple[Tokenizer, list[str]]:
    """Return the tokenizer of an index, and the fields searched in addition to title and text."""
    tokenizer = Tokenizer.from_manifest(manifest["tokenizer"])
    return tokenizer, [name for name in manifest["fields"] if name not in FIELDS]


def _read(
    sources: IndexSources, changes: _Changes, noted: list[SourceFile], options: Options
) -> Iterator[Evidence]:
    source = sources.sources[changes.number]
    if changes.folder.is_single and changes.to_read and not changes.to_read[0].name:
        reader = SourceReader(
            [source.path],
            format=source.format,
            columns=source.columns,
            on_warning=options.on_warning,
            strict_files=options.strict_files,
            unit=source.unit,
        )
        yield from reader
        noted += [replace(file, source=changes.number) for file in reader.sources().files]
        return
    yield from read_files(changes.number, changes.folder, changes.to_read, noted, source.unit)


def _carried(index: WordIndex, folder: Path, numbers: Sequence[int]) -> dict[str, Any]:
    """Write the features of unchanged documents; return their manifest entries."""
    features = {}
    for name in _CARRIED:
        feature = index.known(name)
        if feature is None:
            continue
        rows = np.array([n for n in numbers if n < feature.documents], dtype=np.int64)
        if len(rows):
            arrays, meta = _rows_of(feature, rows)
            features[name] = write_feature(folder, name, 1, arrays, documents=len(rows), meta=meta)
    return features


def _rows_of(
    feature: Feature, rows: NDArray[np.int64]
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    meta = dict(feature.meta)
    if feature.name == QUALITY:
        values = feature.array("values")[rows]
        meta["unscored"] = int(np.count_nonzero(values == np.float32(meta["neutral"])))
        return {"values": values}, meta
    return {VECTORS: feature.array(VECTORS)[rows]}, meta
