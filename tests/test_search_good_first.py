"""Good arguments first: the order in which people are shown what is found."""

from __future__ import annotations

import math

import numpy as np
import pytest

from index_fixture import Fake, full_index
from pnyx.core.errors import InputError
from pnyx.core.records import Question
from pnyx.search import Index, Scoring, Searcher, SearchPlan
from pnyx.search.engine import Hit
from pnyx.search.hits import list_hits
from pnyx.search.ranking.good_first import good_first


class Engine:
    """Knows the vectors and the quality of documents, and nothing else."""

    def __init__(self, vectors, shares):
        self._vectors, self._shares = vectors, shares

    def vectors(self, ids):
        return np.array([self._vectors[name] for name in ids], dtype=np.float32)

    def quality_shares(self, ids):
        return np.array([self._shares[name] for name in ids])


def test_relevance_is_smoothed_and_quality_counts_within_it():
    """Two documents are each other's only neighbour: near = .3 x .6 + .7 x 1 and .3 x 1 + .7 x .6,
    so relevance = .3 x 1 + .7 x .88 = .916 and .3 x .6 + .7 x .72 = .684; quality decides."""
    engine = Engine({"a": [1, 0], "b": [0.6, 0.8]}, {"a": 0.0, "b": 1.0})
    hits, parts = good_first(engine, [Hit("a", 1, 1.0), Hit("b", 2, 0.6)])
    assert parts["a"].relevance == pytest.approx(0.3 * 1 + 0.7 * (0.3 * 0.6 + 0.7 * 1))
    assert parts["b"].relevance == pytest.approx(0.3 * 0.6 + 0.7 * (0.3 * 1 + 0.7 * 0.6))
    assert [(hit.doc_id, hit.rank) for hit in hits] == [("a", 1), ("b", 2)]
    assert hits[1].score == pytest.approx(parts["b"].relevance * 1.25)

    hits, _ = good_first(engine, [Hit("a", 1, 0.9), Hit("b", 2, 0.8)])
    assert [hit.doc_id for hit in hits] == ["b", "a"]


def test_a_near_copy_comes_below_and_says_so():
    vectors = {"a": [1, 0, 0], "b": [1, 0, 0], "c": [0, 1, 0], "d": [0, 0, 1]}
    shares = {"a": 0.5, "b": 0.5, "c": 0.5, "d": math.nan}
    hits, parts = good_first(Engine(vectors, shares), [
        Hit("a", 1, 1.0), Hit("b", 2, 0.99), Hit("c", 3, 0.9), Hit("d", 4, 0.9),
    ])  # fmt: skip
    assert [hit.doc_id for hit in hits][-1] == "b"
    assert (parts["b"].copy_of, parts["a"].copy_of) == ("a", "")
    assert hits[-1].score == pytest.approx(parts["b"].relevance * 1.125 * 0.5)
    # Where the quality is not known, a document is neither better nor worse for it.
    assert (parts["d"].share, parts["d"].boost) == (None, 1.125)


@pytest.mark.parametrize(("cosine", "copy_of"), [(0.9501, "a"), (0.9499, "")])
def test_a_near_copy_has_a_cosine_of_0_95(cosine, copy_of):
    vectors = {"a": [1, 0], "b": [cosine, (1 - cosine**2) ** 0.5]}
    _, parts = good_first(Engine(vectors, dict.fromkeys("ab", 0.5)), ranked_by({"a": 1, "b": 0.9}))
    assert parts["b"].copy_of == copy_of


def ranked_by(scores):
    return [Hit(name, rank, score) for rank, (name, score) in enumerate(scores.items(), 1)]


def test_a_neighbour_weighs_e_times_as_much_at_a_cosine_greater_by_0_1():
    """a is at 0.6 to b and at 0.5 to c, which is at 0 to b; only b has a score.

    After one step, b has 0.3, as its neighbours have nothing, and c has 0.7 of the weight of b.
    """
    vectors = {"a": [1, 0, 0], "b": [0.6, 0.8, 0], "c": [0.5, -0.375, 0.609375**0.5]}
    engine = Engine(vectors, dict.fromkeys("abc", 0.5))
    _, parts = good_first(engine, ranked_by({"b": 1.0, "a": 0.0, "c": 0.0}))
    b_for_a, b_for_c = 1 / (1 + math.exp(-1)), 1 / (1 + math.exp(5))
    assert parts["a"].near == pytest.approx(b_for_a * 0.3 + (1 - b_for_a) * 0.7 * b_for_c, rel=1e-5)


@pytest.mark.parametrize(("zero", "is_one"), [("f", False), ("g", True)])
def test_five_neighbours_count(zero, is_one):
    """b to f are the nearest of a, in this order, and g is the sixth."""
    names = "abcdefg"
    vectors = {"a": np.eye(7)[0]}
    for number, name in enumerate(names[1:], 1):
        cosine = 0.94 - 0.01 * number
        vectors[name] = cosine * np.eye(7)[0] + (1 - cosine**2) ** 0.5 * np.eye(7)[number]
    engine = Engine(vectors, dict.fromkeys(names, 0.5))
    _, parts = good_first(engine, ranked_by({name: float(name != zero) for name in names}))
    assert (parts["a"].near == pytest.approx(1.0)) is is_one


@pytest.mark.parametrize(("count", "copy_of"), [(200, "0"), (201, "")])
def test_copies_are_looked_for_among_the_first_200(count, copy_of):
    vectors = {str(n): row for n, row in enumerate(np.eye(count - 1))}
    vectors["copy"] = vectors["0"]
    scores = dict.fromkeys(vectors, 1.0) | {"copy": 0.5}  # the last also with that of its neighbour
    _, parts = good_first(Engine(vectors, dict.fromkeys(vectors, 0.5)), ranked_by(scores))
    assert parts["copy"].copy_of == copy_of


def test_one_document_and_none():
    engine = Engine({"a": [1, 0]}, {"a": 1.0})
    assert good_first(engine, []) == ([], {})
    hits, _ = good_first(engine, [Hit("a", 1, 0.8)])
    assert hits == [Hit("a", 1, pytest.approx(0.8 * 1.25))]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return Index.open(full_index(tmp_path_factory.mktemp("good") / "full.index"))


QUESTION = Question("q", "Should cats be fed tea in the morning?")


def test_the_order_does_not_depend_on_how_many_are_wanted(index):
    searcher = Searcher(index, embedder=Fake())
    assert searcher.good_first
    assert searcher.described.endswith("; good arguments first")
    all_of_them = searcher.show(QUESTION, 30).hits
    assert len(all_of_them) > 3
    assert searcher.show(QUESTION, 3).hits == all_of_them[:3]
    assert [hit.rank for hit in all_of_them] == list(range(1, len(all_of_them) + 1))
    scores = [hit.score for hit in all_of_them]
    assert scores == sorted(scores, reverse=True)
    (ranked,) = searcher.search([QUESTION], 200)
    assert searcher.shown(ranked, 3).hits == all_of_them[:3]
    with pytest.raises(InputError, match="k is 0"):
        searcher.show(QUESTION, 0)


def test_what_is_said_of_a_score_makes_it_up(index):
    searcher = Searcher(index, embedder=Fake())
    found = searcher.show(QUESTION, 10)

    def made_of(part):
        values = [own.value for own in part.parts]
        return sum(values) if part.combine == "sum" else math.prod(values)

    for one in list_hits(found, searcher, explained=True):
        why = one.why
        assert (why.name, why.value) == ("good", one.hit.score)
        assert made_of(why) == pytest.approx(one.hit.score, rel=1e-9)
        relevance, quality = why.parts[:2]
        assert made_of(relevance) == pytest.approx(relevance.value, rel=1e-9)
        assert made_of(relevance.parts[0]) == pytest.approx(relevance.parts[0].raw, rel=1e-9)
        assert quality.raw == one.quality_share


@pytest.mark.parametrize(
    "plan",
    [
        SearchPlan(Scoring("dirichlet")),
        SearchPlan(Scoring("dense")),
        SearchPlan(Scoring("hybrid"), good_first=False),
        SearchPlan(Scoring("hybrid"), diversify="mmr"),
    ],
)
def test_other_searches_are_shown_as_they_rank(index, plan):
    searcher = Searcher(index, plan, embedder=Fake())
    assert not searcher.good_first
    (ranked,) = searcher.search([QUESTION], 5)
    assert searcher.show(QUESTION, 5).hits == ranked.hits
