"""Limits of judging arguments with documents, of cascades, and of what is reported meanwhile."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import pnyx
from pnyx.judging import open_models
from pnyx.judging.answers import Judged, Provenance
from pnyx.judging.calibration.selective import ConfidenceRegions, Region
from pnyx.judging.forms import form_of
from pnyx.judging.forms.base import FormCall, ReplyReading
from pnyx.judging.llm.json_objects import UnreadableReply
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.panel import Cascade
from pnyx.judging.questions import Rating, Support
from pnyx.judging.rag.rag import RAG_FORMATS

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
    made = {form.name: form.shape(RATING).nuggets for form in RAG_FORMATS if form.makes_points}
    assert made == {"query-rubric": 20, "rag-rubric": 20}


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
