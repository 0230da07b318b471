"""Asking a language model for one thing in an agreed shape, with one chance to mend it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from pnyx.judge.completions import StoredModel
from pnyx.judge.prompting import load_prompt
from pnyx.judge.reading import UnreadableReply, cut_reason, validated
from pnyx.models.replies import CallFailed, ChatRequest, Message

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["ask_structured"]

M = TypeVar("M", bound="BaseModel")


async def ask_structured(
    model: StoredModel, request: ChatRequest, shape: type[M]
) -> tuple[M | None, list[str]]:
    """Return what the reply says, or None, and what went wrong on the way.

    A reply that is not of the shape gets one repair turn, which is said; a call that failed and a
    reply that was cut off even with double the room (`StoredModel.whole`) get none.

    Args:
        model: what is asked; its replies are in the store before they are read.
        request: of a prompt that asks for JSON of that shape.
        shape: validates the reply.
    """
    problems: list[str] = []
    most = 2 * request.max_tokens
    for _ in range(2):
        request, reply = await model.whole(request, most)
        fault = reply.reason if isinstance(reply, CallFailed) else cut_reason(reply, request)
        if isinstance(reply, CallFailed) or fault:
            return None, [*problems, fault or ""]
        try:
            read = validated(shape, reply.text)
        except UnreadableReply as error:
            problems.append(f"schema: {error}")
            (turn,) = load_prompt("repair").render(problem=str(error))
            said = Message("assistant", reply.text)
            request = replace(request, messages=(*request.messages, said, turn))
        else:
            return read, ["the reply was read after a repair turn"] if problems else []
    return None, problems
