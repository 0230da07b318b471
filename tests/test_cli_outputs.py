"""Where output goes: to a reader that goes away, deep down, to names that cannot be written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pnyx.judging.store.rows import request_key
from pnyx.judging.store.store import Store
from pnyx.models.chat.types import ChatRequest, Message, Reply

PNYX = Path(sys.executable).with_name("pnyx")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Hold a large and a small corpus and a store."""
    folder = tmp_path_factory.mktemp("outputs")
    lines = [json.dumps({"id": str(n), "text": "Prices rose. " * 20}) for n in range(2000)]
    (folder / "large.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "small.jsonl").write_text(lines[0] + "\n")
    with Store(folder / "s") as store, store.transaction():
        for n in range(500):
            asked = ChatRequest((Message("user", f"{n} " * 300),))
            reply = Reply("yes", "stop", "m", {}, "text")
            store.put(request_key("m", asked), "m", asked, reply)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("files convert large.jsonl --to csv", 0),
        ("files convert small.jsonl --to csv", 0),
        ("store --store s --export -", 0),
        ("--help", 0),
        ("search --help", 0),
        ("files validate small.jsonl", 0),
        ("files convert no-such-file --to csv", 2),
        ("files convert", 2),
    ],
)
@pytest.mark.parametrize("reader", ["head -c1", pytest.param("true", marks=pytest.mark.all)])
def test_a_reader_that_goes_away_is_no_failure(place, tmp_path, arguments, status, reader):
    script = f"({PNYX} {arguments} 2>&1; echo $? > {tmp_path}/status) | {reader}"
    done = subprocess.run(["bash", "-c", script], cwd=place, capture_output=True, check=False)
    assert (tmp_path / "status").read_text() == f"{status}\n"
    assert done.stderr == b""


def line_of(place, *arguments):
    done = subprocess.run(
        [PNYX, *arguments], cwd=place, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    if done.returncode:
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    return done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "files convert small.jsonl --to csv --out",
        pytest.param("index small.jsonl --out", marks=pytest.mark.all),
        pytest.param("demo --files-only --out", marks=pytest.mark.all),
    ],
)
def test_outputs_deep_down_long_names_and_files_in_the_way(place, command):
    deep = "/".join(["deep", *["d"] * 1500])
    try:
        line_of(place, *command.split(), f"{deep}/x")
        assert (place / deep / "x").exists()
    finally:
        # rmtree, and so pytest, calls itself for each level.
        subprocess.run(["rm", "-rf", place / "deep"], check=True)
    assert "File name too long" in line_of(place, *command.split(), "n" * 300)
    assert "File name too long" in line_of(place, *command.split(), "n/" * 3000)
    assert "cannot be written" in line_of(place, *command.split(), "small.jsonl/x")
    if "index" not in command and "demo" not in command:
        assert "No space left" in line_of(place, *command.split(), "/dev/full")
