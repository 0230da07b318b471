"""How the process of a local model reads a model's header and chooses its context."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from pnyx.models.chat.types import CallFailed, ChatRequest, Message, Reply
from pnyx.models.http.responses import RetryPolicy
from pnyx.models.local import model as local_model
from pnyx.models.local import worker

HEAD = {
    "general.architecture": "llama",
    "llama.attention.head_count": 4,
    "llama.embedding_length": 64,
    "llama.block_count": 2,
}
PER_TOKEN = 4 * (16 + 16) * 2 * 2  # heads * (keys + values) * 2 bytes * blocks


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def value_of(value: Any) -> bytes:
    if isinstance(value, str):
        return struct.pack("<I", 8) + string(value)
    if isinstance(value, list):
        head = struct.pack("<IIQ", 9, 4, len(value))
        return head + b"".join(struct.pack("<I", item) for item in value)
    if isinstance(value, tuple):
        kind, code, number = value
        return struct.pack("<I", kind) + struct.pack(f"<{code}", number)
    return struct.pack("<II", 4, value)


def gguf(path: Path, metadata: dict[str, Any], count: int | None = None) -> Path:
    """Write a GGUF file with this metadata; whole numbers have 32 bits."""
    size = len(metadata) if count is None else count
    rows = b"".join(string(key) + value_of(value) for key, value in metadata.items())
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, size) + rows)
    return path


@pytest.mark.parametrize(
    ("more", "per_token"),
    [
        ({}, PER_TOKEN),
        ({"llama.attention.head_count_kv": 2}, PER_TOKEN // 2),
        ({"llama.attention.head_count_kv": [1, 3, 2]}, PER_TOKEN * 3 // 4),  # the largest is safe
        ({"llama.attention.key_length": 8}, PER_TOKEN * 3 // 4),
        ({"llama.attention.value_length": 24}, PER_TOKEN * 5 // 4),
        ({"llama.block_count": 3}, PER_TOKEN * 3 // 2),
        ({"llama.block_count": 0}, 131_072),
        ({"llama.block_count": (6, "f", 2.0)}, 131_072),  # not a whole number
        ({"llama.attention.head_count": 0}, 64 * 2 * 2 * 2),  # one head of the whole width
    ],
)
def test_the_memory_of_a_token_is_that_of_its_keys_and_values(tmp_path, more, per_token):
    path = gguf(tmp_path / "m.gguf", {**HEAD, **more, "llama.context_length": 4096})
    assert worker._shape(path) == (4096, per_token)


@pytest.mark.parametrize(
    ("kind", "code"), [(0, "B"), (1, "b"), (2, "H"), (3, "h"), (5, "i"), (10, "Q"), (11, "q")]
)
def test_whole_numbers_of_all_sizes_are_read(tmp_path, kind, code):
    metadata = {**HEAD, "odd": (7, "?", True), "real": (12, "d", 1.5)}
    metadata["llama.context_length"] = (kind, code, 100)
    assert worker._shape(gguf(tmp_path / "m.gguf", metadata))[0] == 100


def test_what_cannot_be_read_is_not_known(tmp_path):
    unknown = (0, 131_072)
    assert worker._shape(tmp_path / "missing.gguf") == unknown
    (tmp_path / "short.gguf").write_bytes(b"GGUF")
    assert worker._shape(tmp_path / "short.gguf") == unknown
    assert worker._shape(gguf(tmp_path / "more.gguf", HEAD, count=9)) == unknown
    odd = {"odd": (13, "I", 1)}
    assert worker._shape(gguf(tmp_path / "odd.gguf", odd)) == unknown
    huge = {**HEAD, "llama.context_length": (10, "Q", 1 << 31)}
    assert worker._shape(gguf(tmp_path / "huge.gguf", huge)) == (0, PER_TOKEN)
    most = {**HEAD, "llama.context_length": (10, "Q", (1 << 31) - 1)}
    assert worker._shape(gguf(tmp_path / "most.gguf", most)) == ((1 << 31) - 1, PER_TOKEN)


def test_a_header_is_read_up_to_its_tokenizer_and_512_keys(tmp_path):
    late = {**HEAD, "tokenizer.model": "x", "llama.context_length": 4096}
    assert worker._shape(gguf(tmp_path / "late.gguf", late)) == (0, PER_TOKEN)
    for count, window in ((507, 4096), (508, 0)):  # and the four of `HEAD`
        filler = {f"k{n}": n for n in range(count)}
        metadata = {**HEAD, **filler, "llama.context_length": 4096}
        assert worker._shape(gguf(tmp_path / f"{count}.gguf", metadata)) == (window, PER_TOKEN)


@pytest.mark.parametrize(("length", "window"), [(1 << 20, 4096), ((1 << 20) + 1, 0)])
def test_a_text_of_a_header_has_at_most_a_million_characters(tmp_path, length, window):
    metadata = {**HEAD, "long": "x" * length, "llama.context_length": 4096}
    assert worker._shape(gguf(tmp_path / "m.gguf", metadata))[0] == window


@pytest.mark.parametrize(
    ("trained", "tokens", "context", "slots", "window"),
    [
        (100_000, 3000, 0, 1, 2816),  # of the tokens that fit, a multiple of 256
        (100_000, 3072, 0, 1, 3072),
        (100_000, 3072, 0, 0, 3072),
        (100_000, 6143, 0, 2, 2816),
        (100_000, 100, 0, 1, 2048),  # at least
        (100_000, 90_000, 0, 1, 32_768),  # at most
        (1000, 90_000, 0, 1, 768),  # the model's own
        (0, 90_000, 0, 1, 32_768),
        (100_000, 3000, 40_000, 1, 39_936),  # as it was asked for
        (1000, 3000, 40_000, 1, 768),
        (0, 3000, 300, 1, 256),
        (0, 3000, 100, 1, 256),
    ],
)
def test_a_context_fits_in_a_quarter_of_the_memory(
    tmp_path, monkeypatch, trained, tokens, context, slots, window
):
    path = gguf(tmp_path / "m.gguf", {**HEAD, "llama.context_length": trained})
    monkeypatch.setattr(worker, "_available_memory", lambda: 4 * PER_TOKEN * tokens)
    assert worker._window({"path": str(path), "context": context, "slots": slots}) == window


@pytest.mark.parametrize(
    ("limit", "used", "room"),
    [
        ("max", "100", 1_024_000),  # of the machine
        ("900000", "100000", 800_000),  # of the container
        ("2000000", "100000", 1_024_000),
        ("900000", "1000000", 0),
    ],
)
def test_the_memory_is_that_of_the_machine_or_less_of_a_container(
    tmp_path, monkeypatch, limit, used, room
):
    for name, text in (
        ("proc/meminfo", "MemTotal: 9000 kB\nMemFree: 1 kB\nMemAvailable:  1000 kB\n"),
        ("sys/fs/cgroup/memory.max", f"{limit}\n"),
        ("sys/fs/cgroup/memory.current", f"{used}\n"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(worker, "Path", lambda path: tmp_path / path.lstrip("/"))
    assert worker._available_memory() == room


def test_without_a_statement_half_of_the_memory_is_available(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "Path", lambda path: tmp_path / path.lstrip("/"))
    sizes = {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__)
    assert worker._available_memory() == 2_048_000
    monkeypatch.delattr(os, "sysconf")
    assert worker._available_memory() == 4 << 30


# --- what a local model is asked


def test_explanations_of_a_local_model_are_short():
    """A small model does not end them by itself; names and choices are left as they are."""
    text = {"type": "string"}
    choice = {"type": "string", "enum": ["yes", "no"]}
    fields = {"reason": text, "nugget": text, "1": text, "evidence": text, "2": choice}
    schema = {"anyOf": [{"properties": {**fields, "3": {"type": "number"}}}], "properties": None}
    (shortened,) = local_model._shortened(schema)["anyOf"]
    brief = {"type": "string", "maxLength": 300}
    assert shortened["properties"] == {
        "reason": brief,
        "nugget": brief,
        "1": brief,
        "evidence": text,
        "2": choice,
        "3": {"type": "number"},
    }
    assert fields["reason"] == text


@pytest.mark.parametrize("grammar", ["root ::= x", None])
def test_a_schema_is_sent_as_a_grammar_if_there_is_one(grammar):
    asked: list[Any] = []

    def write(schema: Any) -> Any:
        asked.append(schema)
        return grammar

    process: Any = SimpleNamespace(base_url="http://127.0.0.1:1/v1", key="k", grammar=write)
    endpoint = local_model._LlamaEndpoint(process, RetryPolicy())
    schema = {"properties": {"reason": {"type": "string"}}}
    body = {"model": "m", "response_format": {"json_schema": {"schema": schema}}}
    sent = anyio.run(endpoint._reworded, body)
    assert sent == ({"model": "m", "grammar": grammar} if grammar else body)
    assert asked[0]["properties"]["reason"]["maxLength"] == 300
    assert anyio.run(endpoint._reworded, {"model": "m"}) == {"model": "m"}
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("outcome", "kept"),
    [(Reply("yes", "stop", "m", {}, "text"), 1), (CallFailed("timeout: late"), 0)],
)
def test_only_a_reply_of_a_local_model_is_kept(outcome, kept, tmp_path, monkeypatch):
    process = SimpleNamespace(
        base_url="http://127.0.0.1:1/v1", key="k", ended=lambda *_: False, window=2048
    )
    monkeypatch.setattr(local_model, "Worker", lambda *_, **__: process)

    async def complete(*_: Any) -> Any:
        return outcome

    monkeypatch.setattr(local_model._LlamaEndpoint, "complete", complete)
    model = local_model.LocalModel(gguf(tmp_path / "m.gguf", HEAD))
    assert (model.window, model.response_format, model.retries) == (None, "json_schema", 0)
    replies: list[Reply] = []
    request = ChatRequest((Message("user", "Why?"),))
    assert anyio.run(lambda: model.complete(request, replies.append)) == outcome
    assert len(replies) == kept
    assert anyio.run(lambda: model.complete(request)) == outcome
    assert model.window == 2048
