"""Replies that are hard to keep: half characters, NUL, and more text than a file may hold."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from chat_server import ChatServer, Handler
from command import caller, write_rows
from pnyx.formats import load_example
from pnyx.judging.llm.requests import Asking
from pnyx.judging.store.rows import request_key
from pnyx.judging.store.store import Store
from pnyx.judging.tasks import TASKS
from pnyx.models.chat.completion import read_reply
from pnyx.models.chat.types import MAX_REPLY_BYTES, Reply
from pnyx.search.build import build_index
from tries import quick_cases

pytestmark = pytest.mark.usefixtures("own_place")

QUESTION = "Should zoos be phased out?"


def spoilt(text: str | None) -> str | None:
    r"""Return a reply with `\ud800\u0000` before each text that begins with a capital letter."""
    return text and re.sub(r'(": "|\["|, ")(?=[A-Z])', r"\1\\ud800\\u0000", text)


class SpoilingHandler(Handler):
    def complete(self, text: str | None, **message: Any) -> None:
        super().complete(spoilt(text), **message)


run = caller()


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("replies") / "example.index"
    build_index(load_example().arguments, path)
    return str(path)


@pytest.mark.parametrize("task", quick_cases(TASKS, {"ranking", "rag", "support"}))
def test_half_a_character_costs_no_verdict_and_no_run(task, run):
    Path("items.jsonl").write_text(TASKS[task].example + "\n")
    with ChatServer() as server:
        server.RequestHandlerClass = SpoilingHandler
        command = ("judge", task, "items.jsonl", "--judge", server.spec, "--out")
        assert run(*command, "a")[0] == 0
        asked = len(server.asked())
        assert run(*command, "a")[0] == 0
        assert run(*command, "b", "--from-store")[0] == 0
        assert len(server.asked()) == asked
    said = Path("a", "answers.jsonl").read_text()
    assert Path("b", "answers.jsonl").read_text() == said
    if task not in ("ranking", "sides"):  # their replies hold no words
        assert "\ufffd\ufffd" in said
    assert "\\u0000" not in said
    assert run("files", "validate", "a/answers.jsonl")[0] == 0


@pytest.mark.parametrize("out", ["d.md", "d.jsonl"])
def test_definitions_can_be_read_again(out, run):
    Path("q.jsonl").write_text(json.dumps({"id": "q1", "text": QUESTION}) + "\n")
    with ChatServer() as server:
        server.RequestHandlerClass = SpoilingHandler
        define = ("annotate", "define", "q.jsonl", "--llm", server.spec, "--out", out)
        assert run(*define)[0] == 0
    assert "\ufffd" in Path(out).read_text()
    assert run("files", "validate", out)[0] == 0


def test_a_case_and_perspectives_are_written(index, run):
    with ChatServer() as server:
        server.RequestHandlerClass = SpoilingHandler
        command = ("argue", index, QUESTION, "--llm", server.spec, "--out", "a.jsonl")
        assert run(*command, "--html", "a.html", "--md", "a.md")[0] == 0
        assert run("perspectives", QUESTION, "--llm", server.spec, "--out", "p.jsonl")[0] in (0, 3)
    for name in ("a.jsonl", "p.jsonl"):
        assert run("files", "validate", name)[0] == 0
    assert "\ufffd" in Path("a.jsonl").read_text()
    for name in ("a.html", "a.md"):
        assert "\0" not in Path(name).read_text()


def test_nul_in_a_question_is_replaced_wherever_it_is_written(run):
    row = {"id": "q1", "text": "Is tea healthy?", "definition": "Effects \0 of \ud800 tea."}
    Path("q.jsonl").write_text(json.dumps(row) + "\n")
    assert run("files", "convert", "q.jsonl", "--to", "guidelines", "-o", "g.md")[0] == 0
    assert "Effects \ufffd of \ufffd tea." in Path("g.md").read_text()
    assert run("files", "validate", "g.md", "--format", "guidelines")[0] == 0


# --- length

ITEM = {"id": "1", "text": "Fares fell.", "statement": "Buses got cheaper."}
VERDICT = {"evidence": "", "answer": "yes", "confidence": 0.9}


def long_reply(size: int) -> str:
    return json.dumps({"reason": "é" * (size // 2), **VERDICT}, ensure_ascii=False)


@pytest.mark.parametrize("size", [MAX_REPLY_BYTES - 200, MAX_REPLY_BYTES + 200])
def test_a_reply_is_read_to_its_bound_and_what_is_written_can_be_read(size, run):
    Path("items.jsonl").write_text(json.dumps(ITEM) + "\n")
    with ChatServer(reply=long_reply(size)) as server:
        judge = ("judge", "support", "items.jsonl", "--judge", server.spec, "--out")
        status = run(*judge, "a", "--store", "s.sqlite")[0]
        assert run(*judge, "b", "--store", "s.sqlite")[0] == status
        assert len(server.asked()) == 1
    (row,) = map(json.loads, Path("a", "answers.jsonl").read_text().splitlines())
    if size < MAX_REPLY_BYTES:
        assert (status, row["value"]) == (0, True)
    else:
        assert status == 3
        assert row["unscored"] == "oversized: the reply is longer than 1 MB"
    assert run("files", "validate", "a/answers.jsonl")[0] == 0
    lookup = ("judge", "support", "items.jsonl", "--judge", "a", "--out", "c")
    assert run(*lookup)[0] == status
    assert run("store", "--export", "e.jsonl", "--store", "s.sqlite")[0] == 0
    assert run("files", "merge", "e.jsonl", "--out", "t.sqlite")[0] == 0


@pytest.mark.all
def test_a_long_reply_in_an_old_store_is_unscored(run):
    Path("items.jsonl").write_text(json.dumps(ITEM) + "\n")
    request = Asking().request(TASKS["support"].read("items.jsonl"))
    with Store("s.sqlite") as store:
        text = long_reply(17 * 1024 * 1024)
        reply = Reply(text, "stop", "test", {}, "json_schema")
        store.put(request_key("test", request), "test", request, reply)
    judge = ("judge", "support", "items.jsonl", "--judge", "http://127.0.0.1:9/v1#test")
    options = ("--store", "s.sqlite", "--from-store", "--out", "a")
    assert run(*judge, *options)[0] == 3
    assert "oversized" in Path("a", "answers.jsonl").read_text()
    assert run("files", "validate", "a/answers.jsonl")[0] == 0


@pytest.mark.all
def test_more_tokens_than_can_be_kept_are_none():
    entry = {"token": "a", "logprob": -0.1, "top_logprobs": [{"token": "b" * 40, "logprob": -3}]}

    def read(count: int) -> Reply:
        choice = {
            "message": {"content": "a" * count},
            "finish_reason": "stop",
            "logprobs": {"content": [entry] * count},
        }
        body = json.dumps({"choices": [choice]}).encode()
        reply = read_reply(body, model="m", response_format="text")
        assert isinstance(reply, Reply)
        return reply

    assert len(read(1000).tokens or ()) == 1000
    assert read(100_000).tokens is None


# --- orders of a part of the texts


def test_texts_that_an_order_leaves_out_are_unranked_and_said(run):
    documents = ["First.", "Second.", "Third.", "Fourth."]
    Path("r.jsonl").write_text(json.dumps({"id": "1", "query": "Q?", "documents": documents}))
    with ChatServer(reply='{"order": [4]}') as server:
        command = ("judge", "ranking", "r.jsonl", "--judge", server.spec, "--out", "out")
        status, printed, _ = run(*command)
    assert status == 0
    assert "1 rank only some of the texts (the others are unranked)" in printed
    (row,) = map(json.loads, Path("out", "answers.jsonl").read_text().splitlines())
    assert (row["value"], row["notes"]) == ([3], {"missing": [0, 1, 2]})
    assert json.loads(Path("out", "manifest.json").read_text())["counts"]["partly_ranked"] == 1
    # What was answered so is an answer to look up again.
    assert run("judge", "ranking", "r.jsonl", "--judge", "out", "--out", "again")[0] == 0
    (row,) = map(json.loads, Path("again", "answers.jsonl").read_text().splitlines())
    assert (row["value"], row["notes"]) == ([3], {"missing": [0, 1, 2]})


@pytest.mark.all
def test_samples_of_a_ranking_are_in_different_orders(run):
    rows = [
        {"id": str(n), "query": f"Question {n}?", "documents": ["One.", "Two.", "Three."]}
        for n in range(20)
    ]
    write_rows("r.jsonl", rows)
    with ChatServer() as server:
        command = ("judge", "ranking", "r.jsonl", "--judge", server.spec, "--set", "samples=6")
        assert run(*command, "--out", "out")[0] == 0
        # 3 texts have 6 orders: of 6 samples none repeats one
        assert len({json.dumps(one["messages"]) for one in server.asked()}) == 120


@pytest.mark.parametrize("task", TASKS)
def test_a_probability_is_refused_where_no_answer_has_one(task, run):
    Path("items.jsonl").write_text(TASKS[task].example + "\n")
    has_one = TASKS[task].kind.yes_no or task == "sides"
    with ChatServer(logprobs="words") as server:
        command = ("judge", task, "items.jsonl", "--judge", server.spec, "--out", "out")
        status, _, said = run(*command, "--set", "probability=ask")
        assert (status == 2, bool(server.asked())) == (not has_one, has_one)
        if not has_one:
            assert said.startswith("pnyx: probability requires questions")
            assert len(said.splitlines()) == 1
            assert not Path("out").exists()
