"""Monotone curves that map a judge's probability of yes to a calibrated one.

docs/explain/decisions/recalibration.md explains the choice of these three.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from pnyx.core.errors import InputError
from pnyx.formats.fields import an_object, number, unlike

CurveName: TypeAlias = Literal["isotonic", "platt", "temperature"]

Floats: TypeAlias = npt.NDArray[np.float64]

TEMPERATURES = (0.01, 100.0)
"""Needed because the best temperature would be 0 if probabilities separate the labels perfectly."""

_CLIP = 5e-7
"""Half of the sixth decimal: a stated 0 or 1 has finite log-odds, beyond those of 0.999999."""
_PLACES = 12
"""Coarser than differences of `exp` between processors, so that answers are reproducible."""


STRICT: Mapping[str, Any] = {"strict": True, "allow_inf_nan": False}
"""pydantic settings for dataclasses of calibration files: nothing is converted."""


@dataclass(frozen=True, slots=True)
class Isotonic:
    """A monotone polyline through (x, y), constant before the first and after the last knot."""

    x: tuple[float, ...]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        if not 0 < len(self.x) == len(self.y):
            raise ValueError(f"found {len(self.x)} x and {len(self.y)} y, expected the same number")
        if wrong := [value for value in (*self.x, *self.y) if not 0 <= value <= 1]:
            raise ValueError(f"found {wrong[0]:g}, expected 0 to 1")
        if any(a >= b for a, b in itertools.pairwise(self.x)):
            raise ValueError("x is not strictly increasing")
        if any(a > b for a, b in itertools.pairwise(self.y)):
            raise ValueError("y decreases: the curve must be monotone")

    def __call__(self, probabilities: Sequence[float] | Floats) -> Floats:
        """Map probabilities of yes, shape (n,), in [0, 1]."""
        return np.asarray(np.interp(probabilities, self.x, self.y), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Platt:
    """P(yes) = logistic(slope x log-odds + intercept), with a slope of at least 0."""

    slope: float
    intercept: float

    def __post_init__(self) -> None:
        if self.slope < 0:
            raise ValueError(f"found a slope of {self.slope:g}, expected at least 0")

    def __call__(self, probabilities: Sequence[float] | Floats) -> Floats:
        """Map probabilities of yes, shape (n,), in [0, 1]."""
        return logistic(self.slope * log_odds(probabilities) + self.intercept)


@dataclass(frozen=True, slots=True)
class Temperature:
    """P(yes) = logistic(log-odds / temperature); 1/2 stays 1/2. Within `TEMPERATURES`."""

    temperature: float

    def __post_init__(self) -> None:
        low, high = TEMPERATURES
        if not low <= self.temperature <= high:
            raise ValueError(f"found {self.temperature:g}, expected {low:g} to {high:g}")

    def __call__(self, probabilities: Sequence[float] | Floats) -> Floats:
        """Map probabilities of yes, shape (n,), in [0, 1]."""
        return logistic(log_odds(probabilities) / self.temperature)


Curve: TypeAlias = Isotonic | Platt | Temperature


def fit(name: CurveName, probabilities: Sequence[float], labels: Sequence[bool]) -> Curve:
    """Fit a curve to probabilities of yes in [0, 1], at least one, each with its label."""
    p = np.asarray(probabilities, dtype=np.float64)
    y = np.asarray(labels, dtype=np.float64)
    if p.shape != y.shape or p.ndim != 1 or p.size == 0:
        raise ValueError(f"found {p.size} probabilities and {y.size} labels, expected as many")
    if not ((p >= 0) & (p <= 1)).all():  # also refuses NaN
        raise ValueError("a probability is not between 0 and 1")
    return FITS[name](p, y)


def _fit_isotonic(p: Floats, y: Floats) -> Isotonic:
    """Pool adjacent violators (Ayer et al. 1955); equal probabilities count as one point."""
    x, places, counts = np.unique(p, return_inverse=True, return_counts=True)
    means = np.bincount(places, weights=y) / counts
    blocks: list[tuple[float, int, int]] = []  # mean, answers, distinct probabilities
    for mean, count in zip(means.tolist(), counts.tolist(), strict=True):
        width = 1
        while blocks and blocks[-1][0] >= mean:
            before, answers, distinct = blocks.pop()
            mean = (before * answers + mean * count) / (answers + count)
            count, width = answers + count, width + distinct
        blocks.append((mean, count, width))
    knots: dict[float, float] = {}
    first = 0
    for mean, _, width in blocks:  # both ends of each constant stretch
        share = min(1.0, max(0.0, mean))
        knots[float(x[first])] = knots[float(x[first + width - 1])] = share
        first += width
    return Isotonic(tuple(knots), tuple(knots.values()))


def _fit_platt(p: Floats, y: Floats) -> Platt:
    """Newton's method with step halving on Platt's smoothed targets (Lin, Lin and Weng 2007)."""
    yes, no = float(y.sum()), float(len(y) - y.sum())
    target = np.where(y > 0, (yes + 1) / (yes + 2), 1 / (no + 2))
    z = log_odds(p)
    centre, spread = float(z.mean()), float(z.std())
    if spread < 1e-9:
        return Platt(0.0, _logit(float(target.mean())))
    x = np.stack([(z - centre) / spread, np.ones_like(z)])
    w = np.array([0.0, _logit(float(target.mean()))])
    loss = _cross_entropy(w @ x, target)
    for _ in range(100):
        q = logistic(w @ x)
        gradient = x @ (q - target)
        if np.abs(gradient).max() < 1e-9 * len(y):
            break
        hessian = (x * (q * (1 - q))) @ x.T + 1e-12 * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while size > 1e-10 and _cross_entropy((w - size * step) @ x, target) > loss:
            size /= 2
        w = w - size * step
        loss, before = _cross_entropy(w @ x, target), loss
        if before - loss <= 1e-15 * before:
            break
    if w[0] <= 0:  # the loss is convex: among slopes of at least 0, 0 is best
        return Platt(0.0, _logit(float(target.mean())))
    slope = float(w[0]) / spread
    return Platt(slope, float(w[1]) - slope * centre)


def _fit_temperature(p: Floats, y: Floats) -> Temperature:
    """Bisect the slope of the log loss, which is convex in 1/temperature (Guo et al. 2017)."""
    z = log_odds(p)
    low, high = (1 / t for t in reversed(TEMPERATURES))
    for _ in range(80):
        middle = (low * high) ** 0.5
        if float(z @ (logistic(middle * z) - y)) > 0:
            high = middle
        else:
            low = middle
    return Temperature(min(TEMPERATURES[1], max(TEMPERATURES[0], 1 / (low * high) ** 0.5)))


FITS: dict[str, Callable[[Floats, Floats], Curve]] = {
    "isotonic": _fit_isotonic,
    "platt": _fit_platt,
    "temperature": _fit_temperature,
}
"""Name of a curve -> its fit; `CurveName` lists the same names for the type checker."""


def folds_of(groups: Sequence[Hashable], most: int = 5) -> list[int]:
    """Return each answer's fold, from 0; groups are not split, except a single group."""
    sizes = Counter(groups)
    if len(sizes) < 2:
        return [i % max(1, min(most, len(groups))) for i in range(len(groups))]
    loads = [0] * min(most, len(sizes))
    fold: dict[Hashable, int] = {}
    for group, size in sorted(sizes.items(), key=lambda item: (-item[1], str(item[0]))):
        fold[group] = loads.index(min(loads))
        loads[fold[group]] += size
    return [fold[group] for group in groups]


def crossfit(
    name: CurveName,
    probabilities: Sequence[float],
    labels: Sequence[bool],
    folds: Sequence[int],
    choose: Callable[[Sequence[float], Sequence[bool]], float],
) -> list[tuple[float, bool] | None]:
    """Return probability and verdict of each answer from a curve fitted on the other folds."""
    p, y, fold = np.asarray(probabilities), np.asarray(labels, dtype=bool), np.asarray(folds)
    out: list[tuple[float, bool] | None] = [None] * len(p)
    for held_out in sorted(set(folds)):
        rest = fold != held_out
        if not rest.any() or y[rest].all() or not y[rest].any():
            continue
        curve = fit(name, p[rest].tolist(), y[rest].tolist())
        threshold = choose(curve(p[rest]).tolist(), y[rest].tolist())
        for n in np.flatnonzero(~rest):
            mapped = float(curve(p[n : n + 1])[0])
            out[n] = (mapped, mapped >= threshold)
    return out


def best_f1_threshold(probabilities: Sequence[float], labels: Sequence[bool]) -> float:
    """Return the lowest probability of yes with the best F1; of ties, the highest."""
    y = np.asarray(labels, dtype=bool)
    if not y.any():
        raise ValueError("no label is yes: F1 has no best threshold")
    values, places = np.unique(np.asarray(probabilities, dtype=np.float64), return_inverse=True)
    yes = np.cumsum(np.bincount(places)[::-1])[::-1]  # positive answers from here upwards
    hits = np.cumsum(np.bincount(places, weights=y)[::-1])[::-1]
    scores = 2 * hits / (yes + y.sum())
    best = len(values) - 1 - int(np.argmax(scores[::-1]))
    return float(values[best] if best == 0 else (values[best - 1] + values[best]) / 2)


def log_odds(probabilities: Sequence[float] | Floats) -> Floats:
    """Return the log-odds of probabilities, shape (n,), clipped to [5e-7, 1 - 5e-7]."""
    p = np.clip(np.asarray(probabilities, dtype=np.float64), _CLIP, 1 - _CLIP)
    return np.asarray(np.log(p) - np.log1p(-p), dtype=np.float64)


def _logit(p: float) -> float:
    return float(np.log(p) - np.log1p(-p))


def logistic(z: Floats) -> Floats:
    """Return 1 / (1 + exp(-z)) without overflow."""
    return np.asarray(np.round(np.exp(-np.logaddexp(0.0, -z)), _PLACES), dtype=np.float64)


def _cross_entropy(z: Floats, target: Floats) -> float:
    return float(np.sum(np.logaddexp(0.0, z) - target * z))


def curve_from(method: Any, parameters: Any) -> Curve:
    """Return the curve with this name and these numbers, or raise InputError."""
    curves: dict[Any, Any] = {"isotonic": Isotonic, "platt": Platt, "temperature": Temperature}
    if method not in list(curves):
        raise unlike(method, "method", f"one of {', '.join(curves)}")
    # Checked by hand: packaged students have curves, and importing pydantic would take longest.
    row, values = an_object(parameters, "parameters"), dict[str, Any]()
    for name in (parameter.name for parameter in dataclasses.fields(curves[method])):
        many = value if isinstance(value := row.get(name), list) else [value]
        numbers = tuple(float(number(v, f"parameters.{name}")) for v in many)
        values[name] = numbers if many is value else numbers[0]
    try:
        curve: Curve = curves[method](**values)
        if isinstance(curve, Platt) and max(curve.slope, abs(curve.intercept)) > 1e6:
            raise ValueError("found a slope or intercept of more than 1e6")
    except (TypeError, ValueError) as error:
        raise InputError(f"parameters: {error}") from error
    return curve
