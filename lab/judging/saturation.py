"""How much of the capacity of a server do clients use? The judge engine and its peers.

    pip install pnyx minima-llm==0.2.8 openai
    python lab/judging/saturation.py                          # about 5 minutes
    python lab/judging/saturation.py --write docs/lab/judge-engine.md

The server answers each call after a fixed time and works on a fixed number at once (slots). Further
calls wait (queue) or are rejected with 429, with or without Retry-After. Clients do not know the
number of slots: all have the same concurrency limit, which is too high, except in rows that say
otherwise. The ideal is slots / latency calls per second. Whole run: the ideal time relative to that
of the client, from the first question to the last verdict, including ramp-up and tail. Slots busy:
the share of that time in which slots worked on an answer; it is slightly higher, because the timers
of the server have steps of a millisecond. Steady: answers per second, by the clock of the server,
between the first quarter and nine tenths of the answers.
"""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import Report, Server, arguments, make_items, run_client, serving, write_work
from overhead import PEERS, environment

TIMEOUT = 600.0


@dataclass(frozen=True)
class Case:
    """A server.

    Attributes:
        slots: number of calls that it works on at once.
        latency: seconds per call.
        beyond: what it does with further calls: `queue` or `429`.
        retry_after: value of Retry-After with 429, in seconds.
    """

    slots: int
    latency: float
    beyond: str = "queue"
    retry_after: float | None = None

    @property
    def label(self) -> str:
        after = "" if self.retry_after is None else f", Retry-After {self.retry_after:g} s"
        return f"{self.slots} × {1000 * self.latency:.0f} ms, {self.beyond}{after}"

    @property
    def options(self) -> list[str]:
        words = ["--slots", self.slots, "--latency", self.latency, "--beyond", self.beyond]
        if self.retry_after is not None:
            words += ["--retry-after", self.retry_after]
        return [str(option) for option in words]


CASES = (
    Case(16, 0.05),
    Case(64, 0.2),
    Case(4, 0.02),
    Case(16, 0.05, "429"),
    Case(16, 0.05, "429", 1),
    Case(64, 0.2, "429"),
    Case(4, 0.02, "429"),
)


def measure(
    name: str, python: str, server: Server, folder: Path, questions: int, concurrency: int
) -> dict[str, Any]:
    """Run one client and return its measurements and those of the server."""
    home = Path(tempfile.mkdtemp(dir=folder))
    work = [home / "warm.jsonl", home / "work.jsonl"]
    write_work(work[0], make_items(1, 0))
    write_work(work[1], make_items(questions, 1))
    server.reset()
    job = {
        "client": name,
        "url": server.url,
        "work": [str(path) for path in work],
        "concurrency": concurrency,
        "folder": str(home),
    }
    return run_client(python, job, TIMEOUT) | {"server": server.stats()}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--concurrency", type=int, default=128)
    parser.add_argument("--cases", type=int, nargs="+", choices=range(len(CASES)))
    parser.add_argument(
        "--clients",
        nargs="+",
        choices=["pnyx", "minima-llm", "openai"],
        default=["pnyx", "minima-llm", "openai"],
    )
    parser.add_argument("--environments", type=Path, help="keep the peers' environments here")
    options = parser.parse_args()
    cases = [CASES[number] for number in options.cases] if options.cases else list(CASES)
    report = Report("judging saturation")
    report.line(
        f"{options.questions:,} questions each; limit on concurrency {options.concurrency} unless "
        "the row says otherwise; one run each."
    )
    report.head(
        "server",
        "client",
        "whole run",
        "slots busy",
        "steady",
        "429s",
        "calls/answer",
        "without a verdict",
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        homes = options.environments or folder
        pythons = pythons_of(options.clients, homes)
        for case in cases:
            for name in options.clients:
                row(report, case, name, pythons[name], folder, options.questions, options)
    report.line()
    report.line(
        "Whole run and steady: share of the ideal, slots / latency. Slots busy: share of the whole "
        "run's time, by the server's clock, whose own lateness does not count. Without a verdict: "
        "questions that the client gave up. The openai SDK tries a call three times."
    )
    report.write(options.write)


def pythons_of(clients: list[str], homes: Path) -> dict[str, str]:
    """Return the interpreter of each client, or pip's error if it cannot be installed."""
    homes.mkdir(exist_ok=True)
    pythons = {}
    for name in clients:
        try:
            pythons[name] = environment(PEERS[name], homes)
        except RuntimeError as error:
            pythons[name] = f"error: {error}"
    return pythons


def row(
    report: Report,
    case: Case,
    name: str,
    python: str,
    folder: Path,
    questions: int,
    options: Any,
) -> None:
    # Twice for the bare SDK: it does not adapt its pace, so the limit decides everything.
    limits = [options.concurrency, *([case.slots] if name == "openai" else [])]
    for limit in limits:
        note = "" if limit == options.concurrency else ", told the slots"
        if python.startswith("error"):
            report.row(case.label, name + note, python, *["-"] * 5)
            continue
        with serving(*case.options) as server:
            result = measure(name, python, server, folder, questions, limit)
        if "error" in result:
            report.row(case.label, name + note, f"failed: {result['error']}", *["-"] * 5)
            continue
        (run,), seen = result["runs"], result["server"]
        ideal = case.latency * math.ceil(questions / case.slots)
        lost = questions - run["yes"]
        # Questions that a client gave up do not count.
        whole = ideal / run["wall"] * (run["yes"] / questions)
        report.row(
            case.label,
            name + note,
            f"{whole:.1%}",
            f"{seen['busy'] / case.slots / run['wall']:.1%}",
            f"{seen['steady'] * case.latency / case.slots:.1%}",
            f"{seen['refused']:,.0f}",
            f"{seen['requests'] / max(1, seen['answered']):.2f}",
            lost,
        )


if __name__ == "__main__":
    main()
