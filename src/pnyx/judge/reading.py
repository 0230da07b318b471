"""Reading a language model's reply: the one JSON object that was asked for, or nothing."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pnyx.errors import shorten
from pnyx.models.replies import ChatRequest, Reply

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["UnreadableReply", "cut_reason", "one_object", "validated"]


class UnreadableReply(ValueError):  # noqa: N818 - reads as what happened
    """The reply is not the one JSON object that was asked for; `str()` says what it lacks."""


def cut_reason(reply: Reply, request: ChatRequest) -> str | None:
    """Return why a reply is no whole answer, or None where it is one.

    The first word is machine-readable: `length`, `refusal` or `content_filter`.
    """
    if reply.finish_reason == "refusal":
        return f"refusal: {shorten(reply.text)}"
    if reply.finish_reason == "length":
        return f"length: the reply was cut off; {request.max_tokens} tokens were allowed"
    if reply.finish_reason == "content_filter":
        return "content_filter: the endpoint withheld the reply"
    return None


def validated(model: type[BaseModel], text: str) -> Any:
    """Read a reply into a pydantic model.

    Args:
        model: the agreed shape.
        text: the reply; see `one_object`.

    Returns:
        An instance of `model`.

    Raises:
        UnreadableReply: the reply is anything else.
    """
    from pydantic import ValidationError

    try:
        return model.model_validate(one_object(text))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the reply"
        raise UnreadableReply(shorten(f"{place}: {first['msg']}", 120)) from error


_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL | re.IGNORECASE)
_THINKING = re.compile(r"\s*<think>.*?</think>", re.DOTALL)


def one_object(text: str) -> dict[str, Any]:
    """Decode the only JSON object of a reply; an object with a key twice is none.

    Args:
        text: the object, alone or in one Markdown fence; a leading `<think>` block is passed over.

    Raises:
        UnreadableReply: anything else.
    """
    text = _THINKING.sub("", text, count=1) if _THINKING.match(text) else text
    # A fence inside of a string is quoted text: a document about Markdown may well hold one.
    if "```" in text and not text.lstrip().startswith("{"):
        fences = _FENCE.findall(text)
        outside = _FENCE.sub("", text)
        if len(fences) != 1 or "{" in outside or "```" in outside:
            raise UnreadableReply("found several or broken blocks, expected one JSON object")
        text = fences[0]
    try:
        value = json.loads(text.strip(), object_pairs_hook=_distinct, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        shown = repr(shorten(text.strip(), 60)) if text.strip() else "nothing"
        raise UnreadableReply(f"found {shown}, expected one JSON object") from error
    if not isinstance(value, dict):
        raise UnreadableReply("found another JSON value, expected an object")
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key comes twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
