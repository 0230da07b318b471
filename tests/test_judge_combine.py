"""Several answers to one question as one."""

from __future__ import annotations

import json
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.judging.answers import NOTES, Answer, Judged, Provenance, Unscored, answer_rows
from pnyx.judging.questions import Preference, Ranking, Rating, Support
from pnyx.judging.votes import combine

BY = Provenance("member", "hash", "stated")
SUPPORT = Support("1", "Fares fell.", "Buses got cheaper.")
RATING = Rating("1", "text", ("cogency",), (1, 3))
RATINGS = Rating("1", "text", ("cogency", "clarity", "depth"), (1, 3))
PREFERENCE = Preference("1", "a text", "b text", "question")
RANKING = Ranking("1", "query", ("w", "x", "y", "z"))
HOW = ("auto", "majority", "mean")


def said(value, probability=None, **fields) -> Judged:
    return Judged(value, BY, probability, **fields)


def silent(reason="timeout: no reply") -> Unscored:
    return Unscored(reason, BY)


def of(question, *answers, how="auto") -> Answer:
    return combine(question, answers, how, judge="all")


def outcome(answer: Answer):
    return answer.reason if isinstance(answer, Unscored) else answer.value


# --- yes or no


@pytest.mark.parametrize(
    ("votes", "how", "value", "probability"),
    [
        ([(True, 0.6), (True, 0.6), (False, 0.0)], "majority", True, 0.4),
        ([(True, 0.6), (True, 0.6), (False, 0.0)], "mean", False, 0.4),
        ([(True, None), (True, None), (False, None)], "auto", True, 2 / 3),
        ([(True, None), (True, None), (False, None)], "mean", True, 2 / 3),
        ([(True, 0.9), (False, 0.4)], "auto", True, 0.65),
        ([(True, 0.6), (False, 0.2)], "auto", False, 0.4),
        ([(True, 0.5), (False, 0.5)], "mean", True, 0.5),
        ([(True, None), (False, 0.2), (False, 0.3)], "auto", False, 0.5),
        ([(True, None), (False, 0.2)], "mean", True, 0.6),
    ],
)
def test_yes_or_no(votes, how, value, probability):
    answer = of(SUPPORT, *(said(*vote) for vote in votes), how=how)
    assert answer.value is value
    assert answer.probability == pytest.approx(probability)
    assert answer.provenance.method == ("mean" if how == "mean" else "majority")


@pytest.mark.parametrize(
    ("votes", "how"),
    [
        ([(True, None), (False, None)], "auto"),
        ([(True, None), (False, None)], "mean"),
        ([(True, 0.7), (False, 0.3)], "auto"),
        ([(True, 0.9), (False, None)], "auto"),
        ([(True, None), (False, 0.0)], "mean"),
    ],
)
def test_an_even_split_is_nobodys_choice(votes, how):
    answer = of(SUPPORT, *(said(*vote) for vote in votes), how=how)
    assert outcome(answer) == "tie: 1 yes, 1 no"
    assert answer.notes["votes"] == [True, False]
    assert answer.notes["agreement"] == 0.5


# --- what an unscored answer is


def test_an_unscored_answer_is_no_vote():
    answer = of(SUPPORT, said(False, 0.2), silent(), said(False, 0.4))
    assert answer.value is False
    assert answer.probability == pytest.approx(0.3)
    assert answer.notes["votes"] == [False, None, False]
    assert answer.notes["agreement"] == 1
    assert answer.notes["spread"] == pytest.approx(0.1)
    members = answer.provenance.details["members"]
    assert [m.get("unscored") for m in members] == [None, "timeout: no reply", None]
    assert answer.provenance == Provenance("all", "hash", "majority", {"members": members})


@pytest.mark.parametrize("question", [SUPPORT, RATING, RATINGS, PREFERENCE, RANKING])
@pytest.mark.parametrize("how", HOW)
def test_half_of_the_votes_is_not_enough(question, how):
    vote = {Support: True, Rating: 2, Preference: "a", Ranking: [0, 1, 2, 3]}[type(question)]
    vote = [2, 2, 2] if question is RATINGS else vote
    answers = [silent("timeout"), said(vote), silent("schema: x"), silent("timeout: y")]
    reason = "panel: 1 of 4 scored (2 timeout, 1 schema)"
    assert outcome(of(question, *answers, how=how)) == reason
    assert outcome(of(question, answers[0], answers[1], how=how)).startswith("panel: 1 of 2")
    assert outcome(of(question, *[silent()] * 3)) == "timeout: 0 of 3 scored (3 timeout)"
    assert not isinstance(of(question, answers[0], answers[1], answers[1]), Unscored)


# --- ratings


@pytest.mark.parametrize(
    ("votes", "how", "value"),
    [
        ([1, 2, 2], "auto", 5 / 3),
        ([1, 2, 2], "majority", 2),
        ([1, 3, 2], "majority", 2),
        ([1, 2], "majority", 1.5),
        ([[1], [3]], "mean", 2),
    ],
)
def test_one_dimension(votes, how, value):
    answer = of(RATING, *map(said, votes), how=how)
    assert answer.value == pytest.approx(value)
    assert answer.probability is None


def test_each_dimension_is_counted_by_itself():
    answers = [
        said([1, 3, None], notes={"dimensions": {"depth": "schema: 9 is not on the scale"}}),
        said([2, None, None]),
        said([3, 3, 2]),
    ]
    answer = of(RATINGS, *answers)
    assert answer.value == [2, 3, None]
    assert answer.notes["dimensions"] == {"depth": "panel: 1 of 3 scored (1 missing, 1 schema)"}
    assert answer.notes["agreement"] == {"cogency": pytest.approx(1 / 3), "clarity": 1}
    assert answer.notes["spread"] == {"cogency": pytest.approx(math.sqrt(2 / 3)), "clarity": 0}
    assert answer.notes["votes"] == [[1, 3, None], [2, None, None], [3, 3, 2]]
    assert [row["value"] for row in answer_rows(RATINGS, answer)] == [2, 3, None]


def test_the_mean_of_equal_numbers_is_that_number():
    for number in (0.1, 0.7, 1 / 3):
        assert of(RATING, *[said(number)] * 3).value == number
        assert of(SUPPORT, *[said(False, number)] * 3).probability == number


# --- preferences and rankings


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        ("a a b", "a"),
        ("tie tie b", "tie"),
        ("a b", "tie"),
        ("a b tie", "tie"),
        ("a a b b tie", "tie"),
        ("a tie", "tie: 1 a, 1 tie"),
        ("a b b tie tie", "tie: 1 a, 2 b, 2 tie"),
    ],
)
@pytest.mark.parametrize("how", HOW)
def test_preferences(votes, expected, how):
    answer = of(PREFERENCE, *(said(vote) for vote in votes.split()), how=how)
    assert outcome(answer) == expected
    assert answer.provenance.method == "majority"


def test_rankings_by_mean_rank_and_ties_as_the_first_has_them():
    answer = of(RANKING, said([0, 1, 2, 3]), said([1, 0, 3, 2]), said([1, 2, 0, 3]))
    assert answer.value == [1, 0, 2, 3]
    assert answer.provenance.method == "mean"
    tied = said([3, 2, 1, 0]), said([0, 1, 2, 3])
    assert of(RANKING, *tied).value == [3, 2, 1, 0]
    assert of(RANKING, *tied[::-1]).value == [0, 1, 2, 3]
    assert of(RANKING, *tied).notes["agreement"] == 0.5
    # In part, by hand: [0] gives 0, 2, 2, 2 and the other order 3, 0, 1, 2.
    part = of(RANKING, said([0]), said([1, 2, 3, 0]))
    assert (part.value, part.notes.get("missing")) == ([1, 0, 2, 3], None)
    part = of(RANKING, said([0]), said([1, 0]), said([0]))
    assert (part.value, part.notes["missing"]) == ([0, 1], [2, 3])


# --- whose words


def test_the_words_are_those_of_the_first_vote_for_the_value():
    def speaks(value, who):
        return said(value, explanation=f"why {who}", evidence=f"words of {who}")

    def who(question, *values, how="auto"):
        votes = [speaks(v, n) if v is not None else silent() for n, v in enumerate(values)]
        answer = of(question, *votes, how=how)
        assert answer.explanation.replace("why", "words of") == answer.evidence
        return answer.explanation

    assert who(SUPPORT, False, None, True, True) == "why 2"
    assert who(PREFERENCE, "b", "tie", "tie") == "why 1"
    assert who(PREFERENCE, "a", "b") == ""
    assert who(RATING, 3, 2, 1) == "why 1"
    assert who(RATINGS, [3, 3, 3], [1, 1, None], [1, 1, 1]) == "why 1"
    assert who(RANKING, [3, 2, 1, 0], [0, 1, 3, 2], [0, 1, 2, 3]) == "why 1"
    doubting = of(SUPPORT, *(said(False, 0.6, explanation="no") for _ in "ab"), how="mean")
    assert (doubting.value, doubting.explanation) == (True, "")


# --- properties


def votes_on(question) -> st.SearchStrategy[Answer]:
    if isinstance(question, Support):
        judged = st.builds(said, st.booleans(), st.none() | st.floats(0, 1))
    elif isinstance(question, Preference):
        judged = st.sampled_from(["a", "b", "tie"]).map(said)
    elif isinstance(question, Ranking):
        orders = st.permutations(range(len(question.texts)))
        judged = st.tuples(orders, st.integers(1, 4)).map(lambda drawn: said(drawn[0][: drawn[1]]))
    else:
        number = st.integers(1, 3) | st.floats(1, 3)
        several = len(question.dimensions) > 1
        values = st.tuples(*[st.none() | number] * len(question.dimensions)).map(list)
        judged = (values if several else number).map(said)
    return judged | st.sampled_from(["timeout", "schema: x"]).map(silent)


cases = st.sampled_from([SUPPORT, RATING, RATINGS, PREFERENCE, RANKING]).flatmap(
    lambda question: st.tuples(
        st.just(question), st.lists(votes_on(question), min_size=1, max_size=7)
    )
)


@given(cases, st.sampled_from(HOW), st.randoms(use_true_random=False))
def test_order_does_not_matter(case, how, draw):
    question, answers = case
    shuffled = draw.sample(answers, len(answers))
    one, other = (of(question, *given, how=how) for given in (answers, shuffled))
    if isinstance(question, Ranking) and isinstance(one, Judged):
        ranks = Counter()
        for answer in answers:
            named = outcome(answer) if isinstance(answer, Judged) else ()
            for text in range(4):
                behind = (len(named) + 3) / 2  # the mean of the ranks that are left
                ranks[text] += named.index(text) if text in named else behind
        assert [ranks[text] for text in one.value] == [ranks[text] for text in other.value]
    else:
        assert outcome(one) == outcome(other)
    assert getattr(one, "probability", None) == getattr(other, "probability", None)
    for name in ("agreement", "spread", "dimensions"):
        assert one.notes.get(name) == other.notes.get(name)


@given(cases, st.sampled_from(HOW), st.integers(1, 5))
def test_unanimous_votes_give_their_value(case, how, times):
    question, (vote, *_) = case
    answer = of(question, *[vote] * times, how=how)
    if isinstance(vote, Judged) and not (question is RATINGS and set(vote.value) == {None}):
        if question is SUPPORT and how == "mean" and vote.probability is not None:
            assert answer.value == (vote.probability >= 0.5)
        else:
            assert answer.value == vote.value
        if vote.probability is not None:
            assert answer.probability == vote.probability
    else:
        assert isinstance(answer, Unscored)


@given(cases, st.sampled_from(HOW))
def test_every_outcome_is_a_fitting_answer_or_a_reason(case, how):
    question, answers = case
    answer = of(question, *answers, how=how)
    assert set(answer.notes) <= set(NOTES)
    rows = answer_rows(question, answer)
    json.dumps([rows, dict(answer.provenance.details)], allow_nan=False)
    assert all((row["value"] is None) != (row["unscored"] is None) for row in rows)
    scored = sum(isinstance(a, Judged) for a in answers)
    if 2 * scored <= len(answers):
        assert isinstance(answer, Unscored)
    if isinstance(answer, Unscored):
        word = answer.reason.partition(":")[0]
        causes = {a.reason.partition(":")[0] for a in answers if isinstance(a, Unscored)}
        assert word in {"panel", "tie", "missing"} | causes
        return
    if isinstance(question, Rating):
        values = answer.value if isinstance(answer.value, list) else [answer.value]
        assert all(1 <= value <= 3 for value in values if value is not None)
    elif isinstance(question, Ranking):
        unranked = answer.notes.get("missing", [])
        assert sorted([*answer.value, *unranked]) == [0, 1, 2, 3]
    elif isinstance(question, Support):
        assert type(answer.value) is bool
        assert 0 <= answer.probability <= 1
