"""The judgment tree in memory: every path worked by hand, and what is asked for it."""

from __future__ import annotations

from collections import Counter

import pytest

from argue_report import (
    ASKED,
    ATTESTED,
    BANK,
    NUGGETS,
    STEPS,
    YES,
    PlannedJudge,
    response,
)
from pnyx.corpora import read_responses, write_responses
from pnyx.judge.reports.judging import judge_reports


def judged(judge=None, bank=BANK, of=None, **more):
    (report,) = judge_reports([of or response()], [bank], judge or PlannedJudge(), **more)
    return report


def steps_of(report):
    return tuple(
        tuple((" ".join(s.path), s.outcome, s.weight, s.about) for s in one.steps)
        for one in report.sentences
    )


def test_each_sentence_takes_its_way_through_the_tree():
    judge = PlannedJudge()
    report = judged(judge)
    assert steps_of(report) == STEPS
    assert tuple(one.attested for one in report.sentences) == ATTESTED
    found = {n.id: (tuple(a.given for a in n.answers), n.answered) for n in report.nuggets}
    assert found == NUGGETS
    assert Counter(one.task for one in judge.asked) == ASKED
    assert len({one.id for one in judge.asked}) == len(judge.asked)
    assert {one.id for one in judge.asked} >= YES
    assert report.relevant == ("d1", "d2", "d3", "d9")


@pytest.mark.parametrize("style", ["ids", "scores", "indices"])
def test_the_style_of_citations_changes_nothing(style, tmp_path):
    path = tmp_path / "run.jsonl"
    with path.open("w") as stream:
        write_responses(stream, [response(style)], style, "ragtime")
    (read,) = read_responses(str(path))
    assert judged(of=read) == judged()
