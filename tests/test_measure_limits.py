"""Limits of measures: what is tried, compared, drawn and accepted, at each boundary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pnyx.core.errors import InputError
from pnyx.judging.measures.ground_truth import grade_of, read_labels
from pnyx.judging.measures.ppi import prediction_powered
from pnyx.judging.measures.raters import measure_raters
from pnyx.judging.measures.rates import CorrectedRate, corrected_rate
from pnyx.judging.measures.registry import MEASURES, RANKING_MEASURES
from pnyx.judging.measures.summary import summarise_answers
from pnyx.judging.measures.thresholds import Thresholds, measure_amount, measure_thresholds
from pnyx.judging.measures.trials import Decline, measure_decline
from pnyx.judging.value_rows import value_rows, yes_no_of
from pnyx.judging.verdicts import Verdict
from pnyx.stats.base import Bootstrap

NO_DRAWS = Bootstrap(0)


def thresholds(*probabilities: float, relevant: tuple[int, ...] = (0,)) -> Thresholds:
    """Measure thresholds for one question, whose documents at these positions are relevant."""
    annotations = [
        Verdict(str(n), "q", f"d{n}", value=p >= 0.5, probability=p, judge="j")
        for n, p in enumerate(probabilities)
    ]
    return measure_thresholds(annotations, lambda v: int(v.id) in relevant, bootstrap=NO_DRAWS)


def test_thresholds_and_numbers_of_documents_that_are_tried():
    measured = thresholds(*[0.5] * 1100)
    assert measured.thresholds.at == pytest.approx([n / 100 for n in range(1, 100)])
    beyond_fifty = (55, 60, 65, 70, 75, 80, 85, 90, 95, 100, 110, 120, 130, 140, 150, 160, 170,
                    180, 190, 200, 250, 300, 350, 400, 450, 500, 550, 600, 650, 700, 750, 800, 850,
                    900, 950, 1000)  # fmt: skip
    assert measured.cutoffs.at == (*range(1, 51), *beyond_fifty)
    assert thresholds(0.5, 0.5, 0.5).cutoffs.at == (1, 2, 3)


def test_the_best_threshold_is_the_middle_one_of_equally_good_ones():
    """From 0.21 to 0.80 only the relevant document is taken: 60 thresholds, the 30th is 0.50."""
    measured = thresholds(0.8, 0.2)
    assert measured.best_threshold.at == pytest.approx(0.5)
    assert measured.best_threshold.f1.value == 1.0
    assert measured.best_cutoff.at == 1
    # F1 is 2/3 of 2 / (3 + 1) for all, and 1 for the first of three.
    assert [f1.value for f1 in thresholds(0.9, 0.5, 0.1).cutoffs.f1] == pytest.approx(
        [1.0, 2 / 3, 1 / 2]
    )


def test_the_amount_counts_documents_from_three_thresholds_on():
    verdicts = [
        Verdict(f"{question}{n}", question, value=p and p >= 0.5, probability=p, judge="j")
        for question, probabilities in (
            ("none", (None,)), ("less", (0.5, 0.4999)), ("more", (0.9, 0.7, 0.6999))
        )
        for n, p in enumerate(probabilities)
    ]  # fmt: skip
    amounts = measure_amount(verdicts)
    assert list(amounts) == ["more", "less", "none"]  # by the mean, then without one
    assert amounts["more"].reaching == {0.5: 3, 0.7: 2, 0.9: 1}
    assert amounts["less"].reaching == {0.5: 1, 0.7: 0, 0.9: 0}
    assert (amounts["none"].mean, amounts["none"].unscored) == (None, 1)
    assert amounts["less"].expected == pytest.approx(0.9999)


@pytest.mark.parametrize(("raters", "has_interval"), [(20, True), (21, False)])
def test_pairs_of_raters_have_intervals_for_up_to_200_pairs(raters, has_interval):
    """20 raters are 190 pairs, 21 are 210."""
    labels = [
        {"id": str(n), "value": float((n * (rater + 3)) % 5), "annotator": f"r{rater}"}
        for n in range(6)
        for rater in range(raters)
    ]
    (together,) = measure_raters(None, [labels], bootstrap=Bootstrap(20)).compared
    assert together.raters == raters
    assert (together.mean["accuracy"].low is not None) is has_interval
    assert together.mean["alpha_interval"].low is not None


def test_preferences_are_numbers_with_a_tie_in_the_middle():
    """Values 1, 1, -1 and 1, 0, -1. Within: 2 * 1 / 6. All: mean 1/6, squares 5 - 6 / 36."""
    asked = {"task": "preference", "judge": "j", "unscored": None}
    answers = [{"id": str(n), **asked, "value": value} for n, value in enumerate("aab")]
    labels = [{"id": str(n), "value": value} for n, value in enumerate(["a", "tie", "b"])]
    (compared,) = measure_raters(answers, [labels], bootstrap=NO_DRAWS).compared
    expected = 1 - (2 / 6) / (2 * 6 * (5 - 1 / 6) / 30)
    assert compared.mean["alpha_interval"].value == pytest.approx(expected)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_grade_is_a_billion(sign):
    assert grade_of(sign * 1_000_000_000) == sign * 1e9
    with pytest.raises(InputError, match="expected a number of at most 1000000000"):
        grade_of(sign * 1_000_000_001)


@pytest.mark.parametrize(
    ("value", "grade"),
    [(True, 1.0), (False, 0.0), ("Yes", 1.0), ("no", 0.0), ("partially ", 0.5), (2, 2.0)],
)
def test_grades_of_labels(value: Any, grade: float):
    assert grade_of(value) == grade


def test_a_label_is_yes_from_above_zero():
    labels = [
        {"id": name, "value": value} for name, value in zip("abc", (0, 0.01, -1), strict=True)
    ]
    gold = read_labels(labels, "support").gold
    assert {key: label.yes for key, label in gold.items()} == {"a": False, "b": True, "c": False}


@pytest.mark.parametrize(
    ("values", "span"),
    [
        ((1, 2, 3), "from 1 to 3"),
        ((0.5, 1), "from 0.5 to 1"),
        ((2, 2), "from 2 to 2"),
        ((1, 1), ""),
        ((0, 2), ""),
        ((-1, 2), ""),
        ((True, True), ""),
    ],
)
def test_numbers_that_are_all_yes_are_noted_unless_they_are_1(values, span):
    labels = [{"id": str(n), "value": value} for n, value in enumerate(values)]
    note = read_labels(labels, "support").scale_note
    assert span in note
    assert bool(note) is bool(span)


@pytest.mark.parametrize(
    ("name", "low", "high", "best", "unseen"),
    [
        ("f1", 0, 1, 1, 0),
        ("accuracy", 0, 1, 1, 0),
        ("auroc", 0, 1, 1, 0),
        ("ece", 0, 1, 0, 0),
        ("brier", 0, 1, 0, 0.5),
        ("spearman", -1, 1, 1, 0),
        ("kendall", -1, 1, 1, 0),
        ("kappa", -1, 1, 1, 0),
        ("alpha_nominal", -1, 1, 1, 0),
        ("alpha_ordinal", -1, 1, 1, 0),
        ("alpha_interval", -1, 1, 1, 0),
        ("mean_absolute_error", 0, float("inf"), 0, 0),
    ],
)
def test_ranges_and_best_values_of_measures(name, low, high, best, unseen):
    measure = MEASURES[name]
    assert (measure.low, measure.high, measure.best, measure.unseen) == (low, high, best, unseen)


@pytest.mark.parametrize(
    ("labels", "units"),
    [
        ([1.0, 1.0, 1.0, 0.0], {"accuracy": 4, "f1": 3, "auroc": 1}),
        ([0.0, 0.0], {"accuracy": 2, "f1": 1, "auroc": 1}),  # 1 at least
        ([0.0, 2.0, 1.0], {"accuracy": 3, "f1": 3, "auroc": 3}),  # not all yes or no
    ],
)
def test_the_number_of_pairs_that_could_make_a_measure_worse(labels, units):
    gold = np.array(labels)
    for name, count in units.items():
        assert MEASURES[name].spread(gold, gold).units == count


@pytest.mark.parametrize(("name", "ranks"), [("ndcg@5", 5), ("ndcg@10", 10), ("ndcg@15", 15)])
def test_ranks_that_count_for_ndcg(name, ranks):
    """The only relevant document, at the last rank that counts and at the first beyond."""
    for rank, counts in ((ranks, True), (ranks + 1, False)):
        gains = np.zeros(20)
        gains[rank - 1] = 1.0
        value = RANKING_MEASURES[name].ranked(gains, -np.arange(20.0))
        assert value == pytest.approx(1 / np.log2(rank + 1) if counts else 0.0)


# --- the decline of a score


def decline(*columns: tuple[float, ...], present: Any = None) -> Decline:
    """Measure the decline of scores, a column for each level."""
    table = np.array(columns, dtype=np.float64).T
    asked = np.isfinite(table) if present is None else np.array(present)
    levels = [float(n) for n in range(len(columns))]
    return measure_decline(levels, table, asked, np.arange(len(table)), NO_DRAWS)


@pytest.mark.parametrize(("step", "strictly"), [(1e-12, False), (1.3e-12, True), (-0.1, False)])
def test_a_score_falls_by_more_than_rounding_errors(step, strictly):
    assert decline((0.0, 0.0), (-step, -step)).strictly is strictly


def test_a_decline_by_hand():
    """Means 1, 0.75 and 0.25: off by 1/3, 1/12 and -5/12; r = -0.75 / sqrt(2 * 42 / 144)."""
    measured = decline((1.0, 1.0), (1.0, 0.5), (0.5, 0.0))
    assert [point.value for point in measured.points] == [1.0, 0.75, 0.25]
    assert [step.value for step in measured.steps] == [0.25, 0.5]
    assert (measured.fall.value, measured.counted, measured.strictly) == (0.75, 3, True)
    assert measured.pearson.value == pytest.approx(-0.75 / (2 * 42 / 144) ** 0.5)
    assert decline((1.0, 1.0), (0.5, 0.5)).pearson.value is None  # two levels are a line


def test_two_levels_count_at_least():
    nan = float("nan")
    measured = decline((1.0, 1.0, 1.0), (0.5, nan, nan), (0.0, nan, nan))
    assert measured.counted == 2
    assert (measured.fall.value, measured.fall.scored, measured.fall.asked) == (0.5, 1, 1)
    unknown = decline((1.0, 1.0), (nan, nan), present=[[True, True], [True, True]])
    assert unknown.strictly is None


# --- prediction-powered means


def test_the_mean_of_labels_alone_has_an_interval_from_three_on():
    """Mean 0.5, variance 0.25: half is t(2) * sqrt(0.25 / 3)."""
    two = prediction_powered([0.0, 1.0], [0.1, 0.9]).people
    assert (two.value, two.low) == (0.5, None)
    three = prediction_powered([0.0, 0.5, 1.0], [0.1, 0.5, 0.9]).people
    assert three.low == pytest.approx(0.5 - 4.302653 * (0.25 / 3) ** 0.5, abs=1e-6)
    assert prediction_powered([0.5] * 3, [0.1, 0.5, 0.9]).people.low is None


def test_one_further_score_needs_bounds():
    people, judge = [1.0, 0.0, 1.0, 0.0], [0.9, 0.2, 0.8, 0.1]
    assert prediction_powered(people, judge, [0.7]).corrected.value is None
    assert prediction_powered(people, judge, [0.7], bounds=(0, 1)).corrected.value is not None
    assert prediction_powered(people, judge, [0.7, 0.3]).corrected.value is not None


def test_without_further_scores_a_judge_has_no_weight():
    """Labels alone: t is 0.5 / sqrt((1/3) / 4) with 3 degrees of freedom, p = 0.18169."""
    estimate = prediction_powered([1.0, 0.0, 1.0, 0.0], [0.9, 0.2, 0.8, 0.1])
    assert (estimate.trust, estimate.judge, estimate.corrected.value) == (0.0, 0.5, 0.5)
    assert estimate.worth == pytest.approx(4)
    assert estimate.p == pytest.approx(0.1817, abs=1e-4)


def test_a_judge_that_contradicts_people_has_no_weight_and_one_that_agrees_has_at_most_one():
    people, further = [1.0, 0.0] * 4, [0.6, 0.4] * 100
    opposed = prediction_powered(people, [1 - value for value in people], further)
    assert opposed.trust == 0.0
    # Covariance 0.05, variance of all 0.0105: 0.05 / (1.04 * 0.0105) is above 1.
    agreed = prediction_powered(people, [0.4 + 0.2 * value for value in people], further)
    assert agreed.trust == 1.0


# --- values without files


@pytest.mark.parametrize(
    ("values", "task"),
    [
        ([0, 1, True], "support"),
        ([0.0, 1.0], "support"),
        ([0, 1, 1.5], "quality"),
        ([0, -0.1], "quality"),
        (["yes", "no"], "support"),
        ([True, 2], "quality"),
    ],
)
def test_numbers_beyond_zero_and_one_are_ratings(values, task):
    rows = value_rows(values, "answers")
    assert {row["task"] for row in rows} == {task}
    assert [row["id"] for row in rows] == list(range(1, len(values) + 1))
    if task == "support":
        assert {row["value"] for row in rows} <= {True, False}


def test_answers_without_a_value_are_unscored_and_labels_are_left_out():
    values = {"a": 1, "b": None, "c": "no"}
    rows = value_rows(values, "answers")
    assert [(row["value"], row["unscored"]) for row in rows] == [
        (True, None), (None, "no verdict"), (False, None)
    ]  # fmt: skip
    assert [row["id"] for row in value_rows(values, "labels")] == ["a", "c"]
    for number, wrong in ((2, "maybe"), (2, [1])):
        with pytest.raises(InputError, match=f"{number}.*value: found"):
            value_rows([{"value": 1}, {"value": wrong}], "answers", "support")


@pytest.mark.parametrize(
    ("value", "read"),
    [(1, True), (0, False), (1.0, True), (2, 2), (0.5, 0.5), ("Yes ", True), ("hm", "hm"),
     ("no", False),
     ("partially", True), (None, None)],
)  # fmt: skip
def test_words_and_numbers_for_yes_and_no(value, read):
    found = yes_no_of(value)
    assert found == read
    assert isinstance(found, bool) is isinstance(read, bool)


# --- corrected shares


def rate(*pairs: tuple[bool, bool | None], further: tuple[bool, ...] = ()) -> CorrectedRate:
    """Correct the share of answers with (answer, label) and further answers without a label."""
    answers = [
        {"id": str(n), "task": "support", "judge": "j", "unscored": None, "value": answer}
        for n, answer in enumerate([*(answer for answer, _ in pairs), *further])
    ]
    labels = [{"id": str(n), "value": label} for n, (_, label) in enumerate(pairs)]
    return corrected_rate(answers, labels, bootstrap=NO_DRAWS)


def test_a_judge_must_be_better_than_chance_to_correct_its_share():
    chance = rate((True, True), (False, True), (True, False), (False, False)).rogan_gladen
    assert (chance.value, chance.no_interval) == (None, "the judge is no better than chance")
    alike = rate((True, True), (False, True)).rogan_gladen
    assert (alike.value, alike.no_interval) == (None, "labels are all alike")
    better = rate((True, True), (True, True), (True, False), (False, False), further=(False,) * 4)
    # (3/8 - 1/2) / (1 - 1/2) is below 0.
    assert better.rogan_gladen.value == 0.0
    more = rate((True, True), (True, True), (True, False), (False, False), further=(True,) * 4)
    assert more.rogan_gladen.value == pytest.approx((7 / 8 - 1 / 2) / (1 / 2))
    assert (more.sensitivity.value, more.specificity.value) == (1.0, 0.5)
    assert (more.judged.value, more.people.value) == (7 / 8, 0.5)


@pytest.mark.parametrize(
    ("yes", "of", "warned"),
    [(0, 19, False), (0, 20, True), (1, 20, False), (1, 21, True), (19, 20, False), (20, 21, True)],
)
def test_shares_below_5_and_above_95_percent_of_20_answers_are_warned_of(yes, of, warned):
    rows = [
        {"id": str(n), "task": "support", "judge": "j", "unscored": None, "value": n < yes}
        for n in range(of)
    ]
    summary = summarise_answers(rows, bootstrap=NO_DRAWS)
    assert (summary.warned is not None) is warned
