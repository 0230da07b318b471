"""Means with their intervals as an SVG picture: a panel for each measure, a row for each run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pnyx.errors import shorten
from pnyx.view.svg import MARGIN, document, drawn_line, drawn_text

__all__ = ["Panel", "Point", "interval_plot", "ticks"]

_PANEL, _ROW, _GAP, _HEAD, _FOOT = 250, 24, 36, 34, 26
_NUMBER = 66
"""Width of the column of numbers to the right of each panel."""
_CHARACTER = 7.3
"""Width of a character of a label, on the broad side."""
_LONGEST = 28
_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class Point:
    """A row of a panel.

    Attributes:
        label: the run's name.
        value: its mean; None is shown as a dash.
        low: lower end of the interval, None without one.
        high: upper end of the interval, None without one.
        mark: shown after the number, for instance for significance.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One measure: its name, its rows and, if any, the baseline's value to draw a line at.

    All panels of a picture have the same rows in the same order.
    """

    title: str
    points: Sequence[Point]
    reference: float | None = None


def interval_plot(panels: Sequence[Panel], notes: Sequence[str] = ()) -> str:
    """Return an SVG document.

    Args:
        panels: at least one, all with the same labels.
        notes: lines below the panels.
    """
    labels = [shorten(point.label, _LONGEST) for point in panels[0].points]
    gutter = MARGIN + math.ceil(max(map(len, labels)) * _CHARACTER) + 12
    rows = math.ceil(len(panels) / _COLUMNS)
    columns = math.ceil(len(panels) / rows)
    tall = _HEAD + _ROW * len(labels) + _FOOT
    wide = gutter + columns * (_PANEL + _NUMBER) + (columns - 1) * _GAP + MARGIN
    high = MARGIN + rows * tall + (rows - 1) * _GAP // 2
    parts = []
    for place, panel in enumerate(panels):
        row, column = divmod(place, columns)
        top = MARGIN + row * (tall + _GAP // 2)
        if column == 0:
            parts += _labels(labels, gutter - 12, top)
        parts += _panel(panel, gutter + column * (_PANEL + _NUMBER + _GAP), top)
    titles = ", ".join(panel.title for panel in panels)
    return document(f"{titles}: means and intervals", wide, high, parts, notes)


def _labels(labels: Sequence[str], right: float, top: float) -> list[str]:
    return [
        drawn_text(label, right, _middle(top, n) + 4.5, "end") for n, label in enumerate(labels)
    ]


def _middle(top: float, row: int) -> float:
    return top + _HEAD + _ROW * (row + 0.5)


def _panel(panel: Panel, left: float, top: float) -> list[str]:
    found = [x for p in panel.points for x in (p.value, p.low, p.high) if x is not None]
    marks = ticks(min(found), max(found)) if found else ticks(0.0, 1.0)
    first, last = marks[0], marks[-1]

    def x(value: float) -> float:
        return left + _PANEL * (value - first) / (last - first)

    bottom = top + _HEAD + _ROW * len(panel.points)
    parts = [drawn_text(panel.title, left, top + 14, "head")]
    for tick in marks:
        parts.append(drawn_line(x(tick), top + _HEAD - 6, x(tick), bottom, "rule"))
        parts.append(drawn_text(_number(tick, marks[1] - first), x(tick), bottom + 16, "tick"))
    if panel.reference is not None:
        at = x(panel.reference)
        parts.append(drawn_line(at, top + _HEAD - 6, at, bottom, "base"))
    for row, point in enumerate(panel.points):
        y = _middle(top, row)
        if point.low is not None and point.high is not None:
            parts.append(drawn_line(x(point.low), y, x(point.high), y, "span"))
        if point.value is not None:
            parts.append(f'<circle class="dot" cx="{x(point.value):.1f}" cy="{y:.1f}" r="4.5"/>')
        shown = "–" if point.value is None else f"{point.value:z.3f} {point.mark}".rstrip()
        parts.append(drawn_text(shown, left + _PANEL + 12, y + 4.5))
    return parts


def ticks(low: float, high: float) -> list[float]:
    """Return 3 to 7 round numbers, the first at most `low`, the last at least `high`."""
    if high - low < 1e-9 * max(1.0, abs(high)):
        low, high = low - 0.05 * max(1.0, abs(low)), high + 0.05 * max(1.0, abs(high))
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
    start, stop = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [n * step for n in range(start, max(stop, start + 2) + 1)]


def _number(value: float, step: float) -> str:
    """Return a tick's number with the digits that tell it from its neighbours."""
    return f"{value:z.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"
