"""What is derived from the findings of a judged report: blank, attested, answered, empty."""

from __future__ import annotations

from typing import Any

import pytest

from pnyx.formats.reports.judged_report import (
    COLLECTION,
    JudgedAnswer,
    JudgedCitation,
    JudgedNugget,
    JudgedReport,
    JudgedSentence,
    NodeAnswer,
    all_of,
    any_of,
    report_of_row,
)

YES, NO, OPEN = NodeAnswer(True, "j"), NodeAnswer(False, "j"), NodeAnswer(None, "j")
RULED_OUT = NodeAnswer(False, "rule")


@pytest.mark.parametrize(
    ("values", "together", "one"),
    [
        ([], True, False),
        ([True, True], True, True),
        ([True, False], False, True),
        ([False, False], False, False),
        ([True, None], None, True),
        ([False, None], False, None),
        ([None], None, None),
    ],
)
def test_all_and_any_of_values_that_may_be_unscored(
    values: list[bool | None], together: bool | None, one: bool | None
) -> None:
    assert (all_of(values), any_of(values)) == (together, one)


def cites(*findings: NodeAnswer) -> tuple[JudgedCitation, ...]:
    return tuple(JudgedCitation("d", YES, finding) for finding in findings)


def test_a_sentence_is_attested_by_all_of_its_citations() -> None:
    assert JudgedSentence("A.").attested is False
    assert JudgedSentence("A.", cites(YES, YES)).attested is True
    assert JudgedSentence("A.", cites(YES, NO)).attested is False
    assert JudgedSentence("A.", cites(YES, OPEN)).attested is None


@pytest.mark.parametrize(
    ("findings", "citations", "blank"),
    [
        ({"negative": RULED_OUT, "needs_citation": RULED_OUT}, (), True),
        ({"negative": RULED_OUT, "needs_citation": RULED_OUT}, cites(YES), False),
        ({"negative": RULED_OUT, "needs_citation": NodeAnswer(True, "rule")}, (), False),
        ({"negative": NO, "needs_citation": RULED_OUT}, (), False),
        ({"negative": RULED_OUT, "needs_citation": NO}, (), False),
        ({"negative": RULED_OUT}, (), False),
        ({"needs_citation": RULED_OUT}, (), False),
    ],
)
def test_a_blank_sentence_needs_no_judge(
    findings: dict[str, NodeAnswer], citations: Any, blank: bool
) -> None:
    sentence = JudgedSentence("", citations, findings)
    assert sentence.blank is blank
    assert JudgedReport("1", "r", (sentence,)).empty is blank


def test_a_missing_or_whole_report_is_not_empty() -> None:
    assert JudgedReport("1", "r").empty
    assert not JudgedReport("1", "r", missing=True).empty
    assert not JudgedReport("1", "r", whole=True).empty


@pytest.mark.parametrize(
    ("aggregator", "given", "answered"),
    [
        ("AND", [True, False], False),
        ("and", [True, False], False),
        ("AND", [True, True], True),
        ("OR", [True, False], True),
        ("", [False, None], None),
        ("AND", [], None),
        ("", [], None),
    ],
)
def test_a_nugget_is_answered_by_all_or_one_of_its_answers(
    aggregator: str, given: list[bool | None], answered: bool | None
) -> None:
    answers = tuple(JudgedAnswer("a", value) for value in given)
    assert JudgedNugget("n", "N?", "", aggregator, False, answers).answered is answered


def test_a_report_is_read_as_it_was_written() -> None:
    unknown = JudgedCitation("d", YES, NodeAnswer(False, COLLECTION))
    sentences = (JudgedSentence("A.", (unknown,)), JudgedSentence("B.", repeats=0))
    report = JudgedReport("1", "r", sentences, differing=(("d", 0.5),))
    row = report.row()
    assert "whole" not in row
    assert ["repeats" in sentence for sentence in row["sentences"]] == [False, True]
    assert report_of_row(row) == report
    assert (unknown.unknown, cites(YES)[0].unknown) == (True, False)
    assert JudgedReport("1", "r", whole=True).row()["whole"] is True
    assert repr(report) == "JudgedReport('1', 'r': 2 sentences, 0 nuggets)"
