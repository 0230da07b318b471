"""The ceiling of `argue` with a model: what of its knowledge reaches the page, at what cost?

    PNYX_DATA=DATA python lab/argue/oracle.py --work FOLDER --write docs/lab/argue.md
    ... --questions 5                        # so many of each kind, chosen at random
    ... --data folders --model "5 % errors"  # some kinds of questions, some models
    ... --part development                   # what choices are made on; the default is test

A server that knows the labels (`oracle_server.py`) is the language model of the whole command: it
reads the question, decides sides, writes, and judges citations. It answers a stated share of
prompts wrongly, may prefer what comes first, and may wrap its replies as real models do. Questions
are debates asked in people's own words or by their titles (`pages.py`), and labelled folders
(`folders.py`). FOLDER keeps the indexes.

Figures: share of citations on the question (debates: cited passages; folders: cited sentences); of
these, on the right side; questions for which both sides are cited rightly, of those where the
documents hold both. Intervals are over debates or over a folder's questions. Calls and prompt
tokens (4 characters each) are all that a question costs, citations included: mean and greatest.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from folder_sources import read_folders, write_files
from folders import DRAWS, SOURCES
from folders import outcome as folder_outcome
from oracle_server import Known, Oracle, knows_debates, knows_folders, serve, spent
from pages import Asked, Collection, collections, indexed, reworded

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

import pnyx
from pnyx.cases.argument import argue
from pnyx.cases.case import Case
from pnyx.cases.open_citations import citation_judge
from pnyx.cases.open_writer import argue_plan, open_writer
from pnyx.cases.options import ArgueSpec
from pnyx.core.records import Question
from pnyx.judging.counted_judge import default_judge
from pnyx.judging.open_models import open_model
from pnyx.judging.options import PaidModelSpec
from pnyx.models.embed.embedder import embedder_from
from pnyx.search.pipeline import Searcher
from pnyx.search.plan import Scoring, SearchPlan

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
PLAN = SearchPlan(scoring=Scoring("hybrid"))
KINDS = ("own-words", "titles", "folders")
MODELS: Mapping[str, Mapping[str, Any]] = {
    "no errors": {},
    "5 % errors": {"errors": 0.05},
    "15 % errors": {"errors": 0.15},
    "5 %, prefers the first": {"errors": 0.05, "first": 0.5},
    "5 %, wrapped replies": {"errors": 0.05, "wrap": "mixed"},
    "15 %, both": {"errors": 0.15, "first": 0.5, "wrap": "mixed"},
}
SIGNS = {"pro": 1, "con": -1}


@dataclass
class Task:
    """A question to argue.

    Attributes:
        question: what is asked.
        searcher: where.
        group: questions of one group are drawn together.
        both: whether the documents hold both sides.
        signs: case -> side -> for each citation 1 (right side), -1 (on the question, not right) or
            0 (not on it).
    """

    question: Question
    searcher: Searcher
    group: str
    both: bool
    signs: Callable[[Case], Mapping[str, list[int]]]


@dataclass(frozen=True)
class Row:
    """What one question gave, and what it cost."""

    group: str
    both: bool
    cited: Mapping[str, list[int]]
    cost: Mapping[str, tuple[int, int]]  # prompt -> calls and prompt tokens

    def total(self, position: int) -> int:
        """Return its calls (0) or prompt tokens (1)."""
        return sum(pair[position] for pair in self.cost.values())


def debates_known() -> dict[str, Known]:
    """Return what the oracle knows of the debates, by titles and in own words."""
    found = collections(DATA)
    known = knows_debates(found)
    reworded(found)
    return known | knows_debates(found)


def folders_known(part: str) -> dict[str, Known]:
    """Return what the oracle knows of the labelled folders."""
    return knows_folders(read_folders(SOURCES / part))


def _chosen(questions: Sequence[Any], count: int) -> list[Any]:
    order = np.random.default_rng(0).permutation(len(questions))[: count or None]
    return [questions[position] for position in order]


def debate_tasks(work: Path, part: str, count: int, kind: str) -> tuple[dict[str, Known], Any]:
    """Return what is known of debates, and their questions."""
    found = collections(DATA)
    known = knows_debates(found)
    if kind == "own-words":
        reworded(found)
        known = knows_debates(found)
    asked = [(c, one) for c in found.values() for one in c.asked if one.part == part]
    embedder = embedder_from()

    def tasks() -> Iterator[Task]:
        for collection, one in _chosen(asked, count):
            searcher = Searcher(indexed(collection, work, embedder), PLAN, embedder=embedder)

            def signs(case: Case, collection: Any = collection, one: Any = one) -> Any:
                return debate_signs(collection, one, case)

            group = one.question.id.removesuffix(" +").removesuffix(" -")
            both = collection.sides(one) == {1, -1}
            yield Task(one.question, searcher, group, both, signs)

    return known, tasks


def debate_signs(collection: Collection, asked: Asked, case: Case) -> dict[str, list[int]]:
    """Return the signs of cited passages; see `Task`."""
    return {
        side.side: [
            (collection.side(asked, doc_id) or 0) * SIGNS[side.side]
            for doc_id in side.response.references
        ]
        for side in case.sides
    }


def folder_tasks(work: Path, part: str, count: int) -> tuple[dict[str, Known], Any]:
    """Return what is known of labelled folders, and their questions."""
    folders = read_folders(SOURCES / part)
    asked = [(folder, question) for folder in folders for question in folder.questions]

    def tasks() -> Iterator[Task]:
        for folder, question in _chosen(asked, count):
            files, index = work / "files" / folder.name, work / "indexes" / folder.name
            if not files.exists():
                write_files(folder, files)
            index.parent.mkdir(parents=True, exist_ok=True)
            opened = pnyx.open(str(index)) if index.exists() else pnyx.open(str(files), index)
            searcher = Searcher(opened.index, PLAN, embedder=embedder_from())

            def signs(case: Case, folder: Any = folder, question: Any = question) -> Any:
                return folder_signs(folder_outcome(folder, question, case, (0.0, 0.0)))

            both = folder.sides(question) == {"yes", "no"}
            asks = Question(question.id, question.text)
            yield Task(asks, searcher, question.id, both, signs)

    return knows_folders(folders), tasks


def folder_signs(row: Mapping[str, Any]) -> dict[str, list[int]]:
    """Return the signs of cited sentences; see `Task`. Paragraphs for both sides are not right."""
    signs: dict[str, list[int]] = {"yes": [], "no": []}
    for one in row["sentences"]:
        on_question = one["stance"] in ("yes", "no", "mixed")
        signs[one["side"]].append((1 if one["stance"] == one["side"] else -1) * on_question)
    return signs


def figures(rows: Sequence[Row]) -> dict[str, float]:
    """Return the shares of some questions, of all their citations together."""
    cited = [sign for row in rows for signs in row.cited.values() for sign in signs]
    both = [all(1 in signs for signs in row.cited.values()) for row in rows if row.both]
    return {
        "on the question": _mean([sign != 0 for sign in cited]),
        "right": _mean([sign > 0 for sign in cited if sign]),
        "both rightly": _mean(both),
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def cells(rows: Sequence[Row]) -> list[str]:
    """Return the shares with 95 % intervals over groups, then the mean and the greatest cost."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    grouped, rng = list(groups.values()), np.random.default_rng(0)
    drawn = [
        figures([row for i in rng.integers(0, len(grouped), len(grouped)) for row in grouped[i]])
        for _ in range(DRAWS)
    ]
    shown = []
    for name, value in figures(rows).items():
        low, high = np.nanquantile([one[name] for one in drawn], [0.025, 0.975])
        shown.append(f"{100 * value:.0f} % [{100 * low:.0f}, {100 * high:.0f}]")
    for position, form in ((0, ".1f"), (1, ",.0f")):
        totals = [row.total(position) for row in rows]
        shown.append(f"{_mean(totals):{form}} ({max(totals):,})")
    return shown


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def answered(oracle: Oracle, tasks: Iterator[Task]) -> Iterator[Row]:
    """Argue each question with the oracle as its model, with a new store for all."""
    with serve(oracle) as server, tempfile.TemporaryDirectory() as folder:
        spec = PaidModelSpec(llm=(server.spec,), store=str(Path(folder) / "replies.sqlite"))
        with open_model(spec, _say, spec, cost=False) as model:
            for task in tasks:
                before = len(server.asked())
                case = argue(
                    task.searcher,
                    task.question,
                    judge=default_judge(model),
                    writer=open_writer(ArgueSpec(), model),
                    citation_judge=citation_judge(model),
                    plan=argue_plan(ArgueSpec()),
                    model=model,
                )
                _say(f"{task.question.text[:70]} {case.weighed and case.weighed.said[:200]}")
                cost = spent(server.asked()[before:])
                yield Row(task.group, task.both, task.signs(case), cost)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--data", nargs="*", choices=KINDS, default=KINDS)
    parser.add_argument("--model", nargs="*", choices=MODELS, default=list(MODELS))
    parser.add_argument("--part", choices=("test", "development"), default="test")
    parser.add_argument("--questions", type=int, default=0, help="of each kind (default: all)")
    options = parser.parse_args()
    report = Report("argue-oracle")
    costs: dict[str, list[Row]] = {}
    for kind in options.data:
        where = options.work / options.part, options.part, options.questions
        known, tasks = folder_tasks(*where) if kind == "folders" else debate_tasks(*where, kind)
        for name in options.model:
            oracle = Oracle(known, **MODELS[name])
            rows = list(answered(oracle, tasks()))
            if name == options.model[0]:
                head = f"{kind}, {len(rows)} {options.part} questions"
                report.head(head, *figures(rows), "calls (peak)", "prompt tokens (peak)")
            report.row(name, *cells(rows))
            costs.setdefault(kind, []).extend(rows)
            if oracle.unknown:
                report.line(f"\nThe oracle could not answer {oracle.unknown.total()} prompts.")
    names = list(dict.fromkeys(name for rows in costs.values() for r in rows for name in r.cost))
    report.head("a question, all models: calls, prompt tokens", *costs)
    for name in names:
        pairs = [[row.cost.get(name, (0, 0)) for row in rows] for rows in costs.values()]
        means = [np.mean(kind_pairs, axis=0) for kind_pairs in pairs]
        report.row(name, *(f"{calls:.1f}, {tokens:,.0f}" for calls, tokens in means))
    report.write(options.write)


if __name__ == "__main__":
    main()
