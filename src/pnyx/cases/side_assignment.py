"""Which side each retrieved passage argues: labels, a language model, or the packaged judgement."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pnyx.cases.passage_sides import PassageSides, PassageStances, SideChances, relevance_of
from pnyx.cases.plan import Plan
from pnyx.cases.side_choice import PlacedPassage, place, settled_by_label
from pnyx.core.records import Evidence, Question, judged_text
from pnyx.judging.base import Judge
from pnyx.judging.students.judge import PackagedJudge
from pnyx.search.pipeline import Searcher
from pnyx.search.sides import match_labels

if TYPE_CHECKING:
    from pnyx.cases.model_sides import ModelSides
    from pnyx.judging.store.completions import StoredModel

_BY_LABEL = "by_label: the corpus's label decides"

_FILLER = " ".join(["word"] * 120)
"""Text that stands in for a passage not retrieved yet, to estimate the cost."""


@dataclass(slots=True)
class Placing:
    """Assigns the documents retrieved for a question to its sides."""

    searcher: Searcher  # the searcher that retrieved them
    question: Question  # as asked
    judge: Judge  # judges relevance and stance if `passages` does not
    plan: Plan  # with the thresholds of sides
    passages: PassageSides | None  # judges both at once; None if the judge does
    sides: ModelSides | None = None  # the language model, which decides if it answers
    fills_up: bool = False  # ask about as many passages as could be retrieved, to estimate the cost
    read_by_networks: bool = False  # whether `passages` was needed

    async def place(
        self, documents: Sequence[Evidence], only: Collection[str] | None = None
    ) -> list[PlacedPassage]:
        """Assign the documents of a ranking, best first, or `only` some of them, to sides.

        If a language model decides, documents ranked below those it is asked about are left out,
        unless they are among `only`. The packaged judgement reads the ranking if an answer is
        missing.
        """
        chosen = [document for document in documents if only is None or document.id in only]
        matches = match_labels(self.question, chosen, self.searcher.matcher)
        if self.passages is None:
            return await place(self.question, chosen, self.judge, self.plan, None, matches)
        chances = await self._by_model(chosen, settled_by_label(matches))
        if only is None and chances:
            matches = [m for d, m in zip(chosen, matches, strict=True) if d.id in chances]
            chosen = [document for document in chosen if document.id in chances]
        missing = {d.id for d in chosen if not _is_answered(chances.get(d.id))}
        if missing:
            ranked = zip(documents, self._by_networks(documents), strict=True)
            chances |= {
                document.id: chance for document, chance in ranked if document.id in missing
            }
        relevance = [relevance_of(chances[d.id], self.passages.name) for d in chosen]
        by_text = {judged_text(document): chances[document.id] for document in chosen}
        sides = PassageStances(self.passages, self.question, by_text)
        return await place(self.question, chosen, self.judge, self.plan, relevance, matches, sides)

    async def _by_model(
        self, documents: Sequence[Evidence], by_label: Sequence[bool]
    ) -> dict[str, SideChances | str]:
        """Return a language model's answers on the first documents without a label, by id.

        Empty if it does not decide.
        """
        if self.sides is None:
            return {}
        rows = list(zip(documents, by_label, strict=True))
        unlabelled = [document for document, labelled in rows if not labelled][: self.plan.asked]
        texts = list(map(judged_text, unlabelled))
        if self.fills_up:  # searches in other words may retrieve more
            more = min(self.plan.asked, len(self.searcher.engine)) - len(texts)
            texts += [f"{number} {_FILLER}" for number in range(more)]
        answers = await self.sides.judge(texts)
        if not self.sides.passed:
            return {}
        labels = {document.id: _BY_LABEL for document, labelled in rows if labelled}
        return labels | dict(zip([document.id for document in unlabelled], answers, strict=False))

    def _by_networks(self, documents: Sequence[Evidence]) -> Sequence[SideChances | str]:
        """Return the packaged judgement; none in a cost estimate if the model would decide."""
        assert self.passages is not None  # noqa: S101 - `place` has returned if None
        if self.plan.most and self.sides is not None and self.sides.missing:
            return ["not_in_store: the model has not been asked yet"] * len(documents)
        self.read_by_networks = True
        return self.passages.judge(self.question, documents)


def _is_answered(chances: SideChances | str | None) -> bool:
    return isinstance(chances, SideChances) or chances == _BY_LABEL


def placing_of(
    searcher: Searcher,
    question: Question,
    judge: Judge,
    plan: Plan,
    model: StoredModel | None = None,
    posed: Question | None = None,
) -> Placing:
    """Return how `argue` assigns documents.

    `argue` describes the judge and the model. `posed` is the question in the model's wording.
    """
    model = model or model_of(judge)
    usual = isinstance(judge, PackagedJudge) or model is not None
    by_passages = usual if plan.by_passages is None else plan.by_passages
    passages = PassageSides(searcher.engine, searcher.embedder) if by_passages else None
    sides = None
    if passages is not None and model is not None:
        from pnyx.cases.model_sides import ModelSides

        sides = ModelSides(model, posed or question, most=plan.most)
    return Placing(searcher, question, judge, plan, passages, sides)


def model_of(judge: Judge) -> StoredModel | None:
    """Return the language model that a judge asks, if it is one."""
    model = getattr(judge, "model", None)
    if model is None:
        return None
    from pnyx.judging.store.completions import StoredModel

    return model if isinstance(model, StoredModel) else None
