"""Placing documents on sides, with judges whose answers are written here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.cases.argument import _best, _likely
from pnyx.cases.page.notes import label_notes
from pnyx.cases.passage_sides import BY_MODEL, BY_PASSAGE, side_chance
from pnyx.cases.plan import Plan
from pnyx.cases.side_choice import expected_about, settled_by_label
from pnyx.cases.side_choice import place as place_async
from pnyx.core.records import Argument, Document, Evidence, Question
from pnyx.judging.answers import Answer, Judged, Provenance, Unscored
from pnyx.judging.base import Emit
from pnyx.judging.questions import JudgeQuestion, Support
from pnyx.models.http.flow import run_blocking
from pnyx.search.engine import Hit
from pnyx.search.hits import RetrievedDocument
from pnyx.search.polarity import read_claim, same_words
from pnyx.search.sides import CORPUS_LABEL, match_labels
from pnyx.search.topics import TopicMatch, TopicMatcher
from pnyx.web.ask.views import _label

BY = Provenance("written")
QUESTION = Question("q", "Should voting be compulsory?")


def place(question: Question, documents: list[Evidence], judge: Any, certainty: float) -> Any:
    plan = Plan(certainty=certainty)
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


@pytest.mark.parametrize(
    ("claim", "sign"),
    [
        ("Voting should be compulsory", 1),
        ("Voting should not be compulsory", -1),
        ("Voting should not never be compulsory", 1),
    ],
)
def test_an_odd_number_of_negations_reverses_a_claim(claim: str, sign: int) -> None:
    assert read_claim(claim).sign == sign


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
            return Judged(True, BY)
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


def _placed(pro: dict[str, float], relevance: Sequence[float | None], **options: Any) -> list[Any]:
    """Place passages whose chances to be on pro, if on any side, are given."""
    documents: list[Evidence] = [Document(name, name) for name in pro]
    by = Provenance("r", method=BY_PASSAGE)
    known: list[Answer] = [
        Unscored("refusal: no", by) if p is None else Judged(p >= 0.5, by, p) for p in relevance
    ]
    plan, judge = Plan(**options), Weighing(pro)
    return run_blocking(lambda: place_async(QUESTION, documents, judge, plan, known))  # type: ignore[arg-type]


def _standing(placed: Sequence[Any]) -> list[tuple[str | None, str | None]]:
    return [(one.sided.side, one.leans) for one in placed]


def test_a_passage_argues_the_side_that_the_product_makes_likely() -> None:
    """0.8 * 0.75 = 0.6 and 0.8 * 0.5 = 0.4 for pro; 0.8 * 0.6 = 0.48 for con."""
    placed = _placed({"a": 0.75, "b": 0.5, "c": 0.4}, [0.8] * 3, certainty=0.48, listed=0.2)
    assert _standing(placed) == [("pro", None), (None, "pro"), ("con", None)]
    assert [round(one.worth("pro"), 6) for one in placed] == [0.6, 0.4, 0.32]


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        (0.8, ("pro", None)),  # 0.8 * 0.75 = 0.6
        (0.799, (None, "pro")),
        (0.4, (None, "pro")),  # 0.3
        (0.399, (None, None)),
    ],
)
def test_what_is_less_likely_is_listed_and_then_passed_over(
    about: float, expected: tuple[str | None, str | None]
) -> None:
    (placed,) = _placed({"a": 0.75}, [about], certainty=0.6, listed=0.3)
    assert _standing([placed]) == [expected]
    assert placed.passed_over == (expected == (None, None))


def test_the_defaults_are_those_of_the_plan() -> None:
    least, listed = Plan().certainty, Plan().listed
    assert (least, listed) == (0.35, 0.2)  # as docs/explain/decisions/likelihoods.md says
    placed = _placed(dict.fromkeys("abcd", 1.0), [least, least - 0.01, listed, listed - 0.01])
    assert _standing(placed) == [("pro", None), (None, "pro"), (None, "pro"), (None, None)]


@pytest.mark.parametrize(("same", "passed_over"), [(0.19, True), (0.2, False)])
def test_a_label_on_another_topic_says_that_a_passage_is_off(
    same: float, passed_over: bool
) -> None:
    """Only where another passage has a label on the question: then labels say what is on it."""
    topics = {QUESTION.text: (1.0, True), "Ban cars": (same, False)}

    class Matcher(TopicMatcher):
        def match(
            self, question: str, found: Iterable[str], *, every: bool = True
        ) -> dict[str, TopicMatch]:
            return {t: TopicMatch(t, topics[t][0], 0.0, "words", topics[t][1]) for t in found}

    other = Argument("b", "Another claim.", stance="pro", topic="Ban cars")
    known = [Judged(True, Provenance("r", method=BY_PASSAGE), 0.9)] * 2
    judge = WrittenJudge(_relevant(NO))
    documents = [_labelled("pro"), other]
    matches = match_labels(QUESTION, documents, Matcher())
    assert settled_by_label(matches) == [True, passed_over]
    placed = run_blocking(lambda: place_async(QUESTION, documents, judge, Plan(), known, matches))
    assert [one.passed_over for one in placed] == [False, passed_over]


def test_the_page_names_topics_whose_labels_nearly_count() -> None:
    """Five lines at most, from a probability of 0.3; passages on others are counted."""
    used = TopicMatch("Compulsory voting", 1.0, 0.0, "words", used=True)
    near = [TopicMatch(f"Near {n}", 0.25, 0.05, "meaning", used=False) for n in range(5)]
    other = TopicMatch("Other", 0.25, 0.04, "meaning", used=False)
    first, *lines, last = label_notes([(used, 3), *((match, 1) for match in near), (other, 2)])
    assert first.startswith("Labels on “Compulsory voting” (3 passages) count: ")
    uncertain = " do not count: it is too uncertain whether the topic asks the same (same 0.25, "
    uncertain += "opposite 0.05); --topic names it."
    assert lines == [f"Labels on “Near {n}” (one passage){uncertain}" for n in range(4)]
    # The fifth near topic would be the sixth line: its passage is counted with the other two.
    assert last == "3 passages have labels on other topics, which do not count."
    (last,) = label_notes([(other, 1)])
    assert last == "One passage has a label on another topic, which does not count."


def test_an_unknown_quality_counts_as_one_half_in_the_order() -> None:
    placed = _placed(dict.fromkeys("abc", 1.0), [0.9, 0.9, 0.9])
    best = _best(placed, "pro", {"a": 0.49, "c": 0.51}, Plan())
    assert [passage.document.id for passage in best] == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("same", "words"),
    [(0.15, "perhaps this question (p = 0.20)"), (0.14, "another question (p = 0.19)")],
)
def test_a_result_says_whether_its_label_may_be_about_the_question(same: float, words: str) -> None:
    argument = Argument("a", "Cars harm.", stance="pro", topic="Ban cars")
    match = TopicMatch("Ban cars", same, 0.05, "meaning", used=False)
    retrieved = RetrievedDocument(Hit("a", 1, 1.0), argument, match)
    assert _label(retrieved, None) == f"labelled pro on “Ban cars”, {words}"


@pytest.mark.parametrize(("why", "probability"), [("meaning", 0.95), ("words", None)])
def test_a_label_is_as_likely_to_be_on_the_question_as_its_topic(
    why: Any, probability: float | None
) -> None:
    """P(same) 0.9 and P(opposite) 0.05 are 0.95 if a model compared; the same words need none."""
    argument = _labelled("pro", "Voting as a duty")
    match = TopicMatch("Voting as a duty", 0.9, 0.05, why, used=True)
    known = [Judged(False, Provenance("r", method=BY_PASSAGE), 0.1)]
    judge = WrittenJudge(_relevant(NO))
    (placed,) = run_blocking(
        lambda: place_async(QUESTION, [argument], judge, Plan(), known, [match])
    )
    assert placed.relevance.value is True
    assert placed.relevance.probability == (probability and pytest.approx(probability))


def test_what_argues_some_side_that_nobody_knows_is_undecided() -> None:
    placed = _placed({"a": 0.5, "b": 0.5}, [0.9, 0.3], certainty=0.6, listed=0.5)
    assert [(one.undecided, one.passed_over) for one in placed] == [(True, False), (False, True)]


@pytest.mark.parametrize("by_passage", [True, False])
def test_what_a_judge_calls_irrelevant_costs_no_question_of_its_side(by_passage: bool) -> None:
    """Only where passages were judged at once are sides known of what argues none."""
    by = Provenance("r", method=BY_PASSAGE if by_passage else "token")
    judge = WrittenJudge(_by_side(_yes(0.9), NO))
    known = [Judged(False, by, 0.2)]
    documents: list[Evidence] = [Document("d", "Text.")]
    (placed,) = run_blocking(lambda: place_async(QUESTION, documents, judge, Plan(), known))
    assert len(judge.asked) == (2 if by_passage else 0)
    assert (placed.used, placed.sided.sides, placed.leans) == (False, frozenset(), None)


@pytest.mark.parametrize(("by_passage", "sides"), [(True, {"pro"}), (False, set())])
def test_a_judges_no_keeps_a_passage_from_being_argued_with(
    by_passage: bool, sides: set[str]
) -> None:
    """A judge of relevance has a threshold of its own; passages judged at once have none."""
    by = Provenance("r", method=BY_PASSAGE if by_passage else "calibrated")
    judge = WrittenJudge(_by_side(_yes(1.0), NO))
    known = [Judged(False, by, 0.49)]
    documents: list[Evidence] = [Document("d", "Text.")]
    plan = Plan(certainty=0.4)
    (placed,) = run_blocking(lambda: place_async(QUESTION, documents, judge, plan, known))
    assert placed.sided.sides == sides


def test_a_side_judged_by_a_model_is_as_likely_as_its_likeliest_passage_to_six_digits() -> None:
    by = Provenance("m", method=BY_MODEL)
    known: list[Answer] = [Judged(True, by, p) for p in (0.6234567, 0.5)]
    documents: list[Evidence] = [Document("a", "a"), Document("b", "b")]
    judge: Any = Weighing(dict.fromkeys("ab", 1.0))
    placed = run_blocking(lambda: place_async(QUESTION, documents, judge, Plan(), known))
    assert _likely(placed, "pro") == 0.623457


def test_what_nobody_states_becomes_no_probability() -> None:
    """A bare yes is argued with, but is not stated as certain; nor is what is unscored."""
    (bare,) = place(QUESTION, [Document("d", "Text.")], WrittenJudge(_relevant(_yes(0.9))), 0.5)
    assert bare.chance("pro") == pytest.approx(0.81)
    (bare,) = place(QUESTION, [Document("d", "Text.")], WrittenJudge(_by_side(_yes(0.9), NO)), 0.5)
    assert (bare.sided.side, bare.chance("pro"), bare.worth("pro")) == ("pro", None, 0.9)
    (labelled,) = place(QUESTION, [_labelled("pro")], WrittenJudge(_relevant(NO)), 0.5)
    assert (labelled.sided.side, labelled.chance("pro")) == ("pro", None)


def test_a_passage_whose_relevance_is_unscored_is_not_argued_with() -> None:
    (placed,) = _placed({"a": 0.99}, [None], certainty=0.5, listed=0.1)
    assert _standing([placed]) == [(None, None)]
    assert (placed.chance("pro"), placed.passed_over) == (None, False)


@pytest.mark.parametrize(
    ("stated", "expected"),
    [([0.9, 0.2], True), ([0.9, None], False), ([None], False)],
)
def test_a_side_is_as_likely_as_its_passages_say(
    stated: list[float | None], expected: bool
) -> None:
    """One passage that is argued with although nobody states its probability: none is made up."""
    documents: list[Evidence] = [Document(str(n), str(n)) for n, _ in enumerate(stated)]
    by = Provenance("r", method=BY_PASSAGE)
    known: list[Answer] = [Judged(True, by, 1.0)] * len(documents)
    answers = {str(n): _yes(p) for n, p in enumerate(stated)}
    judge = WrittenJudge(lambda q: answers[q.text] if q.id.startswith("stance/pro") else NO)
    placed = run_blocking(lambda: place_async(QUESTION, documents, judge, Plan(), known))
    told = [p for p in stated if p is not None]
    assert _likely(placed, "pro") == (side_chance(told) if expected else None)


def test_what_is_unscored_is_not_said_to_argue_neither_side() -> None:
    documents: list[Evidence] = [Document("a", "A."), Document("b", "B.")]
    judge = WrittenJudge(lambda q: NONE if q.text == "A." else NO)
    found = run_blocking(lambda: place_async(QUESTION, documents, judge, Plan()))
    assert [(p.passed_over, bool(p.reasons)) for p in found] == [(False, True), (True, False)]


def test_the_number_that_argues_a_side_is_the_sum_of_what_each_is_likely_to() -> None:
    placed = _placed(dict.fromkeys("abcde", 0.9), [0.9, 0.8, 0.6, 0.2, None])
    found = expected_about(placed)
    assert (found.value, found.scored, found.read) == (2.5, 4, 5)


@pytest.mark.parametrize(
    ("answers", "value"),
    [
        ([Judged(True, BY), Judged(False, BY), Judged(True, BY, 0.7)], 1.7),
        ([Unscored("refusal: no", BY)] * 3, None),
    ],
)
def test_a_verdict_without_a_probability_counts_as_one_or_none(
    answers: list[Answer], value: float | None
) -> None:
    documents: list[Evidence] = [Document(name, name) for name in "abc"]
    judge = WrittenJudge(lambda _: NO)
    placed = run_blocking(lambda: place_async(QUESTION, documents, judge, Plan(), answers))
    assert expected_about(placed).value == value
