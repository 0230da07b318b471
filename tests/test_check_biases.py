"""Biases that `pnyx check` finds in verdicts and labels, counted by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command import called, write_rows
from pnyx.audit.checks.biases import TEXT_COLUMNS
from pnyx.audit.checks.check import check
from pnyx.audit.display.check import check_html

JUDGED = "--verdict", "judge"


def measured(capsys: Any, tmp_path: Path, table: list[dict[str, Any]], *options: str) -> Any:
    """Return the judge of `pnyx check --json`, and what it prints."""
    path = write_rows(tmp_path / "t.jsonl", table)
    words = called(capsys, "check", path, *JUDGED, *options)[1]
    status, out, _ = called(capsys, "check", path, *JUDGED, *options, "--json")
    assert status == 0
    return json.loads(out)["judges"][0], " ".join(words.split())


def page(table: list[dict[str, Any]], *people: str) -> str:
    return check_html(check(table, judge="judge", human=people))


# Length ------------------------------------------------------------------------------------------


def texts(longer: int, shorter: int, passes: int = 10, column: str = "answer") -> list[Any]:
    """Return answers of 9 and of 3 words; people pass half, the judge `passes` more long ones."""
    table = []
    for n in range(longer + shorter):
        long = n < longer
        number = n if long else n - longer
        people = number % 2 == 0
        judge = people or (long and number // 2 < passes)
        text = " ".join(["word"] * (9 if long else 3))
        table.append(
            {
                "id": f"a{n}",
                column: text,
                "human": "yes" if people else "no",
                "judge": "yes" if judge else "no",
            }
        )
    return table


def test_a_judge_that_passes_long_answers_favours_them(capsys, tmp_path):
    """Of 40 long answers people pass 20 and the judge 30; of 40 short ones both pass 20."""
    judge, words = measured(capsys, tmp_path, texts(40, 40))
    length = judge["biases"]["length"]
    assert (length["column"], length["words"]) == ("answer", 6)
    assert (length["judge_yes"], length["people_yes"]) == ([30, 20], [20, 20])
    assert [length[part]["value"] for part in ("longer", "shorter", "difference")] == [
        0.25,
        0,
        0.25,
    ]
    assert length["difference"]["low"] > 0
    assert length["shown"] is True
    assert (
        "The judge favours longer texts (answer above 6 words) more than people do: +25 points, +"
        in words
    )
    html = page(texts(40, 40), "human")
    assert (
        "Of 40 longer texts (answer above 6 words), the judge said &#34;yes&#34; to 30 and people "
        "to 20; of 40 others, to 20 and 20. It favours longer texts more than people do: +25 points"
        in html
    )


def test_a_judge_that_fails_long_answers_more_often_does_not_favour_them():
    """As above, but its yes is `fail`: it fails 30 of 40 long answers, people 20."""
    word = {"yes": "fail", "no": "pass"}
    table = [row | {name: word[row[name]] for name in ("judge", "human")} for row in texts(40, 40)]
    named = {"judge": "judge", "human": "human", "yes": "fail", "no": "pass"}
    words = " ".join(str(check(table, **named)).split())
    verdict = "is harder on longer texts (answer above 6 words) than people are: +25 points"
    assert f"The judge {verdict}" in words
    html = check_html(check(table, **named))
    assert "the judge said &#34;fail&#34; to 30 and people to 20" in html
    assert "It is harder on longer texts than people are: +25 points" in html
    assert "favours" not in words + html


def test_a_judge_that_passes_short_answers_favours_these():
    table = texts(40, 40)
    for row in table:
        row["answer"] = "word " * (12 - len(row["answer"].split()))
    assert "It favours shorter texts more than people do: -25 points" in page(table, "human")
    words = " ".join(str(check(table, judge="judge", human="human")).split())
    assert "favours shorter texts (answer up to 6 words) more than people do: -25 points" in words


def test_two_long_answers_more_show_no_bias(capsys, tmp_path):
    judge, words = measured(capsys, tmp_path, texts(40, 40, passes=2))
    assert judge["biases"]["length"]["difference"]["value"] == pytest.approx(2 / 40)
    assert judge["biases"]["length"]["shown"] is False
    assert "favours" not in words
    assert "No length bias is shown (+5 points" in page(texts(40, 40, passes=2), "human")


@pytest.mark.parametrize(("longer", "shorter"), [(20, 20), (19, 25), (20, 19)])
def test_a_part_of_fewer_than_20_texts_gets_no_figure(capsys, tmp_path, longer, shorter):
    """Longer means above the median; with 20 and 19 texts the median is that of the long ones."""
    table = texts(longer, shorter)
    length = measured(capsys, tmp_path, table)[0]["biases"]["length"]
    if (longer, shorter) == (20, 20):
        assert length["no_figure"] == ""
        assert length["difference"]["value"] is not None
        return
    above = longer if longer < shorter else 0
    total = longer + shorter
    why = f"{above} of {total} texts are longer, and a figure needs 20 of each"
    assert length["no_figure"] == why
    assert length["difference"]["value"] is None
    assert f"Length bias: no figure, as {why}." in page(table, "human")


def test_the_texts_are_those_of_the_usual_column_else_the_longest():
    assert TEXT_COLUMNS[0] == "answer"
    table = [{"Output": row.pop("answer"), "context": "long " * 50, **row} for row in texts(40, 40)]
    (judge,) = check(table, judge="judge", human="human").judges
    assert judge.biases.length.column == "Output"
    other = [{"said": row["Output"], **row, "Output": None, "note": "x"} for row in table]
    assert check(other, judge="judge", human="human").judges[0].biases.length.column == "context"
    bare = [{"judge": row["judge"], "human": row["human"]} for row in table]
    (judge,) = check(bare, judge="judge", human="human").judges
    assert (judge.biases.length.column, judge.biases.length.shown) == ("", None)
    assert "ength" not in page(bare, "human").partition("<h2>Notes")[0].partition("<body")[2]


def test_ratings_of_long_texts_may_be_higher(capsys, tmp_path):
    """People rate 2 and 4; the judge gives 1 more to the 40 long texts."""
    table = [
        {"id": n, "answer": "word " * (9 if n < 40 else 3), "human": 2 + 2 * (n % 2),
         "judge": 2 + 2 * (n % 2) + (n < 40)}
        for n in range(80)
    ]  # fmt: skip
    table[0]["judge"] = 2
    length = measured(capsys, tmp_path, table, "--human", "human")[0]["biases"]["length"]
    assert length["judge_yes"] is None
    assert length["difference"]["value"] == pytest.approx(39 / 40)
    line = "the judge&#39;s ratings differ from people&#39;s by +0.97, on 40 others by +0.00."
    assert line in page(table, "human")


# How far people agree ----------------------------------------------------------------------------


def votes(unanimous: int, split: int, tied: int = 0) -> list[dict[str, Any]]:
    """Return items that three people label; the judge is wrong on 2 unanimous and 10 split ones."""
    table = []
    for n in range(unanimous + split + tied):
        majority = n % 2 == 0
        people = [majority, majority, majority if n < unanimous else not majority]
        number = n if n < unanimous else n - unanimous
        wrong = number < (2 if n < unanimous else 10)
        row = {f"p{k}": "yes" if vote else "no" for k, vote in enumerate(people)}
        if n >= unanimous + split:
            row["p0"] = ""  # the two others are divided
        table.append({"id": f"a{n}", **row, "judge": "yes" if majority ^ wrong else "no"})
    return table


PEOPLE = "--human", "p0", "--human", "p1", "--human", "p2"


def test_accuracy_is_counted_where_people_agree_and_where_they_do_not(capsys, tmp_path):
    judge, _ = measured(capsys, tmp_path, votes(30, 24, 3), *PEOPLE)
    unanimous, split = judge["biases"]["consensus"]
    assert (unanimous["name"], unanimous["right"], unanimous["value"]["scored"]) == (
        "unanimous", 28, 30,
    )  # fmt: skip
    assert (split["name"], split["right"], split["value"]["scored"]) == ("split", 14, 24)
    assert (unanimous["tied"], split["tied"]) == (0, 3)
    assert split["value"]["value"] == pytest.approx(14 / 24)
    html = page(votes(30, 24, 3), "p0", "p1", "p2")
    assert "Where people are unanimous, the judge is right on 28 of 30 (93 %, " in html
    assert "Where people are split, the judge is right on 14 of 24 (58 %, " in html
    assert "(3 without a majority left out)" in html


@pytest.mark.parametrize("split", [19, 20])
def test_a_part_of_fewer_than_20_items_gets_no_figure(capsys, tmp_path, split):
    part = measured(capsys, tmp_path, votes(30, split), *PEOPLE)[0]["biases"]["consensus"][1]
    has = split == 20
    assert (part["value"]["value"] is not None) == has
    assert part["no_figure"] == ("" if has else "19 items, and a figure needs 20")
    sentence = "Where people are split: no figure (19 items, and a figure needs 20)."
    assert (sentence in page(votes(30, split), "p0", "p1", "p2")) == (not has)


def test_one_person_has_no_consensus(capsys, tmp_path):
    biases = measured(capsys, tmp_path, texts(40, 40), "--human", "human")[0]["biases"]
    assert (biases["consensus"], biases["annotators"]) == ([], [])


def test_each_person_is_compared_with_the_judge_and_with_the_others(capsys, tmp_path):
    """Person p2 differs from p0 and p1 on the 24 split items; the judge is wrong on 12 of 54.

    With p0: 42 of 54. With p2: right on 28 unanimous, on the split ones where the judge is wrong.
    The others of p0 are p1 and p2, who are divided on the split ones.
    """
    judge, _ = measured(capsys, tmp_path, votes(30, 24), *PEOPLE)
    first, _, third = judge["biases"]["annotators"]
    assert first["accuracy"]["value"] == pytest.approx(42 / 54)
    assert third["accuracy"]["value"] == pytest.approx((28 + 10) / 54)
    assert (first["others"]["value"], first["others"]["scored"]) == (1, 30)
    assert third["others"]["value"] == pytest.approx(30 / 54)
    html = page(votes(30, 24), "p0", "p1", "p2")
    assert "The judge agrees with p2 on 38 of 54 (70 %, " in html
    assert "; p2 agrees with the other people on 56 %, " in html


@pytest.mark.parametrize("count", [19, 20])
def test_a_person_with_few_labels_gets_no_figure(capsys, tmp_path, count):
    table = votes(40, 24)
    for row in table[count:]:
        row["p2"] = ""
    person = measured(capsys, tmp_path, table, *PEOPLE)[0]["biases"]["annotators"][2]
    has = count == 20
    assert (person["kappa"]["value"] is not None) == (person["others"]["value"] is not None) == has
    assert person["no_figure"] == ("" if has else "19 items in common, and a figure needs 20")
