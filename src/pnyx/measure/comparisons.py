"""Comparing runs over the same topics: what all such comparisons share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from pnyx.measure.bootstrap import LEVEL, mean_intervals
from pnyx.measure.significance import (
    FLIPS,
    ONE_SIDED,
    SIGNIFICANT,
    Conclusion,
    PairedTest,
    Test,
    conclude,
    holm,
    not_lower,
    paired_randomisation,
    paired_t,
)
from pnyx.measure.weighted import Floats

__all__ = [
    "DRAWS",
    "SIGNIFICANT",
    "AgainstMargin",
    "Compared",
    "Tested",
    "differ",
    "family",
    "method_rows",
]

DRAWS = 1000

C = TypeVar("C", bound="Compared")


@dataclass(frozen=True, slots=True)
class AgainstMargin:
    """One-sided tests of differences against a margin.

    Attributes:
        margin: in the units of the measure.
        p_not_lower: of the hypothesis that the run is lower by the margin or more; None where the
            test says nothing.
        p_equivalent: that it is lower or higher by the margin or more.
        p_not_lower_holm: corrected for all comparisons of the same call.
        p_equivalent_holm: corrected.
    """

    margin: float
    p_not_lower: float | None
    p_equivalent: float | None
    p_not_lower_holm: float | None = None
    p_equivalent_holm: float | None = None


@dataclass(frozen=True, slots=True)
class Tested:
    """A test of differences.

    Attributes:
        test: whether there is a difference.
        low: lower end of their mean's 95 % interval, None where there is none.
        high: upper end.
        against: whether it is smaller than a margin; None without one.
    """

    test: PairedTest
    low: float | None
    high: float | None
    against: AgainstMargin | None = None


class Compared:
    """What two runs are to each other; a subclass says which runs.

    Attributes:
        test: of the differences, one for each topic.
        low: lower end of the 95 % interval of the difference, None where there is none.
        high: upper end.
        p_holm: p, corrected for all comparisons of the same call; None where p is.
        against: the tests against a margin; None without one.
    """

    __slots__ = ()

    test: PairedTest
    low: float | None
    high: float | None
    p_holm: float | None
    against: AgainstMargin | None

    @property
    def significant(self) -> bool:
        """Whether the corrected p is below .05."""
        return self.p_holm is not None and self.p_holm < SIGNIFICANT

    @property
    def conclusion(self) -> Conclusion:
        """What is shown, by the corrected p-values alone (`conclude`)."""
        against = self.against
        margins = (against.p_not_lower_holm, against.p_equivalent_holm) if against else ()
        return conclude(self.test.difference, self.p_holm, *margins)

    def figures(self, topics: str) -> dict[str, Any]:
        """Return the numbers of `--json`, with the number of topics under the name `topics`."""
        figures = {
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
        if self.against is None:
            return figures
        margins = {name: getattr(self.against, name) for name in self.against.__slots__}
        return {**figures, **margins, "conclusion": self.conclusion}


def differ(
    differences: Floats, test: Test, draws: int, seed: int, margin: float | None = None
) -> list[Tested]:
    """Test each column of differences, (topics, columns); NaN belongs to no test.

    Args:
        differences: run less other.
        test: which.
        draws: of the bootstrap; 0 for no intervals.
        seed: of all that is drawn.
        margin: also test against it.
    """
    found = []
    bounds = mean_intervals(differences, draws, seed)
    for column, (low, high) in zip(differences.T, bounds, strict=True):
        defined = column[np.isfinite(column)]
        tested = paired_t(defined) if test == "t" else paired_randomisation(defined, seed)
        against = None if margin is None else _against(defined, margin, test, seed)
        found.append(Tested(tested, low, high, against))
    return found


def _against(differences: Floats, margin: float, test: Test, seed: int) -> AgainstMargin:
    lower = not_lower(differences, margin, test, seed)
    higher = not_lower(-differences, margin, test, seed)
    both = None if lower is None or higher is None else max(lower, higher)
    return AgainstMargin(margin, lower, both)


def family(make: Callable[..., C], tested: Iterable[tuple[str, str, Tested]]) -> tuple[C, ...]:
    """Correct tests that are looked at together, and make comparisons of them.

    Args:
        make: takes two names, the test, the ends of the interval, the corrected p, and the tests
            against the margin.
        tested: the names and the test of each.
    """
    found = list(tested)
    corrected = holm([t.test.p for _, _, t in found])
    against = _corrected([t.against for _, _, t in found])
    return tuple(
        make(one, other, t.test, t.low, t.high, p, margins)
        for (one, other, t), p, margins in zip(found, corrected, against, strict=True)
    )


def _corrected(against: Sequence[AgainstMargin | None]) -> list[AgainstMargin | None]:
    """Correct the tests against a margin: each of the two questions is a family of its own."""
    lower = holm([None if one is None else one.p_not_lower for one in against])
    both = holm([None if one is None else one.p_equivalent for one in against])
    return [
        None if one is None else replace(one, p_not_lower_holm=p, p_equivalent_holm=q)
        for one, p, q in zip(against, lower, both, strict=True)
    ]


def method_rows(
    topics: str, comparisons: Sequence[Compared], test: Test, draws: int, seed: int
) -> dict[str, Any]:
    """Return the objects of `--json` that say how runs were tested, and by what intervals.

    Args:
        topics: what was resampled, as in `over topics`.
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
            **({"level_against_margin": ONE_SIDED} if any(c.against for c in comparisons) else {}),
            **({"patterns": FLIPS, "seed": seed} if test != "t" else {}),
        },
        "interval": {
            "method": f"percentile bootstrap over {topics}",
            "level": LEVEL,
            "draws": draws,
            "seed": seed,
        },
    }
