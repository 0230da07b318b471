"""What the test server's model writes: replies in the asked-for shape, and their tokens."""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

STYLES = {
    "words": r"\w+|\s+|[^\w\s]",
    "fused": r'\s?"?\w+|\s+|[^\w\s]',
    "letters": r".",
    "bytes": r"\w+|\s+|[^\w\s]",
}
"""How a text is cut into tokens; `fused` keeps a quotation mark and the word after it together,
`bytes` sends each byte of what is not ASCII as a token of its own."""

WORD = re.compile(r'"answer": "(yes|no|first|second|neither|support|partial_support|not_support)"')
SCORE = re.compile(r'"score": (\d+|true|false)')
_REST = -12.0
_FORCED = -9999.0
"""What some servers send for a token that only the schema's grammar made the model write."""


def number_of(seed: str) -> int:
    return int(hashlib.sha256(seed.encode()).hexdigest()[:8], 16)


def reply_to(body: Mapping[str, Any], prompt: str, seed: str) -> dict[str, Any]:
    """Return what was asked for, with values made from the seed."""
    schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
    texts = re.findall(r"^\[(\d+)\]$", prompt, re.MULTILINE)
    if '"order"' in prompt and texts:
        order = list(range(1, len(texts) + 1))
        random.Random(seed).shuffle(order)
        return {"order": order}
    if '"yes_or_no"' in prompt:
        return question_reply(prompt)
    if listed := sides_reply(prompt, _made_up_side):
        return listed
    if schema is not None and list(schema.get("properties", {})) == ["given"]:
        return {"given": given_lines(prompt, seed)}
    if schema is not None:
        value = instance(schema, seed)
        assert isinstance(value, dict)
        return value
    statements = re.findall(r"^Statement (\d+):$", prompt, re.MULTILINE)
    if statements:
        return {number: _verdict(f"{seed}/{number}", "reason") for number in statements}
    return _verdict(seed, "reason", "evidence")


def given_lines(prompt: str, seed: str) -> list[dict[str, Any]]:
    """Return which numbered lines of the last list a text gives: two of three, by hash."""
    listing = re.findall(r"^<<<information (\w+)\n(.*?)\ninformation \1>>>$", prompt, re.M | re.S)
    lines = re.findall(r"^(\d+)\. ", listing[-1][1], re.MULTILINE)
    words = ("support", "partial_support", "not_support")
    answers = {n: words[number_of(f"{seed}/{n}/answer") % 3] for n in lines}
    return [
        {"number": int(n), "answer": answer, "confidence": number_of(f"{seed}/{n}") % 101 / 100}
        for n, answer in answers.items()
        if answer != "not_support"
    ]


def choice_in(prompt: str) -> tuple[str, str, str] | None:
    """Return text, first and second claim of a prompt that asks which claim a text argues for."""
    text = re.search(r"^<<<text (\w+)\n(.*)\ntext \1>>>$", prompt, re.MULTILINE | re.DOTALL)
    claims = re.search(r"^First claim: (.*)\nSecond claim: (.*)$", prompt, re.MULTILINE)
    return (text[2], claims[1], claims[2]) if text and claims else None


_BLOCK = re.compile(r"<<<([\w-]+) (\w+)\n(.*?)\n\1 \2>>>", re.DOTALL)


def blocks_in(prompt: str) -> list[tuple[str, str]]:
    """Return label and text of each piece of material in a prompt."""
    return [(label, text) for label, _, text in _BLOCK.findall(prompt)]


def question_reply(prompt: str) -> dict[str, Any]:
    """Return how a question is read: in its own words, without other searches."""
    question = dict(blocks_in(prompt))["question"]
    claims = {"yes": f"Yes to {question}", "no": f"No to {question}"}
    return {"language": "English", "yes_or_no": True, **claims, "searches": []}


def _made_up_side(text: str, first: str, second: str) -> Mapping[str, float]:
    """Return the side of a claim, or one made from the hash of the text."""
    words = ("first", "second", "neither")
    word = {first: "first", second: "second"}.get(text) or words[number_of(text) % 3]
    return {one: 0.9 if one == word else 0.05 for one in words}


def sides_reply(
    prompt: str, sides: Callable[[str, str, str], Mapping[str, float]]
) -> dict[str, Any] | None:
    """Return the side of each passage of a listwise prompt; None for another prompt."""
    found = blocks_in(prompt)
    passages = [text for label, text in found if label == "passage"]
    if not passages or '"passages"' not in prompt:
        return None
    claims = dict(found)
    entries = []
    for number, text in enumerate(passages, 1):
        chances = sides(text, claims["yes"], claims["no"])
        word = max(chances, key=chances.__getitem__)
        side = {"first": "yes", "second": "no"}.get(word, word)
        entries.append({"id": number, "side": side, "confidence": chances[word]})
    return {"passages": entries}


def _verdict(seed: str, *texts: str) -> dict[str, Any]:
    number = number_of(seed)
    answer = {"answer": "yes" if number % 2 else "no", "confidence": 0.5 + (number % 50) / 100}
    return {**dict.fromkeys(texts, ""), **answer}


def instance(schema: Mapping[str, Any], seed: str, path: str = "") -> Any:
    """Return a value that a JSON schema allows, chosen by hash."""
    number = number_of(f"{seed}{path}")
    if "enum" in schema:
        return schema["enum"][number % len(schema["enum"])]
    kind = schema.get("type", "string")
    if kind == "object":
        return {
            name: instance(part, seed, f"{path}/{name}")
            for name, part in schema.get("properties", {}).items()
        }
    if kind == "array":
        items = schema.get("items", {})
        count = 1 if "number" in items.get("properties", {}) else 2  # or both had one number
        return [instance(items, seed, f"{path}/{i}") for i in range(count)]
    if kind in ("number", "integer"):
        low, high = schema.get("minimum", 0), schema.get("maximum", 1)
        share = (number % 101) / 100
        return (
            low + round(share * (high - low)) if kind == "integer" else low + share * (high - low)
        )
    if kind == "boolean":
        return bool(number % 2)
    return f"Made up from hash {number:08x}."


def favouring(value: Any, which: str) -> Any:
    """Return a reply that prefers the first or the second throughout, and scores it higher."""
    if isinstance(value, dict):
        found = {name: favouring(part, which) for name, part in value.items()}
        numbers = {name for name in ("first", "second") if isinstance(found.get(name), int)}
        return found | {name: 5 if name == which else 1 for name in numbers}
    return which if value in ("first", "second", "tie") else value


def entries(value: Mapping[str, Any]) -> int:
    """Return how many questions a reply speaks of: each has an object of its own."""
    objects = [part for part in value.values() if isinstance(part, dict)]
    return len(objects) if len(objects) == len(value) else 1


def without_last(value: dict[str, Any]) -> str:
    """Leave out the last entry of a keyed reply, or the last number of an order."""
    if "order" in value:
        return json.dumps({"order": value["order"][:-1]})
    return json.dumps(dict(list(value.items())[:-1]) if entries(value) > 1 else value)


def with_extra(value: dict[str, Any]) -> str:
    """Add an entry, or a number, that nobody asked for."""
    if "order" in value:
        return json.dumps({"order": [*value["order"], len(value["order"]) + 4]})
    return json.dumps({**value, "99": next(iter(value.values()))})


def with_repeated(value: dict[str, Any]) -> str:
    """Say the first entry, or number, twice."""
    if "order" in value:
        return json.dumps({"order": [*value["order"], value["order"][0]]})
    first = json.dumps(dict(list(value.items())[:1]))[1:-1]
    return f"{{{first}, {json.dumps(value)[1:]}"


def tokens_of(text: str, style: str) -> list[bytes]:
    pieces = [piece.encode() for piece in re.findall(STYLES[style], text, re.DOTALL)]
    if style != "bytes":
        return pieces
    return [
        part
        for piece in pieces
        for part in ([piece] if piece.isascii() else [bytes([byte]) for byte in piece])
    ]


def logprobs_of(text: str, style: str, spellings: Mapping[str, float]) -> dict[str, Any]:
    """Return `choices[0].logprobs` as OpenAI sends it.

    Args:
        text: what the model wrote.
        style: one of `STYLES`.
        spellings: probability of each alternative where an answer's word (with numbers among them:
            a score) begins; they are given
            the quotation mark that the written token has. Elsewhere nothing else was likely.
    """
    numbers = any(word.isdigit() or word in ("true", "false") for word in spellings)
    found = (SCORE if numbers else WORD).finditer(text)
    starts = {len(text[: match.start(1)].encode()) for match in found}
    content, place = [], 0
    for piece in tokens_of(text, style):
        inside = next((s for s in starts if place <= s < place + len(piece)), None)
        seen = {_shown(piece): -0.001, "maybe": _REST}
        if inside is not None:
            before = piece[: inside - place].decode()
            seen = {before + word: math.log(p) for word, p in spellings.items()}
        ranked = sorted(seen.items(), key=lambda pair: -pair[1])
        content.append(
            {
                "token": _shown(piece),
                "logprob": seen.get(_shown(piece), _FORCED),
                "bytes": list(piece),
                "top_logprobs": [
                    {"token": word, "logprob": value, "bytes": list(word.encode())}
                    for word, value in ranked
                ],
            }
        )
        place += len(piece)
    return {"content": content, "refusal": None}


def _shown(piece: bytes) -> str:
    return piece.decode("utf-8", "replace")
