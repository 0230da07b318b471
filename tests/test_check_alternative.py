"""The alternative annotator test of `pnyx check` (Calderon et al., ACL 2025), worked by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from command import called, write_rows
from pnyx.audit.checks import alternative
from pnyx.audit.checks.check import check
from pnyx.audit.display.check import check_html

PEOPLE = ("p0", "p1", "p2")


def word(answer: bool) -> str:
    return "yes" if answer else "no"


def table(count: int, wrong: int, people: int = 3, **others: range) -> list[dict[str, Any]]:
    """Return items on which people agree, but for those on which one of them differs.

    The judge says what most people say, except on the first `wrong`.
    """
    return [
        {
            "id": f"i{n}",
            "judge": word((n % 2 == 0) ^ (n < wrong)),
            **{f"p{k}": word((n % 2 == 0) ^ (n in others.get(f"p{k}", ()))) for k in range(people)},
        }
        for n in range(count)
    ]


def replaced(capsys: Any, tmp_path: Path, rows: list[dict[str, Any]], *options: str) -> Any:
    """Return the test by `pnyx check --json`."""
    path = write_rows(tmp_path / "t.jsonl", rows)
    human = [word for name in rows[0] if name[0] == "p" for word in ("--human", name)]
    status, out, _ = called(capsys, "check", path, "--verdict", "judge", *human, *options, "--json")
    assert status == 0
    return json.loads(out)["judges"][0]["alternative"]


def t_of(wins: int, losses: int, count: int, epsilon: float) -> float:
    """Return Student's t of differences: `losses` of 1, `wins` of -1, the others 0."""
    mean = (losses - wins) / count
    variance = ((losses + wins) / count - mean**2) * count / (count - 1)
    return (mean - epsilon) / math.sqrt(variance / count)


def test_a_judge_that_errs_seldom_may_replace_each_person(capsys, tmp_path):
    """On 2 of 40 items each person is better; t = (0.05 - 0.2) / 0.0349 = -4.30."""
    result = replaced(capsys, tmp_path, table(40, 2))
    assert (result["epsilon"], result["winning_rate"], result["passes"]) == (0.2, 1, True)
    assert result["advantage"] == pytest.approx(38 / 40)
    for row in result["annotators"]:
        assert (row["items"], row["clusters"], row["judge_wins"]) == (40, 40, True)
        assert (row["judge_as_good"], row["annotator_as_good"]) == (38 / 40, 1)
        assert row["p"] == pytest.approx(5.6e-5, rel=0.02)
    assert t_of(0, 2, 40, 0.2) == pytest.approx(-4.30, abs=0.005)


def test_epsilon_is_what_a_person_must_be_better_by():
    """With 0.1, t is -1.43 and p 0.08: not shown."""
    assert alternative.EPSILON == 0.2
    items = check(table(40, 2), judge="judge", human=PEOPLE).items
    assert alternative.alternative_annotator_test(items, "judge", epsilon=0.2).passes is True
    result = alternative.alternative_annotator_test(items, "judge", epsilon=0.1)
    assert (result.passes, result.winning_rate) == (False, 0)
    assert result.annotators[0].p == pytest.approx(0.080, abs=0.002)
    for epsilon in (-0.01, 1.0):
        with pytest.raises(ValueError, match="expected a number from 0, below 1"):
            alternative.alternative_annotator_test(items, "judge", epsilon=epsilon)
    assert alternative.alternative_annotator_test(items, "judge", epsilon=0).passes is False


def test_p_is_that_of_scipy(capsys, tmp_path):
    stats = pytest.importorskip("scipy.stats")
    result = replaced(capsys, tmp_path, table(60, 9, p2=range(20, 26)))
    differences = [1] * 9 + [0] * 11 + [-1] * 6 + [0] * 34
    expected = stats.ttest_1samp(differences, 0.2, alternative="less").pvalue
    assert result["annotators"][2]["p"] == pytest.approx(expected)
    assert result["annotators"][2]["judge_as_good"] == pytest.approx(51 / 60)
    assert result["annotators"][2]["annotator_as_good"] == pytest.approx(54 / 60)


@pytest.mark.parametrize(("count", "p", "wins"), [(40, 0.0220, True), (38, 0.0341, False)])
def test_the_correction_is_that_of_benjamini_and_yekutieli(capsys, tmp_path, count, p, wins):
    """Three equal p: significant up to 0.05 / (1 + 1/2 + 1/3) = 0.0273; Bonferroni has 0.0167."""
    assert alternative.FALSE_DISCOVERIES == 0.05
    result = replaced(capsys, tmp_path, table(count, 4))
    assert [row["p"] for row in result["annotators"]] == pytest.approx([p] * 3, abs=5e-4)
    assert {row["judge_wins"] for row in result["annotators"]} == {wins}


@pytest.mark.parametrize("people", [4, 5])
def test_the_judge_must_win_against_half_of_the_people(capsys, tmp_path, people):
    """It errs on 16 of 60; p2 and p3 on 22 other items each: it wins against these two alone."""
    assert alternative.PASSING == 0.5
    rows = table(60, 16, people, p2=range(16, 38), p3=range(38, 60))
    result = replaced(capsys, tmp_path, rows)
    wins = [row["judge_wins"] for row in result["annotators"]]
    assert wins == [False, False, True, True, False][:people]
    assert result["winning_rate"] == pytest.approx(2 / people)
    assert result["passes"] is (people == 4)
    assert t_of(22, 16, 60, 0.2) == pytest.approx(-2.918, abs=0.001)


@pytest.mark.parametrize("count", [29, 30])
def test_a_person_needs_30_items(capsys, tmp_path, count):
    assert alternative.MIN_ITEMS == 30
    rows = table(40, 2)
    for row in rows[count:]:
        row["p2"] = ""
    third = replaced(capsys, tmp_path, rows)["annotators"][2]
    assert third["items"] == count
    assert (third["p"] is not None) == (count == 30)
    left = "Left out, with fewer than 30 shared items: p2." in check_html(
        check(rows, judge="judge", human=PEOPLE)
    )
    assert left == (count == 29)


def test_too_few_items_or_people_are_said(capsys, tmp_path):
    assert alternative.MIN_ANNOTATORS == 3
    result = replaced(capsys, tmp_path, table(29, 2))
    assert (result["winning_rate"], result["passes"]) == (None, None)
    assert result["not_valid"].startswith("no annotator has 30 items, ")
    page = check_html(check(table(29, 2), judge="judge", human=PEOPLE))
    assert "May the judge replace an annotator? Not tested: no annotator has 30 items" in page
    assert replaced(capsys, tmp_path, table(40, 2, people=2)) is None
    items = check(table(40, 2, people=2), judge="judge", human=("p0", "p1")).items
    why = alternative.alternative_annotator_test(items, "judge").not_valid
    assert why == "the test needs 3 or more annotators, and there are 2"


def test_one_group_of_items_is_not_a_test(capsys, tmp_path):
    """A t-test needs two groups: 40 items of one question are none, and the reason says so."""
    rows = [row | {"question": "q"} for row in table(40, 2)]
    result = replaced(capsys, tmp_path, rows, "--group", "question")
    assert [row["p"] for row in result["annotators"]] == [None] * 3
    assert result["not_valid"].startswith("no annotator has 30 items, of two or more groups, that")


def test_items_of_a_question_count_together(capsys, tmp_path):
    """Each item twice, in one question: as if it were there once."""
    once = table(40, 4, p2=range(10, 14))
    twice = [row | {"id": f"{row['id']}{k}", "question": row["id"]} for row in once for k in "ab"]
    alone = replaced(capsys, tmp_path, once)["annotators"]
    both = replaced(capsys, tmp_path, twice, "--group", "question")["annotators"]
    assert [row["p"] for row in both] == pytest.approx([row["p"] for row in alone])
    assert [(row["items"], row["clusters"]) for row in both] == [(80, 40)] * 3


def test_unscored_verdicts_are_left_out(capsys, tmp_path):
    rows = table(41, 0)
    rows[0]["judge"] = "error: timeout"
    path = write_rows(tmp_path / "t.jsonl", rows)
    human = [word for name in PEOPLE for word in ("--human", name)]
    status, out, _ = called(capsys, "check", path, "--verdict", "judge", *human, "--json")
    result = json.loads(out)["judges"][0]["alternative"]
    assert (status, result["annotators"][0]["items"]) == (3, 40)


def test_ratings_are_compared_by_their_error(capsys, tmp_path):
    """People rate 1, 2, 3 (or 3, 4, 5) and the judge 2 (or 4).

    Without the first, the others say 2 and 3: the judge's error is 0.71, the first one's 1.58.
    """
    rows = [
        {"id": f"i{n}", "judge": up + 2 + (n > 37), "p0": up + 1, "p1": up + 2, "p2": up + 3}
        for n in range(40)
        for up in [2 * (n % 2)]
    ]
    first, second, third = replaced(capsys, tmp_path, rows)["annotators"]
    assert (first["judge_as_good"], first["annotator_as_good"]) == (1, 0)
    assert (second["judge_as_good"], second["annotator_as_good"]) == (38 / 40, 1)
    assert (third["judge_as_good"], third["annotator_as_good"]) == (1, 2 / 40)


def test_the_page_says_it_in_words():
    page = check_html(check(table(40, 2), judge="judge", human=PEOPLE))
    assert (
        "By the alternative annotator test, the judge may replace an annotator: it wins "
        "against 3 of 3 (winning rate 1.00, needed 0.50; epsilon 0.2). It is as good as an "
        "annotator on 95 % of the items." in page
    )
    page = check_html(check(table(40, 9), judge="judge", human=PEOPLE))
    assert "the judge is not shown to be able to replace an annotator" in page
