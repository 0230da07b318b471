"""What is believed of an endpoint's vectors, and what is sent after a refusal."""

from __future__ import annotations

import base64
from typing import Any

import anyio
import numpy as np
import pytest

from pnyx.core.errors import ModelError
from pnyx.models.chat.types import CallFailed
from pnyx.models.embed.embedder import CutCounter, cut_line
from pnyx.models.embed.endpoint import EmbeddingEndpoint, _numbers, _raw_vectors
from pnyx.models.http.responses import RefusedRequest, Retryable
from pnyx.models.http.transport import HttpResponse, NoResponse


def packed(*numbers: float) -> str:
    return base64.b64encode(np.array(numbers, dtype="<f4").tobytes()).decode()


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        ([1, 2.5], [1.0, 2.5]),
        ([], None),
        ([True], None),
        (["1"], None),
        ([1, None], None),
        ([10**400], None),
        (packed(1.5, -2), [1.5, -2.0]),
        ("", None),
        ("AAA", None),
        ("AAAA", None),  # three bytes
        ("*", None),
        (None, None),
        ({"a": 1}, None),
    ],
)
def test_an_embedding_is_a_list_of_numbers_or_packed_floats(value, numbers):
    found = _numbers(value)
    assert (None if found is None else found.tolist()) == numbers


def rows(*embeddings: Any, **more: Any) -> dict[str, Any]:
    return {"data": [{"embedding": embedding, **more} for embedding in embeddings]}


@pytest.mark.parametrize(
    ("value", "count", "found"),
    [
        (rows([1], [2]), 2, [[1.0], [2.0]]),
        ({"data": [{"index": 1, "embedding": [1]}, {"index": 0, "embedding": [2]}]}, 2,
         [[2.0], [1.0]]),
        (rows([1]), 2, "1 embeddings for 2 texts"),
        (rows([1], [2], index=0), 2, "the embeddings' indexes are not those of the texts"),
        (rows([1], index=1), 1, "the embeddings' indexes are not those of the texts"),
        (rows([1], index="0"), 1, "the embeddings' indexes are not those of the texts"),
        (rows([1], index=False), 1, "the embeddings' indexes are not those of the texts"),
        (rows([1], "?"), 2, "an embedding is not a list of numbers"),
        ({"data": {}}, 1, 'found {"data": {}}, expected a list of embeddings'),
        ({"data": [1]}, 1, 'found {"data": [1]}, expected a list of embeddings'),
        ([], 1, "found [], expected a list of embeddings"),
    ],
)  # fmt: skip
def test_embeddings_are_in_the_order_of_their_texts(value, count, found):
    vectors = _raw_vectors(value, count, str)
    if isinstance(vectors, str):
        assert vectors == found
    else:
        assert [vector.tolist() for vector in vectors] == found


def test_vectors_of_one_length_are_believed_and_scaled_to_length_1():
    endpoint = EmbeddingEndpoint("http://a.org/v1", "m")
    assert isinstance(endpoint._believed([np.array([0.0, 0.0])]), CallFailed)
    assert isinstance(endpoint._believed([np.array([1.0, np.inf])]), CallFailed)
    assert endpoint._dimensions is None
    believed = endpoint._believed([np.array([3e300, 4e300]), np.array([3e-300, 0.0])])
    assert not isinstance(believed, CallFailed)
    huge, tiny = believed
    assert huge.tolist() == pytest.approx([0.6, 0.8])
    assert tiny.tolist() == [1.0, 0.0]
    assert (endpoint.dimensions, huge.dtype) == (2, np.float32)
    failed = endpoint._believed([np.array([1.0, 0.0]), np.array([1.0])])
    assert failed == CallFailed("malformed: a vector has 1 numbers, expected 2")
    assert endpoint._believed("odd") == CallFailed("malformed: odd")
    assert endpoint.name == "endpoint:m"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (HttpResponse(413, {}, b""), RefusedRequest),
        (HttpResponse(400, {}, b"no"), RefusedRequest),
        (HttpResponse(503, {}, b"no"), Retryable),
        (HttpResponse(200, {}, b"oops"), Retryable),
        (HttpResponse(200, {}, b"{}"), CallFailed),
        (NoResponse("timeout", "late"), Retryable),
    ],
)
def test_what_an_answer_of_an_embedding_endpoint_is(answer, kind):
    outcome = EmbeddingEndpoint("http://a.org/v1", "m")._sort(answer, 1)
    assert isinstance(outcome, kind)
    if answer.__class__ is HttpResponse and answer.status == 413:
        assert outcome == RefusedRequest(413, "too large")


class Refusing(EmbeddingEndpoint):
    """Refuses what `refusal` says of the texts and the parameters, and notes what is sent."""

    def __init__(self, refusal: Any) -> None:
        super().__init__("http://a.org/v1", "m")
        self.refusal = refusal
        self.sent: list[tuple[list[str], list[str]]] = []

    async def _exchanged(self, wire: Any, texts: list[str], parameters: Any) -> Any:
        self.sent.append((texts, list(parameters)))
        refused = self.refusal(texts, parameters)
        return refused or [np.array([float(len(text))], dtype=np.float32) for text in texts]

    def ask(self, *texts: str) -> list[float]:
        wire: Any = None
        vectors = anyio.run(self._ask, wire, list(texts))
        return [float(vector[0]) for vector in vectors]


def test_a_parameter_that_is_named_is_left_out_from_then_on():
    named = RefusedRequest(400, '{"error": {"param": "encoding_format"}}')
    endpoint = Refusing(lambda _, parameters: named if parameters else None)
    assert endpoint.ask("a", "bb") == endpoint.ask("a", "bb") == [1.0, 2.0]
    assert [names for _, names in endpoint.sent] == [["encoding_format"], [], []]
    assert endpoint._batch == 64


@pytest.mark.parametrize(("body", "batch"), [("no", 1), ("input is too long", 64)])
def test_a_batch_that_is_refused_is_halved(body, batch):
    endpoint = Refusing(lambda texts, _: RefusedRequest(422, body) if len(texts) > 1 else None)
    assert endpoint.ask("a", "bb", "ccc") == [1.0, 2.0, 3.0]
    assert [texts for texts, _ in endpoint.sent] == [
        ["a", "bb", "ccc"],
        ["a"],
        ["bb", "ccc"],
        ["bb"],
        ["ccc"],
    ]
    assert endpoint._batch == batch  # a long text says nothing of the size of a batch


def test_a_text_that_is_too_long_is_halved():
    long = RefusedRequest(400, "maximum context length")
    endpoint = Refusing(lambda texts, _: long if len(texts[0]) > 2 else None)
    assert endpoint.ask("abcdefghi") == [2.0]
    assert [texts[0] for texts, _ in endpoint.sent] == ["abcdefghi", "abcd", "ab"]
    endpoint = Refusing(lambda *_: long)
    with pytest.raises(ModelError, match="too_long: HTTP 400"):
        endpoint.ask("ab")
    # At one character, the plainest request is tried last.
    assert endpoint.sent[1:] == [(["a"], ["encoding_format"]), (["a"], [])]


def test_the_plainest_request_is_tried_only_before_the_first_answer():
    refused = RefusedRequest(400, "Bad Request")
    endpoint = Refusing(lambda _, parameters: refused if parameters else None)
    assert endpoint.ask("a") == [1.0]
    assert endpoint._parameters == {}
    endpoint = Refusing(lambda *_: refused)
    endpoint._dimensions = 1
    with pytest.raises(ModelError, match="rejected: HTTP 400: Bad Request"):
        endpoint.ask("a")
    assert len(endpoint.sent) == 1


@pytest.mark.parametrize(
    ("status", "problem"),
    [(403, "access is forbidden"), (404, "there is no model"), (406, "rejected: HTTP 406")],
)
def test_other_refusals_end_the_run(status, problem):
    endpoint = Refusing(lambda *_: RefusedRequest(status, "no"))
    with pytest.raises(ModelError, match=problem):
        endpoint.ask("a", "b")
    assert len(endpoint.sent) == 1


@pytest.mark.parametrize(
    ("cut", "line"),
    [
        (None, ""),
        (0, ""),
        (1, "1 text is longer than the 9 tokens that the encoder reads: its end is found by wo"),
        (2000, "2,000 texts are longer than the 9 tokens that the encoder reads: their ends are"),
    ],
)
def test_texts_that_are_not_read_to_their_end_are_mentioned(cut, line):
    said = cut_line(cut, 9)
    assert said.startswith(line)
    assert bool(said) is bool(line)


def test_texts_that_are_cut_are_counted():
    class Plain:
        name, dimensions = "plain", 1

        def encode(self, texts):
            return np.ones((len(texts), 1), dtype=np.float32)

    class Cutting(Plain):
        def count_cut(self, texts):
            return sum(len(text) > 1 for text in texts)

    counter = CutCounter(Cutting())
    for texts in (["a", "bb"], ["cc", "dd"]):
        assert len(counter.encode(texts)) == 2
    assert (counter.cut, counter.name, counter.dimensions) == (3, "plain", 1)
    plain = CutCounter(Plain())
    plain.encode(["bb"])
    assert plain.cut is None
