"""`pnyx files repeat` through the door that users take."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from argue_report import write_files
from chat_server import ChatServer
from command import caller, rows_of, write_rows

pytestmark = pytest.mark.usefixtures("own_place")
call = caller()

ITEMS = [
    {"id": f"i{n}", "text": f"In May {n} bus lines were cut.", "statement": "Lines were cut."}
    for n in range(6)
]


def record_of(folder: str) -> dict:
    return json.loads((Path(folder) / "manifest.json").read_text())["record"]


def test_results_are_made_again_to_the_same_bytes_elsewhere(call, tmp_path, monkeypatch):
    write_rows("items.jsonl", ITEMS)
    assert call("judge", "support", "items.jsonl", "--out", "results")[0] == 0
    record = record_of("results")
    assert record["command"] == "judge"
    assert record["arguments"] == ["support", "items.jsonl"]
    assert set(record["inputs"]) == {"items.jsonl"}
    there = tmp_path / "another machine"
    (there / "data").mkdir(parents=True)
    shutil.copy("items.jsonl", there / "data")
    shutil.copy("results/manifest.json", there)
    monkeypatch.chdir(there)
    status, out, _ = call("files", "repeat", "manifest.json", "--inputs", "data", "--out", "again")
    assert (status, out) == (0, "manifest.json: the same bytes (1 file)\n")
    assert len(rows_of("again/out")) == len(ITEMS)


def test_what_differs_is_one_line(call):
    write_rows("items.jsonl", ITEMS)
    call("judge", "support", "items.jsonl", "--out", "results")
    write_rows("items.jsonl", ITEMS[1:])
    status, out, said = call("files", "repeat", "results")
    assert (status, out) == (1, "")
    assert said.startswith("pnyx: results: items.jsonl has changed: sha256 ")
    assert said.count("\n") == 1
    Path("items.jsonl").unlink()
    status, out, _ = call("files", "repeat", "results", "--json")
    assert status == 1
    assert "items.jsonl is missing" in json.loads(out)["problem"]

    write_rows("items.jsonl", ITEMS)
    rows = rows_of("results")
    write_rows("results/answers.jsonl", [*rows[:3], rows[3] | {"probability": 0.5}, *rows[4:]])
    manifest = json.loads(Path("results/manifest.json").read_text())
    manifest |= {"answers_sha256": "0" * 64, "pnyx": "0.0.1"}
    Path("results/manifest.json").write_text(json.dumps(manifest))
    status, _, said = call("files", "repeat", "results")
    assert status == 1
    assert "results: answers.jsonl differs from line 4 on; pnyx is " in said.splitlines()[-1]
    assert ", was 0.0.1" in said


def test_results_that_were_edited_are_not_the_same_bytes(call):
    write_rows("items.jsonl", ITEMS)
    call("judge", "support", "items.jsonl", "--out", "results")
    write_rows("results/answers.jsonl", rows_of("results")[1:])
    status, out, said = call("files", "repeat", "results")
    assert (status, out) == (1, "")
    assert said.startswith("pnyx: results: answers.jsonl was changed after it was written")
    assert said.count("\n") == 1
    status, _, said = call("files", "repeat", "results", "--out", "items.jsonl")
    assert status == 2
    assert "items.jsonl: found a file, expected a folder" in said


def test_replies_of_a_model_come_from_the_store_and_none_is_asked(call, monkeypatch):
    write_rows("items.jsonl", ITEMS)
    with ChatServer() as server:
        monkeypatch.setenv("PNYX_LLM", server.spec)
        assert call("judge", "support", "items.jsonl", "--out", "R", "--set", "samples=2")[0] == 0
        monkeypatch.delenv("PNYX_LLM")
        asked = len(server.answered())
        again = ("files", "repeat", "R", "--with", f"llm={server.spec}")
        status, out, said = call(*again)
        assert (status, out) == (0, "R: the same bytes (1 file)\n"), said
        assert len(server.answered()) == asked
    status, _, said = call(*again, "--store", "empty.sqlite")
    assert status == 1
    assert "R: answers.jsonl differs from line 1 on; counts: " in said


@pytest.mark.all
def test_reports_and_bad_records(call, tmp_path):
    run, bank = write_files(tmp_path, "ids")
    assert call("judge", "report", run, "--nuggets", bank, "--out", "judged")[0] in (0, 3)
    assert call("files", "repeat", "judged")[:2] == (0, "judged: the same bytes (2 files)\n")
    manifest = json.loads(Path("judged/manifest.json").read_text())
    manifest["record"]["options"]["no-such"] = 1
    Path("other.json").write_text(json.dumps(manifest))
    assert "has no option --no-such in this version" in call("files", "repeat", "other.json")[2]
    Path("other.json").write_text("{}")
    status, _, said = call("files", "repeat", "other.json")
    assert status == 2
    assert "holds no record of how it was made" in said


@pytest.mark.parametrize(
    ("forged", "said"),
    [
        ({"command": "serve"}, "pnyx serve writes no records"),
        ({"inputs": []}, "holds a damaged record"),
        ({"inputs": {"items.jsonl": 5}}, "holds a damaged record"),
        ({"writes": {"out": "../elsewhere"}}, "would be outside its folder"),
        ({"options": {"store": "mine.sqlite"}}, "--store is in no record"),
        ({"options": {"engine": "ray://stranger:10001"}}, "--engine is in no record"),
    ],
)
def test_a_record_of_a_stranger_chooses_neither_place_nor_command(call, forged, said):
    write_rows("items.jsonl", ITEMS)
    call("judge", "support", "items.jsonl", "--out", "results")
    manifest = json.loads(Path("results/manifest.json").read_text())
    manifest["record"] |= forged
    Path("forged.json").write_text(json.dumps(manifest))
    status, out, err = call("files", "repeat", "forged.json", "--out", "again")
    assert (status, out) == (2, "")
    assert said in err


def test_a_record_that_hides_its_model_asks_none_all_the_same(call, monkeypatch):
    write_rows("items.jsonl", ITEMS)
    with ChatServer() as server:
        call("judge", "support", "items.jsonl", "--out", "R", "--judge", server.spec)
        asked = len(server.answered())
        manifest = json.loads(Path("R/manifest.json").read_text())
        del manifest["models"]
        Path("forged.json").write_text(json.dumps(manifest))
        monkeypatch.setenv("PNYX_STORE", "empty.sqlite")
        assert call("files", "repeat", "forged.json")[0] == 2
        assert call("files", "repeat", "forged.json", "--with", f"judge={server.spec}")[0] == 1
        assert len(server.answered()) == asked
