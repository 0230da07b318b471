"""A chat model, requests to it, and what can come back: a reply, or a named failure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from json.encoder import encode_basestring_ascii as _as_json
from typing import Any, Protocol, runtime_checkable

from pnyx.errors import shorten
from pnyx.files import clean_text

MAX_REPLY_BYTES = 1024 * 1024
"""The longest reply that is kept whole, as UTF-8, well below `files.MAX_LINE_BYTES`."""

_MAX_TOKENS_BYTES = 6 * 1024 * 1024
_LONGEST_NAME = 1000
_OVERSIZED = "oversized"
_TEXT_PARTS = ("text", "output_text")
"""Types of the parts of a content that hold the reply's text."""
_USAGE = tuple(f"{k}_tokens" for k in ("prompt", "completion", "total", "cached", "reasoning"))
_SURROGATE = re.compile("[\ud800-\udfff]")


def printable(text: str) -> str:
    """Replace lone surrogates, which no file and no request can carry."""
    return _SURROGATE.sub("\ufffd", text)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat: `role` is `system`, `user` or `assistant`."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """Everything that decides a reply, apart from the model."""

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = field(default=None, hash=False)  # JSON schema of the reply
    schema_name: str = "answer"
    max_tokens: int = 512
    temperature: float = 0.0
    seed: int | None = None
    sample: int = 0  # numbers repeats; is not sent
    logprobs: int = 0  # how many alternatives of each token

    def canonical(self) -> dict[str, Any]:
        """Return what the judgement store addresses this request by, ready for JSON."""
        return {
            "messages": [[m.role, m.content] for m in self.messages],
            "schema": self.schema,
            "temperature": float(self.temperature),
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            "sample": self.sample,
            **({"logprobs": self.logprobs} if self.logprobs else {}),
        }

    @property
    def hash(self) -> str:
        """SHA-256 of the rendered prompt and its parameters: the `prompt_hash` of answers."""
        text = json.dumps(self.canonical(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a reply with (text, log probability) of its alternatives, the likeliest first.

    Bytes of `text` that are no whole character are lone surrogates (`surrogateescape`).
    """

    text: str
    alternatives: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said.

    `finish_reason`: `stop`, `length`, `content_filter`, `refusal` ...; empty if not stated;
    `oversized` where only the first `MAX_REPLY_BYTES` are kept. `model` is the name the server
    gave. `usage` has token counts: `prompt_tokens`, `completion_tokens`, `cached_tokens` ...
    `response_format` is one of `outcomes.FORMATS`. `tokens` is None where the server gives none.
    """

    text: str
    finish_reason: str
    model: str
    usage: Mapping[str, int] = field(hash=False)
    response_format: str
    tokens: tuple[Token, ...] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class CallFailed:
    """No reply came. `reason`: a machine-readable word, then `: ` and detail for people."""

    reason: str


@runtime_checkable
class CountsTokens(Protocol):
    """A chat model whose own tokenizer can be asked."""

    async def count_tokens(self, texts: Sequence[str]) -> list[int] | None:
        """Return how many tokens each text has, or None where that cannot be told."""


def read_reply(
    body: bytes, *, asked: str, response_format: str, hide: Callable[[str], str] = str
) -> Reply | CallFailed:
    """Read a chat completion; `hide` removes secrets from a text, before any of it is cut.

    Returns a reply, or `CallFailed` with `not_json`, `malformed`, `server_error` or `empty`. No
    text is ever made up: a body without content is a failure unless the model was cut off.
    """
    text = body.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return CallFailed(f"not_json: {_looks_like(text)}")
    if not isinstance(value, dict):
        return CallFailed(f"malformed: found {shorten(text, 60)}, expected a chat completion")
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices:
        error = value.get("error")
        if error:
            return CallFailed(f"server_error: {shorten(json.dumps(error), 120)}")
        return CallFailed("malformed: the reply holds no choices")
    choice = choices[0] if isinstance(choices[0], dict) else {}
    message = choice.get("message")
    if not isinstance(message, dict):
        return CallFailed("malformed: the reply's choice holds no message")
    finish = choice.get("finish_reason")
    named = value.get("model")
    raw, finish = _content(message, finish if isinstance(finish, str) else "")
    if (content := _whole_text(raw)) is None:
        return CallFailed("malformed: the reply's content is not text")
    if not content.strip() and finish not in ("length", "content_filter", "refusal"):
        return CallFailed("empty: the reply holds no text")
    text, finish = hide(clean_text(content)), hide(clean_text(finish))
    if is_oversized(text):
        text, finish = text.encode()[:MAX_REPLY_BYTES].decode("utf-8", "ignore"), _OVERSIZED
    name = shorten(hide(clean_text(named)), _LONGEST_NAME) if isinstance(named, str) else ""
    return Reply(
        text=text,
        finish_reason=shorten(finish),
        model=name or asked,
        usage=_usage(value.get("usage")),
        response_format=response_format,
        tokens=_tokens(choice.get("logprobs")),
    )


def is_oversized(text: str) -> bool:
    """Whether a reply's text is longer than `MAX_REPLY_BYTES`."""
    if 4 * len(text) <= MAX_REPLY_BYTES:
        return False
    return len(text.encode("utf-8", "replace")) > MAX_REPLY_BYTES


def _looks_like(text: str) -> str:
    head = text.lstrip()[:200].lower()
    if head.startswith(("<!doctype", "<html", "<head", "<?xml")):
        return "the endpoint sent a web page"
    return f"the endpoint sent {shorten(text.strip(), 60)!r}" if head else "an empty body"


def _content(message: Mapping[str, Any], finish: str) -> tuple[Any, str]:
    """Return (content, finish reason); a refusal counts as a finish reason of its own."""
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        return refusal, "refusal"
    return message.get("content"), finish


def _whole_text(content: object) -> str | None:
    """Return a content as text, which some servers send in parts; None if any of it is not text."""
    if content is None:
        return ""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    texts: list[str] = []
    for part in content:
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            texts.append(text)
        elif not isinstance(part, dict) or part.get("type", "text") in _TEXT_PARTS:
            return None  # parts of other types, such as thoughts, are not of the text
    return "".join(texts)


def _tokens(value: object) -> tuple[Token, ...] | None:
    """Read `choices[0].logprobs`; any other shape, or more than can be kept, is None."""
    content = value.get("content") if isinstance(value, dict) else None
    if not isinstance(content, list) or not content:
        return None
    tokens, size = [], 0
    for entry in content:
        text = entry.get("token") if isinstance(entry, dict) else None
        if not isinstance(text, str):
            return None
        given = entry.get("top_logprobs")
        seen = [_alternative(entry), *map(_alternative, given if isinstance(given, list) else [])]
        likeliest: dict[str, float] = {}
        for name, logprob in (pair for pair in seen if pair is not None):
            likeliest.setdefault(printable(name), round(logprob, 6))
        ranked = sorted(likeliest.items(), key=lambda pair: -pair[1])
        size += 8 + sum(16 + len(_as_json(name)) for name in (text, *likeliest))
        if size > _MAX_TOKENS_BYTES:
            return None
        tokens.append(Token(_exact(text, entry.get("bytes")), tuple(ranked)))
    return tuple(tokens)


def _exact(text: str, given: object) -> str:
    """Return a token's text by its bytes: of half a character, `text` shows only a stand-in."""
    if not isinstance(given, list) or not all(type(b) is int and 0 <= b < 256 for b in given):
        return printable(text)
    return bytes(given).decode("utf-8", "surrogateescape")


def _alternative(entry: object) -> tuple[str, float] | None:
    if not isinstance(entry, dict):
        return None
    text, logprob = entry.get("token"), entry.get("logprob")
    if not isinstance(text, str) or not isinstance(logprob, int | float):
        return None
    # A logarithm of a probability; servers that send sentinels such as -9999 mean "not at all".
    return (text, float(logprob)) if -1000 < logprob <= 1e-6 else None


def _usage(value: object) -> dict[str, int]:
    if not isinstance(value, dict):
        return {}
    details = [value, value.get("prompt_tokens_details"), value.get("completion_tokens_details")]
    return {
        name: count
        for part in details
        if isinstance(part, dict)
        for name in _USAGE
        if type(count := part.get(name)) is int and 0 <= count < 2**53
    }
