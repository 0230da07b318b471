"""What cannot be written in the end is refused before anything is asked, fetched or computed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import click
import pytest

from chat_server import ChatServer
from command import run, write_rows
from pnyx.cli import app
from pnyx.cli.params import Command, SpecOption
from pnyx.formats import load_example
from pnyx.search.build import build_index


def commands(command: click.Command, names: tuple[str, ...] = ()) -> Iterator[tuple[str, Command]]:
    """Yield every command with the words that call it."""
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), name)
            assert found is not None
            yield from commands(found, (*names, name))
    else:
        assert isinstance(command, Command)
        yield " ".join(names), command
        for word, further in command.words.items():
            yield from commands(further, (*names, word))


COMMANDS = dict(commands(app))
OUTPUTS = [
    (name, option)
    for name, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, SpecOption) and option.writes
]
WRITES_NOTHING = {
    "doctor", "files validate", "prompt",
}  # fmt: skip
"""Commands that name no output: they print, serve, or change the store that --store names."""


def test_every_command_names_what_it_writes():
    assert set(COMMANDS) - {name for name, _ in OUTPUTS} == WRITES_NOTHING
    said = ("write", "writes", "draw", "create", "where to")
    for name, command in COMMANDS.items():
        for option in command.params:
            if isinstance(option, SpecOption) and type(option.type).__name__ == "Raw":
                first = re.sub(r"[;:.,(].*", "", option.help or "").lower()
                says = any(re.search(rf"\b{word}\b", first) for word in said)
                assert bool(option.writes) >= says, (name, option.opts)


def ids(case):
    return case if isinstance(case, str) else max(case.opts, key=len)


def said_of(name: str, given: dict[str, str]) -> str:
    """Run the body's gate of a command with these outputs alone; return how it refuses them."""
    reached = []
    command = COMMANDS[name]
    context = click.Context(command)
    context.params = dict.fromkeys(one.name for one in command.params) | given
    whole, command.callback = command.callback, lambda **_: reached.append(1)
    try:
        command.invoke(context)
    except Exception as error:
        assert not reached
        return str(error)
    finally:
        command.callback = whole
    return ""


@pytest.mark.parametrize(("name", "option"), OUTPUTS, ids=ids)
def test_an_output_that_cannot_be_written_is_refused_first(name, option, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    bad = ["", str(tmp_path / "file" / "x"), str(tmp_path / "new" / ("n" * 300)), "/proc/pnyx/x"]
    bad += [str(tmp_path / "folder")] if option.writes == "file" else ["-"]
    for path in bad:
        assert said_of(name, {option.name: path}), path
    good = [str(tmp_path / "x"), str(tmp_path / "a" / "b" / "x")]
    good += ["-", "/dev/null", str(tmp_path / "file")] if option.writes == "file" else []
    good += [str(tmp_path / "folder")] if option.writes != "file" else []
    for path in good:
        assert said_of(name, {option.name: path}) == ""
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert left == ["file", "folder"]  # nothing is made by looking


@pytest.mark.parametrize(
    "name", sorted({name for name, _ in OUTPUTS if [n for n, _ in OUTPUTS].count(name) > 1})
)
def test_two_outputs_of_a_command_are_two_files(name, tmp_path):
    options = [option for own, option in OUTPUTS if own == name][:2]
    first, second = (str(option.name) for option in options)
    same = {first: str(tmp_path / "x.svg"), second: f"{tmp_path}/./x.svg"}
    assert "names the same file as" in said_of(name, same)
    if {option.writes for option in options} != {"file"}:
        return  # a folder is neither standard output nor a device
    assert "both write to standard output" in said_of(name, dict.fromkeys(same, "-"))
    assert said_of(name, dict.fromkeys(same, "/dev/null")) == ""


# --- whole commands, with a server that counts what it is asked


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.delenv("PNYX_LLM", raising=False)
    monkeypatch.setenv("PNYX_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.chdir(tmp_path)
    rows = [{"id": "q1", "text": "Is tea healthy?"}, {"id": "q 2", "text": "Is coffee?"}]
    write_rows(tmp_path / "q.jsonl", rows)
    rows = [{"id": "q1", "text": "Is tea healthy?", "description": "Of tea, all that is known."}]
    write_rows(tmp_path / "described.jsonl", rows)
    items = [
        {"id": f"i{n}", "question": "Is tea healthy?", "document": f"Tea is good {n} times.",
         "question_id": "q1" if n < 3 else "q 1", "doc_id": f"d{n}"}
        for n in range(4)
    ]  # fmt: skip
    write_rows(tmp_path / "items.jsonl", items)
    bank = {"query": "Tea", "qid": "q1", "nuggets": [{"text": "A plant.", "importance": "vital"}]}
    (tmp_path / "bank.jsonl").write_text(json.dumps(bank) + "\n")
    (tmp_path / "folder.md").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("annotate define q.jsonl --out q.md", "cannot hold an id with white space"),
        ("annotate define described.jsonl --out q.md", "only id, text and definition"),
        ("annotate define q.jsonl --out folder.md", "folder.md: cannot be written"),
        ("annotate define q.jsonl --out items.jsonl/x", "items.jsonl/x: cannot be written"),
        ("annotate label items.jsonl --out items.jsonl/x", "items.jsonl/x: cannot be written"),
        ("annotate label items.jsonl --annotations-out a.jsonl --qrels-out folder.md",
         "folder.md: cannot be"),
        ("annotate label items.jsonl --annotations-out a.jsonl --qrels-out q.txt",
         "question_id 'q 1' is empty or"),
        ("judge relevance items.jsonl --out items.jsonl/x", "items.jsonl/x: cannot be written"),
        ("perspectives tea? --out folder.md", "folder.md: cannot be written"),
        ("argue x.index tea? --html folder.md", "folder.md: cannot be written"),
        ("argue x.index tea? --md items.jsonl/x", "items.jsonl/x: cannot be written"),
        ("search x.index --topics q.jsonl --rerank --out r.run", "topic 'q 2' is empty"),
        ("nuggets merge bank.jsonl --to ragtime26-nuggets --out b --run-id "
         "a-run-id-that-is-far-too-long", "expected at most 25"),
    ],
)  # fmt: skip
def test_nobody_is_asked_for_what_cannot_be_written(capsys, place, command, said):
    if " x.index" in command:
        build_index(load_example().arguments[:3], place / "x.index")
    with ChatServer() as server:
        asks = command.startswith(("annotate label", "judge", "nuggets merge"))
        status = run(*command.split(), "--judge" if asks else "--llm", server.spec)
        error = capsys.readouterr().err
        assert (status, error.count("\n")) == (2, 1), error
        assert said in error
        assert server.asked() == []


def test_a_definition_of_odd_characters_can_be_written(capsys, place):
    (place / "one.jsonl").write_text('{"id": "q1", "text": "Is tea healthy?"}\n')
    reply = json.dumps({"meaning": "Effects \0of \ud800 tea on health", "examples": ["on sleep"]})
    with ChatServer(reply=reply) as server:
        command = ("annotate", "define", "one.jsonl", "--out", "o.md")
        assert run(*command, "--llm", server.spec) == 0
    assert "Effects \ufffdof \ufffd tea" in (place / "o.md").read_text()
