"""Limits of what models are sent and of what is read of their answers, each at its boundary."""

from __future__ import annotations

import hashlib
import json
import random
from types import SimpleNamespace
from typing import Any

import anyio
import numpy as np
import pytest

from chat_server import ChatServer
from embedding_server import EmbeddingServer
from pnyx.core.errors import InputError, ModelError
from pnyx.models.chat.completion import error_in, read_reply
from pnyx.models.chat.dialect_search import DialectSearch
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.chat.ledger import bound_of, estimate, expected_of
from pnyx.models.chat.probe import models_in, window_in
from pnyx.models.chat.types import CallFailed, ChatRequest, Message, Reply
from pnyx.models.embed.encoder import load_encoder
from pnyx.models.embed.endpoint import EmbeddingEndpoint
from pnyx.models.http.dialect import Dialect
from pnyx.models.http.limiter import Limit
from pnyx.models.http.responses import RefusedRequest, Retryable, RetryPolicy
from pnyx.models.local import model as local_model
from pnyx.models.local.process import fingerprint
from pnyx.models.request_fields import read_request_fields

ADDRESS = "http://127.0.0.1:1/v1"
REQUEST = ChatRequest((Message("user", "Fares fell."),), max_tokens=100)


# --- what is read of a completion


def reply_of(choice: dict[str, Any] | None = None, **fields: Any) -> Reply:
    """Return a reply of a server with these fields in its completion and in its choice."""
    choices = [{"message": {"content": "yes"}, "finish_reason": "stop", **(choice or {})}]
    body = json.dumps({"choices": choices, **fields}).encode()
    reply = read_reply(body, model="asked", response_format="text")
    assert isinstance(reply, Reply)
    return reply


def logprobs(*tokens: tuple[str, float]) -> dict[str, Any]:
    content = [
        {"token": text, "logprob": value, "top_logprobs": [{"token": text, "logprob": value}]}
        for text, value in tokens
    ]
    return {"logprobs": {"content": content}}


@pytest.mark.parametrize(("length", "is_kept"), [(3_145_706, True), (3_145_707, False)])
def test_token_probabilities_take_at_most_six_mebibytes(length, is_kept):
    """Of a token, its text and an alternative with the same text: 8 + 2 * (16 + 2 + length)."""
    tokens = reply_of(logprobs(("a" * length, -0.1))).tokens
    assert (tokens is not None) is is_kept


@pytest.mark.parametrize(("length", "shown"), [(1000, 1000), (1001, 1000)])
def test_the_name_that_a_server_states_has_at_most_1000_characters(length, shown):
    assert len(reply_of(model="m" * length).model) == shown
    assert reply_of(model="").model == reply_of(model=7).model == "asked"


@pytest.mark.parametrize(
    ("logprob", "kept"),
    [(1e-6, 0.000001), (1.1e-6, None), (-999.9, -999.9), (-1000, None), (-0.12345678, -0.123457)],
)
def test_a_log_probability_is_at_most_0_and_above_minus_1000(logprob, kept):
    (token,) = reply_of(logprobs(("yes", logprob))).tokens or ()
    assert token.alternatives == (() if kept is None else (("yes", kept),))


def test_the_likeliest_alternative_of_a_token_comes_first():
    content = {"token": "no", "logprob": -2.0}
    content["top_logprobs"] = [{"token": text, "logprob": -n} for n, text in enumerate("abc", 1)]
    (token,) = reply_of({"logprobs": {"content": [content]}}).tokens or ()
    assert token.alternatives == (("a", -1.0), ("no", -2.0), ("b", -2.0), ("c", -3.0))


@pytest.mark.parametrize(
    ("values", "text"), [([0], "\0"), ([255], "\udcff"), ([256], "t"), ([-1], "t"), ([True], "t")]
)
def test_the_bytes_of_a_token_are_from_0_to_255(values, text):
    content = [{"token": "t", "logprob": -0.1, "bytes": values}]
    (token,) = reply_of({"logprobs": {"content": content}}).tokens or ()
    assert token.text == text


@pytest.mark.parametrize(
    ("count", "is_kept"),
    [(0, True), (2**53 - 1, True), (2**53, False), (-1, False), (True, False), (1.0, False)],
)
def test_a_count_of_tokens_is_a_whole_number_below_2_to_the_53(count, is_kept):
    usage = reply_of(usage={"prompt_tokens": count}).usage
    assert usage == ({"prompt_tokens": count} if is_kept else {})


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": "rate_limit_exceeded"}, 429),
        ({"code": "insufficient_quota"}, 429),
        ({"code": "invalid_api_key"}, 401),
        ({"type": "invalid_request_error"}, 400),
        ({"code": "context_length_exceeded"}, 400),
        ({"code": "model_not_found"}, 404),
        ({"code": 400}, 400),
        ({"code": 399}, 500),
        ({"code": 599}, 599),
        ({"code": 600}, 500),
        ({"code": "503"}, 503),
        ({"code": "0503"}, 500),
        ({"code": True}, 500),
        ({"status": 404}, 404),
        ({"code": "odd", "type": "model_not_found"}, 404),
    ],
)
def test_an_error_inside_http_200_has_a_status(error, status):
    body = json.dumps({"error": {"message": "no", **error}}).encode()
    assert (error_in(body) or (None,))[0] == status


@pytest.mark.parametrize(("depth", "message"), [(3, "deep"), (4, "")])
def test_the_message_of_an_error_is_looked_for_four_levels_deep(depth, message):
    error: Any = {"message": "deep"}
    for _ in range(depth):
        error = {"error": error}
    failed = read_reply(json.dumps({"error": error}).encode(), model="m", response_format="text")
    assert isinstance(failed, CallFailed)
    assert (failed.reason.partition(": ")[2] == "deep") is bool(message)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not_json: an empty body"),
        (b" \n<!DOCTYPE html><p>Hi", "not_json: the endpoint sent a web page"),
        (b"Hi there", "not_json: the endpoint sent 'Hi there'"),
        (b"[]", "malformed: found [], expected a chat completion"),
        (b'{"choices": []}', "malformed: the reply holds no choices"),
        (b'{"choices": [{}]}', "malformed: the reply's choice holds no message"),
        (b'{"choices": [{"message": {}}]}', "empty: the reply holds no text"),
        (b'{"choices": [{"message": {"content": 1}}]}', "malformed: the reply's content is not te"),
        (
            b'{"choices": [{"message": {"content": " ", "reasoning": "Hmm."}}]}',
            "only_thinking: the reply's content is empty; reasoning holds 4 characters",
        ),
        (
            b'{"choices": [{"message": {"content": [{"type": "thinking", "thinking": "Hm"}]}}]}',
            "only_thinking: the reply holds parts of thinking only",
        ),
    ],
)
def test_why_a_body_is_not_a_reply(body, reason):
    failed = read_reply(body, model="m", response_format="text")
    assert isinstance(failed, CallFailed)
    assert failed.reason.startswith(reason)


# --- the tokens of requests


def test_a_bound_has_16_tokens_for_a_message_and_128_for_a_request():
    messages = (Message("system", "ab"), Message("user", "é"))
    assert bound_of(ChatRequest(messages, max_tokens=9)).prompt == 4 + 2 * 16 + 128


def past(count: int) -> list[tuple[int, dict[str, int]]]:
    """Replies to prompts of 11 bytes with 11, 22, 33 ... tokens, and as many tokens themselves."""
    return [(11, {"prompt_tokens": 11 * n, "completion_tokens": n}) for n in range(1, count + 1)]


def test_an_estimate_is_from_the_5th_to_the_95th_percentile_of_past_replies():
    many = ChatRequest((Message("user", "Fares fell." * 100),), max_tokens=100)
    result = estimate([many], past=[(sent * 100, used) for sent, used in past(40)])
    assert result.completion_tokens == (3, 39)  # of 40, those at 5 % and 95 %
    assert result.prompt_tokens == (33, 11 * 39 + 1)


def test_what_is_expected_is_between_the_quartiles_of_five_past_replies():
    assert expected_of([(REQUEST, 1.0)], past=past(4)).completion_tokens == (10, 50)
    result = expected_of([(REQUEST, 1.0)], past=past(5))
    assert (result.prompt_tokens, result.completion_tokens) == ((22, 44), (2, 4))
    half = expected_of([(REQUEST, 0.5), (REQUEST, 1.0)], past=past(5))
    assert (half.requests, half.prompt_tokens, half.completion_tokens) == (2, (33, 66), (3, 6))


def test_without_past_replies_a_token_has_3_and_a_half_to_5_bytes():
    text = ChatRequest((Message("user", "a" * 70),), max_tokens=100)
    result = expected_of([(text, 1.0)])
    assert (result.prompt_tokens, result.completion_tokens) == ((14, 20), (10, 50))
    assert estimate([text]).prompt_tokens[0] == 12  # 70 / 6


@pytest.mark.parametrize(("length", "requests"), [(50_000, 1), (50_001, 2)])
def test_the_tokens_of_50000_characters_are_counted_in_one_request(length, requests):
    with ChatServer(tokenizes="vllm") as server:
        endpoint = ChatEndpoint(server.url, "test")
        counts = anyio.run(endpoint.count_tokens, ["a" * length])
        assert (counts, server.tokenized) == ([length], requests)


# --- endpoints that fail


def test_a_run_ends_at_the_twentieth_refused_request():
    dialect, refused = Dialect(), RefusedRequest(400, "No questions on fares.")
    endpoint: Any = SimpleNamespace(
        base_url=ADDRESS,
        replies=0,
        refused_in_a_row=18,
        accepted={dialect.features(REQUEST)},
        safe_words=lambda refused: refused.body,
        rejected=lambda refused: CallFailed("rejected"),
    )
    search = DialectSearch(endpoint, None, REQUEST, None)  # type: ignore[arg-type]
    assert anyio.run(search.run, dialect, refused) == CallFailed("rejected")
    with pytest.raises(ModelError, match="each of the first 20 requests"):
        anyio.run(search.run, dialect, refused)
    endpoint.replies = 1  # one that was answered shows that the server can be used
    assert anyio.run(search.run, dialect, refused) == CallFailed("rejected")


@pytest.mark.parametrize(("timeout", "longest"), [(30.0, 90.0), (20.0, 60.0), (10.0, 60.0)])
def test_an_endpoint_is_silent_for_three_timeouts_and_at_least_a_minute(timeout, longest):
    endpoint = ChatEndpoint(ADDRESS, "test", retry=RetryPolicy(timeout=timeout))
    late = Retryable(CallFailed("timeout"), "timeout")
    endpoint._check_silence(late, longest - 0.1)
    endpoint._check_silence(Retryable(CallFailed("no"), "connection"), 2 * longest)
    with pytest.raises(ModelError, match=f"sent nothing at all for {longest:.0f} s"):
        endpoint._check_silence(late, longest)


@pytest.mark.parametrize(("waited", "signs"), [(59.9, 1), (60.0, 2)])
def test_a_model_that_loads_is_mentioned_once_a_minute(monkeypatch, waited, signs):
    endpoint = ChatEndpoint(ADDRESS, "test", retry=RetryPolicy(loading=300.0))
    lines: list[str] = []
    endpoint.on_wait = lines.append
    clock = [1000.0]
    monkeypatch.setattr("pnyx.models.http.endpoint.time.monotonic", lambda: clock[0])
    for seconds in (0.0, waited):
        clock[0] = 1000.0 + seconds
        endpoint.wait_for_model(Retryable(CallFailed("server_error: loading"), "loading"))
    assert len(lines) == signs
    assert "waiting up to 300 s" in lines[0]


def test_a_model_that_loads_is_given_up_when_its_time_is_over(monkeypatch):
    endpoint = ChatEndpoint(ADDRESS, "test", retry=RetryPolicy(loading=10.0))
    clock = [0.0]
    monkeypatch.setattr("pnyx.models.http.endpoint.time.monotonic", lambda: clock[0])
    loading = Retryable(CallFailed("server_error: loading"), "loading")
    endpoint.wait_for_model(loading)
    clock[0] = 9.75
    assert endpoint.wait_for_model(loading) == 0.25
    clock[0] = 10.0
    with pytest.raises(ModelError, match="still loads its model after 10 s"):
        endpoint.wait_for_model(loading)


def test_the_wait_before_another_attempt_doubles_up_to_a_minute(monkeypatch):
    drawn: list[tuple[float, float]] = []

    def uniform(low: float, high: float) -> float:
        drawn.append((low, high))
        return high

    monkeypatch.setattr(random, "uniform", uniform)
    policy = RetryPolicy()
    waits = [policy.wait(attempt, None) for attempt in (1, 2, 3, 7, 8, 9)]
    assert waits == [0.5, 1.0, 2.0, 32.0, 60.0, 60.0]
    assert set(drawn) == {(0.5, 1.0)}
    assert [policy.wait(1, seconds) for seconds in (0.0, 59.0, 61.0)] == [0.0, 59.0, 60.0]


# --- how many requests are open


def serve(limit: Limit, count: int) -> int:
    for _ in range(count):
        limit.served(limit.epoch, full=True)
    return limit.value


def test_a_limit_falls_by_a_quarter_and_rises_again_to_the_load_before_the_refusal():
    limit = Limit(100)
    assert (limit.value, Limit(10).value) == (32, 10)
    assert limit.overloaded(limit.epoch, 32)
    assert limit.value == 24  # 0.75 * 32
    assert serve(limit, 7) == 31
    assert serve(limit, 8 * 31 - 1) == 31  # the load before the refusal is held for 8 rounds
    assert serve(limit, 1) == 32


def test_a_limit_that_was_tried_falls_by_a_tenth_and_is_held_for_twice_as_long():
    limit = Limit(100)
    limit.overloaded(limit.epoch, 32)
    serve(limit, 7)
    for rounds in (8, 16, 32, 64, 64):
        assert serve(limit, rounds * 31 - 1) == 31
        assert serve(limit, 1) == 32
        assert limit.overloaded(limit.epoch, 32)
        assert limit.value == 28  # 0.9 * 32
        assert serve(limit, 3) == 31


def test_a_limit_that_holds_is_raised_in_doubling_steps_after_half_the_rounds():
    limit = Limit(100)
    limit.overloaded(limit.epoch, 32)
    serve(limit, 7 + 8 * 31)
    values = []
    for rounds in (8, 4, 2, 1, 1):
        before = limit.value
        assert serve(limit, rounds * before - 1) == before
        values.append(serve(limit, 1))
    assert values == [34, 38, 46, 62, 94]
    assert serve(limit, 94) == 100  # not beyond the ceiling


@pytest.mark.parametrize(("load", "value"), [(1, 12), (16, 12), (20, 15), (40, 24)])
def test_half_of_the_limit_is_believed_whatever_load_was_refused(load, value):
    limit = Limit(100)
    limit.overloaded(limit.epoch, load)
    assert limit.value == value  # 0.75 * 17, 0.75 * 17, 0.75 * 20, 0.75 * 32


# --- probes


def test_of_a_list_of_models_the_first_10000_are_read():
    entries = [{"id": f"m{n}"} for n in range(10_001)]
    assert len(models_in(json.dumps(entries).encode()) or ()) == 10_000


@pytest.mark.parametrize(("tokens", "is_window"), [(0, False), (1, True), (2**40 - 1, True)])
def test_a_context_window_is_positive_and_below_2_to_the_40(tokens, is_window):
    window = window_in({"max_model_len": tokens})
    assert window == ((tokens, "max_model_len") if is_window else None)
    assert window_in({"max_model_len": 2**40}) is None


# --- embeddings


@pytest.mark.parametrize(("last", "requests"), [(3392, 1), (3393, 2)])
def test_a_batch_of_texts_has_at_most_200000_characters(last, requests):
    """Six texts of 32,768 characters have 196,608."""
    texts = [str(n) * 32_768 for n in range(6)] + ["z" * last]
    with EmbeddingServer() as server:
        EmbeddingEndpoint(server.url, "test").encode(texts)
        assert len(server.asked) == requests


@pytest.mark.parametrize(("length", "sent"), [(32_768, 32_768), (32_769, 32_768)])
def test_of_a_text_32768_characters_are_sent(length, sent):
    with EmbeddingServer() as server:
        EmbeddingEndpoint(server.url, "test").encode(["a" * length])
        ((text,),) = [asked["input"] for asked in server.asked]
    assert len(text) == sent


def test_of_a_text_32768_characters_are_embedded():
    encoder = load_encoder()
    vectors = encoder.encode([" " * 32_767 + "zoo", "z", " " * 32_768 + "zoo", ""])
    assert np.array_equal(vectors[0], vectors[1])
    assert np.array_equal(vectors[2], vectors[3])


@pytest.mark.parametrize(("words", "cut"), [(254, 0), (255, 1)])
def test_a_text_of_254_words_is_read_to_its_end(words, cut):
    text = "a " * (words - 1) + "a"
    encoder = load_encoder()
    assert encoder.count_cut([text]) == cut
    assert encoder.count_cut([" " * (32_768 - len(text)) + text]) == cut
    assert encoder.count_cut([" " * (32_768 - 507) + "a " * 300]) == 0  # 254 of its words are read


# --- local models


def gguf(path: Any, size: int) -> Any:
    with path.open("wb") as stream:
        stream.write(b"GGUF")
        stream.truncate(size)
    return path


@pytest.mark.parametrize(("timeout", "given"), [(599.0, 600.0), (601.0, 601.0)])
def test_a_local_model_has_ten_minutes_and_time_to_load(tmp_path, monkeypatch, timeout, given):
    path = gguf(tmp_path / "small.gguf", 40_000_000)
    started: dict[str, Any] = {}

    def start(path: Any, name: str, **settings: Any) -> Any:
        started.update(settings)
        return SimpleNamespace(base_url=ADDRESS, key="k", ended=lambda: False, end=lambda: None)

    monkeypatch.setattr(local_model, "Worker", start)
    model = local_model.LocalModel(path, retry=RetryPolicy(timeout=timeout))
    endpoint = anyio.run(model._get)
    assert endpoint.retry.timeout == given
    assert (endpoint.retry.attempts, endpoint.retry.connect_attempts) == (1, 1)
    assert started == {"slots": 1, "context": None, "load_seconds": 62.0}  # 60 s + 20 MB a second
    assert endpoint.concurrency == model.concurrency == 2


def test_the_fingerprint_of_a_model_is_of_its_ends_and_64_samples(tmp_path):
    content = random.Random(1).randbytes(5 << 20)
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    parts = [len(content).to_bytes(8, "little"), content[: 1 << 20]]
    starts = [len(content) * n // 65 for n in range(1, 65)]
    parts += [content[start : start + 4096] for start in starts]
    digest = hashlib.sha256(b"".join([*parts, content[-(1 << 20) :]])).hexdigest()
    assert fingerprint([path]) == digest[:12]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", None), ("256", 256), ("255", 0), ("99999999", 99_999_999), ("100000000", 0), ("²", 0)],
)
def test_the_context_of_a_local_model_is_a_number_of_tokens(monkeypatch, text, tokens):
    monkeypatch.setenv("PNYX_LOCAL_CONTEXT", text)
    if tokens == 0:
        with pytest.raises(InputError, match="expected tokens of context, at least 256"):
            local_model._context()
    else:
        assert local_model._context() == tokens


# --- fields of requests


@pytest.mark.parametrize(("size", "is_read"), [(65_536, True), (65_537, False)])
def test_a_file_of_request_fields_has_at_most_64_kb(tmp_path, size, is_read):
    path = tmp_path / "fields.json"
    path.write_text('{"top_k": 5}'.ljust(size))
    if is_read:
        assert read_request_fields(str(path)) == {"top_k": 5}
    else:
        with pytest.raises(InputError, match="is longer than 64 KB"):
            read_request_fields(str(path))
