"""Which index of a cluster a name stands for, now and lately, and whether it can be asked."""

from __future__ import annotations

import contextlib
import time
from typing import Any, Final

from pnyx.errors import IndexFolderError, PnyxError, escaped
from pnyx.search.opensearch.client import OLDEST, Cluster, ClusterAddress
from pnyx.threads import start_thread

_STATES: Final[dict[str, tuple[float, str]]] = {}
_LOOKED: Final = 5.0
"""Seconds after which it is looked again which index has the name."""


def forget(where: str) -> None:
    """Look again, when it is asked next, which index an address stands for."""
    _STATES.pop(where, None)


def remote_state(where: str) -> tuple[str]:
    """Return which index an address stands for, or did some seconds ago; see `index_state`.

    Nobody waits for it but the first who asks.
    """
    key = str(ClusterAddress.parse(where))
    looked, concrete = _STATES.get(key, (0.0, ""))
    if not concrete:
        try:
            concrete = _look(key)
        except PnyxError as error:
            raise OSError(str(error)) from error
    elif time.monotonic() - looked >= _LOOKED:
        _STATES[key] = time.monotonic(), concrete
        start_thread(lambda: _look_again(key), "pnyx-opensearch")
    return (concrete,)


def _look(where: str) -> str:
    address = ClusterAddress.parse(where)
    found = ",".join(Cluster(address).ask("GET", f"/_alias/{address.name}", seconds=2.0))
    _STATES[where] = time.monotonic(), found
    return found


def _look_again(where: str) -> None:
    with contextlib.suppress(PnyxError):  # being replaced, or away for a while
        _look(where)


def check_version(cluster: Cluster) -> None:
    """Refuse what is no OpenSearch, or one that is too old."""
    found = cluster.ask("GET", "/")
    version = found.get("version", {}) if isinstance(found, dict) else {}
    number = str(version.get("number", "?"))
    where, oldest = escaped(str(cluster.address)), ".".join(map(str, OLDEST))
    if version.get("distribution") != "opensearch":
        raise PnyxError(f"{where}: is no OpenSearch, expected {oldest} or newer")
    parts = [int(part) if part.isdigit() else 0 for part in number.split(".")[:2]]
    if tuple(parts) < OLDEST:
        raise PnyxError(f"{where}: is OpenSearch {escaped(number, 20)}, expected {oldest} or newer")


def behind(cluster: Cluster) -> tuple[str, Any]:
    """Return the index that an address stands for, and what it says of itself."""
    address = cluster.address
    found = cluster.ask("GET", f"/{address.name}")
    if len(found) != 1:
        raise IndexFolderError(f"stands for {len(found)} indexes, expected one", path=str(address))
    ((concrete, known),) = found.items()
    return concrete, known
