"""The JSON object in a model's reply, after its thinking, and the positions of its values.

Everything up to the last closing mark is thinking, even without an opening mark: chat templates
often open it in the prompt, so that only the closing mark is in the reply.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pnyx.core.errors import escaped
from pnyx.core.files import clean_text, clean_value
from pnyx.judging.llm.leniency import bare_word, field_name, mark_departure


class UnreadableReply(ValueError):  # noqa: N818 - the name says what happened
    """The reply is not the requested JSON object; `readings` are its usable parts."""

    def __init__(self, problem: str, readings: Sequence[Any] = ()) -> None:
        super().__init__(problem)
        self.readings = readings


_OPENING = re.compile(r"```(?:json)?[ \t]*\n", re.IGNORECASE)
_CLOSING = re.compile(r"\n[ \t]*```")
_MOST_WRAPPERS = 3


def one_object(text: str, names: Sequence[str] = ()) -> dict[str, Any]:
    """Decode the only JSON object of a reply's answer: alone, in a fence, in prose or in a list.

    `names` are the expected fields: an object around the one that has them is removed.
    """
    return _located(text, names)[0]


def _located(text: str, names: Sequence[str] = ()) -> tuple[dict[str, Any], int, int]:
    """Return the only JSON object of a reply, and its position."""
    span = answer_span(text)
    if span is None:
        raise UnreadableReply("found thinking only, expected one JSON object behind it")
    begin, end = span
    value, start, stop = _in_answer(text[begin:end])
    return _unwrapped(text, value, begin + start, begin + stop, names)


def _in_answer(answer: str) -> tuple[dict[str, Any], int, int]:
    text = answer
    try:
        start, end = _object_span(answer)
        text = answer[start:end].strip()
        value = clean_value(_DECODER.decode(text))
    except (ValueError, RecursionError) as error:
        located = _in_prose(answer)
        if located is None:
            excerpt = repr(escaped(text, 60)) if text else "nothing"
            problem = f"found {excerpt}, expected one JSON object"
            raise (
                error if isinstance(error, UnreadableReply) else UnreadableReply(problem)
            ) from error
        return located
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        located = _in_prose(answer)
        if located is not None:
            return located
    if not isinstance(value, dict):
        raise UnreadableReply("found another JSON value, expected an object")
    _check_words_after(answer[end:], value)
    return value, start, end


_BRACE = re.compile(r"\{\s*(?=[\"'}])")
"""Matches the beginning of an object, and not a word in braces."""
_QUOTES = tuple("\"'`\u201c\u2018\u00ab\u201e")


def _in_prose(answer: str) -> tuple[dict[str, Any], int, int] | None:
    """Return the only object within other words; None if there could be another answer."""
    opening = _BRACE.search(answer)
    if opening is None:
        return None
    start = opening.start()
    before = answer[:start]
    if "```" not in answer and before.endswith(_QUOTES):
        return None  # written by someone else, perhaps quoted from the document
    try:
        value, end = _RELAXED.raw_decode(_without_trailing_commas(answer, start), start)
        value = clean_value(value)
    except (ValueError, RecursionError):
        return None
    if not value or _BRACE.search(answer, end):
        return None
    _check_words_after(answer[end:], value)
    around = before.strip(), answer[end:].strip()
    if around == ("[", "]"):
        mark_departure("wrapper")
    elif around != ("", ""):
        mark_departure("prose")
    if not _is_strict(answer[start:end]):
        mark_departure("json")
    return value, start, end


def _is_strict(text: str) -> bool:
    try:
        _DECODER.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


_WRAPPER = re.compile(r'\{\s*"(?:[^"\\]|\\.)*+"\s*:\s*', re.DOTALL)


def _unwrapped(
    text: str, value: dict[str, Any], start: int, end: int, names: Sequence[str]
) -> tuple[dict[str, Any], int, int]:
    """Remove single-field objects around the object that has the expected fields."""
    expected = dict.fromkeys(names)
    inner, position = value, start
    for _ in range(_MOST_WRAPPERS):
        part = next(iter(inner.values()), None) if len(inner) == 1 else None
        opening = _WRAPPER.search(text, position, end)
        if not isinstance(part, dict) or opening is None:
            break
        inner, position = part, opening.end()
        if any(field_name(key, expected) for key in inner):
            mark_departure("wrapper")
            return inner, position, end
    return value, start, end


_TURN = re.compile(
    r"\b(?:correct(?:ion|ed|ing)|wait|actually|reconsider\w*|on second|on reflection|mistake\w*"
    r"|wrong|instead|revis\w+|scratch that|chang(?:e|ed|ing) my|should be|should have|rather"
    r"|sorry|apolog\w+|however|hmm+|korrektur|correcci\u00f3n|correzione)\b",
    re.IGNORECASE,
)
_OPPOSED = (
    frozenset(("yes", "no", "true", "false")),
    frozenset(("first", "second", "tie", "neither")),
    frozenset(("support", "partial_support", "not_support")),
)
_DENIALS = frozenset(("not", "cannot", "never"))
_WORD, _DIGITS = re.compile(r"[^\W\d]+"), re.compile(r"\d+(?:\.\d+)?")


def _check_words_after(rest: str, value: Any) -> None:
    """Raise UnreadableReply if the words after an object may contradict it."""
    if not any(character.isalnum() for character in rest):
        return
    problem = "found words after the object that may contradict it"
    if _TURN.search(rest):
        raise UnreadableReply(problem)
    leaves = list(_leaves(value))
    stated = {_TRUTH[leaf] if isinstance(leaf, bool) else bare_word(str(leaf)) for leaf in leaves}
    words = {word.casefold() for word in _WORD.findall(rest)}
    for verdicts in _OPPOSED:
        if stated & verdicts and (words & verdicts) - stated:
            raise UnreadableReply(problem)
    if stated & {"yes", "true", "support"} and words & _DENIALS:
        raise UnreadableReply(problem)
    numbers = {float(number) for leaf in leaves for number in _DIGITS.findall(str(leaf)[:400])}
    numbers |= {round(100 * number, 6) for number in numbers}
    if numbers and any(float(number[:300]) not in numbers for number in _DIGITS.findall(rest)):
        raise UnreadableReply(problem)


_TRUTH = {True: "true", False: "false"}


def _leaves(value: Any) -> Iterator[Any]:
    """Yield the words and numbers of a decoded value."""
    parts: list[Any] = [value]
    while parts:
        part = parts.pop()
        if isinstance(part, dict | list):
            parts += part.values() if isinstance(part, dict) else part
        else:
            yield part


def _object_span(answer: str) -> tuple[int, int]:
    """Return the expected position of the JSON in an answer."""
    # A fence inside a string is quoted text: a document about Markdown may contain one.
    if "```" not in answer or answer.lstrip().startswith("{"):
        return 0, len(answer)
    outside, fences, end = "", [], 0
    while opening := _OPENING.search(answer, end):
        closing = _CLOSING.search(answer, opening.end())
        if closing is None:  # later fences are not closed either: do not search again
            break
        fences.append((opening.end(), closing.start()))
        outside += answer[end : opening.start()]
        end = closing.end()
    outside += answer[end:]
    if len(fences) != 1 or "{" in outside or "```" in outside:
        raise UnreadableReply("found several or broken blocks, expected one JSON object")
    return fences[0]


def bare_word_span(text: str) -> tuple[int, int] | None:
    """Return the position of the only word of a reply's answer; None if it has more."""
    span = answer_span(text)
    words = [] if span is None else list(_BARE.finditer(text, *span))
    return words[0].span() if len(words) == 1 else None


_BARE = re.compile(r"\w[\w-]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
"""In a readable reply every string is closed. An unclosed string extends to the end, so that no
text is scanned twice."""
_COLON = re.compile(r"\s*:")
_COMMA = re.compile(_STRING.pattern + r"|,(?=\s*[}\]])", re.DOTALL)


def _without_trailing_commas(text: str, start: int) -> str:
    """Replace commas before a closing bracket by spaces, so that all positions stay the same."""
    return text[:start] + _COMMA.sub(
        lambda match: " " if match.group() == "," else match.group(), text[start:]
    )


def word_spans(text: str, key: str) -> list[tuple[int, int]]:
    """Return the positions of the string values of `key` at any depth in a readable reply.

    For an answer of one bare word: the position of that word.
    """
    try:
        _, start, end = _located(text)
    except UnreadableReply:
        bare = bare_word_span(text)
        if bare is None:
            raise
        return [bare]
    spans = []
    named = False
    for literal in _STRING.finditer(text, start, end):
        is_key = _COLON.match(text, literal.end()) is not None
        if named and not is_key:
            spans.append((literal.start() + 1, literal.end() - 1))
        named = is_key and bare_word(literal.group()) == bare_word(key)
    return spans


_PIECE = re.compile(_STRING.pattern + "|[{}]", re.DOTALL)
_VALUE = re.compile(r"\s*:\s*\"?(-?[\d.]+|true|false)")


def number_spans(text: str, key: str, names: Sequence[str] = ()) -> dict[str, tuple[int, int]]:
    """Return the position of the number (or true, false) of `key` in each entry of a reply."""
    _, start, end = _located(text, names)
    expected = dict.fromkeys(names)
    spans: dict[str, tuple[int, int]] = {}
    depth, entry = 0, ""
    for piece in _PIECE.finditer(text, start, end):
        symbol = piece.group()
        if symbol in "{}":
            depth += 1 if symbol == "{" else -1
        elif depth == 1 and _COLON.match(text, piece.end()):
            entry = str(json.loads(symbol, strict=False)).strip()
            entry = field_name(entry, expected) or entry
        elif (
            depth == 2 and bare_word(symbol) == key and (number := _VALUE.match(text, piece.end()))
        ):
            spans[entry] = number.span(1)
    return spans


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({clean_text(key) for key, _ in pairs}) != len(pairs):
        raise ValueError("a key comes twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_no_constant)
_RELAXED = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_no_constant, strict=False)


_WORDS = "think|thinking|thought|thoughts|reasoning"
_CLOSED = re.compile(
    rf"</(?:[a-z]{{1,20}}:)?(?:{_WORDS})>"  # Qwen, DeepSeek, Claude, EXAONE, Gemini, Seed
    r"|\[/THINK\]"  # Magistral
    r"|<\|END_THINKING\|>|<\|end_of_thought\|>"  # Command, Sky
    r"|\u25c1/think\u25b7",  # Kimi-VL
    re.IGNORECASE,
)
_OPENED = re.compile(
    rf"<(?:[a-z]{{1,20}}:)?(?:{_WORDS})>"
    r"|\[THINK\]|<\|START_THINKING\|>|<\|begin_of_thought\|>|\u25c1think\u25b7",
    re.IGNORECASE,
)
_CHANNEL = "<|channel|>"
_FINAL = re.compile(r"<\|channel\|>\s*final\b[^<]{0,40}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>")
_FINAL_ENDS = re.compile(r"<\|(?:return|end|call)\|>")
_BARE_ANALYSIS, _BARE_FINAL = re.compile(r"analysis(?=[A-Z\"{])"), "assistantfinal"
"""gpt-oss behind a server that omits the marks themselves."""


def answer_span(text: str) -> tuple[int, int] | None:
    """Return the position of the answer in a reply; None if all of it is thinking."""
    if _is_object(text):  # a mark in one of its strings is quoted
        return 0, len(text)
    if _CHANNEL in text:
        return _of_channels(text)
    if _BARE_ANALYSIS.match(text.lstrip()):
        at = text.rfind(_BARE_FINAL)
        return None if at < 0 else (at + len(_BARE_FINAL), len(text))
    start = 0
    for closed in _CLOSED.finditer(text):
        start = closed.end()
    if _OPENED.search(text, start):
        return None
    return (start, len(text)) if text[start:].strip() or not start else None


def _of_channels(text: str) -> tuple[int, int] | None:
    """Return the position of the final channel of gpt-oss, which must be the last one."""
    start = text.rfind(_CHANNEL)
    final = _FINAL.match(text, start)
    if final is None:
        return None
    end = _FINAL_ENDS.search(text, final.end())
    stop = len(text) if end is None else end.start()
    return (final.end(), stop) if text[final.end() : stop].strip() else None


def _is_object(text: str) -> bool:
    if not text.lstrip().startswith("{"):
        return False
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return True
