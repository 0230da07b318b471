"""Make the screenshots of docs/screenshots: every page of the web application, on the example.

    python tools/screenshots.py [--only NAME ...] [--keep FOLDER]

Everything shown is made by the commands themselves on the bundled example with the packaged
judges. Needs the extras serve and test, and a Chromium. --keep keeps the results, and uses them
again: a second run takes pictures only.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "screenshots"
sys.path.insert(0, str(ROOT / "tests"))

QUESTION = "Should voting be compulsory?"
ASKED = "?q=Should+voting+be+compulsory%3F"
WIDE, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}


def pnyx(folder: Path, *args: str, status: tuple[int, ...] = (0, 3), out: str = "") -> None:
    """Run a command in a folder; `out` is a file for what it prints."""
    command = [sys.executable, "-m", "pnyx", *args]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in status:
        sys.exit(f"pnyx {' '.join(args)}: {done.returncode}\n{done.stderr}")
    if out:
        (folder / out).write_text(done.stdout, encoding="utf-8")


def make(folder: Path) -> None:
    """Make what the pages show."""
    if (folder / "made").exists():
        return
    pnyx(folder, "demo", "--out", "demo")
    pnyx(folder, "demo", "--files-only", "--out", "example")
    pnyx(folder, "index", "example/arguments.jsonl", "--out", "example.index", "--clusters")
    topics = {"voting": QUESTION, "zoos": "Should zoos be phased out?"}
    _lines(
        folder / "requests.jsonl",
        [{"request_id": k, "title": v, "limit": 900} for k, v in topics.items()],
    )
    _lines(folder / "topics.jsonl", [{"id": k, "text": v} for k, v in topics.items()])
    qrels = (folder / "example/qrels.txt").read_text("utf-8").splitlines()
    names = {"voting": "compulsory-voting", "zoos": "zoos"}
    kept = [
        line.replace(name, key, 1)
        for line in qrels
        for key, name in names.items()
        if line.split()[0] == name
    ]
    (folder / "qrels.txt").write_text("\n".join(kept) + "\n", encoding="utf-8")
    ask = ("--request", "requests.jsonl", "--documents", "--run-id")
    pnyx(folder, "report", "example.index", *ask, "hybrid", "--out", "hybrid.jsonl")
    how = ("--model", "bm25", "--limit", "500")
    pnyx(folder, "report", "example.index", *ask, "bm25-short", "--out", "short.jsonl", *how)
    drawn = ("--qrels", "qrels.txt", "--index", "example.index", "--topics", "topics.jsonl")
    pnyx(folder, "nuggets", "create", *drawn, "--out", "bank.jsonl")
    results = folder / "results"
    results.mkdir(exist_ok=True)
    bank = ("--nuggets", "bank.jsonl", "--out", "results/reports")
    pnyx(folder, "judge", "report", "hybrid.jsonl", "short.jsonl", *bank)
    pnyx(folder, "measure", "report", "results/reports", "--json", out="results/measured.json")
    _judged(folder)
    (folder / "made").touch()


def _judged(folder: Path) -> None:
    items, labels = "example/items.jsonl", "example/item-labels.jsonl"
    texts = [json.loads(x) for x in (folder / "example/arguments.jsonl").open(encoding="utf-8")]
    _lines(
        folder / "texts.jsonl",
        [
            {"id": x["id"], "text": x["text"], "topic": x["topic"], "group": x["topic"],
             "side": x["stance"]}
            for x in texts[::4]
        ],
    )  # fmt: skip
    pnyx(folder, "judge", "quality", "texts.jsonl", "--out", "results/quality")
    pnyx(folder, "judge", "support", items, "--out", "results/support")
    views = ("--perspectives", "example/perspectives.jsonl", "--out", "results/retrievers")
    pnyx(folder, "bench", "perspectives", "--index", "example.index", *views)
    measured = ("measure", "support", "results/support", "--labels", labels, "--json")
    pnyx(folder, *measured, out="results/support.json")
    for trial in ("noise", "length", "hallucination"):
        draw = ("--limit", "40", "--out", f"results/{trial}")
        pnyx(folder, "audit", "stress", trial, items, *draw)
    card = ("results/support", "results/noise", "--labels", labels, "--out", "results/card.json")
    pnyx(folder, "audit", "card", *card)


def _lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.mkdir(exist_ok=True)
    make(place)
