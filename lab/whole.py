"""Measure the time and memory that a new user needs, and compare each with its target.

    python lab/whole.py --write docs/lab/whole.md
    python lab/whole.py --smoke     # the same on little data, as a test run

With PNYX_DATA, servers under load and engines of 100,000 documents are measured too, each with its
peer in the same run (`pip install bm25s`). Each command runs in its own process. CPU time includes
child processes; the peak is the largest resident memory. Each run has its own empty store, so no
reply is reused.
"""

from __future__ import annotations

import compileall
import itertools
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

HERE = Path(__file__).parent
sys.path += [str(HERE / room) for room in ("judging", "web", "search", "argue")]

from common import Report, arguments  # noqa: E402

Row: TypeAlias = tuple[str, Callable[[], str], str]
"""What is measured, how, and the target."""

QUESTION = "Should voting be compulsory?"
PNYX = (sys.executable, "-m", "pnyx")


class Run(NamedTuple):
    """The cost of a process: CPU seconds, wall seconds, peak memory in MB."""

    cpu: float
    wall: float
    peak: float

    def __str__(self) -> str:
        return f"{self.cpu:.1f} s CPU, {self.wall:.1f} s, {self.peak:,.0f} MB"


def run(folder: Path, *command: object) -> Run:
    """Run a command to its end; its output is stored in the folder."""
    begun = time.monotonic()
    environment = {**os.environ, "PNYX_STORE": str(folder / "store.sqlite")}
    for name in ("PNYX_LLM", "PYTHONDONTWRITEBYTECODE"):
        environment.pop(name, None)
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            list(map(str, command)), cwd=folder, env=environment, stdout=output, stderr=output
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3):
        raise SystemExit(f"{command}: {(folder / 'output.txt').read_text('utf-8')[-2000:]}")
    return Run(used.ru_utime + used.ru_stime, time.monotonic() - begun, used.ru_maxrss / 1024)


def demo(folder: Path) -> str:
    return str(run(folder, *PNYX, "demo", "--out", "demo-out"))


def argue(folder: Path) -> str:
    return str(run(folder, *PNYX, "argue", "demo-out/example.index", QUESTION))


def argue_folder(folder: Path) -> str:
    """Argue from 60 mixed files: the first time, with their index, and again."""
    from folder_sources import read_folder, write_files

    files, question = folder / "files", "Should homework be abolished?"
    written: list[Path] = []
    for name in ("homework", "phones"):
        source = read_folder(HERE / "argue/folders/development" / name)
        written += write_files(source, files / name)
    for path in written[60:]:
        path.unlink()
    first = run(folder, *PNYX, "argue", "files", question)
    again = run(folder, *PNYX, "argue", "files", question)
    opening = run(folder, *PNYX, "search", "files", question)
    return f"{first}; again {again}, of which a search takes {opening.cpu:.1f} s CPU"


def served(folder: Path) -> list[tuple[str, str, str]]:
    """Return the rows of a server under load, and of bm25s behind Starlette."""
    from load import measure

    index = str(folder / "web.index")
    run(folder, sys.executable, HERE / "web/build.py", index)
    measured = measure(index, users=50, seconds=45)
    if measured.errors:
        raise SystemExit(f"{len(measured.errors)} errors: {measured.errors[0]}")

    def p99(times: Sequence[float]) -> str:
        return f"p99 {np.percentile(times, 99):.2f} s"

    def alone(result: dict[str, Any]) -> str:
        ((_, times),) = result["times"].items()
        return f"{len(times) / result['seconds']:.0f} a second, {p99(times)}"

    mixed = dict(measured.mixed["times"])
    (arguments,) = (mixed.pop(kind) for kind in list(mixed) if kind.startswith("argue"))
    others = list(itertools.chain(*mixed.values()))
    return [
        ("50 users of `pnyx serve`, 9,500 arguments, hybrid, explained",
         alone(measured.hybrid), "150 a second, p99 0.6 s"),
        ("the same, BM25, explained", alone(measured.words), "300 a second"),
        ("bm25s behind Starlette, bare", alone(measured.bare), ""),
        ("all kinds mixed, one in fifty an argument",
         f"{p99(others)}; arguments {p99(arguments)}", "1.5 s; arguments 4 s"),
    ]  # fmt: skip


def engines(folder: Path, documents: int) -> list[tuple[str, str, str]]:
    """Return the time of questions as a multiple of bm25s's, by model."""
    import speed

    corpus = folder / "corpus"
    corpus.mkdir()
    speed.write_corpus(corpus, documents, 1_500, 1)
    speed.write_matrix(corpus, documents, 1)
    measured = speed.Run(corpus)
    speed.measure(measured, ["pnyx", "bm25s"], speed.TOP, 500, folder / "environments")
    rows = []
    for model, label in speed.MODELS.items():
        ours, theirs = (measured.median(name, model) for name in ("pnyx", "bm25s"))
        if ours is None or theirs is None:
            raise SystemExit(f"{measured.errors}")
        ratio = f"{ours / theirs:.2f} ({ours:.2f} of {theirs:.2f} ms)"
        rows.append((f"{label}, {documents:,} documents, time of bm25s's", ratio, "0.5"))
    return rows


def judge_reports(folder: Path, count: int, sentences: int | None = None) -> str:
    """Judge reports of RAGTIME 2026; a document's text is the text that the bank links to it."""
    from pnyx.formats import read_nugget_banks

    data = Path(os.environ["PNYX_DATA"]) / "reportgen/ragtime26_bitem"
    texts: dict[str, list[str]] = {}
    for bank in read_nugget_banks(str(data / "T3_run_1.jsonl")):
        for doc_id, text in (
            (d, a.text) for n in bank.nuggets for a in n.answers for d in a.doc_ids
        ):
            texts.setdefault(doc_id, []).append(text)
    with (data / "T1_run_1.jsonl").open() as lines, (folder / "run.jsonl").open("w") as some:
        for row in (json.loads(line) for line in itertools.islice(lines, count)):
            row["responses"] = row["responses"][:sentences]
            some.write(json.dumps(row) + "\n")
    with (folder / "collection.jsonl").open("w") as stream:
        for doc_id, parts in texts.items():
            stream.write(json.dumps({"id": doc_id, "text": " ".join(parts)}) + "\n")
    judge = ("judge", "report", "run.jsonl", "--nuggets", data / "T3_run_1.jsonl")
    taken = run(folder, *PNYX, *judge, "--documents", "collection.jsonl", "--out", "judged")
    return f"{taken}; {taken.wall * 51 / count / 60:.1f} minutes for all at that pace"


def memory_of(pid: int, kind: str = "VmRSS") -> float:
    """Return the resident memory of a process in MB; `RssAnon` is the part without a file."""
    (kilobytes,) = re.findall(rf"{kind}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text("ascii"))
    return int(kilobytes) / 1024


def address_of(server: subprocess.Popen[str]) -> str:
    """Return the address that a starting server prints on standard error."""
    assert server.stderr is not None
    return next(match[0] for line in server.stderr if (match := re.search(r"http://[\w.:]+", line)))


def serve(folder: Path, searches: int) -> str:
    """Send different questions to a server, and measure its memory."""
    command = [*PNYX, "serve", "demo-out/example.index", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        address = address_of(process)
        words = (folder / "words.txt").read_text("utf-8").split()
        rng, sizes = random.Random(0), []
        for number in range(searches):
            query = urllib.parse.urlencode({"q": f"Should {' '.join(rng.sample(words, 3))}?"})
            urllib.request.urlopen(f"{address}/v1/search?{query}", timeout=60).read()
            if number in (searches // 10, searches - 1):
                sizes.append(memory_of(process.pid))
        process.send_signal(signal.SIGINT)
        process.communicate()
    return f"{sizes[0]:,.0f} MB after {searches // 10 + 1}, {sizes[1]:,.0f} after {searches:,}"


def words(folder: Path) -> None:
    from pnyx.formats.bundled_example import load_example

    vocabulary = {w for a in load_example().arguments for w in re.findall(r"[a-z]{4,}", a.text)}
    (folder / "words.txt").write_text(" ".join(sorted(vocabulary)), encoding="utf-8")


def per_second(work: Callable[[], object], count: int) -> str:
    """Return the number of items per CPU second of this process."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{count / used:,.0f}"


def texts(count: int, length: int) -> list[str]:
    """Return different texts with this number of words of the example."""
    from pnyx.formats.bundled_example import load_example

    rng = random.Random(length)
    vocabulary = " ".join(a.text for a in load_example().arguments).split()
    return [" ".join(rng.sample(vocabulary, length)) for _ in range(count)]


def detector(count: int, length: int, statements: int) -> str:
    from pnyx.judging.questions import Support
    from pnyx.judging.students.judge import load_perspective_student

    judge = load_perspective_student()
    claims = texts(statements, 10)
    pairs = [
        Support(f"{n}", text, c) for n, text in enumerate(texts(count, length)) for c in claims
    ]
    judge.judge(pairs[:statements])
    return per_second(lambda: judge.judge(pairs), len(pairs))


def embedding(count: int, length: int) -> str:
    from pnyx.models.embed.encoder import load_encoder

    encoder, documents = load_encoder(), texts(count, length)
    encoder.encode(documents[:2])
    return per_second(lambda: encoder.encode(documents), count)


def measure_support(folder: Path, count: int) -> str:
    """Measure verdicts against labels, both simulated: a noisy judge, 100 for each topic."""
    rng = random.Random(1)
    with (
        (folder / "answers.jsonl").open("w") as answers,
        (folder / "labels.jsonl").open("w") as labels,
    ):
        for number in range(count):
            label, key = rng.random() < 0.5, {"id": f"{number}", "question_id": f"q{number // 100}"}
            p = min(max(rng.gauss(0.6 if label else 0.4, 0.2), 0.01), 0.99)
            verdict = {"task": "support", "value": p > 0.5, "probability": p, "judge": "noisy"}
            answers.write(json.dumps({**key, **verdict, "unscored": None, "reasons": []}) + "\n")
            labels.write(json.dumps({**key, "value": label}) + "\n")
    return str(run(folder, *PNYX, "measure", "answers.jsonl", "--labels", "labels.jsonl"))


def compare(folder: Path, runs: int, topics: int) -> str:
    """Compare two leaderboards of simulated runs."""
    rng = random.Random(2)
    boards = [folder / "a.txt", folder / "b.txt"]
    good = [rng.gauss(0.5, 0.1) for _ in range(runs)]
    for board in boards:
        rows = [
            f"run{r:03} F1 t{t:02} {min(max(rng.gauss(good[r], 0.15), 0), 1):.4f}"
            for r in range(runs)
            for t in range(topics)
        ]
        board.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(run(folder, *PNYX, "compare", *boards))


def hits(folder: Path, count: int, questions: int) -> str:
    """Return the time for 1,000 hits with ids per question, relative to arrays."""
    from pnyx.core.records import Document
    from pnyx.search.build import build_index

    records = (Document(f"d{n}", text) for n, text in enumerate(texts(count, 100)))
    index = build_index(records, folder / "hits.index")
    queries = texts(questions, 6)
    taken = {"rank": 0.0, "search": 0.0}
    for way in taken:
        ask = getattr(index, way)
        for question in queries[:10]:  # to warm up
            ask(question, "dirichlet", 1000)
    while min(taken.values()) < 0.2:  # alternate, until the clock is accurate enough
        for way in taken:
            ask, begun = getattr(index, way), time.process_time()
            for question in queries:
                ask(question, "dirichlet", 1000)
            taken[way] += time.process_time() - begun
    return f"{taken['search'] / taken['rank']:.2f}"


def exported(folder: Path) -> str:
    """Return the MB per report of the demo that `pnyx view` exports."""
    run(folder, *PNYX, "view", "demo-out", "--export", "pages")
    pages = folder / "pages"
    (table,) = (pages / "tables").glob("reports-*.csv")
    reports = len(table.read_text("utf-8").splitlines()) - 1
    size = sum(path.stat().st_size for path in pages.rglob("*") if path.is_file())
    return f"{size / reports / 1e6:.2f} MB ({reports} reports)"


def wheel(folder: Path) -> Path:
    """Build the wheel."""
    run(folder, sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, HERE.parent)
    (built,) = folder.glob("pnyx-*.whl")
    return built


def installed(folder: Path) -> str:
    """Install the wheel in a new environment; return its size without pip and setuptools."""
    run(folder, sys.executable, "-m", "venv", "fresh")
    python = folder / "fresh/bin/python"
    run(folder, python, "-m", "pip", "install", "-q", "--no-cache-dir", wheel(folder))
    (packages,) = (folder / "fresh/lib").glob("python*/site-packages")
    ours = (
        p for p in packages.iterdir() if not p.name.startswith(("pip", "setuptools", "pkg_res"))
    )
    kilobytes = subprocess.run(["du", "-sck", *ours], capture_output=True, text=True, check=True)
    return f"{int(kilobytes.stdout.splitlines()[-1].split()[0]) / 1024:,.0f} MB"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--smoke", action="store_true", help="on little data")
    options = parser.parse_args()
    small = options.smoke
    report = Report("whole")
    report.head("what", "measured", "bar")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words(folder)
        compileall.compile_dir(HERE.parent / "src", quiet=1)  # as pip does when it installs
        n, support = (8, 200) if small else (64, 100_000)
        # Run commands first: a process counts the peak memory of its parent as its own.
        commands: Sequence[Row] = (
            ("`pnyx demo`", lambda: demo(folder), "500 MB"),
            ("`pnyx argue`, labelled example", lambda: argue(folder), "1.5 s CPU, 400 MB"),
            ("`pnyx argue`, 60 files of two folders, the first time; and again",
             lambda: argue_folder(folder), "10 s; 2 s CPU after opening"),
            ("`pnyx serve`, 128 documents, memory after searches that are all different",
             lambda: serve(folder, 20 if small else 1_000), "400 MB, flat"),
            ("`pnyx view --export`, a report of the demo", lambda: exported(folder), ".3 MB"),
            (f"`pnyx measure`, {support:,} verdicts",
             lambda: measure_support(folder, support), "4 s, 200 MB"),
            ("`pnyx compare`, 300 runs by 50 topics",
             lambda: compare(folder, 10 if small else 300, 50), "3 s"),
        )  # fmt: skip
        if "PNYX_DATA" in os.environ:
            some = 1 if small else 5
            report_row = f"packaged `pnyx judge report`, {some} reports of 51"
            of_all = "2 minutes for all, 400 MB"
            commands = (
                *commands,
                (report_row, lambda: judge_reports(folder, some, 1 if small else None), of_all),
            )
        long: Sequence[Row] = (
            ("`pnyx measure`, 1,000,000 verdicts",
             lambda: measure_support(folder, 1_000_000), "600 MB"),
            ("the wheel", lambda: f"{wheel(folder).stat().st_size / 1e6:.1f} MB", "60 MB"),
            ("the core, installed with what it needs", lambda: installed(folder), "350 MB"),
        )  # fmt: skip
        parts: Sequence[Row] = (
            ("hits with ids, 1,000 a question, as a multiple of arrays",
             lambda: hits(folder, 200 if small else 20_000, 5 if small else 200), "1.5"),
            ("detector, pairs a CPU second: 100 words, 1 statement",
             lambda: detector(n, 100, 1), "60"),
            ("the same, 8 statements", lambda: detector(n, 100, 8), "200"),
            ("embedding, texts a CPU second: 10 words", lambda: embedding(8 * n, 10), "600"),
            ("the same, 30 words", lambda: embedding(4 * n, 30), "285"),
            ("the same, 175 words", lambda: embedding(n, 175), ""),
        )  # fmt: skip
        for what, work, bar in [*commands, *(() if small else long), *parts]:
            report.row(what, work(), bar)
        if "PNYX_DATA" in os.environ and not small:
            for row in [*served(folder), *engines(folder, 100_000)]:
                report.row(*row)
    report.write(options.write)


if __name__ == "__main__":
    main()
