"""Findings about one response: the category and the words, for each rule of a track by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pnyx.core.errors import InputError
from pnyx.core.records import Question
from pnyx.formats import ReportRequest
from pnyx.formats.tracks import rules as rules_module
from pnyx.formats.tracks.checks import check_requests, check_run
from pnyx.formats.tracks.requests import request_of
from pnyx.formats.tracks.responses import problems_of, submitted
from pnyx.formats.tracks.rules import Finding, TrackRules, run_id_problems, track_rules

X = "x" * 300
ABOUT = {"team_id": "t", "run_id": "r", "topic_id": "1"}


def rules(**changes: Any) -> TrackRules:
    base: dict[str, Any] = {
        "track": "a track", "task": "rag", "sentence_type": ("rag24", "neuclir", "ragtime"),
        "sentences_key": "answer", "topic_id_field": "topic_id",
        "mandatory_metadata": ("team_id", "run_id"), "references_kind": "ignore",
    }  # fmt: skip
    return TrackRules(**{**base, **changes})


def row(*sentences: Any, **fields: Any) -> dict[str, Any]:
    texts = [s if isinstance(s, dict) else {"text": s} for s in sentences or ("A b.",)]
    return {"metadata": ABOUT, "answer": texts, **fields}


def cited(*citations: Any, text: str = "A b.") -> dict[str, Any]:
    return {"text": text, "citations": list(citations)}


def findings(given: dict[str, Any], limit: int | None = None, **changes: Any) -> list[str]:
    request = None if limit is None else ReportRequest("1", "T", limit=limit)
    track = rules(**changes)
    return [": ".join(p) for p in problems_of(submitted(given, track), track, request)]


@pytest.mark.parametrize(
    ("given", "changes", "found"),
    [
        (row(), {}, []),
        ({"metadata": ABOUT, "responses": [{"text": "A."}]}, {},
         ["sentences_key: found responses, a track writes answer"]),
        (row(metadata={}), {},
         ["metadata: metadata.topic_id is missing", "metadata: metadata.team_id is missing",
          "metadata: metadata.run_id is missing"]),
        (row(metadata={**ABOUT, "run_id": 5}), {},
         ["metadata: metadata.run_id: found 5, expected text"]),
        (row(metadata={**ABOUT, "team_id": " "}), {}, ["metadata: metadata.team_id is empty"]),
        (row(metadata={"run_id": "r", "topic_id": "1"}), {"mandatory_metadata": ("run_id",)}, []),
        (row(answer=[]), {}, ["empty_answer: answer has no sentences"]),
        (row(" ", ""), {}, ["empty_answer: all sentences of answer are blank"]),
        (row("A.", " "), {}, ["blank_sentence: answer[1] has no text"]),
        (row(), {"recommended_metadata": ("run_desc",)},
         ["metadata_recommended: metadata.run_desc is missing"]),
        (row(metadata={**ABOUT, X: 1}), {"forbid_extra_metadata": True},
         ["metadata: metadata.topic_id: the track allows no further fields",
          f"metadata: metadata.{X[:39]}…: the track allows no further fields"]),
        (row(cited("a"), cited(0), cited()), {},
         ["citation_format: answer[1] cites by indices, others by a list of ids"]),
        (row(cited(), cited("a")), {}, []),
        (row({"text": "A.", "citations": {"a": 1}}, cited()), {},
         ["citation_format: answer[1] cites by an empty list, others by a map of scores"]),
        (row(cited("a")), {"sentence_type": ("rag24", "ragtime")},
         ["citation_format: answer[0] cites by a list of ids, expected indices or a "
         "map of scores"]),
        (row(cited("a", "b")), {"max_citations_per_sentence": 2}, []),
        (row(cited("a", "b", "c")), {"max_citations_per_sentence": 2},
         ["citation_count: answer[0] has 3 citations, expected at most 2"]),
        (row(cited("a", "a")), {}, []),
        (row(cited("a", "a")), {"check_duplicate_citations": True},
         ["citation_duplicate: answer[0] cites a document twice"]),
        (row(cited(0, 1, -1, 2), references=["a", "b"]), {},
         ["reference_index: answer[0] cites index -1 with 2 references (from 0)",
          "reference_index: answer[0] cites index 2 with 2 references (from 0)"]),
        (row(cited(10**25)), {},
         [f"reference_index: answer[0] cites index {'1' + '0' * 18}… with 0 "
         "references (from 0)"]),
        (row({"text": "A.", "citations": {X: X, "b": True, "c": 1, "d": 0.5}}), {},
         [f"citation_score: answer[0]: score of '{X[:59]}…': found {X[:19]}…, expected a number",
          "citation_score: answer[0]: score of 'b': found True, expected a number"]),
        (row(cited(X, "ab")), {"docid_pattern": "a", "collection_ids": ("C", "D")},
         [f"docid_pattern: answer[0]: '{X[:59]}…' is not an id of C (expected a)"]),
        (row(cited(0), references=["b"]), {"docid_pattern": "a"},
         ["docid_pattern: answer[0]: 'b' is not an id (expected a)"]),
        (row(), {"references_required": True}, ["references_missing: no references"]),
        (row(references=["a"]), {"references_kind": "none"},
         ["references_present: found references, a track has none"]),
        (row(references=[]), {"references_kind": "none"}, []),
        (row(), {"references_kind": "cited_only"}, ["references_missing: no references"]),
        (row(), {"references_kind": "cited_only", "references_optional": True}, []),
        (row(references=[]), {"references_kind": "cited_only"}, []),
        (row(cited(X, "b"), references=[X, X, "b"]), {"references_kind": "cited_only"},
         [f"references_duplicate: references: '{X[:59]}…' is given twice"]),
        (row(cited("b", X), references=["z", "y"]), {"references_kind": "cited_only"},
         ["references_undeclared: 2 cited documents are not in references, the first is 'b'",
          "references_uncited: 2 documents of references are not cited, the first is 'y'"]),
        (row(cited("a"), references=["a"]), {"references_kind": "cited_only", "references_max": 1},
         []),
        (row(cited("a", "b"), references=["a", "b"]),
         {"references_kind": "cited_only", "references_max": 1},
         ["references_max: references has 2 documents, expected at most 1"]),
        (row(references=["b"]), {"references_kind": "retrieval_list", "docid_pattern": "a"},
         ["docid_pattern: references: 'b' is not an id (expected a)",
          "references_uncited: 1 documents of references are not cited, the first is 'b'"]),
        (row("A b.", "C."), {"length_limit": 3}, []),
        (row("A b.", "C."), {"length_limit": 2},
         ["length: answer has 3 words, expected at most 2"]),
        (row("A b."), {"length_limit": 3, "length_unit": "chars"},
         ["length: answer has 4 characters, expected at most 3"]),
        (row(response_length=2), {"response_length": True}, []),
        (row(response_length=X), {"response_length": True},
         [f"response_length: response_length is {X[:19]}…, answer has 2 words"]),
        (row(), {"response_length": True}, ["metadata: response_length is missing"]),
        ({**ABOUT, "answer": [{"text": "A."}], "run_id": None}, {"flat": True},
         ["metadata: run_id is missing"]),
    ],
)  # fmt: skip
def test_each_rule_by_itself(
    given: dict[str, Any], changes: dict[str, Any], found: list[str]
) -> None:
    assert findings(given, **changes) == found


def test_the_limit_of_a_request_counts_unless_the_track_has_one() -> None:
    by_request = {"length_limit_request_field": "limit"}
    assert findings(row("A b c."), 2, **by_request) == [
        "length: answer has 3 words, expected at most 2"
    ]
    assert findings(row("A b c."), 3, **by_request) == []
    assert findings(row("A b c."), 2) == []
    assert findings(row("A b c."), 2, length_limit=3, **by_request) == []
    assert findings(row("A b c."), None, **by_request) == []


@pytest.mark.parametrize(
    ("given", "changes", "problem"),
    [
        ({"metadata": 1}, {}, "metadata: found 1, expected an object"),
        ({"metadata": ABOUT}, {}, "no answer, expected a list of sentences"),
        ({"metadata": ABOUT, "answer": 1}, {}, "answer: found 1, expected a list of sentences"),
        (row(), {"flat": True},
         "found metadata, a track has run_id and topic_id beside the answer"),
        (row(references=[1]), {}, "references[0]: found 1, expected text"),
        (row({"text": 1}), {}, "answer[0].text: found 1, expected text"),
        (row({"text": "a", "citations": 1}), {},
         "answer[0].citations: found 1, expected a list or"),
        (row(cited(True)), {}, "answer[0].citations: found True, expected ids or indices"),
        (row(cited(0, "a")), {}, "answer[0].citations: found ids and indices, expected only one"),
        (row(documents=[]), {}, "documents: found [], expected an object"),
        (row(metadata={"topic_id": X, "request_id": "y"}), {},
         f"topic_id is '{X[:39]}…', request_id is 'y': expected the same topic"),
        (row(metadata={"topic_id": "1", "narrative_id": 1, "request_id": "2"}), {},
         "topic_id is '1', request_id is '2': expected the same topic"),
        (row(metadata={"topic_id": 1}), {}, "metadata.topic_id: found 1, expected text"),
        (row(metadata={"narrative_id": 1.5}), {},
         "metadata.narrative_id: found 1.5, expected text "),
        (row(metadata={"creator": None}), {}, "metadata.creator: found None, expected an object"),
    ],
)  # fmt: skip
def test_responses_that_no_rule_can_be_checked_on(
    given: dict[str, Any], changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError) as caught:
        submitted(given, rules(**changes))
    assert caught.value.problem.startswith(problem)


def test_types_of_metadata_are_checked_only_where_a_track_does() -> None:
    odd = row(metadata={**ABOUT, "narrative": 5})
    assert findings(odd, typed_metadata=False) == []
    limits: list[Any] = ["7", 7, 7.0, "7.00", None]
    for value in limits:
        assert findings(row(metadata={**ABOUT, "limit": value})) == []
    odd_limits: list[Any] = [7.5, "7.5", "x", [7]]
    for value in odd_limits:
        with pytest.raises(InputError, match=r"metadata\.limit: found .*expected a whole number"):
            submitted(row(metadata={**ABOUT, "limit": value}), rules())


def test_names_of_runs() -> None:
    track = rules(run_id_max_len=3, run_id_pattern="[a-z]+")
    assert list(run_id_problems("abc", track)) == []
    assert list(run_id_problems("", track)) == []
    assert list(run_id_problems("abcd", track)) == [
        ("run_id_length", "run_id has 4 characters, expected at most 3")
    ]
    ((category, problem),) = run_id_problems("A", track)
    assert (category, problem[:48]) == (
        "run_id_characters",
        "run_id: found 'A', expected English letters, dig",
    )


def test_findings_across_the_responses_of_a_file(tmp_path: Path) -> None:
    def found(*given: Any, topics: str = "", **changes: Any) -> list[tuple[int | None, str, str]]:
        path = tmp_path / "run.jsonl"
        path.write_text("".join(f"{json.dumps(each)}\n" for each in given))
        requests = {topic: ReportRequest(topic, f"Title {topic}") for topic in topics}
        results = check_run(str(path), rules(**changes), requests)
        return [(f.line, f.category, f.severity) for f in results if isinstance(f, Finding)]

    other = row(metadata={**ABOUT, "run_id": "s"})
    assert found() == [(None, "structural", "error")]
    assert found(1, row(), {}) == [(1, "structural", "error"), (3, "structural", "error")]
    assert found(row(), row()) == [(2, "duplicate_topics", "warning")]
    assert found(row(), other) == []
    assert found(row(), other, one_run=True) == [(2, "run_id_mixed", "error")]
    assert found(row(), topics="12") == [(None, "missing_topics", "error")]
    assert found(row(), topics="1") == []
    assert found(row(), topics="2") == [
        (1, "new_topics", "error"), (None, "missing_topics", "error"),
    ]  # fmt: skip
    exact: dict[str, Any] = {"require_exact_narrative": True}
    told = row(metadata={**ABOUT, "narrative": "Title 1"})
    assert found(told, topics="1", **exact) == []
    assert found(row(), topics="1", **exact) == [(1, "narrative", "error")]
    assert found(row(), **exact) == []
    smells: dict[str, Any] = {"smells": ("missing_topics",)}
    assert found(row(), topics="12", **smells) == [(None, "missing_topics", "warning")]


def test_requests_are_checked_for_what_reports_need() -> None:
    rows: list[Any] = [
        (1, Question("a", "T", extra={"limit": 5})), InputError("bad", line=2),
        (3, Question("b", "T", extra={"limit": 0})), (4, Question("c", "T")),
    ]  # fmt: skip

    def found(**changes: Any) -> list[tuple[int | None, str, str]]:
        results = check_requests(rows, rules(**changes))
        return [
            (f.line, f.category, f.severity) if isinstance(f, Finding) else (f, "ok", "")
            for f in results
        ]

    bad = [(2, "structural", "error"), (3, "structural", "error")]
    assert found() == [(1, "ok", ""), *bad, (4, "ok", "")]
    assert found(length_limit_request_field="limit") == [
        (1, "ok", ""), *bad, (4, "ok", ""), (4, "length", "warning"),
    ]  # fmt: skip
    assert found(length_limit_request_field="limit", length_limit=9)[-1] == (4, "ok", "")


def test_a_request_has_collections_and_limits() -> None:
    request = request_of(Question("a", "T", "P", extra={"collection_ids": "c", "limit": 1}))
    assert (request.collection_ids, request.limit, request.word_limit) == (("c",), 1, None)
    assert request.asked == "T\nP"
    assert request_of(Question("a", "T", "T")).asked == "T"
    assert request_of(Question("a", "T", extra={"collection_ids": ["c", 2]})).collection_ids == (
        "c", "2",
    )  # fmt: skip
    for extra, problem in (
        ({"collection_ids": 5}, "'a': collection_ids: found 5, expected a list of text"),
        ({"limit": True}, "'a': limit: found True, expected a positive whole number"),
        ({"word_limit": 0}, "'a': word_limit: found 0, expected a positive whole number"),
    ):
        with pytest.raises(InputError, match=problem):
            request_of(Question("a", "T", extra=extra))


def test_a_track_without_rules_names_those_with_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=f"^no track '{X[:39]}…', expected one of rag26, rag25"):
        track_rules(X)
    monkeypatch.setattr(rules_module, "_installed", lambda: (Path("f"), {"rag25": 1, "theirs": 1}))
    with pytest.raises(InputError, match=r"^no track 'x', expected one of rag26, .*, theirs$"):
        track_rules("x")
    monkeypatch.setattr(rules_module, "_installed", lambda: None)
    with pytest.raises(InputError, match=r"^no track 'x', expected one of rag26, "):
        track_rules("x")
