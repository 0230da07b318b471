"""A recalibration's curve as SVG: from stated probabilities to better ones."""

from __future__ import annotations

from collections.abc import Sequence

from pnyx.judge.calibration.curves import Curve
from pnyx.view.svg import MARGIN, Axes, document, drawn_text

_POINTS = 201
_TENTHS = [(n / 5, f"{n / 5:.1f}") for n in range(6)]


def recalibration_plot(curve: Curve, threshold: float, notes: Sequence[str] = ()) -> str:
    """Return the curve as an SVG document; dashed: no change, and the threshold for yes."""
    axes = Axes(MARGIN + 46, MARGIN + 46, 320, 320)
    at = [n / (_POINTS - 1) for n in range(_POINTS)]
    found = [min(1.0, max(0.0, float(value))) for value in curve(at)]
    parts = [
        drawn_text("recalibrated probability of yes", MARGIN, MARGIN + 12, "head"),
        *axes.up(_TENTHS),
        *axes.across(_TENTHS),
        axes.line((0, 0), (1, 1), "base"),
        axes.line((0, threshold), (1, threshold), "base"),
        axes.path(list(zip(at, found, strict=True))),
        drawn_text("stated probability of yes", axes.x(0.5), axes.y(0) + 34, "tick"),
    ]
    wide, high = int(axes.x(1) + MARGIN), int(axes.y(0) + 44)
    return document("Recalibrated probabilities", wide, high, parts, notes)
