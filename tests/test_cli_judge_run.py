"""`pnyx judge relevance --run`: the top of a ranking as items."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from chat_server import ChatServer
from command import rows_of, write_rows
from command import run as pnyx
from pnyx.core.records import Document
from pnyx.judging.perspectives import PASSAGE_WORDS
from pnyx.search.build import build_index

pytestmark = pytest.mark.usefixtures("own_place")


@pytest.fixture
def ranking(tmp_path: Path) -> Path:
    documents = [Document(f"d{i}", f"Text number {i} about voting.") for i in range(4)]
    build_index(documents, tmp_path / "index")
    (tmp_path / "run.trec").write_text(
        # d1 and d2 tie: trec_eval takes the higher id first
        "q1 Q0 d0 1 3.0 x\nq1 Q0 d1 2 1.0 x\nq1 Q0 d2 3 1.0 x\nq2 Q0 d3 1 5.0 x\n"
    )
    (tmp_path / "topics.jsonl").write_text(
        '{"id": "q1", "text": "Should voting be compulsory?", "definition": "About duty."}\n'
        '{"id": "q2", "text": "Should buses be free?"}\n'
    )
    return tmp_path


def _judge(folder: Path, *more: str) -> int:
    command = ["judge", "relevance", "--run", str(folder / "run.trec"), "--out"]
    command += [str(folder / "out"), "--index", str(folder / "index")]
    command += ["--topics", str(folder / "topics.jsonl"), "--store", str(folder / "s.sqlite")]
    return pnyx(*command, *more)


def test_the_first_documents_of_each_topic_are_judged(ranking: Path) -> None:
    with ChatServer() as server:
        assert _judge(ranking, "--depth", "2", "--judge", server.spec) == 0
        prompts = len(server.asked())
    rows = [
        json.loads(line) for line in (ranking / "out" / "answers.jsonl").read_text().splitlines()
    ]
    assert [(r["id"], r["rank"], r["group"]) for r in rows] == [
        ("q1/d0", 1, "q1"),
        ("q1/d2", 2, "q1"),
        ("q2/d3", 1, "q2"),
    ]
    assert all(r["question_id"] == r["group"] and r["unscored"] is None for r in rows)
    assert prompts == 3


def test_unknown_documents_and_topics_are_one_line(
    ranking: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ranking / "run.trec"
    run.write_text("q1 Q0 nowhere 1 3.0 x\n")
    assert _judge(ranking) == 2
    assert "document 'nowhere' is not in" in capsys.readouterr().err
    run.write_text("q9 Q0 d0 1 3.0 x\n")
    assert _judge(ranking) == 2
    assert "topic 'q9' is not in" in capsys.readouterr().err
    assert not (ranking / "out").exists()


def test_a_run_needs_its_index_and_topics(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["relevance"], ["relevance", "--run", "r"], ["support", "--run", "r"]):
        assert pnyx("judge", *arguments, "--out", "o") == 2
        assert "expected ITEMS, or, for relevance, --run" in capsys.readouterr().err


def _views(folder: Path, *questions: str) -> Path:
    path = folder / "views.jsonl"
    lines = [
        {"id": letter, "question_id": question, "text": f"View {letter}.", "question": "Why?"}
        for question in questions
        for letter in "ab"
    ]
    write_rows(path, lines)
    return path


def _judge_support(folder: Path, *more: str, runs: tuple[str, ...] = ("run.trec",)) -> int:
    command = ["judge", "support", "--index", str(folder / "index"), "--out", str(folder / "out")]
    command += [part for run in runs for part in ("--run", str(folder / run))]
    command += ["--perspectives", str(folder / "views.jsonl")]
    return pnyx(*command, "--store", folder / "s.sqlite", *more)


def _answered(folder: Path) -> list[dict[str, Any]]:
    return rows_of(folder / "out")


def test_each_pair_of_document_and_perspective_is_asked_about_once(ranking: Path) -> None:
    _views(ranking, "q1", "q2")
    (ranking / "other.trec").write_text("q1 Q0 d2 1 3.0 x\nq1 Q0 d3 2 1.0 x\n")
    with ChatServer() as server:
        runs = ("run.trec", "other.trec")
        assert _judge_support(ranking, "--depth", "2", "--judge", server.spec, runs=runs) == 0
        asked = len(server.asked())
    rows = _answered(ranking)
    assert [row["id"] for row in rows] == [
        *("q1/d0/a", "q1/d0/b", "q1/d2/a", "q1/d2/b", "q1/d3/a", "q1/d3/b"),
        *("q2/d3/a", "q2/d3/b"),
    ]
    assert {row["task"] for row in rows} == {"support"}
    assert "passage" not in rows[0]
    assert asked == 6  # d3 and the views are the same for both questions: the store knows
    manifest = json.loads((ranking / "out" / "manifest.json").read_text())
    assert [prompt["name"] for prompt in manifest["prompts"]] == ["support-perspective"]


def test_a_long_document_is_cut_into_passages(ranking: Path) -> None:
    text = " ".join(f"w{n}" for n in range(205))
    build_index([Document("d0", text), Document("d1", "w w w")], ranking / "index2")
    (ranking / "index").rename(ranking / "gone")
    (ranking / "index2").rename(ranking / "index")
    (ranking / "run.trec").write_text("q1 Q0 d0 1 3.0 x\nq1 Q0 d1 2 2.0 x\n")
    (ranking / "gold.jsonl").write_text('{"id": "nobody", "value": true}\n')
    _views(ranking, "q1")
    labels = ("--judge", str(ranking / "gold.jsonl"))
    assert _judge_support(ranking, *labels) == 3  # nobody labelled these
    rows = _answered(ranking)
    assert [(row["text_id"], row.get("passage"), row.get("passages")) for row in rows[::2]] == [
        ("d0#1", 1, 3), ("d0#2", 2, 3), ("d0#3", 3, 3), ("d1", None, None),
    ]  # fmt: skip
    assert {row["doc_id"] for row in rows} == {"d0", "d1"}
    for words, passages in (("0", 2), ("205", 2), ("204", 3)):
        assert (
            _judge_support(ranking, *labels, "--words", words, "--out", f"{ranking}/{words}") == 3
        )
        lines = (ranking / words / "answers.jsonl").read_text().splitlines()
        assert len(lines) == 2 * passages


def test_the_default_passage_is_that_of_python() -> None:
    command = importlib.import_module("pnyx.cli.judge").command
    (words,) = (p for p in command.params if p.opts == ["--words"])
    assert words.default_text == f"{PASSAGE_WORDS}, as in BERDS"


def test_a_question_without_perspectives_is_one_line(
    ranking: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _views(ranking, "q1")
    assert _judge_support(ranking) == 2
    assert "topic 'q2' has no perspectives in" in capsys.readouterr().err
    for more in (["--topics", "t"], ["--words", "5", "--perspectives", "v", "--topics", "t"]):
        assert pnyx("judge", "support", "--run", "r", "--index", "i", *more, "--out", "o") == 2
        assert "for support, --run with --index and --perspectives" in capsys.readouterr().err
    assert pnyx("judge", "support", "items.jsonl", "--words", "5", "--out", "o") == 2
    assert "--words requires --perspectives" in capsys.readouterr().err


def _pairs(folder: Path) -> Path:
    path = folder / "pairs.jsonl"
    path.write_text(
        '{"id": "1", "text": "Turnout rose where voting is a duty.", '
        '"statement": "Voting should be compulsory."}\n'
    )
    return path


def test_pairs_of_a_file_are_asked_about_as_perspectives(tmp_path: Path) -> None:
    command = ["judge", "support", str(_pairs(tmp_path)), "--store", str(tmp_path / "s.sqlite")]
    names = []
    for number, more in enumerate(([], ["--as-perspectives"], ["--as-citations"])):
        assert pnyx(*command, *more, "--out", tmp_path / str(number)) == 0
        manifest = json.loads((tmp_path / str(number) / "manifest.json").read_text())
        names.append(manifest["judge"].split("@")[0])
    assert names == ["student:perspectives", "student:perspectives", "minilm-int8"]
    with ChatServer() as server:
        for more, prompt in (("--as-perspectives", "support-perspective"),
                             ("--as-citations", "support")):  # fmt: skip
            assert pnyx(*command, more, "--judge", server.spec, "--out", tmp_path / more) == 0
            manifest = json.loads((tmp_path / more / "manifest.json").read_text())
            assert [asked["name"] for asked in manifest["prompts"]] == [prompt]


def test_answers_of_the_former_judge_are_not_gone_on_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["judge", "support", str(_pairs(tmp_path)), "--out", str(tmp_path / "o")]
    assert pnyx(*command, "--as-citations") == 0
    assert pnyx(*command) == 2
    assert "holds the results for another judge" in capsys.readouterr().err


def test_perspectives_are_for_support(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text('{"id": "1", "question": "Why?", "document": "Because."}\n')
    assert pnyx("judge", "relevance", items, "--as-perspectives", "--out", tmp_path / "o") == 2
    assert "--as-perspectives requires the task support, not relevance" in capsys.readouterr().err
    both = ("--as-perspectives", "--as-citations")
    assert pnyx("judge", "support", _pairs(tmp_path), *both, "--out", tmp_path / "o") == 2
    assert "--as-citations and --as-perspectives exclude each other" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


def test_perspectives_are_asked_about_in_batches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = tmp_path / "items.jsonl"
    rows = [{"id": str(n), "text": "Buses are free.", "statement": f"View {n}."} for n in range(3)]
    items.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["judge", "support", str(items), "--as-perspectives", "--set", "batch=5"]
    with ChatServer() as server:
        assert pnyx(*command, "--judge", server.spec, "--out", tmp_path / "o") == 0
        (asked,) = server.asked()
        system, user = (message["content"] for message in asked["messages"])
        assert system.startswith("You decide which of several perspectives a document supports.")
        assert [f"View {n}." in user for n in range(3)] == [True] * 3
        one = [
            "--set",
            "prompt=support-perspective",
            "--judge",
            server.spec,
            "--out",
            tmp_path / "p",
        ]
        assert pnyx(*command, *one) == 2
    assert "prompt support-perspective@2 takes one statement per call" in capsys.readouterr().err
