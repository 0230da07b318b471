"""A whole search: rank, rerank, show every side. `pnyx search` and `pnyx argue` both use it.

    searcher = Searcher(Index.open("my.index"), SearchPlan(Scoring("touche"), diversify="mmr"))
    (found,) = searcher.search([Question("1", "Should voting be compulsory?")], k=10)

The stages, each optional but the first:

1. documents are ranked by a scoring model, for the question or for each of its perspectives;
2. the first `depth` of each ranking are reranked, by a judge that orders them (listwise) or judges
   each by itself (pointwise); pointwise, those below a threshold on P(relevant) can be left out, so
   that a question gets as many documents as are relevant, none included;
3. the rankings of the perspectives are merged round-robin, or the first `depth` are reordered for
   diversity (maximal marginal relevance);
4. of the first `depth`, those on one side of the question come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pnyx.errors import InputError
from pnyx.judge.base import Judge, run_blocking
from pnyx.models.embedding import PACKAGED, embedder_from
from pnyx.records import Evidence, Perspective, Question, judged_text
from pnyx.search.diversify import in_order, mmr, of_best
from pnyx.search.engine import Engine, Hit
from pnyx.search.perspectives import PerspectiveSet, merge_perspectives, query_for
from pnyx.search.plan import AUTO, FOUND, SearchPlan
from pnyx.search.rerank import Reranked, at_least, rerank_many, rerank_pointwise
from pnyx.search.scoring import choose_scoring
from pnyx.search.sides import Sided, sides_of
from pnyx.search.stored import searched_text
from pnyx.search.vectors import VECTORS

if TYPE_CHECKING:
    from pnyx.models.embedding import Embedder
    from pnyx.search.perspectives import PerspectiveSource

__all__ = ["Found", "SearchPlan", "Searcher"]

_TOGETHER: Final = 64
"""Questions worked on together, so that a language model has enough to do."""


@dataclass(frozen=True, slots=True)
class Found:
    """The documents for one question.

    Attributes:
        question: the question.
        hits: best first. Where anything was done after ranking, the score is 1 / rank, since
            evaluation tools sort by it.
        sides: document id -> its side, of those whose side was found out.
        found_for: document id -> the perspective whose turn brought it.
        problems: what a reader must know, one line each.
        unscored: how many questions to a judge or a language model have no answer.
        probabilities: document id -> P(relevant), of the hits that were judged one by one.
        candidates: how many documents the scoring model found, before any threshold.
    """

    question: Question
    hits: tuple[Hit, ...]
    sides: Mapping[str, Sided] = field(default_factory=dict)
    found_for: Mapping[str, Perspective] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    unscored: int = 0
    probabilities: Mapping[str, float] = field(default_factory=dict)
    candidates: int = 0


class _Ranking(NamedTuple):
    """One ranking on its way through the stages."""

    owner: int  # which question it is for
    asked: Question  # what it was searched by
    hits: list[Hit]


@dataclass(slots=True)
class _Notes:
    """What is to be said of one question."""

    problems: list[str] = field(default_factory=list)
    unscored: int = 0
    probabilities: dict[str, float] = field(default_factory=dict)
    candidates: int = 0


class Searcher:
    """Searches one engine in one way.

    Args:
        engine: what is searched: an `Index`, or another.
        plan: how; the model `auto` becomes the one that suits the engine.
        embedder: embeds questions, where the scoring model does, and documents for `mmr` where the
            engine has no vectors; the packaged one by default for `auto` and `mmr`.
        judge: for listwise reranking one that ranks, such as a language model; for pointwise
            reranking and for sides one that answers Support questions, by default the packaged
            encoder.
        perspectives: where `diversify` takes perspectives from; by default the engine itself.

    Attributes:
        engine: what is searched.
        plan: how, with the model that `auto` became.
        note: why vectors that there are are not used by `auto`; empty as a rule.

    Raises:
        InputError: listwise reranking without a judge.
    """

    def __init__(
        self,
        engine: Engine,
        plan: SearchPlan | None = None,
        *,
        embedder: Embedder | None = None,
        judge: Judge | None = None,
        perspectives: PerspectiveSource | None = None,
    ) -> None:
        self.engine = engine
        self.plan = plan or SearchPlan()
        by = PACKAGED if embedder is None else embedder.name
        chosen = choose_scoring(engine, self.plan.scoring, by)
        if embedder is None and self.plan.scoring.model == AUTO and chosen.scoring.embeds:
            embedder = embedder_from()
        self.plan, self.note = replace(self.plan, scoring=chosen.scoring), chosen.note
        if self.plan.rerank == "listwise" and judge is None:
            raise InputError("listwise reranking needs a judge that ranks, e.g. a language model")
        self._embedder = embedder
        self._judge = judge
        self._source = perspectives

    def search(self, questions: Iterable[Question], k: int | None = None) -> Iterator[Found]:
        """Yield the best `k` documents of each question, in order; some are worked on at once.

        `k` is by default 10 or, with a threshold, all that reach it.

        Raises:
            InputError: `k` below 1, or the engine lacks what the plan needs; the line names the
                command that adds it.
            IndexFolderError: a part of the index is damaged.
            ModelError: the embedder or the judge cannot be used at all.
        """
        if k is None:
            k = self.plan.depth if self.plan.threshold is not None else FOUND
        waiting = iter(questions)
        while some := list(islice(waiting, _TOGETHER)):
            yield from self._search(some, k)

    def _search(self, questions: Sequence[Question], k: int) -> list[Found]:
        notes = [_Notes() for _ in questions]
        # First, also where only its perspectives are searched in the end: what the index lacks
        # shows before anything is asked.
        rankings = [self._rank(i, question, k) for i, question in enumerate(questions)]
        sets: list[PerspectiveSet | None] = [None] * len(questions)
        if self.plan.diversify == "perspectives":
            sets = self._perspectives(questions, notes)
            rankings = self._for_each(rankings, questions, sets, k)
        for ranking in rankings:
            notes[ranking.owner].candidates += len(ranking.hits)
        rankings = self._rerank(rankings, notes)
        found_for: list[dict[str, Perspective]] = [{} for _ in questions]
        hits: list[list[Hit]] = []
        for i in range(len(questions)):
            mine = [r.hits for r in rankings if r.owner == i]
            found = sets[i]
            if found is not None and found.perspectives:
                merged = merge_perspectives(mine, found.perspectives, max(k, self.plan.depth))
                found_for[i] = {one.hit.doc_id: one.perspective for one in merged}
                hits.append([one.hit for one in merged])
            else:
                hits.append(self._unlike(mine[0]) if self.plan.diversify == "mmr" else mine[0])
        sides = self._sides(questions, hits, notes)
        return [
            Found(
                question,
                tuple(self._one_side_first(hits[i], sides[i])[:k]),
                sides[i],
                found_for[i],
                tuple(notes[i].problems),
                notes[i].unscored,
                notes[i].probabilities,
                notes[i].candidates,
            )
            for i, question in enumerate(questions)
        ]

    # Ranking --------------------------------------------------------------------------------------

    def _rank(self, owner: int, question: Question, k: int) -> _Ranking:
        wanted = max(k, self.plan.depth) if self.plan.staged and k > 0 else k
        hits = self.engine.retrieve(question.text, self.plan.scoring, wanted, self._embedder)
        return _Ranking(owner, question, hits)

    def _perspectives(
        self, questions: Sequence[Question], notes: Sequence[_Notes]
    ) -> list[PerspectiveSet | None]:
        source = self._source
        if source is None:
            from pnyx.search.perspectives_index import IndexPerspectives

            source = IndexPerspectives(self.engine, judge=self._judge)
        found = source.find(questions)
        for one, note in zip(found, notes, strict=True):
            note.problems += one.problems
            note.unscored += one.failed
            if not one.perspectives:
                note.problems.append("no perspectives: the question itself is searched")
        return list(found)

    def _for_each(
        self,
        plain: Sequence[_Ranking],
        questions: Sequence[Question],
        sets: Sequence[PerspectiveSet | None],
        k: int,
    ) -> list[_Ranking]:
        """Rank for each perspective; where a question has none, its own ranking stays."""
        out: list[_Ranking] = []
        for ranking, question, found in zip(plain, questions, sets, strict=True):
            if found is None or not found.perspectives:
                out.append(ranking)
                continue
            for number, perspective in enumerate(found.perspectives, start=1):
                text = query_for(question, perspective)
                asked = replace(question, id=f"{question.id}-p{number}", text=text)
                out.append(self._rank(ranking.owner, asked, k))
        return out

    # The other stages -----------------------------------------------------------------------------

    def _rerank(self, rankings: list[_Ranking], notes: Sequence[_Notes]) -> list[_Ranking]:
        if self.plan.rerank is None:
            return rankings
        asked = [(r.asked, self._texts(r.hits[: self.plan.depth])) for r in rankings]
        if self.plan.rerank == "listwise" and self._judge is not None:
            how = replace(self.plan.listwise, stance=self.plan.stance)
            results = rerank_many(asked, self._judge, how)
        else:
            results = rerank_pointwise(asked, self._supporting())
        return [
            self._settled(ranking, result, notes[ranking.owner])
            for ranking, result in zip(rankings, results, strict=True)
        ]

    def _settled(self, ranking: _Ranking, result: Reranked, note: _Notes) -> _Ranking:
        """Return a ranking in its new order, what is below the threshold left out."""
        hits = ranking.hits
        if self.plan.threshold is not None:
            result = at_least(result, self.plan.threshold)
        note.problems += result.problems
        note.unscored += result.unscored
        for place, probability in enumerate(result.probabilities):
            if probability is not None:
                doc_id = hits[place].doc_id
                note.probabilities[doc_id] = max(probability, note.probabilities.get(doc_id, 0.0))
        if self.plan.threshold is None:
            return ranking._replace(hits=in_order(hits, result.order))
        kept = [hits[place] for place in result.order]
        return ranking._replace(hits=in_order(kept, range(len(kept))))

    def _unlike(self, hits: list[Hit]) -> list[Hit]:
        """Reorder the first documents by maximal marginal relevance."""
        pool = hits[: self.plan.depth]
        if not pool:
            return hits
        if self.plan.rerank:  # 1 / rank says nothing of how much better the first is
            relevance = 1.0 - np.arange(len(pool)) / len(pool)
        else:
            relevance = of_best([hit.score for hit in pool])
        return in_order(hits, mmr(relevance, self._vectors(pool), len(pool), self.plan.lam))

    def _vectors(self, hits: Sequence[Hit]) -> NDArray[np.float32]:
        """Return the vectors of documents: those of the index, or else made now."""
        known = self.engine.feature_info(VECTORS)
        if known is not None and known.documents == len(self.engine):
            return self.engine.vectors([hit.doc_id for hit in hits])
        if self._embedder is None:
            self._embedder = embedder_from()
        return self._embedder.encode([searched_text(d) for d in self._documents(hits)])

    def _sides(
        self, questions: Sequence[Question], hits: Sequence[list[Hit]], notes: Sequence[_Notes]
    ) -> list[dict[str, Sided]]:
        """Return the side of each of the first documents, where it is asked for."""
        if not self.plan.asks_sides:
            return [{} for _ in questions]
        firsts = [some[: self.plan.depth] for some in hits]
        asked = [
            (question, f"{question.id}/{document.id}", document)
            for question, some in zip(questions, firsts, strict=True)
            for document in self.engine.fetch([hit.doc_id for hit in some])
        ]
        judge, certainty = self._supporting(), self.plan.certainty
        sides = iter(run_blocking(lambda: sides_of(asked, judge, certainty)))
        found = [{hit.doc_id: next(sides) for hit in some} for some in firsts]
        for one, note in zip(found, notes, strict=True):
            missing = [sided.reasons[0] for sided in one.values() if sided.reasons]
            note.unscored += len(missing)
            if missing:
                note.problems.append(
                    f"the side of {len(missing)} of {len(one)} documents lacks a verdict: "
                    f"{missing[0]}"
                )
        return found

    def _one_side_first(self, hits: list[Hit], sides: Mapping[str, Sided]) -> list[Hit]:
        """Put the wanted side first, then those on none or unknown, then the other side."""
        if not self.plan.asks_sides:
            return hits

        def group(position: int) -> int:
            side = sides[hits[position].doc_id].side
            return 0 if side == self.plan.stance else 1 if side is None else 2

        return in_order(hits, sorted(range(len(sides)), key=group))

    # What the stages need -------------------------------------------------------------------------

    def _texts(self, hits: Sequence[Hit]) -> list[str]:
        return list(map(judged_text, self._documents(hits)))

    def _documents(self, hits: Sequence[Hit]) -> Sequence[Evidence]:
        return self.engine.fetch([hit.doc_id for hit in hits])

    def _supporting(self) -> Judge:
        if self._judge is None:
            from pnyx.students.judge import PackagedJudge

            self._judge = PackagedJudge()
        return self._judge
