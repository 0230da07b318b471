"""Logistic regressions with an intercept for each training question.

The number of relevant documents of a question depends on sampling, and does not generalise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from pnyx.core.errors import PnyxError
from pnyx.judging.calibration.curves import folds_of
from pnyx.judging.measures.binary import weighted_auroc
from pnyx.stats.weighted_measures import measured_once

Floats = npt.NDArray[np.float64]

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Inverse penalties to choose from."""

_OWN = 10.0
"""An intercept has the penalty of a weight a tenth its size: small, but finite for equal labels."""
_FOLDS = 5
_STEPS, _CLOSE = 200, 1e-6  # Of the fit; it ends when weights change by less on average


@dataclass(frozen=True, slots=True)
class Regression:
    """P(yes) = logistic(x @ weights + intercept), the mean intercept of the training questions."""

    weights: Floats
    intercept: float
    strength: float


def fit_regressions(
    x: Floats, targets: Floats, groups: Sequence[str], strengths: Sequence[float] = STRENGTHS
) -> Regression:
    """Fit to targets in [0, 1] with the penalty that best ranks left-out questions (AUROC)."""
    folds, names = np.array(folds_of(groups, _FOLDS)), np.array(groups)
    if len(np.unique(folds)) < 2:
        return fit_regression(x, targets, groups, strengths[len(strengths) // 2])
    aurocs = []
    for strength in strengths:
        scores = np.empty(len(targets))
        for fold in np.unique(folds):
            rest = folds != fold
            fitted = fit_regression(x[rest], targets[rest], names[rest].tolist(), strength)
            scores[~rest] = x[~rest] @ fitted.weights
        aurocs.append(_mean_auroc(targets, scores, names))
    return fit_regression(x, targets, groups, strengths[int(np.argmax(aurocs))])


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
    """Fit weights, an intercept for each question and a common one.

    It minimises the summed log loss plus the squared weights, and a hundredth of the squared
    intercepts, divided by twice the strength.
    """
    if not np.isfinite(x).all():
        raise PnyxError("a feature is not a finite number: no regression can be fitted")
    _, owner = np.unique(np.array(groups), return_inverse=True)
    shared, count = x.shape[1], int(owner.max()) + 1

    # A point is the weights, the common intercept and the others, divided by `_OWN`.
    def logits(point: Floats) -> Floats:
        common, each = point[shared], point[shared + 1 :]
        z: Floats = x @ point[:shared] + _OWN * (common + each[owner])
        return z

    def slopes(off: Floats, point: Floats) -> Floats:
        parts = [x.T @ off, np.array([_OWN * off.sum()]), _OWN * np.bincount(owner, off, count)]
        return np.concatenate(parts) + point / strength

    def loss(point: Floats) -> tuple[float, Floats]:
        z = logits(point)
        fit = (np.logaddexp(0.0, z) - targets * z).sum() + 0.5 * (point @ point) / strength
        return float(fit), slopes(_chance(z) - targets, point)

    def bent(point: Floats, step: Floats) -> Floats:
        p = _chance(logits(point))
        return slopes(p * (1 - p) * logits(step), step)

    solution = _least(loss, bent, np.zeros(shared + 1 + count))
    intercept = _OWN * (solution[shared] + solution[shared + 1 :][owner].mean())
    return Regression(solution[:shared], float(intercept), strength)


def _chance(z: Floats) -> Floats:
    """Return the logistic function without overflow."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * z))


def _least(
    loss: Callable[[Floats], tuple[float, Floats]],
    bent: Callable[[Floats, Floats], Floats],
    point: Floats,
) -> Floats:
    """Return the minimum of a convex loss, by Newton's method with conjugate gradients.

    Nocedal and Wright, Numerical Optimization (2006), algorithm 7.1. `loss` also returns the
    gradient; `bent` returns the product of the Hessian at a point with a step.
    """
    value, slope = loss(point)
    for _ in range(_STEPS):
        step = _newton_step(partial(bent, point), slope)
        rate, gain = 1.0, float(slope @ step)
        while (further := loss(point + rate * step))[0] > value + 1e-4 * rate * gain:
            rate /= 2
            if rate < 1e-12:  # the minimum up to rounding errors
                return point
        point = point + rate * step
        value, slope = further
        if not np.isfinite(value):
            break
        if rate * np.abs(step).mean() <= _CLOSE:
            return point
    raise PnyxError(f"the regression did not converge within {_STEPS} steps")


def _newton_step(bent: Callable[[Floats], Floats], slope: Floats) -> Floats:
    """Return the Newton step, as precisely as is useful at this distance from the minimum."""
    step, rest = np.zeros(len(slope)), -slope
    towards, size = rest, float(rest @ rest)
    enough = size * min(0.5, size**0.25) ** 2
    for _ in range(20 * len(slope)):
        if size <= enough:
            break
        curve = bent(towards)
        rate = size / float(towards @ curve)
        step, rest = step + rate * towards, rest - rate * curve
        before, size = size, float(rest @ rest)
        towards = rest + size / before * towards
    return step
