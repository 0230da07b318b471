"""`pnyx check`: the words, the decision and its exit status, on one table worked by hand."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import pnyx
from command import run
from pnyx.core.errors import InputError

PASSES = 9, 16  # of 16 that people passed the judge passed 9
FAILS = 75, 104  # of 104 that people failed it failed 75
KAPPA = 0.17933
"""(84 / 120 - chance) / (1 - chance), chance = (38 * 16 + 82 * 104) / 120 ** 2 = 0.63444."""


def rows() -> list[dict[str, str]]:
    """Return 120 rows in 15 questions, with the counts above."""
    pairs = [("pass", "pass")] * 9 + [("fail", "pass")] * 7
    pairs += [("fail", "fail")] * 75 + [("pass", "fail")] * 29
    return [
        {
            "id": f"a{n}",
            "question": f"q{n % 15}",
            "verdict": verdict,
            "label": label,
            "answer": f"<b>Answer {n}</b>",
        }
        for n, (verdict, label) in enumerate(pairs)
    ]


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "results.csv"
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows()[0]))
        writer.writeheader()
        writer.writerows(rows())
    return str(path)


def check(*arguments: str) -> int:
    return run("check", *arguments)


NAMED = "--verdict", "verdict", "--human", "label", "--group", "question"


def test_the_words_begin_with_what_people_passed_and_failed(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(table, *NAMED) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Of 16 answers that people passed, the judge passed 9 (56 %,")
    assert lines[1].startswith("Of 104 that people failed, it failed 75 (72 %,")
    assert lines[2].startswith("Not trustworthy: kappa 0.18 (")
    assert any(line.startswith("36 disagreements") for line in lines)
    assert len(lines) <= 25


@pytest.mark.parametrize(("wrong", "opening"), [(0, "Trustworthy"), (24, "Not trustworthy yet")])
def test_a_judge_is_not_trustworthy_yet_where_the_interval_holds_the_bar(
    wrong: int, opening: str
) -> None:
    """Of 120 balanced labels, 24 errors give a kappa of 0.60, which is the bar."""
    table = [
        {"v": "pass" if bool(n % 2) ^ (n < wrong) else "fail", "h": "pass" if n % 2 else "fail"}
        for n in range(120)
    ]
    words = str(pnyx.check(table, judge="v", human="h"))
    assert f"\n{opening}: kappa {1 - 2 * wrong / 120:.2f} (" in words
    assert ("the interval lies on both sides of 0.6" in words) == bool(wrong)


def test_a_rate_of_fails_is_not_called_a_rate_of_passes() -> None:
    """People fail 20 of 60, and the judge says so too; of 30 more answers it fails 10."""
    answers = [
        {"v": word, "h": word if n < 60 else "", "q": n % 15}
        for n in range(90)
        for word in ["fail" if n % 3 == 0 else "pass"]
    ]
    words = " ".join(str(pnyx.check(answers, judge="v", human="h", yes="fail", no="pass")).split())
    assert words.startswith("Of 20 answers that people failed, the judge failed 20 (100 %, ")
    assert "Its rate of 33 % fails is corrected to 33 %" in words


def test_figures_are_those_worked_by_hand(table: str) -> None:
    (judge,) = pnyx.check(table, judge="verdict", human="label", group="question").judges
    assert judge.figures["sensitivity"].value == pytest.approx(9 / 16)
    assert judge.figures["specificity"].value == pytest.approx(75 / 104)
    assert judge.figures["accuracy"].value == pytest.approx(84 / 120)
    assert judge.figures["kappa"].value == pytest.approx(KAPPA, abs=5e-4)
    assert len(judge.disagreements) == 36


def test_figures_and_intervals_are_those_of_measure_agreement(table: str) -> None:
    (judge,) = pnyx.check(table, judge="verdict", human="label", group="question").judges
    empty = dict.fromkeys(["probability", "unscored", "dimension"])
    verdicts = [
        {"id": r["id"], "task": "support", "judge": "v", "value": r["verdict"] == "pass", **empty}
        for r in rows()
    ]
    labels = [
        {"id": r["id"], "value": r["label"] == "pass", "group": r["question"]} for r in rows()
    ]
    measured = pnyx.measure_agreement(verdicts, labels)
    for name in ("kappa", "accuracy", "f1"):
        assert judge.figures[name] == measured.measures[name]


@pytest.mark.parametrize(
    ("bar", "status", "passed"),
    [("kappa=-0.9", 0, True), ("kappa=0.9", 1, False), ("kappa=0.18", 3, None)],
)
def test_the_exit_status_says_above_below_or_cannot_tell(
    table: str, bar: str, status: int, passed: bool | None
) -> None:
    assert check(table, *NAMED, "--bar", bar) == status
    value = float(bar.partition("=")[2])
    checked = pnyx.check(table, judge="verdict", human="label", group="question")
    assert checked.passes(kappa=value) is passed


def test_a_bar_at_the_end_of_the_interval_is_reached(table: str) -> None:
    checked = pnyx.check(table, judge="verdict", human="label", group="question")
    low, high = checked.judges[0].figures["kappa"].low, checked.judges[0].figures["kappa"].high
    assert low is not None
    assert high is not None
    assert checked.passes(kappa=low) is True
    assert checked.passes(kappa=low + 1e-9) is None
    assert checked.passes(kappa=high) is None
    assert checked.passes(kappa=high + 1e-9) is False


def test_a_column_that_is_not_there_is_named(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(table, "--verdict", "verdct", "--human", "label") == 2
    error = capsys.readouterr().err
    assert "verdct" in error
    assert "verdict" in error


def test_columns_are_guessed_and_the_guess_is_said(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(table) == 0
    captured = capsys.readouterr()
    assert "column verdict" in captured.out + captured.err
    assert "guessed" in captured.out + captured.err


def test_json_and_page(table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "check.html"
    assert check(table, *NAMED, "--html", str(page), "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["judges"][0]["measures"]["kappa"]["value"] == pytest.approx(KAPPA, abs=5e-4)
    html = page.read_text("utf-8")
    assert "Of 16 answers that people passed" in html
    assert "<b>Answer" not in html
    assert "&lt;b&gt;Answer" in html


def test_ratings_from_one_to_five_are_not_all_yes(tmp_path: Path) -> None:
    graded = [{"verdict": n % 2, "label": 1 + n % 5} for n in range(20)]
    with pytest.raises(InputError):
        pnyx.check(graded, judge="verdict", human="label")
    checked = pnyx.check(graded, judge="verdict", human="label", yes="4,5")
    assert checked.items.kind == "yes-no"


def test_the_judge_is_measured_on_labelled_rows_and_blank_ones_correct_its_rate(
    tmp_path: Path,
) -> None:
    table = [*rows(), *({**row, "id": f"b{n}", "label": ""} for n, row in enumerate(rows()))]
    (judge,) = pnyx.check(table, judge="verdict", human="label", group="question").judges
    assert judge.unlabelled == 120
    assert judge.rate is not None
    assert judge.rate.judged.asked == 240
    assert judge.figures["accuracy"].asked == 120


def test_an_empty_verdict_is_unscored_and_not_a_no() -> None:
    table = rows()
    table[0]["verdict"] = ""
    (judge,) = pnyx.check(table, judge="verdict", human="label").judges
    assert (judge.unscored, judge.figures["accuracy"].scored) == (1, 119)
