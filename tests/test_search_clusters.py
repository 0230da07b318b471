"""Topic clusters of an index: made, grown, read, described, refused."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from pnyx.core.errors import IndexFolderError, InputError, MissingExtra
from pnyx.core.records import Argument, Document, Premise
from pnyx.search.build import add_to_index, build_index
from pnyx.search.features.access import put_feature
from pnyx.search.features.clusters import (
    DEFAULT_SPACE,
    NO_CLUSTER,
    cluster_documents,
    cluster_new_documents,
    clusters_of,
    default_k,
    facets,
)
from pnyx.search.features.topic_points import (
    conclusion_of,
    distinct_points,
    k_means_engine,
    nearest_centroids,
    premise_of,
)
from pnyx.search.features.vectors import embed_documents
from pnyx.search.index import Index
from pnyx.search.open_engine import verify_index

WORDS = ["zoo", "vote", "tax", "car"]


class Bags:
    """Embeds a text by which of four words it holds; the case of letters does not count."""

    name = "bags"
    dimensions = 5

    def __init__(self):
        self.asked = []

    def encode(self, texts):
        self.asked += texts
        rows = [[text.lower().count(word) for word in WORDS] + [0.1] for text in texts]
        out = np.array(rows, dtype=np.float32).reshape(-1, 5)
        return out / np.linalg.norm(out, axis=1, keepdims=True)


def argument(number, conclusion, premise="because"):
    return Argument(str(number), conclusion, (Premise(premise),))


RECORDS = [
    argument(0, "Close every zoo", "tax tax"),
    argument(1, "Voting should be a duty: vote"),
    argument(2, "close every ZOO", "cars in the zoo"),
    argument(3, "Zoos save animals"),
    argument(4, "Zoos save animals", "a second reason"),
    Document("5", "The vote is a right. It may rest.", title=""),
    Document("6", "Any text", title="Cut the tax"),
    Document("7", "", title=""),
]


@pytest.fixture
def folder(tmp_path):
    build_index(RECORDS, tmp_path / "i")
    return tmp_path / "i"


def test_documents_on_one_topic_share_a_cluster(folder):
    embedder = Bags()
    made = cluster_documents(folder, embedder, k=3, space="conclusion")
    assert sorted(embedder.asked) == sorted(set(embedder.asked))  # equal conclusions once
    read = clusters_of(Index.open(folder))
    assert read.cluster.tolist() == made.cluster.tolist() == [0, 1, 0, 0, 0, 1, 2, NO_CLUSTER]
    np.testing.assert_array_equal(read.centroids, made.centroids)
    np.testing.assert_allclose(np.linalg.norm(read.centroids, axis=1), 1, rtol=1e-6)
    assert (read.embedder, read.space, read.meta["k"], read.meta["without"]) == (
        "bags", "conclusion", 3, 1,
    )  # fmt: skip
    # By hand: all points of a cluster agree here, so nothing is far from its centroid.
    assert read.meta["inertia"] == pytest.approx(0, abs=1e-5)
    assert [label.documents for label in read.labels] == [4, 2, 1]
    assert read.labels[0].label in {"Close every zoo", "close every ZOO", "Zoos save animals"}
    assert read.labels[2].label == "Cut the tax"
    assert "zoos" in read.labels[0].terms or "zoo" in read.labels[0].terms
    assert "the" not in read.labels[2].terms
    verify_index(folder)


def test_the_same_seed_gives_the_same_bytes(folder):
    first, second = (cluster_documents(folder, Bags(), k=2, seed=7) for _ in range(2))
    assert first.centroids.tobytes() == second.centroids.tobytes()
    assert first.cluster.tobytes() == second.cluster.tobytes()
    assert first.labels == second.labels


def test_equal_conclusions_weigh_as_often_as_they_occur():
    points = np.eye(3, dtype=np.float32)[[0, 0, 1]]
    distinct, weights, rows = distinct_points(points, np.array([0, 1, 2, 2, -1]))
    assert distinct.tolist() == [[1, 0, 0], [0, 1, 0]]
    assert (weights.tolist(), rows.tolist()) == ([2, 2], [0, 0, 1, 1, -1])
    (centroid,), _ = k_means_engine()(distinct, np.array([3, 1]), 1, 0)
    np.testing.assert_allclose(centroid, np.array([3, 1, 0]) / 10**0.5, rtol=1e-6)


def test_the_nearest_is_so_by_cosine():
    rng = np.random.default_rng(1)
    points, centroids = (rng.normal(size=(n, 6)).astype(np.float32) for n in (40, 5))
    nearest, cosines = nearest_centroids(points, centroids)
    products = points @ centroids.T
    assert nearest.tolist() == products.argmax(axis=1).tolist()
    np.testing.assert_allclose(cosines, products.max(axis=1))


def test_many_points_are_clustered_in_samples(monkeypatch):
    monkeypatch.setattr("pnyx.search.features.topic_points.MINI_BATCH_ABOVE", 100)
    rng = np.random.default_rng(1)
    points = np.repeat(np.eye(4, dtype=np.float32), 100, axis=0)
    points += rng.normal(scale=0.01, size=points.shape).astype(np.float32)
    centroids, engine = k_means_engine()(points, np.ones(400, dtype=np.int64), 4, 0)
    assert "MiniBatchKMeans" in engine
    assert sorted(centroids.argmax(axis=1).tolist()) == [0, 1, 2, 3]


def test_whole_texts_are_clustered_by_the_vectors_there_are(folder):
    embedder = Bags()
    made = cluster_documents(folder, embedder, k=3, space="text")
    assert len(embedder.asked) == 7  # all but the document without any text
    assert (made.space, made.centroids.shape) == ("text", (3, 5))
    assert made.cluster[7] == NO_CLUSTER
    np.testing.assert_allclose(made.cosines(np.eye(5, dtype=np.float32)[0]), made.centroids[:, 0])
    embed_documents(folder, embedder)
    embedder.asked.clear()
    again = cluster_documents(folder, embedder, k=3, space="text")
    assert embedder.asked == []
    assert again.cluster.tolist() == made.cluster.tolist()


def test_the_dual_space_sees_premises_too(folder):
    assert cluster_documents(folder, Bags(), k=5).space == DEFAULT_SPACE == "text"
    made = cluster_documents(folder, Bags(), k=5, space="dual")
    assert (made.space, made.centroids.shape) == ("dual", (5, 10))
    # 0 and 2 conclude the same but argue otherwise; 3 and 4 differ in words no embedding sees.
    assert made.cluster[0] != made.cluster[2]
    assert made.cluster[3] == made.cluster[4]
    zoo = Bags().encode(["zoo"])[0]
    halves = made.centroids.reshape(-1, 2, 5)
    by_hand = (halves[:, 0] @ zoo + halves[:, 1] @ zoo) / 2**0.5
    np.testing.assert_allclose(made.cosines(zoo), np.clip(by_hand, 0, 1), rtol=1e-5)


def test_added_documents_join_the_nearest_cluster(folder):
    old = cluster_documents(folder, Bags(), k=3, space="conclusion")
    add_to_index([argument("new", "No more tax"), Document("mute", "")], folder)
    with pytest.raises(InputError, match="clusters of 8 of its 10 documents: pnyx index --update"):
        clusters_of(Index.open(folder))
    embedder = Bags()
    cluster_new_documents(folder, embedder)
    assert embedder.asked == ["No more tax"]
    grown = clusters_of(Index.open(folder))
    assert grown.cluster.tolist() == [*old.cluster.tolist(), 2, NO_CLUSTER]
    assert grown.centroids.tobytes() == old.centroids.tobytes()
    assert (grown.labels, grown.meta["assigned"], grown.meta["without"]) == (old.labels, 2, 2)
    assert cluster_new_documents(folder, Bags()).meta == grown.meta


def test_facets_count_the_topics_of_a_list(folder):
    made = cluster_documents(folder, Bags(), k=3, space="conclusion")
    index = Index.open(folder)
    found = facets(index, index.doc_ids(np.array([1, 0, 2, 7])))
    assert [(f.cluster, f.count, f.label) for f in found] == [
        (0, 2, made.labels[0].label),
        (1, 1, made.labels[1].label),
    ]
    assert facets(index, []) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k is 0, expected at least 1"),
        ({"k": 9, "space": "dual"}, r"k is 9, expected at most 6 \(distinct texts\)"),
        ({"space": "both"}, "expected one of: text, conclusion, dual"),
        ({"seed": -1}, "seed is -1, expected 0 to"),
    ],
)
def test_bad_options_are_one_line(folder, options, message):
    with pytest.raises(InputError, match=message):
        cluster_documents(folder, Bags(), **options)


def test_what_cannot_be_clustered_is_one_line(tmp_path, folder):
    build_index([Document("a", " ")], tmp_path / "mute")
    with pytest.raises(InputError, match="no document has a conclusion, title or text"):
        cluster_documents(tmp_path / "mute", Bags())
    with pytest.raises(InputError, match="has no clusters: pnyx index --update"):
        cluster_new_documents(folder, Bags())
    cluster_documents(folder, Bags(), k=2)
    other = Bags()
    other.name = "other"
    with pytest.raises(InputError, match="made with the embedder bags, not with other"):
        cluster_new_documents(folder, other)
    with pytest.raises(InputError, match="now gives 3 numbers per text"):
        clusters_of(Index.open(folder)).cosines(np.ones(3, dtype=np.float32))


def test_an_embedder_that_gives_no_numbers_is_refused(folder):
    class Broken(Bags):
        def encode(self, texts):
            return np.full((len(texts), 5), np.nan, dtype=np.float32)

    with pytest.raises(InputError, match="bags gave no usable vectors"):
        cluster_documents(folder, Broken())


def test_without_scikit_learn_the_command_is_named_before_anything_is_embedded(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    embedder = Bags()
    with pytest.raises(MissingExtra, match=r"pip install 'pnyx\[clusters\]'"):
        cluster_documents(folder, embedder)
    assert embedder.asked == []


@pytest.mark.parametrize("labels", [b"[]", b"{", b'[{"label": 1}]', b"\xff"])
def test_a_forged_feature_is_refused(folder, labels):
    arrays = {
        "cluster": np.zeros(8, dtype=np.uint32),
        "centroids": np.ones((1, 5), dtype=np.float32),
        "labels": np.frombuffer(labels, dtype=np.uint8),
    }
    meta = {"embedder": "bags", "space": "conclusion"}
    put_feature(folder, "clusters", arrays, documents=8, meta=meta)
    with pytest.raises(IndexFolderError, match="clusters is not understood"):
        clusters_of(Index.open(folder))


def test_a_cluster_out_of_range_is_refused(folder):
    cluster_documents(folder, Bags(), k=2)
    known = Index.open(folder).feature("clusters", "")
    arrays = {name: known.array(name) for name in known.shapes}
    arrays["cluster"] = np.full(8, 2, dtype=np.uint32)
    put_feature(folder, "clusters", arrays, documents=8, meta=known.meta)
    with pytest.raises(IndexFolderError, match="clusters is not understood"):
        clusters_of(Index.open(folder))


def test_what_a_document_concludes_and_why():
    assert conclusion_of(Document("a", "One. Two.", title=" A \n title ")) == "A title"
    assert conclusion_of(Document("a", "One thing is so. Two.")) == "One thing is so."
    assert conclusion_of(Document("a", "\x00 \n")) in {"", "\x00"}
    assert len(conclusion_of(Document("a", "x" * 10**6))) == 1000
    assert premise_of(Argument("a", "c", (Premise("p"), Premise("q")))) == "p\nq"
    assert premise_of(Document("a", "text")) == "text"
    assert [default_k(n) for n in (1, 9, 128, 3000, 10**6)] == [1, 1, 12, 300, 300]
