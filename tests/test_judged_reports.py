"""The records of a judged report: three-valued truth, and the way to JSON and back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.nuggets import Nugget, NuggetAnswer, NuggetBank, NuggetReference
from pnyx.core.records import NODES
from pnyx.formats.reports.judged_report import (
    OUTCOMES,
    JudgedAnswer,
    JudgedCitation,
    JudgedNugget,
    JudgedReport,
    JudgedSentence,
    NodeAnswer,
    TreePath,
    all_of,
    any_of,
    report_of_row,
)

TRUTH = st.sampled_from([True, False, None])
TEXT = st.text(max_size=8)
FINDINGS = st.builds(NodeAnswer, TRUTH, TEXT, TEXT, st.none() | st.floats(0, 1), TEXT)
ANSWERS = st.tuples(TEXT, st.integers(0, 3))
STEPS = st.builds(
    TreePath,
    st.lists(TEXT, max_size=3).map(tuple),
    st.sampled_from(OUTCOMES),
    st.none() | st.floats(-2, 2),
    TEXT,
)
SENTENCES = st.builds(
    JudgedSentence,
    TEXT,
    st.lists(st.builds(JudgedCitation, TEXT, FINDINGS, FINDINGS), max_size=2).map(tuple),
    st.dictionaries(st.sampled_from(NODES), FINDINGS, max_size=2),
    st.lists(ANSWERS, max_size=2).map(tuple),
    st.lists(STEPS, max_size=2).map(tuple),
    st.lists(ANSWERS, max_size=2).map(tuple),
)
NUGGETS = st.builds(
    JudgedNugget,
    *[TEXT] * 4,
    st.booleans(),
    st.lists(
        st.builds(JudgedAnswer, TEXT, TRUTH, st.lists(st.integers(0, 5)).map(tuple), st.booleans()),
        max_size=2,
    ).map(tuple),
)
REPORTS = st.builds(
    JudgedReport,
    TEXT,
    TEXT,
    st.lists(SENTENCES, max_size=2).map(tuple),
    st.lists(NUGGETS, max_size=2).map(tuple),
    st.lists(TEXT, max_size=2).map(tuple),
    st.booleans(),
    st.lists(TEXT, max_size=2).map(tuple),
)


@given(REPORTS)
def test_a_report_goes_to_json_and_back(report):
    assert report_of_row(json.loads(json.dumps(report.row()))) == report


@given(st.lists(TRUTH, max_size=5))
def test_what_is_open_decides_nothing_that_is_settled(values):
    settled = [[v if v is not None else fill for v in values] for fill in (True, False)]
    for together, plain in ((all_of, all), (any_of, any)):
        outcomes = {plain(one) for one in settled}
        assert together(values) == (outcomes.pop() if len(outcomes) == 1 else None)


@pytest.mark.parametrize(
    ("aggregator", "given", "answered"),
    [
        ("AND", [True, True], True),
        ("and", [True, False], False),
        ("AND", [True, None], None),
        ("OR", [False, True], True),
        ("", [None, True], True),
        ("OR", [None, False], None),
        ("OR", [], None),
    ],
)
def test_a_nugget_is_answered_by_all_or_one_of_its_answers(aggregator, given, answered):
    answers = tuple(JudgedAnswer("a", one) for one in given)
    assert JudgedNugget("n", "?", aggregator=aggregator, answers=answers).answered is answered


def test_a_sentence_is_attested_by_each_of_its_citations():
    yes, no, unknown = NodeAnswer(True), NodeAnswer(False), NodeAnswer(None)

    def attested(*found):
        return JudgedSentence("s", tuple(JudgedCitation("d", yes, f) for f in found)).attested

    assert [attested(yes, yes), attested(yes, no), attested(yes, unknown), attested()] == [
        True,
        False,
        None,
        False,
    ]


def test_a_bank_knows_which_documents_attest_which_answers():
    def cited(*ids):
        return tuple(map(NuggetReference, ids))

    bank = NuggetBank(
        "1",
        (
            Nugget("q", "Why?", (NuggetAnswer("a", cited("d1", "d1")), NuggetAnswer("b"))),
            Nugget("c", "It is so.", is_claim=True, references=cited("d1", "d2")),
            Nugget("u", "When?"),
        ),
    )
    assert bank.attesting == {"d1": [("q", 0), ("c", 0)], "d2": [("c", 0)]}
    assert [one.unanswerable for one in bank.nuggets] == [False, False, True]
