"""Measure what one machine can do by size: index, search and serve by words; measure verdicts.

    python lab/by_size.py --write docs/lab/scaling.md        # 1,000,000: about 30 minutes
    python lab/by_size.py --sizes 1000                   # a short test run

Documents are those of `search/corpus.py`: words from a shifted Zipf law, on average 197 per
document. Each command runs in its own process with an empty store.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "judging"), str(HERE / "search")]

from common import Report, arguments  # noqa: E402
from corpus import VOCABULARY, questions, texts  # noqa: E402
from whole import PNYX, Run, address_of, measure_support, memory_of, run  # noqa: E402

TOPICS, SEARCHES = 1_000, 200


def write_documents(path: Path, count: int) -> None:
    names = [f"w{number}" for number in range(VOCABULARY)]
    with path.open("w") as stream:
        for number, words in enumerate(texts(count, 0)):
            text = " ".join([names[word] for word in words.tolist()])
            stream.write(json.dumps({"id": f"d{number}", "text": text}) + "\n")


def size_of(folder: Path) -> float:
    """Return the total size of the files in a folder, in MB."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def serve(folder: Path, searches: list[str]) -> str:
    """Send questions to a server, one after another."""
    command = [*PNYX, "serve", "my.index", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        address = address_of(process)
        times = []
        for question in searches:
            begun = time.perf_counter()
            query = urllib.parse.urlencode({"q": question})
            urllib.request.urlopen(f"{address}/v1/search?{query}", timeout=600).read()
            times.append(time.perf_counter() - begun)
        memory, anonymous = memory_of(process.pid), memory_of(process.pid, "RssAnon")
        process.send_signal(signal.SIGINT)
        process.communicate()
    half, most = np.percentile(np.array(times) * 1000, [50, 99])
    return (
        f"p50 {half:,.0f} ms, p99 {most:,.0f} ms, {anonymous:,.0f} MB its own of {memory:,.0f} MB"
    )


def each(taken: Run, count: int) -> str:
    return f"{taken}; {1000 * taken.cpu / count:.1f} ms CPU a question"


def measured(folder: Path, count: int) -> dict[str, str]:
    """Return the cost of each step for `count` documents and verdicts."""
    write_documents(folder / "documents.jsonl", count)
    queries = questions(TOPICS + SEARCHES, count, 0)
    topics, searches = queries[:-SEARCHES], queries[-SEARCHES:]
    (folder / "topics.jsonl").write_text(
        "".join(json.dumps({"id": f"t{n}", "text": text}) + "\n" for n, text in enumerate(topics))
    )
    rows = {}
    built = run(folder, *PNYX, "index", "documents.jsonl", "--words-only", "--out", "my.index")
    rows["index words (`pnyx index --words-only`)"] = str(built)
    rows["its files"] = f"{size_of(folder / 'my.index'):,.0f} MB"
    (folder / "documents.jsonl").unlink()
    rows["one search from the shell"] = str(run(folder, *PNYX, "search", "my.index", searches[0]))
    ranked = run(folder, *PNYX, "search", "my.index", "--topics", "topics.jsonl", "--out", "a.run")
    rows[f"{len(topics):,} topics, 1,000 documents each, as a run"] = each(ranked, len(topics))
    rows[f"`pnyx serve`, {len(searches)} searches"] = serve(folder, searches)
    rows["`pnyx measure`, as many verdicts"] = measure_support(folder, count)
    return rows


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    options = parser.parse_args()
    report = Report("scaling")
    report.head("", *(f"{count:,}" for count in options.sizes))
    columns = []
    for count in options.sizes:
        folder = Path(tempfile.mkdtemp())
        try:
            columns.append(measured(folder, count))
        finally:
            shutil.rmtree(folder)
    for values in zip(*(rows.items() for rows in columns), strict=True):
        report.row(values[0][0], *(value for _, value in values))
    report.write(options.write)


if __name__ == "__main__":
    main()
