"""Figures in sentences: `56 % (30 to 80 %)`, `0.18 (-0.03 to 0.37, 15 questions)`."""

from __future__ import annotations

from pnyx.stats.base import Measured


def percent(value: float) -> str:
    """Return a share as a whole percentage; 0 % and 100 % only if exact."""
    number = round(100 * value)
    return f"{100 * value:.1f} %" if number in (0, 100) and 0 < value < 1 else f"{number} %"


def percent_ends(measured: Measured) -> str:
    """Return the ends of an interval, `30 to 80 %`; empty without one."""
    if measured.low is None or measured.high is None:
        return ""
    return f"{percent(measured.low).removesuffix(' %')} to {percent(measured.high)}"


def share(measured: Measured, interval: str = "", *, inside: bool = False) -> str:
    """Return a share with its interval: `13 % (7 to 21 %)`.

    With a comma if `inside` parentheses.
    """
    value = "undefined" if measured.value is None else percent(measured.value)
    ends = percent_ends(measured)
    if not ends:
        return f"{value}, no interval" if inside else value
    return f"{value}, {interval}{ends}" if inside else f"{value} ({interval}{ends})"


def decimals(measured: Measured, base: str = "") -> str:
    """Return a figure with its interval: `0.18 (-0.03 to 0.37, 15 questions)`."""
    value = "undefined" if measured.value is None else f"{measured.value:z.2f}"
    parts = [base] if base else []
    if measured.low is not None and measured.high is not None:
        parts.insert(0, f"{measured.low:z.2f} to {measured.high:z.2f}")
    return f"{value} ({', '.join(parts)})" if parts else value


def signed(measured: Measured, *, points: bool) -> str:
    """Return a difference with its interval: in percentage points, or on the scale of ratings."""
    if measured.value is None:
        return "-"
    times, digits, unit = (100, 0, " points") if points else (1, 2, "")
    text = f"{times * measured.value:+.{digits}f}{unit}"
    if measured.low is None or measured.high is None:
        return text
    return f"{text}, {times * measured.low:+.{digits}f} to {times * measured.high:+.{digits}f}"
