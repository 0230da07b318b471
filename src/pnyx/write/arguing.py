"""The main job: from a question and an index to both sides, cited and judged."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pnyx.errors import shorten
from pnyx.judge.answers import Answer, Judged
from pnyx.judge.base import Judge, ask_async, run_blocking
from pnyx.judge.questions import Preference, Support
from pnyx.measure.core.base import Measured
from pnyx.measure.reports.responses import citation_precision, sentence_precision
from pnyx.models.http.flow import run_all
from pnyx.records import Document, Evidence, Question, Response, Sentence, Side, judged_text
from pnyx.search.engine import Engine, Hit
from pnyx.search.pipeline import Found, Searcher
from pnyx.search.relevance import RANKED, RankedRelevance
from pnyx.search.sides import CORPUS_LABEL, label_topic
from pnyx.search.topics import labelled_topics
from pnyx.students.judge import PackagedJudge
from pnyx.write.case import QUOTED, ArguedSide, Case, Draft, Undecided, Writer, is_quoted
from pnyx.write.placing import Placed, chance, place
from pnyx.write.plan import Plan
from pnyx.write.weighing import WeighedSides

__all__ = ["Plan", "argue", "search_text"]


def argue(
    engine: Engine | Searcher,
    question: Question,
    *,
    judge: Judge,
    writer: Writer,
    plan: Plan | None = None,
) -> Case:
    """Retrieve evidence, place it on the sides, write each side and judge every part.

    Args:
        engine: an index or another engine, searched as `SearchPlan()` says, or a `Searcher`; asked
            for the question and its definition, as one text.
        question: the contentious question; its `definition` sharpens the relevance verdicts.
        judge: answers Support questions for relevance, stance and support. One that answers
            Preference questions, a language model, is asked which claim a text argues for, and
            counts as `write.weighing` says; relevance is then told by the ranking and by it.
        writer: argues one side from given documents.
        plan: sizes and options.

    Raises InputError where the index lacks what the search needs, ModelError where the model of the
    judge or of the writer cannot be used at all; whatever it had answered is in the store.
    """
    plan = plan or Plan()
    searcher = engine if isinstance(engine, Searcher) else Searcher(engine)
    found = _retrieve(searcher, question, plan)
    sides = _teller(judge, question, plan)
    usual = isinstance(judge, PackagedJudge) or sides is not judge
    by_rank = usual if plan.by_rank is None else plan.by_rank
    ranked = RankedRelevance(searcher.engine, searcher.embedder) if by_rank else None
    relevance = ranked.judge(question.text, found.hits, found.documents) if ranked else None
    quality, of_all = _quality(searcher.engine, found.documents)
    argued: dict[Side, ArguedSide] = {}

    async def work() -> list[Placed]:
        placed = await place(
            question, found.documents, judge, plan, relevance, searcher.matcher, sides
        )

        async def write(side: Side) -> None:
            mine = _best(placed, side, quality, plan)
            argued[side] = await _argue_side(question, side, mine, judge, writer, plan)

        await run_all(plan.sides, write, workers=len(plan.sides))
        return placed

    placed = run_blocking(work)
    case = _case(question, tuple(argued[side] for side in plan.sides), placed)
    cards = {one.name: one.card for one in (judge, ranked) if one is not None}
    weighed = sides if isinstance(sides, WeighedSides) else None
    labelled = list(map(label_topic, found.documents))
    return replace(
        case,
        quality=quality if of_all else {},
        weighed=weighed.weighed if weighed else None,
        judges={**cards, **(weighed.cards if weighed else {}), **case.judges},
        settings={"search": found.described(searcher, question), "writer": writer.name},
        search_problems=(*found.all.problems, *searcher.matcher.problems(labelled)),
        search_unscored=found.all.unscored,
    )


def _teller(judge: Judge, question: Question, plan: Plan) -> Judge:
    """Return who tells the sides: a judge of claims, a language model, not by itself alone."""
    if Preference not in judge.kinds:
        return judge
    return WeighedSides(judge, PackagedJudge("stance"), question.definition, plan.asked)


def _case(question: Question, sides: tuple[ArguedSide, ...], placed: Sequence[Placed]) -> Case:
    """Put together the argued sides and what became of the other documents."""
    cited = {c.doc_id for s in sides for t in s.response.sentences for c in t.citations}
    judges = {}
    if any(p.sided.labelled for p in placed):
        judges[CORPUS_LABEL] = "the side that the corpus itself states for the passage"
    return Case(
        question=question,
        sides=sides,
        documents={
            p.document.id: p.document for p in placed if p.document.id in cited or p.undecided
        },
        judges=judges,
        undecided=tuple(_undecided(placed)),
        passed_over=sum(p.passed_over for p in placed),
        unscored=sum(bool(p.reasons) for p in placed),
        unscored_reason=_usual_reason(placed),
        topics=labelled_topics(p.sided.match for p in placed),
    )


def _undecided(placed: Sequence[Placed]) -> Iterator[Undecided]:
    for p in placed:
        if p.undecided:
            yield Undecided(p.document.id, p.relevance, p.sided.verdicts)


def _usual_reason(placed: Sequence[Placed]) -> str:
    """Return why verdicts on the documents are missing, for most of them."""
    reasons = Counter(reason for p in placed for reason in p.reasons)
    return max(reasons, key=reasons.__getitem__, default="")


def search_text(question: Question) -> str:
    """Return what is searched for: the question and, where it has one, its definition.

    On the bundled example that raises the share of a question's own passages in the first 30 from
    .63 to .84.
    """
    return f"{question.text} {question.definition}".strip()


@dataclass(frozen=True, slots=True)
class _Retrieved:
    """Documents of different texts, best first, and how many copies of them were passed over.

    There may be more `hits` than documents: they show what comes after these. `all` is what the
    search gave.
    """

    hits: list[Hit]
    documents: list[Evidence]
    copies: int
    all: Found

    def described(self, searcher: Searcher, question: Question) -> str:
        searched = "question and definition" if question.definition else "question"
        copies = "1 copy" if self.copies == 1 else f"{self.copies} copies"
        passed = f", {copies} passed over" if self.copies else ""
        count = len(self.documents)
        return f"{searcher.plan}, by {searched}; {count} documents retrieved{passed}"


def _retrieve(searcher: Searcher, question: Question, plan: Plan) -> _Retrieved:
    asked = replace(question, text=search_text(question))
    (found,) = searcher.search([asked], 4 * max(plan.retrieve, RANKED))
    different: dict[str, tuple[Hit, Evidence]] = {}
    copies = 0
    fetched = searcher.engine.fetch([hit.doc_id for hit in found.hits])
    for hit, document in zip(found.hits, fetched, strict=True):
        if document.text in different:
            copies += len(different) < plan.retrieve
        elif len(different) < max(plan.retrieve, RANKED):
            different[document.text] = (hit, document)
    kept = list(different.values())
    documents = [document for _, document in kept[: plan.retrieve]]
    return _Retrieved([hit for hit, _ in kept], documents, copies, found)


def _quality(engine: Engine, documents: Sequence[Evidence]) -> tuple[dict[str, float], bool]:
    """Return document id -> share of lower quality, and whether that is of all documents.

    Where the engine does not know the quality of all, it is among these documents. One of unknown
    quality is left out.
    """
    ids = [document.id for document in documents]
    known = engine.feature_info("quality")
    of_all = known is not None and known.documents == len(engine)
    if of_all:
        shares = engine.quality_shares(ids)
    else:
        from pnyx.search.quality.documents import rated_text
        from pnyx.students.quality.surface import QualityModel, predictions

        found, _ = predictions(QualityModel.load(), [rated_text(one) for one in documents])
        shares = np.searchsorted(np.sort(found), found) / max(1, len(found))
    pairs = zip(ids, map(float, shares), strict=True)
    return {doc_id: share for doc_id, share in pairs if not math.isnan(share)}, of_all


_MIDDLING = 0.5
"""What counts, in ordering alone, for a document of unknown quality."""


def _best(
    placed: Sequence[Placed], side: Side, quality: Mapping[str, float], plan: Plan
) -> list[Placed]:
    """Return the documents of a side, those first that are likely on it and of good quality."""

    def worth(p: Placed) -> float:
        share = quality.get(p.document.id, _MIDDLING)
        return p.worth(side) * (1.0 - plan.quality * (1.0 - share))

    # The corpus's own label is a surer sign of the topic and the side than a judge's verdict.
    mine = [p for p in placed if side in p.sided.sides]
    return sorted(mine, key=lambda p: (not p.sided.labelled, -worth(p)))


async def _argue_side(
    question: Question,
    side: Side,
    mine: Sequence[Placed],
    judge: Judge,
    writer: Writer,
    plan: Plan,
) -> ArguedSide:
    used = {p.document.id: p for p in mine[: plan.per_side]}
    documents = [p.document for p in used.values()]
    draft = await writer.write(question, side, documents) if documents else Draft(())
    draft = _without_foreign_citations(draft, set(used))
    response = _response(question, side, draft, writer, plan, documents)
    support = await _judge_citations(question, response, used, judge, quotes=draft.quotes)
    return ArguedSide(
        side=side,
        response=response,
        support=support,
        relevance={d: used[d].relevance for d in response.references},
        stance={d: used[d].sided.verdicts[side] for d in response.references},
        measures=_measures(response, support, list(used.values()), side) if used else {},
        considered=len(mine),
        problems=draft.problems,
        failed=draft.failed,
    )


def _measures(
    response: Response,
    support: Mapping[tuple[int, str], Answer],
    used: Sequence[Placed],
    side: Side,
) -> dict[str, Measured]:
    """Return how sure a side's passages are, and the precision of what is not quoted."""
    cited = [p for p in used if p.document.id in response.references]
    found = {}
    cites = all(one.citations for one in response.sentences)
    if not (support and cites and all(map(is_quoted, support.values()))):
        found["sentence_precision"] = sentence_precision(response, support)
        found["citation_precision"] = citation_precision(response, support)
    for name, answers in (
        ("on_the_question", [p.relevance for p in cited]),
        ("on_this_side", [p.sided.verdicts[side] for p in cited]),
    ):
        chances = [c for one in answers if (c := chance(one)) is not None]
        if chances:
            found[name] = Measured(float(np.mean(chances)), len(chances), len(answers))
    return found


def _without_foreign_citations(draft: Draft, given: set[str]) -> Draft:
    """Remove citations of documents the writer was not given, and report each."""
    sentences: list[Sentence] = []
    removed: list[str] = []
    for sentence in draft.sentences:
        removed += [c.doc_id for c in sentence.citations if c.doc_id not in given]
        kept = tuple(c for c in sentence.citations if c.doc_id in given)
        sentences.append(replace(sentence, citations=kept))
    said = "removed a citation of {}, which the writer was not given"
    problems = (*draft.problems, *(said.format(shorten(doc_id)) for doc_id in removed))
    return replace(draft, sentences=tuple(sentences), problems=problems)


def _response(
    question: Question,
    side: Side,
    draft: Draft,
    writer: Writer,
    plan: Plan,
    documents: Sequence[Evidence],
) -> Response:
    cited = dict.fromkeys(c.doc_id for s in draft.sentences for c in s.citations)
    return Response(
        topic_id=question.id,
        run_id=f"{plan.team}-{side}",
        team_id=plan.team,
        topic=question.text,
        sentences=draft.sentences,
        references=tuple(cited),
        documents={
            d.id: Document(d.id, d.text, d.title, d.url, d.source)
            for d in documents
            if d.id in cited
        },
        metadata={"type": "automatic", "stance": side, "writer": writer.name},
    )


async def _judge_citations(
    question: Question,
    response: Response,
    used: Mapping[str, Placed],
    judge: Judge,
    *,
    quotes: bool,
) -> dict[tuple[int, str], Answer]:
    """Judge each citation; a quotation, which stands in the passage as a whole, needs no judge."""
    keys = [
        (position, citation.doc_id)
        for position, sentence in enumerate(response.sentences)
        for citation in sentence.citations
    ]
    found: dict[tuple[int, str], Answer] = {}
    asked: dict[tuple[int, str], Support] = {}
    for position, doc_id in keys:
        statement, text = response.sentences[position].text, judged_text(used[doc_id].document)
        if quotes and statement and statement in text:
            found[position, doc_id] = Judged(True, QUOTED, evidence=statement)
            continue
        asked[position, doc_id] = Support(
            id=f"{response.run_id}-{position}-{doc_id}",
            text=text,
            statement=statement,
            question=question.text,
            group=question.id,
        )
    answers = await ask_async(judge, list(asked.values()))
    return found | dict(zip(asked, answers, strict=True))
