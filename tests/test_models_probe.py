"""What `pnyx.models.chat.probe` finds out, over real HTTP; how windows are published."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat_server import ChatServer, Handler, patience
from pnyx.core.errors import PnyxError
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.chat.open_endpoint import endpoint_from
from pnyx.models.chat.probe import ProbeReport, models_in, probe, window_in
from pnyx.models.chat.types import ChatRequest, Message, Reply
from pnyx.models.http.responses import RetryPolicy
from tries import tries

VERDICT = '{"answer": "yes", "confidence": 0.9}'
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"enum": ["yes", "no"]}, "confidence": {"type": "number"}},
}
REQUEST = ChatRequest((Message("user", "Is it so? Reply in JSON."),), SCHEMA, logprobs=10)
MODELS = {"data": [{"id": "test"}]}
FAST = RetryPolicy(timeout=60, attempts=2, connect_attempts=1, first_wait=0.01, longest_wait=0.05)


class Publishing(Handler):
    """Answers GET requests out of `server.pages`: path -> JSON; anything else is a 404."""

    def do_GET(self) -> None:  # noqa: N802 - http.server's name for it
        page = self.server.pages.get(self.path)
        self.server.record("got", path=self.path)
        if page is None:
            self.send_error_json(404, "not here")
        else:
            self.send_json(page)


class PublishingServer(ChatServer):
    def __init__(self, pages: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init__(**{"reply": VERDICT, **options})
        self.RequestHandlerClass = Publishing
        self.pages = {"/v1/models": MODELS} if pages is None else pages


def read(reply: Reply) -> None:
    value = json.loads(reply.text)
    if set(value) != {"answer", "confidence"}:
        raise ValueError("other fields")


def run(server: ChatServer, model: str = "test", **options: Any) -> ProbeReport:
    endpoint = ChatEndpoint(server.url, model, "sk-secret", retry=FAST)
    options = {"timeout": 60, "seconds": 600, **options}
    return anyio.run(lambda: probe(endpoint, REQUEST, read, **options))


def outcomes(found: ProbeReport) -> dict[str, str]:
    return {shape.form: shape.outcome for shape in found.shapes}


def test_a_server_that_can_do_everything():
    with PublishingServer(logprobs="words") as server:
        found = run(server)
        asked = len(server.log) - len(server.answered())
        billed = server.billed
    assert (found.usable, found.problem, found.late) == (True, "", False)
    assert found.published.models == ("test",)
    assert set(outcomes(found).values()) == {"followed"}
    assert (found.used, found.limit, found.refused) == ("json_schema", "max_tokens", ())
    assert found.alternatives >= 3
    assert {"prompt_tokens", "completion_tokens", "cached_tokens"} <= set(found.usage)
    # What it says that it took is what the server saw.
    assert found.requests == asked
    assert found.tokens == billed["prompt_tokens"] + billed["completion_tokens"]
    assert "reply" not in found.as_json()
    assert "sk-secret" not in json.dumps(found.as_json())


@pytest.mark.parametrize(
    ("formats", "used", "expected"),
    [
        (["json_object"], "json_object", ["refused", "followed", "followed"]),
        (["json_schema"], "json_schema", ["followed", "refused", "followed"]),
        ([], "text", ["refused", "refused", "followed"]),
    ],
)
def test_each_form_is_tried_and_a_refused_one_is_told(formats, used, expected):
    with PublishingServer(formats=formats) as server:
        found = run(server)
    assert list(outcomes(found).values()) == expected
    assert found.used == used


def test_a_schema_that_is_taken_but_not_heeded_is_told():
    with PublishingServer(reply='{"verdict": "yes"}') as server:
        found = run(server)
    assert found.usable
    assert outcomes(found)["json_schema"] == "not followed"
    assert found.shapes[0].detail == "other fields"


def test_replies_that_are_cut_off():
    with PublishingServer(default="length") as server:
        found = run(server)
    assert found.usable
    assert outcomes(found)["json_schema"] == "cut off"


def test_logprobs_refused_missing_or_given():
    with PublishingServer(rejects=["logprobs"]) as server:
        refused = run(server)
    with PublishingServer() as server:
        missing = run(server)
    with PublishingServer(logprobs="words") as server:
        given_ones = run(server)
    assert (refused.alternatives, refused.refused) == (0, ("logprobs",))
    assert (missing.alternatives, missing.alternatives_alone, missing.refused) == (0, 0, ())
    assert given_ones.alternatives >= 3


def test_refused_parameters_are_named():
    with PublishingServer(rejects=["temperature", "seed", "max_tokens"]) as server:
        found = run(server)
    assert set(found.refused) == {"temperature", "seed", "max_tokens"}
    assert found.limit == "max_completion_tokens"


@pytest.mark.parametrize(
    ("pages", "window", "source"),
    [
        ({"/v1/models": {"data": [{"id": "test", "max_model_len": 4096}]}}, 4096, "max_model_len"),
        ({"/v1/models": [{"id": "test", "context_length": 8192}]}, 8192, "context_length"),
        (
            {"/v1/models": {"data": [{"id": "a"}, {"id": "test", "context_window": 9000}]}},
            9000,
            "context_window",
        ),
        (
            {"/v1/models": {"data": [{"id": "test", "meta": {"n_ctx_train": 131072}}]}},
            131072,
            "meta.n_ctx_train, what it was trained for",
        ),
        (
            {
                "/v1/models": {"data": [{"id": "test", "meta": {"n_ctx_train": 131072}}]},
                "/props": {"default_generation_settings": {"n_ctx": 2048}},
            },
            2048,
            "n_ctx of /props",
        ),
        (
            {"/v1/models": {"data": [{"id": "m.gguf", "max_model_len": 512}]}},
            512,
            "max_model_len of the only model listed",
        ),
        ({"/v1/models": {"data": [{"id": "a", "max_model_len": 1}, {"id": "b"}]}}, None, ""),
        ({"/v1/models": {"data": [{"id": "test", "max_model_len": "big"}]}}, None, ""),
        ({"/v1/models": MODELS}, None, ""),
        ({}, None, ""),
    ],
)
def test_the_window_is_what_the_server_publishes(pages, window, source):
    with PublishingServer(pages) as server:
        found = run(server)
    assert (found.window, found.window_from) == (window, source)
    assert found.usable


def test_a_model_list_that_is_none():
    with PublishingServer({}) as server:
        found = run(server)
    assert found.published.models is None
    assert found.published.problem == "HTTP 404"


@settings(max_examples=tries(60))
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["data", "id", "meta", "n_ctx", "max_model_len", "x"]), inner
            )
        ),
    )
)
def test_no_list_of_models_crashes_the_reader(value):
    for entry in models_in(json.dumps(value).encode()) or ():
        found = window_in(entry)
        assert found is None or (type(found[0]) is int and found[0] > 0)


@given(st.binary(max_size=40))
def test_no_bytes_crash_the_reader(body):
    assert models_in(body) is None or isinstance(models_in(body), list)


def test_a_probe_leaves_the_endpoint_as_it_was():
    with PublishingServer() as server:
        endpoint = ChatEndpoint(server.url, "test", retry=FAST, concurrency=5)
        pace = endpoint.limiter
        anyio.run(lambda: probe(endpoint, REQUEST, read, timeout=60, seconds=600))
    assert (endpoint.limiter, endpoint.retry) == (pace, FAST)
    assert endpoint.response_format == "json_schema"


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ("401", "HTTP 401"),
        ("html", "does not answer as an OpenAI-compatible endpoint"),
        ("404", "there is no model"),
        ("quota", "quota is used up"),
        ("500", "server_error"),
        ("429", "rate_limit"),
        ("reset", "connection"),
        pytest.param("hang", "timeout", marks=pytest.mark.all),
    ],
)
def test_an_endpoint_that_cannot_be_used(behaviour, said):
    with PublishingServer(default=behaviour) as server:
        found = run(server, timeout=patience(behaviour))
    assert not found.usable
    assert said in found.problem
    assert "sk-secret" not in json.dumps(found.as_json())


def test_nothing_listens():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        endpoint = ChatEndpoint(f"http://127.0.0.1:{free.getsockname()[1]}/v1", "m", retry=FAST)
        found = anyio.run(lambda: probe(endpoint, REQUEST, read, timeout=60, seconds=600))
    assert not found.usable
    assert "cannot be reached" in found.problem


def test_one_unlucky_request_leaves_the_others():
    with PublishingServer(script=["empty"]) as server:
        found = run(server)
    assert found.usable
    assert outcomes(found)["json_schema"] == "failed"
    assert found.alternatives_alone is None
    assert outcomes(found)["text"] == "not tried"


def test_a_probe_ends_in_time():
    with PublishingServer(delay=0.4) as server:
        found = run(server, seconds=1.0)
    assert found.late
    assert found.usable
    assert found.seconds < 3


@pytest.mark.all
def test_a_local_model_is_asked_through_the_same_protocol():
    try:
        model: Any = endpoint_from("local")
    except PnyxError as error:
        pytest.skip(str(error))
    answer = {"properties": {"answer": SCHEMA["properties"]["answer"]}, "required": ["answer"]}
    request = replace(REQUEST, schema={"type": "object", **answer}, max_tokens=32)
    try:
        found = anyio.run(lambda: probe(model, request, lambda r: json.loads(r.text), seconds=600))
    finally:
        model.close()
    assert found.usable, found.problem
    assert outcomes(found)["json_schema"] == "followed"
    assert found.alternatives > 1
    assert found.window >= 256
    assert "chance" in found.notice
