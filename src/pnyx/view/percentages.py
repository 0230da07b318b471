"""Shares as percentages in sentences: `56 %, 95 % interval 30 to 80 %`."""

from __future__ import annotations

from pnyx.measure.core.base import Measured


def percent(share: float) -> str:
    """Return a share as a whole percentage; just below 0 or 1 it is not rounded to these."""
    number = round(100 * share)
    if number in (0, 100) and 0 < share < 1:
        return f"{100 * share:.1f} %"
    return f"{number} %"


def percent_interval(measured: Measured, *, first: bool = False) -> str:
    """Return `56 %, 30 to 80 %`, with `95 % interval` if it is the first of a text."""
    if measured.value is None:
        return "-"
    if measured.low is None or measured.high is None:
        return percent(measured.value)
    ends = f"{percent(measured.low).removesuffix(' %')} to {percent(measured.high)}"
    return f"{percent(measured.value)}, {'95 % interval ' if first else ''}{ends}"
