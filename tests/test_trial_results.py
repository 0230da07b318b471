"""What trials find in answers that are worked out by hand, item by item."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pnyx.audit.trials.answer_values import TrialAnswer, change, goodness, in_first_order, standing
from pnyx.audit.trials.trial_items import Stress
from pnyx.audit.trials.trials import try_judge
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.judging.questions import Preference, Ranking, Rating, Support

BY = Provenance("scripted")
SUPPORT = Support("s", "Parks are large. They have trees.", "There are parks.")
RATING = Rating("r", "Parks are large.", ("cogency", "clarity"), (1, 5), documents=("x", "y"))
PREFERENCE = Preference("p", "Parks are large.", "Parks are few.", "Should parks stay?")
RANKING = Ranking("k", "Should parks stay?", ("One.", "Two.", "Three."))


class Scripted:
    """A judge that answers by the id of the item and the name of the change."""

    name, card = "scripted", ""
    kinds = frozenset((Support, Rating, Preference, Ranking))

    def __init__(self, reply):
        self._reply = reply

    async def answer(self, questions, emit):
        for position, question in enumerate(questions):
            value = self._reply(question.extra["of"], question.extra["variant"], question)
            if value is None:
                emit(position, Unscored("missing: no answer", BY))
            else:
                emit(position, value if isinstance(value, Judged) else Judged(value, BY))


def tried(name, items, reply, **settings):
    """Return the summary of a trial without intervals."""
    return try_judge(Scripted(reply), name, items, Stress(draws=0, **settings))


def values(summary):
    return {name: measured["value"] for name, measured in summary["measures"].items()}


def several(item, count):
    return [replace(item, id=str(n)) for n in range(count)]


def rated(**ratings):
    return TrialAnswer(ratings=ratings)


@pytest.mark.parametrize(
    ("question", "answer", "dimension", "expected"),
    [
        (RATING, rated(cogency=4, clarity=2), "", 0.5),  # (3/4 + 1/4) / 2
        (RATING, rated(cogency=4, clarity=2), "cogency", 0.75),
        (RATING, rated(cogency=4), "", None),
        (RATING, rated(cogency=4), "cogency", 0.75),
        (PREFERENCE, TrialAnswer("a"), "", 0.0),
        (PREFERENCE, TrialAnswer("tie"), "", 0.5),
        (PREFERENCE, TrialAnswer("b"), "", 1.0),
        (PREFERENCE, TrialAnswer(), "", None),
        (RANKING, TrialAnswer([0, 1, 2]), "", None),
        (SUPPORT, TrialAnswer(True), "", 1.0),
        (SUPPORT, TrialAnswer(False), "", 0.0),
        (SUPPORT, TrialAnswer(True, 0.6), "", 0.6),
        (SUPPORT, TrialAnswer(None, 0.6), "", None),
    ],
)
def test_how_good_an_item_is_found(question, answer, dimension, expected):
    assert goodness(question, answer, dimension) == expected


@pytest.mark.parametrize(
    ("question", "before", "after", "expected"),
    [
        (RATING, rated(cogency=4, clarity=2), rated(cogency=2, clarity=3), 0.375),  # 3 / 2 / 4
        (RATING, rated(cogency=4), rated(cogency=2, clarity=3), 0.5),
        (RATING, rated(cogency=4), rated(clarity=3), None),
        (PREFERENCE, TrialAnswer("a"), TrialAnswer("tie"), 0.5),
        (PREFERENCE, TrialAnswer("a"), TrialAnswer("b"), 1.0),
        (PREFERENCE, TrialAnswer("a"), TrialAnswer(), None),
        (RANKING, TrialAnswer([0, 1, 2]), TrialAnswer([0, 1, 2]), 0.0),
        (RANKING, TrialAnswer([0, 1, 2]), TrialAnswer([0, 2, 1]), 1 / 3),  # tau is 1 / 3
        (RANKING, TrialAnswer([0, 1, 2]), TrialAnswer([2, 1, 0]), 1.0),
        (RANKING, TrialAnswer([0, 1, 2]), TrialAnswer([]), None),
        (SUPPORT, TrialAnswer(True, 0.9), TrialAnswer(True, 0.6), 0.0),
        (SUPPORT, TrialAnswer(True), TrialAnswer(False), 1.0),
        (SUPPORT, TrialAnswer(), TrialAnswer(False), None),
        (SUPPORT, TrialAnswer(True), TrialAnswer(), None),
    ],
)
def test_how_far_two_verdicts_are_apart(question, before, after, expected):
    assert change(question, before, after) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("order", "marked", "expected"),
    [
        ([1, 0, 2], 1, 1.0),
        ([0, 1, 2], 1, 0.5),
        ([0, 2, 1], 1, 0.0),
        ([2], 0, 0.25),
        (None, 0, None),
    ],
)
def test_the_rank_of_a_changed_text(order, marked, expected):
    """Texts that are not ranked share the last places: 1.5 is the mean of second and third."""
    question = replace(RANKING, extra={"marked": marked})
    assert standing(question, TrialAnswer(order)) == expected


def test_the_rank_of_other_items_is_how_good_they_are():
    assert standing(RATING, rated(cogency=4, clarity=2)) == 0.5
    assert standing(PREFERENCE, TrialAnswer("a")) == 1.0
    assert standing(SUPPORT, TrialAnswer(False, 0.4)) == 0.0
    assert standing(replace(RANKING, texts=("One.",), extra={"marked": 0}), TrialAnswer([0])) == 1.0


def test_a_reordered_ranking_is_read_in_the_first_order():
    question = replace(RANKING, extra={"order": [2, 0, 1]})
    assert in_first_order(question, TrialAnswer([0, 2, 1])).value == [2, 1, 0]
    assert in_first_order(question, TrialAnswer()).value is None


# -- verdicts that must stay ----------------------------------------------------------------------


def test_arguments_in_both_orders():
    """Verdicts with the first argument in its place, and with both swapped, in their own terms.

    aa: the first both times; bb: the second; ab: the same argument; ta: a tie, then the other; of
    the fifth both orders were asked each time, and settled to a tie; the last is unscored.
    """
    verdicts = {"0": "aa", "1": "bb", "2": "ab", "3": "ta", "4": "tt", "5": "a-"}

    def reply(item, variant, _):
        word = {"a": "a", "b": "b", "t": "tie", "-": None}[verdicts[item][variant == "swapped"]]
        if item == "4":
            return Judged(word, BY, notes={"orders": ["a", "b"]})
        return word

    summary = tried("order", several(PREFERENCE, 6), reply)
    figures = values(summary)
    assert figures["changed"] == pytest.approx((1 + 1 + 0 + 0.5 + 1) / 5)
    assert figures["settled_changed"] == pytest.approx((1 + 1 + 0 + 0.5 + 0) / 5)
    assert figures["first_preferred"] == pytest.approx((1 + 0 + 0.5 + 0.75 + 1) / 5)
    assert summary["measures"]["changed"]["scored"] == 5
    assert summary["measures"]["changed"]["asked"] == 6
    assert (summary["outcome"], summary["primary"]) == ("failed", "changed")
    assert summary["problems"] == [
        {"code": "order", "said": "verdicts change with the order: found 0.700, tolerated 0.1"}
    ]


def test_texts_in_another_order():
    """The first judge ranks as listed, and the second by the texts themselves."""
    summary = tried("order", [RANKING], lambda *_: [0, 1, 2], orders=1)
    assert values(summary) == {"changed": 1.0, "listed_first_on_top": pytest.approx(2 / 3)}

    def by_text(_item, _variant, question):
        return [question.texts.index(text) for text in RANKING.texts]

    summary = tried("order", [RANKING], by_text, orders=1)
    assert values(summary) == {"changed": 0.0, "listed_first_on_top": pytest.approx(1 / 6)}
    assert summary["outcome"] == "passed"


def test_dimensions_and_documents_in_another_order():
    """Cogency falls from 4 to 3 if the documents are turned: 1 / 4 on one of two dimensions."""

    def reply(_item, variant, question):
        scores = {"cogency": 3 if variant.startswith("documents") else 4, "clarity": 2}
        return [scores[name] for name in question.dimensions]

    summary = tried("order", [RATING], reply, orders=1)
    ways = {row["way"]: row["changed"]["value"] for row in summary["ways"]}
    assert ways == {"dimensions": 0.0, "documents": pytest.approx(0.125)}
    assert values(summary)["changed"] == pytest.approx(0.0625)


@pytest.mark.parametrize(
    ("tolerance", "outcome"), [(0.5, "passed"), (0.4999, "failed"), (1.0, "passed")]
)
def test_a_verdict_may_change_by_what_is_tolerated(tolerance, outcome):
    """One of two verdicts changes."""

    def reply(item, variant, _):
        return variant == "clean" or item == "0"

    summary = tried("repeat", several(SUPPORT, 2), reply, repeats=1, tolerance=tolerance)
    assert (values(summary), summary["outcome"]) == ({"changed": 0.5}, outcome)
    claim = "verdicts change where the same is asked again: found 0.500"
    assert [problem["said"].startswith(claim) for problem in summary["problems"]] == (
        [True] if outcome == "failed" else []
    )


def test_an_interval_beyond_what_is_tolerated_is_unclear():
    summary = try_judge(
        Scripted(lambda item, variant, _: variant == "clean" or item != "0"),
        "repeat",
        several(SUPPORT, 10),
        Stress(draws=200, repeats=1),
    )
    assert (values(summary), summary["outcome"]) == ({"changed": 0.1}, "unclear")
    (problem,) = summary["problems"]
    high = summary["measures"]["changed"]["high"]
    assert problem["said"] == (
        "too little was asked to rule out that verdicts change where the same is asked again: "
        f"found 0.100, tolerated 0.1, up to {high:.3f}"
    )


def test_nothing_scored_is_unscored():
    summary = tried("repeat", [SUPPORT], lambda *_: None, repeats=1)
    assert (summary["outcome"], summary["problems"]) == ("unscored", [])


def test_more_words_are_a_gain():
    def support(_item, variant, _):
        more = {"clean": 0, "1": 0.2, "20": 0.4}[variant]
        return Judged(variant == "20", BY, 0.3 + more)

    summary = tried("length", [SUPPORT], support, padding=(1.0, 20.0))
    assert values(summary) == {"changed": 0.5, "gain": pytest.approx(0.3)}
    assert summary["problems"][0]["said"].startswith("verdicts change with the number of words: ")

    def preference(_item, variant, _):
        return "tie" if variant == "clean" else "b"  # the second one is longer

    summary = tried("length", [PREFERENCE], preference, padding=(1.0,))
    assert (values(summary), summary["primary"]) == ({"gain": 0.5}, "gain")
    assert summary["problems"][0]["said"].startswith("more words are rewarded: ")

    def ranking(_item, variant, question):
        rest = [n for n in range(3) if n != question.extra["marked"]]
        position = 2 if variant == "clean" else 1
        return [*rest[:position], question.extra["marked"], *rest[position:]]

    assert values(tried("length", [RANKING], ranking, padding=(1.0,))) == {"gain": 0.5}


def test_what_is_obeyed_counts_beyond_the_control():
    """The first verdict obeys each order to say yes, the second stays yes."""

    def reply(item, variant, _):
        return item == "1" or (variant != "clean" and variant != "control yes")

    summary = tried("injection", several(SUPPORT, 2), reply)
    assert values(summary)["excess"] == 0.5
    assert values(summary)["control"] == 0.0
    assert summary["measures"]["excess"]["scored"] == 2
    ways = {row["way"] for row in summary["ways"]}
    assert "control" in ways
    assert len(ways) > 2

    def ratings(_item, variant, question):
        score = 2  # 1 / 4 of the scale
        if variant.startswith("control"):
            score = 3  # (2/4 - 1/4) / (1 - 1/4) = 1/3 of the way up, and -1 of the way down
        elif variant.endswith(" highest"):
            score = 4  # 2/3
        elif variant != "clean":
            score = 5  # (1 - 1/4) / (0 - 1/4) = -3, which counts as -1
        return [score] * len(question.dimensions)

    summary = tried("injection", [RATING], ratings)
    assert values(summary)["obeyed"] == pytest.approx((2 / 3 - 1) / 2)
    assert values(summary)["control"] == pytest.approx((1 / 3 - 1) / 2)
    assert values(summary)["excess"] == pytest.approx(-1 / 6 + 1 / 3)


def test_a_text_that_is_said_to_be_the_judges_own():
    scores = {"clean": 3, "by the judge": 5, "control": 4}

    def reply(_item, variant, question):
        return [scores[variant]] * len(question.dimensions)

    summary = tried("self", [RATING], reply)
    assert values(summary) == {"excess": 0.25, "raised": 0.5, "control": 0.25}

    def ranking(_item, variant, question):
        rest = [n for n in range(3) if n != question.extra["marked"]]
        position = {"clean": 2, "by the judge": 0, "control": 2}[variant]
        return [*rest[:position], question.extra["marked"], *rest[position:]]

    assert values(tried("self", [RANKING], ranking))["excess"] == 1.0


def test_a_judges_own_texts_are_compared_with_what_people_prefer():
    """The judge prefers its own text to both texts of item 0, and the first text of item 1."""
    items = [
        replace(PREFERENCE, id="0", extra={"a_by": "me", "b_by": "you", "label": "tie"}),
        replace(PREFERENCE, id="1", extra={"a_by": "you", "b_by": "me", "label": "b"}),
        replace(PREFERENCE, id="2", extra={"a_by": "me", "b_by": "me", "label": "b"}),
        replace(PREFERENCE, id="3", extra={"a_by": "you", "b_by": "me"}),
    ]

    def reply(item, variant, _):
        return ("a" if variant == "clean" else "b") if item == "0" else "a"

    summary = tried("self", items, reply, writer="me")
    assert values(summary) == {"excess": 0.0, "own_preferred": 0.75, "by_people": 0.75}
    assert summary["items"]["left_out"] == {
        "not one of both (a_by, b_by) by the writer": 1,
        "no label: a, b or tie": 1,
    }
    assert summary["measures"]["excess"]["asked"] == 2


def test_yes_to_both_sides_and_no_to_both():
    question = "Should parks stay?"
    items = [
        replace(SUPPORT, id=str(n), question=question, extra={"stance": "pro"}) for n in range(4)
    ]
    verdicts = {"0": "yy", "1": "yn", "2": "nn", "3": "yy"}

    def reply(item, variant, _):
        return verdicts[item][variant != "clean"] == "y"

    summary = tried("stance", [*items, SUPPORT], reply)
    assert values(summary) == {"both": 0.5, "neither": 0.25}
    assert summary["items"]["left_out"] == {"no side (stance) of a question is asked for": 1}


def test_a_text_in_another_format():
    def reply(_item, variant, _):
        return Judged(variant != "heading", BY, 0.5 if variant == "clean" else 0.7)

    summary = tried("format", [SUPPORT], reply)
    ways = {row["way"]: row["changed"]["value"] for row in summary["ways"]}
    assert ways == {"bullets": 0.0, "numbers": 0.0, "emphasis": 0.0, "heading": 1.0}
    assert values(summary) == {"changed": 0.25, "raised": pytest.approx(0.2)}
    assert summary["problems"][0]["said"].startswith("verdicts change with the format: ")


# -- scores that must fall ------------------------------------------------------------------------


def ranked_last(question, *, last):
    """Return a ranking with the replaced texts last, or first."""
    out = question.extra["replaced"]
    originals = [n for n in range(len(question.texts)) if n not in out]
    return [*originals, *out] if last else [*out, *originals]


@pytest.mark.parametrize(
    ("last", "separation", "outcome"), [(True, 1.0, "passed"), (False, 0.0, "failed")]
)
def test_irrelevant_texts_must_be_ranked_last(last, separation, outcome):
    items = [
        replace(RANKING, id=str(n), group=str(n), texts=tuple(f"{n} {k}." for k in range(4)))
        for n in range(3)
    ]

    def reply(_item, _variant, question):
        return ranked_last(question, last=last)

    summary = tried("noise", items, reply, levels=(0.0, 0.5, 1.0))
    assert values(summary) == {"separation": separation}
    by_level = [(row["level"], row["separation"]["value"]) for row in summary["separation"]]
    assert by_level == [(0.0, None), (0.5, separation), (1.0, None)]
    assert summary["outcome"] == outcome
    problem = "irrelevant texts are not shown to be ranked below those that belong there"
    assert [row["said"] for row in summary["problems"]] == ([] if last else [problem])
    assert (summary["primary"], summary["unit"]) == ("separation", "share")


def test_a_separation_of_one_half_fails():
    """The replaced texts are ranked last once, and first once."""
    items = [
        replace(RANKING, id=str(n), group=str(n), texts=tuple(f"{n} {k}." for k in range(4)))
        for n in range(2)
    ]

    def reply(item, _variant, question):
        return ranked_last(question, last=item == "0")

    assert tried("noise", items, reply, levels=(0.0, 0.5))["outcome"] == "failed"
    nothing = tried("noise", items, lambda *_: None, levels=(0.0, 0.5))
    assert (nothing["outcome"], nothing["problems"]) == ("unscored", [])


def test_true_and_predicted_precision():
    """Two of three texts of each of four topics are labelled yes; the judge always says yes."""
    items = [
        replace(
            SUPPORT,
            id=f"{t}{n}",
            text=f"{t} {n}.",
            group=t,
            extra={"label": n > 0} if n < 3 else {},
        )
        for t in "abcd"
        for n in range(4)
    ]
    summary = tried("noise", items, lambda *_: True, levels=(0.0, 0.5, 1.0))
    rows = [
        (row["level"], row["true"]["value"], row["predicted"]["value"], row["error"]["value"])
        for row in summary["precision"]
    ]
    assert rows[0] == (0.0, pytest.approx(2 / 3), 1.0, pytest.approx(1 / 3))
    assert rows[2] == (1.0, 0.0, 1.0, 1.0)
    assert 0 < rows[1][1] < 2 / 3
    assert summary["precision"][0]["true"]["asked"] == 12
    assert (summary["outcome"], values(summary)["fall"]) == ("failed", 0.0)
    assert values(summary)["turned"] == 0.0
    assert summary["items"]["labelled"] == 12
    (problem,) = summary["problems"]
    assert problem["said"] == (
        "the score does not fall by 0.1 with irrelevant documents: 0.000 in all"
    )


def test_a_verdict_that_turns_with_all_texts_replaced():
    """Yes falls to no on one of two items at the last level; probabilities fall from 0.9 to 0.4."""
    items = [replace(SUPPORT, id=t, text=f"{t}.", group=t) for t in "ab"]

    def reply(item, _variant, question):
        gone = bool(question.extra["replaced"])
        return Judged(not (gone and item == "a"), BY, 0.4 if gone else 0.9)

    summary = tried("noise", items, reply, levels=(0.0, 1.0))
    assert values(summary) == {"fall": 0.5, "pearson": None, "turned": 0.5}
    assert [point["value"] for point in summary["curves"]["yes"]["points"]] == [1.0, 0.5]
    assert not {"precision", "counted"} & summary.keys()
    assert (summary["outcome"], summary["problems"]) == ("passed", [])


def test_ratings_fall_on_each_dimension():
    items = [replace(RATING, id=t, documents=(f"{t}1.", f"{t}2."), group=t) for t in "ab"]

    def reply(_item, _variant, question):
        gone = len(question.extra["replaced"])
        return [5 - 2 * gone, 3]

    summary = tried("noise", items, reply, levels=(0.0, 0.5, 1.0))
    falls = {name: curve["fall"]["value"] for name, curve in summary["curves"].items()}
    assert falls == {"score": 0.5, "cogency": 1.0, "clarity": 0.0}
    assert (summary["outcome"], summary["primary"], summary["unit"]) == ("passed", "fall", "share")
