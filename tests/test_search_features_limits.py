"""Limits of an index's features: vectors, topics, and relevance by them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from index_fixture import Fake
from pnyx.core.errors import IndexFolderError, InputError
from pnyx.core.records import Document, Question
from pnyx.judging.students.surface_quality import QualityModel
from pnyx.search.build import add_to_index, build_index
from pnyx.search.document_quality import score_documents
from pnyx.search.features import vectors
from pnyx.search.features.access import put_feature
from pnyx.search.features.clusters import NO_CLUSTER, Clusters, clusters_of, facets
from pnyx.search.features.topic_points import (
    by_size,
    distinct_points,
    join_spaces,
    nearest_centroids,
)
from pnyx.search.features.vectors import document_vectors, embed_documents, vector_meta
from pnyx.search.index import Index
from pnyx.search.pipeline import Searcher
from pnyx.search.plan import Scoring, SearchPlan
from pnyx.search.relevance import _background, _neighbourly
from pnyx.web.ask.search_answer import find


class Sized(Fake):
    """Keeps how many texts it embeds at once."""

    def __init__(self, at_once: int | None = None) -> None:
        self.sizes: list[int] = []
        if at_once is not None:
            self.at_once = at_once

    def encode(self, texts: Any) -> Any:
        self.sizes.append(len(texts))
        return super().encode(texts)


@pytest.fixture
def index(tmp_path):
    """Build an index of documents that all differ."""

    def build(count: int) -> Any:
        build_index([Document(f"d{n}", f"tea {n}") for n in range(count)], tmp_path / "i")
        return tmp_path / "i"

    return build


# Vectors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("documents", "at_once", "sizes"),
    [(512, None, [512]), (513, None, [512, 1]), (10, 4, [4, 4, 2]), (8, 4, [4, 4])],
)
def test_documents_are_embedded_512_at_once_or_as_many_as_the_embedder_takes(
    index, documents, at_once, sizes
):
    embedder, done = Sized(at_once), list[int]()
    stats = embed_documents(index(documents), embedder, on_progress=done.append)
    assert embedder.sizes == sizes
    assert (stats.documents, stats.reused, stats.embedded) == (documents, 0, documents)
    assert (done[0], done[-1]) == (0, documents)


def test_equal_texts_are_embedded_once_and_vectors_are_kept(tmp_path):
    rows = [Document("a", "tea"), Document("b", "milk"), Document("c", "tea")]
    build_index(rows, tmp_path / "i")
    embedder = Sized()
    assert embed_documents(tmp_path / "i", embedder).embedded == 2
    before = document_vectors(Index.open(tmp_path / "i")).rows
    assert before[0].tolist() == before[2].tolist() != before[1].tolist()
    add_to_index([Document("d", "tea"), Document("e", "beer")], tmp_path / "i")
    stats = embed_documents(tmp_path / "i", embedder)
    assert (stats.documents, stats.reused, stats.embedded) == (5, 3, 1)
    assert embedder.sizes == [2, 1]
    rows_now = document_vectors(Index.open(tmp_path / "i")).rows
    assert rows_now[3].tolist() == before[0].tolist()
    again = embed_documents(tmp_path / "i", embedder)
    assert (again.reused, again.embedded, embedder.sizes) == (5, 0, [2, 1])


def test_a_run_that_was_killed_after_its_last_text_embeds_nothing_again(index, monkeypatch):
    folder, embedder = index(3), Sized()

    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(vectors, "put_feature", killed)
        with pytest.raises(KeyboardInterrupt):
            embed_documents(folder, embedder)
    stats = embed_documents(folder, embedder)
    assert (stats.documents, stats.reused, stats.embedded) == (3, 3, 0)
    assert embedder.sizes == [3]
    assert not (folder / ".vectors.partial").exists()


def test_a_vector_of_other_than_finite_numbers_is_damage(index):
    """65,504 is the largest finite number of 16 bits."""
    folder = index(4097)
    for place, odd in ((0, np.nan), (4095, np.inf), (4096, -np.inf), (4096, 65504.0)):
        rows = np.ones((4097, 8), dtype=np.float16)
        rows[place, 7] = odd
        put_feature(folder, "vectors", {"vectors": rows}, documents=4097, meta=vector_meta(Fake()))
        if odd == 65504.0:
            assert len(document_vectors(Index.open(folder)).rows) == 4097
        else:
            with pytest.raises(IndexFolderError, match="vectors is not one vector per document"):
                document_vectors(Index.open(folder))


@pytest.mark.parametrize(
    ("values", "unscored", "sound"),
    [
        (np.array([0.5, 0.5], dtype=np.float32), 0, True),
        (np.array([0.5, 0.5]), 0, False),
        (np.array([0.5], dtype=np.float32), 0, False),
        (np.array([0.5, 0.5], dtype=np.float32), "none", False),
    ],
)
def test_stored_quality_must_be_as_it_is_made(index, values, unscored, sound):
    folder, model = index(2), QualityModel.load()
    meta = {"model": model.name, "neutral": 0.5, "unscored": unscored}
    put_feature(folder, "quality", {"values": values}, documents=2, meta=meta)
    if sound:
        assert score_documents(folder, model).added == 0
    else:
        with pytest.raises(IndexFolderError):
            score_documents(folder, model)


# Topics -------------------------------------------------------------------------------------------


def with_topics(folder: Any, cluster: Any, centroids: Any, **meta: Any) -> Index:
    """Store topics in an index."""
    labels = [{"label": f"Topic {n}", "terms": ["tea"], "documents": 1}
              for n in range(len(centroids))]  # fmt: skip
    arrays: dict[str, Any] = {
        "cluster": np.array(cluster, dtype=np.uint32),
        "centroids": np.array(centroids, dtype=np.float32),
        "labels": np.frombuffer(json.dumps(labels).encode(), dtype=np.uint8),
    }
    settings = {"embedder": "fake", "space": "text", **meta}
    put_feature(folder, "clusters", arrays, documents=len(cluster), meta=settings)
    return Index.open(folder)


@pytest.mark.parametrize(
    ("length", "cluster", "meta", "sound"),
    [
        (1.009, [0, 1], {}, True),
        (1.011, [0, 1], {}, False),
        (1.0, [0, NO_CLUSTER], {}, True),
        (1.0, [0, 2], {}, False),
        (1.0, [0, 1], {"space": "other"}, False),
        (1.0, [0, 1], {"embedder": 7}, False),
        (1.0, [0, 1], {"assigned": "x"}, False),
    ],
)
def test_topics_must_be_as_they_are_made(index, length, cluster, meta, sound):
    opened = with_topics(index(2), cluster, length * np.eye(2, 8), **meta)
    if sound:
        assert len(clusters_of(opened)) == 2
    else:
        with pytest.raises(IndexFolderError, match="clusters is not understood"):
            clusters_of(opened)


def test_topics_are_counted_among_the_best_100_documents(tmp_path):
    """Of the 101 best, the last is on another topic; the best are the shortest."""
    rows = [Document(f"d{n:03}", "tea " + "milk " * n) for n in range(102)]
    build_index(rows, tmp_path / "i")
    opened = with_topics(tmp_path / "i", [0] * 100 + [1, NO_CLUSTER], np.eye(2, 8))
    searcher = Searcher(opened, SearchPlan(Scoring("bm25", {"b": 1.0})))
    answer = find(searcher, opened, Question("q", "tea"), 101)
    assert [(topic.label, topic.count) for topic in answer.facets] == [("Topic 0", 100)]
    assert len(answer.hits) == 101
    assert len(find(searcher, opened, Question("q", "tea"), 3, facet=0).hits) == 3
    assert find(searcher, opened, Question("q", "tea"), 3, facet=1).hits == ()


def test_topics_come_by_how_many_documents_are_on_them_and_then_by_number(index):
    opened = with_topics(index(6), [2, 1, 0, 1, 2, NO_CLUSTER], np.eye(3, 8))
    found = facets(opened, [f"d{n}" for n in range(6)])
    assert [(facet.cluster, facet.count) for facet in found] == [(1, 2), (2, 2), (0, 1)]


def test_a_cosine_to_a_topic_is_from_0_to_1_and_in_two_spaces_a_mean():
    nobody = np.zeros(0, dtype=np.uint32)
    axes = np.array([[1, 0], [-1, 0], [0.6, 0.8]], dtype=np.float32)
    topics = Clusters(nobody, axes, (), "text", "e", {})
    question = np.array([1.0, 0.0], dtype=np.float32)
    assert topics.cosines(question) == pytest.approx([1.0, 0.0, 0.6])
    both = join_spaces(axes[[0, 2]], axes[[2, 2]])
    dual = Clusters(nobody, both, (), "dual", "e", {})
    assert dual.cosines(question) == pytest.approx([0.8, 0.6])
    with pytest.raises(InputError, match="now gives 3 numbers per text"):
        topics.cosines(np.ones(3, dtype=np.float32))


def test_points_are_merged_and_topics_numbered_by_size():
    points = np.array([[1, 0], [0, 1], [1, 0]], dtype=np.float32)
    distinct, weights, rows = distinct_points(points, np.array([0, 1, 2, -1, 0]))
    assert distinct.tolist() == [[1, 0], [0, 1]]
    assert (weights.tolist(), rows.tolist()) == ([3, 1], [0, 1, 0, -1, 0])
    nearest, cosines = nearest_centroids(distinct, np.array([[0, 1], [0.8, 0.6]], np.float32))
    assert nearest.tolist() == [1, 0]
    assert cosines == pytest.approx([0.8, 1.0])
    centroids = np.array([[0, 1], [1, 1], [1, 0]], np.float32)
    ordered, numbers = by_size(centroids, nearest, weights)  # 1 and 3 documents, and none
    assert ordered.tolist() == [[1, 1], [0, 1]]
    assert numbers.tolist() == [0, 1]


# Relevance by the whole ranking -------------------------------------------------------------------


def test_eight_neighbours_and_the_twenty_best_are_compared():
    """Passages lie on a curve, each nearer to the question than the next one.

    The nearest of a passage are four on each side; of those of the 20th, the four before it are
    among the twenty best.
    """
    angles = 0.02 * np.arange(40)
    rows = np.column_stack([np.cos(angles), np.sin(angles)])
    _, shares = _neighbourly(rows, rows[:, 0])
    assert shares[15] == 1.0
    assert shares[16] == 7 / 8
    assert shares[19] == 4 / 8
    assert shares[20] == 4 / 8
    assert shares[23] == 1 / 8
    assert shares[24] == 0.0


@pytest.mark.parametrize(("zero", "is_one"), [(5, False), (6, True)])
def test_a_cosine_is_smoothed_over_five_neighbours(zero, is_one):
    """The first is the most similar to the second, a little less to the third, and so on."""
    rows = np.zeros((7, 7))
    rows[0, 0] = 1
    for n in range(1, 7):
        cosine = 0.94 - 0.01 * n
        rows[n, 0], rows[n, n] = cosine, (1 - cosine**2) ** 0.5
    near = np.ones(7)
    near[zero] = 0
    smoothed, _ = _neighbourly(rows, near)
    assert bool(abs(smoothed[0] - 1.0) < 1e-9) is is_one


def test_the_background_is_of_the_ranks_from_16_to_30():
    cosines = np.linspace(0.30, 0.01, 30)  # 0.30, 0.29 ...: the ranks 16 to 30 are 0.15 to 0.01
    assert _background(cosines, 0.36, 0.40) == pytest.approx(0.08)
    assert _background(np.concatenate([cosines, np.ones(9)]), 0.36, 0.40) == pytest.approx(0.08)
    # Of 22 hits, 7 are in the second half and 8 are as usual: the median is the usual.
    assert _background(cosines[:22], 0.36, 0.40) == pytest.approx(0.36)
    assert _background(cosines[:23], 0.36, 0.40) == pytest.approx(0.15)
    assert _background(np.ones(30), 0.36, 0.40) == 0.40
