"""Which passages argue a side, and how likely, from verdicts that are given."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pnyx.cases.argument import _best, _counts, _likely, _longest
from pnyx.cases.model_sides import ModelSides, PassageAnswer, _by_number, joined_shares
from pnyx.cases.passage_sides import BY_MODEL, BY_PASSAGE, SideChances
from pnyx.cases.plan import Plan
from pnyx.cases.side_assignment import Placing, _is_answered, model_of
from pnyx.cases.side_choice import PlacedPassage, settled_by_label
from pnyx.core.records import Document, Question
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.models.http.flow import run_blocking
from pnyx.search.sides import SideVerdict
from pnyx.search.topics import TopicMatch

QUESTION = Question("q", "Should zoos be phased out?")
BY = Provenance("j", method=BY_PASSAGE)


def passage(name: str, pro: Any = None, con: Any = None, about: Any = None, **more: Any) -> Any:
    verdicts = {side: a for side, a in (("pro", pro), ("con", con)) if a is not None}
    sides = frozenset(side for side, a in verdicts.items() if a.value is True)
    relevance = Judged(True, BY, 0.9) if about is None else about
    return PlacedPassage(Document(name, name), relevance, SideVerdict(verdicts, sides), **more)


def test_the_best_passages_of_a_side_by_likelihood_and_quality():
    placed = [
        passage(name, Judged(True, BY, p)) for name, p in (("a", 0.6), ("b", 0.8), ("c", 0.7))
    ]
    names = lambda some: "".join(p.document.id for p in some)  # noqa: E731
    assert names(_best(placed, "pro", {}, Plan())) == "bca"
    assert names(_best(placed, "pro", {"b": 0.1, "a": 0.9}, Plan())) == "acb"
    assert names(_best(placed, "pro", {"b": 0.1, "a": 0.9}, Plan(quality=0.0))) == "bca"
    assert names(_best(placed, "con", {}, Plan())) == ""
    long = [passage("x" * n, Judged(True, BY, 0.9)) for n in (1, 3, 2)]
    assert [len(p.document.id) for p in _longest(long, "pro")] == [3, 2, 1]
    assert _longest(long, "con") == []


def test_how_likely_a_side_is_argued():
    model = Provenance("m", method=BY_MODEL)
    sure = passage("a", Judged(True, model, 0.8), about=Judged(True, model, 0.75))
    less = passage("b", Judged(True, model, 0.5), about=Judged(True, model, 0.5))
    assert _likely([less, sure], "pro") == 0.6
    unknown = passage("c", Judged(True, model), about=Judged(True, model, 0.75))
    assert _likely([sure, unknown], "pro") is None
    assert _likely([], "pro") is None
    fitted = passage("a", Judged(True, BY, 0.8))
    assert 0 < _likely([fitted], "pro") < 1


def test_passages_are_counted_by_side():
    both = passage("a", Judged(True, BY, 0.9), Judged(True, BY, 0.9))
    lean = passage("b", Judged(False, BY, 0.4), leans="pro")
    off = passage("c", about=Judged(False, BY, 0.1))
    missing = passage("d", about=Unscored("timeout", BY))
    undecided = passage("e", Judged(False, BY, 0.4))
    assert _counts([both, lean, off, missing, undecided]) == {
        "pro": 1, "con": 1, "undecided": 1, "passed_over": 1,
    }  # fmt: skip
    assert [p.about for p in (both, off, missing)] == [0.9, 0.1, None]
    plain = passage("f", about=Judged(True, BY))
    assert plain.about == 1.0
    assert passage("g", about=Judged(False, BY)).about == 0.0
    assert (both.worth("pro"), both.chance("pro")) == (pytest.approx(0.81), pytest.approx(0.81))
    assert (plain.worth("pro"), plain.chance("pro")) == (1.0, None)
    assert (missing.reasons, both.reasons) == (["timeout"], [])


@pytest.mark.parametrize(("same", "settled"), [(0.1999, True), (0.2, False)])
def test_a_label_on_another_topic_settles_where_one_on_this_counts(same, settled):
    used = TopicMatch("T", 0.9, 0.0, "meaning", used=True)
    other = TopicMatch("U", same, 0.0, "meaning", used=False)
    assert settled_by_label([used, other, None]) == [True, settled, False]
    assert settled_by_label([other, None]) == [False, False]


def test_answers_of_a_model_by_number():
    entries = [
        SimpleNamespace(id=n, side=side, confidence=confidence)
        for n, side, confidence in (
            (1, "yes", 0.9), (1, "yes", 0.8), (2, "yes", 0.9), (2, "no", 0.9), (3, "no", None),
            (4, "no", None), (4, "no", 90), (5, "no", 5),
        )
    ]  # fmt: skip
    answers = _by_number(entries)
    assert {number: (a.side, a.confidence) for number, a in answers.items()} == {
        1: ("yes", 0.8), 4: ("no", 0.9),
    }  # fmt: skip
    yes_, no_, both, neither = joined_shares([PassageAnswer("neither", 0.9)])
    assert neither == pytest.approx(0.9)
    assert (yes_, no_, both) == pytest.approx((0.3 / 7, 0.3 / 7, 0.1 / 7))


def test_the_probabilities_of_a_passage_by_two_answers():
    model: Any = SimpleNamespace(name="m")
    answers = [PassageAnswer("both", 0.8, "h", ("k", "l")), PassageAnswer("both", 0.8, "i", ("k",))]
    chances = ModelSides(model, QUESTION)._joined(answers)
    share = 0.2 * 0.3 / 0.9 + 0.4
    assert (chances.pro, chances.con) == (round(share, 6), round(share, 6))
    assert chances.explanation == "m says both (0.80) and both (0.80)"
    assert (chances.by.prompt_hash, chances.by.asked, chances.by.judge) == (
        "h",
        ("k", "l"),
        "m+sides",
    )


def test_how_far_the_answers_of_a_model_are_used():
    model: Any = SimpleNamespace(name="m")
    sure, yes_, no_ = (PassageAnswer(*pair) for pair in (("yes", 0.9), ("yes", 0.6), ("no", 0.6)))
    pairs = [
        (sure, None),
        ("timeout: a", "missing: b"),
        ("timeout: a", None),
        ("refusal: c", None),
        (yes_, no_),
        ("missing: b", no_),
        (yes_, yes_),
    ]
    weighed = ModelSides(model, QUESTION)._weighed(pairs)
    assert (weighed.asked, weighed.scored, weighed.unscored) == (7, 4, 3)
    assert (weighed.again, weighed.agreed, weighed.weight) == (2, 1, 0.5714)
    assert weighed.reason == "timeout: a"
    assert weighed.why == (
        "it classified both claims correctly, and answered on 4 of 7; asked again about 2 in the "
        "opposite order, it agreed on 1; the packaged judge decided the other 3 (timeout: a)"
    )
    whole = ModelSides(model, QUESTION)._weighed([(sure, None)])
    assert (whole.weight, whole.reason, whole.why) == (
        1.0, "", "it classified both claims correctly, and answered on 1 of 1",
    )  # fmt: skip
    assert ModelSides(model, QUESTION)._weighed([]).weight == 0.0


class Reading:
    """A language model that keeps the texts that it is asked about."""

    def __init__(self, *, passed: bool) -> None:
        self.passed, self.texts = passed, [""]

    async def judge(self, texts: Any) -> list[Any]:
        self.texts = list(texts)
        return [SideChances(0.5, 0.1)] * len(texts)


@pytest.mark.parametrize(
    ("asked", "size", "labelled", "fills_up", "count"),
    [
        (5, 4, [False, False], True, 4),  # as many as the index has
        (5, 9, [False, False], True, 5),
        (5, 9, [False, True], True, 5),
        (5, 9, [False, False], False, 2),
        (5, 9, [False, True], False, 1),
        (1, 9, [False, False], True, 1),
    ],
)
def test_a_plan_asks_about_as_many_passages_as_may_be_retrieved(
    asked: int, size: int, labelled: list[bool], fills_up: bool, count: int
) -> None:
    """Texts that stand in for them are a number and 120 words."""
    reading: Any = Reading(passed=True)
    searcher: Any = SimpleNamespace(engine=range(size))
    judge: Any = None
    plan = Plan(asked=asked)
    placing = Placing(searcher, QUESTION, judge, plan, None, reading, fills_up=fills_up)
    documents = [Document("a", "Text a."), Document("b", "Text b.")]
    answers = run_blocking(lambda: placing._by_model(documents, labelled))
    assert len(reading.texts) == count
    answered = min(asked, labelled.count(False))
    assert all(len(text.split()) == 121 for text in reading.texts[answered:])
    assert set(answers) == ({"a", "b"} if asked > 1 else {"a"})
    assert [_is_answered(answers[name]) for name in answers] == [True] * len(answers)
    reading.passed = False
    assert run_blocking(lambda: placing._by_model(documents, labelled)) == {}


def test_what_counts_as_an_answer():
    assert _is_answered(SideChances(0.0, 0.0))
    assert not _is_answered("missing: not in the reply")
    assert not _is_answered(None)
    plain: Any = SimpleNamespace(name="j")
    assert model_of(plain) is None
    assert model_of(SimpleNamespace(name="j", model="no model")) is None  # type: ignore[arg-type]
