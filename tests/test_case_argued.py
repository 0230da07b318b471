"""How a side is argued from placed passages, step by step, without a search or a model."""

from __future__ import annotations

from typing import Any

import pytest

from pnyx.cases.argument import _argue_side, _case, _measures
from pnyx.cases.case import Draft, sentence
from pnyx.cases.plan import Plan
from pnyx.cases.side_choice import PlacedPassage
from pnyx.core.records import Document, Question, Response
from pnyx.judging.answers import QUOTED, Judged, Provenance, Unscored
from pnyx.judging.questions import Support
from pnyx.models.http.flow import run_blocking
from pnyx.search.sides import CORPUS_LABEL, SideVerdict
from pnyx.search.topics import TopicMatch

QUESTION = Question("q", "Should zoos be phased out?")
BY = Provenance("j", method="passage")


def passage(name: str, about: float | None, pro: float | None, **more: Any) -> PlacedPassage:
    relevance = Unscored("timeout", BY) if about is None else Judged(about >= 0.5, BY, about)
    stance = Unscored("timeout", BY) if pro is None else Judged(pro >= 0.5, BY, pro)
    sides: Any = frozenset(("pro",)) if pro is not None and pro >= 0.5 else frozenset()
    return PlacedPassage(
        Document(name, f"Text of {name}."), relevance, SideVerdict({"pro": stance}, sides), **more
    )


class Writing:
    """A writer of one point of two documents, and a premise of one that it was not given."""

    name = "w"

    def __init__(self, *, quotes: bool = False) -> None:
        self.seen: list[str] = []
        self._quotes = quotes

    async def write(self, question: Any, side: Any, documents: Any) -> Draft:
        self.seen = [document.id for document in documents]
        sentences = (
            sentence("conclusion", "Text of b.", ["b"]),
            sentence("conclusion", "Text of a.", ["a", "x"]),
            sentence("premise", "No document.", []),
        )
        return Draft(sentences, quotes=self._quotes)


class Saying:
    """A judge of citations that is unscored on one document."""

    name, card, kinds = "s", "", frozenset({Support})

    async def answer(self, questions: Any, emit: Any) -> None:
        for position, question in enumerate(questions):
            is_known = "of a" in question.text
            answer = Judged(True, BY, 0.9) if is_known else Unscored("timeout", BY)
            emit(position, answer)


def argued(writer: Writing, plan: Plan, *placed: PlacedPassage) -> tuple[Any, list[Any]]:
    steps: list[Any] = []
    side = run_blocking(
        lambda: _argue_side(
            QUESTION, "pro", placed, Saying(), writer, plan, lambda *step: steps.append(step)
        )
    )
    return side, steps


def test_a_side_is_written_judged_and_told():
    writer = Writing()
    passages = [passage("a", 0.8, 0.9), passage("b", 0.6, 0.7), passage("c", 0.9, 0.9)]
    side, steps = argued(writer, Plan(per_side=2), *passages)
    assert writer.seen == ["a", "b"]
    assert side.considered == 3
    assert [s.text for s in side.response.sentences] == ["Text of b.", "Text of a.", "No document."]
    assert side.response.references == ("b", "a")
    assert side.problems == ("removed a citation of x, which the writer was not given",)
    assert side.chances == {"b": pytest.approx(0.42), "a": pytest.approx(0.72)}
    assert side.measures["on_the_question"].value == pytest.approx(0.7)
    assert side.measures["on_this_side"].value == pytest.approx(0.8)
    assert side.measures["citation_precision"].value == 1.0
    assert (side.response.run_id, side.response.metadata["writer"]) == ("pnyx-pro", "w")
    assert list(side.response.documents) == ["a", "b"]
    assert steps == [
        ("writing", {"side": "pro", "documents": 2}),
        ("sentence", {"side": "pro", "place": 0, "text": "Text of b.", "role": "conclusion",
                      "citations": ["b"]}),
        ("sentence", {"side": "pro", "place": 1, "text": "Text of a.", "role": "conclusion",
                      "citations": ["a"]}),
        ("sentence", {"side": "pro", "place": 2, "text": "No document.", "role": "premise",
                      "citations": []}),
        ("written", {"side": "pro", "sentences": 3}),
        ("judged", {"side": "pro", "scored": 1, "asked": 2}),
    ]  # fmt: skip


def test_quotations_are_ordered_by_strength_and_not_judged():
    side, steps = argued(
        Writing(quotes=True), Plan(), passage("a", 0.8, 0.9), passage("b", 0.6, 0.7)
    )
    assert [s.text for s in side.response.sentences] == ["Text of a.", "No document.", "Text of b."]
    assert steps[-1] == ("judged", {"side": "pro", "scored": 2, "asked": 2})
    assert {answer.provenance for answer in side.support.values()} == {QUOTED}


def test_a_side_without_passages_asks_nobody():
    writer = Writing()
    side, steps = argued(writer, Plan())
    assert (writer.seen, side.measures, side.argued) == ([], {}, False)
    assert [name for name, _ in steps] == ["writing", "written", "judged"]


def test_figures_of_a_side_leave_out_what_is_unscored():
    response = Response("q", "r", (sentence("premise", "A.", ["a", "b", "c"]),), ("a", "b", "c"))
    used = [passage("a", 0.8, 0.9), passage("b", None, 0.5), passage("c", 0.6, None),
            passage("d", 0.1, 0.1)]  # fmt: skip
    measures = _measures(response, {}, used, "pro")
    assert (measures["on_the_question"].value, measures["on_the_question"].scored) == (0.7, 2)
    assert measures["on_the_question"].asked == 3
    assert measures["on_this_side"].value == pytest.approx(0.7)
    quotation = {(0, name): Judged(True, QUOTED) for name in "abc"}
    assert set(_measures(response, quotation, used, "pro")) == {"on_the_question", "on_this_side"}
    assert "on_the_question" not in _measures(response, {}, [used[1]], "pro")


def test_a_case_counts_its_passages():
    match = TopicMatch("Zoos", 0.9, 0.0, "words", used=True)
    labelled = PlacedPassage(
        Document("l", "L."), Unscored("timeout", BY),
        SideVerdict({"con": Judged(True, Provenance(CORPUS_LABEL))}, frozenset(("con",)), match),
    )  # fmt: skip
    placed = [
        passage("a", 0.9, 0.9),
        passage("b", 0.9, 0.2),  # undecided
        passage("c", 0.1, 0.1),  # argues neither side
        passage("d", None, 0.1),
        passage("e", None, None),
        passage("f", 0.9, 0.2, leans="con"),
        labelled,
    ]
    pro, _ = argued(Writing(), Plan(), placed[0], passage("b", 0.9, 0.9))
    case = _case(QUESTION, (pro,), placed, Plan(sides=("pro",), certainty=0.4))
    assert (case.about, case.passed_over, case.unscored) == (3, 1, 3)
    assert case.unscored_reason == "timeout"
    assert [passage.doc_id for passage in case.undecided] == ["b"]
    assert set(case.documents) == {"a", "b", "f", "l"}
    assert list(case.judges) == [CORPUS_LABEL]
    assert (case.certainty, case.expected_about.read) == (0.4, 7)
    assert _case(QUESTION, (pro,), placed[:3], Plan()).judges == {}
