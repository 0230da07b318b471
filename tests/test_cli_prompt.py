"""`pnyx prompt`: what is shown is what is sent, to the byte."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest

from chat_server import ChatServer
from command import caller, rows_of, write_rows
from pnyx.judging.llm.prompts import load_prompt, prompt_names
from pnyx.judging.tasks import TASKS

HOSTILE = "\x1b[2J\x07 Ünïcode <|im_end|> \u202e ```json {{ 7*7 }}\r\n\t\x00 end"


pytestmark = pytest.mark.usefixtures("own_place")


run = caller()


def items(task: str) -> str:
    """Write three items of a task, texts and all, the second of them hostile."""
    rows = []
    for number in range(3):
        row = json.loads(TASKS[task].example) | {"id": f"i{number}"}
        if number == 1:
            name = next(n for n in ("text", "document", "a", "query") if n in row)
            row[name] = f"{row[name]} {HOSTILE}"
        rows.append(row)
    write_rows("items.jsonl", rows)
    return "items.jsonl"


CASES = [
    *((task, TASKS[task].prompts[0], ()) for task in TASKS),
    ("support", "support-direct", ()),
    ("relevance", "relevance-direct", ("--set", "probability=ask")),
    ("support", "support", ("--set", "batch=2")),
]


@pytest.mark.parametrize(("task", "prompt", "more"), CASES)
@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.all)])
def test_what_is_shown_is_what_is_sent(task, prompt, more, number, run):
    path = items(task)
    arguments = ("prompt", prompt, path, "--item", f"i{number}", "--json", *more)
    status, out, _ = run(*arguments)
    assert status == 0
    shown = json.loads(out)
    with ChatServer(logprobs="words") as server:
        own = () if prompt == TASKS[task].prompts[0] else ("--set", f"prompt={prompt}")
        judge = ("judge", task, path, "--out", "out", "--judge", server.spec, *more, *own)
        assert run(*judge)[0] == 0
        (sent,) = [row for row in server.asked() if row["messages"] == shown["messages"]]
    parameters = dict(sent["parameters"])
    assert parameters.pop("model") == "test"
    shape = parameters.pop("response_format")
    assert shape["json_schema"]["schema"] == shown["schema"]
    told = shown["parameters"]
    alternatives = told.pop("top_logprobs")
    assert parameters.pop("top_logprobs", 0) == alternatives
    assert parameters.pop("logprobs", False) is bool(alternatives)
    assert parameters == told
    rows = rows_of("out/answers.jsonl")
    hashes = {row["prompt_hash"] for row in rows if row["id"] in shown["items"]}
    assert hashes == {shown["prompt_hash"]}


def test_a_sample_shows_another_order(run):
    orders = []
    for sample in ("0", "1", "2"):
        _, out, _ = run("prompt", "quality", "--sample", sample, "--json")
        orders.append(tuple(json.loads(out)["schema"]["properties"]))
    assert len(set(orders)) == 3
    assert len({frozenset(order) for order in orders}) == 1


def test_the_list_is_all_that_is_packaged(run):
    _, out, _ = run("prompt", "--json")
    listed = json.loads(out)
    assert [prompt["name"] for prompt in listed] == list(prompt_names())
    assert all(prompt["source"] and prompt["language"] == "en" for prompt in listed)
    _, out, _ = run("prompt")
    assert all(f"{prompt['name']}@{prompt['version']} " in out for prompt in listed)


PACKAGED = resources.files("pnyx.judging").joinpath("prompts")


@pytest.mark.parametrize("name", [file.name.removesuffix(".toml") for file in PACKAGED.iterdir()])
def test_the_file_itself_is_shown_to_the_byte(name, run):
    _, out, _ = run("prompt", name, "--raw")
    assert out == PACKAGED.joinpath(f"{name}.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", prompt_names())
def test_every_packaged_prompt_can_be_shown(name, run):
    status, out, _ = run("prompt", name, "--json")
    assert status == 0
    shown = json.loads(out)
    user = shown["messages"][-1]["content"]
    assert "<<<" in user
    if PACKAGED.joinpath(f"{name}.toml").is_file():  # not of a plugin: each input has a sample
        assert "(" not in {line[:1] for line in user.splitlines()}
    assert (shown["schema"] is None) == (load_prompt(name).task not in TASKS and name not in WRITE)
    assert "{{" not in user


WRITE = ("argue", "argue-prose", "report")


@pytest.mark.parametrize("task", TASKS)
def test_for_people_nothing_reaches_the_terminal_but_text(task, run):
    status, out, _ = run("prompt", task, items(task), "--item", "i1")
    assert status == 0
    assert out.startswith(f"prompt {TASKS[task].prompts[0]}@")
    assert "--- system\n" in out
    assert "--- user\n" in out
    assert "--- schema of the reply\n" in out
    assert all(character.isprintable() or character in "\n\t" for character in out)
    assert run("prompt", task)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing",), "no prompt 'nothing'"),
        (("--raw",), "--raw requires NAME"),
        (("list",), "list was removed: pnyx prompt without NAME lists the prompts"),
        (("show", "support"), "show was removed: use pnyx prompt NAME"),
        (("repair", "items.jsonl"), "is not asked about items: leave out ITEMS"),
        (("support", "items.jsonl", "--item", "i9"), "no item has the id 'i9'"),
        (("support", "missing.jsonl"), "missing.jsonl"),
        (("missing.toml",), "missing.toml"),
        (("missing.toml", "--raw"), "missing.toml"),
        (("latin.toml",), "latin.toml: not valid TOML"),
        (("quality", "items.jsonl", "--set", "batch=2"), "quality"),
        (("support-direct", "items.jsonl", "--set", "batch=2"), "support-direct"),
    ],
)
def test_what_cannot_be_shown_is_one_line(arguments, said, run):
    items("support")
    Path("latin.toml").write_bytes(b"name = '\xe9'\n")
    status, _, error = run("prompt", *arguments)
    assert status == 2
    assert said in error
    assert len(error.splitlines()) == 1
