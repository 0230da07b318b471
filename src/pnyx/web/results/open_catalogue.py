"""Open a catalogue: from the cache if nothing has changed, otherwise built again.

Results are not modified: the catalogue is in the user's cache folder, named after the given paths.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from pnyx._version import __version__
from pnyx.core.errors import InputError, PnyxError, escaped
from pnyx.core.files import disk_errors, write_text
from pnyx.core.placement import make_folder
from pnyx.core.restricted_mode import hides_text
from pnyx.web.results.builder import Builder
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.reader import read_source
from pnyx.web.results.sources import RunQrels, State, given_sources, state_of

_LAYOUT: Final = 9
"""Incremented when the tables or their contents change."""

_LOOK_AGAIN_SECONDS: Final = 2.0
_REST: Final = 4
"""Changes are checked again after this many times as long as the last check took."""

_DAYS: Final = 30
"""Catalogues older than this are removed: they can always be built again."""


def _cache_folder() -> Path:
    named = os.environ.get("PNYX_CACHE")
    if named:
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "pnyx"


def open_catalogue(
    paths: Sequence[str], *, fresh: bool = False, store: str = "", qrels: RunQrels | None = None
) -> Catalogue:
    """Return the catalogue of results; it is built unless a current one is cached.

    `store` has prompts and replies; empty: those that manifests name. With `qrels` runs are
    measured. InputError: a path does not exist, or nothing in them could be read; PnyxError: the
    catalogue cannot be written.
    """
    for path in _read(paths, qrels):
        if not Path(path).exists():
            raise InputError("does not exist, expected a file or a folder of results", path=path)
    file = _cache_folder() / "view" / f"{_name_of(paths, qrels)}.sqlite"
    if not fresh and _is_of(file, state_of(_read(paths, qrels))):
        return Catalogue(file, store)
    try:
        with disk_errors(file):
            make_folder(file.parent, 0o700)  # it contains words of private documents
            _remove_old(file.parent)
            _build(paths, file, qrels)
    except sqlite3.Error as error:
        problem = f"{escaped(str(file))}: the catalogue cannot be written: {error}"
        raise PnyxError(problem) from error
    return Catalogue(file, store)


def _read(paths: Sequence[str], qrels: RunQrels | None) -> list[str]:
    """Return all paths that a catalogue is made from."""
    return [*paths, *([] if qrels is None else [qrels.path])]


def _name_of(paths: Sequence[str], qrels: RunQrels | None) -> str:
    resolved = [str(Path(path).resolve()) for path in _read(paths, qrels)]
    names = [str(_LAYOUT), __version__, str(hides_text()), *resolved]
    names += [] if qrels is None else ["qrels", qrels.baseline]
    data = "\0".join(names).encode("utf-8", "surrogateescape")
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def _is_of(file: Path, state: State) -> bool:
    """Return whether an intact catalogue of files in this state exists."""
    try:
        if _digest_file(file).read_text(encoding="ascii") != _digest(file):
            return False
        uri = f"{file.absolute().as_uri()}?mode=ro&immutable=1"
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
            rows = connection.execute("SELECT path, size, changed FROM given").fetchall()
    except (OSError, ValueError, sqlite3.Error):
        return False
    return {path: (size, changed) for path, size, changed in rows} == state


def _digest_file(file: Path) -> Path:
    """Return the file with a catalogue's digest: SQLite does not detect damaged text."""
    return file.with_name(f"{file.name}.blake2b")


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "blake2b").hexdigest()


def _build(paths: Sequence[str], file: Path, qrels: RunQrels | None) -> None:
    temporary = file.with_name(f"{file.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        results, state = given_sources(paths, qrels), state_of(_read(paths, qrels))
        if not results:
            problem = "holds no results that pnyx writes (docs/recipes/viewing.md)"
            raise InputError(problem, path=", ".join(paths))
        with contextlib.closing(Builder(temporary)) as builder:
            nuggets = [s for s in results if s.kind == "nuggets"]
            builder.banks = [path for s in nuggets for path in s.files.values()]
            for result in results:
                read_source(builder, result)
            builder.finish(state)
        sources = Catalogue(temporary).sources()
        if all(source.problem for source in sources):
            raise InputError(sources[0].problem)
        write_text(_digest_file(file), _digest(temporary))
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def _remove_old(folder: Path) -> None:
    limit = time.time() - _DAYS * 86_400
    for file in folder.glob("*.sqlite*"):
        with contextlib.suppress(OSError):
            if file.stat().st_mtime < limit:
                file.unlink()


class CurrentCatalogue:
    """The current catalogue of results: changed files are detected and read again.

    `say` gets the reason if changed files cannot be read; for the rest see `open_catalogue`.
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        fresh: bool = False,
        store: str = "",
        qrels: RunQrels | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.paths, self.store, self._qrels, self._say = list(paths), store, qrels, say
        self._state = state_of(_read(self.paths, qrels))
        self._catalogue = open_catalogue(self.paths, fresh=fresh, store=store, qrels=qrels)
        self._looked = time.monotonic()
        self._took = 0.0
        self._lock = threading.Lock()
        self.version = 1  # incremented with each new catalogue

    def get(self) -> Catalogue:
        """Return the catalogue; while one thread rebuilds it, others get the previous one."""
        if time.monotonic() - self._looked < max(_LOOK_AGAIN_SECONDS, _REST * self._took):
            return self._catalogue
        if not self._lock.acquire(blocking=False):
            return self._catalogue
        try:
            began = time.monotonic()
            state = state_of(_read(self.paths, self._qrels))
            if state != self._state:
                # If nothing can be read any more, the previous catalogue is kept; if it cannot be
                # written, it is tried again.
                try:
                    self._catalogue = open_catalogue(
                        self.paths, store=self.store, qrels=self._qrels
                    )
                    self._state = state
                    self.version += 1
                except InputError:
                    self._state = state
                except PnyxError as error:
                    self._say(str(error))
            self._looked = time.monotonic()
            self._took = self._looked - began
        finally:
            self._lock.release()
        return self._catalogue
