"""The parts of `perspective_bench`: searching, and judging what is found, each pair once."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pnyx.annotate.applying import apply_judge
from pnyx.annotate.pairs import PairSource
from pnyx.corpora import write_run
from pnyx.corpora.trec import as_ranked
from pnyx.errors import InputError, shorten
from pnyx.files import atomic_text, make_folder
from pnyx.judge.base import Judge
from pnyx.judge.perspectives import ask_perspectives
from pnyx.judge.questions import Support
from pnyx.measure.base import Bootstrap
from pnyx.measure.perspective_leaning import side_questions
from pnyx.measure.perspective_verdicts import read_verdicts
from pnyx.measure.perspectives import Questions, measure_perspectives
from pnyx.records import SIDES, Question, RunEntry
from pnyx.search.index import Index
from pnyx.search.pipeline import Searcher, SearchPlan
from pnyx.search.scoring import Scoring

if TYPE_CHECKING:
    from pnyx.audit.perspective_bench import PerspectiveBench
    from pnyx.models.embedding import Embedder
    from pnyx.search.perspectives import PerspectiveSource

__all__ = ["Runs", "Work", "plan_of", "question_of", "system_name"]

_CANDIDATES = 100
"""BERDS, section 5: |R| of the reranking."""

Runs: TypeAlias = dict[str, list[RunEntry]]


def question_of(topic: str, perspectives: Questions) -> Question:
    """Return a question with the text that its perspectives carry.

    Raises:
        InputError: none of them does.
    """
    text = next((str(p.extra["question"]) for p in perspectives[topic] if p.extra.get("question")),
                "")  # fmt: skip
    if not re.search(r"\w", text):
        raise InputError(f"question {shorten(topic, 40)!r}: its perspectives lack the question")
    return Question(topic, text)


def system_name(scoring: Scoring, variant: str) -> str:
    """Return what a system is called: in tables, and its file."""
    return scoring.model if variant == "plain" else f"{scoring.model}+{variant}"


def plan_of(scoring: Scoring, variant: str, lam: float | None = None) -> SearchPlan:
    """Return how a retriever is run in one of `VARIANTS`."""
    if variant == "plain":
        return SearchPlan(scoring)
    if variant == "perspectives":
        return SearchPlan(scoring, diversify="perspectives", depth=_CANDIDATES)
    assert lam is not None  # noqa: S101 - chosen before
    return SearchPlan(scoring, diversify="mmr", lam=lam, depth=_CANDIDATES)


class Work:
    """Searches, and has the pairs judged that come of it."""

    def __init__(
        self,
        index: Index,
        perspectives: Questions,
        judge: Judge | None,
        out: Path,
        bench: PerspectiveBench,
        embedder: Embedder | None,
        expansions: PerspectiveSource | None,
        settings: Mapping[str, Any] | None,
    ) -> None:
        self._index, self._perspectives, self._judge = index, perspectives, judge
        self._out, self._bench, self._embedder = out, bench, embedder
        self._expansions, self._settings = expansions, settings
        self.on_pairs: Callable[[int], None] | None = None
        self.problems: list[str] = []
        self.kept = 0

    def tune(self, questions: Sequence[Question]) -> dict[str, dict[float, float | None]]:
        """Return retriever -> lambda -> mean MRecall at the first depth."""
        systems = {
            (scoring.model, lam): self.run(plan_of(scoring, "mmr", lam), questions)
            for scoring in self._bench.retrievers
            for lam in self._bench.lambdas
        }
        runs = {f"{model} {lam:g}": entries for (model, lam), entries in systems.items()}
        own = {q.id: self._perspectives[q.id] for q in questions}
        verdicts = read_verdicts(self.judge(runs, "verdicts-dev.jsonl"))
        depth = self._bench.depths[0]
        found = measure_perspectives(
            runs, own, verdicts, [f"MRecall@{depth}"], bootstrap=Bootstrap(0)
        )
        values = {run.name: run.measures[f"MRecall@{depth}"].measured.value for run in found.runs}
        tuning: dict[str, dict[float, float | None]] = {}
        for model, lam in systems:
            tuning.setdefault(model, {})[lam] = values[f"{model} {lam:g}"]
        return tuning

    def run(self, plan: SearchPlan, questions: Sequence[Question]) -> list[RunEntry]:
        """Search for each question, as deep as is measured."""
        embedder = self._embedder if plan.scoring.embeds or plan.diversify == "mmr" else None
        searcher = Searcher(self._index, plan, embedder=embedder, judge=None,
                            perspectives=self._expansions)  # fmt: skip
        entries = list[RunEntry]()
        for found in searcher.search(questions, max(self._bench.depths)):
            self.problems += found.problems
            entries += as_ranked(
                RunEntry(found.question.id, hit.doc_id, hit.rank, hit.score, plan.scoring.model)
                for hit in found.hits
            )
        return entries

    def ask_sides(self, test: Sequence[str]) -> dict[str, dict[str, list[RunEntry]]]:
        """Return retriever -> how it is asked (`ASKED_AS`) -> what it finds."""
        views = {topic: self._perspectives[topic] for topic in test}
        asked = {side: side_questions(views, side) for side in SIDES}
        opposed = [question_of(question.id, self._perspectives) for question in asked[SIDES[0]]]
        if not opposed:
            raise InputError("leaning needs questions with two perspectives, one of each side")
        return {
            scoring.model: {
                "question": self.run(plan_of(scoring, "plain"), opposed),
                **{side: self.run(plan_of(scoring, "plain"), asked[side]) for side in SIDES},
            }
            for scoring in self._bench.retrievers
        }

    def write_runs(self, runs: Runs) -> None:
        """Write each system's run."""
        folder = self._out / "runs"
        make_folder(folder)
        for name, entries in runs.items():
            with atomic_text(folder / f"{name}.run") as stream:
                write_run(stream, entries)

    def judge(self, runs: Runs, name: str) -> Path:
        """Have all pairs of the runs judged, each once, and return the file of verdicts."""
        make_folder(self._out)
        assert self._judge is not None  # noqa: S101 - only planning has none
        source = self.pairs(runs)
        if self.on_pairs is not None and source.count is not None:
            self.on_pairs(source.count)
        path = self._out / name
        applied = apply_judge(self._judge, source, path, settings=self._settings)
        self.kept += applied.kept
        return path

    def pairs(self, runs: Runs) -> PairSource:
        """Return all pairs of the documents of runs with the perspectives, each once."""
        documents: dict[str, dict[str, None]] = {}
        for entries in runs.values():
            for entry in entries:
                documents.setdefault(entry.topic_id, {})[entry.doc_id] = None

        def make() -> Iterator[Support]:
            for topic, ids in documents.items():
                for doc_id in ids:
                    text = self._index.document(doc_id).text
                    views = self._perspectives[topic]
                    yield from ask_perspectives(doc_id, text, views, words=self._bench.words)

        digest, count = hashlib.sha256(), 0
        for pair in make():
            count += 1
            fields = json.dumps([pair.id, pair.text, pair.statement, pair.question])
            digest.update(fields.encode("utf-8", "surrogatepass") + b"\n")
        return PairSource(make, {"pairs": digest.hexdigest()}, count)
