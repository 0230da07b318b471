"""Limits of judging arguments with documents, of cascades, and of what is reported meanwhile."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import pnyx
from chat_server import ChatServer
from pnyx.judging import open_models
from pnyx.judging.answers import Judged, Provenance
from pnyx.judging.calibration.selective import ConfidenceRegions, Region
from pnyx.judging.forms import form_of
from pnyx.judging.forms.base import FormCall, ReplyReading
from pnyx.judging.llm.json_objects import UnreadableReply
from pnyx.judging.llm.judge import LlmJudge
from pnyx.judging.llm.leniency import watching_departures
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.llm.requests import Asking
from pnyx.judging.panel import Cascade
from pnyx.judging.questions import Rating, Support
from pnyx.judging.rag.groundedness import SUPPORT_FORMAT
from pnyx.judging.rag.rag import RAG_FORMATS
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.models.chat.open_endpoint import endpoint_from
from pnyx.models.chat.types import Reply, Token

RATING = Rating(
    "1", "Argument.", ("context_relevance",), (1, 5), task="rag", rubric=("p", "q"),
    documents=("D.",),
)  # fmt: skip


def read(prompt_name: str, question: Rating, reply: dict[str, Any]) -> ReplyReading:
    prompt = load_prompt(prompt_name)
    (reading,) = form_of(prompt).read(FormCall(prompt, [question]), json.dumps(reply))
    assert reading is not None
    return reading


def by_points(dimension: str, *grades: int) -> Any:
    """Return the rating by the grades of the points of a rubric."""
    entry = {"reason": "", **{str(n): grade for n, grade in enumerate(grades, 1)}}
    question = replace(RATING, dimensions=(dimension,))
    return read("rag-metric-nuggets", question, {dimension: entry}).value


def test_formats_that_make_points_ask_for_twenty():
    made = {f.name: getattr(f.shape(RATING), "nuggets", 0) for f in RAG_FORMATS if f.makes_points}
    assert made == {"query-rubric": 20, "rag-rubric": 20}


def test_scales_of_formats():
    scales = {
        f.name: getattr(f.shape(replace(RATING, scale=(0, 3))), "scale", None) for f in RAG_FORMATS
    }
    assert scales.pop("support") == (0, 1)
    assert scales == {
        "rag-direct": (0, 10), "direct": (0, 10), "static-rubric": (0, 1), "g-eval": (1, 5),
        "query-rubric": (1, 5), "rag-rubric": (1, 5), "listwise-rag": (0, 5),
        "listwise-rag-fine": (0, 5),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("dimension", "grades", "value"),
    [
        ("context_relevance", (1, 5), 3.0),
        ("context_relevance", (0, 5), UnreadableReply),
        ("context_relevance", (1, 6), UnreadableReply),
        ("groundedness", (0, 5), 5.0),  # a point that the argument does not make does not count
        ("groundedness", (-1, 5), UnreadableReply),
        ("groundedness", (1, 6), UnreadableReply),
        ("groundedness", (0, 0), None),
    ],
)
def test_points_are_graded_from_one_to_five(dimension, grades, value):
    if value is UnreadableReply:
        with pytest.raises(UnreadableReply):
            by_points(dimension, *grades)
    else:
        assert by_points(dimension, *grades) == value


def by_triad(documents: int = 5, *, turned: bool = False) -> ReplyReading:
    """Read grades of two nuggets and of two findings for two arguments."""
    question = replace(
        RATING, other="Other.", nuggets=2, turned=turned,
        dimensions=("context_relevance", "answer_relevance", "groundedness", "preference"),
    )  # fmt: skip
    nugget = {"nugget": "n", "documents": documents, "first": 2, "second": 5, "better": "second"}
    finding = {"nugget": "f", "first": 1, "second": 3}
    nuggets = {"1": nugget, "2": {**nugget, "documents": 1, "better": "first"}}
    reply = {"nuggets": nuggets, "findings": {"1": finding, "2": finding}}
    return read("rag-triad-nuggets", question, reply)


def test_a_table_of_nuggets_is_read_for_either_order_of_the_arguments():
    """Documents: (5 + 1) / 2. One nugget is for each argument, so that neither is better."""
    reading = by_triad()
    assert reading.value == [3.0, 2.0, 1.0, 3.0]
    assert reading.notes["other"] == {"answer_relevance": 5.0, "groundedness": 3.0}
    reading = by_triad(turned=True)
    assert reading.value == [3.0, 5.0, 3.0, 3.0]
    assert reading.notes["other"] == {"answer_relevance": 2.0, "groundedness": 1.0}
    for beyond in (0, 6):
        with pytest.raises(UnreadableReply):
            by_triad(beyond)


# --- cascades


class Cheap:
    """Answers one question at a time, with a probability that is never kept."""

    name, card, kinds = "cheap", "", frozenset({Support})

    async def answer(self, questions: Sequence[Any], emit: Any) -> None:
        for position, question in enumerate(questions):
            emit(position, Judged(True, Provenance(self.name), float(question.text)))
            for _ in range(3):
                await anyio.lowlevel.checkpoint()


class Strong:
    """Waits for a while, and notes how many of its calls run at the same time."""

    name, card, kinds = "strong", "", frozenset({Support})

    def __init__(self) -> None:
        self.running = self.most = 0

    async def answer(self, questions: Sequence[Any], emit: Any) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        for _ in range(200):
            await anyio.lowlevel.checkpoint()
        for position in range(len(questions)):
            emit(position, Judged(False, Provenance(self.name), 0.25))
        self.running -= 1


def regions(low: float | None, high: float | None) -> ConfidenceRegions:
    kept = [Region() if limit is None else Region(9, 0, 0.05) for limit in (low, high)]
    return ConfidenceRegions(0.1, low, high, kept[0], kept[1], 20)


def test_four_calls_of_the_strong_judge_run_at_the_same_time():
    strong = Strong()
    questions = [Support(str(n), "0.5", "S.") for n in range(12)]
    answers = pnyx.ask(Cascade(Cheap(), strong, regions(0.1, 0.9)), questions)
    assert strong.most == 4
    assert {answer.provenance.judge for answer in answers} == {"strong"}


@pytest.mark.parametrize(
    ("low", "high", "probability", "judge"),
    [
        (None, 0.9, 0.9, "cheap"),
        (None, 0.9, 0.8999, "strong"),
        (0.1, None, 1.0, "strong"),  # no yes is kept
    ],
)
def test_an_answer_is_kept_from_the_limit_on(low, high, probability, judge):
    cascade = Cascade(Cheap(), Strong(), regions(low, high))
    (answer,) = pnyx.ask(cascade, [Support("1", str(probability), "S.")])
    assert answer.provenance.judge == judge
    assert answer.notes["stage"] == judge


def test_repeated_calls_are_reported_at_most_every_ten_seconds(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(open_models, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    lines: list[str] = []
    report = open_models._throttled(lines.append)
    for clock[0] in (5.0, 10.0, 10.25, 20.0, 20.25):
        report(f"at {clock[0]}")
    assert lines == ["asking the model again: at 10.25"]
    clock[0] = 20.5
    report("later")
    assert len(lines) == 2


# --- what is read as yes


@pytest.mark.parametrize(
    ("first", "second", "share", "marks"),
    [
        (True, False, 0.5, set()),
        ("yes", "No.", 0.5, {"word"}),
        ("TRUE", "false", 0.5, {"word"}),
        ("true", True, 1.0, {"word"}),
        ("no", "No", 0.0, {"word"}),
        ("maybe", True, None, set()),
        (1, True, None, set()),
    ],
)
def test_whether_a_criterion_holds_is_read_from_words(first, second, share, marks):
    reply = {"context_relevance": {"reason": "", "1": first, "2": second}}
    question = replace(RATING, scale=(0, 1))
    if share is None:
        with pytest.raises(UnreadableReply):
            read("rag-metric-criteria", question, reply)
    else:
        with watching_departures() as departures:
            assert read("rag-metric-criteria", question, reply).value == share
        assert departures == marks


@pytest.mark.parametrize(
    ("verdicts", "value", "yes"),
    [
        (((True, 0.9), (True, 0.6), (False, 0.3)), 0.6, 2 / 3),
        (((True, None), (False, None), (False, None)), 1 / 3, 1 / 3),  # without probabilities
    ],
)
def test_the_share_of_supported_sentences_is_the_expected_one(verdicts, value, yes):
    question = replace(RATING, text="One [1]. Two [1]. Three [1].", dimensions=("groundedness",))
    answers = [
        replace(Judged(verdict, Provenance("j"), probability), question=part.question)
        for part, (verdict, probability) in zip(
            SUPPORT_FORMAT.parts(question), verdicts, strict=True
        )
    ]
    answer = SUPPORT_FORMAT.join(question, answers, "j")
    assert isinstance(answer, Judged)
    assert answer.value == pytest.approx(value)
    assert answer.notes["yes"] == {"groundedness": pytest.approx(yes)}


@pytest.mark.parametrize(
    ("probability", "expected", "method"),
    [("tok", 0.75, "token"), ("ask", 0.9, "stated"), ("both", 0.825, "token+stated")],
)
def test_a_probability_is_by_token_or_stated_or_the_mean_of_both(probability, expected, method):
    verdict = {"reason": "", "evidence": "", "answer": "yes", "confidence": 0.9}
    text = json.dumps(verdict)
    before, word, after = text.partition("yes")
    tokens = (
        Token(before, ((before, 0.0),)),
        Token(word, ((word, math.log(0.6)), ("no", math.log(0.2)))),
        Token(after, ((after, 0.0),)),
    )
    reply = Reply(text, "stop", "m", {}, "json_schema", tokens)
    with ChatServer() as server, Store(":memory:") as store:
        model = StoredModel(endpoint_from([server.spec]), store, offline=True)
        judge = LlmJudge(model, Asking(probability=probability))
        question = Support("1", "Fares fell.", "It got cheaper.")
        request = judge.asking.request([question])
        store.put(model.key(request), model.name, request, reply)
        (answer,) = pnyx.ask(judge, [question])
        assert server.asked() == []
    assert isinstance(answer, Judged)
    assert (answer.value, answer.provenance.method) == (True, method)
    assert answer.probability == pytest.approx(expected)
    assert ("probabilities" in answer.notes) is (probability != "ask")
