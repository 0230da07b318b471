"""Parsing a cluster's answers; any unexpected shape becomes an error of one line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from pnyx.core.errors import PnyxError, shorten

_ADVICE: Final = "check that OpenSearch answers here, without a proxy that changes its answers"
_SHOWN_KEYS: Final = 4
_ROUNDED: Final = 1e-4
"""Relative tolerance between a score and the sum of its parts, which are 32-bit floats."""


class PartialAnswerError(PnyxError):
    """Some shards did not answer, so the answer is not complete."""


class AnswerShapeError(PnyxError):
    """An answer is not shaped like OpenSearch's, or is inconsistent with itself or the request."""


class ClusterAnswer:
    """A value of a cluster's JSON, with its request and its path in the answer, for errors.

    Every method raises AnswerShapeError if the value is not of the type that it reads.
    """

    __slots__ = ("_key", "_parent", "value")

    def __init__(self, value: Any, parent: ClusterAnswer | None, key: str | int) -> None:
        self.value, self._parent, self._key = value, parent, key

    @classmethod
    def decoded(cls, text: str, request: str) -> ClusterAnswer:
        """Return the answer to `request`, which error messages name."""
        try:
            return cls(_parsed(text), None, request)
        except (ValueError, RecursionError) as error:
            raise cls(text, None, request).wrong("JSON") from error

    @property
    def request(self) -> str:
        """The request that is answered, for error messages."""
        return str(self._key) if self._parent is None else self._parent.request

    @property
    def _place(self) -> str:
        if self._parent is None:
            return ""
        if isinstance(self._key, int):
            return f"{self._parent._place}[{self._key}]"
        return f"{self._parent._place}.{shorten(self._key, 60)}"

    def wrong(self, expected: str, description: str | None = None) -> AnswerShapeError:
        """Return the error for a value that is not as expected."""
        where = f"{path.removeprefix('.')}: " if (path := self._place) else ""
        description = _description(self.value) if description is None else description
        problem = f"{where}expected {expected}, found {description}"
        return AnswerShapeError(f"{self.request}: {problem}; {_ADVICE}")

    # Objects and lists ---------------------------------------------------------------------------

    def entries(self) -> dict[str, ClusterAnswer]:
        """Return the values of an object by their keys."""
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        return {key: ClusterAnswer(value, self, key) for key, value in self.value.items()}

    def optional(self, name: str) -> ClusterAnswer | None:
        """Return a field of an object, None if it has none of this name."""
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        return ClusterAnswer(self.value[name], self, name) if name in self.value else None

    def field(self, *names: str) -> ClusterAnswer:
        """Return a field of an object, or of the objects within."""
        node = self
        for name in names:
            value = node.optional(name)
            if value is None:
                raise ClusterAnswer(None, node, name).wrong("a value", "nothing")
            node = value
        return node

    def elements(self, count: int | None = None) -> list[ClusterAnswer]:
        """Return the values of a list, which must have `count` values if that is given."""
        if not isinstance(self.value, list):
            raise self.wrong("a list")
        if count is not None and len(self.value) != count:
            raise self.wrong(f"a list of {count}")
        return [ClusterAnswer(value, self, position) for position, value in enumerate(self.value)]

    # Values --------------------------------------------------------------------------------------

    def text(self) -> str:
        """Return a string."""
        if not isinstance(self.value, str):
            raise self.wrong("text")
        return self.value

    def flag(self) -> bool:
        """Return true or false."""
        if not isinstance(self.value, bool):
            raise self.wrong("true or false")
        return self.value

    def integer(self, low: int = 0, high: int | None = None) -> int:
        """Return a whole number from `low` on, at most `high`."""
        value = self.value
        if type(value) is not int or value < low or (high is not None and value > high):
            most = "" if high is None else f" to {high}"
            raise self.wrong(f"a whole number from {low}{most}")
        return value

    def number(self, low: float = -math.inf, high: float = math.inf) -> float:
        """Return a finite number from `low` to `high`."""
        value = self.value
        if type(value) not in (int, float) or not _is_finite(value) or not low <= value <= high:
            bounds = "" if low == -math.inf else f" from {low:g}"
            bounds += "" if high == math.inf else f" to {high:g}"
            raise self.wrong(f"a finite number{bounds}")
        return float(value)

    def parsed(self) -> ClusterAnswer:
        """Return the JSON value encoded in a string."""
        try:
            return ClusterAnswer(_parsed(self.text()), self._parent, self._key)
        except (ValueError, RecursionError) as error:
            raise self.wrong("text that is JSON") from error

    def digits(self) -> int:
        """Return a whole number that is written as text, as settings are."""
        text = self.text()
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise self.wrong("digits")
        return int(text)


def _parsed(text: str) -> Any:
    return json.loads(text, parse_constant=_not_json)


def _not_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer of hundreds of digits
        return False


def _description(value: Any) -> str:
    if isinstance(value, dict):
        keys = ", ".join(shorten(key, 30) for key in list(value)[:_SHOWN_KEYS])
        more = ", ..." if len(value) > _SHOWN_KEYS else ""
        return f"an object with {keys}{more}" if keys else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, str):
        return f"'{shorten(' '.join(value[:200].split()), 60)}'" if value else "no text"
    return shorten(json.dumps(value), 40)


# Searches ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A document in a search's answer: its `_id`, and the rest of it."""

    id: str
    answer: ClusterAnswer

    def sort_values(self, count: int) -> list[ClusterAnswer]:
        """Return the values that the hits were sorted by."""
        return self.answer.field("sort").elements(count)

    def source(self, name: str) -> ClusterAnswer:
        """Return a field of the document as it was loaded."""
        return self.answer.field("_source", name)

    def fields(self) -> dict[str, ClusterAnswer]:
        """Return the values of the requested fields that the document has."""
        fields = self.answer.optional("fields")
        if fields is None:
            return {}
        return {name: value.elements(1)[0] for name, value in fields.entries().items()}

    def named_scores(self) -> dict[str, float]:
        """Return what each named part of the query adds to the document's score."""
        parts = self.answer.optional("matched_queries")
        entries = {} if parts is None else parts.entries()
        scores = {name: score.number() for name, score in entries.items()}
        score, added = self.answer.field("_score"), math.fsum(scores.values())
        if not math.isclose(score.number(), added, rel_tol=_ROUNDED, abs_tol=_ROUNDED):
            raise score.wrong(f"the sum of its parts, {added:g}")
        return scores


def check_shards(answer: ClusterAnswer) -> None:
    """Raise PartialAnswerError if some shards did not answer."""
    if (error := answer.optional("error")) is not None:
        kind = error.field("type").text()
        raise PartialAnswerError(f"{answer.request}: {shorten(kind, 60)}")
    shards = answer.field("_shards")
    total = shards.field("total").integer(1)
    successful = shards.field("successful").integer(0, total)
    failed = shards.field("failed").integer(0, total)
    # In a refresh, unassigned replicas count in the total but do not fail.
    searched = answer.optional("timed_out")
    if failed or not successful or (searched is not None and successful < total):
        raise _partial(answer, f"{successful} of {total} shards answered")


def _partial(answer: ClusterAnswer, problem: str) -> PartialAnswerError:
    return PartialAnswerError(f"{answer.request}: {problem}, and a partial result is not used")


def read_total(answer: ClusterAnswer, least: int = 0) -> tuple[int, bool]:
    """Return how many documents match a query, and whether that is exact or a lower bound."""
    check_shards(answer)
    if answer.field("timed_out").flag():
        raise _partial(answer, "not all shards answered in time")
    total = answer.field("hits", "total")
    relation = total.field("relation")
    exact = relation.text() == "eq"
    if not exact and relation.value != "gte":
        raise relation.wrong("eq or gte")
    return total.field("value").integer(0 if exact else least), exact


def read_count(answer: ClusterAnswer) -> int:
    """Return the exact number of documents that match a query, from an answer without hits."""
    value, exact = read_total(answer)
    if not exact:
        raise answer.field("hits", "total", "relation").wrong("eq")
    answer.field("hits", "hits").elements(0)
    return value


def read_hits(
    answer: ClusterAnswer, index: str, size: int, before: int = 0, matching: int | None = None
) -> list[SearchHit]:
    """Return the documents of one page: as many as there must be, all different.

    `size` is the largest number of hits that was asked for, `before` the number of hits on earlier
    pages, `matching` the number of documents that the query has, if that is known. Hits must have
    been counted up to `before + size`.
    """
    total, exact = read_total(answer, before + size)
    if matching is not None and (total != matching if exact else total > matching):
        raise answer.field("hits", "total", "value").wrong(str(matching))
    listed = answer.field("hits", "hits")
    expected = max(0, min(size, total - before)) if exact else size
    hits = [SearchHit(hit.field("_id").text(), hit) for hit in listed.elements()]
    if len(hits) != expected:
        raise listed.wrong(f"a list of {expected} (of {total} documents in all)")
    seen: set[str] = set()
    for hit in hits:
        if hit.id in seen:
            raise hit.answer.field("_id").wrong("another document than those before")
        seen.add(hit.id)
        if (name := hit.answer.field("_index")).text() != index:
            raise name.wrong(index)
    return hits


def read_ranking(
    hits: Sequence[SearchHit], documents: int, highest: float = math.inf
) -> Iterator[tuple[float, int]]:
    """Yield score and number of each hit: best first, ties by number.

    Numbers are below `documents`; scores are from `-highest` to `highest`.
    """
    last: tuple[float, float, int] = (math.inf, 1.0, 0)
    seen: set[int] = set()
    for hit in hits:
        first, second = hit.sort_values(2)
        score, number = first.number(-highest, highest), second.integer(0, documents - 1)
        order = score, math.copysign(1.0, score), -number  # to Java, 0.0 is more than -0.0
        if order >= last:
            expected = "a lower score than before, or a later document of the same score"
            raise hit.answer.field("sort").wrong(expected, "hits in another order")
        repeated = hit.answer.field("_score")
        if repeated.value is not None and repeated.number() != score:
            raise repeated.wrong(f"the score that it is sorted by, {score:g}")
        if number in seen:
            raise second.wrong("another document than those before")
        seen.add(number)
        last = order
        yield score, number


def read_shares(answer: ClusterAnswer, count: int, documents: int) -> list[float]:
    """Return the share of a field's values below each of `count` ascending bounds.

    `documents` is the largest number of values.
    """
    read_total(answer)
    aggregations = answer.field("aggregations")
    values = aggregations.field("all", "value").integer(1, documents)
    buckets, below = aggregations.field("below", "buckets"), 0
    shares: list[float] = []
    for bound in range(count):
        below = buckets.field(str(bound), "doc_count").integer(below, values)
        shares.append(below / values)
    return shares


# Documents ---------------------------------------------------------------------------------------


def read_documents(answer: ClusterAnswer, keys: Sequence[str]) -> list[ClusterAnswer | None]:
    """Return the sources of documents requested by `_id`, None for missing ones."""
    sources: list[ClusterAnswer | None] = []
    for key, row in zip(keys, answer.field("docs").elements(len(keys)), strict=True):
        if row.field("_id").text() != key:
            raise row.field("_id").wrong(shorten(key, 60))
        if (error := row.optional("error")) is not None:
            raise error.wrong("a document")
        sources.append(row.field("_source") if row.field("found").flag() else None)
    return sources


@dataclass(frozen=True, slots=True)
class BulkResult:
    """The outcome for one document that was sent; `error` is its type, `reason` the details."""

    status: int
    error: str
    reason: str


def read_bulk(answer: ClusterAnswer, action: str, keys: Sequence[str]) -> list[BulkResult]:
    """Return the outcome for each document, in the order of sending."""
    results: list[BulkResult] = []
    for key, item in zip(keys, answer.field("items").elements(len(keys)), strict=True):
        row = item.field(action)
        if row.field("_id").text() != key:
            raise row.field("_id").wrong(shorten(key, 60))
        status, error = row.field("status"), row.optional("error")
        if (status.integer(100, 599) < 300) != (error is None):
            raise status.wrong("a status that fits the item's error")
        kind = "" if error is None else error.field("type").text()
        reason = None if error is None else error.optional("reason")
        detail = "" if reason is None or reason.value is None else reason.text()
        results.append(BulkResult(status.value, kind, detail))
    errors = answer.field("errors")
    if errors.flag() != any(result.error for result in results):
        raise errors.wrong("true exactly if an item has an error")
    return results


# Indexes -----------------------------------------------------------------------------------------


def check_acknowledged(answer: ClusterAnswer) -> None:
    """Reject a change that the cluster has not confirmed."""
    done = answer.field("acknowledged")
    if not done.flag():
        raise done.wrong("true")


def read_settings(answer: ClusterAnswer, index: str) -> tuple[int, int]:
    """Return the number of shards of an index, and of further copies of each."""
    settings = answer.field(index, "settings")
    shards = settings.field("index.number_of_shards").digits()
    return shards, settings.field("index.number_of_replicas").digits()
