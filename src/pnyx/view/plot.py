"""Means with their intervals as an SVG picture: one panel for each measure, one row for each run.

Plain SVG 1.1 with system fonts, so that it opens anywhere, prints, and can be edited; no script,
nothing loaded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from pnyx.errors import shorten

__all__ = ["Panel", "Point", "interval_plot"]

_PANEL, _ROW, _GAP, _HEAD, _FOOT = 250, 24, 36, 34, 26
_MARGIN = 20
_NUMBER = 66
"""Width of the column of numbers to the right of each panel."""
_CHARACTER = 7.3
"""Width of a character of a label, on the broad side."""
_LONGEST = 28
_COLUMNS = 3
_INK, _GREY, _RULE, _DOT, _BASE = "#1c1c1c", "#5f6368", "#e3e5e8", "#0b5fa5", "#8a5a00"


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
    gutter = _MARGIN + math.ceil(max(map(len, labels)) * _CHARACTER) + 12
    rows = math.ceil(len(panels) / _COLUMNS)
    columns = math.ceil(len(panels) / rows)
    tall = _HEAD + _ROW * len(labels) + _FOOT
    wide = gutter + columns * (_PANEL + _NUMBER) + (columns - 1) * _GAP + _MARGIN
    lines = [line for note in notes for line in _wrapped(note, int((wide - 2 * _MARGIN) / 6.2))]
    high = _MARGIN + rows * tall + (rows - 1) * _GAP // 2 + 18 * len(lines) + _MARGIN
    parts = []
    for place, panel in enumerate(panels):
        row, column = divmod(place, columns)
        top = _MARGIN + row * (tall + _GAP // 2)
        if column == 0:
            parts += _labels(labels, gutter - 12, top)
        parts += _panel(panel, gutter + column * (_PANEL + _NUMBER + _GAP), top)
    for n, line in enumerate(lines):
        parts.append(_text(line, _MARGIN, high - _MARGIN - 18 * (len(lines) - n - 1), "note"))
    titles = ", ".join(panel.title for panel in panels)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" '
        f'height="{high}" role="img">\n<title>{_clean(titles)}: means and intervals</title>\n'
        f"<style>\n{_STYLE}</style>\n"
        f'<rect width="{wide}" height="{high}" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


_STYLE = f"""text {{ font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: {_INK} }}
.head {{ font-weight: 600 }}
.end {{ text-anchor: end }}
.tick {{ text-anchor: middle; font-size: 11px; fill: {_GREY} }}
.note {{ font-size: 12px; fill: {_GREY} }}
.rule {{ stroke: {_RULE} }}
.base {{ stroke: {_BASE}; stroke-dasharray: 3 3 }}
.span {{ stroke: {_DOT}; stroke-width: 2; stroke-linecap: round }}
.dot {{ fill: {_DOT} }}
"""


def _labels(labels: Sequence[str], right: float, top: float) -> list[str]:
    return [_text(label, right, _middle(top, n) + 4.5, "end") for n, label in enumerate(labels)]


def _middle(top: float, row: int) -> float:
    return top + _HEAD + _ROW * (row + 0.5)


def _panel(panel: Panel, left: float, top: float) -> list[str]:
    ticks = _ticks(panel)
    first, last = ticks[0], ticks[-1]

    def x(value: float) -> float:
        return left + _PANEL * (value - first) / (last - first)

    bottom = top + _HEAD + _ROW * len(panel.points)
    parts = [_text(panel.title, left, top + 14, "head")]
    for tick in ticks:
        parts.append(_line(x(tick), top + _HEAD - 6, x(tick), bottom, "rule"))
        parts.append(_text(_number(tick, ticks[1] - first), x(tick), bottom + 16, "tick"))
    if panel.reference is not None:
        at = x(panel.reference)
        parts.append(_line(at, top + _HEAD - 6, at, bottom, "base"))
    for row, point in enumerate(panel.points):
        y = _middle(top, row)
        if point.low is not None and point.high is not None:
            parts.append(_line(x(point.low), y, x(point.high), y, "span"))
        if point.value is not None:
            parts.append(f'<circle class="dot" cx="{x(point.value):.1f}" cy="{y:.1f}" r="4.5"/>')
        shown = "–" if point.value is None else f"{point.value:z.3f} {point.mark}".rstrip()
        parts.append(_text(shown, left + _PANEL + 12, y + 4.5))
    return parts


def _ticks(panel: Panel) -> list[float]:
    """Return 3 to 7 round numbers between whose first and last all of the panel lies."""
    found = [x for p in panel.points for x in (p.value, p.low, p.high) if x is not None]
    low, high = (min(found), max(found)) if found else (0.0, 1.0)
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


def _text(text: str, x: float, y: float, kind: str = "") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{style}>{_clean(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _clean(text: str) -> str:
    """Return text for XML, which knows no control characters, not even escaped ones."""
    return escape(shorten(text, 400))


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in shorten(text, 2000).split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
