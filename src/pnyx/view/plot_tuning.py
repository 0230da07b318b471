"""A measure over the values of each parameter that was tuned, as an SVG picture."""

from __future__ import annotations

from collections.abc import Sequence

from pnyx.audit.tuning import Setting, Tuned
from pnyx.view.plot import ticks
from pnyx.view.svg import MARGIN, document, drawn_line, drawn_path, drawn_text

__all__ = ["tuning_plot"]

_WIDE, _HIGH, _LEFT, _HEAD, _GAP, _FOOT = 300, 200, 40, 44, 56, 30
_COLOUR = "#0b5fa5"


def tuning_plot(found: Tuned, notes: Sequence[str] = ()) -> str:
    """Return an SVG document: a panel for each parameter, the others as in the best setting.

    Values stand at equal distances. The dashed line is the default's mean, the dot the best's.
    """
    names = list(found.tuning.grid)
    curves = [found.curve(name) for name in names]
    scale = _Scale([setting for curve in curves for _, setting in curve] + [found.default])
    parts = [drawn_text(f"{found.measure} by parameter", MARGIN, MARGIN + 10, "head")]
    for place, (name, curve) in enumerate(zip(names, curves, strict=True)):
        left = MARGIN + _LEFT + place * (_WIDE + _GAP)
        parts += _panel(found, name, curve, left, scale)
    wide = MARGIN + _LEFT + len(names) * (_WIDE + _GAP) - _GAP + MARGIN
    high = MARGIN + _HEAD + _HIGH + _FOOT
    return document(f"{found.measure} by parameter", wide, high, parts, notes)


class _Scale:
    """Where a mean stands, the same in all panels."""

    def __init__(self, settings: Sequence[Setting]) -> None:
        found = [
            value
            for setting in settings
            for value in (setting.mean.value, setting.mean.low, setting.mean.high)
            if value is not None
        ]
        self.ticks = ticks(min(found), max(found))

    def y(self, value: float) -> float:
        first, last = self.ticks[0], self.ticks[-1]
        return MARGIN + _HEAD + _HIGH * (last - value) / (last - first)


def _panel(
    found: Tuned, name: str, curve: Sequence[tuple[float, Setting]], left: float, scale: _Scale
) -> list[str]:
    bottom = MARGIN + _HEAD + _HIGH
    step = _WIDE / max(1, len(curve) - 1)
    parts = [drawn_text(name.replace("_", " "), left, MARGIN + 32, "head")]
    for tick in scale.ticks:
        y = scale.y(tick)
        parts.append(drawn_line(left, y, left + _WIDE, y, "rule"))
        parts.append(drawn_text(f"{tick:.3g}", left - 8, y + 4, "end note"))
    middle: list[tuple[float, float]] = []
    low: list[tuple[float, float]] = []
    high: list[tuple[float, float]] = []
    for place, (value, setting) in enumerate(curve):
        x, mean = left + step * place, setting.mean
        parts.append(drawn_text(f"{value:g}", x, bottom + 16, "tick"))
        for points, at in ((middle, mean.value), (low, mean.low), (high, mean.high)):
            if at is not None:
                points.append((x, scale.y(at)))
    if low and high:
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*low, *reversed(high)])
        parts.append(f'<polygon points="{corners}" fill="{_COLOUR}" opacity=".15"/>')
    default, best = found.default.mean.value, found.best.mean.value
    if default is not None:
        y = scale.y(default)
        parts.append(drawn_line(left, y, left + _WIDE, y, "base"))
    parts.append(drawn_path(middle, _COLOUR, "", 2.5))
    if best is not None:
        x = left + step * [value for value, _ in curve].index(found.best.parameters[name])
        parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{scale.y(best):.1f}" r="4.5"/>')
    return parts
