"""Labels and answers as columns of numbers; NaN where there is none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pnyx.measure.gold import Pair
from pnyx.measure.weighted import Floats

__all__ = ["columns_of", "defined_mean", "numbers"]


def columns_of(pairs: Sequence[Pair]) -> dict[str, Floats]:
    """Return the columns of `GoldColumn` and `ScoreColumn` by name, (pairs,) each."""
    yes = numbers([p.gold.yes for p in pairs])
    gain = numbers([p.gold.gain for p in pairs])
    value = numbers([p.value for p in pairs])
    probability = numbers([p.probability for p in pairs])
    return {
        "yes": yes,
        "gain": gain,
        "grade": np.where(np.isnan(gain), yes, gain),
        "uncertain": numbers([p.gold.uncertain for p in pairs]),
        "rating": numbers([p.gold.rating for p in pairs]),
        "correct": np.where(np.isnan(value), np.nan, value == yes),
        "value": value,
        "probability": probability,
        "confidence": np.where(value == 1, probability, 1 - probability),
        "doubt": np.where(value == 1, 1 - probability, probability),
    }


def numbers(values: Sequence[float | None]) -> Floats:
    """Return the values as an array, NaN for None."""
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)


def defined_mean(values: Floats) -> float | None:
    """Return the mean of the values that are defined, None where none is."""
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if len(defined) else None
