"""Placing documents on sides, with judges whose answers are written here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.judge.answers import Answer, Judged, Provenance, Unscored
from pnyx.judge.base import Emit
from pnyx.judge.questions import JudgeQuestion, Support
from pnyx.models.http.flow import run_blocking
from pnyx.records import Argument, Document, Evidence, Question
from pnyx.search.polarity import same_words
from pnyx.search.relevance import BY_RANK
from pnyx.search.sides import CORPUS_LABEL
from pnyx.write.placing import expected_about
from pnyx.write.placing import place as place_async
from pnyx.write.plan import Plan

BY = Provenance("written")
QUESTION = Question("q", "Should voting be compulsory?")


def place(question: Question, documents: list[Evidence], judge: Any, certainty: float) -> Any:
    plan = Plan(certainty=certainty, fewest=0, held=0.0)
    return run_blocking(lambda: place_async(question, documents, judge, plan))


class WrittenJudge:
    """Answers by a function, and remembers what it was asked."""

    name, card, kinds = "written", "", frozenset({Support})

    def __init__(self, answers: Callable[[Support], Answer]) -> None:
        self.answers = answers
        self.asked: list[Support] = []

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        for position, question in enumerate(questions):
            assert isinstance(question, Support)
            self.asked.append(question)
            emit(position, self.answers(question))


@pytest.mark.parametrize(
    ("topic", "question", "relation"),
    [
        ("Voting should be compulsory", "Should voting be compulsory?", 1),
        ("This house believes voting should be compulsory.", "Should voting be compulsory?", 1),
        ("Voting should not be compulsory", "Should voting be compulsory?", -1),
        ("Voting shouldn’t be compulsory", "Should voting be compulsory?", -1),
        ("Voting should be optional", "Should voting be compulsory?", 0),
        ("This House would ban boxing", "Should boxing be banned?", 1),
        ("This House would not ban boxing", "Should boxing be banned?", -1),
        ("Should voting be compulsory?", "Should voting not never be compulsory?", 1),
        ("Zoos do more harm than good", "Zoos do more good than harm", 0),
        ("Zoos do more harm than good", "Do zoos do more harm than good?", 1),
        ("", "", 0),
        ("???", "Should it be?", 0),
    ],
)
def test_the_same_words(topic: str, question: str, relation: int) -> None:
    assert same_words(topic, question) == relation


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_same_words_are_symmetric_and_total(a: str, b: str) -> None:
    assert same_words(a, b) == same_words(b, a)
    assert same_words(a, a) in (0, 1)


def _labelled(stance: str | None, topic: str = "Should voting be compulsory?") -> Argument:
    return Argument("a", "A claim.", stance=stance, topic=topic)  # type: ignore[arg-type]


def _relevant(answer: Answer) -> Callable[[Support], Answer]:
    return lambda q: Judged(True, BY, 0.9) if q.task == "relevance" else answer


@pytest.mark.parametrize(
    ("argument", "sides"),
    [
        (_labelled("pro"), {"pro"}),
        (_labelled("con"), {"con"}),
        (_labelled("neutral"), set()),
        (_labelled("pro", "Voting should not be compulsory"), {"con"}),
    ],
)
def test_the_corpus_label_counts_where_it_is_about_this_question(
    argument: Argument, sides: set[str]
) -> None:
    judge = WrittenJudge(_relevant(Judged(True, BY, 0.9)))
    (placed,) = place(QUESTION, [argument], judge, 0.5)
    assert placed.sided.sides == sides
    assert {a.provenance.judge for a in placed.sided.verdicts.values()} == {CORPUS_LABEL}
    assert [q.task for q in judge.asked] == ["relevance"]


def test_a_label_on_another_topic_is_not_used() -> None:
    judge = WrittenJudge(_relevant(Judged(False, BY, 0.1)))
    (placed,) = place(QUESTION, [_labelled("pro", "Ban cars")], judge, 0.5)
    assert placed.sided.sides == set()
    assert [q.task for q in judge.asked] == ["relevance", "stance", "stance"]


def _by_side(pro: Answer, con: Answer) -> Callable[[Support], Answer]:
    def answer(question: Support) -> Answer:
        if question.task == "relevance":
            return Judged(True, BY, 0.9)
        return pro if question.id.startswith("stance/pro") else con

    return answer


def _yes(probability: float | None) -> Judged:
    return Judged(True, BY, probability)


NO, NONE = Judged(False, BY, 0.1), Unscored("timeout", BY)


@pytest.mark.parametrize(
    ("pro", "con", "sides", "unscored"),
    [
        (_yes(0.9), NO, {"pro"}, False),
        (NO, _yes(0.6), {"con"}, False),
        (NO, NO, set(), False),
        (_yes(0.9), _yes(0.6), {"pro"}, False),
        (_yes(0.6), _yes(0.9), {"con"}, False),
        (_yes(None), _yes(None), {"pro", "con"}, False),
        (NONE, NO, set(), True),
        (NONE, _yes(0.8), {"con"}, True),
        (NONE, NONE, set(), True),
    ],
)
def test_sides_from_verdicts(pro: Answer, con: Answer, sides: set[str], unscored: bool) -> None:
    judge = WrittenJudge(_by_side(pro, con))
    (placed,) = place(QUESTION, [Document("d", "Some text.")], judge, 0.5)
    assert placed.sided.sides == sides
    assert bool(placed.reasons) == unscored


@pytest.mark.parametrize(
    ("probability", "sides"),
    [(0.6, {"pro"}), (0.59, set()), (0.0, set()), (None, {"pro"})],
)
def test_a_verdict_must_be_sure_enough(probability: float | None, sides: set[str]) -> None:
    judge = WrittenJudge(_by_side(_yes(probability), NO))
    (placed,) = place(QUESTION, [Document("d", "Text.")], judge, certainty=0.6)
    assert (placed.sided.sides, bool(placed.reasons)) == (sides, False)


def test_an_off_topic_document_is_not_asked_for_its_side() -> None:
    judge = WrittenJudge(lambda _: NO)
    (placed,) = place(QUESTION, [Document("d", "Some text.")], judge, 0.5)
    assert (placed.sided.sides, placed.sided.verdicts, bool(placed.reasons)) == (
        frozenset(),
        {},
        False,
    )
    assert len(judge.asked) == 1


def test_missing_relevance_is_unscored_not_irrelevant() -> None:
    (placed,) = place(QUESTION, [Document("d", "Text.")], WrittenJudge(lambda _: NONE), 0.5)
    assert (placed.sided.sides, bool(placed.reasons)) == (frozenset(), True)


@pytest.mark.parametrize("relevance", [NO, NONE])
def test_a_label_on_this_question_places_it_whatever_the_judge_says(relevance: Answer) -> None:
    (placed,) = place(QUESTION, [_labelled("pro")], WrittenJudge(lambda _: relevance), 0.5)
    assert (placed.sided.sides, placed.sided.labelled, bool(placed.reasons)) == (
        {"pro"},
        True,
        relevance is NONE,
    )
    assert replace(placed.relevance, question=None) == relevance


class Weighing:
    """Weighs one claim against the other: its two probabilities sum to one."""

    name, card, kinds = "weighing", "", frozenset({Support})

    def __init__(self, pro: dict[str, float]) -> None:
        self.pro = pro

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        for position, question in enumerate(questions):
            assert isinstance(question, Support)
            p = self.pro[question.text]
            p = p if question.id.startswith("stance/pro") else 1 - p
            emit(position, Judged(p >= 0.5, BY, p))


def _sides_of(pro: dict[str, float], relevance: dict[str, float], **options: Any) -> dict[str, set]:
    documents = [Document(name, name) for name in pro]
    known = [Judged(relevance[name] >= 0.3, BY, relevance[name]) for name in pro]
    plan = Plan(certainty=0.65, **{"held": 0.0, **options})
    found = run_blocking(
        lambda: place_async(QUESTION, documents, Weighing(pro), plan, known)  # type: ignore[arg-type]
    )
    return {placed.document.id: set(placed.sided.sides) for placed in found}


def test_passages_are_compared_with_each_other() -> None:
    # Log-odds 1.39, 1.10, 0.85; .75 of their mean, 0.83, is taken away: 0.55, 0.26, 0.01.
    leaning = {"a": 0.8, "b": 0.75, "c": 0.7}
    alone = dict.fromkeys(leaning, 0.9)
    assert _sides_of(leaning, alone, contrast=0.0) == {"a": {"pro"}, "b": {"pro"}, "c": {"pro"}}
    assert _sides_of(leaning, alone, fewest=0) == {"a": set(), "b": set(), "c": set()}
    assert _sides_of(leaning, alone, fewest=2) == {"a": {"pro"}, "b": {"pro"}, "c": set()}


def test_a_passage_plainly_on_one_side_is_never_put_on_the_other() -> None:
    sides = _sides_of({"a": 0.99, "b": 0.98, "c": 0.7}, dict.fromkeys("abc", 0.9))
    assert all("con" not in own for own in sides.values())


def test_a_side_that_lacks_passages_gets_the_likeliest_relevant_ones() -> None:
    pro = {"a": 0.9, "b": 0.1, "c": 0.45, "d": 0.45, "e": 0.45}
    relevance = {"a": 0.9, "b": 0.9, "c": 0.35, "d": 0.25, "e": 0.31}
    found = _sides_of(pro, relevance, contrast=0.0, fewest=2)
    assert found == {"a": {"pro"}, "b": {"con"}, "c": {"con"}, "d": set(), "e": set()}
    assert _sides_of(pro, relevance, contrast=0.0, fewest=0)["c"] == set()


def test_a_side_that_hardly_has_a_passage_is_not_argued() -> None:
    """Three passages are surely on one side; one that is rather on the other may be a mistake."""
    pro = {"a": 0.95, "b": 0.9, "c": 0.8, "d": 0.25}
    sure = dict.fromkeys(pro, 0.9)
    found = _sides_of(pro, sure, contrast=0.0, fewest=0, held=0.86)
    assert found == {"a": {"pro"}, "b": {"pro"}, "c": {"pro"}, "d": set()}
    # Two of .75 and .70: 1 - .25 * .30 = .925 that at least one is there.
    found = _sides_of({**pro, "e": 0.3}, {**sure, "e": 0.9}, contrast=0.0, fewest=0, held=0.86)
    assert found["d"] == found["e"] == {"con"}


def test_what_fills_a_side_up_is_known_as_less_sure() -> None:
    pro = {"a": 0.95, "b": 0.9, "c": 0.6, "d": 0.25}
    known = [Judged(True, BY, 0.9)] * 4
    documents = [Document(name, name) for name in pro]
    plan = Plan(contrast=0.0, fewest=2)
    judge: Any = Weighing(pro)
    placed = run_blocking(lambda: place_async(QUESTION, documents, judge, plan, known))
    # On con one passage alone is sure, but may well be a mistake: .75 is below .94.
    assert [(set(p.sided.sides), set(p.filled)) for p in placed] == [
        ({"pro"}, set()), ({"pro"}, set()), (set(), set()), ({"con"}, {"con"})
    ]  # fmt: skip


def test_passages_below_the_certainty_are_less_sure() -> None:
    documents = [Document(name, name) for name in "abcd"]
    known = [Judged(p >= 0.35, BY, p) for p in (0.9, 0.9, 0.9, 0.2)]
    judge: Any = Weighing({"a": 0.9, "b": 0.6, "c": 0.4, "d": 0.6})
    plan = Plan(contrast=0.0, fewest=0, held=0.0)
    placed = run_blocking(lambda: place_async(QUESTION, documents, judge, plan, known))
    assert [(p.sided.side, p.leans) for p in placed] == [
        ("pro", None), (None, "pro"), (None, "con"), (None, None)
    ]  # fmt: skip


def test_what_was_said_of_a_passage_alone_is_kept() -> None:
    documents = [Document("a", "a"), Document("b", "b")]
    known = [Judged(True, BY, 0.9)] * 2
    judge: Any = Weighing({"a": 0.8, "b": 0.6})
    placed = run_blocking(lambda: place_async(QUESTION, documents, judge, Plan(), known))
    details = [p.sided.verdicts["pro"].provenance.details for p in placed]
    assert [one["alone"] for one in details] == [0.8, 0.6]
    sums = [sum(a.probability for a in p.sided.verdicts.values()) for p in placed]  # type: ignore[union-attr]
    assert sums == pytest.approx([1.0, 1.0], abs=1e-5)


@pytest.mark.parametrize("ranked", [True, False])
def test_what_a_judge_calls_irrelevant_costs_no_question_of_its_side(ranked: bool) -> None:
    """Only where the ranking told relevance are others compared with what is not used."""
    by = Provenance("r", method=BY_RANK if ranked else "token")
    judge = WrittenJudge(_by_side(_yes(0.9), NO))
    known = [Judged(False, by, 0.3)]
    documents: list[Evidence] = [Document("d", "Text.")]
    (placed,) = run_blocking(lambda: place_async(QUESTION, documents, judge, Plan(), known))
    assert len(judge.asked) == (2 if ranked else 0)
    assert (placed.used, placed.sided.sides) == (False, frozenset())


@pytest.mark.parametrize(("ranked", "sides"), [(True, set()), (False, {"pro"})])
def test_a_judges_yes_has_its_own_threshold(ranked: bool, sides: set[str]) -> None:
    by = Provenance("r", method=BY_RANK if ranked else "calibrated")
    judge = WrittenJudge(_by_side(_yes(0.9), NO))
    known = [Judged(True, by, 0.4)]
    documents: list[Evidence] = [Document("d", "Text.")]
    plan = Plan(fewest=0, held=0.0)
    (placed,) = run_blocking(lambda: place_async(QUESTION, documents, judge, plan, known))
    assert placed.sided.sides == sides


def test_what_is_unscored_is_not_said_to_be_about_something_else() -> None:
    documents: list[Evidence] = [Document("a", "A."), Document("b", "B.")]
    judge = WrittenJudge(lambda q: NONE if q.text == "A." else NO)
    found = run_blocking(lambda: place_async(QUESTION, documents, judge, Plan()))
    assert [(p.passed_over, bool(p.reasons)) for p in found] == [(False, True), (True, False)]


def test_the_number_on_the_question_is_the_sum_of_what_each_is_likely_to_be() -> None:
    by = Provenance("r", method=BY_RANK)
    documents: list[Evidence] = [Document(name, name) for name in "abcde"]
    ranked = [Judged(p >= 0.3, by, p) for p in (0.9, 0.8, 0.6, 0.2)]
    answers: list[Answer] = [*ranked, Unscored("refusal: no", by)]
    judge = WrittenJudge(lambda _: NO)
    placed = run_blocking(lambda: place_async(QUESTION, documents, judge, Plan(), answers))
    found = expected_about(placed)
    assert (found.value, found.scored, found.read) == (2.5, 4, 5)
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.value <= found.high <= 4


@pytest.mark.parametrize(
    ("answers", "value"),
    [
        ([Judged(True, BY), Judged(False, BY), Judged(True, BY, 0.7)], 1.7),
        ([Unscored("refusal: no", BY)] * 3, None),
    ],
)
def test_a_number_that_no_ranking_told_has_no_bounds(
    answers: list[Answer], value: float | None
) -> None:
    documents: list[Evidence] = [Document(name, name) for name in "abc"]
    judge = WrittenJudge(lambda _: NO)
    placed = run_blocking(lambda: place_async(QUESTION, documents, judge, Plan(), answers))
    found = expected_about(placed)
    assert (found.value, found.low, found.high) == (value, None, None)
