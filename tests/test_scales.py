"""Scales and sizes of pictures: ticks, labels, lines of notes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from drawn_pictures import drawn, measured, thresholds_of
from pnyx.display.plots import amount_plot, recalibration_plot, thresholds_plot
from pnyx.display.profile import profile_plot
from pnyx.display.scatter import Scatter, scatter_plot
from pnyx.display.svg import Axis, document, ticks


def labels_of(picture: str, kind: str = "tick") -> list[str]:
    return [line.partition(": ")[2] for line in drawn(picture) if f" {kind}: " in line]


@pytest.mark.parametrize(
    ("last", "marks"),
    [
        (1, "1 2"),
        (9, "1 2 5"),
        (10, "1 2 5 10"),
        (999, "1 2 5 10 20 50 100 200 500"),
        (1000, "1 2 5 10 20 50 100 200 500 1000"),
    ],
)
def test_numbers_of_documents_are_on_a_logarithmic_scale(last, marks):
    ks = [1, last][: 1 + (last > 1)]
    picture = thresholds_plot(thresholds_of([0.0, 0.5], [0.4, 0.6], ks, [0.2] * len(ks), (0.5, 1)))
    labels = labels_of(picture)
    start = labels.index("probability from which documents are taken") + 1
    assert labels[start:-1] == marks.split()


@pytest.mark.parametrize(
    ("mean", "first"),
    [(0.05, "0.01"), (0.0501, "0.02"), (0.1, "0.02"), (0.1001, "0.05"), (0.25, "0.05"),
     (0.2501, "0.1"), (0.5, "0.1"), (0.5001, "0.2"), (1.0, "0.2")],
)  # fmt: skip
def test_the_scale_of_amounts_reaches_the_highest_mean(mean, first):
    amounts = {"q": SimpleNamespace(mean=mean, expected=1.0, documents=1, unscored=0)}
    assert labels_of(amount_plot(amounts, {}))[:2] == ["0", first]


def test_a_recalibration_is_drawn_within_0_and_1():
    picture = recalibration_plot(lambda at: [2 * x - 0.5 for x in at], 0.3)
    lines = drawn(picture)
    assert lines[:2] == ["406 x 450", "20.0,32.0 head: recalibrated probability of yes"]
    assert "66.0,386.0 - 386.0,66.0 base" in lines
    assert "66.0,290.0 - 386.0,290.0 base" in lines  # 0.3 of 320 above 386
    assert lines[-1] == "226.0,420.0 tick: stated probability of yes"
    curve = lines[-2].removesuffix(" line s1 / 2.5").split()
    assert len(curve) == 201
    assert [curve[n] for n in (0, 50, 100, 150, 200)] == [
        "66.0,386.0", "146.0,386.0", "226.0,226.0", "306.0,66.0", "386.0,66.0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("low", "high", "marks"),
    [
        (0, 1, [0, 0.5, 1]),
        (0, 0.8, [0, 0.2, 0.4, 0.6, 0.8]),
        (0.1, 0.81, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0, 4, [0, 1, 2, 3, 4]),
        (0, 4.1, [0, 2, 4, 6]),
        (0, 20, [0, 5, 10, 15, 20]),
        (0, 20.1, [0, 10, 20, 30]),
        (1, 1, [0.95, 1, 1.05]),
        (0, 0, [-0.05, 0, 0.05]),
        (-10, -10, [-10.5, -10, -9.5]),
        (0.26, 0.27, [0.26, 0.265, 0.27]),
    ],
)
def test_ticks_are_round_numbers_around_the_values(low, high, marks):
    assert ticks(low, high) == pytest.approx(marks)
    assert ticks(low, high)[0] <= low
    assert ticks(low, high)[-1] >= high


@pytest.mark.parametrize(
    ("numbers", "labels"),
    [
        ((), ["0.0", "0.5", "1.0"]),
        ((0, 4), ["0", "1", "2", "3", "4"]),
        ((0.26, 0.27), ["0.260", "0.265", "0.270"]),
        ((-0.04, 0.04), ["-0.04", "-0.02", "0.00", "0.02", "0.04"]),
        ((100, 300), ["100", "150", "200", "250", "300"]),
    ],
)
def test_labels_of_ticks_have_as_many_digits_as_needed(numbers, labels):
    axis = Axis(numbers)
    assert [label for _, label in axis.labelled()] == labels
    assert [at for at, _ in axis.labelled()][:: len(labels) - 1] == [0, 1]
    assert axis.at(axis.marks[1]) == pytest.approx(1 / (len(labels) - 1))


@pytest.mark.parametrize(("characters", "lines"), [(58, 1), (59, 2)])
def test_notes_are_wrapped_to_the_width_of_a_picture(characters, lines):
    """A character is 6.2 wide: 58 of them are within 400 less the margins of 20."""
    note = "a" * 29 + " " + "b" * (characters - 30)
    picture = document("t", 400, 100, [], [note])
    assert drawn(picture)[0] == f"400 x {120 + 18 * lines}"
    assert drawn(picture)[1].startswith("20.0,118.0 note: a")


def test_a_profile_has_one_or_two_groups():
    for count in (0, 3):
        with pytest.raises(ValueError, match=f"found {count} groups, expected 1 or 2"):
            profile_plot({f"g{n}": {} for n in range(count)}, (1, 3))


@pytest.mark.parametrize(
    ("bounds", "marks"),
    [
        ((0, 1), ["0", "0.25", "0.5", "0.75", "1"]),
        ((1, 3), ["1", "2", "3"]),
        ((0, 10), [f"{n}" for n in range(11)]),
        ((0, 11), ["0", "2.75", "5.5", "8.25", "11"]),
    ],
)
def test_ratings_have_a_mark_each_on_scales_of_3_to_11_points(bounds, marks):
    assert labels_of(profile_plot({"x": {"own": measured(1.0)}}, bounds)) == marks


@pytest.mark.parametrize(
    ("panels", "size"), [(2, "809 x 440"), (3, "1200 x 440"), (4, "1200 x 846")]
)
def test_three_leaderboards_are_side_by_side(panels, size):
    panel = Scatter("T", "x", "y", [("one", 0.0, 1.0), ("two", 1.0, 0.0)], ["tau"])
    assert drawn(scatter_plot([panel] * panels))[0] == size


@pytest.mark.parametrize(("name", "place"), [("seven77", "326.0"), ("eight888", "310.0")])
def test_a_name_is_to_the_right_of_its_point_if_it_fits(name, place):
    """The point is at 318 of 378; a character is 6.6 wide: 326 + 7 * 6.6 = 372.2."""
    points = [("a", 0.0, 0.0), (name, 0.8, 0.5), ("b", 1.0, 1.0)]
    lines = drawn(scatter_plot([Scatter("T", "x", "y", points, [])]))
    (line,) = [line for line in lines if line.endswith(f": {name}")]
    assert line.startswith(f"{place},")
