"""The plot of a tuned search model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pnyx.display.svg import MARGIN, Axes, Axis, drawn_text

if TYPE_CHECKING:
    from pnyx.search.parameter_search import Setting, Tuned

from typing import TYPE_CHECKING

from pnyx.display.svg import document

if TYPE_CHECKING:
    from pnyx.search.parameter_search import Tuned


def tuning_plot(tuned: Tuned, notes: Sequence[str] = ()) -> str:
    """Return a panel for each parameter, the others as in the best setting, as an SVG document."""
    curves = {name: tuned.curve(name) for name in tuned.tuning.grid}
    settings = [setting for curve in curves.values() for _, setting in curve] + [tuned.default]
    means = [x for s in settings for x in (s.mean.value, s.mean.low, s.mean.high) if x is not None]
    scale = Axis(means)
    parts = [drawn_text(f"{tuned.measure} by parameter", MARGIN, MARGIN + 10, "head")]
    axes = Axes(MARGIN + 40, MARGIN + 44, 300, 200)
    for name, curve in curves.items():
        parts += _tuned_panel(tuned, name, curve, axes, scale)
        axes = Axes(axes.x(1) + 56, axes.top, axes.wide, axes.high)
    wide, high = int(axes.left - 56 + MARGIN), int(axes.y(0) + 30)
    return document(f"{tuned.measure} by parameter", wide, high, parts, notes)


def _tuned_panel(
    tuned: Tuned,
    name: str,
    curve: Sequence[tuple[float, Setting]],
    axes: Axes,
    scale: Axis,
) -> list[str]:
    at = scale.at
    places = {value: n / max(1, len(curve) - 1) for n, (value, _) in enumerate(curve)}
    parts = [drawn_text(name.replace("_", " "), axes.left, MARGIN + 32, "head")]
    parts += axes.up([(at(tick), f"{tick:.3g}") for tick in scale.marks])
    for value, x in places.items():
        parts.append(drawn_text(f"{value:g}", axes.x(x), axes.y(0) + 16, "tick"))
    middle, low, high = (
        [(places[v], at(y)) for v, s in curve if (y := getattr(s.mean, end)) is not None]
        for end in ("value", "low", "high")
    )
    parts += axes.band(low, high)
    default, best = tuned.default.mean.value, tuned.best.mean.value
    if default is not None:
        parts.append(axes.line((0, at(default)), (1, at(default)), "base"))
    parts.append(axes.path(middle))
    if best is not None:
        parts.append(axes.dot(places[tuned.best.parameters[name]], at(best)))
    return parts
