"""The examples in help: each command, run in order, prints what its help shows."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from command import called
from pnyx.core.flag_help import FLAG_HELP
from pnyx.core.rooms import room_commands

EXAMPLE = re.compile(r"^  Example(, after that of [^:]+)?:\n(.*?)\n\n", re.DOTALL | re.MULTILINE)
SERVERS = ("serve", "label", "view")
"""Commands that print an address and run until Ctrl-C."""
SLOW = (
    "",  # pnyx --help itself
    *("argue", "audit", "audit card", "audit run", "check", "compare retrievers", "files merge"),
    *("files repeat", "index", "judge calibrate", "judge report", "label", "label sample"),
    *("measure", "measure perspectives", "measure report", "nuggets", "nuggets assign"),
    *("nuggets create", "nuggets merge", "perspectives", "report", "serve", "store", "view"),
)
"""Commands whose example runs for seconds: vectors, many judgements, or a server."""
WITHOUT = {"annotate define": "a language model that can define"}
"""Command -> what its example needs, which is why it shows no output."""


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield each command without subcommands below it, and each subcommand, with its words."""

    def walk(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
        yield name, command
        below = command.commands if isinstance(command, click.Group) else {}
        for word, part in (*below.items(), *getattr(command, "words", {}).items()):
            yield from walk(f"{name} {word}", part)

    for verb, door in room_commands().items():
        yield from walk(verb, door.load())


COMMANDS = dict(commands())


def help_of(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    status, out, _ = called(capsys, *name.split(), "--help")
    assert status == 0
    return out


def example_of(name: str, capsys: pytest.CaptureFixture[str]) -> tuple[list[str], str]:
    """Return the commands whose examples come first, and the example's text."""
    match = EXAMPLE.search(help_of(name, capsys))
    assert match, f"pnyx {name} --help has no example"
    before = re.split(", | and ", (match[1] or "").partition(" of ")[2])
    return [name.removeprefix("pnyx ") for name in before if name], match[2]


def steps(text: str) -> list[tuple[str, list[str]]]:
    """Return the commands of an example, each with the lines that it shows."""
    joined = re.sub(r" \\\n +", " ", text)
    parts = re.split(r"^\$ ", textwrap.dedent(joined), flags=re.MULTILINE)[1:]
    return [(lines[0], lines[1:]) for lines in (part.rstrip("\n").split("\n") for part in parts)]


def holds(printed: str, shown: list[str]) -> bool:
    """Return whether lines are printed in order; `...` stands for other lines, or the rest of one.

    The first line need not be the first that is printed, and lines may follow the last.
    """
    lines = iter(printed.splitlines())
    skips = True
    for line in shown:
        start, cut, _ = line.partition("...")
        if line == "...":
            skips = True
            continue
        candidates = lines if skips else [next(lines, "")]
        if not any(text.startswith(start) if cut else text.rstrip() == line for text in candidates):
            return False
        skips = False
    return True


def run(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command of an example, and return what it prints."""
    words = shlex.split(command)
    if words[0] != "pnyx":
        subprocess.run(["bash", "-ec", command], check=True)
        return ""
    if words[1] in SERVERS and " ".join(words[1:3]) not in COMMANDS:
        return served(words[1:])
    status, out, err = called(capsys, *words[1:])
    assert status in {0, 3}, (command, err)
    return err + out


def served(words: list[str]) -> str:
    """Start a server, and return what it prints until it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pnyx", *words],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stderr
    printed = ""
    for line in process.stderr:
        printed += re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8321", line)
        if "http://" in line:
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    return printed


def run_example(name: str, capsys: pytest.CaptureFixture[str], ran: set[str]) -> int:
    """Run the examples that come first, then that of a command; return the lines compared.

    `ran` are the commands that have run before, which are not run again.
    """
    before, text = example_of(name, capsys)
    for other in before:
        run_example(other, capsys, ran)
    compared = 0
    for command, shown in steps(text):
        if command in ran:
            continue
        ran.add(command)
        printed = run(command, capsys)
        assert holds(printed, shown), f"$ {command}\n{printed}"
        compared += sum(line != "..." for line in shown)
    return compared


def test_what_differs_is_noticed() -> None:
    assert holds("a\nb\nc d\n", ["a", "...", "c ..."])
    assert not holds("a\nb\nc d\n", ["a", "c ..."])
    assert not holds("a\nb\n", ["b", "a"])
    assert not holds("a b\n", ["a"])
    assert steps("$ x \\\n    y\n1\n$ z") == [("x y", ["1"]), ("z", [])]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.all) if n in SLOW else n for n in ("", *COMMANDS)]
)
def test_the_example_in_help_prints_what_it_shows(
    name: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if name == "store":
        pytest.importorskip("xllamacpp")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PNYX_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.delenv("PNYX_LLM", raising=False)
    if name in WITHOUT:
        assert not any(shown for _, shown in steps(example_of(name, capsys)[1]))
        return
    assert run_example(name, capsys, set()) >= 1


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_a_screen(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = help_of(name, capsys).splitlines()
    assert len(lines) <= 50
    assert [line for line in lines if len(line) > 80] == []


def test_details_are_shown_by_help_all(capsys: pytest.CaptureFixture[str]) -> None:
    short = help_of("judge", capsys)
    status, full, _ = called(capsys, "judge", "--help-all")
    assert status == 0
    assert "needs-citation" not in short
    assert "needs-citation" in full
    assert full.startswith(short.partition("\nCommands:")[0])


def test_a_shared_help_text_is_of_several_commands() -> None:
    """A text that one command alone shows belongs to its spec."""
    uses = Counter(
        flag
        for command in COMMANDS.values()
        for flag in {flag for parameter in command.params for flag in parameter.opts}
    )
    assert [flag for flag in FLAG_HELP if uses[flag] < 2] == []
