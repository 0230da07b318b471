"""Building an index: records in, segments out, in bounded memory, all or nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace as with_fields
from pathlib import Path
from typing import Any

from pnyx.core.errors import InputError, PnyxError, shorten
from pnyx.core.files import atomic_folder
from pnyx.core.folders import locked
from pnyx.core.placement import recover_folder
from pnyx.core.progress import counting
from pnyx.core.records import Evidence
from pnyx.formats.text.tokens import Tokenizer
from pnyx.search.document_quality import score_documents
from pnyx.search.features.vectors import embed_documents
from pnyx.search.index import Index
from pnyx.search.lexical import record_codec
from pnyx.search.lexical.manifest import (
    contents,
    count,
    is_index,
    read_manifest,
    remove_leftovers,
    segment_name,
    write_manifest,
    writing,
)
from pnyx.search.lexical.segments import FIELDS, IndexSegment, SegmentBuilder, open_segments
from pnyx.search.sources import IndexSources, reader_of

_PROGRESS_EVERY = 1000


def build_index(
    records: object,
    path: str | Path | None = None,
    *,
    fields: Sequence[str] | None = None,
    language: str = "english",
    replace: bool = False,
    features: Iterable[str] = (),
    on_progress: Callable[[int], None] | None = None,
) -> Index:
    """Index `records` into the new folder `path`, all or nothing; return the index, opened.

    Without a path, a temporary folder is used and deleted with the index. `records` are whatever
    `read_evidence` accepts, with distinct ids; they are read once, in order. `fields` may add
    `topic` to title and text; `language` says how words are stemmed (`Tokenizer`); with `replace`
    an existing index is replaced once the new one is complete; `on_progress` gets the number of
    records read.

    `features` are made by the packaged models once the words are indexed, about 25 documents of 175
    words a second and core: `vectors` for the hybrid search, `quality` for `argue`. `pnyx index`
    makes both. If that is interrupted, the index stays usable; `score_documents(path)` and
    `embed_documents(path)` resume the work.

    Raises:
        InputError: no records, a duplicate id, an unknown field, language or feature, or `path`
            exists.
        PnyxError: the disk is full or cannot be written; nothing is left behind.
    """
    if path is None:
        return _temporary(records, fields=fields, language=language, features=features,
                          on_progress=on_progress)  # fmt: skip
    started = time.perf_counter()
    folder = Path(path)
    makers = _makers(features)
    tokenizer = Tokenizer(language)
    extra_fields = _known_fields(fields)
    recover_folder(folder)
    if replace and folder.exists() and not is_index(folder):
        raise InputError("exists and is not an index, so it is not replaced", path=path)
    lock = locked(folder) if replace and folder.exists() else nullcontext()
    with lock, atomic_folder(path, replace=replace) as temporary:
        read = reader_of(records)
        entries = write_segments(read, temporary, tokenizer, extra_fields, [], on_progress)
        content = {
            "tokenizer": tokenizer.to_manifest(),
            "fields": [*FIELDS, *extra_fields],
            "statistics": count(entries),
            "segments": entries,
            "sources": read.sources().to_manifest(),
        }
        write_manifest(temporary, content)
    return _opened(folder, entries, started, makers)


def _temporary(records: object, **how: Any) -> Index:
    """Return an index in a temporary folder, which is removed along with the index."""
    folder = tempfile.mkdtemp(prefix="pnyx-")
    try:
        index = build_index(records, Path(folder, "index"), **how)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(index, _remove_of, os.getpid(), folder)
    return index


def _remove_of(process: int, folder: str) -> None:
    """Remove a folder unless this is a forked process, whose parent still uses it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def add_to_index(
    records: object,
    path: str | Path,
    *,
    features: Iterable[str] = (),
    on_progress: Callable[[int], None] | None = None,
) -> Index:
    """Add `records` to an index, with its own tokenizer and fields; return it, reopened.

    Rankings equal those of an index built at once; a kill leaves the old index or the new one.
    `features` are made as by `build_index`, for documents that have none by the packaged models.

    Raises:
        InputError: no records, an unknown feature, or an id that is in the index already or
            occurs twice.
        IndexFolderError: `path` is not an index, or is damaged or too new.
        PnyxError: the disk is full or read-only, or another process is adding; nothing changes.
    """
    started = time.perf_counter()
    folder = Path(path)
    makers = _makers(features)
    read_manifest(folder)
    with locked(folder), writing(path):
        manifest = read_manifest(folder)  # again: another process may have added since
        old = open_segments(folder, manifest)
        try:
            remove_leftovers(folder, manifest)
            read = reader_of(records)
            new = write_segments(
                read, folder, old.tokenizer, old.extra_fields, old.segments, on_progress
            )
            entries = manifest["segments"] + new
            sources = IndexSources.of_manifest(manifest).joined(read.sources()).to_manifest()
            changes = {"statistics": count(entries), "segments": entries, "sources": sources}
            write_manifest(folder, contents(manifest, **changes))
        except BaseException:
            _undo(folder, manifest)
            raise
    return _opened(folder, new, started, makers)


def write_segments(
    records: Iterable[Evidence],
    folder: Path,
    tokenizer: Tokenizer,
    extra_fields: Sequence[str],
    segments: list[IndexSegment],
    on_progress: Callable[[int], None] | None,
) -> list[dict[str, Any]]:
    """Write the records as segments that follow `segments`; return their manifest entries."""
    entries: list[dict[str, Any]] = []
    segments = list(segments)
    stream = iter(records)
    read = 0
    record = next(stream, None)
    if record is None:
        raise InputError("found no records, expected at least one")
    with counting(on_progress, "indexing") as advance:
        while record is not None:
            path = folder / segment_name(len(segments) + 1)
            with SegmentBuilder(path, tokenizer, extra_fields) as builder:
                while record is not None and not builder.full:
                    read += 1
                    builder.add(record, number=read)
                    if read % _PROGRESS_EVERY == 0:
                        advance(read)
                    record = next(stream, None)
                entries.append(builder.finish(segments, read - len(builder) + 1))
            segments.append(IndexSegment(folder, entries[-1]))
        advance(read)
    return entries


def _undo(folder: Path, manifest: dict[str, Any]) -> None:
    """Remove new segments, unless the new manifest already names them."""
    try:
        if read_manifest(folder)["segments"] == manifest["segments"]:
            remove_leftovers(folder, manifest)
    except (OSError, PnyxError):
        pass  # the next add removes what could not be removed now


def _known_fields(fields: Sequence[str] | None) -> list[str]:
    names = list(dict.fromkeys(fields or ()))
    for name in names:
        if name not in record_codec.EXTRA_FIELDS:
            problem = f"unknown field {shorten(name, 40)!r}"
            fields = ", ".join(record_codec.EXTRA_FIELDS)
            expected = f"{fields} (title and text are always searched)"
            raise InputError(f"{problem}, expected: {expected}")
    return names


def _makers(features: Iterable[str]) -> list[Callable[[Path], object]]:
    """Return the functions that compute these features of an index."""
    makers: dict[str, Callable[[Path], object]] = {
        "quality": score_documents,
        "vectors": embed_documents,
    }
    names = list(dict.fromkeys(features))
    for name in names:
        if name not in makers:
            problem = f"unknown feature {shorten(name, 40)!r}"
            raise InputError(f"{problem}, expected: {', '.join(makers)}")
    return [makers[name] for name in names]


def _opened(
    folder: Path,
    new: Sequence[Mapping[str, Any]],
    started: float,
    makers: Iterable[Callable[[Path], object]],
) -> Index:
    """Return the index with its new documents and the features computed after the words."""
    seconds = time.perf_counter() - started
    for make in makers:
        make(folder)
    index = Index.open(folder)
    added = count(new)["documents"]
    index.statistics = with_fields(index.statistics, added=added, seconds=seconds)
    return index
