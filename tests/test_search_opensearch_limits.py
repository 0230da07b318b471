"""Limits of an index in OpenSearch: the last value before each, and the first after."""

from __future__ import annotations

import json
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pnyx.core.errors import IndexFolderError, InputError, PnyxError
from pnyx.formats.text.tokens import Tokenizer
from pnyx.search.features.clusters import Clusters
from pnyx.search.features.topic_points import ClusterLabel
from pnyx.search.opensearch import schema
from pnyx.search.opensearch.aliases import check_version
from pnyx.search.opensearch.answers import ClusterAnswer, SearchHit, read_ranking
from pnyx.search.opensearch.client import ClusterAddress
from pnyx.search.opensearch.ranking import RemoteRanking
from pnyx.search.opensearch.stored_topics import put_topics, read_topics


def answer(value: Any) -> ClusterAnswer:
    return ClusterAnswer(value, None, "opensearch://h:1/x: POST /y/_search")


@pytest.mark.parametrize(
    ("number", "allowed"),
    [
        ("2.19.0", True),
        ("2.18.9", False),
        ("2.9", False),
        ("1.20.0", False),
        ("3.0.0", True),
        ("10.1", True),
        ("2", False),
        ("2.x", False),
    ],
)
def test_opensearch_2_19_is_the_oldest(number, allowed):
    version = answer({"version": {"distribution": "opensearch", "number": number}})
    cluster: Any = SimpleNamespace(address="h:1", ask=lambda *_: version)
    if allowed:
        check_version(cluster)
    else:
        with pytest.raises(PnyxError, match=f"is OpenSearch {number}, expected 2.19 or newer"):
            check_version(cluster)


@pytest.mark.parametrize(
    ("keys", "shown"), [("", "an empty object"), ("abcd", "an object with a, b, c, d"),
                        ("abcde", "an object with a, b, c, d, ...")],
)  # fmt: skip
def test_four_keys_of_an_unexpected_object_are_named(keys, shown):
    with pytest.raises(PnyxError) as error:
        answer(dict.fromkeys(keys, 1)).text()
    assert f"expected text, found {shown}; " in str(error.value)


def ranking(documents: int = 1000, cluster: Any = None) -> RemoteRanking:
    counts = {"documents": documents, "documents_with_terms": documents, "tokens": 10 * documents}
    meta = {"statistics": counts, "tokenizer": Tokenizer().to_manifest()}
    return RemoteRanking(cluster, "y", meta)


def test_a_question_has_at_most_1000_different_words():
    words = [f"word{n}" for n in range(1001)]
    query = ranking().words(" ".join([*words[:1000], "word0"]), "bm25", {})
    assert query is not None
    clauses = query["bool"]["should"]
    assert len(clauses) == 1000
    assert [clause["term"]["terms.bm25"]["boost"] for clause in clauses[:2]] == [2, 1]
    with pytest.raises(InputError, match="has 1,001 different words, expected at most 1,000"):
        ranking().words(" ".join(words), "bm25", {})
    assert ranking().words("?", "bm25", {}) is None


@pytest.mark.parametrize(
    ("doc_id", "hashed"),
    [
        ("a" * 500, False),
        ("a" * 501, True),
        ("é" * 250, False),
        ("é" * 251, True),
        ("sha256:x", True),
    ],
)
def test_an_id_of_up_to_500_bytes_is_stored_as_it_is(doc_id, hashed):
    key = schema.key_of(doc_id)
    assert schema.is_hashed(key) is hashed
    assert (key == doc_id) is not hashed
    assert len(key) == (len("sha256:") + 64 if hashed else len(doc_id))


@pytest.mark.parametrize(("length", "whole"), [(8000, True), (8001, False)])
def test_a_term_of_up_to_8000_characters_is_stored_as_it_is(length, whole):
    term = "t" * length
    assert (schema.term_of(term) == term) is whole
    assert schema.as_terms(["a", term]).startswith("a t" if whole else "a sha256:")


def test_an_index_of_another_format_is_refused():
    meta = {"tokenizer": Tokenizer().to_manifest(), "format": 2}
    stored = {"mappings": {"_meta": schema.described(meta)}}
    assert schema.meta_of(answer(stored), "x") == meta
    for version in (1, 3):
        other = {"mappings": {"_meta": {"pnyx": {**meta, "format": version}}}}
        with pytest.raises(IndexFolderError, match=f"is of format {version}, expected 2"):
            schema.meta_of(answer(other), "x")


@pytest.mark.parametrize(("cosine", "allowed"), [(1.0099, True), (1.0101, False), (-1.0101, False)])
def test_a_cosine_is_at_most_that_of_rounded_vectors(cosine, allowed):
    """A vector rounded to 16-bit floats is at most a little longer than 1."""
    hits = [SearchHit("a", answer({"_score": None, "sort": [cosine, 0]}))]
    cluster = SimpleNamespace(hits=lambda *_, **__: hits)
    unit = np.array([1.0, 0.0], dtype=np.float32)
    if allowed:
        numbers, scores = ranking(1, cluster).nearest(unit, 1, {})
        assert (numbers.tolist(), scores.tolist()) == ([0], [cosine])
    else:
        with pytest.raises(PnyxError, match=r"from -1.01 to 1.01"):
            ranking(1, cluster).nearest(unit, 1, {})


@pytest.mark.parametrize(
    ("added", "fits"), [(1.00009, True), (1.00011, False), (0.99991, True), (0.99989, False)]
)
def test_the_parts_of_a_score_add_up_to_it(added, fits):
    hit = SearchHit("a", answer({"_score": 1.0, "matched_queries": {"a": 0.5, "b": added - 0.5}}))
    if fits:
        assert sum(hit.named_scores().values()) == pytest.approx(added)
    else:
        with pytest.raises(PnyxError, match="the sum of its parts"):
            hit.named_scores()


def test_more_documents_than_one_answer_holds_are_asked_for_in_turns():
    asked: list[dict[str, Any]] = []

    def hits(_: str, body: dict[str, Any], before: int, *__: Any, **___: Any) -> list[SearchHit]:
        asked.append(dict(body))
        rows = range(before, min(before + body["size"], 10_001))
        return [SearchHit(f"d{n}", answer({"_score": None, "sort": [-n, n]})) for n in rows]

    remote = ranking(20_000, SimpleNamespace(hits=hits))
    numbers, _ = remote.top({"match_all": {}}, 10_003, {})
    assert len(numbers) == 10_001
    assert [(body["size"], body.get("search_after")) for body in asked] == [
        (10_000, None), (3, [-9999, 9999]),
    ]  # fmt: skip
    asked.clear()
    remote.top({"match_all": {}}, 10_000, {})
    assert [body["size"] for body in asked] == [10_000]


def test_what_500_documents_have_from_each_word_is_asked_at_once():
    sizes: list[int] = []

    def hits(_: str, body: dict[str, Any], **__: Any) -> list[SearchHit]:
        sizes.append(body["size"])
        ids = body["query"]["bool"]["filter"]["ids"]["values"]
        return [SearchHit(i, answer({"_score": 1.0, "matched_queries": {"tea": 1.0}})) for i in ids]

    keys = [f"d{n}" for n in range(501)]
    scores = ranking(1000, SimpleNamespace(hits=hits)).term_scores("tea", keys, "bm25", {})
    assert sizes == [500, 1]
    assert Counter(map(str, scores.values())) == {"{'tea': 1.0}": 501}


# Ties and orders ----------------------------------------------------------------------------------


def rows_of(*rows: tuple[float, int]) -> list[SearchHit]:
    return [SearchHit(str(n), answer({"_score": None, "sort": list(row)})) for n, row in
            enumerate(rows)]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "ordered"),
    [
        ([(2.0, 5), (1.0, 0)], True),
        ([(1.0, 0), (1.0, 3)], True),
        ([(1.0, 3), (1.0, 0)], False),
        ([(1.0, 0), (2.0, 1)], False),
        ([(0.0, 5), (-0.0, 0)], True),
        ([(-0.0, 0), (0.0, 5)], False),
        ([(2.0, 4), (1.0, 4)], False),
        ([(2.0, 9), (1.0, 10)], False),  # there are ten documents
    ],
)
def test_a_ranking_is_best_first_and_names_each_document_once(rows, ordered):
    if ordered:
        assert list(read_ranking(rows_of(*rows), 10)) == rows
    else:
        with pytest.raises(PnyxError):
            list(read_ranking(rows_of(*rows), 10))


def test_a_document_keeps_its_number():
    hits = rows_of((2.0, 4), (1.0, 0))
    cluster = SimpleNamespace(hits=lambda *_, **__: hits)
    ids: dict[int, str] = {}
    ranking(10, cluster).top({}, 2, ids)
    assert ids == {4: "0", 0: "1"}
    ranking(10, cluster).top({}, 2, ids)
    for wrong in ({4: "1"}, {5: "0"}):
        with pytest.raises(PnyxError, match="the number that the document had before"):
            ranking(10, cluster).top({}, 2, wrong)


# Topics -------------------------------------------------------------------------------------------


class Stored:
    """Keeps what is put, and gives it back."""

    address = "h:1"

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.settings: dict[str, Any] = {}
        self.size = 0

    def exists(self, *_: str) -> None:
        return None

    def ask(self, _: str, __: str, body: dict[str, Any]) -> ClusterAnswer:
        self.settings = body["settings"]
        return answer({"acknowledged": True})

    def lines(self, _: str, rows: list[dict[str, Any]], **__: str) -> ClusterAnswer:
        self.rows = rows[1::2]
        items = [{"index": {**row["index"], "status": 201}} for row in rows[::2]]
        return answer({"errors": False, "items": items})

    def hits(self, _: str, body: dict[str, Any]) -> list[SearchHit]:
        self.size = body["size"]
        return [SearchHit(str(n), answer({"_source": row})) for n, row in enumerate(self.rows)]


def test_topics_are_read_as_they_were_put():
    labels = [ClusterLabel("Tea", ("tea", "cup"), 3), ClusterLabel("Milk", (), 1)]
    centroids = np.array([[1.0, 0.0], [0.6, 0.8]], dtype=np.float32)
    meta = {"k": 2, "space": "text", "embedder": "e"}
    nobody = np.zeros(0, dtype=np.uint32)
    cluster: Any = Stored()
    put_topics(cluster, "y", Clusters(nobody, centroids, labels, "text", "e", meta), 1)
    assert cluster.settings == {"number_of_shards": 1, "number_of_replicas": 1}
    topics = read_topics(cluster, "y", meta)
    assert list(topics.labels) == labels
    assert topics.centroids.tolist() == centroids.tolist()
    assert (topics.space, topics.embedder, cluster.size) == ("text", "e", 10_000)
    with pytest.raises(IndexFolderError, match="has lost some of its topics"):
        read_topics(cluster, "y", {**meta, "k": 3})
    for field, value in (("number", 1), ("centroid", "AAA"), ("label", json.dumps(["Tea", []]))):
        first = cluster.rows[0]
        cluster.rows[0] = {**first, field: value}
        with pytest.raises(PnyxError):
            read_topics(cluster, "y", meta)
        cluster.rows[0] = first


# Addresses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "hosts", "secure"),
    [
        ("opensearch://h/x", (("h", 9200),), False),
        ("opensearch://h:1,[::1]:2/x", (("h", 1), ("::1", 2)), False),
        ("opensearch+https://h.org:443/x", (("h.org", 443),), True),
    ],
)
def test_an_address_names_nodes_and_an_index(text, hosts, secure):
    address = ClusterAddress.parse(text)
    assert (address.hosts, address.name, address.secure) == (hosts, "x", secure)
    assert ClusterAddress.parse(str(address)) == address


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("opensearch://me:word@h:1/x", "must not contain a user or password"),
        ("opensearch://h:1/X", "'X' is not an index name"),
        ("opensearch://h:1/" + "x" * 201, "is not an index name"),
        ("opensearch://h:1/_x", "is not an index name"),
        ("opensearch:///x", "is not a host"),
        ("opensearch://h:99999/x", "is not a host"),
    ],
)
def test_other_addresses_are_refused(text, problem):
    ClusterAddress.parse("opensearch://h:1/" + "x" * 200)
    with pytest.raises(InputError, match=problem):
        ClusterAddress.parse(text)
