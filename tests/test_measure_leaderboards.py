"""Leaderboards against each other: coefficients, conclusions of pairs, what is shared."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.core.errors import InputError
from pnyx.core.records import LeaderboardCell as Cell
from pnyx.formats import Leaderboard
from pnyx.judging.measures.ppi import prediction_powered
from pnyx.reports import compare_leaderboards, correct_leaderboard, system_differences
from pnyx.reports.leaderboards.coefficients import COEFFICIENTS, coefficients
from pnyx.stats import Bootstrap, kendall_tau_b
from pnyx.stats.signed_rank import wilcoxon
from tries import tries

stats = pytest.importorskip("scipy.stats")

FEW = Bootstrap(draws=60)
SYMMETRIC = ("kendall_tau_b", "tau_ap_b", "spearman", "pearson")
values = st.lists(
    st.tuples(st.integers(-4, 4) | st.integers(-(10**6), 10**6), st.integers(-4, 4)),
    min_size=3,
    max_size=12,
)


def board(table, measure: str = "m", name: str = "x") -> Leaderboard:
    """Make a leaderboard of {run: [value or None of each topic]}."""
    cells = [
        Cell(run, f"t{place}", measure, value)
        for run, row in table.items()
        for place, value in enumerate(row)
    ]
    return Leaderboard(name, tuple(cells))


def once(first, second) -> dict[str, float]:
    sides = (np.array([side], dtype=float) for side in (first, second))
    found = coefficients(*sides, np.ones((1, len(first))))
    return {name: float(found[name][0]) for name in COEFFICIENTS}


def only(found):
    (one,) = found.comparisons
    return one


# Coefficients ------------------------------------------------------------------------------------


def test_tau_ap_by_hand():
    # The list a b c d, of which b is truly above a. Below the first: b has 0 of 1 above it right, c
    # 2 of 2, d 3 of 3. tau_AP = 2/3 (0 + 1 + 1) - 1. Kendall: 5 pairs of 6.
    found = once([4, 3, 2, 1], [3, 4, 2, 1])
    assert found["tau_ap"] == pytest.approx(1 / 3)
    assert found["kendall_tau_b"] == pytest.approx(2 / 3)
    # The same exchange at the bottom: 1, 1, 2/3.
    assert once([4, 3, 2, 1], [4, 3, 1, 2])["tau_ap"] == pytest.approx(7 / 9)
    # tau_GAP: the wrong pair is 1 apart of 1; c is 2 and 1 below, all right; so is d.
    assert found["tau_gap"] == pytest.approx(1 / 3)
    # With a reference of 10, 9, 3, 2.9: b 1 of 1; d: 7 and 6 right; c: 7.1 + 6.1 right, .1 wrong.
    gap = once([4, 3, 1, 2], [10, 9, 3, 2.9])["tau_gap"]
    assert gap == pytest.approx(2 / 3 * (1 + 1 + (7 + 6) / (7 + 6 + 0.1)) - 1)


def test_the_numbers_of_autojudge():
    # Of autojudge-evaluate 1.1.0: pyircore.tauap_b(x, y), tauap_b_ties(-y, -x), which has the
    # positions of x, tau_gap.tau_gap(y, x), and DataFrame.corr as in evaluation.correlation.
    x = [0.71, 0.64, 0.64, 0.5, 0.43, 0.43, 0.43, 0.2]
    y = [0.6, 0.66, 0.5, 0.5, 0.52, 0.3, 0.31, 0.1]
    tied = once(x, y)
    assert tied["tau_ap_b"] == pytest.approx(0.37619047619047596, abs=1e-12)
    assert tied["tau_ap"] == pytest.approx(0.47619047619047583, abs=1e-12)
    assert tied["kendall_tau_b"] == pytest.approx(0.6678230711206282, abs=1e-12)
    assert tied["spearman"] == pytest.approx(0.784189699514969, abs=1e-12)
    assert tied["pearson"] == pytest.approx(0.8860584148301115, abs=1e-12)
    x, y = (
        [0.71, 0.64, 0.61, 0.5, 0.43, 0.4, 0.35, 0.2],
        [0.6, 0.66, 0.52, 0.5, 0.55, 0.3, 0.31, 0.1],
    )
    plain = once(x, y)
    assert plain["tau_ap_b"] == pytest.approx(0.5119047619047619, abs=1e-12)
    assert plain["tau_ap"] == pytest.approx(0.5238095238095237, abs=1e-12)
    assert plain["tau_gap"] == pytest.approx(0.6168327796234769, abs=1e-12)


@given(values)
def test_coefficients_are_those_of_scipy(pairs):
    x, y = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    found = once(x, y)
    assert (kendall_tau_b(x, y) is None) == math.isnan(found["kendall_tau_b"])
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert all(math.isnan(value) for value in found.values())
        return
    assert found["kendall_tau_b"] == pytest.approx(stats.kendalltau(x, y)[0], abs=1e-9)
    assert found["kendall_tau_b"] == pytest.approx(kendall_tau_b(x, y), abs=1e-9)
    assert found["spearman"] == pytest.approx(stats.spearmanr(x, y)[0], abs=1e-9)
    assert found["pearson"] == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-9)
    assert all(-1 <= value <= 1 for value in found.values())
    again = once(y, x)
    assert [found[name] for name in SYMMETRIC] == pytest.approx([again[name] for name in SYMMETRIC])
    assert found["tau_ap_b"] == pytest.approx((found["tau_ap"] + again["tau_ap"]) / 2)


@given(st.lists(st.integers(-1000, 1000), min_size=3, max_size=10, unique=True))
def test_the_same_ranking_has_1_and_the_opposite_one_minus_1(x):
    assert list(once(x, x).values()) == pytest.approx([1.0] * 6)
    opposite = once(x, [-value for value in x])
    assert list(opposite.values()) == pytest.approx([-1.0] * 6)


@given(values, st.data())
def test_a_system_drawn_twice_counts_twice_and_makes_no_pair_with_itself(pairs, data):
    x, y = (np.array([side], dtype=float) for side in zip(*pairs, strict=True))
    count = len(pairs)
    times = data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    if sum(times) < 3:
        return
    weighted = coefficients(x, y, np.array([times], dtype=float))
    drawn = np.repeat(np.arange(count), times)
    again = once(x[0, drawn], y[0, drawn])
    for name in ("kendall_tau_b", "spearman", "pearson", "tau_ap", "tau_ap_b", "tau_gap"):
        assert weighted[name][0] == pytest.approx(again[name], abs=1e-9, nan_ok=True)


def test_values_that_differ_by_rounding_are_tied():
    assert math.isnan(once([0.1 + 0.2, 0.3, 0.3], [1, 2, 3])["kendall_tau_b"])
    assert math.isnan(once([0.1 + 0.2, 0.3, 0.3], [1, 2, 3])["pearson"])


# Wilcoxon ----------------------------------------------------------------------------------------


def signed_ranks(differences):
    """Return the sums of ranks, p and the direction of one row."""
    rows = wilcoxon(np.array([differences], dtype=float))
    return rows.above[0], rows.below[0], rows.p[0], rows.direction[0]


@settings(max_examples=tries(80), deadline=None)
@given(st.lists(st.integers(-6, 6) | st.integers(-(10**5), 10**5), min_size=2, max_size=70))
@pytest.mark.filterwarnings("ignore")
def test_wilcoxon_is_that_of_scipy(differences):
    above, below, p, direction = signed_ranks(differences)
    assert signed_ranks([-d for d in differences]) == (below, above, pytest.approx(p), -direction)
    sizes = [abs(d) for d in differences if d]
    if not sizes:
        assert (p, direction) == (1.0, 0)
    elif len(differences) > 13 or (0 not in differences and len(set(sizes)) == len(sizes)):
        expected = stats.wilcoxon(differences)
        assert p == pytest.approx(expected.pvalue, abs=1e-9)
        assert min(above, below) == expected.statistic
    else:  # scipy tries all signs, too, which takes it half a second
        ranks = stats.rankdata(sizes)
        signs = (np.arange(2 ** len(ranks))[:, None] >> np.arange(len(ranks))) & 1
        sums = signs @ ranks
        tails = (sums <= above).mean(), (sums >= above).mean()
        assert p == pytest.approx(min(1.0, 2 * min(tails)))


@pytest.mark.parametrize(
    "differences", [[1, 1, 2, 0, -3, 5, 5, 8], [0, 0, 1, 2, 3, 4, 5, 6], [2, 2, -2, 1, 7]]
)
def test_ties_and_zeros_are_treated_as_by_scipy(differences):
    assert signed_ranks(differences)[2] == pytest.approx(stats.wilcoxon(differences).pvalue)


@pytest.mark.parametrize("count", [50, 51])
def test_up_to_fifty_differences_all_signs_are_counted(count):
    differences = [n if n % 3 else -n for n in range(1, count + 1)]
    exact, normal = (
        stats.wilcoxon(differences, method=name).pvalue for name in ("exact", "approx")
    )
    assert exact != pytest.approx(normal, rel=1e-3)
    assert signed_ranks(differences)[2] == pytest.approx(exact if count == 50 else normal)


def test_wilcoxon_by_hand():
    # All of six differences on one side: 2 / 2^6. Ranks 1 to 6, the sum is 21.
    assert signed_ranks([1, 2, 3, 4, 5, 6]) == (21.0, 0.0, 0.03125, 1)
    assert signed_ranks([1, 2, 3, 4, 5])[2] == 0.0625
    assert signed_ranks([])[2] == 1.0


@settings(max_examples=tries(40), deadline=None)
@given(st.data())
@pytest.mark.filterwarnings("ignore")
def test_many_rows_are_tested_as_each_alone_by_scipy(data):
    topics = data.draw(st.integers(14, 60))  # with fewer, scipy tries all signs of ties
    number = st.none() | st.integers(-4, 4) | st.floats(-1, 1, width=16)
    rows = data.draw(
        st.lists(st.lists(number, min_size=topics, max_size=topics), min_size=1, max_size=6)
    )
    found = wilcoxon(np.array(rows, dtype=float))
    for place, row in enumerate(rows):
        known = [d for d in row if d is not None]
        alone = signed_ranks(known)
        assert alone == tuple(
            column[place] for column in (found.above, found.below, found.p, found.direction)
        )
        if len(known) > 13 and any(known):
            expected = stats.wilcoxon(known)
            assert alone[2] == pytest.approx(expected.pvalue, abs=1e-9)
            assert min(alone[:2]) == expected.statistic


# Conclusions of pairs ----------------------------------------------------------------------------

TOPICS = range(8)
JUDGE = {
    "a": [0.9 + t / 100 for t in TOPICS],
    "b": [0.5 + t / 50 for t in TOPICS],
    "c": [0.5 + (-1) ** t * t / 50 for t in TOPICS],
}
PEOPLE = {
    "a": [0.2 + t / 100 for t in TOPICS],
    "b": [0.6 + t / 50 for t in TOPICS],
    "c": [0.6 + (-1) ** t * t / 50 for t in TOPICS],
}


def test_accuracy_by_hand():
    # The judge puts a above b and c on all eight topics (p = 2/256), people below: two inversions.
    # b and c differ on four topics of eight (ranks 1 to 4 on one side, p = 2/16): no difference.
    found = only(compare_leaderboards([board(JUDGE)], board(PEOPLE), bootstrap=FEW)).conclusions
    assert found.accuracy.value == pytest.approx(1 / 3)
    assert (found.accuracy.scored, found.accuracy.asked) == (3, 3)
    assert (found.inversions, found.significant.value, found.significant.scored) == (2, 0.0, 2)
    assert [(p.run, p.other, p.outcome, p.reference) for p in found.pairs] == [
        ("a", "b", "better", "worse"),
        ("a", "c", "better", "worse"),
        ("b", "c", "no difference", "no difference"),
    ]
    assert found.row()["pairs"] == {
        "tested": 3, "agree": 1, "differ_in_both": 2, "inversions": 2, "differ_only_here": 0,
        "differ_only_in_reference": 0, "differ_in_neither": 1,
    }  # fmt: skip
    # p of b and c: four differences are 0, so the eight topics are tried with all signs of four.
    assert found.pairs[2].p == pytest.approx(
        stats.wilcoxon(np.subtract(JUDGE["b"], JUDGE["c"])).pvalue
    )


def test_too_few_topics_have_no_accuracy_and_say_why():
    five = {run: row[:5] for run, row in JUDGE.items()}
    found = only(compare_leaderboards([board(five)], board(five), bootstrap=FEW))
    assert found.conclusions.accuracy.value is None
    assert found.conclusions.why == "p < .05 needs 6 topics or more, found 5"
    assert found.coefficients["kendall_tau_b"].value == 1.0


# Two leaderboards --------------------------------------------------------------------------------


def test_what_only_one_side_has_is_listed_and_the_means_are_over_the_same_cells():
    one = {"a": [1.0, 0.0, 0.5], "b": [0.5, None, 0.5], "c": [0.0, 0.5, 0.0], "x": [1, 1, 1]}
    two = {"a": [0.5, 0.5], "c": [0.25, None], "b": [0.0, 1.0], "y": [1, 1]}
    found = only(compare_leaderboards([board(one)], board(two), bootstrap=FEW))
    assert found.shared.row() == {
        "runs": {"shared": ["a", "b", "c"], "only_here": ["x"], "only_in_reference": ["y"]},
        "topics": {"shared": ["t0", "t1"], "only_here": ["t2"], "only_in_reference": []},
        "cells": {"compared": 4, "shared": 6, "unscored": 1, "unscored_in_reference": 1},
    }
    # b and c lack t1 on one side, so both sides have t0 alone.
    assert found.points == [("a", 0.5, 0.5), ("b", 0.5, 0.0), ("c", 0.0, 0.25)]
    assert found.undefined == 2 + 1  # cells, and the accuracy


@pytest.mark.parametrize(
    ("one", "two", "why"),
    [
        ({"a": [1, 2], "b": [2, 3]}, {"a": [1, 2], "b": [2, 3]}, "3 runs are needed, found 2"),
        ({"a": [1]}, {"b": [1]}, "3 runs are needed, found 0"),
        (
            {"a": [1, 2], "b": [1, 2], "c": [2, 1]},
            {"a": [1, 2], "b": [2, 3], "c": [3, 4]},
            "a side has the same value for all runs",
        ),
        (
            {"a": [None], "b": [1], "c": [2]},
            {"a": [1], "b": [None], "c": [3]},
            "3 runs are needed, found 1",
        ),
    ],
)  # fmt: skip
def test_what_has_no_value_says_why(one, two, why):
    found = only(compare_leaderboards([board(one)], board(two), bootstrap=FEW))
    assert {(c.value, c.over_topics, c.why) for c in found.coefficients.values()} == {
        (None, None, why)
    }


def test_values_over_all_topics_are_compared_where_there_are_no_others():
    stated = [Cell(run, "all", "m", value) for run, value in (("a", 3.0), ("b", 2.0), ("c", 1.0))]
    one = Leaderboard("x", (), tuple(stated))
    found = only(compare_leaderboards([one], one, bootstrap=FEW))
    assert found.coefficients["kendall_tau_b"].value == 1.0
    assert found.coefficients["kendall_tau_b"].over_topics is None
    assert found.coefficients["kendall_tau_b"].over_runs is None  # every draw says 1
    assert found.conclusions.accuracy.value is None
    assert "no values for topics" in found.conclusions.why
    mixed = Leaderboard("y", board({"a": [1, 2], "b": [3, 4], "c": [5, 6]}).cells, tuple(stated))
    # Its own topics are not compared with another's means.
    assert only(compare_leaderboards([mixed], one, bootstrap=FEW)).points[0] == ("a", 3.0, 3.0)


tables = st.integers(3, 6).flatmap(
    lambda runs: st.lists(
        st.lists(st.floats(0, 1), min_size=7, max_size=7), min_size=runs, max_size=runs
    )
)


@settings(max_examples=tries(25), deadline=None)
@given(tables, st.randoms(use_true_random=False))
def test_neither_the_order_of_lines_nor_that_of_runs_changes_a_coefficient(rows, chance):
    one = board({f"r{n}": row for n, row in enumerate(rows)})
    two = board({f"r{n}": [v * v for v in row[::-1]] for n, row in enumerate(rows)})
    found = only(compare_leaderboards([one], two, bootstrap=FEW))
    shuffled = []
    for side in (one, two):
        cells = list(side.cells)
        chance.shuffle(cells)
        shuffled.append(Leaderboard("s", tuple(cells)))
    again = only(compare_leaderboards([shuffled[0]], shuffled[1], bootstrap=FEW))
    swapped = only(compare_leaderboards([two], one, bootstrap=FEW))
    for name in COEFFICIENTS:
        value = found.coefficients[name].value
        assert again.coefficients[name].row() == found.coefficients[name].row()
        if name in SYMMETRIC:
            assert swapped.coefficients[name].value == pytest.approx(value, abs=1e-9)
        for bounds in (found.coefficients[name].over_topics, found.coefficients[name].over_both):
            assert bounds is None or -1 <= bounds[0] <= bounds[1] <= 1
    accuracy = found.conclusions.accuracy.value
    assert again.conclusions.accuracy.value == swapped.conclusions.accuracy.value == accuracy
    assert 0 <= accuracy <= 1
    same = only(compare_leaderboards([one], one, bootstrap=FEW))
    assert same.conclusions.accuracy.value == 1.0
    assert {round(c.value or 1.0, 9) for c in same.coefficients.values()} == {1.0}


@pytest.mark.all
def test_the_interval_over_topics_covers_what_other_topics_would_give():
    # 12 systems, 20 topics: the mean tau of 200 other draws of topics should lie in the interval of
    # one draw nearly always; a larger simulation gave .94 to .985, so 45 of 50 are seldom missed.
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(50):
        people = rng.normal(0, 0.5, 12)
        judge = 0.8 * people + rng.normal(0, 0.25, 12)

        def draw(count, sides=(judge, people)):
            topics = rng.normal(0, 0.7, (count, 1, 20))
            return [s[:, None] + topics + rng.normal(0, 1.0, (count, 12, 20)) for s in sides]

        others = coefficients(*(side.mean(axis=2) for side in draw(200)), np.ones((1, 12)))
        expected = float(others["kendall_tau_b"].mean())
        one, two = (
            board({f"r{n}": list(row) for n, row in enumerate(side[0])}) for side in draw(1)
        )
        found = only(compare_leaderboards([one], two, bootstrap=Bootstrap(draws=300)))
        low, high = found.coefficients["kendall_tau_b"].over_topics
        inside += low <= expected <= high
    assert inside >= 45


# Differences and corrections ---------------------------------------------------------------------


def test_differences_of_runs_are_one_family():
    found = system_differences(board(JUDGE), bootstrap=FEW)
    assert [(c.run, c.other) for c in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    # By hand: eight differences of one sign have an exact p of 2/256; three tests, so Holm's factor
    # is 3 for the first, 2 for the second, whose p is the same and cannot become less.
    assert [c.test.p for c in found[:2]] == [2 / 256, 2 / 256]
    assert [c.p_holm for c in found[:2]] == [6 / 256, 6 / 256]
    assert [c.significant for c in found] == [True, True, False]
    (one, two) = system_differences(board(JUDGE), baseline="b", bootstrap=FEW)
    assert (one.run, one.other, two.run) == ("a", "b", "c")
    with pytest.raises(InputError, match=r"no run 'z' \(found: a, b, c\)"):
        system_differences(board(JUDGE), baseline="z", bootstrap=FEW)


def test_people_correct_a_judge_that_is_wrong_about_all_topics():
    rng = np.random.default_rng(0)
    truth = {f"r{n}": rng.uniform(0.3, 0.5, 40) + n / 10 for n in range(3)}
    judge = {run: 1.0 - 0.2 * row + rng.normal(0, 0.02, 40) for run, row in truth.items()}
    labels = {run: [*row[:15], *[None] * 25] for run, row in truth.items()}
    found = correct_leaderboard(board(judge), board(labels), "m", "m")
    assert list(found.runs) == ["r2", "r1", "r0"]
    for run, one in found.runs.items():
        assert (one.corrected.scored, one.corrected.asked) == (15, 40)
        assert one.judge > 0.85
        assert one.corrected.low < truth[run].mean() < one.corrected.high
        assert one.trust == 0.0  # it goes the other way, which lambda in [0, 1] cannot use
        assert one.corrected.value == one.people.value
    assert [c.significant for c in found.differences] == [True, True, True]


@pytest.mark.parametrize(
    ("extreme", "shares"), [(0.0, True), (1.0, True), (-0.001, False), (1.001, False)]
)
@pytest.mark.parametrize("side", ["judge", "people"])
def test_intervals_of_shares_have_ends_and_those_of_others_are_students(extreme, shares, side):
    judge = {"a": [0.1, 0.2, 0.4, 0.3, 0.5, 0.6, 0.8], "b": [0.3, 0.2, 0.1, 0.2, 0.5, 0.3, 0.4]}
    labels = {"a": [0.1, 0.3, 0.3, 0.2, 0.4], "b": [0.2, 0.1, 0.2, 0.2, 0.3]}
    # Of another run, too: what a measure can be is known of all of its values.
    (judge if side == "judge" else labels)["b"][0] = extreme
    found = correct_leaderboard(board(judge), board(labels), "m", "m")
    assert (found.shares, found.row()["shares"]) == (shares, shares)
    sides = (np.array(labels["a"]), np.array(judge["a"][:5]), np.array(judge["a"][5:]))
    expected = prediction_powered(*sides, bounds=(0, 1) if shares else None)
    assert found.runs["a"].row() == expected.row()
    (difference,) = found.differences
    sign = 1 if difference.run == "a" else -1
    apart = [sign * (np.array(t["a"]) - np.array(t["b"][: len(t["a"])])) for t in (labels, judge)]
    students = prediction_powered(apart[0], apart[1][:5], apart[1][5:])
    assert difference.estimate.row() == students.row()


def test_runs_without_labels_are_listed_not_corrected():
    judge = {"a": [0.1, 0.2, 0.4, 0.3, 0.5, 0.6, 0.8], "b": [0.5] * 7, "c": [0.1] * 7}
    labels = {"a": [0.1, 0.3, 0.3, 0.2], "c": [None, None], "z": [1, 1]}
    found = correct_leaderboard(board(judge), board(labels), "m", "m")
    assert (list(found.runs), found.absent, found.differences) == (["a"], ("b", "c"), ())
    with pytest.raises(InputError, match="no run and topic has 'm' here and a label"):
        correct_leaderboard(board({"q": [1.0]}), board(labels), "m", "m")


def test_cells_in_any_order_give_the_same_corrections():
    rng = np.random.default_rng(1)
    judge = board({f"r{n}": list(rng.random(12)) for n in range(3)})
    labels = board({f"r{n}": [*rng.random(6), *[None] * 6] for n in range(3)})
    cells = list(judge.cells)
    random.Random(3).shuffle(cells)
    found = correct_leaderboard(judge, labels, "m", "m")
    again = correct_leaderboard(Leaderboard("x", tuple(cells)), labels, "m", "m")
    for run, one in found.runs.items():
        assert again.runs[run].corrected.value == pytest.approx(one.corrected.value)
