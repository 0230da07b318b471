"""Measures of what `pnyx.ask` returned, without a file between, and results to look at."""

from __future__ import annotations

import json

import pytest

import pnyx
from pnyx import HumanLabels, Support, ask
from pnyx.core.errors import InputError
from pnyx.judging.answers import Judged, Provenance
from pnyx.judging.runs.results import judge_into

ROWS = [
    {"id": f"q{n % 4}/d{n}", "value": n % 3 == 0, "question_id": f"q{n % 4}", "doc_id": f"d{n}"}
    for n in range(24)
]


@pytest.fixture
def said(tmp_path):
    """Answers of a judge that is wrong on every fifth item, and its results folder."""
    labels = tmp_path / "judge.jsonl"
    rows = [{"id": r["id"], "value": r["value"] ^ (n % 5 == 0)} for n, r in enumerate(ROWS)]
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows[:-1]))
    asked = [
        Support(r["id"], "text", "statement", task="relevance", group=r["question_id"],
                extra={"question_id": r["question_id"], "doc_id": r["doc_id"]})
        for r in ROWS
    ]  # fmt: skip
    answers = ask(HumanLabels(labels), asked)
    judge_into(tmp_path / "out", "relevance", HumanLabels(labels), asked, lambda _: {})
    return answers, tmp_path / "out"


def gold():
    return [{"id": r["id"], "value": r["value"]} for r in ROWS]


def test_answers_carry_the_ids_of_their_items(said):
    answers, _ = said
    assert [a.id for a in answers] == [r["id"] for r in ROWS]
    assert Judged(True, Provenance("j")).id == ""


def test_memory_and_files_give_the_same(said, tmp_path):
    answers, folder = said
    labels = tmp_path / "labels.jsonl"
    labels.write_text("".join(json.dumps(row) + "\n" for row in gold()))
    one = pnyx.measure_agreement(answers, gold())
    assert one.row() == pnyx.measure_agreement(folder, labels).row()
    assert one.row() == pnyx.measure_agreement(folder, labels, "relevance").row()
    assert one.counts["unscored"] == 1
    assert pnyx.measure_agreement(answers, ask(HumanLabels(labels), [a.question for a in answers]))
    for measure in (
        lambda source: pnyx.judging.measure_thresholds(source, gold()).row(),
        lambda source: {q: a.row() for q, a in pnyx.judging.measure_amount(source).items()},
    ):
        assert measure(answers) == measure(folder)
    assert pnyx.Lookup(answers).card == pnyx.Lookup(folder).card


def test_an_answer_without_its_question_is_refused():
    with pytest.raises(InputError, match="without its question"):
        pnyx.measure_agreement([Judged(True, Provenance("j"))], gold())


def test_perspectives_take_answers(said):
    views = pnyx.formats.by_question([pnyx.Perspective("p", "q", "Tea is healthy.")])
    extra = {"question_id": "q", "doc_id": "d", "perspective_id": "p"}
    support = Support("q/d/p", "Tea calms.", "Tea is healthy.", task="perspectives", extra=extra)
    answer = Judged(True, Provenance("j"), 0.9, question=support)
    run = [pnyx.core.records.RunEntry("q", "d", 1, 1.0, "r")]
    found = pnyx.measure_perspectives({"r": run}, views, [answer])
    assert found.runs[0].measures["MRecall@5"].value == 1
    assert found.rows()[0]["measure"] == "MRecall@5"


def test_results_are_worth_a_look(said):
    answers, _ = said
    found = pnyx.measure_agreement(answers, gold())
    assert repr(found).splitlines()[0] == "Agreement"
    assert "accuracy" in repr(found)
    assert "<td>accuracy</td>" in found._repr_html_()
    frame = pytest.importorskip("pandas") and found.to_frame()
    assert set(frame["measure"]) >= {"accuracy", "f1"}
    amounts = pnyx.judging.measure_amount(answers)
    assert "from 0.5" in repr(amounts).splitlines()[1]


def test_what_is_hostile_is_escaped():
    hostile = [
        Judged(True, Provenance("j"), 0.9, question=Support("1", "t", "s", task="relevance",
               group="<script>\x1b[2J", extra={}))
    ]  # fmt: skip
    shown = pnyx.judging.measure_amount(hostile)
    assert "\x1b" not in repr(shown)
    assert "<script>" not in shown._repr_html_()


@pytest.mark.parametrize("wrong", [{"draws": -1}, {"confidence": 1.0}, {"confidence": 0.0}])
def test_a_bootstrap_checks_itself(wrong):
    with pytest.raises(ValueError, match="expected at least 0 draws"):
        pnyx.stats.Bootstrap(**wrong)


def test_a_wider_confidence_gives_a_wider_interval(said):
    answers, _ = said
    narrow, wide = (
        pnyx.measure_agreement(
            answers, gold(), bootstrap=pnyx.stats.Bootstrap(confidence=c)
        ).measures["f1"]
        for c in (0.5, 0.95)
    )
    assert wide.low <= narrow.low <= narrow.high <= wide.high
