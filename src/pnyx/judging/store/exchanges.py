"""The exact requests and replies behind a line of answers, from the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pnyx.core.errors import PnyxError
from pnyx.judging.answers import asked_of
from pnyx.judging.store.store import Store
from pnyx.models.chat.types import Message


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call to a model: the request as it was sent, and the reply as it was received."""

    key: str  # its key in the store
    problem: str = ""  # why there is no reply to show
    model: str = ""  # the requested model
    messages: tuple[Message, ...] = ()  # as sent, in order
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    schema: Mapping[str, Any] | None = field(default=None, hash=False)
    reply: str = ""  # as received
    replied_by: str = ""  # the model's name in the reply
    finish_reason: str = ""  # why the reply ended
    usage: Mapping[str, int] = field(default_factory=dict, hash=False)
    created_at: str = ""  # UTC, ISO 8601
    pnyx_version: str = ""  # of the program that asked


def replies_of(row: Mapping[str, Any], store: Store) -> list[Exchange]:
    """Return the calls behind a line of `answers.jsonl`; a missing one has a `problem`."""
    return [exchange_at(key, store) for key in asked_of(row)]


def exchange_at(key: str, store: Store) -> Exchange:
    """Return the exchange at a key of a store."""
    try:
        row = store.row(key)
    except (PnyxError, ValueError) as error:
        return Exchange(key, str(error))
    if row is None:
        failed = store.failure(key)
        return Exchange(key, f"no reply came: {failed}" if failed else "it is not in this store")
    request, reply = row.request, row.reply
    decided = {k: v for k, v in request.canonical().items() if k not in ("messages", "schema")}
    return Exchange(
        key,
        model=row.model,
        messages=request.messages,
        parameters={k: v for k, v in decided.items() if v is not None},
        schema=request.schema,
        reply=reply.text,
        replied_by=reply.model,
        finish_reason=reply.finish_reason,
        usage=dict(reply.usage),
        created_at=row.created_at,
        pnyx_version=row.pnyx_version,
    )
