"""The main job: from a question and an index to both sides, cited and judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from pnyx.corpora.text.language import other_language
from pnyx.judge.answers import Answer, Judged
from pnyx.judge.base import Judge
from pnyx.judge.questions import Preference
from pnyx.measure.core.base import Measured
from pnyx.measure.reports.responses import precisions
from pnyx.models.http.flow import run_all, run_blocking
from pnyx.records import (
    SIDES,
    Document,
    Evidence,
    Question,
    Response,
    Side,
    as_question,
    judged_text,
)
from pnyx.search.engine import Engine
from pnyx.search.listing import Found
from pnyx.search.pipeline import Searcher
from pnyx.search.sides import CORPUS_LABEL, label_topic
from pnyx.search.split_documents import passage_fields
from pnyx.search.topics import labelled_topics
from pnyx.students.judge import OF_A_CASE, PackagedJudge
from pnyx.write.case import ArguedSide, Case, Draft, Undecided, Writer
from pnyx.write.citing import (
    judge_citations,
    said_of_citations,
    without_foreign_citations,
)
from pnyx.write.extractive import ExtractiveWriter
from pnyx.write.passage_sides import PassageSides, PassageStances, relevance_of, side_chance
from pnyx.write.placing import Placed, chance, expected_about, place
from pnyx.write.plan import Plan
from pnyx.write.qualities import MIDDLING, quality_of
from pnyx.write.weighing import WeighedSides

Tell: TypeAlias = Callable[[str, Mapping[str, Any]], None]
"""Called with the name of a step and what is known of it, as JSON values; it may be called from
another thread, and what it raises ends the work:

- `found`: `documents`, how many were retrieved;
- `sides`: how many of them are `pro`, `con`, `undecided`, and `passed_over`;
- `writing`: a `side`, from so many `documents`;
- `sentence`: one that was written: `side`, `place` (0-based), `text`, `role`, `citations`;
- `written`: a `side`, of so many `sentences`, whose citations are judged now;
- `judged`: a `side`, with how many of its citations were `scored` of those `asked`.
"""


def argue(
    engine: Engine | Searcher | str | Path,
    question: Question | str,
    *,
    judge: Judge | None = None,
    writer: Writer | None = None,
    citation_judge: Judge | None = None,
    plan: Plan | None = None,
    tell: Tell | None = None,
) -> Case:
    """Retrieve evidence, place it on the sides, write each side and judge every part.

    Args:
        engine: an index or another engine, or where one is, searched as `SearchPlan()` says, or a
            `Searcher`; asked for the question and its definition, as one text.
        question: the contentious question; its `definition` sharpens the relevance verdicts.
        judge: answers Support questions for relevance, stance and support, by default the packaged
            judge. One that answers
            Preference questions, a language model, is asked which claim a text argues for, and
            counts as `write.weighing` says, next to the packaged judgement of passages.
        writer: argues one side from given documents, by default by quoting them.
        citation_judge: answers Support questions on the citations of what is not quoted, by
            default `judge`.
        plan: sizes and options.
        tell: told of each step.

    Raises InputError where the index lacks what the search needs, ModelError where the model of the
    judge or of the writer cannot be used at all; whatever it had answered is in the store.
    """
    plan, tell, question = plan or Plan(), tell or _untold, as_question(question)
    judge = judge or PackagedJudge(*OF_A_CASE)
    writer = writer or ExtractiveWriter()
    citing = citation_judge or judge
    searcher = engine if isinstance(engine, Searcher) else Searcher(engine)
    found = retrieve(searcher, question, plan)
    tell("found", {"documents": len(found.documents)})
    placing = placing_of(searcher, question, judge, plan)
    quality, of_all = quality_of(searcher.engine, found.documents)
    argued: dict[Side, ArguedSide] = {}

    async def work() -> list[Placed]:
        placed = await placing.place(found.documents)
        tell("sides", _counts(placed))

        async def write(side: Side) -> None:
            mine = _best(placed, side, quality, plan)
            made = await _argue_side(question, side, mine, citing, writer, plan, tell)
            less_sure, likely = _less_sure(placed, side), _likely(placed, side)
            argued[side] = replace(made, less_sure=less_sure, likely=likely)

        await run_all(plan.sides, write, workers=len(plan.sides))
        return placed

    placed = run_blocking(work)
    case = _case(question, tuple(argued[side] for side in plan.sides), placed, plan)
    quotes = isinstance(writer, ExtractiveWriter)
    named = (judge, placing.passages, None if quotes else citing)
    cards = {one.name: one.card for one in named if one is not None}
    weighed = placing.sides
    labelled = list(map(label_topic, found.documents))
    language = other_language(question.text, (one.text for one in found.documents))
    return replace(
        case,
        quality=quality if of_all else {},
        weighed=weighed.weighed if weighed else None,
        judges={**cards, **(weighed.cards if weighed else {}), **case.judges},
        settings={
            "search": found.described(searcher, question),
            "writer": writer.name,
            "citations": said_of_citations(citing.name, writer.name, quotes=quotes),
        },
        search_problems=(*found.all.problems, *searcher.matcher.problems(labelled)),
        search_unscored=found.all.unscored,
        question_notes=tuple(filter(None, [language])),
    )


def _untold(step: str, known: Mapping[str, Any]) -> None:
    """Tell nobody."""


def _counts(placed: Sequence[Placed]) -> dict[str, int]:
    return {
        **{side: sum(side in p.sided.sides for p in placed) for side in SIDES},
        "undecided": sum(p.undecided for p in placed),
        "passed_over": sum(p.passed_over for p in placed),
    }


@dataclass(slots=True)
class Placing:
    """How documents found for a question are placed on its sides."""

    searcher: Searcher  # what found them
    question: Question  # as asked
    judge: Judge  # answers questions of relevance and of stance, where `passages` does not
    plan: Plan  # how likely a side must be
    passages: PassageSides | None  # judges both at once; None where the judge does
    sides: WeighedSides | None = None  # the language model's say, known once placed

    async def place(
        self, documents: Sequence[Evidence], only: Collection[str] | None = None
    ) -> list[Placed]:
        """Place the documents of a ranking, best first, or `only` some of them."""
        relevance, sides = None, self.judge
        if self.passages is not None:
            chances = self.passages.judge(self.question, documents)
            relevance = [relevance_of(one, self.passages.name) for one in chances]
            known = dict(zip(map(judged_text, documents), chances, strict=True))
            sides = PassageStances(self.passages, self.question, known)
        if Preference in self.judge.kinds:  # a language model: not by itself alone
            packaged = sides if self.passages is not None else PackagedJudge("stance")
            sides = self.sides = WeighedSides(self.judge, packaged, self.question, self.plan.asked)
        if only is not None:
            kept = [place for place, one in enumerate(documents) if one.id in only]
            documents = [documents[place] for place in kept]
            relevance = relevance and [relevance[place] for place in kept]
        matcher = self.searcher.matcher
        return await place(
            self.question, documents, self.judge, self.plan, relevance, matcher, sides
        )


def placing_of(searcher: Searcher, question: Question, judge: Judge, plan: Plan) -> Placing:
    """Return how `argue` places documents; see there for the judge."""
    usual = isinstance(judge, PackagedJudge) or Preference in judge.kinds
    by_passages = usual if plan.by_passages is None else plan.by_passages
    passages = PassageSides(searcher.engine, searcher.embedder) if by_passages else None
    return Placing(searcher, question, judge, plan, passages)


def _case(
    question: Question, sides: tuple[ArguedSide, ...], placed: Sequence[Placed], plan: Plan
) -> Case:
    """Put together the argued sides and what became of the other documents."""
    cited = {c.doc_id for s in sides for t in s.response.sentences for c in t.citations}
    judges = {}
    if any(p.sided.labelled for p in placed):
        judges[CORPUS_LABEL] = "the side that the corpus itself states for the passage"
    return Case(
        question=question,
        sides=sides,
        documents={
            p.document.id: p.document
            for p in placed
            if p.document.id in cited or p.undecided or p.leans
        },
        judges=judges,
        undecided=tuple(_open(p) for p in placed if p.undecided and p.leans not in plan.sides),
        about=sum(p.used and not p.reasons for p in placed),
        expected_about=expected_about(placed),
        certainty=plan.certainty,
        passed_over=sum(p.passed_over for p in placed),
        unscored=sum(bool(p.reasons) for p in placed),
        unscored_reason=_usual_reason(placed),
        topics=labelled_topics(p.sided.match for p in placed),
    )


def _less_sure(placed: Sequence[Placed], side: Side) -> tuple[Undecided, ...]:
    leaning = sorted((p for p in placed if p.leans == side), key=lambda p: -p.worth(side))
    return tuple(map(_open, leaning))


def _likely(placed: Sequence[Placed], side: Side) -> float | None:
    """Return how likely the documents argue a side at all; see `ArguedSide.likely`."""
    chances = [p.chance(side) for p in placed]
    if any(side in p.sided.sides and chance is None
           for p, chance in zip(placed, chances, strict=True)):  # fmt: skip
        return None
    return side_chance([chance for chance in chances if chance is not None])


def _open(placed: Placed) -> Undecided:
    return Undecided(placed.document.id, placed.relevance, placed.sided.verdicts)


def _usual_reason(placed: Sequence[Placed]) -> str:
    """Return why verdicts on the documents are missing, for most of them."""
    reasons = Counter(reason for p in placed for reason in p.reasons)
    return max(reasons, key=reasons.__getitem__, default="")


def search_text(question: Question) -> str:
    """Return what is searched for: the question and, where it has one, its definition."""
    return f"{question.text} {question.definition}".strip()


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Documents of different texts, best first, and how many copies of them were passed over."""

    documents: list[Evidence]
    copies: int
    all: Found  # what the search gave

    def described(self, searcher: Searcher, question: Question) -> str:
        """Say how was searched, and how much was found."""
        searched = "question and definition" if question.definition else "question"
        copies = "1 copy" if self.copies == 1 else f"{self.copies} copies"
        passed = f", {copies} passed over" if self.copies else ""
        count = len(self.documents)
        return f"{searcher.plan}, by {searched}; {count} documents retrieved{passed}"


def retrieve(searcher: Searcher, question: Question, plan: Plan) -> Retrieved:
    """Return the `plan.retrieve` best documents of different texts. Raises as `argue` does."""
    asked = replace(question, text=search_text(question))
    (found,) = searcher.search([asked], 4 * plan.retrieve)
    different: dict[str, Evidence] = {}
    copies = 0
    for document in searcher.engine.fetch([hit.doc_id for hit in found.hits]):
        if len(different) == plan.retrieve:
            break
        copies += document.text in different
        different.setdefault(document.text, document)
    return Retrieved(list(different.values()), copies, found)


def _best(
    placed: Sequence[Placed], side: Side, quality: Mapping[str, float], plan: Plan
) -> list[Placed]:
    """Return the documents of a side, those first that are likely on it and of good quality."""

    def worth(p: Placed) -> float:
        share = quality.get(p.document.id, MIDDLING)
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
    tell: Tell,
) -> ArguedSide:
    used = {p.document.id: p for p in mine[: plan.per_side]}
    documents = [p.document for p in used.values()]
    tell("writing", {"side": side, "documents": len(documents)})
    draft = await writer.write(question, side, documents) if documents else Draft(())
    draft = without_foreign_citations(draft, set(used))
    for position, one in enumerate(draft.sentences):
        cited = [citation.doc_id for citation in one.citations]
        said = {"text": one.text, "role": one.extra.get("role"), "citations": cited}
        tell("sentence", {"side": side, "place": position, **said})
    tell("written", {"side": side, "sentences": len(draft.sentences)})
    response = _response(question, side, draft, writer, plan, documents)
    read = {doc_id: p.document for doc_id, p in used.items()}
    support = await judge_citations(question.text, response, read, judge, quotes=draft.quotes)
    scored = sum(isinstance(answer, Judged) for answer in support.values())
    tell("judged", {"side": side, "scored": scored, "asked": len(support)})
    return ArguedSide(
        side=side,
        response=response,
        support=support,
        relevance={d: used[d].relevance for d in response.references},
        stance={d: used[d].sided.verdicts[side] for d in response.references},
        measures=_measures(response, support, list(used.values()), side) if used else {},
        considered=len(mine),
        chances={d: p for d in response.references if (p := used[d].chance(side)) is not None},
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
    found = precisions(response, support)
    for name, answers in (
        ("on_the_question", [p.relevance for p in cited]),
        ("on_this_side", [p.sided.verdicts[side] for p in cited]),
    ):
        chances = [c for one in answers if (c := chance(one)) is not None]
        if chances:
            found[name] = Measured(float(np.mean(chances)), len(chances), len(answers))
    return found


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
            d.id: Document(d.id, d.text, d.title, d.url, d.source, passage_fields(d))
            for d in documents
            if d.id in cited
        },
        metadata={"type": "automatic", "stance": side, "writer": writer.name},
    )
