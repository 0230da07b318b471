"""Sending documents to a cluster as fast as it takes them, each exactly once."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from pnyx.core.errors import InputError, PnyxError, escaped, shorten
from pnyx.search.opensearch.answers import (
    ClusterAnswer,
    PartialAnswerError,
    read_bulk,
    read_documents,
)
from pnyx.search.opensearch.client import Cluster, OverloadedError, UnreachableError

T = TypeVar("T")

_PATIENCE: Final = 600.0
"""Seconds for which a cluster may refuse everything before loading gives up."""
_LONGEST_WAIT: Final = 30.0
_SECONDS: Final = 120.0

Row = dict[str, Any]
"""A document in the form of the mapping; `_id` is its key."""


class Bulk:
    """Creates documents in an index, and distinguishes documents already sent from duplicates."""

    def __init__(self, cluster: Cluster, index: str, *, patience: float = _PATIENCE) -> None:
        self._cluster, self._index, self._patience = cluster, index, patience
        self._at_once = 1 << 20
        self.waited = 0.0

    def known(self, keys: Sequence[str]) -> dict[str, Row]:
        """Return number and digest of those documents that are in the index."""
        body = {"ids": list(keys)}
        path = f"/{self._index}/_mget"
        answer = self._patiently(
            lambda: self._cluster.ask("POST", path, body, _source="number,digest")
        )
        sources = zip(keys, read_documents(answer, keys), strict=True)
        return {key: _identity(source) for key, source in sources if source is not None}

    def loaded(self, first: int, stop: int) -> dict[int, tuple[str, Row]]:
        """Return the documents with these numbers from an earlier load, each with its key."""
        numbers = {"range": {"number": {"gte": first, "lt": stop}}}
        body = {"query": numbers, "size": stop - first, "_source": ["number", "digest"]}
        hits = self._patiently(lambda: self._cluster.hits(self._index, body))
        documents: dict[int, tuple[str, Row]] = {}
        for hit in hits:
            number = hit.source("number")
            if number.integer(first, stop - 1) in documents:
                raise number.wrong("the number of one document alone")
            documents[number.value] = hit.id, _identity(hit.answer.field("_source"))
        return documents

    def create(self, rows: Sequence[Row]) -> None:
        """Create documents, in smaller parts and more slowly where the cluster is overloaded.

        Raises InputError if another document already has an id, PnyxError if the cluster
        rejects a document, or everything for too long.
        """
        left, begun = list(rows), time.monotonic()
        while left:
            part, left = left[: self._at_once], left[self._at_once :]
            refused = self._sent(part)
            if len(refused) < len(part):
                begun = time.monotonic()
            if not refused:
                self._at_once = min(1 << 20, 2 * self._at_once)
                continue
            left = refused + left
            self._at_once = max(1, len(part) // 2)
            self._wait(begun)

    def _sent(self, rows: Sequence[Row]) -> list[Row]:
        """Send some; return those that the cluster was too busy for."""
        lines: list[Row] = []
        for row in rows:
            lines += [
                {"create": {"_id": row["_id"]}},
                {k: v for k, v in row.items() if k != "_id"},
            ]
        path, address = f"/{self._index}/_bulk", escaped(str(self._cluster.address))
        try:
            answer = self._cluster.lines(path, lines, seconds=_SECONDS)
        except (OverloadedError, PartialAnswerError, UnreachableError):
            return list(rows)
        refused, there = [], []
        results = read_bulk(answer, "create", [row["_id"] for row in rows])
        for row, result in zip(rows, results, strict=True):
            if result.status == 409:
                there.append(row)
            elif result.error == "cluster_block_exception":
                raise PnyxError(f"{address}: is blocked: {shorten(result.reason, 160)}")
            elif result.status in (429, 503) or result.error == "circuit_breaking_exception":
                refused.append(row)
            elif result.error:
                problem = f"{escaped(result.error, 60)}: {shorten(result.reason, 160)}"
                raise PnyxError(f"{address}: rejects document {row['number'] + 1}: {problem}")
        self._check_same(there)
        return refused

    def _check_same(self, rows: Sequence[Row]) -> None:
        """Reject rows whose ids other documents of the index have."""
        stored = self.known([row["_id"] for row in rows]) if rows else {}
        for row in rows:
            if row["_id"] not in stored:
                where, name = escaped(str(self._cluster.address)), shorten(row["_id"], 60)
                raise PnyxError(f"{where}: has document {name!r}, but does not return it")
            check_same(row, row["_id"], stored[row["_id"]])

    def _wait(self, begun: float) -> None:
        gone = time.monotonic() - begun
        if gone > self._patience:
            address = escaped(str(self._cluster.address))
            problem = f"accepted nothing for {gone:.0f} s; run the same command to continue"
            raise PnyxError(f"{address}: {problem}")
        pause = min(_LONGEST_WAIT, 0.2 + gone / 2) * random.uniform(0.7, 1.3)
        self.waited += pause
        time.sleep(pause)

    def _patiently(self, ask: Callable[[], T]) -> T:
        begun = time.monotonic()
        while True:
            try:
                return ask()
            except (OverloadedError, PartialAnswerError, UnreachableError):
                self._wait(begun)


def _identity(source: ClusterAnswer) -> Row:
    """Return the digest that identifies a document."""
    return {"number": source.field("number").integer(), "digest": source.field("digest").text()}


def check_same(row: Row, key: str, stored: Row) -> None:
    """Reject a document whose id another has, or whose number had another document."""
    record_number, same = row["number"] + 1, stored["number"] == row["number"]
    if same and (row["_id"], row["digest"]) == (key, stored["digest"]):
        return
    name = shorten(row["_id"], 60)
    if same:
        problem = f"record {record_number} ({name}) is not the one that was loaded before"
        raise OtherCorpusError(problem)
    first, second = sorted((stored["number"] + 1, record_number))
    raise InputError(f"records {first} and {second} have the same id {name!r}")


class OtherCorpusError(InputError):
    """An unfinished load is of another corpus."""
