"""The main job: from a question and an index to both sides, cited and judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pnyx.cases.case import ArguedSide, Case, Draft, Undecided, Writer
from pnyx.cases.citations import (
    judge_citations,
    quoted,
    said_of_citations,
    strongest_first,
    without_foreign_citations,
)
from pnyx.cases.extractive import ExtractiveWriter
from pnyx.cases.passage_sides import BY_MODEL, side_chance
from pnyx.cases.plan import Plan
from pnyx.cases.retrieved_documents import MIDDLING, RetrievedDocuments, quality_of, retrieve
from pnyx.cases.side_assignment import Placing, model_of, placing_of
from pnyx.cases.side_choice import PlacedPassage, chance, expected_about
from pnyx.core.records import (
    SIDES,
    Document,
    Evidence,
    Question,
    Response,
    Side,
    as_question,
)
from pnyx.formats.text.language import other_language
from pnyx.judging.answers import Answer, Judged
from pnyx.judging.base import Judge
from pnyx.judging.students.judge import OF_A_CASE, PackagedJudge
from pnyx.models.http.flow import run_all, run_blocking
from pnyx.search.engine import Engine
from pnyx.search.pipeline import Searcher
from pnyx.search.sides import CORPUS_LABEL, label_topic
from pnyx.search.split_documents import passage_fields
from pnyx.search.topics import labelled_topics
from pnyx.stats.base import Measured

if TYPE_CHECKING:
    from pnyx.cases.question_claims import QuestionReading
    from pnyx.judging.store.completions import StoredModel

Tell: TypeAlias = Callable[[str, Mapping[str, Any]], None]
"""Called with the name of a step and its details, as JSON values.

It may be called from another thread; an exception ends the work:

- `found`: `documents`, how many were retrieved;
- `sides`: how many of them are `pro`, `con`, `undecided`, and `passed_over`;
- `writing`: a `side`, and the number of its `documents`;
- `sentence`: a written sentence: `side`, `place` (0-based), `text`, `role`, `citations`;
- `written`: a `side`, and the number of its `sentences`; its citations are judged next;
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
    model: StoredModel | None = None,
) -> Case:
    """Retrieve evidence, assign it to sides, write each side and judge every part.

    Args:
        engine: an index or another engine, or where one is, searched as `SearchPlan()` says, or a
            `Searcher`; asked for the question and its definition, as one text.
        question: the contentious question; its `definition` sharpens the relevance verdicts.
        judge: answers Support questions for relevance, stance and support, by default the packaged
            judge. The sides of passages are decided by the packaged judgement of passages, and by
            the `model`, where there is one.
        writer: argues one side from given documents, by default by quoting them.
        citation_judge: answers Support questions on the citations of what is not quoted, by
            default `judge`.
        plan: sizes and options.
        tell: called at each step.
        model: the language model that reads the question (`write.question_reading`) and the
            passages (`write.model_sides`), by default that of an `LlmJudge`.

    Raises InputError if the index lacks features that the search needs, ModelError if the model of
    the judge or the writer cannot be used at all; its earlier replies are in the store.
    """
    plan, tell, question = plan or Plan(), tell or _untold, as_question(question)
    judge = judge or PackagedJudge(*OF_A_CASE)
    writer = writer or ExtractiveWriter()
    searcher = engine if isinstance(engine, Searcher) else Searcher(engine)
    model = model or model_of(judge)
    retrieved = retrieve(searcher, question, plan)
    reading = None
    if model is not None:
        from pnyx.cases.question_claims import read_question

        texts = [document.text for document in retrieved.documents]
        reading = run_blocking(lambda: read_question(model, question, texts))
        retrieved = retrieve(searcher, question, plan, reading.searches, retrieved)
    posed = question if reading is None else reading.posed(question)
    tell("found", {"documents": len(retrieved.documents)})
    placing = placing_of(searcher, question, judge, plan, model, posed)
    placing.fills_up = plan.most and reading is not None and reading.missing
    inquiry = _Inquiry(question, posed, citation_judge or judge, writer, plan, tell,
                       retrieved, reading, placing)  # fmt: skip
    return inquiry.argued()


@dataclass(frozen=True, slots=True)
class _Inquiry:
    """A question whose passages are retrieved, and who places, argues and judges them."""

    question: Question  # as asked
    posed: Question  # in the form in which a language model is asked
    citing: Judge
    writer: Writer
    plan: Plan
    tell: Tell
    retrieved: RetrievedDocuments
    reading: QuestionReading | None
    placing: Placing

    def argued(self) -> Case:
        """Place the passages, argue each side, and return all of it."""
        documents = self.retrieved.documents
        quality, of_all = quality_of(self.placing.searcher.engine, documents)
        placed, sides = run_blocking(lambda: self._place_and_write(quality))
        case = _case(self.question, tuple(sides[side] for side in self.plan.sides), placed,
                     self.plan)  # fmt: skip
        labelled = list(map(label_topic, documents))
        language = other_language(self.question.text, (document.text for document in documents))
        doubts = () if self.reading is None else self.reading.doubts
        return replace(
            case,
            quality=quality if of_all else {},
            weighed=self.placing.sides.weighing if self.placing.sides else None,
            judges={**self._cards(), **case.judges},
            settings=self._settings(),
            search_problems=(
                *self.retrieved.all.problems,
                *self.placing.searcher.matcher.problems(labelled),
            ),
            search_unscored=self.retrieved.all.unscored,
            question_notes=tuple(filter(None, [language, *doubts])),
        )

    async def _place_and_write(
        self, quality: Mapping[str, float]
    ) -> tuple[list[PlacedPassage], dict[Side, ArguedSide]]:
        placed = await self.placing.place(self.retrieved.documents)
        self.tell("sides", _counts(placed))
        sides: dict[Side, ArguedSide] = {}

        async def write(side: Side) -> None:
            best = _best(placed, side, quality, self.plan)
            mine = _longest(placed, side) if self._guesses() else best
            question = self.question if self._quotes else self.posed
            draft = await _argue_side(
                question, side, mine, self.citing, self.writer, self.plan, self.tell
            )
            leaning = sorted((p for p in placed if p.leans == side), key=lambda p: -p.worth(side))
            cited = {c.doc_id for sentence in draft.response.sentences for c in sentence.citations}
            on_side = [p for p in placed if side in p.sided.sides and p.document.id not in cited]
            sides[side] = replace(
                draft,
                less_sure=tuple(map(_open, leaning)),
                uncited=tuple(map(_open, sorted(on_side, key=lambda p: -p.worth(side)))),
                likely=_likely(placed, side),
            )

        await run_all(self.plan.sides, write, workers=len(self.plan.sides))
        return placed, sides

    def _guesses(self) -> bool:
        """Whether a cost estimate does not know yet which documents will be written from."""
        unread = self.reading is not None and self.reading.missing
        by_model = self.placing.sides
        return self.plan.most and (unread or (by_model is not None and by_model.missing))

    @property
    def _quotes(self) -> bool:
        return isinstance(self.writer, ExtractiveWriter)

    def _cards(self) -> dict[str, str]:
        """Return the card of each judge that was asked, by its name."""
        networks = self.placing.passages if self.placing.read_by_networks else None
        citing = None if self._quotes else self.citing
        asked_judges = (self.placing.judge, networks, self.placing.sides, citing)
        return {judge.name: judge.card for judge in asked_judges if judge is not None}

    def _settings(self) -> dict[str, Any]:
        """Return what was searched, who read the question, who wrote, and who judged citations."""
        question = self.question
        reading = {} if self.reading is None else {"question": self.reading.described(question)}
        return {
            "search": self.retrieved.described(self.placing.searcher, question),
            **reading,
            "writer": self.writer.name,
            "citations": said_of_citations(self.citing.name, self.writer.name, quotes=self._quotes),
        }


def _untold(step: str, values: Mapping[str, Any]) -> None:
    """Ignore the step."""


def _counts(placed: Sequence[PlacedPassage]) -> dict[str, int]:
    return {
        **{side: sum(side in p.sided.sides for p in placed) for side in SIDES},
        "undecided": sum(p.undecided for p in placed),
        "passed_over": sum(p.passed_over for p in placed),
    }


def _case(
    question: Question, sides: tuple[ArguedSide, ...], placed: Sequence[PlacedPassage], plan: Plan
) -> Case:
    """Combine the argued sides with the other documents."""
    cited = {c.doc_id for s in sides for t in s.response.sentences for c in t.citations}
    judges = {}
    if any(p.sided.labelled for p in placed):
        judges[CORPUS_LABEL] = "the side stated by the corpus itself for the passage"
    reasons = Counter(reason for p in placed for reason in p.reasons)
    return Case(
        question=question,
        sides=sides,
        documents={
            p.document.id: p.document
            for p in placed
            if p.document.id in cited or p.undecided or p.leans or p.sided.sides
        },
        judges=judges,
        undecided=tuple(_open(p) for p in placed if p.undecided and p.leans not in plan.sides),
        about=sum(p.used and not p.reasons for p in placed),
        expected_about=expected_about(placed),
        certainty=plan.certainty,
        passed_over=sum(p.passed_over for p in placed),
        unscored=sum(bool(p.reasons) for p in placed),
        unscored_reason=max(reasons, key=reasons.__getitem__, default=""),
        topics=labelled_topics(p.sided.match for p in placed),
    )


def _likely(placed: Sequence[PlacedPassage], side: Side) -> float | None:
    """Return how likely the documents argue a side at all; see `ArguedSide.likely`."""
    chances = [p.chance(side) for p in placed]
    if any(side in p.sided.sides and chance is None
           for p, chance in zip(placed, chances, strict=True)):  # fmt: skip
        return None
    stated = [chance for chance in chances if chance is not None]
    if stated and any(p.relevance.provenance.method == BY_MODEL for p in placed):
        return round(max(stated), 6)  # `side_chance` was fitted on the packaged judgement
    return side_chance(stated)


def _open(placed: PlacedPassage) -> Undecided:
    return Undecided(placed.document.id, placed.relevance, placed.sided.verdicts)


def _best(
    placed: Sequence[PlacedPassage], side: Side, quality: Mapping[str, float], plan: Plan
) -> list[PlacedPassage]:
    """Return the documents of a side, ordered by likelihood and quality."""

    def worth(p: PlacedPassage) -> float:
        share = quality.get(p.document.id, MIDDLING)
        return p.worth(side) * (1.0 - plan.quality * (1.0 - share))

    # The corpus's own label is more reliable on the topic and the side than a judge's verdict.
    mine = [p for p in placed if side in p.sided.sides]
    return sorted(mine, key=lambda p: (not p.sided.labelled, -worth(p)))


def _longest(placed: Sequence[PlacedPassage], side: Side) -> list[PlacedPassage]:
    """Return the documents that may be on a side, the most expensive first."""
    possible = [p for p in placed if side in p.sided.verdicts]
    return sorted(possible, key=lambda p: -len(p.document.text))


async def _argue_side(
    question: Question,
    side: Side,
    mine: Sequence[PlacedPassage],
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
    if draft.quotes:
        draft = strongest_first(draft, {doc_id: p.worth(side) for doc_id, p in used.items()})
    for position, sentence in enumerate(draft.sentences):
        cited = [citation.doc_id for citation in sentence.citations]
        details = {"text": sentence.text, "role": sentence.extra.get("role"), "citations": cited}
        tell("sentence", {"side": side, "place": position, **details})
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
    used: Sequence[PlacedPassage],
    side: Side,
) -> dict[str, Measured]:
    """Return the expected shares of a side's passages, and the precision of unquoted citations."""
    cited = [p for p in used if p.document.id in response.references]
    measures: dict[str, Measured] = {}
    if not response.sentences or quoted(response, support) < len(response.sentences):
        from pnyx.judging.measures.responses import precisions

        measures = precisions(response, support)
    for name, answers in (
        ("on_the_question", [p.relevance for p in cited]),
        ("on_this_side", [p.sided.verdicts[side] for p in cited]),
    ):
        chances = [c for answer in answers if (c := chance(answer)) is not None]
        if chances:
            measures[name] = Measured(float(np.mean(chances)), len(chances), len(answers))
    return measures


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
