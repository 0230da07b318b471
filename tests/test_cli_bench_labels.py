"""`pnyx compare retrievers` with people's labels as the judge: every way of calling it, quickly."""

from __future__ import annotations

import json
from typing import Any

import pytest

from command import called, rows_of, write_rows
from pnyx.core.records import Document
from pnyx.judging.perspectives import pair_id
from pnyx.search.build import build_index
from pnyx.search.perspectives import FilePerspectives

COLOURS = {"red": "pro", "blue": "con"}
DOCUMENTS = [
    Document("red1", "Tea is red."),
    Document("red2", "Tea is red milk."),
    Document("blue", "Tea is blue milk milk milk."),
]


@pytest.fixture
def compare(tmp_path, capsys):
    """Run it on an index in which two of three documents are red; return what it says."""
    build_index(DOCUMENTS, tmp_path / "i")
    views = [{"id": f"q-{colour}", "question_id": "q", "text": f"Tea is {colour}.",
              "stance": side, "question": "tea?"} for colour, side in COLOURS.items()]  # fmt: skip
    labels = [{"id": pair_id("q", document.id, f"q-{colour}"), "value": colour in document.text}
              for document in DOCUMENTS for colour in COLOURS]  # fmt: skip
    write_rows(tmp_path / "views.jsonl", views)
    write_rows(tmp_path / "labels.jsonl", labels)

    def run(*more: object, code: int = 0) -> tuple[str, str]:
        status, out, error = called(
            capsys, "compare", "retrievers", "--index", tmp_path / "i", "--perspectives",
            tmp_path / "views.jsonl", "--judge", tmp_path / "labels.jsonl", "--retrievers", "bm25",
            "--cutoff", 2, "--out", tmp_path / "out", *more,
        )  # fmt: skip
        assert status == code, error
        return out, error

    return run


PLAIN = ("--variants", "plain")


def values(out: str) -> dict[str, dict[str, Any]]:
    return {run["run"]: {name: measure["value"] for name, measure in run["measures"].items()}
            for run in json.loads(out)["runs"]}  # fmt: skip


def test_one_retriever_is_measured(compare, tmp_path):
    out, error = compare(*PLAIN, "--json")
    assert values(out) == {"bm25": {
        "MRecall@2": 0.0, "Precision@2": 1.0, "ProOnly@2": 1.0, "ConOnly@2": 0.0,
        "BothSides@2": 0.0, "NoSide@2": 0.0, "ProLead@2": 1.0,
    }}  # fmt: skip
    row = json.loads(out)
    assert (row["lambdas"], row["tuning"], row["dev"], row["test"]) == ({}, {}, [], ["q"])
    assert len(rows_of(tmp_path / "out" / "verdicts.jsonl")) == 4
    assert "1 question" in error or error == ""
    text, _ = compare(*PLAIN)
    assert text.startswith("1 question of")
    assert "runs/*.runmeasuresagain" in "".join(text.split())  # wherever lines are broken


@pytest.mark.parametrize("source", ["views.jsonl", "index"])
def test_a_search_for_each_perspective_finds_both_sides(compare, tmp_path, source, monkeypatch):
    # Taking perspectives from an index loads two models.
    monkeypatch.setattr(
        "pnyx.search.perspectives_index.IndexPerspectives",
        lambda _: FilePerspectives(tmp_path / "views.jsonl"),
    )
    expand = source if source == "index" else tmp_path / source
    out, error = compare(*PLAIN, "--json", "--expand", expand)
    assert {name: row["MRecall@2"] for name, row in values(out).items()} == {
        "bm25": 0.0, "bm25+perspectives": 1.0,
    }  # fmt: skip
    assert ("its figures are an upper bound" in error) is (source != "index")


def test_other_perspectives_than_those_to_cover_give_nothing_away(compare, tmp_path):
    other = [{"id": "x", "question_id": "q", "text": "Tea is red.", "question": "tea?"}]
    out, error = compare(*PLAIN, "--json", "--expand", write_rows(tmp_path / "o.jsonl", other))
    assert "upper bound" not in error
    assert list(values(out)) == ["bm25", "bm25+perspectives"]


def test_each_side_is_asked_for(compare):
    out, _ = compare(*PLAIN, "--json", "--leaning")
    (lean,) = json.loads(out)["leaning"]
    assert lean["k"] == 2
    shares = {name: (row["p"], row["n"]) for name, row in lean["asked_as"].items()}
    assert shares == {"question": (1.0, 0.0), "pro": (1.0, 0.0), "con": (0.5, 0.5)}
    text, _ = compare(*PLAIN, "--leaning")
    assert "leaning" in text
    assert "supporting" in text


@pytest.mark.parametrize(
    ("more", "questions"),
    [(PLAIN, 4), ((*PLAIN, "--leaning"), 6), (("--lambda", 0.5, "--variants", "plain"), None)],
)
def test_a_plan_says_how_many_pairs_would_be_judged(compare, tmp_path, more, questions):
    if questions is None:
        _, error = compare(*more, code=2)
        assert "--lambda requires --variants mmr" in error
        return
    out, _ = compare(*more, "--plan")
    assert out.startswith(f"{questions} questions for labels:labels.jsonl")
    assert not (tmp_path / "out").exists()


def test_shares_are_judged_and_merged(compare, tmp_path):
    out, _ = compare(*PLAIN, "--shard", "1/2")
    assert out.startswith("2 of 2 pairs judged by labels:labels.jsonl; see ")
    assert len(rows_of(tmp_path / "out" / "verdicts.jsonl")) == 2
    _, error = compare("--shard", "1/2", "--out", tmp_path / "mmr", code=2)
    assert "lambda" in error


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (("--expand", "llm"), "--expand llm requires a language model (--judge)"),
        (("--expand", "llm", "--plan"), "--plan cannot predict what --expand llm will write"),
        (("--variants", "perspectives"), "--variants perspectives requires --expand"),
        (("--variants", "plain,best"), "variants: expected some of plain, mmr, perspectives"),
        (("--retrievers", "bm25,bm25"), "a retriever is named twice"),
        (("--cutoff", 0), "--cutoff"),
        (("--dev", 1), "--dev"),
        ((), "found 1 question, expected at least 2"),
    ],
)
def test_what_cannot_be_compared_is_one_line(compare, more, problem):
    _, error = compare(*more, code=2)
    assert problem in error
    assert error.count("\n") == 1
