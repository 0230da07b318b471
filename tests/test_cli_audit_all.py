"""`pnyx audit all` and `pnyx audit check`: every trial, one card, and a later judge held to it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import planted_judges as planted
from chat_server import ChatServer
from command import called, rows_of, runner, write_rows
from pnyx.audit import TRIALS, compare_cards
from pnyx.errors import InputError
from pnyx.measure.core.intervals import wilson
from test_cli_audit import ALWAYS_YES, support_items

pytestmark = pytest.mark.usefixtures("own_place")
run = runner("audit")


def labels_of(path: str) -> str:
    return write_rows("people.jsonl", [{"id": r["id"], "value": r["label"]} for r in rows_of(path)])


def test_one_plan_names_every_trial_of_the_registry_with_its_clusters(capsys):
    status, out, _ = called(capsys, "audit", "all", support_items(12), "--plan", "--json")
    assert status == 0
    plan = json.loads(out)
    trials = {row["trial"]: row for row in plan["trials"]}
    assert trials.keys() == TRIALS.keys()
    assert trials["order"]["why_not"] == "order has no meaning for support: it has one text"
    asked = {name: row for name, row in trials.items() if row["why_not"] is None}
    assert plan["questions"] == 12 + sum(row["questions"] for row in asked.values())
    # 0 of 34: Wilson's interval ends at .1015; 0 of 35: at .0989. A fall needs an interval.
    assert {row["clusters_needed"] for row in asked.values()} == {2, 35}
    assert asked["noise"]["clusters"] == 12
    assert called(capsys, "audit", "all", support_items(12), "--plan")[1].count("too few") == sum(
        row["clusters_needed"] == 35 for row in asked.values()
    )
    assert not Path("audit").exists()


def test_a_card_of_all_trials_and_a_judge_that_became_worse(capsys):
    path = support_items(4)
    more = ("--labels", labels_of(path), "--sentences", "0,1", "--levels", "0,1")
    with ChatServer(reply=planted.good_support) as server:
        asking = ("all", path, *more, "--llm", f"{server.url}#judge", "--out", "A")
        assert run(*asking) == 0
        count = len(server.answered())
        assert run(*asking) == 0  # nothing is asked twice
        assert len(server.answered()) == count
        card = json.loads(Path("A/card.json").read_text())
        assert {row["trial"] for row in card["trials"]} == TRIALS.keys() - {"order", "stance"}
        assert card["left_out"].keys() == {"order", "stance"}
        assert card["margin"] == 0.1
        assert card["asked"][0]["agreement"]["measures"]["alpha_nominal"]["value"] == 1
        assert "order: left out" in Path("A/card.md").read_text()
        assert "<script" not in Path("A/card.html").read_text()
        Path("A/card.json").rename("judge.json")

        model = ("--llm", f"{server.url}#judge")
        check = ("audit", "check", "--card", "judge.json", "--out")
        status, out, said = called(capsys, *check, "B")
        assert status == 2
        assert "name it with --llm" in said  # a card does not choose who is asked
        status, out, _ = called(capsys, *check, "B", *model)
        assert status == 0, out
        assert "worse by more than 0.1: nothing" in out
        assert len(server.answered()) == 2 * count  # asked anew, not read from the store

        server.reply = lambda _: ALWAYS_YES
        status, out, _ = called(capsys, *check, "C", *model, "--json")
    assert status == 1
    found = json.loads(out)
    assert {"support: alpha_nominal with people.jsonl", "support, noise: fall"} <= set(
        found["worse"]
    )
    figures = {row["name"]: row for row in found["figures"]}
    assert figures["support: scored"]["verdict"] == "same"
    fall = figures["support, noise: fall"]
    assert fall["same_items"] is True
    assert fall["better"] == pytest.approx(fall["now"] - fall["then"])
    scored = figures["support: scored"]
    assert scored["low"] < scored["better"] == 0 < scored["high"]

    # Results and folders may be named, too; what the card has and they lack was not measured.
    folders = ("C/support", "C/noise")
    status, out, _ = called(
        capsys, "audit", "check", *folders, "--card", "judge.json", "--margin", "1", "--json"
    )
    assert status == 3
    assert "support, injection: excess" in json.loads(out)["not_measured"]


def test_what_cannot_be_checked_is_one_line(capsys):
    write_rows("x.json", [{"format": "pnyx-card", "judge": "j", "asked": [], "trials": []}])
    for arguments, said in (
        (("--card", "none.json", "--out", "B"), "none.json: expected a card"),
        (("--card", "x.json"), "give NOW, or --out"),
        (("--card", "x.json", "--out", "B"), "does not say how to make it again"),
        (("x.json", "--card", "x.json"), "no figure in common"),
    ):
        status, out, err = called(capsys, "audit", "check", *arguments)
        assert (status, out) == (2, "")
        assert said in err
        assert err.count("\n") == 1


# The comparison -----------------------------------------------------------------------------------


def card(yes: int, of: int, items: str = "a", measure: str = "accuracy") -> dict:
    low, high = wilson(yes, of)
    row = {"value": yes / of, "low": low, "high": high, "scored": of, "asked": of}
    asked = {"task": "support", "items_sha256": items, "counts": {"asked": 0},
             "measures": {measure: row}}  # fmt: skip
    return {"format": "pnyx-card", "judge": "j", "asked": [asked], "trials": []}


@pytest.mark.parametrize(
    ("then", "now", "verdict"),
    [
        (card(90, 100), card(80, 100), "worse"),  # on the same items what was found counts
        (card(90, 100), card(82, 100), "same"),
        (card(90, 100), card(81, 100, "b"), "maybe worse"),
        (card(90, 100), card(60, 100, "b"), "worse"),
        (card(60, 100), card(90, 100, "b"), "better"),
        (card(10, 100, measure="ece"), card(20, 100, measure="ece"), "worse"),
        (card(40, 100, measure="brier"), card(10, 100, measure="brier"), "better"),
    ],
)
def test_by_more_than_the_margin(then, now, verdict):
    (moved,) = compare_cards(then, now, 0.08)
    assert moved.verdict == verdict


def test_the_interval_of_a_change_holds_the_true_one():
    draw = np.random.default_rng(1)
    held = 0
    for _ in range(400):
        yes = draw.binomial(80, [0.9, 0.75])
        (moved,) = compare_cards(card(int(yes[0]), 80), card(int(yes[1]), 80, "b"), 0.1)
        held += moved.low <= -0.15 <= moved.high
    assert 0.93 <= held / 400 <= 0.98


def test_other_cards_are_refused():
    with pytest.raises(InputError, match="no figure in common"):
        compare_cards(card(1, 2), card(1, 2, measure="f1"), 0.1)
