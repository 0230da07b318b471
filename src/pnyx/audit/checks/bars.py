"""Bars that a judge must reach, and the three-way decision on an interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pnyx.core.errors import InputError, escaped
from pnyx.core.tabular import Result
from pnyx.judging.measures.registry import MEASURES
from pnyx.stats.base import Measured, plain

BarVerdict: TypeAlias = Literal["above", "below", "undecided"]
"""Whether the whole interval reaches the bar, none of it does, or it lies on both sides."""

ALIASES = {
    "tpr": "sensitivity",
    "recall": "sensitivity",
    "tnr": "specificity",
    "ppv": "precision",
    "mae": "mean_absolute_error",
}
"""Another name of a measure -> the name that Pnyx uses everywhere."""

LOWER_IS_BETTER = frozenset(name for name, measure in MEASURES.items() if measure.best == 0)
"""Measures of error: their bar is the most that is allowed."""

DEFAULT_BARS = {"yes-no": {"kappa": 0.6}, "rating": {"alpha_ordinal": 0.667}}
"""Kind of table -> the bar without --bar.

Kappa above 0.6 is "substantial" agreement (Landis and Koch, Biometrics 33, 1977); from an alpha of
0.667 on, tentative conclusions are acceptable (Krippendorff, Content Analysis, 2004, p. 241).
"""

EXIT_BELOW = 1
EXIT_UNDECIDED = 3


@dataclass(frozen=True, slots=True)
class DecidedBar:
    """One judge's measure compared with a bar.

    Attributes:
        judge, measure: whose measure, by the name that Pnyx uses everywhere.
        bar: the least value that is good enough; the most where lower is better.
        measured: the value with its interval.
        verdict: what the interval says.
        why: why it is undecided; else empty.
    """

    judge: str
    measure: str
    bar: float
    measured: Measured
    verdict: BarVerdict
    why: str = ""

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return {
            "judge": self.judge,
            "measure": self.measure,
            "bar": self.bar,
            "at": "most" if self.measure in LOWER_IS_BETTER else "least",
            "verdict": self.verdict,
            **({"why": self.why} if self.why else {}),
            **self.measured.row(),
        }


@dataclass(frozen=True, slots=True, repr=False)
class Decision(Result):
    """Whether all bars are reached: `above`, `below` if any is missed, else `undecided`.

    Unscored answers count neither for nor against a judge: if there are any among the labelled
    ones, a decision that would be `above` is `undecided`.
    """

    bars: Sequence[DecidedBar]
    unscored: int = 0

    @property
    def verdict(self) -> BarVerdict:
        """What all bars say together."""
        verdicts = {bar.verdict for bar in self.bars}
        if "below" in verdicts:
            return "below"
        return "undecided" if "undecided" in verdicts or self.unscored else "above"

    @property
    def passed(self) -> bool | None:
        """True: above; False: below; None: not decided yet."""
        return {"above": True, "below": False, "undecided": None}[self.verdict]

    @property
    def exit_status(self) -> int:
        """Exit status of `pnyx check --bar`."""
        return {"above": 0, "below": EXIT_BELOW, "undecided": EXIT_UNDECIDED}[self.verdict]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each bar."""
        return [bar.row() for bar in self.bars]

    def _heading(self) -> list[str]:
        left = f", {self.unscored:,} unscored" if self.unscored else ""
        return [f"{self.verdict} ({len(self.bars)} bar{'s' * (len(self.bars) != 1)}{left})"]

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return {"verdict": self.verdict, "unscored": self.unscored, "bars": plain(list(self.bars))}


def canonical_bars(bars: Mapping[str, float]) -> dict[str, float]:
    """Return bars by the names that Pnyx uses everywhere.

    Raises:
        InputError: a bar is not a finite number, lies outside its measure's range, or is given
            twice under two names.
    """
    canonical: dict[str, float] = {}
    for alias, bar in bars.items():
        name = ALIASES.get(alias, alias)
        where = f"bar {escaped(alias, 40)}"
        if isinstance(bar, bool) or not isinstance(bar, int | float) or not math.isfinite(bar):
            raise InputError(f"{where}: found {escaped(bar, 40)}, expected a finite number")
        measure = MEASURES.get(name)
        low, high = (0.0, 1.0) if measure is None else (measure.low, measure.high)
        if not low <= bar <= high:
            expected = f"a number from {low:g} to {high:g}" if math.isfinite(high) else "at least 0"
            raise InputError(f"{where}: found {bar:g}, expected {expected}")
        if name in canonical:
            raise InputError(f"{where}: {name} is given twice")
        canonical[name] = float(bar)
    return canonical


def decide_bar(
    judge: str, measure: str, bar: float, measured: Measured, too_few: str = ""
) -> DecidedBar:
    """Compare one measure's interval with a bar.

    The verdict is `above` if the whole interval is at or above the bar, `below` if all of it is
    below. Otherwise it is `undecided`, as it is without an interval, and with too few labels:
    `too_few` says why. For measures of error, `above` means at most the bar, `below` above it.
    """
    verdict, why = _verdict(measure, bar, measured)
    if too_few and verdict != "undecided":
        verdict, why = "undecided", too_few
    return DecidedBar(judge, measure, bar, measured, verdict, why)


def _verdict(measure: str, bar: float, measured: Measured) -> tuple[BarVerdict, str]:
    low, high = measured.low, measured.high
    if measured.value is None:
        why = "nothing is scored" if not measured.scored else "it has no value on these labels"
        return "undecided", why
    if low is None or high is None:
        return "undecided", f"no interval: {measured.no_interval or 'none was drawn'}"
    if measure in LOWER_IS_BETTER:
        low, high, bar = -high, -low, -bar
    if low >= bar:
        return "above", ""
    if high < bar:
        return "below", ""
    return "undecided", "the interval lies on both sides of the bar"
