"""Retrievers ranked by agreement with annotated pairs, in Python and at the command line."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import pnyx
from pnyx.cli import main
from pnyx.core.errors import InputError
from pnyx.core.records import RunEntry
from pnyx.judging.verdicts import Verdict
from pnyx.search.measures.correlation import TAU, RetrieverCorrelation, measure_correlation
from pnyx.stats.base import Bootstrap
from pnyx.stats.correlation import kendall_tau_b
from pnyx.stats.significance import holm

NUMBERS = st.sampled_from([-1.0, 0.0, 0.25, 0.5, 2.0]) | st.floats(-9, 9)


# --- Kendall's tau


@settings(deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=30))
def test_tau_is_scipys(pairs):
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    found = kendall_tau_b(first, second)
    if len(set(first)) < 2 or len(set(second)) < 2:
        assert found is None
        return
    assert found == pytest.approx(scipy.stats.kendalltau(first, second).statistic, abs=1e-12)
    assert -1 <= found <= 1
    assert kendall_tau_b(second, first) == pytest.approx(found, abs=1e-12)
    assert kendall_tau_b([-x for x in first], second) == pytest.approx(-found, abs=1e-12)


def test_tau_by_hand_and_of_very_many_pairs():
    # Of six pairs: 1-4, 2-4, 3-4 agree, 1-2 and 2-3 agree, 1-3 is tied in the second.
    assert kendall_tau_b([1, 2, 3, 4], [5, 6, 5, 7]) == pytest.approx((4 - 1) / math.sqrt(6 * 5))
    draw = np.random.default_rng(0)
    first = draw.random(43_445)
    second = np.round(first + draw.random(43_445), 2)
    expected = scipy.stats.kendalltau(first, second).statistic
    assert kendall_tau_b(first, second) == pytest.approx(expected, abs=1e-12)
    assert pnyx.stats.kendall_tau_b is kendall_tau_b
    with pytest.raises(ValueError, match="1 and 2 numbers"):
        kendall_tau_b([1], [1, 2])
    with pytest.raises(ValueError, match="not finite"):
        kendall_tau_b([1, math.nan], [1, 2])


# --- retrievers


def run(scores: dict[str, dict[str, float]], tag: str = "t") -> list[RunEntry]:
    return [RunEntry(q, d, 1, s, tag) for q, docs in scores.items() for d, s in docs.items()]


def annotated(probabilities: dict[str, dict[str, float | None]]) -> list[Verdict]:
    return [
        Verdict(f"{q}/{d}", q, d, None if p is None else p > 0.5, p)
        for q, docs in probabilities.items()
        for d, p in docs.items()
    ]


GOLD = {
    "q1": {"a": 0.9, "b": 0.5, "c": 0.1, "d": None},
    "q2": {"a": 0.8, "b": 0.2},
    "q10": {"a": 0.3, "b": 0.3},
}


def test_the_best_retriever_comes_first_and_ranks_do_not_count():
    good = run({"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"a": 1, "b": 0}, "q10": {"a": 1, "b": 0}})
    poor = run({"q1": {"a": 1, "b": 2, "c": 3}, "q2": {"a": 1, "b": 0}, "q10": {"a": 1, "b": 0}})
    found = measure_correlation({"poor": poor, "good": good}, annotated(GOLD))
    assert [r.name for r in found.runs] == ["good", "poor"]
    assert [r.tau.value for r in found.runs] == [1, 0]
    best = found.runs[0]
    assert list(best.per_topic) == ["q1", "q10", "q2"]
    assert best.per_topic["q1"][TAU].value == 1
    assert (best.per_topic["q1"][TAU].scored, best.per_topic["q1"][TAU].asked) == (3, 3)
    # The annotations of q10 order nothing.
    assert best.per_topic["q10"][TAU].value is None
    assert (best.tau.scored, best.tau.asked) == (2, 3)
    assert (found.annotated, found.unscored, found.questions) == (7, 1, 3)
    (compared,) = found.comparisons
    assert (compared.run, compared.other, compared.test.topics) == ("good", "poor", 2)
    assert compared.test.difference == 1
    json.dumps(found.row(), allow_nan=False)


PART = {"q1": {"c": 9.0, "a": 8.0, "z": 7.0}, "q2": {"b": -1.0}, "q7": {"a": 1.0}}
WHOLE = {q: {d: p or 0.0 for d, p in docs.items()} for q, docs in GOLD.items()}


def values(found: RetrieverCorrelation, name: str) -> dict[str, float | None]:
    (own,) = (r for r in found.runs if r.name == name)
    return {q: cells[TAU].value for q, cells in own.per_topic.items()}


def test_what_a_run_lacks_is_left_out_or_comes_last():
    def measured(documents_of: Any) -> RetrieverCorrelation:
        runs = {"part": run(PART), "whole": run(WHOLE)}
        return measure_correlation(runs, annotated(GOLD), documents_of=documents_of)

    found = measured("run")
    assert values(found, "part") == {"q1": -1, "q10": None, "q2": None}
    assert values(found, "whole") == {"q1": 1, "q10": None, "q2": 1}
    part = found.runs[1]
    assert (part.compared, part.not_retrieved, part.not_annotated) == (3, 4, 1)
    assert (part.absent, part.unannotated) == (("q10",), ("q7",))
    assert values(measured("every-run"), "whole") == {"q1": 1, "q10": None, "q2": None}
    # b of q1, which the run lacks, is below a and c; a of q2 below b, whose score is negative.
    everything = measured("annotations")
    expected = scipy.stats.kendalltau([8, 0, 9], [0.9, 0.5, 0.1]).statistic
    assert values(everything, "part") == {"q1": pytest.approx(expected), "q10": None, "q2": -1}
    assert {r.name: r.compared for r in everything.runs} == {"part": 5, "whole": 7}


def many(seed: int, noise: float) -> list[RunEntry]:
    draw = random.Random(seed)
    return run({
        q: {d: p + noise * draw.random() for d, p in docs.items() if p is not None}
        for q, docs in LARGE.items()
    })  # fmt: skip


LARGE: dict[str, dict[str, float | None]] = {
    f"q{q}": {f"d{d}": random.Random(100 * q + d).random() for d in range(20)} for q in range(24)
}


@pytest.mark.parametrize("test", ["t", "randomisation"])
def test_intervals_and_paired_comparisons_are_over_questions(test):
    runs = {f"noise {n}": many(n, n) for n in (1, 2, 8)}
    found = measure_correlation(runs, annotated(LARGE), test=test, bootstrap=Bootstrap(seed=2))
    assert [r.name for r in found.runs] == ["noise 1", "noise 2", "noise 8"]
    assert all(r.tau.low < r.tau.value < r.tau.high for r in found.runs)
    assert [(c.run, c.other) for c in found.comparisons] == [
        ("noise 1", "noise 2"), ("noise 1", "noise 8"), ("noise 2", "noise 8"),
    ]  # fmt: skip
    for c in found.comparisons:
        one, other = (values(found, name) for name in (c.run, c.other))
        differences = [one[q] - other[q] for q in one]
        assert c.test.difference == pytest.approx(np.mean(differences))
        assert c.low < c.test.difference < c.high
        if test == "t":
            expected = scipy.stats.ttest_rel(list(one.values()), list(other.values()))
            assert c.test.p == pytest.approx(expected.pvalue)
    assert [c.p_holm for c in found.comparisons] == holm([c.test.p for c in found.comparisons])
    with_baseline = measure_correlation(
        runs, annotated(LARGE), baseline="noise 2", bootstrap=Bootstrap(0)
    )
    pairs = [(c.run, c.other) for c in with_baseline.comparisons]
    assert pairs == [("noise 1", "noise 2"), ("noise 8", "noise 2")]
    assert {r.tau.low for r in with_baseline.runs} == {None}


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(InputError, match=r"r: no topic is annotated \(topics are 'q7'"):
        measure_correlation({"r": run({"q7": {"a": 1}})}, annotated(GOLD))
    with pytest.raises(InputError, match="annotation '1' has no doc_id"):
        measure_correlation({"r": run(WHOLE)}, [Verdict("1", "q1", "", True, 0.9)])
    with pytest.raises(InputError, match="annotation '1' has no question_id"):
        measure_correlation({"r": run(WHOLE)}, [Verdict("1", "", "a", True, 0.9)])
    with pytest.raises(InputError, match="question 'q1', document 'a' is annotated twice"):
        measure_correlation({"r": run(WHOLE)}, [*annotated(GOLD), *annotated(GOLD)])
    with pytest.raises(InputError, match="ranked twice"):
        measure_correlation({"r": [*run(WHOLE), *run(WHOLE)]}, annotated(GOLD))
    with pytest.raises(ValueError, match="the baseline"):
        measure_correlation({"r": run(WHOLE)}, annotated(GOLD), baseline="s")


# --- the command


@pytest.fixture
def files(tmp_path: Path) -> tuple[list[str], Path]:
    paths = []
    for name, scores in (("part", PART), ("whole", WHOLE)):
        path = tmp_path / f"{name}.run"
        path.write_text("".join(
            f"{q} Q0 {d} 1 {s} tag\n" for q, docs in scores.items() for d, s in docs.items()
        ))  # fmt: skip
        paths.append(str(path))
    answers = tmp_path / "results" / "answers.jsonl"
    answers.parent.mkdir()
    answers.write_text("".join(
        json.dumps({
            "id": f"{q}/{d}", "task": "relevance", "judge": "j", "question_id": q, "doc_id": d,
            "value": None if p is None else p > 0.5, "probability": p,
            "unscored": "timeout" if p is None else None,
        }) + "\n"
        for q, docs in GOLD.items() for d, p in docs.items()
    ))  # fmt: skip
    return paths, answers


def command(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["measure", "retrieval", *arguments])
    return int(ended.value.code or 0)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((), "expected --qrels or --annotations"),
        (("--annotations", "A", "--qrels", "Q"), "expected --qrels or --annotations"),
        (("--annotations", "A", "--measure", "AP"), "--measure requires --qrels"),
        (("--annotations", "A", "--strict"), "--strict requires --qrels"),
        (("--qrels", "Q", "--documents-of", "every-run"), "--documents-of requires --annotations"),
        (("--qrels", "Q", "--by", "j"), "--by requires --annotations"),
    ],
)
def test_the_command_takes_qrels_or_annotations(more, message, files, capsys):
    runs, _ = files
    assert command(*runs, *more) == 2
    out, err = capsys.readouterr()
    assert (out, message in err, err.count("\n")) == ("", True, 1)


def test_the_former_command_says_what_to_use(capsys):
    with pytest.raises(SystemExit):
        main(["measure", "correlation", "a.run", "--annotations", "a.jsonl"])
    assert "use pnyx measure retrieval RUN... --annotations FILE" in capsys.readouterr().err


def test_the_command_ranks_runs_by_a_results_folder(files, capsys):
    runs, answers = files
    assert command(*runs, "--annotations", str(answers.parent), "--json") == 3
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert [r["run"] for r in found["runs"]] == ["whole", "part"]
    assert found["runs"][0]["measures"][TAU]["value"] == 1
    assert found["runs"][0]["per_group"]["q1"][TAU]["asked"] == 3
    assert found["annotations"] == {"questions": 3, "scored": 7, "unscored": 1}
    assert "1 of 8 annotations are unscored" in printed.err
    assert "part: 4 annotated documents not retrieved, left out" in printed.err
    assert "runs compared on different documents" in printed.err
    arguments = ["--annotations", str(answers), "--per-topic", "--documents-of", "annotations"]
    assert command(*runs, *arguments) == 3
    printed = capsys.readouterr()
    assert "correlation: 2 runs on 7 annotated pairs, 3 questions" in printed.out
    lines = [line.split() for line in printed.out.splitlines()]
    assert ["q2", "1.000", "-1.000"] in lines
    assert "in the last place" in printed.err


def test_scored_runs_end_with_0_and_bad_input_with_one_line(files, tmp_path, capsys):
    runs, answers = files
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    fine = tmp_path / "fine.jsonl"
    fine.write_text("".join(
        json.dumps(row) + "\n" for row in rows
        if row["probability"] is not None and row["question_id"] != "q10"
    ))  # fmt: skip
    assert command(runs[1], "--annotations", str(fine)) == 0
    capsys.readouterr()
    assert command(runs[0], "--annotations", str(tmp_path / "none.jsonl")) == 2
    assert command("-", "--annotations", "-") == 2
    assert command(runs[0], runs[0], "--annotations", str(fine)) == 2
    rows[0].pop("doc_id")
    fine.write_text(json.dumps(rows[0]) + "\n")
    assert command(runs[0], "--annotations", str(fine)) == 2
    errors = capsys.readouterr().err
    assert "Traceback" not in errors
    assert "cannot be read" in errors
    assert "the run is given twice" in errors
    assert "annotation 'q1/a' has no doc_id" in errors
