"""A reply that was cut off: asked for once more with double the room, and nothing asked twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chat_server import ChatServer, key_of
from pnyx.cases.generate import LlmWriter
from pnyx.cli import main
from pnyx.core.records import Document, Question
from pnyx.judging.answers import Judged, Unscored
from pnyx.judging.base import ask
from pnyx.judging.llm.judge import LlmJudge
from pnyx.judging.llm.plan import plan_run
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.llm.requests import Asking
from pnyx.judging.questions import Preference, Support
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.judging.tasks import TASKS
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.chat.ledger import Ledger, bound_of
from pnyx.models.chat.types import ChatRequest, Message
from pnyx.models.http.flow import run_blocking
from pnyx.models.http.responses import RetryPolicy

HASTY = RetryPolicy(timeout=60, attempts=2, first_wait=0.01, longest_wait=2.5)
FIRST = load_prompt("support").max_tokens


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def model_on(server: ChatServer, store: Store, ledger=None, **options) -> StoredModel:
    endpoint = ChatEndpoint(server.url, "test", retry=HASTY, ledger=ledger)
    return StoredModel(endpoint, store, 1, **options)


def question(text: str = "[[length_once]]", number: int = 1) -> Support:
    return Support(str(number), text, f"Buses got {number} times cheaper.")


def limits(server: ChatServer) -> list[int]:
    return [row["parameters"]["max_tokens"] for row in server.asked()]


def test_the_second_try_has_double_the_room_and_its_reply_counts(store):
    with ChatServer() as server:
        model = model_on(server, store)
        (answer,) = ask(LlmJudge(model), [question()])
        assert limits(server) == [FIRST, 2 * FIRST]
        first, second = server.asked()
        assert first["messages"] == second["messages"]
        assert ask(LlmJudge(model_on(server, store)), [question()]) == [answer]
        assert len(server.asked()) == 2
    assert isinstance(answer, Judged)
    details = answer.provenance.details
    assert details["finish_reason"] == "stop"
    assert store.get(answer.provenance.asked[-1]).reply.text == answer.raw
    assert sorted(row.reply.finish_reason for row in store.rows()) == ["length", "stop"]


def test_cut_off_twice_is_unscored(store):
    with ChatServer() as server:
        (answer,) = ask(LlmJudge(model_on(server, store)), [question("[[length]]")])
        assert limits(server) == [FIRST, 2 * FIRST]
    assert isinstance(answer, Unscored)
    assert answer.reason == f"length: the reply was cut off; {2 * FIRST} tokens were allowed"


def test_a_limit_of_the_users_is_never_passed(store):
    with ChatServer() as server:
        judge = LlmJudge(model_on(server, store), Asking(max_tokens=300))
        (answer,) = ask(judge, [question("[[length]]")])
        assert limits(server) == [300]
    assert isinstance(answer, Unscored)


def test_a_repair_turn_gets_the_room_that_the_reply_needed(store):
    with ChatServer(["length", "prose", "length"]) as server:
        (answer,) = ask(LlmJudge(model_on(server, store)), [question("Text.")])
        assert limits(server) == [FIRST, 2 * FIRST, 2 * FIRST]
    assert isinstance(answer, Unscored)


def test_where_there_is_no_more_room_the_first_reply_stands(store):
    with ChatServer(["length", "too_long"]) as server:
        (answer,) = ask(LlmJudge(model_on(server, store)), [question("Text.")])
    assert isinstance(answer, Unscored)
    assert answer.reason == f"length: the reply was cut off; {FIRST} tokens were allowed"


def test_a_budget_ends_between_the_tries_and_more_of_it_asks_only_the_second(store):
    with ChatServer() as server:
        request = Asking().request([question()])
        ledger = Ledger(budget_tokens=sum((bound_of(request).prompt, bound_of(request).completion)))
        (answer,) = ask(LlmJudge(model_on(server, store, ledger)), [question()])
        assert answer.reason.startswith("budget")
        (planned,) = planned_on(server, store)
        assert (planned.from_store, planned.estimate.requests) == (1, 1)
        assert planned.estimate.completion_tokens[1] == 2 * FIRST
        (answer,) = ask(LlmJudge(model_on(server, store)), [question()])
        assert limits(server) == [FIRST, 2 * FIRST]
    assert isinstance(answer, Judged)


def planned_on(server: ChatServer, store: Store, *questions: Support):
    model = model_on(server, store, offline=True)
    return plan_run(LlmJudge(model), [model], questions or [question()], {})


def test_a_plan_expects_as_many_second_tries_as_there_were(store):
    with ChatServer() as server:
        ask(LlmJudge(model_on(server, store)), [question("[[length_once]]", n) for n in range(6)])
        assert len(server.asked()) == 12
        (planned,) = planned_on(server, store, *(question("Text.", n) for n in range(4)))
    assert (planned.estimate.requests, planned.second_tries) == (8, 4)


def test_a_plan_of_both_orders_counts_both_after_a_reply_that_was_cut_off(store):
    asked = Preference("1", "Yes.", "No.", "[[length]] Is tea healthy?")
    with ChatServer() as server:
        request = Asking().request([asked])
        ledger = Ledger(budget_tokens=sum((bound_of(request).prompt, bound_of(request).completion)))
        ask(LlmJudge(model_on(server, store, ledger)), [asked])
        model = model_on(server, store, offline=True)
        (planned,) = plan_run(LlmJudge(model), [model], [asked], {})
    assert (planned.from_store, planned.estimate.requests) == (1, 2)


def test_stored_replies_of_before_are_judged_as_before(store):
    request = Asking().request([question()])
    with ChatServer() as server:
        model = model_on(server, store)
        run_blocking(model.complete(request))  # by a version that did not ask again
        offline = model_on(server, store, offline=True)
        (answer,) = ask(LlmJudge(offline), [question()])
        assert len(server.asked()) == 1
    assert answer.reason.startswith("length")


def test_the_writer_asks_again_as_well(store):
    reply = {"points": [{"conclusion": {"text": "C.", "citations": [1]}, "premises": []}]}
    with ChatServer(["length"], reply=json.dumps(reply)) as server:
        writer = LlmWriter(model_on(server, store))
        draft = run_blocking(
            writer.write(Question("q", "Is tea healthy?"), "pro", [Document("d", "Tea calms.")])
        )
        assert limits(server) == [4000, 8000]
    assert not draft.failed


def test_a_model_that_is_asked_plainly_is_asked_once(store):
    request = ChatRequest((Message("user", "[[length]]"),), max_tokens=9)
    with ChatServer() as server:
        reply = run_blocking(model_on(server, store).complete(request))
        assert limits(server) == [9]
    assert reply.finish_reason == "length"


SLOW = """
import sys
from chat_server import ChatServer

class Slow(ChatServer):
    def behaviour(self, prompt, item, turn):
        name = super().behaviour(prompt, item, turn)
        return name if name == "length" else "hang"

with Slow(log=sys.argv[1]) as server:
    print(server.spec, flush=True)
    sys.stdin.read()
"""


@pytest.mark.all
def test_killed_between_the_tries_a_run_asks_only_the_second(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_text(
        json.dumps({"id": "1", "text": "[[length_once]]", "statement": "Buses got cheaper."}) + "\n"
    )
    judge = ["judge", "support", "items.jsonl", "--store", "s.sqlite", "--out", "out", "--judge"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    server = subprocess.Popen(
        [sys.executable, "-c", SLOW, "log.jsonl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    with server:
        spec = server.stdout.readline().strip()
        code = "from pnyx.cli import main; main()"
        run = subprocess.Popen([sys.executable, "-c", code, *judge, spec])
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and asked("log.jsonl") < 2:
            time.sleep(0.05)
        assert asked("log.jsonl") == 2
        run.send_signal(signal.SIGKILL)
        run.wait()
        server.stdin.close()
    (asked_for,) = TASKS["support"].read("items.jsonl")
    said = [{"role": m.role, "content": m.content} for m in Asking().request([asked_for]).messages]
    with ChatServer() as server:
        server._seen.update([key_of(said)])
        with pytest.raises(SystemExit) as ended:
            main([*judge, server.spec])
    assert ended.value.code == 0
    assert limits(server) == [2 * FIRST]


def asked(log: str) -> int:
    return Path(log).read_text().count('"asked"') if Path(log).exists() else 0
