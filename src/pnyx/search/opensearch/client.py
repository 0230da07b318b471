"""The address of an index in a cluster, and the client for requests to the cluster.

Every error is one line that names the address, never a user or a password.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from pnyx.core.errors import IndexFolderError, InputError, MissingExtra, PnyxError, escaped, shorten
from pnyx.core.network import CA, INSECURE, SCHEMES, check_network
from pnyx.search.opensearch.answers import (
    ClusterAnswer,
    PartialAnswerError,
    SearchHit,
    read_count,
    read_hits,
)

OLDEST: Final = (2, 19)
"""The oldest OpenSearch that is known to work."""

USER, PASSWORD = "PNYX_OPENSEARCH_USER", "PNYX_OPENSEARCH_PASSWORD"

INDEX_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,199}")
_EXPECTED: Final = "expected opensearch://HOST:PORT/NAME or opensearch+https://HOST:PORT/NAME"
_READS: Final = ("/_search", "/_msearch", "/_mget")
"""Requests retried once when a node goes down: another has a copy of its shards."""
_SECONDS: Final = 60.0
_CONNECTIONS: Final = 32
"""Connections kept open to each node: more than `pnyx serve` has concurrent threads."""
_BLOCKED: Final = "cluster_block_exception"
_GONE: Final = (
    "no_shard_available_action_exception",
    "node_closed_exception",
    "node_disconnected_exception",
    "node_not_connected_exception",
    "connect_transport_exception",
)
"""Error for a node that went down during a request."""


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """Some nodes of a cluster, and the name of an index."""

    hosts: tuple[tuple[str, int], ...]
    name: str
    secure: bool

    @classmethod
    def parse(cls, text: str) -> ClusterAddress:
        """Read `opensearch://HOST:PORT[,HOST:PORT...]/NAME`; InputError for anything else."""
        scheme, _, rest = str(text).partition("://")
        nodes, _, name = rest.partition("/")
        if "@" in nodes:  # not repeated in the message: it may be a password
            advice = f"set {USER} and {PASSWORD} in the environment"
            raise InputError(f"an address must not contain a user or password: {advice}")
        hosts = []
        for node in nodes.split(","):
            try:
                parts = urlsplit(f"//{node}")
                host, port = parts.hostname, parts.port or 9200
            except ValueError:
                host, port = None, 0
            if not host or not re.fullmatch(r"[\w.:-]+", host):
                raise InputError(f"{shorten(node, 60)!r} is not a host: {_EXPECTED}")
            hosts.append((host, port))
        if not INDEX_NAME.fullmatch(name):
            advice = "a name has small letters, digits, '.', '_' and '-'"
            raise InputError(f"{shorten(name, 60)!r} is not an index name: {_EXPECTED}; {advice}")
        return cls(tuple(hosts), name, scheme.endswith("https"))

    def __str__(self) -> str:
        nodes = ",".join(f"[{h}]:{p}" if ":" in h else f"{h}:{p}" for h, p in self.hosts)
        return f"{SCHEMES[self.secure]}{nodes}/{self.name}"


class UnreachableError(PnyxError):
    """No node answers."""


class OverloadedError(PnyxError):
    """The cluster is overloaded; the request can be repeated later."""


class Cluster:
    """Sends requests to the nodes of an address with the official client; thread-safe.

    `gone` is called if an index no longer exists.
    """

    def __init__(self, address: ClusterAddress, gone: Callable[[], Any] = lambda: None) -> None:
        self.address, self._gone = address, gone

    @cached_property
    def _transport(self) -> Any:
        try:
            from opensearchpy import OpenSearch
        except ImportError as error:
            raise MissingExtra("an index in OpenSearch", "opensearch") from error
        check_network(*(host for host, _ in self.address.hosts))
        logging.getLogger("opensearch").addHandler(logging.NullHandler())  # reported once
        settings: dict[str, Any] = {}
        if user := os.environ.get(USER):
            settings["http_auth"] = (user, os.environ.get(PASSWORD, ""))
        if self.address.secure:
            insecure = os.environ.get(INSECURE) == "1"
            settings |= {"use_ssl": True, "verify_certs": not insecure, "ssl_show_warn": False}
            if (ca := os.environ.get(CA)) and not insecure:
                if not Path(ca).is_file():
                    raise InputError(f"{CA} does not name a file", path=ca)
                settings["ca_certs"] = ca
        hosts = [{"host": host, "port": port} for host, port in self.address.hosts]
        retried: dict[str, Any] = {
            "max_retries": 3,
            "retry_on_status": (502, 504),
            "retry_on_timeout": False,
            "pool_maxsize": _CONNECTIONS,
        }
        transport: Any = OpenSearch(hosts, timeout=_SECONDS, **retried, **settings).transport
        transport.deserializer = _UnreadAnswers()
        return transport

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        seconds: float = _SECONDS,
        **params: str | float,
    ) -> ClusterAnswer:
        """Return the cluster's answer; PnyxError for any failure."""
        transport = self._transport
        from opensearchpy.exceptions import OpenSearchException

        request = f"{escaped(str(self.address))}: {method} {escaped(path)}"
        query_params = {**params, "request_timeout": seconds}
        reads = path.endswith(_READS)
        for again in (reads, False):
            try:
                text = transport.perform_request(method, path, params=dict(query_params), body=body)
            except OpenSearchException as error:
                failure = self._failure(error, request)
                if not (again and isinstance(failure, PartialAnswerError)):
                    raise failure from error
            except (AttributeError, RecursionError) as error:
                # The client assumes, unchecked, that the JSON of an error is a shallow object.
                raise ClusterAnswer(None, None, request).wrong(
                    "an error as an object", "another"
                ) from error
            else:
                return ClusterAnswer.decoded(text, request)
        raise AssertionError

    def lines(self, path: str, rows: Iterable[Mapping[str, Any]], **params: Any) -> ClusterAnswer:
        """Send a body with one JSON object per line."""
        body = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        return self.ask("POST", path, body.encode("utf-8", "replace"), **params)

    def exists(self, method: str, path: str, **params: Any) -> ClusterAnswer | None:
        """Return the cluster's answer, None for "not found"."""
        try:
            return self.ask(method, path, **params)
        except IndexFolderError:
            return None

    def search(self, index: str, body: Mapping[str, Any], **params: Any) -> ClusterAnswer:
        """Return the answer of all shards of an index, never only of some."""
        params["allow_partial_search_results"] = "false"
        return self.ask("POST", f"/{index}/_search", dict(body), **params)

    def hits(
        self,
        index: str,
        body: Mapping[str, Any],
        before: int = 0,
        matching: int | None = None,
        **params: Any,
    ) -> list[SearchHit]:
        """Return the documents of one page of a search; see `read_hits`."""
        body = {"track_total_hits": before + body["size"], **body}
        answer = self.search(index, body, **params)
        return read_hits(answer, index, body["size"], before, matching)

    def count(self, index: str, query: Mapping[str, Any]) -> int:
        """Return how many documents of an index match a query."""
        # `_count` would silently leave out the documents of unavailable shards.
        return read_count(self.search(index, {"size": 0, "track_total_hits": True, "query": query}))

    def _failure(self, error: Exception, request: str) -> PnyxError:
        """Describe an error in one line, without the data that was sent."""
        from opensearchpy import exceptions as known

        where = escaped(str(self.address))
        if isinstance(error, known.SSLError):
            return PnyxError(f"{where}: {_tls(str(error))}")
        if isinstance(error, known.ConnectionTimeout):
            return OverloadedError(f"{where}: no answer in time")
        info = getattr(error, "info", None)
        if isinstance(error, known.ConnectionError):
            if isinstance(info, UnicodeDecodeError):
                return ClusterAnswer(None, None, request).wrong("JSON", "bytes that are not UTF-8")
            return UnreachableError(f"{where}: cannot be reached")
        return self._refusal(getattr(error, "status_code", None), info)

    def _refusal(self, status: Any, info: Any) -> PnyxError:
        """Describe an error of the cluster by its HTTP status and its JSON."""
        where = escaped(str(self.address))
        kind, reason = cause_of(info.get("error") if isinstance(info, dict) else None)
        if status == 401:
            return PnyxError(f"{where}: rejects user and password ({USER}, {PASSWORD})")
        if status == 404:
            self._gone()
            return IndexFolderError("is not there", path=where)
        if kind == _BLOCKED:
            return PnyxError(f"{where}: is blocked: {shorten(reason, 160)}")
        if status == 429 or kind == "circuit_breaking_exception":
            return OverloadedError(f"{where}: is overloaded ({escaped(kind, 60)})")
        if status == 503 or kind in _GONE:
            return PartialAnswerError(f"{where}: some shards are unavailable ({escaped(kind, 60)})")
        if status == 403:
            return PnyxError(f"{where}: the user has no permission for this")
        reason_text = f"{escaped(kind, 60)}: {shorten(reason, 200)}" if kind else f"status {status}"
        return PnyxError(f"{where}: {reason_text}")


def _tls(error: str) -> str:
    if "CERTIFICATE_VERIFY_FAILED" in error:
        return f"its certificate is not trusted; set {CA} to the file of its CA certificate"
    return "does not support TLS; use opensearch:// for a connection without TLS"


def cause_of(error: Any) -> tuple[str, str]:
    """Return type and reason of the innermost cause of an error, as reported by the cluster."""
    kind, reason = "", ""
    while isinstance(error, dict):
        kind, reason = str(error.get("type", "")), str(error.get("reason", ""))
        shards = error.get("failed_shards") or error.get("root_cause")
        first = shards[0] if shards and isinstance(shards, list) else None
        first = first if isinstance(first, dict) else None
        deeper = error.get("caused_by") or (first.get("reason", first) if first else None)
        error = deeper if isinstance(deeper, dict) and deeper is not error else None
    return kind, reason


class _UnreadAnswers:
    """Replaces the client's deserialiser, which accepts any JSON or plain text."""

    def loads(self, text: str, _kind: str | None = None) -> str:
        return text
