"""The Touché model: Eq. 1 by hand, against a plain reference, by both kernels."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.core.errors import IndexFolderError, InputError
from pnyx.core.records import Document
from pnyx.search.build import add_to_index, build_index
from pnyx.search.features.access import put_feature
from pnyx.search.features.clusters import NO_CLUSTER
from pnyx.search.index import Index
from pnyx.search.plan import PARAMETERS
from pnyx.search.ranking.scores import touche_rank, touche_scores
from tries import tries

WORDS = "tea coffee milk water wine".split()


class Fixed:
    """Embeds every text alike."""

    name = "fixed"

    def __init__(self, vector):
        self.vector = np.array(vector, dtype=np.float32)
        self.dimensions = len(self.vector)

    def encode(self, texts):
        return np.tile(self.vector, (len(texts), 1))


def put_clusters(folder, cluster, centroids):
    rows = [{"label": str(n), "terms": [], "documents": 1} for n in range(len(centroids))]
    arrays = {
        "cluster": np.array(cluster, dtype=np.uint32),
        "centroids": np.array(centroids, dtype=np.float32),
        "labels": np.frombuffer(json.dumps(rows).encode(), dtype=np.uint8),
    }
    meta = {"embedder": "fixed", "space": "conclusion"}
    put_feature(folder, "clusters", arrays, documents=len(cluster), meta=meta)


def put_quality(folder, values):
    arrays = {"values": np.array(values, dtype=np.float32)}
    put_feature(folder, "quality", arrays, documents=len(values), meta={"model": "test"})


@pytest.fixture
def folder(tmp_path):
    """Five documents; the question stands at cosines .6, .8 and -1 to three topics."""
    texts = ["tea tea milk", "tea water", "coffee", "tea wine wine", "milk"]
    build_index([Document(str(n), text) for n, text in enumerate(texts)], tmp_path / "i")
    put_clusters(tmp_path / "i", [0, 1, 1, NO_CLUSTER, 2], [[1, 0], [0, 1], [-0.6, -0.8]])
    put_quality(tmp_path / "i", [0.5, 1.0, 0.25, np.nan, 0.0])
    return tmp_path / "i"


QUESTION = Fixed([0.6, 0.8])
BY_HAND = np.array(
    [
        (1 + 10 * 0.6) * (1 + 5 * 0.5),  # 7 * 3.5
        (1 + 10 * 0.8) * (1 + 5 * 1.0),  # 9 * 6
        (1 + 10 * 0.8) * (1 + 5 * 0.25),
        1.0,  # neither a topic nor a known quality: not boosted
        1.0,  # cosine -1 is clipped to 0
    ]
)


@pytest.mark.parametrize("kernel", ["numpy", pytest.param("numba", marks=pytest.mark.all)])
def test_equation_1_by_hand(folder, kernel):
    index = Index.open(folder, kernel=kernel)
    plain = index.score_all("tea")
    scores = touche_scores(index, "tea", QUESTION, wc=10, wq=5)
    assert np.signbit(scores).tolist() == [False, False, True, False, True]
    np.testing.assert_allclose(scores, plain * BY_HAND, rtol=1e-6)
    numbers, best = touche_rank(index, "tea", QUESTION, 2, wc=10, wq=5)
    assert numbers.tolist() == np.argsort(-plain * BY_HAND)[:2].tolist()
    assert best.tobytes() == scores[numbers].tobytes()
    assert (PARAMETERS["wc"].default, PARAMETERS["wq"].default) == (10, 5)


def test_r_fixed_to_1_ranks_every_document(folder):
    numbers, scores = touche_rank(Index.open(folder), "unseen", QUESTION, 9, wc=10, wq=5, flat=True)
    assert numbers.tolist() == [1, 0, 2, 3, 4]
    np.testing.assert_allclose(scores, BY_HAND[numbers], rtol=1e-6)
    plain, ones = touche_rank(Index.open(folder), "x", None, 3, wc=0, wq=0, flat=True)
    assert (plain.tolist(), ones.tolist()) == ([0, 1, 2], [1, 1, 1])


def test_weights_of_0_are_plain_dirichlet(folder):
    index = Index.open(folder)
    numbers, scores = touche_rank(index, "tea milk", None, 5, wc=0, wq=0, mu=50)
    expected, values = index.rank("tea milk", "dirichlet", 5, mu=50)
    assert numbers.tolist() == expected.tolist()
    assert scores.tobytes() == values.tobytes()


@pytest.mark.all
@pytest.mark.slow
@settings(max_examples=tries(25), deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    parts=st.lists(st.integers(1, 60), min_size=1, max_size=3),
    topics=st.sampled_from([1, 3, 5000]),
    wc=st.floats(0, 30),
    wq=st.floats(0, 30),
    k=st.integers(1, 150),
    flat=st.booleans(),
)
def test_both_kernels_equal_a_plain_reference(
    tmp_path_factory, seed, parts, topics, wc, wq, k, flat
):
    rng = np.random.default_rng(seed)
    folder, total = tmp_path_factory.mktemp("i") / "i", sum(parts)
    texts = [" ".join(rng.choice(WORDS, rng.integers(0, 30))) for _ in range(total)]
    records = [Document(str(n), text) for n, text in enumerate(texts)]
    build_index(records[: parts[0]], folder)
    for first, count in zip(np.cumsum(parts), parts[1:], strict=False):
        add_to_index(records[first : first + count], folder)
    centroids = rng.normal(size=(topics, 4))
    centroids /= np.linalg.norm(centroids, axis=1, keepdims=True)
    cluster = rng.integers(0, topics, total)
    quality = rng.random(total).astype(np.float32)
    put_clusters(folder, cluster, centroids)
    put_quality(folder, quality)
    question = Fixed(centroids[0])

    expected = {}
    plain = Index.open(folder, kernel="numpy").score_all("tea wine wine")
    for d in range(total):
        if flat or not np.signbit(plain[d]):
            c = min(1.0, max(0.0, float(centroids[cluster[d]] @ question.vector)))
            r = 1.0 if flat else float(plain[d])
            expected[d] = r * (1 + wc * c) * (1 + wq * float(quality[d]))
    slow, fast = (
        touche_rank(
            Index.open(folder, kernel=kernel), "tea wine wine", question, k, wc=wc, wq=wq, flat=flat
        )
        for kernel in ("numpy", "numba")
    )
    assert fast[0].tolist() == slow[0].tolist()
    assert fast[1].tobytes() == slow[1].tobytes()
    assert len(slow[0]) == min(k, len(expected))
    np.testing.assert_allclose(slow[1], [expected[d] for d in slow[0]], rtol=1e-5)
    best = sorted(expected.values(), reverse=True)[: len(slow[1])]
    np.testing.assert_allclose(slow[1], best, rtol=1e-5)


@pytest.mark.parametrize("name", ["wc", "wq"])
@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf")])
def test_a_wrong_weight_is_one_line(folder, name, value):
    with pytest.raises(InputError, match=f"{name} is .*, expected a number from 0 to 1e"):
        touche_rank(Index.open(folder), "tea", QUESTION, **{name: value})


def test_what_is_missing_is_one_line(folder, tmp_path):
    index = Index.open(folder)
    with pytest.raises(InputError, match="k is 0"):
        touche_rank(index, "tea", QUESTION, 0)
    with pytest.raises(InputError, match="mu is 0"):
        touche_rank(index, "tea", QUESTION, mu=0)
    with pytest.raises(InputError, match="needs an embedder"):
        touche_rank(index, "tea", None)
    other = Fixed([1, 0])
    other.name = "other"
    with pytest.raises(InputError, match="made with the embedder fixed, not with other"):
        touche_rank(index, "tea", other)
    build_index([Document("a", "tea")], tmp_path / "bare")
    bare = Index.open(tmp_path / "bare")
    with pytest.raises(InputError, match="has no quality: pnyx index --update INDEX --quality"):
        touche_rank(bare, "tea", None, wc=0)
    with pytest.raises(InputError, match="has no clusters: pnyx index --update INDEX --clusters"):
        touche_rank(bare, "tea", QUESTION, wq=0)
    assert touche_rank(bare, "tea", None, wc=0, wq=0)[0].tolist() == [0]


@pytest.mark.parametrize("value", [1.5, -0.5, float("inf")])
def test_a_quality_out_of_range_is_refused(folder, value):
    put_quality(folder, [0, 0, value, 0, 0])
    with pytest.raises(IndexFolderError, match="quality is not one number from 0 to 1"):
        touche_rank(Index.open(folder), "tea", QUESTION)
