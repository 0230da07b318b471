"""Turning a judge's scores into probabilities: a logistic curve per task, stored as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from pnyx.errors import PnyxError

__all__ = ["Calibration", "load_calibrations"]


@dataclass(frozen=True, slots=True)
class Calibration:
    """P(yes) = 1 / (1 + exp(-(intercept + sum of weight x feature))).

    Attributes:
        task: `support`, `relevance`, `relevance+guideline` or `stance`.
        weights: feature name to weight; the probability rises with a feature of positive weight.
        intercept: log-odds where all features are 0.
        threshold: the lowest probability that counts as yes. It maximises F1 on the fitted pairs,
            so where few pairs are positive it lies below 0.5.
        data: which labelled pairs it was fitted on, and how many.
        figures: held-out measures (AUROC, AP, F1, Brier ...) by name.
        head: weights of a trained head whose score is a feature; empty where there is none.
    """

    task: str
    weights: Mapping[str, float]
    intercept: float
    threshold: float
    data: str
    figures: Mapping[str, float]
    head: tuple[float, ...] = ()

    def probability(self, features: Mapping[str, float]) -> float:
        """Return P(yes) in (0, 1), rounded to 6 places so that it reads the same everywhere."""
        z = self.intercept + sum(w * features[name] for name, w in self.weights.items())
        p = 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))
        return round(p, 6)


def load_calibrations(name: str) -> tuple[dict[str, Any], dict[str, Calibration]]:
    """Read the packaged calibrations of an encoder.

    Args:
        name: the encoder's, e.g. `minilm-int8`.

    Returns:
        The file's own fields (`judge`, `card`, `fitted` ...) and the calibrations by task.

    Raises:
        PnyxError: there is none, or it is damaged.
    """
    file = resources.files("pnyx.judge") / "calibrations" / f"{name}.json"
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        tasks = {
            task: Calibration(task=task, **{**entry, "head": tuple(entry.get("head", ()))})
            for task, entry in content.pop("tasks").items()
        }
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise PnyxError(f"the calibration of {name} is missing or damaged: {error}") from error
    return content, tasks
