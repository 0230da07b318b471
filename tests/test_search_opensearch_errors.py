"""A cluster that is busy, refuses, or holds something else: what is tried again, what is said."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from index_fixture import Fake
from opensearch_conversations import DOCUMENTS, NAME, Exchange, Replay, recorded
from opensearch_front import front
from pnyx.core.errors import IndexFolderError, InputError, PnyxError
from pnyx.core.records import Document
from pnyx.formats.text.tokens import Tokenizer
from pnyx.judging.students.surface_quality import QualityModel
from pnyx.search.engine import TopicQuery
from pnyx.search.opensearch import aliases, bulk, schema
from pnyx.search.opensearch.answers import ClusterAnswer, PartialAnswerError, SearchHit
from pnyx.search.opensearch.bulk import Bulk, OtherCorpusError, check_same
from pnyx.search.opensearch.client import Cluster, ClusterAddress, OverloadedError
from pnyx.search.opensearch.documents import StoredDocuments
from pnyx.search.opensearch.index import RemoteIndex
from pnyx.search.opensearch.load import LoadPlan, load
from pnyx.search.opensearch.loader import _Counted
from pnyx.search.plan import Scoring

pytest.importorskip("opensearchpy")
RECORDED = recorded()
FIRST = f"{NAME}-v000001"


def answer(value: Any) -> ClusterAnswer:
    return ClusterAnswer(value, None, "opensearch://h:1/x: POST /y/_search")


# Sending documents --------------------------------------------------------------------------------


class Clock:
    """Time that passes only where somebody waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self.pauses: list[float] = []
        monkeypatch.setattr(bulk.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(bulk.time, "sleep", self.sleep)
        monkeypatch.setattr(bulk.random, "uniform", lambda low, high: (low + high) / 2)

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


class Busy:
    """A cluster that takes so many documents of a request, and is too busy for the others."""

    address = "h:1"

    def __init__(self, *takes: int | Exception, status: int = 429, error: str = "rejected") -> None:
        self.takes, self.sizes = list(takes), list[int]()
        self.status, self.error = status, error

    def lines(self, _: str, lines: list[dict[str, Any]], **__: Any) -> ClusterAnswer:
        ids = [line["create"]["_id"] for line in lines[::2]]
        self.sizes.append(len(ids))
        take = self.takes.pop(0) if self.takes else len(ids)
        if isinstance(take, Exception):
            raise take
        items = [{"create": {"_id": i, "status": 201}} for i in ids[:take]]
        error = {"type": self.error, "reason": "because"}
        items += [{"create": {"_id": i, "status": self.status, "error": error}}
                  for i in ids[take:]]  # fmt: skip
        return answer({"errors": take < len(ids), "items": items})


def rows(count: int) -> list[dict[str, Any]]:
    return [{"_id": f"d{n}", "number": n, "digest": f"x{n}"} for n in range(count)]


@pytest.mark.parametrize(
    ("takes", "sizes"),
    [
        ([8], [8]),
        ([0], [8, 4, 4]),
        ([0, 0, 0, 0], [8, 4, 2, 1, 1, 2, 4, 1]),
        ([6], [8, 2]),
        ([OverloadedError("x"), PartialAnswerError("x")], [8, 4, 2, 4, 2]),
    ],
)
def test_a_busy_cluster_gets_half_and_then_twice_as_many(monkeypatch, takes, sizes):
    clock, cluster = Clock(monkeypatch), Busy(*takes)
    sending: Any = Bulk(cluster, "y")  # type: ignore[arg-type]
    sending.create(rows(8))
    assert cluster.sizes == sizes
    assert sending.waited == pytest.approx(sum(clock.pauses))
    assert len(clock.pauses) == len([take for take in takes if take != 8])


def test_the_waits_grow_to_half_a_minute_and_end_after_ten_minutes(monkeypatch):
    """Each wait is 0.2 s and half of the time since something was accepted."""
    clock = Clock(monkeypatch)
    cluster: Any = Busy(*[0] * 100)
    with pytest.raises(PnyxError, match=r"accepted nothing for 6\d\d s; run the same command"):
        Bulk(cluster, "y").create(rows(1))
    assert clock.pauses[:3] == pytest.approx([0.2, 0.3, 0.45])
    assert max(clock.pauses) == 30.0
    assert 600 < clock.now - 100 <= 630


@pytest.mark.parametrize(
    ("status", "error", "problem"),
    [
        (403, "cluster_block_exception", "h:1: is blocked: because"),
        (400, "mapper_parsing_exception", "rejects document 2: mapper_parsing_exception: because"),
    ],
)
def test_a_document_that_is_refused_for_good_is_named(monkeypatch, status, error, problem):
    Clock(monkeypatch)
    cluster: Any = Busy(1, status=status, error=error)
    with pytest.raises(PnyxError, match=problem):
        Bulk(cluster, "y").create(rows(2))
    assert cluster.sizes == [2]


@pytest.mark.parametrize(("status", "error"), [(503, "x"), (500, "circuit_breaking_exception")])
def test_other_signs_of_a_busy_cluster(monkeypatch, status, error):
    Clock(monkeypatch)
    cluster: Any = Busy(1, status=status, error=error)
    Bulk(cluster, "y").create(rows(2))
    assert cluster.sizes == [2, 1]


@pytest.mark.parametrize(
    ("stored", "error", "problem"),
    [
        ({"number": 4, "digest": "x"}, None, ""),
        ({"number": 4, "digest": "z"}, OtherCorpusError, r"record 5 \(a\) is not the one"),
        ({"number": 2, "digest": "x"}, InputError, "records 3 and 5 have the same id 'a'"),
        ({"number": 9, "digest": "x"}, InputError, "records 5 and 10 have the same id 'a'"),
    ],
)
def test_a_document_that_is_there_already_must_be_the_same(stored, error, problem):
    row = {"_id": "a", "number": 4, "digest": "x"}
    if error is None:
        check_same(row, "a", stored)
        with pytest.raises(OtherCorpusError):
            check_same(row, "b", stored)
    else:
        with pytest.raises(error, match=problem):
            check_same(row, "a", stored)


def test_progress_is_reported_each_thousand_records():
    reported: list[int] = []
    state = _Counted({"first": 0}, reported.append)
    for read in (500, 999, 1000, 1999, 2000, 2500):
        state.told(read)
    assert reported == [1000, 2000]


# Errors of the cluster ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind", "problem"),
    [
        (401, "security_exception", "rejects user and password (PNYX_OPENSEARCH_USER"),
        (403, "security_exception", "the user has no permission for this"),
        (403, "cluster_block_exception", "is blocked: because"),
        (404, "index_not_found_exception", "is not there"),
        (429, "cluster_block_exception", "is blocked: because"),
        (429, "es_rejected_execution_exception", "is overloaded (es_rejected_execution_exception)"),
        (500, "circuit_breaking_exception", "is overloaded (circuit_breaking_exception)"),
        (503, "x", "some shards are unavailable (x)"),
        (500, "node_closed_exception", "some shards are unavailable (node_closed_exception)"),
        (400, "parsing_exception", "parsing_exception: because"),
        (500, "", "status 500"),
    ],
)
def test_an_error_of_the_cluster_is_one_line(status, kind, problem):
    gone: list[int] = []
    address = ClusterAddress.parse("opensearch://h:1/x")
    cluster = Cluster(address, lambda: gone.append(1))
    error = cluster._refusal(status, {"error": {"type": kind, "reason": "because"}} if kind else {})
    assert problem in str(error)
    assert bool(gone) is (status == 404)


# The name of an index -----------------------------------------------------------------------------


def test_a_name_is_resolved_again_in_the_background_after_five_seconds(monkeypatch):
    now, resolved, background = [100.0], list[str](), list[Any]()

    def resolve(where: str) -> str:
        resolved.append(where)
        aliases._STATES[where] = now[0], "x-v000001"
        return "x-v000001"

    monkeypatch.setattr(aliases, "_STATES", {})
    monkeypatch.setattr(aliases, "_resolve", resolve)
    monkeypatch.setattr(aliases, "start_thread", lambda action, _: background.append(action))
    monkeypatch.setattr(aliases.time, "monotonic", lambda: now[0])
    where = "opensearch://h:1/x"
    for seconds, threads in ((0.0, 0), (4.9, 0), (0.1, 1), (0.0, 1), (5.0, 2)):
        now[0] += seconds
        assert aliases.remote_state(where) == ("x-v000001",)
        assert len(background) == threads
    assert resolved == [where]
    background[0]()
    assert resolved == [where] * 2
    aliases.forget(where)
    assert aliases.remote_state(where) == ("x-v000001",)
    assert resolved == [where] * 3


def test_a_name_that_cannot_be_resolved_is_an_error_of_the_system(monkeypatch):
    def fail(_: str) -> str:
        raise PnyxError("cannot be reached")

    monkeypatch.setattr(aliases, "_STATES", {})
    monkeypatch.setattr(aliases, "_resolve", fail)
    with pytest.raises(OSError, match="cannot be reached"):
        aliases.remote_state("opensearch://h:1/x")
    aliases._resolve_quietly("opensearch://h:1/x")  # in the background, nothing is said


# Loading ------------------------------------------------------------------------------------------


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setattr(bulk.Bulk.__init__, "__kwdefaults__", {"patience": 0.0})
    with front("nowhere") as own:
        yield own


def loaded(cluster: Any, talk: str, documents: Any, **more: Any) -> list[tuple[str, str]]:
    """Load documents while a talk is replayed; return what was asked."""
    cluster.asked.clear()
    replayed = [*RECORDED[talk], Exchange("DELETE", f"/{FIRST},{FIRST}-topics*", 200,
                                          {"acknowledged": True})]  # fmt: skip
    cluster.refuse = Replay(replayed)
    plan = LoadPlan(**{"embedder": Fake(), "quality": QualityModel.load(), **more})
    load(documents, f"opensearch://{cluster.address}/{NAME}", plan)
    return list(cluster.asked)


OTHER = [Document("other", "Another text."), *DOCUMENTS[1:]]


@pytest.mark.parametrize(
    ("talk", "documents", "more", "problem", "deleted"),
    [
        ("load", [], {}, "found no records, expected at least one", False),
        ("resumed", OTHER, {}, "unfinished load is of another corpus; --force deletes it", False),
        ("resumed", OTHER, {"replace": True}, "unfinished load was deleted, start again", True),
        (
            "resumed",
            DOCUMENTS,
            {"embedder": None},
            "a load with other choices is unfinished",
            False,
        ),
        ("added", DOCUMENTS, {}, "exists already: --force replaces it", False),
    ],
)
def test_a_load_that_cannot_end_says_why(cluster, talk, documents, more, problem, deleted):
    with pytest.raises(PnyxError, match=problem):
        loaded(cluster, talk, documents, **more)
    asked = cluster.asked
    assert ("POST", "/_aliases") not in asked
    assert any(method == "DELETE" for method, _ in asked) is deleted


# Reading ------------------------------------------------------------------------------------------


def remote(cluster: Any = None, **features: Any) -> RemoteIndex:
    """Return an index of ten documents with features."""
    meta = {
        "statistics": {"documents": 10, "documents_with_terms": 10, "tokens": 100,
                       "documents_with_quality": 10},
        "tokenizer": Tokenizer().to_manifest(), "features": features, "content": "c0ffee",
    }  # fmt: skip
    cluster = cluster or SimpleNamespace(address=ClusterAddress.parse("opensearch://h:1/x"))
    return RemoteIndex(cluster, "x-v000001", meta)


VECTORS = {"embedder": "fake", "dimensions": 8, "documents": 10}
QUALITY = {"model": "surface", "neutral": 0.5, "documents": 10}
TOPICS = {"embedder": "fake", "space": "text", "k": 2, "without": 0, "documents": 10}


def test_what_is_known_of_an_index():
    index = remote(vectors=VECTORS, quality=QUALITY)
    assert (index.name, len(index), index.known_by) == ("index x", 10, "c0ffee")
    assert index.feature_info("vectors") == (10, "fake")
    assert index.feature_info("quality") == (10, "surface")
    assert index.feature_info("clusters") is None
    assert index.feature_info("passages") is None
    assert "" not in index
    assert 7 not in index
    with pytest.raises(ValueError, match="auto is not a model"):
        index.retrieve("tea", Scoring(), 1)


def test_a_feature_that_is_missing_or_not_of_all_documents_is_named():
    with pytest.raises(InputError, match="has no quality: pnyx index --update INDEX --quality"):
        remote().quality(["a"])
    with pytest.raises(InputError, match="the index has no vectors: pnyx index --update"):
        remote().vectors(["a"])
    some = remote(vectors={**VECTORS, "documents": 9})
    with pytest.raises(InputError, match="has vectors of 9 of its 10 documents: pnyx index"):
        some.nearest(np.ones(8, dtype=np.float32), 1)
    with pytest.raises(InputError, match="needs an embedder"):
        remote(vectors=VECTORS).retrieve("tea", Scoring("dense"), 1)


def test_a_question_without_words_has_no_documents():
    index = remote(vectors=VECTORS, quality=QUALITY, clusters=TOPICS)
    assert index.retrieve(" ", Scoring("dense"), 3, Fake()) == []
    assert index.retrieve("?", Scoring("bm25"), 3) == []
    assert index.retrieve(" ", Scoring("hybrid"), 3, Fake()) == []
    assert index.retrieve("?", Scoring("touche", {"wc": 0.0}), 3, Fake()) == []
    assert index.cosines(" ", ["a"], Fake()).tolist() == [0.0]
    assert index.cosines("tea", [], Fake()).tolist() == []


def test_topics_that_do_not_fit_the_question_are_not_used():
    query = TopicQuery("tea", np.ones(8, dtype=np.float32), "other", 0.0, 3)
    assert remote().on_topics(query) == ([], [])
    found, (problem,) = remote(clusters=TOPICS).on_topics(query)
    assert (found, "made with fake and not with other, are not used" in problem) == ([], True)
    behind = {**TOPICS, "documents": 9}
    _, (problem,) = remote(clusters=behind).on_topics(replace(query, embedder="fake"))
    assert "documents were added after they were made" in problem


class Pages:
    """A cluster that returns rows of documents by their numbers."""

    address = ClusterAddress.parse("opensearch://h:1/x")

    def __init__(self, numbers: list[int], **fields: Any) -> None:
        self.numbers, self.fields, self.sizes = numbers, fields, list[int]()

    def hits(self, _: str, body: dict[str, Any]) -> list[SearchHit]:
        self.sizes.append(body["size"])
        return [SearchHit(f"d{n}", answer({"_source": {"number": n}, "fields": self.fields}))
                for n in self.numbers]  # fmt: skip


def stored(cluster: Any, documents: int = 3) -> StoredDocuments:
    counts = {"documents": documents, "documents_with_quality": documents}
    features = {"clusters": {"k": 2, "documents": documents, "without": 0}}
    return StoredDocuments(cluster, "y", {"statistics": counts, "features": features})


@pytest.mark.parametrize(
    ("numbers", "problem"),
    [
        ([0, 1, 2], ""),
        ([0, 2], "document 2 is not there"),
        ([0, 1], "document 3 is not there"),
        ([1, 2], "document 1 is not there"),
        ([0, 0, 1], "expected at least 1, as hits are sorted by it"),
    ],
)
def test_every_document_of_a_page_must_be_there(numbers, problem):
    topics = stored(Pages(numbers, cluster=[1])).topics(3)
    if not problem:
        assert list(topics) == [1, 1, 1]
    else:
        with pytest.raises(PnyxError, match=problem):
            list(topics)


@pytest.mark.parametrize("cluster_number", [2, -1, 0.5, "0"])
def test_a_topic_must_be_one_of_the_index(cluster_number):
    with pytest.raises(PnyxError):
        list(stored(Pages([0, 1, 2], cluster=[cluster_number])).topics(3))
    with pytest.raises(PnyxError, match="a value of cluster"):
        list(stored(Pages([0, 1, 2])).topics(3))


def test_documents_are_read_in_pages_of_500():
    cluster = Pages([])
    for count, sizes in ((500, [500]), (501, [500])):
        cluster.sizes.clear()
        cluster.numbers = list(range(500))
        cluster.fields = {"cluster": [0]}
        pages = stored(cluster, count).topics(count)
        assert [next(pages) for _ in range(500)] == [0] * 500
        assert cluster.sizes == sizes
    with pytest.raises(PnyxError):
        next(pages)
    assert cluster.sizes == [500, 1]


def test_a_record_that_has_changed_is_named_by_its_number():
    record = '{"kind": "document", "id": "a", "text": "Tea."}'
    source = {"number": 0, "record": record, "digest": schema.digest_of(f"{record}\n".encode())}
    hits = [SearchHit("a", answer({"_source": source, "fields": {"cluster": [1]}}))]
    cluster: Any = SimpleNamespace(address=Pages.address, hits=lambda *_: hits)
    counts = {"documents": 1, "documents_with_quality": 1}
    features = {"clusters": {"k": 2, "documents": 1, "without": 0}}
    documents = StoredDocuments(cluster, "y", {"statistics": counts, "features": features})
    assert list(documents.rows()) == [(Document("a", "Tea."), {"cluster": 1})]
    assert list(documents.records_at([0, 0])) == [Document("a", "Tea.")] * 2
    for name, value in (("digest", "0"), ("record", "{"), ("record", record.replace("a", "b"))):
        source[name], before = value, source[name]
        for read in (documents.rows, lambda: documents.records_at([0])):
            with pytest.raises(IndexFolderError, match="document 1 has changed since it was"):
                list(read())
        source[name] = before
    with pytest.raises(IndexFolderError, match="document 3 is not there"):
        list(documents.records_at([0, 2]))
