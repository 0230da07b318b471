"""The ceiling of the flow: how much of what a capable model knows reaches the page, at what cost?

    PNYX_DATA=DATA python benchmarks/argue/oracle.py --work FOLDER [--questions N] [--errors E ...]
    ... --data folders         # the development folders; the test debates in own words are default
    ... --part development --wrap fenced --first 0.5

A server that knows the labels (`oracle_server.py`) is the language model of the whole command: it
reads the question, decides sides, writes and judges citations. FOLDER keeps the indexes. Figures:
share of cited passages on the question; of these on the right side; questions for which both sides
are cited rightly, where the collection holds both; calls and prompt tokens a question, by prompt.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from folder_sources import read_folders, write_files
from folders import SOURCES
from folders import figures as folder_figures
from folders import outcome as folder_outcome
from oracle_server import WRAPS, Known, Oracle, knows_debates, knows_folders, serve, spent
from pages import Asked, Collection, collections, indexed, reworded

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

import pnyx
from pnyx.app.judge_specs import PaidModelSpec
from pnyx.app.open_judge import default_judge
from pnyx.app.open_models import open_model
from pnyx.app.open_search import argue_plan, open_writer
from pnyx.app.search_specs import ArgueSpec
from pnyx.models.embed.embedder import embedder_from
from pnyx.records import Question
from pnyx.search.pipeline import Searcher
from pnyx.search.plan import Scoring, SearchPlan
from pnyx.write.arguing import argue
from pnyx.write.case import Case

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
PLAN = SearchPlan(scoring=Scoring("hybrid"))


@dataclass
class Task:
    """A question to argue: where it is searched, and what becomes of its case."""

    question: Question
    searcher: Searcher
    outcome: Any


def debates_known() -> dict[str, Known]:
    """Return what the oracle knows of the debates, by titles and in own words."""
    found = collections(DATA)
    known = knows_debates(found)
    reworded(found)
    return known | knows_debates(found)


def folders_known(part: str = "development") -> dict[str, Known]:
    """Return what the oracle knows of the labelled folders."""
    return knows_folders(read_folders(SOURCES / part))


def debate_tasks(work: Path, part: str, count: int) -> tuple[dict[str, Known], Iterator[Task]]:
    """Return the knowledge and questions in own words, chosen by chance."""
    found = collections(DATA)
    reworded(found)
    asked = [(c, one) for c in found.values() for one in c.asked if one.part == part]
    order = np.random.default_rng(0).permutation(len(asked))[: count or None]
    embedder = embedder_from()

    def tasks() -> Iterator[Task]:
        for place in order:
            collection, one = asked[place]
            searcher = Searcher(indexed(collection, work, embedder), PLAN, embedder=embedder)

            def row(case: Case, collection: Any = collection, one: Any = one) -> Any:
                return debate_row(collection, one, case)

            yield Task(one.question, searcher, row)

    return knows_debates(found), tasks()


def folder_tasks(work: Path, part: str, count: int) -> tuple[dict[str, Known], Iterator[Task]]:
    """Return the knowledge and questions of labelled folders, chosen by chance."""
    folders = read_folders(SOURCES / part)
    asked = [(folder, one) for folder in folders for one in folder.questions]
    order = np.random.default_rng(0).permutation(len(asked))[: count or None]

    def tasks() -> Iterator[Task]:
        for place in order:
            folder, question = asked[place]
            files, index = work / "files" / folder.name, work / "indexes" / folder.name
            if not files.exists():
                write_files(folder, files)
            index.parent.mkdir(parents=True, exist_ok=True)
            opened = pnyx.open(str(index)) if index.exists() else pnyx.open(str(files), index)
            searcher = Searcher(opened.index, PLAN, embedder=embedder_from())

            def row(case: Case, folder: Any = folder, question: Any = question) -> Any:
                return folder_outcome(folder, question, case, (0.0, 0.0))

            yield Task(Question(question.id, question.text), searcher, row)

    return knows_folders(folders), tasks()


def debate_row(collection: Collection, asked: Asked, case: Case) -> dict[str, Any]:
    """Return 1 for each passage cited for its own side, -1 for the other, 0 off the question."""
    signs = {"pro": 1, "con": -1}
    cited = {
        side.side: [(collection.side(asked, doc) or 0) * signs[side.side]
                    for doc in side.response.references]
        for side in case.sides
    }  # fmt: skip
    return {"cited": cited, "both": collection.sides(asked) == {1, -1}}


def figures(rows: Sequence[Any], data: str) -> dict[str, float]:
    """Return the figures of some questions; shares are of all citations together."""
    if data == "debates":
        cited = [one for row in rows for own in row["cited"].values() for one in own]
        on = [one for one in cited if one]
        both = [all(1 in own for own in row["cited"].values()) for row in rows if row["both"]]
        return {"on the question": len(on) / max(1, len(cited)),
                "right": float(np.mean([one > 0 for one in on])),
                "both rightly": float(np.mean(both)),
                "passages": len(cited) / len(rows)}  # fmt: skip
    stances = [one["stance"] for row in rows for one in row["sentences"]]
    on_share = sum(one in ("yes", "no", "mixed") for one in stances) / max(1, len(stances))
    found = folder_figures(rows)
    return {"on the question": on_share, "right": found["right"] / max(on_share, 1e-9),
            "both rightly": found["both rightly"], "sentences": found["sentences"]}  # fmt: skip


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def ask(oracle: Oracle, tasks: Iterator[Task]) -> tuple[list[Any], Mapping[str, tuple[int, int]]]:
    """Argue each question with the oracle as its model; return rows, and what was asked."""
    rows = []
    with serve(oracle) as server, tempfile.TemporaryDirectory() as folder:
        spec = PaidModelSpec(llm=(server.spec,), store=str(Path(folder) / "replies.sqlite"))
        with open_model(spec, _say, spec, cost=False) as model:
            for task in tasks:
                case = argue(
                    task.searcher,
                    task.question,
                    judge=default_judge(model),
                    writer=open_writer(ArgueSpec(), model),
                    plan=argue_plan(ArgueSpec()),
                    model=model,
                )
                rows.append(task.outcome(case))
                print(task.question.text[:70], case.weighed and case.weighed.said[:200],
                      file=sys.stderr)  # fmt: skip
        return rows, spent(server)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--data", choices=("debates", "folders"), default="debates")
    parser.add_argument("--part", choices=("test", "development"))
    parser.add_argument("--questions", type=int, default=0, help="so many, by chance; 0 for all")
    parser.add_argument("--errors", type=float, nargs="*", default=[0.0, 0.05, 0.15])
    parser.add_argument("--first", type=float, default=0.0)
    parser.add_argument("--wrap", choices=WRAPS, default="plain")
    options = parser.parse_args()
    part = options.part or ("test" if options.data == "debates" else "development")
    report = Report("argue-oracle")
    make = debate_tasks if options.data == "debates" else folder_tasks
    costs: dict[float, Mapping[str, tuple[int, int]]] = {}
    count = 1
    for errors in options.errors:
        known, tasks = make(options.work / part, part, options.questions)
        oracle = Oracle(known, errors, options.first, options.wrap)
        rows, costs[errors] = ask(oracle, tasks)
        count = len(rows)
        found = figures(rows, options.data)
        if errors == options.errors[0]:
            report.line(f"{count} questions on {part} {options.data}, replies {options.wrap}.")
            report.head("errors of the model", *found, "calls", "prompt tokens")
        calls, tokens = (sum(one[i] for one in costs[errors].values()) / count for i in (0, 1))
        shown = [f"{value:.2f}" for value in found.values()]
        report.row(f"{100 * errors:.0f} %", *shown, f"{calls:.1f}", f"{tokens:,.0f}")
        if oracle.unknown:
            report.line(f"\nThe oracle could not answer {oracle.unknown.total()} prompts.")
    names = list(dict.fromkeys(name for cost in costs.values() for name in cost))
    report.head("calls and prompt tokens a question, by prompt", *names)
    for errors, cost in costs.items():
        shares = [(calls / count, tokens / count) for calls, tokens in
                  (cost.get(name, (0, 0)) for name in names)]  # fmt: skip
        report.row(f"{100 * errors:.0f} %", *(f"{c:.1f}, {t:,.0f}" for c, t in shares))
    report.write(options.write)


if __name__ == "__main__":
    main()
