"""Which points and premises are quoted, from vectors that are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pnyx.cases.extractive import (
    ExtractiveWriter,
    _heads,
    _mutual_support,
    _Point,
    central,
    headline,
)
from pnyx.core.records import Document


def point(name: str, *vectors: Any, reasons: Any = None, stated: bool = True) -> _Point:
    rows = np.array(vectors, dtype=np.float64)
    texts = tuple(f"{name}{n}" for n in range(len(rows)))
    chances = np.array([0.5] * len(rows) if reasons is None else reasons)
    return _Point(Document(name, name), texts, rows, chances, stated)  # type: ignore[arg-type]


def with_cosines(*pairs: float) -> list[_Point]:
    """Return three points with the cosines of 0 to 1, 0 to 2 and 1 to 2."""
    a, b, c = pairs
    rows = np.linalg.cholesky(np.array([[1, a, b], [a, 1, c], [b, c, 1.0]]))
    return [point(name, row) for name, row in zip("xyz", rows, strict=True)]


def chosen(candidates: list[_Point], **options: Any) -> str:
    return "".join(p.document.id for p in ExtractiveWriter(**options)._choose(candidates))


def test_how_well_other_documents_support_a_point():
    points = [point("x", [1, 0]), point("y", [0, 1]), point("z", [0.6, 0.8])]
    assert _mutual_support(points) == pytest.approx([0.3, 0.4, 0.7])
    two = [point("x", [1, 0], [0, 1]), point("z", [0.6, 0.8], [1, 0])]
    assert _mutual_support(two)[0] == pytest.approx((1.0 + 0.8) / 2)
    assert _mutual_support(points[:1]) == [0.0]


@pytest.mark.parametrize(("likeness", "first"), [(0.54, "y"), (0.46, "x")])
def test_a_place_further_down_costs_a_tenth(likeness, first):
    """The second point is supported by 0.12 or by 0.08 more than the first."""
    points = with_cosines(0.8, 0.3, likeness)
    assert chosen(points, points=1) == first
    assert chosen(points, points=1, order=0.0) == "y"


def test_points_differ_from_those_chosen_as_far_as_novelty_counts():
    """The first two are the most alike, and best supported; the third is like neither."""
    points = with_cosines(0.8, 0.5, 0.2)
    assert chosen(points, points=2, novelty=0.0) == "xy"
    assert chosen(points, points=2, novelty=1.0, order=0.0) == "xz"
    assert chosen(points, points=9) == "xyz"
    alike = with_cosines(0.86, 0.5, 0.2)
    assert chosen(alike, points=9) == "xz"
    assert chosen(alike, points=9, repeat=0.87) == "xyz"


@pytest.mark.parametrize(("cosine", "repeats"), [(0.85, True), (0.8499, False)])
def test_sentences_repeat_each_other_from_a_cosine_of_0_85(cosine, repeats):
    writer = ExtractiveWriter()
    first, second = np.array([1.0, 0]), np.array([cosine, 0])
    assert writer._repeats(first, [second]) is repeats  # type: ignore[arg-type]
    first_point = point("x", first)
    others = [first_point, point("y", [0.1, 0], second), point("z", [0.2, 0])]
    assert writer._also_said_by(first_point, first, others) == (["y"] if repeats else [])  # type: ignore[arg-type]


def premises(
    candidate: _Point, query: Any = (0, 0, 0), written: Any = (), **options: Any
) -> list[int]:
    before = [np.array(vector) for vector in written]
    return ExtractiveWriter(**options)._premises(candidate, np.array(query), before)  # type: ignore[arg-type]


def test_premises_are_close_reasons_in_their_order():
    rows = ([1, 0, 0], [0.5, 0.8, 0], [0.4, 0, 0.8], [0.6, 0, -0.7])
    candidate = point("x", *rows, reasons=[0.9, 0.0, 0.0, 0.0])
    assert premises(candidate) == [1, 3]  # two of three
    assert premises(candidate, premises=3) == [1, 2, 3]
    assert premises(candidate, premises=0) == []
    assert premises(candidate, query=(0, 0, 1), premises=1) == [2]
    assert premises(candidate, written=[(0.6, 0, -0.7)], premises=1) == [1]
    assert premises(point("x", *rows, reasons=[0.9, 0, 0.4, 0]), premises=1) == [3]  # 0.52 < 0.6
    assert premises(point("x", *rows, reasons=[0.9, 0, 0.7, 0]), premises=1) == [2]  # 0.61
    unstated = point("x", *rows, reasons=[0.9, 0.3, 0.2999, 0.1], stated=False)
    assert premises(unstated) == [1]


def test_a_central_sentence_is_like_its_text_and_the_claim():
    """Both are equally like the mean; the first is the claim, and the second comes later."""
    vectors: Any = np.array([[1.0, 0], [0, 1]])
    claim: Any = np.array([1.0, 0])
    assert central(vectors, claim).tolist() == pytest.approx([0.5 + 0.5, 0.5 - 0.05])


def test_points_that_were_written_already_are_left_out():
    first, second = point("x", [1, 0, 0]), point("y", [0.9, 0, 0.1])
    other = point("z", [0, 1, 0], [0, 0, 1], reasons=[0.5, 0.5])
    sentences = ExtractiveWriter()._sentences([first, second, other], [first, second, other],
                                              np.zeros(3))  # fmt: skip  # type: ignore[arg-type]
    assert [(s.text, s.extra["role"]) for s in sentences] == [
        ("x0", "conclusion"), ("z0", "conclusion"), ("z1", "premise"),
    ]  # fmt: skip
    assert [[c.doc_id for c in s.citations] for s in sentences] == [["x", "y"], ["z"], ["z"]]


@pytest.mark.parametrize(
    ("stated", "fault"),
    [
        ("Zoos keep animals", False),
        ("Zoos keep", True),  # two words
        ("The large old zoos", True),  # no verb
    ],
)
def test_a_stated_conclusion_has_three_words_and_a_verb(stated, fault):
    assert _heads(stated) is fault


def test_the_headline_is_the_likeliest_reason_of_equal_ones(monkeypatch):
    chances = np.array([0.5, 0.6])
    monkeypatch.setattr("pnyx.cases.extractive.reason_probabilities", lambda *_: chances)
    vectors: Any = np.array([[1.0, 0], [1.0, 0]])
    # The second is 0.405 likelier in log-odds, and loses 4 * 0.05 by its place.
    assert headline(["a", "b"], vectors, np.array([1.0, 0])) == (1, 0.6)  # type: ignore[arg-type]
    chances[1] = 0.54  # by 0.16
    assert headline(["a", "b"], vectors, np.array([1.0, 0])) == (0, 0.5)  # type: ignore[arg-type]
