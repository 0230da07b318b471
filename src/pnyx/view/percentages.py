"""Shares as percentages in sentences: `56 %, 95 % interval 30 to 80 %`."""

from __future__ import annotations

from pnyx.measure.core.base import Measured


def percent(share: float) -> str:
    """Return a share as a whole percentage; just below 0 or 1 it is not rounded to these."""
    number = round(100 * share)
    if number in (0, 100) and 0 < share < 1:
        return f"{100 * share:.1f} %"
    return f"{number} %"


def percent_ends(measured: Measured) -> str:
    """Return the ends of an interval, `30 to 80 %`; empty where there is none."""
    if measured.low is None or measured.high is None:
        return ""
    return f"{percent(measured.low).removesuffix(' %')} to {percent(measured.high)}"


def percent_interval(measured: Measured, *, first: bool = False) -> str:
    """Return `56 %, 30 to 80 %`, with `95 % interval` if it is the first of a text."""
    if measured.value is None:
        return "-"
    ends = percent_ends(measured)
    return (
        f"{percent(measured.value)}, {'95 % interval ' * first}{ends}"
        if ends
        else (percent(measured.value))
    )
