"""A reliability diagram as an SVG picture: stated probabilities against the shares that came true.

Each bin is a dot at its mean probability and its share of yes, with the share's interval; dots on
the dashed diagonal are what is stated. Bars below say how many pairs each bin holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from pnyx.errors import shorten
from pnyx.measure.calibration_error import ReliabilityBin
from pnyx.view.svg import MARGIN, document, drawn_line, drawn_text

__all__ = ["reliability_plot"]

_SIDE, _BARS, _LEFT, _HEAD = 320, 70, 46, 46
_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_WIDE = MARGIN + _LEFT + _SIDE + MARGIN


def reliability_plot(bins: Sequence[ReliabilityBin], title: str, notes: Sequence[str] = ()) -> str:
    """Return an SVG document.

    Args:
        bins: what `pnyx.reliability` returns.
        title: shown above, for instance the judge's name.
        notes: lines below.
    """
    left, top = MARGIN + _LEFT, MARGIN + _HEAD
    base = top + _SIDE + 34 + _BARS
    parts = [
        drawn_text(shorten(title, 50), MARGIN, MARGIN + 12, "head"),
        *_square(left, top),
        *_bars(bins, left, base),
    ]
    parts += [mark for part in bins for mark in _dot(part, left, top)]
    parts.append(drawn_text("probability of yes", left + _SIDE / 2, base + 16, "tick"))
    return document(f"{title}: reliability", _WIDE, base + 26, parts, notes)


def _square(left: float, top: float) -> list[str]:
    parts = [drawn_text("share of yes", left - _LEFT, top - 8, "note")]
    for tick in _TICKS:
        y, x = top + _SIDE * (1 - tick), left + _SIDE * tick
        parts.append(drawn_line(left, y, left + _SIDE, y, "rule"))
        parts.append(drawn_line(x, top, x, top + _SIDE, "rule"))
        parts.append(drawn_text(f"{tick:.1f}", left - 8, y + 4, "end note"))
        parts.append(drawn_text(f"{tick:.1f}", x, top + _SIDE + 16, "tick"))
    return [*parts, drawn_line(left, top + _SIDE, left + _SIDE, top, "base")]


def _dot(part: ReliabilityBin, left: float, top: float) -> list[str]:
    if part.mean_probability is None or part.share is None:
        return []
    x, y = left + _SIDE * part.mean_probability, top + _SIDE * (1 - part.share)
    marks = [f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>']
    if part.low is not None and part.high is not None:
        ends = (top + _SIDE * (1 - bound) for bound in (part.low, part.high))
        marks.insert(0, drawn_line(x, next(ends), x, next(ends), "span"))
    return marks


def _bars(bins: Sequence[ReliabilityBin], left: float, base: float) -> list[str]:
    """Draw how many pairs each bin holds, the fullest at full height."""
    most = max((part.count for part in bins), default=0) or 1
    parts = [drawn_line(left, base, left + _SIDE, base, "rule")]
    for part in bins:
        x, wide = left + _SIDE * part.start, _SIDE * (part.end - part.start)
        tall = (_BARS - 16) * part.count / most
        parts.append(
            f'<rect class="bar" x="{x + 1:.1f}" y="{base - tall:.1f}" width="{wide - 2:.1f}" '
            f'height="{tall:.1f}"/>'
        )
        parts.append(drawn_text(f"{part.count}", x + wide / 2, base - tall - 4, "tick"))
    return parts
