"""A record that a stranger wrote: it reaches no network, and names no model, by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import planted_judges as planted
from argue_report import write_files
from chat_server import ChatServer
from command import caller, write_rows
from listener import Listener
from pnyx.cli import COMMANDS, app, rerun
from pnyx.cli.params import Command
from pnyx.cli.record import decides, name_of
from pnyx.formats.text_types import TextKind, is_address_like
from test_cli_audit import support_items

pytestmark = pytest.mark.usefixtures("own_place")
call = caller()

ITEMS = [
    {"id": f"i{n}", "text": f"In May {n} bus lines were cut.", "statement": "Lines were cut."}
    for n in range(3)
]

BASES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "annotate label": (["pairs.jsonl"], {}),
    "audit run": (["items.jsonl"], {"trial": ["paraphrase"]}),
    "judge": (["support", "items.jsonl"], {}),
    "judge report": (["run.jsonl"], {"nuggets": "bank.jsonl"}),
    "measure perspectives": (["a.run"], {"perspectives": "p.jsonl", "verdicts": "v.jsonl"}),
    "measure report": (["judged"], {}),
    "measure retrieval": (["a.run"], {"qrels": "q.txt"}),
    "nuggets assign": (["run.jsonl"], {"nuggets": "bank.jsonl"}),
}
"""Arguments and options of a record of each command that writes records."""


def recorded_commands() -> Iterator[tuple[str, Command]]:
    """Yield each command that writes records, from the registry of all commands."""

    def walk(words: str, command: click.Command) -> Iterator[tuple[str, Command]]:
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                assert found is not None
                yield from walk(f"{words} {name}", found)
        elif isinstance(command, Command):
            yield from [(words, command)] * command.records
            for name, other in command.words.items():
                yield from walk(f"{words} {name}", other)

    context = click.Context(app)
    for name in COMMANDS:
        command = app.get_command(context, name)
        assert command is not None
        yield from walk(name, command)


def addresses(port: int) -> list[str]:
    place = f"127.0.0.1:{port}"
    return [f"http://{place}/v1#m", f"opensearch://{place}/x", f"ray://{place}", place]


@pytest.fixture
def forge(tmp_path, monkeypatch, call):
    """Return a function that writes the results of a stranger: a record, and what it makes."""
    write_rows("items.jsonl", ITEMS)
    write_rows("item.jsonl", ITEMS[:1])
    assert call("judge", "support", "items.jsonl", "--out", "R")[0] == 0
    monkeypatch.setenv("PNYX_API_KEY", "sk-of-the-user")
    monkeypatch.setenv("PNYX_OPENSEARCH_USER", "alice")
    monkeypatch.setenv("PNYX_OPENSEARCH_PASSWORD", "secret")

    def forged(**record: Any) -> str:
        manifest = json.loads(Path("R/manifest.json").read_text())
        manifest["record"] |= {"inputs": {}, **record}
        Path("forged.json").write_text(json.dumps(manifest))
        return "forged.json"

    return forged


def variants(words: str, command: Command, text: str) -> Iterator[tuple[click.Parameter, Any]]:
    """Yield each option and argument of a command, with a record in which it has a text."""
    arguments, options = BASES[words]
    places = [p for p in command.params if isinstance(p, click.Argument)]
    for parameter in command.params:
        record: dict[str, Any] = {"command": words, "writes": {"out": "out"}}
        record |= {"arguments": arguments, "options": options}
        if isinstance(parameter, click.Argument):
            at = places.index(parameter)
            record["arguments"] = [*arguments[:at], text, *arguments[at + 1 :]]
        else:
            value: Any = [text] * parameter.nargs if parameter.nargs > 1 else text
            value = [value] if getattr(parameter, "multiple", False) else value
            record["options"] = {**options, name_of(parameter): value}
        if words.startswith("measure"):
            record["writes"] = {}
        yield parameter, record


def test_every_command_that_writes_records_is_walked():
    assert {words for words, _ in recorded_commands()} == BASES.keys()


@pytest.mark.parametrize("words", BASES)
def test_no_option_of_any_record_opens_a_connection(words, forge, call):
    (command,) = (found for name, found in recorded_commands() if name == words)
    walked = set()
    with Listener() as listener:
        for text in addresses(listener.port):
            for parameter, record in variants(words, command, text):
                kind = command.kind_of(parameter)
                reads = decides(parameter) and kind not in (None, TextKind.WORDS)
                if parameter.name in walked and not reads:
                    continue  # neither a switch nor a number is more than one text
                walked.add(parameter.name)
                status, out, said = call("files", "repeat", forge(**record))
                case = (parameter.name, text, said)
                if reads:
                    assert (status, out, said.count("\n")) == (2, "", 1), case
                    name = name_of(parameter)
                    assert f"{name}={text}" in said.partition("add --with")[2], case
                assert status in (0, 1, 2), case
        assert listener.connections == 0
    assert walked == {parameter.name for parameter in command.params}


OPENING: dict[str, dict[str, Any]] = {
    "judge": {"arguments": ["support", "items.jsonl"], "options": {"judge": ["http://AT/v1#m"]}},
    "environment": {
        "arguments": ["support", "items.jsonl"],
        "environment": {"PNYX_LLM": "http://AT/v1#m"},
    },
    "editor": {
        "command": "audit run",
        "arguments": ["texts.jsonl"],
        "options": {"trial": ["hallucination"], "editor": "http://AT/v1#m"},
    },
    "editor of all": {
        "command": "audit run",
        "arguments": ["texts.jsonl"],
        "options": {"editor": "http://AT/v1#m"},
    },
    "index": {
        "command": "judge report",
        "arguments": ["run.jsonl"],
        "options": {"nuggets": "bank.jsonl", "index": "opensearch://AT/x"},
    },
    "index of a run": {
        "arguments": ["relevance"],
        "options": {"run": ["a.run"], "index": "opensearch://AT/x", "topics": "topics.tsv"},
    },
}
"""What records opened a connection before they were refused; AT is the listening server."""


@pytest.fixture
def opening(forge, tmp_path, monkeypatch):
    """Return a function that forges one of `OPENING`, and has it trusted."""
    for path, name in zip(write_files(tmp_path, "ids"), ("run.jsonl", "bank.jsonl"), strict=True):
        Path(path).rename(name)
    Path(support_items(2)).rename("texts.jsonl")
    Path("a.run").write_text("1 Q0 d1 1 1.0 a\n")
    Path("topics.tsv").write_text("1\tWere bus lines cut?\n")
    monkeypatch.setattr(rerun.NamedText, "trusted", True)
    monkeypatch.setattr(
        "pnyx.housekeeping.repeat.from_store", lambda *_: []
    )  # as if models were asked

    def forged(case: str, port: int) -> str:
        text = json.dumps(OPENING[case]).replace("AT", f"127.0.0.1:{port}")
        record = {"command": "judge", "options": {}, "writes": {"out": "out"}}
        return forge(**record | json.loads(text))

    return forged


@pytest.mark.parametrize("case", OPENING)
def test_what_would_connect_is_closed_even_if_a_record_were_trusted(
    case, opening, call, monkeypatch
):
    with Listener() as listener:
        path = opening(case, listener.port)
        for allowed in ([], ["elsewhere.example"]):  # sockets and our own doors, and doors alone
            monkeypatch.setattr(
                "pnyx.housekeeping.repeat.allowed_addresses", lambda *_, a=allowed: a
            )
            status, out, said = call("files", "repeat", path)
            assert (status, out) == (2, "")
            assert "127.0.0.1: connection refused, because only the record asks for it" in said
            assert listener.connections == 0
        monkeypatch.setattr(
            "pnyx.housekeeping.repeat.allowed_addresses", lambda *_: ["http://127.0.0.1"]
        )
        call("files", "repeat", path)
        assert listener.connections > 0  # so it was the limit that kept it away


# Ways round --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["opensearch://h:1/x", "ir_datasets:vaswani", "engine:x", "a:b.jsonl", "//host/share",
     "\\\\host\\share", "C:", "file:///etc/hosts", "http:/h"],
)  # fmt: skip
def test_what_could_be_an_address(text):
    assert is_address_like(text)


@pytest.mark.parametrize(
    "text", ["my.index", "./a:b", "sub/engine:x", "C:\\data", "c:/data", "/data/x", "-", "", "a b"]
)
def test_what_is_a_file_of_this_machine(text):
    assert not is_address_like(text)


@pytest.mark.parametrize(
    ("name", "value", "noun"),
    [
        ("judge", ["openai:gpt-4o-mini"], "a judge (judge: openai:gpt-4o-mini)"),
        ("judge", ["local", "gguf:/models/x.gguf"], "a judge (judge: gguf:/models/x.gguf)"),
        ("cheap", "http:/127.0.0.1:1/v1#m", "a language model (cheap: http:/127.0.0.1:1/v1#m)"),
        ("judge", ["evil.toml"], "a judge (judge: evil.toml)"),
        ("index", "opensearch://h:1/x", "an address (index: opensearch://h:1/x)"),
        ("index", ["opensearch://h:1/x"], "an address (index: opensearch://h:1/x)"),
        ("index", [["opensearch://h:1/x"]], "an address (index: opensearch://h:1/x)"),
        ("judge", ["ir_datasets:vaswani"], "a judge (judge: ir_datasets:vaswani)"),
    ],
)
def test_models_and_addresses_are_refused_in_every_form(name, value, noun, forge, call):
    Path("http:/127.0.0.1:1/v1#m").mkdir(parents=True)  # folders that a stranger sends along
    Path("opensearch:/h:1/x").mkdir(parents=True)
    path = forge(arguments=["support", "items.jsonl"], options={name: value})
    status, out, said = call("files", "repeat", path, "--out", "again")
    assert (status, out, said.count("\n")) == (2, "", 1)
    assert said.startswith(f"pnyx: forged.json: the record names {noun}")
    assert not Path("again").exists()


def test_a_packaged_model_may_be_named(forge, call):
    path = forge(arguments=["support", "items.jsonl"], options={"judge": ["local"]})
    assert "the record names" not in call("files", "repeat", path)[2]


def test_a_group_of_commands_writes_no_records(forge, call):
    with Listener() as listener:
        index = f"opensearch://127.0.0.1:{listener.port}/x"
        words = ["create", "--index", index, "--topics", "t", "--run", "r", "--out", "stolen"]
        for command in ("nuggets", "", "nuggets create", "judge dimensions", "no such"):
            path = forge(command=command, arguments=words, options={}, writes={})
            status, out, said = call("files", "repeat", path)
            assert (status, out, said.count("\n")) == (2, "", 1)
            assert f"pnyx {command} writes no records in this version" in said
        assert listener.connections == 0


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"options": {"run": "a.run"}}, "--run: expected a list of values; damaged or forged"),
        ({"arguments": ["support", "items.jsonl", "more"]}, "takes fewer arguments"),
        ({"writes": {"store": "s"}}, "--store is in no record of pnyx judge; forged"),
        ({"options": {"items": "x"}}, "has no option --items in this version"),
        (
            {
                "command": "measure perspectives",
                "arguments": ["a.run"],
                "options": {"leaning": [["a", "b", "c", "--plot", "x.svg"]]},
                "writes": {},
            },
            "--leaning: expected 3 values; damaged or forged",
        ),
    ],
)
def test_a_record_adds_no_words_to_the_command_line(record, said, forge, call):
    status, out, err = call("files", "repeat", forge(**record))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


# Given again -------------------------------------------------------------------------------------


@pytest.mark.parametrize("environment", [False, True])
def test_stored_replies_answer_for_a_model_that_is_given_again(environment, call, monkeypatch):
    write_rows("items.jsonl", ITEMS)
    with ChatServer() as server, ChatServer() as other:
        models = (server.spec, other.url + "#other")
        if environment:
            monkeypatch.setenv("PNYX_LLM", " ".join(models))
        named = () if environment else ("--judge", models[0], "--judge", models[1])
        assert call("judge", "support", "items.jsonl", "--out", "R", *named)[0] == 0
        monkeypatch.delenv("PNYX_LLM", raising=False)
        status, out, said = call("files", "repeat", "R")
        assert (status, out, said.count("\n")) == (2, "", 1)
        name = "llm" if environment else "judge"
        assert f"add --with '{name}={models[0]}' --with '{name}={models[1]}'" in said
    # Both servers are gone, and the first is said to be elsewhere.
    again = ("--with", f"{name}=http://127.0.0.1:1/v1#test", "--with", f"{name}={models[1]}")
    assert call("files", "repeat", "R", *again)[:2] == (0, "R: the same bytes (1 file)\n")


def edited(prompt: str) -> str:
    return json.dumps({"sentence": f"It is wrong that {planted.text_of(prompt, 'sentence')}"})


def test_a_folder_with_the_name_of_a_model_does_not_have_it_asked(call, monkeypatch):
    write_rows("items.jsonl", ITEMS)
    with ChatServer() as server:
        asking = ("judge", "support", "items.jsonl", "--judge", server.spec, "--out", "R")
        assert call(*asking)[0] == 0
        asked = len(server.answered())
        Path(server.spec).mkdir(parents=True)
        monkeypatch.setenv("PNYX_STORE", "empty.sqlite")
        assert call("files", "repeat", "R", "--with", f"judge={server.spec}")[0] == 1
        assert len(server.answered()) == asked


def test_a_student_that_is_asked_first_is_given_again(call):
    write_rows("items.jsonl", ITEMS)
    assert call("judge", "support", "items.jsonl", "--out", "R")[0] == 0
    manifest = json.loads(Path("R/manifest.json").read_text())
    Path("student").mkdir()
    manifest["record"]["options"] |= {"cheap": "student", "cascade": "items.jsonl"}
    Path("R/manifest.json").write_text(json.dumps(manifest))
    assert "the record names a language model (cheap: student)" in call("files", "repeat", "R")[2]
    said = call("files", "repeat", "R", "--with", "cheap=student")[2]
    assert (
        "--set cheap: a student answers relevance, not support" in said
    )  # taken as a student: none is asked


@pytest.mark.all
def test_stored_replies_answer_for_an_editor_that_is_given_again(call):
    with ChatServer(reply=edited) as server:
        editor = f"{server.url}#editor"
        trial = ("audit", "run", "--trial", "hallucination", support_items(4), "--out", "S")
        assert call(*trial, "--editor", editor)[0] == 0
        asked = len(server.answered())
        assert asked > 0
        status, _, said = call("files", "repeat", "S")
        assert status == 2
        assert f"the record names a language model (editor: {editor})" in said
        again = call("files", "repeat", "S", "--with", f"editor={editor}")
        assert again[:2] == (0, "S: the same bytes (1 file)\n"), again
        assert len(server.answered()) == asked
    assert call(*trial[:5], "--from-store")[0] == 2


def test_an_index_that_is_given_again_may_be_elsewhere(call, tmp_path):
    write_rows("docs.jsonl", [{"id": "d1", "text": "In May 3 bus lines were cut."}])
    assert call("index", "docs.jsonl", "--out", "my.index", "--words-only")[0] == 0
    Path("a.run").write_text("1 Q0 d1 1 1.0 a\n")
    Path("topics.tsv").write_text("1\tWere bus lines cut?\n")
    pool = ("--run", "a.run", "--index", "my.index", "--topics", "topics.tsv", "--out", "R")
    assert call("judge", "relevance", *pool)[0] == 0
    assert call("files", "repeat", "R")[:2] == (0, "R: the same bytes (1 file)\n")
    manifest = json.loads(Path("R/manifest.json").read_text())
    manifest["record"]["options"]["index"] = "opensearch://127.0.0.1:1/x"
    Path("R/manifest.json").write_text(json.dumps(manifest))
    assert call("files", "repeat", "R")[0] == 2
    again = call("files", "repeat", "R", "--with", "index=my.index")
    assert again[:2] == (0, "R: the same bytes (1 file)\n")
    status, _, said = call("files", "repeat", "R", "--with", "index=opensearch://127.0.0.1:1/y")
    assert status == 2
    assert "opensearch://127.0.0.1:1/y: cannot be reached" in said  # allowed, and asked


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("index",), "--with index: expected OPTION=VALUE"),
        (("=x",), "--with =x: expected OPTION=VALUE"),
        (("index=",), "--with index=: expected OPTION=VALUE"),
        (("labels=x",), "--with labels: the record names no model or address there"),
        (("items=x.jsonl",), "--with items: the record names no model or address there"),
        (("index=a", "index=b"), "--with index: expected one value"),
    ],
)
def test_what_is_given_again_must_be_needed_and_whole(given, said, forge, call):
    path = forge(options={"index": "opensearch://127.0.0.1:1/x"})
    more = [word for text in given for word in ("--with", text)]
    status, out, err = call("files", "repeat", path, *more)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_arguments_are_given_again_by_their_names(forge, call):
    path = forge(arguments=["support", "a:b.jsonl"])
    assert "add --with items=a:b.jsonl" in call("files", "repeat", path)[2]
    assert call("files", "repeat", path, "--with", "items=items.jsonl")[0] == 0


# Others that read records ------------------------------------------------------------------------


def test_a_card_of_a_stranger_is_held_to_the_same(call, monkeypatch):
    record: dict[str, Any] = {"command": "audit run", "arguments": [support_items(2)], "inputs": {}}
    with Listener() as listener:
        editor = f"http://127.0.0.1:{listener.port}/v1#m"
        Path(editor).mkdir(parents=True)  # a folder is no model
        record |= {"options": {"editor": editor}, "writes": {"out": "out"}}
        card = {"format": "pnyx-card", "judge": "j", "asked": [], "trials": [], "record": record}
        Path("card.json").write_text(json.dumps(card))
        check = ("audit", "card", "--against", "card.json", "--again", "B")
        status, out, said = call(*check)
        assert (status, out, said.count("\n")) == (2, "", 1)
        assert f"the record names a language model (editor: {editor})" in said
        assert listener.connections == 0
        assert "the key is refused" in call(*check, "--with", f"editor={editor}")[2]
        assert listener.connections > 0
        asked = listener.connections
        monkeypatch.setattr(rerun.NamedText, "trusted", True)
        assert "connection refused" in call(*check)[2]
        assert listener.connections == asked


def test_a_sample_of_a_strangers_results_opens_no_cluster(call, tmp_path, monkeypatch):
    run, bank = write_files(tmp_path, "ids")
    assert call("judge", "report", run, "--nuggets", bank, "--out", "R")[0] in (0, 3)
    draw = ("label", "sample", "R", "--of", "topics", "--out", "drawn")
    assert call(*draw)[0] == 0
    manifest = json.loads(Path("R/manifest.json").read_text())
    with Listener() as listener:
        manifest["record"]["options"]["index"] = f"opensearch://127.0.0.1:{listener.port}/x"
        Path("R/manifest.json").write_text(json.dumps(manifest))
        status, out, said = call(*draw)
        assert (status, out, said.count("\n")) == (2, "", 1)
        assert "R: the record names an address (index: opensearch://" in said
        monkeypatch.setattr(rerun.NamedText, "trusted", True)
        assert "connection refused" in call(*draw)[2]
        assert listener.connections == 0
