"""Scatter plot of two leaderboards: a point for each system (Auto-ARGUE, Fig. 2), as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pnyx.core.errors import escaped
from pnyx.display.svg import MARGIN, Axes, Axis, clean, document, drawn_text

_SIDE, _GAP, _HEAD, _FOOT, _LEFT = 300, 66, 46, 44, 58
_COLUMNS = 3
_CHARACTER = 6.6  # generous width of a character of a name
_Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right and bottom."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """One panel: its axes, (name, x, y) for each system, and the text in its corner."""

    title: str
    across: str
    up: str
    points: Sequence[tuple[str, float, float]]
    corner: Sequence[str]


def scatter_plot(panels: Sequence[Scatter], notes: Sequence[str] = ()) -> str:
    """Return panels side by side as an SVG document; pointing at a system shows its name."""
    columns = min(_COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    parts: list[str] = []
    for position, panel in enumerate(panels):
        row, column = divmod(position, columns)
        left = MARGIN + _LEFT + column * (_SIDE + _LEFT + _GAP // 2)
        top = MARGIN + _HEAD + row * (_SIDE + _HEAD + _FOOT + 16)
        parts += _panel(panel, Axes(left, top, _SIDE, _SIDE))
    wide = MARGIN + columns * (_SIDE + _LEFT) + (columns - 1) * (_GAP // 2) + 2 * MARGIN
    high = MARGIN + rows * (_SIDE + _HEAD + _FOOT) + (rows - 1) * 16 + MARGIN // 2
    title = ", ".join(dict.fromkeys(panel.title for panel in panels))
    return document(f"{title}: systems in two leaderboards", wide, high, parts, notes)


def scatter_html(picture: str, title: str) -> str:
    """Return a page that holds the picture: no script, nothing loaded."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{clean(title)}</title>\n</head>\n<body>\n{picture}</body>\n</html>\n"
    )


def _panel(panel: Scatter, axes: Axes) -> list[str]:
    xs, ys = [x for _, x, _ in panel.points], [y for _, _, y in panel.points]
    across, up = Axis(xs), Axis(ys)
    parts = [
        drawn_text(escaped(panel.title, 44), axes.left, axes.top - 26, "head"),
        *axes.across(across.labelled()),
        *axes.up(up.labelled()),
        drawn_text(escaped(panel.across, 48), axes.x(0.5), axes.y(0) + 36, "tick"),
        drawn_text(f"↑ {escaped(panel.up, 46)}", axes.left, axes.top - 8, "note"),
    ]
    low, high = max(across.marks[0], up.marks[0]), min(across.marks[-1], up.marks[-1])
    if low < high:  # the diagonal, where both leaderboards agree
        ends = [(across.at(value), up.at(value)) for value in (low, high)]
        parts.append(axes.line(ends[0], ends[1], "base"))
    spots = [(across.at(x), up.at(y)) for _, x, y in panel.points]
    for (name, x, y), spot in zip(panel.points, spots, strict=True):
        parts.append(axes.dot(*spot, f"{name}: {x:.3f}, {y:.3f}"))
    corner, box = _corner(panel.corner, axes, spots)
    return [*parts, *corner, *_labels([name for name, _, _ in panel.points], spots, axes, [box])]


def _corner(
    lines: Sequence[str], axes: Axes, spots: Sequence[tuple[float, float]]
) -> tuple[list[str], _Box]:
    """Return the text in the corner with fewer points, bottom right or top right."""
    below = sum(x > 0.5 and y < 0.2 for x, y in spots)
    above = sum(x > 0.5 and y > 0.8 for x, y in spots)
    first = axes.top + 20 if above < below else axes.y(0) - 10 - 18 * (len(lines) - 1)
    texts = [drawn_text(t, axes.x(1) - 8, first + 18 * n, "end") for n, t in enumerate(lines)]
    return texts, (axes.x(1) - 130, first - 14, axes.x(1), first + 18 * len(lines))


def _labels(
    names: Sequence[str], spots: Sequence[tuple[float, float]], axes: Axes, taken: list[_Box]
) -> list[str]:
    """Return the names next to their points, without those that do not fit."""
    taken += [(axes.x(x) - 5, axes.y(y) - 5, axes.x(x) + 5, axes.y(y) + 5) for x, y in spots]
    labels = []
    for name, (x, y) in zip(names, spots, strict=True):
        label = escaped(name, 16)
        wide = _CHARACTER * len(label)
        right = axes.x(x) + 8 + wide < axes.x(1)
        left = axes.x(x) + 8 if right else axes.x(x) - 8 - wide
        box = (left, axes.y(y) - 18, left + wide, axes.y(y) - 6)
        if any(_overlap(box, other) for other in taken):
            continue
        taken.append(box)
        anchor = left if right else left + wide
        labels.append(drawn_text(label, anchor, axes.y(y) - 6, "note" if right else "end note"))
    return labels


def _overlap(box: _Box, other: _Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
