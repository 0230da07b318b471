"""Make the screenshots of docs/screenshots: every page of the web application, on the example.

    python lab/screenshots.py [--only NAME ...] [--keep FOLDER]

The commands make all content from the bundled example with the packaged judges. This requires the
extras serve and test, and Chromium. With --keep, results are stored and reused: a second run only
takes pictures.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "screenshots"
sys.path.insert(0, str(ROOT / "tests"))

QUESTION = "Should voting be compulsory?"
ASKED = "?q=Should+voting+be+compulsory%3F"


def pnyx(folder: Path, *args: str, status: tuple[int, ...] = (0, 3), out: str = "") -> None:
    """Run a command in a folder; `out` is a file for its output."""
    command = [sys.executable, "-m", "pnyx", *args]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in status:
        sys.exit(f"pnyx {' '.join(args)}: {done.returncode}\n{done.stderr}")
    if out:
        (folder / out).write_text(done.stdout, encoding="utf-8")


def make(folder: Path) -> None:
    """Make the content of the pages."""
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
    lines = [
        line.replace(name, key, 1)
        for line in qrels
        for key, name in names.items()
        if line.split()[0] == name
    ]
    (folder / "qrels.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    ask = ("--requests", "requests.jsonl", "--embed-texts", "--run-id")
    pnyx(folder, "report", "example.index", *ask, "hybrid", "--out", "hybrid.jsonl")
    how = ("--model", "bm25", "--max-length", "500")
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
    pnyx(folder, "judge", "support", items, "--judge", labels, "--out", "results/people")
    views = ("--perspectives", "example/perspectives.jsonl", "--out", "results/retrievers")
    pnyx(folder, "compare", "retrievers", "--index", "example.index", *views)
    measured = ("measure", "results/support", "--labels", labels, "--json")
    pnyx(folder, *measured, out="results/support.json")
    for trial in ("noise", "length", "hallucination"):
        draw = ("--limit", "40", "--out", f"results/{trial}")
        pnyx(folder, "audit", "run", "--trial", trial, items, *draw)
    card = ("results/support", "results/noise", "--labels", labels, "--out", "results/card.json")
    pnyx(folder, "audit", "card", *card)


def _lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


WIDE, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}

ASKING = {
    "ask": "/",
    "results": ASKED,
    "results-phone": ASKED,
    "results-dark": ASKED,
    "why": ASKED,
    "covered": ASKED,
    "document": "/doc/compulsory-voting-01",
    "argument": "",
}
VIEWING = {
    "view": "/",
    "leaderboard": "/leaderboard",
    "topic": "/topic/voting",
    "run": "/run/hybrid",
    "report": "/report/reports/hybrid/voting",
    "report-dark": "/report/reports/hybrid/voting",
    "report-phone": "/report/reports/hybrid/voting",
    "sentence": "/sentence/reports/hybrid/voting/1",
    "judgements": "/judgements/support",
    "judgement": "/judgement/support/157",
    "compare": "/compare",
    "compare-judges": "/compare/judges/people/support",
    "compare-runs": "/compare/runs/bm25-short/hybrid/reports/voting",
    "quality": "/quality/quality",
    "matrix": "/perspectives/verdicts-dev",
    "calibration": "/calibration/support",
    "stress": "/stress/noise",
    "card": "/card/card",
    "search": "/search?q=voting",
}
LABELLING = {"label": "support", "label-phone": "support", "label-quality": "quality"}


def take(folder: Path, only: set[str]) -> None:
    """Take the named pictures, or all."""
    from page_fixture import chromium, served_by_command

    OUT.mkdir(exist_ok=True)
    with chromium() as browser:
        shot = Camera(browser, only)
        if shot.wants(ASKING):
            with served_by_command(["serve", "example.index"], cwd=folder) as (url, _):
                shot.asking(url)
        results = ("results", "demo", "hybrid.jsonl", "short.jsonl")
        if shot.wants(VIEWING):
            with served_by_command(["view", *results], cwd=folder) as (url, _):
                for name, path in VIEWING.items():
                    shot.page(name, url + path)
        for name, task in LABELLING.items():
            if shot.wants([name]):
                shot.labelling(name, task, folder)


class Camera:
    """Takes pictures of pages in one browser."""

    def __init__(self, browser: Any, only: set[str]) -> None:
        self.browser, self.only = browser, only

    def wants(self, names: Iterable[str]) -> bool:
        return not self.only or not self.only.isdisjoint(names)

    @contextlib.contextmanager
    def open(self, name: str, url: str) -> Iterator[Any]:
        phone, dark = name.endswith("-phone"), name.endswith("-dark")
        context = self.browser.new_context(
            viewport=PHONE if phone else WIDE,
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        page = context.new_page()
        answer = page.goto(url)
        if answer is None or not answer.ok:
            sys.exit(f"{name}: {url} answers {answer and answer.status}")
        yield page
        context.close()

    def keep(self, name: str, page: Any) -> None:
        page.screenshot(path=str(OUT / f"{name}.png"))
        print(name)

    def page(self, name: str, url: str) -> None:
        if self.wants([name]):
            with self.open(name, url) as page:
                self.keep(name, page)

    def asking(self, url: str) -> None:
        for name, path in ASKING.items():
            if not self.wants([name]):
                continue
            with self.open(name, url + (path or ASKED)) as page:
                if ASKED in path or not path:
                    page.get_by_text("Sides told in").or_(page.locator("h1")).first.wait_for()
                    page.wait_for_load_state("networkidle")
                if name == "why":
                    page.get_by_text("Why this rank").first.click()
                if name == "covered":
                    page.get_by_role("link", name="Perspectives").first.click()
                    page.get_by_text("looking for the").wait_for(state="hidden", timeout=120_000)
                if name == "argument":
                    page.get_by_role("button", name="Write the argument").click()
                    page.wait_for_url("**/argument/*", timeout=120_000)
                self.keep(name, page)

    def labelling(self, name: str, task: str, folder: Path) -> None:
        from page_fixture import served_by_command

        items = {"support": "example/items.jsonl", "quality": "texts.jsonl"}[task]
        with tempfile.TemporaryDirectory() as out:
            command = ["label", task, items, "--out", f"{out}/labels.jsonl"]
            with (
                served_by_command(command, cwd=folder) as (url, _),
                self.open(name, url) as page,
            ):
                page.get_by_role("textbox").first.fill("ann")
                page.keyboard.press("Enter")
                page.wait_for_load_state("networkidle")
                for key in "ynn" if task == "support" else "":
                    page.keyboard.press(key)
                    page.keyboard.press("Enter")
                    page.wait_for_load_state("networkidle")
                self.keep(name, page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", nargs="*", default=[], help="names of pictures")
    parser.add_argument("--keep", type=Path, help="folder of the results, used again")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(exist_ok=True)
        make(folder)
        take(folder.resolve(), set(options.only))


if __name__ == "__main__":
    main()
