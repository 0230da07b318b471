"""Paired tests and Holm's correction against scipy, brute force and worked examples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from pnyx.stats.base import Bootstrap
from pnyx.stats.significance import FLIPS, ONE_SIDED, SIGNIFICANT, conclude, differ, holm, paired_t

DIFFERENCES = st.lists(
    st.floats(-1, 1, allow_nan=False).map(lambda x: round(x, 3)), min_size=2, max_size=60
)
CHANCES = st.lists(st.none() | st.floats(0, 1, allow_nan=False), max_size=12)


def paired_randomisation(values, seed=0):
    table = np.array(values, dtype=np.float64)[:, None]
    return differ(table, "randomisation", Bootstrap(0, seed))[0].test


def not_lower(values, margin, test="t"):
    table = np.array(values, dtype=np.float64)[:, None]
    return differ(table, test, Bootstrap(0), margin)[0].against.p_not_lower


@given(values=DIFFERENCES)
def test_t_is_scipys(values):
    found = paired_t(values)
    if len(set(values)) == 1:
        assert (found.statistic, found.effect) == (None, None)
        assert found.p == (None if values[0] else 1.0)
        return
    expected = scipy.stats.ttest_rel(values, [0.0] * len(values))
    assert found.topics == len(values)
    assert found.difference == pytest.approx(np.mean(values))
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-9, abs=1e-12)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.effect == pytest.approx(found.statistic / len(values) ** 0.5)


def test_t_on_a_worked_example():
    """Student 1908: the hours of sleep that two drugs add, on ten people."""
    sleep = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
    found = paired_t(sleep)
    assert found.difference == pytest.approx(1.58)
    assert found.statistic == pytest.approx(4.0621, abs=5e-5)
    assert found.p == pytest.approx(0.002833, abs=5e-7)
    assert found.effect == pytest.approx(1.2846, abs=5e-5)


@given(values=st.lists(st.sampled_from([-0.3, -0.1, 0.0, 0.1, 0.2, 1.0]), min_size=1, max_size=9))
def test_few_topics_try_all_signs(values):
    observed = abs(sum(values)) - 1e-9
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, values, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(values))
    ]
    expected = sum(total >= observed for total in sums) / len(sums)
    assert paired_randomisation(values).p == pytest.approx(expected)
    assert paired_randomisation([-v for v in values]).p == pytest.approx(expected)


def test_many_topics_draw_signs():
    values = np.random.default_rng(5).normal(0.05, 0.2, 40)
    found = paired_randomisation(values, seed=1)
    assert found == paired_randomisation(values, seed=1)
    assert found.p == pytest.approx(paired_t(values).p, abs=0.01)
    assert found.p != paired_randomisation(values, seed=2).p
    assert paired_randomisation(np.full(40, 0.1)).p == 1 / (1 + FLIPS)


def test_sixteen_and_seventeen_topics_agree():
    """The border between all signs and drawn ones."""
    values = np.random.default_rng(3).normal(0.1, 0.2, 16)
    exact = paired_randomisation(values).p
    drawn = paired_randomisation([*values, 1e-9]).p
    assert drawn == pytest.approx(exact, abs=4 * (exact * (1 - exact) / FLIPS) ** 0.5 + 1e-4)


def test_nothing_is_said_of_nothing():
    for test in (paired_t, paired_randomisation):
        assert (test([]).difference, test([]).p, test([]).effect) == (None, None, None)
        assert test([0.0, 0.0, 0.0]).p == 1
    assert paired_t([0.5]).p is None
    assert paired_randomisation([0.5]).p == 1
    # Equal but for rounding: no variance, so no t of 10^16.
    assert paired_t([0.1 + 0.2, 0.3, 0.3]).p is None
    assert paired_randomisation([0.1 + 0.2, 0.3, 0.3]).p == 0.25


# --- against a margin


@given(values=DIFFERENCES, margin=st.floats(0.001, 0.5))
def test_not_lower_is_the_interval_above_the_margin(values, margin):
    """The one-sided test at .025 and the two-sided 95 % t-interval are one decision."""
    found = not_lower(values, margin)
    if len(set(values)) == 1:
        assert found is None
        return
    expected = scipy.stats.ttest_1samp(values, -margin, alternative="greater").pvalue
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)
    spread = scipy.stats.sem(values)
    low, _ = scipy.stats.t.interval(0.95, len(values) - 1, np.mean(values), spread)
    if abs(low + margin) > 1e-9:
        assert (found < ONE_SIDED) == (low > -margin)


@given(values=st.lists(st.sampled_from([-0.3, -0.1, 0.0, 0.1, 0.2]), min_size=1, max_size=9))
def test_not_lower_tries_all_signs(values):
    shifted = [value + 0.05 for value in values]
    sums = [
        sum(sign * value for sign, value in zip(signs, shifted, strict=True))
        for signs in itertools.product((1, -1), repeat=len(values))
    ]
    expected = sum(total >= sum(shifted) - 1e-9 for total in sums) / len(sums)
    assert not_lower(values, 0.05, "randomisation") == pytest.approx(expected)


def test_not_lower_on_a_worked_example():
    """Four topics: mean -.01, standard deviation .02 x sqrt(4/3), standard error .011547."""
    values = [-0.03, 0.01, -0.03, 0.01]
    # With 3 degrees of freedom t is below x with 1/2 + (u / (1 + u^2) + atan u) / pi, u = x / 3^.5.
    # Against .02: t = (-.01 + .02) / .011547 = .866, u = .5: 1/2 - (.4 + .46365) / pi = .2251.
    assert not_lower(values, 0.02) == pytest.approx(0.2251, abs=5e-5)
    # Against .06: u = 2.5. That it is not higher by so much: (.01 + .06) / .011547, u = 3.5.
    assert not_lower(values, 0.06) == pytest.approx(0.01136, abs=5e-6)
    assert not_lower([-v for v in values], 0.06) == pytest.approx(0.00450, abs=5e-6)
    p = paired_t(values).p  # u = .5 on either side: no difference found
    assert p == pytest.approx(0.4502, abs=5e-5)
    assert conclude(-0.01, p, 0.2251, 0.2251) == "inconclusive"
    assert conclude(-0.01, p, 0.01136, 0.01136) == "equivalent"
    # Of two systems looked at together, .01136 x 2 is still below .025, x 3 is not.
    two, three = holm([0.01136, 0.2251]), holm([0.01136, 0.2251, 0.3])
    assert conclude(-0.01, p, two[0], two[1]) == "not lower"
    assert conclude(-0.01, p, three[0], three[1]) == "inconclusive"


def test_a_margin_needs_spread_and_a_size():
    assert not_lower([], 0.1) is None
    assert not_lower([0.0, 0.0], 0.1) is None  # t is not defined without variance
    assert not_lower([0.0, 0.0], 0.1, "randomisation") == 0.25
    assert not_lower([-0.1, -0.1], 0.1, "randomisation") == 1.0
    for margin in (0.0, -0.1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="margin"):
            not_lower([0.1, 0.2], margin)


@given(
    difference=st.none() | st.floats(-1, 1),
    p=st.none() | st.floats(0, 1),
    lower=st.none() | st.floats(0, 1),
    both=st.none() | st.floats(0, 1),
)
def test_nothing_is_concluded_without_a_test(difference, p, lower, both):
    found = conclude(difference, p, lower, both)
    shown = p is not None and p < SIGNIFICANT and difference is not None
    assert (found in ("higher", "lower")) == shown
    assert found != "not lower" or lower < ONE_SIDED
    assert found != "equivalent" or both < ONE_SIDED
    if not shown and (lower is None or lower >= ONE_SIDED) and (both is None or both >= ONE_SIDED):
        assert found == "inconclusive"


@pytest.mark.parametrize("test", ["t", pytest.param("randomisation", marks=pytest.mark.all)])
def test_a_system_that_is_lower_by_the_margin_is_rarely_called_not_lower(test):
    rng = np.random.default_rng(4)
    wrong = sum(not_lower(rng.normal(-0.02, 0.05, 15), 0.02, test) < ONE_SIDED for _ in range(400))
    assert wrong <= 400 * ONE_SIDED + 3 * (400 * ONE_SIDED) ** 0.5


def test_holm_on_a_worked_example():
    # .005 x 4, .01 x 3, .03 x 2, then not below the one before it.
    adjusted = holm([0.01, 0.04, None, 0.03, 0.005])
    assert adjusted == [pytest.approx(0.03), pytest.approx(0.06), None, pytest.approx(0.06),
                        pytest.approx(0.02)]  # fmt: skip
    assert holm([]) == []
    assert holm([0.7, 0.7]) == [1.0, 1.0]


@given(values=CHANCES)
def test_holm_rejects_what_its_step_down_rule_rejects(values):
    adjusted = holm(values)
    tested = sorted(p for p in values if p is not None)
    for level in (0.01, 0.05, 0.5):
        rejected = 0
        while rejected < len(tested) and tested[rejected] * (len(tested) - rejected) < level:
            rejected += 1
        assert sum(p is not None and p < level for p in adjusted) == rejected
    for p, q in zip(values, adjusted, strict=True):
        assert (p is None) == (q is None)
        assert p is None or p <= q <= 1
