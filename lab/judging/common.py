"""Shared parts of the benchmarks: the server, the questions, the report."""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import platform
import random
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from narrow_tables import narrowed

HERE = Path(__file__).parent
_WORDS = (
    "the study of cities found that fares fell when buses ran more often and ridership rose in "
    "most districts although costs per trip stayed level because drivers were paid by the hour "
    "while critics held that subsidies crowd out private lines and that figures from one year "
    "say little about the next as weather work and prices change from season to season"
).split()


class Server:
    """The simulated server, in its own process.

    Attributes:
        url: the base URL of its API.
    """

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self._process = process
        self.url = url

    def stats(self) -> dict[str, Any]:
        """Return its statistics since the last reset."""
        with urllib.request.urlopen(self.url.removesuffix("/v1") + "/stats", timeout=30) as answer:
            figures: dict[str, Any] = json.load(answer)
            return figures

    def reset(self) -> None:
        root = self.url.removesuffix("/v1")
        urllib.request.urlopen(f"{root}/reset", data=b"{}", timeout=30).close()


@contextlib.contextmanager
def serving(*options: str) -> Iterator[Server]:
    """Run the server with its command-line options."""
    command = [sys.executable, str(HERE / "server.py"), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Server(process, process.stdout.readline().strip())
        finally:
            process.terminate()


def make_items(count: int, seed: int, words: int = 120) -> list[dict[str, str]]:
    """Return support items that are all different."""
    rng = random.Random(seed)
    return [
        {
            "id": f"q{seed}-{number}",
            "text": " ".join(rng.choices(_WORDS, k=words)),
            "statement": f"statement {seed} {number}: " + " ".join(rng.choices(_WORDS, k=12)),
        }
        for number in range(count)
    ]


def write_work(path: Path, items: Sequence[dict[str, str]]) -> None:
    """Write items with the request that pnyx makes of each, for the peers."""
    from pnyx.judging.llm.requests import Asking
    from pnyx.judging.questions import Support

    asking = Asking()
    with path.open("w", encoding="utf-8") as stream:
        for item in items:
            request = asking.request([Support(**item)])
            messages = [{"role": m.role, "content": m.content} for m in request.messages]
            row = {
                **item,
                "messages": messages,
                "max_tokens": request.max_tokens,
                "schema": request.schema,
            }
            stream.write(json.dumps(row) + "\n")


def run_client(python: str | Path, job: dict[str, Any], timeout: float) -> dict[str, Any]:
    """Run one client of `clients.py` in its own interpreter and return its measurements.

    For a client that fails, it returns `{"error": the last line of its errors}`.
    """
    environment = {
        name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")
    }
    environment |= QUIET | {"HOME": job["folder"], "XDG_CACHE_HOME": job["folder"]}
    command = [str(python), str(HERE / "clients.py"), json.dumps(job)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=job["folder"],
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"did not end within {timeout:.0f} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        words = [line for line in done.stderr.strip().splitlines() if line.strip()]
        return {"error": words[-1][:300] if words else f"exit status {done.returncode}"}
    measured: dict[str, Any] = json.loads(lines[-1])
    return measured


QUIET = {
    "DO_NOT_TRACK": "1",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
    "DEEPEVAL_NO_INSPECT_PROMPT": "1",
    "ERROR_REPORTING": "0",
    "RAGAS_DO_NOT_TRACK": "true",
    "HF_HUB_OFFLINE": "1",
    "OPENAI_API_KEY": "none",
}
"""Environment variables that switch off the telemetry of peers."""


class Report:
    """The output of a benchmark, which can be written between its markers in a Markdown file.

    Args:
        name: name of the markers.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._lines: list[str] = []
        self.line(f"{_now()}; {machine()}; load average {os.getloadavg()[0]:.1f} at the start.")

    def line(self, text: str = "") -> None:
        print(text, flush=True)
        self._lines.append(text)

    def head(self, *names: str) -> None:
        """Start a table; the first column is text, the others are figures."""
        self.line()
        self.row(*names)
        self.line("|---|" + "---:|" * (len(names) - 1))

    def row(self, *cells: object) -> None:
        self.line("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")

    def write(self, path: Path | None) -> None:
        """Write the report between its markers in a file; do nothing without a path."""
        if path is None:
            return
        text = path.read_text(encoding="utf-8")
        first, last = f"<!-- {self.name} -->\n", f"<!-- end of {self.name} -->"
        before, start, rest = text.partition(first)
        _, ended, after = rest.partition(last)
        if not (start and ended):
            raise SystemExit(f"{path}: expected the lines {first.strip()} and {last}")
        body = "\n".join(narrowed(self._lines)).strip("\n")
        path.write_text(f"{before}{first}{body}\n{last}{after}", encoding="utf-8")


def run_pnyx(*words: object) -> subprocess.CompletedProcess[str]:
    """Run a `pnyx` command to its end, and capture its output."""
    command = [sys.executable, "-m", "pnyx", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def interval_cell(row: Mapping[str, Any]) -> str:
    """Return value and interval of a measure in a JSON result."""
    return f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options of all benchmarks."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--write", type=Path, metavar="FILE", help="update its section of FILE")
    return parser


def machine() -> str:
    """Return a description of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{_processor()}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB, "
        f"{platform.system()} {platform.release().split('-')[0]}, "
        f"Python {platform.python_version()}, pnyx {version('pnyx')}{_commit()}"
    )


def _commit() -> str:
    command = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f" ({done.stdout.strip()})" if done.returncode == 0 else ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if "model name" in line), "unknown")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="minutes").replace("+00:00", " UTC")
