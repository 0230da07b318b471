"""Runs compared with each other over the same topics: what all such comparisons share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

import numpy as np

from pnyx.measure.bootstrap import LEVEL, mean_intervals
from pnyx.measure.significance import (
    FLIPS,
    PairedTest,
    Test,
    holm,
    paired_randomisation,
    paired_t,
)
from pnyx.measure.weighted import Floats

__all__ = ["DRAWS", "SIGNIFICANT", "Compared", "Tested", "differ", "family", "method_rows"]

DRAWS = 1000
SIGNIFICANT = 0.05

C = TypeVar("C", bound="Compared")

Tested: TypeAlias = tuple[PairedTest, float | None, float | None]
"""A test of differences, and the ends of their mean's 95 % interval."""


class Compared:
    """What two runs are to each other; a subclass says which runs.

    Attributes:
        test: of the differences, one for each topic.
        low: lower end of the 95 % interval of the difference, None where there is none.
        high: upper end.
        p_holm: p, corrected for all comparisons of the same call; None where p is.
    """

    __slots__ = ()

    test: PairedTest
    low: float | None
    high: float | None
    p_holm: float | None

    @property
    def significant(self) -> bool:
        """Whether the corrected p is below .05."""
        return self.p_holm is not None and self.p_holm < SIGNIFICANT

    def figures(self, topics: str) -> dict[str, Any]:
        """Return the numbers of `--json`, with the number of topics under the name `topics`."""
        return {
            topics: self.test.topics,
            "difference": self.test.difference,
            "low": self.low,
            "high": self.high,
            "statistic": self.test.statistic,
            "p": self.test.p,
            "p_holm": self.p_holm,
            "significant": self.significant,
            "effect": self.test.effect,
        }


def differ(differences: Floats, test: Test, draws: int, seed: int) -> list[Tested]:
    """Test columns of differences, (topics, columns), each by itself; NaN belongs to no test."""
    found = []
    bounds = mean_intervals(differences, draws, seed)
    for column, (low, high) in zip(differences.T, bounds, strict=True):
        defined = column[np.isfinite(column)]
        tested = paired_t(defined) if test == "t" else paired_randomisation(defined, seed)
        found.append((tested, low, high))
    return found


def family(make: Callable[..., C], tested: Iterable[tuple[str, str, Tested]]) -> tuple[C, ...]:
    """Correct tests that are looked at together, and make comparisons of them.

    Args:
        make: takes two names, the test, the ends of the interval and the corrected p.
        tested: the names and the test of each.
    """
    found = list(tested)
    corrected = holm([test.p for _, _, (test, _, _) in found])
    return tuple(
        make(one, other, *test, p) for (one, other, test), p in zip(found, corrected, strict=True)
    )


def method_rows(
    topics: str, comparisons: Iterable[Compared], test: Test, draws: int, seed: int
) -> dict[str, Any]:
    """Return the objects of `--json` that say how runs were tested, and by what intervals.

    Args:
        topics: what was drawn anew, as in `over topics`.
        comparisons: all that were made.
        test: of the differences.
        draws: of the bootstrap.
        seed: of the bootstrap and of the randomisation test.
    """
    return {
        "test": {
            "method": f"paired {test}",
            "correction": "Holm-Bonferroni",
            "comparisons": sum(c.p_holm is not None for c in comparisons),
            "level": SIGNIFICANT,
            **({"patterns": FLIPS, "seed": seed} if test != "t" else {}),
        },
        "interval": {
            "method": f"percentile bootstrap over {topics}",
            "level": LEVEL,
            "draws": draws,
            "seed": seed,
        },
    }
