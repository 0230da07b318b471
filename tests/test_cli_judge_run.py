"""`pnyx judge relevance --run`: the top of a ranking as items."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chat_server import ChatServer
from pnyx.cli import main
from pnyx.records import Document
from pnyx.search.index import build_index


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
    with pytest.raises(SystemExit) as stopped:
        main([*command, *more])
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


def test_the_first_documents_of_each_topic_are_judged(ranking: Path) -> None:
    with ChatServer() as server:
        assert _judge(ranking, "--depth", "2", "--llm", server.spec) == 0
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
        with pytest.raises(SystemExit) as stopped:
            main(["judge", *arguments, "--out", "o"])
        assert stopped.value.code == 2
        assert "expected ITEMS, or, for relevance, --run" in capsys.readouterr().err
