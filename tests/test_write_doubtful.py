"""Sentences from less certain passages: marked wherever they are shown, and left out of files."""

from __future__ import annotations

from dataclasses import replace

import pytest

from case_fixture import JUDGE, argued, build_case, unscored, yes
from pnyx.judge.answers import Judged
from pnyx.records import Document
from pnyx.write.case import submitted_response

LINES = (
    ("conclusion", "A doubtful point.", {"doubtful": yes(0.91)}),
    ("premise", "It has a firm reason.", {"firm": yes(0.92)}),
    ("conclusion", "A firm point.", {"firm": yes(0.93)}),
    ("premise", "It has a doubtful reason.", {"doubtful": yes(0.94)}),
    ("premise", "Both passages say this.", {"doubtful": yes(0.95), "firm": yes(0.96)}),
)
DOUBTFUL = (True, True, False, True, False)


@pytest.fixture
def side():
    made = argued("pro", LINES, filled=frozenset({"doubtful"}))
    documents = {name: Document(name, "Text.") for name in ("doubtful", "firm")}
    return replace(
        made,
        response=replace(made.response, documents=documents),
        relevance={"doubtful": yes(0.6), "firm": unscored()},
        stance={"doubtful": yes(0.54), "firm": Judged(True, JUDGE)},
    )


def test_a_sentence_is_as_doubtful_as_its_passages_and_its_conclusion(side):
    assert side.confident == tuple(not doubtful for doubtful in DOUBTFUL)
    assert replace(side, filled=frozenset()).confident == (True,) * 5
    assert replace(side, filled=frozenset({"doubtful", "firm"})).confident == (False,) * 5
    headless = argued("pro", LINES[3:], filled=frozenset({"doubtful"}))
    assert headless.confident == (False, False)  # the first sentence opens the point


def test_the_file_holds_what_is_argued_with_its_probabilities(side):
    response = submitted_response(side)
    assert [s.text for s in response.sentences] == ["A firm point.", "Both passages say this."]
    for sentence in response.sentences:
        assert [citation.doc_id for citation in sentence.citations] == ["firm"]
        assert sentence.extra["confident"] is True
        # Unscored and without a probability, as a label is: none is made up.
        unstated = {"on_the_question": None, "on_this_side": None}
        assert sentence.extra["confidence"] == {"firm": unstated}
    assert response.references == ("firm",)
    assert set(response.documents) == {"firm"}


def test_all_sentences_are_written_and_marked_if_asked_for(side):
    response = submitted_response(side, include_doubtful=True)
    assert [s.text for s in response.sentences] == [text for _, text, _ in LINES]
    assert [not s.extra["confident"] for s in response.sentences] == list(DOUBTFUL)
    first = response.sentences[0].extra
    assert first["role"] == "conclusion"
    assert first["confidence"] == {"doubtful": {"on_the_question": 0.6, "on_this_side": 0.54}}
    assert response.references == ("doubtful", "firm")
    assert len(response.sentences[4].citations) == 2


@pytest.mark.parametrize(
    ("include", "scores"),
    [(False, [[0.93], [0.96]]), (True, [[0.91], [0.92], [0.93], [0.94], [0.95, 0.96]])],
)
def test_scores_stay_with_their_sentences(side, include, scores):
    response = submitted_response(side, scores=True, include_doubtful=include)
    assert [[c.score for c in s.citations] for s in response.sentences] == scores


def test_a_side_with_doubtful_sentences_alone_is_empty_in_the_file(side):
    alone = replace(side, filled=frozenset({"doubtful", "firm"}))
    response = submitted_response(alone)
    assert (response.sentences, response.references, response.documents) == ((), (), {})


def test_rows_and_notebooks_mark_doubtful_sentences(side):
    case = replace(build_case(), sides=(side,))
    marks = {row["sentence"]: row["confident"] for row in case.rows()}
    assert tuple(marks.values()) == side.confident
    shown = case._repr_html_().split("<li>")[1:]
    assert [line.startswith("Less sure: ") for line in shown] == list(DOUBTFUL)
    assert "Less sure" not in build_case()._repr_html_()
