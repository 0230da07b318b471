"""Is one system better than another on the same topics? Paired tests, and what they show.

The tests take the differences of two systems, one for each topic. That no difference was found
shows nothing: that a system is not worse is shown by a test against a margin (`not_lower`), which
is chosen before the runs are looked at. `conclude` is the rule that turns corrected p-values into
words; nothing else decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from pnyx.errors import MissingExtra
from pnyx.measure.weighted import Floats

__all__ = [
    "FLIPS",
    "ONE_SIDED",
    "SIGNIFICANT",
    "TESTS",
    "Conclusion",
    "PairedTest",
    "Test",
    "conclude",
    "holm",
    "not_lower",
    "paired_randomisation",
    "paired_t",
]

Test: TypeAlias = Literal["t", "randomisation"]
"""Student's paired t-test, or Fisher's paired randomisation test."""

TESTS: tuple[Test, ...] = get_args(Test)

SIGNIFICANT = 0.05
"""A two-sided p below this shows a difference."""

ONE_SIDED = SIGNIFICANT / 2
"""A one-sided p against a margin below this shows that a system is not lower: it is half the
two-sided level, so that it asks what a 95 % interval above -margin does (ICH E9, section 5.5)."""

Conclusion: TypeAlias = Literal["higher", "lower", "equivalent", "not lower", "inconclusive"]
"""What is shown of a system against another: `equivalent` is neither lower nor higher by the margin
or more, `not lower` leaves higher open, `inconclusive` leaves lower by the margin open, too."""

FLIPS = 100_000
"""Random sign patterns of the randomisation test where they are not all tried."""

_EXACT_TOPICS = 16
"""Up to so many differences that are not 0, all 2^n patterns of signs are tried."""
_CELLS = 4_000_000
"""So many signs are held at once."""
_NOISE = 1e-12
"""Differences that agree to this share of the largest are equal but for rounding."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """What a paired test says of the differences of two systems.

    Attributes:
        topics: how many differences there are.
        difference: their mean, None without any.
        statistic: Student's t; None for the other test, and where it is not defined.
        p: two-sided, in [0, 1]; None if the test is undefined (`paired_t`).
        effect: the mean difference in standard deviations of the differences (t / sqrt(n); Sakai,
            SIGIR Forum 48, 2014); None with fewer than two topics or without any variance.
    """

    topics: int
    difference: float | None
    statistic: float | None
    p: float | None
    effect: float | None


def paired_t(differences: Sequence[float] | Floats) -> PairedTest:
    """Student's paired t-test.

    Returns:
        p is 1 where all differences are 0. p is None with fewer than two topics, and where all
        differences are the same other than 0: without variance the test is not defined.

    Raises:
        MissingExtra: scipy is not installed.
    """
    values = np.asarray(differences, dtype=np.float64)
    mean, effect = _mean_and_effect(values)
    if effect is None:
        return PairedTest(len(values), mean, None, _certain(values), None)
    statistic = effect * len(values) ** 0.5
    p = min(1.0, 2 * _student_below(-abs(statistic), len(values) - 1))
    return PairedTest(len(values), mean, statistic, p, effect)


def paired_randomisation(differences: Sequence[float] | Floats, seed: int = 0) -> PairedTest:
    """Fisher's paired randomisation test: how often do signs at random give as large a mean?

    Exact with up to 16 differences other than 0 (those of 0 have no sign). Above, 100,000
    patterns are drawn and p is (1 + as large) / (1 + drawn), never 0 (Phipson and Smyth,
    Stat. Appl. Genet. Mol. Biol. 9, 2010). Its use in retrieval: Smucker et al., CIKM 2007.

    Args:
        differences: one for each topic.
        seed: of the patterns; the same seed gives the same p.

    Returns:
        p is 1 where all differences are 0, None without a topic.
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
    """Test that a system is not lower than another by a margin or more (non-inferiority).

    One-sided, of the hypothesis that the mean difference is -margin or less. Called once with the
    differences and once with their negatives it is Schuirmann's two one-sided tests: the larger p
    is that of equivalence (J. Pharmacokin. Biopharm. 15, 1987).

    Args:
        differences: one for each topic, system less other.
        margin: above 0, in the units of the measure.
        test: `t`, or signs at random of the differences with the margin added.
        seed: of the signs.

    Returns:
        p; None where the test says nothing: without a topic, and for `t` with one topic or without
        variance.

    Raises:
        ValueError: the margin is not a number above 0.
        MissingExtra: scipy is not installed, which the t-test needs.
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
    """Return what is shown of a system by tests of its differences to another.

    Args:
        difference: the mean; its sign counts, never its size.
        p: two-sided, corrected for all comparisons that are looked at together.
        p_not_lower: one-sided, against the margin (`not_lower`), corrected in the same way; None
            where no margin was set, or the test says nothing.
        p_equivalent: the larger of that and of the same test of the negated differences, corrected.
    """
    if difference is not None and p is not None and p < SIGNIFICANT:
        return "higher" if difference > 0 else "lower"
    if p_equivalent is not None and p_equivalent < ONE_SIDED:
        return "equivalent"
    if p_not_lower is not None and p_not_lower < ONE_SIDED:
        return "not lower"
    return "inconclusive"


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values adjusted for being looked at together (Holm, Scand. J. Statist. 6, 1979).

    An adjusted p below the level is significant with the whole family's error at that level,
    whatever the tests have in common.

    Args:
        p_values: of all comparisons that are made; None belongs to no test and stays None.
    """
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


def _certain(values: Floats) -> float | None:
    """Return p where the differences have no variance."""
    return 1.0 if len(values) >= 2 and not values.any() else None


def _as_large(signed: Floats, size: Callable[[Floats], Floats], seed: int) -> float:
    """Return the share of patterns of signs whose sum has a size as large as the one observed."""
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
    """Return the chance of a value of Student's distribution below `statistic`."""
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
