"""The two halves of `perspective_bench`: searching, and judging what is found, each pair once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pnyx.audit.perspective_plan import PerspectiveBench
from pnyx.corpora import write_run
from pnyx.corpora.trec import as_ranked
from pnyx.errors import InputError, shorten
from pnyx.files import atomic_text, make_folder
from pnyx.judge.base import Judge
from pnyx.measure.perspective_leaning import side_questions
from pnyx.measure.perspective_verdicts import Verdicts, verdicts_of_answers
from pnyx.measure.perspectives import Questions
from pnyx.models.embedding import embedder_from
from pnyx.records import SIDES, Question, RunEntry
from pnyx.runs.pairs import PairSource, pairs_of_views
from pnyx.runs.results import apply_judge
from pnyx.search.index import Index
from pnyx.search.pipeline import Searcher, SearchPlan
from pnyx.search.scoring import Scoring

if TYPE_CHECKING:
    from pnyx.models.embedding import Embedder
    from pnyx.search.perspectives import PerspectiveSource

__all__ = ["BenchJudge", "BenchSearch", "Runs"]

_CANDIDATES = 100
"""BERDS, section 5: |R| of the reranking."""

Runs: TypeAlias = dict[str, list[RunEntry]]


@dataclass(frozen=True, slots=True)
class BenchSearch:
    """What is searched, for which questions, and how.

    Attributes:
        index: is searched.
        perspectives: what `pnyx.measure.perspectives.by_question` returns; `extra["question"]` is
            the question's text.
        bench: what is compared.
        embedder: of questions, where a retriever needs one; by default the packaged one.
        expansions: writes the perspectives that are searched; those to be covered are the answer,
            and no expansion.
        problems: what a reader must know, as it comes up.

    Raises:
        InputError: a retriever is no model, a question has no text, or the variant `perspectives`
            has no source.
    """

    index: Index
    perspectives: Questions
    bench: PerspectiveBench
    embedder: Embedder | None = None
    expansions: PerspectiveSource | None = None
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if "perspectives" in self.bench.variants and self.expansions is None:
            raise InputError(
                "the variant perspectives needs a source of perspectives to search for"
            )
        _ = self.scorings
        self.questions(self.perspectives)

    @property
    def scorings(self) -> list[Scoring]:
        """The retrievers."""
        return [Scoring(r) if isinstance(r, str) else r for r in self.bench.retrievers]

    def questions(self, topics: Iterable[str]) -> list[Question]:
        """Return questions with the texts that their perspectives carry."""
        found = []
        for topic in topics:
            carried = (str(p.extra.get("question") or "") for p in self.perspectives[topic])
            text = next(filter(None, carried), "")
            if not re.search(r"\w", text):
                shown = shorten(topic, 40)
                raise InputError(f"question {shown!r}: its perspectives lack the question")
            found.append(Question(topic, text))
        return found

    def systems(self, topics: Sequence[str], lambdas: Mapping[str, Sequence[float]]) -> Runs:
        """Return the run of each retriever in each variant, with `mmr` for each of its lambdas.

        A system is called `MODEL`, `MODEL+VARIANT` or, of several lambdas, `MODEL+mmr LAMBDA`.
        """
        asked, runs = self.questions(topics), Runs()
        for scoring in self.scorings:
            if "plain" in self.bench.variants:
                runs[scoring.model] = self._run(SearchPlan(scoring), asked)
            if "mmr" in self.bench.variants:
                runs |= self.mmr(scoring, asked, lambdas[scoring.model])
            if "perspectives" in self.bench.variants:
                plan = SearchPlan(scoring, diversify="perspectives", depth=_CANDIDATES)
                runs[f"{scoring.model}+perspectives"] = self._run(plan, asked)
        return runs

    def mmr(self, scoring: Scoring, asked: Sequence[Question], lambdas: Sequence[float]) -> Runs:
        """Return the runs of a retriever with maximal marginal relevance."""
        several = len(lambdas) > 1
        return {
            f"{scoring.model}+mmr{f' {lam:g}' if several else ''}": self._run(
                SearchPlan(scoring, diversify="mmr", lam=lam, depth=_CANDIDATES), asked
            )
            for lam in lambdas
        }

    def sided(self, topics: Sequence[str]) -> dict[str, dict[str, list[RunEntry]]]:
        """Return retriever -> how it is asked (`ASKED_AS`) -> what it finds."""
        views = {topic: self.perspectives[topic] for topic in topics}
        asked = {str(side): side_questions(views, side) for side in SIDES}
        opposed = self.questions(question.id for question in asked[SIDES[0]])
        if not opposed:
            raise InputError("leaning needs questions with two perspectives, one of each side")
        return {
            scoring.model: {
                name: self._run(SearchPlan(scoring), some)
                for name, some in {"question": opposed, **asked}.items()
            }
            for scoring in self.scorings
        }

    def _run(self, plan: SearchPlan, questions: Sequence[Question]) -> list[RunEntry]:
        """Search for each question, as deep as is measured."""
        embeds = plan.scoring.embeds or plan.diversify == "mmr"
        embedder = (self.embedder or embedder_from()) if embeds else None
        searcher = Searcher(self.index, plan, embedder=embedder, perspectives=self.expansions)
        entries = list[RunEntry]()
        for found in searcher.search(questions, max(self.bench.depths)):
            self.problems.extend(found.problems)
            entries += as_ranked(
                RunEntry(found.question.id, hit.doc_id, hit.rank, hit.score, plan.scoring.model)
                for hit in found.hits
            )
        return entries

    def pairs(self, runs: Iterable[list[RunEntry]]) -> PairSource:
        """Return all pairs of the documents of runs with the perspectives, each once."""
        found = ((entry.topic_id, (entry.doc_id,)) for entries in runs for entry in entries)
        return pairs_of_views(self.index, self.perspectives, found, self.bench.words)


@dataclass(slots=True)
class BenchJudge:
    """Has pairs judged, each once, and writes the verdicts down.

    Attributes:
        judge: says which passage supports which perspective.
        out: the folder of the verdicts.
        settings: see `apply_judge`.
        on_pairs: told how many pairs there are to judge, before each round.
        kept: how many verdicts were there from an earlier run.
    """

    judge: Judge
    out: Path
    settings: Mapping[str, Any] | None = None
    on_pairs: Callable[[int], None] | None = None
    kept: int = 0

    def verdicts(self, pairs: PairSource, name: str) -> Verdicts:
        """Return the verdicts on pairs, which are also written to the file `name`."""
        make_folder(self.out)
        if self.on_pairs is not None and pairs.count is not None:
            self.on_pairs(pairs.count)
        rows: list[Mapping[str, Any]] = []
        applied = apply_judge(
            self.judge, pairs, self.out / name, settings=self.settings, take=rows.append
        )
        self.kept += applied.kept
        return verdicts_of_answers(self.judge.name, rows)

    def write_runs(self, runs: Runs) -> None:
        """Write each system's run."""
        make_folder(self.out / "runs")
        for name, entries in runs.items():
            with atomic_text(self.out / "runs" / f"{name}.run") as stream:
                write_run(stream, entries)
