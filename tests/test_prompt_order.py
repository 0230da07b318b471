"""What varies least comes first in a prompt, so that servers can reuse the beginning."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pnyx.judging.llm.prompts import load_prompt, prompt_names
from pnyx.judging.llm.requests import Asking
from pnyx.judging.questions import Support

_SUPPORT = "question guideline text statement"
_RAG = "topic stance documents text"
ORDER = {
    "argue": "question documents claim",
    "argue-prose": "question documents claim",
    **dict.fromkeys([n for n in prompt_names() if n.startswith("support")], _SUPPORT),
    **dict.fromkeys(["stance", "stance-direct"], _SUPPORT),
    **dict.fromkeys(
        [n for n in prompt_names() if n.startswith("relevance")], "shots statement guideline text"
    ),
    "nugget": "guideline text question statement",
    "nugget-list": "guideline listing text",
    "nugget-many": "guideline statements text",
    "nugget-examples": "shots guideline listing text",
    "unanswerable": "statements text",
    "unanswerable-examples": "shots statements text",
    "preference": "criterion question documents a b",
    "preference-points": "question rubric documents a b",
    "quality": "shots dimensions topic stance documents text",
    "quality-own": "shots dimensions topic stance documents text",
    "quality-pointwise": "shots topic stance documents text dimension",
    "rag-listwise": f"dimensions {_RAG}",
    "rag-listwise-documents": f"dimensions {_RAG}",
    "rag-metric": f"{_RAG} dimension",
    "rag-metric-criteria": f"{_RAG} dimension rubric",
    "rag-metric-nuggets": f"{_RAG} dimension rubric",
    "rag-metric-steps": f"{_RAG} dimension steps",
    "rag-triad": "dimensions topic stance documents first",
    "rag-triad-nuggets": "topic stance documents first",
    "ranking": "criterion query texts",
    "sides": "criterion documents claims",
}
"""Prompt -> its inputs, those first that stay the same from one call to the next."""


@pytest.mark.parametrize("name", [name for name in ORDER if name in prompt_names()])
def test_what_varies_stands_last(name: str) -> None:
    prompt = load_prompt(name)
    inputs = [n for n in ORDER[name].split() if n in prompt.inputs]
    places = []
    for wanted in inputs:
        used = (f"in {wanted} %", f", {wanted})", f", {wanted} |", "{{ " + wanted + " }}")
        places.append(max(prompt.user.find(one) for one in used))
    assert min(places) >= 0
    assert places == sorted(places), inputs


def _shared(questions: Sequence[Sequence[Any]], asking: Asking) -> float:
    """Return the share of a prompt of the first call that the second call begins with."""
    first, second = (
        "".join(message.content for message in asking.request(some).messages) for some in questions
    )
    pairs = zip(first, second, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)) / len(first)


def test_a_bank_is_shared_by_the_sentences_that_are_judged_by_it() -> None:
    bank = [
        Support(f"{n}", "Fares fell.", f"Nugget {n} has about a dozen words.", task="nugget")
        for n in range(40)
    ]
    other = [replace(one, text="Ridership rose in the second year.") for one in bank]
    asking = Asking({"nugget": load_prompt("nugget-list")}, batch=60)
    assert _shared([bank, other], asking) > 0.9


def test_question_and_definition_are_shared_by_documents() -> None:
    questions = [
        Support(
            "1",
            text,
            "Should buses be free?",
            task="relevance",
            guideline="A passage about fares. " * 20,
        )
        for text in ("Fares fell.", "Roads are wide.")
    ]
    assert _shared([[one] for one in questions], Asking()) > 0.9


@pytest.mark.parametrize(
    ("count", "sizes"), [(1, [1]), (60, [60]), (61, [31, 30]), (120, [60, 60]), (121, [41, 40, 40])]
)
def test_batches_are_split_evenly(count: int, sizes: list[int]) -> None:
    questions = [Support(str(n), "T.", f"S {n}.", task="nugget") for n in range(count)]
    units = Asking(batch=60).units(list(enumerate(questions)))
    assert [len(unit) for unit in units] == sizes
    assert [position for unit in units for position, _ in unit] == list(range(count))
