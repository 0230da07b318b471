"""The regression that students are fitted by: what it minimises, and that it finds the minimum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.core.errors import PnyxError
from pnyx.judging.students.regression import fit_regression, fit_regressions
from tries import tries


def drawn(seed: int, n: int, features: int, groups: int):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, features))
    own = rng.integers(0, groups, n)
    z = x @ rng.normal(size=features) + 2 * rng.normal(size=groups)[own]
    p = 1 / (1 + np.exp(-z))
    targets = np.where(rng.random(n) < 0.5, p, (rng.random(n) < p).astype(float))
    return x, targets, [f"question {k}" for k in own]


@settings(max_examples=tries(20), deadline=None)
@given(
    st.integers(0, 9999),
    st.integers(2, 60),
    st.integers(1, 8),
    st.integers(1, 6),
    st.sampled_from([0.03, 1.0, 10.0]),
)
def test_it_is_scikit_learns_with_a_column_for_each_question(seed, n, features, groups, strength):
    linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    x, targets, names = drawn(seed, n, features, groups)
    columns = 10.0 * np.array([[True, *(name == g for g in sorted(set(names)))] for name in names])
    design = np.concatenate([x, columns], axis=1)
    model = linear.LogisticRegression(C=strength, max_iter=9000, tol=1e-9, fit_intercept=False).fit(
        np.concatenate([design, design]),
        np.repeat([1, 0], len(x)),
        sample_weight=np.concatenate([targets, 1 - targets]),
    )
    found = fit_regression(x, targets, names, strength)
    assert found.weights == pytest.approx(model.coef_[0][:features], rel=1e-3, abs=1e-3)
    mean = (columns @ model.coef_[0][features:]).mean()
    assert found.intercept == pytest.approx(mean, rel=1e-3, abs=1e-2)


def test_how_often_a_question_is_answered_yes_does_not_become_a_weight():
    """A feature that only tells questions apart is worth nothing for another one."""
    rng = np.random.default_rng(1)
    own = np.repeat(np.arange(10), 30)
    tells, says = (own >= 5).astype(float), rng.normal(size=300)
    x = np.stack([tells, says], axis=1)
    p = 1 / (1 + np.exp(-(6 * tells - 3 + 2 * says)))
    found = fit_regression(x, (rng.random(300) < p).astype(float), [str(g) for g in own], 1.0)
    assert abs(found.weights[0]) < 0.3
    assert found.weights[1] > 1


def test_labels_that_a_feature_parts_entirely_and_extreme_targets_end_in_finite_weights():
    x = np.linspace(-500, 500, 40)[:, None]
    found = fit_regression(x, (x[:, 0] > 0).astype(float), ["a", "b"] * 20, 1e6)
    assert np.isfinite(found.weights).all()
    assert found.weights[0] > 0
    alike = fit_regressions(x, np.ones(40), ["one"] * 40)
    assert np.isfinite([*alike.weights, alike.intercept]).all()


def test_a_feature_that_is_no_number_is_an_error():
    with pytest.raises(PnyxError, match="not a finite number"):
        fit_regression(np.array([[np.nan], [1.0]]), np.array([0.0, 1.0]), ["a", "b"], 1.0)
