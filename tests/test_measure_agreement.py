"""Labels as gold, the join with answers, and the intervals of what comes out."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn import metrics

from pnyx.core.errors import InputError
from pnyx.judging.measures.agreement import measure_agreement
from pnyx.judging.measures.ground_truth import LabelledVerdicts, join_labels, read_labels
from pnyx.judging.measures.pairs import Gold, Pair
from pnyx.judging.measures.registry import MEASURES, RANKING_MEASURES
from pnyx.judging.verdicts import Verdict
from pnyx.stats.base import Bootstrap
from pnyx.stats.correlation import weighted_pearson, weighted_r2
from pnyx.stats.intervals import draw_weights, interval_of, percentile_interval
from tries import tries


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def answer(key: str, value: Any, probability: float | None = None, **fields: Any) -> dict[str, Any]:
    unscored = "timeout: 3 attempts" if value is None else None
    row = {"id": key, "task": "relevance", "value": value, "unscored": unscored, "judge": "j"}
    return {**row, "probability": probability, **fields}


# --- labels


def gold_of(tmp_path: Path, task: str, *rows: dict[str, Any]) -> tuple[dict[Any, Gold], set[Any]]:
    labels = read_labels(write(tmp_path / "labels.jsonl", *rows), task)
    return dict(labels.gold), set(labels.tied)


@pytest.mark.parametrize(
    ("value", "yes", "grade"),
    [
        (True, True, None),
        (False, False, None),
        ("Yes", True, None),
        (" no ", False, None),
        ("TRUE", True, None),
        ("false", False, None),
        ("partially", True, 0.5),
        (0, False, 0.0),
        (2, True, 2.0),
        (0.5, True, 0.5),
        (-2, False, -2.0),
    ],
)
def test_what_a_label_says(tmp_path, value, yes, grade):
    gold, _ = gold_of(tmp_path, "relevance", {"id": "1", "value": value})
    assert gold == {"1": Gold(yes, grade)}


def test_annotators_are_joined_by_majority_and_a_tie_is_no_label(tmp_path):
    rows = [
        {"id": i, "value": v, "annotator": n, "uncertain": u}
        for i, votes in {
            "a": [(True, True), (False, True), ("yes", False)],
            "b": [(True, False), (False, False)],
            "c": [(2, True), (0, False), (1, None), (0, None), (3, None)],
        }.items()
        for n, (v, u) in enumerate(votes)
    ]
    gold, tied = gold_of(tmp_path, "support", *rows)
    assert tied == {"b"}
    assert gold["a"] == Gold(True, pytest.approx(2 / 3), True)
    assert gold["c"] == Gold(True, pytest.approx(1.2), None)  # split on being unsure


def test_a_files_gains_count_alone_where_there_are_any(tmp_path):
    gold, _ = gold_of(
        tmp_path,
        "relevance",
        {"id": "1", "value": True, "gain": 3, "annotator": "a"},
        {"id": "1", "value": True, "gain": 2, "annotator": "b"},
        {"id": "2", "value": 7},
    )
    assert gold == {"1": Gold(True, 2.5), "2": Gold(True, None)}


def test_ratings_are_means_by_dimension(tmp_path):
    rows = [
        {"id": "1", "dimension": "cogency", "value": v, "annotator": f"a{v}"} for v in (1, 2, 2.5)
    ]
    gold, tied = gold_of(tmp_path, "quality", *rows, {"id": "1", "dimension": "tone", "value": 3})
    assert gold == {
        ("1", "cogency"): Gold(rating=pytest.approx(5.5 / 3)),
        ("1", "tone"): Gold(rating=3.0),
    }
    assert not tied


@pytest.mark.parametrize(
    ("task", "row", "message"),
    [
        ("support", {"id": "1", "value": "maybe"}, "'maybe', expected true, false, yes, no"),
        ("support", {"id": "1", "value": "1"}, "expected true, false, yes, no"),
        ("relevance", {"id": "1", "value": ["yes"]}, "expected true, false, yes, no"),
        ("relevance", {"id": "1", "value": True, "gain": 1e12}, "gain: found 1000000000000.0"),
        ("relevance", {"id": "1", "value": 10**400}, "expected a number of at most"),
        ("quality", {"id": "1", "value": True}, "value: found True, expected a number"),
        ("quality", {"id": "1", "value": "good"}, "value: found 'good', expected a number"),
        ("quality", {"id": "0", "value": 2}, "duplicate id and dimension and annotator '0"),
        ("support", {"id": "0", "value": 1, "annotator": "x", "group": "h"}, "found 'h' and 'g'"),
    ],
)  # fmt: skip
def test_a_bad_label_names_its_line(tmp_path, task, row, message):
    first = {"id": "0", "value": 1, "group": "g"}
    path = write(tmp_path / "labels.jsonl", first, row)
    with pytest.raises(InputError) as caught:
        read_labels(path, task)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert message in str(caught.value)


# --- the join


def test_the_join_counts_what_is_left_out(tmp_path):
    answers = write(
        tmp_path / "a.jsonl",
        answer("1", True, 0.9, group="g"),
        answer("2", None, group="g"),
        answer("3", False, 0.2),
        answer("tied", True, 0.7),
        answer("unlabelled", None),
    )
    labels = write(
        tmp_path / "l.jsonl",
        {"id": "1", "value": True},
        {"id": "2", "value": False, "group": "h"},
        {"id": "3", "value": "partially"},
        {"id": "tied", "value": True, "annotator": "x"},
        {"id": "tied", "value": False, "annotator": "y"},
        {"id": "unasked", "value": True},
    )
    joined = join_labels(answers, labels, "relevance")
    assert (joined.judge, joined.tied) == ("j", 1)
    assert (joined.answers_without_label, joined.labels_without_answer) == (1, 1)
    said = [(p.verdict.id, p.group, p.verdict.value, p.verdict.probability) for p in joined.pairs]
    assert said == [
        ("1", "g", 1.0, 0.9),
        ("2", "h", None, None),
        ("3", "", 0.0, 0.2),
    ]
    found = measure_agreement(joined)
    assert found.counts["reasons"] == {"timeout": 1}
    counts = {name: (m.scored, m.asked) for name, m in found.measures.items()}
    ranked = {*RANKING_MEASURES, "info"}  # need a group, which one pair lacks
    assert {counts.pop(name) for name in ranked} == {(1, 2)}
    assert set(counts.values()) == {(2, 3)}
    assert found.measures["accuracy"].value == 0.5
    assert found.measures["brier"].value == pytest.approx((0.1**2 + 0.8**2) / 2)
    assert set(found.per_group) == {"g", "h"}
    assert found.per_group["h"]["f1"].row() == {
        "value": None, "low": None, "high": None, "scored": 0, "asked": 1,
    }  # fmt: skip


def test_an_answer_without_probability_has_a_value_and_no_more():
    pairs = (
        Pair(Verdict("1", value=True), Gold(True)),
        Pair(Verdict("2", value=True, probability=0.8), Gold(False)),
        Pair(Verdict("3", unscored="refusal: no"), Gold(True)),
    )
    agreement = measure_agreement(LabelledVerdicts("support", "j", pairs))
    assert agreement.counts["without_probability"] == 1
    assert (agreement.measures["accuracy"].scored, agreement.measures["brier"].scored) == (2, 1)
    assert agreement.measures["brier"].value == pytest.approx(0.64)
    assert "spearman" not in agreement.measures
    assert "uncertainty_average_precision" not in agreement.measures


# --- measuring

pairs_strategy = st.lists(
    st.tuples(
        st.booleans(),
        st.none() | st.tuples(st.booleans(), st.none() | st.sampled_from([0.0, 0.3, 0.5, 1.0])),
        st.sampled_from(["", "g", "h", "k"]),
        st.none() | st.sampled_from([0.0, 0.5, 2.0]),
        st.none() | st.booleans(),
    ),
    min_size=1,
    max_size=14,
)


def joined_of(rows: list[Any], task: str = "relevance") -> LabelledVerdicts:
    pairs = []
    for n, (label, given_answer, group, gain, unsure) in enumerate(rows):
        value, probability = (None, None) if given_answer is None else given_answer
        gold = (
            Gold(rating=gain if gain is not None else float(label), group=group)
            if task == "quality"
            else Gold(label, gain, unsure, group=group)
        )
        key = (f"{n // 2:03}", "cogency tone".split()[n % 2]) if task == "quality" else (str(n), "")
        said = Verdict(
            key[0], "", "", value, probability, "" if given_answer else "empty", dimension=key[1]
        )
        pairs.append(Pair(said, gold))
    return LabelledVerdicts(task, "j", tuple(pairs))


@pytest.mark.parametrize("task", ["support", "relevance", "quality"])
@settings(max_examples=tries(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=pairs_strategy)
def test_numbers_are_finite_and_counted_and_unscored_never_moves_them(task, rows):
    joined = joined_of(rows, task)
    found = measure_agreement(joined, bootstrap=Bootstrap(40))
    text = json.dumps(found.row(), allow_nan=False)
    assert text == json.dumps(measure_agreement(joined, bootstrap=Bootstrap(40)).row())
    parts = [found.measures, found.macro, found.dimension_mean]
    for part in (*parts, *found.per_group.values(), *found.per_dimension.values()):
        for m in part.values():
            assert 0 <= m.scored <= m.asked <= len(joined.pairs)
            assert m.value is None or m.scored > 0
            assert (m.low is None) == (m.high is None)
            assert m.low is None or m.low <= m.high
            assert m.low is None or m.value is not None
    scored = [row for row in rows if row[1] is not None]
    if scored and task != "quality":
        alone = measure_agreement(joined_of(scored, task), bootstrap=Bootstrap(0))
        for name, m in alone.measures.items():
            assert found.measures[name].value == pytest.approx(m.value, abs=1e-12)


def test_macro_is_the_mean_over_groups_with_a_value_and_draws_whole_groups():
    rows = [
        *((True, (True, 0.9), "a", None, None) for _ in range(6)),
        *((True, (False, 0.4), "b", None, None) for _ in range(2)),
        *((False, None, "c", None, None) for _ in range(3)),
    ]
    found = measure_agreement(joined_of(rows, "support"), bootstrap=Bootstrap(2000))
    assert found.measures["accuracy"].value == 6 / 8
    assert found.macro["accuracy"].value == 0.5
    assert (found.macro_groups["accuracy"], found.macro["accuracy"].scored) == (2, 8)
    assert (found.clusters, found.clustered_by) == (3, "group")
    # Two groups, one all right and one all wrong, say next to nothing.
    assert found.macro["accuracy"].low < 0.01 < 0.99 < found.macro["accuracy"].high
    # A draw has no value when all three groups drawn are c: 1 of 27.
    assert found.undefined_draws["accuracy"] == pytest.approx(2000 / 27, abs=30)
    # One class only: AUROC has no value and so no interval.
    assert found.measures["auroc"].row() == {
        "value": None, "low": None, "high": None, "scored": 8, "asked": 11,
    }  # fmt: skip


def test_the_mean_over_dimensions_is_not_fooled_by_easy_dimensions():
    """Two dimensions, each in the wrong order; pooled, the higher dimension hides that."""
    pairs = tuple(
        Pair(
            Verdict(f"{i}", value=float(base + 3 - i), dimension=name), Gold(rating=float(base + i))
        )
        for name, base in (("cogency", 0), ("tone", 100))
        for i in range(4)
    )
    agreement = measure_agreement(LabelledVerdicts("quality", "j", pairs), bootstrap=Bootstrap(200))
    assert agreement.per_dimension["tone"]["spearman"].value == -1
    assert agreement.dimension_mean["spearman"].value == -1
    assert agreement.measures["spearman"].value > 0.4
    assert agreement.clusters == 4  # an item is a cluster with all its dimensions
    assert agreement.measures["mean_absolute_error"].value == 2
    of_ratings = {name for name, one in MEASURES.items() if "quality" in one.inputs}
    assert set(agreement.measures) == of_ratings


# --- intervals


@pytest.mark.all
def test_the_vectorised_bootstrap_is_the_plain_one_on_the_same_draws():
    draw = random.Random(5)
    rows = [
        (draw.random() < 0.4, (draw.random() < 0.5, draw.choice([0.1, 0.4, 0.6, 0.95])),
         draw.choice("abcdefgh"), None, None)
        for _ in range(80)
    ]  # fmt: skip
    joined = joined_of(rows)
    found = measure_agreement(joined, bootstrap=Bootstrap(300, 4))
    names = sorted({p.group for p in joined.pairs})
    clusters = np.array([names.index(p.group) for p in joined.pairs])
    (weights,) = draw_weights(clusters, Bootstrap(300, 4))
    assert (weights.astype(int) == weights).all()
    yes = np.array([p.gold.yes for p in joined.pairs])
    probability = np.array([p.verdict.probability for p in joined.pairs])
    areas = []
    for row in weights.astype(int):
        assert len({tuple(row[clusters == c]) for c in range(len(names))} - {()}) <= len(names)
        again = np.repeat(np.arange(80), row)
        areas.append(metrics.roc_auc_score(yes[again], probability[again]))
    m = found.measures["auroc"]
    low, high, _ = interval_of(m.value, np.array(areas), len(names), bounds=(0, 1))
    assert (m.low, m.high) == (pytest.approx(low), pytest.approx(high))


def test_each_draw_takes_as_many_clusters_as_there_are():
    clusters = np.repeat(np.arange(7), [1, 5, 2, 2, 9, 1, 3])
    blocks = list(draw_weights(clusters, Bootstrap(50, 1)))
    weights = np.concatenate(blocks)
    assert weights.shape == (50, len(clusters))
    firsts = np.unique(clusters, return_index=True)[1]
    assert (weights[:, firsts].sum(axis=1) == 7).all()
    assert (weights == weights[:, firsts][:, clusters]).all()
    assert (np.concatenate(list(draw_weights(clusters, Bootstrap(50, 1)))) == weights).all()
    assert (np.concatenate(list(draw_weights(clusters, Bootstrap(50, 2)))) != weights).any()


def test_an_interval_of_items_has_the_width_of_theory():
    rows = [(True, (i < 280, 0.5), "", None, None) for i in range(400)]
    m = measure_agreement(joined_of(rows, "support"), bootstrap=Bootstrap(4000)).measures[
        "accuracy"
    ]
    half = 1.96 * math.sqrt(0.7 * 0.3 / 400)
    assert m.low == pytest.approx(0.7 - half, abs=0.005)
    assert m.high == pytest.approx(0.7 + half, abs=0.005)


def test_clusters_that_repeat_one_answer_widen_the_interval():
    """Ten groups of forty equal answers say as much as ten answers."""
    grouped = [(True, (g < 7, 0.5), f"g{g}", None, None) for g in range(10) for _ in range(40)]
    m = measure_agreement(joined_of(grouped, "support")).measures["accuracy"]
    assert m.value == 0.7
    assert m.high - m.low > 0.45


def test_no_interval_from_one_cluster_or_from_few_defined_draws():
    one = [(i % 2 == 0, (True, i / 10), "g", None, None) for i in range(10)]
    found = measure_agreement(joined_of(one, "support"))
    assert found.measures["auroc"].value is not None
    assert {m.low for m in found.measures.values()} == {None}
    assert percentile_interval(np.array([1.0, np.nan, np.nan])) == (None, None)
    assert percentile_interval(np.array([1.0, 1.0, np.nan, np.nan])) == (1, 1)
    assert percentile_interval(np.empty(0)) == (None, None)
    assert list(draw_weights(np.array([0, 1]), Bootstrap(0, 0))) == []


@settings(max_examples=tries(60), deadline=None)
@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=2, max_size=30))
def test_pearson_and_r2_are_scikit_learns(pairs):
    gold, score = (np.array(side, dtype=np.float64) / 7 for side in zip(*pairs, strict=True))
    ones = np.ones((1, len(gold)))
    r, r2 = (measure(gold, score, ones)[0] for measure in (weighted_pearson, weighted_r2))
    if np.ptp(gold) == 0 or np.ptp(score) == 0:
        assert np.isnan(r)
    else:
        assert r == pytest.approx(np.corrcoef(gold, score)[0, 1], abs=1e-9)
    if np.ptp(gold) == 0:
        assert np.isnan(r2)
    else:
        assert r2 == pytest.approx(metrics.r2_score(gold, score), rel=1e-9, abs=1e-9)
    # A weight of two is the pair twice.
    weights = np.arange(1, len(gold) + 1, dtype=np.float64)
    twice = [np.repeat(side, weights.astype(int)) for side in (gold, score)]
    for measure in (weighted_pearson, weighted_r2):
        once = measure(gold, score, weights[None])[0]
        assert once == pytest.approx(measure(*twice, np.ones((1, len(twice[0]))))[0], nan_ok=True)
