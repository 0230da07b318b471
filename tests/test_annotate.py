"""`pnyx annotate`: definitions by a model over real HTTP, pairs drawn with their weights."""

from __future__ import annotations

import json
import re

import pytest

from chat_server import ChatServer
from pnyx.cli import main
from pnyx.core.errors import InputError
from pnyx.core.records import Question
from pnyx.formats import load_example, read_questions
from pnyx.relevance.sampling import PairSample, sample_pairs
from pnyx.search.build import build_index
from pnyx.search.index import Index
from pnyx.search.pipeline import Searcher


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    path = tmp_path_factory.mktemp("annotate") / "example.index"
    build_index(load_example().arguments, path)
    return path


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("PNYX_LLM", raising=False)
    monkeypatch.setenv("PNYX_STORE", str(tmp_path / "store.sqlite"))


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "questions.jsonl"
    rows = [{"id": "q1", "text": "Is tea healthy?"}, {"id": "q2", "text": "Is coffee?"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["annotate", *map(str, arguments)])
    captured = capsys.readouterr()
    return stopped.value.code, captured.out, captured.err


# --- define


@pytest.mark.parametrize("name", ["out.md", "out.jsonl"])
def test_definitions_are_drafted_and_can_be_read_again(capsys, questions, tmp_path, name):
    out = tmp_path / name
    with ChatServer() as server:
        status, printed, err = run(capsys, "define", questions, "--llm", server.spec, "--out", out)
        assert (status, printed) == (0, "")
        assert re.fullmatch(r"pnyx: cost: 2 calls of test, .*\n", err)
        found = list(read_questions(str(out)))
        assert [q.id for q in found] == ["q1", "q2"]
        for question in found:
            meaning, *kinds = question.definition.split("\n")
            assert meaning.startswith("Made up from hash")
            assert len(kinds) == 2
            assert all(kind.startswith("- ") for kind in kinds)
        # What has a definition keeps it, and nobody is asked.
        asked = len(server.asked())
        options = ("--llm", server.spec, "--out", tmp_path / "again.md", "--json")
        status, said, _ = run(capsys, "define", out, *options)
        assert (status, json.loads(said)) == (0, {"questions": 2, "drafted": 0, "failed": 0})
        assert len(server.asked()) == asked
    assert list(read_questions(str(tmp_path / "again.md"))) == found


def test_relevant_passages_are_shown_to_the_model(capsys, questions, tmp_path):
    examples = tmp_path / "examples.jsonl"
    examples.write_text(
        json.dumps({"question_id": "q2", "document": "Caffeine wakes. " * 300}) + "\n"
    )
    with ChatServer() as server:
        options = ("--llm", server.spec, "--examples", examples, "--out", tmp_path / "out.md")
        assert run(capsys, "define", questions, *options)[0] == 0
        prompts = {
            "tea" if "tea healthy" in text else "coffee": text
            for text in (asked["messages"][-1]["content"] for asked in server.asked())
        }
    assert "found helpful" not in prompts["tea"]
    assert 50 < prompts["coffee"].count("Caffeine wakes.") <= 100  # 200 words at most
    for row, said in (
        ({"question_id": "q9", "document": "d"}, "examples.jsonl:1: question_id 'q9' is unknown"),
        ({"question_id": "q1"}, "examples.jsonl:1: document: expected a text"),
    ):
        examples.write_text(json.dumps(row) + "\n")
        status, _, error = run(capsys, "define", questions, *options)
        assert (status, error.count("\n")) == (2, 1)
        assert said in error


def test_five_relevant_passages_are_shown_at_most(capsys, questions, tmp_path):
    rows = [{"question_id": "q1", "document": f"Passage number {n}."} for n in range(6)]
    examples = tmp_path / "examples.jsonl"
    examples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with ChatServer() as server:
        options = ("--llm", server.spec, "--examples", examples, "--out", tmp_path / "out.md")
        assert run(capsys, "define", questions, *options)[0] == 0
        prompts = [asked["messages"][-1]["content"] for asked in server.asked()]
    (tea,) = (prompt for prompt in prompts if "tea healthy" in prompt)
    assert re.findall(r"Passage number (\d)", tea) == ["0", "1", "2", "3", "4"]


def test_a_model_without_a_usable_definition_is_exit_status_3(capsys, questions, tmp_path):
    with ChatServer(default="refusal") as server:
        options = ("--llm", server.spec, "--out", tmp_path / "out.md")
        status, _, error = run(capsys, "define", questions, *options)
    assert status == 3
    assert "q1: test gave no definition: refusal" in error
    assert [q.definition for q in read_questions(str(tmp_path / "out.md"))] == ["", ""]
    status, _, error = run(capsys, "define", questions, "--out", tmp_path / "none.md")
    assert status == 2
    assert "requires a language model: add --llm" in error


# --- sample


def test_as_many_near_the_top_as_beyond_with_their_weights(index):
    searcher = Searcher(Index.open(index))
    zoos = next(q for q in load_example().questions if q.id == "zoos")
    pairs = list(sample_pairs(searcher, [zoos], PairSample(k=20, top=5, rest=9)))
    top = {hit.doc_id: hit.rank for hit in searcher.engine.search(zoos.text, k=20)}
    assert [p.stratum for p in pairs] == ["top"] * 5 + ["rest"] * 9
    for pair in pairs:
        assert pair.rank == top.get(pair.document.id)
        assert pair.weight == (20 / 5 if pair.stratum == "top" else (128 - 20) / 9)
    # So the weights add up to the documents of the index.
    assert sum(p.weight for p in pairs) == pytest.approx(128)
    assert len({p.document.id for p in pairs}) == 14


def test_a_draw_depends_on_seed_and_question_alone(index):
    searcher = Searcher(Index.open(index))
    asked = list(load_example().questions)

    def drawn(questions, seed=0):
        pairs = sample_pairs(searcher, questions, PairSample(seed=seed))
        return [(p.question.id, p.document.id) for p in pairs]

    both = drawn(asked)
    assert both == drawn(asked)
    assert [p for p in both if p[0] == asked[-1].id] == drawn(asked[-1:])
    assert drawn(asked[:1], seed=1) != drawn(asked[:1])


def test_small_corpora_are_taken_whole(tmp_path):
    build_index(load_example().arguments[:6], tmp_path / "i")
    searcher = Searcher(Index.open(tmp_path / "i"))
    pairs = list(sample_pairs(searcher, [Question("q", "zzz")]))
    assert [p.stratum for p in pairs] == ["rest"] * 6
    assert {p.weight for p in pairs} == {1.0}
    with pytest.raises(InputError, match="question 'q' appears twice"):
        list(sample_pairs(searcher, [Question("q", "a"), Question("q", "b")]))
    for wrong in ({"k": 0}, {"top": 0, "rest": 0}, {"top": -1}):
        with pytest.raises(InputError):
            PairSample(**wrong)


@pytest.mark.all
def test_drawn_pairs_are_items_that_a_judge_takes(capsys, index, questions, tmp_path):
    pairs = tmp_path / "pairs.jsonl"
    options = ("--top", 2, "--rest", 3, "--out", pairs)
    status, _, error = run(capsys, "sample", index, questions, *options)
    assert status == 0
    assert "2 of 2 questions have no definition" in error
    rows = [json.loads(line) for line in pairs.read_text().splitlines()]
    assert {row["group"] for row in rows} == {"q1", "q2"}
    with pytest.raises(SystemExit) as stopped:
        main(["files", "validate", str(pairs)])
    assert (stopped.value.code or 0) == 0
    with pytest.raises(SystemExit) as stopped:
        main(["judge", "relevance", str(pairs), "--out", str(tmp_path / "labels")])
    assert (stopped.value.code or 0) == 0
    answers = (tmp_path / "labels" / "answers.jsonl").read_text().splitlines()
    assert [json.loads(line)["weight"] for line in answers] == [row["weight"] for row in rows]
    capsys.readouterr()
    status, out, _ = run(capsys, "sample", index, questions, *options, "--json")
    assert json.loads(out) == {"questions": 2, "rest": 6, "top": len(rows) - 6}
