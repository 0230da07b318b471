"""Trials of arguments with documents: which dimensions count, and scores of single documents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pnyx.judging.answers import Judged
from pnyx.judging.questions import Rating
from test_trial_results import BY, tried, values

DIMENSIONS = ("context_relevance", "answer_relevance", "groundedness")
ITEM = Rating(
    "r", "Parks are large. Trees are tall.", DIMENSIONS, (1, 5), task="rag", documents=("x", "y")
)


def items(**more: Any) -> list[Rating]:
    return [
        replace(ITEM, id=t, group=t, documents=(f"{t} one.", f"{t} two."), **more) for t in "ab"
    ]


def test_noise_counts_on_dimensions_that_see_documents():
    """Context falls from 5 to 3 to 1, groundedness from 5 to 4 to 3; the answer stays."""

    def reply(_item, _variant, question):
        gone = len(question.extra["replaced"])
        return [5 - 2 * gone, 3, 5 - gone]

    summary = tried("noise", items(), reply, levels=(0.0, 0.5, 1.0))
    assert summary["counted"] == ["context_relevance", "groundedness"]
    falls = {name: curve["fall"]["value"] for name, curve in summary["curves"].items()}
    assert falls == {
        "score": 0.75, "context_relevance": 1.0, "answer_relevance": 0.0, "groundedness": 0.5,
    }  # fmt: skip
    assert values(summary)["fall"] == 0.75
    assert "documents" not in summary


def test_contradictions_count_on_dimensions_that_compare():
    def reply(_item, _variant, question):
        return [5, 3, 5 - 2 * len(question.extra["edits"])]

    summary = tried("hallucination", items(), reply, sentences=(0, 1, 2))
    assert summary["counted"] == ["groundedness"]
    assert values(summary)["fall"] == 1.0
    assert (summary["unit"], summary["outcome"]) == ("sentences", "passed")
    joint = tried("joint", items(), lambda _i, _v, q: [5 - 2 * len(q.extra["replaced"]), 3,
                                                       5 - 2 * len(q.extra["edits"])],
                  levels=(0.0, 1.0), sentences=(0, 1))  # fmt: skip
    measured = values(joint)
    assert measured["fall_noise"] == 0.5  # context by 1, groundedness not at all
    assert measured["fall_hallucination"] == 0.5
    assert [(row["level"], row["sentences"]) for row in joint["grid"]] == [
        (0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0),
    ]  # fmt: skip
    assert [row["score"]["value"] for row in joint["grid"]] == [1.0, 0.5, 0.75, 0.25]
    assert (list(joint["by_sentences"]), list(joint["by_level"])) == (["0", "1"], ["0", "1"])


def test_a_score_needs_all_dimensions_that_count():
    def reply(item, _variant, question):
        gone = len(question.extra["replaced"])
        return [5 - 2 * gone, None if item == "a" else 3, None if item == "b" else 5]

    summary = tried("noise", items(), reply, levels=(0.0, 1.0))
    score = summary["curves"]["score"]["points"][0]
    assert (score["value"], score["scored"], score["asked"]) == (1.0, 1, 2)


def scored(*, own: float, other: float, missing: bool = False) -> Any:
    """Return a reply that gives original and replaced documents these scores."""

    def reply(_item, _variant, question):
        out = question.extra["replaced"]
        scores: list[Any] = [other if n in out else own for n in range(2)]
        if missing:
            scores[1] = None
        return Judged([3, 3, 3], BY, notes={"documents": {"context_relevance": scores}})

    return reply


@pytest.mark.parametrize(("own", "other", "separation"), [(5, 1, 1.0), (3, 3, 0.5), (1, 5, 0.0)])
def test_documents_of_the_item_score_above_replacements(own, other, separation):
    summary = tried("noise", items(), scored(own=own, other=other), levels=(0.0, 0.5, 1.0))
    rows = [(row["level"], row["separation"]["value"]) for row in summary["documents"]]
    assert rows == [(0.0, None), (0.5, separation), (1.0, None)]
    assert [row["separation"]["asked"] for row in summary["documents"]] == [0, 2, 0]
    assert "true" not in summary["documents"][0]


def test_precision_of_single_documents():
    """Of each item one document is labelled yes and one no; all originals score 4 of 1 to 5."""
    labelled = items(extra={"doc_labels": [True, False]})
    summary = tried("noise", labelled, scored(own=4, other=2), levels=(0.0, 1.0))
    first, last = summary["documents"]
    figures = [
        (row["true"]["value"], row["predicted"]["value"], row["error"]["value"])
        for row in (first, last)
    ]
    assert figures == [(0.5, 0.75, 0.25), (0.0, 0.25, 0.25)]
    assert (first["true"]["scored"], first["true"]["asked"]) == (4, 4)
    some = tried("noise", labelled, scored(own=4, other=2, missing=True), levels=(0.0, 1.0))
    assert (some["documents"][0]["true"]["value"], some["documents"][0]["true"]["scored"]) == (
        1.0,
        2,
    )
    partly = items(extra={"doc_labels": [None, True]})
    row = tried("noise", partly, scored(own=4, other=2), levels=(0.0, 1.0))["documents"][0]
    assert (row["true"]["value"], row["true"]["asked"]) == (1.0, 2)
