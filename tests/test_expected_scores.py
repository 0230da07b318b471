"""Scores as means over token probabilities: by hand, over real HTTP, and where there are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chat_server import ChatServer
from command import called, refuser, rows_of, run, write_rows

pytestmark = pytest.mark.usefixtures("own_place")
refused = refuser("judge", "quality")
CHANCES = {"3": 0.6, "2": 0.3, "1": 0.05, "maybe": 0.05}
# (.6 * 3 + .3 * 2 + .05 * 1) / .95
EXPECTED = 2.45 / 0.95


@pytest.fixture
def items():
    rows = [{"id": "a", "text": "Tea calms.", "dimensions": ["cogency", "clarity"], "group": "g"}]
    return write_rows("items.jsonl", rows)


def says(score: object, *names: str):
    return json.dumps({name: {"reason": "a score: 2", "score": score} for name in names})


@pytest.mark.parametrize("style", ["words", "fused", "letters", "bytes"])
@pytest.mark.parametrize("form", ["listwise", "pointwise"])
def test_by_hand(items, style, form):
    def reply(prompt: str) -> str:
        names = [n for n in ("cogency", "clarity") if f"\n{n}: " in prompt]
        return says(3, *names)

    with ChatServer(logprobs=style, spellings=CHANCES, reply=reply) as server:
        code = run("judge", "quality", items, "--judge", server.spec, "--set", "expected-scores",
                   "--judge-format", form, "--out", "r")  # fmt: skip
    assert code == 0
    rows = rows_of("r")
    assert [row["dimension"] for row in rows] == ["cogency", "clarity"]
    for row in rows:
        assert row["value"] == pytest.approx(EXPECTED, abs=1e-5)
        assert row["normalised"] == pytest.approx((EXPECTED - 1) / 2, abs=1e-5)
        assert (row["notes"]["stated"], row["notes"]["mass"]) == (3, pytest.approx(0.95))
        assert "expected" in row["judge"]
    manifest = json.loads(Path("r", "manifest.json").read_text())
    assert manifest["settings"]["expected_scores"] is True


RAG = {"id": "1", "query": "Is tea healthy?", "stance": "pro", "argument": "Tea calms [1].",
       "documents": ["Tea calms nerves.", "Tea is brewed."]}  # fmt: skip


def test_g_eval_scores_by_tokens_as_its_paper_does():
    """The dimensions of the triad; of one argument there is no preference."""
    names = ("context_relevance", "answer_relevance", "groundedness")

    def reply(prompt: str) -> str:
        return says(3, *(n for n in names if f"\n{n}: " in prompt))

    rag = write_rows("rag.jsonl", [RAG])
    with ChatServer(logprobs="words", spellings=CHANCES, reply=reply) as server:
        asking = ("--judge", server.spec, "--set", "expected-scores", "--judge-format", "g-eval")
        run("judge", "rag", rag, *asking, "--out", "r")
    rows = {row["dimension"]: row for row in rows_of("r")}
    for name in names:
        assert rows[name]["value"] == pytest.approx(EXPECTED, abs=1e-5)
        assert rows[name]["notes"]["mass"] == pytest.approx(0.95)
        assert rows[name]["notes"]["stated"] == 3


def test_true_and_false(items):
    chances = {"true": 0.7, "false": 0.2}
    with ChatServer(logprobs="words", spellings=chances,
                    reply=says(True, "cogency", "clarity")) as server:  # fmt: skip
        run("judge", "quality", items, "--judge", server.spec, "--set", "expected-scores",
            "--set", "scale=boolean", "--out", "r")  # fmt: skip
    assert [row["value"] for row in rows_of("r")] == [pytest.approx(7 / 9, abs=1e-5)] * 2


@pytest.mark.parametrize("server", [{"logprobs": None}, {"rejects": ("logprobs",)}])
def test_a_server_without_probabilities_leaves_scores_open_with_the_reason(items, capsys, server):
    """Unscored, with what it would have been in a note, and never the stated score in its place."""
    with ChatServer(reply=says(3, "cogency", "clarity"), **server) as one:
        code, out, err = called(capsys, "judge", "quality", items, "--judge", one.spec,
                              "--set", "expected-scores", "--out", "r")  # fmt: skip
    assert code == 3
    assert "2 unscored: 2 logprobs" in out + err
    for row in rows_of("r"):
        assert (row["value"], row["unscored"]) == (None, "logprobs: none for the score")
        assert row["notes"]["stated"] == 3


def test_only_the_dimension_that_lacks_a_score_is_open(items):
    reply = json.dumps({"cogency": {"reason": "", "score": 2}, "clarity": {"reason": ""}})
    with ChatServer(logprobs="words", spellings=CHANCES, reply=reply) as server:
        code = run("judge", "quality", items, "--judge", server.spec, "--set", "expected-scores",
                   "--out", "r")  # fmt: skip
    assert code == 3
    first, second = rows_of("r")
    assert second["value"] is None
    assert second["notes"].get("mass") is None
    assert second["unscored"].startswith("schema")
    assert first["value"] is not None


def test_choices_that_do_not_go_together(items, tmp_path, capsys):
    llm = ("--judge", "http://127.0.0.1:9/v1#m", "--set", "expected-scores", "--out", "r")
    assert "samples and expected-scores" in refused(capsys, items, *llm, "--set", "samples=3")
    pairs = write_rows("pairs.jsonl", [{"id": "1", "text": "a", "statement": "b"}])
    said = refuser("judge", "support")(capsys, pairs, *llm)
    assert "expected-scores requires quality, and rag --judge-format g-eval, not support" in said
    rag = write_rows("rag.jsonl", [RAG])
    said = refuser("judge", "rag")(capsys, rag, *llm, "--judge-format", "direct")
    assert "not --judge-format direct" in said
    own = tmp_path / "own.toml"
    own.write_text('[scale]\nlow = 1\nhigh = 10\n[dimensions.a]\ndefinition = "b"\n')
    said = refused(capsys, items, *llm, "--dimensions", own)
    assert "found a scale from 1 to 10, expected one within 0 to 9" in said
    assert "--set expected-scores requires a language model" in refused(
        capsys, items, "--set", "expected-scores", "--out", "r"
    )
