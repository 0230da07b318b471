"""The endpoint client, over real HTTP against a server that misbehaves on purpose."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import socket
import time
from dataclasses import replace

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_server import ChatServer, Handler, patience
from pnyx.core.errors import InputError, ModelError
from pnyx.models.chat.completion import read_reply
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.chat.open_endpoint import endpoint_from
from pnyx.models.chat.types import CallFailed, ChatRequest, Message, Reply
from pnyx.models.http.dialect import Dialect, refused_parameter
from pnyx.models.http.responses import RetryPolicy, retry_after

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}
HASTY = RetryPolicy(timeout=60, attempts=3, first_wait=0.01, longest_wait=3.0)


def request(text: str = "hello", **fields: object) -> ChatRequest:
    return ChatRequest((Message("user", text),), SCHEMA, max_tokens=50, **fields)


def complete(server: ChatServer, asked: ChatRequest | None = None, **fields: object):
    endpoint = ChatEndpoint(server.url, "test", **{"retry": HASTY, **fields})
    return anyio.run(endpoint.complete, asked or request())


def test_a_reply_carries_what_the_server_said():
    with ChatServer() as server:
        reply = complete(server)
    assert isinstance(reply, Reply)
    assert reply.finish_reason == "stop"
    assert reply.model == "test"
    assert reply.response_format == "json_schema"
    assert reply.usage["completion_tokens"] > 0
    sent = server.asked()[0]["parameters"]
    assert sent["temperature"] == 0
    assert sent["max_tokens"] == 50
    assert "seed" not in sent
    assert server.asked()[0]["authorization"] is None


@pytest.mark.parametrize(
    "trouble",
    ["429", "429_after", "500", "reset", "cut_body", pytest.param("hang", marks=pytest.mark.all)],
)
def test_trouble_that_passes_is_waited_out(trouble):
    with ChatServer([trouble]) as server:
        assert isinstance(complete(server, retry=replace(HASTY, timeout=patience(trouble))), Reply)
    assert [row["behaviour"] for row in server.asked()] == [trouble, "ok"]


@pytest.mark.all
@pytest.mark.parametrize(
    ("trouble", "reason", "attempts"),
    [
        ("429", "rate_limit", 3),
        ("500", "server_error", 3),
        ("reset", "connection", 3),
        ("hang", "timeout", 3),
        ("drip", "timeout", 3),
        ("empty", "empty", 1),
        ("no_content", "empty", 1),
        ("too_long", "too_long", 1),
        ("400", "rejected", 1),
    ],
)
def test_trouble_that_stays_is_a_named_failure(trouble, reason, attempts):
    with ChatServer(["ok"], default=trouble) as server:
        retry = replace(HASTY, timeout=patience(trouble))
        endpoint = ChatEndpoint(server.url, "test", retry=retry)

        async def ask():
            assert isinstance(await endpoint.complete(request("first")), Reply)
            return await endpoint.complete(request("second"))

        failed = anyio.run(ask)
    assert isinstance(failed, CallFailed)
    assert failed.reason.split(":")[0] == reason
    assert len(server.asked()) == 1 + attempts


@pytest.mark.parametrize("trouble", ["html", "cut_body", "no_choices"])
def test_an_endpoint_that_was_fine_before_only_loses_the_one_request(trouble):
    with ChatServer(["ok"], default=trouble) as server:
        retry = replace(HASTY, timeout=patience(trouble))
        endpoint = ChatEndpoint(server.url, "test", retry=retry)

        async def ask():
            await endpoint.complete(request("first"))
            return await endpoint.complete(request("second"))

        failed = anyio.run(ask)
    word = "malformed" if trouble == "no_choices" else "not_json"
    assert isinstance(failed, CallFailed)
    assert failed.reason.startswith(word + ":")


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("html", "a web page"),
        ("401", "key is refused"),
        ("404", "no model 'test'"),
        ("quota", "quota is used up"),
    ],
)
def test_a_hopeless_endpoint_is_one_line(trouble, words):
    with ChatServer(default=trouble) as server, pytest.raises(ModelError, match=words) as caught:
        complete(server)
    assert "\n" not in str(caught.value)


def test_nothing_listens():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    endpoint = ChatEndpoint(url, "test", retry=HASTY)
    with pytest.raises(ModelError, match="cannot be reached"):
        anyio.run(endpoint.complete, request())


def test_other_credentials_of_the_environment_stay_at_home(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "private")
    with ChatServer() as server:
        complete(server)
    assert "private" not in server.asked()[0]["headers"]


def test_the_key_is_sent_and_nowhere_to_be_seen():
    secret = "sk-very-secret-123"
    with ChatServer(default="401") as server, pytest.raises(ModelError) as caught:
        complete(server, api_key=secret)
    assert server.asked()[0]["authorization"] == f"Bearer {secret}"
    assert "***" in str(caught.value)
    assert secret not in str(caught.value)
    assert secret not in repr(ChatEndpoint("http://h/v1", "m", secret))


@pytest.mark.parametrize(
    ("trouble", "least"), [("429_after", 0.3), pytest.param("429_date", 0.9, marks=pytest.mark.all)]
)
def test_retry_after_is_honoured(trouble, least):
    with ChatServer([trouble]) as server:
        start = time.monotonic()
        assert isinstance(complete(server), Reply)
        assert time.monotonic() - start >= least


def test_retry_after_is_capped():
    assert RetryPolicy(longest_wait=5).wait(1, 1e9) == 5
    assert retry_after({"retry-after": "2.5"}) == 2.5
    assert retry_after({"retry-after-ms": "250"}) == 0.25
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    for nonsense in ("soon", "nan", "inf", "", "-1e400"):
        assert retry_after({"retry-after": nonsense}) in (None, 0)
    assert retry_after({}) is None


@pytest.mark.parametrize(("formats", "agreed"), [(("json_object",), "json_object"), ((), "text")])
def test_the_answers_shape_is_negotiated_once(formats, agreed):
    with ChatServer(formats=formats) as server:
        endpoint = ChatEndpoint(server.url, "test", retry=HASTY)

        async def ask():
            return [await endpoint.complete(request(str(i))) for i in range(3)]

        replies = anyio.run(ask)
    assert [r.response_format for r in replies] == [agreed] * 3
    refusals = {"json_object": 1, "text": 2}[agreed]
    assert len(server.asked()) == 3 + refusals


def test_a_blind_refusal_is_guessed_at_only_until_something_works():
    with ChatServer(default="blind") as server:
        endpoint = ChatEndpoint(server.url, "test", retry=HASTY)

        async def ask():
            return [await endpoint.complete(request(str(i))) for i in range(2)]

        replies = anyio.run(ask)
    assert [r.response_format for r in replies] == ["text", "text"]
    # The refusal, the greeting, two weaker forms; then the second request.
    assert len(server.asked()) == 4 + 1


def test_rejected_parameters_are_dropped_and_remembered():
    with ChatServer(rejects=["temperature", "seed", "max_tokens"]) as server:
        endpoint = ChatEndpoint(server.url, "test", retry=HASTY)

        async def ask():
            return [await endpoint.complete(request(str(i), seed=1)) for i in range(2)]

        assert all(isinstance(r, Reply) for r in anyio.run(ask))
    last = server.asked()[-1]["parameters"]
    assert not {"temperature", "seed", "max_tokens"} & set(last)
    assert last["max_completion_tokens"] == 50
    assert len(server.asked()) == 2 + 3


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (
            '{"error": {"param": "max_tokens", "message": "use max_completion_tokens"}}',
            "max_tokens",
        ),
        ('{"error": {"message": "temperature is not supported", "param": null}}', "temperature"),
        ('{"detail": [{"loc": ["body", "response_format", "type"]}]}', "response_format"),
        ('{"detail": [{"loc": ["body", "messages"], "input": "response_format"}]}', None),
        ('{"error": {"message": "unknown field foo"}}', None),
        ("guided decoding is off", "response_format"),
        ("[]", None),
    ],
)
def test_which_parameter_an_error_names(body, name):
    sent = {"max_tokens": 5, "temperature": 0, "response_format": {}}
    assert refused_parameter(body, sent) == name


def test_a_dialect_runs_out():
    assert Dialect(form=2).without("response_format") is None
    assert Dialect(limit=2).without("max_tokens") is None


def ask_many(endpoint: ChatEndpoint, texts, backend: str = "asyncio") -> list:
    outcomes = []

    async def one(text: str) -> None:
        outcomes.append(await endpoint.complete(request(text)))

    async def main() -> None:
        async with endpoint.connected(), anyio.create_task_group() as group:
            for text in texts:
                group.start_soon(one, text)

    anyio.run(main, backend=backend)
    return outcomes


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_no_more_than_the_ceiling_is_under_way(backend):
    with ChatServer(delay=0.03) as server:
        endpoint = ChatEndpoint(server.url, "test", retry=HASTY, concurrency=3)
        outcomes = ask_many(endpoint, map(str, range(12)), backend)
    under_way = most = 0
    for row in server.log:
        under_way += 1 if row["event"] == "asked" else -1
        most = max(most, under_way)
    assert all(isinstance(o, Reply) for o in outcomes)
    assert most == 3


def test_overload_is_learnt_and_a_cool_down_holds_for_all(monkeypatch):
    script = ["ok", "429_after", "429_after", "429_after"]
    with ChatServer(script, delay=0.02) as server:
        endpoint = ChatEndpoint(server.url, "test", retry=HASTY, concurrency=16)
        first, cool = endpoint.limiter.limit, endpoint.limiter.cool
        cooling: list[float] = []

        def noting(seconds: float) -> None:
            cool(seconds)
            cooling.append(endpoint.limiter.cooling)

        monkeypatch.setattr(endpoint.limiter, "cool", noting)
        start = time.monotonic()
        outcomes = ask_many(endpoint, map(str, range(4)))
        took = time.monotonic() - start
    assert all(isinstance(o, Reply) for o in outcomes)
    assert endpoint.limiter.limit < first
    assert took >= 0.3
    assert max(cooling) <= 0.3  # three of 0.3 s at once do not add up
    assert endpoint.retries == 3


@pytest.mark.all
def test_a_sleeping_retry_holds_no_slot():
    retry = RetryPolicy(timeout=60, attempts=2, first_wait=4.0)
    with ChatServer(["500"]) as server:
        endpoint = ChatEndpoint(server.url, "test", retry=retry, concurrency=1)
        done = []

        async def one(text: str) -> None:
            await endpoint.complete(request(text))
            done.append(text)

        async def main() -> None:
            async with endpoint.connected(), anyio.create_task_group() as group:
                group.start_soon(one, "fails first")
                while not endpoint.retries:
                    await anyio.sleep(0.01)
                group.start_soon(one, "goes ahead")

        anyio.run(main)
    assert done == ["goes ahead", "fails first"]


def test_an_endpoint_that_answers_nothing_any_more_ends_the_run():
    retry = RetryPolicy(timeout=60, attempts=2, first_wait=0.001)
    with ChatServer(["ok"], default="500") as server:
        endpoint = ChatEndpoint(server.url, "test", retry=retry, concurrency=4)
        failures = []

        async def main() -> None:
            assert isinstance(await endpoint.complete(request()), Reply)
            for number in range(100):
                failed = await endpoint.complete(request(str(number)))
                failures.append(failed)

        with pytest.raises(ModelError, match="the same command resumes") as caught:
            anyio.run(main)
    assert len(failures) == 19
    assert "HTTP 500" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_fails_for_its_own_reasons_does_not_end_the_run():
    with ChatServer(["ok"], default="too_long") as server:
        endpoint = ChatEndpoint(server.url, "test", retry=HASTY)
        failed = [anyio.run(endpoint.complete, request(str(i))) for i in range(30)][1:]
    assert {f.reason.split(":")[0] for f in failed} == {"too_long"}


@pytest.mark.all
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_silent_endpoint_gives_a_sign_of_life_before_its_time_is_up(backend):
    retry = RetryPolicy(timeout=0.7, attempts=1, silence=0.2)
    with ChatServer(default="hang") as server:
        endpoint = ChatEndpoint(server.url, "test", retry=retry)
        lines: list[str] = []
        endpoint.on_wait = lines.append
        (failed,) = ask_many(endpoint, ["q"], backend)
    assert failed.reason.startswith("timeout")
    assert 1 <= len(lines) <= 4
    said = r"has sent nothing for \d+ s \(1 request open; timeout of each: 0\.7 s\)"
    assert re.search(said, lines[0])


@pytest.mark.all
def test_a_lively_endpoint_is_not_called_silent():
    retry = RetryPolicy(timeout=60, silence=6)
    with ChatServer(delay=0.8) as server:
        endpoint = ChatEndpoint(server.url, "test", retry=retry, concurrency=1)
        lines: list[str] = []
        endpoint.on_wait = lines.append
        ask_many(endpoint, map(str, range(8)))
    assert lines == []


class Odd(Handler):
    """Answers that no model gives."""

    def do_ok(self) -> None:
        if "redirect" in self.prompt:
            self.send(307, b"", {"Location": "http://192.0.2.1/v1/chat/completions"})
        elif "bomb" in self.prompt:
            self.send(200, gzip.compress(bytes(80_000_000)), {"Content-Encoding": "gzip"})
        elif "big" in self.prompt:
            self.start(200, 80_000_000, {})
            for _ in range(80):
                self.wfile.write(bytes(1_000_000))
        elif "zip" in self.prompt:
            content = gzip.compress(json.dumps(self.completion("fine")).encode())
            self.send(200, content, {"Content-Encoding": "gzip"})
        else:
            super().do_ok()


def test_a_redirect_is_not_followed_and_the_key_stays():
    with ChatServer() as server:
        server.RequestHandlerClass = Odd
        with pytest.raises(ModelError, match=r"points to http://192\.0\.2\.1") as caught:
            complete(server, request("redirect"), api_key="sk-1")
    assert "\n" not in str(caught.value)
    assert len(server.asked()) == 1


@pytest.mark.parametrize("text", ["bomb", "big"])
def test_a_body_without_end_is_not_read(text):
    retry = RetryPolicy(timeout=120, attempts=1)
    with ChatServer() as server:
        server.RequestHandlerClass = Odd
        endpoint = ChatEndpoint(server.url, "test", retry=retry)
        anyio.run(endpoint.complete, request("first"))
        failed = anyio.run(endpoint.complete, request(text))
    assert failed.reason == "malformed: the body is longer than 16 MB (1 attempts)"


def test_a_compressed_body_is_read_all_the_same():
    with ChatServer() as server:
        server.RequestHandlerClass = Odd
        assert complete(server, request("zip")).text == "fine"


def test_proxies_of_the_environment_serve_other_hosts_but_not_this_one(monkeypatch):
    with ChatServer() as server:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        monkeypatch.setenv("no_proxy", "")
        assert isinstance(complete(server), Reply)
        monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
        elsewhere = ChatEndpoint("http://example.invalid/v1", "test", retry=HASTY)
        assert isinstance(anyio.run(elsewhere.complete, request("by proxy")), Reply)
        monkeypatch.setenv("http_proxy", "gopher://127.0.0.1")
        with pytest.raises(ModelError, match="proxy"):
            anyio.run(elsewhere.complete, request())


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_body_crashes_the_reader(body):
    outcome = read_reply(body, model="m", response_format="text")
    assert isinstance(outcome, Reply | CallFailed)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(json_values, json_values, json_values, json_values)
def test_no_completion_of_odd_types_crashes_the_reader(content, finish, usage, model):
    message = {"content": content, "refusal": finish}
    choice = {"message": message, "finish_reason": finish}
    body = json.dumps({"choices": [choice], "usage": usage, "model": model}).encode()
    outcome = read_reply(body, model="m", response_format="text")
    if isinstance(outcome, Reply):
        assert outcome.text.encode()
        assert isinstance(outcome.model, str)


def test_specs(monkeypatch):
    monkeypatch.setenv("PNYX_API_KEY", "k1")
    monkeypatch.setenv("OPENAI_API_KEY", "k2")
    assert repr(endpoint_from("http://h:1/v1/#a/b")) == "ChatEndpoint('http://h:1/v1', 'a/b')"
    assert endpoint_from("openai:gpt").base_url == "https://api.openai.com/v1"
    monkeypatch.delenv("PNYX_API_KEY")
    assert endpoint_from("http://h/v1#m")._key is None
    assert endpoint_from("openai:gpt")._key == "k2"
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(InputError, match="needs a key"):
        endpoint_from("openai:gpt")
    monkeypatch.setenv("PNYX_API_KEY", "sk\n1")
    with pytest.raises(InputError, match="cannot be part of a key"):
        endpoint_from("http://h/v1#m")


@pytest.mark.parametrize(
    "spec", ["", "gpt-4", "http://h/v1", "http://#m", "ftp://h/v1#m", "http://h:x/v1#m", "openai:"]
)
def test_a_bad_spec_shows_the_forms(spec):
    with pytest.raises(
        InputError, match=r"http://HOST:PORT/v1#MODEL or openai:MODEL or local or gguf:PATH"
    ):
        endpoint_from(spec)


def test_a_password_in_the_address_is_refused_and_not_shown():
    with pytest.raises(InputError) as caught:
        endpoint_from("http://me:hunter2@h/v1#m")
    assert "hunter2" not in str(caught.value)


def test_a_local_model_stands_alone():
    with pytest.raises(InputError, match="answers alone"):
        endpoint_from(["local", "http://h/v1#m"])


def test_silence_is_told_under_a_plain_event_loop_too():
    said: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1"
        retry = RetryPolicy(timeout=0.5, attempts=1, silence=0.1)
        endpoint = ChatEndpoint(url, "test", retry=retry)
        endpoint.on_wait = said.append
        outcome = asyncio.run(endpoint.complete(request()))  # as in a notebook, without anyio.run
    assert isinstance(outcome, CallFailed)
    assert "has sent nothing" in said[0]
