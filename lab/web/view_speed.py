"""Speed of `pnyx view`: generate results of many runs, read them, and request each kind of page.

    python lab/web/view_speed.py --write docs/lab/viewing.md

It reports the seconds to build the catalogue and to open it again, its peak memory and size, and
for each kind of page the median and maximum response time over HTTP on this machine.
"""

from __future__ import annotations

import json
import os
import random
import resource
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

sys.path.append(str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

WORDS = (
    "schools should give less homework because sleep matters more than marks to children".split()
)


def finding(rng: random.Random, name: str = "") -> dict:
    """Return a random finding; one in fifty is unscored."""
    if rng.random() < 0.02:
        return {"value": None, "by": "model", "why": "refusal: no", "probability": None, "id": name}
    p = round(rng.random(), 4)
    return {"value": p > 0.4, "by": "model", "why": "it says so", "probability": p, "id": name}


def report(rng: random.Random, run: str, topic: str, sentences: int) -> dict:
    """Return a line of reports.jsonl."""
    rows = []
    for n in range(1, sentences + 1):
        doc, name = f"d{rng.randrange(200)}", f"{run}/{topic}/{n}"
        cited = {
            "doc_id": doc,
            "relevant": finding(rng, f"{topic}/relevant/{doc}"),
            "attests": finding(rng, f"{name}/attests/{doc}"),
        }
        outcome = rng.choice(["reward", "penalty", "neutral"])
        step = {"path": ["relevant=yes"], "outcome": outcome, "weight": 1.0, "about": doc}
        rows.append(
            {
                "text": " ".join(rng.choices(WORDS, k=18)) + ".",
                "citations": [cited],
                "findings": {"answers": finding(rng, f"{name}/answers")},
                "answers": [["n1", 0]] if rng.random() < 0.3 else [],
                "steps": [step],
                "unscored_answers": [],
            }
        )
    bank = random.Random(topic)  # all runs have the same nuggets
    nuggets = [
        {
            "id": f"n{n}",
            "text": " ".join(bank.choices(WORDS, k=6)),
            "importance": "vital",
            "aggregator": "OR",
            "is_claim": False,
            "answers": [
                {"text": "yes", "given": rng.random() < 0.4, "sentences": [], "partial": False}
            ],
        }
        for n in range(1, 9)
    ]
    return {
        "topic_id": topic,
        "run_id": run,
        "sentences": rows,
        "nuggets": nuggets,
        "relevant": [f"d{n}" for n in range(5)],
        "missing": False,
        "notes": [],
    }


def generate(folder: Path, runs: int, topics: int, judgements: int, sentences: int) -> None:
    """Write a results folder of judged reports, as `pnyx judge report` does."""
    rng = random.Random(0)
    folder.mkdir()
    names = [f"run-{n:03}" for n in range(runs)], [f"topic-{n:02}" for n in range(topics)]
    with (folder / "reports.jsonl").open("w") as stream:
        for run in names[0]:
            for topic in names[1]:
                stream.write(json.dumps(report(rng, run, topic, sentences)) + "\n")
    with (folder / "answers.jsonl").open("w") as stream:
        for n in range(judgements):
            run, topic = names[0][n % runs], names[1][n // runs % topics]
            sentence, doc = n // (runs * topics) + 1, f"d{rng.randrange(200)}"
            verdict = finding(rng)
            row = {
                "run_id": run,
                "topic_id": topic,
                "sentence": sentence,
                "doc_id": doc,
                "id": f"{run}/{topic}/{sentence}/attests/{doc}-{n}",
                "task": "support",
                "group": topic,
                "dimension": None,
                "value": verdict["value"],
                "probability": verdict["probability"],
                "unscored": None if verdict["value"] is not None else verdict["why"],
                "explanation": " ".join(rng.choices(WORDS, k=12)),
                "evidence": "",
                "judge": "a-model",
                "method": "stated",
                "prompt_hash": "",
                "notes": None,
            }
            stream.write(json.dumps(row) + "\n")
    manifest = {"format": "pnyx-results", "task": "report", "judge": "a-model"}
    (folder / "manifest.json").write_text(json.dumps(manifest))


@contextmanager
def served(app: object) -> Iterator[str]:
    """Serve an application in a thread; yield its address."""
    import socket

    import uvicorn

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        config = uvicorn.Config(app, log_config=None, lifespan="on")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(30)


def sampled(rng: random.Random, catalogue: object, count: int) -> dict[str, list[str]]:
    """Return kind of page -> addresses to request: the first, the last, and random others."""
    from pnyx.web.rendering import Links
    from pnyx.web.results.routes import addresses

    by_kind: dict[str, list[str]] = {}
    for address in addresses(catalogue):
        by_kind.setdefault(address.page or "overview", []).append(Links().to(*address.whole))
    by_page = {}
    for kind, every in by_kind.items():
        ends = [every[0], every[-1]]
        by_page[kind] = [*ends, *rng.sample(every, min(len(every), count - 2))]
    searches = ("sleep", "homework children", "marks matters", "xyzzy", "l")
    by_page["search"] = [f"/search?q={quote(query)}" for query in searches]
    return by_page


def main() -> None:
    """Print the table."""
    parser = arguments(__doc__)
    for name, default in (("runs", 300), ("topics", 50), ("judgements", 100_000),
                          ("sentences", 8), ("count", 40)):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["PNYX_CACHE"] = f"{temporary}/cache"
        results = Path(temporary) / "results"
        generate(results, chosen.runs, chosen.topics, chosen.judgements, chosen.sentences)
        output = Report("viewing")
        output.line(
            f"{chosen.runs} runs, {chosen.topics} topics, {chosen.runs * chosen.topics:,} judged "
            f"reports of {chosen.sentences} sentences, {chosen.judgements:,} judgements."
        )
        measure(results, chosen.count, output)
        output.write(chosen.write)


def measure(results: Path, count: int, output: Report) -> None:
    """Read results, request pages, and report times and sizes."""
    import httpx2

    from pnyx.web.results.application import view_app
    from pnyx.web.results.open_catalogue import CurrentCatalogue, open_catalogue

    size = sum(file.stat().st_size for file in results.iterdir()) / 1e6
    start, busy = time.perf_counter(), time.process_time()
    catalogue = open_catalogue([str(results)])
    built, busy = time.perf_counter() - start, time.process_time() - busy
    start = time.perf_counter()
    current = CurrentCatalogue([str(results)])
    opened = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    disk = catalogue.path.stat().st_size / 1e6
    output.line(
        f"{size:.0f} MB of results: built in {built:.1f} s ({busy:.1f} s of one core, at most "
        f"{peak:.0f} MB of memory), {disk:.0f} MB kept; opened again in {1000 * opened:.0f} ms."
    )
    output.head("page", "asked", "p50 ms", "max ms", "p50 ms of a core", "KB")
    wanted = sampled(random.Random(1), catalogue, count)
    with (
        served(view_app(current)) as address,
        httpx2.Client(base_url=address, timeout=60) as client,
    ):
        client.get("/")
        for kind, paths in wanted.items():
            times, cores, bytes_ = [], [], []
            for path in paths:
                start, busy = time.perf_counter(), time.process_time()
                answer = client.get(path)
                times.append(1000 * (time.perf_counter() - start))
                cores.append(1000 * (time.process_time() - busy))
                answer.raise_for_status()
                bytes_.append(len(answer.content) / 1000)
            middle, core, kb = map(statistics.median, (times, cores, bytes_))
            output.row(
                kind, len(paths), f"{middle:.0f}", f"{max(times):.0f}", f"{core:.0f}", f"{kb:.0f}"
            )


if __name__ == "__main__":
    main()
