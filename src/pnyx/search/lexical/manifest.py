"""The index folder as a whole: its manifest, its lock, and leftovers of a killed writer.

The manifest, which holds its own checksum, names segments (`storage`) and features (`features`). It
is replaced in one step, so a reader sees the old index or the new one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

from pnyx._version import __version__
from pnyx.core.errors import IndexFolderError, PnyxError, escaped, shorten
from pnyx.core.placement import recover_folder

KIND, FORMAT_VERSION, MANIFEST = "pnyx-index", 2, "manifest.json"
SEGMENT_NAME: Final = re.compile(r"(segment|feature-[a-z_]{1,40})-[0-9]{6,12}\.data")
FEATURE_NAME: Final = re.compile(r"[a-z_]{1,40}")

PASSAGES: Final = ("passages", "split_documents")
"""Statistics of an index with passages: the numbers of passages and of their documents."""

_MAX_MANIFEST_BYTES = 64 * 1024 * 1024
_MOST = 1 << 53
"""Limit for any number in a manifest: below it, all arithmetic is exact."""
_EXPECTED = "expected a folder made by pnyx index"
INDEX_AGAIN = "index the corpus again"
_CHECKSUM = re.compile(rb'"checksum": "([0-9a-f]{64})"')


def damaged(path: str | Path, what: str) -> IndexFolderError:
    """Return the error for an index whose bytes differ from those written."""
    return IndexFolderError(f"{what}: the index is damaged, {INDEX_AGAIN}", path=path)


def segment_name(number: int) -> str:
    """Return the file name of the segment with this 1-based number."""
    return f"segment-{number:06d}.data"


def is_index(folder: Path) -> bool:
    """Whether the folder contains a manifest of this kind, in whatever state."""
    try:
        with open_regular(folder / MANIFEST) as stream:
            return KIND.encode() in (stream.read(_MAX_MANIFEST_BYTES) or b"")
    except (OSError, ValueError):  # ValueError: the name contains a NUL
        return False


def write_manifest(folder: Path, content: dict[str, Any]) -> None:
    """Replace a manifest atomically: a kill leaves the old one or the new one."""
    body = {"kind": KIND, "format_version": FORMAT_VERSION, "pnyx_version": __version__} | content
    raw = json.dumps(body | {"checksum": "0" * 64}, indent=1).encode()
    raw = raw.replace(b"0" * 64, hashlib.sha256(raw).hexdigest().encode())
    temporary = folder / f".{MANIFEST}"
    try:
        with temporary.open("wb") as stream:
            stream.write(raw)
            to_disk(stream)
        temporary.replace(folder / MANIFEST)
    finally:
        temporary.unlink(missing_ok=True)
    handle = os.open(folder, os.O_RDONLY)  # so that the rename survives a power cut
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def contents(manifest: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return the contents of a manifest, with changes, for `write_manifest`."""
    names = ("tokenizer", "fields", "statistics", "segments", "features", "sources")
    return {name: manifest[name] for name in names if name in manifest} | changes


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the checked manifest of an index folder; IndexFolderError if it is invalid."""
    raw = _manifest_bytes(folder)
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise damaged(folder, f"{MANIFEST} is not valid JSON") from error
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise IndexFolderError(f"is not a Pnyx index ({MANIFEST} is of another kind)", path=folder)
    version = content.get("format_version")
    if isinstance(version, int) and version != FORMAT_VERSION:
        newer = version > FORMAT_VERSION
        age, advice = ("a newer", "upgrade pnyx") if newer else ("an older", _again(folder))
        problem = f"written by {age} Pnyx (format {version}, this one reads {FORMAT_VERSION})"
        raise IndexFolderError(f"{problem}: {advice}", path=folder)
    sums = _CHECKSUM.findall(raw)
    blank = _CHECKSUM.sub(b'"checksum": "' + b"0" * 64 + b'"', raw)
    if len(sums) != 1 or hashlib.sha256(blank).hexdigest().encode() != sums[0]:
        raise damaged(folder, f"{MANIFEST} fails its checksum")
    try:
        _check(content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(folder, f"{MANIFEST} is not understood ({shorten(str(error))})") from error
    return content


def _again(folder: Path) -> str:
    """Return the command that remakes an index kept next to its documents."""
    source = folder.with_suffix("")
    corpus = str(source) if folder.suffix == ".index" and source.exists() else "CORPUS"
    line = shlex.join(["pnyx", "index", corpus, "--out", str(folder), "--force"])
    return f"{INDEX_AGAIN}. Use: {escaped(line, 1000)}"


def count(entries: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the statistics of a whole index from the manifest entries of its segments."""
    names = ("documents", "documents_with_terms", "tokens", "postings")
    counts = {name: sum(entry[name] for entry in entries) for name in names}
    passages = {name: sum(entry.get(name, 0) for entry in entries) for name in PASSAGES}
    return counts | (passages if any(passages.values()) else {})


def _check(content: Mapping[str, Any]) -> None:
    entries, features = content["segments"], content.get("features", {})
    if not isinstance(entries, list) or not entries or not isinstance(features, dict):
        raise ValueError("expected segments and features")
    counted = ("documents", "documents_with_terms", "postings", "tokens", "terms")
    for number, entry in enumerate(entries, start=1):
        if entry["file"] != segment_name(number):
            raise ValueError("segments are not numbered in order")
        _check_file(entry)
        documents, with_terms, postings, tokens, _ = (_whole(entry[name]) for name in counted)
        passages, split = (_whole(entry.get(name, 0)) for name in PASSAGES)
        if not split <= passages <= documents:
            raise ValueError("its passages are impossible")
        if not (with_terms <= documents and with_terms <= postings <= tokens and documents > 0):
            raise ValueError("its statistics are impossible")
    if content["statistics"] != count(entries):
        raise ValueError("its statistics are not those of its segments")
    if "sources" in content:
        _check_sources(content["sources"], content["statistics"]["documents"])
    _check_features(features, content["statistics"]["documents"])


def _check_features(features: Mapping[str, Any], documents: int) -> None:
    """Check the entries of features."""
    for name, entry in features.items():
        if not (
            FEATURE_NAME.fullmatch(name)
            and SEGMENT_NAME.fullmatch(entry["file"])
            and entry["file"].startswith(f"feature-{name}-")
            and isinstance(entry["meta"], dict)
            and _whole(entry["documents"]) <= documents
        ):
            raise ValueError(f"feature {shorten(name, 40)}")
        _check_file(entry)
        for shape in entry["shapes"].values():
            if not (isinstance(shape, list) and len(shape) <= 2 and shape == [*map(_whole, shape)]):
                raise ValueError(f"a shape of {name}")


def _check_sources(sources: Mapping[str, Any], documents: int) -> None:
    """Check which files the documents come from."""
    for source in sources["sources"]:
        known_by = set(source) - {"unit"}
        if known_by != {"path", "format", "columns"} or not isinstance(source["path"], str):
            raise ValueError("a source is not a path and how it is read")
    source_count = len(sources["sources"])
    for number, name, mark, *_ in sources["files"]:
        texts = isinstance(name, str) and isinstance(mark, str)
        if type(number) is not int or not -1 <= number < source_count or not texts:
            raise ValueError("a file is of no source")
    if sum(_whole(file[3]) for file in sources["files"]) != documents:
        raise ValueError("its files do not have its documents")


def _check_file(entry: Mapping[str, Any]) -> None:
    checksums = entry["checksums"]
    numbers = [entry["bytes"], entry["block_bytes"], checksums["offset"], checksums["crc32"]]
    for section in entry["sections"].values():
        numbers += [section["offset"], section["bytes"]]
        if not isinstance(section["dtype"], str):
            raise TypeError("a dtype is not a name")
    for number in numbers:
        _whole(number)


def _whole(value: object) -> int:
    if type(value) is not int or not 0 <= value < _MOST:
        raise ValueError(f"found {shorten(value, 40)}, expected a whole number")
    return value


def open_regular(path: Path) -> IO[bytes]:
    """Open a file of an index without blocking: a pipe in its place must not hang the reader."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")


def _manifest_bytes(folder: Path) -> bytes:
    try:
        try:
            stream = open_regular(folder / MANIFEST)
        except FileNotFoundError:
            if not recover_folder(folder):  # restored, if a kill has left it aside
                raise
            stream = open_regular(folder / MANIFEST)
        with stream:
            return stream.read(_MAX_MANIFEST_BYTES)
    except FileNotFoundError as error:
        no_manifest = f"is not a Pnyx index (it has no {MANIFEST})"
        problem = no_manifest if folder.is_dir() else "is not there"
        raise IndexFolderError(f"{problem}, {_EXPECTED}", path=folder) from error
    except NotADirectoryError as error:
        raise IndexFolderError(f"is a file, {_EXPECTED}", path=folder) from error
    except (OSError, ValueError) as error:
        raise IndexFolderError(f"cannot be read: {error}", path=folder) from error


@contextlib.contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Turn errors of the disk into one line that names the folder."""
    try:
        yield
    except OSError as error:
        problem = f"{escaped(str(path))}: cannot be written"
        raise PnyxError(f"{problem}: {error.strerror}") from error


def remove_leftovers(folder: Path, manifest: dict[str, Any]) -> None:
    """Remove leftovers of a killed writer: files that the manifest does not name."""
    entries = [*manifest["segments"], *manifest.get("features", {}).values()]
    named = {entry["file"] for entry in entries}
    for path in folder.iterdir():
        if SEGMENT_NAME.fullmatch(path.name) and path.name not in named:
            path.unlink()
    (folder / f".{MANIFEST}").unlink(missing_ok=True)


def to_disk(stream: IO[bytes]) -> None:
    """Flush a file to the disk, so that it survives a power cut."""
    stream.flush()
    os.fsync(stream.fileno())
