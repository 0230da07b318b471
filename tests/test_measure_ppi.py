"""Prediction-powered intervals: by hand, by the reference library, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.judging.measures.ppi import prediction_powered

PEOPLE = np.array([0.9, 0.4, 0.6, 0.2, 0.7, 0.5])
JUDGE = np.array([0.8, 0.5, 0.7, 0.4, 0.6, 0.6])
FURTHER = np.array([0.3, 0.9, 0.5, 0.6, 0.4, 0.8, 0.7, 0.2, 0.5, 0.6])


def test_by_hand():
    # Means .55, .6 and .55; deviations of people .35 -.15 .05 -.35 .15 -.05 and of the judge
    # .2 -.1 .1 -.2 0 0: the mean of their products is (.07 + .015 + .005 + .07) / 6 = .16 / 6. The
    # 16 scores have sum 9.1 and squares 5.71, so variance (5.71 - 9.1^2 / 16) / 15.
    trust = (0.16 / 6) / ((1 + 6 / 10) * (5.71 - 9.1**2 / 16) / 15)
    found = prediction_powered(PEOPLE, JUDGE, FURTHER)
    assert found.trust == pytest.approx(trust)
    assert found.corrected.value == pytest.approx(0.55 + trust * (0.55 - 0.6))
    rest = PEOPLE - trust * JUDGE
    variance = ((rest - rest.mean()) ** 2).sum() / 6 / 4 + trust**2 * FURTHER.var(ddof=1) / 10
    half = 2.7764451 * variance**0.5  # Student's t, 4 degrees of freedom, .975
    assert found.corrected.low == pytest.approx(found.corrected.value - half, abs=1e-6)
    assert found.corrected.high == pytest.approx(found.corrected.value + half, abs=1e-6)
    assert found.worth == pytest.approx(PEOPLE.var(ddof=1) / variance)
    assert found.judge == pytest.approx(9.1 / 16)
    assert found.people.value == pytest.approx(0.55)


def test_the_estimate_of_ppi_python():
    # ppi_python 0.2.3: ppi_mean_pointestimate(PEOPLE, JUDGE, FURTHER) is 0.52660819; ppi_mean_ci of
    # 95 % is (0.38027781, 0.67293857), by the normal quantile and variances over n: ours is wider.
    found = prediction_powered(PEOPLE, JUDGE, FURTHER)
    assert found.corrected.value == pytest.approx(0.52660819, abs=1e-8)
    rest = PEOPLE - found.trust * JUDGE
    half = 1.959964 * (rest.var() / 6 + found.trust**2 * FURTHER.var() / 10) ** 0.5
    assert found.corrected.value - half == pytest.approx(0.38027781, abs=1e-6)
    assert found.corrected.low < 0.38027781 < 0.67293857 < found.corrected.high


@pytest.mark.parametrize(
    "labelled",
    [pytest.param(6, marks=pytest.mark.all), 10, pytest.param(25, marks=pytest.mark.all)],
)
@pytest.mark.parametrize("link", [0.0, 0.9])
def test_intervals_cover_the_mean_whatever_the_judge_is_worth(labelled, link):
    # The judge is biased by .2 and half as wide; 1,500 draws, so .95 lies within .017 of its share.
    rng = np.random.default_rng(5)
    covered, width, alone = 0, 0.0, 0.0
    for _ in range(1500):
        quality = rng.standard_normal(labelled + 40)
        other = link * quality + (1 - link**2) ** 0.5 * rng.standard_normal(labelled + 40)
        people, judge = 0.5 + 0.2 * quality, 0.7 + 0.1 * other
        found = prediction_powered(people[:labelled], judge[:labelled], judge[labelled:])
        covered += found.corrected.low <= 0.5 <= found.corrected.high
        width += found.corrected.high - found.corrected.low
        alone += found.people.high - found.people.low
    assert 0.93 <= covered / 1500 <= 0.975
    if link == 0.9:
        assert width < (0.9 if labelled == 6 else 0.75) * alone
    else:  # a judge that knows nothing costs little
        assert width < (1.3 if labelled == 6 else 1.1) * alone


def test_a_judge_that_is_right_about_everything_is_worth_all_topics():
    rng = np.random.default_rng(0)
    truth = rng.random(100)
    found = prediction_powered(truth[:10], truth[:10], truth[10:])
    # lambda = (9/10 var of ten) / ((1 + 10/90) var of all): not 1, since it is estimated.
    assert found.corrected.value == pytest.approx(truth.mean(), abs=0.05)
    assert found.worth > 20


@pytest.mark.parametrize(
    ("people", "judge", "further", "value"),
    [
        ([], [], [0.5, 0.6], None),
        ([0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [0.5, 0.6], None),
        ([0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4], [0.5], None),
        ([0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4], [], 0.25),
        ([0.1, 0.2, 0.3, 0.4], [0.5] * 4, [0.5] * 9, 0.25),
        ([0.5] * 4, [0.5] * 4, [0.5] * 9, 0.5),
    ],
)
def test_what_cannot_be_estimated_is_none(people, judge, further, value):
    found = prediction_powered(*(np.array(side, dtype=float) for side in (people, judge, further)))
    expected = None if value is None else pytest.approx(value)
    assert found.corrected.value == expected
    assert (found.corrected.scored, found.corrected.asked) == (
        len(people),
        len(people) + len(further),
    )
    if value is None:
        assert (found.corrected.low, found.trust, found.p) == (None, None, None)
    elif not further or judge == [0.5] * 4:
        assert found.trust == 0.0
        assert found.corrected.row() == found.people.row()


numbers = st.floats(-5, 5)


@given(
    st.lists(st.tuples(numbers, numbers), min_size=4, max_size=12),
    st.lists(numbers, min_size=2, max_size=12),
    st.floats(-3, 3),
)
def test_a_constant_added_to_the_judge_changes_nothing(pairs, further, shift):
    people, judge = np.array(pairs).T
    one = prediction_powered(people, judge, np.array(further))
    two = prediction_powered(people, judge + shift, np.array(further) + shift)
    if np.ptp(people) <= 1e-12:
        assert one.corrected.low is None
    else:
        assert one.corrected.low <= one.corrected.value <= one.corrected.high
    assert 0 <= one.trust <= 1
    assert two.corrected.value == pytest.approx(one.corrected.value, abs=1e-6)


@pytest.mark.parametrize("label", [1.0, 0.1])
def test_equal_labels_have_no_interval_rather_than_one_of_width_zero(label):
    found = prediction_powered(np.full(10, label), np.full(10, 0.8), np.full(40, 0.8))
    for one in (found.corrected, found.people):
        assert one.value == pytest.approx(label)
        assert (one.low, one.high) == (None, None)
    assert found.p is None


# Labels from 0 to 1 -------------------------------------------------------------------------------


def test_one_more_label_at_each_bound_by_hand():
    # Of people alone: mean .55, 6 labels and a 0 and a 1: (3.3 + 1) / 8. Squares of the deviations
    # .1225 + .0225 + .0025 + .1225 + .0225 + .0025 = .295, and .55^2 + .45^2 = .505.
    found = prediction_powered(PEOPLE, JUDGE, FURTHER, bounds=(0, 1))
    half = 2.5705818 * (0.8 / 7 / 8) ** 0.5  # Student's t, 5 degrees of freedom, .975
    assert found.people.low == pytest.approx(4.3 / 8 - half, abs=1e-6)
    assert found.people.high == pytest.approx(4.3 / 8 + half, abs=1e-6)
    assert found.people.value == pytest.approx(0.55)
    plain = prediction_powered(PEOPLE, JUDGE, FURTHER)
    trust, value = plain.trust, plain.corrected.value
    assert (found.trust, found.corrected.value) == (trust, value)
    rest = PEOPLE - trust * JUDGE
    squares = ((rest - rest.mean()) ** 2).sum() + value**2 + (1 - value) ** 2
    variance = squares / 7 / 8 + trust**2 * FURTHER.var(ddof=1) / 10
    half = 2.7764451 * variance**0.5  # 4 degrees of freedom
    assert found.corrected.low == pytest.approx((6 * value + 1) / 8 - half, abs=1e-6)
    assert found.corrected.high == pytest.approx((6 * value + 1) / 8 + half, abs=1e-6)
    assert found.worth == pytest.approx(6 * (0.8 / 7 / 8) / variance)


def test_bounds_of_any_scale_give_the_same_interval():
    shares = prediction_powered(PEOPLE, JUDGE, FURTHER, bounds=(0, 1))
    grades = prediction_powered(
        *(4 * side - 2 for side in (PEOPLE, JUDGE, FURTHER)), bounds=(-2, 2)
    )
    for one, two in ((shares.corrected, grades.corrected), (shares.people, grades.people)):
        for name in ("value", "low", "high"):
            assert getattr(two, name) == pytest.approx(4 * getattr(one, name) - 2)


PILED = {  # labels of what is spread evenly from 0 to 1
    "0.9 at 1": lambda u: np.where(u > 0.1, 1.0, 10 * u),
    "0.7 at 0": lambda u: np.where(u < 0.7, 0.0, (u - 0.7) / 0.3),
    "0.1 at 0, else near 1": lambda u: np.where(u < 0.1, 0.0, 0.9 + 0.1 * u),
    "in the middle": lambda u: 0.4 + 0.2 * u,
}


@pytest.mark.parametrize("shape", PILED)
@pytest.mark.parametrize("link", [pytest.param(0.0, marks=pytest.mark.all), 0.9])
def test_ten_of_thirty_topics_are_enough_wherever_labels_pile_up(shape, link):
    """Student covers .65 to .90 of the first three; with 1,500 draws .95 is within .017."""
    rng = np.random.default_rng(7)
    make = PILED[shape]
    truth = make((np.arange(100_000) + 0.5) / 100_000).mean()
    covered = alone = 0
    for _ in range(1500):
        same = rng.random(30) < link  # the judge sees what people see, or nothing
        u, other = rng.random((2, 30))
        people, judge = make(u), 0.3 + 0.5 * make(np.where(same, u, other))
        found = prediction_powered(people[:10], judge[:10], judge[10:], bounds=(0, 1))
        covered += found.corrected.low <= truth <= found.corrected.high
        alone += found.people.low <= truth <= found.people.high
        assert 0 <= found.corrected.low <= found.corrected.value <= found.corrected.high <= 1
    assert covered / 1500 >= 0.94
    assert alone / 1500 >= 0.94


@pytest.mark.parametrize(("label", "low", "high"), [(1.0, 0.719, 1.0), (0.0, 0.0, 0.281)])
def test_equal_labels_at_a_bound_have_the_interval_of_a_share(label, low, high):
    # 10 of 10, and a 0 and a 1: 11/12 less 2.262 (t, 9 degrees) times the root of 1/11/12.
    found = prediction_powered(
        np.full(10, label), np.full(10, 0.8), np.full(20, 0.8), bounds=(0, 1)
    )
    assert found.corrected.row() == found.people.row() | {"asked": 30}
    assert found.corrected.low == pytest.approx(low, abs=0.002)
    assert found.corrected.high == pytest.approx(high, abs=0.002)
    assert (found.trust, found.worth) == (0.0, pytest.approx(10))


def test_one_further_topic_is_enough_with_bounds():
    people = np.array([0.1, 0.2, 0.3, 0.4])
    found = prediction_powered(people, people, np.array([0.5]), bounds=(0, 1))
    assert found.corrected.low is not None
    assert prediction_powered(people, people, np.array([0.5])).corrected.value is None
    assert prediction_powered(people[:3], people[:3], people, bounds=(0, 1)).corrected.value is None
