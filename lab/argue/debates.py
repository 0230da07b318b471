"""The main job on real debates without labels: are the cited passages relevant, and on which side?

    PNYX_DATA=DATA python lab/argue/debates.py --work FOLDER [--variant NAME ...]
    ... --part development          # the pages used for choices; the default is the test pages
    ... --llm gguf:MODEL.gguf --questions 20   # compared with the default on the same questions
    ... --one-sided            # collections that contain only one side
    ... --write docs/lab/argue.md

FOLDER stores the indexes and the result of each question, so an interrupted run can be resumed.
Remove FOLDER/cases after a change of the code. Figures:

- the share of cited passages that are about the question (on its page or a page of the same
  question), the share of all such passages that are cited, and the share of them on the right side;
- questions for which both sides are cited, of those where the corpus contains both; and questions
  for which both are cited correctly (each side cites at least one passage that argues it);
- questions for which both sides, or one, are argued without a warning that the documents may not
  argue that side; sides that the corpus contains but for which nothing is cited;
- passages and distinct points per question;
- seconds per question after the index is open, and CPU seconds of this process, which depend little
  on other work on the machine.

Variants after the first reuse earlier verdicts, so only the seconds of the first are realistic.
FOLDER/replies.sqlite stores the replies of a model. By default sentences are quoted with a model,
too, so that rows differ only in who decides relevance and sides; `--writer llm` changes that.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from cached_judge import CachedJudge
from one_sided import measure
from pages import Collection, DebateQuestion, collections, indexed, reworded
from shares import ends, grouped, intervals, mean, samples

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

from pnyx.cases.argument import argue
from pnyx.cases.case import Case
from pnyx.cases.open_writer import open_writer
from pnyx.cases.options import ArgueSpec
from pnyx.cases.plan import Plan
from pnyx.judging.answers import Answer, Judged
from pnyx.judging.base import Judge
from pnyx.judging.counted_judge import default_judge
from pnyx.models.embed.embedder import Embedder, embedder_from
from pnyx.search.index import Index
from pnyx.search.pipeline import Searcher
from pnyx.search.plan import Scoring, SearchPlan

if TYPE_CHECKING:
    from pnyx.judging.store.completions import StoredModel

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
SIDES = {"pro": 1, "con": -1}


@dataclass(frozen=True)
class Variant:
    """The default configuration, or the default without one of its parts."""

    scoring: Scoring = Scoring("hybrid")  # noqa: RUF009 - frozen
    plan: Plan = Plan()  # noqa: RUF009 - frozen


VARIANTS: Mapping[str, Variant] = {
    "default": Variant(),
    "without feedback": Variant(Scoring("hybrid", feedback=0)),
    "without vectors": Variant(Scoring("dirichlet")),
    "without words": Variant(Scoring("dense")),
    "relevance and side by the judge": Variant(plan=Plan(by_passages=False)),
    "the likeliest of each side": Variant(plan=Plan(certainty=0.0)),
}

Row = dict[str, Any]


def outcome(
    collection: Collection, item: DebateQuestion, case: Case, spent: tuple[float, float]
) -> Row:
    """Return the result of a question; citations are 1 (right side), -1 (wrong) or 0 (off)."""
    cited = {
        side.side: sorted({c.doc_id for s in side.response.sentences for c in s.citations})
        for side in case.sides
    }
    seconds, cpu = (round(value, 2) for value in spent)
    row: Row = {"question": item.question.id, "seconds": seconds, "cpu": cpu, "cited": cited}
    row["right"] = {
        name: [(collection.side(item, doc) or 0) * SIDES[name] for doc in ids]
        for name, ids in cited.items()
    }
    warned = {side.side for side in case.sides if side.doubtful}
    row["argued"] = {name: [] if name in warned else ids for name, ids in cited.items()}
    row["points"] = len({
        (label.page, label.point)
        for name, ids in cited.items()
        for doc in ids
        if collection.side(item, doc) == SIDES[name]
        for label in [collection.labels[doc]]
    })  # fmt: skip
    row["undecided"] = [
        {"on": collection.side(item, passage.doc_id), "p": _chance(passage.relevance)}
        for passage in (
            *case.undecided,
            *(passage for side in case.sides for passage in side.less_sure),
        )
    ]
    sides = collection.sides(item)
    row["both"] = sides == {1, -1}
    row["empty"] = [not cited.get(name) for name, side in SIDES.items() if side in sides]
    row["there"] = sum(collection.side(item, doc) is not None for doc in collection.labels)
    row["unscored"] = case.unscored
    row["weighed"] = None if case.weighed is None else case.weighed.row()
    return row


def _chance(answer: Answer) -> float | None:
    return answer.probability if isinstance(answer, Judged) else None


@dataclass(frozen=True)
class Bench:
    """The folder of the indexes, and the models that answer the questions."""

    work: Path
    embedder: Embedder
    judge: Judge
    writer: Literal["extractive", "llm"] = "extractive"

    def rows(
        self,
        name: str,
        items: Sequence[tuple[Collection, DebateQuestion]],
        model: StoredModel | None = None,
        variant: str = "",
    ) -> list[Row]:
        """Ask all questions with `variant` (default: `name`), except those with stored answers."""
        file = self.work / "cases" / f"{re.sub(r'[^A-Za-z0-9.@]+', '-', name)}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        done: dict[str, Row] = {}
        if file.exists():
            done = {row["question"]: row for row in map(json.loads, file.open(encoding="utf-8"))}
        with file.open("a", encoding="utf-8") as stream:
            for collection, item in items:
                if item.question.id not in done:
                    row = self._ask(
                        VARIANTS.get(variant or name, Variant()), collection, item, model
                    )
                    done[item.question.id] = row
                    stream.write(json.dumps(row) + "\n")
                    stream.flush()
        return [done[item.question.id] for _, item in items]

    def _ask(
        self,
        variant: Variant,
        collection: Collection,
        item: DebateQuestion,
        model: StoredModel | None,
    ) -> Row:
        index: Index = indexed(collection, self.work, self.embedder)
        plan = SearchPlan(scoring=variant.scoring)
        judge = self.judge if model is None else default_judge(model)
        searcher = Searcher(index, plan, embedder=self.embedder, judge=judge)
        writer = open_writer(ArgueSpec(writer=self.writer if model else "extractive"), model)
        argue_plan = variant.plan
        if argue_plan.by_passages is None:
            argue_plan = replace(argue_plan, by_passages=True)
        start, cpu = time.perf_counter(), time.process_time()
        case = argue(searcher, item.question, judge=judge, writer=writer, plan=argue_plan)
        spent = time.perf_counter() - start, time.process_time() - cpu
        return outcome(collection, item, case, spent)


def figures(rows: Sequence[Row]) -> dict[str, float]:
    """Return the figures of some questions; shares are over all their citations together."""
    cited = [r for row in rows for signs in row["right"].values() for r in signs]
    on = [r for r in cited if r]
    two_sided = [row for row in rows if row["both"]]
    sizes = [sum(map(len, row["cited"].values())) for row in rows]
    left = [passage for row in rows for passage in row["undecided"]]
    argued = [
        r for row in rows for name, ids in row["cited"].items()
        for doc, r in zip(ids, row["right"][name], strict=True) if doc in row["argued"][name]
    ]  # fmt: skip
    return {
        "on the question": mean([r != 0 for r in cited]),
        "cited of those there": len(on) / sum(row["there"] for row in rows),
        "of these right": mean([r > 0 for r in on]),
        "both sides": mean([all(row["cited"].values()) for row in two_sided]),
        "both without a warning": mean([all(row["argued"].values()) for row in two_sided]),
        "one without a warning": mean([any(row["argued"].values()) for row in rows]),
        "passages without a warning": len(argued) / len(rows),
        "of these on the question": mean([r != 0 for r in argued]),
        "and right": mean([r > 0 for r in argued if r]),
        "both rightly": mean([all(1 in r for r in row["right"].values()) for row in two_sided]),
        "empty sides": mean([empty for row in rows for empty in row["empty"]]),
        "passages": mean(sizes),
        "fewer than 4": mean([size < 4 for size in sizes]),
        "points": mean([row["points"] for row in rows]),
        "undecided": len(left) / len(rows),
        "undecided on the question": mean([passage["on"] is not None for passage in left]),
        "seconds": float(np.median([row["seconds"] for row in rows])),
        "CPU seconds": float(np.median([row["cpu"] for row in rows])),
    }


def cells(values: Mapping[str, tuple[float, float, float]], sign: str = "") -> list[str]:
    """Return the cells of a row: value and interval."""
    return [
        f"{v:{sign}.2f} [{low:{sign}.2f}, {high:{sign}.2f}]" for v, low, high in values.values()
    ]


def differences(rows: Sequence[Row], base: Sequence[Row]) -> dict[str, tuple[float, float, float]]:
    """Return the difference of each figure from that of `base` on the same questions."""
    drawn = (samples(by_debate(part), figures) for part in (rows, base))
    pairs = list(zip(*drawn, strict=True))  # both draw the same questions
    shares, other = figures(rows), figures(base)
    return {name: (shares[name] - other[name], *ends([a[name] - b[name] for a, b in pairs]))
            for name in shares}  # fmt: skip


def by_debate(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the questions of each debate together."""
    return grouped(rows, lambda row: re.sub(r" [+-]$", "", row["question"]))


@contextlib.contextmanager
def opened(llm: str | None, work: Path) -> Iterator[StoredModel | None]:
    """Yield the language model, if one is named."""
    if llm is None:
        yield None
        return
    from pnyx.judging.open_models import open_model
    from pnyx.judging.options import ModelSpec

    spec = ModelSpec(llm=(llm,), store=str(work / "replies.sqlite"))
    with open_model(spec, lambda line: print(line, file=sys.stderr)) as model:
        yield model


def _of_part(
    by_name: Mapping[str, Collection], part: str
) -> list[tuple[Collection, DebateQuestion]]:
    return [(c, item) for c in by_name.values() for item in c.questions if item.part == part]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--part", choices=("test", "development"), default="test")
    parser.add_argument("--variant", nargs="*", default=list(VARIANTS))
    parser.add_argument("--llm", metavar="SPEC")
    parser.add_argument("--writer", choices=("extractive", "llm"), default="extractive")
    parser.add_argument("--questions", type=int, help="at most N of each kind, drawn at random")
    parser.add_argument("--one-sided", action="store_true", help="see one_sided.py")
    options = parser.parse_args()
    report = Report("argue")
    if options.one_sided:
        report.name += f"-one-sided-{options.part}"
        bench = Bench(options.work, embedder_from(), CachedJudge(default_judge(None)))
        measure(collections(DATA), options.part, bench, report)
        report.write(options.write)
        return
    report.name += "-llm" if options.llm else ""
    by_name = collections(DATA)
    items = _of_part(by_name, options.part)
    reworded(by_name)
    reworded_items = _of_part(by_name, options.part)
    if options.questions:
        rng = np.random.default_rng(0)
        items, reworded_items = (
            [every[i] for i in rng.permutation(len(every))[: options.questions]]
            for every in (items, reworded_items)
        )
    bench = Bench(options.work, embedder_from(), CachedJudge(default_judge(None)), options.writer)
    names = ["default"] if options.llm else options.variant
    tables = {name: bench.rows(name, items) for name in names}
    if not options.llm and "default" in names:
        tables["default, own words"] = bench.rows("default, own words", reworded_items)
    with opened(options.llm, options.work) as model:
        if model is not None:
            name = f"with {model.name}"
            tables[name] = bench.rows(name, items, model)
    first = next(iter(tables.values()))
    words = "" if options.llm else f", {len(reworded_items)} in own words"
    report.line(f"{len(items)} {options.part} debates{words}. Value [95 % interval over debates].")
    report.head(f"{options.part} pages ({len(first)})", *figures(first))
    for name, rows in tables.items():
        report.row(name, *cells(intervals(by_debate(rows), figures)))
    if options.llm:
        report.row("difference", *cells(differences(rows, first), "+"))
        heeded = [row["weighed"]["weight"] > 0 for row in rows if row["weighed"] is not None]
        report.line(
            f"\nThe model had a say in the sides of {sum(heeded)} of {len(heeded)} questions."
        )
    sets = {name: [i for i, (c, _) in enumerate(items) if c.name == name]
            for name in dict.fromkeys(c.name for c, _ in items)}  # fmt: skip
    report.head(f"{next(iter(tables))}, by set", *figures(first))
    for name, places in sets.items():
        rows = [first[i] for i in places]
        report.row(f"{name} ({len(rows)})", *cells(intervals(by_debate(rows), figures)))
    report.write(options.write)


if __name__ == "__main__":
    main()
