"""Reports on real debates without labels or a language model: how many points do they cover?

    PNYX_DATA=DATA python lab/argue/reports.py --work FOLDER [--part development]
    ... --try quality=1 --try novelty=0.5   # more rows, for choices on development pages
    ... --write docs/lab/writing-reports.md

Questions, pages and indexes are those of `debates.py`, which can use the same FOLDER. A report has
at most `--limit` characters. Figures are means over questions: the share of cited passages that are
about the question; the number of distinct points of the page that are cited; how many of these a
quoted sentence states (cosine to the title of the point at least 0.5); characters; the share of
sentences that the packaged judge finds supported. The baselines use the same first documents of the
default search: the first sentence, or the first three, of each until the limit is reached.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from pages import Collection, DebateQuestion, collections, indexed

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

from pnyx.cases.limits import Limits
from pnyx.cases.report_plan import WritingPlan
from pnyx.core.records import Citation, Question, Sentence, judged_text
from pnyx.formats import ReportRequest
from pnyx.formats.text.segment import count_length, split_sentences
from pnyx.judging.answers import Judged
from pnyx.judging.base import ask
from pnyx.judging.questions import Support
from pnyx.judging.students.judge import CITATION, PackagedJudge
from pnyx.models.embed.embedder import embedder_from
from pnyx.models.embed.encoder import load_encoder
from pnyx.reports.writing.extractive import ExtractiveReporter
from pnyx.reports.writing.report import report
from pnyx.search.pipeline import Searcher

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
DRAWS = 2000
STATES = 0.5
NAMES = ("on the question", "points", "points stated", "passages", "characters", "supported",
         "seconds")  # fmt: skip


@dataclass(frozen=True)
class Variant:
    """A row: changed settings, or a baseline that quotes `lead` sentences of each document."""

    name: str
    plan: Mapping[str, Any] = field(default_factory=dict)
    writer: Mapping[str, Any] = field(default_factory=dict)
    lead: int = 0


def lead(searcher: Searcher, question: Question, limits: Limits, count: int) -> list[Sentence]:
    """Return the first sentences of the first documents of a search, up to the limit."""
    (ranking,) = searcher.search([question], 30)
    written: list[Sentence] = []
    for document in searcher.engine.fetch([hit.doc_id for hit in ranking.hits]):
        for text in split_sentences(document.text)[:count]:
            if not limits.fits([*(s.text for s in written), text]):
                return written
            written.append(Sentence(text, (Citation(document.id),)))
    return written


def written(
    searcher: Searcher, question: Question, limits: Limits, variant: Variant
) -> Sequence[Sentence]:
    if variant.lead:
        return lead(searcher, question, limits, variant.lead)
    result = report(
        searcher,
        ReportRequest(question.id, question.text),
        limits,
        judge=PackagedJudge(CITATION),
        writer=ExtractiveReporter(**variant.writer),
        plan=replace(WritingPlan(), **variant.plan),
    )
    return result.response.sentences[: len(result.response.sentences) - result.negative]


def figures(
    collection: Collection, item: DebateQuestion, searcher: Searcher, sentences: Sequence[Sentence]
) -> list[float]:
    """Return the figures of a report; NaN for a share of nothing."""
    cited = {c.doc_id for s in sentences for c in s.citations}
    mine = {doc_id for doc_id in cited if collection.side(item, doc_id) is not None}
    points = {(label.page, label.point) for d in mine if (label := collection.labels[d])}
    stated = set()
    if points:
        encoder = load_encoder()
        vectors = encoder.encode([s.text for s in sentences])
        for key in points:
            rows = [
                position
                for position, s in enumerate(sentences)
                if any((collection.labels[c.doc_id].page, collection.labels[c.doc_id].point) == key
                       for c in s.citations)
            ]  # fmt: skip
            if float((vectors[rows] @ encoder.encode([key[1]])[0]).max()) >= STATES:
                stated.add(key)
    return [
        len(mine) / len(cited) if cited else float("nan"),
        len(points),
        len(stated),
        len(cited),
        count_length([s.text for s in sentences], "chars"),
        supported(searcher, item, sentences),
    ]


def supported(searcher: Searcher, item: DebateQuestion, sentences: Sequence[Sentence]) -> float:
    """Return the share of sentences that the packaged judge finds supported."""
    texts = {d.id: judged_text(d) for d in searcher.engine.fetch(
        list({c.doc_id for s in sentences for c in s.citations}))}  # fmt: skip
    questions = [
        Support(str(position), texts[s.citations[0].doc_id], s.text, question=item.question.text,
                cites=True)
        for position, s in enumerate(sentences)
    ]  # fmt: skip
    answers = ask(PackagedJudge(CITATION), questions) if questions else []
    scored = [a for a in answers if isinstance(a, Judged)]
    return sum(a.value is True for a in scored) / len(scored) if scored else float("nan")


def rows(
    variants: Sequence[Variant], part: str, work: Path, limit: int
) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    by_name = collections(DATA)
    embedder = embedder_from()
    searchers = {
        name: Searcher(indexed(collection, work, embedder), embedder=embedder)
        for name, collection in by_name.items()
        if any(item.part == part for item in collection.questions)
    }
    limits = Limits((("chars", limit),))
    for variant in variants:
        table = []
        for name, searcher in searchers.items():
            for item in by_name[name].questions:
                if item.part == part:
                    begun = time.perf_counter()
                    sentences = written(searcher, item.question, limits, variant)
                    spent = time.perf_counter() - begun
                    table.append([*figures(by_name[name], item, searcher, sentences), spent])
        yield variant.name, np.array(table)


def interval(values: np.ndarray[Any, Any]) -> str:
    """Return the mean over the questions with a value, with a bootstrap interval."""
    defined = values[~np.isnan(values)]
    rng = np.random.default_rng(0)
    means = defined[rng.integers(0, len(defined), (DRAWS, len(defined)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    digits = 0 if defined.mean() >= 100 else 2
    return f"{defined.mean():.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def tried(choices: Sequence[str]) -> Iterator[Variant]:
    """Yield a variant for each `NAME=VALUE[,NAME=VALUE]` of plan or writer."""
    of_plan = {plan_field.name for plan_field in fields(WritingPlan)}
    for choice in choices:
        values = {k: float(v) for k, _, v in (c.partition("=") for c in choice.split(","))}
        plan = {k: int(v) if k in ("documents", "retrieve") else v
                for k, v in values.items() if k in of_plan}  # fmt: skip
        yield Variant(choice, plan, {k: v for k, v in values.items() if k not in of_plan})


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", required=True, type=Path)
    parser.add_argument("--part", choices=("test", "development"), default="test")
    parser.add_argument("--limit", type=int, default=2000)
    parser.add_argument("--try", dest="tries", action="append", default=[])
    chosen = parser.parse_args()
    page = Report("writing-reports")
    variants = [
        Variant("pnyx report"),
        *tried(chosen.tries),
        Variant("first sentence of each", lead=1),
        Variant("first three sentences of each", lead=3),
    ]
    tables = list(rows(variants, chosen.part, chosen.work, chosen.limit))
    page.line(f"{len(tables[0][1])} {chosen.part} questions, at most {chosen.limit} characters. "
              "Value [95 % interval over questions].\n")  # fmt: skip
    page.head(f"{chosen.part} pages", *NAMES)
    for name, table in tables:
        page.line(f"| {name} | {' | '.join(map(interval, table.T))} |")
    page.write(chosen.write)


if __name__ == "__main__":
    main()
