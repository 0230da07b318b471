"""What an endpoint's answer means, and what is said of a server that cannot be used."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from pnyx.core.errors import ModelError
from pnyx.models.chat.endpoint import ChatEndpoint, _enter
from pnyx.models.chat.ledger import Bound, Reservation
from pnyx.models.chat.types import CallFailed, ChatRequest, Message, Reply, is_oversized
from pnyx.models.http import transport
from pnyx.models.http.addresses import Secrets
from pnyx.models.http.dialect import Dialect
from pnyx.models.http.limiter import AdaptiveLimiter
from pnyx.models.http.responses import (
    RefusedRequest,
    ResponseClassifier,
    Retryable,
    RetryPolicy,
    retry_after,
)
from pnyx.models.http.transport import HttpResponse, NoResponse

SORTER = ResponseClassifier("http://a.org/v1", "test", Secrets())


def sorted_as(status: int, body: str, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return SORTER.sort(HttpResponse(status, named, body.encode()), "text")


@pytest.mark.parametrize(
    ("status", "body", "kind", "overloaded"),
    [
        (503, "Loading model", "loading", False),
        (404, "the model is still loading", "loading", False),
        (400, "model x is currently loading", "loading", False),
        (599, "warming up", "loading", False),
        (500, "code: json_validate_failed", "http", False),
        (429, "failed_generation", "http", False),
        (500, "oops", "http", False),
        (503, "oops", "http", True),
        (429, "slow down", "http", True),
        (204, "", "body", False),
        (200, "oops", "body", False),
    ],
)
def test_a_failure_that_may_pass_is_of_a_kind(status, body, kind, overloaded):
    outcome = sorted_as(status, body, retry_after="7")
    assert isinstance(outcome, Retryable)
    assert (outcome.kind, outcome.overloaded) == (kind, overloaded)
    waits = kind == "loading" or (kind == "http" and "fail" not in body)
    assert outcome.retry_after == (7.0 if waits else None)
    assert outcome.maybe_billed is (kind == "body")


def test_a_refusal_of_another_status_is_not_about_loading():
    assert isinstance(sorted_as(403, "loading model"), RefusedRequest)
    assert sorted_as(410, "loading model").reason.startswith("rejected: HTTP 410")


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, "no", "the key is refused or missing"),
        (402, "no", "payment is required"),
        (429, "insufficient_quota", "the account's quota is used up"),
        (301, "no", "points to elsewhere"),
    ],
)
def test_why_a_server_cannot_be_used(status, body, words):
    with pytest.raises(ModelError, match=words):
        sorted_as(status, body)
    with pytest.raises(ModelError, match=r"points to http://b\.org"):
        sorted_as(399, "", location="http://b.org")
    for code, meaning in (
        (403, "access is forbidden"),
        (404, "there is no model 'test'"),
        (405, "the address takes no such requests"),
        (422, "every request is refused"),
    ):
        assert f"HTTP {code}: {meaning}" in SORTER.hopeless(code, "no")


@pytest.mark.parametrize(
    ("kind", "outcome", "overloaded", "billed"),
    [
        ("too_big", "body", False, True),
        ("timeout", "timeout", True, True),
        ("connection", "connection", True, True),
        ("unreachable", "unreachable", True, False),
    ],
)
def test_what_is_not_answered_may_have_been_billed(kind, outcome, overloaded, billed):
    failed = SORTER.trouble(NoResponse(kind, "why"))
    assert isinstance(failed, Retryable)
    assert (failed.kind, failed.overloaded, failed.maybe_billed) == (outcome, overloaded, billed)
    assert failed.failed == CallFailed("why")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-1"}, 0.0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:16:50 GMT"}, 10.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:16:30 GMT"}, 0.0),
        ({}, None),
    ],
)
def test_the_wait_that_a_server_asks_for(monkeypatch, headers, seconds):
    monkeypatch.setattr("pnyx.models.http.responses.time.time", lambda: 1000.0)
    assert retry_after(headers) == seconds


def test_of_an_errors_words_160_characters_are_shown():
    assert len(SORTER.safe("x" * 161)) == 160
    assert SORTER.safe("x" * 160) == "x" * 160
    assert SORTER.safe("<p>No\n <b>way</b></p>") == "No way"
    assert SORTER.safe("a < b\n and c > d") == "a < b and c > d"
    assert SORTER.safe(" " * 4000 + "x") == ""  # 4,000 characters are looked at


# --- what an attempt costs, and how it paces the next


def reply(**usage: int) -> Reply:
    return Reply("yes", "stop", "m", usage, "text")


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (reply(prompt_tokens=3), "settled"),
        (CallFailed("empty: no text"), "uncertain"),
        (CallFailed("only_thinking: none"), "uncertain"),
        (CallFailed("rejected: no"), "released"),
        (Retryable(CallFailed("x"), "body"), "uncertain"),
        (Retryable(CallFailed("x"), "timeout"), "uncertain"),
        (Retryable(CallFailed("x"), "http"), "released"),
        (Retryable(CallFailed("x"), "unreachable"), "released"),
        (Retryable(CallFailed("x"), "loading"), "released"),
    ],
)
def test_what_an_attempt_may_have_cost(outcome, verdict):
    ticket = Reservation(Bound(1, 1))
    _enter(ticket, outcome)
    assert ticket.verdict == verdict
    assert ticket.usage == ({"prompt_tokens": 3} if verdict == "settled" else {})


@pytest.mark.parametrize(
    ("outcome", "verdict", "still_loads"),
    [
        (reply(), True, False),
        (CallFailed("empty"), True, False),
        (Retryable(CallFailed("x"), "http", overloaded=True), False, False),
        (Retryable(CallFailed("x"), "http", overloaded=False), None, False),
        (Retryable(CallFailed("x"), "timeout", overloaded=True), False, True),
        (Retryable(CallFailed("x"), "loading", overloaded=False), None, True),
    ],
)
def test_what_an_attempt_says_of_the_load(outcome, verdict, still_loads):
    endpoint = ChatEndpoint("http://127.0.0.1:1/v1", "test")
    endpoint._loading_since = 1.0
    slot: Any = SimpleNamespace(verdict=None)
    slot.served = lambda: setattr(slot, "verdict", True)
    slot.overloaded = lambda: setattr(slot, "verdict", False)
    endpoint._learn(slot, outcome)
    assert slot.verdict is verdict
    assert (endpoint._loading_since is not None) is still_loads


@pytest.mark.parametrize(("asked", "told"), [(14.9, 0), (15.0, 1), (90.0, 1)])
def test_a_long_pause_that_a_server_asks_for_is_told(asked, told):
    clock = [100.0]
    endpoint = ChatEndpoint("http://127.0.0.1:1/v1", "test", retry=RetryPolicy())
    endpoint.limiter = AdaptiveLimiter(4, clock=lambda: clock[0])
    lines: list[str] = []
    endpoint.on_wait = lines.append
    assert not endpoint.heed(Retryable(CallFailed("x"), "http"))
    for _ in range(2):  # the second is no news
        assert endpoint.heed(Retryable(CallFailed("x"), "http", asked))
    assert len(lines) == told
    assert endpoint.limiter.cooling == pytest.approx(min(asked, 60.0))
    assert endpoint.limiter.free == 0
    clock[0] += 60.0
    assert (endpoint.limiter.cooling, endpoint.limiter.free) == (0.0, 4)


def test_a_server_that_cannot_be_reached_is_tried_less_often():
    endpoint = ChatEndpoint("http://127.0.0.1:1/v1", "test")
    assert endpoint.attempts(Retryable(CallFailed("x"), "unreachable")) == 3
    assert endpoint.attempts(Retryable(CallFailed("x"), "http")) == 6
    assert endpoint.retry.timeout == 120.0
    lines: list[str] = []
    endpoint.on_retry = lines.append
    endpoint.announce(Retryable(CallFailed("x"), "http"), 2, 6)
    assert (endpoint.retries, lines) == (1, ["x (attempt 2 of 6)"])


# --- the wording of requests


REQUEST = ChatRequest(
    (Message("system", "Be brief."), Message("user", "Why?")), {"type": "object"}, logprobs=20
)


@pytest.mark.parametrize(
    ("body", "field", "value"),
    [
        ("top_logprobs must be at most 5 or 3", "most_alternatives", 5),
        ("top_logprobs must be below 20", "dropped", frozenset({"logprobs"})),
        ("top_logprobs must be 0", "dropped", frozenset({"logprobs"})),
        ("unsupported: response_format", "form", 1),
        ("unsupported: max_tokens", "limit", 1),
        ("no system role here", "merges_system", True),
        ("only streaming is allowed", "streams", True),
        ("unsupported: temperature", "dropped", frozenset({"temperature"})),
    ],
)
def test_a_refusal_changes_the_field_that_it_names(body, field, value):
    changed = Dialect().after_refusal(body, REQUEST)
    assert changed is not None
    names = ("form", "limit", "dropped", "merges_system", "streams", "most_alternatives")
    differing = [name for name in names if getattr(changed, name) != getattr(Dialect(), name)]
    assert differing == [field]
    assert getattr(changed, field) == value


def test_a_dialect_with_all_refusals_of_two():
    first = Dialect(1, 0, frozenset({"seed"}), True, False, 5)
    second = Dialect(0, 2, frozenset({"temperature"}), False, True, 3)
    merged = Dialect(1, 2, frozenset({"seed", "temperature"}), True, True, 3)
    assert first.merged(second) == second.merged(first) == merged
    assert Dialect().merged(first).most_alternatives == 5
    sent = merged.parameters(REQUEST)
    assert sent == {
        "logprobs": True,
        "top_logprobs": 3,
        "response_format": {"type": "json_object"},
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert merged.messages(REQUEST) == [{"role": "user", "content": "Be brief.\n\nWhy?"}]
    assert not merged.limits_output


def test_the_variants_of_a_request_come_likeliest_first():
    dialect = Dialect(streams=True)
    changed = [
        (variant.form, variant.limit, sorted(variant.dropped), variant.merges_system)
        for variant in dialect.variants(REQUEST)
    ]
    assert changed == [
        (0, 0, ["logprobs"], False),
        (1, 0, [], False),
        (2, 0, [], False),
        (0, 0, [], True),
        (0, 0, ["temperature"], False),
        (0, 1, [], False),
    ]
    plain = dialect.plainest(REQUEST)
    assert (plain.form, plain.merges_system) == (2, True)
    assert plain.dropped == {"logprobs", "top_logprobs", "temperature"}


def test_a_slot_is_free_again_after_an_attempt():
    limiter = AdaptiveLimiter(2)

    async def hold() -> tuple[int, int]:
        async with limiter.slot():
            return limiter.under_way, limiter.free

    assert anyio.run(hold) == (1, 1)
    assert (limiter.under_way, limiter.free, limiter.limit, limiter.ceiling) == (0, 2, 2, 2)


@pytest.mark.parametrize(
    ("under_way", "silent", "told", "next_look"),
    [(1, 9.8, [], 0.2), (2, 9.9, [(9.9, 2)], 10.0), (1, 12.0, [(12.0, 1)], 10.0), (0, 12.0, [], 0)],
)
def test_silence_is_told_while_a_request_is_open(monkeypatch, under_way, silent, told, next_look):
    lines: list[tuple[float, int]] = []
    looks: list[float] = []

    def later(token: object, seconds: float, look: object) -> str:
        looks.append(seconds)
        return "timer"

    monkeypatch.setattr(transport, "_later", later)
    monkeypatch.setattr(transport, "time", SimpleNamespace(monotonic=lambda: 100.0))
    wire: Any = ChatEndpoint(
        "http://127.0.0.1:1/v1", "test", retry=RetryPolicy(silence=10.0)
    )._wire()
    wire._on_silence = lambda seconds, count: lines.append((round(seconds, 6), count))
    wire._token, wire._cancel_timer = None, "timer"
    wire._under_way, wire._heard = under_way, 100.0 - silent
    wire._look()
    assert lines == told
    assert looks == pytest.approx([next_look] if next_look else [])
    assert wire._cancel_timer == ("timer" if next_look else None)


def test_a_reply_of_more_than_a_megabyte_is_oversized():
    assert [is_oversized("a" * size) for size in (1_048_576, 1_048_577)] == [False, True]
    assert [is_oversized("ä" * size) for size in (524_288, 524_289)] == [False, True]
