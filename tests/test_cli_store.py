"""`pnyx store` as it is called: output, exit status, and one line for what is wrong."""

from __future__ import annotations

import io
import json
import sys

import pytest

from command import caller
from pnyx.judging.store.rows import request_key
from pnyx.judging.store.store import Store
from pnyx.models.chat.types import ChatRequest, Message, Reply

call = caller("store")
merge = caller("files", "merge")


def fill(path, texts, reply="yes", model="m\x1b[2J"):
    with Store(path) as store:
        for text in texts:
            asked = ChatRequest((Message("user", text),))
            usage = {"prompt_tokens": 1000, "completion_tokens": 2}
            said = Reply(reply, "stop", "m", usage, "text")
            store.put(request_key(model, asked), model, asked, said)
    return path


@pytest.fixture
def store(tmp_path, monkeypatch):
    path = fill(tmp_path / "s.sqlite", ["a", "b"])
    monkeypatch.setenv("PNYX_STORE", str(path))
    return path


def test_stats(store, call):
    code, out, err = call()
    assert (code, err) == (0, "")
    assert f"{store}: 2 replies" in out
    assert "ended by: stop 2" in out
    assert "tokens: prompt 2,000, cached not stated, completion 4" in out
    assert "\x1b" not in out
    code, out, _ = call("--store", store, "--json")
    found = json.loads(out)
    assert (found["replies"], found["path"]) == (2, str(store))
    assert found["models"][0]["tokens"]["prompt_tokens"] == {"total": 2000, "replies": 2}
    assert found["models"][0]["tokens"]["cached_tokens"] == {"total": None, "replies": 0}


def test_a_store_that_is_not_there(tmp_path, call):
    missing = tmp_path / "missing"
    for argv in ([], ["--export", "-"], ["--finish", "stop"], ["--finish", "stop", "--delete"]):
        code, out, err = call(*argv, "--store", missing)
        assert (code, out) == (2, "")
        assert err == f"pnyx: {missing}: does not exist, expected a judgement store\n"
    assert not missing.exists()


def test_export_and_merge(store, tmp_path, call, merge, monkeypatch):
    code, out, err = call("--export", "-")
    assert (code, err) == (0, "pnyx: 2 replies exported\n")
    assert len(out.splitlines()) == 2
    file = tmp_path / "x.jsonl.gz"
    assert call("--export", file, "--json")[:2] == (
        0,
        json.dumps({"out": str(file), "replies": 2}) + "\n",
    )
    other = fill(tmp_path / "o.sqlite", ["b"], reply="no")
    code, printed, _ = merge(file, "--out", other)
    assert code == 0
    assert printed == (
        f"{file}: 2 replies, 1 added, 0 already present, 1 differ from the store's reply, "
        "which is kept\n"
    )
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(out.encode())))
    code, printed, _ = merge("-", file, "--out", tmp_path / "new.sqlite", "--json")
    merged = json.loads(printed)
    assert (merged["added"], merged["present"], merged["conflicts"]) == (2, 2, 0)
    assert [source["added"] for source in merged["sources"]] == [2, 0]


def test_a_bad_line_is_one_line(store, tmp_path, merge):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"key": "\x1b"}\n')
    code, out, err = merge(bad)
    assert (code, out) == (2, "")
    assert err.startswith(f"pnyx: {bad}:1: ")
    assert err.count("\n") == 1
    assert merge(store)[2] == f"pnyx: {store}: a store cannot be merged into itself\n"
    assert merge()[0] == 2


def test_delete(store, call):
    code, out, _ = call("--older-than", "0d", "--of-model", "m\x1b[2J")
    assert code == 0
    assert out.endswith("would be deleted by --delete\n")
    code, out, _ = call("--finish", "stop", "--json")
    assert (json.loads(out)["replies"], json.loads(out)["dry_run"]) == (2, True)
    assert json.loads(call("--json")[1])["replies"] == 2
    code, out, _ = call("--finish", "stop", "--delete", "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["replies"], found["dry_run"], found["not_compacted"]) == (2, False, None)
    assert json.loads(call("--json")[1])["replies"] == 0
    assert call("--older-than", "999999999999999w")[0] == 0


@pytest.mark.parametrize(
    "argv",
    [
        ["--delete"],
        ["--delete", "--older-than", "90"],
        ["--delete", "--older-than", "-1d"],
        ["--delete", "--export", "e.jsonl"],
        ["--finish", "stop", "--export", "e.jsonl"],
    ],
)
def test_delete_wants_a_criterion_and_no_export(argv, store, call):
    code, out, err = call(*argv)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert json.loads(call("--json")[1])["replies"] == 2


def test_export_of_one_model(store, call):
    fill(store, ["c"], model="other")
    code, out, err = call("--export", "-", "--of-model", "other")
    assert (code, err) == (0, "pnyx: 1 reply exported\n")
    assert [json.loads(line)["model"] for line in out.splitlines()] == ["other"]


@pytest.mark.parametrize(
    ("word", "use"),
    [
        ("stats", "pnyx store"),
        ("gc", "pnyx store --delete"),
        ("export", "pnyx store --export FILE"),
        ("merge", "pnyx files merge OTHER... --out STORE"),
    ],
)
def test_a_removed_subcommand_says_what_to_use(word, use, store, call):
    code, out, err = call(word, "--finish", "stop")
    assert (code, out) == (2, "")
    assert err.startswith(f"pnyx: store {word} was removed: use {use}")


def test_what_was_an_option_of_merge_says_what_to_use(store, merge):
    assert "--store was removed: use --out" in merge(store, "--store", "s.sqlite")[2]
