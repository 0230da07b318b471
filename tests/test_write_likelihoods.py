"""How likely each citation and each side is: in words and numbers, wherever a case is shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from case_fixture import JUDGE, argued, build_case, unscored, yes
from pnyx.cases.case import likelihood, warning
from pnyx.cases.citations import submitted_response
from pnyx.cases.page.markdown import render_markdown
from pnyx.cases.page.report import render_html
from pnyx.core.records import Document
from pnyx.judging.answers import Judged

LINES = (
    ("conclusion", "A first point.", {"a": yes(0.91)}),
    ("premise", "It has a reason.", {"b": yes(0.92)}),
    ("conclusion", "Both passages say this.", {"a": yes(0.95), "b": yes(0.96)}),
)
CHANCES = {"a": 0.85, "b": 0.45}


@pytest.fixture
def side():
    made = argued("pro", LINES, chances=CHANCES, likely=0.9)
    return replace(
        made,
        response=replace(made.response, documents={d: Document(d, "Text.") for d in CHANCES}),
        relevance={"a": yes(0.9), "b": unscored()},
        stance={"a": yes(0.94), "b": Judged(True, JUDGE)},
    )


@pytest.mark.parametrize(
    ("word", "least"), [("very likely", 0.8), ("likely", 0.6), ("possibly", 0.35)]
)
def test_each_word_begins_at_its_probability(word, least):
    assert likelihood(least) == word
    assert likelihood(min(1.0, least + 0.01)) == word
    assert likelihood(least - 1e-9) != word
    assert likelihood(None) == ""


@pytest.mark.parametrize(
    ("chance", "word"),
    [
        *((1.0, "very likely"), (0.8, "very likely"), (0.799, "likely"), (0.6, "likely")),
        *((0.599, "possibly"), (0.35, "possibly"), (0.349, "unlikely"), (0.0, "unlikely")),
    ],
)
def test_the_words_of_probabilities(chance, word):
    assert likelihood(chance) == word


def test_the_file_holds_the_probabilities_and_words_of_each_citation(side):
    response = submitted_response(side)
    assert [s.text for s in response.sentences] == [text for _, text, _ in LINES]
    first, second, both = (sentence.extra["confidence"] for sentence in response.sentences)
    assert first == {
        "a": {
            "on_the_question": 0.9,
            "on_this_side": 0.94,
            "argues_this_side": 0.85,
            "likelihood": likelihood(0.85),
        }
    }
    # Unscored and without a probability, as a label is: none is made up.
    assert second["b"]["on_the_question"] is None
    assert second["b"]["on_this_side"] is None
    assert set(both) == {"a", "b"}
    assert response.metadata["side_probability"] == 0.9
    assert "warning" not in response.metadata


@pytest.mark.parametrize(("likely", "warned"), [(0.65, False), (0.65 - 1e-9, True), (None, False)])
def test_a_side_that_the_documents_may_not_argue_is_warned_of_everywhere(side, likely, warned):
    made = replace(side, likely=likely)
    case = replace(build_case(), sides=(made,))
    said = "Your documents may not argue this side: the probability that they do is 65 %"
    if not warned:
        said = "may not argue this side"
    assert made.doubtful == warned
    assert (warning(made) == said) == warned
    for text in (render_markdown(case), render_html(case), case._repr_html_()):
        assert (said in text) == warned
    assert ("warning" in submitted_response(made).metadata) == warned
    empty = replace(made, response=replace(made.response, sentences=()))
    assert not empty.doubtful  # an empty side says why it is empty


def test_a_sentence_is_as_likely_as_its_likeliest_passage(side):
    assert [side.chance(one) for one in side.response.sentences] == [0.85, 0.45, 0.85]
    unknown = replace(side, chances={})
    assert unknown.chance(side.response.sentences[0]) is None


def test_pages_say_how_likely_each_point_is(side):
    case = replace(build_case(), sides=(side,))
    assert f"{likelihood(0.85)}, 85 %" in render_markdown(case)
    assert f"Argues this side: {likelihood(0.85)}, 85 %" in render_html(case)
    rows = {(row["sentence"], row["doc_id"]): row for row in case.rows()}
    assert rows[1, "b"]["chance"] == 0.45
    assert rows[1, "b"]["likelihood"] == likelihood(0.45)


def test_scores_stay_with_their_sentences(side):
    response = submitted_response(side, scores=True)
    scores = [[c.score for c in s.citations] for s in response.sentences]
    assert scores == [[0.91], [0.92], [0.95, 0.96]]
