"""Two leaderboards against each other: a point for each system (Auto-ARGUE, Fig. 2), as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pnyx.errors import shorten
from pnyx.view.svg import MARGIN, Axes, document, drawn_text, ticks

__all__ = ["Scatter", "scatter_html", "scatter_plot"]

_SIDE, _GAP, _HEAD, _FOOT, _LEFT = 300, 66, 46, 44, 58
_COLUMNS = 3
_LABELLED = 15
"""With so many systems each has its name beside it; with more, pointing at one shows it."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """One panel: what its axes are, (name, x, y) for each system, and what its corner says."""

    title: str
    across: str
    up: str
    points: Sequence[tuple[str, float, float]]
    corner: Sequence[str]


def scatter_plot(panels: Sequence[Scatter], notes: Sequence[str] = ()) -> str:
    """Return panels side by side as an SVG document."""
    columns = min(_COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    parts: list[str] = []
    for place, panel in enumerate(panels):
        row, column = divmod(place, columns)
        left = MARGIN + _LEFT + column * (_SIDE + _LEFT + _GAP // 2)
        top = MARGIN + _HEAD + row * (_SIDE + _HEAD + _FOOT + 16)
        parts += _panel(panel, Axes(left, top, _SIDE, _SIDE))
    wide = MARGIN + columns * (_SIDE + _LEFT) + (columns - 1) * (_GAP // 2) + 2 * MARGIN
    high = MARGIN + rows * (_SIDE + _HEAD + _FOOT) + (rows - 1) * 16 + MARGIN // 2
    title = ", ".join(dict.fromkeys(panel.title for panel in panels))
    return document(f"{title}: systems in two leaderboards", wide, high, parts, notes)


def scatter_html(picture: str, title: str) -> str:
    """Return a page that holds the picture: no script, nothing loaded."""
    from pnyx.view.svg import clean

    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{clean(title)}</title>\n</head>\n<body>\n{picture}</body>\n</html>\n"
    )


def _panel(panel: Scatter, axes: Axes) -> list[str]:
    xs, ys = ([point[place] for point in panel.points] for place in (1, 2))
    across = ticks(min(xs), max(xs)) if xs else ticks(0.0, 1.0)
    up = ticks(min(ys), max(ys)) if ys else ticks(0.0, 1.0)
    parts = [
        drawn_text(shorten(panel.title, 44), axes.left, axes.top - 26, "head"),
        *axes.across([(_share(tick, across), _number(tick, across)) for tick in across]),
        *axes.up([(_share(tick, up), _number(tick, up)) for tick in up]),
        drawn_text(shorten(panel.across, 48), axes.x(0.5), axes.y(0) + 36, "tick"),
        drawn_text(f"↑ {shorten(panel.up, 46)}", axes.left, axes.top - 8, "note"),
    ]
    low, high = max(across[0], up[0]), min(across[-1], up[-1])
    if low < high:  # where both leaderboards have the same value
        ends = [(_share(value, across), _share(value, up)) for value in (low, high)]
        parts.append(axes.line(ends[0], ends[1], "base"))
    for name, x, y in panel.points:
        at = (_share(x, across), _share(y, up))
        parts.append(_named(axes.dot(*at), f"{name}: {x:.3f}, {y:.3f}"))
        if len(panel.points) <= _LABELLED:
            right = at[0] < 0.75
            place = axes.x(at[0]) + (8 if right else -8)
            kind = "note" if right else "end note"
            parts.append(drawn_text(shorten(name, 16), place, axes.y(at[1]) - 6, kind))
    # In the corner that a rising cloud leaves free.
    for row, line in enumerate(reversed(panel.corner)):
        parts.append(drawn_text(line, axes.x(1) - 8, axes.y(0) - 10 - 18 * row, "end"))
    return parts


def _named(dot: str, name: str) -> str:
    """Return a dot that says its name to those who point at it."""
    from pnyx.view.svg import clean

    return f"<g><title>{clean(name)}</title>{dot}</g>"


def _share(value: float, marks: Sequence[float]) -> float:
    return (value - marks[0]) / (marks[-1] - marks[0])


def _number(tick: float, marks: Sequence[float]) -> str:
    digits = max(0, -math.floor(math.log10(marks[1] - marks[0]) + 1e-9))
    return f"{tick:z.{digits}f}"
