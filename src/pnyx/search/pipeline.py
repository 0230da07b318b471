"""The search pipeline of `pnyx search` and `pnyx argue`: rank, rerank, diversify, order by side.

Documents are ranked, for the question or for each perspective; the first `depth` are reranked; the
perspectives' rankings are merged, or one is diversified; documents on one side come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, overload

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import InputError
from pnyx.core.records import Evidence, Perspective, Question, as_question, judged_text
from pnyx.judging.base import Judge
from pnyx.judging.documents import has_passages
from pnyx.models.embed.embedder import PACKAGED, embedder_from
from pnyx.models.http.flow import run_blocking
from pnyx.search.engine import Engine, Hit
from pnyx.search.features.vectors import VECTORS
from pnyx.search.hits import SearchHits
from pnyx.search.lexical.record_codec import searched_text
from pnyx.search.open_engine import open_index
from pnyx.search.plan import AUTO, FOUND, SearchPlan, check_least
from pnyx.search.ranking.scores import choose_scoring
from pnyx.search.sides import SideVerdict, sides_of
from pnyx.search.split_documents import DocumentRanking
from pnyx.search.topics import TopicMatcher

if TYPE_CHECKING:
    from pnyx.models.embed.embedder import Embedder
    from pnyx.search.perspectives import PerspectiveSource
    from pnyx.search.ranking.rerank import Reranked

_TOGETHER: Final = 64
"""Questions processed together, so that a language model can answer concurrently."""


@dataclass(slots=True)
class _Work:
    """The state of one question: its rankings, each with its query, and the results so far."""

    question: Question
    rankings: list[tuple[Question, list[Hit]]]
    perspectives: tuple[Perspective, ...] = ()
    hits: list[Hit] = field(default_factory=list)
    sides: dict[str, SideVerdict] = field(default_factory=dict)
    found_for: dict[str, Perspective] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    unscored: int = 0
    probabilities: dict[str, float] = field(default_factory=dict)
    candidates: int = 0


class Searcher:
    """Searches one engine according to a plan.

    Args:
        engine: an `Index` or another engine, or its path or address.
        plan: the search plan; the model `auto` becomes the one that suits the engine.
        embedder: for questions where the scoring model needs it, and for documents of `mmr` where
            the engine has no vectors; by default the packaged one.
        judge: for listwise reranking one that ranks; for pointwise reranking and sides one that
            answers Support questions, by default the packaged one.
        perspectives: where `diversify` takes perspectives from; by default the engine itself.

    Attributes:
        engine: the engine that is searched.
        plan: the search plan, with the model that `auto` became.
        note: why `auto` does not use existing vectors; usually empty.
        embedder: embeds questions; None until one is needed.
        matcher: decides which labels of the corpus are about a question.

    Raises:
        InputError: listwise reranking without a judge.
    """

    def __init__(
        self,
        engine: Engine | str | Path,
        plan: SearchPlan | None = None,
        *,
        embedder: Embedder | None = None,
        judge: Judge | None = None,
        perspectives: PerspectiveSource | None = None,
    ) -> None:
        engine = open_index(engine) if isinstance(engine, str | Path) else engine
        self.engine: Engine = engine
        self.plan = plan or SearchPlan()
        by = PACKAGED if embedder is None else embedder.name
        chosen = choose_scoring(engine, self.plan.scoring, by)
        if embedder is None and self.plan.scoring.model == AUTO and chosen.scoring.embeds:
            embedder = embedder_from()
        self.plan, self.note = replace(self.plan, scoring=chosen.scoring), chosen.note
        if self.plan.rerank == "listwise" and judge is None:
            raise InputError("listwise reranking needs a judge that ranks, e.g. a language model")
        by_side = self.plan.asks_sides or self.plan.diversify == "perspectives"
        self.matcher = TopicMatcher(self.plan.topics, reads=by_side)
        self.embedder = embedder
        self._judge = judge
        self._source = perspectives
        by_document = self.plan.unit == "document" and has_passages(engine)
        self._documents_ranked = DocumentRanking(engine) if by_document else None

    @overload
    def search(  # type: ignore[overload-overlap]
        self, questions: Question | str, k: int | None = None
    ) -> SearchHits: ...

    @overload
    def search(
        self, questions: Iterable[Question | str], k: int | None = None
    ) -> Iterator[SearchHits]: ...

    def search(
        self, questions: Question | str | Iterable[Question | str], k: int | None = None
    ) -> SearchHits | Iterator[SearchHits]:
        """Yield the best `k` documents of each question, in order; questions run in small batches.

        For a single question, or its text, they are returned. `k` is by default 10 or, with a
        threshold, all that reach it. Raises InputError for `k` below 1 or an engine that lacks what
        the plan needs (the line names the command), IndexFolderError for damage, ModelError where
        the embedder or the judge cannot be used at all.
        """
        if k is None:
            k = self.plan.depth if self.plan.threshold is not None else FOUND
        check_least("k", k, 1)
        if isinstance(questions, Question | str) or not isinstance(questions, Iterable):
            return self._search([as_question(questions)], k)[0]
        return self._search_all(map(as_question, questions), k)

    def _search_all(self, waiting: Iterator[Question], k: int) -> Iterator[SearchHits]:
        while some := list(islice(waiting, _TOGETHER)):
            yield from self._search(some, k)

    @property
    def good_first(self) -> bool:
        """Whether `show` puts good arguments first: the index has vectors in use and quality."""
        plan, info = self.plan, self.engine.feature_info("quality")
        fits = plan.good_first and plan.scoring.model == "hybrid" and not plan.staged
        return fits and info is not None and info.documents == len(self.engine)

    @property
    def described(self) -> str:
        """Describe how results are ordered for display."""
        return f"{self.plan}{'; good arguments first' * self.good_first}"

    def show(self, question: Question | str, k: int | None = None) -> SearchHits:
        """Return the best `k` documents, by default as `search`, in display order.

        Good arguments come first where `good_first`; otherwise it is the order of `search`, which
        ranks by the model alone. Raises as `search` does.
        """
        from pnyx.search.ranking.good_first import POOL

        question = as_question(question)
        if not self.good_first:
            return self.search(question, k)
        wanted = FOUND if k is None else k
        check_least("k", wanted, 1)
        return self.shown(self.search(question, max(wanted, POOL)), wanted)

    def shown(self, result: SearchHits, k: int) -> SearchHits:
        """Return the best `k` of at least `POOL` found by `search`, in the order of `show`."""
        from pnyx.search.ranking.good_first import good_first

        if not self.good_first:
            return replace(result, hits=result.hits[:k])
        hits, good = good_first(self.engine, result.hits)
        return replace(result, hits=tuple(hits[:k]), good=good)

    def _search(self, questions: Sequence[Question], k: int) -> list[SearchHits]:
        # First, even if only perspectives are searched later: errors about missing features then
        # come before any model is called.
        works = [_Work(question, [self._rank(question, k)]) for question in questions]
        if self.plan.diversify == "perspectives":
            self._for_each_perspective(works, k)
        for work in works:
            work.candidates = sum(len(hits) for _, hits in work.rankings)
        if self.plan.rerank:
            self._rerank(works)
        for work in works:
            ranked = [hits for _, hits in work.rankings]
            work.hits = self._diversified(ranked[0]) if self.plan.diversify == "mmr" else ranked[0]
            if work.perspectives:
                from pnyx.search.perspectives import merge_perspectives

                merged = merge_perspectives(ranked, work.perspectives, max(k, self.plan.depth))
                work.found_for = {each.hit.doc_id: each.perspective for each in merged}
                work.hits = [each.hit for each in merged]
        if self.plan.asks_sides:
            self._put_side_first(works)
        by_document = self._documents_ranked
        if by_document is not None:
            for work in works:
                work.hits = by_document.best(work.hits)
        return [
            SearchHits(
                work.question,
                tuple(work.hits[:k]),
                work.sides,
                work.found_for,
                tuple(work.problems),
                work.unscored,
                work.probabilities,
                work.candidates,
                document_ids=by_document.ids(work.hits[:k]) if by_document else {},
                by=self,
            )
            for work in works
        ]

    def _rank(self, question: Question, k: int) -> tuple[Question, list[Hit]]:
        wanted = max(k, self.plan.depth) if self.plan.staged and k > 0 else k

        def retrieve(count: int) -> list[Hit]:
            return self.engine.retrieve(question.text, self.plan.scoring, count, self.embedder)

        if self._documents_ranked is not None and wanted > 0:
            return question, self._documents_ranked.retrieve(retrieve, wanted)
        return question, retrieve(wanted)

    def _for_each_perspective(self, works: Sequence[_Work], k: int) -> None:
        """Rank for each perspective; a question without perspectives keeps its own ranking."""
        from pnyx.search.perspectives import query_for

        source = self._source
        if source is None:
            from pnyx.search.perspectives_index import IndexPerspectives

            source = IndexPerspectives(self.engine, judge=self._judge, matcher=self.matcher)
        for work, answer in zip(works, source.find([w.question for w in works]), strict=True):
            work.problems += answer.problems
            work.unscored += answer.failed
            work.perspectives = answer.perspectives
            if not answer.perspectives:
                work.problems.append("no perspectives: the question itself is searched")
                continue
            work.rankings = []
            for number, perspective in enumerate(answer.perspectives, start=1):
                text = query_for(work.question, perspective)
                query = replace(work.question, id=f"{work.question.id}-p{number}", text=text)
                work.rankings.append(self._rank(query, k))

    def _rerank(self, works: Sequence[_Work]) -> None:
        from pnyx.search.ranking.rerank import rerank_many, rerank_pointwise

        items = [
            (question, list(map(judged_text, self._documents(hits[: self.plan.depth]))))
            for work in works
            for question, hits in work.rankings
        ]
        if self.plan.rerank == "listwise" and self._judge is not None:
            how = replace(self.plan.listwise, stance=self.plan.stance)
            results = iter(rerank_many(items, self._judge, how))
        else:
            results = iter(rerank_pointwise(items, self._support_judge()))
        for work in works:
            work.rankings = [
                (question, self._reordered(hits, next(results), work))
                for question, hits in work.rankings
            ]

    def _reordered(self, hits: list[Hit], result: Reranked, work: _Work) -> list[Hit]:
        """Return hits in their new order, without those below the threshold."""
        from pnyx.search.ranking.diversify import in_order
        from pnyx.search.ranking.rerank import at_least

        threshold = self.plan.threshold
        if threshold is not None:
            result = at_least(result, threshold)
        work.problems += result.problems
        work.unscored += result.unscored
        for hit, probability in zip(hits, result.probabilities, strict=False):
            if probability is not None:
                earlier = work.probabilities.get(hit.doc_id, 0.0)
                work.probabilities[hit.doc_id] = max(probability, earlier)
        if threshold is None:
            return in_order(hits, result.order)
        reordered = [hits[position] for position in result.order]
        return in_order(reordered, range(len(reordered)))

    def _diversified(self, hits: list[Hit]) -> list[Hit]:
        from pnyx.search.ranking.diversify import in_order, mmr, of_best

        pool = hits[: self.plan.depth]
        if not pool:
            return hits
        if self.plan.rerank:  # 1 / rank does not say how much better the first is
            relevance = 1.0 - np.arange(len(pool)) / len(pool)
        else:
            relevance = of_best([hit.score for hit in pool])
        return in_order(hits, mmr(relevance, self._vectors(pool), len(pool), self.plan.lam))

    def _vectors(self, hits: Sequence[Hit]) -> NDArray[np.float32]:
        """Return the vectors of documents: from the index if it has them, else computed now."""
        info = self.engine.feature_info(VECTORS)
        if info is not None and info.documents == len(self.engine):
            return self.engine.vectors([hit.doc_id for hit in hits])
        if self.embedder is None:
            self.embedder = embedder_from()
        return self.embedder.encode([searched_text(d) for d in self._documents(hits)])

    def _put_side_first(self, works: Sequence[_Work]) -> None:
        """Put the wanted side first, then documents on no known side, then the other side."""
        from pnyx.search.ranking.diversify import in_order

        firsts = [work.hits[: self.plan.depth] for work in works]
        items = [
            (work.question, f"{work.question.id}/{document.id}", document)
            for work, some in zip(works, firsts, strict=True)
            for document in self._documents(some)
        ]
        judge, certainty = self._support_judge(), self.plan.certainty
        sides = iter(run_blocking(lambda: sides_of(items, judge, certainty, self.matcher)))
        group = {self.plan.stance: 0, None: 1}
        for work, some in zip(works, firsts, strict=True):
            work.sides = {hit.doc_id: next(sides) for hit in some}
            if missing := [sided.reasons[0] for sided in work.sides.values() if sided.reasons]:
                work.unscored += len(missing)
                problem = (
                    f"{len(missing)} of {len(work.sides)} documents have no verdict on their side"
                )
                work.problems.append(f"{problem}: {missing[0]}")
            groups = [group.get(work.sides[hit.doc_id].side, 2) for hit in some]
            work.hits = in_order(work.hits, sorted(range(len(some)), key=groups.__getitem__))

    def _documents(self, hits: Sequence[Hit]) -> Sequence[Evidence]:
        return self.engine.fetch([hit.doc_id for hit in hits])

    def _support_judge(self) -> Judge:
        if self._judge is None:
            from pnyx.judging.students.judge import PackagedJudge

            self._judge = PackagedJudge()
        return self._judge
