"""Is one system better than another on the same topics? Paired tests and their conclusions.

Finding no difference proves nothing. To show that a system is not worse, test it against a margin
(`differ`) chosen before looking at the runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from pnyx.stats.base import BOOTSTRAP, Bootstrap, row_of, withheld
from pnyx.stats.distributions import student_below
from pnyx.stats.intervals import mean_intervals
from pnyx.stats.weighted_measures import Floats

Test: TypeAlias = Literal["t", "randomisation"]

SIGNIFICANT = 0.05

ONE_SIDED = SIGNIFICANT / 2
"""Level of tests against a margin: as a 95 % interval above -margin (ICH E9, section 5.5)."""

Conclusion: TypeAlias = Literal["higher", "lower", "equivalent", "not lower", "inconclusive"]
"""`equivalent`: the difference is smaller than the margin in both directions. `not lower`: it may
be higher by the margin. `inconclusive`: it may also be lower by the margin."""

FLIPS = 100_000  # Random sign patterns of the randomisation test if there are too many to try all

_EXACT_TOPICS = 16  # Up to this many nonzero differences, all 2^n sign patterns are tried
_CELLS = 4_000_000  # Signs in memory at once
_NOISE = 1e-12  # Relative to the largest difference: smaller gaps are rounding errors


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A paired test of differences; `effect` is their mean in standard deviations (Sakai 2014)."""

    topics: int
    difference: float | None
    statistic: float | None
    p: float | None
    effect: float | None


def paired_t(differences: Sequence[float] | Floats) -> PairedTest:
    """Student's paired t-test.

    p is 1 if all differences are 0, and None for fewer than two topics or without variance.
    """
    values = np.asarray(differences, dtype=np.float64)
    mean, effect = _mean_and_effect(values)
    if effect is None:
        p = 1.0 if len(values) >= 2 and not values.any() else None
        return PairedTest(len(values), mean, None, p, None)
    statistic = effect * len(values) ** 0.5
    p = min(1.0, 2 * student_below(-abs(statistic), len(values) - 1))
    return PairedTest(len(values), mean, statistic, p, effect)


def _randomised(columns: Sequence[Floats], seed: int) -> list[PairedTest]:
    """Fisher's paired randomisation test (in retrieval: Smucker et al., CIKM 2007).

    How often do random signs give a mean at least as large? Exact for up to 16 nonzero differences.
    Above that, 100,000 patterns are drawn and p is (1 + as large) / (1 + drawn), never 0 (Phipson
    and Smyth, Stat. Appl. Genet. Mol. Biol. 9, 2010). p is None without any difference.
    """
    chances = _as_large(columns, np.abs, seed)
    p_values = []
    for values, p in zip(columns, chances, strict=True):
        mean, effect = _mean_and_effect(values)
        p_values.append(PairedTest(len(values), mean, None, p, effect))
    return p_values


def _not_lower(
    columns: Sequence[Floats], margin: float, test: Test, seed: int
) -> list[float | None]:
    """Test, one-sided, that a system is not lower than another by a margin (non-inferiority).

    Together with the test of the negated differences it is Schuirmann's two one-sided tests, and
    the larger p is that of equivalence (J. Pharmacokin. Biopharm. 15, 1987). None without topics,
    and for `t` with one topic or without variance. ValueError if the margin is not above 0.
    """
    if not 0 < margin < np.inf:
        raise ValueError(f"margin: found {margin!r}, expected a number above 0")
    shifted = [values + margin for values in columns]
    if test != "t":
        return _as_large(shifted, np.positive, seed)
    effects = [(_mean_and_effect(values)[1], len(values)) for values in shifted]
    return [
        None if effect is None else student_below(-effect * count**0.5, count - 1)
        for effect, count in effects
    ]


def conclude(
    difference: float | None,
    p: float | None,
    p_not_lower: float | None = None,
    p_equivalent: float | None = None,
) -> Conclusion:
    """Return the conclusion from tests against another system; the p-values are of one family."""
    if difference is not None and p is not None and p < SIGNIFICANT:
        return "higher" if difference > 0 else "lower"
    if p_equivalent is not None and p_equivalent < ONE_SIDED:
        return "equivalent"
    if p_not_lower is not None and p_not_lower < ONE_SIDED:
        return "not lower"
    return "inconclusive"


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values adjusted for the whole family (Holm, Scand. J. Statist. 6, 1979)."""
    tested = sorted((p, n) for n, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, n) in enumerate(tested):
        largest = max(largest, min(1.0, p * (len(tested) - rank)))
        adjusted[n] = largest
    return adjusted


def _mean_and_effect(values: Floats) -> tuple[float | None, float | None]:
    if len(values) == 0:
        return None, None
    mean = float(values.mean())
    if len(values) < 2 or np.ptp(values) <= _NOISE * np.abs(values).max():
        return mean, None
    return mean, mean / float(values.std(ddof=1))


def _as_large(
    columns: Sequence[Floats], size: Callable[[Floats], Floats], seed: int
) -> list[float | None]:
    """Return, for each column, the share of sign patterns whose sum is as large as observed.

    Columns with the same number of nonzero differences share their patterns, so that a p does not
    depend on the other tests.
    """
    p_values: list[float | None] = [1.0 if len(values) else None for values in columns]
    signed = [values[values != 0] for values in columns]
    for count in {len(values) for values in signed} - {0}:
        places = [n for n, values in enumerate(signed) if len(values) == count]
        table = np.stack([signed[n] for n in places], axis=1)
        sums = table.sum(axis=0)
        observed = size(sums) - _NOISE * np.abs(table).sum(axis=0)
        exact = count <= _EXACT_TOPICS
        large = np.zeros(len(places), dtype=np.intp)
        for block in _all_flips(count) if exact else _drawn_flips(count, seed):
            for flips in np.array_split(block, -(-len(block) * len(places) // _CELLS)):
                # Flipping the sign of a difference changes the sum by twice the difference.
                large += np.count_nonzero(size(sums - 2 * (flips @ table)) >= observed, axis=0)
        shares = large / 2**count if exact else (1 + large) / (1 + FLIPS)
        for n, share in zip(places, shares.tolist(), strict=True):
            p_values[n] = share
    return p_values


def _all_flips(count: int) -> Iterator[Floats]:
    numbers = np.arange(2**count)
    yield ((numbers[:, None] >> np.arange(count)) & 1).astype(np.float64)


def _drawn_flips(count: int, seed: int) -> Iterator[Floats]:
    rng = np.random.default_rng(seed)
    at_once = max(1, _CELLS // count)
    for start in range(0, FLIPS, at_once):
        rows = min(at_once, FLIPS - start)
        bits = np.unpackbits(np.frombuffer(rng.bytes(rows * -(-count // 8)), dtype=np.uint8))
        yield bits.reshape(rows, -1)[:, :count].astype(np.float64)


# Comparing runs over the same topics --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AgainstMargin:
    """One-sided p-values against a margin: of being lower by it, and of differing by it or more."""

    margin: float
    p_not_lower: float | None
    p_equivalent: float | None
    p_not_lower_holm: float | None = None
    p_equivalent_holm: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One run compared with another by one measure, or an unnamed column of differences.

    `low` and `high` are the ends of the mean's 95 % interval; `p_holm` is corrected over all tests
    of the call.
    """

    test: PairedTest
    low: float | None
    high: float | None
    against: AgainstMargin | None = None
    no_interval: str = ""
    run: str = ""
    other: str = ""
    measure: str = ""
    p_holm: float | None = None

    @property
    def significant(self) -> bool:
        """Whether the corrected p is below 0.05."""
        return self.p_holm is not None and self.p_holm < SIGNIFICANT

    @property
    def conclusion(self) -> Conclusion:
        """The conclusion from the corrected p-values alone (`conclude`)."""
        against = self.against
        margins = (against.p_not_lower_holm, against.p_equivalent_holm) if against else ()
        return conclude(self.test.difference, self.p_holm, *margins)

    @property
    def good_enough(self) -> bool:
        """Whether the run is shown not to be lower by the margin; it may be lower by less."""
        p = self.against.p_not_lower_holm if self.against else None
        return self.conclusion in ("higher", "equivalent") or (p is not None and p < ONE_SIDED)

    def row(self, name: str = "measure", topics: str = "topics") -> dict[str, Any]:
        """Return the object in `--json` output; `name` is the field shown next to the run."""
        figures = {
            **row_of(self, f"run {name}"),
            topics: self.test.topics,
            "difference": self.test.difference,
            "low": self.low,
            "high": self.high,
            **withheld(self),
            **row_of(self.test, "statistic p"),
            **row_of(self, "p_holm significant"),
            "effect": self.test.effect,
        }
        if self.against is None:
            return figures
        margins = row_of(self.against, " ".join(self.against.__slots__))
        return {**figures, **margins, "conclusion": self.conclusion}


def differ(
    differences: Floats, test: Test, bootstrap: Bootstrap = BOOTSTRAP, margin: float | None = None
) -> list[Comparison]:
    """Test each column of differences, (topics, columns), without NaN, also against any margin."""
    columns = [column[np.isfinite(column)] for column in differences.T]
    seed = bootstrap.seed
    tests = list(map(paired_t, columns)) if test == "t" else _randomised(columns, seed)
    margins: list[AgainstMargin | None] = [None] * len(columns)
    if margin is not None:
        lower = _not_lower(columns, margin, test, seed)
        higher = _not_lower([-column for column in columns], margin, test, seed)
        margins = [
            AgainstMargin(margin, low, None if low is None or high is None else max(low, high))
            for low, high in zip(lower, higher, strict=True)
        ]
    bounds = mean_intervals(differences, bootstrap)
    return [
        Comparison(tested, low, high, against, why)
        for tested, (low, high, why), against in zip(tests, bounds, margins, strict=True)
    ]


def family(tests: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Correct tests that are interpreted together (Holm)."""
    corrected = holm([t.test.p for t in tests])
    against = _corrected([t.against for t in tests])
    return tuple(
        replace(t, p_holm=p, against=margins)
        for t, p, margins in zip(tests, corrected, against, strict=True)
    )


def _corrected(against: Sequence[AgainstMargin | None]) -> list[AgainstMargin | None]:
    """Correct the tests against a margin: each of the two questions is a family of its own."""
    lower = holm([None if test is None else test.p_not_lower for test in against])
    both = holm([None if test is None else test.p_equivalent for test in against])
    return [
        None if test is None else replace(test, p_not_lower_holm=p, p_equivalent_holm=q)
        for test, p, q in zip(against, lower, both, strict=True)
    ]
