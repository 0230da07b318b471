"""The pictures of measures, as SVG: intervals, thresholds, amounts, tuning, calibration."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pnyx.core.errors import escaped, shorten
from pnyx.display.svg import (
    MARGIN,
    TENTHS,
    Axes,
    Axis,
    bar,
    document,
    drawn_line,
    drawn_path,
    drawn_text,
)
from pnyx.judging.judge_names import short_name

if TYPE_CHECKING:
    from pnyx.judging.calibration.curves import Curve as Recalibration
    from pnyx.judging.measures.binary import ReliabilityBin
    from pnyx.judging.measures.thresholds import Amount, Curve, Thresholds
    from pnyx.stats.base import Measured


# Means with their intervals: a panel for each measure, a row for each run ------------------------

_PANEL, _ROW, _GAP, _HEAD, _FOOT = 250, 24, 36, 34, 26
_NUMBER = 66  # Width of the column of numbers to the right of each panel
_CHARACTER = 7.3  # generous width of a character of a label
_LONGEST = 28
_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class Point:
    """A row of a panel; a value of None is shown as a dash, `mark` after the number."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    mark: str = ""


@dataclass(frozen=True, slots=True)
class PlotPanel:
    """One measure: its rows, the same in all panels.

    The axis has the `bounds` or those of the values.
    """

    title: str
    points: Sequence[Point]
    reference: float | None = None
    bounds: tuple[float, float] | None = None


def interval_plot(panels: Sequence[PlotPanel], notes: Sequence[str] = ()) -> str:
    """Return the means with their intervals as an SVG document; all panels have the same labels."""
    labels = [escaped(point.label, _LONGEST) for point in panels[0].points]
    gutter = MARGIN + math.ceil(max(map(len, labels)) * _CHARACTER) + 12
    rows = math.ceil(len(panels) / _COLUMNS)
    columns = math.ceil(len(panels) / rows)
    tall = _HEAD + _ROW * len(labels) + _FOOT
    wide = gutter + columns * (_PANEL + _NUMBER) + (columns - 1) * _GAP + MARGIN
    high = MARGIN + rows * tall + (rows - 1) * _GAP // 2
    parts = []
    for position, panel in enumerate(panels):
        row, column = divmod(position, columns)
        top = MARGIN + row * (tall + _GAP // 2) + _HEAD
        left = gutter + column * (_PANEL + _NUMBER + _GAP)
        for n, label in enumerate(labels if column == 0 else ()):
            parts.append(drawn_text(label, gutter - 12, top + _ROW * (n + 0.5) + 4.5, "end"))
        parts += _interval_panel(panel, Axes(left, top, _PANEL, _ROW * len(labels)))
    titles = ", ".join(panel.title for panel in panels)
    return document(f"{titles}: means and intervals", wide, high, parts, notes)


def _interval_panel(panel: PlotPanel, axes: Axes) -> list[str]:
    values = [x for p in panel.points for x in (p.value, p.low, p.high) if x is not None]
    values += panel.bounds or ()
    scale = Axis(values)
    at = scale.at
    parts = [drawn_text(panel.title, axes.left, axes.top - _HEAD + 14, "head")]
    parts += axes.across(scale.labelled(), above=6)
    if panel.reference is not None:
        x = axes.x(at(panel.reference))
        parts.append(drawn_line(x, axes.top - 6, x, axes.y(0), "base"))
    for row, point in enumerate(panel.points):
        y = 1 - (row + 0.5) / len(panel.points)
        if point.low is not None and point.high is not None:
            parts.append(axes.line((at(point.low), y), (at(point.high), y), "span"))
        if point.value is not None:
            parts.append(axes.dot(at(point.value), y))
        label = "–" if point.value is None else f"{point.value:z.3f} {point.mark}".rstrip()
        parts.append(drawn_text(label, axes.x(1) + 12, axes.y(y) + 4.5))
    return parts


# F1 over thresholds beside F1 over k -------------------------------------------------------------

_SERIES = (
    ("precision", "s3", "6 4", 1.5),
    ("recall", "s4", "2 3", 1.5),
    ("f1", "s1", "", 2.5),
)
"""Field of the curves, class, dashes and width; the last is drawn over the others."""


def thresholds_plot(thresholds: Thresholds, notes: Sequence[str] = ()) -> str:
    """Return F1 by threshold and by k as an SVG document; dashed: F1 at the best threshold."""
    last = max(2.0, thresholds.cutoffs.at[-1])

    def by_k(k: float) -> float:
        return math.log(k) / math.log(last)

    left = Axes(MARGIN + 34, MARGIN + 56, 340, 240)
    right = Axes(left.x(1) + 94, left.top, left.wide, left.high)
    powers = [(by_k(k), str(k)) for k in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if k <= last]
    title = f"{escaped(short_name(thresholds.judge), 60) or 'annotations'}: which documents to take"
    parts = [drawn_text(title, MARGIN, MARGIN + 10, "head"), *_legend(left.left, MARGIN + 32)]
    for axes, curve, transform, ticks, caption in (
        (left, thresholds.thresholds, float, [(t, f"{t:g}") for t, _ in TENTHS],
         "probability from which documents are taken"),
        (right, thresholds.cutoffs, by_k, powers, "number k of documents taken for each question"),
    ):  # fmt: skip
        parts += _curves(curve, axes, transform, ticks)
        parts.append(drawn_text(caption, axes.x(0.5), axes.y(0) + 34, "tick"))
    best, cut = thresholds.best_threshold, thresholds.best_cutoff
    if best.f1.value is not None:
        for axes, x, f1 in ((left, best.at, best.f1), (right, by_k(cut.at), cut.f1)):
            parts.append(axes.line((0, best.f1.value), (1, best.f1.value), "base"))
            if f1.value is not None:
                parts.append(axes.dot(x, f1.value))
    wide, high = int(right.x(1) + MARGIN), int(left.y(0) + 44)
    return document("F1 by threshold and by k", wide, high, parts, notes)


def _legend(x: float, y: float) -> list[str]:
    parts = []
    for name, series, dashes, width in reversed(_SERIES):
        parts.append(drawn_path([(x, y - 4), (x + 28, y - 4)], series, dashes, width))
        parts.append(drawn_text("F1" if name == "f1" else name, x + 34, y))
        x += 110
    return parts


def _curves(
    curve: Curve,
    axes: Axes,
    transform: Callable[[float], float],
    ticks: Sequence[tuple[float, str]],
) -> list[str]:
    def points(measured: Sequence[Measured], end: str) -> list[tuple[float, float]]:
        values = [(at, getattr(m, end)) for at, m in zip(curve.at, measured, strict=True)]
        return [(transform(at), value) for at, value in values if value is not None]

    parts = axes.up(TENTHS) + axes.across(ticks)
    parts += axes.band(points(curve.f1, "low"), points(curve.f1, "high"))
    for name, series, dashes, width in _SERIES:
        parts.append(axes.path(points(getattr(curve, name), "value"), series, dashes, width))
    return parts


# Amounts of relevant information -----------------------------------------------------------------


def amount_plot(amounts: Mapping[str, Amount], names: Mapping[str, str]) -> str:
    """Return an SVG document: a bar for each question, as long as its mean probability."""
    labels = [shorten(names.get(q) or q or "all pairs", 48) for q in amounts]
    left = MARGIN + math.ceil(max(map(len, labels)) * 7.0) + 10
    means = [amount.mean or 0.0 for amount in amounts.values()]
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2) if s * 5 >= max(means) or s == 0.2)
    axes = Axes(left, MARGIN + 44, 320, 22 * len(labels))
    title = "relevant information by question: mean probability of a document"
    parts = [drawn_text(title, MARGIN, MARGIN + 10, "head")]
    parts += axes.across([(n / 5, f"{n * step:g}") for n in range(6)], above=6)
    for row, (label, amount) in enumerate(zip(labels, amounts.values(), strict=True)):
        y = axes.top + 22 * row
        long = axes.wide * (amount.mean or 0.0) / (step * 5)
        parts += [drawn_text(label, left - 8, y + 15, "end"), bar(left, y + 3, long, 16, label)]
        note = f"{amount.expected:.1f} of {amount.documents} expected"
        if amount.mean is None:
            note = f"none of {amount.unscored} scored"
        parts.append(drawn_text(note, axes.x(1) + 12, y + 15, "note"))
    wide, high = int(axes.x(1) + 200), int(axes.y(0) + 28)
    return document("amount of relevant information", wide, high, parts, ())


# A measure over the values of each parameter that was tuned --------------------------------------


# Stated probabilities against observed shares ------------------------------------------


def reliability_plot(bins: Sequence[ReliabilityBin], title: str, notes: Sequence[str] = ()) -> str:
    """Return a reliability diagram, over bars of the number of pairs in each bin, as SVG."""
    axes = Axes(MARGIN + 46, MARGIN + 46, 320, 320)
    base = axes.y(0) + 104
    parts = [
        drawn_text(escaped(title, 50), MARGIN, MARGIN + 12, "head"),
        drawn_text("share of yes", MARGIN, axes.top - 8, "note"),
        *axes.up(TENTHS),
        *axes.across(TENTHS),
        axes.line((0, 0), (1, 1), "base"),
        drawn_line(axes.left, base, axes.x(1), base, "rule"),
    ]
    most = max((part.count for part in bins), default=0) or 1
    for part in bins:
        x, wide = axes.x(part.start), axes.wide * (part.end - part.start)
        tall = 54 * part.count / most  # the fullest at full height
        parts.append(bar(x + 1, base - tall, wide - 2, tall))
        parts.append(drawn_text(f"{part.count}", x + wide / 2, base - tall - 4, "tick"))
    for part in bins:
        if part.mean_probability is not None and part.share is not None:
            at = part.mean_probability
            if part.low is not None and part.high is not None:
                parts.append(axes.line((at, part.low), (at, part.high), "span"))
            parts.append(axes.dot(at, part.share))
    parts.append(drawn_text("probability of yes", axes.x(0.5), base + 16, "tick"))
    wide_, high_ = int(axes.x(1) + MARGIN), int(base + 26)
    return document(f"{title}: reliability", wide_, high_, parts, notes)


# Stated against recalibrated probabilities
# ---------------------------------------------------------

_POINTS = 201


def recalibration_plot(curve: Recalibration, threshold: float) -> str:
    """Return the curve as an SVG document; dashed: no change, and the threshold for yes."""
    axes = Axes(MARGIN + 46, MARGIN + 46, 320, 320)
    at = [n / (_POINTS - 1) for n in range(_POINTS)]
    fitted = [min(1.0, max(0.0, float(value))) for value in curve(at)]
    parts = [
        drawn_text("recalibrated probability of yes", MARGIN, MARGIN + 12, "head"),
        *axes.up(TENTHS),
        *axes.across(TENTHS),
        axes.line((0, 0), (1, 1), "base"),
        axes.line((0, threshold), (1, threshold), "base"),
        axes.path(list(zip(at, fitted, strict=True))),
        drawn_text("stated probability of yes", axes.x(0.5), axes.y(0) + 34, "tick"),
    ]
    wide, high = int(axes.x(1) + MARGIN), int(axes.y(0) + 44)
    return document("Recalibrated probabilities", wide, high, parts, ())
