"""One load of an index of a cluster, from its making to the switch of its name."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pnyx.core.errors import IndexFolderError, InputError
from pnyx.core.records import Evidence
from pnyx.formats.text.tokens import Tokenizer
from pnyx.judging.students.surface_quality import TextQuality, predictions
from pnyx.search.document_quality import rated_text
from pnyx.search.features.clusters import Clusters
from pnyx.search.features.topic_points import nearest_centroids
from pnyx.search.features.vectors import VECTORS, vector_meta
from pnyx.search.lexical import record_codec
from pnyx.search.opensearch import schema
from pnyx.search.opensearch.aliases import behind, check_version
from pnyx.search.opensearch.answers import (
    ClusterAnswer,
    check_acknowledged,
    check_shards,
    read_settings,
)
from pnyx.search.opensearch.bulk import Bulk, OtherCorpusError, Row, check_same
from pnyx.search.opensearch.client import Cluster, ClusterAddress
from pnyx.search.opensearch.index import RemoteIndex
from pnyx.search.opensearch.ranking import EVERY
from pnyx.search.opensearch.stored_topics import put_topics, topics_of

if TYPE_CHECKING:
    from pnyx.models.embed.embedder import Embedder

_BATCH: Final = 500
_BATCH_BYTES: Final = 5_000_000
_PROGRESS_EVERY: Final = 1000

Carried = tuple[Evidence, dict[str, Any]]
"""A record with the fields of the features it already has."""


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """How an index is loaded.

    Attributes:
        language: how words are stemmed.
        fields: searched in addition to title and text.
        shards: parts of the index, at least 1.
        replicas: further copies of each part, each on another node.
        quality: predicts the quality of documents; None if they have one or get none.
        embedder: embeds documents; None likewise.
        replace: whether an index of that name is replaced once the new one is complete.
    """

    language: str = "english"
    fields: tuple[str, ...] = ()
    shards: int = 1
    replicas: int = 0
    quality: TextQuality | None = None
    embedder: Embedder | None = None
    replace: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadStats:
    """What an index contains after a load, and what the load did."""

    documents: int
    added: int
    tokens: int
    bytes: int
    shards: int
    seconds: float
    waited: float


class Loading:
    """One load: creates a new index and finally switches the name to it."""

    def __init__(self, where: str) -> None:
        self.address = ClusterAddress.parse(where)
        self.cluster = Cluster(self.address)
        check_version(self.cluster)
        self._found = self.cluster.ask("GET", f"/{self.address.name}-v*").entries()
        self._described: ClusterAnswer | None = None
        self.live = self._live()
        self.concrete = ""
        self.meta: dict[str, Any] = {}
        self._topics: Clusters | None = None
        self._resumed = False

    def _live(self) -> str | None:
        """Return the index that has the name now; reject an index that Pnyx did not make."""
        response = self.cluster.exists("GET", f"/{self.address.name}")
        if response is None:
            return None
        concrete, index = behind(self.cluster)
        schema.check_own(index, str(self.address))
        if concrete == self.address.name:
            raise IndexFolderError("is an index itself, expected an alias", path=str(self.address))
        self._described = index
        return concrete

    def _unfinished(self) -> str | None:
        """Return the newest index that no alias points to yet."""
        name_pattern = re.compile(re.escape(self.address.name) + r"-v\d{6,}")
        names = sorted(name for name in self._found if name_pattern.fullmatch(name))
        newest = names[-1] if names else None
        return None if newest == self.live else newest

    def _next(self) -> str:
        numbers = [int(m[1]) for n in self._found if (m := re.fullmatch(r".*-v(\d{6,})", n))]
        return f"{self.address.name}-v{max(numbers, default=0) + 1:06d}"

    def begin(
        self,
        plan: LoadPlan,
        features: Mapping[str, Any] | None = None,
        topics: Clusters | None = None,
    ) -> None:
        """Make the new index, or resume one that was begun with the same choices."""
        if self.live is not None and not plan.replace:
            raise InputError("exists already: --force replaces it", path=str(self.address))
        feature_meta = dict(features or {})
        if plan.quality is not None and "quality" not in feature_meta:
            feature_meta["quality"] = {"model": plan.quality.name, "neutral": plan.quality.neutral}
        if plan.embedder is not None and VECTORS not in feature_meta:
            feature_meta[VECTORS] = vector_meta(plan.embedder)
        self._topics = topics
        self.meta = {
            "format": schema.FORMAT,
            "tokenizer": Tokenizer(plan.language).to_manifest(),
            "fields": list(plan.fields),
            "features": feature_meta,
            "first": 0,
            "complete": False,
        }
        if (unfinished := self._unfinished()) is not None:
            if self._has_choices(self._found[unfinished]):
                self.concrete, self._resumed = unfinished, True
                return
            self._drop(unfinished, plan)
        self.concrete = self._next()
        body = {
            "settings": schema.settings_of(plan.shards, plan.replicas),
            "mappings": schema.mapping_of(self.meta),
        }
        check_acknowledged(self.cluster.ask("PUT", f"/{self.concrete}", body))

    def _has_choices(self, unfinished: ClusterAnswer) -> bool:
        """Whether a load was begun with the same choices as this one."""
        try:
            meta = schema.meta_of(unfinished, str(self.address))
        except IndexFolderError:  # by another version of Pnyx
            return False
        return bool(_choices(meta) == _choices(self.meta))

    def _drop(self, unfinished: str, plan: LoadPlan) -> None:
        if not plan.replace:
            problem = "a load with other choices is unfinished: --force deletes it"
            raise InputError(problem, path=str(self.address))
        path = f"/{unfinished},{topics_of(unfinished)}*"
        check_acknowledged(self.cluster.ask("DELETE", path))

    def begin_adding(self, plan: LoadPlan) -> None:
        """Make a copy of the index, or resume one that was begun."""
        if self.live is None or self._described is None:
            raise IndexFolderError("is not there", path=str(self.address))
        live_meta = schema.meta_of(self._described, str(self.address))
        self.meta = dict(live_meta) | {
            "first": live_meta["statistics"]["documents"],
            "complete": False,
        }
        for name, maker in (("quality", plan.quality), (VECTORS, plan.embedder)):
            count = live_meta["features"].get(name, {}).get("documents", self.meta["first"])
            if maker is not None and count != self.meta["first"]:
                problem = f"has {name} of {count} of its {self.meta['first']} documents"
                raise InputError(f"{problem}: --update --{name} first", path=str(self.address))
        if "clusters" in live_meta["features"]:
            self._topics = RemoteIndex(self.cluster, self.live, live_meta).clusters
        unfinished = self._unfinished()
        if unfinished is not None:
            unfinished_meta = schema.meta_of(self._found[unfinished], str(self.address))
            other_first = unfinished_meta.get("first") != self.meta["first"]
            if other_first and unfinished_meta.get("content") != live_meta["content"]:
                problem = "another load is unfinished: run its command to continue it"
                raise InputError(problem, path=str(self.address))
        self._resumed = unfinished is not None
        self.concrete = unfinished or self._next()
        if unfinished is None:
            _, replicas = self.settings(self.live)  # which are not cloned
            settings = {"index.blocks.write": False, "index.number_of_replicas": replicas}
            body = {"settings": settings}
            path = f"/{self.live}/_clone/{self.concrete}"
            waits: dict[str, Any] = {"seconds": 300.0, "wait_for_active_shards": "1"}
            check_acknowledged(self.cluster.ask("PUT", path, body, **waits))
        self._put_meta()

    def settings(self, index: str) -> tuple[int, int]:
        """Return the number of shards of an index, and of further copies of each."""
        answer = self.cluster.ask("GET", f"/{index}/_settings", flat_settings="true")
        return read_settings(answer, index)

    def _put_meta(self) -> None:
        body = {"_meta": schema.described(self.meta)}
        check_acknowledged(self.cluster.ask("PUT", f"/{self.concrete}/_mapping", body))

    # Documents -----------------------------------------------------------------------------------

    def run(
        self, records: Iterable[Carried], plan: LoadPlan, on_progress: Callable[[int], None] | None
    ) -> LoadStats:
        """Load the records and let the new index take the name."""
        started, first = time.perf_counter(), self.meta["first"]
        bulk = Bulk(self.cluster, self.concrete)
        state = _Counted(self.meta, on_progress)
        if self._resumed:
            self._refresh()
        try:
            for batch in _batches(self._rows(records, state)):
                self._send(bulk, batch, plan)
                state.told(batch[-1][0]["number"] + 1 - first)
            if state.documents == first:
                raise InputError("found no records, expected at least one")
            size, shards = self._finish(state, plan)
        except OtherCorpusError as error:
            raise self._other_corpus(error, plan) from error
        except InputError:
            if first:  # a copy to add to is quickly made again
                self._drop(self.concrete, replace(plan, replace=True))
            raise
        return LoadStats(
            documents=state.documents,
            added=state.documents - first,
            tokens=state.tokens,
            bytes=size,
            shards=shards,
            seconds=time.perf_counter() - started,
            waited=bulk.waited,
        )

    def _rows(self, records: Iterable[Carried], state: _Counted) -> Iterator[tuple[Row, Evidence]]:
        tokenizer = Tokenizer.from_manifest(self.meta["tokenizer"])
        fields = self.meta["fields"]
        for number, (record, carried) in enumerate(records, start=self.meta["first"]):
            line = record_codec.encode(record, number=number + 1)
            terms = tokenizer.terms(record_codec.searched_text(record, fields))
            row: Row = {"_id": schema.key_of(record.id), "number": number}
            row |= {"digest": schema.digest_of(line), "length": schema.kept_length(len(terms))}
            if terms:
                row["terms"] = schema.as_terms(terms)
            state.count(row, len(terms), record)
            yield row | carried | {"record": line.decode().rstrip("\n")}, record

    def _send(self, bulk: Bulk, batch: list[tuple[Row, Evidence]], plan: LoadPlan) -> None:
        if self._resumed:
            first, last = batch[0][0]["number"], batch[-1][0]["number"]
            loaded = bulk.loaded(first, last + 1)
            for row, _ in batch:
                if row["number"] in loaded:
                    check_same(row, *loaded[row["number"]])
            batch = [item for item in batch if item[0]["number"] not in loaded]
        if not batch:
            return
        rows, records = [row for row, _ in batch], [record for _, record in batch]
        self._with_features(rows, records, plan)
        bulk.create(rows)

    def _with_features(self, rows: list[Row], records: list[Evidence], plan: LoadPlan) -> None:
        missing = [at for at, row in enumerate(rows) if "quality" not in row]
        if plan.quality is not None and missing:
            texts = [rated_text(records[at]) for at in missing]
            for at, value in zip(
                missing, predictions(plan.quality, texts)[0].tolist(), strict=True
            ):
                rows[at]["quality"] = value
        missing = [at for at, row in enumerate(rows) if "vector" not in row]
        if plan.embedder is None or not missing:
            return
        vectors = plan.embedder.encode([record_codec.searched_text(records[at]) for at in missing])
        for at, vector in zip(missing, vectors, strict=True):
            rows[at]["vector"] = schema.coded(vector.astype(np.float16))
        if self._topics is not None and self._assigns(plan):
            near, _ = nearest_centroids(vectors, self._topics.centroids)
            for at, number in zip(missing, near.tolist(), strict=True):
                rows[at]["cluster"] = number

    def _assigns(self, plan: LoadPlan) -> bool:
        """Whether added documents get topics: those nearest to their vectors."""
        if self._topics is None or not self.meta["first"] or plan.embedder is None:
            return False
        if self.meta["features"]["clusters"]["documents"] != self.meta["first"]:
            return False
        return self._topics.space == "text" and self._topics.embedder == plan.embedder.name

    def _other_corpus(self, error: OtherCorpusError, plan: LoadPlan) -> InputError:
        """Return the error for an unfinished load of another corpus, deleting it if requested."""
        if plan.replace or self.meta["first"]:
            self._drop(self.concrete, replace(plan, replace=True))
            return InputError(f"{error.problem}: the unfinished load was deleted, start again")
        problem = "an unfinished load is of another corpus; --force deletes it"
        return InputError(f"{error.problem}: {problem}", path=str(self.address))

    # The end -------------------------------------------------------------------------------------

    def _finish(self, state: _Counted, plan: LoadPlan) -> tuple[int, int]:
        """Check that all documents are there, and put the new index in place of the old.

        Returns its bytes and its shards.
        """
        self._refresh()
        there = self.cluster.count(self.concrete, EVERY)
        if there != state.documents:
            problem = f"{there:,} documents are there, expected {state.documents:,}"
            raise OtherCorpusError(problem)
        having = self.cluster.count(self.concrete, {"exists": {"field": "terms"}})
        counts = {"documents": there, "documents_with_terms": having, "tokens": state.tokens}
        if state.passages:
            counts["passages"] = state.passages
        rated = self.cluster.count(self.concrete, {"exists": {"field": "quality"}})
        counts["documents_with_quality"] = rated
        features = {name: dict(feature) for name, feature in self.meta["features"].items()}
        complete = {"quality": plan.quality is not None, VECTORS: plan.embedder is not None}
        complete["clusters"] = self._assigns(plan)
        for name, feature in features.items():
            if complete[name] or "documents" not in feature:
                feature["documents"] = there
        shards, replicas = self.settings(self.concrete)
        if self._topics is not None:
            put_topics(self.cluster, self.concrete, self._topics, replicas)
        self.meta |= {"statistics": counts, "features": features, "content": state.content}
        self.meta |= {"complete": True}
        self._put_meta()
        fixed = {"index.blocks.write": True}
        check_acknowledged(self.cluster.ask("PUT", f"/{self.concrete}/_settings", fixed))
        check_shards(self.cluster.ask("POST", f"/{self.concrete}/_flush", seconds=300.0))
        # Before the switch: an error after it would hide that the index is already in place.
        store = self.cluster.ask("GET", f"/{self.concrete}/_stats/store").field("_all", "primaries")
        size = store.field("store", "size_in_bytes").integer()
        self._switch()
        return size, shards

    def _refresh(self) -> None:
        path = f"/{self.concrete}/_refresh"
        check_shards(self.cluster.ask("POST", path, seconds=300.0))

    def _switch(self) -> None:
        alias = {"index": self.concrete, "alias": self.address.name}
        actions: list[Any] = [{"add": alias}]
        if self.live is not None:
            actions.append({"remove_index": {"index": self.live}})
        check_acknowledged(self.cluster.ask("POST", "/_aliases", {"actions": actions}))
        if self.live is not None:
            self.cluster.exists("DELETE", f"/{topics_of(self.live)}")


class _Counted:
    """Counts of the documents read so far, including those already in the index."""

    def __init__(self, meta: Mapping[str, Any], on_progress: Callable[[int], None] | None) -> None:
        before = meta.get("statistics", {}) if meta["first"] else {}
        self.documents: int = meta["first"]
        self.tokens: int = before.get("tokens", 0)
        self.passages: int = before.get("passages", 0)
        self._hash = hashlib.blake2b(str(meta.get("content", "")).encode(), digest_size=16)
        self._on_progress, self._last = on_progress, 0

    def count(self, row: Row, terms: int, record: Evidence) -> None:
        """Count a document."""
        self.documents += 1
        self.passages += record.passage is not None and record.passage.is_part
        self.tokens += terms
        self._hash.update(json.dumps([row["_id"], row["digest"]]).encode() + b"\n")

    @property
    def content(self) -> str:
        """The identity of the documents."""
        return self._hash.hexdigest()

    def told(self, read: int) -> None:
        """Report how many records were read."""
        if self._on_progress is not None and read >= self._last + _PROGRESS_EVERY:
            self._last = read
            self._on_progress(read)


def _batches(
    rows: Iterable[tuple[Row, Evidence]],
) -> Iterator[list[tuple[Row, Evidence]]]:
    batch: list[tuple[Row, Evidence]] = []
    size = 0
    for item in rows:
        batch.append(item)
        size += len(item[0]["record"]) + len(item[0].get("terms", ""))
        if len(batch) >= _BATCH or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _choices(meta: Mapping[str, Any]) -> Any:
    """Return the settings that two loads must share so that one can resume the other."""
    features = {
        name: {k: v for k, v in feature.items() if k != "documents"}
        for name, feature in meta["features"].items()
    }
    return meta["tokenizer"], meta["fields"], features, meta["first"]
