"""A thousand questions to a misbehaving server in another process: killed, resumed, repeated."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from chat_server import answered, key_of
from command import rows_of
from pnyx.core.errors import printable
from pnyx.judging.answers import tally
from pnyx.judging.store.store import Store


class Trouble(NamedTuple):
    """What becomes of an item: reason (None where it is scored), requests, those of a second run,
    and how many of the items are so."""

    reason: str | None
    requests: int
    again: int
    items: int


TROUBLES = {
    "fenced": Trouble(None, 1, 0, 40),
    "thinking": Trouble(None, 1, 0, 40),
    "429_once": Trouble(None, 2, 0, 8),
    "429_after_once": Trouble(None, 2, 0, 2),
    "429_date_once": Trouble(None, 2, 0, 1),
    "500_once": Trouble(None, 2, 0, 25),
    "503_once": Trouble(None, 2, 0, 8),
    "hang_once": Trouble(None, 2, 0, 2),
    "drip_once": Trouble(None, 2, 0, 2),
    "reset_once": Trouble(None, 2, 0, 8),
    "cut_body_once": Trouble(None, 2, 0, 20),
    "html_once": Trouble(None, 2, 0, 20),
    "prose_unrepaired": Trouble(None, 2, 0, 30),
    "truncated_json_unrepaired": Trouble(None, 2, 0, 30),
    "empty_once": Trouble(None, 2, 0, 20),
    "empty": Trouble("empty", 2, 2, 15),
    "too_long": Trouble("too_long", 1, 1, 15),
    "busy": Trouble("server_error", 6, 6, 5),
    "prose": Trouble("schema", 2, 1, 30),
    "out_of_range": Trouble("schema", 2, 1, 30),
    "refusal": Trouble("refusal", 1, 0, 30),
    "length": Trouble("length", 2, 0, 30),
    "tight": Trouble(None, 2, 0, 30),
    "content_filter": Trouble("content_filter", 1, 0, 30),
}
CONCURRENCY = 4


class Served:
    """A test server in a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.log_path = folder / "served.jsonl"
        command = [sys.executable, str(Path(__file__).with_name("chat_server.py"))]
        command += ["--log", str(self.log_path), *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.spec = self.process.stdout.readline().strip() + "#test"

    def rows(self) -> int:
        """Return how many rows the log has."""
        return self.log_path.read_bytes().count(b"\n") if self.log_path.exists() else 0

    def log(self) -> list[dict[str, Any]]:
        if not self.log_path.exists():
            return []
        lines = self.log_path.read_text().split("\n")
        return [json.loads(line) for line in lines[:-1]]


@contextlib.contextmanager
def served(folder: Path, *options: str) -> Iterator[Served]:
    folder.mkdir()
    server = Served(folder, *options)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


def write_items(path: Path, count: int, troubles: dict[str, Trouble], seed: int) -> None:
    """Write items, the first hundred without trouble, the others shuffled by a seed."""
    marks = [name for name, trouble in troubles.items() for _ in range(trouble.items)]
    marks += [""] * (count - 100 - len(marks))
    random.Random(seed).shuffle(marks)
    with path.open("w") as stream:
        for number, mark in enumerate([""] * 100 + marks):
            text = f"[[{mark}]] Text {number}." if mark else f"Text {number}."
            item = {"id": str(number), "text": text, "statement": "S.", "trouble": mark}
            stream.write(json.dumps(item) + "\n")


def command(folder: Path, spec: str, out: str, store: str, *more: str) -> list[str]:
    arguments = ["judge", "support", str(folder / "items.jsonl"), "--out", str(folder / out)]
    arguments += ["--judge", spec, "--store", str(folder / store), *more]
    return [sys.executable, "-m", "pnyx", *arguments]


def stored_keys(path: Path) -> set[str]:
    """Return what is in a store, as the server's log calls it."""
    with Store(path) as store:
        requests = [row.request for row in store.rows()]
    return {
        key_of(
            [{"role": m.role, "content": printable(m.content)} for m in request.messages],
            request.max_tokens,
        )
        for request in requests
    }


@pytest.mark.all
def test_a_thousand_questions_end_complete_and_are_never_paid_for_twice(tmp_path):
    write_items(tmp_path / "items.jsonl", 1000, TROUBLES, seed=1)
    more = ("--concurrency", "48", "--set", "timeout=30", "--json")
    with served(tmp_path / "server") as server:
        line = command(tmp_path, server.spec, "out", "store.sqlite", *more)
        first = subprocess.run(line, capture_output=True, text=True, check=False)
        log = server.log()
        assert first.returncode == 3, first.stderr
        manifest = json.loads(first.stdout)
        expected = Counter(t.reason for t in TROUBLES.values() for _ in range(t.items) if t.reason)
        assert manifest["counts"]["reasons"] == dict(expected)
        assert manifest["counts"]["asked"] == 1000
        assert manifest["counts"]["scored"] == 1000 - expected.total()
        _check_each_item(rows_of(tmp_path / "out"), log, "requests")
        empty = {row["key"] for row in log if row.get("behaviour") == "empty"}
        often = Counter(answered(log))  # an empty reply is asked for once more, nothing else is
        assert {key: n for key, n in often.items() if n > 1} == dict.fromkeys(empty, 2)
        _check_spending(manifest)

        again = subprocess.run(line, capture_output=True, text=True, check=False)
        assert again.returncode == 3, again.stderr
        later = server.log()[len(log) :]
        _check_each_item(rows_of(tmp_path / "out"), later, "again")
        assert json.loads(again.stdout)["counts"]["scored"] == manifest["counts"]["scored"]

        before = (tmp_path / "out" / "answers.jsonl").read_bytes()
        asked = len(server.log())
        third = subprocess.run([*line, "--from-store"], capture_output=True, check=False)
        assert third.returncode == 3
        assert (tmp_path / "out" / "answers.jsonl").read_bytes() == before
        assert len(server.log()) == asked


def _check_each_item(rows: list[dict[str, Any]], log: list[dict[str, Any]], run: str) -> None:
    """Check the outcome of each item, and how often each trouble was met."""
    for row in rows:
        trouble = TROUBLES.get(row["trouble"])
        wanted = trouble.reason if trouble else None
        found = row["unscored"]
        assert (found and found.partition(":")[0]) == wanted, row
        repaired = (row["notes"] or {}).get("repaired")
        assert repaired is (
            True
            if row["trouble"].endswith("_unrepaired")
            else False
            if wanted == "schema"
            else None
        )
    assert tally(rows)["asked"] == len(rows)
    met = Counter(row["item"] for row in log if row["event"] == "asked")
    plain = len(rows) - sum(trouble.items for trouble in TROUBLES.values())
    expected = {name: getattr(t, run) * t.items for name, t in TROUBLES.items()}
    expected[""] = plain if run == "requests" else 0
    assert dict(met) == {name: count for name, count in expected.items() if count}


def _check_spending(manifest: dict[str, Any]) -> None:
    (model,) = manifest["models"]
    tokens = manifest["tokens"]
    assert model["spent"]["prompt_tokens"] == tokens["prompt_tokens"]
    assert 0 < tokens["cached_tokens"] < tokens["prompt_tokens"]
    passing = sum(
        t.items
        for name, t in TROUBLES.items()
        if name.endswith("_once") and not t.reason and name != "empty_once"
    )
    assert model["retries"] == passing + 5 * TROUBLES["busy"].items


KILLED = {
    name: TROUBLES[name]._replace(items=10)
    for name in (
        "fenced",
        "429_once",
        "500_once",
        "reset_once",
        "prose_unrepaired",
        "refusal",
        "tight",
    )
}


@pytest.mark.all
def test_killed_six_times_it_ends_with_the_same_answers_and_asks_nothing_twice(tmp_path):
    write_items(tmp_path / "items.jsonl", 400, KILLED, seed=2)
    with served(tmp_path / "undisturbed") as server:
        line = command(tmp_path, server.spec, "out", "a.sqlite")
        assert subprocess.run(line, capture_output=True, check=False).returncode == 3
    dice = random.Random(3)
    kills: list[tuple[float, set[str]]] = []
    with served(tmp_path / "killed", "--delay", "0.03") as server:
        line = command(
            tmp_path, server.spec, "killed-out", "b.sqlite", "--concurrency", str(CONCURRENCY)
        )
        for _ in range(6):
            until = server.rows() + dice.randint(1, 90)
            process = subprocess.Popen(line, stderr=subprocess.PIPE)
            while server.rows() < until:
                assert process.poll() is None
                time.sleep(0.02)
            time.sleep(dice.random() * 0.1)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills.append((time.monotonic(), stored_keys(tmp_path / "b.sqlite")))
        assert subprocess.run(line, capture_output=True, check=False).returncode == 3
        log = server.log()
    ours = (tmp_path / "killed-out" / "answers.jsonl").read_bytes()
    assert ours == (tmp_path / "out" / "answers.jsonl").read_bytes()
    assert len(kills[-1][1]) < 400, "the last kill came before the end"
    for killed, kept in kills:
        later = {row["key"] for row in log if row["event"] == "asked" and row["at"] > killed}
        assert not kept & later, "what is in the store is never asked again"
    # What was under way as the client died may have been read and not kept; nothing else. The
    # server may end a reply after the client did: it answered what nobody read.
    lost: set[str] = set()
    under_way: set[str] = set()
    for killed, kept in kills:
        asked, read = (
            {r["key"] for r in log if r["event"] == event and r["at"] < killed}
            for event in ("asked", "answered")
        )
        assert len(read - kept - lost) <= CONCURRENCY
        lost |= read - kept
        under_way |= asked - kept
    assert {key for key, count in Counter(answered(log)).items() if count > 1} <= under_way


@pytest.mark.all
def test_ctrl_c_says_how_to_resume_and_leaves_only_the_store(tmp_path):
    write_items(tmp_path / "items.jsonl", 300, {}, seed=4)
    with served(tmp_path / "server", "--delay", "0.05") as server:
        line = command(tmp_path, server.spec, "out", "store.sqlite")
        process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
        while server.rows() < 100:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=120)
        assert process.returncode == 130
        cost, interrupted = error.splitlines()
        assert cost.startswith("pnyx: cost: ")
        assert interrupted == "pnyx: interrupted; the same command resumes where it stopped"
        files = {path.name for path in tmp_path.iterdir()}
        assert {"items.jsonl", "server", "store.sqlite"} <= files
        assert all(f.startswith("store.sqlite") for f in files - {"items.jsonl", "server"})
        kept = stored_keys(tmp_path / "store.sqlite")
        before = time.monotonic()
        assert subprocess.run(line, check=False).returncode == 0
        later = {r["key"] for r in server.log() if r["event"] == "asked" and r["at"] > before}
    assert len(kept) >= 20
    assert not kept & later
