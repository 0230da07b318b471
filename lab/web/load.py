"""Load test of `pnyx serve` with concurrent users, different questions and mixed requests.

    PNYX_DATA=DATA python lab/web/build.py web.index     # once
    pip install bm25s                                           # the peer
    PNYX_DATA=DATA python lab/web/load.py web.index --users 50 --seconds 45
    ... --write docs/lab/web.md   # updates its section

Each user sends the next question as soon as an answer arrives, so latency is that of a server that
is never idle. Questions are titles of debates and conclusions of arguments that are not in the
index; all requests of a run are different. The users run on the same machine as the server, and use
a part of its CPU time. The exit status is 1 if an answer is not 200.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
from idebate_corpus import SIZE, arguments, topics

sys.path.append(str(Path(__file__).parents[1] / "judging"))

from common import Report
from common import arguments as options_of

HERE = Path(__file__).parent
Ask = Callable[[httpx2.AsyncClient, str], Any]


@dataclass(frozen=True)
class Kind:
    """A kind of request: its share of all requests, and the function that sends it."""

    name: str
    share: float
    ask: Ask


def got(path: str, **params: object) -> Ask:
    return lambda client, question: client.get(path, params={"q": question, **params})


def argued(client: httpx2.AsyncClient, question: str) -> Any:
    return client.post("/v1/argue", json={"question": question, "points": 1})


MIXED = (
    Kind("search (`/v1/search`)", 0.60, got("/v1/search")),
    Kind("page (`/?q=`)", 0.28, got("/")),
    Kind("search by topic (`model=touche`)", 0.10, got("/v1/search", model="touche")),
    Kind("argue (`/v1/argue`, one point)", 0.02, argued),
)


def questions(data: Path, seed: int, *, joined: bool = False) -> Iterator[str]:
    """Yield different questions that are not in the index: single ones, then pairs joined.

    With `joined`, yield only the pairs.
    """
    indexed = {argument.id for argument in arguments(data)}
    others = [
        argument.conclusion
        for argument in arguments(data, sys.maxsize)
        if argument.id not in indexed and len(argument.conclusion.split()) >= 4
    ]
    sentences = list(dict.fromkeys([*topics(data).values(), *others]))
    random.Random(seed).shuffle(sentences)
    if not joined:
        yield from sentences
    for offset in range(1, len(sentences)):
        for position, sentence in enumerate(sentences):
            yield f"{sentence} {sentences[(position + offset) % len(sentences)]}"


@contextlib.contextmanager
def started(command: list[str], stream: str) -> Iterator[str]:
    """Run a server; yield the address that it prints."""
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, env=env, text=True, **{stream: subprocess.PIPE}) as process:
        try:
            output = getattr(process, stream)
            for line in output:
                if match := re.search(r"http://\S+?:\d+", line):
                    threading.Thread(target=output.read, daemon=True).start()
                    yield match[0]
                    return
            raise SystemExit(f"{command}: it never said its address")
        finally:
            process.terminate()


def wait_ready(address: str) -> None:
    while httpx2.get(f"{address}/healthz").json()["status"] != "ok":
        time.sleep(0.5)


async def load(
    address: str,
    kinds: tuple[Kind, ...],
    question_stream: Iterator[str],
    users: int,
    seconds: float,
) -> dict[str, Any]:
    """Let users ask for `seconds`; return times by kind, and errors."""
    times: dict[str, list[float]] = {kind.name: [] for kind in kinds}
    errors: list[str] = []
    started_at = time.monotonic()
    until = started_at + seconds
    limits = httpx2.Limits(max_connections=users, max_keepalive_connections=users)

    async def user(number: int, client: httpx2.AsyncClient) -> None:
        draw = random.Random(number)
        while time.monotonic() < until:
            (kind,) = draw.choices(kinds, [candidate.share for candidate in kinds])
            begun = time.perf_counter()
            try:
                answer = await kind.ask(client, next(question_stream))
                if answer.status_code != 200:
                    errors.append(f"{kind.name}: {answer.status_code} {answer.text[:200]}")
            except httpx2.HTTPError as error:
                errors.append(f"{kind.name}: {error!r}")
            times[kind.name].append(time.perf_counter() - begun)

    async with httpx2.AsyncClient(base_url=address, limits=limits, timeout=600) as client:
        await asyncio.gather(*(user(number, client) for number in range(users)))
    return {"times": times, "errors": errors, "seconds": time.monotonic() - started_at}


def add_rows(report: Report, result: dict[str, Any]) -> None:
    """Add a row for each kind of request, and one for all if there are several."""
    every = [duration for times in result["times"].values() for duration in times]
    kinds = {name: times for name, times in result["times"].items() if times}
    for name, times in {**kinds, **({"all": every} if len(kinds) > 1 else {})}.items():
        p50, p95, p99 = np.percentile(np.array(times) * 1000, [50, 95, 99])
        wrong = [line for line in result["errors"] if name == "all" or line.startswith(name)]
        pace = f"{len(times) / result['seconds']:.1f}"
        figures = (f"{value:,.0f}" for value in (p50, p95, p99))
        report.row(name, f"{len(times):,}", pace, *figures, len(wrong))


COLUMNS = ("request", "answered", "a second", "p50 ms", "p95 ms", "p99 ms", "errors")
NAMES = ("starlette", "uvicorn", "numpy", "onnxruntime", "bm25s")


def _version(name: str) -> str:
    with contextlib.suppress(PackageNotFoundError):
        return version(name)
    return "from elsewhere"


@dataclass(frozen=True)
class Measured:
    """What `load` returned for each run, and the errors of all."""

    mixed: dict[str, Any]
    hybrid: dict[str, Any]
    words: dict[str, Any]
    bare: dict[str, Any]
    errors: list[str]


def measure(index: str, users: int, seconds: float, seed: int = 0) -> Measured:
    """Measure a server of `index`, and the peer; `seconds` mixed, half as long for each kind."""
    data = Path(os.environ["PNYX_DATA"])
    every = questions(data, seed)
    question_stream = itertools.chain([next(every)], every)  # read now, not while users wait
    errors: list[str] = []

    def run(
        address: str, kinds: tuple[Kind, ...], seconds: float, alone: bool = False
    ) -> dict[str, Any]:
        # Compared servers get the same questions in the same order: joined pairs.
        stream = question_stream
        if alone:
            stream = questions(data, seed, joined=True)
            stream = itertools.chain([next(stream)], stream)
        result = asyncio.run(load(address, kinds, stream, users, seconds))
        errors.extend(result["errors"])
        for name, times in result["times"].items():
            print(f"{len(times):,} of {name}", file=sys.stderr)
        return result

    half = seconds / 2
    with started(
        [sys.executable, "-m", "pnyx", "serve", index, "--port", "0"], "stderr"
    ) as address:
        wait_ready(address)
        run(address, (Kind("warm-up", 1.0, got("/v1/search")),), 3)
        mixed = run(address, MIXED, seconds)
        by_both = Kind("Pnyx, hybrid, explained", 1.0, got("/v1/search"))
        hybrid = run(address, (by_both,), half, alone=True)
        by_words = Kind("Pnyx, BM25, explained", 1.0, got("/v1/search", model="bm25"))
        words = run(address, (by_words,), half, alone=True)
    with started([sys.executable, str(HERE / "peer.py")], "stdout") as address:
        peer = Kind("bm25s behind Starlette, bare", 1.0, got("/search", k=10))
        run(address, (peer,), 3)
        bare = run(address, (peer,), half, alone=True)
    return Measured(mixed, hybrid, words, bare, errors)


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("index")
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=45)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    report = Report("web load")
    report.line(", ".join(f"{name} {_version(name)}" for name in NAMES) + ".")
    report.line(f"{SIZE:,} arguments; {options.users} users on the same machine as the server.")
    measured = measure(options.index, options.users, options.seconds, options.seed)
    report.line()
    report.line(f"All kinds mixed, {options.seconds:g} s:")
    report.head(*COLUMNS)
    add_rows(report, measured.mixed)
    report.line()
    report.line(f"Searches alone, {options.seconds / 2:g} s each:")
    report.head(*COLUMNS)
    for result in (measured.hybrid, measured.words, measured.bare):
        add_rows(report, result)
    report.write(options.write)
    print("\n".join(measured.errors[:5]), file=sys.stderr)
    return 1 if measured.errors else 0


if __name__ == "__main__":
    sys.exit(main())
