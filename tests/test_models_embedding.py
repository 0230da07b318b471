"""Embedders, the endpoint's over real HTTP against a server that misbehaves on purpose."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from embedding_server import EmbeddingServer, vector_of
from pnyx.core.errors import InputError, ModelError
from pnyx.models.embed.embedder import embedder_from
from pnyx.models.embed.encoder import load_encoder
from pnyx.models.embed.endpoint import EmbeddingEndpoint
from pnyx.models.http.responses import RetryPolicy

HASTY = RetryPolicy(timeout=60, attempts=3, first_wait=0.01, longest_wait=1.0)
TEXTS = [f"argument {n}" for n in range(10)]


def endpoint(server: EmbeddingServer, key: str | None = None) -> EmbeddingEndpoint:
    return EmbeddingEndpoint(server.url, "test", key, retry=HASTY)


def expected(texts: list[str], dimensions: int = 8) -> np.ndarray:
    rows = np.stack([vector_of(text, dimensions) for text in texts]).astype(np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_the_packaged_encoder_is_the_default():
    assert embedder_from() is load_encoder() is embedder_from("minilm-int8")
    assert embedder_from().encode([]).shape == (0, embedder_from().dimensions)


@pytest.mark.parametrize(
    "spec", ["", "glove", "http://host/v1", "ftp://host/v1#m", "http://#m", "http://u:secret@h/#m"]
)
def test_an_unknown_embedder_is_one_line_that_lists_the_forms(spec):
    with pytest.raises(InputError, match=r"expected minilm-int8 .* or http://HOST:PORT/v1#MODEL"):
        embedder_from(spec)
    with pytest.raises(InputError) as caught:
        embedder_from(spec)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("floats", [False, True])
def test_an_endpoint_embeds_in_order_and_to_length_one(floats, monkeypatch):
    monkeypatch.setenv("PNYX_API_KEY", "k-123")
    with EmbeddingServer(floats=floats) as server:
        embedder = embedder_from(server.spec)
        vectors = embedder.encode([*TEXTS, TEXTS[3], ""])
        assert (embedder.name, embedder.dimensions) == ("endpoint:test", 8)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected([*TEXTS, TEXTS[3], "."]), atol=1e-6)
    assert sorted(server.embedded) == sorted([*TEXTS, "."])
    assert server.asked[0]["path"] == "/v1/embeddings"
    assert server.asked[0]["authorization"] == "Bearer k-123"
    assert server.asked[0]["model"] == "test"


def test_no_text_costs_one_question_for_the_dimensions():
    with EmbeddingServer(dimensions=5) as server:
        embedder = endpoint(server)
        assert embedder.dimensions == 5
        assert embedder.encode([]).shape == (0, 5)
    assert len(server.asked) == 1


def test_many_texts_go_in_batches_from_several_threads():
    texts = [f"text {n}" for n in range(300)]
    with EmbeddingServer() as server:
        embedder = endpoint(server)
        with ThreadPoolExecutor(3) as pool:
            parts = list(pool.map(embedder.encode, [texts[:100], texts[100:200], texts[200:]]))
    np.testing.assert_allclose(np.concatenate(parts), expected(texts), atol=1e-6)
    assert sorted(server.embedded) == sorted(texts)
    assert max(len(asked["input"]) for asked in server.asked) == 64


@pytest.mark.parametrize("trouble", ["429", "500", "html", "hang_up"])
def test_trouble_that_passes_is_waited_out(trouble):
    told = []
    with EmbeddingServer([trouble]) as server:
        embedder = endpoint(server)
        embedder.on_retry = told.append
        started = time.monotonic()
        np.testing.assert_allclose(embedder.encode(TEXTS), expected(TEXTS), atol=1e-6)
        assert trouble != "429" or time.monotonic() - started >= 0.2
    assert len(server.asked) == 2
    assert len(told) == 1


def test_vectors_may_come_in_any_order_and_of_any_size():
    with EmbeddingServer(["shuffled", "huge"]) as server:
        embedder = endpoint(server)
        np.testing.assert_allclose(embedder.encode(TEXTS), expected(TEXTS), atol=1e-6)
        np.testing.assert_allclose(embedder.encode(["x"]), np.full((1, 8), 8**-0.5), rtol=1e-6)


@pytest.mark.parametrize(
    ("trouble", "line"),
    [
        ("too_few", "9 embeddings for 10 texts"),
        ("twice", "indexes are not those of the texts"),
        ("nan", "not finite, or all zero"),
        ("zero", "not finite, or all zero"),
        ("words", "not a list of numbers"),
        ("bad_base64", "not a list of numbers"),
        ("error_in_200", "no such model"),
        ("401", "key is refused or missing"),
        ("404", "no model 'test'"),
    ],
)
def test_what_is_no_vector_is_refused_in_one_line(trouble, line):
    with EmbeddingServer([trouble]) as server, pytest.raises(ModelError, match=line) as caught:
        endpoint(server, "s3cret").encode(TEXTS)
    assert "\n" not in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert len(server.asked) == 1


def test_vectors_of_another_length_than_before_are_refused():
    with EmbeddingServer(["ok", "shorter"]) as server:
        embedder = endpoint(server)
        embedder.encode(["a"])
        with pytest.raises(ModelError, match="has 7 numbers, expected 8"):
            embedder.encode(["b"])


@pytest.mark.parametrize(("trouble", "line"), [("500", "server_error"), ("html", "not_json")])
def test_trouble_that_stays_is_given_up(trouble, line):
    with EmbeddingServer([trouble] * 3) as server, pytest.raises(ModelError, match=line):
        endpoint(server).encode(TEXTS)
    assert len(server.asked) == 3


def test_nobody_there():
    with EmbeddingServer() as server:
        url = server.url
    with pytest.raises(ModelError, match="cannot be reached"):
        EmbeddingEndpoint(url, "m", retry=HASTY).encode(["x"])


def test_what_is_refused_is_asked_for_otherwise():
    texts = [f"text {n}" for n in range(70)]
    with EmbeddingServer(most=20, rejects=["encoding_format"]) as server:
        embedder = EmbeddingEndpoint(server.url, "test", retry=HASTY, concurrency=1)
        np.testing.assert_allclose(embedder.encode(texts), expected(texts), atol=1e-6)
        before = len(server.asked)
        embedder.encode(texts)
    assert sorted(server.embedded) == sorted(texts * 2)
    # What was learnt is not asked again.
    assert len(server.asked) - before == -(-70 // 16)


def test_an_old_server_that_says_bad_request_gets_the_plainest_request():
    with EmbeddingServer(["400"]) as server:
        endpoint(server).encode(["x"])
    assert "encoding_format" not in server.asked[1]
    with EmbeddingServer(["400", "400"]) as server, pytest.raises(ModelError, match="Bad Request"):
        endpoint(server).encode(["x"])


def test_a_text_that_is_too_long_is_cut_in_half_until_it_is_taken():
    long = "word " * 100
    with EmbeddingServer(longest=130) as server:
        vectors = endpoint(server).encode(["short", long, "other"])
    np.testing.assert_allclose(vectors, expected(["short", long[:125], "other"]), atol=1e-6)


def test_half_characters_are_sent_as_what_stands_for_them():
    with EmbeddingServer() as server:
        endpoint(server).encode(["a\ud800b"])
    assert server.embedded == ["a\ufffdb"]
