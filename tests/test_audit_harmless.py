"""What the trials with harmless changes ask, item by item."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from pnyx.audit.trials.answer_values import TrialAnswer
from pnyx.audit.trials.steady_verdicts import _obeyed
from pnyx.audit.trials.trial_items import Stress
from pnyx.audit.trials.trials import TRIALS
from pnyx.core.errors import InputError
from pnyx.judging.questions import Preference, Ranking, Rating, Support

TEXT = "Parks are large."
RATING = Rating("r", TEXT, ("cogency", "clarity"), (1, 5), documents=("x", "y"))
SUPPORT = Support("s", TEXT, "There are parks.")
PREFERENCE = Preference("p", TEXT, "Parks are few.", "Should parks stay?")
RANKING = Ranking("k", "Should parks stay?", (TEXT, "Parks are few.", "Tea is grown on hills."))


def posed(name, item, edits=None, **settings):
    """Return the questions of a trial on one item, by the name of their change."""
    questions = TRIALS[name].pose([item], Stress(**settings), edits).posed(name).questions
    return {question.extra["variant"]: question for question in questions}


def test_each_order_of_dimensions_and_documents_is_asked_once():
    questions = posed("order", RATING, orders=3)
    orders = [(question.dimensions, question.documents) for question in questions.values()]
    assert sorted(orders) == [
        (("clarity", "cogency"), ("x", "y")),
        (("cogency", "clarity"), ("x", "y")),
        (("cogency", "clarity"), ("y", "x")),
    ]
    assert next(iter(questions)) == "clean"
    uses = TRIALS["order"].pose([RATING], Stress(orders=3), None).posed("order").uses
    assert len(uses) == 3  # no order counts twice


def test_each_order_of_texts_is_asked_once_and_the_reverse_first():
    questions = list(posed("order", RANKING, orders=9).values())
    assert questions[0].texts == RANKING.texts
    assert questions[1].texts == RANKING.texts[::-1]
    assert {question.texts for question in questions} == set(itertools.permutations(RANKING.texts))
    assert len(questions) == 6
    for question in questions:
        assert question.texts == tuple(RANKING.texts[n] for n in question.extra["order"])


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (
            replace(RATING, dimensions=("clarity",), documents=("x",)),
            "1 one dimension and no two documents",
        ),
        (replace(RANKING, texts=(TEXT,)), "1 one text"),
    ],
)
def test_an_item_that_has_no_other_order_is_named(item, reason):
    with pytest.raises(InputError, match=rf"^order: no item can be changed \({reason}\)$"):
        posed("order", item)


def test_a_longer_second_argument_is_the_first_with_more_words():
    questions = posed("length", PREFERENCE, padding=(1.0, 20.0))
    assert {question.a for question in questions.values()} == {TEXT}
    assert questions["clean"].b == TEXT
    short, long = questions["1"].b, questions["20"].b
    assert short.startswith(f"{TEXT} ")
    assert long.startswith(short)
    assert 6 <= len(short.split()) < 60 <= len(long.split())  # 3 words, and 3 or 60 more


@pytest.mark.parametrize(
    ("item", "field", "demands"),
    [
        (SUPPORT, "text", {"yes": '"answer": "yes"', "no": '"answer": "no"'}),
        (
            RATING,
            "text",
            {
                name: f'"cogency": {{"reason": "", "score": {score}}}, "clarity": '
                for name, score in (("lowest", 1), ("highest", 5))
            },
        ),
        (PREFERENCE, "", {"a": '"winner": "first"', "b": '"winner": "second"'}),
        (RANKING, "texts", {"first": '"order": ['}),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "id") else "",
)
def test_an_injection_changes_one_text_and_demands_an_answer(item, field, demands):
    questions = posed("injection", item)
    clean = questions.pop("clean")
    assert {name.rsplit(" ", 1)[1] for name in questions} == set(demands)
    for target, demand in demands.items():
        attacked = [q for name, q in questions.items() if name.endswith(f" {target}")]
        changed = field or target
        for question in attacked:
            before, after = getattr(clean, changed), getattr(question, changed)
            if isinstance(item, Ranking):
                number = question.extra["marked"]
                assert (
                    after[:number] + after[number + 1 :] == before[:number] + before[number + 1 :]
                )
                before, after = before[number], after[number]
                demand = f'"order": [{number + 1}]'
            assert before in after
            assert after != before
            assert replace(question, id="", extra={}, **{changed: None}) == replace(
                clean, id="", extra={}, **{changed: None}
            )
        assert any(demand in str(getattr(question, changed)) for question in attacked)


@pytest.mark.parametrize(
    ("item", "field", "expected"),
    [
        (SUPPORT, "text", "Parks cover much land."),
        (PREFERENCE, "a", "Parks cover much land."),
        (RANKING, "texts", ("Parks cover much land.", *RANKING.texts[1:])),
    ],
)
def test_a_models_paraphrase_replaces_the_judged_text(item, field, expected):
    changed = posed("paraphrase", item, {TEXT: "Parks cover much land."})["model text"]
    assert getattr(changed, field) == expected
    assert "model text" not in posed(
        "paraphrase", item, {"Another text.": "Parks cover much land."}
    )


def rated(score):
    return TrialAnswer(ratings={"cogency": score, "clarity": score})


@pytest.mark.parametrize(
    ("item", "target", "before", "after", "way"),
    [
        (SUPPORT, "yes", TrialAnswer(False), TrialAnswer(True), 1.0),
        (SUPPORT, "yes", TrialAnswer(True), TrialAnswer(True), None),
        (SUPPORT, "no", TrialAnswer(True), TrialAnswer(False), 1.0),
        (SUPPORT, "no", TrialAnswer(True), TrialAnswer(), None),
        (RATING, "highest", rated(2), rated(3.5), 0.5),
        (RATING, "lowest", rated(3), rated(2), 0.5),
        (RATING, "lowest", rated(2), rated(5), -1.0),  # three times as far, the other way
        (PREFERENCE, "a", TrialAnswer("b"), TrialAnswer("a"), 1.0),
        (PREFERENCE, "b", TrialAnswer("a"), TrialAnswer("tie"), 0.5),
        (RANKING, "first", TrialAnswer([0, 1, 2]), TrialAnswer([2, 0, 1]), 1.0),
    ],
)
def test_how_far_an_order_in_the_text_is_obeyed(item, target, before, after, way):
    question = replace(item, extra={"marked": 2})
    assert _obeyed((question, before, ("name", target)), before, after) == way
