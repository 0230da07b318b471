"""The index of a folder or file of documents, kept next to it and refreshed when files change."""

from __future__ import annotations

import contextlib
import os
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pnyx.core.compression import plain_name
from pnyx.core.errors import InputError, PnyxError, escaped, shorten
from pnyx.core.files import check_output
from pnyx.core.placement import recover_folder, try_lock, unlock
from pnyx.core.progress import counting
from pnyx.search.plan import FEATURES

if TYPE_CHECKING:
    from pnyx.formats.base import Format
    from pnyx.formats.file_account import FileAccount

Progress: TypeAlias = Callable[[str, int | None], AbstractContextManager[Callable[[int], None]]]

ENDING: Final = ".index"
_WAIT_SECONDS = 0.1
_UPDATED_BY = {"clusters": "--clusters", "vectors_ann": "--ann"}
"""Feature that depends on all documents -> option of `pnyx index --update` for it."""


def _nothing(_: str) -> None:
    """Discard a report."""


@dataclass(frozen=True, slots=True)
class IndexReporting:
    """How the work on an index is reported: lines, warnings and progress."""

    say: Callable[[str], None] = _nothing
    warn: Callable[[str], None] = _nothing
    progress: Progress = field(default=partial(counting, None))


def keep_index(
    source: str, *, features: tuple[str, ...] = FEATURES, reporting: IndexReporting | None = None
) -> str:
    """Make or refresh the index that is kept next to `source`; return its folder.

    One line reports which files were read, and where the index is. Concurrent processes for the
    same documents wait for each other.

    Raises:
        InputError: `source` holds no documents, or its index cannot be kept next to it; then the
            message names the command that makes one elsewhere.
        PnyxError: the disk is full.
    """
    from pnyx.search.lexical.manifest import is_index

    reporting = reporting or IndexReporting()
    _check_documents(source)
    real = Path(os.path.realpath(source))
    if not real.name:
        raise _elsewhere(source, "its index cannot be kept next to it")
    path = real.with_name(plain_name(real.name) + ENDING)
    folder = str(path) if Path(source).is_absolute() else os.path.relpath(path)
    with _source_locked(source, reporting.say):
        recover_folder(Path(folder))
        if is_index(Path(folder)):
            _refresh(source, folder, reporting)
        else:
            _build(source, folder, reporting)
        _make_features(source, folder, features, reporting)
    return folder


def _check_documents(source: str) -> None:
    """Reject a file whose kind cannot contain documents, and say what it is."""
    from pnyx.formats.recognition import find_format, sniff

    path = Path(source)
    if not (path.is_file() or path.is_dir()):
        raise InputError("expected a file or folder of documents", path=source)
    try:
        detected = find_format(source, sniff(source)) if path.is_file() else None
    except InputError:
        detected = None
    if detected is not None and detected.kind in ("run", "qrels", "responses"):
        raise InputError(_of_other_kind(detected), path=source)
    try:
        find_format(source, None, "evidence")
    except InputError as error:
        if detected is not None:
            raise InputError(_of_other_kind(detected), path=source) from error
        if path.is_file() and b"\0" in _head(path):
            kind = f"a {path.suffix} file" if path.suffix else "a binary file"
            problem = f"is {escaped(kind, 40)}, which Pnyx does not read as documents"
            raise InputError(problem, path=source) from error
        raise


def _of_other_kind(format_: Format) -> str:
    contents = {"run": "is a TREC run", "qrels": "holds qrels"}
    return f"{contents.get(format_.kind, f'holds {format_.plural}')}, expected documents"


def _head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(4096)


@contextlib.contextmanager
def _source_locked(source: str, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of a file or folder of documents; wait if another process has it."""
    try:
        handle = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=source) from error
    try:
        if try_lock(handle) is False:
            say(f"{escaped(source)}: another process is indexing it; waiting until it has finished")
            while try_lock(handle) is False:
                time.sleep(_WAIT_SECONDS)
        yield
    finally:
        unlock(handle)
        os.close(handle)


def _build(source: str, folder: str, reporting: IndexReporting) -> None:
    """Index the words of all documents."""
    from pnyx.formats.text.passages import WHOLE_WORDS
    from pnyx.search.build import build_index
    from pnyx.search.sources import SourceReader
    from pnyx.search.split_documents import size_of

    if os.path.lexists(folder):
        raise _elsewhere(source, f"{escaped(folder)} exists and is not an index")
    with _writable(source, folder):
        check_output(folder, "folder")
    accounts: list[FileAccount] = []
    reader = SourceReader([source], on_warning=reporting.warn, on_account=accounts.append)
    try:
        with reporting.progress("indexing", None) as advance:
            index = build_index(reader, folder, on_progress=advance)
    except InputError as error:
        if not (accounts and error.path == source and error.line is None):
            raise
        raise InputError(_no_documents(error.problem, accounts[0]), path=source) from error
    _say_line(source, accounts, f"indexed in {escaped(folder)} ({size_of(index)})", reporting)
    if count := reader.long_documents:
        documents = "1 document is" if count == 1 else f"{count:,} documents are"
        reporting.say(
            f"{documents} longer than {WHOLE_WORDS} words. To split them: "
            f"{_command('index', source)} --unit passage --out {shlex.quote(folder)} --force"
        )


def _no_documents(problem: str, account: FileAccount) -> str:
    """Say why there is nothing to index: what became of the files, and which types are read."""
    from pnyx.formats.documents.file_readers import ALONE

    files = f" ({account.line()})" if account.files else ""
    return f"{problem}{files}, expected files that end in {', '.join(ALONE)}, .csv or .jsonl"


def _refresh(source: str, folder: str, reporting: IndexReporting) -> None:
    """Index what changed in the documents since the index was made."""
    from pnyx.search.refresh import is_source, refresh_index

    if not is_source(folder, source):
        raise _elsewhere(source, f"{escaped(folder)} exists and was not made from it")
    accounts: list[FileAccount] = []
    with _writable(source, folder), reporting.progress("indexing", None) as advance:
        refreshed = refresh_index(
            folder,
            source,
            on_account=accounts.append,
            on_warning=reporting.warn,
            on_progress=advance,
        )
    line = f"no file has changed since {escaped(folder)} was made"
    if refreshed:
        line = f"{escaped(folder)} refreshed: {refreshed.changes}"
    _say_line(source, accounts, line, reporting)
    if flags := " ".join(_UPDATED_BY[n] for n in refreshed.dropped if n in _UPDATED_BY):
        reporting.warn(
            f"documents were removed. To bring its features up to date: pnyx index --update "
            f"{shlex.quote(folder)} {flags}"
        )


def _say_line(
    source: str, accounts: list[FileAccount], line: str, reporting: IndexReporting
) -> None:
    """Say what became of the files, and of the index."""
    account = accounts[0] if accounts else None
    if account is None or (len(account.files) < 2 and not account.skipped):
        reporting.say(f"{escaped(source)}: {line}")
        return
    tell = reporting.warn if account.skipped else reporting.say
    tell(f"{escaped(source)}: {account.line()}; {line}")
    for note in account.notes():
        reporting.say(f"{escaped(source)}: {note}")


def _make_features(
    source: str, folder: str, features: tuple[str, ...], reporting: IndexReporting
) -> None:
    """Make the features that are missing for all or some documents."""
    from pnyx.judging.students.surface_quality import QualityModel
    from pnyx.models.embed.embedder import embedder_from
    from pnyx.search.document_quality import FEATURE, score_documents
    from pnyx.search.features.vectors import PARTIAL, VECTORS, embed_documents
    from pnyx.search.lexical.manifest import read_manifest

    manifest = read_manifest(Path(folder))
    documents, there = manifest["statistics"]["documents"], manifest.get("features", {})
    makers: tuple[tuple[str, str, Any, Any], ...] = (
        (FEATURE, "predicting quality", score_documents, QualityModel.load),
        (VECTORS, "embedding documents", embed_documents, embedder_from),
    )
    killed = Path(folder, PARTIAL).exists()  # while it embedded, or before it removed this file
    for name, doing, make, load in makers:
        wanted = name in features or name in there
        complete = there.get(name, {}).get("documents") == documents
        if not wanted or (complete and not (killed and name == VECTORS)):
            continue
        model = load()
        _check_maker(source, folder, there.get(name), model.name)
        with reporting.progress(doing, documents) as advance:
            make(folder, model, on_progress=advance)


def _check_maker(source: str, folder: str, feature: Any, name: str) -> None:
    """Refuse to replace, with a packaged model, what another model has made."""
    meta = (feature or {}).get("meta", {})
    made_by = meta.get("embedder", meta.get("model", name))
    if made_by != name:
        option = "--embedder" if "embedder" in meta else "--quality-model"
        raise InputError(
            f"part of it was made by {shorten(str(made_by), 60)}. Use: "
            f"{_command('index', source)} --add {shlex.quote(folder)} {option} NAME",
            path=folder,
        )


@contextlib.contextmanager
def _writable(source: str, folder: str) -> Iterator[None]:
    """Turn a failure to write next to the documents into the command that writes elsewhere."""
    try:
        yield
    except PnyxError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        reason = error.__cause__.strerror or "it cannot be written"
        raise _elsewhere(source, f"{escaped(folder)} cannot be written: {reason}") from error


def _elsewhere(source: str, why: str) -> InputError:
    """Return the error for an index that cannot be kept next to its documents."""
    command = f"{_command('index', source)} --out ELSEWHERE"
    return InputError(f"{why}. Use: {command}", path=source)


def _command(verb: str, source: str) -> str:
    return f"pnyx {verb} {shlex.quote(escaped(source, 1000))}"
