"""The same table of verdicts and labels, checked by `pnyx check` and by its peers.

    python lab/judging/peers.py
    python lab/judging/peers.py --environments ~/peers --write docs/lab/check-peers.md
    python lab/judging/peers.py --smoke  # installs nothing; all peers are listed as not installed

Each peer is installed from PyPI into a separate environment and used as its README describes. The
files that a person has to write for it are in `peer_inputs/`. A peer that cannot be installed or
fails is listed with the reason.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from common import HERE, QUIET, Report, arguments
from overhead import Peer as Package
from overhead import environment
from peer_results import READERS, Figures, Run, sentence
from peer_tables import write_tables

INPUTS = HERE / "peer_inputs"
TIMEOUT = 300.0


@dataclass(frozen=True)
class Peer:
    """The steps that a person takes to get the figures of a peer.

    Attributes:
        requirement: package to install with pip; for Pnyx, its name.
        steps: commands in order; the first word is a program of the peer's environment.
        csv: whether it reads the table without changes.
        clusters: which of its figures account for answers to the same question.
    """

    requirement: str
    steps: tuple[str, ...]
    csv: str
    clusters: str

    @property
    def name(self) -> str:
        return self.requirement.partition("==")[0]

    def inputs(self) -> list[Path]:
        folder = INPUTS / self.name
        return sorted(path for path in folder.glob("*") if path.is_file())

    def lines(self) -> int:
        """Return the number of lines that a person types, in commands and files."""
        texts = [path.read_text(encoding="utf-8") for path in self.inputs()]
        typed = [line for text in texts for line in text.splitlines() if line.strip()]
        return len(self.steps) + len(typed)


PEERS = (
    Peer(
        "pnyx",
        (
            "pnyx check results.csv --verdict verdict --human label --group question"
            " --bar kappa=0.6 --out check.json",
            "pnyx check all.csv --verdict verdict --human label --group question --out all.json",
            "pnyx check pairs.csv --a-first forward --b-first backward --human human",
        ),
        "yes",
        "all",
    ),
    Peer(
        "judgekeeper==0.1.3",
        (
            "judgekeeper check results.csv --judge verdict --human label",
            "judgekeeper gate judgekeeper-report/report.json",
        ),
        "yes",
        "no",
    ),
    Peer(
        "truescore==0.7.4",
        (
            "truescore agreement results.csv --judge verdict --gold label",
            "truescore audit all.csv --judge verdict --gold label --cluster-column question"
            " --json audit.json",
            "python position.py",
        ),
        "yes",
        "corrected rate",
    ),
    Peer(
        "judgegate==0.1.0",
        ("python reshape.py", "judgegate verify labels.jsonl --config judge.yaml --format json"),
        "no",
        "no",
    ),
    Peer(
        "judgekit==0.2.1",
        (
            "python reshape.py",
            "judgekit report judge.jsonl --human human.jsonl --fail-on-flags",
        ),
        "no",
        "by pair",
    ),
    Peer(
        "evalproof==0.2.1",
        (
            "python reshape.py",
            "evalproof calibrate run.json --judge-scorer judge --labels labels.jsonl"
            " --json calibration.json",
        ),
        "no",
        "no",
    ),
    Peer("judgy==0.1.0", ("python rate.py",), "no", "no"),
    Peer("juryrig==0.3.1", ("python agreement.py",), "no", "no"),
    Peer(
        "judgemetry==0.1.0",
        ("python reshape.py", "judgemetry report judged.jsonl"),
        "no",
        "by pair",
    ),
    Peer("judgecal==0.1.0", ("python position.py",), "no", "by pair"),
)


@dataclass(frozen=True)
class Outcome:
    """The result of a peer's run; `failure` is the reason if it has no figures."""

    figures: Figures
    words: str = ""
    exits: tuple[int, ...] = ()
    seconds: float = 0.0
    megabytes: float = 0.0
    version: str = ""
    failure: str = ""


WRAPPER = """
import json, resource, subprocess, sys, time
begun = time.perf_counter()
try:
    status = subprocess.run(sys.argv[3:], timeout=float(sys.argv[2])).returncode
except subprocess.TimeoutExpired:
    sys.exit(f"not finished after {sys.argv[2]} s")
seconds = time.perf_counter() - begun
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
json.dump([status, seconds, peak], open(sys.argv[1], "w"))
"""
"""Runs a command and writes its exit status, seconds and MB. If the command takes too long, it is
stopped and nothing is written. The command is started from a small process, because the peak memory
of a process includes that of its parent."""


def run_step(step: str, python: str, folder: Path) -> tuple[int, float, float, str, str]:
    """Run one command; return exit status, seconds, MB, output and errors."""
    program, *options = shlex.split(step)
    path = python if program == "python" else str(Path(python).with_name(program))
    measured = folder / "measured.json"
    variables = {name: value for name, value in os.environ.items() if "PROXY" not in name.upper()}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", WRAPPER, str(measured), str(TIMEOUT), path, *options],
        cwd=folder,
        env=variables | QUIET | {"HOME": str(folder), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    if not measured.exists():
        return 127, 0.0, 0.0, "", done.stderr
    status, seconds, megabytes = json.loads(measured.read_text(encoding="utf-8"))
    measured.unlink()
    return status, seconds, megabytes, done.stdout, done.stderr


def try_peer(peer: Peer, tables: Path, python: str, repeats: int) -> Outcome:
    """Run all steps of a peer; seconds are the median of the repeats, summed over the steps."""
    times: list[float] = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            for path in (*tables.glob("*.csv"), *peer.inputs()):
                shutil.copy(path, folder)
            done = [run_step(step, python, folder) for step in peer.steps]
            output = "\n".join(step[3] for step in done)
            try:
                figures = READERS[peer.name](Run(folder, output))
            except (LookupError, OSError, ValueError):
                errors = "\n".join(step[4] for step in done).strip().splitlines()
                return Outcome({}, failure=(errors or ["its output could not be read"])[-1][:200])
            times.append(sum(step[1] for step in done))
    return Outcome(
        figures,
        sentence(peer.name, output),
        tuple(step[0] for step, text in zip(done, peer.steps, strict=True) if text[:6] != "python"),
        statistics.median(times),
        max(step[2] for step in done),
        installed_version(peer.name, python),
    )


def installed_version(name: str, python: str) -> str:
    packages = Path(python).parents[1] / "lib"
    paths = [str(path) for path in packages.glob("python3*/site-packages")]
    return next((d.version for d in distributions(name=name, path=paths)), "")


def outcome_of(peer: Peer, tables: Path, homes: Path, options: Any) -> Outcome:
    if peer.name == "pnyx":
        return try_peer(peer, tables, sys.executable, options.repeats)
    if options.smoke:
        return Outcome({}, failure="not installed: --smoke installs nothing")
    try:
        python = environment(Package(peer.name, (peer.requirement,), ""), homes)
    except RuntimeError as error:
        return Outcome({}, failure=f"not installed: {error}")
    return try_peer(peer, tables, python, options.repeats)


FIGURES = ("kappa", "tpr", "tnr", "rate", "first")


def write_figures(report: Report, outcomes: dict[Peer, Outcome], truth: float) -> None:
    report.line()
    report.line("What they measure, with 95 % intervals where the peer gives them:")
    report.head("peer", "kappa", "TPR", "TNR", "corrected rate", "first slot")
    for peer, outcome in outcomes.items():
        cells = [str(outcome.figures.get(name, "-")) for name in FIGURES]
        report.row(f"{peer.name} {outcome.version}".strip(), *cells)
    report.line()
    report.line(
        "Corrected rate: of passes in `all.csv`, where the judge passes 32 % and people would pass "
        f"{truth * 100:.0f} %. First slot: share of verdicts on pairs for the answer shown first."
    )


def write_costs(report: Report, outcomes: dict[Peer, Outcome]) -> None:
    report.line()
    report.line("What it takes:")
    report.head("peer", "lines typed", "seconds", "peak MB", "reads CSV", "clusters by question")
    for peer, outcome in outcomes.items():
        took = ("-", "-")
        if not outcome.failure:
            took = (f"{outcome.seconds:.1f}", f"{outcome.megabytes:.0f}")
        report.row(peer.name, peer.lines(), *took, peer.csv, peer.clusters)


def write_verdicts(report: Report, outcomes: dict[Peer, Outcome]) -> None:
    report.line()
    report.line("What they say: is this judge good enough?")
    report.head("peer", "exit status", "in words")
    for peer, outcome in outcomes.items():
        exits = ", ".join(map(str, outcome.exits)) or "-"
        report.row(peer.name, exits, outcome.failure or outcome.words or "-")


def write_typed(report: Report, peers: Sequence[Peer]) -> None:
    report.line()
    report.line("What a person types, with the files in `lab/judging/peer_inputs/`:")
    report.line()
    for peer in peers:
        for step in peer.steps:
            report.line(f"    {step}")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--peers", nargs="+", choices=[peer.name for peer in PEERS])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--environments", type=Path, help="keep the peers' environments here")
    parser.add_argument("--smoke", action="store_true", help="install nothing, run once")
    options = parser.parse_args()
    if options.smoke:
        options.repeats = 1
    report = Report("judging peers")
    report.line(
        "120 verdicts with labels on 15 questions, 480 without labels, 40 pairs in both orders; "
        f"median of {options.repeats} runs."
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        truth = write_tables(folder)
        homes = options.environments or folder / "environments"
        homes.mkdir(parents=True, exist_ok=True)
        peers = [peer for peer in PEERS if not options.peers or peer.name in options.peers]
        outcomes = {peer: outcome_of(peer, folder, homes, options) for peer in peers}
    write_figures(report, outcomes, truth)
    write_costs(report, outcomes)
    write_verdicts(report, outcomes)
    write_typed(report, peers)
    report.write(options.write)


if __name__ == "__main__":
    main()
