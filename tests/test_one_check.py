"""Where `pnyx check` and another command show one figure, it has one name and one value."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from command import caller, write_rows

pytestmark = pytest.mark.usefixtures("own_place")
call = caller()

COUNT = 120


@pytest.fixture
def results(call: Any) -> None:
    """Results of two judges of one name, then and now; the second errs more."""
    draw = random.Random(3)
    truth = [draw.random() < 0.4 for _ in range(COUNT)]
    items = [{"id": f"i{n}", "text": "Fares fell.", "statement": f"By {n}.", "group": f"g{n % 24}"}
             for n in range(COUNT)]  # fmt: skip
    write_rows("items.jsonl", items)
    write_rows("l.jsonl", [{"id": f"i{n}", "value": yes} for n, yes in enumerate(truth)])
    for name, errors in (("then", 0.1), ("now", 0.35)):
        verdicts = [
            {"id": f"i{n}", "task": "support", "judge": "j", "unscored": None,
             "value": yes ^ (draw.random() < errors), "probability": round(draw.random(), 2)}
            for n, yes in enumerate(truth)
        ]  # fmt: skip
        write_rows(f"{name}.jsonl", verdicts)
        lookup = ("--judge", f"{name}.jsonl", "--out", name)
        assert call("judge", "support", "items.jsonl", *lookup)[0] == 0


def printed(call: Any, *arguments: str) -> dict[str, Any]:
    return dict(json.loads(call(*arguments, "--json")[1]))


def test_judges_of_a_table_are_compared_as_those_of_several_results(
    results: None, call: Any
) -> None:
    for name in ("then", "now"):
        rows = [json.loads(line) for line in Path(name, "answers.jsonl").read_text().splitlines()]
        write_rows(f"{name}/answers.jsonl", [row | {"judge": name} for row in rows])
    both = Path("then/answers.jsonl").read_text() + Path("now/answers.jsonl").read_text()
    Path("both.jsonl").write_text(both)
    choice = printed(call, "check", "both.jsonl", "--labels", "l.jsonl")["choice"]
    compared = printed(call, "check", "then", "now", "--labels", "l.jsonl")
    assert choice["comparisons"] == compared["comparisons"]
    for name in ("baseline", "margin", "items", "left_out", "clusters"):
        assert choice[name] == compared[name], name
    for ours, theirs in zip(choice["judges"], compared["judges"], strict=True):
        assert (ours["name"], ours["measures"]) == (theirs["name"], theirs["measures"])


def test_a_judge_became_as_much_worse_as_by_its_card(results: None, call: Any) -> None:
    labels = ("--labels", "l.jsonl")
    for name in ("then", "now"):
        assert call("audit", "card", name, *labels, "--out", f"{name}.card.json")[0] == 0
    assert call("check", "then", *labels, "--out", "check.json")[0] == 0
    status, out, _ = call("audit", "card", "now.card.json", "--against", "then.card.json", "--json")
    audited = {row["name"].split(": ")[-1]: row for row in json.loads(out)["figures"]}
    status_of_check, out, _ = call("check", "now", *labels, "--against", "check.json", "--json")
    drift = {row["name"].split(": ")[-1]: row for row in json.loads(out)["drift"]}
    assert (status, status_of_check) == (1, 1)
    shared = audited.keys() & drift.keys()
    assert {"ece", "auroc"} <= shared, audited.keys()
    for name in shared:
        facts = [{k: v for k, v in row[name].items() if k != "name"} for row in (audited, drift)]
        assert facts[0] == facts[1], name


def test_a_card_and_a_check_have_the_same_agreement(results: None, call: Any) -> None:
    call("audit", "card", "now", "--labels", "l.jsonl", "--out", "card.json")
    (rated,) = json.loads(Path("card.json").read_text())["asked"]
    (judge,) = printed(call, "check", "now", "--labels", "l.jsonl")["judges"]
    for name in ("accuracy", "kappa", "alpha_nominal", "spearman"):
        if name in judge["measures"]:
            assert rated["agreement"]["measures"][name] == judge["measures"][name], name
    for name in ("auroc", "ece", "brier"):
        assert rated["calibration"]["measures"][name] == judge["measures"][name], name
