"""`pnyx measure`: pairs judged in both orders, without asking a model."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from command import caller, write_rows

pytestmark = pytest.mark.usefixtures("own_place")
call = caller("measure")
check = caller("check")

ORDERS: list[tuple[str | None, str | None]] = [
    ("a", "a"), ("b", "b"), ("a", "b"), ("a", "b"), ("b", "a"), ("tie", "a"), ("a", "a"),
    (None, None),
]  # fmt: skip
"""Verdicts with A and with B shown first: of 7 pairs 3 the same, 4 flipped, 1 unscored."""
PEOPLE = ["a", "b", "a", "b", "a", "a", "b", "a"]


def combined(orders: tuple[str | None, str | None]) -> str | None:
    return orders[0] if orders[0] == orders[1] else "tie"


def answers() -> list[dict[str, Any]]:
    return [
        {"id": f"p{n}", "task": "preference", "judge": "j", "probability": None,
         "value": combined(orders), "unscored": None if orders[0] else "refusal",
         "notes": {"orders": list(orders)} if orders[0] else None}
        for n, orders in enumerate(ORDERS)
    ]  # fmt: skip


def labels(**more: Any) -> list[dict[str, Any]]:
    return [{"id": f"p{n}", "value": value, **more} for n, value in enumerate(PEOPLE)]


def test_flips_first_slot_and_agreement_by_hand(call: Any) -> None:
    """The text shown first wins 1, 1, 2, 2, 0, 0.5 and 1 of two showings: 7.5 of 14."""
    write_rows("a.jsonl", answers())
    write_rows("l.jsonl", labels())
    status, out, err = call("a.jsonl", "--labels", "l.jsonl", "--json")
    row = json.loads(out)
    assert status == 3
    assert "1 pair of 8 without a verdict" in err
    assert (row["pairs"], row["both_orders"], row["agree"], row["reversed"]) == (8, 7, 3, 3)
    assert (row["first_both"], row["second_both"]) == (2, 1)
    assert row["flips"]["value"] == pytest.approx(4 / 7)
    assert row["first_slot"]["value"] == pytest.approx(7.5 / 14)
    # Combined: a, b, tie, tie, tie, tie, a; people a, b, a, b, a, a, b: 2 of 7, of 8 asked.
    assert row["combined"]["value"] == pytest.approx(2 / 7)
    assert (row["combined"]["scored"], row["combined"]["asked"]) == (7, 8)
    assert row["a_first"]["value"] == pytest.approx(3 / 7)  # a b a a b tie a
    assert row["b_first"]["value"] == pytest.approx(5 / 7)  # a b b b a a a
    assert row["settled"]["value"] == pytest.approx(2 / 3)
    (rated,) = row["compared"]
    assert (rated["kind"], rated["between"]) == ("human-judge", ["j", "l.jsonl"])
    assert rated["mean"]["accuracy"]["value"] == row["combined"]["value"]
    # Expected by chance: a 2/7 x 4/7, b 1/7 x 3/7, tie 4/7 x 0 = 11/49.
    assert rated["mean"]["kappa"]["value"] == pytest.approx((2 / 7 - 11 / 49) / (1 - 11 / 49))


def test_orders_that_are_not_choices_leave_one_verdict(call: Any) -> None:
    row = answers()[0] | {"notes": {"orders": [["a"], "b"]}}
    write_rows("a.jsonl", [row])
    status, out, _ = call("a.jsonl", "--json")
    assert (status, json.loads(out)["both_orders"]) == (0, 0)


def test_a_table_of_both_orders_has_the_same_figures(call: Any, check: Any) -> None:
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(["id", "first", "second", "human"])
    writer.writerows(
        [f"p{n}", *(o or "" for o in orders), person]
        for n, (orders, person) in enumerate(zip(ORDERS, PEOPLE, strict=True))
    )
    Path("pairs.csv").write_text(table.getvalue())
    write_rows("a.jsonl", answers())
    write_rows("l.jsonl", labels())
    columns = ("--a-first", "first", "--b-first", "second", "--human", "human", "--id-column", "id")
    checked = json.loads(check("pairs.csv", *columns, "--json")[1])
    measured = json.loads(call("a.jsonl", "--labels", "l.jsonl", "--json")[1])
    for name in ("flips", "first_slot", "combined", "a_first", "b_first", "settled"):
        assert measured[name] == checked[name], name


def test_without_a_file_of_labels_the_answers_own_count(call: Any) -> None:
    rows = [row | {"label": person} for row, person in zip(answers(), PEOPLE, strict=True)]
    write_rows("a.jsonl", rows)
    row = json.loads(call("a.jsonl", "--json")[1])
    assert row["combined"]["value"] == pytest.approx(2 / 7)
    assert "compared" not in row


def test_several_people_are_compared_with_each_other(call: Any) -> None:
    write_rows("a.jsonl", answers())
    others = [row | {"value": "a"} for row in labels(annotator="bo")]
    write_rows("l.jsonl", [*labels(annotator="ann"), *others])
    status, out, _ = call("a.jsonl", "--labels", "l.jsonl")
    assert status == 3
    assert "raters of one file: l.jsonl, 2 raters" in out
    compared = json.loads(call("a.jsonl", "--labels", "l.jsonl", "--json")[1])["compared"]
    assert [row["kind"] for row in compared] == ["human-judge", "raters"]
    assert compared[1]["mean"]["accuracy"]["value"] == 5 / 8


@pytest.mark.parametrize("piped", ["answers", "labels"])
def test_one_file_may_be_standard_input(
    piped: str, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"answers": answers(), "labels": labels()}
    names = {name: write_rows(f"{name}.jsonl", rows) for name, rows in files.items()}
    expected = call(names["answers"], "--labels", names["labels"], "--json")[1]
    text = Path(names[piped]).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    names[piped] = "-"
    out = call(names["answers"], "--labels", names["labels"], "--json")[1]
    figures = ("flips", "first_slot", "combined")
    piped_row, row = json.loads(out), json.loads(expected)
    assert [piped_row[name] for name in figures] == [row[name] for name in figures]
    assert piped_row["compared"][0]["mean"] == row["compared"][0]["mean"]
    assert call("-", "--labels", "-")[0] == 2


def test_what_are_no_preferences_is_one_line(call: Any) -> None:
    write_rows("a.jsonl", [row | {"value": True} for row in answers()])
    status, _, err = call("a.jsonl")
    assert status == 2
    assert err.count("\n") == 1
    assert "expected a, b or tie" in err
    others = [row | {"task": "support"} for row in answers()[1:]]
    write_rows("a.jsonl", [answers()[0], *others])
    assert "expected preference" in call("a.jsonl")[2]
