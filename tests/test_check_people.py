"""`pnyx check` with several people: with each other, and judges with each of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pnyx
from command import caller, write_rows
from pnyx.audit.checks.check import compare_people
from pnyx.audit.checks.items import CheckItem, CheckItems
from pnyx.judging import measure_raters
from pnyx.stats import Bootstrap, krippendorff_alpha

pytestmark = pytest.mark.usefixtures("own_place")
call = caller("check")
measure = caller("measure")
audit = caller("audit", "agreement")

BY = {"ann": "yynnyn", "bo": "yyynyn", "cy": "yynnnn"}
"""Labels of six items: ann and bo differ on one, ann and cy on one, bo and cy on two."""
JUDGE = "yynnyy"


def table(path: str = "t.csv", by: dict[str, str] = BY) -> str:
    names = ["judge", *by]
    rows = zip(*[JUDGE, *by.values()], strict=True)
    lines = [",".join(names), *(",".join(row) for row in rows)]
    Path(path).write_text("\n".join(lines) + "\n")
    return path


def columns(*people: str) -> list[str]:
    return ["--verdict", "judge", *(word for name in people for word in ("--human", name))]


def checked(call: Any, *arguments: str, status: int = 0) -> dict[str, Any]:
    code, out, err = call(*arguments, "--json")
    assert code == status, err
    return dict(json.loads(out))


def between(row: dict[str, Any]) -> dict[tuple[str, ...], dict[str, Any]]:
    return {(pair["kind"], *pair["between"]): pair for pair in row["compared"]}


def test_all_people_each_pair_and_the_judge_with_each_by_hand(call: Any) -> None:
    row = checked(call, table(), *columns(*BY))
    compared = between(row)
    assert list(compared) == [
        ("raters", "all people"),
        *(("human-judge", "judge", name) for name in BY),
        ("human-human", "ann", "bo"), ("human-human", "ann", "cy"), ("human-human", "bo", "cy"),
    ]  # fmt: skip
    every = compared["raters", "all people"]
    assert every["raters"] == 3
    values = [[float(mark == "y") for mark in marks] for marks in BY.values()]
    alpha = krippendorff_alpha(values, "nominal")
    assert every["mean"]["alpha_nominal"]["value"] == pytest.approx(alpha)
    assert row["people_agreement"] == every["mean"]["alpha_nominal"]
    assert every["mean"]["accuracy"]["value"] == pytest.approx((5 + 5 + 4) / 18)
    # ann and bo: 5 of 6 the same; by chance 3/6 x 4/6 + 3/6 x 2/6 = 1/2: (5/6 - 1/2) / (1/2).
    assert compared["human-human", "ann", "bo"]["mean"]["kappa"]["value"] == pytest.approx(2 / 3)
    # The judge and cy: 4 of 6; by chance 4/6 x 2/6 + 2/6 x 4/6 = 4/9: (2/3 - 4/9) / (5/9).
    with_cy = compared["human-judge", "judge", "cy"]["mean"]
    assert with_cy["accuracy"]["value"] == pytest.approx(4 / 6)
    assert with_cy["kappa"]["value"] == pytest.approx(2 / 5)
    assert with_cy["kappa"]["low"] < 2 / 5 < with_cy["kappa"]["high"]


def test_one_person_is_compared_with_nobody(call: Any) -> None:
    row = checked(call, table(), *columns("ann"))
    assert (row["compared"], row["people_agreement"]) == ([], None)


def test_the_page_has_a_table_of_each_comparison(call: Any) -> None:
    call(table(), *columns(*BY), "--html", "page.html")
    page = re.sub(r"<[^>]+>", " ", Path("page.html").read_text())
    for title in (
        "raters of one file: all people, 3 raters",
        "judge and people: judge and cy",
        "people and people: ann and bo",
    ):
        assert title in page, title
    call(table(), *columns("ann"), "--html", "page.html")
    assert "People with each other" not in Path("page.html").read_text()


def rated(count: int, people: int) -> CheckItems:
    names = tuple(f"p{n}" for n in range(people))
    items = [
        CheckItem(str(n), "", n, {"judge": n % 3 == 0}, dict.fromkeys(names, n % 2 == 0))
        for n in range(count)
    ]
    return CheckItems(items, "yes-no", ("judge",), names)


@pytest.mark.parametrize(("people", "expected"), [(8, 1 + 8 + 28), (9, 1)])
def test_more_people_are_only_compared_all_at_once(people: int, expected: int) -> None:
    assert len(compare_people(rated(6, people), Bootstrap(draws=0))) == expected


def test_people_who_share_no_item_with_the_judge_or_another_are_left_out() -> None:
    labels: list[dict[str, Any]] = [
        {"ann": True, "bo": False},
        {"ann": True, "bo": True},
        {"cy": True},
    ]
    items = [CheckItem(str(n), "", n, {"judge": n == 0}, some) for n, some in enumerate(labels)]
    compared = compare_people(
        CheckItems(items, "yes-no", ("judge",), ("ann", "bo", "cy")), Bootstrap(draws=0)
    )
    assert [pair.names for pair in compared if pair.kind == "human-human"] == [("ann", "bo")]
    assert (
        compare_people(CheckItems(items[2:], "yes-no", ("judge",), ("ann", "cy")), Bootstrap())
        == []
    )


# Results of pnyx judge ----------------------------------------------------------------------------


def answers(
    values: Any, *, task: str = "quality", dimension: str | None = "clarity"
) -> list[dict[str, Any]]:
    return [
        {"id": f"i{n}", "task": task, "value": value, "probability": None, "judge": "j",
         "unscored": None if value is not None else "refusal", "dimension": dimension,
         "group": f"g{n % 5}"}
        for n, value in enumerate(values)
    ]  # fmt: skip


def labels(values: Any, *, dimension: str = "clarity", annotator: str = "") -> list[dict[str, Any]]:
    more = {"annotator": annotator} if annotator else {}
    return [
        {"id": f"i{n}", "dimension": dimension, "value": v, **more} for n, v in enumerate(values)
    ]


def test_people_within_a_file_and_files_with_each_other_by_hand(call: Any) -> None:
    """Three raters: alpha over all, the others as means over the pairs."""
    by = {"x": [1, 2, 3, 3], "y": [1, 2, 3, 1], "z": [2, 2, 3, 3]}
    write_rows("a.jsonl", answers([1, 2, 3, 3]))
    write_rows("people.jsonl", [r for name, v in by.items() for r in labels(v, annotator=name)])
    write_rows("others.jsonl", labels([1, 2, 3, 2]))
    files = ("--labels", "people.jsonl", "--labels", "others.jsonl")
    row = checked(call, "a.jsonl", *files)
    assert row["people"] == [*(f"people.jsonl: {name}" for name in by), "others.jsonl"]
    compared = between(row)
    assert list(compared) == [
        ("raters", "all people"), ("human-judge", "j", "people.jsonl"),
        ("human-judge", "j", "others.jsonl"), ("human-human", "people.jsonl", "others.jsonl"),
        ("raters", "people.jsonl"),
    ]  # fmt: skip
    within = compared["raters", "people.jsonl"]["mean"]
    alpha = krippendorff_alpha(list(by.values()), "ordinal")
    assert within["alpha_ordinal"]["value"] == pytest.approx(alpha)
    # x and y agree on 3 of 4, x and z on 3, y and z on 2.
    assert within["accuracy"]["value"] == pytest.approx((3 + 3 + 2) / 12)
    # The raters' means are 4/3, 2, 3, 7/3: the judge equals the second and the third.
    assert compared["human-judge", "j", "people.jsonl"]["mean"]["accuracy"]["value"] == 0.5
    python = measure_raters("a.jsonl", ["people.jsonl", "others.jsonl"])
    expected = {(pair.kind, *pair.names): pair.row() for pair in python.compared}
    for key, pair in expected.items():
        assert compared[key] == pair, key


def test_ratings_on_dimensions_have_the_figures_of_measure(call: Any, measure: Any) -> None:
    rng = np.random.default_rng(0)
    truth = [int(v) for v in rng.integers(1, 4, 60)]
    rows, people = [], []
    for dimension, noise in (("clarity", 0.0), ("cogency", 1.0)):
        ratings: list[Any] = [v if rng.random() > noise else int(rng.integers(1, 4)) for v in truth]
        ratings[0] = None
        rows += answers(ratings, dimension=dimension)
        people += labels(truth, dimension=dimension)
    write_rows("a.jsonl", rows)
    write_rows("l.jsonl", people)
    (judge,) = checked(call, "a.jsonl", "--labels", "l.jsonl", status=3)["judges"]
    measured = json.loads(measure("a.jsonl", "--labels", "l.jsonl", "--json")[1])
    assert judge["measures"].items() >= measured["measures"].items()
    assert judge["per_dimension"] == measured["per_dimension"]
    assert judge["dimension_mean"] == measured["dimension_mean"]
    clear, cogent = (
        judge["per_dimension"][name]["alpha_ordinal"] for name in ("clarity", "cogency")
    )
    assert (clear["value"], clear["scored"], clear["asked"]) == (1, 59, 60)
    assert judge["dimension_mean"]["alpha_ordinal"]["value"] == pytest.approx(
        (1 + cogent["value"]) / 2
    )
    assert {row["dimension"] for row in judge["disagreements"]} == {"cogency"}


def test_labels_of_another_dimension_belong_to_no_answer(call: Any) -> None:
    write_rows("a.jsonl", answers([1, 2]))
    write_rows("l.jsonl", labels([1, 2], dimension="cogency"))
    status, _, err = call("a.jsonl", "--labels", "l.jsonl")
    assert (status, err.count("\n")) == (2, 1)
    problem = (
        "no verdict has the id of a label (verdicts: 'i0 clarity', 'i1 clarity'; labels: 'i0 cog"
    )
    assert problem in err
    write_rows("l.jsonl", [{"id": "i0", "value": 1}])
    status, _, err = call("a.jsonl", "--labels", "l.jsonl")
    assert (status, err.count("\n")) == (2, 1)
    assert "l.jsonl: has no column dimension: ratings on several are joined by id and" in err


def test_an_adjudicated_label_counts_alone_in_several_files(call: Any) -> None:
    write_rows("a.jsonl", answers([True, False], task="support", dimension=None))
    write_rows("l.jsonl", [{"id": f"i{n}", "value": False} for n in range(2)])
    decided = [{"id": "i0", "value": True, "annotator": "adjudicated"},
               {"id": "i1", "value": False, "annotator": "bo"}]  # fmt: skip
    write_rows("m.jsonl", decided)
    row = checked(call, "a.jsonl", "--labels", "l.jsonl", "--labels", "m.jsonl")
    accuracy = row["judges"][0]["measures"]["accuracy"]
    assert (accuracy["value"], accuracy["scored"]) == (1, 2)  # else i0 would be tied


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (("--labels", "l.jsonl", "--labels", "l.jsonl"), "names a file twice"),
        (("--labels", "none.jsonl"), "none.jsonl"),
        (("--labels", "-", "--labels", "-"), "only one file can be standard input"),
    ],
)
def test_files_of_labels_that_cannot_be_are_one_line(more: Any, problem: str, call: Any) -> None:
    write_rows("a.jsonl", answers([1, 2]))
    write_rows("l.jsonl", labels([1, 2]))
    status, _, err = call("a.jsonl", *more)
    assert (status, err.count("\n")) == (2, 1)
    assert problem in err


def test_the_former_command_names_the_new_one(audit: Any) -> None:
    status, out, err = audit("results", "--labels", "people.jsonl")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "pnyx check RESULTS --labels LABELS" in err


def test_a_judge_without_verdicts_on_labelled_items_has_no_figures(call: Any) -> None:
    Path("t.csv").write_text("judge,ann,bo\nerror,y,y\nerror,n,y\ny,,\nn,,\n")
    compared = between(checked(call, "t.csv", *columns("ann", "bo"), status=3))
    assert ("human-human", "ann", "bo") in compared
    assert compared["human-judge", "judge", "ann"]["mean"] == {}
    assert call("t.csv", *columns("ann", "bo"), "--html", "page.html")[0] == 3


def test_a_judge_without_an_alpha_ends_no_sentence_in_the_air(call: Any) -> None:
    Path("t.csv").write_text("judge,ann,bo\n" + "error,y,y\nn,n,n\n" * 20)
    status, out, _ = call("t.csv", *columns("ann", "bo"))
    words = " ".join(out.split())
    assert status == 3
    assert "100 %).\nNot" in out  # `100 %` stays on one line
    assert "\n%" not in out
    assert "People's agreement with each other: alpha 1.00 (" in words
    assert ", 2 people). " in words


def test_python_takes_several_files() -> None:
    write_rows("a.jsonl", answers([1, 2, 3]))
    for name in ("l", "m"):
        write_rows(f"{name}.jsonl", labels([1, 2, 2]))
    check = pnyx.check("a.jsonl", labels=[Path("l.jsonl"), Path("m.jsonl")])
    assert check.items.people == ("l.jsonl", "m.jsonl")
    assert check.people is not None
    assert check.people.value == 1
