"""When labels are too few for `pnyx check` to decide, however narrow the interval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pnyx
from command import called, write_rows
from pnyx.audit.checks import sample_size

NAMED = "--verdict", "judge", "--human", "human", "--group", "question"


def rows(sizes: list[int], yes: int | None = None) -> list[dict[str, Any]]:
    """Return answers to questions of these sizes, judged as people label them."""
    count = sum(sizes)
    groups = [f"q{n}" for n, size in enumerate(sizes) for _ in range(size)]
    order = [n * 7 % count for n in range(count)] if count % 7 else list(range(count))
    labels = ["yes" if n < (count // 2 if yes is None else yes) else "no" for n in order]
    return [
        {"id": f"a{n}", "question": group, "judge": label, "human": label}
        for n, (group, label) in enumerate(zip(groups, labels, strict=True))
    ]


def checked(capsys: Any, tmp_path: Path, table: list[dict[str, Any]], bar: str) -> tuple[int, str]:
    path = write_rows(tmp_path / "t.jsonl", table)
    status, out, _ = called(capsys, "check", path, *NAMED, "--bar", bar)
    return status, " ".join(out.split())


def test_groups_count_as_many_of_equal_size():
    """(4 + 4 + 2)^2 / (16 + 16 + 4) = 2.78."""
    assert sample_size.equal_groups(np.array([4, 4, 2])) == pytest.approx(100 / 36)
    assert sample_size.equal_groups(np.array([7] * 9)) == 9
    assert sample_size.equal_groups(np.array([], dtype=np.intp)) == 0


@pytest.mark.parametrize(
    ("sizes", "why"),
    [
        ([20] * 5, ""),
        ([20] * 4, "4 groups are too few to decide (5 are needed)"),
        ([40, 20, 20, 20, 20], ""),  # as 4.5 equal ones: 120^2 / 3200
        ([41, 20, 20, 20, 20], "5 groups, as uneven as 4.5 equal ones, are too few"),
        ([160, *[4] * 10], "11 groups, as uneven as 1.6 equal ones, are too few"),
    ],
)
def test_five_groups_of_about_equal_size_are_needed(capsys, tmp_path, sizes, why):
    assert sample_size.MIN_GROUPS == 5
    status, words = checked(capsys, tmp_path, rows(sizes), "kappa=-0.5")
    assert status == (3 if why else 0)
    assert ("Cannot tell yet: kappa 1.00" in words) == bool(why)
    assert why in words


@pytest.mark.parametrize(("yes", "status"), [(4, 3), (5, 0), (95, 0), (96, 3)])
def test_five_labels_of_the_rarer_answer_are_needed_by_kappa(capsys, tmp_path, yes, status):
    assert sample_size.MIN_RARER == 5
    table = rows([5] * 20, yes)
    ended, words = checked(capsys, tmp_path, table, "kappa=-0.5")
    assert ended == status
    why = "4 labels of the rarer answer are too few to decide (5 are needed)"
    assert (why in words) == (status == 3)
    assert checked(capsys, tmp_path, table, "accuracy=0.5")[0] == 0


def test_a_part_of_the_answers_has_its_own_groups(capsys, tmp_path):
    """People's yes are in four of the ten questions: tpr cannot be decided, tnr can."""
    table = rows([10] * 10)
    for n, row in enumerate(table):
        row["human"] = row["judge"] = "yes" if n < 40 and n % 2 else "no"
    assert checked(capsys, tmp_path, table, "tnr=0.3")[0] == 0
    status, words = checked(capsys, tmp_path, table, "tpr=0.1")
    assert (status, "4 groups are too few" in words) == (3, True)
    for name in ("precision", "npv"):
        assert checked(capsys, tmp_path, table, f"{name}=0.1")[0] == (3 if name[0] == "p" else 0)


def test_what_the_interval_leaves_open_keeps_its_own_reason(capsys, tmp_path):
    _, words = checked(capsys, tmp_path, rows([20] * 4), "kappa=0.99")
    assert "the interval lies on both sides of 0.99" in words


def test_four_labels_decide_nothing():
    table = [row | {"question": row["id"]} for row in rows([1] * 4)]
    check = pnyx.check(table, judge="judge", human="human")
    assert check.passes(accuracy=0.01) is None
    (bar,) = check.decide({"accuracy": 0.01}).bars
    assert bar.why == "4 labels are too few to decide (5 are needed)"


@pytest.mark.parametrize(("largest", "noted"), [(35, False), (36, True)])
def test_groups_that_differ_much_in_size_are_noted(capsys, tmp_path, largest, noted):
    """20 groups of 5 and one of 35: 135^2 / 1725 = 10.6, more than half of 21; one of 36: 10.3."""
    assert sample_size.UNEVEN == 0.5
    _, words = checked(capsys, tmp_path, rows([5] * 20 + [largest]), "kappa=-0.5")
    note = "the 21 questions differ much in size, like 10.3 equal ones: the intervals may be"
    assert (note in words) == noted
