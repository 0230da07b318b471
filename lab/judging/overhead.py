"""Overhead of clients on top of the model: the judge engine and its peers, on the same server.

    pip install pnyx
    python lab/judging/overhead.py                          # about 6 minutes
    python lab/judging/overhead.py --write docs/lab/judge-engine.md
    python lab/judging/overhead.py --peers pnyx minima-llm  # these only

A server in its own process answers at once. Each client asks it the same distinct questions, with
the same prompts and the same concurrency limit, and has to parse the same verdict from JSON. A run
counts only if every question got its verdict and the server saw exactly as many calls. Each client
runs in its own process and environment; peers are installed from PyPI into a temporary folder, at
the pinned versions below. The first run is a warm-up; the report has the medians of the others. CPU
is that of the client's process with all threads.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import Report, Server, arguments, make_items, run_client, serving, write_work

TIMEOUT = 900.0


@dataclass(frozen=True)
class Peer:
    """One row: a client of `clients.py`, its packages, and what it does besides asking.

    Attributes:
        label: its displayed name.
        requirements: packages to install with pip; empty to use Pnyx's own environment.
        does: rendering, schema, parsing, storage, concurrency.
        share: share of the questions to ask; slow clients get fewer.
    """

    label: str
    requirements: tuple[str, ...]
    does: str
    share: float = 1.0


_DEEPEVAL = ("deepeval==4.3.1", "openai==3.54.0")
# ragas 0.4.3 does not import with langchain-community from 0.4 on.
_RAGAS = (
    "ragas==0.4.3",
    "instructor==1.3.2",
    "openai==1.109.1",
    "langchain==0.3.30",
    "langchain-core==0.3.86",
    "langchain-community==0.3.31",
    "langchain-openai==0.3.35",
)

PEERS: dict[str, Peer] = {
    "pnyx": Peer(
        "pnyx.ask, LlmJudge, store on disk",
        (),
        "renders the prompt, asks for the JSON schema, validates strictly, keeps the whole reply "
        "(SQLite, committed before it counts), learns how many calls at once",
    ),
    "minima-llm": Peer(
        "minima-llm, run_batched, cache on",
        ("minima-llm==0.2.8",),
        "sends the JSON schema, keeps the reply (SQLite), json.loads; a thread and a new "
        "connection for each call; fixed concurrency",
    ),
    "deepeval": Peer(
        "deepeval, evaluate(), one metric",
        _DEEPEVAL,
        "one user message, no schema sent, pydantic, its test-run files, fixed concurrency",
        0.1,
    ),
    "deepeval-model": Peer(
        "deepeval, LocalModel.a_generate alone",
        _DEEPEVAL,
        "one user message, no schema sent, pydantic; keeps nothing; fixed concurrency",
        0.1,
    ),
    "ragas": Peer(
        "ragas, llm_factory, disk cache",
        _RAGAS,
        "one user message with the schema in words, pydantic, keeps the verdict (diskcache, "
        "pickle), fixed concurrency",
        0.5,
    ),
    "openai": Peer(
        "bare openai SDK",
        ("openai==3.54.0",),
        "sends the JSON schema, json.loads; keeps nothing; fixed concurrency",
    ),
    "httpx2": Peer(
        "bare httpx2",
        (),
        "sends the JSON schema, json.loads; keeps nothing; fixed concurrency",
    ),
}


def environment(peer: Peer, folder: Path) -> str:
    """Return the interpreter of a peer's environment, which is created on first use.

    Raises:
        RuntimeError: pip cannot install it; the message is pip's last line.
    """
    if not peer.requirements:
        return sys.executable
    home = folder / peer.requirements[0]
    python, done_mark = str(home / "bin" / "python"), home / "installed"
    if not done_mark.exists():
        venv.create(home, with_pip=True, clear=True)
        options = ["--quiet", "--disable-pip-version-check", "--no-input"]
        command = [python, "-m", "pip", "install", *options, *peer.requirements]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(last_error(done.stderr))
        done_mark.touch()
    return python


def last_error(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith("ERROR")]
    return (lines or text.strip().splitlines() or ["pip failed"])[-1][:300]


def measure(
    name: str, python: str, server: Server, folder: Path, questions: int, options: Any
) -> dict[str, Any]:
    """Run one client; return the result of `clients.py`, or `{"error": ...}`."""
    home = folder / name
    home.mkdir()
    counts = [max(1, questions // 10), *[questions] * options.repeats]
    work = [home / f"work-{number}.jsonl" for number in range(len(counts))]
    for seed, (path, count) in enumerate(zip(work, counts, strict=True)):
        write_work(path, make_items(count, seed))
    server.reset()
    job = {
        "client": name,
        "url": server.url,
        "work": [str(path) for path in work],
        "concurrency": options.concurrency,
        "folder": str(home),
    }
    measured = run_client(python, job, TIMEOUT)
    calls = server.stats()["requests"]
    if "error" not in measured:
        lost = [questions - run["yes"] for run in measured["runs"]]
        if any(lost):
            return {"error": f"{max(lost)} of {questions} questions got no verdict"}
        if calls != sum(counts):
            return {"error": f"the server saw {calls} calls for {sum(counts)} questions"}
    return measured


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--environments", type=Path, help="keep the peers' environments here")
    options = parser.parse_args()
    report = Report("judging overhead")
    report.line(
        f"{options.questions:,} distinct questions (a share of them for slow clients), concurrency "
        f"limit {options.concurrency}, median of {options.repeats} runs after a warm-up."
    )
    report.head(
        "client", "questions", "calls/s", "CPU ms/call", "× pnyx", "peak MB", "versions", "does"
    )
    with tempfile.TemporaryDirectory() as temporary, serving() as server:
        compare(report, server, Path(temporary), options)
    report.line()
    report.line(
        "× pnyx: CPU for each call, against pnyx. The peers get their prompts rendered beforehand; "
        "pnyx renders them within the time measured. Peak MB: largest resident size of the client."
    )
    report.write(options.write)


def compare(report: Report, server: Server, folder: Path, options: Any) -> None:
    homes = options.environments or folder
    homes.mkdir(exist_ok=True)
    base: float | None = None
    for name in options.peers:
        peer = PEERS[name]
        questions = max(1, int(options.questions * peer.share))
        try:
            python = environment(peer, homes)
            measured = measure(name, python, server, folder, questions, options)
        except RuntimeError as error:
            measured = {"error": str(error)}
        if "error" in measured:
            report.row(
                peer.label, questions, "-", "-", "-", "-", f"failed: {measured['error']}", peer.does
            )
            continue
        wall = statistics.median(run["wall"] for run in measured["runs"])
        cpu = 1000 * statistics.median(run["cpu"] for run in measured["runs"]) / questions
        base = cpu if name == "pnyx" else base
        report.row(
            peer.label,
            f"{questions:,}",
            f"{questions / wall:,.0f}",
            f"{cpu:.2f}",
            f"{cpu / base:.2f}" if base else "-",
            f"{measured['megabytes']:.0f}",
            ", ".join(f"{name} {number}" for name, number in measured["versions"].items()),
            peer.does,
        )


if __name__ == "__main__":
    main()
