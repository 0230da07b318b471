"""Fusion of rankings: worked by hand, and what must hold for any."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.errors import InputError
from pnyx.search.ranking.fusion import fuse_rrf, fuse_weighted

NORMALISATIONS = ["minmax", "zscore"]


def ranking(numbers, scores):
    return np.array(numbers, dtype=np.int64), np.array(scores, dtype=np.float64)


@st.composite
def a_ranking(draw):
    numbers = draw(st.lists(st.integers(0, 30), unique=True, max_size=12))
    scores = draw(st.lists(st.integers(-1000, 1000), min_size=len(numbers), max_size=len(numbers)))
    order = sorted(zip(numbers, scores, strict=True), key=lambda pair: (-pair[1], pair[0]))
    return ranking([n for n, _ in order], [s / 8 for _, s in order])


some_rankings = st.lists(a_ranking(), min_size=1, max_size=5)

LEXICAL = ranking([7, 3, 9], [12.0, 8.0, 4.0])
DENSE = ranking([3, 5, 7], [0.9, 0.8, 0.4])


def test_reciprocal_ranks_worked_by_hand():
    numbers, scores = fuse_rrf([LEXICAL, DENSE], k=10)
    # 3: ranks 2 and 1; 7: ranks 1 and 3; 5: rank 2 once; 9: rank 3 once.
    assert numbers.tolist() == [3, 7, 5, 9]
    np.testing.assert_allclose(
        scores, [1 / 62 + 1 / 61, 1 / 61 + 1 / 63, 1 / 62, 1 / 63], rtol=1e-15
    )
    numbers, scores = fuse_rrf([LEXICAL, DENSE], k=1, constant=0)
    assert (numbers.tolist(), scores.tolist()) == ([3], [1.5])


def test_weighted_scores_worked_by_hand():
    numbers, scores = fuse_weighted([LEXICAL, DENSE], [1.0, 2.0], 10)
    # Lexical: 7 -> 1, 3 -> 0.5, 9 -> 0. Dense: 3 -> 1, 5 -> 0.8, 7 -> 0; missing -> 0.
    assert numbers.tolist() == [3, 5, 7, 9]
    np.testing.assert_allclose(scores, [2.5, 1.6, 1.0, 0.0], atol=1e-12)
    numbers, scores = fuse_weighted([LEXICAL, DENSE], [1.0, 1.0], 10, "zscore")
    up = 1.5**0.5  # of three equally spaced numbers, the outer ones' distance from the mean
    d3, d5, d7 = (np.array([0.9, 0.8, 0.4]) - 0.7) / np.std([0.9, 0.8, 0.4])
    assert numbers.tolist() == [3, 7, 5, 9]
    np.testing.assert_allclose(scores, [d3, up + d7, d5 - up, d7 - up], atol=1e-12)


@given(some_rankings, st.randoms(use_true_random=False))
def test_the_order_of_the_rankings_does_not_matter(rankings, random):
    weighted = [(r, random.choice([0.1, 0.3, 1.0, 2.7])) for r in rankings]
    shuffled = random.sample(weighted, len(weighted))
    for fuse in (
        lambda pairs: fuse_rrf([r for r, _ in pairs], k=20),
        *(
            lambda pairs, how=how: fuse_weighted(
                [r for r, _ in pairs], [w for _, w in pairs], 20, how
            )
            for how in NORMALISATIONS
        ),
    ):
        for left, right in zip(fuse(weighted), fuse(shuffled), strict=True):
            np.testing.assert_array_equal(left, right)


@given(a_ranking(), st.floats(0.01, 100))
def test_a_single_ranking_stays_as_it_is(one, weight):
    assert fuse_rrf([one], k=100)[0].tolist() == one[0].tolist()
    for how in NORMALISATIONS:
        assert fuse_weighted([one], [weight], 100, how)[0].tolist() == one[0].tolist()


@given(some_rankings, st.integers(1, 40))
def test_best_first_each_once_ties_in_document_order(rankings, k):
    held = set(np.concatenate([numbers for numbers, _ in rankings]).tolist())
    for numbers, scores in (
        fuse_rrf(rankings, k=k),
        *(fuse_weighted(rankings, [1.0] * len(rankings), k, how) for how in NORMALISATIONS),
    ):
        assert len(numbers) == min(k, len(held)) == len(scores)
        assert set(numbers.tolist()) <= held
        assert np.isfinite(scores).all()
        pairs = list(zip((-scores).tolist(), numbers.tolist(), strict=True))
        assert pairs == sorted(set(pairs))


@given(some_rankings)
def test_a_ranking_of_weight_0_and_an_empty_one_change_nothing(rankings):
    empty = ranking([], [])
    for how in NORMALISATIONS:
        plain = fuse_weighted(rankings, [1.0] * len(rankings), 50, how)
        more = fuse_weighted([*rankings, empty], [1.0] * (len(rankings) + 1), 50, how)
        np.testing.assert_array_equal(plain[0], more[0])
        np.testing.assert_array_equal(plain[1], more[1])
    assert fuse_rrf([], k=3)[0].tolist() == []


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=9))
def test_no_size_of_scores_overflows(scores):
    one = ranking(range(len(scores)), sorted(scores, reverse=True))
    for how in NORMALISATIONS:
        assert np.isfinite(fuse_weighted([one, one], [1.0, 2.0], 9, how)[1]).all()


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: fuse_rrf([LEXICAL], k=0), "k is 0, expected at least 1"),
        (lambda: fuse_rrf([LEXICAL], k=1, constant=-1), "rank constant is -1"),
        (lambda: fuse_rrf([LEXICAL], k=1, constant=float("nan")), "rank constant is nan"),
        (lambda: fuse_weighted([LEXICAL], [1, 2], 5), "2 weights for 1 rankings"),
        (lambda: fuse_weighted([LEXICAL], [-1], 5), "weights are -1"),
        (lambda: fuse_weighted([LEXICAL, DENSE], [0, 0], 5), "not all 0"),
        (lambda: fuse_weighted([LEXICAL], [1], 5, "softmax"), "expected: minmax, zscore"),
    ],
)
def test_bad_settings_are_one_line(call, line):
    with pytest.raises(InputError, match=line):
        call()


@pytest.mark.parametrize("bad", [([1, 1], [2, 1]), ([1], [2, 1]), ([1], [float("nan")])])
def test_what_is_no_ranking_is_refused(bad):
    with pytest.raises(ValueError):
        fuse_rrf([ranking(*bad)], k=1)
