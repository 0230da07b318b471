"""nDCG and average precision of one question's ranking."""

from __future__ import annotations

import itertools
import json
import math

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import AP, nDCG

import pnyx
from pnyx.cli import main
from pnyx.judging.measures.agreement import measure_agreement
from pnyx.judging.measures.ground_truth import LabelledVerdicts
from pnyx.judging.measures.pairs import Gold, Pair
from pnyx.judging.measures.registry import DERIVED_MEASURES, MEASURES, RANKING_MEASURES
from pnyx.judging.verdicts import Verdict
from pnyx.stats.base import Bootstrap
from pnyx.stats.rankings import ndcg, ranking_average_precision
from tries import tries

GRADES = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0])
SCORES = st.sampled_from([0.0, 0.1, 0.5, 0.9, 0.95])
PAIRS = st.lists(st.tuples(GRADES, SCORES), max_size=6)


def columns(pairs: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [gain for gain, _ in pairs], [score for _, score in pairs]


# --- by hand


def test_a_worked_example():
    """Ranks: 1 no, 2 partially, 3 yes, 4 no."""
    gains, scores = [1.0, 0.0, 0.5, 0.0], [0.4, 0.9, 0.7, 0.1]
    ideal = 1 + 0.5 / math.log2(3)
    assert ndcg(gains, scores) == pytest.approx((0.5 / math.log2(3) + 1 / 2) / ideal)
    assert ndcg(gains, scores, 2) == pytest.approx(0.5 / math.log2(3) / ideal)
    assert ndcg(gains, scores, 1) == 0
    assert ranking_average_precision([True, False, True, False], scores) == pytest.approx(7 / 12)


def test_ties_count_with_their_expected_value():
    """One relevant of three at the same score: first, second and third with equal chance."""
    gains, scores = [0.0, 1.0, 0.0], [0.9, 0.9, 0.9]
    assert ndcg(gains, scores) == pytest.approx((1 + 1 / math.log2(3) + 1 / 2) / 3)
    assert ranking_average_precision(gains, scores) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    # Two relevant of two below an irrelevant one: no matter which is first.
    assert ranking_average_precision([0, 1, 1], [0.9, 0.5, 0.5]) == pytest.approx(
        (1 / 2 + 2 / 3) / 2
    )


@pytest.mark.parametrize("gains", [[], [0.0, 0.0], [-1.0, 0.0]])
def test_without_a_relevant_pair_there_is_no_value(gains):
    scores = [0.5] * len(gains)
    assert ndcg(gains, scores) is None
    assert ranking_average_precision([g > 0 for g in gains], scores) is None


@settings(max_examples=tries(60), deadline=None)
@given(pairs=PAIRS, k=st.none() | st.integers(1, 6))
def test_ties_are_the_mean_over_all_orders(pairs, k):
    gains, scores = columns(pairs)
    found: dict[str, list[float]] = {"ndcg": [], "ap": []}
    for order in itertools.permutations(range(len(pairs))):
        # Scores that differ by less than the next step break the ties in this order.
        broken = [scores[n] - 1e-6 * place for place, n in enumerate(order)]
        shuffled = [gains[n] for n in order]
        found["ndcg"].append(reference_ndcg(shuffled, broken, k))
        found["ap"].append(reference_ap([g > 0 for g in shuffled], broken))
    value, precision = (
        ndcg(gains, scores, k),
        ranking_average_precision([g > 0 for g in gains], scores),
    )
    if not any(g > 0 for g in gains):
        assert (value, precision) == (None, None)
        return
    assert value == pytest.approx(np.mean(found["ndcg"]), abs=1e-12)
    assert precision == pytest.approx(np.mean(found["ap"]), abs=1e-12)
    assert 0 <= value <= 1
    assert 0 <= precision <= 1


def reference_ndcg(gains: list[float], scores: list[float], k: int | None) -> float:
    """As the definition reads, for scores without ties."""
    ranked = [max(g, 0) for _, g in sorted(zip(scores, gains, strict=True), reverse=True)][:k]
    best = sorted((max(g, 0) for g in gains), reverse=True)[:k]
    dcg, ideal = (sum(g / math.log2(r + 1) for r, g in enumerate(x, 1)) for x in (ranked, best))
    return dcg / ideal if ideal else math.nan


def reference_ap(relevant: list[bool], scores: list[float]) -> float:
    ranked = [r for _, r in sorted(zip(scores, relevant, strict=True), reverse=True)]
    hits = [sum(ranked[:n]) / n for n, r in enumerate(ranked, 1) if r]
    return sum(hits) / len(hits) if hits else math.nan


@settings(max_examples=tries(30), deadline=None)
@given(
    pairs=st.lists(
        st.tuples(st.integers(0, 3), st.integers(-999, 999)), min_size=1, max_size=20,
        unique_by=lambda pair: pair[1],
    )
)  # fmt: skip
def test_without_ties_they_are_those_of_trec_eval(pairs):
    gains, scores = columns(pairs)
    qrels = {"q": {f"d{n}": int(g) for n, g in enumerate(gains)}}
    run = {"q": {f"d{n}": float(s) for n, s in enumerate(scores)}}
    expected = ir_measures.calc_aggregate([nDCG, nDCG @ 5, AP], qrels, run)
    if any(gains):
        assert ndcg(gains, scores) == pytest.approx(expected[nDCG], abs=1e-6)
        assert ndcg(gains, scores, 5) == pytest.approx(expected[nDCG @ 5], abs=1e-6)
        found = ranking_average_precision([g > 0 for g in gains], scores)
        assert found == pytest.approx(expected[AP], abs=1e-6)


# --- within a question, and over questions


def pair(n: int, group: str, label: str, probability: float | None, line: int = 0) -> Pair:
    gain = {"no": 0.0, "partially": 0.5, "yes": 1.0}[label]
    gold = Gold(gain > 0, gain, uncertain=label == "partially", group=group)
    value = None if probability is None else probability > 0.5
    unscored = "timeout" if probability is None else ""
    said = Verdict(f"{n:03}", group, "", value, probability, unscored, line=line or n)
    return Pair(said, gold)


def joined(*pairs: Pair) -> LabelledVerdicts:
    return LabelledVerdicts("relevance", "j", pairs)


EXAMPLE = joined(
    pair(1, "q1", "yes", 0.4),
    pair(2, "q1", "no", 0.9),
    pair(3, "q1", "partially", 0.7),
    pair(4, "q2", "yes", 0.8),
    pair(5, "q2", "no", 0.2),
    pair(6, "q3", "no", 0.6),
    pair(7, "q3", "no", None),
)


def test_each_question_has_its_ranking_and_one_without_relevant_pairs_has_none():
    found = measure_agreement(EXAMPLE, bootstrap=Bootstrap(0))
    first = (0.5 / math.log2(3) + 1 / 2) / (1 + 0.5 / math.log2(3))
    per = {q: {n: m.value for n, m in values.items()} for q, values in found.per_group.items()}
    assert per["q1"]["ndcg"] == pytest.approx(first)
    assert per["q1"]["map"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert (per["q2"]["ndcg"], per["q2"]["map"], per["q2"]["info"]) == (1, 1, 1)
    assert [per["q3"][name] for name in (*RANKING_MEASURES, "info")] == [None] * 6
    assert found.measures["ndcg"].value == pytest.approx((first + 1) / 2)
    assert found.measures["map"].value == pytest.approx((7 / 12 + 1) / 2)
    assert found.measures["info"].value == pytest.approx((first + 1 + 7 / 12 + 1) / 4)
    assert found.macro_groups["ndcg"] == 2
    assert {(found.measures[n].scored, found.measures[n].asked) for n in RANKING_MEASURES} == {
        (6, 7)
    }
    assert found.macro["map"].value == found.measures["map"].value
    names = (name for name, m in MEASURES.items() if "relevance" in m.inputs)
    assert list(found.measures) == [*names, *RANKING_MEASURES, *DERIVED_MEASURES]


def test_the_four_dimensions_are_the_measures_and_their_mean():
    found = measure_agreement(EXAMPLE, bootstrap=Bootstrap(200, 3))
    value = {name: m.value for name, m in found.measures.items()}
    assert value["calibration"] == pytest.approx(
        (value["auroc_correct"] + 1 - value["ece"] + 1 - value["brier"]) / 3
    )
    four = [
        value["uncertainty_average_precision"],
        value["f1"],
        value["calibration"],
        value["info"],
    ]
    assert [m.value for m in found.summary.values()] == pytest.approx([*four, sum(four) / 4])
    assert list(found.summary) == ["unc", "bin", "cal", "info", "avg"]
    assert found.measures["info"].low <= found.measures["info"].value <= found.measures["info"].high


def test_intervals_draw_whole_questions():
    """With two questions, of which one is perfect: nearly anything can be true of others."""
    found = measure_agreement(EXAMPLE, bootstrap=Bootstrap(400))
    values = [m["map"].value for m in found.per_group.values() if m["map"].value is not None]
    assert 0 < found.measures["map"].low < min(values) < 0.99 < found.measures["map"].high <= 1
    # All three draws the question without relevant pairs: 1 of 27.
    assert found.undefined_draws["map"] == pytest.approx(400 / 27, abs=12)


def test_the_order_of_answers_does_not_count():
    labels = ["yes", "no", "no", "partially"] * 8
    rows = [pair(n, "q", label, 0.9, line=n + 1) for n, label in enumerate(labels)]
    turned = [pair(n, "q", label, 0.9, line=99 - n) for n, label in enumerate(labels)]
    true = [measure_agreement(joined(*p), bootstrap=Bootstrap(0)).measures for p in (rows, turned)]
    assert true[0]["info"].value == true[1]["info"].value


def test_a_label_without_a_gain_gains_1_or_0():
    plain = Pair(Verdict("x", "q", value=True, probability=0.9), Gold(True, None))
    other = Pair(Verdict("y", "q", value=False, probability=0.1), Gold(False, None))
    graded = Pair(Verdict("z", "q", value=False, probability=0.5), Gold(True, 3.0))
    assert (
        measure_agreement(joined(plain, other), bootstrap=Bootstrap(0)).measures["ndcg"].value == 1
    )
    found = (
        measure_agreement(joined(plain, other, graded), bootstrap=Bootstrap(0))
        .measures["ndcg"]
        .value
    )
    assert found == pytest.approx(ndcg([1, 0, 3], [0.9, 0.1, 0.5]))


def test_the_names_are_public():
    assert pnyx.stats.ndcg is ndcg
    assert pnyx.stats.ranking_average_precision is ranking_average_precision


def test_the_plot_at_the_command_line(tmp_path, capsys):
    answers, labels = tmp_path / "a.jsonl", tmp_path / "l.jsonl"
    rows = list(EXAMPLE.pairs)
    answers.write_text("".join(json.dumps({
        "id": p.verdict.id, "task": "relevance", "judge": "j<&>\x1b", "question_id": p.group,
        "value": p.verdict.value, "probability": p.verdict.probability,
        "unscored": p.verdict.unscored or None}) + "\n" for p in rows))  # fmt: skip
    words = {0.0: "no", 0.5: "partially", 1.0: "yes"}
    labels.write_text("".join(json.dumps({
        "id": p.verdict.id, "value": words[p.gold.gain], "uncertain": p.gold.uncertain}) + "\n"
        for p in rows))  # fmt: skip
    plot = tmp_path / "r.svg"
    command = ["measure", str(answers), "--labels", str(labels)]
    with pytest.raises(SystemExit) as ended:
        main([*command, "--json", "--plot", str(plot)])
    assert ended.value.code == 3
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert found["per_group"]["q2"]["ndcg"]["value"] == 1
    assert sum(part["count"] for part in found["reliability"]) == 6
    assert set(found["summary"]) == {"unc", "bin", "cal", "info", "avg"}
    assert "j&lt;&amp;&gt;\\x1b" in plot.read_text()
    with pytest.raises(SystemExit):
        main([*command, "--draws", "0"])
    printed = capsys.readouterr()
    assert "1 of 3 groups have no relevant pair" in printed.err
    assert "mean of the four" in printed.out
    with pytest.raises(SystemExit) as ended:
        main([*command, "--plot", "r.pdf"])
    assert ended.value.code == 2
    assert "expected a name that ends in .svg" in capsys.readouterr().err
