"""The command line in this process, and files of rows: what the tests of many verbs need."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from chat_server import ChatServer


def run(*arguments: object) -> int:
    """Run `pnyx ARGUMENTS`; return its exit status."""
    from pnyx.cli import main

    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    return int(ended.value.code or 0)


def runner(*verb: str) -> Callable[..., int]:
    """Return a function that runs `pnyx VERB ARGUMENTS` and returns its exit status."""
    return lambda *arguments: run(*verb, *arguments)


def called(capsys: Any, *arguments: object) -> tuple[int, str, str]:
    """Run `pnyx ARGUMENTS`; return its exit status, stdout and stderr."""
    capsys.readouterr()  # what was printed before is not of this command
    return (run(*arguments), *capsys.readouterr())


def caller(*verb: str) -> Any:
    """Return a fixture, `called` for one verb."""

    @pytest.fixture
    def call(capsys: Any) -> Callable[..., tuple[int, str, str]]:
        return lambda *arguments: called(capsys, *verb, *arguments)

    return call


def printed(capsys: Any, *arguments: object, code: int = 0) -> Any:
    """Return what `pnyx ARGUMENTS` printed (out, err), which must end with the exit status."""
    assert run(*arguments) == code
    return capsys.readouterr()


def refuser(*verb: str) -> Callable[..., str]:
    """Return a function that holds a refusal to one printable line and returns it."""

    def refused(capsys: Any, *arguments: object) -> str:
        assert run(*verb, *arguments) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("pnyx: ")
        assert printed.err.count("\n") == 1
        assert printed.err.rstrip("\n").isprintable()
        return str(printed.err)

    return refused


def write_rows(path: str | Path, rows: Iterable[Mapping[str, Any]]) -> str:
    """Write one JSON object a line, in a folder that is made if need be; return the path."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def rows_of(path: str | Path) -> list[dict[str, Any]]:
    """Read what stands in a file of one JSON object a line, or in the answers of a folder."""
    path = Path(path)
    path = path / "answers.jsonl" if path.is_dir() else path
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def wait_for(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def killed_and_run_again(
    server: ChatServer,
    arguments: Sequence[str],
    *,
    after: int,
    of: int,
    concurrency: int,
    status: int = 0,
    killed: Callable[[int], object] = lambda _: None,
) -> None:
    """Kill `pnyx ARGUMENTS` once `after` of `of` questions are answered, and run it to its end.

    Only what was under way at the kill, and so not yet stored, may be asked twice. `killed` is
    called between, with the number of answers in the store.
    """
    from pnyx.judging.store.store import Store

    command = [sys.executable, "-m", "pnyx", *arguments, "--judge", server.spec]
    command += ["--concurrency", str(concurrency)]
    with subprocess.Popen(command) as process:
        wait_for(lambda: len(server.answered()) >= after)
        process.send_signal(signal.SIGKILL)
    time.sleep(0.2)  # the server finishes what it was answering
    with Store() as store:
        stored = len(store)
    answered = len(server.answered())
    assert after - concurrency <= stored < of
    killed(stored)
    server.delay = 0
    assert subprocess.run(command, check=False, capture_output=True).returncode == status
    counts = Counter(server.answered())
    assert len(counts) == of
    assert counts.total() - of == answered - stored <= concurrency
