"""Named pipes and sockets that commands find in folders: none is waited for."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from command import caller, write_rows
from pnyx.core.files import own_folder
from pnyx.core.folders import file_in

call = caller()
Call: TypeAlias = Callable[..., tuple[int, str, str]]

LABELS = ("--labels", "gold.jsonl")
JUDGE = ("judge", "support", "items.jsonl", "--judge", "gold.jsonl")


@pytest.fixture(autouse=True)
def _never_waits() -> Iterator[None]:
    """End a test that waits for somebody to write to a pipe, which nobody does."""

    def fail(*_: Any) -> None:
        raise AssertionError("waited for a named pipe")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(120)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def folder(own_place: None, tmp_path: Path, call: Call) -> Path:
    """Hold results `R`, shares `s1` and `s2`, a trial `S` and annotations."""
    items = [{"id": f"i{n}", "text": f"Text {n}.", "statement": "It is."} for n in range(4)]
    write_rows("items.jsonl", items)
    write_rows("gold.jsonl", [{"id": f"i{n}", "value": n % 2 == 0} for n in range(4)])
    assert call(*JUDGE, "--out", "R")[0] == 0
    for n in "12":
        assert call(*JUDGE, "--shard", f"{n}/2", "--out", f"s{n}")[0] == 0
    return tmp_path


def put_pipe(path: str | Path) -> None:
    Path(path).unlink(missing_ok=True)
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("pipe", "command"),
    [
        ("R/answers.jsonl", ("measure", "R", *LABELS)),
        ("R/measures.json", ("measure", "R", *LABELS)),
        ("R/answers.jsonl", ("check", "R", *LABELS)),
        ("R/answers.jsonl", ("audit", "card", "R", "--out", "card.md")),
        ("R/answers.jsonl", ("label", "sample", "R", "--out", "drawn")),
        ("R/answers.jsonl", ("judge", "support", "items.jsonl", "--judge", "R", "--out", "new")),
        ("R/answers.jsonl", (*JUDGE, "--out", "R")),
        ("R/summary.json", (*JUDGE, "--out", "R")),
        ("R/reports.jsonl", ("measure", "report", "R")),
        ("s1/answers.jsonl", ("files", "merge", "s1", "s2", "--out", "new")),
        ("s1/reports.jsonl", ("files", "merge", "s1", "s2", "--out", "new")),
    ],
)
def test_a_pipe_in_a_results_folder_is_refused_in_one_line(
    folder: Path, pipe: str, command: tuple[str, ...], call: Call
) -> None:
    put_pipe(pipe)
    status, out, err = call(*command)
    assert (status, out) == (2, "")
    assert err == f"pnyx: {pipe}: found a named pipe, expected a file\n"
    assert not {"new", "drawn", "card.md"} & {entry.name for entry in folder.iterdir()}


def test_a_pipe_in_place_of_a_manifest_is_not_waited_for(folder: Path, call: Call) -> None:
    put_pipe("R/manifest.json")
    assert call("measure", "R", *LABELS)[0] == 0
    put_pipe("annotations.jsonl.manifest.json")
    write_rows("pairs.jsonl", [{"id": "i0", "question": "Buses?", "document": "Cheap."}])
    status, _, err = call(
        *("annotate", "label", "pairs.jsonl", "--judge", "gold.jsonl"),
        *("--annotations-out", "annotations.jsonl"),
    )
    assert (status, "json: found a named pipe" in err) == (2, True)
    (folder / "new.index").mkdir()
    put_pipe("new.index/manifest.json")
    assert call("index", "pairs.jsonl", "--out", "new.index")[0] == 2
    assert call("index", "new.index", "--out", "other")[0] == 2


def test_a_pipe_among_the_answers_of_a_run_that_was_interrupted(folder: Path, call: Call) -> None:
    partial = folder / "R2" / "answers.jsonl.partial"
    partial.mkdir(parents=True)
    put_pipe(partial / "answers.jsonl")
    status, _, err = call(*JUDGE, "--out", "R2")
    assert status == 2
    assert (
        err == "pnyx: R2/answers.jsonl.partial/answers.jsonl: found a named pipe, expected a file\n"
    )


def test_view_passes_over_pipes_and_sockets(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PNYX_CACHE", str(folder / "cache"))
    (folder / "v").mkdir()
    put_pipe("v/answers.jsonl")
    status, out, err = call("view", "v", "--json")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "v: holds no results that pnyx writes" in err
    for name in ("reports.jsonl", "items.jsonl", "other.json", "run.trec"):
        put_pipe(f"R/{name}")
    monkeypatch.chdir(folder / "R")  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("labels.jsonl")
        monkeypatch.chdir(folder)
        status, out, err = call("view", "R", "--json")
    assert (status, err) == (0, "")
    assert out.count('"path"') == 1
    status, _, err = call("view", "v/answers.jsonl", "--json")
    assert (status, "expected a file or a folder of results" in err) == (2, True)


def test_a_file_of_a_folder_is_a_file_or_a_link_to_one(tmp_path: Path) -> None:
    from pnyx.core.errors import InputError

    assert file_in(tmp_path, "a") is None
    (tmp_path / "a").write_text("")
    (tmp_path / "b").symlink_to("a")
    assert file_in(tmp_path, "b") == tmp_path / "b"
    (tmp_path / "c").symlink_to(os.devnull)
    with pytest.raises(InputError, match="c: found a device, expected a file"):
        file_in(tmp_path, "c")
    put_pipe(tmp_path / "d")
    shutil.copy(tmp_path / "a", tmp_path / "manifest.json")
    with pytest.raises(InputError, match="found a device"):
        own_folder(tmp_path, {"manifest.json"}, "of ours")
    (tmp_path / "c").unlink()
    with pytest.raises(InputError, match="d: found a named pipe"):
        own_folder(tmp_path, {"manifest.json"}, "of ours")
