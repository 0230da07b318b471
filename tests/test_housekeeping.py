"""What the commands for housekeeping decide and print."""

from __future__ import annotations

import json
import os
import shutil
import sys
from contextlib import nullcontext
from dataclasses import make_dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from command import called, write_rows
from pnyx.core.errors import InputError
from pnyx.core.records import Question
from pnyx.housekeeping import demo, doctor
from pnyx.housekeeping.merge_command import _kind
from pnyx.housekeeping.prompt import _sample, _visible
from pnyx.housekeeping.repeat import _end, _expected, _first_difference, _reasons
from pnyx.housekeeping.validate import _is_index
from pnyx.models.chat.open_endpoint import endpoint_from
from pnyx.stats.base import Measured

pytestmark = pytest.mark.usefixtures("own_place")


@pytest.fixture
def call(capsys):
    return lambda *arguments: called(capsys, *arguments)


# --- pnyx demo


@pytest.mark.parametrize(
    ("files", "goes_on"),
    [
        (None, True),
        ({}, True),
        ({"a.txt": "mine"}, False),
        ({"manifest.json": '{"kind": "pnyx-demo"}', "a.txt": ""}, True),
        ({"manifest.json": '{"kind": "other"}'}, False),
        ({"manifest.json": "[]"}, False),
    ],
)
def test_only_a_demo_or_an_empty_folder_is_replaced(files, goes_on, monkeypatch, call):
    def load() -> None:
        raise InputError("it goes on")

    monkeypatch.setattr("pnyx.formats.bundled_example.load_example", load)
    if files is not None:
        Path("out").mkdir()
        for name, text in files.items():
            Path("out", name).write_text(text)
    code, out, err = call("demo", "--out", "out")
    expected = "pnyx: it goes on" if goes_on else "pnyx: out: exists and was not written by pnyx d"
    assert (code, out) == (2, "")
    assert err.startswith(expected)


@pytest.mark.parametrize(
    ("scored", "complete", "status"), [(2, True, 0), (1, True, 3), (2, False, 3)]
)
def test_a_demo_writes_its_figures_and_says_what_is_unscored(
    scored, complete, status, monkeypatch, call
):
    question = Question("voting", "Should voting be compulsory?")
    case = SimpleNamespace(question=question, complete=complete)
    judge = SimpleNamespace(name="j", card="good")
    measures = {"support": Measured(0.5, scored, 2)}
    monkeypatch.setattr(demo, "open_model", lambda *_: nullcontext())
    monkeypatch.setattr(demo, "open_writer", lambda *_: SimpleNamespace(name="w"))
    monkeypatch.setattr(demo, "default_judge", lambda *_: judge)
    monkeypatch.setattr(demo, "watched", nullcontext)
    monkeypatch.setattr(demo, "_argue", lambda *_: ([case], {}))
    monkeypatch.setattr(demo, "_measured", lambda *_: measures)
    monkeypatch.setattr(demo, "demo_table", lambda _: ["figures"])
    monkeypatch.setattr(demo, "_as_called", lambda: "pnyx")
    monkeypatch.setattr(demo, "time", SimpleNamespace(monotonic=lambda: 7.0))
    code, out, _ = call("demo", "--out", "a b")
    assert code == status
    assert "1 questions argued and judged in 0 s; the reports are in a b" in " ".join(out.split())
    assert "judged by the packaged models; the end of each report" in out
    assert out.splitlines()[-5:] == [
        "argue from a folder:",
        """  pnyx argue 'a b/rent' "Does rent control reduce the supply of housing?\"""",
        "open this first:     a b/voting.html",
        "ask in a browser:    pnyx serve 'a b/example.index'",
        "look at the results: pnyx view 'a b'",
    ]
    manifest = json.loads(Path("a b/manifest.json").read_text())
    assert (manifest["kind"], manifest["writer"]) == ("pnyx-demo", "w")
    assert manifest["judge"] == {"name": "j", "card": "good"}
    row = {"support": measures["support"].row()}
    assert manifest["measures"] == row
    assert json.loads(Path("a b/measures.json").read_text()) == {"measures": row, "per_group": {}}
    code, out, _ = call("demo", "--out", "a b", "--json")  # replaces its own
    assert (code, json.loads(out)["out"]) == (status, "a b")


def test_a_printed_command_works_in_the_same_shell(monkeypatch, tmp_path):
    script = tmp_path / "my bin" / "pnyx"
    script.parent.mkdir()
    script.write_text("")
    found: list[str | None] = [str(script)]
    monkeypatch.setattr(shutil, "which", lambda _: found[0])
    for name, on_path, command in (
        (script, script, "pnyx"),
        (script, None, f"'{script}'"),
        (script, tmp_path / "other", f"'{script}'"),
        (tmp_path / "__main__.py", None, "pnyx"),
    ):
        found[0] = None if on_path is None else str(on_path)
        monkeypatch.setattr(sys, "argv", [str(name)])
        assert demo._as_called() == command


def test_files_of_the_example_are_never_overwritten(call):
    Path("ex").mkdir()
    Path("ex/a.txt").write_text("mine")
    assert call("demo", "--files-only", "--out", "ex")[0] == 2
    code, _, err = call("demo", "--files-only", "--llm", "local", "--out", "new")
    assert code == 2
    assert "--files-only asks no model: it excludes --llm" in err


# --- pnyx files


def test_a_summary_goes_to_standard_error_and_json_to_standard_output(call):
    write_rows("q.jsonl", [{"id": "1", "text": "Why?"}, {"id": "2", "text": "How?"}])
    formats = call("files", "convert", "q.jsonl", "--format", "questions", "--to", "odd", "-o", "x")
    assert formats[0] == 2
    to = formats[2].rpartition("expected one of ")[2].split(", ")[0].strip()
    convert = ("files", "convert", "q.jsonl", "--format", "questions", "--to", to)
    line = f"x: 2 records, questions to {to}\n"
    assert call(*convert, "-o", "x") == (0, "", line)
    code, out, err = call(*convert, "-o", "y", "--json")
    assert (code, json.loads(out)["records"], err) == (0, 2, "")
    code, out, err = call(*convert, "-o", "-")
    assert (code, out, err) == (0, Path("x").read_text(), "")
    code, out, err = call(*convert, "-o", "z", "--unscored", "skip")
    assert (code, out) == (2, "")
    assert "--unscored is for leaderboards, and questions is not one" in err


def test_passages_of_several_files_need_distinct_ids(call):
    for name in "ab":
        write_rows(f"{name}.jsonl", [{"id": "d", "text": f"{name} says so."}])
    code, out, err = call("files", "split", "a.jsonl", "b.jsonl", "--out", "p.jsonl")
    assert (code, out) == (2, "")
    assert "b.jsonl: duplicate id 'd', also in an earlier source" in err
    write_rows("b.jsonl", [{"id": "e", "text": "B says so."}])
    code, out, err = call("files", "split", "a.jsonl", "b.jsonl", "--out", "p.jsonl")
    assert (code, out, err.splitlines()[-1]) == (0, "", "p.jsonl: 2 passages of 2 documents")


def test_what_the_inputs_of_merge_are(tmp_path):
    folder, file = tmp_path / "results", tmp_path / "a.jsonl"
    folder.mkdir()
    file.write_text("")
    assert _kind("-") == _kind(str(file)) == "a judgement store or its export"
    assert _kind(str(folder)) == "a share of a run"
    Path(f"{file}.manifest.json").write_text("{}")
    assert _kind(str(file)) == "a share of a run"
    with pytest.raises(InputError, match="is not there"):
        _kind(str(tmp_path / "missing"))


@pytest.mark.parametrize(
    ("files", "is_index"),
    [
        ({}, False),
        ({"segment-000001.data": b""}, True),
        ({"manifest.json": b'{"format": "pnyx-index"}'}, True),
        ({"manifest.json": b'{"format": "pnyx-results"}'}, False),
        ({"manifest.json": b'{"format": "pnyx-results"}', "segment-000001.data": b""}, True),
    ],
)
def test_a_folder_is_an_index_by_its_files(files, is_index, tmp_path):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    assert _is_index(str(tmp_path)) is is_index
    assert not _is_index("-")


@pytest.mark.parametrize(
    ("before", "now", "where"),
    [
        ("a\nb\nc\n", "a\nx\nc\n", " from line 2 on"),
        ("a\n", "a\nb\n", " in length"),
        ("a", None, ""),
        (None, "a", ""),
    ],
)
def test_where_a_repeated_file_differs(before, now, where, tmp_path):
    for name, text in (("before", before), ("now", now)):
        if text is not None:
            (tmp_path / name).write_text(text)
    assert _first_difference(tmp_path / "before", tmp_path / "now") == where


def test_why_repeated_results_may_differ(tmp_path, monkeypatch):
    monkeypatch.setattr("pnyx.housekeeping.repeat.__version__", "1.0")
    monkeypatch.setattr("pnyx.housekeeping.repeat.versions", lambda: {"numpy": "2.0"})
    recorded: dict[str, Any] = {
        "pnyx": "0.9",
        "record": {"versions": {"numpy": "2.0", "gone": "1"}},
    }
    recorded |= {"judge": "a", "prompts": [1], "settings": {}, "counts": {"asked": 1}}
    assert list(_reasons(recorded, tmp_path)) == ["; pnyx is 1.0, was 0.9", "; gone is None, was 1"]
    recorded |= {"pnyx": "1.0", "record": {}}
    write_rows(tmp_path / "out" / "manifest.json", [{**recorded, "settings": 1, "counts": 2}])
    assert list(_reasons(recorded, tmp_path)) == ["; settings: 1, was {}"]  # the first only
    assert _expected({"record": {"outputs": {"a": "1"}}, "answers_sha256": "2"}) == {
        "a": "1",
        "out/answers.jsonl": "2",
    }


@pytest.mark.parametrize(("problem", "status"), [("", 0), ("it differs", 1)])
def test_how_a_repetition_ends(problem, status, capsys):
    assert _end("r", problem, {"a": "1", "b": "2"}, False) == status
    out, err = capsys.readouterr()
    assert out == ("" if problem else "r: the same bytes (2 files)\n")
    assert err == ("pnyx: r: it differs\n" if problem else "")
    assert _end("r", problem, ["a"], True) == status
    row = json.loads(capsys.readouterr().out)
    assert row == {"record": "r", "same": not problem, "files": ["a"], "problem": problem or None}


# --- pnyx doctor


def endpoint(model: str, *, usable: bool = True) -> dict[str, Any]:
    return {"model": model, "usable": usable, "problem": "" if usable else "no"}


@pytest.mark.parametrize(
    ("endpoints", "judge", "writer", "why"),
    [
        ([], "packaged", "extractive", "the packaged judge, as neither --llm nor $PNYX_LLM"),
        ([endpoint("a")], "a", "a", "named by --llm"),
        ([endpoint("a"), endpoint("a")], "a", "a", "named by --llm, at 2 addresses"),
        ([endpoint("a"), endpoint("b")], "a + b", "none", "a panel of the models named by --llm"),
        (
            [endpoint("a"), endpoint("", usable=False)],
            "a",
            "a",
            "named by --llm; 1 more cannot be used",
        ),
        ([endpoint("", usable=False)], "none", "none", "nothing named by --llm can be used"),
    ],
)
def test_which_judge_and_writer_would_be_used(endpoints, judge, writer, why):
    packaged = {"judge": "packaged", "needs_llm": ["sides"]}
    used = doctor._will_use({"endpoints": endpoints, "packaged": packaged}, "--llm")
    assert (used["judge"], used["writer"]) == (judge, writer)
    assert used["judge_why"].startswith(why)
    if judge in ("a", "a + b", "none"):
        assert used["judge_why"] == why


def test_the_problems_of_an_installation():
    def package(version: str | None, *, enough: bool) -> dict[str, Any]:
        return {"version": version, "least": "2", "enough": enough}

    report: dict[str, Any] = {
        "dependencies": {
            "a": package("2", enough=True),
            "b": package("1", enough=False),
            "c": package(None, enough=False),
        },
        "packaged": {"problem": ""},
        "store": {"problem": "", "writable": False, "path": "s"},
        "endpoints": [],
    }
    assert doctor._problems(report) == [
        "the dependency b is 1, expected at least 2: reinstall pnyx",
        "the dependency c is missing: reinstall pnyx",
    ]
    report |= {"dependencies": {}, "endpoints": [endpoint("a"), endpoint("b", usable=False)]}
    written = "s: the judgement store cannot be written"
    assert doctor._problems(report) == ["no", written]
    report["store"] |= {"writable": True}
    assert doctor._problems(report) == ["no"]
    report["store"] = {"problem": "x" * 401, "writable": False, "path": "s"}
    assert [len(line) for line in doctor._problems(report)] == [400, 2]


def test_whether_a_store_can_be_written(tmp_path, monkeypatch):
    allowed: dict[str, int] = {}
    monkeypatch.setattr(os, "access", lambda path, mode: allowed.get(str(path), 0) & mode == mode)
    file, missing = tmp_path / "s.sqlite", tmp_path / "new" / "folder" / "s.sqlite"
    file.write_text("")
    assert not doctor._writable(file)
    allowed[str(tmp_path)] = os.W_OK
    assert not doctor._writable(file)
    assert not doctor._writable(missing)  # it must also be entered
    allowed[str(file)] = os.W_OK
    assert doctor._writable(file)
    allowed[str(tmp_path)] = os.W_OK | os.X_OK
    assert doctor._writable(missing)
    assert not doctor._writable(file / "s.sqlite")  # not a folder


# --- pnyx prompt


def test_control_characters_of_a_prompt_are_spelt_out():
    assert _visible("a\tb\n\x1b[2Jé\u202e") == "a\tb\n\\x1b[2Jé\\u202e"


def test_samples_are_listed_or_numbered_as_a_prompt_wants_them():
    assert _sample("side", as_list=False) == "pro"
    assert _sample("side", as_list=True) == ["pro"]
    assert _sample("odd", as_list=False) == "(odd)"
    documents = _sample("documents", as_list=True)
    assert len(documents) == 2
    text = _sample("documents", as_list=False)
    assert isinstance(text, str)
    assert text.startswith("Document 1:\n")
    assert "\n\nDocument 2:\n" in text
    assert documents[0] in text


def test_a_prompt_needs_its_name_and_an_item_that_is_there(call):
    code, _, err = call("prompt", "--item", "1")
    assert code == 2
    assert "--item requires NAME" in err
    code, out, _ = call("prompt", "quality", "--json")
    assert code == 0
    parameters = json.loads(out)["parameters"]
    assert parameters["temperature"] == 0
    code, _, err = call("prompt", "support", "--item", "no such item")
    assert code == 2
    assert "no item has the id 'no such item'" in err
    code, _, err = call("prompt", "argue", "items.jsonl")
    assert code == 2
    assert "is not asked about items: leave out ITEMS" in err


# --- models that are opened


def test_a_local_model_takes_no_other_fields():
    with pytest.raises(InputError, match="local accepts no other fields"):
        endpoint_from("local", fields={"top_k": 1})
    with pytest.raises(InputError, match="found nothing"):
        endpoint_from([])
    same = endpoint_from(["http://a.org/v1#m"] * 2)
    assert (same.address, same.concurrency) == ("http://a.org/v1", 32)
    pool: Any = endpoint_from(["http://a.org/v1#m", "http://b.org/v1#m"], fields={"k": 1})
    assert (pool.concurrency, pool.fields) == (64, {"k": 1})


@pytest.mark.parametrize(("problem", "warned"), [("", False), ("disk full", True)])
def test_a_file_that_was_not_made_smaller_is_warned_of(problem, warned, monkeypatch, call):
    fields = ("replies", "content_bytes", "bytes_before", "bytes_after", "dry_run")
    cleared = make_dataclass("Cleared", [*fields, "not_compacted"])(2, 10, 99, 50, False, problem)
    monkeypatch.setattr("pnyx.judging.store.maintenance.clear_store", lambda *_, **__: cleared)
    code, out, err = call("store", "--finish", "stop", "--delete")
    assert code == 0
    assert "2 replies" in out
    assert " deleted; the file: " in out
    assert ("the file was not made smaller: disk full" in err) is warned
