"""Start the engines, each in its own process and environment.

Python peers are installed from PyPI at the pinned versions below into temporary environments.
Lucene is Debian's (`apt-get install liblucene8-java openjdk-17-jdk-headless`); the harness in
`lucene/` is compiled at run time.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "judging"))

from overhead import Peer, environment  # noqa: E402

TIMEOUT = 1800.0
JARS = Path("/usr/share/java")
WC, WQ = 10.0, 5.0
"""The weights of topic and quality in the paper's best run on relevance."""

PEERS = {
    "pnyx": Peer("pnyx", (), "arrays of numbers and scores"),
    "pnyx-hits": Peer("pnyx, hits with ids", (), "result objects with ids"),
    "bm25s": Peer(
        "bm25s",
        ("bm25s==0.3.16", "numba==0.68.1", "numpy==2.4.6", "PyStemmer==3.1.0"),
        "arrays",
    ),
    "pisa": Peer(
        "PISA",
        ("pyterrier-pisa==0.4.9", "tbb==2020.3.254", "numpy==2.4.6", "--no-deps"),
        "scores and ids as strings",
    ),
}

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def search_job(
    corpus: Path, engine: str, model: str, top: int, warm_ups: int | None = None
) -> dict[str, Any]:
    """Return a search job, with index and rankings in the folder of the corpus.

    Without `warm_ups` Lucene ranks without measuring times.
    """
    return {
        "do": "search",
        "corpus": str(corpus),
        "home": str(corpus / engine),
        "model": model,
        "top": top,
        "warm_ups": warm_ups,
        "wc": WC,
        "wq": WQ,
        "rankings": str(corpus / f"{engine}-{model}{'.bin' if engine == 'lucene' else '.npz'}"),
    }


class EngineError(Exception):
    """An engine could not be installed or run; the message is the last line of its errors."""


def _environment(job: dict[str, Any]) -> dict[str, str]:
    return os.environ | ({} if job["do"] == "index" else _ONE_THREAD)


def _last_json(command: Sequence[str | Path], environ: dict[str, str] | None) -> dict[str, Any]:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT, env=environ, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise EngineError(f"did not end within {TIMEOUT:.0f} s") from error
    except OSError as error:
        raise EngineError(str(error)) from error
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        raise EngineError(_last_words(done.stderr, done.returncode))
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def _last_words(text: str, status: int) -> str:
    lines = (line.strip() for line in text.splitlines())
    words = [line for line in lines if line and not line.startswith("at ")]  # no Java frames
    return words[-1][-300:] if words else f"exit status {status}"


class Python:
    """An engine of `engines.py`.

    Args:
        name: in `PEERS`.
        environments: folder of the peers' environments.

    Raises:
        EngineError: pip cannot install it.
    """

    def __init__(self, name: str, environments: Path) -> None:
        self.name = name
        try:
            self._python = environment(PEERS[name], environments)
        except RuntimeError as error:
            raise EngineError(str(error)) from error

    def run(self, job: dict[str, Any]) -> dict[str, Any]:
        """Do one job in a fresh process; see `engines.py`."""
        return _last_json(self._command(job), _environment(job))

    def _command(self, job: dict[str, Any]) -> list[str]:
        return [self._python, str(HERE / "engines.py"), json.dumps(job | {"engine": self.name})]

    def throughput(self, job: dict[str, Any], processes: int = 2) -> float:
        """Return questions per second of wall time with this number of concurrent processes."""
        job = job | {"do": "throughput"}
        with ExitStack() as stack:
            workers = [
                stack.enter_context(
                    subprocess.Popen(
                        self._command(job),
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL,
                        text=True,
                        env=_environment(job),
                    )
                )
                for _ in range(processes)
            ]
            for worker in workers:
                _wait_ready(worker)
            for worker in workers:
                assert worker.stdin is not None
                worker.stdin.write("go\n")
                worker.stdin.flush()
            rows = [_result(worker) for worker in workers]
        wall = max(row["ended"] for row in rows) - min(row["began"] for row in rows)
        return float(sum(row["questions"] for row in rows) / wall)


def _wait_ready(worker: subprocess.Popen[str]) -> None:
    assert worker.stdout is not None
    for line in worker.stdout:
        if line.strip().endswith("ready"):
            return
    raise EngineError("ended before it was ready")


def _result(worker: subprocess.Popen[str]) -> dict[str, Any]:
    assert worker.stdout is not None
    lines = worker.stdout.read().strip().splitlines()
    if not lines:
        raise EngineError("ended without a result")
    result: dict[str, Any] = json.loads(lines[-1])
    return result


class Lucene:
    """Debian's Lucene 8, through the harness in `lucene/`.

    Args:
        folder: folder for the compiled harness.
        jars: folder of Lucene's jars.
        quick: start faster with less compilation; for tests, never for measurements.

    Raises:
        EngineError: Java or Lucene is not installed.
    """

    name = "lucene"

    def __init__(self, folder: Path, jars: Path = JARS, *, quick: bool = False) -> None:
        jar_paths = []
        for part in ("core", "queries", "analyzers-common"):
            paths = sorted(jars.glob(f"lucene-{part}-8.*.jar"))
            if not paths:
                raise EngineError(
                    f"{jars} has no lucene-{part}-8.*.jar: apt-get install liblucene8-java"
                )
            jar_paths.append(str(paths[-1]))
        java, javac = shutil.which("java"), shutil.which("javac")
        if java is None or javac is None:
            raise EngineError("no java and javac: apt-get install openjdk-17-jdk-headless")
        classes = folder / "classes"
        sources = sorted(map(str, (HERE / "lucene").glob("*.java")))
        lean = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        command = [
            javac,
            *(f"-J{flag}" for flag in lean),
            "-d",
            str(classes),
            "-cp",
            ":".join(jar_paths),
            *sources,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise EngineError(_last_words(done.stderr, done.returncode))
        self._command = [
            java,
            *(lean if quick else ()),
            "-cp",
            ":".join([str(classes), *jar_paths]),
        ]

    def index(self, corpus: Path, home: Path) -> dict[str, Any]:
        """Index a corpus with its features."""
        paths = [corpus / "documents.txt", corpus / "features.txt", home]
        return self._run("-Xmx2g", "Harness", ["index", *paths])

    def terms(self, texts: Sequence[str], folder: Path) -> list[list[str]]:
        """Return the terms of each text; `folder` is for temporary files."""
        before, after = folder / "texts.bin", folder / "terms.bin"
        with before.open("wb") as stream:
            for text in texts:
                coded = text.encode()
                stream.write(len(coded).to_bytes(4, "big") + coded)
        self._run("-Xmx2g", "Analyze", [before, after])
        with after.open("rb") as stream:

            def number() -> int:
                return int.from_bytes(stream.read(4), "big")

            return [[stream.read(number()).decode() for _ in range(number())] for _ in texts]

    def search(self, job: dict[str, Any]) -> dict[str, Any]:
        """Ask all questions as `engines.py` does, and then with two threads."""
        corpus = Path(job["corpus"])
        paths = [job["home"], corpus / "questions.txt", corpus / "cosines.txt", job["rankings"]]
        warm_ups = "-" if job["warm_ups"] is None else job["warm_ups"]
        numbers = [job["model"], job["top"], warm_ups, job["wc"], job["wq"]]
        return self._run("-Xmx1g", "Harness", ["search", *paths, *numbers])

    def _run(self, heap: str, program: str, arguments: Sequence[Any]) -> dict[str, Any]:
        java, *options = self._command
        return _last_json([java, heap, *options, program, *map(str, arguments)], None)


def read_rankings(path: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return numbers and scores of each question, from `engines.py` (.npz) or the harness."""
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            cuts = np.cumsum(arrays["counts"])[:-1]
            numbers, scores = np.split(arrays["numbers"], cuts), np.split(arrays["scores"], cuts)
            return list(zip(numbers, scores, strict=True))
    data, at = path.read_bytes(), 0
    out = []
    while at < len(data):
        count = int(np.frombuffer(data, "<i4", 1, at)[0])
        hits = np.frombuffer(data, [("number", "<i4"), ("score", "<f4")], count, at + 4)
        out.append((hits["number"].astype(np.int64), hits["score"].astype(np.float64)))
        at += 4 + 8 * count
    return out
