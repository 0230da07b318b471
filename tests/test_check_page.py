"""The page of `pnyx check`: words, figures, disagreements with hostile texts, plan and pairs."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

import pnyx
from command import called, refuser
from pnyx.audit.checks.items import CheckItem, CheckItems
from pnyx.audit.display.check import check_html, check_sections
from pnyx.display.tables import Table

HOSTILE = "<script>alert(1)</script>\u202e\x00 &amp; '\""
refused = refuser("check")


def items(
    count: int, wrong: int, *, probability: bool = False, group: str = "question", **more: Any
) -> CheckItems:
    """Return items of which the judge is wrong on the first."""
    return CheckItems(
        [
            CheckItem(
                f"a{n}",
                f"q{n % 6}" if group else "",
                n + 2,
                {"judge": bool(n % 2) ^ (n < wrong)},
                {"human": bool(n % 2)},
                {"judge": 0.5 + (0.4 if bool(n % 2) ^ (n < wrong) else -0.4) * (n % 5 + 1) / 5}
                if probability
                else {},
                texts={"answer": f"{HOSTILE} text {n}"},
            )
            for n in range(count)
        ],
        "yes-no", ("judge",), ("human",), group, **more,
    )  # fmt: skip


def headings(page: str) -> list[str]:
    return re.findall(r"<h2>(.*?)</h2>", page)


def test_the_page_begins_with_the_words_and_has_every_part() -> None:
    check = pnyx.check(items(120, 30, probability=True))
    page = check_html(check)
    assert headings(page)[:3] == ["In words", "Figures", "Disagreements"]
    assert "Calibration" in headings(page)
    assert headings(page)[-1] == "What to do next"
    first = str(check).splitlines()[0]
    assert first.replace('"', "&#34;") in page
    assert "data:image/svg+xml;base64," in page
    for command in (
        "audit run",
        "audit card",
        "audit card --against",
        "check RESULTS RESULTS",
        "--labels-needed",
    ):
        assert command in page
    assert "Calibration" not in headings(check_html(pnyx.check(items(120, 30))))
    assert "Disagreements" not in headings(check_html(pnyx.check(items(120, 0))))


def test_hostile_texts_are_shown_and_do_nothing() -> None:
    named = items(40, 9, words=("<i>good</i>", "bad"), source="<b>", notes=("<u>note</u>",))
    page = check_html(pnyx.check(named))
    for tag in ("<script", "<i>", "<u>", "<b>", "\u202e", "\x00"):
        assert tag not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "&lt;i&gt;good" in page


def test_the_most_confident_disagreements_come_first_then_by_line() -> None:
    (judge,) = pnyx.check(items(60, 20, probability=True)).judges
    confident = [row.confidence or 0 for row in judge.disagreements]
    assert confident == sorted(confident, reverse=True)
    assert min(confident) >= 0.5
    same = [row.item.line for row in judge.disagreements if row.confidence == confident[0]]
    assert same == sorted(same)
    assert len(same) > 1
    (plain,) = pnyx.check(items(60, 20)).judges
    assert [row.item.line for row in plain.disagreements] == list(range(2, 22))


@pytest.mark.parametrize(("wrong", "left"), [(100, 0), (101, 1)])
def test_the_page_shows_at_most_100_disagreements(wrong: int, left: int) -> None:
    page = check_html(pnyx.check(items(400, wrong, group="")))
    assert page.count("&lt;script&gt;") == 100
    assert ("Not shown: 1 further disagreement (--json)." in page) == bool(left)


def test_a_long_text_is_cut() -> None:
    long = items(40, 1)
    for length, cut in ((600, False), (601, True)):
        first = long.items[0]
        texts = {"answer": "x" * length}
        item = CheckItem(first.id, first.group, 2, first.verdicts, first.labels, texts=texts)
        table = CheckItems([item, *long.items[1:]], "yes-no", ("judge",), ("human",), "question")
        page = check_html(pnyx.check(table))
        assert ("x" * 600 in page) != cut
        assert ("x" * 599 + "…" in page) == cut


def test_the_two_columns_with_the_longest_texts_are_shown() -> None:
    rows = [
        {"verdict": "no", "label": "no" if n % 2 else "yes", "note": "n" * 5, "passage": "p" * 90,
         "answer": "a" * 6}
        for n in range(40)
    ]  # fmt: skip
    page = check_html(pnyx.check(rows))
    assert page.count("p" * 90) == page.count(">" + "a" * 6 + "<") == 20
    assert "nnnnn" not in page


@pytest.mark.parametrize(
    ("words", "count", "listed", "left"),
    [(1, 12, 12, 0), (1, 13, 12, 2), (20, 4, 4, 0), (20, 5, 4, 2)],
)
def test_a_summary_has_25_lines_and_counts_the_notes_that_do_not_fit(
    words: int, count: int, listed: int, left: int
) -> None:
    """4 sentences, 6 lines of table and 2 blank ones leave 13; the check has a note of its own.

    Notes of 20 times three words take three lines each, and are shown whole or not at all.
    """
    notes = tuple(f"note {'word of it ' * words}{n}" for n in range(count))
    lines = str(pnyx.check(items(120, 30, notes=notes))).splitlines()
    assert len(lines) <= 25
    assert sum(line.startswith("note ") for line in lines) == listed
    assert (lines[-1] == f"{left} more notes: --json") == bool(left)


def test_the_ratings_of_judge_and_people_are_shown_where_they_differ() -> None:
    rows = [
        {"question": f"q{n % 9}", "verdict": 2 if n else 2.5, "label": 1 + n % 2} for n in range(30)
    ]
    check = pnyx.check(rows, judge="verdict", human="label", group="question")
    (table,) = dict(check_sections(check))["Disagreements"]
    assert isinstance(table, Table)
    assert [column.name for column in table.columns] == ["line", "group", "judge", "people"]
    assert table.rows[:2] == [[1, "q0", "2.5", "1"], [3, "q2", "2", "1"]]
    assert len(table.rows) == 15


@pytest.mark.parametrize("size", [19, 20])
def test_a_small_group_gets_counts_and_no_figure(size: int) -> None:
    (judge,) = pnyx.check(items(6 * size, 6)).judges
    assert {group.right for group in judge.groups} == {size - 1}
    assert all(group.accuracy.scored == size for group in judge.groups)
    has = {group.accuracy.value is not None for group in judge.groups}
    assert has == {size == 20}


# The command -------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "results.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["question", "answer", "verdict", "label"])
        for n in range(120):
            right = n % 7 != 0
            label = "" if n >= 100 else ("correct" if n % 3 else "incorrect")
            verdict = "correct" if bool(n % 3) == right else "incorrect"
            writer.writerow([f"q{n % 15}", f"text {n}", verdict, label])
    return str(path)


NAMED = "--verdict", "verdict", "--human", "label", "--group", "question"


def test_the_words_are_the_table_s_and_the_page_is_only_written_when_asked(
    table: str, tmp_path: Path, capsys: Any
) -> None:
    code, out, _ = called(capsys, "check", table, *NAMED)
    assert code == 0
    assert out.startswith('Of 66 answers that people labelled "correct", the judge said "correct"')
    assert 'Its rate of 62 % "correct" is corrected to ' in out
    assert "20 answers have no label" in out
    assert out.rstrip().endswith("15 disagreements: --html FILE shows them")
    assert [path.name for path in tmp_path.iterdir()] == ["results.csv"]
    page = tmp_path / "check.html"
    _, out, _ = called(capsys, "check", table, *NAMED, "--html", str(page))
    assert out.rstrip().endswith(f"15 disagreements: {page}")
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_printing_a_check_says_what_the_command_says(table: str, capsys: Any) -> None:
    _, out, _ = called(capsys, "check", table, *NAMED)
    check = pnyx.check(table, judge="verdict", human="label", group="question")
    assert out.startswith(f"{check}\n\n")
    assert str(check) == repr(check)


def test_a_plan_and_pairs_go_through_the_same_command(
    table: str, tmp_path: Path, capsys: Any
) -> None:
    code, out, _ = called(capsys, "check", table, *NAMED, "--labels-needed", "--half-width", "0.05")
    assert code == 0
    assert re.match(r"Label about \d+ more, in at least \d+ more questions", out)
    code, out, _ = called(
        capsys, "check", table, *NAMED, "--labels-needed", "--bar", "tnr=0.5", "--json"
    )
    assert [goal["bar"] for goal in json.loads(out)["goals"]] == [0.5]
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("forward,backward,human\nA,A,A\nA,B,A\nB,B,A\nB,A,B\n")
    both = "--a-first", "forward", "--b-first", "backward"
    code, out, _ = called(capsys, "check", str(pairs), *both, "--human", "human")
    assert code == 0
    assert out.startswith("The two orders agree on 2 of 4 pairs; 2 flip (50 %")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--bar", "kappa"], "--bar kappa: expected MEASURE=VALUE"),
        (["--bar", "=1"], "expected MEASURE=VALUE"),
        (["--bar", "kappa=high"], "expected MEASURE=VALUE"),
        (["--bar", "kappa=nan"], "expected MEASURE=VALUE"),
        (["--bar", "kappa=0.6", "--bar", "kappa=0.7"], "the measure is given twice"),
        (["--bar", "kappa=60"], "bar kappa: found 60, expected a number from -1 to 1"),
        (["--bar", "nonsense=0.5"], "bar nonsense: not measured here, expected one of f1"),
        (["--bar", "auroc=0.6"], "bar auroc: not measured here, expected one of f1, accuracy"),
        (["--labels-needed"], "--labels-needed requires --half-width X or --bar MEASURE=VALUE"),
        (
            ["--labels-needed", "--bar", "kappa=0.6", "--html", "x.html"],
            "--html has no effect with --labels-needed",
        ),
        (["--a-first", "verdict"], "give --a-first and --b-first together"),
        (["--json", "--html", "-"], "both write to standard output"),
    ],
)
def test_bad_usage_is_one_line(table: str, capsys: Any, options: list[str], problem: str) -> None:
    assert problem in refused(capsys, table, *NAMED, *options)


def test_unscored_verdicts_are_counted_and_end_with_3(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "t.csv"
    lines = [f"{'' if n == 7 else 'yes' if n % 2 else 'no'},{'yes' if n % 2 else 'no'}"
             for n in range(60)]  # fmt: skip
    path.write_text("\n".join(["verdict,label", *lines]) + "\n")
    named = "--verdict", "verdict", "--human", "label"
    code, out, _ = called(capsys, "check", str(path), *named)
    assert code == 3
    assert "1 of 60 labelled answers are unscored" in out
    code, out, _ = called(capsys, "check", str(path), *named, "--bar", "kappa=0.6")
    assert code == 3
    assert "Cannot tell yet: kappa 1.00" in out
    assert "1 labelled answer unscored" in out


def test_the_corrected_rate_is_there_if_some_answers_have_no_label() -> None:
    rows = [
        {"verdict": "pass" if n % 2 else "fail", "label": "pass" if n % 4 else "fail"}
        for n in range(40)
    ]
    assert "Corrected rate" not in headings(check_html(pnyx.check(rows)))
    rows += [{"verdict": "pass", "label": ""}] * 10
    check = pnyx.check(rows)
    (judge,) = check.judges
    assert judge.rate is not None
    page = check_html(check)
    assert "Corrected rate" in headings(page)
    assert "share of pass" in page
    assert "sensitivity: pass where people say pass" in page
    powered = judge.rate.prediction_powered
    assert powered.low is not None
    assert f"{powered.value:.3f} [{powered.low:.3f}" in page
    rows += [{"verdict": "error: timeout", "label": ""}]
    assert "1 of 51 answers are unscored and excluded" in check_html(pnyx.check(rows))
    labels_alike = [row | {"label": row["label"] and "pass"} for row in rows]
    assert "No Rogan-Gladen estimate: labels are all alike." in check_html(pnyx.check(labels_alike))
