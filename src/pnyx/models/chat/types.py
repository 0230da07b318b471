"""Requests to a chat model, and their outcomes: a reply, or a named failure.

Some servers truncate prompts to their context without an error (Ollama: 4,096 tokens by default)
and report the count of the rest; `cuts_prompt` detects it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

MAX_REPLY_BYTES = 1024 * 1024
"""The longest reply that is stored whole, as UTF-8, well below `files.MAX_LINE_BYTES`."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat: `role` is `system`, `user` or `assistant`."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """Everything that determines a reply, apart from the model."""

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = field(default=None, hash=False)  # JSON schema of the reply
    schema_name: str = "answer"
    max_tokens: int = 512
    temperature: float = 0.0
    seed: int | None = None
    sample: int = 0  # number of the repeat; not sent
    logprobs: int = 0  # number of alternatives of each token
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)  # added by the user

    def canonical(self) -> dict[str, Any]:
        """Return the content that identifies this request in the judgement store, as JSON."""
        return {
            "messages": [[m.role, m.content] for m in self.messages],
            "schema": self.schema,
            "temperature": float(self.temperature),
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            "sample": self.sample,
            **({"logprobs": self.logprobs} if self.logprobs else {}),
            **({"fields": dict(self.fields)} if self.fields else {}),
        }

    @property
    def hash(self) -> str:
        """SHA-256 of the rendered prompt and its parameters: the `prompt_hash` of answers."""
        text = json.dumps(self.canonical(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a reply, with (text, log probability) of its alternatives, likeliest first.

    Bytes of `text` that are not a whole character are lone surrogates (`surrogateescape`).
    """

    text: str
    alternatives: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of a model.

    `finish_reason`: `stop`, `length`, `content_filter`, `refusal` ...; empty if not stated;
    `oversized` if only the first `MAX_REPLY_BYTES` are kept. `model` is the name that the server
    states. `usage` has token counts: `prompt_tokens`, `completion_tokens`, `cached_tokens` ...
    `response_format` is one of `outcomes.FORMATS`. `tokens` is None if the server sends none.
    """

    text: str
    finish_reason: str
    model: str
    usage: Mapping[str, int] = field(hash=False)
    response_format: str
    tokens: tuple[Token, ...] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class CallFailed:
    """A failed call. `reason`: a machine-readable word, then `: ` and details for people."""

    reason: str


@runtime_checkable
class CountsTokens(Protocol):
    """A chat model whose own tokenizer can count tokens."""

    async def count_tokens(self, texts: Sequence[str]) -> list[int] | None:
        """Return the number of tokens of each text, or None if it is unknown."""


def is_oversized(text: str) -> bool:
    """Whether a reply's text is longer than `MAX_REPLY_BYTES`."""
    if 4 * len(text) <= MAX_REPLY_BYTES:
        return False
    return len(text.encode("utf-8", "replace")) > MAX_REPLY_BYTES


LEAST_WORDS = 300
"""Shorter prompts fit every context, so their counts prove nothing."""
_LEAST_TOKENS = 0.9
"""Minimum number of tokens per word: no common tokenizer puts several words into a token, except a
few short ones; English text has about 1.3."""


def cuts_prompt(request: ChatRequest, usage: Mapping[str, int]) -> bool:
    """Whether a count of prompt tokens is too low for all of a request's words."""
    tokens = usage.get("prompt_tokens", 0)
    if tokens <= 0:
        return False
    # Some servers count cached tokens separately.
    tokens += usage.get("cached_tokens", 0)
    words = sum(len(message.content.split()) for message in request.messages)
    return words >= LEAST_WORDS and tokens < _LEAST_TOKENS * words
