"""Runs against perspectives: every measure by hand, and what unscored pairs leave open."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.errors import InputError
from pnyx.core.records import Perspective, RunEntry
from pnyx.formats.perspectives import by_question
from pnyx.judging.verdicts import Verdict
from pnyx.perspectives.measures import table as perspective_table
from pnyx.perspectives.measures.coverage import measure_perspectives, perspective_qrels
from pnyx.perspectives.measures.lean import measure_leaning, side_questions
from pnyx.perspectives.measures.table import (
    PERSPECTIVE_MEASURES,
    SIDED,
    Bounded,
    PerspectiveMeasureAt,
    TopicTable,
    parse_perspective_measure,
)
from pnyx.perspectives.measures.verdicts import Verdicts
from pnyx.stats.base import Bootstrap

MRecall, Precision = PERSPECTIVE_MEASURES["MRecall"], PERSPECTIVE_MEASURES["Precision"]
CoverDepth, MinCover = PERSPECTIVE_MEASURES["CoverDepth"], PERSPECTIVE_MEASURES["MinCover"]
SAID = {"1": True, "0": False, "?": None}


def table(*documents: str, sides: str = "") -> TopicTable:
    """Return a topic: for each document, best first, a sign for each perspective (1, 0, ?).

    Args:
        documents: e.g. `10` supports the first of two perspectives.
        sides: `+` and `-` for the side of each perspective.
    """
    width = len(documents[0]) if documents else 2
    signs = [[SAID[sign] for sign in document] for document in documents]
    shape = len(documents), width
    yes = np.array([[s is True for s in row] for row in signs], dtype=bool).reshape(shape)
    unscored = np.array([[s is None for s in row] for row in signs], dtype=bool).reshape(shape)
    stances = tuple({"+": "pro", "-": "con"}[s] for s in sides) or (None,) * width
    ids = tuple(f"d{n}" for n in range(1, len(documents) + 1))
    perspectives = tuple("abcdefghijklmnop"[:width])
    reasons = ("timeout",) * int(unscored.sum())
    return TopicTable(
        "q", ids, perspectives, stances, yes, unscored, reasons, np.full(shape, np.nan)
    )


def value(measure: PerspectiveMeasureAt, of: TopicTable) -> float | None:
    found = measure.of(of)
    assert found is not None
    return found.value


# --- by hand


def test_mrecall_and_precision_of_two_perspectives():
    found = table("10", "00", "10", "01", "11")
    # a is covered from the first document on, b from the fourth.
    assert [value(MRecall @ k, found) for k in (2, 3, 4, 5)] == [0, 0, 1, 1]
    # documents 1, 3, 4 and 5 support something: 1/1, 1/2, 2/3, 3/4, 4/5
    assert [value(Precision @ k, found) for k in (1, 2, 3, 4, 5)] == [1, 1 / 2, 2 / 3, 3 / 4, 4 / 5]


def test_of_more_perspectives_than_k_k_different_ones_are_enough():
    assert value(MRecall @ 2, table("1000", "0100", "0011")) == 1
    assert value(MRecall @ 2, table("1000", "1000", "0111")) == 0  # twice the same one
    assert value(MRecall @ 2, table("1100", "0000", "0000")) == 1  # both in one document
    assert value(MRecall @ 3, table("1100", "0000", "0100")) == 0  # two of the three needed
    assert value(MRecall @ 4, table("1100", "0010", "0000")) == 0  # four of four from here on
    assert value(MRecall @ 1, table("01", "10")) == 1  # any one of two
    # 42 perspectives, as of BERDS's greatest rapper: five of them in the first five
    found = table(*("0" * n + "1" + "0" * (41 - n) for n in range(6)))
    assert [value(MRecall @ k, found) for k in (5, 6, 7)] == [1, 1, 0]


def test_none_found_and_nothing_retrieved():
    for found in (table("00", "00"), table()):
        assert value(MRecall @ 5, found) == 0
        assert value(Precision @ 5, found) == 0
        for measure in (CoverDepth, MinCover):
            assert (measure @ 5).of(found) == Bounded(None, None)
            assert not (measure @ 5).of(found).open


def test_a_short_ranking_is_measured_as_if_nothing_followed():
    found = table("10", "01")
    assert value(Precision @ 5, found) == 2 / 5
    assert value(MRecall @ 5, found) == 1


def test_unscored_pairs_leave_a_value_open_only_where_they_could_change_it():
    found = table("1?", "0?", "01")
    assert (MRecall @ 1).of(found) == Bounded(1, 1)  # a is enough, whatever b is
    assert (MRecall @ 2).of(found) == Bounded(0, 1)
    assert (MRecall @ 2).of(found).value is None
    assert (MRecall @ 3).of(found) == Bounded(1, 1)  # the third settles b
    assert (Precision @ 2).of(found) == Bounded(1 / 2, 1)
    assert (Precision @ 3).of(found) == Bounded(2 / 3, 1)
    assert (MRecall @ 2).of(table("0?", "00")) == Bounded(0, 0)  # a is covered by none
    assert (CoverDepth @ 3).of(found) == Bounded(1, 3)
    assert (CoverDepth @ 2).of(found) == Bounded(1, None)  # perhaps never
    assert (MinCover @ 3).of(found) == Bounded(1, 2)


def test_how_deep_and_how_few_documents_cover_everything():
    # a and b again and again, c only at rank 6: six must be read, and two would do (5 and 6).
    found = table("100", "010", "100", "010", "110", "001")
    assert value(CoverDepth @ 6, found) == 6
    assert value(MinCover @ 6, found) == 2
    assert (CoverDepth @ 5).of(found) == Bounded(None, None)
    # of four perspectives at depth 2 two are enough, as for MRecall@2
    assert value(CoverDepth @ 2, table("1000", "0100", "0011")) == 2
    assert value(MinCover @ 3, table("1000", "0100", "0011")) == 2  # 3 of 4: a and cd


def test_a_smallest_cover_is_exact_where_taking_the_largest_first_is_not():
    # The largest document (cdef with b) leaves a, g and h to two more; two others cover all.
    found = table("01111100", "11100010", "00011101", "00000001")
    assert value(MinCover @ 8, found) == 2


def test_a_smallest_cover_among_very_many_unions_is_bounded(monkeypatch):
    monkeypatch.setattr(perspective_table, "_UNIONS", 3)
    found = table("01111100", "11100010", "00011101", "00000001")
    assert (MinCover @ 8).of(found) == Bounded(2, 3)


SIDES = {"10": "ProOnly", "01": "ConOnly", "11": "BothSides", "00": "NoSide"}


def test_which_side_is_covered():
    for covered, name in SIDES.items():
        for sides, signs in (("+-", covered), ("-+", covered[::-1])):
            found = table("00", signs, "11", sides=sides)
            at_2 = {n: value(PERSPECTIVE_MEASURES[n] @ 2, found) for n in SIDED}
            lead = at_2.pop("ProLead")
            assert at_2 == {n: float(n == name) for n in SIDED[:4]}
            assert lead == {"10": 1, "01": -1}.get(covered, 0)


def test_a_side_that_is_open_opens_what_depends_on_it():
    found = table("?0", sides="+-")
    at_1 = {name: (PERSPECTIVE_MEASURES[name] @ 1).of(found) for name in SIDED}
    assert at_1 == {
        "ProOnly": Bounded(0, 1), "ConOnly": Bounded(0, 0), "BothSides": Bounded(0, 0),
        "NoSide": Bounded(0, 1), "ProLead": Bounded(0, 1),
    }  # fmt: skip


def test_sides_need_two_opposite_perspectives():
    for sides in ("", "++", "+-+"):
        assert (PERSPECTIVE_MEASURES["ProOnly"] @ 1).of(table("1" * 3, sides=sides)) is None


# --- every measure

signs = st.sampled_from("10?")
tables = st.integers(1, 4).flatmap(
    lambda width: st.builds(
        lambda rows, sides: table(*rows, sides=sides if width == 2 else ""),
        st.lists(st.text("10?", min_size=width, max_size=width), min_size=1, max_size=4),
        st.sampled_from(["", "+-", "-+"]),
    )
)


def worlds(found: TopicTable) -> list[TopicTable]:
    """Return the table with its unscored pairs read in every way."""
    places = np.argwhere(found.unscored)
    read = []
    for values in itertools.product((False, True), repeat=len(places)):
        yes = found.yes.copy()
        for (row, column), said in zip(places, values, strict=True):
            yes[row, column] = said
        closed = np.zeros_like(found.unscored)
        ids = found.topic, found.documents, found.perspectives, found.sides
        read.append(TopicTable(*ids, yes, closed, (), found.probability))
    return read


@pytest.mark.slow
@pytest.mark.parametrize("name", PERSPECTIVE_MEASURES)
@given(found=tables, k=st.integers(1, 5))
def test_the_bounds_are_the_least_and_the_most_that_any_reading_gives(name, found, k):
    measure = PERSPECTIVE_MEASURES[name] @ k
    bounded = measure.of(found)
    if bounded is None or found.unscored.sum() > 8:
        return
    every = [measure.of(world) for world in worlds(found)]
    values = [one.value for one in every]
    defined = [v for v in values if v is not None]
    assert bounded.least == (min(defined) if defined else None)
    limited = None not in values or not defined
    assert bounded.most == (max(defined) if limited and defined else None)
    assert bounded.open == (len(set(values)) > 1)
    low, high = PERSPECTIVE_MEASURES[name].low, PERSPECTIVE_MEASURES[name].high
    assert all(low <= v <= (k if high is None else high) for v in defined)
    if PERSPECTIVE_MEASURES[name].always:
        assert None not in values


@given(found=tables, k=st.integers(1, 5))
def test_what_more_documents_do(found, k):
    if len(found.perspectives) <= k:
        now, then = (MRecall @ k).of(found), (MRecall @ (k + 1)).of(found)
        assert now.least <= then.least
        assert now.most <= then.most
    deep, few = (CoverDepth @ k).of(found), (MinCover @ k).of(found)
    assert (deep.least is None) == (few.least is None)
    if deep.least is not None:
        assert few.least <= deep.least
    recalled = (MRecall @ k).of(found)
    assert (deep.most is not None) == (recalled.least == 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in PERSPECTIVE_MEASURES if n != "CoverDepth"])
@given(found=tables, data=st.data())
def test_the_order_within_the_first_k_does_not_count(name, found, data):
    k = len(found.documents)
    order = list(data.draw(st.permutations(range(k))))
    shuffled = TopicTable(
        found.topic, tuple(found.documents[n] for n in order), found.perspectives, found.sides,
        found.yes[order], found.unscored[order], found.reasons, found.probability[order],
    )  # fmt: skip
    measure = PERSPECTIVE_MEASURES[name] @ k
    assert measure.of(found) == measure.of(shuffled)


def test_measures_are_values_with_a_notation():
    for name, measure in PERSPECTIVE_MEASURES.items():
        assert repr(measure @ 5) == f"{name}@5"
        assert parse_perspective_measure(f"{name}@5") == measure @ 5
        assert len({measure @ 5, measure @ 5, measure @ 6}) == 2
    assert parse_perspective_measure("nDCG@5") is None
    for wrong in (
        "MRecall",
        "MRecall@",
        "MRecall@0",
        "MRecall@-1",
        "MRecall(rel=2)@5",
        "MRecall@5x",
    ):
        with pytest.raises(InputError, match="expected MRecall@ and a depth"):
            parse_perspective_measure(wrong)
    for wrong in (0, True, 2.0, 10**7):
        with pytest.raises(ValueError, match="depth"):
            MRecall @ wrong


# --- runs


def views(**questions: str) -> dict[str, list[Perspective]]:
    """Return perspectives: question -> a letter for each, `+` or `-` before it for its side."""
    made = []
    for question, letters in questions.items():
        side = None
        for letter in letters:
            if letter in "+-":
                side = "pro" if letter == "+" else "con"
                continue
            made.append(Perspective(letter, question, f"View {letter}.", side))
            side = None
    return by_question(made)


def run_of(**rankings: str) -> list[RunEntry]:
    return [
        RunEntry(question, f"d{doc}", n, 100.0 - n)
        for question, documents in rankings.items()
        for n, doc in enumerate(documents, 1)
    ]


def said(**questions: Sequence[str]) -> Verdicts:
    """Return verdicts: question -> `1ab` says that d1 supports a and b; `?` unscored, else no."""
    pairs = {}
    for question, lines in questions.items():
        for doc, letter in itertools.product("123456789", "abcdef"):
            pairs[question, f"d{doc}", letter] = Verdict(value=False, probability=0.1)
        for line in lines:
            for letter in line[1:].replace("?", ""):
                open_ = f"?{letter}" in line
                verdict = (
                    Verdict(unscored="timeout: 9 s")
                    if open_
                    else Verdict(value=True, probability=0.9)
                )
                pairs[question, f"d{line[0]}", letter] = verdict
    return Verdicts("judge", pairs)


def test_means_counts_and_bounds_over_questions():
    found = measure_perspectives(
        {"r": run_of(q1="12", q2="12", q3="12", q9="1")},
        views(q1="ab", q2="ab", q3="ab", q4="ab"),
        said(q1=["1a", "2b"], q2=["1a"], q3=["1a", "2?b"]),
        depths=[2],
        bootstrap=Bootstrap(0),
    )
    (run,) = found.runs
    # q1 covers both, q2 does not, q3 is open, and q4 is not in the run: an empty ranking
    recall = run.measures["MRecall@2"]
    assert (recall.value, recall.scored, recall.asked) == (1 / 3, 3, 4)
    assert (recall.open, recall.least, recall.most) == (1, 1 / 4, 2 / 4)
    precision = run.measures["Precision@2"]
    assert (precision.value, precision.open) == ((1 + 1 / 2 + 0) / 3, 1)
    assert (precision.least, precision.most) == ((1 + 0.5 + 0.5 + 0) / 4, (1 + 0.5 + 1 + 0) / 4)
    assert (run.absent, run.without_perspectives) == (("q4",), ("q9",))
    assert run.pairs == {"asked": 12, "scored": 11, "unscored": 1, "reasons": {"timeout": 1}}
    assert run.per_topic["q3"]["MRecall@2"] == Bounded(0, 1)
    assert found.unscored == 1


@pytest.mark.parametrize(
    ("topics_of", "questions"),
    [("perspectives", ["q1", "q2", "q3"]), ("run", ["q1", "q2"]), ("both", ["q1"])],
)
def test_which_questions_count(topics_of, questions):
    found = measure_perspectives(
        {"r": run_of(q1="1", q2="1"), "s": run_of(q1="1", q3="1")},
        views(q1="ab", q2="ab", q3="ab"),
        said(q1=["1a"], q2=["1a"], q3=["1a"]),
        topics_of=topics_of,
        bootstrap=Bootstrap(0),
    )
    assert list(found.runs[0].per_topic) == questions


def test_two_runs_are_compared_over_the_questions_that_both_have_a_value_for():
    found = measure_perspectives(
        {"base": run_of(q1="3", q2="3", q3="3"), "new": run_of(q1="12", q2="12", q3="12")},
        views(q1="ab", q2="ab", q3="ab"),
        said(q1=["1a", "2b"], q2=["1a", "2b"], q3=["1a", "2?b"]),
        depths=[2],
        baseline="base",
    )
    recall, precision = found.comparisons
    assert (recall.run, recall.measure, recall.test.topics) == ("new", "MRecall@2", 2)
    assert recall.test.difference == 1
    assert recall.test.p == 0.5  # two signs: of ++, +-, -+, -- two give as large a mean
    assert (precision.measure, precision.test.topics, precision.test.difference) == (
        "Precision@2",
        2,
        1,
    )
    assert recall.p_holm == 1


def test_what_all_runs_cover_together():
    found = measure_perspectives(
        {"r": run_of(q1="1", q2="1"), "s": run_of(q1="2", q2="3")},
        views(q1="ab", q2="ab"),
        said(q1=["1a", "2b"], q2=["1a"]),
        union_depth=1,
        bootstrap=Bootstrap(0),
    )
    assert found.union is not None
    assert found.union.measures["MRecall"].value == 1 / 2
    assert found.union.measures["MinCover"].value == 2  # of q1 alone
    assert found.union.measures["MinCover"].scored == 1
    assert [run.measures["MRecall@1"].value for run in found.runs] == [1, 1 / 2]
    assert found.runs[0].measures["CoverDepth@1"].value == 1


def test_the_side_measures_come_with_opposite_perspectives():
    verdicts = said(q1=["1a"], q2=["1b"], q3=["1ab"])
    without = measure_perspectives({"r": run_of(q1="1")}, views(q1="ab"), verdicts)
    assert list(without.runs[0].measures) == ["MRecall@5", "Precision@5"]
    found = measure_perspectives(
        {"r": run_of(q1="1", q2="1", q3="1")}, views(q1="+a-b", q2="-a+b", q3="ab"), verdicts
    )
    only = found.runs[0].measures["ProOnly@5"]
    assert (only.value, only.scored, only.asked) == (1, 2, 2)  # q3 has no sides
    assert "ProOnly@5" not in found.runs[0].per_topic["q3"]


def test_the_first_of_two_supports_where_the_order_says_so():
    two = [Perspective("1", "q", "Yes."), Perspective("2", "q", "No.")]
    assert [p.stance for p in by_question(two)["q"]] == [None, None]
    assert [p.stance for p in by_question(two, sides_by_order=True)["q"]] == ["pro", "con"]
    sided = [Perspective("1", "q", "No.", "con"), Perspective("2", "q", "Yes.")]
    assert by_question(sided, sides_by_order=True)["q"] == sided
    three = [*two, Perspective("3", "q", "Perhaps.")]
    assert by_question(three, sides_by_order=True)["q"] == three


def test_what_cannot_be_measured_is_refused():
    known, verdicts = views(q1="ab"), said(q1=["1a"])
    twice = [*run_of(q1="1"), RunEntry("q1", "d1", 2, 1.0)]
    with pytest.raises(InputError, match="q1: d1 is ranked twice"):
        measure_perspectives({"r": twice}, known, verdicts)
    with pytest.raises(InputError, match="no topic has perspectives"):
        measure_perspectives({"r": run_of(q7="1")}, known, verdicts)
    with pytest.raises(InputError, match="no verdict is on a pair of the runs"):
        measure_perspectives({"r": run_of(q1="x")}, known, verdicts)
    with pytest.raises(InputError, match="is not a measure"):
        measure_perspectives({"r": run_of(q1="1")}, known, verdicts, ["MRecal@5"])
    for runs, perspectives in (({}, known), ({"r": run_of(q1="1")}, {})):
        with pytest.raises(ValueError, match="expected one"):
            measure_perspectives(runs, perspectives, verdicts)


def test_verdicts_become_qrels_only_where_it_is_said_what_unscored_pairs_become():
    known, verdicts = views(q1="ab"), said(q1=["1a", "2?b"])
    run = run_of(q1="12")
    with pytest.raises(InputError, match=r"the pair q1, d2, b is unscored \(timeout: 9 s\)"):
        perspective_qrels([run], known, verdicts, 5)
    for unscored, grades in (("skip", [1, 0, 0]), ("zero", [1, 0, 0, 0])):
        qrels = perspective_qrels([run], known, verdicts, 5, unscored)
        mine = [q for q in qrels if q.doc_id in ("d1", "d2")]
        assert [q.grade for q in mine] == grades
        assert {(q.topic_id, q.subtopic) for q in qrels} == {("q1", "a"), ("q1", "b")}


# --- leaning


def test_a_retriever_that_follows_its_question():
    known = views(q1="+a-b", q2="+a-b", q3="ab")
    verdicts = said(q1=["1a", "2a", "3b", "4ab"], q2=["1a", "2b", "3b", "4a"])
    runs = {
        "question": run_of(q1="13", q2="12"),  # p = 1 + 1, n = 1 + 1
        "pro": run_of(q1="12", q2="14"),  # p = 2 + 2, n = 0
        "con": run_of(q1="34", q2="23"),  # p = 1 + 0, n = 2 + 2
    }
    found = measure_leaning("bm25", runs, known, verdicts, 2)
    assert {asked: of.delta.value for asked, of in found.by.items()} == {
        "question": 0.0,
        "pro": 1.0,
        "con": (1 - 4) / 1,
    }
    assert (found.by["question"].p, found.by["question"].n) == (2 / 4, 2 / 4)
    assert found.by["con"].delta.asked == 2  # q3 has no sides
    assert found.shifts["pro", "question"].value == 1
    assert found.shifts["con", "question"].value == -3
    assert found.shifts["pro", "con"].value == 4
    assert found.unscored == 0


def test_leaning_with_unscored_pairs_leaves_the_question_out_and_bounds_the_rest():
    known = views(q1="+a-b", q2="+a-b")
    verdicts = said(q1=["1a", "2b"], q2=["1a", "2?b"])
    runs = {asked: run_of(q1="12", q2="12") for asked in ("question", "pro", "con")}
    found = measure_leaning("r", runs, known, verdicts, 2)
    of = found.by["question"]
    assert (of.delta.value, of.delta.scored, of.delta.asked) == (0, 1, 2)
    assert (of.least, of.most) == ((2 - 2) / 2, (2 - 1) / 2)
    assert found.unscored == 3
    assert of.delta.low is None  # one question is nothing to draw from


def test_leaning_without_a_supporting_document_is_not_defined():
    known = views(q1="+a-b")
    runs = {asked: run_of(q1="1") for asked in ("question", "pro", "con")}
    found = measure_leaning("r", runs, known, said(q1=["1b"]), 2)
    assert found.by["pro"].delta.value is None
    assert found.shifts["pro", "con"].value is None
    with pytest.raises(InputError, match="leaning needs a question with two perspectives"):
        measure_leaning("r", runs, views(q1="ab"), said(q1=["1b"]), 2)


def test_questions_that_take_a_side():
    known = views(q1="-a+b", q2="ab")
    assert [(q.id, q.text) for q in side_questions(known, "pro")] == [("q1", "View b.")]
    assert [(q.id, q.text) for q in side_questions(known, "con")] == [("q1", "View a.")]
