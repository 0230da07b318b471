"""Limits and defaults of perspectives: the last value before each, and the first after."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from command import caller
from pnyx.core.errors import InputError
from pnyx.core.records import Argument, Document, Perspective, Premise, Question
from pnyx.judging.answers import Judged, Provenance
from pnyx.judging.questions import Support
from pnyx.judging.verdicts import Verdict
from pnyx.perspectives.measure_tables import _topic_cell, coverage_legend, leaning_table
from pnyx.perspectives.measures.lean import Leaning, LeaningOf
from pnyx.perspectives.measures.table import (
    PERSPECTIVE_MEASURES,
    Bounded,
    _smallest,
    table_of,
)
from pnyx.perspectives.measures.verdicts import Verdicts
from pnyx.search import perspectives_index
from pnyx.search.build import build_index
from pnyx.search.engine import Hit
from pnyx.search.index import Index
from pnyx.search.perspectives import LlmPerspectives, merge_perspectives
from pnyx.search.perspectives_index import IndexPerspectives, _Candidate, _choose
from pnyx.stats.base import Measured

ZOOS = Question("zoos", "Should zoos be phased out?")
CLAIMS = (
    "Animals suffer in cages.", "Children learn about nature.", "Rare species are bred there.",
    "Tickets cost too much.", "Vets study diseases.", "Keepers lose their jobs.",
    "Land could become a park.", "Films show wildlife better.", "Tourists visit the city.",
)  # fmt: skip
perspectives = caller("perspectives")


class Con:
    """Says of every text that it is on the con side."""

    name, card, kinds = "con", "", frozenset({Support})

    async def answer(self, questions: Any, emit: Any) -> None:
        for position, question in enumerate(questions):
            emit(position, Judged(question.id.startswith("stance/con"), Provenance("con"), 0.9))


@pytest.fixture(scope="module")
def claims(tmp_path_factory):
    """An index with nine different conclusions, all labelled."""
    folder = tmp_path_factory.mktemp("claims") / "i"
    rows = [Argument(f"a{n}", claim, (Premise("Zoos should be phased out."),), "pro", ZOOS.text)
            for n, claim in enumerate(CLAIMS)]  # fmt: skip
    build_index(rows, folder)
    return folder


def test_eight_perspectives_are_taken_by_default(claims, perspectives):
    index = Index.open(claims)
    assert len(IndexPerspectives(index, count=9).find([ZOOS])[0].perspectives) == 9
    assert len(IndexPerspectives(index).find([ZOOS])[0].perspectives) == 8
    status, out, error = perspectives(ZOOS.text, "--index", claims, "--json")
    assert (status, len(json.loads(out)["perspectives"])) == (0, 8)
    assert error == "pnyx: warning: they do not cover both sides\n"
    status, out, _ = perspectives(ZOOS.text, "--index", claims, "--json", "-n", "9")
    assert (status, len(json.loads(out)["perspectives"])) == (0, 9)


def test_the_best_60_documents_are_read(tmp_path):
    """A document with a conclusion on the question is at a place in the ranking."""
    rows: list[Any] = [Document(f"d{n}", "Bananas are yellow.") for n in range(60)]
    rows.append(Argument("zoo", "Zoos are cruel.", (Premise("Cages."),), "pro", ZOOS.text))
    build_index(rows, tmp_path / "i")
    ids = [row.id for row in rows]

    def found(before: int) -> int:
        def search(_: str, k: int) -> list[Hit]:
            ranked = [*ids[:before], "zoo", *ids[before:60]]
            return [Hit(name, rank, 1 / rank) for rank, name in enumerate(ranked[:k], 1)]

        source = IndexPerspectives(Index.open(tmp_path / "i"), search=search)
        return len(source.find([ZOOS])[0].perspectives)

    assert [found(59), found(60)] == [1, 0]


@pytest.mark.parametrize(("length", "kept"), [(1000, 1000), (1001, 1000)])
def test_a_conclusion_is_read_up_to_1000_characters(length, kept, tmp_path):
    conclusion = "Zoos are cruel " + "x" * (length - 15)
    build_index([Argument("a", conclusion, (Premise("Zoos."),), "pro", ZOOS.text)], tmp_path / "i")
    (found,) = IndexPerspectives(Index.open(tmp_path / "i")).find([ZOOS])[0].perspectives
    assert found.text == conclusion[:kept]


@pytest.mark.parametrize(
    ("chance", "text"),
    [
        (0.6, "Zoos harm animals because cages are small."),
        (0.5999, "All zoos should be phased out soon."),
    ],
)
def test_a_sentence_states_a_reason_from_a_probability_of_0_6(chance, text, tmp_path, monkeypatch):
    """The first sentence is nearer to the question; the second one states a reason."""
    sentences = (
        "All zoos should be phased out soon.",
        "Zoos harm animals because cages are small.",
    )
    build_index([Document("d", " ".join(sentences))], tmp_path / "i")
    chances = np.array([0.1, chance])
    monkeypatch.setattr(perspectives_index, "reason_probabilities", lambda *_: chances)
    found = IndexPerspectives(Index.open(tmp_path / "i"), judge=Con()).find([ZOOS])[0]
    assert [p.text for p in found.perspectives] == [text]


def candidate(name: str, side: Any, by: str = "con") -> _Candidate:
    vector = np.zeros(8, dtype=np.float32)
    vector[ord(name) - ord("a")] = 1
    return _Candidate(Document(name, name), name, "sentence", vector, 0.5, side, by)


@pytest.mark.parametrize(
    ("count", "chosen"), [(1, "a"), (2, "ac"), (3, "acb"), (4, "acbd"), (5, "acbde"), (9, "acbde")]
)
def test_both_sides_come_in_turns_and_then_what_is_on_none(count, chosen):
    candidates = [candidate("a", "pro"), candidate("b", "pro"), candidate("c", "con"),
                  candidate("e", None), candidate("d", "neutral")]  # fmt: skip
    assert "".join(c.text for c in _choose(candidates, count)) == chosen


def test_labelled_conclusions_come_before_judged_ones():
    judged, labelled = candidate("a", "pro"), candidate("b", "pro", "corpus label")
    judged.near = 0.9
    assert [c.text for c in _choose([judged, labelled], 2)] == ["b", "a"]


def test_a_model_is_asked_for_1_to_50_perspectives():
    model: Any = None
    for count in (1, 50):
        assert LlmPerspectives(model, count=count).count == count
    for count in (0, 51):
        with pytest.raises(InputError, match=f"perspectives is {count}, expected 1 to 50"):
            LlmPerspectives(model, count=count)


def test_a_document_belongs_to_the_perspective_that_finds_it_in_the_earliest_round():
    views = [Perspective(f"p{n}", "q", f"View {n}.") for n in range(2)]
    rankings = [[Hit(name, rank, 1.0) for rank, name in enumerate(names, 1)] for names in
                ("abc", "cbd")]  # fmt: skip
    merged = merge_perspectives(rankings, views, 3)
    assert [(m.hit.doc_id, m.hit.rank, m.hit.score, m.perspective.id, m.found_by)
            for m in merged] == [
        ("a", 1, 1.0, "p0", ("p0",)),
        ("c", 2, 1 / 2, "p1", ("p0", "p1")),
        ("b", 3, 1 / 3, "p0", ("p0", "p1")),
    ]  # fmt: skip
    assert merge_perspectives(rankings, views, 2)[1].found_by == ("p1",)
    with pytest.raises(InputError, match="k is 0"):
        merge_perspectives(rankings, views, 0)


# Measures -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("documents", "bounds"), [(223, (2.0, 2.0)), (224, (2.0, 3.0))])
def test_covers_are_looked_for_among_50000_unions(documents, bounds):
    """Two documents cover all eight perspectives, but one that covers five misleads.

    With one document each, 223 unions give 223 x 223 = 49,729 of two; 224 give 50,176.
    """
    flags = np.zeros((documents, 8 + documents), dtype=bool)
    flags[0, :4] = flags[1, 4:8] = flags[2, 1:6] = True
    for row in range(3, documents):
        flags[row, 8 + row] = True
    assert _smallest(flags, 8) == bounds


def topic(*documents: str, views: int = 2) -> Any:
    """Return a topic: for each document the perspectives that it supports, as letters."""
    perspectives = [Perspective(name, "q", name, "pro" if name == "a" else "con")
                    for name in "abcdef"[:views]]  # fmt: skip
    names = [f"d{n}" for n in range(len(documents))]
    pairs = {
        ("q", name, p.id): Verdict(value=p.id in supported)
        for name, supported in zip(names, documents, strict=True)
        for p in perspectives
    }
    return table_of("q", names, perspectives, Verdicts("j", pairs))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("MRecall", [0.0, 0.0, 0.0, 1.0]),
        ("Precision", [1.0, 0.5, 2 / 3, 3 / 4]),
        ("CoverDepth", [None, None, None, 4.0]),
        ("MinCover", [None, None, None, 2.0]),
        ("ProOnly", [1.0, 1.0, 1.0, 0.0]),
        ("ConOnly", [0.0, 0.0, 0.0, 0.0]),
        ("BothSides", [0.0, 0.0, 0.0, 1.0]),
        ("NoSide", [0.0, 0.0, 0.0, 0.0]),
        ("ProLead", [1.0, 1.0, 1.0, 0.0]),
    ],
)
def test_every_measure_at_each_depth(name, values):
    table = topic("a", "", "a", "b")
    measure = PERSPECTIVE_MEASURES[name]
    for k, value in enumerate(values, 1):
        if name in ("MRecall", "CoverDepth", "MinCover") and k == 1:
            value = 1.0  # one of two is enough for one document
        bounded = (measure @ k).of(table)
        assert bounded is not None
        assert bounded.value == value, k


@pytest.mark.parametrize(
    ("documents", "sides"),
    [
        (("b",), {"ConOnly": 1.0, "ProLead": -1.0}),
        (("",), {"NoSide": 1.0, "ProLead": 0.0}),
        (("ab",), {"BothSides": 1.0, "ProLead": 0.0}),
    ],
)
def test_which_side_is_covered(documents, sides):
    names = ("ProOnly", "ConOnly", "BothSides", "NoSide", "ProLead")
    values = {name: (PERSPECTIVE_MEASURES[name] @ 1).of(topic(*documents)).value for name in names}  # type: ignore[union-attr]
    assert values == dict.fromkeys(names, 0.0) | sides
    for name in names:
        assert (PERSPECTIVE_MEASURES[name] @ 1).of(topic(*documents, views=3)) is None


@pytest.mark.parametrize(
    ("name", "low", "high", "always"),
    [
        ("MRecall", 0, 1, True),
        ("Precision", 0, 1, True),
        ("CoverDepth", 1, None, False),
        ("MinCover", 1, None, False),
        ("ProLead", -1, 1, True),
        ("NoSide", 0, 1, True),
    ],
)
def test_the_range_of_a_measure(name, low, high, always):
    measure = PERSPECTIVE_MEASURES[name]
    assert (measure.low, measure.high, measure.always) == (low, high, always)


def test_the_table_of_leaning_names_a_retriever_once():
    def of(value: float) -> LeaningOf:
        return LeaningOf(Measured(value, 1, 1), 0.5, 0.25, None, None)

    by = {"question": of(0.5), "pro": of(0.75), "con": of(-1.0)}
    shifts = {("pro", "question"): Measured(0.25, 1, 1), ("con", "question"): Measured(-1.5, 1, 1)}
    table = leaning_table([Leaning("bm25", 5, by, shifts, 0), Leaning("dense", 5, by, {}, 0)])
    assert [row[:2] for row in table.rows] == [
        ("bm25", "question"), ("", "supporting perspective"), ("", "opposing perspective"),
        ("dense", "question"), ("", "supporting perspective"), ("", "opposing perspective"),
    ]  # fmt: skip
    assert [row[-1] for row in table.rows[:3]] == ["", *shifts.values()]
    assert table.rows[0][2:5] == (by["question"].delta, 0.5, 0.25)
    assert len(coverage_legend(SimpleNamespace(runs=()), [])) == 0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("bounded", "cell"),
    [
        (None, "-"),
        (Bounded(0.5, 0.5), "0.500"),
        (Bounded(None, None), "-"),
        (Bounded(0.25, 1.0), "[0.250, 1.000]"),
        (Bounded(2.0, None), "from 2.000"),
    ],
)
def test_a_value_that_is_open_is_shown_by_its_bounds(bounded, cell):
    assert _topic_cell(bounded) == cell
