"""`pnyx audit run` and `audit card`: every trial, one card, and a later judge held to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import planted_judges as planted
from chat_server import ChatServer
from command import called, rows_of, runner, write_rows
from pnyx.audit import TRIALS, compare_cards
from pnyx.core.errors import InputError
from pnyx.stats.intervals import wilson
from test_cli_audit import ALWAYS_YES, support_items

pytestmark = pytest.mark.usefixtures("own_place")
run = runner("audit")


def labels_of(path: str) -> str:
    return write_rows("people.jsonl", [{"id": r["id"], "value": r["label"]} for r in rows_of(path)])


def test_one_plan_names_every_trial_of_the_registry_with_its_clusters(capsys):
    status, out, _ = called(capsys, "audit", "run", support_items(12), "--plan", "--json")
    assert status == 0
    plan = json.loads(out)
    trials = {row["trial"]: row for row in plan["trials"]}
    assert trials.keys() == TRIALS.keys()
    assert trials["order"]["why_not"] == "order does not apply to support: it has one text"
    asked = {name: row for name, row in trials.items() if row["why_not"] is None}
    assert plan["questions"] == 12 + sum(row["questions"] for row in asked.values())
    # 0 of 34: Wilson's interval ends at .1015; 0 of 35: at .0989. A fall needs an interval.
    assert {row["clusters_needed"] for row in asked.values()} == {2, 35}
    assert asked["noise"]["clusters"] == 12
    assert called(capsys, "audit", "run", support_items(12), "--plan")[1].count("too few") == sum(
        row["clusters_needed"] == 35 for row in asked.values()
    )
    assert not Path("audit").exists()


def test_a_card_of_all_trials_and_a_judge_that_became_worse(capsys):
    path = support_items(4)
    more = ("--labels", labels_of(path), "--sentences", "0,1", "--levels", "0,1")
    with ChatServer(reply=planted.good_support) as server:
        asking = ("run", path, *more, "--judge", f"{server.url}#judge", "--out", "A")
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

        model = ("--judge", f"{server.url}#judge")
        check = ("audit", "card", "--against", "judge.json", "--again")
        status, out, said = called(capsys, *check, "B")
        assert status == 2
        assert "name it with --judge" in said  # a card does not choose who is asked
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
        capsys, "audit", "card", *folders, "--against", "judge.json", "--margin", "1", "--json",
        "--out", "later.json"
    )  # fmt: skip
    assert status == 3
    assert [row["trial"] for row in json.loads(Path("later.json").read_text())["trials"]] == [
        "noise"
    ]
    assert "support, injection: excess" in json.loads(out)["not_measured"]


def test_some_trials_have_a_card_of_these_and_one_alone_has_none(capsys):
    path = support_items(4)
    labels = ("--labels", labels_of(path))
    with ChatServer(reply=planted.good_support) as server:
        model = ("--judge", f"{server.url}#judge", "--draws", "20", "--out")
        some = ("--trial", "length", "--trial", "injection", "--trial", "length")
        assert run("run", path, *some, *labels, *model, "A") == 0
        card = json.loads(Path("A/card.json").read_text())
        assert [row["trial"] for row in card["trials"]] == ["length", "injection"]
        assert "left_out" not in card
        assert sorted(p.name for p in Path("A").iterdir() if p.is_dir()) == [
            "injection", "length", "support",
        ]  # fmt: skip
        check = ("audit", "card", "--against", "A/card.json", "--judge", f"{server.url}#judge")
        assert called(capsys, *check, "--again", "B")[0] == 0  # the same trials, asked again
        again = json.loads(Path("B/card.json").read_text())["trials"]
        assert [row["trial"] for row in again] == ["length", "injection"]
        assert run("run", path, "--trial", "length", *model, "C") == 0
        assert not Path("C/card.json").exists()
        assert json.loads(Path("C/summary.json").read_text())["trial"] == "length"
        asked = len(server.answered())
        for more, said in (
            (("--trial", "length", *labels), "--labels is for the card of several trials"),
            (("--trial", "length", "--margin", "0.2"), "--margin is for the card of several"),
            (("--trial", "length", "--trial", "stance"), "stance: no item can be changed"),
            (("--trial", "length", "--trial", "repeat", "--levels", "0,1"),
             "--levels is only for noise, joint, not length, repeat"),
            (("--qrels", path), "--qrels requires --task rag, not support"),
            (("--trial", "speed"), "'speed' is not one of 'noise'"),
        ):  # fmt: skip
            status, out, err = called(capsys, "audit", "run", path, *more, *model, "D")
            assert (status, out, err.count("\n")) == (2, "", 1), err
            assert said in err
        assert len(server.answered()) == asked
    assert not Path("D").exists()


def test_what_were_two_commands_says_what_to_use(capsys):
    for name, use in (("stress", "pnyx audit run ITEMS --trial TRIAL"), ("all", "pnyx audit run")):
        status, _, err = called(capsys, "audit", name, "noise", "items.jsonl")
        assert (status, f"{name} was removed: use {use}" in err) == (2, True), err


def test_labels_and_place_are_looked_at_before_anything_is_asked(capsys):
    path = support_items(4)
    write_rows("others.jsonl", [{"id": "z", "value": True}])
    write_rows("words.jsonl", [{"id": "0", "value": "maybe"}])
    with ChatServer(reply=planted.good_support) as server:
        for more, said in (
            (("--labels", "none.jsonl"), "none.jsonl: cannot be read"),
            (("--labels", "others.jsonl"), "no label in others.jsonl is of one of the items"),
            (("--labels", "words.jsonl"), "words.jsonl:1: value: found 'maybe'"),
            (("--out", path), "found a file, expected a folder"),
        ):
            out = () if "--out" in more else ("--out", "A")
            status, shown, err = called(
                capsys, "audit", "run", path, *more, *out, "--judge", server.spec
            )
            assert (status, shown, err.count("\n")) == (2, "", 1), err
            assert said in err
        assert not server.answered()
    assert not Path("A").exists()


def test_what_cannot_be_checked_is_one_line(capsys):
    write_rows("x.json", [{"format": "pnyx-card", "judge": "j", "asked": [], "trials": []}])
    for arguments, said in (
        (("--against", "none.json", "--again", "B"), "none.json: expected a card"),
        (("--against", "x.json"), "give R, or --against with --again"),
        (("--against", "x.json", "--again", "B"), "does not record its command"),
        (("x.json", "--against", "x.json"), "no figure in common"),
        ((), "give R, or --against with --again"),
        (("x.json",), "expected --out to write the card, or --against to compare it"),
        (("x.json", "--out", "c.md", "--margin", "0.2"), "--margin requires --against"),
        (("x.json", "--out", "c.md", "--again", "B"), "--again requires --against"),
        (("--against", "x.json", "--again", "B", "--out", "c.md"), "--out requires R"),
        (("--against", "x.json", "--again", "B", "--labels", "l"), "--labels requires R"),
        (("x.json", "--against", "x.json", "--out", "c.md"), "--out requires results"),
        (("x.json", "--against", "x.json", "--with", "editor=local"), "--with requires --again"),
    ):
        status, out, err = called(capsys, "audit", "card", *arguments)
        assert (status, out) == (2, "")
        assert said in err
        assert err.count("\n") == 1


def full_card() -> dict[str, Any]:
    figure = {"value": 0.5, "low": None, "high": None}
    column = "0 1"
    outcomes = dict.fromkeys(("group", "label", "value", "probability"), column)
    compared = {"kind": "human-judge", "between": ["j", "people"],
                "mean": {"alpha_nominal": figure}}  # fmt: skip
    asked = {"task": "support", "items_sha256": "a", "counts": {"asked": 2, "scored": 2},
             "agreement": {"compared": [compared]}, "calibration": {"measures": {"ece": figure}},
             "measures": {"f1": figure}, "outcomes": {"sha256": "s", **outcomes}}  # fmt: skip
    trial = {"task": "support", "trial": "noise", "items_sha256": "b", "outcome": "passed",
             "primary": "score", "measures": {"score": figure}}  # fmt: skip
    return {"format": "pnyx-card", "judge": "j", "asked": [asked], "trials": [trial]}


MAY_BE_ABSENT = (".asked.agreement", ".asked.calibration", ".asked.measures", ".asked.outcomes",
                 ".asked.measures.f1", ".asked.calibration.measures.ece")  # fmt: skip
MAY_BE_NULL = (".value", ".low", ".high", ".calibration")


def damaged(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what was done to a field, at any depth, and the card with that damage."""
    if isinstance(value, list):
        yield from ((what, [changed]) for what, changed in damaged(value[0], path))
    for key, part in value.items() if isinstance(value, dict) else ():
        place = f"{path}.{key}"
        if place not in MAY_BE_ABSENT:
            yield f"{place} left out", {k: v for k, v in value.items() if k != key}
        if not place.endswith(MAY_BE_NULL) or isinstance(part, str):
            yield f"{place} null", {**value, key: None}
        for other in ("seven" if isinstance(part, float | int | None) else 7, [1], {"a": 1}):
            yield f"{place} {other}", {**value, key: other}
        if isinstance(part, dict) or (isinstance(part, list) and isinstance(part[0], dict)):
            yield from ((what, {**value, key: changed}) for what, changed in damaged(part, place))


def test_a_damaged_card_is_one_line_and_never_called_worse(capsys):
    """Exit status 1 means that the judge is worse; a damaged card is bad input, 2."""
    write_rows("card.json", [full_card()])
    assert called(capsys, "audit", "card", "card.json", "--against", "card.json")[0] == 0
    tried = list(damaged(full_card()))
    assert len(tried) > 100
    for what, card in tried:
        write_rows("bad.json", [card])
        for arguments in (
            ("bad.json", "--against", "card.json"),
            ("card.json", "--against", "bad.json"),
        ):
            status, out, err = called(capsys, "audit", "card", *arguments)
            assert (status, out, err.count("\n")) == (2, "", 1), (what, err)
            assert err.startswith("pnyx: bad.json: "), (what, err)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"counts": {"asked": 2, "scored": 3}}, "asked[0]: counts: 3 are scored of 2 asked"),
        ({"counts": {"asked": -1, "scored": 0}}, "counts: asked: found -1, expected a count"),
        ({"agreement": {"compared": [{"kind": "human-judge", "between": ["j"], "mean": {}}]}},
         "between: found ['j'], expected two names"),
        ({"agreement": {"compared": [{"kind": "human-judge", "between": ["j", "p"], "mean": {}}]}},
         "asked[0]: agreement: no alpha_nominal, expected it of the task support"),
        ({"outcomes": {"sha256": "s", "group": "0 1", "label": "0", "value": "-", "probability":
          "5"}}, "outcomes: group, label, value and probability are not of equally many items"),
    ],
)  # fmt: skip
def test_a_card_whose_fields_do_not_fit_together(change, said, capsys):
    card = full_card()
    card["asked"][0] |= change
    write_rows("bad.json", [card])
    status, out, err = called(capsys, "audit", "card", "bad.json", "--against", "bad.json")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_the_trial_and_the_margin_of_a_card_are_known_ones(capsys):
    for change, said in (
        ({"trial": "nothing"}, "trials[0]: trial: found nothing, expected one of noise"),
        ({"primary": "other"}, "trials[0]: its primary measure is missing"),
    ):
        card = full_card()
        card["trials"][0] |= change
        write_rows("bad.json", [card])
        status, _, err = called(capsys, "audit", "card", "bad.json", "--against", "bad.json")
        assert (status, said in err) == (2, True), err
    for margin, status in ((0, 0), (1, 0), (1.01, 2), (-0.01, 2), ("0.1", 2), (None, 2)):
        write_rows("card.json", [{**full_card(), "margin": margin}])
        done, _, err = called(capsys, "audit", "card", "card.json", "--against", "card.json")
        assert done == status, (margin, err)


@pytest.mark.parametrize(
    "record",
    [
        {}, {"command": "audit run"},
        {"command": "audit run", "arguments": [], "options": {"labels": 5}, "inputs": {},
         "writes": {}},
        {"command": "audit run", "arguments": [{}], "options": {"draws": [[]]}, "inputs": {},
         "writes": {}},
    ],
)  # fmt: skip
def test_a_damaged_record_of_a_card_is_one_line(record, capsys):
    write_rows("card.json", [{**full_card(), "record": record}])
    status, out, err = called(capsys, "audit", "card", "--against", "card.json", "--again", "again")
    assert (status, out, err.count("\n")) == (2, "", 1), err


# The comparison -----------------------------------------------------------------------------------


def card(yes: int, of: int, items: str = "a", measure: str = "accuracy") -> dict:
    low, high = wilson(yes, of)
    row = {"value": yes / of, "low": low, "high": high, "scored": of, "asked": of}
    asked = {"task": "support", "items_sha256": items, "counts": {"asked": 0, "scored": 0},
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


def results(name: str, wrong: set[int], labels: str = "people.jsonl") -> str:
    """Write a card of 8 items in 4 questions, 6 of them yes, of which some are answered wrongly."""
    items = [{"id": f"i{n}", "text": f"Text {n}.", "statement": "So it is.", "group": f"q{n // 2}"}
             for n in range(8)]  # fmt: skip
    said = [(n < 6) != (n in wrong) for n in range(8)]
    write_rows("items.jsonl", items)
    write_rows("said.jsonl", [{"id": f"i{n}", "value": value} for n, value in enumerate(said)])
    assert runner("judge")("support", "items.jsonl", "--judge", "said.jsonl", "--out", name) == 0
    assert run("card", name, "--labels", labels, "--out", f"{name}.json") == 0
    return f"{name}.json"


def test_the_same_labelled_items_are_paired(capsys):
    """By hand: accuracy 8 of 8, then 6 of 8; of yes 6 right, then 4 of 6 found: F1 1, then .8."""
    write_rows("people.jsonl", [{"id": f"i{n}", "value": n < 6} for n in range(8)])
    then, now = results("then", set()), results("now", {0, 2})
    outcomes = json.loads(Path(now).read_text())["asked"][0]["outcomes"]
    assert sorted(outcomes["label"].split()) == ["0"] * 2 + ["1"] * 6
    assert "i0" not in Path(now).read_text()
    capsys.readouterr()
    check = ("audit", "card", now, "--against", then, "--json")
    status, out, _ = called(capsys, *check)
    assert status == 1
    figures = {row["name"]: row for row in json.loads(out)["figures"]}
    for name, change in (("accuracy", -0.25), ("f1", -0.2)):
        figure = figures[f"support: {name}"]
        assert figure["paired"] is True
        assert figure["better"] == pytest.approx(change)
        assert figure["low"] <= change <= figure["high"]
    assert "worse (paired)" in called(capsys, *check[:-1])[1]

    # Other labels: another item may be what moved, so the figures stand as independent.
    write_rows("others.jsonl", [{"id": f"i{n}", "value": n < 5} for n in range(8)])
    later = results("later", {0, 2}, "others.jsonl")
    capsys.readouterr()
    _, out, _ = called(capsys, "audit", "card", later, "--against", then, "--json")
    figures = {row["name"]: row for row in json.loads(out)["figures"]}
    assert (figures["support: f1"]["same_items"], figures["support: f1"]["paired"]) == (True, False)
    card = json.loads(Path(now).read_text())
    card["asked"][0]["outcomes"]["value"] = "x"
    write_rows("broken.json", [card])
    status, _, said = called(capsys, "audit", "card", "broken.json", "--against", then)
    assert status == 2
    assert "asked[0]: outcomes: value: found x, expected numbers between blanks" in said


@pytest.mark.all
def test_a_paired_interval_holds_the_true_change_and_is_narrower():
    draw = np.random.default_rng(2)
    held = narrower = 0
    gold, groups = " ".join(["1"] * 80), " ".join(str(n // 2) for n in range(80))
    for _ in range(1000):
        before = draw.random(80) < 0.9
        after = before & (draw.random(80) < 0.9)  # right .9 of the time, then .81
        cards = []
        for right in (before, after):
            one = card(int(right.sum()), 80)
            value = " ".join("1" if r else "0" for r in right)
            one["asked"][0]["outcomes"] = {
                "sha256": "s", "group": groups, "label": gold, "value": value,
                "probability": value,
            }  # fmt: skip
            cards.append(one)
        (paired,) = compare_cards(*cards, 0.1)
        for one in cards:
            del one["asked"][0]["outcomes"]
        (alone,) = compare_cards(*cards, 0.1)
        assert (paired.paired, alone.paired) == (True, False)
        assert paired.better == pytest.approx(alone.better)
        held += paired.low <= -0.09 <= paired.high
        narrower += paired.high - paired.low < alone.high - alone.low
    assert held / 1000 >= 0.935
    assert narrower / 1000 > 0.95


def test_other_cards_are_refused():
    with pytest.raises(InputError, match="no figure in common"):
        compare_cards(card(1, 2), card(1, 2, measure="f1"), 0.1)
