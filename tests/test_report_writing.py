"""What a report is searched for, what it says without evidence, and how it is written to a run."""

from __future__ import annotations

import pytest

from pnyx.cases.case import Draft
from pnyx.cases.limits import Limits
from pnyx.cases.report_plan import WritingPlan
from pnyx.core.records import Citation, Response, Sentence
from pnyx.formats import ReportRequest
from pnyx.reports.writing.candidates import Query, queries_of
from pnyx.reports.writing.report import _capped, of_parts
from pnyx.reports.writing.submission import ResponseForm


@pytest.mark.parametrize(("words", "whole"), [(40, True), (41, False)])
def test_a_part_without_evidence_is_named_in_40_words(words, whole):
    part = " ".join(f"w{n}" for n in range(words))
    (sentence,) = of_parts([part], Limits((("chars", 4000),)))
    assert (f'"{part}"' in sentence.text) is whole
    assert "w39" in sentence.text


@pytest.mark.parametrize(("most", "left"), [(None, 3), (3, 3), (2, 2)])
def test_a_sentence_keeps_its_first_citations(most, left):
    sentence = Sentence("Fares fell.", tuple(map(Citation, "abc")))
    draft = _capped(Draft((sentence,)), most)
    assert [c.doc_id for c in draft.sentences[0].citations] == ["a", "b", "c"][:left]
    over = "left out 1 citations: a sentence has at most 2"
    assert draft.problems == ((over,) if left == 2 else ())
    assert _capped(Draft((sentence,), quotes=True), 1).problems == ()


@pytest.mark.parametrize(("style", "score"), [("scores", 0.5), ("ids", None)])
def test_a_citation_without_a_verdict_has_a_score_of_one_half(style, score):
    response = Response(
        "q", "r", sentences=(Sentence("Fares fell.", (Citation("d"),)),), references=("d",)
    )
    row = ResponseForm(style=style).row(response)
    (citations,) = [sentence["citations"] for sentence in row["responses"]]
    assert citations == ({"d": score} if score is not None else ["d"])


@pytest.mark.parametrize(
    ("text", "is_part"),
    [
        ("How do fares affect riders?", True),
        ("I work for the council of a town.", False),
        ("I want to know how fares affect riders.", True),
        ("We run buses in two towns?", True),  # a question
    ],
)
def test_a_sentence_about_its_author_asks_for_nothing(text, is_part):
    request = ReportRequest("r", "Bus fares", problem=text)
    (query,) = [query for query in queries_of(request, WritingPlan()) if query.text == text]
    assert query.part is is_part


def test_the_queries_of_a_request_and_their_weights():
    request = ReportRequest(
        "r", "Bus fares", problem="How do fares affect riders?", background="Our town has buses."
    )
    queries = queries_of(request, WritingPlan(), ["Who pays for buses?", "Why?"])
    assert [(query.text, query.weight, query.brings, query.part) for query in queries[1:]] == [
        ("Bus fares", 1.0, True, False),
        ("How do fares affect riders?", 1.0, True, True),
        ("Who pays for buses?", 1.0, True, False),
        ("Our town has buses.", 0.25, False, False),
    ]
    assert (queries[0].weight, queries[0].brings) == (2.0, True)
    assert queries_of(ReportRequest("r", "Fares"), WritingPlan()) == (Query("Fares"),)
