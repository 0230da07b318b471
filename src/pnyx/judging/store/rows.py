"""One row of the judgement store: as records, as SQLite columns and as a line of JSON.

Rows may come from other people's files, so every value is checked.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from pnyx.core.errors import InputError, printable, shorten
from pnyx.core.files import json_line, parse_json_object
from pnyx.core.restricted_mode import hides_text
from pnyx.models.chat.types import ChatRequest, Message, Reply, Token

if TYPE_CHECKING:
    import pydantic

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
"""The columns of the table `replies`, in order."""

_WHEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", re.ASCII)
_MAX_TOKENS_BYTES = 64 * 1024 * 1024
"""Maximum unpacked size of the compressed tokens of a foreign store."""
_REPLY = ("text", "finish_reason", "model", "usage", "response_format")
_FOUND_TYPE = ("list_type", "dict_type", "string_type")


def request_key(model: str, request: ChatRequest) -> str:
    """Return the key of a request: SHA-256 over the model and all that determines the reply."""
    content = {"model": model, **request.canonical()}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A reply with its key (`request_key`), its time (UTC, ISO 8601) and its Pnyx version."""

    key: str
    model: str
    request: ChatRequest
    reply: Reply
    created_at: str
    pnyx_version: str

    def columns(self) -> tuple[Any, ...]:
        """Return the values of `COLUMNS`."""
        reply, tokens = self.reply, _plain(self.reply.tokens)
        packed = json.dumps(tokens, separators=(",", ":")).encode()
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
            None if tokens is None else zlib.compress(packed),
        )

    def line(self) -> str:
        """Return the row as one line of JSON without line end; without texts in restricted mode."""
        if hides_text():
            return json_line(self._without_text())
        reply = self.reply
        value = {
            "key": self.key,
            "model": self.model,
            "request": self.request.canonical(),
            "reply": {name: getattr(reply, name) for name in _REPLY}
            | {"tokens": _plain(reply.tokens)},
            "created_at": self.created_at,
            "pnyx_version": self.pnyx_version,
        }
        text = json_line(value)
        # Tokens may be parts of a character, which only an escape can represent.
        return text if _is_whole(text) else json.dumps(value, allow_nan=False)

    def _without_text(self) -> dict[str, Any]:
        reply = {name: getattr(self.reply, name) for name in _REPLY if name != "text"}
        head = {"key": self.key, "model": self.model, "reply": reply}
        return {**head, "created_at": self.created_at, "pnyx_version": self.pnyx_version}

    def check_key(self) -> None:
        """Raise ValueError if the key does not match the request."""
        expected = request_key(self.model, self.request)
        if self.key != expected:
            raise ValueError(
                f"key: found {shorten(self.key, 70)}, but its model and request have the key "
                f"{expected}"
            )


def row_from_columns(values: Sequence[object]) -> StoredRow:
    """Return the row with these values of `COLUMNS`; ValueError if one is invalid."""
    row = {"key": values[0], "request": _json_object(values[2], "request")}
    return row_from_object({**row, **_without_request(values)})


def reply_from_columns(values: Sequence[object]) -> tuple[Reply, str, str]:
    """Return reply, `created_at` and `pnyx_version`; key and request are not checked."""
    row = _checked(0, _without_request(values))
    return _reply(row["reply"]), row["created_at"], row["pnyx_version"]


def row_from_object(value: Mapping[str, Any]) -> StoredRow:
    """Return the row of a line of JSON, its key not checked; ValueError for an invalid field."""
    row = _checked(1, value)
    row |= {"request": _request(row["request"]), "reply": _reply(row["reply"])}
    return StoredRow(**row)


def _without_request(values: Sequence[object]) -> dict[str, object]:
    _, model, _, text, finish, name, usage, form, when, version, tokens = values
    reply = {
        "text": text,
        "finish_reason": finish,
        "model": name,
        "usage": _json_object(usage, "usage"),
        "response_format": form,
        "tokens": _unpacked(tokens),
    }
    return {"model": model, "reply": reply, "created_at": when, "pnyx_version": version}


def _request(row: dict[str, Any]) -> ChatRequest:
    messages = tuple(Message(role, text) for role, text in row["messages"])
    return ChatRequest(**{**row, "messages": messages, "logprobs": row.get("logprobs") or 0})


def _reply(row: dict[str, Any]) -> Reply:
    tokens = row["tokens"]
    if tokens is not None:
        tokens = tuple(Token(text, tuple(others)) for text, others in tokens)
    return Reply(**{**row, "tokens": tokens})


@functools.cache
def _adapters() -> tuple[pydantic.TypeAdapter[Any], ...]:
    """Return the validators of a row's columns and of a whole row; pydantic is slow to import."""
    from typing import NotRequired

    from pydantic import (
        AfterValidator,
        ConfigDict,
        Field,
        InstanceOf,
        Strict,
        TypeAdapter,
        with_config,
    )
    from typing_extensions import TypedDict

    def shape(fields: dict[str, Any]) -> Any:
        typed = TypedDict("made", fields)  # type: ignore[misc]
        return with_config(ConfigDict(strict=True, extra="forbid"))(typed)

    text = Annotated[str, AfterValidator(_whole)]
    some = InstanceOf[str]  # may contain half characters
    pair = Strict(False)
    count = Annotated[int, Field(ge=0, lt=2**53)]
    number = Annotated[float, Field(allow_inf_nan=False)]
    logprob = Annotated[float, Field(allow_inf_nan=False, le=1e-6)]  # as `read_reply` accepts them
    others = list[Annotated[tuple[some, logprob], pair]]
    reply = {
        **dict.fromkeys(("text", "finish_reason", "model", "response_format"), text),
        "usage": dict[some, count],
        "tokens": list[Annotated[tuple[some, others], pair]] | None,
    }
    request = {
        "messages": list[Annotated[tuple[some, some], pair]],
        "schema": InstanceOf[dict[str, Any]] | None,
        "temperature": number,
        "max_tokens": int,
        "seed": int | None,
        "sample": int,
        "logprobs": NotRequired[int | None],
        "fields": NotRequired[InstanceOf[dict[str, Any]]],
    }
    when = Annotated[str, AfterValidator(_time)]
    row = {"model": text, "reply": shape(reply), "created_at": when, "pnyx_version": text}
    whole = {"key": text, "request": shape(request), **row}
    return TypeAdapter(shape(row)), TypeAdapter(shape(whole))


def _checked(which: int, value: object) -> Any:
    """Return a value validated by one of `_adapters`; ValueError, in one line, if invalid."""
    from pydantic import ValidationError

    try:
        return _adapters()[which].validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    kind, wrong = first["type"], first["input"]
    *above, name = first["loc"] or ("",)
    if kind in ("missing", "extra_forbidden"):
        where = "".join(f"{part}." for part in above).rstrip(".")
        what = f"no {name}" if kind == "missing" else f"unknown field {shorten(name, 40)!r}"
        raise ValueError(f"{where}: {what}" if where else what)
    where = shorten(".".join(map(str, first["loc"])), 100)
    excerpt = type(wrong).__name__ if kind in _FOUND_TYPE else shorten(wrong, 60)
    expected = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    raise ValueError(f"{where}: found {excerpt}, expected {expected}")


def _is_whole(text: str) -> bool:
    return text.isascii() or printable(text) == text


def _whole(text: str) -> str:
    if not _is_whole(text):
        raise ValueError("no half a character, which no file can hold")
    return text


def _time(text: str) -> str:
    if _WHEN.fullmatch(text) is None:
        raise ValueError("YYYY-MM-DDTHH:MM:SS+00:00")
    datetime.fromisoformat(text)
    return text


def _plain(tokens: tuple[Token, ...] | None) -> list[Any] | None:
    return None if tokens is None else [[token.text, token.alternatives] for token in tokens]


def _unpacked(packed: object) -> object:
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
    if not isinstance(text, str):
        raise ValueError(f"{name}: found {type(text).__name__}, expected text")
    try:
        return parse_json_object(text, path=name, number=1, keep_surrogates=True)
    except InputError as error:
        raise ValueError(f"{name}: {error.problem}") from error
