"""The parts of the SVG pictures.

Plain SVG 1.1 with system fonts, so that a picture opens anywhere, prints, and can be edited; no
script, nothing loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from pnyx.errors import shorten

__all__ = ["MARGIN", "clean", "document", "drawn_line", "drawn_path", "drawn_text", "wrapped"]

MARGIN = 20
_INK, _GREY, _RULE, _DOT, _BASE = "#1c1c1c", "#5f6368", "#e3e5e8", "#0b5fa5", "#8a5a00"
_CHARACTER = 6.2
"""Width of a character of a note."""

_STYLE = f"""text {{ font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: {_INK} }}
.head {{ font-weight: 600 }}
.end {{ text-anchor: end }}
.tick {{ text-anchor: middle; font-size: 11px; fill: {_GREY} }}
.note {{ font-size: 12px; fill: {_GREY} }}
.rule {{ stroke: {_RULE} }}
.base {{ stroke: {_BASE}; stroke-dasharray: 3 3 }}
.span {{ stroke: {_DOT}; stroke-width: 2; stroke-linecap: round }}
.dot {{ fill: {_DOT} }}
.bar {{ fill: {_DOT}; opacity: .35 }}
"""


def document(title: str, wide: int, high: int, parts: Sequence[str], notes: Sequence[str]) -> str:
    """Return a picture.

    Args:
        title: for screen readers and tooltips.
        wide: in pixels.
        high: of the parts, in pixels; the notes go below.
        parts: SVG elements.
        notes: lines below, wrapped to the width.
    """
    room = int((wide - 2 * MARGIN) / _CHARACTER)
    lines = [line for note in notes for line in wrapped(note, room)]
    below = [drawn_text(x, MARGIN, high + 18 * n, "note") for n, x in enumerate(lines, 1)]
    high += 18 * len(lines) + MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" '
        f'height="{high}" role="img">\n<title>{clean(title)}</title>\n'
        f"<style>\n{_STYLE}</style>\n"
        f'<rect width="{wide}" height="{high}" fill="#fff"/>\n'
        + "\n".join([*parts, *below])
        + "\n</svg>\n"
    )


def drawn_text(text: str, x: float, y: float, kind: str = "") -> str:
    """Return text that begins at a point; `kind` is a class of the style."""
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{style}>{clean(text)}</text>'


def drawn_line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Return a straight line; `kind` is a class of the style."""
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def drawn_path(
    points: Sequence[tuple[float, float]], colour: str, dashes: str, width: float
) -> str:
    """Return a line through points; `dashes` is empty for one without gaps."""
    shown = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    style = f'fill="none" stroke="{colour}" stroke-width="{width}"{dashed}'
    return f'<polyline points="{shown}" {style}/>'


def clean(text: str) -> str:
    """Return text for XML, which knows no control characters, not even escaped ones."""
    return escape(shorten(text, 400))


def wrapped(text: str, width: int) -> list[str]:
    """Return text in lines of at most `width` characters, longer words whole."""
    lines = [""]
    for word in shorten(text, 2000).split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
