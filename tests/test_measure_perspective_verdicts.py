"""Verdicts from answers, labels and qrels, and as diversity qrels for ir-measures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.errors import InputError
from pnyx.core.records import Perspective, RunEntry
from pnyx.formats.perspectives import by_question
from pnyx.judging.verdicts import Verdict
from pnyx.perspectives.measures.coverage import measure_perspectives, perspective_qrels
from pnyx.perspectives.measures.verdicts import MISSING, read_verdicts
from pnyx.stats.base import Bootstrap

ANSWER = {"task": "support", "value": True, "unscored": None, "judge": "j", "probability": 0.9}


def write(path: Path, *rows: dict[str, Any], **common: Any) -> Path:
    lines = [{"id": str(n), **common, **row} for n, row in enumerate(rows, 1)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def pair(doc: str, perspective: str = "a", **more: Any) -> dict[str, Any]:
    return {"question_id": "q", "doc_id": doc, "perspective_id": perspective, **more}


def no(**more: Any) -> dict[str, Any]:
    return {"value": False, "probability": 0.2, **more}


def unscored(reason: str = "timeout: 9 s") -> dict[str, Any]:
    return {"value": None, "probability": None, "unscored": reason}


def test_answers_by_question_document_and_perspective(tmp_path):
    rows = [pair("d1"), pair("d1", "b", **no()), pair("d2", **unscored())]
    path = write(tmp_path / "answers.jsonl", *rows, **ANSWER)
    for source in (path, tmp_path):  # the file, and the folder that holds it
        found = read_verdicts(source)
        assert found.judge == "j"
        assert found.of("q", "d1", "a") == Verdict(value=True, probability=0.9)
        assert found.of("q", "d1", "b") == Verdict(value=False, probability=0.2)
        assert found.of("q", "d2", "a") == Verdict(unscored="timeout: 9 s")
        assert found.of("q", "d2", "b") is MISSING


def test_a_cut_document_supports_what_one_of_its_passages_does(tmp_path):
    def passages(doc: str, *verdicts: dict[str, Any], of: int = 2) -> list[dict[str, Any]]:
        return [
            pair(doc, passage=n, passages=of, text_id=f"{doc}#{n}", **verdict)
            for n, verdict in enumerate(verdicts, 1)
        ]

    yes = {"value": True, "probability": 0.7}
    path = write(
        tmp_path / "a.jsonl",
        *passages("yes", no(), yes),
        *passages("no", no(), no(probability=0.3)),
        *passages("open", no(), unscored()),
        *passages("half", no()),
        *passages("yes-and-open", unscored(), yes),
        *passages("half-yes", yes),
        *passages("no-probability", no(), no(probability=None)),
        **ANSWER,
    )
    found = read_verdicts(path)
    assert found.of("q", "yes", "a") == Verdict(value=True, probability=0.7)
    assert found.of("q", "no", "a") == Verdict(value=False, probability=0.3)
    assert found.of("q", "open", "a") == Verdict(unscored="timeout: 9 s")
    assert found.of("q", "half", "a").unscored == "passages: no verdict on 1 of 2"
    assert found.of("q", "yes-and-open", "a") == Verdict(value=True, probability=0.7)
    assert found.of("q", "half-yes", "a") == Verdict(value=True, probability=0.7)
    assert found.of("q", "no-probability", "a") == Verdict(value=False, probability=None)


def test_labels_name_the_pair_or_have_the_items_id(tmp_path):
    path = write(
        tmp_path / "labels.jsonl",
        {"id": "1", "annotator": "x", "value": "yes", **pair("d1")},
        {"id": "1", "annotator": "y", "value": "no", **pair("d1")},
        {"id": "1", "annotator": "z", "value": "partially", **pair("d1")},
        {"id": "2", "annotator": "x", "value": True, **pair("d2")},
        {"id": "2", "annotator": "y", "value": False, **pair("d2")},
        {"id": "q/d3/a", "value": 0},
    )
    found = read_verdicts(path)
    assert found.judge == "labels:labels.jsonl"
    assert found.of("q", "d1", "a") == Verdict(value=True)
    assert found.of("q", "d2", "a") == Verdict(unscored="tie")
    assert found.of("q", "d3", "a").value is False
    assert found.of("q", "d4", "a") is MISSING


def test_diversity_qrels(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_text("q a d1 2\nq b d1 0\nq a d2 -2\n")
    found = read_verdicts(path)
    said = [found.of("q", d, p).value for d, p in (("d1", "a"), ("d1", "b"), ("d2", "a"))]
    assert said == [True, False, False]
    assert found.of("q", "d2", "b") is MISSING
    assert read_verdicts(path, unjudged="no").of("q", "d2", "b").value is False


REFUSED = {
    "no perspective": ([{"question_id": "q", "doc_id": "d"}], "perspective_id: found none"),
    "no question": ([{"doc_id": "d", "perspective_id": "a"}], "question_id: found none"),
    "twice": ([pair("d1"), pair("d1")], "the pair q, d1, a has a verdict in an earlier line"),
    "task": ([pair("d1", task="relevance")], "task: found 'relevance', expected support"),
    "value": ([pair("d1", value=0.4)], "value: found 0.4, expected true, false or null"),
    "passage": ([pair("d1", passage=3, passages=2)], "passage: found 3, expected at most 2"),
    "passages": ([pair("d1", passage=0, passages=2)], "passage: found 0, expected a number"),
    "judges": ([pair("d1"), pair("d2", judge="k")], "several judges ('j', 'k')"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_fault_is_one_line_with_its_place(name, tmp_path):
    rows, problem = REFUSED[name]
    path = write(tmp_path / "a.jsonl", *rows, **ANSWER)
    with pytest.raises(InputError) as caught:
        read_verdicts(path)
    assert problem in str(caught.value)
    assert str(caught.value).startswith(f"{path}:{len(rows)}: ")


def test_one_judge_of_several_is_named(tmp_path):
    path = write(tmp_path / "a.jsonl", pair("d1"), pair("d1", judge="k", **no()), **ANSWER)
    assert read_verdicts(path, judge="k").of("q", "d1", "a").value is False
    with pytest.raises(InputError, match="holds no answers of 'x'"):
        read_verdicts(path, judge="x")


def test_other_files_are_refused(tmp_path):
    plain = tmp_path / "plain.qrels"
    plain.write_text("q 0 d1 1\n")
    with pytest.raises(InputError, match="found plain qrels, expected diversity qrels"):
        read_verdicts(plain)
    with pytest.raises(InputError, match=r"holds no answers\.jsonl"):
        read_verdicts(tmp_path)
    relabelled = write(
        tmp_path / "l.jsonl", {"id": "1", "value": True, **pair("d1")},
        {"id": "1", "value": True, "annotator": "y", **pair("d2")},
    )  # fmt: skip
    with pytest.raises(InputError, match="id '1' names another pair than before"):
        read_verdicts(relabelled)


# --- as diversity qrels

VIEWS = by_question([Perspective(letter, "q", f"View {letter}.") for letter in "abc"])


def run_of(documents: str) -> list[RunEntry]:
    return [RunEntry("q", f"d{doc}", n, 100.0 - n) for n, doc in enumerate(documents, 1)]


@given(
    st.lists(st.text("01", min_size=3, max_size=3), min_size=1, max_size=8),
    st.permutations(range(8)),
)
def test_diversity_measures_are_those_of_pyndeval_and_ours_those_of_ir_measures(signs, order):
    ir_measures = pytest.importorskip("ir_measures")
    pyndeval = pytest.importorskip("pyndeval")
    import pnyx.perspectives.measures.mrecall as ours
    from pnyx.perspectives.measures.verdicts import Verdicts

    verdicts = Verdicts(
        "j",
        {
            ("q", f"d{doc}", letter): Verdict(value=sign == "1")
            for doc, row in enumerate(signs)
            for letter, sign in zip("abc", row, strict=True)
        },
    )
    run = run_of("".join(str(doc) for doc in order if doc < len(signs)))
    names = ["alpha_nDCG@5", "ERR_IA@5", "StRecall@5", "MRecall@2", "MRecall@5", "Precision@5"]
    if not any("1" in row for row in signs):
        return  # pyndeval knows no subtopic without a relevant document
    found = (
        measure_perspectives({"r": run}, VIEWS, verdicts, names, bootstrap=Bootstrap(0))
        .runs[0]
        .measures
    )
    value = {name: found[name].value for name in names}

    scores = {"q": {e.doc_id: e.score for e in run}}
    qrels = perspective_qrels([run], VIEWS, verdicts, 8)
    judged = [pyndeval.SubtopicQrel(q.topic_id, q.subtopic, q.doc_id, q.grade) for q in qrels]
    theirs = pyndeval.ndeval(
        judged,
        [pyndeval.ScoredDoc("q", doc, score) for doc, score in scores["q"].items()],
        measures=["alpha-nDCG@5", "ERR-IA@5", "strec@5"],
    )["q"]
    for mine, name in (
        ("alpha_nDCG@5", "alpha-nDCG@5"),
        ("ERR_IA@5", "ERR-IA@5"),
        ("StRecall@5", "strec@5"),
    ):
        assert value[mine] == pytest.approx(theirs[name], abs=1e-9)

    named = [ir_measures.Qrel(q.topic_id, q.doc_id, q.grade, q.subtopic) for q in qrels]
    for k in (2, 5):
        (metric,) = ir_measures.iter_calc([ours.MRecall @ k], named, scores)
        assert metric.value == value[f"MRecall@{k}"]
    best = {"q": {}}
    for q in qrels:
        best["q"][q.doc_id] = max(q.grade, best["q"].get(q.doc_id, 0))
    (metric,) = ir_measures.iter_calc([ir_measures.P @ 5], best, scores)
    assert metric.value == pytest.approx(value["Precision@5"])


def test_mrecall_is_read_by_ir_measures(names_of_ir_measures):
    ir_measures = names_of_ir_measures
    import pnyx.perspectives.measures.mrecall as ours

    assert ir_measures.parse_measure("MRecall@5") == ours.MRecall @ 5
    assert repr(ours.MRecall(rel=2) @ 10) == "MRecall(rel=2)@10"
    qrels = [
        ir_measures.Qrel("q", "d1", 1, "a"),
        ir_measures.Qrel("q", "d2", 1, "b"),
        ir_measures.Qrel("q", "d3", 0, "c"),  # a perspective that nothing supports counts
        ir_measures.Qrel("p", "d1", 1, "a"),
    ]
    run = [ir_measures.ScoredDoc("q", "d1", 2.0), ir_measures.ScoredDoc("q", "d2", 1.0)]
    assert ir_measures.calc_aggregate([ours.MRecall @ 2], qrels, run) == {ours.MRecall @ 2: 1 / 2}
    assert ir_measures.calc_aggregate([ours.MRecall @ 3], qrels, run) == {ours.MRecall @ 3: 0}
    with pytest.raises(AssertionError):
        ir_measures.calc_aggregate([ours.MRecall], qrels, run)


def test_a_diversity_measure_is_open_where_a_pair_within_its_depth_is():
    pytest.importorskip("ir_measures")
    from pnyx.perspectives.measures.verdicts import Verdicts

    said = {("q", "d1", "a"): True, ("q", "d1", "b"): False, ("q", "d1", "c"): False}
    verdicts = Verdicts("j", {place: Verdict(value=value) for place, value in said.items()})
    names = ["alpha_nDCG@1", "alpha_nDCG@2"]
    run = measure_perspectives(
        {"r": run_of("12")}, VIEWS, verdicts, names, bootstrap=Bootstrap(0)
    ).runs[0]
    assert run.measures["alpha_nDCG@1"].value == 1
    assert run.measures["alpha_nDCG@2"].value is None
    assert run.measures["alpha_nDCG@2"].open == 1
    assert run.measures["alpha_nDCG@2"].most is None
    with pytest.raises(InputError, match="expected a depth, as in AP@10"):
        measure_perspectives({"r": run_of("12")}, VIEWS, verdicts, ["AP"])
