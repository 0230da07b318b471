"""Comparing runs over the same topics: what all such comparisons share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pnyx.measure.base import BOOTSTRAP, Bootstrap
from pnyx.measure.bootstrap import mean_intervals
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
    "SIGNIFICANT",
    "AgainstMargin",
    "Comparison",
    "Tested",
    "differ",
    "family",
    "method_rows",
]


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


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run against another on one measure.

    Attributes:
        run: its name.
        other: the other's; the difference is run less other.
        measure: which.
        test: of the differences, one for each topic that both have a value for.
        low: lower end of the 95 % interval of the difference, None where there is none.
        high: upper end.
        p_holm: p, corrected for all comparisons of the same call; None where p is.
        against: the tests against a margin; None without one.
    """

    run: str
    other: str
    measure: str
    test: PairedTest
    low: float | None
    high: float | None
    p_holm: float | None
    against: AgainstMargin | None = None

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

    def row(self, name: str = "measure", topics: str = "topics") -> dict[str, Any]:
        """Return the object of `--json`.

        Args:
            name: what it is called by beside the run: `measure` or `other`.
            topics: what is counted.
        """
        figures = {
            "run": self.run,
            name: getattr(self, name),
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
    differences: Floats, test: Test, bootstrap: Bootstrap = BOOTSTRAP, margin: float | None = None
) -> list[Tested]:
    """Test each column of differences, (topics, columns); NaN belongs to no test.

    Args:
        differences: run less other.
        test: which.
        bootstrap: of the intervals; its seed is also that of the randomisation test.
        margin: also test against it.
    """
    found = []
    bounds = mean_intervals(differences, bootstrap)
    for column, (low, high) in zip(differences.T, bounds, strict=True):
        defined = column[np.isfinite(column)]
        seed = bootstrap.seed
        tested = paired_t(defined) if test == "t" else paired_randomisation(defined, seed)
        against = None if margin is None else _against(defined, margin, test, seed)
        found.append(Tested(tested, low, high, against))
    return found


def _against(differences: Floats, margin: float, test: Test, seed: int) -> AgainstMargin:
    lower = not_lower(differences, margin, test, seed)
    higher = not_lower(-differences, margin, test, seed)
    both = None if lower is None or higher is None else max(lower, higher)
    return AgainstMargin(margin, lower, both)


def family(tested: Iterable[tuple[str, str, str, Tested]]) -> tuple[Comparison, ...]:
    """Correct tests that are looked at together: (run, other, measure, test) each."""
    found = list(tested)
    corrected = holm([t.test.p for *_, t in found])
    against = _corrected([t.against for *_, t in found])
    return tuple(
        Comparison(run, other, measure, t.test, t.low, t.high, p, margins)
        for (run, other, measure, t), p, margins in zip(found, corrected, against, strict=True)
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
    topics: str, comparisons: Sequence[Comparison], test: Test, bootstrap: Bootstrap
) -> dict[str, Any]:
    """Return the objects of `--json` that say how runs were tested, and by what intervals.

    Args:
        topics: what was resampled, as in `over topics`.
        comparisons: all that were made.
        test: of the differences.
        bootstrap: of the intervals.
    """
    return {
        "test": {
            "method": f"paired {test}",
            "correction": "Holm-Bonferroni",
            "comparisons": sum(c.p_holm is not None for c in comparisons),
            "level": SIGNIFICANT,
            **({"level_against_margin": ONE_SIDED} if any(c.against for c in comparisons) else {}),
            **({"patterns": FLIPS, "seed": bootstrap.seed} if test != "t" else {}),
        },
        "interval": bootstrap.row(f"percentile bootstrap over {topics}"),
    }
