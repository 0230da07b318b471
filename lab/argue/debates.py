"""The main job on real debates, every label hidden: is what is argued on the question, and right?

    PNYX_DATA=DATA python lab/argue/debates.py --work FOLDER [--variant NAME ...]
    ... --part development          # what choices are made on; test pages are the default
    ... --llm gguf:MODEL.gguf --questions 20   # beside the default on the same questions
    ... --one-sided            # collections that hold one side alone
    ... --write docs/lab/argue.md

FOLDER keeps the indexes and what each question gave, so that an interrupted run goes on; remove
FOLDER/cases after a change of the code. Figures: share of cited passages that are about the
question (its page, pages of the same question), and how many of the passages there are on it are
cited; of these on the right side; questions for which both sides are cited, where the corpus holds
both, and rightly (each side cites a passage of its own); for which both are argued, or one is,
without a warning that the documents may not argue that side; sides that the corpus holds and
nothing is cited for; passages and different points a question; seconds a question after the index
is open, and CPU seconds of this process, which other work on the machine hardly changes. Variants
after the first take verdicts that were given before: only the first one's seconds are those of a
question. A model's replies are kept in FOLDER/replies.sqlite; by default sentences are quoted, too,
so that the rows differ in who tells relevance and sides alone (`--writer llm`).
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
from one_sided import measure
from pages import Asked, Collection, collections, indexed, reworded
from remembered import Remembered

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
DRAWS = 2000
SIDES = {"pro": 1, "con": -1}


@dataclass(frozen=True)
class Variant:
    """A way to do the job: the default, or the default without one of its parts."""

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


def outcome(collection: Collection, asked: Asked, case: Case, spent: tuple[float, float]) -> Row:
    """Return what one question gave: for each citation of a side 1 right, -1 wrong, 0 off."""
    cited = {
        side.side: sorted({c.doc_id for s in side.response.sentences for c in s.citations})
        for side in case.sides
    }
    seconds, cpu = (round(one, 2) for one in spent)
    found: Row = {"question": asked.question.id, "seconds": seconds, "cpu": cpu, "cited": cited}
    found["right"] = {
        name: [(collection.side(asked, doc) or 0) * SIDES[name] for doc in own]
        for name, own in cited.items()
    }
    warned = {side.side for side in case.sides if side.doubtful}
    found["argued"] = {name: [] if name in warned else own for name, own in cited.items()}
    found["points"] = len({
        (label.page, label.point)
        for name, own in cited.items()
        for doc in own
        if collection.side(asked, doc) == SIDES[name]
        for label in [collection.labels[doc]]
    })  # fmt: skip
    found["undecided"] = [
        {"on": collection.side(asked, one.doc_id), "p": _chance(one.relevance)}
        for one in (*case.undecided, *(one for side in case.sides for one in side.less_sure))
    ]
    sides = collection.sides(asked)
    found["both"] = sides == {1, -1}
    found["empty"] = [not cited.get(name) for name, side in SIDES.items() if side in sides]
    found["there"] = sum(collection.side(asked, doc) is not None for doc in collection.labels)
    found["unscored"] = case.unscored
    found["weighed"] = None if case.weighed is None else case.weighed.row()
    return found


def _chance(answer: Answer) -> float | None:
    return answer.probability if isinstance(answer, Judged) else None


@dataclass(frozen=True)
class Bench:
    """Where questions are asked, and by whom."""

    work: Path
    embedder: Embedder
    judge: Judge
    writer: Literal["extractive", "llm"] = "extractive"

    def rows(
        self,
        name: str,
        asked: Sequence[tuple[Collection, Asked]],
        model: StoredModel | None = None,
        variant: str = "",
    ) -> list[Row]:
        """Ask all questions in one way (`variant`, or of that name); known answers are read."""
        file = self.work / "cases" / f"{re.sub(r'[^A-Za-z0-9.@]+', '-', name)}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        known: dict[str, Row] = {}
        if file.exists():
            known = {row["question"]: row for row in map(json.loads, file.open(encoding="utf-8"))}
        with file.open("a", encoding="utf-8") as stream:
            for collection, one in asked:
                if one.question.id not in known:
                    row = self._ask(
                        VARIANTS.get(variant or name, Variant()), collection, one, model
                    )
                    known[one.question.id] = row
                    stream.write(json.dumps(row) + "\n")
                    stream.flush()
        return [known[one.question.id] for _, one in asked]

    def _ask(
        self, variant: Variant, collection: Collection, asked: Asked, model: StoredModel | None
    ) -> Row:
        index: Index = indexed(collection, self.work, self.embedder)
        plan = SearchPlan(scoring=variant.scoring)
        judge = self.judge if model is None else default_judge(model)
        searcher = Searcher(index, plan, embedder=self.embedder, judge=judge)
        writer = open_writer(ArgueSpec(writer=self.writer if model else "extractive"), model)
        own = variant.plan
        if own.by_passages is None:
            own = replace(own, by_passages=True)
        start, cpu = time.perf_counter(), time.process_time()
        case = argue(searcher, asked.question, judge=judge, writer=writer, plan=own)
        spent = time.perf_counter() - start, time.process_time() - cpu
        return outcome(collection, asked, case, spent)


def figures(rows: Sequence[Row]) -> dict[str, float]:
    """Return the figures of some questions; shares are of all their citations together."""
    cited = [r for row in rows for own in row["right"].values() for r in own]
    on = [r for r in cited if r]
    held = [row for row in rows if row["both"]]
    sizes = [sum(map(len, row["cited"].values())) for row in rows]
    left = [one for row in rows for one in row["undecided"]]
    argued = [
        r for row in rows for name, own in row["cited"].items()
        for doc, r in zip(own, row["right"][name], strict=True) if doc in row["argued"][name]
    ]  # fmt: skip
    return {
        "on the question": _mean([r != 0 for r in cited]),
        "cited of those there": len(on) / sum(row["there"] for row in rows),
        "of these right": _mean([r > 0 for r in on]),
        "both sides": _mean([all(row["cited"].values()) for row in held]),
        "both without a warning": _mean([all(row["argued"].values()) for row in held]),
        "one without a warning": _mean([any(row["argued"].values()) for row in rows]),
        "passages without a warning": len(argued) / len(rows),
        "of these on the question": _mean([r != 0 for r in argued]),
        "and right": _mean([r > 0 for r in argued if r]),
        "both rightly": _mean([all(1 in r for r in row["right"].values()) for row in held]),
        "empty sides": _mean([one for row in rows for one in row["empty"]]),
        "passages": _mean(sizes),
        "fewer than 4": _mean([size < 4 for size in sizes]),
        "points": _mean([row["points"] for row in rows]),
        "undecided": len(left) / len(rows),
        "undecided on the question": _mean([one["on"] is not None for one in left]),
        "seconds": float(np.median([row["seconds"] for row in rows])),
        "CPU seconds": float(np.median([row["cpu"] for row in rows])),
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def intervals(rows: Sequence[Row]) -> dict[str, tuple[float, float, float]]:
    """Return value, low and high of each figure; questions are drawn anew."""
    drawn = _drawn(rows)
    return {name: (value, *_between([one[name] for one in drawn]))
            for name, value in figures(rows).items()}  # fmt: skip


def cells(found: Mapping[str, tuple[float, float, float]], sign: str = "") -> list[str]:
    """Return the cells of a row: value and interval."""
    return [f"{v:{sign}.2f} [{low:{sign}.2f}, {high:{sign}.2f}]" for v, low, high in found.values()]


def differences(rows: Sequence[Row], base: Sequence[Row]) -> dict[str, tuple[float, float, float]]:
    """Return by how much each figure is above that of `base` on the same questions."""
    pairs = list(zip(_drawn(rows), _drawn(base), strict=True))  # the same questions are drawn
    one, other = figures(rows), figures(base)
    return {name: (one[name] - other[name], *_between([a[name] - b[name] for a, b in pairs]))
            for name in one}  # fmt: skip


def _drawn(rows: Sequence[Row]) -> list[dict[str, float]]:
    """Return the figures of draws of debates, each with all that is asked on it."""
    debates: dict[str, list[Row]] = {}
    for row in rows:
        debates.setdefault(re.sub(r" [+-]$", "", row["question"]), []).append(row)
    of, rng = list(debates.values()), np.random.default_rng(0)
    return [figures([row for i in rng.integers(0, len(of), len(of)) for row in of[i]])
            for _ in range(DRAWS)]  # fmt: skip


def _between(values: Sequence[float]) -> tuple[float, float]:
    low, high = np.nanquantile(values, [0.025, 0.975])
    return float(low), float(high)


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


def _of_part(found: Mapping[str, Collection], part: str) -> list[tuple[Collection, Asked]]:
    return [(c, one) for c in found.values() for one in c.asked if one.part == part]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--part", choices=("test", "development"), default="test")
    parser.add_argument("--variant", nargs="*", default=list(VARIANTS))
    parser.add_argument("--llm", metavar="SPEC")
    parser.add_argument("--writer", choices=("extractive", "llm"), default="extractive")
    parser.add_argument("--questions", type=int, help="so many, and in own words, by chance")
    parser.add_argument("--one-sided", action="store_true", help="see one_sided.py")
    options = parser.parse_args()
    report = Report("argue")
    if options.one_sided:
        report.name += f"-one-sided-{options.part}"
        bench = Bench(options.work, embedder_from(), Remembered(default_judge(None)))
        measure(collections(DATA), options.part, bench, report)
        report.write(options.write)
        return
    report.name += "-llm" if options.llm else ""
    found = collections(DATA)
    asked = _of_part(found, options.part)
    reworded(found)
    own = _of_part(found, options.part)
    if options.questions:
        rng = np.random.default_rng(0)
        asked, own = ([every[i] for i in rng.permutation(len(every))[: options.questions]]
                      for every in (asked, own))  # fmt: skip
    bench = Bench(options.work, embedder_from(), Remembered(default_judge(None)), options.writer)
    names = ["default"] if options.llm else options.variant
    tables = {name: bench.rows(name, asked) for name in names}
    if not options.llm and "default" in names:
        tables["default, own words"] = bench.rows("default, own words", own)
    with opened(options.llm, options.work) as model:
        if model is not None:
            name = f"with {model.name}"
            tables[name] = bench.rows(name, asked, model)
    first = next(iter(tables.values()))
    words = "" if options.llm else f", {len(own)} in own words"
    report.line(f"{len(asked)} {options.part} debates{words}. Value [95 % interval over debates].")
    report.head(f"{options.part} pages ({len(first)})", *figures(first))
    for name, rows in tables.items():
        report.row(name, *cells(intervals(rows)))
    if options.llm:
        report.row("difference", *cells(differences(rows, first), "+"))
        told = [row["weighed"]["weight"] > 0 for row in rows if row["weighed"] is not None]
        report.line(f"\nThe model had a say in the sides of {sum(told)} of {len(told)} questions.")
    sets = {name: [i for i, (c, _) in enumerate(asked) if c.name == name]
            for name in dict.fromkeys(c.name for c, _ in asked)}  # fmt: skip
    report.head(f"{next(iter(tables))}, by set", *figures(first))
    for name, places in sets.items():
        rows = [first[i] for i in places]
        report.row(f"{name} ({len(rows)})", *cells(intervals(rows)))
    report.write(options.write)


if __name__ == "__main__":
    main()
