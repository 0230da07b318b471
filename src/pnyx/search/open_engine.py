"""Opening an index: a folder, or the address of an index in another engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pnyx.core.errors import PluginError
from pnyx.core.network import check_network, is_remote
from pnyx.core.plugins import APART, plugins
from pnyx.search.engine import EngineType

if TYPE_CHECKING:
    from pnyx.search.engine import DocumentIndex


def open_index(where: str | Path) -> DocumentIndex:
    """Open an index folder, `opensearch://HOST:PORT/NAME`, or the address of a plugin's engine.

    Raises IndexFolderError if there is none, PluginError where the engine is not installed,
    PnyxError if it cannot be used, MissingExtra without the client of OpenSearch.
    """
    if engine := engine_type(where):
        return engine.open(str(where))
    from pnyx.search.index import Index

    return Index.open(where)


def verify_index(where: str | Path) -> DocumentIndex:
    """Open an index, check every byte and every record of it, and return it.

    Raises IndexFolderError for damage, and what `open_index` raises.
    """
    if engine := engine_type(where):
        index = engine.open(str(where))
        engine.verify(index)
        return index
    from pnyx.search.index import Index

    folder = Index.open(where)
    folder.verify()
    return folder


def index_state(where: str | Path) -> tuple[int | str, ...]:
    """Return a fingerprint of an index's current state; OSError if it cannot be read."""
    if engine := engine_type(where):
        return engine.state(str(where))
    from pnyx.search.lexical.manifest import MANIFEST

    status = (Path(where) / MANIFEST).stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


def engine_type(where: str | Path) -> EngineType | None:
    """Return the engine of an address `NAME:REST`; None for a folder."""
    if is_remote(where):
        from pnyx.search.opensearch.verify import OPENSEARCH

        return OPENSEARCH
    name, colon, _ = str(where).partition(":")
    if not colon:
        return None
    if plugin := plugins("engines").get(name):
        check_network(str(where))
        engine: EngineType = plugin.load(EngineType)
        return engine
    if package := APART.get(f"{name}:"):
        raise PluginError(f"the engine of {name}: is a plugin: pip install {package}")
    return None


def stands_for_index(where: str | Path) -> bool:
    """Return whether a name is that of an index rather than documents."""
    from pnyx.search.lexical.manifest import is_index

    return is_index(Path(where)) or engine_type(where) is not None
