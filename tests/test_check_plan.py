"""`pnyx check --labels-needed`: how many labels more, worked by hand, and which rows first."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from command import called, refuser, write_rows

NAMED = "--verdict", "judge", "--human", "human"
refused = refuser("check")


def rows(groups: int, size: int, wrong: int) -> list[dict[str, Any]]:
    """Return answers to one question after the other; the first `wrong` are judged wrongly."""
    count = groups * size
    return [
        {
            "id": f"a{n}",
            "question": f"q{n // size}",
            "human": "yes" if n % 2 else "no",
            "judge": "yes" if bool(n % 2) ^ (n < wrong) else "no",
        }
        for n in range(count)
    ]


def goal(capsys: Any, tmp_path: Path, table: list[dict[str, Any]], *options: str) -> dict[str, Any]:
    """Return the only goal of a plan."""
    path = write_rows(tmp_path / "t.jsonl", table)
    status, out, _ = called(capsys, "check", path, *NAMED, "--labels-needed", *options, "--json")
    assert status == 0
    (only,) = json.loads(out)["goals"]
    return dict(only)


def accuracy(half: float) -> tuple[str, ...]:
    return "--measure", "accuracy", "--half-width", str(half)


def least_by_wilson(share: float, half: float, t: float, effect: float = 1.0) -> int:
    """Return the least n for which Wilson's interval of n / effect answers is narrow enough."""
    n = 1
    while True:
        units = n / effect
        width = t / (1 + t * t / units)
        width *= math.sqrt(share * (1 - share) / units + t * t / (4 * units * units))
        if width <= half:
            return n
        n += 1


def test_independent_answers_need_as_many_labels_as_by_wilson(capsys, tmp_path):
    """80 of 100 right; t of 240 degrees is 1.970, and the variance is that of n - 1."""
    needed = least_by_wilson(0.8, 0.05, 1.970, 100 / 99)
    planned = goal(capsys, tmp_path, rows(100, 1, 20), *accuracy(0.05))
    assert planned["more"] == pytest.approx(needed - 100, abs=2)
    assert planned["more"] == planned["more_groups"] == planned["more_singly"]
    assert (planned["design_effect"], planned["correlation"]) == (1, None)
    low, high = planned["expected"]
    assert (high - low) / 2 == pytest.approx(0.05, abs=2e-4)


def test_questions_of_one_fate_count_as_one_answer_each(capsys, tmp_path):
    """40 questions of 5, 8 judged wrongly as a whole: correlation 1, so the variance is 5 times."""
    table = rows(40, 5, 40)
    planned = goal(capsys, tmp_path, table, *accuracy(0.1), "--group", "question")
    assert planned["correlation"] == planned["used_correlation"] == 1
    assert planned["design_effect"] == pytest.approx(5)
    needed = least_by_wilson(0.8, 0.1, 1.999, 5 * 200 / 199)
    assert planned["more"] == pytest.approx(needed - 200, abs=10)
    assert planned["more"] == 5 * planned["more_groups"]
    assert planned["more_singly"] < planned["more"]


def test_the_correlation_is_that_of_the_analysis_of_variance(capsys, tmp_path):
    """30 questions of 2: 6 with both wrong, 6 with one wrong, 18 with both right.

    Mean 0.7; between = 2 (6 0.49 + 6 0.04 + 18 0.09) / 29 = 0.331; within = 6 * 0.5 / 30 = 0.1;
    correlation = (0.331 - 0.1) / (0.331 + 0.1) = 0.536.
    """
    table = rows(30, 2, 12)
    for row in table[12:24:2]:
        row["judge"] = "no" if row["judge"] == "yes" else "yes"
    planned = goal(capsys, tmp_path, table, *accuracy(0.1), "--group", "question")
    between = 2 * (6 * 0.49 + 6 * 0.04 + 18 * 0.09) / 29
    assert planned["correlation"] == pytest.approx((between - 0.1) / (between + 0.1))
    assert planned["used_correlation"] == planned["correlation"]


@pytest.mark.parametrize(("groups", "cautious"), [(29, True), (30, False)])
def test_few_groups_are_planned_with_care(capsys, tmp_path, groups, cautious):
    table = rows(groups, 3, 31)
    planned = goal(capsys, tmp_path, table, *accuracy(0.05), "--group", "question")
    assert (planned["used_correlation"] > planned["correlation"]) == cautious
    path = write_rows(tmp_path / "t.jsonl", table)
    _, out, _ = called(
        capsys, "check", path, *NAMED, "--labels-needed", *accuracy(0.05), "--group", "question"
    )
    assert (f"as there are only {groups} questions" in " ".join(out.split())) == cautious


def test_with_few_groups_the_upper_end_of_the_correlation_counts(capsys, tmp_path):
    """12 questions of 3: 3 with all wrong, 1 with one wrong, 8 with all right.

    Mean 26/36; an F of the two mean squares has its one-sided 80 % limit by scipy.
    """
    stats = pytest.importorskip("scipy.stats")
    planned = goal(capsys, tmp_path, rows(12, 3, 10), *accuracy(0.1), "--group", "question")
    mean = 26 / 36
    between = 3 * (3 * mean**2 + (mean - 2 / 3) ** 2 + 8 * (1 - mean) ** 2) / 11
    within = (2 / 3) / 24
    assert planned["correlation"] == pytest.approx((between - within) / (between + 2 * within))
    limit = between / within * stats.f.ppf(0.8, 24, 11)
    assert planned["used_correlation"] == pytest.approx((limit - 1) / (limit + 2))


def test_labels_of_one_question_are_taken_to_be_somewhat_alike(capsys, tmp_path):
    planned = goal(capsys, tmp_path, rows(1, 40, 8), *accuracy(0.1), "--group", "question")
    assert planned["correlation"] is None
    assert planned["used_correlation"] == 0.2
    assert planned["design_effect"] == pytest.approx(1 + 39 * 0.2)


@pytest.mark.parametrize("count", [9, 10])
def test_nothing_is_planned_with_fewer_than_10_labels(capsys, tmp_path, count):
    planned = goal(capsys, tmp_path, rows(count, 1, 3), *accuracy(0.05))
    assert (planned["more"] is None) == (count < 10)
    expected = "a plan needs 10 labels and a value: label about 30 rows"
    assert planned["why"] == (expected if count < 10 else "")


def test_no_number_above_5000_is_named(capsys, tmp_path):
    """Of n answers, 50 % right, the half-width is about 0.98 / sqrt(n): 5,100 give 0.0137."""
    table = rows(100, 1, 50)
    assert goal(capsys, tmp_path, table, *accuracy(0.0138))["more"] == pytest.approx(4_950, abs=60)
    planned = goal(capsys, tmp_path, table, *accuracy(0.0137))
    assert planned["more"] is None
    assert planned["why"] == "the interval stays too wide with 5,000 more"
    near = goal(capsys, tmp_path, table, "--bar", "accuracy=0.505")
    assert near["why"] == "the interval would still hold the bar with 5,000 more"


def test_enough_labels_are_said_to_be_enough(capsys, tmp_path):
    path = write_rows(tmp_path / "t.jsonl", rows(100, 1, 20))
    status, out, _ = called(capsys, "check", path, *NAMED, "--labels-needed", *accuracy(0.09))
    words = " ".join(out.split())
    assert status == 0
    assert words.startswith("No more labels are needed for an interval of accuracy of ±0.09: ")
    assert "accuracy is 0.80 (0.71 to 0.87) on 100 labels" in words


def test_labels_for_a_bar_decide_half_of_the_time_unless_there_are_more(capsys, tmp_path):
    """The least number whose interval excludes the bar if the value stays, so in every other case.

    80 of 100 right, bar 0.72: Wilson's lower end reaches it with n = 114 or so.
    """
    planned = goal(capsys, tmp_path, rows(100, 1, 20), "--bar", "accuracy=0.72")
    assert planned["expected"][0] == pytest.approx(0.72, abs=0.001)
    assert planned["expected"][0] >= 0.72
    assert planned["chance"] == pytest.approx(0.5, abs=0.06)
    assert planned["likely_more"] > planned["more"]
    path = write_rows(tmp_path / "t.jsonl", rows(100, 1, 20))
    _, out, _ = called(capsys, "check", path, *NAMED, "--labels-needed", "--bar", "accuracy=0.72")
    words = " ".join(out.split())
    assert f"they decide with a chance of {100 * planned['chance']:.0f} %; " in words
    assert f"80 % takes about {planned['likely_more']:,} more." in words


@pytest.mark.parametrize("bar", ["accuracy=0.72", "accuracy=0.86"])
def test_80_percent_is_what_likely_means(capsys, tmp_path, bar):
    """The value may move by what its variance shrinks; room / moves is 0.8416 at 80 %."""
    planned = goal(capsys, tmp_path, rows(100, 1, 20), "--bar", bar)
    spread = 100 * 0.8 * 0.2 / 99

    def chance(more: int) -> float:
        n, edge = 100 + more, float(bar.partition("=")[2])
        t = 1.984 + (1.966 - 1.984) * min(1.0, more / 250)
        units = 0.16 / (spread / n)
        centre = (0.8 + t * t / (2 * units)) / (1 + t * t / units)
        half = t / (1 + t * t / units) * math.sqrt(0.16 / units + t * t / (4 * units**2))
        room = centre - half - edge if edge < 0.8 else edge - centre - half
        moves = math.sqrt(spread / 100 - spread / n)
        return 0.5 * (1 + math.erf(room / moves / math.sqrt(2)))

    least = next(more for more in range(1, 5_000) if chance(more) >= 0.8)
    assert planned["likely_more"] == pytest.approx(least, rel=0.05)


def test_a_bar_is_not_reached_by_labels_of_four_questions(capsys, tmp_path):
    """A perfect judge, but on four questions: the decision needs five, and so does the plan."""
    table = rows(4, 20, 0)
    four = goal(capsys, tmp_path, table, "--bar", "kappa=0.1", "--group", "question")
    assert (four["reached"], four["more_groups"] >= 1) == (False, True)
    five = goal(capsys, tmp_path, rows(5, 16, 0), "--bar", "kappa=0.1", "--group", "question")
    assert (five["reached"], five["more"]) == (True, 0)
    rare = [row | {"human": "yes" if n < 4 else "no", "judge": "yes" if n < 4 else "no"}
            for n, row in enumerate(rows(80, 1, 0))]  # fmt: skip
    few = goal(capsys, tmp_path, rare, "--bar", "kappa=0.1")
    assert (few["reached"], few["rough"], few["more"] >= 9) == (False, True, True)


def test_without_a_disagreement_the_number_is_called_rough(capsys, tmp_path):
    path = write_rows(tmp_path / "t.jsonl", rows(40, 1, 0))
    _, out, _ = called(capsys, "check", path, *NAMED, "--labels-needed", "--half-width", "0.02")
    assert "This is a rough number: kappa is 1.00" in " ".join(out.split())


# Which rows first --------------------------------------------------------------------------------


def unlabelled(groups: int, size: int, **texts: str) -> list[dict[str, Any]]:
    table = [row | {"human": ""} for row in rows(groups, size, 7)]
    return [row | {"id": f"n{n}", "question": f"new{row['question']}", **texts}
            for n, row in enumerate(table)]  # fmt: skip


@pytest.mark.parametrize("spare", [20, 21])
def test_20_rows_are_shown_and_the_others_counted(capsys, tmp_path, spare):
    path = write_rows(tmp_path / "t.jsonl", rows(40, 1, 10) + unlabelled(spare, 1))
    _, out, _ = called(
        capsys,
        "check",
        path,
        *NAMED,
        "--labels-needed",
        "--half-width",
        "0.05",
        "--group",
        "question",
    )
    listed = [line for line in out.splitlines() if line.startswith("n")]
    assert len(listed) == 20
    assert ("1 further row to label in this order: --json" in out) == (spare > 20)
    assert "doubt" not in out.partition("label first")[2]


def test_rows_of_new_questions_come_first_spread_over_questions_and_doubt(capsys, tmp_path):
    old = [row | {"human": "", "id": f"o{n}"} for n, row in enumerate(rows(40, 1, 0)[:8])]
    table = rows(40, 1, 10) + old + unlabelled(8, 4)
    for n, row in enumerate(table):
        row["p"] = 0.95 if n % 2 else 0.55
    path = write_rows(tmp_path / "t.jsonl", table)
    options = "--labels-needed", "--half-width", "0.05", "--group", "question", "--probability", "p"
    status, out, _ = called(capsys, "check", path, *NAMED, *options, "--json")
    plan = json.loads(out)
    assert (status, plan["labels"], plan["groups"], plan["new_groups"]) == (0, 40, 40, 8)
    first = plan["first"]
    assert [row["id"][0] for row in first] == ["n"] * 32 + ["o"] * 8
    assert len({row["group"] for row in first[:8]}) == 8
    doubts = [round(row["doubt"], 2) for row in first[:16]]
    assert doubts.count(0.05) == doubts.count(0.45) == 8
    again = json.loads(called(capsys, "check", path, *NAMED, *options, "--json")[1])
    assert again["first"] == first
    other = json.loads(called(capsys, "check", path, *NAMED, *options, "--seed", "1", "--json")[1])
    assert other["first"] != first


def test_the_words_say_what_to_do(capsys, tmp_path):
    table = rows(40, 2, 10) + unlabelled(10, 2)
    path = write_rows(tmp_path / "t.jsonl", table)
    out_file = tmp_path / "plan.json"
    options = (
        "--labels-needed",
        "--half-width",
        "0.1",
        "--group",
        "question",
        "--out",
        str(out_file),
    )
    status, out, _ = called(capsys, "check", path, *NAMED, *options)
    words = " ".join(out.split())
    plan = json.loads(out_file.read_text())
    (planned,) = plan["goals"]
    assert status == 0
    assert words.startswith(
        f"Label about {planned['more']} more, in at least {planned['more_groups']} more questions, "
        "for an interval of kappa of ±0.1. Now kappa is "
    )
    assert "The table has 20 rows without labels, in 10 new questions: add rows" in words
    assert "Label in the order listed: it is random (seed 0)" in words
    assert "evenly over questions and verdicts, new questions first" in words


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            ["--labels-needed", "--bar", "f1=0.6"],
            "cannot plan labels for 'f1': expected one of kappa",
        ),
        (["--labels-needed", "--half-width", "0"], "--half-width"),
        (["--labels-needed", "--half-width", "1"], "--half-width"),
        (["--half-width", "0.1"], "--labels-needed"),
        (["--labels-needed", "--bar", "kappa=1.5"], "expected a number from -1 to 1"),
        (
            ["--labels-needed", "--half-width", "0.1", "--against", "x"],
            "--against has no effect with",
        ),
    ],
)
def test_a_plan_that_cannot_be_made_is_one_line(capsys, tmp_path, options, problem):
    path = write_rows(tmp_path / "t.jsonl", rows(40, 1, 10))
    assert problem in refused(capsys, path, *NAMED, *options)
