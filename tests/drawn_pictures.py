"""The parts of a picture as lines, and values to draw."""

from __future__ import annotations

from types import SimpleNamespace
from xml.etree import ElementTree

from pnyx.stats.base import Measured


def drawn(picture: str) -> list[str]:
    """Return the size of a picture and its parts: places, sizes, classes and texts."""
    root = ElementTree.fromstring(picture)
    lines = [f"{root.get('width')} x {root.get('height')}"]
    for node in root.iter():
        tag, kind = node.tag.rpartition("}")[2], node.get("class")
        if tag == "text":
            lines.append(f"{node.get('x')},{node.get('y')} {kind or 'text'}: {node.text}")
        elif tag == "line":
            ends = (f"{node.get('x' + n)},{node.get('y' + n)}" for n in "12")
            lines.append(f"{' - '.join(ends)} {kind}")
        elif tag == "circle":
            lines.append(f"{node.get('cx')},{node.get('cy')} {kind}")
        elif tag == "rect" and kind != "ground":
            size = f"{node.get('width')} x {node.get('height')}"
            lines.append(f"{node.get('x')},{node.get('y')} {size} {kind}")
        elif tag in ("polyline", "polygon"):
            width, dashes = node.get("stroke-width", ""), node.get("stroke-dasharray", "")
            lines.append(" / ".join(filter(None, (f"{node.get('points')} {kind}", width, dashes))))
    return lines


def measured(value: float | None, low: float | None = None, high: float | None = None) -> Measured:
    return Measured(value, 3, 3, low, high)


def thresholds_of(at, f1, ks, f1_by_k, best=(0.5, 2)):
    def curve(cutoffs, values):
        rows = [
            measured(value) if value is None else measured(value, value - 0.1, value + 0.1)
            for value in values
        ]
        return SimpleNamespace(at=cutoffs, f1=rows, precision=rows, recall=rows[:1] * len(rows))

    return SimpleNamespace(
        judge="j",
        thresholds=curve(at, f1),
        cutoffs=curve(ks, f1_by_k),
        best_threshold=SimpleNamespace(at=best[0], f1=measured(max(filter(None, f1)))),
        best_cutoff=SimpleNamespace(at=best[1], f1=measured(max(f1_by_k))),
    )
