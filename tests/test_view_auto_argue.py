"""What Auto-ARGUE writes is opened as it is: judgements, scores, nuggets, requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pnyx.core.errors import InputError
from pnyx.reports import read_judged_reports
from pnyx.reports.measures.registry import measure_report
from pnyx.web.rendering import Links
from pnyx.web.results.open_catalogue import open_catalogue
from pnyx.web.results.routes import address_of, rendered, show, site_of

FARES, PARK = "Did fares fall?", "Was the park opened?"


def judgement(kind: str, doc: str | None, by: str = "from_env", **response: Any) -> dict[str, Any]:
    place = {"doc_id": doc, "sentence": None, "run_id": None, "sent_id": None}
    return {"judgment_type_id": kind, "response": {"judgment_type_id": kind, **response},
            "evaluator": by, "provenance": place}  # fmt: skip


def matched(question: str, *answers: str) -> dict[str, Any]:
    return {"question_text": question, "matched_answer": list(answers), "importance": "vital"}


def cited(text: str, docs: dict[str, bool], *nuggets: dict[str, Any]) -> dict[str, Any]:
    found = [{"doc_id": doc, "text": f"Title: On {doc}\n\nContent: {doc} says so."} for doc in docs]
    judgements = [
        one
        for doc, attested in docs.items()
        for one in (
            judgement("CITED_DOCUMENT_RELEVANCE", doc, "null", doc_id=doc, is_relevant=True),
            judgement("SENTENCE_ANSWERS_QUESTION", doc, matched_nuggets=list(nuggets)),
            judgement("SENTENCE_ATTESTED", doc, is_attested=attested),
        )
    ]
    return {"segment_type": "sentence", "text": text, "citations": found, "judgments": judgements}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PNYX_CACHE", str(tmp_path / "cache"))
    sentences = [
        cited("Halden halved its fares in May.", {"d1": True}, matched(FARES, "in May")),
        cited("A third more people ride.", {"d1": True, "d2": False}),
        {"segment_type": "sentence", "text": "No line was closed.", "citations": [],
         "judgments": [
             judgement("NEGATIVE_STATEMENT", None, is_negative=False),
             judgement("REQUIRES_CITATION", None, requires_citation=True),
             judgement("FIRST_INSTANCE", None, is_first_instance=True)]},
    ]  # fmt: skip
    about = {"team_id": "t", "topic_id": "7", "run_id": "run-a", "collection_ids": ["c"]}
    row = {"report": {"metadata": about, "responses": []}, "judgments": sentences}
    place = tmp_path / "argue"
    place.mkdir()
    (place / "run-a.judgments.jsonl").write_text(json.dumps(row) + "\n")
    scores = ["run_id\trequest_id\tmetric\tvalue", "run-a\tall\tf1_micro\t0.4",
              "run-a\tall\tf1_macro\t0.5", "run-a\t7\tf1\t0.5"]  # fmt: skip
    (place / "run-a.scores.tsv").write_text("\n".join(scores) + "\n")
    return place


def bank(place: Path) -> None:
    def nugget(question: str, *answers: str) -> dict[str, Any]:
        return {"question": question, "aggregator_type": "OR", "query_id": "7",
                "answers": {a: {"answer": a, "references": []} for a in answers}}  # fmt: skip

    nuggets = {q: nugget(q, *a) for q, a in {FARES: ["by half", "in May"], PARK: ["yes"]}.items()}
    row = {"query_id": "7", "title_query": "Halden", "format_version": "v3", "nugget_bank": nuggets}
    (place / "nuggets_7.v3.json").write_text(json.dumps(row, indent=2))
    request = {"request_id": "7", "title": "Halden", "problem_statement": "How did fares change?",
               "background": "I ride the bus.", "limit": 2000, "collection_ids": ["c"]}  # fmt: skip
    (place / "requests.jsonl").write_text(json.dumps(request) + "\n")


def page(folder: Path, address: str) -> str:
    catalogue = open_catalogue([str(folder)])
    at = address_of(address)
    return rendered(show(catalogue, at), at, site_of([str(folder)]), Links())


def test_judgements_are_read_and_measured(folder: Path) -> None:
    (report,) = read_judged_reports(folder / "run-a.judgments.jsonl")
    assert (report.run_id, report.topic_id) == ("run-a", "7")
    first, second, third = report.sentences
    assert (first.attested, second.attested) == (True, False)
    assert first.citations[0].relevant.by == "lookup"
    assert first.answers == ((FARES, 0),)
    assert third.findings["needs_citation"].value is True
    measures = measure_report(report)
    assert measures["citation_precision"].value == pytest.approx(2 / 3)
    assert measures["sentence_precision"].value == pytest.approx(1 / 3)
    assert measures["nugget_recall"].value is None  # what it misses is not in the file


def test_a_folder_is_shown_with_scores_and_texts_and_what_the_bank_adds(folder: Path) -> None:
    html = page(folder, "report/run-a.judgments/run-a/7")
    assert "judged by Auto-ARGUE" in html
    assert "Which nuggets it misses is not known" in html
    assert PARK not in html
    assert "d2 says so." in page(folder, "sentence/run-a.judgments/run-a/7/2")
    assert "0.5" in page(folder, "leaderboard/run-a.scores")
    bank(folder)
    html = page(folder, "report/run-a.judgments/run-a/7")
    assert PARK in html
    assert "Which nuggets it misses" not in html
    assert "How did fares change?" in html
    assert "I ride the bus." in html
    values = open_catalogue([str(folder)]).values(source="run-a.judgments", run="run-a")
    assert {v.measure: v.value for v in values}["nugget_recall"] == 0.5


def test_what_is_not_as_it_should_be_is_one_line(folder: Path) -> None:
    path = folder / "run-a.judgments.jsonl"
    path.write_text('{"report": {}, "judgments": [{"judgment_type_id": 1}]}\n')
    with pytest.raises(InputError, match=r":1: expected a judged report of Auto-ARGUE"):
        list(read_judged_reports(path))
