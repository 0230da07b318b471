"""Relevance told by the ranking: on small rankings whose features are worked out here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.records import Document
from pnyx.judging.answers import Judged
from pnyx.models.embed.embedder import PACKAGED
from pnyx.search.engine import FeatureInfo, Hit
from pnyx.search.relevance import RankedRelevance, content_words

QUESTION = "Should tea be banned in schools?"


class Engine:
    """Documents with the vectors that are given."""

    def __init__(self, vectors: Sequence[Sequence[float]] | None, made_by: str = PACKAGED) -> None:
        self._vectors, self.made_by = vectors, made_by

    def __len__(self) -> int:
        return 0 if self._vectors is None else len(self._vectors)

    def feature_info(self, name: str) -> FeatureInfo | None:
        return None if self._vectors is None else FeatureInfo(len(self._vectors), self.made_by)

    def vectors(self, ids: Sequence[str]) -> Any:
        assert self._vectors is not None
        return np.array([self._vectors[int(i)] for i in ids], dtype=np.float32)


class Embedder:
    name = PACKAGED

    def __init__(self, dimensions: int = 2) -> None:
        self.dimensions = dimensions

    def encode(self, texts: Sequence[str]) -> Any:
        return np.eye(1, self.dimensions, dtype=np.float32).repeat(len(texts), axis=0)


def _judge(
    vectors: Sequence[Sequence[float]] | None, made_by: str = PACKAGED, question: int = 2
) -> RankedRelevance:
    return RankedRelevance(cast("Any", Engine(vectors, made_by)), Embedder(question))


def _ranked(texts: Sequence[str]) -> tuple[list[Hit], list[Document]]:
    hits = [Hit(str(n), n + 1, 1.0 / (n + 1)) for n in range(len(texts))]
    return hits, [Document(str(n), text) for n, text in enumerate(texts)]


def test_features_are_what_they_are_said_to_be() -> None:
    angles = np.arccos([0.9, 0.8, 0.7, 0.2, 0.1, 0.0])
    vectors = [[float(np.cos(a)), float(np.sin(a))] for a in angles]
    texts = ["Tea is banned in a school.", "Tea harms.", "Schools ban coffee.", "x", "y", "z"]
    hits, documents = _ranked(texts)
    judge = _judge(vectors)
    table = judge.features(QUESTION, hits, documents)
    assert judge.by == "vectors"
    # The question's words are tea, ban and school. Six hits are fewer than fifteen, so that the
    # background is the usual one, .36 for the question and .46 for the centre.
    assert table[:, 0] == pytest.approx([0.54, 0.44, 0.34, -0.16, -0.26, -0.36], abs=1e-6)
    assert table[:, 3] == pytest.approx([1.0, 1 / 3, 2 / 3, 0.0, 0.0, 0.0])
    assert table[:, 4] == pytest.approx([2 / 3] * 6)
    assert table[:, 5] == pytest.approx([0.9] * 6)
    assert table[:, 6] == pytest.approx([1.0] * 6)  # all are among the best twenty
    centre = np.mean(np.array(vectors[:3]), axis=0)
    near = np.array(vectors) @ (centre / np.linalg.norm(centre))
    assert table[:, 1] == pytest.approx(near - 0.46, abs=1e-6)


@pytest.mark.parametrize(("probability", "value"), [(0.3, True), (0.299, False)])
def test_a_passage_is_about_the_question_from_a_probability_of_0_3(
    probability: float, value: bool
) -> None:
    verdict = _judge(None)._verdict(probability)
    assert (verdict.value, verdict.probability) == (value, probability)
    assert verdict.provenance.details["threshold"] == 0.3


def test_a_cosine_is_smoothed_over_the_nearest_passages() -> None:
    # Two passages, each the other's only neighbour. First .3 x .9 + .7 x .5 = .62 and .3 x .5 +
    # .7 x .9 = .78; then .3 x .9 + .7 x .78 = .816 and .3 x .5 + .7 x .62 = .584; less .38.
    vectors = [[0.9, float(np.sqrt(1 - 0.81))], [0.5, float(np.sqrt(0.75))]]
    hits, documents = _ranked(["Tea.", "Golf."])
    table = _judge(vectors).features(QUESTION, hits, documents)
    assert table[:, 2] == pytest.approx([0.436, 0.204], abs=1e-6)


def test_a_passage_beside_the_best_is_more_likely_than_one_as_near_alone() -> None:
    beside, alone = [0.5, 0.866, 0.0], [0.5, 0.0, 0.866]
    vectors = [[0.7, 0.714, 0.0]] * 5 + [beside, alone] + [[0.1, 0.0, 0.995]] * 30
    hits, documents = _ranked(["Tea."] * len(vectors))
    chances = _judge(vectors, question=3).chances(QUESTION, hits, documents)
    assert chances[5] > chances[6] + 0.1


def test_the_background_is_the_median_of_the_second_half_and_at_most_that_of_debates() -> None:
    hits, documents = _ranked(["Tea."] * 30)
    for level, background in ((0.1, 0.1), (0.38, 0.38), (0.7, 0.4)):
        rows = [[0.9, 0.43589]] * 10 + [[level, float(np.sqrt(1 - level**2))]] * 20
        table = _judge(rows).features(QUESTION, hits, documents)
        assert table[0, 0] == pytest.approx(0.9 - background, abs=1e-5)
        # Their cosines to the best three are 0.52, 0.75 and 0.94: 0.5 at most.
        assert table[0, 1] == pytest.approx(1.0 - 0.5, abs=1e-5)
        # Each has neighbours of its own level, which smoothing keeps: 0.42 at most.
        assert table[0, 2] == pytest.approx(0.9 - min(level, 0.42), abs=1e-5)


def test_in_a_corpus_on_one_question_all_is_about_it() -> None:
    for size in (5, 12, 40):
        hits, documents = _ranked(["Banning tea in schools would harm pupils."] * size)
        rows = [[0.65, 0.76]] * size
        answers = _judge(rows).judge(QUESTION, hits, documents)
        assert all(isinstance(a, Judged) and a.value for a in answers), size


def test_what_stands_apart_is_relevant_and_what_comes_after_is_not() -> None:
    vectors = [[0.8, 0.6]] * 4 + [[0.2, -0.98]] * 26
    texts = ["Tea should be banned in schools because it harms."] * 4 + ["Golf is a sport."] * 26
    hits, documents = _ranked(texts)
    answers = _judge(vectors).judge(QUESTION, hits, documents)
    chances = [a.probability for a in answers if isinstance(a, Judged)]
    assert len(chances) == 30
    assert min(chances[:4]) > 0.9  # type: ignore[type-var]
    assert max(chances[4:]) < 0.2  # type: ignore[type-var]


def test_where_nothing_stands_apart_nothing_is_relevant() -> None:
    hits, documents = _ranked(["Golf is a sport."] * 30)
    vectors = [[0.3, 0.954]] * 30
    answers = _judge(vectors).judge(QUESTION, hits, documents)
    assert not any(isinstance(a, Judged) and a.value for a in answers)


@pytest.mark.parametrize(
    ("vectors", "made_by"), [(None, PACKAGED), ([[1.0, 0.0]] * 3, "http://127.0.0.1/v1#large")]
)
def test_without_vectors_of_the_packaged_embedder_rank_and_words_decide(
    vectors: Sequence[Sequence[float]] | None, made_by: str
) -> None:
    """The regression knows the cosines of one embedder; those of another mean something else."""
    hits, documents = _ranked(["Ban tea at school.", "Tea is fine.", "Golf."])
    judge = _judge(vectors, made_by)
    table = judge.features(QUESTION, hits, documents)
    assert (judge.by, table.shape) == ("words", (3, 3))
    assert "relevance-by-rank-and-words@" in judge.name
    assert judge.card != _judge([[1.0, 0.0]]).card
    found = [a.probability for a in judge.judge(QUESTION, hits, documents) if isinstance(a, Judged)]
    assert len(found) == 3
    assert found == sorted(found, reverse=True)  # type: ignore[type-var]


def test_nothing_found_is_no_error() -> None:
    assert _judge([[1.0, 0.0]]).judge(QUESTION, [], []) == []
    assert _judge(None).judge("", [], []) == []


@given(st.text(max_size=80))
def test_content_words_are_stems_without_the_form_of_a_motion(text: str) -> None:
    found = content_words(text)
    assert content_words(text.upper()) >= set()
    assert "should" not in found
    assert content_words(f"This house believes {text}") >= found - {""}


def test_content_words_of_a_question() -> None:
    assert content_words("Should we ban testing on animals?") == {"ban", "test", "anim"}
