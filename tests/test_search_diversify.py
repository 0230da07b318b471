"""Maximal marginal relevance (BERDS, Eq. 1) and round-robin merging."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pnyx.core.errors import InputError
from pnyx.search.engine import Hit
from pnyx.search.ranking.diversify import in_order, mmr, of_best, round_robin

SCORES = st.floats(-1e6, 1e6)
SHARE = st.floats(0, 1)


@st.composite
def candidates(draw):
    n = draw(st.integers(1, 12))
    relevance = draw(st.lists(SHARE, min_size=n, max_size=n))
    vectors = draw(hnp.arrays(np.float32, (n, 3), elements=st.floats(-4, 4, width=32)))
    return relevance, vectors


def by_the_book(relevance, similarity, k, lam):
    """Equation 1 word for word."""
    chosen: list[int] = []
    while len(chosen) < min(k, len(relevance)):
        rest = [i for i in range(len(relevance)) if i not in chosen]

        def value(i):
            nearest = max((similarity[i][j] for j in chosen), default=0.0)
            return lam * relevance[i] - (1 - lam) * nearest

        chosen.append(max(rest, key=value))  # the first of equal ones
    return chosen


def test_the_example_of_the_decision_page_by_hand():
    # Two copies of one argument (a, b) and two others. With lambda .5, after a (.5):
    #   b: .5 * .9 - .5 * 1.0 = -.05    c: .5 * .7 - .5 * .2 = .25    d: .5 * .5 - .5 * .1 = .20
    # after c:  b: -.05                                              d: .25 - .5 * .8  = -.15
    alike = np.array([[1, 1, 0.2, 0.1], [1, 1, 0.2, 0.1], [0.2, 0.2, 1, 0.8], [0.1, 0.1, 0.8, 1]])
    relevance = [1.0, 0.9, 0.7, 0.5]
    assert mmr(relevance, alike.__getitem__, 4, 0.5) == [0, 2, 1, 3]
    assert mmr(relevance, alike.__getitem__, 2, 0.5) == [0, 2]
    assert mmr(relevance, alike.__getitem__, 4, 1.0) == [0, 1, 2, 3]
    # Lambda 0: d is least like a, then c (.8 to d) before b (1 to a).
    assert mmr(relevance, alike.__getitem__, 4, 0.0) == [0, 3, 2, 1]


def test_vectors_are_compared_by_cosine():
    vectors = np.array([[1, 0], [100, 0], [0, 0.001], [0, 0]], dtype=np.float32)
    assert mmr([1, 0.9, 0.5, 0.4], vectors, 4, 0.5) == [0, 2, 3, 1]
    huge = np.array([[1e300, 0], [2e300, 0], [0, 1e-300]])
    assert mmr([1, 0.9, 0.5], huge, 3, 0.5) == [0, 2, 1]


@given(candidates(), st.integers(1, 15), SHARE)
def test_it_is_equation_1(given_candidates, k, lam):
    relevance, vectors = given_candidates
    # Rounded, so that the two ways to compute it cannot tie differently.
    alike = np.round(np.clip(vectors @ vectors.T, -1, 1).astype(np.float64), 2)
    expected = by_the_book(relevance, alike.tolist(), k, lam)
    assert mmr(relevance, alike.__getitem__, k, lam) == expected


@given(candidates(), st.integers(1, 15), SHARE)
def test_each_candidate_comes_at_most_once_and_more_only_adds(given_candidates, k, lam):
    relevance, vectors = given_candidates
    order = mmr(relevance, vectors, k, lam)
    assert len(order) == len(set(order)) == min(k, len(relevance))
    assert mmr(relevance, vectors, k + 1, lam)[: len(order)] == order
    assert all(type(i) is int for i in order)


@given(candidates())
def test_lambda_1_keeps_the_order_of_relevance_and_ties_keep_their_ranks(given_candidates):
    relevance, vectors = given_candidates
    order = mmr(relevance, vectors, len(relevance), 1.0)
    assert order == sorted(range(len(relevance)), key=lambda i: -relevance[i])


@given(candidates())
def test_lambda_0_does_not_look_at_relevance_and_starts_with_the_first(given_candidates):
    relevance, vectors = given_candidates
    order = mmr(relevance, vectors, len(relevance), 0.0)
    assert order[0] == 0
    assert order == mmr(relevance[::-1], vectors, len(relevance), 0.0)


@given(candidates(), st.floats(0, 0.99))
def test_copies_tie_to_the_last_bit(given_candidates, lam):
    """Of equal candidates the first is chosen, wherever they stand in the array."""
    _, vectors = given_candidates
    thrice = np.repeat(vectors, 3, axis=0)
    order = mmr([1.0] * len(thrice), thrice, len(thrice), lam)
    for copy in range(len(vectors)):
        assert [i for i in order if i // 3 == copy] == [3 * copy, 3 * copy + 1, 3 * copy + 2]


@pytest.mark.parametrize("lam", [-0.01, 1.01, float("nan")])
def test_a_lambda_out_of_range_is_refused(lam):
    with pytest.raises(InputError, match="expected a number from 0 to 1"):
        mmr([1.0], np.ones((1, 2)), 1, lam)


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match="k is 0"):
        mmr([1.0], np.ones((1, 2)), 0, 0.5)
    for vectors in (np.ones((2, 2)), np.ones(1), np.full((1, 2), np.nan)):
        with pytest.raises(ValueError, match="expected finite vectors"):
            mmr([1.0], vectors, 1, 0.5)
    with pytest.raises(ValueError, match="one finite number"):
        mmr([float("inf")], np.ones((1, 2)), 1, 0.5)
    with pytest.raises(ValueError, match="one finite number"):
        mmr([1.0, 2.0], lambda i: np.array([np.nan, 1.0]), 2, 0.5)
    assert mmr([], np.ones((0, 3)), 5, 0.5) == []


@given(st.lists(SCORES, max_size=8))
@example([1e-308, -2.0])
def test_scores_are_divided_by_the_best(scores):
    found = of_best(scores)
    assert found.shape == (len(scores),)
    if scores and max(scores) > 0:
        assert found.max() == 1
        assert np.isfinite(found).all()
        if max(scores) > 1e-300:
            assert found == pytest.approx([s / max(scores) for s in scores])
    else:
        assert not found.any()


# --- round robin

RANKINGS = st.lists(st.lists(st.integers(0, 9), max_size=6, unique=True), max_size=5)


def test_round_robin_by_hand():
    rankings = ["abcd", "aefg", "ba"]
    # rounds: a a b | b e a | c f | d g
    assert round_robin(rankings, 9) == list("abecfdg")
    assert round_robin(rankings, 3) == list("abe")
    assert round_robin([], 3) == []
    with pytest.raises(InputError, match="k is 0"):
        round_robin(rankings, 0)


@given(RANKINGS, st.integers(1, 30))
def test_round_robin_is_the_first_k_of_all_rounds(rankings, k):
    rounds = itertools.zip_longest(*rankings)
    expected = list(dict.fromkeys(x for r in rounds for x in r if x is not None))[:k]
    assert round_robin(rankings, k) == expected


# --- hits in another order


@given(st.integers(0, 8).flatmap(lambda n: st.tuples(st.just(n), st.permutations(range(n)))))
def test_hits_in_another_order_keep_the_rest_behind_and_scores_that_fall(drawn):
    n, order = drawn
    hits = [Hit(str(i), i + 1, 9.0) for i in range(n)]
    partial = order[: n // 2]
    moved = in_order(hits, partial)
    assert [int(h.doc_id) for h in moved] == [*partial, *sorted(set(range(n)) - set(partial))]
    assert [h.rank for h in moved] == list(range(1, n + 1))
    assert sorted(moved, key=lambda h: -h.score) == moved
    assert len({h.score for h in moved}) == n


def test_an_order_with_a_position_twice_is_refused():
    for order in ([0, 0], [1], [-1]):
        with pytest.raises(ValueError, match="0-based positions"):
            in_order([Hit("a", 1, 1.0)], order)
