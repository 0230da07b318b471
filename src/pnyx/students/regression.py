"""Logistic regressions with an intercept for each training question.

How many of a question's documents are relevant depends on sampling, and says nothing of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pnyx.errors import PnyxError
from pnyx.judge.calibration.curves import folds_of
from pnyx.measure.answers.binary import weighted_auroc
from pnyx.measure.core.weighted import measured_once

Floats = npt.NDArray[np.float64]

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Inverse strengths of the penalty to choose from."""

_OWN = 10.0
"""An intercept is penalised as a weight a tenth its size: hardly, yet all labels may be alike."""
_FOLDS = 5
_STEPS = 200


@dataclass(frozen=True, slots=True)
class Regression:
    """P(yes) = logistic(x @ weights + intercept), the mean intercept of the training questions."""

    weights: Floats
    intercept: float
    strength: float


def fit_regressions(
    x: Floats, targets: Floats, groups: Sequence[str], strengths: Sequence[float] = STRENGTHS
) -> Regression:
    """Fit to targets in [0, 1] with the strength that orders left-out questions best (AUROC)."""
    folds, names = np.array(folds_of(groups, _FOLDS)), np.array(groups)
    if len(np.unique(folds)) < 2:
        return fit_regression(x, targets, groups, strengths[len(strengths) // 2])
    found = []
    for strength in strengths:
        scores = np.empty(len(targets))
        for fold in np.unique(folds):
            rest = folds != fold
            fitted = fit_regression(x[rest], targets[rest], names[rest].tolist(), strength)
            scores[~rest] = x[~rest] @ fitted.weights
        found.append(_mean_auroc(targets, scores, names))
    return fit_regression(x, targets, groups, strengths[int(np.argmax(found))])


def _mean_auroc(targets: Floats, scores: Floats, names: npt.NDArray[np.str_]) -> float:
    truth = (targets >= 0.5).astype(np.float64)
    aurocs = [
        measured_once(weighted_auroc, truth[names == name], scores[names == name])
        for name in np.unique(names)
    ]
    defined = [value for value in aurocs if value is not None]
    return float(np.mean(defined)) if defined else 0.0


def fit_regression(
    x: Floats, targets: Floats, groups: Sequence[str], strength: float
) -> Regression:
    """Fit weights, the questions' own intercepts and the common one.

    It minimises the summed log loss plus the squared weights, and the intercepts a hundredth as
    much, over twice the strength.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    if not np.isfinite(x).all():
        raise PnyxError("a feature is no finite number: nothing can be fitted to it")
    _, own = np.unique(np.array(groups), return_inverse=True)
    shared, count = x.shape[1], int(own.max()) + 1

    # A place is the weights, the common intercept and the own ones, these divided by `_OWN`.
    def logits(place: Floats) -> Floats:
        common, each = place[shared], place[shared + 1 :]
        z: Floats = x @ place[:shared] + _OWN * (common + each[own])
        return z

    def slopes(off: Floats, place: Floats) -> Floats:
        parts = [x.T @ off, np.array([_OWN * off.sum()]), _OWN * np.bincount(own, off, count)]
        return np.concatenate(parts) + place / strength

    def loss(place: Floats) -> tuple[float, Floats]:
        z = logits(place)
        fit = (np.logaddexp(0.0, z) - targets * z).sum() + 0.5 * (place @ place) / strength
        return float(fit), slopes(expit(z) - targets, place)

    def bent(place: Floats, step: Floats) -> Floats:
        p = expit(logits(place))
        return slopes(p * (1 - p) * logits(step), step)

    start, options = np.zeros(shared + 1 + count), {"maxiter": _STEPS, "xtol": 1e-6}
    found = minimize(loss, start, jac=True, hessp=bent, method="Newton-CG", options=options)
    if not np.isfinite(found.x).all() or found.nit >= _STEPS:
        raise PnyxError(f"the regression did not end within {_STEPS} steps")
    intercept = _OWN * (found.x[shared] + found.x[shared + 1 :][own].mean())
    return Regression(found.x[:shared], float(intercept), strength)
