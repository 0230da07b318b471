"""What trials ask: contradicted sentences, other texts and formats, and what they refuse."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from pnyx.audit.trials.contradictions import (
    _far_from,
    as_question,
    contradict_sentence,
    contradict_text,
    denied,
    names_in,
    negated,
)
from pnyx.audit.trials.patterns import as_motion, injected, padding, reworded
from pnyx.audit.trials.presentation import FORMATS
from pnyx.audit.trials.trial_items import (
    Stress,
)
from pnyx.audit.trials.trials import pose
from pnyx.core.errors import InputError
from pnyx.formats.text.segment import word_weight
from pnyx.judging.questions import Preference, Ranking, Rating, Support

TEXT = "Parks are large. They have trees."
SUPPORT = Support("s", TEXT, "There are parks.")
RATING = Rating("r", TEXT, ("cogency", "clarity"), (1, 5), documents=("x", "y"))
PREFERENCE = Preference("p", TEXT, "Parks are few.", "Should parks stay?")
RANKING = Ranking("k", "Should parks stay?", ("One.", "Two.", "Three."))


def questions_of(name: str, *items: Any, edits: Any = None, **settings: Any) -> dict[str, Any]:
    """Return the questions of a trial, by the name of their change."""
    posed = pose(name, items, Stress(**settings), edits)
    return {question.extra["variant"]: question for question in posed.questions}


def refused(name: str, *items: Any, **settings: Any) -> str:
    with pytest.raises(InputError) as caught:
        pose(name, items, Stress(**settings))
    return caught.value.problem


# -- Contradictions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Parks are large.", "Parks are not large."),
        ("Parks are not large.", "Parks are large."),
        ("Parks can grow.", "Parks cannot grow."),
        ("Parks grow.", None),
        ("Are parks large?", None),  # the auxiliary is the first word
        ("So they are.", None),  # and the last
        ("So are they", "So are not they"),
        ("Parks are not", None),
        ("People who walk are healthy.", None),
        ("In cities, parks are large.", None),
        ("Parks are never large.", None),
        ("There are no parks.", None),
        ("They are not, they say.", None),
        ("No parks are large.", None),
        ("The will of all.", None),
        ("We don't know and are sad.", None),
    ],
)
def test_a_sentence_is_negated_at_its_auxiliary(sentence, expected):
    assert negated(sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The parks grow fast.", "It is not true that the parks grow fast."),
        ("Parks grow very fast.", "It is not true that Parks grow very fast."),
        ("Parks grow fast.", None),
        ("Do parks grow fast?", None),
        ("And parks grow very fast.", None),
        ("However, parks grow very fast.", None),
        ("", None),
    ],
)
def test_a_sentence_of_four_words_is_denied(sentence, expected):
    assert denied(sentence) == expected


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("The parks should stay.", "Should the parks stay?"),
        ("This house would close the parks.", "Should we close the parks?"),
        ("Parks should stay", "Should Parks stay?"),
        ("Parks should not stay.", None),
        ("Parks should stay and be large.", None),
        ("Parks should stay because they help.", None),
        ("Parks should stay, now.", None),
        ("Parks stay.", None),
    ],
)
def test_a_claim_becomes_a_question(claim, expected):
    assert as_question(claim) == expected


@pytest.mark.parametrize(
    ("number", "year"), [(999, False), (1000, True), (2099, True), (2100, False)]
)
def test_a_number_from_1000_to_2099_stays_a_year(number, year):
    others = {_far_from(number, "", random.Random(seed)) for seed in range(300)}
    if year:
        assert (number - max(others), number - min(others)) == (11, 39)
    else:
        assert (min(others), max(others)) == (3 * number + 1, 9 * number + 3)


def changed(sentence: str, *names: str) -> set[tuple[str, str]]:
    """Return the contradictions that are drawn, without those by a negation."""
    drawn = (contradict_sentence(sentence, names, random.Random(seed)) for seed in range(200))
    return {pair for pair in drawn if pair and pair[1] != "negation"}


def test_another_number():
    low = {int(text.split()[3]) for text, _ in changed("They sold only 7 parks.")}
    assert (min(low), max(low)) == (22, 66)  # 3 * 7 + 1 to 9 * 7 + 3
    assert {how for _, how in changed("They sold only 7 parks.")} == {"number"}
    (money,) = {text[:14] for text, _ in changed("They paid all $1,000.50 at once.")} & {
        "They paid all "
    }
    assert money
    for text, _ in changed("They paid all $1,234,567.50 at once."):
        assert text.endswith(".50 at once.")
        assert text.startswith("They paid all $")
        assert text.count(",") >= 2
    assert changed("They sold only 1.2.3 parks.") == set()


def test_another_spelled_number_is_three_steps_away():
    words = {text.split()[0] for text, _ in changed("Five of all parks grow.")}
    assert words == {"Two", "Eight", "Nine", "Ten", "Eleven", "Twelve"}
    lower = {text.split()[1] for text, _ in changed("All twelve parks grow.")}
    assert lower == {"two", "three", "four", "five", "six", "seven", "eight", "nine"}


def test_another_name_of_as_many_words():
    names = ("New York", "Paris", "Rome", "Old Town Hall")
    texts = {text for text, _ in changed("All of Rome sleeps.", *names)}
    assert texts == {"All of Paris sleeps."}
    texts = {text for text, _ in changed("All of New York sleeps.", *names)}
    assert texts == set()
    assert changed("All of God sleeps.", *names) == set()
    assert changed("All of Rome sleeps?", *names) == set()


def test_names_within_sentences_are_found_once():
    texts = ["Ann saw New York. In Paris, we met Bob and Bob.", "God is in Paris. We saw Al."]
    assert names_in(texts) == ("New York", "Paris", "Bob")


def test_contradictions_of_more_sentences_contain_those_of_fewer():
    text = "Parks are large.  Trees are tall. Go! Lakes are deep."
    single, two, three, four = (contradict_text(text, n, (), "seed") for n in (1, 2, 3, 4))
    assert [len(edit.how) for edit in (single, two, three, four)] == [1, 2, 3, 3]
    assert set(single.changed) < set(two.changed) < set(three.changed)
    assert three.text == "Parks are not large.  Trees are not tall. Go! Lakes are not deep."
    assert contradict_text(text, 0, (), "seed").text == text
    model = contradict_text(text, 4, (), "seed", {"Go!": "Stay!", "Lakes are deep.": "No."})
    assert model.text == "Parks are large.  Trees are tall. Stay! No."
    assert model.how == ("model", "model")
    assert model.changed == (("Go!", "Stay!"), ("Lakes are deep.", "No."))


def test_a_long_or_unsure_sentence_is_not_negated():
    long = f"Parks are {'very ' * 78}large."  # 401 characters
    assert len(long) == 406
    assert contradict_sentence(long, (), random.Random(0)) is None
    shorter = f"Parks are {'very ' * 76}largest."
    assert len(shorter) == 398
    assert contradict_sentence(shorter, (), random.Random(0)) is not None
    for sentence in ("Some parks are large.", 'Parks are "large".', "Parks may be large."):
        assert contradict_sentence(sentence, (), random.Random(0)) is None


# -- Changes of texts -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Should parks be closed?", "This house believes that parks should be closed."),
        ("Should parks be", "Should parks be"),
        ("Should be closed?", "Should be closed?"),
        ("Should parks be or be closed?", "Should parks be or be closed?"),
        ("Should parks that grow be closed?", "Should parks that grow be closed?"),
        ("Can parks be closed?", "Can parks be closed?"),
        ("Should parks (all) be closed?", "Should parks (all) be closed?"),
    ],
)
def test_a_question_becomes_a_motion(question, expected):
    assert as_motion(question) == expected


def test_rewordings_change_what_they_name():
    assert reworded("They are. We go.", "line breaks") == "They are.\nWe go."
    assert reworded('It\'s "so" - now...', "typography") == "It’s ”so” – now…"
    assert reworded("Nothing here", "line breaks") == "Nothing here"


def test_an_injection_is_before_or_after_the_text():
    assert injected("Text.", "control", "v", "r").startswith("Text.\n\n")
    question = questions_of("injection", SUPPORT)
    assert all(TEXT in q.text for q in question.values())


def test_padding_has_as_many_words_as_asked_for_and_goes_round():
    short, long = padding(1, 0), padding(500, 0)
    assert long.startswith(short)
    assert 500 <= word_weight(long) < 560
    assert padding(1, 1) != short
    assert padding(1, 1) in long


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ("bullets", "- Parks are large.\n- They have trees."),
        ("numbers", "1. Parks are large.\n2. They have trees."),
        ("emphasis", "**Parks are large.** They have trees."),
        ("heading", "## Parks are large.\n\nThey have trees."),
    ],
)
def test_a_text_is_formatted(way, expected):
    assert FORMATS[way](TEXT) == expected
    assert FORMATS[way](f" {TEXT} ").strip() == expected
    assert FORMATS[way]("Parks are large.") == "Parks are large."


def test_emphasis_is_added_once():
    assert FORMATS["emphasis"]("Parks *are* large. They grow.") == "Parks *are* large. They grow."


def test_what_an_asker_hopes_for():
    questions = questions_of("asker", replace(SUPPORT, guideline="Be strict."))
    controls = [q for name, q in questions.items() if name.startswith("control")]
    assert all(q.guideline.startswith("Be strict.\n") for n, q in questions.items() if n != "clean")
    assert len(controls) == 1
    assert any('the right answer is "yes"' in q.guideline for q in questions.values())
    bare = questions_of("asker", SUPPORT)
    assert not any(q.guideline.startswith("\n") for q in bare.values())
    first = replace(PREFERENCE, a="One two three four five six seven.")
    questions = questions_of("asker", first)
    hoped = "the better argument is the one that begins with"
    assert any(f'{hoped} "One two three four five six"' in q.question for q in questions.values())
    assert any(f'{hoped} "Parks are few."' in q.question for q in questions.values())
    questions = questions_of("asker", RATING)
    assert any("the text deserves 5 on every dimension" in q.question for q in questions.values())
    assert any("the text deserves 1 on every dimension" in q.question for q in questions.values())
    assert "asker does not apply to ranking: its prompt shows only the text" in (
        refused("asker", RANKING)
    )
    assert "asker does not apply to other" in refused("asker", replace(SUPPORT, task="other"))


def test_a_text_in_more_words():
    text = "We go because it rains."
    wordy = questions_of("verbosity", replace(SUPPORT, text=text))["wordy"].text
    assert wordy == "We go due to the fact that it rains."
    questions = questions_of("verbosity", replace(PREFERENCE, a=text))
    assert (questions["clean"].a, questions["clean"].b) == (text, text)
    assert (questions["wordy"].a, questions["wordy"].b) == (text, wordy)
    why = "verbosity: no item can be changed (1 no rule says it in more words)"
    assert refused("verbosity", replace(SUPPORT, text="Xyz.")) == why


def test_a_text_by_the_judge():
    questions = questions_of("self", replace(PREFERENCE))
    assert questions["by the judge"].a.endswith(f"\n\n{TEXT}")
    assert questions["by the judge"].b == PREFERENCE.b
    assert questions["control"].a != questions["by the judge"].a
    why = "self: no item can be changed (1 no text of its own)"
    assert refused("self", replace(RATING, text=" ")) == why
    assert refused("self", SUPPORT, writer="me") == (
        "self: --judge-name requires preference, not support"
    )


def test_the_other_side_of_a_question():
    item = replace(SUPPORT, question="Should parks stay?", extra={"stance": "con"})
    turned = questions_of("stance", item)["turned"]
    assert (turned.statement, turned.opposite, turned.extra["stance"]) == (
        "Should parks stay? Yes.", "", "pro",
    )  # fmt: skip
    named = replace(item, opposite="Parks should go.")
    turned = questions_of("stance", named)["turned"]
    assert (turned.statement, turned.opposite) == ("Parks should go.", SUPPORT.statement)


def test_a_question_is_asked_again_as_often_as_named():
    questions = questions_of("repeat", SUPPORT, repeats=2)
    assert list(questions) == ["clean", "again 1", "again 2"]
