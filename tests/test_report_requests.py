"""Report requests and the reports that answer them: every field read and kept."""

from __future__ import annotations

import io
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from pnyx.formats import FORMATS, read_questions, read_responses, response_row
from pnyx.formats.reports.responses import parse_response

DATA = Path(os.environ.get("PNYX_DATA", "/nonexistent"), "reportgen")
REQUESTS = [
    path
    for name in (
        "kiddie/kiddie-topics.jsonl",
        "neuclir24_minitest/neuclir24-test-zho.requests.jsonl",
    )
    if (path := DATA / name).exists()
]
FULL = {
    "request_id": "leaf",
    "title": "fall leaf color change",
    "problem_statement": "Why do leaves turn red?",
    "background": "For a child.",
    "original_background": "For a boy.",
    "limit": 2000,
    "word_limit": None,
    "collection_ids": ["neuclir/1/zho", "c2"],
}


def again(path: Path, name: str = "topics") -> tuple[list, list[dict]]:
    """Read questions, write them and return them with the objects that were written."""
    questions = list(read_questions(str(path)))
    stream = io.StringIO()
    FORMATS[name].writer(stream, questions)
    out = path.parent / "again.jsonl"
    out.write_text(stream.getvalue())
    assert list(read_questions(str(out))) == questions
    return questions, [json.loads(line) for line in stream.getvalue().splitlines()]


def test_every_field_of_a_request_survives(tmp_path):
    path = tmp_path / "topics.jsonl"
    path.write_text(json.dumps({**FULL, "topic_id": "leaf", "narrative_id": "leaf"}) + "\n")
    (question,), rows = again(path)
    assert (question.id, question.text) == ("leaf", FULL["title"])
    assert question.description == FULL["problem_statement"]
    assert question.narrative == FULL["background"]
    assert rows == [FULL]


@pytest.mark.parametrize(
    "line",
    ['{"id": "14", "title": "Tea?"}', '{"narrative_id": 14, "narrative": "Tea?"}', "14\tTea?"],
)
def test_topics_of_trec_rag(line, tmp_path):
    path = tmp_path / "topics"
    path.write_text(line + "\n")
    (question,), rows = again(path)
    assert (question.id, question.text, dict(question.extra)) == ("14", "Tea?", {})
    assert rows == [{"request_id": "14", "title": "Tea?"}]


def test_a_request_without_a_title_keeps_its_problem_statement(tmp_path):
    path = tmp_path / "requests.jsonl"
    row = {name: value for name, value in FULL.items() if name != "title"}
    path.write_text(json.dumps(row) + "\n")
    (question,), rows = again(path)
    assert question.text == question.description == FULL["problem_statement"]
    assert rows == [row]


def test_a_title_that_says_the_same_as_the_problem_stays(tmp_path):
    path = tmp_path / "requests.jsonl"
    row = {**FULL, "title": FULL["problem_statement"]}
    path.write_text(json.dumps(row) + "\n")
    (question,), rows = again(path)
    assert rows == [row]
    stream = io.StringIO()
    FORMATS["questions"].writer(stream, [question])
    assert json.loads(stream.getvalue())["text"] == FULL["problem_statement"]


@pytest.mark.parametrize("name", ["questions", "beir-queries", "touche-topics"])
def test_a_request_gains_no_title_by_way_of_another_format(name, tmp_path, call):
    for title in ({}, {"title": "Leaves?"}, {"title": "Why?"}):
        row = {"request_id": "1", **title, "problem_statement": "Why?", "background": "A child."}
        (tmp_path / "r.jsonl").write_text(json.dumps(row) + "\n")
        there, back = tmp_path / "there", tmp_path / "back"
        assert call("files", "convert", tmp_path / "r.jsonl", "--to", name, "--out", there)[0] == 0
        assert (
            call("files", "convert", there, "--format", name, "--to", "topics", "--out", back)[0]
            == 0
        )
        kept = json.loads(back.read_text())
        if name == "touche-topics" and title == {"title": "Why?"}:
            del row["title"]  # one <title> stands for both there
        assert kept == row


@pytest.mark.parametrize("path", REQUESTS, ids=lambda path: path.stem)
def test_real_requests_come_back(path, tmp_path):
    copy = tmp_path / "topics.jsonl"
    copy.write_text(path.read_text())
    given = [json.loads(line) for line in path.read_text().splitlines()]
    _, rows = again(copy)
    assert rows == given


# The same report in every layout and citation style -----------------------------------------------

META = {"team_id": "t", "run_id": "r"}
STYLES = {
    "ids": [["d2", "d1"], ["d1"], []],
    "indices": [[1, 0], [0], []],
    "scores": [{"d2": 0.5, "d1": 1.0}, {"d1": 0.25}, {}],
}


def report(style: str, layout: str) -> dict:
    texts = ["Tea calms.", "It is a drink.", "That is all."]
    sentences = [
        {"text": text, "citations": cited} for text, cited in zip(texts, STYLES[style], strict=True)
    ]
    references = {"references": ["d1", "d2"]}
    if layout == "rag24":
        return {**META, "topic_id": "1", "topic": "Tea?", **references, "answer": sentences}
    if layout == "rag25":
        meta = {**META, "narrative_id": "1", "narrative": "Tea?"}
        return {"metadata": meta, **references, "answer": sentences}
    meta = {**META, "topic_id": "1", "topic": "Tea?"}
    return {"metadata": meta, **references, "responses": sentences}


def without_scores(response):
    bare = (
        replace(s, citations=tuple(replace(c, score=None) for c in s.citations))
        for s in response.sentences
    )
    return replace(response, sentences=tuple(bare))


def test_a_report_reads_the_same_in_all_layouts_and_citation_styles(tmp_path):
    path = tmp_path / "reports.jsonl"
    rows = {(s, y): report(s, y) for s in STYLES for y in ("rag24", "rag25", "ragtime")}
    records = {key: parse_response(row) for key, row in rows.items()}
    expected = records["ids", "rag25"]
    assert [[c.doc_id for c in s.citations] for s in expected.sentences] == STYLES["ids"]
    for (style, layout), record in records.items():
        assert without_scores(record) == expected
        assert (record == expected) is (style != "scores")
        assert response_row(record, style, layout)["references"] == ["d1", "d2"]
        path.write_text(json.dumps(response_row(record, style, layout)) + "\n")
        assert list(read_responses(str(path))) == [record]
    scored = records["scores", "ragtime"]
    assert [[c.score for c in s.citations] for s in scored.sentences] == [[0.5, 1.0], [0.25], []]
