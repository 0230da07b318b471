"""How intervals shrink with more labels, and which rows are labelled first, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pnyx.audit.checks.design import Correlation, Design, correlation_of, influences
from pnyx.audit.checks.plan import (
    LabelCandidate,
    _bit_reversed,
    _least,
    _reaches,
    _sensitivity,
    _specificity,
    label_order,
)
from pnyx.judging.measures.registry import MEASURES

DESIGN = Design(
    value=0.5, spread=0.24, correlation=Correlation(0.5, 0.5), sizes=np.array([2, 2]), per_group=3,
    bounds=(0.0, 1.0), confidence=0.95,
)  # fmt: skip


def test_groups_increase_the_variance_by_their_size():
    """Of 4 labels in 2 groups of 2: 1 + (2 - 1) / 2; with 2 groups of 3: 1 + (26 / 10 - 1) / 2."""
    assert (DESIGN.items(), DESIGN.items(2)) == (4, 10)
    assert (DESIGN.effect(), DESIGN.effect(2)) == (1.5, pytest.approx(1.8))
    assert DESIGN.variance() == pytest.approx(0.24 * 1.5 / 4)
    assert DESIGN.variance(2) == pytest.approx(0.24 * 1.8 / 10)
    alone = replace(DESIGN, sizes=np.ones(4, dtype=np.intp), per_group=1)
    assert (alone.effect(), alone.effect(3)) == (1.0, 1.0)


def test_the_interval_on_another_scale_is_the_same():
    signed = replace(DESIGN, value=0.0, spread=0.96, bounds=(-1.0, 1.0))
    low, high = DESIGN.interval(5)
    assert signed.interval(5) == (pytest.approx(2 * low - 1), pytest.approx(2 * high - 1))
    assert (low + high) / 2 == pytest.approx(0.5)
    wider = DESIGN.interval(1)
    assert wider[0] < low < 0.5 < high < wider[1]
    narrow = replace(DESIGN, confidence=0.8).interval(5)
    assert low < narrow[0] < narrow[1] < high


@pytest.mark.parametrize(
    ("groups", "rarer", "decides"),
    [(4, None, False), (5, None, True), (49, 0.1, False), (50, 0.1, True)],
)
def test_enough_labels_to_decide(groups, rarer, decides):
    """Five groups, and five labels of the rarer answer: 0.1 of 49 are 4.9."""
    design = replace(DESIGN, sizes=np.ones(2, dtype=np.intp), per_group=1, rarer=rarer)
    assert design.decides(groups - 2) is decides


def test_the_chance_of_a_decision():
    """Without more labels nothing moves; with many, half of the interval's moves decide."""
    low, high = DESIGN.interval()
    assert DESIGN.chance(low, 0) == 1.0
    assert DESIGN.chance(low + 1e-6, 0) == 0.0
    assert DESIGN.chance(high + 1e-6, 0) == 1.0
    low, high = DESIGN.interval(50)
    assert DESIGN.chance(low, 50) == pytest.approx(0.5)
    assert DESIGN.chance(high, 50) == pytest.approx(0.5)
    assert DESIGN.chance(low - 0.05, 50) > 0.5 > DESIGN.chance(low + 0.05, 50)


@pytest.mark.parametrize(
    ("values", "clusters", "estimate", "used"),
    [
        ([1, 0, 1], [0, 1, 2], None, 0.0),  # no items share a group
        ([1, 0, 1], [0, 0, 0], None, 0.2),
        ([1, 1, 1, 1], [0, 0, 1, 1], None, 0.2),
        ([1, 1, 0, 0], [0, 0, 1, 1], 1.0, 1.0),
        ([1, 0, 1, 0], [0, 0, 1, 1], 0.0, 0.0),
        # Between 0.5, within 0.25: 0.25 / (0.5 + 3 * 0.25). 80 % of F(6, 1) are below 14.26:
        # (28.52 - 1) / 31.52.
        ([1, 1, 1, 0, 0, 0, 0, 1], [0] * 4 + [1] * 4, 0.2, 0.8731),
    ],
)
def test_the_correlation_within_groups(values, clusters, estimate, used):
    within_groups = correlation_of(np.array(values, dtype=float), np.array(clusters))
    assert (within_groups.estimate, within_groups.used) == (
        estimate if estimate is None else pytest.approx(estimate), pytest.approx(used, abs=1e-3),
    )  # fmt: skip


def test_the_influence_of_an_item_on_accuracy_is_its_distance_from_the_mean():
    gold, score = np.array([1.0, 1, 0, 0]), np.array([1.0, 1, 0, 1])
    moves = influences(MEASURES["accuracy"].weighted, gold, score)
    assert moves == pytest.approx([0.25, 0.25, 0.25, -0.75], abs=1e-3)
    once = np.ones((1, 4))
    assert _sensitivity(gold, score, once)[0] == 1.0
    assert _specificity(gold, score, once)[0] == 0.5
    assert _sensitivity(gold, 1 - score, once)[0] == 0.0


def test_the_least_number_that_is_enough():
    assert [_least(lambda k: k >= 5, most) for most in (4, 5, 6, 100)] == [None, 5, 5, 5]
    assert _least(lambda k: k >= 1, 9) == 1
    assert _least(lambda _: True, 0) is None
    assert _least(lambda _: True, 1) == 1


@pytest.mark.parametrize(
    ("interval", "half_width", "bar", "reached"),
    [
        ((0.25, 0.75), 0.25, None, True),
        ((0.25, 0.75), 0.2499, None, False),
        ((0.6, 0.8), None, 0.6, True),
        ((0.5999, 0.8), None, 0.6, False),
        ((0.4, 0.6), None, 0.6, False),
        ((0.4, 0.5999), None, 0.6, True),
        ((None, 0.5), None, 0.6, False),
        ((0.4, None), 0.5, None, False),
        ((0.4, 0.5), None, None, False),
    ],
)
def test_a_goal_is_reached_by_an_interval(interval, half_width, bar, reached):
    assert _reaches(interval, half_width, bar) is reached


@pytest.mark.parametrize(
    ("count", "order"),
    [(0, []), (1, [0]), (2, [0, 1]), (3, [0, 2, 1]), (4, [0, 2, 1, 3]), (5, [0, 4, 2, 1, 3])],
)
def test_rows_are_visited_in_bit_reversed_steps(count, order):
    assert _bit_reversed(count) == order


def test_rows_of_new_groups_come_first_and_spread_over_doubt():
    rows = [
        LabelCandidate(f"{group}{n}", n, group, n % 2 == 0, n / 10)
        for group in ("old", "x", "y", "")
        for n in range(4)
    ]
    order = label_order(rows, {"old"}, 0)
    assert {row.group for row in order[-4:]} == {"old"}
    assert sorted(row.id for row in order) == sorted(row.id for row in rows)
    assert len({row.group for row in order[:4]}) >= 2
    assert {row.verdict for row in order[:4]} == {True, False}
    assert label_order(rows, {"old"}, 0) == order
    assert label_order(rows, {"old"}, 1) != order
    assert label_order([], set(), 0) == ()
