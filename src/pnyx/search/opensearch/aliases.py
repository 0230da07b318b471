"""Which index of a cluster an alias points to, now and recently, and whether it can be queried."""

from __future__ import annotations

import contextlib
import time
from typing import Final

from pnyx.core.errors import IndexFolderError, PnyxError, escaped
from pnyx.core.threads import start_thread
from pnyx.search.opensearch.answers import ClusterAnswer
from pnyx.search.opensearch.client import INDEX_NAME, OLDEST, Cluster, ClusterAddress

_STATES: Final[dict[str, tuple[float, str]]] = {}
_LOOKED: Final = 5.0
"""Seconds after which an alias is resolved again."""


def forget(where: str) -> None:
    """Resolve an address again at the next query."""
    _STATES.pop(where, None)


def remote_state(where: str) -> tuple[str]:
    """Return the index an address points to, or did some seconds ago; see `index_state`.

    Only the first caller waits for the answer.
    """
    key = str(ClusterAddress.parse(where))
    looked, concrete = _STATES.get(key, (0.0, ""))
    if not concrete:
        try:
            concrete = _resolve(key)
        except PnyxError as error:
            raise OSError(str(error)) from error
    elif time.monotonic() - looked >= _LOOKED:
        _STATES[key] = time.monotonic(), concrete
        start_thread(lambda: _resolve_quietly(key), "pnyx-opensearch")
    return (concrete,)


def _resolve(where: str) -> str:
    address = ClusterAddress.parse(where)
    answer = Cluster(address).ask("GET", f"/_alias/{address.name}", seconds=2.0)
    indexes = answer.entries()
    if not indexes:
        raise answer.wrong("an index that has this alias")
    for index in indexes.values():
        index.field("aliases", address.name)
    names = ",".join(indexes)
    _STATES[where] = time.monotonic(), names
    return names


def _resolve_quietly(where: str) -> None:
    with contextlib.suppress(PnyxError):  # being replaced, or temporarily unavailable
        _resolve(where)


def check_version(cluster: Cluster) -> None:
    """Reject a server that is not OpenSearch, or is too old."""
    version = cluster.ask("GET", "/").field("version")
    where, oldest = escaped(str(cluster.address)), ".".join(map(str, OLDEST))
    distribution = version.optional("distribution")
    if distribution is None or distribution.text() != "opensearch":
        raise PnyxError(f"{where}: is not OpenSearch, expected {oldest} or newer")
    number = version.field("number").text()
    parts = [int(part) if part.isdecimal() else 0 for part in number[:20].split(".")[:2]]
    if tuple(parts) < OLDEST:
        raise PnyxError(f"{where}: is OpenSearch {escaped(number, 20)}, expected {oldest} or newer")


def behind(cluster: Cluster) -> tuple[str, ClusterAnswer]:
    """Return the index that an address points to, and the cluster's answer about it."""
    address = cluster.address
    answer = cluster.ask("GET", f"/{address.name}")
    indexes = answer.entries()
    for name in indexes:
        if not INDEX_NAME.fullmatch(name):
            raise answer.wrong("the name of an index as the only key")
    if len(indexes) != 1:
        problem = f"points to {len(indexes)} indexes, expected one"
        raise IndexFolderError(problem, path=str(address))
    ((concrete, index),) = indexes.items()
    return concrete, index
