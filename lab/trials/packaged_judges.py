"""The packaged judges in the trials of `pnyx audit run`, on real debates.

    PNYX_DATA=DATA python lab/trials/packaged_judges.py --work FOLDER
    ... --write docs/lab/trials.md   # updates its section

Items of relevance are the question of a page with one of its arguments, which is relevant. Items of
support are such an argument with the point that it makes according to the portal. Items of stance
are the argument with the pro and con side of the question, in turn. `--part development` uses the
pages on which the packaged models were chosen; the test pages were not used for training or
choices.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "argue"))
sys.path.append(str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments
from pages import Collection, collections

from pnyx.cli import main as pnyx
from pnyx.core.files import atomic_text
from pnyx.display.tables import Table
from pnyx.display.trials import trial_tables

RUNS = (
    ("relevance", "noise"),
    ("support", "noise"),
    ("support", "hallucination"),
    ("support", "joint"),
    *((task, name) for name in ("length", "paraphrase", "injection")
      for task in ("relevance", "support")),
)  # fmt: skip
LIMITS = {"joint": 60, "length": 60, "paraphrase": 60, "injection": 40}
"""Maximum number of items in trials that ask more than two questions about each."""


def items_of(
    sets: list[Collection], part: str, each: int, out: Path
) -> dict[str, tuple[Path, int]]:
    """Write the items of each task, `each` arguments per question; return files and page counts."""
    rows: dict[str, list[dict[str, Any]]] = {"relevance": [], "support": [], "stance": []}
    pages = 0
    for collection in sets:
        for item in (item for item in collection.questions if item.part == part):
            documents = [
                d for d in collection.documents if collection.labels[d.id].page in item.pages
            ]
            random.Random(f"0/{item.question.id}").shuffle(documents)
            pages += bool(documents)
            for document in documents[:each]:
                shared = {"id": document.id, "group": item.question.id, "label": True}
                rows["relevance"].append(
                    {**shared, "question": item.question.text, "document": document.text}
                )
                point = collection.labels[document.id].point
                rows["stance"].append(
                    {**shared, "question": item.question.text, "text": document.text,
                     "stance": "pro" if len(rows["stance"]) % 2 else "con"}
                )  # fmt: skip
                del shared["label"]  # there is no label of whether the text supports its title
                rows["support"].append({**shared, "text": document.text, "statement": point})
    files = {}
    for task, some in rows.items():
        files[task] = out / f"{part}-{task}.jsonl", pages
        with atomic_text(files[task][0]) as stream:
            stream.writelines(json.dumps(row) + "\n" for row in some)
    return files


def ran(
    task: str, trial: str, items: Path, out: Path, limits: Mapping[str, int] = LIMITS
) -> dict[str, Any]:
    """Run one trial by the command, unless it is in the folder, and return its summary."""
    if (out / "summary.json").exists():
        done: dict[str, Any] = json.loads((out / "summary.json").read_text("utf-8"))
        return done
    limit = limits.get(trial, 0)
    more = ["--limit", str(limit)] if limit else []
    command = [
        "audit",
        "run",
        "--trial",
        trial,
        str(items),
        "--task",
        task,
        "--out",
        str(out),
        *more,
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            pnyx(command)
        except SystemExit as ended:
            if ended.code not in (0, 3):
                raise
    summary: dict[str, Any] = json.loads((out / "summary.json").read_text("utf-8"))
    return summary


def show(report: Report, summary: dict[str, Any]) -> None:
    """Add a trial's tables to the report."""
    report.line()
    report.line(f"**{summary['trial']}, {summary['task']}: {summary['outcome']}** "
                f"({summary['judge']}; {summary['items']['used']} items of "
                f"{summary['interval']['clusters']} pages)")  # fmt: skip
    for problem in summary["problems"]:
        report.line(f"{problem['said'][:1].upper()}{problem['said'][1:]}.")
    for table in trial_tables(summary):
        report.line()
        for line in _markdown(table):
            report.line(line)


def _markdown(table: Table) -> list[str]:
    return table.markdown().rstrip("\n").split("\n")


def tried(
    report: Report,
    options: argparse.Namespace,
    runs: Sequence[tuple[str, str]],
    limits: Mapping[str, int] = LIMITS,
) -> None:
    """Run trials, and add their tables to the report."""
    os.environ.pop("PNYX_LLM", None)
    options.work.mkdir(parents=True, exist_ok=True)
    by_name = collections(Path(os.environ["PNYX_DATA"]))
    sets = [by_name["debatewise"], by_name["procon"]]
    items = items_of(sets, options.part, options.each, options.work)
    report.line(f"Debatewise and ProCon, {options.part} pages: {items['support'][1]}, up to "
                f"{options.each} arguments of each.")  # fmt: skip
    for task, trial in runs:
        out = options.work / f"{options.part}-{task}-{trial}"
        show(report, ran(task, trial, items[task][0], out, limits))
    report.write(options.write)


def chosen(description: str | None) -> argparse.Namespace:
    parser = arguments(description)
    parser.add_argument("--work", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--part", choices=("test", "development"), default="test")
    parser.add_argument("--each", type=int, default=3, help="arguments of each page")
    return parser.parse_args()


if __name__ == "__main__":
    report = Report("trial curves")
    tried(report, chosen(__doc__), RUNS)
