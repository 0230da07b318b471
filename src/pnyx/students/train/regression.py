"""Logistic regression with an intercept for each training question, of which the mean is kept.

How many of a question's documents are relevant depends on sampling, and says nothing of others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pnyx.errors import PnyxError
from pnyx.judge.curves import folds_of
from pnyx.measure.binary import weighted_auroc
from pnyx.measure.weighted import measured_once
from pnyx.students.linear import Floats
from pnyx.students.train.base import Example

__all__ = ["STRENGTHS", "Regression", "fit_examples", "fit_regression", "fit_regressions"]

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Inverse strengths of the penalty to choose from."""

_OWN = 10.0
"""An intercept is penalised as a weight a tenth its size: hardly, yet all labels may be alike."""
_FOLDS = 5
_STEPS = 200
_HALVINGS = 40
_ENOUGH = 1e-10
"""Newton's decrement for each pair below which the fit is done."""


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
    with _one_thread():
        for strength in strengths:
            scores = np.empty(len(targets))
            for fold in np.unique(folds):
                rest = folds != fold
                fitted = fit_regression(x[rest], targets[rest], names[rest].tolist(), strength)
                scores[~rest] = x[~rest] @ fitted.weights
            found.append(_mean_auroc(targets, scores, names))
        return fit_regression(x, targets, groups, strengths[int(np.argmax(found))])


def fit_examples(
    x: Floats, examples: Sequence[Example], scale: Floats, strengths: Sequence[float]
) -> tuple[Floats, float]:
    """Fit with each feature penalised as if scaled; return weights with intercept, and strength."""
    targets = np.array([example.target for example in examples])
    groups = [example.group for example in examples]
    found = fit_regressions(x * scale, targets, groups, strengths)
    return np.append(found.weights * scale, found.intercept), found.strength


def _one_thread() -> AbstractContextManager[Any]:
    """Keep the many small products on one core (needs threadpoolctl): several only wait."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return contextlib.nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits


def _mean_auroc(targets: Floats, scores: Floats, names: npt.NDArray[np.str_]) -> float:
    order = np.argsort(names, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], names[order][1:] != names[order][:-1]]))
    truth = (targets >= 0.5).astype(np.float64)
    aurocs = [
        measured_once(weighted_auroc, truth[own], scores[own])
        for own in np.split(order, starts[1:])
    ]
    defined = [value for value in aurocs if value is not None]
    return float(np.mean(defined)) if defined else 0.0


def fit_regression(
    x: Floats, targets: Floats, groups: Sequence[str], strength: float
) -> Regression:
    """Fit weights, the questions' own intercepts and the common one by Newton's method."""
    if not np.isfinite(x).all():
        raise PnyxError("a feature is no finite number: nothing can be fitted to it")
    _, own = np.unique(np.array(groups), return_inverse=True)
    problem = _Problem(x, targets, own, strength)
    place = np.zeros(problem.size)
    with np.errstate(over="ignore", under="ignore"):
        loss = problem.loss(place)
        for _ in range(_STEPS):
            step, decrement = problem.step(place)
            if decrement < _ENOUGH * len(x):
                return problem.regression(place - step)
            scale = 1.0
            for _ in range(_HALVINGS):
                nearer = problem.loss(place - scale * step)
                if nearer <= loss - 0.25 * scale * decrement:
                    break
                scale /= 2
            place, loss = place - scale * step, nearer
    raise PnyxError(f"the regression did not end within {_STEPS} steps")


class _Problem:
    """Places are weights, the common intercept and the own intercepts, in one vector."""

    def __init__(
        self, x: Floats, targets: Floats, own: npt.NDArray[np.intp], strength: float
    ) -> None:
        order = np.argsort(own, kind="stable")
        self._own, self._targets, self._strength = own[order], targets[order], strength
        self._x = np.concatenate([x, np.ones((len(x), 1))], axis=1)[order]
        self._starts = np.flatnonzero(np.diff(self._own, prepend=-1))
        penalty = np.full(self._x.shape[1], 1 / strength)
        penalty[-1] /= _OWN**2
        self._shared = len(penalty)
        own_penalty = np.full(len(self._starts), 1 / (strength * _OWN**2))
        self._penalty = np.concatenate([penalty, own_penalty])
        self.size = len(self._penalty)

    def _logits(self, place: Floats) -> Floats:
        z: Floats = self._x @ place[: self._shared] + place[self._shared :][self._own]
        return z

    def loss(self, place: Floats) -> float:
        z = self._logits(place)
        fit = np.logaddexp(0.0, z) - self._targets * z
        return float(fit.sum() + 0.5 * (self._penalty * place**2).sum())

    def step(self, place: Floats) -> tuple[Floats, float]:
        """Return Newton's step, to be taken away, and its decrement."""
        p = np.exp(-np.logaddexp(0.0, -self._logits(place)))
        off, curved = p - self._targets, p * (1 - p)
        slope = np.concatenate([self._x.T @ off, np.add.reduceat(off, self._starts)])
        slope += self._penalty * place
        first, last = slope[: self._shared], slope[self._shared :]
        weighted = self._x * curved[:, None]
        shared = self._x.T @ weighted + np.diag(self._penalty[: self._shared])
        across = np.add.reduceat(weighted, self._starts, axis=0)
        diagonal = np.add.reduceat(curved, self._starts) + self._penalty[self._shared :]
        reduced = shared - across.T @ (across / diagonal[:, None])
        step = np.linalg.solve(reduced, first - across.T @ (last / diagonal))
        step = np.concatenate([step, (last - across @ step) / diagonal])
        return step, float(slope @ step)

    def regression(self, place: Floats) -> Regression:
        shares = np.bincount(self._own) / len(self._own)
        intercept = place[self._shared - 1] + shares @ place[self._shared :]
        return Regression(place[: self._shared - 1], float(intercept), self._strength)
