"""Is one system better than another on the same topics? Paired tests, and what they show.

Finding no difference shows nothing: that a system is not worse is shown by a test against a margin
(`not_lower`) that is chosen before the runs are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from pnyx.errors import MissingExtra
from pnyx.measure.core.base import BOOTSTRAP, Bootstrap, Result, plain, row_of, withheld
from pnyx.measure.core.intervals import mean_intervals
from pnyx.measure.core.weighted import Floats

Test: TypeAlias = Literal["t", "randomisation"]

SIGNIFICANT = 0.05

ONE_SIDED = SIGNIFICANT / 2
"""Level against a margin: asks what a 95 % interval above -margin does (ICH E9, section 5.5)."""

Conclusion: TypeAlias = Literal["higher", "lower", "equivalent", "not lower", "inconclusive"]
"""`equivalent`: neither lower nor higher by the margin or more. `not lower` leaves higher open,
`inconclusive` also leaves lower by the margin open."""

FLIPS = 100_000  # Random sign patterns of the randomisation test where they are not all tried

_EXACT_TOPICS = 16  # Up to so many nonzero differences, all 2^n patterns of signs are tried
_CELLS = 4_000_000  # Signs held at once
_NOISE = 1e-12  # Differences that agree to this share of the largest are equal but for rounding


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A paired test of differences; `effect` is their mean in standard deviations (Sakai 2014)."""

    topics: int
    difference: float | None
    statistic: float | None
    p: float | None
    effect: float | None


def paired_t(differences: Sequence[float] | Floats) -> PairedTest:
    """Student's paired t-test; MissingExtra without scipy.

    p is 1 where all differences are 0, and None with fewer than two topics or without variance.
    """
    values = np.asarray(differences, dtype=np.float64)
    mean, effect = _mean_and_effect(values)
    if effect is None:
        p = 1.0 if len(values) >= 2 and not values.any() else None
        return PairedTest(len(values), mean, None, p, None)
    statistic = effect * len(values) ** 0.5
    p = min(1.0, 2 * _student_below(-abs(statistic), len(values) - 1))
    return PairedTest(len(values), mean, statistic, p, effect)


def paired_randomisation(differences: Sequence[float] | Floats, seed: int = 0) -> PairedTest:
    """Fisher's paired randomisation test (in retrieval: Smucker et al., CIKM 2007).

    How often do random signs give as large a mean? Exact with up to 16 differences other than 0.
    Above, 100,000 patterns are drawn and p is (1 + as large) / (1 + drawn), never 0 (Phipson and
    Smyth, Stat. Appl. Genet. Mol. Biol. 9, 2010). p is None without any difference.
    """
    values = np.asarray(differences, dtype=np.float64)
    mean, effect = _mean_and_effect(values)
    signed = values[values != 0]
    if len(signed) == 0:
        return PairedTest(len(values), mean, None, 1.0 if len(values) else None, effect)
    return PairedTest(len(values), mean, None, _as_large(signed, np.abs, seed), effect)


def not_lower(
    differences: Sequence[float] | Floats, margin: float, test: Test = "t", seed: int = 0
) -> float | None:
    """Test, one-sided, that a system is not lower than another by a margin (non-inferiority).

    Called with the differences and with their negatives it is Schuirmann's two one-sided tests: the
    larger p is that of equivalence (J. Pharmacokin. Biopharm. 15, 1987). Returns p, None without a
    topic, and for `t` with one topic or without variance. ValueError: the margin is not above 0.
    """
    if not 0 < margin < np.inf:
        raise ValueError(f"margin: found {margin!r}, expected a number above 0")
    shifted = np.asarray(differences, dtype=np.float64) + margin
    if test == "t":
        _, effect = _mean_and_effect(shifted)
        if effect is None:
            return None
        return _student_below(-effect * len(shifted) ** 0.5, len(shifted) - 1)
    signed = shifted[shifted != 0]
    if len(signed) == 0:
        return 1.0 if len(shifted) else None
    return _as_large(signed, np.positive, seed)


def conclude(
    difference: float | None,
    p: float | None,
    p_not_lower: float | None = None,
    p_equivalent: float | None = None,
) -> Conclusion:
    """Return what tests of differences to another system show; p-values are of one family."""
    if difference is not None and p is not None and p < SIGNIFICANT:
        return "higher" if difference > 0 else "lower"
    if p_equivalent is not None and p_equivalent < ONE_SIDED:
        return "equivalent"
    if p_not_lower is not None and p_not_lower < ONE_SIDED:
        return "not lower"
    return "inconclusive"


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values adjusted for the whole family (Holm, Scand. J. Statist. 6, 1979)."""
    tested = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(tested):
        largest = max(largest, min(1.0, p * (len(tested) - rank)))
        adjusted[place] = largest
    return adjusted


def _mean_and_effect(values: Floats) -> tuple[float | None, float | None]:
    if len(values) == 0:
        return None, None
    mean = float(values.mean())
    if len(values) < 2 or np.ptp(values) <= _NOISE * np.abs(values).max():
        return mean, None
    return mean, mean / float(values.std(ddof=1))


def _as_large(signed: Floats, size: Callable[[Floats], Floats], seed: int) -> float:
    """Return the share of sign patterns whose sum is as large as the one observed."""
    observed = float(size(signed.sum())) - _NOISE * np.abs(signed).sum()
    exact = len(signed) <= _EXACT_TOPICS
    patterns = _all_flips(len(signed)) if exact else _drawn_flips(len(signed), seed)
    # Flipping a difference takes it from the sum twice.
    large = sum(
        int(np.count_nonzero(size(signed.sum() - 2 * (flips @ signed)) >= observed))
        for flips in patterns
    )
    return large / 2 ** len(signed) if exact else (1 + large) / (1 + FLIPS)


def _student_below(statistic: float, degrees: int) -> float:
    try:
        from scipy.special import stdtr  # scipy.stats would take over a second to import
    except ImportError as error:
        raise MissingExtra("the t-test", "retrieval") from error
    return float(stdtr(degrees, statistic))


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
class Tested:
    """A test of differences, their mean's 95 % interval, and the tests against a margin if any."""

    test: PairedTest
    low: float | None
    high: float | None
    against: AgainstMargin | None = None
    no_interval: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One run against another by one measure; `p_holm` is corrected over the whole call."""

    run: str
    other: str
    measure: str
    test: PairedTest
    low: float | None
    high: float | None
    p_holm: float | None
    against: AgainstMargin | None = None
    no_interval: str = ""

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
        """Return the object of `--json`; `name` is the field shown beside the run."""
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
) -> list[Tested]:
    """Test each column of differences, (topics, columns), NaN left out, also against any margin."""
    found = []
    bounds = mean_intervals(differences, bootstrap)
    for column, (low, high, why) in zip(differences.T, bounds, strict=True):
        defined = column[np.isfinite(column)]
        seed = bootstrap.seed
        tested = paired_t(defined) if test == "t" else paired_randomisation(defined, seed)
        against = None if margin is None else _against(defined, margin, test, seed)
        found.append(Tested(tested, low, high, against, why))
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
        Comparison(run, other, measure, t.test, t.low, t.high, p, margins, t.no_interval)
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


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Compared(Result):
    """Measured runs and their comparisons, each of a run with another or with the `baseline`."""

    runs: tuple[Any, ...]
    comparisons: tuple[Comparison, ...]
    baseline: str | None
    test: Test
    bootstrap: Bootstrap

    def _runs_row(self) -> dict[str, Any]:
        """Return the runs for `--json`; a single one also stands at the top."""
        runs = plain(self.runs)
        top = {key: runs[0][key] for key in ("measures", "per_group")} if len(runs) == 1 else {}
        return {**top, "runs": runs}

    def _methods_row(self, name: str = "measure", topics: str = "topics") -> dict[str, Any]:
        """Return the comparisons for `--json`, how runs were tested, and by what intervals."""
        compared, random = self.comparisons, self.test != "t"
        test = {
            "method": f"paired {self.test}",
            "correction": "Holm-Bonferroni",
            "comparisons": sum(c.p_holm is not None for c in compared),
            "level": SIGNIFICANT,
            **({"level_against_margin": ONE_SIDED} if any(c.against for c in compared) else {}),
            **({"patterns": FLIPS, "seed": self.bootstrap.seed} if random else {}),
        }
        return {
            "baseline": self.baseline,
            "comparisons": [c.row(name, topics) for c in compared],
            "test": None if self.baseline is None and name == "measure" else test,
            "interval": self.bootstrap.row(f"bootstrap over {topics}"),
        }
