"""Responses and runs: what each layout writes and reads, warnings of runs, topics of TREC."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pnyx
from pnyx.core.errors import InputError
from pnyx.core.records import Citation, Document, Response, RunEntry, Sentence
from pnyx.formats import FORMATS
from pnyx.formats.reading import check
from pnyx.formats.reports.responses import ANY_RESPONSES, Layout, response_row
from pnyx.formats.reports.submissions import read_submissions
from pnyx.formats.runs.run_checks import checked_run
from pnyx.formats.tracks.rules import Finding


def response(**fields: Any) -> Response:
    sentences = (Sentence("A b.", (Citation("d2"), Citation("d1"))), Sentence("C.", ()))
    base: dict[str, Any] = {
        "topic_id": "1", "run_id": "r", "sentences": sentences, "references": ("d1", "d3"),
    }  # fmt: skip
    return Response(**{**base, **fields})


HEADS: dict[Layout, dict[str, Any]] = {
    "rag24": {"team_id": "t", "run_id": "r", "topic_id": "1", "topic": "T", "response_length": 3},
    "rag25": {
        "metadata": {"team_id": "t", "run_id": "r", "narrative_id": "1", "narrative": "T"},
    },
    "ragtime": {"metadata": {"team_id": "t", "run_id": "r", "topic_id": "1", "topic": "T"}},
}


@pytest.mark.parametrize("layout", HEADS)
def test_each_layout_has_its_names(layout: Layout) -> None:
    given = response(team_id="t", topic="T", extra={"x": 1})
    sentences = [{"text": "A b.", "citations": ["d2", "d1"]}, {"text": "C.", "citations": []}]
    key = "responses" if layout == "ragtime" else "answer"
    expected = {**HEADS[layout], "references": ["d1", "d3", "d2"], key: sentences, "x": 1}
    assert response_row(given, "ids", layout) == expected
    sentences[0]["citations"] = [2, 0]  # type: ignore[list-item]
    assert response_row(given, "indices", layout) == expected


def sentence(*citations: Citation) -> tuple[Sentence, ...]:
    return (Sentence("A.", citations),)


@pytest.mark.parametrize(
    ("fields", "style", "layout", "problem"),
    [
        ({"sentences": sentence(Citation("d1", 0.5))}, "ids", "rag25",
         "the style 'ids' cannot hold the score of 'd1'"),
        ({}, "scores", "rag25", "the style 'scores' needs a score, and 'd2' has none"),
        ({"sentences": sentence(Citation("d1", 0.5), Citation("d1", 0.6))}, "scores", "rag25",
         "the style 'scores' cannot cite 'd1' twice in a sentence"),
        ({"metadata": {"x" * 300: 1}}, "ids", "rag24",
         f"cannot hold the metadata field '{'x' * 39}…'"),
        ({"metadata": {"topic": 1}}, "ids", "rag25", "an unknown field named topic"),
        ({"metadata": {"request_id": 1}}, "ids", "ragtime", "an unknown field named request_id"),
        ({"extra": {"answer": 1}}, "ids", "ragtime", "an unknown field named answer"),
        ({"extra": {"topic": 1}}, "ids", "rag24", "an unknown field named topic"),
        ({"documents": {"x": Document("d1", "t")}}, "ids", "rag25", "'d1' is filed under 'x'"),
        ({"documents": {"d": Document("d", "t", extra={"url": 1})}}, "ids", "rag25",
         "an unknown field named url"),
    ],
)  # fmt: skip
def test_what_a_layout_or_a_style_cannot_hold(
    fields: dict[str, Any], style: Any, layout: Layout, problem: str
) -> None:
    with pytest.raises(InputError, match=r"^response 'r 1': ") as caught:
        response_row(response(**fields), style, layout)
    assert problem in caught.value.problem


def test_topics_scores_and_documents_are_written() -> None:
    row = response_row(response(topic="T", metadata={"topic": 1}), "ids", "rag25")
    assert row["metadata"] == {"run_id": "r", "narrative_id": "1", "narrative": "T", "topic": 1}
    row = response_row(response(sentences=sentence(Citation("d1", 0.5))), "scores")
    assert row["answer"] == [{"text": "A.", "citations": {"d1": 0.5}}]
    row = response_row(response(documents={"d1": Document("d1", "t", "ti")}))
    assert row["documents"] == {"d1": {"id": "d1", "text": "t", "title": "ti"}}
    with pytest.raises(ValueError, match="unknown style 'x' or layout 'rag25'"):
        response_row(response(), "x")  # type: ignore[arg-type]


M = {"run_id": "r", "topic_id": "1"}


@pytest.mark.parametrize(
    ("row", "cited"),
    [
        ({"metadata": M, "references": [], "answer": [{"text": "a", "citations": []}]}, []),
        ({"metadata": {**M, "narrative_id": 1}, "references": ["x"],
          "answer": [{"text": "a", "citations": [0]}]}, [("x", None)]),
        ({"metadata": M, "responses": [{"text": "a", "citations": {"x": 1}}]}, [("x", 1)]),
        ({**M, "references": [], "answer": [{"text": "a\u00a0b"}], "response_length": 2}, []),
        ({"metadata": M, "answer": [{"text": "a"}]}, "no references"),
        ({"metadata": M, "references": ["x"], "answer": [{"text": "a", "citations": [1]}]},
         "answer[0]: citations: index 1 with 1 references (from 0)"),
        ({"metadata": M, "references": ["x"], "answer": [{"text": "a", "citations": [-1]}]},
         "answer[0]: citations: index -1 with 1 references (from 0)"),
        ({"metadata": M, "references": ["x"], "answer": [{"text": "a", "citations": [True]}]},
         "answer[0]: citations: found [True], expected only ids or only indices"),
        ({"metadata": M, "references": ["x"], "answer": [{"text": "a", "citations": ["x", 0]}]},
         "answer[0]: citations: found ['x', 0], expected only ids or only indices"),
        ({"metadata": M, "references": [], "answer": [{"citations": []}]},
         "answer[0]: text: found None, expected text"),
        ({"metadata": M, "responses": [{"text": "a", "citations": {"x": "1"}}]},
         "responses[0]: citations['x']: found 1, expected a finite number"),
        ({"metadata": {"run_id": "r"}, "responses": []},
         "no topic_id or narrative_id or request_id (fields found: run_id)"),
        ({"metadata": {"topic_id": "1"}, "responses": []}, "no run_id (fields found: none)"),
        ({"metadata": M, "responses": [], "answer": []},
         'expected either "answer" or "responses" (fields found: metadata, responses, answer)'),
    ],
)  # fmt: skip
def test_a_response_is_read(row: dict[str, Any], cited: Any, tmp_path: Path) -> None:
    (tmp_path / "f").write_text(json.dumps(row))
    (found,) = check(str(tmp_path / "f"), ANY_RESPONSES)
    if isinstance(found, InputError):
        assert found.problem == cited
    else:
        assert [(c.doc_id, c.score) for s in found[1].sentences for c in s.citations] == cited


def submission(run: str = "r", topic: str = "1", **more: str) -> dict[str, Any]:
    about = {"run_id": run, "topic_id": topic, **more}
    return {"metadata": about, "responses": [{"text": "So."}]}


@pytest.mark.parametrize(
    ("files", "warning"),
    [
        ("ab", "run 'r' is in several files: /a, /b"),
        ("abc", "run 'r' is in several files: /a, /b, /c"),
        ("abcd", "run 'r' is in several files: /a, /b, /c and 1 more"),
    ],
)
def test_three_files_of_a_run_are_named(files: str, warning: str, tmp_path: Path) -> None:
    for name in files:
        (tmp_path / name).write_text(json.dumps(submission(topic=name)))
    submissions = read_submissions([str(tmp_path)])
    assert [line.replace(str(tmp_path), "") for line in submissions.warnings] == [warning]
    assert (submissions.left_out, submissions.facts) == ([], {})


@pytest.mark.parametrize(
    ("rows", "names", "warnings"),
    [
        ([submission(team_id="t"), submission(team_id="u")], ["t/r", "u/r"],
         ["2 teams have a run 'r'; they are called 't/r', 'u/r'"]),
        ([submission(team_id="t"), submission("t/r"), submission(team_id="u")],
         ["t/r", "/t/r", "u/r"], ["2 teams have a run 'r'; they are called 't/r', 'u/r'"]),
        ([submission(team_id="t/x"), submission(team_id="t x")], ["t%2Fx/r", "t%20x/r"],
         ["2 teams have a run 'r'; they are called 't%2Fx/r', 't%20x/r'"]),
        ([submission("run_1"), submission("run-l")], ["run_1", "run-l"],
         ["the names of these runs look alike: 'run_1', 'run-l'"]),
    ],
)  # fmt: skip
def test_runs_have_distinct_names(
    rows: list[Any], names: list[str], warnings: list[str], tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("\n".join(map(json.dumps, rows)))
    submissions = read_submissions([str(tmp_path / "a")], strict=True)
    assert [r.run_id for r in submissions.responses] == names
    assert submissions.warnings == warnings


# Warnings about runs -----------------------------------------------------------------------------


def warned(*rows: tuple[str, int, float], topic: str = "1") -> list[str]:
    entries = [
        (n, RunEntry(topic, doc, rank, score, "r")) for n, (doc, rank, score) in enumerate(rows, 1)
    ]
    return [f.problem for f in checked_run(entries) if isinstance(f, Finding)]


def test_the_first_two_of_several_equal_scores_are_named() -> None:
    (problem,) = warned(("c", 1, 2.0), ("b", 2, 2.0), ("a", 3, 2.0))
    assert problem == (
        "3 documents share a score with another in 1 of 1 topic (first in topic 1: c and b); "
        "trec_eval orders equal scores by document id, last first"
    )


def test_names_in_warnings_are_cut_at_40_characters() -> None:
    x = "x" * 300
    cut = "x" * 39 + "…"
    swapped, zero = (f"1{x}", 0, 1.0), (f"2{x}", 5, 2.0)
    below, disagreement = warned(zero, swapped, topic=x)
    assert below.startswith(
        f"1 of 2 ranks are below 1 (first in topic {cut}: 1{cut[1:]} has rank 0)"
    )
    assert f": 1{cut[1:]} has rank 0 and a lower score than 2{cut[1:]} on rank 5)" in disagreement
    (ties,) = warned((f"2{x}", 1, 1.0), (f"1{x}", 2, 1.0))
    assert f": 2{cut[1:]} and 1{cut[1:]});" in ties
    tags = [(n, RunEntry("1", str(n), n, -n, f"{n}{x}")) for n in (1, 2)]
    (several,) = (f.problem for f in checked_run(tags) if isinstance(f, Finding))
    assert several.startswith(
        f"2 tags ('1{cut[1:]}', '2{cut[1:]}') (first in topic 1: '2{cut[1:]}')"
    )


# Topics of TREC ----------------------------------------------------------------------------------


@pytest.fixture
def topics(tmp_path: Path) -> Callable[[str], list[pnyx.Question]]:
    def read(content: str) -> list[pnyx.Question]:
        (tmp_path / "f").write_text(content)
        return list(FORMATS["trec-topics"].reader(str(tmp_path / "f")))

    return read


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<top>\n<num> Number: 301\n<title> T <desc> Description:\nTime: it is.\n<narr>\nN\n</top>",
         ("301", "T", "Time: it is.", "N")),
        ("<top><num> 1 <title> Topic: T <desc> D <desc> E</top>", ("1", "T", "D E", "")),
        ("<topic number='2'><query>Q</query><question>W</question></topic>", ("2", "Q", "W", "")),
        ("<topic id='2'><question>W</question><narrative>N</narrative></topic>", ("2", "W", "",
         "N")),
        ("<top><num> 1 <desc> D </top>", ("1", "D", "", "")),
        ("<?xml version='1.0'?><topics><top><num>1</num><title>a &lt; b &amp;gt;</title></top>"
         "</topics>", ("1", "a < b &gt;", "", "")),
        ("<top><num> 1 <title> a <!-- x --> b <!-- y\nz --> c</top>", ("1", "a b c", "", "")),
        ("<TOP><NUM> 1 <TITLE> a <i>b</i></TOP>", ("1", "a <i>b</i>", "", "")),
    ],
)  # fmt: skip
def test_the_fields_of_a_topic(
    content: str,
    expected: tuple[str, ...],
    topics: Callable[[str], list[pnyx.Question]],
) -> None:
    (question,) = topics(content)
    assert (question.id, question.text, question.description, question.narrative) == expected


def test_further_fields_of_a_topic_are_kept(
    topics: Callable[[str], list[pnyx.Question]],
) -> None:
    (question,) = topics("<top><num> 1 <dom> Domain: Law <title> T <con> Concept(s): a, b</top>")
    assert question.extra == {"dom": "Law", "con": "a, b"}
    with pytest.raises(InputError, match=r"topic without <num>, expected <num> Number: 301"):
        topics("<top><title> T </top>")
