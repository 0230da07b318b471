"""Opening what is searched: an index folder, or an index of a cluster by its address."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pnyx.search.opensearch.client import is_remote

if TYPE_CHECKING:
    from pnyx.search.engine import DocumentIndex


def open_index(where: str | Path) -> DocumentIndex:
    """Open an index folder, or `opensearch://HOST:PORT/NAME` (docs/opensearch.md).

    Raises IndexFolderError where there is none, PnyxError where a cluster cannot be used,
    MissingExtra without its client.
    """
    if is_remote(where):
        from pnyx.search.opensearch.index import RemoteIndex

        return RemoteIndex.open(str(where))
    from pnyx.search.index import Index

    return Index.open(where)


def index_state(where: str | Path) -> tuple[int | str, ...]:
    """Return what tells one state of an index from another; OSError where it cannot be told now."""
    if is_remote(where):
        from pnyx.search.opensearch.index import remote_state

        return remote_state(str(where))
    from pnyx.search.lexical.manifest import MANIFEST

    found = (Path(where) / MANIFEST).stat()
    return found.st_mtime_ns, found.st_size, found.st_ino
