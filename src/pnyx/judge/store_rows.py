"""One row of the judgement store: as records, as SQLite columns and as a line of JSON.

Rows also come from other people's files, so every value that is read is checked.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pnyx.errors import InputError, shorten
from pnyx.files import json_line, parse_json_object
from pnyx.models.replies import ChatRequest, Message, Reply, Token, printable

__all__ = [
    "COLUMNS",
    "StoredRow",
    "pack_tokens",
    "reply_from_columns",
    "request_from",
    "request_key",
    "row_from_columns",
    "row_from_object",
]

COLUMNS = (
    "key",
    "model",
    "request",
    "reply_text",
    "finish_reason",
    "reply_model",
    "usage",
    "response_format",
    "created_at",
    "pnyx_version",
    "tokens",
)
"""The columns of the table `replies`, in its order."""

_ROW_FIELDS = {"key", "model", "request", "reply", "created_at", "pnyx_version"}
_REPLY_FIELDS = {"text", "finish_reason", "model", "usage", "response_format", "tokens"}
_REQUEST_FIELDS = {"messages", "schema", "temperature", "max_tokens", "seed", "sample"}
_WHEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", re.ASCII)
_MAX_TOKENS_BYTES = 64 * 1024 * 1024
"""Compressed tokens of a foreign store may not unpack to more."""


def request_key(model: str, request: ChatRequest) -> str:
    """Return the address of a request: SHA-256 over the model and all that decides the reply."""
    content = {"model": model, **request.canonical()}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A reply with what was asked, when (UTC, ISO 8601) and by which Pnyx.

    Attributes:
        key: its address, `request_key(model, request)`.
        model: the model asked for; `reply.model` is the name that the server gave.
        request: what was asked. What the address leaves out (the schema's name) is the default.
        reply: what the model said.
        created_at: `2026-01-31T09:30:00+00:00`.
        pnyx_version: the version that asked.
    """

    key: str
    model: str
    request: ChatRequest
    reply: Reply
    created_at: str
    pnyx_version: str

    def columns(self) -> tuple[Any, ...]:
        """Return the values of `COLUMNS`."""
        reply = self.reply
        return (
            self.key,
            self.model,
            json.dumps(self.request.canonical(), sort_keys=True),
            reply.text,
            reply.finish_reason,
            reply.model,
            json.dumps(dict(reply.usage), sort_keys=True),
            reply.response_format,
            self.created_at,
            self.pnyx_version,
            pack_tokens(reply.tokens),
        )

    def line(self) -> str:
        """Return the row as one line of JSON, without its end; `row_from_object` reads it."""
        reply = self.reply
        value = {
            "key": self.key,
            "model": self.model,
            "request": self.request.canonical(),
            "reply": {
                "text": reply.text,
                "finish_reason": reply.finish_reason,
                "model": reply.model,
                "usage": dict(reply.usage),
                "response_format": reply.response_format,
                "tokens": _plain(reply.tokens),
            },
            "created_at": self.created_at,
            "pnyx_version": self.pnyx_version,
        }
        text = json_line(value)
        # Tokens may be parts of a character, which only an escape can carry.
        return text if _is_whole(text) else json.dumps(value, allow_nan=False)

    def check_key(self) -> None:
        """Check that the key is the address of the request.

        Raises:
            ValueError: it is another; the row would answer a question that was not asked.
        """
        expected = request_key(self.model, self.request)
        if self.key != expected:
            raise ValueError(
                f"key: found {shorten(self.key, 70)}, but its model and request have the key "
                f"{expected}"
            )


def row_from_columns(values: Sequence[object]) -> StoredRow:
    """Return the row that the values of `COLUMNS` hold.

    Raises:
        ValueError: one is not what it must be.
    """
    key, model, request, *_, created_at, version, _ = values
    return row_from_object(
        {
            "key": key,
            "model": model,
            "request": _json_object(request, "request"),
            "reply": _reply_object(values),
            "created_at": created_at,
            "pnyx_version": version,
        }
    )


def reply_from_columns(values: Sequence[object]) -> tuple[Reply, str, str]:
    """Return reply, `created_at` and `pnyx_version` out of the values of `COLUMNS`.

    All but the key and the request is checked.

    Raises:
        ValueError: one is not what it must be.
    """
    _text(values[1], "model")
    return _reply(_reply_object(values)), _time(values[8]), _text(values[9], "pnyx_version")


def _reply_object(values: Sequence[object]) -> dict[str, object]:
    text, finish, name, usage, form = values[3:8]
    return {
        "text": text,
        "finish_reason": finish,
        "model": name,
        "usage": _json_object(usage, "usage"),
        "response_format": form,
        "tokens": _unpacked(values[10]),
    }


def row_from_object(value: Mapping[str, Any]) -> StoredRow:
    """Return the row that a line of JSON holds. Its key is not checked; see `check_key`.

    Raises:
        ValueError: a field is missing, unknown or not what it must be.
    """
    _expect_fields(value, _ROW_FIELDS, "")
    return StoredRow(
        _text(value["key"], "key"),
        _text(value["model"], "model"),
        request_from(value["request"]),
        _reply(value["reply"]),
        _time(value["created_at"]),
        _text(value["pnyx_version"], "pnyx_version"),
    )


def _reply(value: object) -> Reply:
    reply = _expect_fields(value, _REPLY_FIELDS, "reply")
    return Reply(
        text=_text(reply["text"], "reply.text"),
        finish_reason=_text(reply["finish_reason"], "reply.finish_reason"),
        model=_text(reply["model"], "reply.model"),
        usage=_usage(reply["usage"]),
        response_format=_text(reply["response_format"], "reply.response_format"),
        tokens=_tokens(reply["tokens"]),
    )


def _time(value: object) -> str:
    text = _text(value, "created_at")
    if not _is_time(text):
        raise ValueError(
            f"created_at: found {shorten(text, 40)!r}, expected YYYY-MM-DDTHH:MM:SS+00:00"
        )
    return text


def request_from(content: object) -> ChatRequest:
    """Return the request whose `canonical()` this is.

    Raises:
        ValueError: it is of no request.
    """
    fields = _REQUEST_FIELDS
    if isinstance(content, Mapping) and "logprobs" in content:
        fields = fields | {"logprobs"}
    request = _expect_fields(content, fields, "request")
    turns = request["messages"]
    if not isinstance(turns, list) or not all(_are_texts(turn) for turn in turns):
        raise ValueError("request.messages: expected a list of [role, content]")
    if not isinstance(request["schema"], dict | None):
        raise ValueError("request.schema: expected an object or null")
    if not _is_number(request["temperature"]):
        raise ValueError("request.temperature: expected a number")
    for name in ("max_tokens", "seed", "sample", "logprobs"):
        count = request.get(name)
        if type(count) is not int and (name not in ("seed", "logprobs") or count is not None):
            raise ValueError(f"request.{name}: found {shorten(count, 40)}, expected an integer")
    return ChatRequest(
        tuple(Message(role, text) for role, text in turns),
        request["schema"],
        max_tokens=request["max_tokens"],
        temperature=float(request["temperature"]),
        seed=request["seed"],
        sample=request["sample"],
        logprobs=request.get("logprobs") or 0,
    )


def pack_tokens(tokens: tuple[Token, ...] | None) -> bytes | None:
    """Return the column of a reply's tokens: compressed JSON, or None where there are none."""
    if tokens is None:
        return None
    return zlib.compress(json.dumps(_plain(tokens), separators=(",", ":")).encode())


def _plain(tokens: tuple[Token, ...] | None) -> list[Any] | None:
    return None if tokens is None else [[token.text, token.alternatives] for token in tokens]


def _unpacked(packed: object) -> object:
    """Return the JSON value of a foreign column of tokens."""
    if packed is None:
        return None
    if not isinstance(packed, bytes):
        raise ValueError(f"tokens: found {type(packed).__name__}, expected compressed JSON")
    unpacking = zlib.decompressobj()
    try:
        plain = unpacking.decompress(packed, _MAX_TOKENS_BYTES)
        if not unpacking.eof:
            raise ValueError("cut off, or too large")
        value = json.loads(plain)
    except (zlib.error, ValueError, RecursionError) as error:
        raise ValueError(f"tokens: damaged ({shorten(str(error))})") from error
    if value is None:
        raise ValueError("tokens: found null, expected a list")
    return value


def _json_object(text: object, name: str) -> dict[str, Any]:
    try:
        return parse_json_object(_text(text, name), path=name, number=1, keep_surrogates=True)
    except InputError as error:
        raise ValueError(f"{name}: {error.problem}") from error


def _expect_fields(value: object, fields: set[str], name: str) -> Mapping[str, Any]:
    where = f"{name}: " if name else ""
    if not isinstance(value, Mapping):
        raise ValueError(f"{where}found {type(value).__name__}, expected an object")
    if missing := sorted(fields - set(value)):
        raise ValueError(f"{where}no {missing[0]}")
    if unknown := sorted(set(value) - fields):
        raise ValueError(f"{where}unknown field {shorten(unknown[0], 40)!r}")
    return value


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name}: found {type(value).__name__}, expected text")
    if not _is_whole(value):
        raise ValueError(f"{name}: found half a character, which no file can hold")
    return value


def _is_whole(text: str) -> bool:
    """Whether it holds no half characters, so that UTF-8 can hold it."""
    return text.isascii() or printable(text) == text


def _usage(value: object) -> dict[str, int]:
    if not isinstance(value, dict) or not all(
        type(count) is int and 0 <= count < 2**53 for count in value.values()
    ):
        raise ValueError("reply.usage: expected an object of counts")
    return value


def _tokens(value: object) -> tuple[Token, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise ValueError("reply.tokens: expected a list or null")
    tokens = []
    for entry in value:
        match entry:
            case [str(text), [*others]] if all(_is_alternative(other) for other in others):
                tokens.append(Token(text, tuple((name, float(p)) for name, p in others)))
            case _:
                raise ValueError(
                    f"reply.tokens: found {shorten(entry, 60)}, expected "
                    "[token, [[alternative, log probability], ...]]"
                )
    return tuple(tokens)


def _is_alternative(value: object) -> bool:
    match value:
        case [str(), float() | int() as logprob]:
            return _is_number(logprob) and logprob <= 1e-6  # as `replies.read_reply` takes them
    return False


def _are_texts(turn: object) -> bool:
    return isinstance(turn, list) and len(turn) == 2 and all(isinstance(t, str) for t in turn)


def _is_number(value: object) -> bool:
    """Whether it is a finite number that a float can hold."""
    if type(value) is int:
        return abs(value) < 2**53
    return isinstance(value, float) and math.isfinite(value)


def _is_time(text: str) -> bool:
    try:
        return _WHEN.fullmatch(text) is not None and bool(datetime.fromisoformat(text))
    except ValueError:
        return False
