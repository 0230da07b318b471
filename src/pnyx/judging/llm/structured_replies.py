"""Request and read a language model's structured reply, and probabilities by token."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeVar

from pnyx.core.errors import escaped, shorten
from pnyx.judging.llm.json_objects import UnreadableReply, answer_span, bare_word_span, one_object
from pnyx.judging.llm.leniency import (
    COMMENTS,
    bare_word,
    conformed,
    mark_departure,
    watching_departures,
)
from pnyx.judging.llm.prompts import load_prompt
from pnyx.models.chat.types import (
    MAX_REPLY_BYTES,
    CallFailed,
    ChatRequest,
    Message,
    Reply,
    Token,
    is_oversized,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

    from pnyx.judging.store.completions import StoredModel

M = TypeVar("M", bound="BaseModel")


def cut_reason(reply: Reply, request: ChatRequest) -> str | None:
    """Return why a reply is incomplete (one word first), or None if it is complete."""
    if reply.finish_reason == "oversized" or is_oversized(reply.text):  # from an old store
        return f"oversized: the reply is longer than {MAX_REPLY_BYTES // 2**20} MB"
    if reply.finish_reason == "refusal":
        return f"refusal: {shorten(reply.text)}"
    if reply.finish_reason == "length":
        return f"length: the reply was cut off; {request.max_tokens} tokens were allowed"
    if reply.finish_reason == "content_filter":
        return "content_filter: the endpoint withheld the reply"
    if answer_span(reply.text) is None:
        return "thinking: the reply ends with its thinking, and no answer follows"
    return None


@cache
def schema_of(shape: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema sent for a reply of a shape: closed, with all fields required."""
    schema = shape.model_json_schema()
    return _sent(schema, schema.get("$defs", {}))


_SENT = "type additionalProperties required properties items enum minimum maximum".split()


def _sent(part: Mapping[str, Any], defined: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in part:
        part = defined[part["$ref"].rpartition("/")[2]]
    sent = {name: part[name] for name in _SENT if name in part}
    if "properties" in sent:
        sent["properties"] = {n: _sent(p, defined) for n, p in sent["properties"].items()}
    if "items" in sent:
        sent["items"] = _sent(sent["items"], defined)
    return sent


def validated(model: type[BaseModel], text: str) -> Any:
    """Read a reply's only object as a pydantic model; UnreadableReply if there is none."""
    schema = schema_of(model)
    try:
        value: Any = one_object(text, tuple(schema["properties"]))
    except UnreadableReply:
        if (value := _bare_word(text, schema)) is None:
            raise
        mark_departure("word")
    return validated_value(model, value, "")


def _bare_word(text: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the object that a one-word reply means, if the schema needs only that word."""
    parts = schema["properties"]
    names = [name for name in parts if name not in COMMENTS]
    span = bare_word_span(text)
    if len(names) != 1 or span is None:
        return None
    word = bare_word(text[slice(*span)])
    if word not in parts[names[0]].get("enum", ()):
        return None
    return {**dict.fromkeys(parts, ""), names[0]: word}


_READS_ITSELF = "reads_itself"


def reading_itself(model: type[BaseModel]) -> type[BaseModel]:
    """Mark a shape whose own validators accept harmless departures; return it."""
    setattr(model, _READS_ITSELF, True)
    return model


def reads_itself(model: type[BaseModel]) -> bool:
    """Whether a shape handles departures itself, so that no field is left out before."""
    return bool(getattr(model, _READS_ITSELF, False))


def validated_value(model: type[BaseModel], value: Any, name: str) -> Any:
    """Read decoded JSON, named `name` in errors, as a pydantic model."""
    from pydantic import ValidationError

    with contextlib.suppress(ValidationError):
        return model.model_validate(value)
    marks = set[str]()
    try:
        candidate = value if reads_itself(model) else conformed(value, schema_of(model), marks)
        read = model.model_validate(candidate)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        parts = [name, *map(str, first["loc"])] if name else list(map(str, first["loc"]))
        path = ".".join(parts) or "the reply"
        raise UnreadableReply(escaped(f"{path}: {first['msg']}", 120)) from error
    mark_departure(*marks)
    return read


def repair_turn(request: ChatRequest, reply: Reply, error: UnreadableReply) -> ChatRequest:
    """Return the request that shows the model its reply and why it is unreadable."""
    (turn,) = load_prompt("repair").render(problem=str(error))
    span = answer_span(reply.text)
    answer = Message("assistant", reply.text if span is None else reply.text[slice(*span)])
    return replace(request, messages=(*request.messages, answer, turn))


async def ask_structured(
    model: StoredModel,
    request: ChatRequest,
    shape: type[M],
    sent: list[str] | None = None,
) -> tuple[M | None, list[str]]:
    """Return the reply as a `shape` or None, and the problems, after at most one repair turn."""
    original = request = replace(request, schema=schema_of(shape))
    problems: list[str] = []
    most = 2 * request.max_tokens
    for _ in range(2):
        first = request
        request, reply = await model.whole(first, most)
        if sent is not None:
            sent += model.sent(first, request, reply)
        fault = reply.reason if isinstance(reply, CallFailed) else cut_reason(reply, request)
        if isinstance(reply, CallFailed) or fault:
            if isinstance(reply, Reply):
                model.heed(reply.text, fault)
            return None, [*problems, fault or ""]
        try:
            with watching_departures() as departures:
                read = validated(shape, reply.text)
        except UnreadableReply as error:
            model.heed(reply.text, str(error))
            problems.append(f"schema: {error}")
            request = repair_turn(request, reply, error)
        else:
            model.heed(reply.text, None)
            notes = ["the reply was read after a repair turn"] if problems else []
            lenient = ", ".join(sorted(departures))
            return read, [*notes, *([f"the reply was read leniently ({lenient})"] * bool(lenient))]
    fresh = await model.ask_again(original)
    if fresh is not None and cut_reason(fresh, original) is None:
        with contextlib.suppress(UnreadableReply):
            return validated(shape, fresh.text), ["a stored reply could not be read; asked again"]
    model.note_unreadable(original, problems[-1])
    return None, problems


_LEAST = 1e-6
"""Answers are rounded to 6 decimals."""


_YES_NO = {"yes": True, "no": False}


def probability_of_yes(
    reply: Reply, span: tuple[int, int], words: Mapping[str, bool] | None = None
) -> float | None:
    """Return P(yes) / (P(yes) + P(no)) at the answer's first token, summed over spellings.

    `words` replaces yes and no: word -> whether it means yes.

    If only one of the two is among the alternatives, the other gets its upper bound. The result is
    in [1e-6, 1 - 1e-6]; None if tokens are missing or do not spell the text, or neither word is
    there. Source: DIRAS (Ni, Schimanski et al.), section 3, calibration by token probability.
    """
    words = words or _YES_NO
    chances = chances_of_words(reply, span, {word: word for word in words})
    if chances is None:
        return None
    return min(max(sum(chances[word] for word in words if words[word]), _LEAST), 1.0 - _LEAST)


def chances_of_words(
    reply: Reply, span: tuple[int, int], words: Mapping[str, str]
) -> dict[str, float] | None:
    """Return each word's probability, at least 1e-6, at the answer's first token."""
    position = token_at(reply, span[0])
    if position is None:
        return None
    token, before = position
    masses = {word: _mass(token, before, word) for word in words}
    if all(mass is None for mass in masses.values()):
        return None
    listed = [math.exp(logprob) for _, logprob in token.alternatives]
    most = min(*listed, max(0.0, 1.0 - math.fsum(listed)))
    bounded = {word: most if mass is None else mass for word, mass in masses.items()}
    whole = sum(bounded.values())
    if whole == 0.0:  # listed, but the probabilities underflow
        return None
    return {words[word]: max(mass / whole, _LEAST) for word, mass in bounded.items()}


def token_at(reply: Reply, start: int) -> tuple[Token, str] | None:
    """Return the token at a position of the reply's text, and its part before that position."""
    if not reply.tokens:
        return None
    try:
        pieces = [token.text.encode("utf-8", "surrogateescape") for token in reply.tokens]
    except UnicodeEncodeError:  # half characters: from a damaged store
        return None
    offset = b"".join(pieces).find(reply.text.encode("utf-8", "replace"))
    if offset < 0:
        return None
    position = offset + len(reply.text[:start].encode("utf-8", "replace"))
    for token, piece in zip(reply.tokens, pieces, strict=True):
        if position < len(piece):
            return token, piece[:position].decode("utf-8", "replace")
        position -= len(piece)
    return None


def _mass(token: Token, before: str, word: str) -> float | None:
    """Return the total probability of alternatives that start to spell `word`; None without any."""
    likely = [math.exp(p) for text, p in token.alternatives if _spells(text, before, word)]
    return sum(likely) if likely else None


def _spells(text: str, before: str, word: str) -> bool:
    begun = bool(before) and text.startswith(before)
    text = text[len(before) :] if begun else text.lstrip().removeprefix('"')
    spelt = text.strip().strip('"').lower()
    first_word = "".join(takewhile(str.isalpha, spelt))
    return bool(spelt) and (word.startswith(spelt) or first_word == word)
