"""Vectors in an index and ranking by them, through the doors that users use."""

from __future__ import annotations

import fcntl
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedding_server import vector_of
from index_fixture import needs_graphs
from pnyx.core.errors import IndexFolderError, InputError, ModelError, PnyxError
from pnyx.core.records import Document
from pnyx.models.embed.encoder import load_encoder
from pnyx.search.build import add_to_index, build_index
from pnyx.search.features import vectors
from pnyx.search.features.vectors import document_vectors, embed_documents, embed_question
from pnyx.search.index import Index
from pnyx.search.open_engine import verify_index
from pnyx.search.plan import Scoring
from pnyx.search.ranking import dense
from pnyx.search.ranking.dense import build_ann, cosine_top, dense_rank
from tries import tries


class Fake:
    """Embeds by a hash of the text; counts, and fails at the text `poison`."""

    def __init__(self, name: str = "fake", dimensions: int = 16) -> None:
        self.name, self.dimensions = name, dimensions
        self.asked: list[str] = []
        self.poison: str | None = None

    def encode(self, texts):
        if any(self.poison and self.poison in text for text in texts):
            raise ModelError("the model is gone")
        self.asked += texts
        rows = np.array([vector_of(text, self.dimensions) for text in texts])
        rows = rows.reshape(-1, self.dimensions)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def documents(first: int, stop: int) -> list[Document]:
    return [Document(f"d{n}", f"text {n}") for n in range(first, stop)]


@pytest.fixture
def folder(tmp_path):
    build_index(documents(0, 30), tmp_path / "i")
    return tmp_path / "i"


def test_feedback_moves_the_question_to_the_best_documents(folder):
    """What `Scoring.feedback` does, worked out with plain numpy."""
    fake, question = Fake(), "text 3"
    embed_documents(folder, fake)
    index = Index.open(folder)
    scoring = Scoring("hybrid", dense_weight=0.7, feedback=2)
    rows = np.asarray(index.vectors(index.doc_ids(np.arange(30))), dtype=np.float64)
    asked = fake.encode([question])[0]
    words = np.zeros(30)
    for hit in index.retrieve(question, Scoring("dirichlet"), 30):
        words[int(hit.doc_id[1:])] = hit.score

    def fused(vector):
        near = rows @ vector
        low, high = words[words > 0].min(), words.max()
        share = np.ones(30) if low == high else np.clip((words - low) / (high - low), 0, 1)
        share[words == 0] = 0
        return 0.7 * (near - near.min()) / (near.max() - near.min()) + 0.3 * share

    first = fused(asked)
    best = np.argsort(-first, kind="stable")[:2]
    centre = first[best] ** 2 @ rows[best]
    moved = asked + centre / np.linalg.norm(centre)
    expected = fused(moved / np.linalg.norm(moved))
    hits = index.retrieve(question, scoring, 30, fake)
    assert [h.score for h in hits] == pytest.approx(sorted(expected, reverse=True), abs=2e-3)
    plain = index.retrieve(question, replace(scoring, feedback=0), 30, fake)
    assert [h.score for h in plain] == pytest.approx(sorted(first, reverse=True), abs=2e-3)


def test_documents_get_the_vectors_of_their_texts(folder):
    told = []
    stats = embed_documents(folder, fake := Fake(), on_progress=told.append)
    assert (stats.documents, stats.reused, stats.embedded) == (30, 0, 30)
    assert told == [0, 30]
    index = Index.open(folder)
    found = document_vectors(index)
    assert found.embedder == "fake"
    assert found.rows.dtype == np.float16
    expected = fake.encode([f"text {n}" for n in range(30)]).astype(np.float16)
    np.testing.assert_array_equal(found.rows, expected)
    assert document_vectors(index) is found
    verify_index(folder)
    assert sorted(p.name for p in folder.iterdir() if "vectors" in p.name) == [
        "feature-vectors-000001.data"
    ]


def test_a_question_finds_its_own_text_first(folder):
    embed_documents(folder, fake := Fake())
    index = Index.open(folder)
    numbers, scores = dense_rank(index, embed_question(index, fake, "text 7"), 5)
    assert (numbers.dtype, scores.dtype, len(numbers)) == (np.int64, np.float64, 5)
    assert numbers[0] == 7
    assert scores[0] == pytest.approx(1, abs=1e-3)
    assert (np.diff(scores) <= 0).all()


def test_equal_texts_are_embedded_once(folder, monkeypatch):
    monkeypatch.setattr(vectors, "_CHUNK", 7)
    add_to_index([Document(f"again{n}", f"text {n % 20}") for n in range(40)], folder)
    embed_documents(folder, fake := Fake())
    assert sorted(fake.asked) == sorted(f"text {n}" for n in range(30))
    rows = document_vectors(Index.open(folder)).rows
    np.testing.assert_array_equal(rows[30:50], rows[:20])


def test_only_new_documents_are_embedded(folder):
    embed_documents(folder, fake := Fake())
    before = document_vectors(Index.open(folder)).rows.copy()
    fake.asked.clear()
    assert embed_documents(folder, fake).reused == 30
    add_to_index([*documents(30, 34), Document("same", "text 3")], folder)
    with pytest.raises(InputError, match="vectors of 30 of its 35 documents: pnyx index"):
        document_vectors(Index.open(folder))
    stats = embed_documents(folder, fake)
    assert (stats.documents, stats.reused, stats.embedded) == (35, 30, 4)
    assert fake.asked == [f"text {n}" for n in range(30, 34)]
    rows = document_vectors(Index.open(folder)).rows
    np.testing.assert_array_equal(rows[:30], before)
    np.testing.assert_array_equal(rows[34], rows[3])


def test_another_embedder_is_refused_by_name_and_embeds_anew(folder):
    embed_documents(folder, Fake("old"))
    with pytest.raises(InputError, match="embedded by old, but the question would be by new"):
        embed_question(Index.open(folder), Fake("new"), "text")
    embed_documents(folder, new := Fake("new", dimensions=5))
    assert len(new.asked) == 30
    assert document_vectors(Index.open(folder)).rows.shape == (30, 5)


def test_no_vectors_is_one_line(folder):
    with pytest.raises(InputError, match="has no vectors: pnyx index --update INDEX --vectors"):
        embed_question(Index.open(folder), Fake(), "text")


@pytest.mark.parametrize("harm", ["nothing", "cut", "flipped", "other settings", "rubbish"])
def test_what_was_embedded_before_a_failure_is_kept(folder, harm, monkeypatch):
    monkeypatch.setattr(vectors, "_CHUNK", 8)
    fake = Fake()
    fake.poison = "text 20"
    with pytest.raises(ModelError, match="gone"):
        embed_documents(folder, fake)
    assert fake.asked == [f"text {n}" for n in range(16)]
    partial = folder / ".vectors.partial"
    content = bytearray(partial.read_bytes())
    if harm == "cut":
        content = content[:-9]
    elif harm == "flipped":
        content[-9] ^= 4
    elif harm == "other settings":
        content = content.replace(b'"fake"', b'"fakf"')
    elif harm == "rubbish":
        content = bytearray(b"\xff" * 999)
    partial.write_bytes(content)
    fake.poison = None
    kept = {"nothing": 16, "cut": 8, "flipped": 8}.get(harm, 0)
    assert embed_documents(folder, fake).reused == kept
    assert fake.asked[16:] == [f"text {n}" for n in range(kept, 30)]
    expected = Fake().encode([f"text {n}" for n in range(30)]).astype(np.float16)
    np.testing.assert_array_equal(document_vectors(Index.open(folder)).rows, expected)
    assert not partial.exists()


KILLED = """
import os, signal, sys
import numpy as np
from pnyx.search.features import vectors
vectors._CHUNK = 8

class Dying:
    name, dimensions = "fake", 16
    def encode(self, texts):
        if "text 20" in texts:
            os.kill(os.getpid(), signal.SIGKILL)
        return np.eye(16, dtype=np.float32)[[len(text) for text in texts]]

vectors.embed_documents(sys.argv[1], Dying())
"""


def test_a_kill_loses_one_chunk_at_most(folder):
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(Index.open(folder).search("text", k=50)) == 30
    stats = embed_documents(folder, fake := Fake())
    assert stats.reused == 16
    assert fake.asked == [f"text {n}" for n in range(16, 30)]
    rows = document_vectors(Index.open(folder)).rows
    np.testing.assert_array_equal(rows[:16], np.eye(16, dtype=np.float16)[[6] * 10 + [7] * 6])


def test_a_complete_index_is_left_as_it_is(folder):
    embed_documents(folder, fake := Fake())
    (folder / ".vectors.partial").write_bytes(b"left by a kill")
    before = sorted(path.name for path in folder.iterdir())
    assert embed_documents(folder, fake).embedded == 0
    assert sorted(path.name for path in folder.iterdir()) == before[1:]


def test_documents_added_meanwhile_cost_nothing_twice(folder):
    class Adding(Fake):
        def encode(self, texts):
            if not self.asked:
                add_to_index(documents(30, 33), folder)
            return super().encode(texts)

    adding = Adding()
    with pytest.raises(InputError, match="has 33 documents, expected 30"):
        embed_documents(folder, adding)
    assert embed_documents(folder, adding).embedded == 3
    assert len(adding.asked) == 33


def test_two_at_once_are_refused(folder):
    with (folder / ".vectors.partial").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(PnyxError, match="another process is embedding"):
            embed_documents(folder, Fake())


def test_damaged_vectors_are_never_scored(folder):
    embed_documents(folder, fake := Fake())
    (file,) = folder.glob("feature-vectors-*")
    content = bytearray(file.read_bytes())
    content[100] ^= 1
    file.write_bytes(content)
    with pytest.raises(IndexFolderError, match="checksum"):
        dense_rank(Index.open(folder), fake.encode(["x"])[0], 3)


def test_the_packaged_encoder_ranks_by_meaning(tmp_path):
    texts = {
        "tax": "Higher taxes on sugar reduce obesity.",
        "vote": "Compulsory ballots raise turnout at elections.",
        "cats": "Cats sleep most of the day.",
    }
    build_index([Document(i, t) for i, t in texts.items()], tmp_path / "i")
    embed_documents(tmp_path / "i", load_encoder())
    index = Index.open(tmp_path / "i")
    assert "256 tokens" in index.manifest["features"]["vectors"]["meta"]["text"]
    question = embed_question(index, load_encoder(), "Should everyone have to vote?")
    numbers, _ = dense_rank(index, question, 3)
    assert index.doc_ids(numbers)[0] == "vote"


# --- exactness


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


@settings(max_examples=tries(60), deadline=None)
@given(st.data())
def test_the_ranking_is_that_of_float64_wherever_rows_stand(data):
    n = data.draw(st.integers(1, 700), "rows")
    d = data.draw(st.sampled_from([1, 3, 16, 384, 1000]), "dimensions")
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32), "seed"))
    rows = unit(rng.normal(size=(n, d))).astype(np.float16)
    # Equal rows, far from each other, and rows that differ in a last bit.
    rows = rows[rng.integers(0, max(1, n // 3), n)]
    rows[:: max(1, n // 5), 0] += np.float16(0.0001)
    question = unit(rng.normal(size=d))
    k = data.draw(st.integers(1, n + 3), "k")
    expected = (rows.astype(np.float64) * question.astype(np.float64)).sum(axis=1)
    order = np.lexsort((np.arange(n), -expected))[:k]
    numbers, scores = cosine_top(rows, question, k)
    np.testing.assert_array_equal(numbers, order)
    np.testing.assert_array_equal(scores, expected[order])


def test_every_half_is_read_as_numpy_reads_it():
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves) & (np.abs(halves) <= 1)].reshape(-1, 1)
    found = dense._scan(halves, np.ones(1, dtype=np.float32))
    np.testing.assert_array_equal(found, halves[:, 0].astype(np.float32))


@pytest.mark.parametrize(
    ("vector", "k", "line"),
    [
        (np.ones(16) / 4, 0, "k is 0"),
        (np.ones(4) / 2, 3, "has 4 numbers, expected 16"),
        (np.ones((1, 16)) / 4, 3, "has 1x16 numbers"),
        (np.ones(16), 3, "does not have the length 1"),
        (np.full(16, np.nan), 3, "does not have the length 1"),
    ],
)
def test_a_bad_question_is_one_line(folder, vector, k, line):
    embed_documents(folder, Fake())
    with pytest.raises(InputError, match=line):
        dense_rank(Index.open(folder), vector, k)


def test_threads_share_an_index(folder):
    embed_documents(folder, fake := Fake())
    index = Index.open(folder)
    questions = [embed_question(index, fake, f"text {n}") for n in range(30)]
    barrier = threading.Barrier(4)

    def work(part):
        barrier.wait()
        return [int(dense_rank(index, q, 3)[0][0]) for q in questions[part::4]]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, range(4)))
    assert found == [list(range(30))[part::4] for part in range(4)]


# --- the graph


@needs_graphs
def test_the_graph_finds_what_exact_search_finds(tmp_path):
    folder = tmp_path / "i"
    build_index(documents(0, 600), folder)
    embed_documents(folder, fake := Fake())
    index = Index.open(folder)
    question = embed_question(index, fake, "a question")
    with pytest.raises(InputError, match="no graph of these vectors"):
        dense_rank(index, question, 5, ann=True)
    build_ann(folder)
    verify_index(folder)
    index = Index.open(folder)
    shared = 0
    for n in range(20):
        question = embed_question(index, fake, f"question {n}")
        near, near_scores = dense_rank(index, question, 10, ann=True)
        exact, exact_scores = dense_rank(index, question, 10)
        shared += len(set(near.tolist()) & set(exact.tolist()))
        scored = dict(zip(exact.tolist(), exact_scores.tolist(), strict=True))
        for number, score in zip(near.tolist(), near_scores.tolist(), strict=True):
            assert scored.get(number, score) == score
    assert shared >= 198


@needs_graphs
def test_a_graph_of_other_vectors_is_not_searched(folder, monkeypatch):
    embed_documents(folder, Fake())
    build_ann(folder)
    add_to_index(documents(30, 31), folder)
    embed_documents(folder, fake := Fake())
    index = Index.open(folder)
    question = embed_question(index, fake, "text 30")
    with pytest.raises(InputError, match="no graph of these vectors"):
        dense_rank(index, question, 5, ann=True)
    monkeypatch.setattr(dense, "ANN_FROM", 10)
    assert dense_rank(index, question, 1)[0].tolist() == [30]
    build_ann(folder)
    assert dense_rank(Index.open(folder), question, 1)[0].tolist() == [30]


@needs_graphs
def test_a_damaged_graph_is_refused(folder):
    embed_documents(folder, fake := Fake())
    build_ann(folder)
    (file,) = folder.glob("feature-vectors_ann-*")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(IndexFolderError, match="checksum"):
        dense_rank(Index.open(folder), fake.encode(["x"])[0], 3, ann=True)
