"""One segment of an index: writing records and reading them back."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import Evidence
from pnyx.core.threads import WorkerThreads
from pnyx.formats.text.tokens import Tokenizer
from pnyx.search.lexical import record_codec
from pnyx.search.lexical.manifest import MANIFEST, damaged
from pnyx.search.lexical.postings import (
    DOCUMENT_BITS,
    LENGTHS,
    MAX_FREQUENCY,
    PostingsBuilder,
    encode_lengths,
    join,
    split,
)
from pnyx.search.lexical.storage import Keys, SegmentFile, SegmentWriter, hash_keys, write_keys
from pnyx.search.lexical.term_numbers import WordNumbers

FIELDS = ["title", "text"]
"""The fields searched in every record."""

_MAX_POSTINGS = 1 << 27
"""Approximate maximum postings of a segment, to within a chunk or two: half a gigabyte."""

_CHUNK_CHARACTERS = 12_000_000
_WRITTEN_AT_ONCE = 1 << 21
_MAX_LENGTH = int(LENGTHS[-1])
_NONE = np.zeros(0, dtype=np.int64), np.zeros(0)

CountExceptions: TypeAlias = Callable[[NDArray[np.uint16], NDArray[np.uint8], int], int]
"""Counts a term's exceptions: `kernels.count_exceptions`, or that of a kernel."""


class SegmentBuilder:
    """Writes one segment; use as a context manager, so that no partial file remains."""

    def __init__(self, path: Path, tokenizer: Tokenizer, extra_fields: Sequence[str]) -> None:
        self._extra_fields = extra_fields
        self._numbers = WordNumbers(tokenizer)
        self._postings = PostingsBuilder()
        # A second core numbers and sorts a chunk, mostly without the interpreter's lock, while
        # the next one is read.
        self._worker = WorkerThreads(1, thread_name_prefix="pnyx-postings")
        self._working: Future[None] | None = None
        self._done = 0  # postings, without those of the current chunk
        self._texts: list[str] = []
        self._characters = 0
        self._ids: list[bytes] = []
        self._passages = self._split_documents = 0
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
        """Whether the next record must go to a new segment."""
        return len(self._ids) >= 1 << DOCUMENT_BITS or self._done >= _MAX_POSTINGS

    def add(self, record: Evidence, *, number: int) -> None:
        """Add a record; `number` (1-based) names it in errors."""
        line = record_codec.encode(record, number=number)
        self._writer.write(line)
        self._offsets.append(self._offsets[-1] + len(line))
        self._ids.append(record.id.encode())
        if record.passage is not None and record.passage.is_part:
            self._passages += 1
            self._split_documents += record.passage.number == 1
        text = record_codec.searched_text(record, self._extra_fields)
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

    def finish(self, earlier: Sequence[IndexSegment], first_number: int) -> dict[str, Any]:
        """Write everything; return the manifest entry. `first_number` (1-based) is for errors."""
        self._refuse_duplicates(earlier, first_number)
        self._hand_over()
        self._await()
        postings, writer = self._postings.finish(), self._writer
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
        passages = {"passages": self._passages, "split_documents": self._split_documents}
        return (
            writer.finish()
            | (passages if self._passages else {})
            | {
                "documents": len(self._ids),
                "documents_with_terms": int(np.count_nonzero(postings.lengths)),
                "tokens": int(postings.lengths.sum()),
                "postings": len(postings.postings),
                "terms": len(self._numbers.terms),
            }
        )

    def _write_postings(self, postings: NDArray[np.uint32]) -> None:
        for half, (name, dtype) in enumerate([("postings.lows", "<u2"), ("postings.highs", "u1")]):
            self._writer.begin(name, dtype)
            for first in range(0, len(postings), _WRITTEN_AT_ONCE):  # little at once: memory
                values = split(postings[first : first + _WRITTEN_AT_ONCE])[half]
                self._writer.write(values.astype(dtype, copy=False).view(np.uint8).data)

    def _refuse_duplicates(self, earlier: Sequence[IndexSegment], first_number: int) -> None:
        hashes = hash_keys(self._ids)
        order = np.argsort(hashes, kind="stable")
        equal = np.flatnonzero(np.diff(hashes[order]) == 0)
        suspects = np.unique(order[np.concatenate([equal, equal + 1])])
        seen: dict[bytes, int] = {}
        for position in suspects.tolist():
            first = seen.setdefault(self._ids[position], position)
            if first != position:
                numbers = f"records {first_number + first} and {first_number + position}"
                doc_id = shorten(self._ids[position].decode(), 60)
                raise InputError(f"{numbers} have the same id {doc_id!r}, expected distinct ids")
        for segment in earlier:
            for position in np.flatnonzero(segment.ids.clashes(hashes)).tolist():
                key = self._ids[position].decode()
                if segment.ids.find(key) is not None:
                    problem = f"record {first_number + position} has the id {shorten(key, 60)!r}"
                    raise InputError(f"{problem}, which is in the index already")


class PostingRange(NamedTuple):
    """The range of a term's postings in one segment, and its exceptions."""

    first: int
    stop: int
    exception_documents: NDArray[np.int64]
    exception_frequencies: NDArray[np.float64]


class IndexSegment:
    """A segment open for reading."""

    def __init__(self, folder: Path, entry: dict[str, Any]) -> None:
        self.file = SegmentFile(folder, entry)
        self.folder = folder
        self.ids = Keys(self.file, "ids")
        self.terms = Keys(self.file, "terms")
        self.lengths = self.file.section("lengths", "u1")
        self.lows = self.file.section("postings.lows", "<u2")
        self.highs = self.file.section("postings.highs", "u1")
        self.offsets = self.file.section("postings.offsets", "<u8")
        self.frequencies = self.file.section("terms.frequencies", "<u8")
        self._documents = self.file.section("documents.bytes", "u1")
        self._document_offsets = self.file.section("documents.offsets", "<u8")
        self._exception_positions = self.file.section("exceptions.positions", "<u8")
        self._exception_frequencies = self.file.section("exceptions.frequencies", "<u4")
        self._with_terms, self._tokens = entry["documents_with_terms"], entry["tokens"]
        documents, terms, postings = (entry[n] for n in ("documents", "terms", "postings"))
        fits = (
            len(self.ids) == len(self.lengths) == len(self._document_offsets) - 1 == documents
            and len(self.terms) == len(self.frequencies) == len(self.offsets) - 1 == terms
            and len(self.lows) == len(self.highs) == postings
            and len(self._exception_positions) == len(self._exception_frequencies)
        )
        if not fits or documents > 1 << DOCUMENT_BITS:
            raise damaged(folder, f"{MANIFEST} does not fit {entry['file']}")

    def __len__(self) -> int:
        return len(self.lengths)

    def document(self, position: int) -> Evidence:
        """Return the record at a 0-based position in this segment."""
        first, stop = self._document_offsets.read(position, position + 2).tolist()
        try:
            return record_codec.decode(self._documents.read(first, stop).tobytes())
        except (ValueError, KeyError, TypeError, AttributeError, InputError) as error:
            raise damaged(self.folder, f"document {position} cannot be decoded") from error

    def posting_range(self, term: int, count: CountExceptions) -> PostingRange:
        """Return where a term's postings are, and its exceptions, verified with `count`."""
        first, stop = self.offsets.read(term, term + 2).tolist()
        exceptions = count(self.lows.read(first, stop), self.highs.read(first, stop), len(self))
        if exceptions < 0 or stop - first > self._with_terms:
            raise damaged(self.folder, f"the postings of term {term} do not fit its documents")
        return PostingRange(first, stop, *self._exceptions(first, stop, exceptions))

    def frequency(self, term: int, documents: int) -> int:
        """Return how often a term occurs, at least once in each of its documents."""
        frequency = int(self.frequencies.read(term, term + 1)[0])
        if not documents <= frequency <= self._tokens:
            problem = f"term {term} occurs {frequency} times in {documents} documents"
            raise damaged(self.folder, problem)
        return frequency

    def _exceptions(
        self, first: int, stop: int, count: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return documents and frequencies of the exceptions among postings `first` to `stop`."""
        low, high = (self._exception_positions.insertion_point(at) for at in (first, stop))
        if low == high and count == 0:  # as for nearly every term
            return _NONE
        zeros = np.flatnonzero((self.highs.read(first, stop) & np.uint8(MAX_FREQUENCY)) == 0)
        positions = self._exception_positions.whole()[low:high]
        if low > high or not np.array_equal(positions, (zeros + first).astype(np.uint64)):
            raise damaged(self.folder, "its exceptions do not fit its postings")
        frequencies = self._exception_frequencies.read(low, high)
        if (frequencies <= MAX_FREQUENCY).any():
            raise damaged(self.folder, "its exceptions are none")
        documents, _ = join(self.lows.take(zeros + first), self.highs.take(zeros + first))
        return documents.astype(np.int64), frequencies.astype(np.float64)

    def verify(self) -> None:
        """Check every byte, every record and how the sections fit each other."""
        self.file.verify_all()
        for offsets, end in (
            (self._document_offsets.whole(), len(self._documents)),
            (self.offsets.whole(), len(self.lows)),
        ):
            ends = int(offsets[0]), int(offsets[-1])
            if ends != (0, end) or (offsets[1:] < offsets[:-1]).any():
                raise damaged(self.folder, "its offsets do not fit")
        self._verify_postings()
        for position, doc_id in enumerate(self.ids.all()):
            if self.document(position).id != doc_id:
                raise damaged(self.folder, f"document {position} is not {shorten(doc_id, 60)}")

    def _verify_postings(self) -> None:
        """Check all terms at once as `posting_range` and `frequency` check one."""
        offsets = self.offsets.whole().astype(np.int64)
        documents, exceptional = join(self.lows.whole(), self.highs.whole())
        falls = np.flatnonzero(documents[1:] <= documents[:-1]) + 1  # only where a term begins
        counts, frequencies = np.diff(offsets), self.frequencies.whole()
        if (
            not np.isin(falls, offsets).all()
            or (len(documents) and int(documents.max()) >= len(self))
            or (counts > self._with_terms).any()
            or (frequencies < counts.astype(np.uint64)).any()
            or (frequencies > self._tokens).any()
        ):
            raise damaged(self.folder, "its postings do not fit its documents")
        self._exceptions(0, len(documents), int(np.count_nonzero(exceptional == 0)))


@dataclass(frozen=True, slots=True)
class OpenedIndex:
    """The parts of an index named by a manifest, opened and checked for consistency."""

    segments: list[IndexSegment]
    tokenizer: Tokenizer
    extra_fields: list[str]
    statistics: dict[str, int]


def open_segments(folder: Path, manifest: dict[str, Any]) -> OpenedIndex:
    """Open the files named by a manifest; IndexFolderError if one is missing or damaged."""
    try:
        entries, fields = manifest["segments"], manifest["fields"]
        opened = OpenedIndex(
            [IndexSegment(folder, entry) for entry in entries],
            Tokenizer.from_manifest(manifest["tokenizer"]),
            fields[len(FIELDS) :],
            manifest["statistics"],
        )
        if fields[: len(FIELDS)] != FIELDS or set(opened.extra_fields) - set(
            record_codec.EXTRA_FIELDS
        ):
            raise ValueError(f"unknown fields {fields}")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(folder, f"{MANIFEST} is not understood ({shorten(str(error))})") from error
    return opened
