"""What servers of all dialects send, replayed over real HTTP, and what becomes of it.

`tests/servers/` has a file for each: what the server answers in turn, what a judge must make of it
and in how many requests. They follow the servers' public documentation and issue trackers.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from command import caller, rows_of, write_rows
from pnyx.core.errors import ModelError
from pnyx.judging.answers import Judged
from pnyx.judging.base import ask
from pnyx.judging.llm.judge import LlmJudge
from pnyx.judging.questions import Support
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.models.chat.completion import finish_reason_of, read_reply, words_of_error
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.chat.ledger import Ledger
from pnyx.models.chat.pool import EndpointPool
from pnyx.models.chat.types import CallFailed, ChatRequest, Message, Reply, cuts_prompt
from pnyx.models.http.addresses import Secrets
from pnyx.models.http.dialect import Dialect
from pnyx.models.http.responses import (
    RefusedRequest,
    ResponseClassifier,
    Retryable,
    RetryPolicy,
)
from pnyx.models.http.transport import HttpResponse
from tries import quick_cases

pytestmark = pytest.mark.usefixtures("own_place")
run = caller()

SERVERS = {path.stem: path for path in sorted(Path(__file__).with_name("servers").glob("*.json"))}
HASTY = RetryPolicy(timeout=60, attempts=3, first_wait=0.01, longest_wait=0.05, loading=30.0)
ITEM = {"id": "1", "text": "Fares fell by a tenth.", "statement": "Buses got cheaper."}
VERDICT = json.dumps({"reason": "", "evidence": "", "answer": "yes", "confidence": 0.9})

Answer = Callable[[dict[str, Any], int], tuple[int, Any]]
"""What a server answers to a request's body, given the number of the request, from 1."""


class ReplayServer(ThreadingHTTPServer):
    """Answers chat requests as `answer` says; `requests` are their bodies."""

    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), ReplayHandler)
        self.answer, self.requests, self.lock = answer, list[dict[str, Any]](), threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        self.spec = f"{self.url}#test"

    def __enter__(self) -> ReplayServer:
        threading.Thread(target=lambda: self.serve_forever(0.02), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients of a run that ends hang up."""


class ReplayHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ReplayServer

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self.send(200, {"data": [{"id": "test"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.endswith("/chat/completions"):
            return self.send(404, {"error": "no such path"})
        with self.server.lock:
            self.server.requests.append(body)
            number = len(self.server.requests)
        return self.send(*self.server.answer(body, number))

    def send(self, status: int, body: Any) -> None:
        content = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def completion(text: str | None = VERDICT, tokens: int = 300, **choice: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "message": message, "finish_reason": "stop", **choice}]
    usage = {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20}
    return {"model": "test", "choices": choices, "usage": usage}


def in_turn(replies: Sequence[dict[str, Any]]) -> Answer:
    def answer(body: dict[str, Any], number: int) -> tuple[int, Any]:
        reply = replies[min(number, len(replies)) - 1]
        return reply["status"], reply.get("text", reply.get("body"))

    return answer


def judge_at(endpoint: ChatEndpoint | EndpointPool, concurrency: int = 1) -> LlmJudge:
    return LlmJudge(StoredModel(endpoint, Store(":memory:"), concurrency))


def questions(count: int) -> list[Support]:
    return [Support(str(n), f"Fares fell {n}.", "It got cheaper.") for n in range(count)]


@pytest.mark.parametrize("name", SERVERS)
def test_what_a_server_sends_is_understood(name):
    recorded = json.loads(SERVERS[name].read_text(encoding="utf-8"))
    with ReplayServer(in_turn(recorded["replies"])) as server:
        endpoint = ChatEndpoint(server.url, "test", retry=HASTY)
        (answer,) = ask(judge_at(endpoint), questions(1))
        assert len(server.requests) == recorded["requests"]
    if recorded["outcome"] == "yes":
        assert isinstance(answer, Judged), answer
        assert (answer.value, answer.probability) == (True, 0.9)
        assert answer.notes == {}
        assert answer.provenance.details["usage"]["prompt_tokens"] == 310
    else:
        assert not isinstance(answer, Judged)
        assert answer.reason.split(":")[0] == recorded["outcome"]


# --- refusals


def outcome_of(status: int) -> str:
    """Return what is done about a status: stop, ask in another form, ask again, or give up."""
    classifier = ResponseClassifier("http://127.0.0.1:1/v1", "test", Secrets())
    try:
        outcome = classifier.sort(HttpResponse(status, {}, b'{"error": "Sorry"}'), "")
    except ModelError:
        return "stop"
    if isinstance(outcome, Retryable):
        return f"{outcome.failed.reason.split(':')[0]}{', ease off' * outcome.overloaded}"
    return "another form" if isinstance(outcome, RefusedRequest) else outcome.reason.split(":")[0]


@pytest.mark.parametrize(
    ("statuses", "outcome"),
    [
        ((300, 301, 302, 307, 308, 399, 401, 402), "stop"),
        ((400, 403, 404, 405, 406, 415, 422, 501), "another form"),
        ((429,), "rate_limit, ease off"),
        ((502, 503, 504, 529), "server_error, ease off"),
        ((408, 409, 425, 500, 505, 530, 599), "server_error"),
        ((410, 411, 413, 418, 426, 451, 499), "rejected"),
        ((201, 204, 299), "malformed"),
    ],
)
def test_each_http_status_has_its_outcome(statuses, outcome):
    assert {outcome_of(status) for status in statuses} == {outcome}


def refusing(names: Sequence[str], status: int = 400, words: str = "Bad Request") -> Answer:
    """Return what refuses, without naming any, requests with one of these properties."""

    def answer(body: dict[str, Any], _: int) -> tuple[int, Any]:
        there = {*body, *(message["role"] for message in body["messages"])}
        there |= {"not streamed"} - ({"not streamed"} if body.get("stream") else set())
        form = (body.get("response_format") or {}).get("type")
        refused = (there | {form}) & set(names)
        return (status, {"error": {"message": words}}) if refused else (200, completion())

    return answer


@pytest.mark.parametrize("status", quick_cases([400, 403, 404, 405, 422, 500, 501], {400, 500}))
@pytest.mark.parametrize(
    "refused", [["logprobs"], ["json_schema"], ["json_schema", "json_object"], ["system"]]
)
def test_what_is_refused_without_a_name_is_left_out_alone(refused, status):
    with ReplayServer(refusing(refused, status)) as server:
        endpoint = ChatEndpoint(server.url, "test", retry=HASTY)
        answers = ask(judge_at(endpoint), questions(3))
        searched = len(server.requests) - 2
        last = server.requests[-1]
    assert all(isinstance(answer, Judged) for answer in answers)
    assert searched <= 10
    assert ("logprobs" in last) is (refused != ["logprobs"])
    assert last["messages"][0]["role"] == ("user" if refused == ["system"] else "system")
    form = (last.get("response_format") or {}).get("type")
    expected = {"json_schema": "json_object"}.get(refused[0], "json_schema")
    assert form == (None if len(refused) == 2 else expected)
    assert "temperature" in last
    assert "max_tokens" in last


def test_several_refused_at_once_are_left_out_together():
    with ReplayServer(refusing(["logprobs", "json_schema", "system"])) as server:
        answers = ask(judge_at(ChatEndpoint(server.url, "test", retry=HASTY)), questions(2))
    assert all(isinstance(answer, Judged) for answer in answers)


@pytest.mark.parametrize("status", [400, 403, 404, 422])
def test_a_server_that_refuses_everything_is_greeted_once_and_its_words_are_said(status, run):
    write_rows("items.jsonl", [{**ITEM, "id": str(n)} for n in range(60)])
    words = "This tenant is suspended, ask Ada."
    with ReplayServer(lambda *_: (status, {"error": {"message": words}})) as server:
        command = ("judge", "support", "items.jsonl", "--judge", server.spec, "--concurrency", 1)
        code, _, err = run(*command, "--out", "o")
        assert len(server.requests) == 3  # the request, a greeting, and one without a limit
    assert code == 2
    assert words in err
    assert err.count("\n") == 1
    assert "kept" not in err


@pytest.mark.all
def test_texts_that_are_always_refused_end_the_run_too():
    """The server answers a greeting, and no question of this run."""

    def answer(body: dict[str, Any], _: int) -> tuple[int, Any]:
        greeted = "Reply with the word" in body["messages"][-1]["content"]
        return (200, completion("ok")) if greeted else (400, {"detail": "No questions on fares."})

    with ReplayServer(answer) as server:
        endpoint = ChatEndpoint(server.url, "test", retry=HASTY)
        with pytest.raises(ModelError, match=r"first 20 requests .*No questions on fares\."):
            ask(judge_at(endpoint), questions(60))
        assert len(server.requests) < 20 + 15  # the wording is searched once


def test_a_refused_text_costs_no_search_once_requests_were_taken():
    def answer(body: dict[str, Any], number: int) -> tuple[int, Any]:
        bad = "Fares fell 1." in body["messages"][-1]["content"]
        return (400, {"error": "flagged"}) if bad else (200, completion())

    with ReplayServer(answer) as server:
        answers = ask(judge_at(ChatEndpoint(server.url, "test", retry=HASTY)), questions(3))
        assert len(server.requests) == 3
    assert [isinstance(answer, Judged) for answer in answers] == [True, False, True]


def test_a_greeting_is_counted():
    with ReplayServer(refusing(["logprobs"])) as server:
        ledger = Ledger(budget_tokens=10**6)
        endpoint = ChatEndpoint(server.url, "test", retry=HASTY, ledger=ledger)
        ask(judge_at(endpoint), questions(1))
    assert (ledger.requests, ledger.prompt_tokens) == (2, 600)


def test_a_dialect_steps_down_to_the_alternatives_that_are_allowed():
    request = ChatRequest((Message("user", "q"),), logprobs=10)
    stepped = Dialect().after_refusal("Requested 10 logprobs, max allowed: 5", request)
    assert stepped is not None
    assert stepped.parameters(request)["top_logprobs"] == 5
    dropped = stepped.after_refusal("No more than 5 logprobs", request)
    assert dropped is not None
    assert "logprobs" not in dropped.parameters(request)


# --- streams, errors, finish reasons


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"error": {"message": "no", "code": 401}}, None),
        ({"error": {"message": "Overloaded", "code": 529}}, "server_error: HTTP 529: Overloaded"),
        (
            {"error": {"message": "slow down", "code": "rate_limit_exceeded"}},
            "rate_limit: HTTP 429",
        ),
        ({"error": "the model crashed"}, "server_error: HTTP 500: the model crashed"),
        ({"object": "error", "message": "oom", "code": 500}, "server_error: HTTP 500: oom"),
        (completion(None, finish_reason="error", error={"message": "gone"}), "server_error: HTTP"),
        (completion("half", finish_reason="abort"), "server_error: the generation failed (abort)"),
        ('data: {"choices": [{"delta": {"content": "x"}}]}\n\n', "malformed: the stream ended"),
        ('data: {"error": {"message": "broke", "code": 503}}\n\n', "server_error: HTTP 503: broke"),
    ],
)
def test_errors_inside_http_200_are_errors(body, reason):
    with ReplayServer(lambda _, number: (200, body if number > 1 else completion())) as server:
        endpoint = ChatEndpoint(server.url, "test", retry=replace(HASTY, attempts=2))
        if reason is None:
            with pytest.raises(ModelError, match="key is refused"):
                ask(judge_at(endpoint), questions(2))
            return
        _, answer = ask(judge_at(endpoint), questions(2))
        assert answer.reason.startswith(reason)
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("stated", "meant"),
    [
        *(("stop", "stop"), ("eos_token", "stop"), ("end_turn", "stop"), ("COMPLETE", "stop")),
        *(("MAX_TOKENS", "length"), ("model_length", "length"), ("FINISH_REASON_STOP", "stop")),
        *(("SAFETY", "content_filter"), ("content_filter: RECITATION", "content_filter")),
        *(("abort", "error"), ("insufficient_system_resource", "error"), ("load", "error")),
        *(("refusal", "refusal"), ("tool_calls", "tool_calls"), ("", "")),
    ],
)
def test_finish_reasons_have_one_name_each(stated, meant):
    assert finish_reason_of(stated) == meant


def test_a_stream_is_added_up_whatever_its_lines_hold():
    chunks = [{"choices": [{"delta": {"content": part}}]} for part in ("a\u2028", "b")]
    text = ": comment\n\n" + "".join(
        f"data: {json.dumps(chunk, ensure_ascii=False)}\r\n\r\n" for chunk in chunks
    )
    reply = read_reply((text + "data: [DONE]").encode(), model="m", response_format="text")
    assert isinstance(reply, Reply)
    assert reply.text == "a\u2028b"
    cut = read_reply(text.encode(), model="m", response_format="text")
    assert isinstance(cut, CallFailed)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "a"}}, "a"),
        ([{"error": {"message": "a"}}], "a"),
        ({"error": "a"}, "a"),
        ({"detail": [{"loc": [], "msg": "a"}]}, "a"),
        ({"error": {"message": "a", "metadata": {"raw": "b"}}}, "a: b"),
        ({"errors": ["a"]}, "a"),
        ({"other": 1}, '{"other": 1}'),
    ],
)
def test_the_words_of_an_error_are_found(body, words):
    assert words_of_error(json.dumps(body)) == words


# --- models that load


@pytest.mark.parametrize(
    ("waited", "asked", "pause"),
    [
        (0.0, None, 0.5),
        (2.0, None, 0.5),
        (10.0, None, 2.0),  # a fifth of the time so far
        (60.0, None, 10.0),
        (10.0, 7.0, 7.0),  # as the server asks
        (10.0, 70.0, 10.0),
        (297.0, None, 3.0),  # what is left of 300 s
    ],
)
def test_the_pause_while_a_model_is_loaded(monkeypatch, waited, asked, pause):
    endpoint = ChatEndpoint("http://127.0.0.1:1/v1", "test", retry=RetryPolicy(loading=300.0))
    outcome = Retryable(CallFailed("server_error: loading"), "loading", asked)
    clock = [1000.0]
    monkeypatch.setattr("pnyx.models.http.endpoint.time.monotonic", lambda: clock[0])
    endpoint.wait_for_model(outcome)
    clock[0] += waited
    assert endpoint.wait_for_model(outcome) == pytest.approx(pause)


def loading_until(count: int) -> Answer:
    error = {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}
    return lambda _, number: (503, error) if number <= count else (200, completion())


def test_a_model_that_loads_is_waited_for_longer_than_attempts_last(monkeypatch):
    monkeypatch.setattr("pnyx.models.http.endpoint._LOADING_LEAST", 0.01)
    monkeypatch.setattr("pnyx.models.http.endpoint._LOADING_SHARE", 0.0)
    with ReplayServer(loading_until(9)) as server:
        endpoint = ChatEndpoint(server.url, "test", retry=HASTY)
        lines = list[str]()
        endpoint.on_wait = lines.append
        (answer,) = ask(judge_at(endpoint), questions(1))
        assert len(server.requests) == 10
    assert isinstance(answer, Judged)
    assert len(lines) == 1
    assert lines[0].endswith("waiting up to 30 s (--set wait)")


@pytest.mark.all
@pytest.mark.parametrize("addresses", [1, 2])
def test_a_model_that_never_loads_ends_the_run_as_wait_says(addresses, run):
    write_rows("items.jsonl", [ITEM])
    with ReplayServer(loading_until(10**6)) as first, ReplayServer(loading_until(10**6)) as second:
        llms = [part for s in (first, second)[:addresses] for part in ("--judge", s.spec)]
        command = ("judge", "support", "items.jsonl", *llms, "--out", "o", "--set", "wait=0.3")
        code, _, err = run(*command)
    assert code == 2
    assert "still loads its model after 0.3 s" in err
    assert "--set wait=SECONDS" in err
    assert "kept" not in err.splitlines()[-1]


def test_an_address_that_loads_leaves_its_requests_to_the_other():
    with ReplayServer(loading_until(10**6)) as loading, ReplayServer(loading_until(0)) as ready:
        pool = EndpointPool([ChatEndpoint(s.url, "test", retry=HASTY) for s in (loading, ready)])
        answers = ask(judge_at(pool, 4), questions(20))
        assert len(ready.requests) == 20
    assert all(isinstance(answer, Judged) for answer in answers)


# --- prompts that are cut


def test_counts_that_cannot_be_the_prompt():
    def asked(words: int) -> ChatRequest:
        return ChatRequest((Message("user", "word " * words),))

    assert cuts_prompt(asked(1000), {"prompt_tokens": 899})
    assert not cuts_prompt(asked(1000), {"prompt_tokens": 900})
    assert not cuts_prompt(asked(1000), {"prompt_tokens": 500, "cached_tokens": 400})
    assert not cuts_prompt(asked(1000), {"prompt_tokens": 0})
    assert not cuts_prompt(asked(1000), {})
    assert cuts_prompt(asked(300), {"prompt_tokens": 10})
    assert not cuts_prompt(asked(299), {"prompt_tokens": 10})


def test_a_server_that_cuts_prompts_is_warned_of_once(run):
    text = "The council met on a day in May. " * 500
    write_rows("items.jsonl", [{**ITEM, "id": str(n), "text": f"{text}{n}"} for n in range(3)])
    with ReplayServer(lambda *_: (200, completion(tokens=2051))) as server:
        code, _, err = run("judge", "support", "items.jsonl", "--judge", server.spec, "--out", "o")
    assert code == 0
    assert err.count("cuts prompts off") == 1
    assert "counted 2,051 tokens" in err


# --- request fields


def test_request_fields_are_sent_and_kept_apart_in_the_store(run):
    write_rows("items.jsonl", [ITEM])
    Path("fields.json").write_text('{"chat_template_kwargs": {"enable_thinking": false}}')
    with ReplayServer(lambda *_: (200, completion())) as server:
        command = ("judge", "support", "items.jsonl", "--judge", server.spec)
        low = ("--set", 'request={"reasoning_effort": "low"}')
        assert run(*command, "--out", "a")[0] == 0
        assert run(*command, "--out", "b", *low)[0] == 0
        assert run(*command, "--out", "c", "--set", "request=fields.json")[0] == 0
        assert len(server.requests) == 3
        assert run(*command, "--out", "d", *low)[0] == 0  # from the store
        assert run(*command, "--out", "e", *low, "--from-store")[0] == 0
        assert len(server.requests) == 3
    plain, with_effort, with_kwargs = server.requests
    assert {**plain, "reasoning_effort": "low"} == with_effort
    assert with_kwargs["chat_template_kwargs"] == {"enable_thinking": False}
    assert rows_of("d") == rows_of("b")
    assert run("store", "--export", "s.jsonl")[0] == 0
    assert run("files", "merge", "s.jsonl", "--out", "other.sqlite")[0] == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"model": "other"}', "model cannot be set here: use --judge or --llm"),
        ('{"temperature": 1}', "use --set temperature"),
        ('{"messages": []}', "messages cannot be set here: Pnyx sets it itself"),
        ('{"api_key": "x"}', "looks like a secret: set PNYX_API_KEY"),
        ('{"extra": [{"Authorization": "x"}]}', "Authorization looks like a secret"),
        ('{"a": ', "expected a JSON object of fields"),
        ("nowhere.json", "nowhere.json"),
    ],
)
def test_fields_that_cannot_be_set_are_refused_before_anything_is_asked(text, problem, run):
    write_rows("items.jsonl", [ITEM])
    with ReplayServer(lambda *_: (200, completion())) as server:
        command = ("judge", "support", "items.jsonl", "--judge", server.spec, "--out", "o")
        code, _, err = run(*command, "--set", f"request={text}")
        assert server.requests == []
    assert code == 2
    assert problem in err
    assert err.count("\n") == 1
    assert not Path("o").exists()


def test_a_field_that_the_server_refuses_ends_the_run_and_is_named(run):
    write_rows("items.jsonl", [ITEM])
    error = {"error": {"message": "Unknown parameter: 'reasoning_effort'", "param": None}}
    with ReplayServer(lambda *_: (400, error)) as server:
        command = ("judge", "support", "items.jsonl", "--judge", server.spec, "--out", "o")
        code, _, err = run(*command, "--set", 'request={"reasoning_effort": "low"}')
        assert len(server.requests) == 1
    assert code == 2
    assert "refuses the field 'reasoning_effort' of --set request" in err


def test_a_record_does_not_choose_request_fields_by_itself(run):
    write_rows("items.jsonl", [ITEM])
    fields = '{"reasoning_effort": "low"}'
    with ReplayServer(lambda *_: (200, completion())) as server:
        command = ("judge", "support", "items.jsonl", "--judge", server.spec, "--out", "a")
        assert run(*command, "--set", f"request={fields}")[0] == 0
        repeat = ("files", "repeat", "a", "--with", f"judge={server.spec}")
        code, _, err = run(*repeat)
        assert code == 2
        assert "request fields (request: " in err
        assert run(*repeat, "--with", f"request={fields}")[0] == 0


# --- pnyx doctor


@pytest.mark.parametrize(
    ("counted", "said"),
    [(4096, "CUT OFF without an error"), pytest.param(0, "", marks=pytest.mark.all)],
)
def test_doctor_finds_out_whether_prompts_are_cut(counted, said, run):
    def answer(body: dict[str, Any], _: int) -> tuple[int, Any]:
        words = sum(len(message["content"].split()) for message in body["messages"])
        return 200, completion(tokens=min(words * 4 // 3, counted or 10**6))

    with ReplayServer(answer) as server:
        code, out, _ = run("doctor", "--llm", server.spec)
    assert code == 0
    assert (said or "taken whole") in out
