"""Student's t, the binomial and the beta distribution, held against scipy's."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from pnyx.stats.distributions import (
    beta_below,
    beta_quantile,
    binomial_below,
    student_below,
    student_quantile,
)

CHANCES = st.floats(1e-9, 1 - 1e-9)
SIZES = st.floats(-1, 5).map(lambda exponent: 10**exponent)


@given(CHANCES, SIZES, SIZES)
def test_beta(x, a, b):
    assert beta_below(x, a, b) == pytest.approx(special.betainc(a, b, x), rel=1e-8, abs=1e-250)


@given(st.floats(1e-6, 1 - 1e-6), st.integers(1, 100_000), st.integers(1, 100_000))
def test_quantiles_of_beta(below, a, b):
    found = beta_quantile(below, a, b)
    assert found == pytest.approx(special.betaincinv(a, b, below), rel=1e-9)


@given(st.integers(0, 20_000), st.integers(1, 20_000), CHANCES)
def test_binomial(successes, trials, chance):
    expected = special.bdtr(successes, trials, chance) if successes < trials else 1.0
    assert binomial_below(successes, trials, chance) == pytest.approx(
        expected, rel=1e-8, abs=1e-250
    )


@given(st.floats(-60, 60), st.floats(0, 6).map(lambda exponent: 10**exponent))
def test_students_t(t, degrees):
    expected = special.stdtr(degrees, t)
    assert student_below(t, degrees) == pytest.approx(expected, rel=1e-8, abs=1e-250)


@given(st.floats(1e-9, 1 - 1e-6), st.floats(0, 6).map(lambda exponent: 10**exponent))
def test_quantiles_of_students_t(below, degrees):
    found = student_quantile(degrees, below)
    assert found == pytest.approx(special.stdtrit(degrees, below), rel=1e-8, abs=1e-9)
    assert student_below(found, degrees) == pytest.approx(below, rel=1e-9)


def test_the_ends():
    assert student_below(-math.inf, 3) == 0
    assert student_below(math.inf, 3) == 1
    assert (beta_below(0, 2, 3), beta_below(1, 2, 3)) == (0, 1)
    assert (beta_quantile(0, 2, 3), beta_quantile(1, 2, 3)) == (0, 1)
    assert (binomial_below(-1, 5, 0.5), binomial_below(5, 5, 0.5)) == (0, 1)
    assert student_quantile(7, 0.5) == 0
    with pytest.raises(ValueError, match="between 0 and 1"):
        student_quantile(7, 1.0)


def test_worked_examples():
    """Clopper and Pearson's 95 % bound on 0 of 59 is 5 %; t of 10 degrees, from the tables."""
    assert beta_quantile(0.95, 1, 59) == pytest.approx(1 - 0.05 ** (1 / 59))
    assert student_quantile(10) == pytest.approx(2.228, abs=5e-4)
