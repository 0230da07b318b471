"""What a report is searched for, what it says without evidence, and how it is written to a run."""

from __future__ import annotations

import json

import anyio
import pytest

from chat_server import ChatServer
from pnyx.cases.case import Draft
from pnyx.cases.limits import Limits
from pnyx.cases.report_plan import WritingPlan
from pnyx.core.records import Citation, Document, Response, Sentence
from pnyx.formats import ReportRequest
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.reports.writing.candidates import Query, queries_of
from pnyx.reports.writing.evidence import judge_evidence
from pnyx.reports.writing.generate import sub_questions
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


# --- with a language model

REQUEST = ReportRequest("r", "Bus fares")


def model_at(server: ChatServer) -> StoredModel:
    return StoredModel(ChatEndpoint(server.url, "test"), Store(":memory:"), 1)


@pytest.mark.parametrize(("documents", "calls"), [(24, [24]), (25, [12, 13])])
def test_a_model_reads_24_documents_in_a_call(documents, calls):
    found = [Document(f"d{n}", f"Fares fell {n}.") for n in range(documents)]
    sizes = []

    def listed(prompt: str) -> str:
        count = prompt.count("Fares fell ")
        sizes.append(count)
        rows = [{"id": n, "evidence": n > 1, "confidence": 0.9} for n in range(1, count + 1)]
        return json.dumps({"documents": rows})

    with ChatServer(reply=listed) as server:
        chances, faults = anyio.run(judge_evidence, model_at(server), REQUEST, (), found)
    assert (sorted(sizes), faults) == (calls, ())
    assert chances["d0"] == pytest.approx(0.1)
    assert [chance for chance in chances.values() if chance == 0.9] == [0.9] * (
        documents - len(calls)
    )


def test_a_model_reads_150_words_of_a_document_for_evidence():
    document = Document("d", " ".join(f"word{n}" for n in range(1, 152)))
    with ChatServer(reply='{"documents": []}') as server:
        chances, (fault,) = anyio.run(judge_evidence, model_at(server), REQUEST, (), [document])
        prompt = server.asked()[0]["messages"][-1]["content"]
    assert ("word150" in prompt, "word151" in prompt) == (True, False)
    assert chances == {}
    assert "did not say of 1 of 1 documents" in fault


@pytest.mark.parametrize(("length", "kept"), [(500, 500), (501, 500)])
def test_a_sub_question_has_at_most_500_characters(length, kept):
    questions = ["a" * length, "Who pays?", "Who  pays?", "Why?"]
    with ChatServer(reply=json.dumps({"questions": questions})) as server:
        found, faults = anyio.run(sub_questions, model_at(server), REQUEST, 2)
    assert (found, faults) == (("a" * kept, "Who pays?"), ())
