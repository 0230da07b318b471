"""Records of commands: what they hold, whether they are sound, and the words made of them."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import click
import pytest

from command import called, write_rows
from pnyx.cli.config import _as_typed, _beside
from pnyx.cli.record import _is_input, _shown, changed_input, check_record, input_hash
from pnyx.cli.rerun import (
    NamedText,
    TrustSpec,
    _arguments,
    _option_words,
    arguments_of,
    environment_of,
    recorded_command,
    trusted_record,
)
from pnyx.cli.settings import SettingOption, SpecOption
from pnyx.core.errors import InputError, OptionError
from pnyx.formats.text_types import TextKind

pytestmark = pytest.mark.usefixtures("own_place")


@pytest.mark.parametrize(
    ("kind", "text", "trusted"),
    [
        (TextKind.WORDS, "http://a.org", True),
        (TextKind.FILE, "a.jsonl", True),
        (TextKind.FILE, "http://a.org/x", False),
        (TextKind.SOURCE, "my.index", True),
        (TextKind.SOURCE, "opensearch+http://a.org/i", False),
        (TextKind.JUDGE, "packaged", True),
        (TextKind.JUDGE, "judge.toml", False),
        (TextKind.JUDGE, "http://a.org/v1#m", False),
        (TextKind.LANGUAGE_MODEL, "local", True),
        (TextKind.LANGUAGE_MODEL, "packaged", False),
        (TextKind.MODEL, "minilm-int8", True),
        (TextKind.MODEL, "local", False),
        (TextKind.REQUEST_FIELDS, "{}", False),
        (None, "local", False),
    ],
)
def test_a_record_chooses_words_local_files_and_packaged_models(kind, text, trusted):
    assert NamedText("name", text, kind).trusted is trusted


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (("llm=a", "--llm=b=c", "index=i"), {"llm": ["a", "b=c"], "index": ["i"]}),
        (("llm",), None),
        (("=a",), None),
        (("llm=",), None),
    ],
)
def test_values_of_with_are_options_and_values(texts, values):
    if values is not None:
        assert TrustSpec(replaced=texts).values() == values
        return
    with pytest.raises(OptionError, match="expected OPTION=VALUE"):
        TrustSpec(replaced=texts).values()


RECORD: dict[str, Any] = {
    "command": "judge",
    "arguments": ["support", "items.jsonl"],
    "options": {},
    "inputs": {},
    "writes": {"out": "out"},
}


@pytest.mark.parametrize(
    ("change", "is_sound"),
    [
        ({}, True),
        ({"outputs": {"a": None}, "environment": {}}, True),
        ({"inputs": {"a": "1", "b": None}}, True),
        ({"inputs": {"a": 1}}, False),
        ({"outputs": {"a": []}}, False),
        ({"outputs": []}, False),
        ({"environment": None}, False),
        ({"command": None}, False),
        ({"arguments": "a"}, False),
        ({"writes": {"out": 1}}, False),
    ],
)
def test_a_record_has_fields_of_their_kinds(change, is_sound):
    if is_sound:
        check_record({**RECORD, **change}, "r")
    else:
        with pytest.raises(InputError, match="r: holds a damaged record"):
            check_record({**RECORD, **change}, "r")
    for name in RECORD:
        with pytest.raises(InputError):
            check_record({key: value for key, value in RECORD.items() if key != name}, "r")


def test_inputs_are_compared_with_their_hashes(tmp_path):
    (tmp_path / "a").write_text("a")
    digest = hashlib.sha256(b"a").hexdigest()

    def changed(**inputs: str | None) -> str:
        return changed_input({"inputs": inputs}, tmp_path)

    assert changed(a=digest) == ""
    assert changed(a=None) == "a was standard input: its content is not recorded"
    assert changed(b=digest) == f"b is missing; expected sha256 {digest[:12]}..."
    assert changed(a="0" * 64) == (
        f"a has changed: sha256 {digest[:12]}..., recorded {'0' * 12}..."
    )
    assert input_hash(str(tmp_path / "a")) == digest
    assert input_hash(str(tmp_path / "missing")) is None


def test_results_are_known_by_their_answers_and_reports(tmp_path):
    write_rows(tmp_path / "manifest.json", [{"format": "pnyx-results", "created": "now"}])
    before = input_hash(str(tmp_path))
    write_rows(tmp_path / "manifest.json", [{"format": "pnyx-results", "created": "later"}])
    assert input_hash(str(tmp_path)) == before
    seen = {before}
    for name in ("answers.jsonl", "reports.jsonl"):
        (tmp_path / name).write_text("{}\n")
        seen.add(input_hash(str(tmp_path)))
    assert len(seen) == 3


def test_what_is_read_by_a_command(tmp_path):
    (tmp_path / "a").write_text("")
    path = str(tmp_path / "a")
    assert _is_input("-", set())
    assert _is_input(path, set())
    assert not _is_input(path, {path})  # it is written
    assert not _is_input(str(tmp_path / "missing"), set())


@pytest.mark.parametrize(
    ("value", "kind", "shown"),
    [
        (3, TextKind.SOURCE, 3),
        ("http://u:p@a.org/x", TextKind.WORDS, "http://u:p@a.org/x"),
        ("http://u:secret@a.org/x", TextKind.SOURCE, "http://***@a.org/x"),
        (("http://u:secret@a.org/x", "b"), TextKind.SOURCE, ["http://***@a.org/x", "b"]),
        ("judge.toml", TextKind.JUDGE, "judge.toml"),
    ],
)
def test_no_password_is_recorded(value, kind, shown):
    recorded = _shown(value, kind)
    assert "secret" not in json.dumps(recorded)
    assert recorded == shown


# --- words of a command line


@pytest.mark.parametrize(
    ("flags", "more", "value", "words"),
    [
        (["--a"], {}, "x", ["--a", "x"]),
        (["--a"], {}, [1, 2], ["--a", "1,2"]),
        (["--a"], {"is_flag": True}, True, ["--a"]),
        (["--a"], {"is_flag": True}, False, []),
        (["--a/--no-a"], {"is_flag": True}, False, ["--no-a"]),
        (["--a/--no-a"], {"is_flag": True}, True, ["--a"]),
        (["--a"], {"multiple": True}, ["x", "y"], ["--a", "x", "--a", "y"]),
        (["--a"], {"multiple": True}, "x", None),
        (["--a"], {"nargs": 2}, ["x", "y"], ["--a", "x", "y"]),
        (["--a"], {"nargs": 2}, ["x"], None),
        (["--a"], {"nargs": 2}, "xy", None),
    ],
)
def test_an_option_as_words(flags, more, value, words):
    option = SpecOption(flags, **more)
    if words is not None:
        assert list(_option_words(option, value)) == words
    else:
        with pytest.raises(InputError, match="damaged or forged"):
            list(_option_words(option, value))


def test_a_setting_as_words():
    option = SettingOption(["--max-tokens"], type=int)
    assert list(_option_words(option, 5)) == ["--set", "max-tokens=5"]
    assert list(_option_words(SettingOption(["--fast"], is_flag=True), True)) == [
        "--set",
        "fast=true",
    ]
    assert list(_option_words(SettingOption(["--at"]), [0.1, 0.2])) == ["--set", "at=0.1,0.2"]


def test_the_command_line_of_a_record():
    line = arguments_of({**RECORD, "no_text": True}, {"out": "new"}, ["--from-store"])
    assert line == [
        *("judge", "--out", "new", "--from-store", "--no-text", "--", "support", "items.jsonl")
    ]
    assert "--text" in arguments_of({**RECORD, "no_text": False}, {})
    assert arguments_of({**RECORD, "options": {"depth": 5}}, {})[1:3] == ["--depth", "5"]
    for options, problem in (
        ({"odd": 1}, "has no option --odd"),
        ({"out": "x"}, "--out is in no record of pnyx judge; forged"),
        ({"plan": True}, "--plan is in no record of pnyx judge; forged"),
    ):
        with pytest.raises(InputError, match=problem):
            arguments_of({**RECORD, "options": options}, {})
    with pytest.raises(InputError, match="--depth is in no record"):
        arguments_of(RECORD, {"depth": "x"})
    for command in ("index", "odd", "judge odd", "files repeat", ""):
        with pytest.raises(InputError, match="writes no records in this version"):
            recorded_command({**RECORD, "command": command})
    assert recorded_command({**RECORD, "command": "judge report"}).name == "report"
    with pytest.raises(InputError, match="takes fewer arguments"):
        _arguments(recorded_command(RECORD), ["support", "a", "b"])


def test_a_record_names_no_model_by_itself():
    spec = "http://a.org/v1#m"
    record = {**RECORD, "options": {"judge": [spec]}}
    with pytest.raises(InputError, match=r"if you trust it, add --with 'judge=http://a.org/v1#m'"):
        trusted_record(record, {}, "r")
    other = trusted_record(record, {"judge": ["http://b.org/v1#m"]}, "r")
    assert other["options"]["judge"] == ["http://b.org/v1#m"]
    assert record["options"]["judge"] == [spec]
    with pytest.raises(OptionError, match="--with depth: the record names no model or address"):
        trusted_record(record, {"judge": ["x"], "depth": ["1"]}, "r")
    record = {**RECORD, "environment": {"PNYX_LLM": spec}}
    named = trusted_record(record, {"llm": ["a", "b"]}, "r")
    assert named["environment"] == {"PNYX_LLM": "a b"}


def test_the_environment_names_the_models_of_a_record(monkeypatch):
    monkeypatch.setenv("PNYX_LLM", "mine")
    with environment_of({"environment": {"PNYX_LLM": "its"}}):
        assert os.environ["PNYX_LLM"] == "its"
    assert os.environ["PNYX_LLM"] == "mine"
    with environment_of({}):
        assert "PNYX_LLM" not in os.environ
    monkeypatch.delenv("PNYX_LLM")
    with environment_of({"environment": {"PNYX_LLM": "its"}}):
        pass
    assert "PNYX_LLM" not in os.environ


# --- files of options


@pytest.mark.parametrize(
    ("more", "value", "typed"),
    [
        ({}, {"a": 1}, '{"a": 1}'),
        ({}, [1, 2], "1,2"),
        ({"multiple": True}, [1, 2], [1, 2]),
        ({"multiple": True}, "x", ["x"]),
        ({"nargs": 2}, [1, 2], [1, 2]),
        ({}, True, "true"),
        ({"is_flag": True}, True, True),
        ({}, 2.5, "2.5"),
        ({}, 2, 2),
    ],
)
def test_values_of_a_file_are_as_on_the_command_line(more, value, typed):
    assert _as_typed(click.Option(["--a"], **more), value) == typed


def test_files_are_looked_for_next_to_the_file_that_names_them(tmp_path):
    (tmp_path / "a.json").write_text("")
    config = str(tmp_path / "c.toml")
    assert _beside(config, "a.json") == str(tmp_path / "a.json")
    assert _beside(config, "b.json") == "b.json"
    assert _beside(config, "openai:a.json") == "openai:a.json"
    assert _beside(config, 1) == 1


def test_a_section_of_the_command_overrides_the_top_of_a_file(capsys):
    Path("c.toml").write_text('words = 50\n["files split"]\nwords = 3\n[judge]\ndepth = 2\n')
    write_rows("d.jsonl", [{"id": "d", "text": "one two three four five"}])
    split = ("files", "split", "d.jsonl", "--out", "p.jsonl", "--config", "c.toml")
    assert called(capsys, *split)[2].splitlines()[-1] == "p.jsonl: 2 passages of 1 document"
    code, _, err = called(capsys, *split, "--words", "5")
    assert (code, err.splitlines()[-1]) == (0, "p.jsonl: 1 passage of 1 document")
    for text, problem in (
        ("wrds = 5", "found 'wrds', expected an option of pnyx files split: "),
        ("words = 2.5", "words: "),
        ("words = 0", "words: "),
        ("words", "not valid TOML"),
        ("config = 'x'", "found 'config', expected an option"),
    ):
        Path("c.toml").write_text(text)
        code, _, err = called(capsys, *split)
        assert code == 2
        assert f"c.toml: {problem}" in err
