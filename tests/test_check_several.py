"""`pnyx check` of several judges, several people, ratings, and with an earlier check."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import pnyx
from command import called, refuser
from pnyx.audit.checks.items import CheckItem, CheckItems

BASE = {"human": "label", "group": "question"}


def rows(count: int = 80, **wrong: int) -> list[dict[str, Any]]:
    """Return rows of 20 questions; each judge is wrong on the first of them, as many as it says."""
    return [
        {
            "id": f"a{n}",
            "question": f"q{n % 20}",
            "label": "yes" if n % 2 else "no",
            **{
                judge: "yes" if bool(n % 2) ^ (n < errors) else "no"
                for judge, errors in wrong.items()
            },
        }
        for n in range(count)
    ]


def write(path: Path, table: list[dict[str, Any]]) -> str:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    return str(path)


# Several judges ----------------------------------------------------------------------------------


def test_judges_are_compared_on_the_same_rows_and_the_cheapest_good_enough_is_named() -> None:
    table = [
        {**row, "price a": "0.001", "price b": "$0.01", "price c": 0.0001}
        for row in rows(400, a=2, b=0, c=120)
    ]
    check = pnyx.check(
        table, judge=["a", "b", "c"], cost=["price a", "price b", "price c"], margin=0.05, **BASE
    )
    assert check.choice is not None
    assert (check.choice.baseline, check.choice.choice) == ("b", "a")
    words = str(check)
    assert "Take a: the cheapest that is good enough." in words
    assert "c against b: -0.300 accuracy" in words
    assert "less accurate." in words
    assert "a: trustworthy: kappa 0.99" in words
    assert "c: not trustworthy: kappa 0.40" in words
    assert len(words.splitlines()) <= 25
    plain = pnyx.check(table, judge=("a", "b"), **BASE)
    assert plain.choice is not None
    assert plain.choice.choice is None
    assert "Most accurate: b. Costs are not known" in str(plain)


@pytest.mark.parametrize(
    ("errors", "choice"), [(2, "cheap"), (8, "cheap"), (9, "dear"), (24, "dear")]
)
def test_a_cheaper_judge_may_lose_2_percent(errors: int, choice: str) -> None:
    """Of 800, 8 errors are 1 % and shown to be less than 2 %; 9 are not, and 24 errors are 3 %."""
    table = [{**row, "c": 0.1, "d": 1} for row in rows(800, cheap=errors, dear=0)]
    both = {"judge": ["cheap", "dear"], "cost": ["c", "d"]}
    chosen = pnyx.check(table, **both, **BASE).choice
    assert chosen is not None
    assert chosen.choice == choice
    wide = pnyx.check(table, **both, **BASE, margin=0.1)
    assert wide.choice is not None
    assert wide.choice.choice == "cheap"
    assert ("less accurate by less than 0.1." in str(wide)) == (errors > 2)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"cost": "c"}, "costs require two or more judges of yes and no"),
        ({"margin": 0.1}, "a margin requires an earlier check, or several judges"),
    ],
)
def test_options_that_would_change_nothing_are_refused(options: Any, problem: str) -> None:
    table = [{**row, "c": 0.1} for row in rows(80, a=2)]
    with pytest.raises(pnyx.InputError, match=problem):
        pnyx.check(table, judge="a", **options, **BASE)
    rated = [{"a": 1 + n % 5, "b": 1 + n % 5, "label": 1 + n % 5, "c": 0.1} for n in range(40)]
    options = {name: ["c", "c"] if name == "cost" else value for name, value in options.items()}
    with pytest.raises(pnyx.InputError, match=problem):
        pnyx.check(rated, judge=["a", "b"], human="label", **options)


def test_every_judge_must_reach_the_bars() -> None:
    check = pnyx.check(rows(400, a=0, c=190), judge=["a", "c"], **BASE)
    assert check.passes(kappa=0.6) is False
    assert check.passes(kappa=-1) is True
    assert [bar.judge for bar in check.decide({"kappa": 0.6}).bars] == ["a", "c"]


@pytest.mark.parametrize(
    ("cost", "problem"),
    [
        (["price"], "found 1 for cost, expected a column for each of 2 judges"),
        (["price", "none"], "no row has a cost in 'none'"),
        (["price", "label"], "label: found 'no', expected dollars from 0"),
    ],
)
def test_costs_that_cannot_be_read_are_refused(cost: list[str], problem: str) -> None:
    items = CheckItems(
        [
            CheckItem(f"r{n}", "", n, {"a": True, "b": n > 2}, {"x": n > 1},
                      texts={"price": "0.1", "label": "no", "none": " "})
            for n in range(1, 5)
        ],
        "yes-no", ("a", "b"), ("x",),
    )  # fmt: skip
    with pytest.raises(pnyx.InputError, match=problem):
        pnyx.check(items, cost=cost)
    with pytest.raises(pnyx.InputError, match="judge: CheckItems name their columns already"):
        pnyx.check(items, judge="a")


# Several people, and ratings ----------------------------------------------------------------------


def test_the_majority_of_people_counts_and_ties_are_left_out() -> None:
    votes = [("yes", "yes", "no"), ("no", "no", "yes"), ("yes", "no", ""), ("", "", "no")]
    table = [
        {"id": n, "judge": "no", **dict(zip(("p1", "p2", "p3"), votes[n % 4], strict=True))}
        for n in range(40)
    ]
    check = pnyx.check(table, judge="judge", human=["p1", "p2", "p3"])
    (judge,) = check.judges
    assert check.tied == 10
    assert (judge.figures["sensitivity"].scored, judge.figures["specificity"].scored) == (10, 20)
    assert judge.figures["accuracy"].value == pytest.approx(20 / 30)
    assert "10 items are tied between people and left out" in str(check)
    assert check.people is not None
    line = f"People's agreement with each other: alpha {check.people.value:.2f} ("
    words = " ".join(str(check).split())
    assert line in words
    assert "; the judge's with people: " in words
    assert judge.alternative is not None
    assert pnyx.check(table, judge="judge", human=["p1", "p2"]).judges[0].alternative is None
    assert pnyx.check(table, judge="judge", human="p1").people is None


def test_ratings_have_their_measures_and_words() -> None:
    table = [{"judge": 1 + n % 5, "label": 1 + (n + (n % 10 == 0)) % 5} for n in range(60)]
    check = pnyx.check(table, judge="judge", human="label")
    (judge,) = check.judges
    assert check.items.kind == "rating"
    assert judge.figures["accuracy"].value == pytest.approx(54 / 60)
    assert judge.figures["mean_absolute_error"].value == pytest.approx(6 / 60)
    assert {"kappa", "alpha_ordinal", "spearman"} <= judge.figures.keys()
    assert judge.rate is None
    words = str(check).splitlines()
    assert words[0].startswith("Of 60 ratings of people, the judge gave the same 54 times (90 %, ")
    assert words[2].startswith("Trustworthy: alpha_ordinal 0.")
    assert check.passes(mae=0.5) is True
    far = [row | {"judge": 1} for row in table]
    gaps = [d.label for d in pnyx.check(far, judge="judge", human="label").judges[0].disagreements]
    assert gaps == sorted(gaps, key=lambda label: -float(label or 0))


# An earlier check --------------------------------------------------------------------------------


def test_a_judge_that_became_worse_ends_with_1(tmp_path: Path, capsys: Any) -> None:
    good = write(tmp_path / "good.csv", rows(200, judge=4))
    poor = write(tmp_path / "poor.csv", rows(200, verdict=60))
    earlier = str(tmp_path / "check.json")
    named = "--human", "label", "--group", "question"
    assert called(capsys, "check", good, "--verdict", "judge", *named, "--out", earlier)[0] == 0
    now = *named, "--against", earlier
    code, out, _ = called(capsys, "check", poor, "--verdict", "verdict", *now)
    assert code == 1
    assert "Since the earlier check, worse: verdict: accuracy, verdict: kappa" in out
    code, out, _ = called(capsys, "check", good, "--verdict", "judge", *now)
    assert (code, "no figure is worse" in out) == (0, True)
    code, out, _ = called(capsys, "check", poor, "--verdict", "verdict", *now, "--json")
    drift = {row["name"]: row for row in json.loads(out)["drift"]}
    accuracy = drift["verdict: accuracy"]
    assert accuracy["paired"]
    assert accuracy["better"] == pytest.approx(-56 / 200)
    assert accuracy["high"] < 0
    code, _, _ = called(capsys, "check", poor, "--verdict", "verdict", *now, "--margin", "0.99")
    assert code == 0


@pytest.mark.parametrize(("errors", "status"), [(10, 0), (12, 1)])
def test_a_figure_may_be_worse_by_a_tenth(
    tmp_path: Path, capsys: Any, errors: int, status: int
) -> None:
    """Of 200 balanced labels, 10 errors take kappa from 1 to 0.90, and 12 to 0.88."""
    earlier = str(tmp_path / "check.json")
    named = "--verdict", "j", "--human", "label", "--group", "question"
    first = write(tmp_path / "first.csv", rows(200, j=0))
    later = write(tmp_path / "later.csv", rows(200, j=errors))
    assert called(capsys, "check", first, *named, "--out", earlier)[0] == 0
    code, out, _ = called(capsys, "check", later, *named, "--against", earlier)
    assert (code, "worse: j: kappa" in out) == (status, bool(status))
    assert called(capsys, "check", later, *named, "--against", earlier, "--margin", "0.05")[0] == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nothing", "expected a check: JSON that pnyx check --out wrote"),
        ("{}", "expected a check: JSON that pnyx check --out wrote"),
        ('{"check": 1, "kind": "rating", "judges": []}', "found a check of rating"),
        ('{"check": 1, "kind": "yes-no", "judges": []}', "no judge in common"),
        ('{"check": 1, "kind": "yes-no", "judges": [{"judge": "j"}]}', "holds a damaged check"),
        (
            '{"check": 1, "kind": "yes-no", "judges": [{"judge": "j", "outcomes": {}, "measures": '
            '{"kappa": {"value": "x", "low": 0, "high": 1}}}]}',
            "holds a damaged check",
        ),
    ],
)
def test_an_earlier_check_that_is_none_is_refused(
    tmp_path: Path, capsys: Any, text: str, problem: str
) -> None:
    table = write(tmp_path / "t.csv", rows(j=3))
    earlier = tmp_path / "old.json"
    earlier.write_text(text)
    refused = refuser("check", table, "--verdict", "j", "--human", "label")
    assert problem in refused(capsys, "--against", earlier)
