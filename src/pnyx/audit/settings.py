"""What `tune` tries of a model: its parameters, their values, and how the choice is made."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Final, TypeAlias

import numpy as np

from pnyx.errors import InputError, shorten
from pnyx.measure.significance import Test
from pnyx.search.plan import MODEL_PARAMETERS, Scoring, check_parameter

__all__ = ["GRIDS", "MOST_SETTINGS", "Parameters", "Tuning", "tunable"]

GRIDS: Final[Mapping[str, tuple[float, ...]]] = {
    "mu": (10, 25, 50, 100, 250, 500, 1000, 1500, 2000, 3000, 5000),
    "k1": (0.3, 0.6, 0.9, 1.2, 1.5, 2.0, 3.0),
    "b": (0.0, 0.25, 0.4, 0.5, 0.75, 1.0),
    "wc": (0, 1, 2, 5, 10, 20),
    "wq": (0, 1, 2, 5, 10, 20),
    "dense_weight": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
}
"""Values that are tried of each parameter, unless others are named."""

MOST_SETTINGS: Final = 10_000

_WEIGHT: Final = "dense_weight"

Parameters: TypeAlias = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Tuning:
    """What is tuned, and by what.

    Attributes:
        scoring: the model; its parameters are those that the choice is compared with.
        tried: parameter -> values; by default all of the model with `GRIDS`. Those of `scoring`
            are always among them; parameters that are not here stay as they are.
        measure: in the notation of ir-measures.
        folds: of the cross-validation, at least 2.
        test: of the difference to the defaults.
        draws: of the bootstrap over topics; 0 for no intervals.
        seed: of the folds, the bootstrap and the randomisation test.

    Raises:
        InputError: a parameter that the model does not have, no value, too many settings, a model
            without parameters, or a number out of range.
    """

    scoring: Scoring
    tried: Mapping[str, Sequence[float]] = field(default_factory=dict)
    measure: str = "nDCG@10"
    folds: int = 5
    test: Test = "t"
    draws: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        known = tunable(self.scoring)
        if not known:
            raise InputError(f"model {self.scoring.model} has no parameter to tune")
        for name, values in self.tried.items():
            if name not in known:
                found = f"model {self.scoring.model} has no parameter {shorten(name, 40)!r}"
                raise InputError(f"{found} to tune, expected: {', '.join(known)}")
            if not values:
                raise InputError(f"no value to try of {name}, expected at least one")
            for value in values:
                _check(self.scoring, name, value)
        if self.folds < 2:
            raise InputError(f"folds is {self.folds}, expected at least 2")
        count = np.prod([float(len(values)) for values in self.grid.values()])
        if count > MOST_SETTINGS:
            raise InputError(
                f"{count:,.0f} settings, expected at most {MOST_SETTINGS:,}: try fewer values"
            )

    def scoring_of(self, setting: Parameters) -> Scoring:
        """Return the model with these values."""
        parameters = {name: value for name, value in setting.items() if name != _WEIGHT}
        weight = setting.get(_WEIGHT, self.scoring.dense_weight)
        return dataclasses.replace(self.scoring, parameters=parameters, dense_weight=weight)

    @property
    def default(self) -> Parameters:
        """The parameters that the choice is compared with."""
        return {name: _value(self.scoring, name) for name in tunable(self.scoring)}

    @property
    def grid(self) -> dict[str, tuple[float, ...]]:
        """What is tried of each parameter that is tuned, rising, the default among them."""
        default = self.default
        tried = self.tried or {name: GRIDS[name] for name in default}
        return {
            name: tuple(sorted({float(v) for v in (*tried[name], default[name])}))
            for name in default
            if name in tried
        }

    def settings(self) -> list[Parameters]:
        """Return all settings; those nearest to the default first, so that ties go to it."""
        grid, default = self.grid, dict(self.default)
        places = {name: {v: n for n, v in enumerate(values)} for name, values in grid.items()}

        def far(setting: Parameters) -> int:
            return sum(abs(at[setting[n]] - at[default[n]]) for n, at in places.items())

        every = [default | dict(zip(grid, v, strict=True)) for v in product(*grid.values())]
        return sorted(every, key=far)


def tunable(scoring: Scoring) -> tuple[str, ...]:
    """Return the names of the parameters that a model's ranking depends on."""
    names = MODEL_PARAMETERS.get(scoring.by_words, ())
    if scoring.flat:
        names = tuple(name for name in names if name != "mu")
    weighed = scoring.model == "hybrid" and scoring.fusion != "rrf"
    return (*names, _WEIGHT) if weighed else names


def _check(scoring: Scoring, name: str, value: float) -> None:
    """Refuse a value now that would be refused when it is its turn."""
    if name == _WEIGHT:
        dataclasses.replace(scoring, dense_weight=value)
    else:
        check_parameter(name, value)


def _value(scoring: Scoring, name: str) -> float:
    if name == _WEIGHT:
        return scoring.dense_weight
    return float(scoring.parameter(name))
