"""What is an answer to a question, at its limits; how answers are put together and summarised."""

from __future__ import annotations

from typing import Any

import pytest

from pnyx.judging.answers import Answers, Judged, Missing, Provenance, Unscored, tally
from pnyx.judging.questions import Preference, Ranking, Rating, Support, blank
from pnyx.judging.stances import ask_claims, ask_relevance, ask_stance

BY = Provenance("j")
SUPPORT = Support("1", "Fares fell.", "It got cheaper.")
RATING = Rating("1", "Text.", ("clarity", "overall"), (1, 3))
RANKING = Ranking("1", "Q?", ("A.", "B.", "C."))
PREFERENCE = Preference("1", "A.", "B.", "Q?")


@pytest.mark.parametrize(
    ("question", "value", "read"),
    [
        (SUPPORT, 1, True),
        (SUPPORT, 0.0, False),
        (SUPPORT, 2, None),
        (SUPPORT, " Partially ", True),
        (SUPPORT, "TRUE", True),
        (SUPPORT, "maybe", None),
        (RATING, 1, 1),
        (RATING, 3.0, 3.0),
        (RATING, 0.99, None),
        (RATING, 3.01, None),
        (RATING, True, None),
        (RATING, "2", None),
        (Rating("1", "T.", ("overall",), (0, 1)), True, 1),
        (PREFERENCE, "tie", "tie"),
        (PREFERENCE, "c", None),
        (RANKING, [2, 0], [2, 0]),
        (RANKING, [2, 2], None),
        (RANKING, [3], None),
        (RANKING, [-1], None),
        (RANKING, [], None),
        (RANKING, [True, False], None),
        (RANKING, 0, None),
    ],
)
def test_what_a_value_in_a_file_means(question, value, read):
    found = question.value_of(value)
    assert found == read
    assert isinstance(found, bool) is isinstance(read, bool)


def test_ratings_on_their_scale():
    assert [RATING.normalised(value) for value in (1, 1.5, 3, 4)] == [0.0, 0.25, 1.0, None]
    assert [RATING.preference(word) for word in ("a", "tie", "b")] == [3, 2, 1]
    assert RATING.fault() == ""


def test_cells_of_a_rating_are_put_together():
    missing = Missing("missing: not in the reply")
    both = RATING.compose([2, 3], BY)
    assert isinstance(both, Judged)
    assert (both.value, dict(both.notes)) == ([2, 3], {})
    partly = RATING.compose([missing, 3], BY)
    assert isinstance(partly, Judged)
    assert (partly.value, partly.notes["dimensions"]) == ([None, 3], {"clarity": str(missing)})
    assert RATING.votes(partly) == ["missing: not in the reply", 3]
    none = RATING.compose([missing, Missing("refusal: no")], BY)
    assert isinstance(none, Unscored)
    assert none.reason == "missing: not in the reply"
    single = Rating("1", "T.", ("overall",), (1, 3)).compose([2], BY)
    assert isinstance(single, Judged)
    assert single.value == 2
    lines = RATING.lines(partly)
    assert [(name, row["value"], row["normalised"], row["unscored"]) for name, row in lines] == [
        ("clarity", None, None, "missing: not in the reply"),
        ("overall", 3, 1.0, None),
    ]


@pytest.mark.parametrize(
    ("first", "turned", "value", "orders"),
    [
        ("a", "b", "a", ["a", "a"]),
        ("b", "a", "b", ["b", "b"]),
        ("a", "a", "tie", ["a", "b"]),
        ("tie", "a", "tie", ["tie", "b"]),
        ("tie", "tie", "tie", ["tie", "tie"]),
    ],
)
def test_a_preference_that_depends_on_the_order_is_a_tie(first, turned, value, orders):
    notes = [{"chances": [{"a": 0.7, "b": 0.3}]}, {"chances": [{"a": 0.1, "b": 0.9}]}]
    settled = PREFERENCE.settled(
        Judged(first, BY, notes=notes[0]), Judged(turned, BY, notes=notes[1])
    )
    assert (settled.value, settled.notes["orders"]) == (value, orders)
    assert settled.notes["chances"] == [{"a": 0.7, "b": 0.3}, {"b": 0.1, "a": 0.9}]
    alone = PREFERENCE.settled(Judged(first, BY, notes=notes[0]), Judged(turned, BY))
    assert "chances" not in alone.notes


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        (SUPPORT, ""),
        (Support("1", "?!", "S."), "blank: the text has no words"),
        (Support("1", "1", " "), "blank: the statement has no words"),
        (Rating("1", "", ("overall",), (1, 3), documents=("D.",)), ""),
        (Rating("1", "", ("overall",), (1, 3)), "blank: the text has no words"),
        (Rating("1", "", ("overall",), (1, 3), documents=("?",)),
         "blank: the documents has no words"),
        (Ranking("1", "Q?", ("?", "A.")), ""),
        (Ranking("1", "Q?", ("?",)), "blank: the texts has no words"),
        (Preference("1", "A.", "…", "Q?"), "blank: the b has no words"),
    ],
)  # fmt: skip
def test_what_has_no_words_is_blank(question, problem):
    assert blank(question) == problem


def test_a_side_has_the_statement_of_its_answer():
    question = "Should zoos close?"
    assert ask_stance("1", question, "T.", "pro").statement == f"{question} Yes."
    con = ask_stance("1", question, "T.", "con", claims=("Close.", "Keep."))
    assert (con.statement, con.opposite, con.task) == ("Keep.", "Close.", "stance")
    pro = ask_stance("1", question, "T.", "pro", claims=("Close.", "Keep."))
    assert (pro.statement, pro.opposite) == ("Close.", "Keep.")
    assert ask_relevance("1", question, "T.", stance="con").statement == f"{question} No."
    assert ask_relevance("1", question, "T.").statement == question
    sides = ask_claims("1", question, "T.")
    assert (sides.a, sides.b, sides.documents) == (f"{question} Yes.", f"{question} No.", ("T.",))


def test_reasons_are_counted_most_frequent_first():
    reasons: list[Any] = ["timeout: x", "refusal: a", "refusal: b", "blank: c", None, None]
    rows = [{"unscored": reason, "notes": {"lenient": ["word"]}} for reason in reasons]
    assert tally(rows) == {
        "asked": 6, "scored": 2, "unscored": 4,
        "reasons": {"refusal": 2, "blank": 1, "timeout": 1}, "read_leniently": 6,
    }  # fmt: skip
    assert list(tally(rows)["reasons"]) == ["refusal", "blank", "timeout"]


@pytest.mark.parametrize(
    ("values", "heading"),
    [
        ((True, True, False), "3 answers: 2 yes, 1 no, 0 unscored (judge: j)"),
        ((True, None), "2 answers: 1 yes, 0 no, 1 unscored (judge: j)"),
        ((None,), "1 answer: 0 scored, 1 unscored (judge: j)"),
        ((1.0, True), "2 answers: 2 scored, 0 unscored (judge: j)"),
        (("a", "b", "a"), "3 answers: 2 a, 1 b, 0 unscored (judge: j)"),
        (("a", 1), "2 answers: 2 scored, 0 unscored (judge: j)"),
        (tuple("abcdef"), "6 answers: 1 a, 1 b, 1 c, 1 d, 1 e, 0 unscored (judge: j)"),
        ((), "0 answers: 0 scored, 0 unscored"),
    ],
)
def test_the_heading_of_answers(values, heading):
    answers = Answers(
        Unscored("refusal: no", BY) if value is None else Judged(value, BY) for value in values
    )
    assert repr(answers).splitlines()[0] == heading
