"""A model whose replies hold no answer: asked a little, then given up; and gone on with."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from chat_server import ChatServer
from pnyx.cli import main
from pnyx.judging.store.completions import _FRESH, _USELESS

CONCURRENCY = 4


@pytest.fixture
def items(tmp_path, monkeypatch):
    monkeypatch.delenv("PNYX_LLM", raising=False)
    monkeypatch.setenv("PNYX_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": f"i{n}", "text": f"Fares fell in year {n}.", "statement": "It is cheap."}
        for n in range(200)
    ]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "items.jsonl"


def answers():
    return list(map(json.loads, Path("R/answers.jsonl").read_text().splitlines()))


def judge(capsys, server, *more):
    given = [
        "judge",
        "support",
        "items.jsonl",
        "--judge",
        server.spec,
        "--concurrency",
        CONCURRENCY,
    ]
    with pytest.raises(SystemExit) as stopped:
        main([*map(str, given), "--out", "R", *more])
    captured = capsys.readouterr()
    return stopped.value.code, captured.out + captured.err


@pytest.mark.all
@pytest.mark.parametrize("batch", ["1", "8"])
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("{}", "the last: '{}' ("),
        ("I think so.", "the last: 'I think so.' ("),
        (None, "the last: '' (empty)"),
    ],
)
def test_a_server_without_answers_is_given_up_soon(capsys, items, reply, said, batch):
    with ChatServer(reply=reply, default="ok" if reply else "empty") as server:
        status, told = judge(capsys, server, "--set", f"batch={batch}")
        assert (status, told.count("\n")) == (2, 2), told  # the cost, and why
        assert f"no answer was in any of the first {_USELESS} replies of test" in told
        assert said in told
        first = len(server.asked())
        assert _USELESS <= first < _USELESS + CONCURRENCY
        # Given again, with a few questions more: what came back is in the store.
        status, told = judge(capsys, server, "--set", f"batch={batch}")
        assert status == 2
        assert len(server.asked()) - first <= (
            _USELESS // 3 + 1 + CONCURRENCY if reply else _USELESS + CONCURRENCY
        )
        counts = Counter(row["key"] for row in server.asked())
        assert not reply or max(counts.values()) <= 2  # once more, as nobody could read it
        # All that was paid for is there.
        if reply:
            with contextlib.closing(sqlite3.connect("store.sqlite")) as store:
                (kept,) = store.execute("SELECT count(*) FROM replies").fetchone()
            assert kept == len(counts)
    # Mended, the others get their answers.
    with ChatServer() as server:
        assert judge(capsys, server, "--set", f"batch={batch}")[0] == (0 if reply is None else 3)
    rows = answers()
    assert len(rows) == 200
    assert sum(row["unscored"] is not None for row in rows) <= _USELESS + _FRESH + 2 * CONCURRENCY


@pytest.mark.all
def test_a_judge_that_gets_some_right_goes_on(capsys, items):
    with ChatServer(script=["ok"], default="wrong_schema") as server:
        assert judge(capsys, server)[0] == 3
        assert len(server.asked()) == 1 + 2 * 199  # each but one with its repair turn
    assert [row["unscored"] is None for row in answers()].count(True) == 1


def test_an_empty_reply_is_asked_once_more_and_counted(capsys, items):
    rows = [
        {"id": f"i{n}", "text": f"Fares fell {mark}", "statement": f"Cheap {n}."}
        for n, mark in enumerate(["[[empty_once]]", "[[empty]]", "", ""])
    ]
    items.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with ChatServer() as server:
        assert judge(capsys, server)[0] == 3
        asked = Counter(row["item"] for row in server.asked())
    assert asked == {"empty_once": 2, "empty": 2, "": 2}
    rows = answers()
    assert [(row["unscored"] or "")[:5] for row in rows] == ["", "empty", "", ""]
    counts = json.loads(Path("R/manifest.json").read_text())["store"]
    assert {name: counts[name] for name in ("asked", "asked_again", "failed")} == {
        "asked": 3, "asked_again": 2, "failed": 1,
    }  # fmt: skip


@pytest.mark.all
def test_a_writer_whose_replies_hold_nothing_is_given_up_too(capsys, items):
    rows = [{"id": f"q{n}", "text": f"Is tea number {n} healthy?"} for n in range(100)]
    items.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with ChatServer(reply="{}") as server:
        with pytest.raises(SystemExit) as stopped:
            main(["annotate", "define", str(items), "--out", "q.md", "--llm", server.spec])
        assert stopped.value.code == 2
        assert "no answer was in any of the first 64 replies" in capsys.readouterr().err
        assert len(server.asked()) < 64 + 32
