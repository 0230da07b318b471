"""Statistics at the limits of their methods: rounding errors, exact tests, levels, few draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pnyx.judging.measures.binary import ece_bias
from pnyx.judging.measures.registry import MEASURES
from pnyx.stats.alpha import krippendorff_alpha
from pnyx.stats.base import Bootstrap, Measured, distinct_text
from pnyx.stats.intervals import (
    interval_of,
    log_odds_interval,
    mean_intervals,
    paired_shares,
    wilson,
)
from pnyx.stats.signed_rank import wilcoxon
from pnyx.stats.significance import conclude, differ, paired_t


def signed_ranks(values: list[float]) -> tuple[float, float, float, int]:
    """Return both sums of ranks, p and the direction of Wilcoxon's test of one row."""
    test = wilcoxon(np.array([values], dtype=np.float64))
    return (test.above[0], test.below[0], test.p[0], int(test.direction[0]))


def exact(count: int) -> float:
    """Return the exact p if all of `count` differences have one sign: 2 of 2^count patterns."""
    return 2.0 ** (1 - count)


def normal(count: int, ties: float = 0.0) -> float:
    """Return the p of the normal distribution for the same; `ties` is the sum of t^3 - t."""
    variance = count * (count + 1) * (2 * count + 1) / 24 - ties / 48
    far: float = count * (count + 1) / 4 / math.sqrt(2 * variance)
    return math.erfc(far)


@pytest.mark.parametrize(
    ("values", "p"),
    [
        (list(range(1, 51)), exact(50)),
        (list(range(1, 52)), normal(51)),
        ([1] * 13, exact(13)),  # ties
        ([1] * 14, normal(14, 14**3 - 14)),
        ([0, *range(1, 13)], exact(12)),  # a zero
        ([0, *range(1, 14)], normal(13)),
        ([math.nan, *range(1, 14)], exact(13)),  # a missing one
        ([0, 0], 1.0),
    ],
)
def test_up_to_which_number_of_topics_wilcoxons_p_is_exact(values, p):
    assert signed_ranks(values)[2] == pytest.approx(p, rel=1e-9)


def test_wilcoxons_test_ignores_rounding_errors_of_1e_12_of_the_largest():
    assert signed_ranks([1.0, 1e-12]) == (1.0, 0.0, 1.0, 1)  # one difference
    assert signed_ranks([1.0, 1.2e-12]) == (3.0, 0.0, 0.5, 1)
    assert signed_ranks([1.0, -1.0 - 0.9e-12]) == (1.5, 1.5, 1.0, 0)  # tied
    assert signed_ranks([1.0, -1.0 - 1.3e-12]) == (1.0, 2.0, 1.0, -1)


def test_wilcoxons_test_by_hand():
    """Sizes 1, 2, 2, 3: ranks 1, 2.5, 2.5, 4. Sums of 1 or less: of 2 patterns of 16."""
    assert signed_ranks([-1.0, 2.0, 2.0, 3.0]) == (9.0, 1.0, 2 * 2 / 16, 1)


def test_a_t_test_needs_more_spread_than_rounding_errors():
    assert paired_t([1.0, 1.0 + 0.9e-12]).p is None
    assert paired_t([1.0, 1.0 + 1.3e-12]).p is not None
    assert paired_t([0.5]).p is None
    assert paired_t([0.5, 0.25]).p == pytest.approx(2 * math.atan(1 / 3) / math.pi)  # t is 3


@pytest.mark.parametrize(("small", "p"), [(0.4e-12, 1.0), (0.6e-12, 0.5)])
def test_sums_of_signs_that_differ_by_rounding_errors_are_equal(small, p):
    """1 - small is less than 1 + small by 0.8e-12 or by 1.2e-12."""
    (test,) = differ(np.array([[1.0], [small]]), "randomisation", Bootstrap(0))
    assert test.test.p == p


def test_a_hundred_thousand_patterns_are_drawn_for_many_topics():
    (test,) = differ(np.full((40, 1), 0.1), "randomisation", Bootstrap(0))
    assert test.test.p == 1 / 100_001


@pytest.mark.parametrize(
    ("difference", "p", "lower", "both", "conclusion"),
    [
        (0.1, 0.0499, None, None, "higher"),
        (-0.1, 0.0499, None, None, "lower"),
        (0.1, 0.05, None, None, "inconclusive"),
        (0.1, 0.05, 0.0249, None, "not lower"),
        (0.1, 0.05, 0.025, None, "inconclusive"),
        (0.1, 0.05, 0.001, 0.0249, "equivalent"),
        (0.1, 0.05, 0.001, 0.025, "not lower"),
        (0.1, None, 0.001, 0.001, "equivalent"),
    ],
)
def test_levels_of_conclusions(difference, p, lower, both, conclusion):
    assert conclude(difference, p, lower, both) == conclusion


# --- agreement


@pytest.mark.parametrize(("gap", "equal"), [(4e-10, True), (6e-10, False)])
def test_ratings_are_equal_if_they_are_to_nine_decimals(gap, equal):
    ours, theirs = [1.0, 2.0, 3.0, 1.0], [1.0 + gap, 2.0, 3.0, 1.0]
    for name in ("alpha_nominal", "alpha_ordinal", "kappa"):
        assert (MEASURES[name].value(ours, theirs) == pytest.approx(1.0, abs=1e-12)) is equal
    assert (krippendorff_alpha([ours, theirs], "nominal") == pytest.approx(1.0)) is equal


@pytest.mark.parametrize(("gap", "accuracy"), [(0.9e-9, 1.0), (1.3e-9, 0.5)])
def test_ratings_are_right_if_they_differ_by_less_than_1e_9(gap, accuracy):
    assert MEASURES["accuracy"].value([0.0, 2.0], [gap, 2.0]) == accuracy


def test_agreement_by_hand():
    """Values 1, 1, 2, 2 and 1, 1, 2, 1: they agree on 3 of 4.

    Kappa: chance is (2 * 3 + 2 * 1) / 16 = 0.5. Alpha: of all 8 ratings, 5 are 1, so that
    1 - 2 * 1 * 7 / (64 - 25 - 9) = 1 - 14 / 30.
    """
    pairs = [1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 1.0]
    assert MEASURES["kappa"].value(*pairs) == pytest.approx(0.5)
    for name in ("alpha_nominal", "alpha_ordinal", "alpha_interval"):
        assert MEASURES[name].value(*pairs) == pytest.approx(1 - 14 / 30)
    assert krippendorff_alpha(pairs) == pytest.approx(1 - 14 / 30)
    assert MEASURES["kappa"].value([1.0, 1.0], [1.0, 1.0]) is None
    assert krippendorff_alpha([[1.0, None], [None, 2.0]]) is None


def test_values_ranked_between_two_count_in_ordinal_alpha_and_their_distance_in_interval_alpha():
    """Of the units 1/1, 2/2 and 10/2: ranks are 1.5, 4 and 6, so that 2 differs from 10 by 2.

    Within units: both orders of one pair, 2 * 4 / 6 (interval: 2 * 64 / 6). By chance, the sum of
    squared differences from the mean rank 3.5 is 2 * 4 + 3 * 0.25 + 6.25 = 15 (from the mean 3:
    4 + 4 + 1 + 1 + 1 + 49 = 60), which counts 2 * 6 times over 6 * 5 pairs.
    """
    ratings = [[1, 2, 10], [1, 2, 2]]
    assert krippendorff_alpha(ratings) == pytest.approx(1 - (2 * 4 / 6) / (12 * 15 / 30))
    interval = krippendorff_alpha(ratings, "interval")
    assert interval == pytest.approx(1 - (2 * 64 / 6) / (12 * 60 / 30))


# --- intervals


def test_an_interval_needs_half_of_the_draws_and_two_clusters():
    drawn = np.array([0.25, 0.75, np.nan, np.nan])
    assert interval_of(0.5, drawn, 2)[0] is not None
    assert interval_of(0.5, np.append(drawn, np.nan), 2)[2].startswith("undefined in more than")
    assert interval_of(0.5, drawn, 1)[2].startswith("fewer than two")
    assert interval_of(0.5, drawn, 1, Bootstrap(0)) == (None, None, "")


@pytest.mark.parametrize(("spread", "has_one"), [(0.9e-12, False), (1.3e-12, True)])
def test_draws_that_differ_by_rounding_errors_are_constant(spread, has_one):
    drawn = np.array([0.0, spread]) + 1.0
    assert (interval_of(1.0, drawn, 5)[0] is not None) is has_one


@pytest.mark.parametrize(("share", "at_the_end"), [(0.9e-12, True), (1.2e-12, False)])
def test_a_share_is_at_the_end_of_its_range_but_for_rounding_errors(share, at_the_end):
    """Then it has Wilson's interval of 0 of 10."""
    low, high, _ = interval_of(share, np.array([0.1, 0.3]), 10, bounds=(0, 1))
    assert (high == pytest.approx(wilson(0, 10)[1])) is at_the_end
    low, high, _ = interval_of(1 - share, np.array([0.1, 0.3]), 10, bounds=(0, 1))
    assert (low == pytest.approx(wilson(10, 10)[0])) is at_the_end


def test_an_interval_within_bounds_by_hand():
    """Draws 0.4 and 0.6: variance 0.01 * 5 / 4, so 0.25 / 0.0125 = 20 units; t(4) = 2.776445.

    Wilson: (0.5 +- t / 2 * sqrt(1 / 20 + t^2 / 400)) / (1 + t^2 / 20), about the middle.
    """
    t = 2.7764451
    half = (t / (1 + t**2 / 20)) * math.sqrt(0.25 / 20 + t**2 / (4 * 20**2))
    for scale in (1.0, 2.0):
        low, high, _ = interval_of(0.5 * scale, scale * np.array([0.4, 0.6]), 5, bounds=(0, scale))
        assert (low, high) == pytest.approx((scale * (0.5 - half), scale * (0.5 + half)))


def test_an_interval_of_few_degrees_of_freedom_takes_t_for_two():
    two = log_odds_interval(0.2, 0.1, 2)
    assert log_odds_interval(0.2, 0.1, 1) == two
    assert log_odds_interval(0.2, 0.1, 2.1) != two
    odds = 0.25 * math.exp(-4.302653 * math.sqrt(0.1))
    assert two[0] == pytest.approx(odds / (1 + odds), abs=1e-6)


def test_means_of_columns_without_a_value_and_with_one_value_have_no_spread():
    table = np.array([[0.1, np.nan, 0.2], [0.1, np.nan, 0.6], [0.1, np.nan, 0.4]])
    constant, empty, varied = mean_intervals(table, Bootstrap(50))
    assert constant[:2] == (None, None)
    assert constant[2].startswith("the same value")
    assert empty == (None, None, "")
    assert varied[0] is not None


def test_pairs_of_clusters_count_as_fewer_if_they_agree():
    """Two clusters of 1, 1 and 0, 0: each sum is off by 1, the values by 0.5.

    The design effect is (1 + 1) / (4 * 0.25) * 2 / 1 = 4.
    """
    shares = paired_shares(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0, 0, 1, 1]))
    assert (shares.more, shares.less, shares.count) == (2 / 4, 0.0, 1.0)
    single = paired_shares(np.array([1.0, 1.0, 0.0, -1.0]), np.arange(4))
    assert (single.more, single.less, single.count) == (2.0, 1.0, 4.0)
    together = paired_shares(np.array([1.0, 0.0]), np.array([0, 0]))
    assert (together.more, together.count) == (1.0, 2.0)


# --- figures


@pytest.mark.parametrize(
    ("value", "limit", "text"),
    [
        (0.5, 0.6, "0.500"),
        (0.0499, 0.05, "0.0499"),
        (0.04996, 0.05, "0.04996"),
        (0.05, 0.05, "0.050"),
        (0.1 + 0.2, 0.3, "0.30000000000000004"),
    ],
)
def test_a_number_has_the_digits_that_distinguish_it_from_a_limit(value, limit, text):
    assert distinct_text(value, limit) == text


def test_the_bias_of_the_calibration_error_by_hand():
    """Four probabilities of 0.5 and one of 0.1, which is in the bin up to 0.1.

    sqrt(2 / pi) * (sqrt(0.25 * 4) + sqrt(0.09)) / 5.
    """
    assert ece_bias(np.array([0.5] * 4 + [0.1])) == pytest.approx(
        math.sqrt(2 / math.pi) * (1 + 0.3) / 5
    )


def test_settings_of_the_bootstrap():
    default = Bootstrap()
    assert (default.draws, default.seed, default.confidence) == (1000, 0, 0.95)
    for wrong in ({"draws": -1}, {"confidence": 0.0}, {"confidence": 1.0}):
        with pytest.raises(ValueError, match="expected at least 0 draws"):
            Bootstrap(**wrong)


def test_a_measured_value_as_text():
    assert str(Measured(0.86349, 1240, 2400, 0.8, 0.9)) == (
        "0.863 [0.800, 0.900], 1,240 of 2,400 scored"
    )
    assert str(Measured(None, 0, 5)) == "-, 0 of 5 scored"
    assert str(Measured(0.5, 1, 5, None, 0.9)) == "0.500, 1 of 5 scored"
