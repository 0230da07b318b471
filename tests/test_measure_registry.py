"""Every registered measure: equal to its reference on any weights, in range, blind to order."""

from __future__ import annotations

import importlib
import math
import pkgutil
import random
from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

import pnyx.stats
from pnyx.judging import measures
from pnyx.judging.measures.registry import MEASURES, Measure
from pnyx.stats.correlation import weighted_pearson, weighted_r2
from pnyx.stats.weighted_measures import ClusterWeights, EachCluster, RunningSums, numbers
from raters_fixture import alpha_by_coincidences
from tries import tries

SCORES = st.sampled_from([0.0, 0.1, 0.25, 0.30000000000000004, 0.5, 0.5001, 0.9, 1.0])
GRADES = st.sampled_from([-2.0, 0.0, 0.5, 1.0, 2.0, 3.0])
FLAGS = st.sampled_from([0.0, 1.0])


def test_only_correlations_and_agreement_beyond_chance_may_be_negative() -> None:
    negative = {name for name, measure in MEASURES.items() if measure.low != 0}
    alphas = {"alpha_nominal", "alpha_ordinal", "alpha_interval"}
    assert negative == {"spearman", "kendall", "kappa", *alphas}
    assert {MEASURES[name].low for name in negative} == {-1}
    assert {measure.high for measure in MEASURES.values()} <= {1, math.inf}


def columns(measure: Measure) -> tuple[st.SearchStrategy[float], st.SearchStrategy[float]]:
    gold, score = next(iter(measure.inputs.values()))
    if gold == "rating":
        return GRADES, GRADES
    return GRADES if gold == "gain" else FLAGS, FLAGS if score == "value" else SCORES


def ece_reference(gold: np.ndarray, p: np.ndarray) -> float:
    """By the loop that the definition reads as."""
    total = 0.0
    for i in range(10):
        low, high = i * 1.0 / 10, (i + 1) * 1.0 / 10
        inside = (p <= high) & ((p > low) if i else (p >= 0))
        if inside.any():
            total += inside.mean() * abs(p[inside].mean() - gold[inside].mean())
    return total


def two_classes(function: Callable[..., float]) -> Callable[..., float | None]:
    return lambda y, s: function(y, s) if 0 < y.sum() < len(y) else None


def some_yes(function: Callable[..., float]) -> Callable[..., float | None]:
    return lambda y, s: function(y, s) if y.any() else None


def spearman_reference(x: np.ndarray, y: np.ndarray) -> float | None:
    if len(set(x)) < 2 or len(set(y)) < 2:
        return None
    return float(scipy.stats.spearmanr(x, y).statistic)


def kendall_reference(x: np.ndarray, y: np.ndarray) -> float | None:
    if len(set(x)) < 2 or len(set(y)) < 2:
        return None
    return float(scipy.stats.kendalltau(x, y).statistic)


def kappa_reference(x: np.ndarray, y: np.ndarray) -> float | None:
    if len({*x, *y}) < 2:
        return None
    codes = np.unique(np.concatenate([x, y]), return_inverse=True)[1]  # it takes no fractions
    return float(metrics.cohen_kappa_score(codes[: len(x)], codes[len(x) :]))


def alpha_reference(level: str) -> Callable[[np.ndarray, np.ndarray], float | None]:
    return lambda x, y: alpha_by_coincidences(np.stack([x, y]), level)


REFERENCES: dict[str, Callable[[np.ndarray, np.ndarray], float | None]] = {
    "f1": lambda y, v: metrics.f1_score(y, v) if (y + v).any() else None,
    "accuracy": metrics.accuracy_score,
    "average_precision": some_yes(metrics.average_precision_score),
    "auroc": two_classes(metrics.roc_auc_score),
    "auroc_correct": two_classes(metrics.roc_auc_score),
    "ece": ece_reference,
    "brier": lambda y, p: metrics.brier_score_loss(y, p, pos_label=1.0),
    "uncertainty_average_precision": some_yes(metrics.average_precision_score),
    "spearman": spearman_reference,
    "kendall": kendall_reference,
    "kappa": kappa_reference,
    "alpha_nominal": alpha_reference("nominal"),
    "alpha_ordinal": alpha_reference("ordinal"),
    "alpha_interval": alpha_reference("interval"),
    "mean_absolute_error": metrics.mean_absolute_error,
}
"""Name -> the same by somebody else; a new measure must have one."""


def test_every_measure_has_a_reference_and_says_what_it_is():
    assert set(REFERENCES) == set(MEASURES)
    for measure in MEASURES.values():
        assert measure.weighted.__doc__
        assert measure.low <= measure.best <= measure.high
        assert set(measure.inputs) <= {"support", "relevance", "quality"}


def test_every_weighted_measure_is_registered():
    found = {
        value
        for room in (pnyx.stats, measures)
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")
        for name, value in vars(importlib.import_module(module.name)).items()
        if name.startswith("weighted_")
    }
    # Of predictions on people's own scale, not of answers (lab/training/own_quality.py).
    found -= {weighted_pearson, weighted_r2}
    assert found == {measure.weighted for measure in MEASURES.values()}


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
@settings(max_examples=tries(50))
@given(data=st.data())
def test_a_measure_of_weighted_pairs_is_its_reference_on_the_repeated_pairs(name, data):
    """Which is what a draw of the bootstrap is; weights of 1 are the measure itself."""
    measure = MEASURES[name]
    gold_values, score_values = columns(measure)
    pairs = data.draw(st.lists(st.tuples(gold_values, score_values), min_size=1, max_size=25))
    gold, score = (np.array(side) for side in zip(*pairs, strict=True))
    weights = data.draw(
        st.lists(st.lists(st.integers(0, 3), min_size=len(pairs), max_size=len(pairs)), max_size=3)
    )
    weights = np.array([[1] * len(pairs), *weights])
    values = measure.weighted(gold, score, weights.astype(float))
    assert values.shape == (len(weights),)
    plain = measure.value(gold, score)
    assert plain == (None if np.isnan(values[0]) else pytest.approx(values[0], abs=1e-12))
    for value, row in zip(values, weights, strict=True):
        repeated = np.repeat(gold, row), np.repeat(score, row)
        expected = REFERENCES[name](*repeated) if row.any() else None
        if expected is None:
            assert math.isnan(value)
        else:
            assert value == pytest.approx(expected, abs=1e-9)
            assert measure.low <= value <= measure.high


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
@settings(max_examples=tries(40))
@given(data=st.data())
def test_a_measure_of_drawn_clusters_is_that_of_their_weights_written_out(name, data):
    measure = MEASURES[name]
    pairs = data.draw(st.lists(st.tuples(*columns(measure)), min_size=1, max_size=25))
    gold, score = (np.array(side) for side in zip(*pairs, strict=True))
    drawn = st.lists(st.integers(0, 3), min_size=4, max_size=4)
    times = np.array(data.draw(st.lists(drawn, min_size=1, max_size=3)), dtype=float)
    clusters = np.array([data.draw(st.integers(0, 3)) for _ in pairs])
    factored = measure.weighted(gold, score, ClusterWeights(times, clusters))
    written = measure.weighted(gold, score, times[:, clusters])
    assert factored == pytest.approx(written, abs=1e-12, nan_ok=True)
    each = measure.weighted(gold, score, EachCluster(clusters, 4))
    alone = [measure.value(gold[clusters == n], score[clusters == n]) for n in range(4)]
    assert each == pytest.approx(numbers(alone), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("draws", [1, 7, 8, 70])
def test_running_sums_are_those_of_all_weights_before(draws):
    rng = np.random.default_rng(draws)
    times, clusters = rng.integers(0, 4, (5, draws)).astype(float), rng.integers(0, 5, 5_000)
    sums = np.vstack([np.zeros(draws), np.cumsum(times[clusters], axis=0)])
    counts = np.sort(rng.integers(0, 5_001, 700))
    running = RunningSums(times, clusters)
    for some in np.split(counts, [1, 40, 650]):
        assert (running.first(some) == sums[some]).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
@given(data=st.data())
def test_the_order_of_pairs_does_not_matter(name, data):
    pairs = data.draw(st.lists(st.tuples(*columns(MEASURES[name])), min_size=1, max_size=25))
    shuffled = random.Random(1).sample(pairs, len(pairs))
    first, second = (MEASURES[name].value(*zip(*p, strict=True)) for p in (pairs, shuffled))
    assert (first is None) == (second is None)
    assert first is None or first == pytest.approx(second, abs=1e-12)


@pytest.mark.parametrize("name", MEASURES)
def test_a_perfect_judge_gets_the_best_value_and_nothing_gets_none(name):
    measure = MEASURES[name]
    best = [0.0, 1.0, 1.0, 0.0]
    assert measure.value(best, best) == measure.best
    assert measure.value([], []) is None


@pytest.mark.parametrize("name", ["auroc", "auroc_correct", "spearman"])
def test_one_class_or_a_constant_judge_is_none_or_chance_and_never_nan(name):
    measure = MEASURES[name]
    assert measure.value([1.0, 1.0], [0.2, 0.7]) is None
    constant = measure.value([0.0, 1.0, 1.0], [0.5, 0.5, 0.5])
    assert constant == (None if name == "spearman" else 0.5)
    assert MEASURES["f1"].value([0.0, 0.0], [0.0, 0.0]) is None
    assert MEASURES["average_precision"].value([0.0, 0.0], [0.1, 0.9]) is None


def test_bins_are_closed_on_the_right_and_weighted_by_mass():
    ece = MEASURES["ece"].value
    # .3 lies in (.2, .3] with .25; 1 - .7 is a hair above .3 and lies in (.3, .4].
    assert ece([1, 0], [0.25, 0.3]) == pytest.approx(abs(0.275 - 0.5))
    assert ece([1, 0], [0.25, 1 - 0.7]) == pytest.approx(0.5 * 0.75 + 0.5 * 0.3)
    assert ece([0, 1], [0.0, 0.1]) == pytest.approx(0.45)  # 0 lies in the first bin
    assert ece([1, 1, 1, 0], [1.0, 1.0, 1.0, 0.95]) == pytest.approx(abs(0.75 - 3.95 / 4))
