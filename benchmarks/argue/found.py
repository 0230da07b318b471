"""What is found on a question, every label hidden: how many of the passages read are on it?

    PNYX_DATA=DATA python benchmarks/argue/found.py --work FOLDER [--part development]
    ... --write docs/benchmarks/argue.md

The number that the page shows, made of the passages' probabilities, is held against how many of
the passages read are on the question (its page, pages of the same question), and against none
where all of these were taken out of the collection. Nobody is asked for sides, which change nothing
here. FOLDER keeps the indexes of `debates.py`, and what was read of each question: remove its
number-*.jsonl after a change of the code.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from pages import Asked, Collection, collections, indexed, reworded, without

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

from pnyx.judge.answers import Judged, Provenance, Unscored
from pnyx.judge.base import Emit
from pnyx.judge.questions import JudgeQuestion, Support
from pnyx.models.embed.embedder import Embedder, embedder_from
from pnyx.models.http.flow import run_blocking
from pnyx.records import Document
from pnyx.search.pipeline import Searcher
from pnyx.search.plan import Scoring, SearchPlan
from pnyx.search.relevance import BY_RANK
from pnyx.search.sides import Sided
from pnyx.write.arguing import placing_of, retrieve
from pnyx.write.placing import Expected, Placed, expected_about
from pnyx.write.plan import Plan

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
DRAWS = 2000
ABSENT = 0.25
"""Weight of a question whose passages were taken away."""


class Silent:
    """A judge that says nothing."""

    name, card, kinds = "silent", "", frozenset({Support})

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        for place, _ in enumerate(questions):
            emit(place, Unscored("silent", Provenance(self.name)))


@dataclass(frozen=True)
class Row:
    """What one question gave: probabilities of those read, how many are on it, and how many of all.

    `debate` is what it is about, with all questions asked on that.
    """

    debate: str
    chances: list[float]
    on: int
    there: int

    @cached_property
    def told(self) -> Expected:
        """The number as it is told."""
        by, none = Provenance("", method=BY_RANK), Sided({}, frozenset())
        return expected_about([Placed(_TEXT, Judged(True, by, p), none) for p in self.chances])


_TEXT = Document("", "")


@dataclass(frozen=True)
class Bench:
    """Where the indexes are, and what embeds questions."""

    work: Path
    embedder: Embedder


def read(searcher: Searcher, asked: Asked) -> list[Placed]:
    """Return the passages that `argue` reads of a question, placed as there but for their sides."""
    plan = Plan(by_passages=True)
    found = retrieve(searcher, asked.question, plan)
    placing = placing_of(searcher, asked.question, Silent(), plan)
    return run_blocking(lambda: placing.place(found.documents))


def rows(found: Mapping[str, Collection], part: str, bench: Bench, *, gone: bool) -> Iterator[Row]:
    """Yield what each question gives; with `gone` where all that is about it was taken away."""
    plan = SearchPlan(scoring=Scoring("hybrid"))
    for collection in found.values():
        index = indexed(collection, bench.work, bench.embedder)
        for asked in collection.asked:
            if asked.part == part:
                held = without(collection, asked, index, bench.work) if gone else index
                placed = read(Searcher(held, plan, embedder=bench.embedder), asked)
                on = [collection.side(asked, p.document.id) is not None for p in placed]
                there = sum(collection.side(asked, one) is not None for one in collection.labels)
                debate = re.sub(r" [+-]$", "", asked.question.id)
                yield Row(debate, [p.about or 0.0 for p in placed], sum(on), there)


def kept(file: Path, made: Callable[[], Iterator[Row]]) -> list[Row]:
    """Return the rows of a file, made first where it is not there."""
    if not file.exists():
        text = "".join(json.dumps(asdict(row)) + "\n" for row in made())
        file.write_text(text, encoding="utf-8")
    return [Row(**json.loads(line)) for line in file.open(encoding="utf-8")]


def lines(there: Sequence[Row], gone: Sequence[Row]) -> Iterator[str]:
    """Yield slope and constant of the quantiles of the true number by the sum of probabilities."""
    from sklearn.linear_model import QuantileRegressor

    sums = np.array([[sum(row.chances)] for row in (*there, *gone)])
    true = np.array([row.on for row in (*there, *gone)])
    weights = np.array([1.0] * len(there) + [ABSENT] * len(gone))
    for quantile in (0.1, 0.9):
        fitted = QuantileRegressor(quantile=quantile, alpha=0).fit(sums, true, weights)
        yield f"quantile {quantile}: {fitted.coef_[0]:.2f}, {fitted.intercept_:.2f}"


def figures(some: Sequence[Row]) -> dict[str, Any]:
    """Return how well the number told is the true one."""
    expected = np.array([row.told.value or 0.0 for row in some])
    true = np.array([row.on for row in some])
    low, high = (np.array([getattr(row.told, end) for row in some]) for end in ("low", "high"))
    said = {"sum": expected.mean(), "shown from": low.mean(), "to": high.mean()}
    said |= {"there are fewer": np.mean(true < low)}
    if not true.any():
        return said
    return {
        "on it, of all": np.mean([row.there for row in some]),
        "on it, of those read": true.mean(),
        **said,
        "there are more": np.mean(true > high),
        "sum / on it": expected.sum() / true.sum(),
        "correlation": np.corrcoef(expected, true)[0, 1],
        "median error of the sum": np.median(np.abs(expected - true)),
    }


def cells(some: Sequence[Row]) -> Iterator[str]:
    """Yield the cells of a row: value and interval over debates."""
    debates: dict[str, list[Row]] = {}
    for row in some:
        debates.setdefault(row.debate, []).append(row)
    of, rng = list(debates.values()), np.random.default_rng(0)
    drawn = [figures([row for i in rng.integers(0, len(of), len(of)) for row in of[i]])
             for _ in range(DRAWS)]  # fmt: skip
    for name, value in figures(some).items():
        low, high = np.quantile([one[name] for one in drawn], [0.025, 0.975])
        yield f"{value:.2f} [{low:.2f}, {high:.2f}]"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--part", choices=("test", "development"), default="test")
    options = parser.parse_args()
    report = Report(f"argue-number-{options.part}")
    found, bench = collections(DATA), Bench(options.work, embedder_from())
    tables: dict[bool, dict[str, list[Row]]] = {False: {}, True: {}}
    for words in ("titles", "own words"):
        if words == "own words":
            reworded(found)
        for gone, own in tables.items():
            file = options.work / f"number-{options.part}-{words}{' gone' * gone}.jsonl"
            own[words] = kept(file, partial(rows, found, options.part, bench, gone=gone))
    report.line(f"{options.part.capitalize()} debates. Value [95 % interval over debates].")
    for gone, own in tables.items():
        report.head("nothing on it" if gone else "questions", *figures(own["titles"]))
        for words, some in own.items():
            report.row(f"{words} ({len(some)})", *cells(some))
    if options.part == "development":
        fitted = lines(*([row for some in own.values() for row in some] for own in tables.values()))
        report.line(f"\nSlope and constant by these: {'; '.join(fitted)}.")
    report.write(options.write)


if __name__ == "__main__":
    main()
