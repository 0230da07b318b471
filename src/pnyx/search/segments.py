"""One segment of an index: how it is written from records and read back."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pnyx.corpora.tokens import Tokenizer, is_superseded
from pnyx.errors import IndexFolderError, InputError, shorten
from pnyx.records import Evidence
from pnyx.search import stored
from pnyx.search.keys import Keys, hash_keys, write_keys
from pnyx.search.lengths import LENGTHS, encode_lengths
from pnyx.search.manifest import MANIFEST, damaged, segment_name
from pnyx.search.postings import DOCUMENT_BITS, PostingsBuilder, join, split
from pnyx.search.storage import SegmentFile, SegmentWriter
from pnyx.search.words import WordNumbers

__all__ = ["FIELDS", "Opened", "Segment", "SegmentBuilder", "count", "open_segments"]

FIELDS = ["title", "text"]
"""What is searched of every record."""

_MAX_POSTINGS = 1 << 27
"""Postings after which a segment ends, within a chunk or two: half a gigabyte, held twice for a
moment."""

_CHUNK_CHARACTERS = 12_000_000
_WRITTEN_AT_ONCE = 1 << 21
_MAX_LENGTH = int(LENGTHS[-1])
_NO_DOCUMENTS = np.zeros(0, dtype=np.int64)
_NO_FREQUENCIES = np.zeros(0)


class SegmentBuilder:
    """Writes one segment; use as a context manager, so that nothing half-written stays."""

    def __init__(self, path: Path, tokenizer: Tokenizer, extra_fields: Sequence[str]) -> None:
        self._extra_fields = extra_fields
        self._numbers = WordNumbers(tokenizer)
        self._postings = PostingsBuilder()
        # A second core numbers and sorts a chunk, mostly without the interpreter's lock, while
        # the next one is read.
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="pnyx-postings")
        self._working: Future[None] | None = None
        self._done = 0  # postings, without those of the chunk that is worked on
        self._texts: list[str] = []
        self._characters = 0
        self._ids: list[bytes] = []
        self._offsets = array("Q", [0])
        self._writer = SegmentWriter(path)
        self._writer.begin("documents.bytes", "u1")

    def __enter__(self) -> SegmentBuilder:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.shutdown(cancel_futures=True)
        self._writer.__exit__()

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def full(self) -> bool:
        """Whether the next record must go to a further segment."""
        return len(self._ids) >= 1 << DOCUMENT_BITS or self._done >= _MAX_POSTINGS

    def add(self, record: Evidence, *, number: int) -> None:
        """Add a record; `number` (1-based) names it in errors.

        Raises:
            InputError: the record has no usable id or cannot be stored.
        """
        line = stored.encode(record, number=number)
        self._writer.write(line)
        self._offsets.append(self._offsets[-1] + len(line))
        self._ids.append(record.id.encode())
        text = stored.searched_text(record, self._extra_fields)
        self._texts.append(text)
        self._characters += len(text)
        if self._characters >= _CHUNK_CHARACTERS:
            self._hand_over()

    def _hand_over(self) -> None:
        """Give the texts read so far to the worker: one chunk at a time, in order."""
        texts, self._texts, self._characters = self._texts, [], 0
        self._await()
        self._done = self._postings.count
        self._working = self._worker.submit(self._count, texts)

    def _count(self, texts: list[str]) -> None:
        tokens, words = self._numbers.number(texts)
        self._postings.add(tokens, words, len(self._numbers.terms))

    def _await(self) -> None:
        if self._working is not None:
            self._working.result()
            self._working = None

    def finish(self, earlier: Sequence[Segment], first_number: int) -> dict[str, Any]:
        """Write everything and return the segment's manifest entry.

        Args:
            earlier: the segments before this one, whose ids must not come again.
            first_number: 1-based number of this segment's first record, for errors.

        Raises:
            InputError: an id comes twice.
        """
        self._refuse_duplicates(earlier, first_number)
        self._hand_over()
        self._await()
        postings = self._postings.finish()
        writer = self._writer
        writer.array("documents.offsets", "<u8", np.array(self._offsets))
        write_keys(writer, "ids", self._ids)
        write_keys(writer, "terms", [term.encode() for term in self._numbers.terms])
        lengths = encode_lengths(np.minimum(postings.lengths, _MAX_LENGTH))
        writer.array("lengths", "u1", lengths)
        writer.array("postings.offsets", "<u8", postings.offsets)
        writer.array("terms.frequencies", "<u8", postings.collection_frequencies)
        writer.array("exceptions.positions", "<u8", postings.exception_positions)
        writer.array("exceptions.frequencies", "<u4", postings.exception_frequencies)
        self._write_postings(postings.postings)
        return writer.finish() | {
            "documents": len(self._ids),
            "documents_with_terms": int(np.count_nonzero(postings.lengths)),
            "tokens": int(postings.lengths.sum()),
            "postings": len(postings.postings),
            "terms": len(self._numbers.terms),
        }

    def _write_postings(self, postings: NDArray[np.uint32]) -> None:
        for half, (name, dtype) in enumerate([("postings.lows", "<u2"), ("postings.highs", "u1")]):
            self._writer.begin(name, dtype)
            for first in range(0, len(postings), _WRITTEN_AT_ONCE):  # little at once: memory
                values = split(postings[first : first + _WRITTEN_AT_ONCE])[half]
                self._writer.write(values.astype(dtype, copy=False).view(np.uint8).data)

    def _refuse_duplicates(self, earlier: Sequence[Segment], first_number: int) -> None:
        hashes = hash_keys(self._ids)
        order = np.argsort(hashes, kind="stable")
        equal = np.flatnonzero(np.diff(hashes[order]) == 0)
        suspects = np.unique(order[np.concatenate([equal, equal + 1])])
        seen: dict[bytes, int] = {}
        for place in suspects.tolist():
            first = seen.setdefault(self._ids[place], place)
            if first != place:
                numbers = f"records {first_number + first} and {first_number + place}"
                shown = shorten(self._ids[place].decode(), 60)
                raise InputError(f"{numbers} have the same id {shown!r}, expected distinct ids")
        for segment in earlier:
            for place in np.flatnonzero(segment.ids.clashes(hashes)).tolist():
                key = self._ids[place].decode()
                if segment.ids.find(key) is not None:
                    found = f"record {first_number + place} has the id {shorten(key, 60)!r}"
                    raise InputError(f"{found}, which is in the index already")


class Segment:
    """A segment open for reading."""

    def __init__(self, folder: Path, entry: dict[str, Any]) -> None:
        self.file = SegmentFile(folder, entry)
        self.folder = folder
        self.ids = Keys(self.file, "ids")
        self.terms = Keys(self.file, "terms")
        self.lengths = self.file.section("lengths")
        self.lows = self.file.section("postings.lows")
        self.highs = self.file.section("postings.highs")
        self.offsets = self.file.section("postings.offsets")
        self.frequencies = self.file.section("terms.frequencies")
        self._documents = self.file.section("documents.bytes")
        self._document_offsets = self.file.section("documents.offsets")
        self._exception_positions = self.file.section("exceptions.positions")
        self._exception_frequencies = self.file.section("exceptions.frequencies")
        count, terms = entry["documents"], entry["terms"]
        expected = [count, count, count + 1, terms, terms + 1, terms]
        expected += [entry["postings"]] * 2
        found = [len(self.ids), len(self.lengths), len(self._document_offsets), len(self.terms)]
        found += [len(self.offsets), len(self.frequencies), len(self.lows), len(self.highs)]
        if found != expected:
            raise damaged(folder, f"{MANIFEST} does not fit {entry['file']}")

    def __len__(self) -> int:
        return len(self.lengths)

    def document(self, place: int) -> Evidence:
        """Return the record at a 0-based place in this segment."""
        first, stop = self._document_offsets.read(place, place + 2).tolist()
        try:
            return stored.decode(self._documents.read(first, stop).tobytes())
        except (ValueError, KeyError, TypeError) as error:
            raise damaged(self.folder, f"document {place} cannot be decoded") from error

    def posting_range(self, term: int) -> tuple[int, int]:
        """Return where a term's postings begin and end; they are verified."""
        first, stop = self.offsets.read(term, term + 2).tolist()
        self.lows.read(first, stop)
        self.highs.read(first, stop)
        return first, stop

    def postings(self, first: int, stop: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return documents and frequencies of the postings `first` to `stop`, verified."""
        documents, low = join(self.lows.read(first, stop), self.highs.read(first, stop))
        frequencies = low.astype(np.int64)
        frequencies[frequencies == 0] = self.exceptions(first, stop)[1]
        return documents, frequencies

    def exceptions(self, first: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return documents and frequencies of the exceptions among postings `first` to `stop`."""
        positions = self._exception_positions.whole()
        low, high = np.searchsorted(positions, np.array([first, stop], dtype=np.uint64)).tolist()
        if low == high:  # as for nearly every term
            return _NO_DOCUMENTS, _NO_FREQUENCIES
        places = positions[low:high].astype(np.int64)
        documents, _ = join(self.lows.take(places), self.highs.take(places))
        frequencies = self._exception_frequencies.read(low, high)
        return documents.astype(np.int64), frequencies.astype(np.float64)

    def verify(self) -> None:
        """Check every byte, every record and how the sections fit each other.

        Raises:
            IndexFolderError: anything is damaged.
        """
        self.file.verify_all()
        for offsets, end in (
            (self._document_offsets.whole(), len(self._documents)),
            (self.offsets.whole(), len(self.lows)),
        ):
            if (
                int(offsets[0]) != 0
                or int(offsets[-1]) != end
                or (offsets[1:] < offsets[:-1]).any()
            ):
                raise damaged(self.folder, "its offsets do not fit")
        documents, _ = join(self.lows.whole(), self.highs.whole())
        if len(documents) and int(documents.max()) >= len(self):
            raise damaged(self.folder, "its postings do not fit its documents")
        for place, doc_id in enumerate(self.ids.all()):
            if self.document(place).id != doc_id:
                raise damaged(self.folder, f"document {place} is not {shorten(doc_id, 60)}")


@dataclass(frozen=True, slots=True)
class Opened:
    """The parts of an index that a manifest names, opened and found to fit each other."""

    segments: list[Segment]
    tokenizer: Tokenizer
    extra_fields: list[str]
    statistics: dict[str, int]


def open_segments(folder: Path, manifest: dict[str, Any]) -> Opened:
    """Open what a manifest names.

    Raises:
        IndexFolderError: anything is missing, damaged, or unknown to this version.
    """
    if is_superseded(manifest.get("tokenizer")):
        raise IndexFolderError(
            "written by an older Pnyx, which took other words from English texts: "
            "index the corpus again",
            path=folder,
        )
    try:
        entries, fields = manifest["segments"], manifest["fields"]
        opened = Opened(
            [Segment(folder, entry) for entry in entries],
            Tokenizer.from_manifest(manifest["tokenizer"]),
            fields[len(FIELDS) :],
            manifest["statistics"],
        )
        if [entry["file"] for entry in entries] != [
            segment_name(number) for number in range(1, len(entries) + 1)
        ]:
            raise ValueError("segments are not numbered in order")
        if fields[: len(FIELDS)] != FIELDS or set(opened.extra_fields) - set(stored.EXTRA_FIELDS):
            raise ValueError(f"unknown fields {fields}")
        if opened.statistics != count(entries):
            raise ValueError("its statistics are not those of its segments")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(folder, f"{MANIFEST} is not understood ({shorten(str(error))})") from error
    return opened


def count(entries: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the statistics of a whole index from the manifest entries of its segments."""
    names = ("documents", "documents_with_terms", "tokens", "postings")
    return {name: sum(entry[name] for entry in entries) for name in names}
