"""Vectors of an index's documents: embedded once, kept in the index, checked before use."""

from __future__ import annotations

import contextlib
import json
import os
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import InputError, PnyxError, escaped, shorten
from pnyx.core.placement import try_lock, unlock
from pnyx.core.progress import counting
from pnyx.models.embed.embedder import Embedder, embedder_from
from pnyx.search.features.access import Feature, put_feature
from pnyx.search.lexical.index import WordIndex
from pnyx.search.lexical.manifest import damaged, writing
from pnyx.search.lexical.record_codec import searched_text

VECTORS = "vectors"
"""Name of the feature, and of its one section: float16 [documents, dimensions]."""

EMBED_FIRST = "pnyx index --update INDEX --vectors"
"""What to do about missing vectors, for errors."""

PARTIAL = ".vectors.partial"
"""Vectors embedded so far. `remove_leftovers` leaves this file: it must survive a kill, and the run
that completes it removes it."""

_CHUNK = 512
"""Maximum number of documents embedded between two writes, so a kill costs seconds of work. Lower
for an embedder that sets its own batch size (`at_once`)."""

_TEXT = "title and text"
_EXPONENT = np.uint16(0x7C00)
_CHECK = 4096

Rows = NDArray[np.float16]
Question = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbedStats:
    """What `embed_documents` did.

    Attributes:
        documents: how many have a vector.
        reused: of them, those that had one.
        embedded: distinct texts that were embedded.
        seconds: how long that took.
        cut: how many embedded texts the embedder truncated; None if it does not report this.
        max_tokens: how many tokens of a text the embedder reads; None if it does not report this.
    """

    documents: int
    reused: int
    embedded: int
    seconds: float
    cut: int | None = 0
    max_tokens: int | None = None


def embed_documents(
    index_folder: str | Path,
    embedder: Embedder | None = None,
    *,
    on_progress: Callable[[int], None] | None = None,
) -> EmbedStats:
    """Give every document of an index a vector; the index can be searched meanwhile.

    The embedded text is title and text, as far as the embedder (None for the packaged one) can hold
    it (the packaged one: 256 tokens). Vectors by the same embedder are kept; a killed run is
    resumed and loses at most 512 documents, of the packaged one 64. Returns how many `documents`
    have a vector, how many were `reused`, how many distinct texts were `embedded`, and `seconds`.
    `on_progress` is called with the number of finished documents, at the start if any are to be
    embedded, and then from time to time.

    Raises:
        IndexFolderError: not an index, or a damaged one.
        InputError: documents were added meanwhile; repeat the call to continue.
        ModelError: the embedder failed; what it had embedded is kept.
        PnyxError: the disk is full or read-only, or another process is embedding too.
    """
    from pnyx.models.embed.embedder import CutCounter

    started = time.perf_counter()
    folder = Path(index_folder)
    index = WordIndex.open(folder)
    embedder = counter = CutCounter(embedder or embedder_from())
    meta = vector_meta(embedder)
    feature = index.known(VECTORS)
    old = np.zeros((0, embedder.dimensions), dtype=np.float16)
    if feature is not None and dict(feature.meta) == meta:
        old = _rows(feature)  # vectors of the first documents, made with these settings
    if len(old) == len(index):
        with contextlib.suppress(OSError):  # left by a kill after the last step but one
            (folder / PARTIAL).unlink()
        return EmbedStats(len(index), len(index), 0, time.perf_counter() - started)
    rows: Rows = np.empty((len(index), embedder.dimensions), dtype=np.float16)
    rows[: len(old)] = old
    with writing(folder), _Partial(folder, {**meta, "first": len(old)}) as partial:
        done = len(old) + partial.read_into(rows[len(old) :])
        embedded = 0
        if done < len(index):
            with counting(on_progress, "embedding documents", len(index)) as advance:
                embedded = _embed_rest(index, embedder, rows, done, partial, advance)
        put_feature(folder, VECTORS, {VECTORS: rows}, documents=len(index), meta=meta)
        partial.remove()
    seconds = time.perf_counter() - started
    max_tokens = getattr(embedder, "max_tokens", None)
    return EmbedStats(len(index), done, embedded, seconds, counter.cut, max_tokens)


def vector_meta(embedder: Embedder) -> dict[str, Any]:
    """Return what identifies vectors of the same kind."""
    max_tokens = getattr(embedder, "max_tokens", None)
    return {
        "embedder": embedder.name,
        "dimensions": embedder.dimensions,
        "text": _TEXT if max_tokens is None else f"{_TEXT}, first {max_tokens} tokens",
    }


def _rows(feature: Feature) -> Rows:
    rows: Rows = feature.array(VECTORS)
    shape = (feature.documents, feature.meta.get("dimensions"))
    # Tests for all ones in the exponent, which is ten times faster than isfinite.
    sound = rows.dtype == np.float16 and rows.shape == shape
    if not sound or any(
        (rows[start : start + _CHECK].view(np.uint16) & _EXPONENT == _EXPONENT).any()
        for start in range(0, len(rows), _CHECK)
    ):
        raise damaged(feature.file.folder, f"feature {VECTORS} is not one vector per document")
    return rows


def _embed_rest(
    index: WordIndex,
    embedder: Embedder,
    rows: Rows,
    done: int,
    partial: _Partial,
    advance: Callable[[int], None],
) -> int:
    """Fill the rows from `done` on; return how many texts were embedded."""
    places: dict[bytes, int] = {}  # hash of a text -> first row with it
    new: dict[str, list[int]] = {}
    embedded, first = 0, done
    chunk = min(_CHUNK, getattr(embedder, "at_once", _CHUNK))
    advance(done)
    for number, record in enumerate(index.documents()):
        text = searched_text(record)
        coded = text.encode("utf-8", "surrogatepass")
        row = places.setdefault(blake2b(coded, digest_size=16).digest(), number)
        if number < done:
            continue
        if row < first:
            rows[number] = rows[row]
        else:
            new.setdefault(text, []).append(number)
        if number + 1 - first == chunk or number + 1 == len(index):
            if new:
                vectors = embedder.encode(list(new))
                for numbers, vector in zip(new.values(), vectors, strict=True):
                    rows[numbers] = vector
            partial.append(rows[first : number + 1])
            embedded, first, new = embedded + len(new), number + 1, {}
            advance(first)
    return embedded


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of all documents: rows float16 (documents, d), read-only, of norm about 1.

    `embedder` is the name of their model; `identity` distinguishes them from others of this index.
    """

    rows: Rows
    embedder: str
    identity: Mapping[str, Any]


def document_vectors(index: WordIndex) -> Vectors:
    """Return the vectors of all documents; verified once per open index."""
    return index.once(VECTORS, lambda: _open(index))


def _open(index: WordIndex) -> Vectors:
    feature = index.feature(VECTORS, EMBED_FIRST)
    rows = _rows(feature)
    entry = index.manifest["features"][VECTORS]
    identity = {"file": entry["file"], "crc32": entry["checksums"]["crc32"]}
    return Vectors(rows, str(feature.meta.get("embedder")), identity)


def embed_question(index: WordIndex, embedder: Embedder, question: str) -> Question:
    """Return the vector of a question, float32 [dimensions], for `dense_rank`.

    Raises InputError for an index without vectors or with those of another embedder, ModelError for
    an embedder that cannot be used.
    """
    check_made_by(document_vectors(index).embedder, embedder.name, index.path)
    vector: Question = embedder.encode([question])[0]
    return vector


def check_made_by(made_by: str, name: str, path: str | Path) -> None:
    """Reject an embedder whose vectors cannot be compared with the index's."""
    if made_by != name:
        problem = f"the index was embedded by {shorten(made_by, 60)}, but the question would be by"
        advice = "name the same embedder, or embed the index again"
        raise InputError(f"{problem} {shorten(name, 60)}: {advice}", path=path)


class _Partial:
    """Rows embedded so far, in a file: a line of JSON, then chunks (count, CRC-32, rows)."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        self._path = folder / PARTIAL
        self._header = json.dumps(dict(settings), sort_keys=True).encode() + b"\n"

    def __enter__(self) -> _Partial:
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        self._stream: IO[bytes] = os.fdopen(handle, "r+b")
        if try_lock(handle) is False:
            self._stream.close()
            name = escaped(str(self._path.parent))
            raise PnyxError(f"{name}: another process is embedding this index")
        return self

    def __exit__(self, *_: object) -> None:
        unlock(self._stream.fileno())
        with contextlib.suppress(OSError):  # the disk is full; report the first error
            self._stream.close()

    def read_into(self, rows: Rows) -> int:
        """Fill rows from an interrupted run's file; return how many. Later writes append."""
        stream, done = self._stream, 0
        if stream.readline(len(self._header) + 1) != self._header:
            stream.seek(0)
            stream.truncate()
            stream.write(self._header)
            return 0
        while True:
            end = stream.tell()
            header = np.frombuffer(stream.read(8), dtype="<u4")
            room = rows[done : done + int(header[0])] if len(header) == 2 else rows[:0]
            content = stream.read(room.nbytes)
            if not len(room) or len(content) < room.nbytes or zlib.crc32(content) != header[1]:
                break
            room[:] = np.frombuffer(content, dtype="<f2").reshape(room.shape)
            done += len(room)
        stream.seek(end)
        stream.truncate()
        return done

    def append(self, rows: Rows) -> None:
        """Add a chunk."""
        content = np.ascontiguousarray(rows, dtype="<f2").tobytes()
        head = np.array([len(rows), zlib.crc32(content)], dtype="<u4").tobytes()
        self._stream.write(head + content)
        self._stream.flush()

    def remove(self) -> None:
        """Remove the file."""
        self._path.unlink(missing_ok=True)
