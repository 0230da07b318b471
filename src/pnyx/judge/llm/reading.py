"""A language model's reply: its agreed shape, asked for and read, and probabilities by token."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeVar

from pnyx.errors import escaped, shorten
from pnyx.files import clean_text, clean_value
from pnyx.judge.llm.prompting import load_prompt
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
    from pydantic import BaseModel, ValidationError

    from pnyx.judge.store.completions import StoredModel

M = TypeVar("M", bound="BaseModel")


class UnreadableReply(ValueError):  # noqa: N818 - reads as what happened
    """The reply is not the JSON object asked for; `kept` are readings of what is good in it."""

    def __init__(self, problem: str, kept: Sequence[Any] = ()) -> None:
        super().__init__(problem)
        self.kept = kept


_departures: ContextVar[set[str] | None] = ContextVar("departures", default=None)


@contextlib.contextmanager
def watching_departures() -> Iterator[set[str]]:
    """Yield how replies read within depart: `prose` around the object, `number` (2.0 for 2)."""
    departures = set[str]()
    token = _departures.set(departures)
    try:
        yield departures
    finally:
        _departures.reset(token)


def mark_departure(how: str) -> None:
    """Note how the reply that is being read departs from what was asked for."""
    if (departures := _departures.get()) is not None:
        departures.add(how)


def cut_reason(reply: Reply, request: ChatRequest) -> str | None:
    """Return why a reply is not a whole answer (one word first), or None where it is."""
    if reply.finish_reason == "oversized" or is_oversized(reply.text):  # of an old store
        return f"oversized: the reply is longer than {MAX_REPLY_BYTES // 2**20} MB"
    if reply.finish_reason == "refusal":
        return f"refusal: {shorten(reply.text)}"
    if reply.finish_reason == "length":
        return f"length: the reply was cut off; {request.max_tokens} tokens were allowed"
    if reply.finish_reason == "content_filter":
        return "content_filter: the endpoint withheld the reply"
    return None


@cache
def schema_of(shape: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema that is sent for a reply of a shape: closed, every field required."""
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
    """Read a reply's one object as a pydantic model; UnreadableReply if it is anything else."""
    return validated_value(model, one_object(text), "")


def validated_value(model: type[BaseModel], value: Any, name: str) -> Any:
    """Read decoded JSON, named `name` in errors, as a pydantic model."""
    from pydantic import ValidationError

    try:
        return model.model_validate(value)
    except ValidationError as error:
        whole = _with_whole_numbers(value, error)
        if whole is not None:
            with contextlib.suppress(ValidationError):
                read = model.model_validate(whole)
                mark_departure("number")
                return read
        first = error.errors(include_url=False, include_input=False)[0]
        parts = [name, *map(str, first["loc"])] if name else list(map(str, first["loc"]))
        path = ".".join(parts) or "the reply"
        raise UnreadableReply(escaped(f"{path}: {first['msg']}", 120)) from error


def _with_whole_numbers(value: Any, error: ValidationError) -> Any:
    """Return a value with 2 for each 2.0 where an integer is asked; None if that is not all."""
    value = copy.deepcopy(value)
    for one in error.errors(include_url=False):
        found = one["input"]
        if one["type"] != "int_type" or not isinstance(found, float) or not found.is_integer():
            return None
        part = value
        for name in one["loc"][:-1]:
            part = part[name]
        part[one["loc"][-1]] = int(found)
    return value


_OPENING = re.compile(r"```(?:json)?[ \t]*\n", re.IGNORECASE)
_CLOSING = re.compile(r"\n[ \t]*```")
_THINKING = re.compile(r"\s*<think>.*?</think>", re.DOTALL)


def one_object(text: str) -> dict[str, Any]:
    """Decode the only JSON object of a reply: alone, in a fence, in prose or behind `<think>`."""
    return _located(text)[0]


def _located(text: str) -> tuple[dict[str, Any], int, int]:
    """Return the only JSON object of a reply, and where it stands."""
    shown = text
    try:
        start, end = _object_span(text)
        shown = text[start:end].strip()
        value = clean_value(_DECODER.decode(shown))
    except (ValueError, RecursionError) as error:
        within = _in_prose(text)
        if within is None:
            found = repr(escaped(shown, 60)) if shown else "nothing"
            problem = f"found {found}, expected one JSON object"
            raise (
                error if isinstance(error, UnreadableReply) else UnreadableReply(problem)
            ) from error
        mark_departure("prose")
        return within
    if not isinstance(value, dict):
        raise UnreadableReply("found another JSON value, expected an object")
    return value, start, end


_BRACE = re.compile(r"\{\s*(?=[\"'}])")
"""What begins an object, and not a word in braces."""
_QUOTES = tuple("\"'`\u201c\u2018\u00ab\u201e")


def _in_prose(text: str) -> tuple[dict[str, Any], int, int] | None:
    """Return the one object of a reply in other words; None where there could be another answer."""
    thinking = _THINKING.match(text)
    start = thinking.end() if thinking else 0
    opening = _BRACE.search(text, start)
    if opening is None or "<think>" in text[start:]:
        return None
    if "```" not in text and text[: opening.start()].endswith(_QUOTES):
        return None  # of somebody else, maybe of the document
    try:
        value, end = _DECODER.raw_decode(text, opening.start())
        value = clean_value(value)
    except (ValueError, RecursionError):
        return None
    if not value or _BRACE.search(text, end):
        return None
    return value, opening.start(), end


def _object_span(text: str) -> tuple[int, int]:
    """Return where in a reply its JSON should stand."""
    thinking = _THINKING.match(text)
    start = thinking.end() if thinking else 0
    # A fence inside of a string is quoted text: a document about Markdown may well hold one.
    if "```" not in text[start:] or text[start:].lstrip().startswith("{"):
        return start, len(text)
    outside, fences, end = "", [], start
    while opening := _OPENING.search(text, end):
        closing = _CLOSING.search(text, opening.end())
        if closing is None:  # nor is any later fence closed: looking again would take for ever
            break
        fences.append((opening.end(), closing.start()))
        outside += text[end : opening.start()]
        end = closing.end()
    outside += text[end:]
    if len(fences) != 1 or "{" in outside or "```" in outside:
        raise UnreadableReply("found several or broken blocks, expected one JSON object")
    return fences[0]


_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
"""Of a readable reply every string is closed; one that is not goes on to the end, so that no
text is looked through twice."""
_COLON = re.compile(r"\s*:")


def word_spans(text: str, key: str) -> list[tuple[int, int]]:
    """Return where the string values of each `"key"` at any depth stand in a readable reply."""
    _, start, end = _located(text)
    spans = []
    named = False
    for literal in _STRING.finditer(text, start, end):
        is_key = _COLON.match(text, literal.end()) is not None
        if named and not is_key:
            spans.append((literal.start() + 1, literal.end() - 1))
        named = is_key and literal.group() == f'"{key}"'
    return spans


_PIECE = re.compile(_STRING.pattern + "|[{}]", re.DOTALL)
_VALUE = re.compile(r"\s*:\s*(-?[\d.]+|true|false)")


def number_spans(text: str, key: str) -> dict[str, tuple[int, int]]:
    """Return where the number (or true, false) of `"key"` stands in each entry of a reply."""
    _, start, end = _located(text)
    spans: dict[str, tuple[int, int]] = {}
    depth, entry = 0, ""
    for piece in _PIECE.finditer(text, start, end):
        found = piece.group()
        if found in "{}":
            depth += 1 if found == "{" else -1
        elif depth == 1 and _COLON.match(text, piece.end()):
            entry = str(json.loads(found)).strip()
        elif depth == 2 and found == f'"{key}"' and (number := _VALUE.match(text, piece.end())):
            spans[entry] = number.span(1)
    return spans


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({clean_text(key) for key, _ in pairs}) != len(pairs):
        raise ValueError("a key comes twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_no_constant)


def repair_turn(request: ChatRequest, reply: Reply, error: UnreadableReply) -> ChatRequest:
    """Return the request that shows the model what it wrote and why that cannot be read."""
    (turn,) = load_prompt("repair").render(problem=str(error))
    answer = Message("assistant", reply.text)
    return replace(request, messages=(*request.messages, answer, turn))


async def ask_structured(
    model: StoredModel,
    request: ChatRequest,
    shape: type[M],
    sent: list[str] | None = None,
) -> tuple[M | None, list[str]]:
    """Return the reply as a `shape` or None, and what went wrong, after at most one repair turn."""
    request = replace(request, schema=schema_of(shape))
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
    return None, problems


_LEAST = 1e-6
"""Answers are kept to 6 decimals."""


_YES_NO = {"yes": True, "no": False}


def probability_of_yes(
    reply: Reply, span: tuple[int, int], words: Mapping[str, bool] | None = None
) -> float | None:
    """Return P(yes) / (P(yes) + P(no)) where the answer's word begins, summed over spellings.

    `words` are others than yes and no: word -> whether it means yes.

    Where only one of the two is among the alternatives, the other gets the most that it can have.
    From 1e-6 to 1 - 1e-6; None where tokens are missing or do not spell the text, or neither word
    is there. Source: DIRAS (Ni, Schimanski et al.), section 3, calibration by token probability.
    """
    words = words or _YES_NO
    chances = chances_of_words(reply, span, {word: word for word in words})
    if chances is None:
        return None
    return min(max(sum(chances[word] for word in words if words[word]), _LEAST), 1.0 - _LEAST)


def chances_of_words(
    reply: Reply, span: tuple[int, int], words: Mapping[str, str]
) -> dict[str, float] | None:
    """Return each word's probability, at least 1e-6, where the answer's word begins."""
    position = token_at(reply, span[0])
    if position is None:
        return None
    token, before = position
    masses = {word: _mass(token, before, word) for word in words}
    if all(mass is None for mass in masses.values()):
        return None
    listed = [math.exp(logprob) for _, logprob in token.alternatives]
    most = min(*listed, max(0.0, 1.0 - math.fsum(listed)))
    known = {word: most if mass is None else mass for word, mass in masses.items()}
    whole = sum(known.values())
    if whole == 0.0:  # listed, but so unlikely that no float holds it
        return None
    return {words[word]: max(mass / whole, _LEAST) for word, mass in known.items()}


def token_at(reply: Reply, start: int) -> tuple[Token, str] | None:
    """Return the token at a place of the reply's text, and what of it comes before that place."""
    if not reply.tokens:
        return None
    try:
        pieces = [token.text.encode("utf-8", "surrogateescape") for token in reply.tokens]
    except UnicodeEncodeError:  # half characters: out of a damaged store
        return None
    offset = b"".join(pieces).find(reply.text.encode("utf-8", "replace"))
    if offset < 0:
        return None
    place = offset + len(reply.text[:start].encode("utf-8", "replace"))
    for token, piece in zip(reply.tokens, pieces, strict=True):
        if place < len(piece):
            return token, piece[:place].decode("utf-8", "replace")
        place -= len(piece)
    return None


def _mass(token: Token, before: str, word: str) -> float | None:
    """Return the probability of all alternatives that begin to spell `word`; None without any."""
    likely = [math.exp(p) for text, p in token.alternatives if _spells(text, before, word)]
    return sum(likely) if likely else None


def _spells(text: str, before: str, word: str) -> bool:
    begun = bool(before) and text.startswith(before)
    text = text[len(before) :] if begun else text.lstrip().removeprefix('"')
    spelt = text.strip().strip('"').lower()
    first_word = "".join(takewhile(str.isalpha, spelt))
    return bool(spelt) and (word.startswith(spelt) or first_word == word)
