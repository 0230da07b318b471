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
from pnyx.audit.trials.documents import share_above
from pnyx.audit.trials.model_edits import _contradicting, _paraphrasing, shortened
from pnyx.audit.trials.patterns import as_motion, injected, padding, reworded
from pnyx.audit.trials.presentation import FORMATS
from pnyx.audit.trials.trial_items import (
    Stress,
    label_of,
    labelled_by,
    rotated_texts,
    sampled,
    spread,
    topic_of,
)
from pnyx.audit.trials.trials import TRIALS, clusters_needed, pose, too_few
from pnyx.core.errors import InputError
from pnyx.formats.text.segment import word_weight
from pnyx.judging.questions import Preference, Ranking, Rating, Support

TEXT = "Parks are large. They have trees."
SUPPORT = Support("s", TEXT, "There are parks.")
RATING = Rating("r", TEXT, ("cogency", "clarity"), (1, 5), documents=("x", "y"))
PREFERENCE = Preference("p", TEXT, "Parks are few.", "Should parks stay?")
RANKING = Ranking("k", "Should parks stay?", ("One.", "Two.", "Three."))


def asked(name: str, *items: Any, edits: Any = None, **settings: Any) -> dict[str, Any]:
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
    one, two, three, four = (contradict_text(text, n, (), "seed") for n in (1, 2, 3, 4))
    assert [len(edit.how) for edit in (one, two, three, four)] == [1, 2, 3, 3]
    assert set(one.changed) < set(two.changed) < set(three.changed)
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
    question = asked("injection", SUPPORT)
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
    questions = asked("asker", replace(SUPPORT, guideline="Be strict."))
    controls = [q for name, q in questions.items() if name.startswith("control")]
    assert all(q.guideline.startswith("Be strict.\n") for n, q in questions.items() if n != "clean")
    assert len(controls) == 1
    assert any('the right answer is "yes"' in q.guideline for q in questions.values())
    bare = asked("asker", SUPPORT)
    assert not any(q.guideline.startswith("\n") for q in bare.values())
    first = replace(PREFERENCE, a="One two three four five six seven.")
    questions = asked("asker", first)
    hoped = "the better argument is the one that begins with"
    assert any(f'{hoped} "One two three four five six"' in q.question for q in questions.values())
    assert any(f'{hoped} "Parks are few."' in q.question for q in questions.values())
    questions = asked("asker", RATING)
    assert any("the text deserves 5 on every dimension" in q.question for q in questions.values())
    assert any("the text deserves 1 on every dimension" in q.question for q in questions.values())
    assert "asker does not apply to ranking: its prompt shows only the text" in (
        refused("asker", RANKING)
    )
    assert "asker does not apply to other" in refused("asker", replace(SUPPORT, task="other"))


def test_a_text_in_more_words():
    text = "We go because it rains."
    wordy = asked("verbosity", replace(SUPPORT, text=text))["wordy"].text
    assert wordy == "We go due to the fact that it rains."
    questions = asked("verbosity", replace(PREFERENCE, a=text))
    assert (questions["clean"].a, questions["clean"].b) == (text, text)
    assert (questions["wordy"].a, questions["wordy"].b) == (text, wordy)
    why = "verbosity: no item can be changed (1 no rule says it in more words)"
    assert refused("verbosity", replace(SUPPORT, text="Xyz.")) == why


def test_a_text_by_the_judge():
    questions = asked("self", replace(PREFERENCE))
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
    turned = asked("stance", item)["turned"]
    assert (turned.statement, turned.opposite, turned.extra["stance"]) == (
        "Should parks stay? Yes.", "", "pro",
    )  # fmt: skip
    named = replace(item, opposite="Parks should go.")
    turned = asked("stance", named)["turned"]
    assert (turned.statement, turned.opposite) == ("Parks should go.", SUPPORT.statement)


def test_a_question_is_asked_again_as_often_as_named():
    questions = asked("repeat", SUPPORT, repeats=2)
    assert list(questions) == ["clean", "again 1", "again 2"]


# -- Items ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"levels": (0.5,)}, "levels"),
        ({"levels": (0.0, 1.1)}, "levels"),
        ({"levels": (-0.1, 1.0)}, "levels"),
        ({"sentences": (1,)}, "sentences"),
        ({"sentences": (-1, 1)}, "sentences"),
        ({"sentences": (1, 1)}, "sentences"),
        ({"padding": (0.0, 1.0)}, "padding"),
        ({"padding": ()}, "padding"),
    ],
)
def test_settings_out_of_range_are_refused(settings, problem):
    with pytest.raises(InputError, match=f"^{problem}: expected "):
        Stress(**settings)
    assert Stress(levels=(0.0, 1.0), sentences=(0, 1), padding=(0.1,)).padding == (0.1,)


def test_a_trial_that_is_unknown_or_without_items_is_refused():
    with pytest.raises(InputError, match=r"^trial: found 'odd', expected one of: noise, "):
        pose("odd", [SUPPORT])
    assert refused("order") == "order: found no items"


def test_items_are_drawn_in_their_order():
    items = [replace(SUPPORT, id=str(n)) for n in range(9)]
    drawn = [int(item.id) for item in sampled(items, Stress(limit=4))]
    assert len(drawn) == 4
    assert drawn == sorted(drawn)
    assert [int(item.id) for item in sampled(items, Stress(limit=9))] == list(range(9))
    assert len(sampled(items, Stress(limit=8))) == 8
    assert len(sampled(items, Stress())) == 9


def test_the_topic_of_an_item():
    assert topic_of(replace(SUPPORT, group="g", question="q")) == "g"
    assert topic_of(replace(SUPPORT, question="q", extra={"question_id": 7})) == "7"
    assert topic_of(replace(SUPPORT, question="q")) == "q"
    assert topic_of(replace(SUPPORT, task="relevance")) == "There are parks."
    assert topic_of(SUPPORT) == "s"
    assert topic_of(RANKING) == "Should parks stay?"


def test_the_label_of_an_item():
    labels = (True, "no", 0, 2, None, "relevant")
    found = [label_of(replace(SUPPORT, extra={"label": label})) for label in labels[:5]]
    assert found == [True, False, False, True, None]
    assert label_of(replace(RATING, extra={"label": 3})) is None
    with pytest.raises(InputError, match=r"^item 's': label: found "):
        label_of(replace(SUPPORT, extra={"label": [1]}))


def test_labels_of_documents_are_joined_by_topic_and_id():
    item = replace(RATING, group="t", extra={"doc_ids": ["x", 2]})
    known = {("t", "x"): True}
    (labelled,) = labelled_by([item], lambda topic, doc: known.get((topic, doc)))
    assert labelled.extra["doc_labels"] == [True, None]
    for broken, missing in ((replace(item, group=""), "group"),
                            (replace(item, extra={}), "ids of its documents")):  # fmt: skip
        with pytest.raises(InputError, match=f"^item 'r': has no {missing}, which qrels need"):
            labelled_by([broken], lambda *_: True)
    with pytest.raises(InputError, match="none of the documents"):
        labelled_by([item], lambda *_: None)


def test_irrelevant_texts_are_of_other_topics():
    items = [replace(RATING, id=t, group=t, documents=(f"{t}1", f"{t}2", "same")) for t in "ab"]
    for item, others in zip(items, rotated_texts(items, 0), strict=True):
        other = "b" if item.id == "a" else "a"
        assert set(others) == {f"{other}1", f"{other}2"}
        assert len(others) == 3
    with pytest.raises(InputError, match="found 1: irrelevant documents are other topics'"):
        rotated_texts([RATING, replace(RATING, id="r")], 0)
    with pytest.raises(InputError, match="its topic contains all texts of other topics"):
        rotated_texts([replace(RATING, group=t, documents=("x",)) for t in "ab"], 0)


def test_shares_of_groups_are_replaced_evenly():
    (places,) = spread([10], 0)
    for level in (0.1, 0.5, 0.9):
        assert sum(place < level for place in places) in (round(10 * level), round(10 * level) + 1)
    assert all(0 <= place < 1 for place in places)
    assert (
        sorted(round(10 * (b - a), 6) for a, b in zip(sorted(places), sorted(places)[1:]))
        == [1.0] * 9
    )


@pytest.mark.parametrize(
    ("scores", "out", "share"),
    [
        ([0.9, 0.5, 0.1], [2], 1.0),
        ([0.9, 0.5, 0.5], [2], 0.75),
        ([0.1, 0.5, 0.9], [1, 2], 0.0),
        ([0.1, 0.5], [], None),
        ([float("nan"), 0.5], [1], None),
        ([0.1, float("nan")], [1], None),
    ],
)
def test_how_often_an_original_scores_above_a_replacement(scores, out, share):
    assert share_above(scores, out) == share


@pytest.mark.parametrize(
    ("trial", "items", "problem"),
    [
        ("noise", [PREFERENCE], "noise does not apply to preference: which of two is better"),
        ("noise", [replace(RATING, documents=())], "1 of 1 items have no documents to replace"),
        ("joint", [PREFERENCE], "joint does not apply to preference"),
        ("hallucination", [RANKING], "hallucination does not apply to ranking: a text that says"),
        ("hallucination", [replace(SUPPORT, task="stance")], "does not apply to stance"),
        ("hallucination", [replace(RATING, documents=())], "1 of 1 items have no documents from"),
        ("hallucination", [replace(SUPPORT, statement="Go!")], "(1 no sentence that can be"),
        ("hallucination", [replace(SUPPORT, extra={"label": False})], "(1 labelled no)"),
        ("order", [SUPPORT], "order does not apply to support: it has one text"),
        ("paraphrase", [replace(SUPPORT, text="Go!", statement="Go!")], "(1 no rule rewords it)"),
    ],
)  # fmt: skip
def test_a_trial_without_meaning_is_refused(trial, items, problem):
    assert problem in refused(trial, *items)


def test_an_item_needs_as_many_sentences_as_are_contradicted():
    assert "no item has as many sentences" in refused("hallucination", SUPPORT, sentences=(1, 2))
    questions = asked("hallucination", SUPPORT, sentences=(0, 1, 2))
    assert {name: q.statement for name, q in questions.items()} == {
        "0": "There are parks.", "1": "There are not parks.",
    }  # fmt: skip
    second = asked("hallucination", PREFERENCE, sentences=(0, 1))
    assert second["0"].b == TEXT
    assert second["1"].a == TEXT
    assert second["1"].b != TEXT


def test_edits_by_a_model_are_asked_for_once():
    documents = tuple(f"Document {n}." for n in range(4))
    text = " ".join(f"Sentence {n} is here." for n in range(11))
    wanted = _contradicting([replace(RATING, text=text, documents=documents)])
    assert len(wanted) == 10
    assert wanted["Sentence 9 is here."]["documents"] == list(documents[:3])
    assert _contradicting([replace(SUPPORT, extra={"label": False})]) == {}
    assert list(_contradicting([SUPPORT])) == ["There are parks."]
    every = _paraphrasing([RANKING, PREFERENCE, SUPPORT])
    assert list(every) == [*RANKING.texts, TEXT]
    assert every["One."] == {"text": "One."}


@pytest.mark.parametrize(("words", "whole"), [(300, True), (301, False)])
def test_a_model_is_shown_300_words_of_a_document(words, whole):
    text = " ".join(["word"] * words)
    assert (shortened(text) == text) is whole


# -- How many topics a trial needs ----------------------------------------------------------------


def test_how_many_topics_are_needed():
    """By Wilson: 3.8415 (1 - 0.1) / 0.1 = 34.6; with 0.5, 3.8; a score that falls needs two."""
    assert clusters_needed("order", Stress()) == 35
    assert clusters_needed("order", Stress(tolerance=0.5)) == 4
    assert clusters_needed("order", Stress(tolerance=0.0)) is None
    assert clusters_needed("order", Stress(draws=0)) == 1
    assert clusters_needed("noise", Stress()) == 2
    assert [name for name in TRIALS if not TRIALS[name].steady] == [
        "noise", "hallucination", "joint",
    ]  # fmt: skip


@pytest.mark.parametrize(("count", "few"), [(3, True), (4, False)])
def test_too_few_topics_are_warned_of(count, few):
    stress = Stress(tolerance=0.5)
    items = [replace(SUPPORT, id=str(n), text=f"Text {n}.", group=f"g{n}") for n in range(count)]
    posed = pose("repeat", [*items, *items], stress)
    warning = too_few("repeat", posed, stress)
    assert warning.startswith("repeat may stay unclear: 3 topics") is few
    assert warning.endswith("even if none does; 4 would be enough") is few
    nothing = too_few("repeat", posed, Stress(tolerance=0.0))
    assert nothing.endswith("no number is enough")
    noise = pose("noise", items, stress)
    assert too_few("noise", noise, stress) == ""
