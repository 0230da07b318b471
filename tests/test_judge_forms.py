"""Reading replies of every form: what a strict reader reads, or nothing; never a crash."""

from __future__ import annotations

import contextlib
import json
import math
import random
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.core.files import json_line
from pnyx.judging.answers import Judged, Provenance, answer_rows
from pnyx.judging.forms import FORMS, form_of
from pnyx.judging.forms.base import FormCall, ReplyReading, reordered
from pnyx.judging.llm.json_objects import UnreadableReply, one_object, word_spans
from pnyx.judging.llm.leniency import watching_departures
from pnyx.judging.llm.prompts import Prompt, load_prompt
from pnyx.judging.llm.structured_replies import probability_of_yes
from pnyx.judging.questions import JudgeQuestion, Preference, Ranking, Rating, Support
from pnyx.models.chat.completion import read_reply
from pnyx.models.chat.types import Reply, Token
from tries import tries

# --- a strict reader of each form, with nothing but json


class Refused(Exception):  # noqa: N818 - reads as what happened
    """What the strict reader says of anything but the one right reply."""


def check(condition: object) -> None:
    if not condition:
        raise Refused


def strict_object(text: str) -> dict[str, Any]:
    """Decode the reply as the prompts ask for it; wrapped in one fence or after thoughts too."""
    with contextlib.suppress(ValueError, RecursionError):
        if isinstance(json.loads(text, strict=False), dict):  # a mark in it is quoted
            return _decoded(text)
    return _decoded(text.rpartition("</think>")[2])


def _decoded(text: str) -> dict[str, Any]:
    if "```" in text and not text.lstrip().startswith("{"):
        parts = re.split(r"```", text)
        check(len(parts) == 3 and "{" not in parts[0] + parts[2])
        fenced = re.fullmatch(r"(?:json)?[ \t]*\n(.*)\n[ \t]*", parts[1], re.IGNORECASE | re.DOTALL)
        check(fenced)  # a fence stands on lines of its own
        assert fenced is not None
        text = fenced[1]

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in found]
        check(len(names) == len(set(names)))
        return dict(found)

    def constant(name: str) -> None:
        raise Refused

    try:
        value = json.loads(text.strip(), object_pairs_hook=pairs, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise Refused from error
    check(isinstance(value, dict))
    assert isinstance(value, dict)
    return value


def said(value: Any, *words: str) -> str:
    check(isinstance(value, str) and value.strip().lower() in words)
    return str(value).strip().lower()


def verdict(value: Any, *fields: str) -> tuple[bool, float]:
    check(isinstance(value, dict) and set(value) == {*fields, "answer", "confidence"})
    check(all(isinstance(value[name], str) for name in fields))
    sure = value["confidence"]
    check(isinstance(sure, int | float) and not isinstance(sure, bool) and 0 <= sure <= 1)
    yes = said(value["answer"], "yes", "no") == "yes"
    return yes, sure if yes else 1 - sure


def strict_support(text: str) -> list[Any]:
    return [verdict(strict_object(text), "reason", "evidence")]


def strict_many(text: str) -> list[Any]:
    value = {name.strip(): part for name, part in unique(strict_object(text)).items()}
    read = {name: verdict(part, "reason") for name, part in value.items()}
    check(read and set(read) <= {"1", "2", "3"})
    return [read.get(number) for number in ("1", "2", "3")]


def strict_nuggets(text: str) -> list[Any]:
    value = {name.strip(): part for name, part in unique(strict_object(text)).items()}
    check(value and set(value) <= {"1", "2", "3"})
    read = {}
    for name, part in value.items():
        check(isinstance(part, dict) and set(part) == {"reason", "answer", "confidence"})
        sure = part["confidence"]
        check(isinstance(part["reason"], str))
        check(isinstance(sure, int | float) and not isinstance(sure, bool) and 0 <= sure <= 1)
        given = said(part["answer"], "support", "partial_support", "not_support") == "support"
        read[name] = (given, sure if given else (1 - sure) / 2)
    return [read.get(number) for number in ("1", "2", "3")]


def strict_given(text: str) -> list[Any]:
    value = strict_object(text)
    check(set(value) == {"given"} and isinstance(value["given"], list))
    read: dict[int, Any] = dict.fromkeys((1, 2, 3), False)
    for part in value["given"]:
        check(isinstance(part, dict) and set(part) == {"number", "answer", "confidence"})
        check(type(part["number"]) is int and 1 <= part["number"] <= 3)
        check(read[part["number"]] is False)
        sure = part["confidence"]
        check(isinstance(sure, int | float) and not isinstance(sure, bool) and 0 <= sure <= 1)
        given = said(part["answer"], "support", "partial_support") == "support"
        read[part["number"]] = (given, sure if given else (1 - sure) / 2)
    return list(read.values())


def unique(value: dict[str, Any]) -> dict[str, Any]:
    check(len({name.strip() for name in value}) == len(value))
    return value


def strict_rating(text: str) -> list[Any]:
    value = {name.strip(): part for name, part in unique(strict_object(text)).items()}
    check(value and set(value) <= set(RATING.dimensions))
    for part in value.values():
        check(isinstance(part, dict) and set(part) == {"reason", "score"})
        check(isinstance(part["reason"], str) and type(part["score"]) is int)
        check(1 <= part["score"] <= 3)
    return [[value[name]["score"] if name in value else None for name in RATING.dimensions]]


def strict_preference(text: str) -> list[Any]:
    value = strict_object(text)
    check(set(value) == {"reason", "winner"} and isinstance(value["reason"], str))
    return [
        {"first": "a", "second": "b", "tie": "tie"}[said(value["winner"], "first", "second", "tie")]
    ]


def strict_choice(text: str) -> list[Any]:
    value = strict_object(text)
    check(set(value) == {"answer"})
    return [CHOICES[said(value["answer"], *CHOICES)]]


def strict_ranking(text: str) -> list[Any]:
    value = strict_object(text)
    check(set(value) == {"order"} and isinstance(value["order"], list))
    check(all(type(number) is int for number in value["order"]))
    order = list(dict.fromkeys(n - 1 for n in value["order"] if 1 <= n <= len(RANKING.texts)))
    check(order)
    return [order]  # what it leaves out is not ranked


# --- the forms, each with a valid reply

SUPPORT = Support("1", "Fares fell.", "Buses got cheaper.")
MANY = [Support(str(n), "Fares fell.", f"Statement {n}.") for n in range(3)]
RATING = Rating("1", "Text.", ("clarity", "cogency", "reasonableness"), (1, 3))
CHOICES = {"first": "a", "second": "b", "neither": "tie"}
PREFERENCE = Preference("1", "A.", "B.", "Q?")
RANKING = Ranking("1", "Q?", ("A.", "B.", "C.", "D."))
VERDICT = {"reason": "r", "evidence": "Fares fell", "answer": "yes", "confidence": 0.75}
SHORT = {"reason": "“é” {1}", "answer": "no", "confidence": 0.5}


class Case(NamedTuple):
    prompt: Prompt
    questions: list[Any]
    valid: dict[str, Any]
    strict: Callable[[str], list[Any]]


CASES = {
    "support": Case(load_prompt("support"), [SUPPORT], VERDICT, strict_support),
    "many": Case(
        load_prompt("support-many"),
        MANY,
        {"1": SHORT, "2": SHORT | {"answer": "yes"}, "3": SHORT},
        strict_many,
    ),
    "nuggets": Case(
        load_prompt("nugget-many"),
        [replace(question, task="nugget") for question in MANY],
        {
            "1": SHORT | {"answer": "support"},
            "2": SHORT | {"answer": "partial_support"},
            "3": SHORT | {"answer": "not_support"},
        },
        strict_nuggets,
    ),
    "given": Case(
        load_prompt("nugget-list"),
        [replace(question, task="nugget") for question in MANY],
        {
            "given": [
                {"number": 3, "answer": "support", "confidence": 0.75},
                {"number": 1, "answer": "partial_support", "confidence": 0.5},
            ]
        },
        strict_given,
    ),
    "rating": Case(
        load_prompt("quality"),
        [RATING],
        {name: {"reason": "r", "score": n} for n, name in enumerate(RATING.dimensions, 1)},
        strict_rating,
    ),
    "preference": Case(
        load_prompt("preference"),
        [PREFERENCE],
        {"reason": "r", "winner": "second"},
        strict_preference,
    ),
    "choice": Case(load_prompt("sides"), [PREFERENCE], {"answer": "neither"}, strict_choice),
    "ranking": Case(load_prompt("ranking"), [RANKING], {"order": [3, 1, 4, 2]}, strict_ranking),
}


def read(case: Case, text: str) -> list[ReplyReading | None]:
    return form_of(case.prompt).read(FormCall(case.prompt, case.questions), text)


def values(readings: list[ReplyReading | None]) -> list[Any]:
    return [
        None if r is None else (r.value, r.stated) if r.stated is not None else r.value
        for r in readings
    ]


def the_object(text: str) -> str:
    """Return the one JSON object that stands anywhere in a text, whole numbers as integers."""
    text = re.sub(r"^\s*<think>.*?</think>", "", text, flags=re.DOTALL)
    found, at = [], 0
    while (at := text.find("{", at)) >= 0:
        try:
            value, at = json.JSONDecoder().raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
        else:
            found += [value] if value else []
    (value,) = found
    return json.dumps(whole(value))


def whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: whole(part) for name, part in value.items()}
    if isinstance(value, list):
        return [whole(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def agree(case: Case, text: str) -> None:
    """Check that a text is read as the strict reader reads it, or refused as it refuses it."""
    try:
        expected: list[Any] | None = case.strict(text)
    except Refused:
        expected = None
    departures = set[str]()
    try:
        with watching_departures() as departures:
            readings = read(case, text)
    except UnreadableReply as error:
        problem = str(error)
    else:
        problem = ""
    if departures and not problem:
        assert departures <= {"prose", "number", "word", "fields", "json", "wrapper"}
        assert expected is None  # what is strictly read is not called lenient
        if not departures & {"word", "fields", "json", "wrapper"} and "%" not in text:
            with contextlib.suppress(Refused):  # a number as a text, or as a percentage
                expected = case.strict(the_object(text))
        expected = expected or values(readings)
    if problem:
        assert expected is None or not_unicode(text)
        assert len(problem) < 250
        problem.encode()
        return
    assert values(readings) == expected
    for question, reading in zip(case.questions, readings, strict=True):
        if reading is not None:
            written(question, reading, text)


def not_unicode(text: str) -> bool:
    """Whether the decoded reply holds half a character, which no file can carry."""
    return re.search(r"\\u[dD][89a-fA-F]", text) is not None


def written(question: JudgeQuestion, reading: ReplyReading, text: str) -> None:
    """Check that an answer can be written, and that its word stands where it is said to."""
    answer = Judged(
        reading.value, Provenance("j"), reading.stated, reading.explanation, notes=reading.notes
    )
    for row in answer_rows(question, answer):
        json_line(row).encode()
    if reading.span is not None:
        start, end = reading.span
        word = json.loads(f'"{text[start:end]}"', strict=False)
        known = reading.words or {"yes": True, "no": False}
        assert known[re.sub(r"[\W_]+", "_", word).strip("_").lower()] == reading.value


@pytest.mark.parametrize("name", CASES)
def test_a_valid_reply_is_read(name):
    case = CASES[name]
    text = json.dumps(case.valid)
    assert values(read(case, text)) == case.strict(text)
    assert None not in case.strict(text)
    for wrapped in (
        f"```json\n{text}\n```",
        f"Sure:\n```\n{text}\n```\nThere.",
        f"<think>{{}} or {text}?</think>\n{text}",
        json.dumps(case.valid, indent=2),
        json.dumps(case.valid, ensure_ascii=False),
    ):
        assert values(read(case, wrapped)) == case.strict(text)
        agree(case, wrapped)


PIECES = [
    '"', "{", "}", "[", "]", ",", ":", "\\", "\\u", "\\ud800", "\\u0061", "```", "```json\n",
    "\n```", "<think>", "</think>", "NaN", "Infinity", "-Infinity", "1e999", "-1", "0.5",
    "9" * 5000, "null", "true", "\x00", "\ufeff", "\u2028", " ", " 1", '"1": {}', '"answer": "no"',
    "[" * 2000,
]  # fmt: skip


@st.composite
def mutations(draw: st.DrawFn, valid: str) -> str:
    text = valid
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        to = min(len(text), at + draw(st.integers(0, 12)))
        piece = draw(st.sampled_from(PIECES) | st.text(max_size=3))
        text = draw(
            st.sampled_from(
                [
                    text[:at] + text[to:],
                    text[:at] + piece + text[at:],
                    text[:at] + piece + text[to:],
                    text[:to] + text[at:],
                    text[:at] + text[at:to][::-1] + text[to:],
                    text[:at],
                    text[at:],
                    f"{piece}{text}",
                    f"{text}{piece}",
                ]
            )
        )
    return text


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 5)
    | st.floats()
    | st.sampled_from(["yes", " Yes ", "NO", "maybe", "", "first", "\ud800", "1", 10**400])
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@st.composite
def changed_values(draw: st.DrawFn, valid: dict[str, Any]) -> str:
    """Return the reply with keys left out, renamed or added, and values of other types."""
    value = json.loads(json.dumps(valid))
    for _ in range(draw(st.integers(1, 2))):
        inner = [part for part in value.values() if isinstance(part, dict)]
        target = draw(st.sampled_from([value, *inner]))
        name = draw(st.sampled_from([*target, "answer", "1", " 1", "99", "clarity ", "\ud800"]))
        action = draw(st.sampled_from(["set", "drop", "wrap", "move"]))
        if action == "set" or name not in target:
            target[name] = draw(JSON)
        elif action == "drop":
            del target[name]
        elif action == "wrap":
            target[name] = draw(st.sampled_from([[target[name]], {name: target[name]}]))
        else:
            target[draw(st.sampled_from([f" {name}", name.upper(), name]))] = target.pop(name)
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=tries(150), deadline=None)
@given(data=st.data())
def test_a_mutated_reply_is_read_as_strictly_or_not_at_all(name, data):
    case = CASES[name]
    valid = json.dumps(case.valid, ensure_ascii=data.draw(st.booleans()))
    text = data.draw(mutations(valid) | changed_values(case.valid))
    agree(case, re.sub("[\ud800-\udfff]", "\ufffd", text))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", "[" * 10**5, '{"a":' * 10**5, "1" * 10**5]
)
def test_nothing_is_read_from_nothing(name, text):
    with pytest.raises(UnreadableReply):
        read(CASES[name], text)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("many", '"2"', '" 1"'),
        ("many", '"2"', '"1"'),
        ("rating", '"cogency"', '"clarity "'),
        ("rating", '"cogency"', '"\\u0063larity"'),
        ("support", '"reason": "r"', '"\\u0061nswer": "no"'),
    ],
)
def test_what_is_said_twice_is_not_read(name, old, new):
    text = json.dumps(CASES[name].valid)
    assert old in text
    with pytest.raises(UnreadableReply):
        read(CASES[name], text.replace(old, new))


@given(st.integers(0, 10**6), st.integers(1, 9))
def test_each_sample_reads_its_own_order(sample, count):
    question = Ranking("1", "Q?", tuple(f"Text {n}." for n in range(count)))
    form, prompt = FORMS["order"], load_prompt("ranking")
    shown = form.request(FormCall(prompt, [question], sample)).messages[1].content
    order = [int(n) for n in re.findall(r"^Text (\d)\.$", shown, re.MULTILINE)]
    ranks = random.Random(sample).sample(range(1, count + 1), count)
    (reading,) = form.read(FormCall(prompt, [question], sample), json.dumps({"order": ranks}))
    assert reading is not None
    assert reading.value == [order[number - 1] for number in ranks]


# --- token streams


def reply(text: str, tokens: list[Token] | None) -> Reply:
    return Reply(text, "stop", "m", {}, "text", None if tokens is None else tuple(tokens))


TEXT = json.dumps(VERDICT | {"reason": "naïve 東京"}, ensure_ascii=False)
SPAN = word_spans(TEXT, "answer")[0]
LOGPROBS = st.floats(-1000, 1e-6, exclude_min=True) | st.sampled_from([0.0, -745.2, -999.9, -1e-9])
WORDS = st.sampled_from(
    ["yes", "no", " Yes", '"no', '"', "y", "N", "yesterday", "", "\ud800", 'yes"', "\x00", '": "no']
) | st.text(max_size=4)  # fmt: skip


@pytest.mark.all
@settings(max_examples=tries(300), deadline=None)
@given(data=st.data())
def test_mutated_tokens_give_a_probability_or_none(data):
    cuts = sorted(data.draw(st.sets(st.integers(1, len(TEXT) - 1), max_size=30)))
    pieces = [TEXT[a:b] for a, b in zip([0, *cuts], [*cuts, len(TEXT)], strict=True)]
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(pieces) - 1))
        pieces[at : at + data.draw(st.integers(0, 2))] = data.draw(st.lists(WORDS, max_size=3))
    alternatives = st.lists(st.tuples(WORDS, LOGPROBS), max_size=5)
    tokens = [Token(piece, tuple(data.draw(alternatives))) for piece in pieces]
    found = probability_of_yes(reply(TEXT, tokens), SPAN)
    assert found is None or 0 < found < 1


@settings(max_examples=tries(150), deadline=None)
@given(content=JSON | st.lists(
    st.fixed_dictionaries(
        {"token": WORDS | JSON},
        optional={
            "logprob": st.floats() | JSON,
            "bytes": st.lists(st.integers(-5, 300), max_size=3) | JSON,
            "top_logprobs": st.lists(
                st.fixed_dictionaries({"token": WORDS, "logprob": st.floats() | JSON}), max_size=3
            )
            | JSON,
        },
    ),
    max_size=4,
))  # fmt: skip
def test_whatever_a_server_sends_as_logprobs_a_reply_is_read(content):
    body = {
        "choices": [
            {
                "message": {"content": TEXT},
                "logprobs": {"content": content},
                "finish_reason": "stop",
            }
        ]
    }
    found = read_reply(json.dumps(body).encode(), model="m", response_format="text")
    assert isinstance(found, Reply)
    assert found.text == TEXT
    for token in found.tokens or ():
        assert all(math.isfinite(logprob) for _, logprob in token.alternatives)
    probability = probability_of_yes(found, SPAN)
    assert probability is None or 0 < probability < 1


@given(st.text(max_size=200))
def test_no_text_is_more_than_one_object_or_nothing(text):
    try:
        found = one_object(text)
    except UnreadableReply:
        return
    assert found == strict_object(text)


@given(st.lists(st.sampled_from("abcd"), max_size=4), st.integers(1, 30), st.text(max_size=3))
def test_no_order_comes_again_before_each_was_there(items, samples, salt):
    shown = [[items[p] for p, _ in reordered(items, n, salt)] for n in range(samples)]
    different = len(set(permutations(items)))
    for start in range(0, samples, different):
        some = list(map(tuple, shown[start : start + different]))
        assert len(set(some)) == len(some)
    assert all(sorted(one) == sorted(items) for one in shown)
