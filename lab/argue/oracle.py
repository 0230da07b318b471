"""The upper bound of `argue` with a language model: how good can the page be, and at what cost?

    PNYX_DATA=DATA python lab/argue/oracle.py --work FOLDER --write docs/lab/argue.md
    ... --questions 5                        # N of each kind, chosen at random
    ... --data folders --model "5 % errors"  # some kinds of questions, some models
    ... --part development                   # used for choices; the default is test

A server that has the labels (`oracle_server.py`) is the language model of the whole command: it
reads the question, decides sides, writes, and judges citations. It answers a given share of prompts
wrongly, may prefer the first option, and may wrap its replies as real models do. Questions are
debates asked in people's own words or by their titles (`pages.py`), and labelled folders
(`folders.py`). FOLDER stores the indexes.

Figures: the share of citations that are on the question (debates: cited passages; folders: cited
sentences); of these, the share on the right side; of the questions whose documents contain both
sides, those for which both are cited correctly. Intervals are over debates or over the questions of
a folder. Calls and prompt tokens (4 characters each) are the whole cost of a question, including
citations: mean and maximum.
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
from folder_sources import read_folders
from folders import SOURCES, open_folder
from folders import outcome as folder_outcome
from oracle_server import KnownQuestion, Oracle, knows_debates, knows_folders, serve, spent
from pages import Collection, DebateQuestion, collections, indexed, reworded
from shares import grouped, intervals, mean, percent

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

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
        question: the question.
        searcher: searches its documents.
        group: questions of a group are resampled together.
        both: whether the documents contain both sides.
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
    """The result of one question, and its cost."""

    group: str
    both: bool
    cited: Mapping[str, list[int]]
    cost: Mapping[str, tuple[int, int]]  # prompt -> calls and prompt tokens

    def total(self, position: int) -> int:
        """Return its calls (0) or prompt tokens (1)."""
        return sum(pair[position] for pair in self.cost.values())


def debates_known() -> dict[str, KnownQuestion]:
    """Return the labels of the debates for the oracle, by titles and in people's own words."""
    by_name = collections(DATA)
    knowledge = knows_debates(by_name)
    reworded(by_name)
    return knowledge | knows_debates(by_name)


def folders_known(part: str) -> dict[str, KnownQuestion]:
    """Return the labels of the folders for the oracle."""
    return knows_folders(read_folders(SOURCES / part))


def _chosen(questions: Sequence[Any], count: int) -> list[Any]:
    order = np.random.default_rng(0).permutation(len(questions))[: count or None]
    return [questions[position] for position in order]


def debate_tasks(
    work: Path, part: str, count: int, kind: str
) -> tuple[dict[str, KnownQuestion], Any]:
    """Return the labels of debates, and their questions."""
    by_name = collections(DATA)
    knowledge = knows_debates(by_name)
    if kind == "own-words":
        reworded(by_name)
        knowledge = knows_debates(by_name)
    items = [(c, item) for c in by_name.values() for item in c.questions if item.part == part]
    embedder = embedder_from()

    def tasks() -> Iterator[Task]:
        for collection, item in _chosen(items, count):
            searcher = Searcher(indexed(collection, work, embedder), PLAN, embedder=embedder)

            def signs(case: Case, collection: Any = collection, item: Any = item) -> Any:
                return debate_signs(collection, item, case)

            group = item.question.id.removesuffix(" +").removesuffix(" -")
            both = collection.sides(item) == {1, -1}
            yield Task(item.question, searcher, group, both, signs)

    return knowledge, tasks


def debate_signs(collection: Collection, item: DebateQuestion, case: Case) -> dict[str, list[int]]:
    """Return the signs of cited passages; see `Task`."""
    return {
        side.side: [
            (collection.side(item, doc_id) or 0) * SIGNS[side.side]
            for doc_id in side.response.references
        ]
        for side in case.sides
    }


def folder_tasks(work: Path, part: str, count: int) -> tuple[dict[str, KnownQuestion], Any]:
    """Return the labels of folders, and their questions."""
    folders = read_folders(SOURCES / part)
    items = [(folder, question) for folder in folders for question in folder.questions]

    def tasks() -> Iterator[Task]:
        for folder, question in _chosen(items, count):
            searcher = Searcher(open_folder(folder, work).index, PLAN, embedder=embedder_from())

            def signs(case: Case, folder: Any = folder, question: Any = question) -> Any:
                return folder_signs(folder_outcome(folder, question, case, (0.0, 0.0)))

            both = folder.sides(question) == {"yes", "no"}
            asks = Question(question.id, question.text)
            yield Task(asks, searcher, question.id, both, signs)

    return knows_folders(folders), tasks


def folder_signs(row: Mapping[str, Any]) -> dict[str, list[int]]:
    """Return the signs of cited sentences; see `Task`. Paragraphs for both sides are not right."""
    signs: dict[str, list[int]] = {"yes": [], "no": []}
    for sentence in row["sentences"]:
        on_question = sentence["stance"] in ("yes", "no", "mixed")
        signs[sentence["side"]].append(
            (1 if sentence["stance"] == sentence["side"] else -1) * on_question
        )
    return signs


def figures(rows: Sequence[Row]) -> dict[str, float]:
    """Return the shares of some questions, over all their citations together."""
    cited = [sign for row in rows for signs in row.cited.values() for sign in signs]
    both = [all(1 in signs for signs in row.cited.values()) for row in rows if row.both]
    return {
        "on the question": mean([sign != 0 for sign in cited]),
        "right": mean([sign > 0 for sign in cited if sign]),
        "both rightly": mean(both),
    }


def cells(rows: Sequence[Row]) -> list[str]:
    """Return the shares with 95 % intervals over groups, then the mean and maximum cost."""
    groups = grouped(rows, lambda row: row.group)
    texts = [percent(interval) for interval in intervals(groups, figures).values()]
    for position, form in ((0, ".1f"), (1, ",.0f")):
        totals = [row.total(position) for row in rows]
        texts.append(f"{mean(totals):{form}} ({max(totals):,})")
    return texts


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def answered(oracle: Oracle, tasks: Iterator[Task]) -> Iterator[Row]:
    """Argue each question with the oracle as the model, and a new store."""
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
        knowledge, tasks = folder_tasks(*where) if kind == "folders" else debate_tasks(*where, kind)
        for name in options.model:
            oracle = Oracle(knowledge, **MODELS[name])
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
