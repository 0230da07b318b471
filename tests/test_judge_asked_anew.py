"""Stored replies in which no answer could be read: asked again once by a later run, or dropped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chat_server import ChatServer
from command import called, rows_of, run, write_rows
from pnyx.judging.store.store import Store

pytestmark = pytest.mark.usefixtures("own_place")

VERDICT = json.dumps({"reason": "", "evidence": "", "answer": "yes", "confidence": 0.9})
JUDGE = ("judge", "support", "items.jsonl", "--store", "s.sqlite")


@pytest.fixture(autouse=True)
def items(own_place):
    write_rows("items.jsonl", [{"id": "1", "text": "Fares fell.", "statement": "Cheaper."}])


def judged(server: ChatServer, out: str) -> tuple[bool | None, int]:
    """Judge the item; return the verdict and how many requests that took."""
    before = len(server.asked())
    run(*JUDGE, "--judge", server.spec, "--out", out)
    (row,) = rows_of(out)
    return row["value"], len(server.asked()) - before


def test_an_unreadable_reply_of_an_earlier_run_is_asked_again_once():
    with ChatServer(reply="I would say so.") as server:
        assert judged(server, "a") == (None, 2)  # with its repair turn
        assert judged(server, "b") == (None, 1)
        assert judged(server, "c") == (None, 0)
        assert judged(server, "d") == (None, 0)


def test_a_readable_reply_takes_its_place_and_stays():
    with ChatServer(reply="I would say so.") as server:
        assert judged(server, "a") == (None, 2)
        server.reply = VERDICT
        assert judged(server, "b") == (True, 1)
        assert judged(server, "c") == (True, 0)
    with Store("s.sqlite") as store:
        assert sorted(row.reply.text for row in store.rows()) == ["I would say so.", VERDICT]


def test_a_reply_that_its_repair_made_readable_is_not_asked_again():
    with ChatServer(script=["prose"]) as server:
        assert judged(server, "a")[1] == 2
        assert judged(server, "b")[1] == 0


def test_reading_stored_replies_again_asks_nothing_and_notes_nothing():
    with ChatServer(reply="I would say so.") as server:
        assert judged(server, "a") == (None, 2)
        assert run(*JUDGE, "--judge", server.spec, "--out", "b", "--from-store") == 3
        assert len(server.asked()) == 2


def test_a_server_that_is_away_leaves_the_stored_reply():
    with ChatServer(reply="I would say so.") as server:
        assert judged(server, "a") == (None, 2)
        spec = server.spec
    assert run(*JUDGE, "--judge", spec, "--out", "b") == 3
    assert rows_of("b")[0]["unscored"].startswith("schema: ")


def test_delete_drops_what_could_not_be_read(capsys):
    with ChatServer(reply="I would say so.") as server:
        judged(server, "a")
        write_rows("items.jsonl", [{"id": "2", "text": "Fares rose.", "statement": "Dear."}])
        server.reply = VERDICT
        assert judged(server, "b") == (True, 1)
        gc = ("store", "--store", "s.sqlite", "--unreadable")
        assert called(capsys, *gc)[1].startswith("2 replies (")
        assert run(*gc, "--delete") == 0
        with Store("s.sqlite") as store:
            assert [row.reply.text for row in store.rows()] == [VERDICT]
        write_rows("items.jsonl", [{"id": "1", "text": "Fares fell.", "statement": "Cheaper."}])
        assert judged(server, "c") == (True, 1)


def test_definitions_and_arguments_are_asked_again_too():
    write_rows("q.jsonl", [{"id": "q1", "text": "Is tea healthy?"}])
    with ChatServer(reply="{}") as server:
        define = ("annotate", "define", "q.jsonl", "--llm", server.spec, "--out")
        run(*define, "a.jsonl")
        asked = len(server.asked())
        server.reply = None
        assert run(*define, "b.jsonl") == 0
        assert len(server.asked()) == asked + 1
    assert Path("b.jsonl").exists()
