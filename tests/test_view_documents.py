"""`pnyx view` of what commands print with --json, and of the notes they leave: shown, or named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from command import caller, write_rows

pytestmark = pytest.mark.usefixtures("own_place")
call = caller()
Call: TypeAlias = Callable[..., tuple[int, str, str]]

LABELS = ("--labels", "gold.jsonl")
JUDGE = ("judge", "support", "items.jsonl", "--judge", "gold.jsonl")
PLAN = ("--judge", "http://127.0.0.1:9/v1#m", "--plan")


@pytest.fixture(autouse=True)
def _files(own_place: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, call: Call) -> None:
    monkeypatch.setenv("PNYX_CACHE", str(tmp_path / "cache"))
    items = [{"id": f"i{n}", "text": f"Text {n}.", "statement": "It is."} for n in range(6)]
    write_rows("items.jsonl", items)
    write_rows("gold.jsonl", [{"id": f"i{n}", "value": n % 2 == 0} for n in range(6)])
    write_rows("docs.jsonl", [{"id": str(n), "text": f"Zoos are of use {n}."} for n in range(6)])
    write_rows("topics.jsonl", [{"id": str(n), "text": f"Are zoos of use {n}?"} for n in range(6)])
    write_rows("requests.jsonl", [{"id": "1", "title": "Zoos", "problem_statement": "Of use?"}])
    Path("qrels.txt").write_text("".join(f"{n} 0 {n} 1\n" for n in range(6)))
    assert call("index", "docs.jsonl", "--out", "i", "--words-only")[0] == 0
    assert call("search", "i", "--topics", "topics.jsonl", "--out", "r.run")[0] == 0
    assert call(*JUDGE, "--out", "R")[0] == 0


def viewed(call: Call, path: str) -> tuple[int, str, list[dict[str, Any]]]:
    status, out, err = call("view", path, "--json")
    return status, err, json.loads(out)["sources"] if out else []


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (("measure", "R", *LABELS), "measures"),
        (("measure", "retrieval", "r.run", "--qrels", "qrels.txt"), "measures"),
        (("audit", "card", "R", *LABELS, "--out", "card.json"), "card"),
        pytest.param(
            ("audit", "run", "--trial", "injection", "items.jsonl", "--out", "S"),
            "trial",
            marks=pytest.mark.all,
        ),
        (("argue", "i", "Are zoos of use?"), "argued"),
    ],
)
def test_what_a_command_prints_is_shown(command: tuple[str, ...], kind: str, call: Call) -> None:
    status, out, err = call(*command, "--json")
    assert status in (0, 3), err
    Path("printed.json").write_text(out)
    status, err, sources = viewed(call, "printed.json")
    assert (status, err, [source["kind"] for source in sources]) == (0, "", [kind])


GIVE = "expected results: give the "


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("check", "R", *LABELS), "what pnyx check writes, expected results: pnyx check --html"),
        (("audit", "card", "c.json", "--against", "c.json"),
         f"pnyx audit card --against prints, {GIVE}cards"),
        (("search", "tune", "i", "--topics", "topics.jsonl", "--qrels", "qrels.txt",
          "--model", "dirichlet"),
         "what pnyx search tune prints, expected results: docs/recipes/viewing.md"),
        (("doctor",), "what pnyx doctor prints"),
        (("files", "repeat", "R"), "what pnyx files repeat prints"),
        (("files", "validate", "docs.jsonl"), "what pnyx files validate prints"),
        (("view", "R"), "what pnyx view --json prints"),
        (("judge", "support", "items.jsonl", *PLAN), "a plan (--plan)"),
        (("prompt", "support"), "what pnyx prompt prints"),
        (("nuggets", "merge", "bank.json", "--out", "b.json"),
         f"what pnyx nuggets merge prints, {GIVE}file of --out"),
        (("report", "i", "--requests", "requests.jsonl", "--out", "r.jsonl"),
         f"what pnyx report prints, {GIVE}file of --out"),
        (("index", "docs.jsonl", "--out", "j", "--words-only"), f"index prints, {GIVE}index"),
        ((*JUDGE, "--out", "R2"), f"the manifest of a run, {GIVE}folder of the run"),
        (("label", "sample", "R", "--out", "drawn"),
         f"the record of pnyx label sample, {GIVE[:-4]}its folder"),
        (("search", "i", "zoos"), "the format cannot be recognised from '["),
        (("prompt",), "the format cannot be recognised from '["),
        (("files", "split", "docs.jsonl", "--out", "p.jsonl"),
         "a JSON object with the fields documents, passages, out"),
    ],
)  # fmt: skip
def test_what_holds_no_results_is_named_in_one_line(
    command: tuple[str, ...], said: str, call: Call
) -> None:
    assert call("audit", "card", "R", *LABELS, "--out", "c.json")[0] == 0
    bank = {"metadata": {"team_id": "t", "run_id": "b", "topic_id": "1"},
            "nugget_bank": [{"question": "Why?", "aggregator_type": "OR",
                             "answers": [{"answer": "So.", "references": ["1"]}]}]}  # fmt: skip
    Path("bank.json").write_text(json.dumps(bank))
    status, out, err = call(*command, "--json")
    assert status in (0, 3), err
    for name in ("printed.json", "printed.txt"):
        Path(name).write_text(out)
        status, err, sources = viewed(call, name)
        assert (status, err.count("\n"), sources) == (2, 1, [])
        if name.endswith(".json"):
            assert err.startswith(f"pnyx: {name}: ")
            assert said in err
            assert "expected results: " in err


def test_the_folder_of_a_sample_has_no_fault(call: Call) -> None:
    assert call("label", "sample", "R", "--out", "drawn")[0] == 0
    status, err, sources = viewed(call, "drawn")
    assert (status, err) == (0, "")
    assert sorted(source["kind"] for source in sources) == ["answers", "items"]


def test_an_unknown_document_in_a_folder_is_said_and_the_rest_is_shown(call: Call) -> None:
    Path("R/other.json").write_text('{"a": 1, "b\\n": 2}')
    status, err, sources = viewed(call, "R")
    assert status == 0
    assert err.count("\n") == 1
    assert r"other.json: found a JSON object with the fields a, b\n, expected results" in err
    assert [source["name"] for source in sources if not source["problem"]] == ["R"]
