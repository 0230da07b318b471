"""The cost of running again, after the end and after being killed half way.

    pip install pnyx
    python lab/judging/resume.py                          # about a minute
    python lab/judging/resume.py --write docs/lab/judge-engine.md

`pnyx judge support` answers an items file, then again from the judgement store. Then it runs with a
new store, is killed (SIGKILL) when the server has answered half of the calls, and is started again.
The server counts the calls. Times are those of the whole command, including the interpreter start.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import Report, Server, arguments, make_items, serving

LIMIT = 32
COMMAND = [sys.executable, "-m", "pnyx", "judge", "support"]


def command(server: Server, items: Path, store: Path, out: Path) -> list[str]:
    options = [
        "--judge",
        f"{server.url}#test",
        "--store",
        store,
        "--out",
        out,
        "--concurrency",
        LIMIT,
    ]
    return [*COMMAND, str(items), *map(str, options)]


def run(server: Server, items: Path, store: Path, out: Path) -> tuple[float, int]:
    """Run the command to its end and return its seconds and the server's calls."""
    server.reset()
    started = time.perf_counter()
    done = subprocess.run(
        command(server, items, store, out), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"pnyx judge ended with status {done.returncode}: {done.stderr[-500:]}")
    return time.perf_counter() - started, int(server.stats()["requests"])


def killed(
    server: Server, items: Path, store: Path, out: Path, after: int
) -> tuple[float, int, int]:
    """Run the command, kill it, and return its seconds and the server's calls and answers."""
    server.reset()
    started = time.perf_counter()
    process = subprocess.Popen(
        command(server, items, store, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while server.stats()["answered"] < after:
        if process.poll() is not None:
            raise SystemExit("pnyx judge ended before it could be killed: ask more questions")
        time.sleep(0.01)
    process.kill()
    process.wait()
    seconds = time.perf_counter() - started
    time.sleep(0.5)  # let the server finish what was under way
    seen = server.stats()
    return seconds, int(seen["requests"]), int(seen["answered"])


def stored(store: Path) -> int:
    from pnyx.judging.store.store import Store

    with Store(store) as opened:
        return len(opened)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--latency", type=float, default=0.02, help="seconds for each answer")
    options = parser.parse_args()
    count = options.questions
    report = Report("judging resume")
    report.line(
        f"{count:,} questions, {1000 * options.latency:.0f} ms for each answer, at most {LIMIT} "
        "calls at once."
    )
    report.head("run", "calls", "stored after", "seconds", "answers.jsonl")
    with (
        tempfile.TemporaryDirectory() as temporary,
        serving("--latency", str(options.latency)) as server,
    ):
        folder = Path(temporary)
        items = folder / "items.jsonl"
        items.write_text("".join(json.dumps(item) + "\n" for item in make_items(count, 1)))
        first_store, second_store = folder / "one.sqlite", folder / "two.sqlite"

        seconds, calls = run(server, items, first_store, folder / "first")
        first = (folder / "first" / "answers.jsonl").read_bytes()
        report.row(
            "first", f"{calls:,}", f"{stored(first_store):,}", f"{seconds:.1f}", f"{len(first):,} B"
        )

        seconds, calls = run(server, items, first_store, folder / "again")
        same = identical(first, folder / "again")
        report.row(
            "again, same store", f"{calls:,}", f"{stored(first_store):,}", f"{seconds:.1f}", same
        )

        seconds, calls, _ = killed(server, items, second_store, folder / "killed", count // 2)
        count_stored = stored(second_store)
        report.row("killed half way", f"{calls:,}", f"{count_stored:,}", f"{seconds:.1f}", "none")

        seconds, more = run(server, items, second_store, folder / "killed")
        same = identical(first, folder / "killed")
        report.row("resumed", f"{more:,}", f"{stored(second_store):,}", f"{seconds:.1f}", same)
    report.line()
    report.line(
        f"Killed and resumed took {calls + more:,} calls for {count:,} questions: "
        f"{calls + more - count} were under way at the kill and paid for twice (at most {LIMIT})."
    )
    report.write(options.write)


def identical(first: bytes, out: Path) -> str:
    return "identical" if (out / "answers.jsonl").read_bytes() == first else "DIFFERENT"


if __name__ == "__main__":
    main()
