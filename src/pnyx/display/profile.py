"""A quality profile: means of ratings by dimension, in the branches of the taxonomy, as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pnyx.core.errors import escaped
from pnyx.display.svg import MARGIN, Axes, document, drawn_line, drawn_text
from pnyx.judging.dimensions import aspects_of, dimensions_of
from pnyx.stats.base import Measured

_ROW, _GAP, _HEADING = 24, 10, 26
_LABELS, _WIDE, _NUMBERS = 168, 300, 54
_MOST: Final = 2
"""Most groups in one picture: more would hide each other."""


def profile_order(names: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return dimensions by branch of the taxonomy, each branch's root first, unknown ones last."""
    dimensions = dimensions_of("quality")
    groups = [("", [name for name in dimensions if name in names and not dimensions[name].aspect])]
    for aspect, members in aspects_of("quality").items():
        roots = [member for member in members if dimensions[member].under not in members]
        groups.append((aspect, [n for n in (*roots, *members) if n in names]))
    groups.append(("other", [name for name in names if name not in dimensions]))
    return [(aspect, list(dict.fromkeys(members))) for aspect, members in groups if members]


def profile_plot(
    groups: Mapping[str, Mapping[str, Measured]],
    bounds: tuple[float, float],
) -> str:
    """Return an SVG document: a row per dimension, with marks and intervals of 1 or 2 groups."""
    if not 1 <= len(groups) <= _MOST:
        raise ValueError(f"found {len(groups)} groups, expected 1 or 2")
    ordered = profile_order(list(dict.fromkeys(n for group in groups.values() for n in group)))
    top = MARGIN + 30 + 20 * (len(groups) > 1)
    high = sum(_ROW * len(members) + (_HEADING if aspect else 0) + _GAP
               for aspect, members in ordered)  # fmt: skip
    axes = Axes(MARGIN + _LABELS, top, _WIDE, high)
    parts = [drawn_text("mean rating by dimension", MARGIN, MARGIN + 8, "head")]
    parts += _legend(list(groups)) if len(groups) > 1 else []
    parts += axes.across(_marks(bounds))
    y = float(top)
    for aspect, members in ordered:
        if aspect:
            y += _HEADING
            parts.append(drawn_text(aspect, MARGIN, y - 8, "note"))
            parts.append(drawn_line(MARGIN, y - 2, axes.x(1), y - 2, "rule"))
        for name in members:
            parts += _row(name, [group.get(name) for group in groups.values()], axes, y, bounds)
            y += _ROW
        y += _GAP
    wide = int(axes.x(1) + 12 + _NUMBERS * len(groups) + MARGIN)
    return document("Quality profile", wide, int(top + high + 26), parts, ())


def _marks(bounds: tuple[float, float]) -> Iterator[tuple[float, str]]:
    low, high = bounds
    steps = round(high - low) if 2 <= round(high - low) <= 10 else 4
    for n in range(steps + 1):
        yield n / steps, f"{low + (high - low) * n / steps:g}"


def _legend(names: Sequence[str]) -> list[str]:
    parts, x = [], float(MARGIN)
    for series, name in enumerate(names):
        label = escaped(name, 34)
        parts += [_mark(x + 5, MARGIN + 26, series), drawn_text(label, x + 16, MARGIN + 30, "note")]
        x += 40 + 6.6 * len(label)
    return parts


def _row(
    name: str,
    measured: Sequence[Measured | None],
    axes: Axes,
    y: float,
    bounds: tuple[float, float],
) -> list[str]:
    dimensions = dimensions_of("quality")
    label = dimensions[name].label if name in dimensions else name
    root = name in dimensions and dimensions[name].under in ("", "overall")
    parts = [drawn_text(escaped(label, 24), axes.left - 12, y + 16, "end head" if root else "end")]
    low, span = bounds[0], bounds[1] - bounds[0]
    for series, measure in enumerate(measured):
        middle = y + _ROW / 2 + (0 if len(measured) == 1 else 9 * series - 4.5)
        other = " other" if series else ""
        number = "-"
        if measure is not None and measure.value is not None:
            number = f"{measure.value:.2f}"
            if measure.low is not None and measure.high is not None:
                ends = (axes.x((end - low) / span) for end in (measure.low, measure.high))
                parts.append(drawn_line(next(ends), middle, next(ends), middle, f"span{other}"))
            parts.append(_mark(axes.x((measure.value - low) / span), middle, series))
        at = axes.x(1) + 12 + _NUMBERS * series
        parts.append(drawn_text(number, at + _NUMBERS - 12, y + 16, "end"))
    return parts


def _mark(x: float, y: float, series: int) -> str:
    if series:
        return f'<rect class="other" x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>'
    return f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'
