"""Servers and runs under load for an hour (`make test-soak`), or for seconds (`make test-rest`).

Nothing here is timed: what counts is that no answer is an error, that memory, threads and open
files do not grow once the caches are full, and that nothing that was confirmed is lost.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

pytest.importorskip("starlette", reason="starlette is not installed")

from asking_fixture import example_index
from chat_server import ChatServer
from command import rows_of, write_rows
from label_fixture import Person, item_rows, labels_in
from page_fixture import served_by_command
from pnyx.formats.bundled_example import load_example
from test_gone_clients import send, until

MINUTES = float(os.environ.get("PNYX_SOAK_MINUTES", "0.3"))
FULL = MINUTES >= 20
"""Whether the caches are full after a third of the time: only then must memory be flat."""

pytestmark = [pytest.mark.slow, pytest.mark.all, pytest.mark.soak]


def memory_of(pid: int) -> float:
    """Return the memory of a process that belongs to no file, in MB."""
    (kilobytes,) = re.findall(r"RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text("ascii"))
    return int(kilobytes) / 1024


def threads_of(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def files_of(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


class Crowd:
    """Clients that act at random until the time is over; `errors` has what went wrong."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds
        self.acts: Counter[str] = Counter()
        self.errors: list[str] = []
        self._threads: list[threading.Thread] = []

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.end or bool(self.errors)

    def add(self, act: Callable[[random.Random], str], seed: int) -> None:
        """Let one more client act; `act` returns the name of what it did."""

        def live() -> None:
            draw = random.Random(seed)
            while not self.over:
                try:
                    self.acts[act(draw)] += 1
                except Exception as error:
                    self.errors.append(f"client {seed}: {error!r}")

        self._threads.append(threading.Thread(target=live, daemon=True))
        self._threads[-1].start()

    def wait(self, watch: Callable[[], None]) -> None:
        """Call `watch` 60 times while the clients act, and wait for their end."""
        begun = time.monotonic()
        for number in range(1, 61):
            until_then = begun + (self.end - begun) * number / 60
            while not self.over and time.monotonic() < until_then:
                time.sleep(0.02)
            watch()
        for thread in self._threads:
            thread.join(300)
        assert self.errors == []


def check_flat(sizes: Sequence[float], what: str, more: float) -> None:
    """Compare the last third of the measurements with the second, if the time is long enough."""
    third = len(sizes) // 3
    before, after = max(sizes[third:-third]), max(sizes[-third:])
    assert not FULL or after <= before * 1.03 + more, f"{what}: {before:.1f}, then {after:.1f}"


# -- pnyx serve ------------------------------------------------------------------------------------

BAD: Mapping[str, Mapping[str, object]] = {
    "/v1/search": {"q": "coal", "k": 0},
    "/v1/perspectives": {},
    "/nothing/there": {},
    "/doc/no-such-document": {},
}


def words_of_example() -> list[str]:
    return sorted({w for a in load_example().arguments for w in re.findall(r"[a-z]{4,}", a.text)})


def visitor(client: httpx2.Client, words: Sequence[str]) -> Callable[[random.Random], str]:
    """Return what one visitor does next: mostly searches; some visitors leave at once."""

    def question(draw: random.Random) -> str:
        return f"Should {' '.join(draw.sample(words, draw.randint(2, 8)))}?"

    def search(draw: random.Random) -> httpx2.Response:
        model = draw.choice(["auto", "bm25", "dirichlet", "touche", "dense", "hybrid"])
        values = {"q": question(draw), "model": model, "k": draw.choice([1, 10, 50])}
        return client.get("/v1/search", params=values)

    def items(draw: random.Random) -> dict[str, Any]:
        texts = (question(draw) for _ in range(draw.randint(1, 3)))
        rows = [{"id": f"{n}", "text": t, "statement": "Yes."} for n, t in enumerate(texts)]
        return {"task": "support", "items": rows}

    def perspectives(draw: random.Random) -> httpx2.Response:
        return client.get("/v1/perspectives", params={"q": question(draw)})

    def argue(draw: random.Random) -> httpx2.Response:
        return client.post("/v1/argue", json={"question": question(draw), "points": 1})

    acts: Mapping[str, tuple[int, Callable[[random.Random], httpx2.Response]]] = {
        "search": (50, search),
        "page": (24, lambda draw: client.get("/", params={"q": question(draw)})),
        "perspectives": (
            4,
            lambda draw: client.get("/v1/perspectives", params={"q": question(draw)}),
        ),
        "argue": (2, argue),
        "judge": (4, lambda draw: client.post("/v1/judge", json=items(draw))),
    }

    def leave(draw: random.Random) -> None:
        path = f"/v1/search?q={'+'.join(draw.sample(words, 4))}"
        requests = [("GET", path, None), ("POST", "/v1/judge", items(draw))]
        connection = send(str(client.base_url), *draw.choice(requests))
        time.sleep(draw.choice([0.0, 0.001, 0.02]))
        connection.close()

    def act(draw: random.Random) -> str:
        kind = draw.choices(
            [*acts, "bad", "leave"], [*(share for share, _ in acts.values()), 6, 10]
        )[0]
        if kind == "leave":
            leave(draw)
        elif kind == "bad":
            path = draw.choice(list(BAD))
            assert client.get(path, params=BAD[path]).status_code in (404, 422), path
        else:
            response = acts[kind][1](draw)
            if response.status_code == 503:
                return f"{kind}: busy"
            assert response.status_code == 200, (
                f"{kind}: {response.status_code} {response.text[:300]}"
            )
        return kind

    return act


def test_a_server_stays_as_it_is_under_load(tmp_path, own_place):
    env = {"PNYX_STORE": str(tmp_path / "store.sqlite"), "PNYX_LLM": "", "OMP_NUM_THREADS": "1"}
    words, sizes, threads = words_of_example(), [], []
    server = served_by_command(["serve", str(example_index())], **env)
    with contextlib.ExitStack() as stack, server as (address, process):
        until(lambda: httpx2.get(f"{address}/healthz").json()["status"] == "ok")
        idle = files_of(process.pid)
        crowd = Crowd(60 * MINUTES)
        for seed in range(12):
            client = stack.enter_context(httpx2.Client(base_url=address, timeout=300))
            crowd.add(visitor(client, words), seed)

        def watch() -> None:
            sizes.append(memory_of(process.pid))
            threads.append(threads_of(process.pid))

        crowd.wait(watch)
        assert all(crowd.acts[kind] for kind in ("search", "page", "judge", "bad", "leave"))
        check_flat(sizes, "MB", 8)
        check_flat(threads, "threads", 0)
        # Each client of this process still has its connection.
        assert files_of(process.pid) <= idle + 12 + 16
        assert httpx2.get(f"{address}/v1/search", params={"q": "coal"}).status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 130


# -- pnyx label ------------------------------------------------------------------------------------


class Annotator:
    """Somebody who answers, changes answers, reads, and leaves; remembers what was confirmed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.confirmed: dict[str, bool] = {}
        self.unclear: dict[str, set[bool | None]] = defaultdict(set)
        """Item -> the values that were sent when the server ended; None for none."""
        self.address = ""
        self._person: Person | None = None

    def act(self, draw: random.Random, address: str) -> str:
        try:
            if self._person is None or self.address != address:
                self.address, self._person = address, Person(address, self.name)
            return self._answer(draw, self._person)
        except httpx2.HTTPError:  # the server was killed: see where it is when it is back
            self._person = None
            return "cut off"

    def _answer(self, draw: random.Random, person: Person) -> str:
        number = draw.randint(1, ITEMS)
        person.see(f"/item/{number}")
        assert person.page.status_code == 200
        if draw.random() < 0.3:
            assert person.see(draw.choice(["/items", "/next", "/organise"])).status_code in (
                200,
                403,
            )
            return "read"
        value, item = draw.random() < 0.5, f"i{number}"
        before = self.confirmed.get(item)
        self.unclear[item] |= {value, before}
        answer = person.send(0 if value else 1, path=f"/item/{number}")
        assert answer.status_code == 200, answer.text[:300]
        self.confirmed[item] = value
        del self.unclear[item]
        return "answer"


ITEMS = 60


def test_labels_that_were_confirmed_are_there_after_kills(tmp_path):
    items = write_rows(tmp_path / "items.jsonl", item_rows("support", ITEMS))
    command = ["label", "support", items, "--out", str(tmp_path / "labels.jsonl")]
    people, draw = [Annotator(f"p{n}") for n in range(6)], random.Random(1)
    crowd, address, sizes = Crowd(60 * MINUTES), [""], []
    for seed, annotator in enumerate(people):

        def act(chance: random.Random, annotator: Annotator = annotator) -> str:
            if not address[0]:
                time.sleep(0.01)
                return "waited"
            return annotator.act(chance, address[0])

        crowd.add(act, seed)
    half = crowd.end - 30 * MINUTES
    while not crowd.over:
        with served_by_command(command) as (address[0], process):
            kill_at = time.monotonic() + draw.uniform(1, 4)
            while not crowd.over and (time.monotonic() < kill_at or time.monotonic() > half):
                if time.monotonic() > half:
                    sizes.append(memory_of(process.pid))
                    time.sleep(30 * MINUTES / 60)
                time.sleep(0.02)
            if not crowd.over:
                address[0] = ""
                os.kill(process.pid, signal.SIGKILL)
                process.wait(120)
            else:
                crowd.wait(lambda: None)
    assert crowd.errors == []
    assert crowd.acts["answer"] > 0
    check_flat(sizes, "MB", 8)
    check_labels(tmp_path, people)


def check_labels(folder: Path, people: Sequence[Annotator]) -> None:
    """Compare the file of labels with what each annotator saw confirmed."""
    labels = {(row["annotator"], row["id"]): row["value"] for row in labels_in(folder)}
    for annotator in people:
        for number in range(1, ITEMS + 1):
            item = f"i{number}"
            value = labels.get((annotator.name, item))
            allowed = annotator.unclear.get(item) or {annotator.confirmed.get(item)}
            assert value in allowed, (annotator.name, item, value, allowed)


# -- a judging run ---------------------------------------------------------------------------------

BRIEF = ("500", "503", "429", "reset", "cut_body", "html", "empty", "truncated_json", "prose")
NEVER = ("prose", "refusal")
UNREADABLE = (*NEVER, "empty_once", "truncated_json_once", "prose_once")
FAULTS = (*(f"{fault}_once" for fault in BRIEF), *NEVER)
"""What the server does to some of the items; the last two are never readable."""


def faulty_rows(draw: random.Random, count: int, name: str) -> list[dict[str, str]]:
    def text(number: int) -> str:
        mark = f" [[{draw.choice(FAULTS)}]]" if draw.random() < 0.3 else ""
        return f"Fare {number} of {name} fell.{mark}"

    return [
        {"id": f"{n}", "text": text(n), "statement": "Buses are cheap."}
        for n in range(1, count + 1)
    ]


def test_a_run_with_faults_and_kills_asks_nothing_twice(tmp_path, monkeypatch):
    monkeypatch.setenv("PNYX_STORE", str(tmp_path / "store.sqlite"))
    end, draw, kills = time.monotonic() + 60 * MINUTES, random.Random(2), 0
    concurrency, rounds = 8, 0
    with ChatServer(delay=0.01) as server:
        while time.monotonic() < end or not kills:
            rounds += 1
            rows = faulty_rows(draw, 150, f"town {rounds}")
            items, out = write_rows(tmp_path / f"{rounds}.jsonl", rows), tmp_path / f"r{rounds}"
            command = [sys.executable, "-m", "pnyx", "judge", "support", items, "--out", str(out)]
            command += ["--judge", server.spec, "--concurrency", str(concurrency)]
            cut_off, before = 0, len(server.answered())
            while True:
                with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        wait = draw.uniform(0.5, 3) if cut_off < 4 else None
                        process.communicate(timeout=wait)
                    if process.poll() is not None:
                        break
                    process.kill()
                    process.communicate()
                cut_off += 1
                time.sleep(0.1)  # the server finishes what it was answering
            kills += cut_off
            assert process.returncode == (3 if any(never(row) for row in rows) else 0)
            answers = {row["id"]: row for row in rows_of(out)}
            assert list(answers) == [row["id"] for row in rows]
            unscored = {name for name, answer in answers.items() if answer["unscored"]}
            assert unscored == {row["id"] for row in rows if never(row)}
            # A reply is asked for again if it was on its way when the process was killed; one that
            # cannot be read also by the next run, and an empty one at once.
            unreadable = {row["key"] for row in server.asked() if row["item"] in UNREADABLE}
            counts = Counter(server.answered()[before:])
            again = sum(count - 1 for key, count in counts.items() if key not in unreadable)
            assert again <= cut_off * concurrency
            assert all(counts[key] <= 2 + cut_off for key in unreadable)


def never(row: Mapping[str, str]) -> bool:
    """Whether no answer about an item can be read."""
    return any(f"[[{fault}]]" in row["text"] for fault in NEVER)
