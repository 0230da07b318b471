"""An odd answer of a model's server is one line, or unscored with a reason; never a traceback."""

from __future__ import annotations

import json
from typing import Any

import anyio
import numpy as np
import pytest

from command import called, write_rows
from json_changes import Change, changes
from opensearch_front import front
from pnyx.core.errors import ModelError
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.chat.probe import read_published
from pnyx.models.chat.types import CallFailed, ChatRequest, Message
from pnyx.models.embed.endpoint import EmbeddingEndpoint
from pnyx.models.http.responses import RetryPolicy
from tries import quick_cases

ONCE = RetryPolicy(attempts=1, connect_attempts=1)
SAMPLED = 200
WHOLE = pytest.mark.all
PARTS = pytest.mark.parametrize("part", [SAMPLED, pytest.param(None, marks=WHOLE)])

TEXT = '{"answer": "yes"}'
TOKENS = [
    {
        "token": "yes",
        "logprob": -0.1,
        "bytes": [121],
        "top_logprobs": [{"token": "no", "logprob": -2.5}],
    },
    {"token": "!", "logprob": -0.2, "bytes": None, "top_logprobs": []},
]
CHAT = {
    "id": "1",
    "model": "test",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": TEXT, "refusal": None},
            "logprobs": {"content": TOKENS},
        }
    ],
    "usage": {
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 1},
    },
}
PARTS_OF_TEXT = [{"type": "text", "text": TEXT[:5]}, {"type": "text", "text": TEXT[5:]}]
ERROR = {"error": {"message": "max_tokens is not supported", "param": "max_tokens"}}
DETAIL = {"detail": [{"loc": ["body", "max_tokens"], "msg": "extra"}]}
LISTED = {"data": [{"id": "test", "max_model_len": 4096, "meta": {"n_ctx": 4096}}]}
PROPS = {"default_generation_settings": {"n_ctx": 4096}}
REQUEST = ChatRequest((Message("user", "Is it so?"),), {"type": "object"}, logprobs=2)
REASONS = (
    "not_json: ",
    "malformed: ",
    "empty: ",
    "server_error: ",
    "rejected: ",
    "too_long: ",
    "rate_limit: ",
)


@pytest.fixture
def server():
    with front("nowhere") as own:
        yield own


def url(server):
    return f"http://{server.address}/v1"


def some(answer: Any, part: int | None) -> list[Change]:
    every = list(changes(answer))
    return every[:: max(1, len(every) // part)] if part else every


def completed(server, status, content):
    server.refuse = lambda *_: (status, content)
    endpoint = ChatEndpoint(url(server), "test", retry=ONCE)
    try:
        return anyio.run(lambda: endpoint.complete(REQUEST))
    except ModelError as error:
        return error


def assert_told(outcome) -> None:
    """A failure is one printable line; of a request alone, it begins with a reason's word."""
    line = str(outcome) if isinstance(outcome, ModelError) else outcome.reason
    assert line.isprintable()
    assert len(line) < 500
    if isinstance(outcome, CallFailed):
        assert line.startswith(REASONS)


@PARTS
def test_a_changed_completion_is_the_same_text_or_a_failure_with_a_reason(server, part):
    good = completed(server, 200, CHAT)
    assert good.text == TEXT
    for kind, place, content in some(CHAT, part):
        outcome = completed(server, 200, content())
        if isinstance(outcome, CallFailed | ModelError):
            assert_told(outcome)
            continue
        # Another text is another reply, and a refusal is the text of one.
        if place[3:] not in (("content",), ("refusal",)) or kind != "text":
            assert outcome.text == TEXT, (kind, place)
        assert all(type(count) is int for count in outcome.usage.values())
        for token in outcome.tokens or ():
            assert all(-1000 < logprob <= 1e-6 for _, logprob in token.alternatives)


@pytest.mark.parametrize(
    "parts",
    [
        [*PARTS_OF_TEXT[:1], {"type": "text", "text": None}],
        [*PARTS_OF_TEXT[:1], {"type": "text"}],
        [*PARTS_OF_TEXT[:1], None],
        [*PARTS_OF_TEXT[:1], ["text"]],
        [None],
    ],
    ids=str,
)
def test_a_text_in_parts_of_which_one_is_odd_is_malformed(server, parts):
    answer = json.loads(json.dumps(CHAT))
    answer["choices"][0]["message"]["content"] = PARTS_OF_TEXT
    assert completed(server, 200, answer).text == TEXT
    answer["choices"][0]["message"]["content"] = parts
    outcome = completed(server, 200, answer)
    assert "malformed: the reply's content is not text" in str(outcome)


def test_parts_that_are_not_of_the_text_are_left_out(server):
    answer = json.loads(json.dumps(CHAT))
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    answer["choices"][0]["message"]["content"] = [thought, *PARTS_OF_TEXT, {"text": "."}]
    assert completed(server, 200, answer).text == f"{TEXT}."
    for content in (7, True, {}):
        answer["choices"][0]["message"]["content"] = content
        answer["choices"][0]["finish_reason"] = "length"
        assert "not text" in str(completed(server, 200, answer))


@PARTS
@pytest.mark.parametrize("status", quick_cases([400, 404, 422, 429, 500], {400}))
@pytest.mark.parametrize("answer", [ERROR, DETAIL], ids=["error", "detail"])
def test_a_changed_error_is_a_failure_with_a_reason(server, status, answer, part):
    for _, _, content in some(answer, part and part // 10):
        assert_told(completed(server, status, content()))


@PARTS
@pytest.mark.parametrize("binary", [False, pytest.param(True, marks=pytest.mark.all)])
def test_a_changed_embedding_is_refused_in_one_line(server, part, binary):
    rows = [[0.5, 1.0], [2.0, -1.0]]
    shown = ["AAAAPwAAgD8=", "AAAAQAAAgL8="] if binary else rows
    answer = {
        "data": [{"index": n, "embedding": row} for n, row in enumerate(shown)],
        "model": "test",
        "usage": {"prompt_tokens": 2},
    }

    def embedded(content):
        server.refuse = lambda *_: (200, content)
        return EmbeddingEndpoint(url(server), "test", retry=ONCE).encode(["a", "b"])

    expected = embedded(answer)
    assert np.allclose(expected, [row / np.linalg.norm(row) for row in np.array(rows)])
    for kind, place, content in some(answer, part):
        try:
            vectors = embedded(content())
        except ModelError as error:
            assert_told(error)
            continue
        # Other numbers are another vector.
        another = "embedding" in place and kind in ("number", "negative", "backwards")
        assert another or np.array_equal(vectors, expected), (kind, place)


@PARTS
@pytest.mark.parametrize(
    "listed",
    [
        LISTED,
        pytest.param({"data": [{"id": "test"}]}, marks=pytest.mark.all),
        pytest.param({"data": []}, marks=pytest.mark.all),
    ],
    ids=str,
)
def test_a_changed_list_of_models_is_read_or_has_a_problem(server, listed, part):
    def published(models, props):
        server.refuse = lambda _, path, __: (200, props if path.endswith("/props") else models)

        async def read():
            async with ChatEndpoint(url(server), "test").connected() as wire:
                return await read_published(wire, url(server), "test")

        return anyio.run(read)

    assert published({"data": [{"id": "test"}]}, PROPS).window == 4096
    for answer, at in ((listed, 0), (PROPS, 1)):
        for kind, place, content in some(answer, part):
            pages = [listed, PROPS]
            pages[at] = content()
            listing = published(*pages)
            assert listing.window in (None, 4096), (kind, place)
            names = listing.models
            if names is None:
                assert listing.problem
            else:
                assert set(names) <= {"test", "text"}


@PARTS
def test_a_changed_count_of_tokens_is_a_count_or_not_known(server, part):
    def counted(content):
        server.refuse = lambda *_: (200, content)
        endpoint = ChatEndpoint(url(server), "test")
        return anyio.run(lambda: endpoint.count_tokens(["ab"]))

    answer = {"tokens": [1, 2], "count": 2, "max_model_len": 4096}
    assert counted(answer) == [2]
    for kind, place, content in some(answer, part):
        count = counted(content())
        assert count is None or (place[:1] == ("tokens",) or count == [2]), (kind, place)


@pytest.mark.all
@pytest.mark.usefixtures("own_place")
@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    ["[1]", *(pytest.param(odd, marks=WHOLE) for odd in ("null", '{"x":1}', '{"choices":[null]}'))],
)
def test_a_judge_behind_an_odd_server_ends_in_a_line(server, answer, tmp_path, capsys):
    server.refuse = lambda *_: (200, answer.encode())
    rows = [{"id": "1", "text": "It is so.", "statement": "So it is."}]
    items = write_rows(tmp_path / "items.jsonl", rows)
    command = [
        "judge",
        "support",
        items,
        "--judge",
        f"{url(server)}#test",
        "--out",
        tmp_path / "out",
    ]
    status, _, said = called(capsys, *command)
    assert status == 2, said
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith("pnyx: ")
