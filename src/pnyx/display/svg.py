"""The parts of the SVG pictures: plain SVG 1.1 with system fonts, no script, nothing loaded.

Elements are styled only by class. As a document, a picture has its own style and a white
background; inside a page (`inline`), the page's style sheet (`figures.css`) applies, so it follows
light and dark mode.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import TextWrapper
from typing import Final, TypeAlias

from pnyx.core.errors import escaped, shorten

MARGIN = 20
_INK, _GREY, _RULE, _DOT, _BASE = "#1c1c1c", "#5f6368", "#e3e5e8", "#0b5fa5", "#8a5a00"
SERIES: Final = ("s1", "s2", "s3", "s4", "s5")
"""Classes of the first series, the second and so on; each has a colour of its own."""
_COLOURS = (_DOT, _BASE, "#2f7d4f", _GREY, "#9b2d5c")
Point: TypeAlias = tuple[float, float]
TENTHS: Final = [(n / 5, f"{n / 5:.1f}") for n in range(6)]
"""Ticks of an axis of shares."""
_CHARACTER = 6.2  # Width of a character of a note

_STYLE = f"""text {{ font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: {_INK} }}
.head {{ font-weight: 600 }}
.end {{ text-anchor: end }}
.tick {{ text-anchor: middle; font-size: 11px; fill: {_GREY} }}
.note {{ font-size: 12px; fill: {_GREY} }}
.rule {{ stroke: {_RULE} }}
.base {{ stroke: {_BASE}; stroke-dasharray: 3 3 }}
.span {{ stroke: {_DOT}; stroke-width: 2; stroke-linecap: round }}
.dot {{ fill: {_DOT} }}
.bar-mark {{ fill: {_DOT}; opacity: .35 }}
.line {{ fill: none }}
.band {{ opacity: .15 }}
.other {{ fill: #fff; stroke: {_BASE}; stroke-width: 2 }}
.span.other {{ stroke: {_BASE} }}
""" + "".join(
    f".line.{name} {{ stroke: {colour} }} .band.{name}, .ink.{name} {{ fill: {colour} }}\n"
    for name, colour in zip(SERIES, _COLOURS, strict=True)
)
_DOCUMENT = re.compile(
    r'<svg [^>]*?(viewBox="[^>"]*" width="\d+" height="\d+")[^>]*>\n<title>(.*?)</title>\n'
    r'<style>.*?</style>\n<rect class="ground"[^>]*/>\n(.*)',
    re.DOTALL,
)


def document(title: str, wide: int, high: int, parts: Sequence[str], notes: Sequence[str]) -> str:
    """Return a picture: its `parts`, and below their height the notes, wrapped to the width."""
    room = int((wide - 2 * MARGIN) / _CHARACTER)
    wrapper = TextWrapper(room, break_long_words=False, break_on_hyphens=False)
    whole = (" ".join(shorten(note, 2000).split()) for note in notes)
    lines = [line for text in whole for line in wrapper.wrap(text) or [""]]
    below = [drawn_text(x, MARGIN, high + 18 * n, "note") for n, x in enumerate(lines, 1)]
    high += 18 * len(lines) + MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" '
        f'height="{high}" role="img">\n<title>{clean(title)}</title>\n'
        f"<style>\n{_STYLE}</style>\n"
        f'<rect class="ground" width="{wide}" height="{high}" fill="#fff"/>\n'
        + "\n".join([*parts, *below])
        + "\n</svg>\n"
    )


def inline(picture: str, name: str, spoken: str = "") -> str:
    """Return a picture for a page. Its ids start with `name`; screen readers say `spoken`."""
    match = _DOCUMENT.fullmatch(picture)
    if match is None:
        raise ValueError("expected a picture of pnyx.display.svg.document")
    size, title, rest = match.groups()
    named, description = f"{name}-title", ""
    if spoken:
        description = f'<desc id="{name}-desc">{clean(spoken)}</desc>\n'
        named += f" {name}-desc"
    return (
        f'<svg class="figure" {size} role="img" aria-labelledby="{named}">\n'
        f'<title id="{name}-title">{title}</title>\n{description}{rest}'
    )


def drawn_text(text: str, x: float, y: float, kind: str = "") -> str:
    """Return text that starts at a point; `kind` is a class of the style."""
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{style}>{clean(text)}</text>'


def drawn_line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Return a straight line; `kind` is a class of the style."""
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def drawn_path(
    points: Sequence[tuple[float, float]], series: str, dashes: str, width: float
) -> str:
    """Return a line through points, of `SERIES`; `dashes` is empty for one without gaps."""
    coordinates = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    style = f'class="line {series}" stroke-width="{width}"{dashed}'
    return f'<polyline points="{coordinates}" {style}/>'


def bar(x: float, y: float, wide: float, high: float, title: str = "") -> str:
    """Return a bar; `title` is shown on hover."""
    content = f"<title>{clean(title)}</title></rect>" if title else ""
    shape = f'<rect class="bar-mark" x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}"'
    return f"{shape}>{content}" if content else f"{shape}/>"


@dataclass(frozen=True, slots=True)
class Axes:
    """A rectangle in which shares are drawn: (0, 0) is bottom left, (1, 1) top right."""

    left: float
    top: float
    wide: float
    high: float

    def x(self, share: float) -> float:
        """Return the x coordinate of a share of the width."""
        return self.left + self.wide * share

    def y(self, share: float) -> float:
        """Return the y coordinate of a share of the height."""
        return self.top + self.high * (1 - share)

    def across(self, ticks: Iterable[tuple[float, str]], above: float = 0) -> list[str]:
        """Return a rule from top (and `above` it) to bottom for each tick, its label below."""
        bottom = self.top + self.high
        return [
            mark
            for at, label in ticks
            for mark in (
                drawn_line(self.x(at), self.top - above, self.x(at), bottom, "rule"),
                drawn_text(label, self.x(at), bottom + 16, "tick"),
            )
        ]

    def up(self, ticks: Iterable[tuple[float, str]]) -> list[str]:
        """Return a rule from left to right for each tick, its label to the left."""
        return [
            mark
            for at, label in ticks
            for mark in (
                drawn_line(self.left, self.y(at), self.x(1), self.y(at), "rule"),
                drawn_text(label, self.left - 8, self.y(at) + 4, "end note"),
            )
        ]

    def line(self, start: Point, end: Point, kind: str) -> str:
        """Return a line between two points; `kind` is a class of the style."""
        return drawn_line(self.x(start[0]), self.y(start[1]), self.x(end[0]), self.y(end[1]), kind)

    def dot(self, x: float, y: float, name: str = "") -> str:
        """Return a dot, which shows its name on hover."""
        dot = f'<circle class="dot" cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="4.5"/>'
        return f"<g><title>{clean(name)}</title>{dot}</g>" if name else dot

    def path(
        self, points: Sequence[Point], series: str = "s1", dashes: str = "", width: float = 2.5
    ) -> str:
        """Return a line through points."""
        return drawn_path([(self.x(x), self.y(y)) for x, y in points], series, dashes, width)

    def band(self, low: Sequence[Point], high: Sequence[Point]) -> list[str]:
        """Return the area between two lines; empty if one has no point."""
        if not (low and high):
            return []
        ends = [(self.x(x), self.y(y)) for x, y in (*low, *reversed(high))]
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in ends)
        return [f'<polygon class="band s1" points="{corners}"/>']


def ticks(low: float, high: float) -> list[float]:
    """Return 3 to 7 round numbers, the first at most `low`, the last at least `high`."""
    if high - low < 1e-9 * max(1.0, abs(high)):
        low, high = low - 0.05 * max(1.0, abs(low)), high + 0.05 * max(1.0, abs(high))
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
    start, stop = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [n * step for n in range(start, max(stop, start + 2) + 1)]


class Axis:
    """Round ticks over some numbers (over 0 to 1 without any), and positions on their axis."""

    def __init__(self, numbers: Sequence[float]) -> None:
        self.marks = ticks(min(numbers), max(numbers)) if numbers else ticks(0.0, 1.0)

    def at(self, value: float) -> float:
        """Return the position of a number: 0 at the first tick, 1 at the last."""
        return (value - self.marks[0]) / (self.marks[-1] - self.marks[0])

    def labelled(self) -> list[tuple[float, str]]:
        """Return each tick's position and label, with enough digits to distinguish them."""
        digits = max(0, -math.floor(math.log10(self.marks[1] - self.marks[0]) + 1e-9))
        return [(self.at(mark), f"{mark:z.{digits}f}") for mark in self.marks]


def clean(text: str) -> str:
    """Return text for XML, which forbids control characters, even escaped ones."""
    return escape(escaped(text, 400))
