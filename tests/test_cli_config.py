"""`--config`, `--save-config` and `--help-all`; `pnyx serve` of documents."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib
import urllib.request

import pytest

from command import caller, run, write_rows

call = caller()


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("config")
    corpus = folder / "docs.jsonl"
    rows = [{"id": f"d{n}", "text": f"voting is a duty, says number {n}"} for n in range(5)]
    write_rows(corpus, rows)
    assert run("index", str(corpus), "--out", str(folder / "my.index"), "--words-only") == 0
    return folder / "my.index"


@pytest.fixture
def hits(call):
    def found(*arguments):
        code, out, err = call("search", *arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    return found


def test_options_come_from_a_file_and_the_command_line_counts(index, tmp_path, hits):
    config = tmp_path / "c.toml"
    config.write_text('k = 2\n[search]\nmodel = "bm25"\n[argue]\npoints = 1\n')
    found = hits(index, "voting", "--config", config)
    assert (len(found), found[0]["why"]["name"]) == (
        2,
        hits(index, "voting", "--model", "bm25")[0]["why"]["name"],
    )
    assert len(hits(index, "voting", "--config", config, "-k", 3)) == 3


def test_what_is_saved_gives_the_same_results(index, tmp_path, hits, call):
    saved = tmp_path / "c.toml"
    options = ("--model", "bm25", "--set", "b=.3", "-k", 2)
    code, out, _ = call(
        "search", str(index), "voting", *map(str, options), "--save-config", str(saved)
    )
    assert (code, out) == (0, "")
    assert tomllib.loads(saved.read_text()) == {"search": {"model": "bm25", "b": 0.3, "k": 2}}
    assert hits(index, "voting", "--config", saved) == hits(index, "voting", *options)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("kk = 3", "c.toml: found 'kk', expected an option of pnyx search: topics, out, k,"),
        ('k = "many"', "c.toml: k: 'many' is not a valid integer"),
        ("k = ", "c.toml: not valid TOML"),
        ("k = 0", "c.toml: k: 0 is not in the range"),
        ('token = "x"', "c.toml: found 'token', expected an option"),
        (None, "c.toml: cannot be read"),
    ],
)
def test_a_file_that_is_wrong_is_one_line(index, tmp_path, call, content, line):
    config = tmp_path / "c.toml"
    if content is not None:
        config.write_text(content)
    code, out, err = call("search", index, "voting", "--config", config)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert line in err


def test_no_file_holds_a_secret(index, tmp_path, call):
    saved = tmp_path / "c.toml"
    options = ("--host", "127.0.0.2", "--token", "secret", "--save-config", saved)
    code, out, _ = call("serve", index, *options)
    assert (code, out) == (0, "")
    assert tomllib.loads(saved.read_text()) == {"serve": {"host": "127.0.0.2"}}


def test_help_is_one_screen_and_help_all_has_the_rest(call):
    short, full = call("argue", "--help")[1], call("argue", "--help-all")[1]
    assert "--html" in short
    assert "--certainty" not in short
    assert "--certainty" in full
    assert "--config" in full


@pytest.mark.parametrize(
    "named",
    [
        "file",
        pytest.param("file, index elsewhere", marks=pytest.mark.all),
        pytest.param("nothing", marks=pytest.mark.all),
    ],
)
def test_serve_indexes_serves_and_opens_the_browser_and_then_uses_the_index(
    named, index, tmp_path, call
):
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o700)
    environment = {**os.environ, "BROWSER": f"{browser} %s"}
    shutil.copy(index.parent / "docs.jsonl", tmp_path)
    words, made, question = ["docs.jsonl"], "docs.jsonl.index", "voting"
    if named == "nothing":
        words, made, question = [], "pnyx-example/rent.index", "rent"
    elif named != "file":
        words, made = [*words, "--out", "my.index"], "my.index"
    command = [sys.executable, "-m", "pnyx", "serve", *words, "--open", "--words-only"]
    command += ["--port", "0", "--json"]
    for already in (False, True):
        with subprocess.Popen(
            command, cwd=tmp_path, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as started:  # fmt: skip
            line = started.stdout.readline()
            while "url" not in line:  # what `pnyx index` prints stands before
                assert line, started.stderr.read()
                line = started.stdout.readline()
            url = json.loads(line)["url"]
            with urllib.request.urlopen(f"{url}v1/search?q={question}&k=1") as answer:
                assert len(json.load(answer)["hits"]) == 1
            started.send_signal(signal.SIGINT)
            said = started.stderr.read()
        assert (tmp_path / "opened").read_text() == f"{url}\n"
        assert ("no file has changed" in said) is already
        assert ("Your own documents: pnyx serve FOLDER" in said) is (named == "nothing")
        assert (tmp_path / made / "manifest.json").is_file()
    assert call("serve", str(tmp_path / "no-such-file"))[0] == 2


def test_serve_leaves_an_example_that_was_changed_as_it_is(tmp_path, call, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pnyx-example" / "rent").mkdir(parents=True)
    code, _, err = call("serve", "--words-only")
    assert code == 2
    said = "no INDEX is named, so an example is served: pnyx-example/rent, files about rent control"
    assert err.startswith(f'pnyx: {said}. Ask for instance "Does rent control reduce the supply of')
    assert "pnyx-example/rent: holds no documents" in err
    (tmp_path / "my.index").mkdir()
    (tmp_path / "my.index" / "manifest.json").write_text('{"kind": "pnyx-index"}')
    code, _, err = call("serve", "my.index", "--words-only")
    assert "--out and --words-only require documents" in err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["start"], "`pnyx start` was removed: use pnyx serve --open, with or without a folder"),
        (["mcp", "my.index"], "`pnyx mcp` was removed: use pnyx serve INDEX --mcp"),
        (["corpus", "split"], "`pnyx corpus` was removed: use pnyx files split or pnyx files web"),
        (["validate", "f"], "`pnyx validate` was removed: use pnyx files validate"),
        (["results", "merge"], "`pnyx results` was removed: use pnyx files merge"),
        (["tune", "i"], "`pnyx tune` was removed: use pnyx search tune"),
        (["calibrate", "r"], "`pnyx calibrate` was removed: use pnyx judge calibrate"),
        (["sample", "r"], "`pnyx sample` was removed: use pnyx label sample"),
        (["bench", "perspectives"], "`pnyx bench` was removed: use pnyx compare retrievers"),
        (["index", "a.txt", "--lexical"], "--lexical was removed: --words-only indexes words only"),
        (["serve", "my.index", "--mcp", "--port", "1"], "--port and --mcp exclude each other"),
        (["serve", "my.index", "--mcp", "--open"], "--open and --mcp exclude each other"),
        (["serve", "my.index", "--mcp", "--json"], "--json and --mcp exclude each other"),
    ],
)
def test_what_was_removed_or_has_no_effect_is_named(words, problem, call):
    code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert err.startswith(f"pnyx: {problem}")
    assert err.count("\n") == 1
