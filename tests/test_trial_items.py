"""Which items take part in a trial, and which texts of theirs are changed."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from pnyx.audit.trials.documents import share_above
from pnyx.audit.trials.model_edits import _contradicting, _paraphrasing, shortened
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
    labels_read = [label_of(replace(SUPPORT, extra={"label": label})) for label in labels[:5]]
    assert labels_read == [True, False, False, True, None]
    assert label_of(replace(RATING, extra={"label": 3})) is None
    with pytest.raises(InputError, match=r"^item 's': label: found "):
        label_of(replace(SUPPORT, extra={"label": [1]}))


def test_labels_of_documents_are_joined_by_topic_and_id():
    item = replace(RATING, group="t", extra={"doc_ids": ["x", 2]})
    labels_by_key = {("t", "x"): True}
    (labelled,) = labelled_by([item], lambda topic, doc: labels_by_key.get((topic, doc)))
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
        assert sum(fraction < level for fraction in places) in (
            round(10 * level),
            round(10 * level) + 1,
        )
    assert all(0 <= fraction < 1 for fraction in places)
    ordered = sorted(places)
    steps = {round(10 * (after - before), 6) for before, after in itertools.pairwise(ordered)}
    assert steps == {1.0}


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
    questions = questions_of("hallucination", SUPPORT, sentences=(0, 1, 2))
    assert {name: q.statement for name, q in questions.items()} == {
        "0": "There are parks.", "1": "There are not parks.",
    }  # fmt: skip
    second = questions_of("hallucination", PREFERENCE, sentences=(0, 1))
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
