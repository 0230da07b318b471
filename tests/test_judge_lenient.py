"""Harmless forms of a right reply give the same verdict, marked; thinking never gives one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_server import ChatServer
from command import caller, rows_of, write_rows
from pnyx.judging.forms import form_of
from pnyx.judging.forms.base import FormCall, ReplyReading
from pnyx.judging.llm.json_objects import UnreadableReply, answer_span
from pnyx.judging.llm.leniency import watching_departures
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.llm.structured_replies import cut_reason
from pnyx.judging.questions import JudgeQuestion, Preference, Ranking, Rating, Support
from pnyx.models.chat.types import ChatRequest, Reply

run = caller()

VERDICT = {"reason": "Fares fell.", "evidence": "Fares fell", "answer": "yes", "confidence": 0.9}
TASKS: dict[str, tuple[JudgeQuestion, dict[str, Any]]] = {
    "support": (Support("1", "Fares fell.", "It got cheaper."), VERDICT),
    "quality": (
        Rating("1", "Text.", ("clarity",), (1, 3)),
        {"clarity": {"reason": "Plain.", "score": 2}},
    ),
    "preference": (Preference("1", "A.", "B.", "Q?"), {"reason": "Better.", "winner": "second"}),
    "sides": (Preference("1", "A.", "B.", "Q?"), {"answer": "first"}),
    "ranking": (Ranking("1", "Q?", ("A.", "B.", "C.")), {"order": [3, 1, 2]}),
}


def read(task: str, text: str) -> tuple[ReplyReading, set[str]]:
    question, _ = TASKS[task]
    prompt = load_prompt(task)
    with watching_departures() as departures:
        (reading,) = form_of(prompt).read(FormCall(prompt, [question]), text)
    assert reading is not None
    return reading, departures


def changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value with each word and number of it changed."""
    if isinstance(value, dict):
        return {name: changed(part, change) for name, part in value.items()}
    return [changed(p, change) for p in value] if isinstance(value, list) else change(value)


def as_text(value: Any) -> Any:
    return value if isinstance(value, str) else str(value)


def renamed(value: Any, change: Callable[[str], str]) -> Any:
    if not isinstance(value, dict):
        return value
    return {change(name): renamed(part, change) for name, part in value.items()}


def in_words(value: Any, change: Callable[[str], str]) -> Any:
    """Return a value whose verdict's word is written otherwise."""
    words = ("yes", "second", "first")
    return changed(value, lambda part: change(part) if part in words else part)


def innermost(value: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    inner = next(iter(value.values()))
    if isinstance(inner, dict):
        return {name: {**part, **more} for name, part in value.items()}
    return {**value, **more}


FORMS: dict[str, Callable[[dict[str, Any]], str]] = {
    "numbers as texts": lambda v: json.dumps(changed(v, as_text)),
    "numbers with a fraction": lambda v: json.dumps(
        changed(v, lambda part: float(part) if isinstance(part, int) else part)
    ),
    "an extra field": lambda v: json.dumps(innermost(v, {"note": "That is clear.", "n": 1})),
    "keys in capitals": lambda v: json.dumps(renamed(v, str.upper)),
    "keys with a capital": lambda v: json.dumps(renamed(v, str.title)),
    "a list around it": lambda v: json.dumps([v]),
    "an object around it": lambda v: json.dumps({"result": v}),
    "two objects around it": lambda v: json.dumps({"response": {"result": v}}, indent=1),
    "a wrapper in a fence": lambda v: f"```json\n{json.dumps({'output': v})}\n```",
    "a trailing comma": lambda v: json.dumps(v)[:-1] + ",\n}",
    "trailing commas": lambda v: json.dumps(v).replace("}", " , }").replace("]", ",]"),
    "a trailing comma in a fence": lambda v: f"```json\n{json.dumps(v)[:-1]},}}\n```",
    "words before": lambda v: f"Here is my verdict:\n{json.dumps(v)}",
    "words after": lambda v: f"{json.dumps(v)}\nI hope that this helps.",
    "an open fence": lambda v: f"```json\n{json.dumps(v, indent=2)}",
    "a fence of another name": lambda v: f"```\n{json.dumps(v)}\n```",
    "answer tags": lambda v: f"<answer>{json.dumps(v)}</answer>",
    "an end mark": lambda v: f"{json.dumps(v)}<|im_end|>",
    "words in capitals": lambda v: json.dumps(in_words(v, str.upper)),
    "words with a stop": lambda v: json.dumps(in_words(v, lambda word: f"{word.title()}.")),
    "words in bold": lambda v: json.dumps(in_words(v, lambda word: f" **{word}** ")),
    "quoted words": lambda v: json.dumps(in_words(v, lambda word: f"'{word}'")),
}
ONLY = {
    "90": ("support", json.dumps(VERDICT | {"confidence": 90})),
    "90 %": ("support", json.dumps(VERDICT | {"confidence": "90%"})),
    "90 % with a space": ("support", json.dumps(VERDICT | {"confidence": "90 %"})),
    "true": ("support", json.dumps(VERDICT | {"answer": True})),
    "null as evidence": ("support", json.dumps(VERDICT | {"evidence": None})),
    "a list as evidence": ("support", json.dumps(VERDICT | {"evidence": ["Fares", "fell"]})),
    "a raw line break": ("support", json.dumps(VERDICT).replace("Fares fell.", "Fares\nfell.")),
    "a bare word": ("sides", "first"),
    "a bare word with a stop": ("sides", "First."),
    "a bare word in bold": ("sides", "**First**\n"),
    "a bare word in quotation marks": ("sides", '"first"'),
    "a bare word behind thinking": ("sides", "Not the second.</think>\n\nfirst"),
    "a bare preference": ("preference", "Second."),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("task", TASKS)
def test_a_harmless_form_gives_the_same_verdict_and_is_marked(task, form):
    _, valid = TASKS[task]
    strict, none = read(task, json.dumps(valid))
    assert none == set()
    text = FORMS[form](valid)
    reading, departures = read(task, text)
    assert (reading.value, reading.stated) == (strict.value, strict.stated)
    strictly = form in ("a fence of another name", "words in capitals")
    assert bool(departures) is not (strictly or text == json.dumps(valid))


@pytest.mark.parametrize("form", ONLY)
def test_a_harmless_form_of_one_task(form):
    task, text = ONLY[form]
    strict, _ = read(task, json.dumps(TASKS[task][1]))
    reading, departures = read(task, text)
    assert (reading.value, reading.stated) == (strict.value, strict.stated)
    assert departures
    if task == "sides":  # the probability by token is at the word
        assert reading.span is not None
        assert text[slice(*reading.span)].lower() == "first"


@pytest.mark.parametrize(("stated", "share"), [(10.5, 0.105), (11, 0.11), (100, 1.0)])
def test_a_number_above_10_is_a_percentage(stated, share):
    reading, departures = read("support", json.dumps(VERDICT | {"confidence": stated}))
    assert reading.stated == pytest.approx(share)
    assert departures == {"number"}


@given(
    st.sampled_from(sorted(TASKS)),
    st.sampled_from(sorted(FORMS)),
    st.sampled_from(["", "<think>Is it {}?</think>", 'no {"answer": "no"}</thinking>\n']),
)
def test_forms_behind_thinking_are_read_alike(task, form, thinking):
    _, valid = TASKS[task]
    strict, _ = read(task, json.dumps(valid))
    reading, _ = read(task, thinking + FORMS[form](valid))
    assert (reading.value, reading.stated) == (strict.value, strict.stated)


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ("support", json.dumps(VERDICT | {"confidence": 10})),  # of ten, or of a hundred?
        ("support", json.dumps(VERDICT | {"confidence": 5})),
        ("support", json.dumps(VERDICT | {"confidence": 100.5})),
        ("support", json.dumps(VERDICT | {"confidence": "101%"})),
        ("support", json.dumps(VERDICT | {"answer": "yes/no"})),
        ("support", json.dumps(VERDICT | {"final_answer": "no"})),
        ("support", json.dumps(VERDICT | {"verdict": False})),
        ("support", json.dumps(VERDICT | {"Answer": "no"})),
        ("support", "yes"),  # how confident?
        ("sides", "first or second"),
        ("sides", "The first claim."),
        ("sides", "firstly"),
        ("sides", "maybe"),
        ("quality", json.dumps({"clarity": {"reason": "", "score": "2.5"}})),
        ("quality", json.dumps({"clarity": {"reason": "", "score": "90%"}})),
        ("quality", json.dumps({"clarity": {"reason": "", "score": True}})),  # yes, or 1 of 3?
        ("ranking", json.dumps({"order": [3, True, 2]})),
        ("support", json.dumps(VERDICT | {"confidence": True})),
        ("quality", json.dumps({"a": {"b": {"c": {"d": {"clarity": {"score": 2}}}}}})),
        ("support", json.dumps([VERDICT, VERDICT])),
        ("support", json.dumps({"first": VERDICT, "second": VERDICT})),
    ],
)
def test_what_could_mean_something_else_is_not_read(task, text):
    with pytest.raises(UnreadableReply):
        read(task, text)


@pytest.mark.parametrize(
    ("words", "contradict"),
    [
        ("Correction: on a second look it is different.", True),
        ("Wait.", True),
        ("The answer is no.", True),
        ("That is false.", True),
        ("The text does not say so.", True),
        ("Confidence: 0.4", True),
        ("So the answer is yes, with 0.9.", False),
        ("I am 90 % confident.", False),
        ("Let me know if you need anything else!", False),
        ("There.", False),
    ],
)
@pytest.mark.parametrize("fenced", [False, True])
def test_words_after_the_object_must_not_contradict_it(words, contradict, fenced):
    valid = json.dumps(VERDICT)
    text = f"```json\n{valid}\n```\n{words}" if fenced else f"{valid}\n{words}"
    if contradict:
        with pytest.raises(UnreadableReply, match="contradict"):
            read("support", text)
    else:
        assert read("support", text)[0].value is True


# --- thinking

DRAFT = f"Maybe {json.dumps(VERDICT | {'answer': 'no'})}? Hmm, it is a yes. "
THINKING = {
    "think": f"<think>{DRAFT}</think>",
    "thinking": f"<thinking>{DRAFT}</thinking>\n",
    "thought": f"<thought>\n{DRAFT}</thought>\n\n",
    "reasoning": f"<reasoning>{DRAFT}</reasoning>",
    "Magistral": f"[THINK]{DRAFT}[/THINK]",
    "Seed": f"<seed:think>{DRAFT}</seed:think>",
    "Command": f"<|START_THINKING|>{DRAFT}<|END_THINKING|>",
    "Sky": f"<|begin_of_thought|>{DRAFT}<|end_of_thought|>",
    "Kimi": f"\u25c1think\u25b7{DRAFT}\u25c1/think\u25b7",
    "gpt-oss": f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant"
    "<|channel|>final<|message|>",
    "gpt-oss, constrained": f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant"
    "<|channel|>final <|constrain|>json<|message|>",
    "gpt-oss without marks": f"analysis{DRAFT}assistantfinal",
    "twice": f"<think>{DRAFT}</think>\nWell. <think>{DRAFT}</think>",
}


def judged(text: str, finish: str = "stop") -> bool | None:
    """Return the verdict that a judge would read, None where it reads none."""
    reply = Reply(text, finish, "m", {}, "text")
    if cut_reason(reply, ChatRequest(())):
        return None
    try:
        return bool(read("support", text)[0].value)
    except UnreadableReply:
        return None


@pytest.mark.parametrize("family", THINKING)
def test_no_part_of_a_thinking_reply_gives_a_verdict(family):
    whole = THINKING[family] + json.dumps(VERDICT)
    assert judged(whole) is True
    for end in range(len(whole)):
        assert judged(whole[:end]) is None, whole[:end]


def test_thinking_that_the_prompt_opened_is_closed_or_cut_off():
    whole = f"{DRAFT}</think>{json.dumps(VERDICT)}"
    assert judged(whole) is True
    for end in range(len(whole)):
        assert judged(whole[:end], "length") is None
    assert judged(DRAFT) is None  # its own words contradict the draft


@pytest.mark.parametrize("family", THINKING)
def test_an_answer_that_is_taken_back_by_more_thinking_is_none(family):
    opened = THINKING[family].split(DRAFT)[0]
    assert judged(f"{json.dumps(VERDICT)}\n{opened} Wait") is None
    assert judged(THINKING[family]) is None


def test_a_mark_that_an_object_quotes_is_not_thinking():
    quoted = json.dumps(VERDICT | {"evidence": "they wrote </think> and [THINK]"})
    assert answer_span(quoted) == (0, len(quoted))
    assert judged(quoted) is True


def test_unclosed_thinking_costs_one_call_and_is_unscored(own_place, run):
    write_rows("items.jsonl", [{"id": "1", "text": "Fares fell.", "statement": "Cheaper."}])
    with ChatServer(reply=f"<thinking>{DRAFT}") as server:
        assert run("judge", "support", "items.jsonl", "--judge", server.spec, "--out", "o")[0] == 3
        assert len(server.asked()) == 1
    (row,) = rows_of("o")
    assert row["unscored"] == "thinking: the reply ends with its thinking, and no answer follows"


def test_a_repair_turn_does_not_send_the_thinking_back(own_place, run):
    write_rows("items.jsonl", [{"id": "1", "text": "Fares fell.", "statement": "Cheaper."}])
    with ChatServer(reply=f"<think>{DRAFT}</think>I would say yes.") as server:
        assert run("judge", "support", "items.jsonl", "--judge", server.spec, "--out", "o")[0] == 3
        _, repair = server.asked()
    assert repair["messages"][2] == {"role": "assistant", "content": "I would say yes."}


def test_lenient_answers_are_counted_and_cost_one_call_each(own_place, run):
    rows = [{"id": str(n), "text": f"Fares fell {n}.", "statement": "Cheaper."} for n in range(3)]
    write_rows("items.jsonl", rows)
    reply = json.dumps([VERDICT | {"confidence": "90%", "answer": "Yes."}])
    with ChatServer(reply=reply) as server:
        status, printed, _ = run(
            "judge", "support", "items.jsonl", "--judge", server.spec, "--out", "o"
        )
        assert len(server.asked()) == 3
    assert status == 0
    assert "3 read leniently" in printed
    assert {row["probability"] for row in rows_of("o")} == {0.9}
    assert rows_of("o")[0]["notes"] == {"lenient": ["number", "word", "wrapper"]}
    assert Path("o", "manifest.json").exists()
