"""F1 over thresholds beside F1 over k, and amounts of relevant information, as SVG pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from pnyx.errors import shorten
from pnyx.measure.amount import Amount
from pnyx.measure.base import Measured
from pnyx.measure.thresholds import Curve, Thresholds
from pnyx.view.svg import MARGIN, clean, document, drawn_line, drawn_path, drawn_text

__all__ = ["amount_plot", "thresholds_plot"]

_WIDE, _HIGH, _LEFT, _HEAD, _GAP, _FOOT = 340, 240, 34, 56, 60, 44
_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_SERIES = (
    ("precision", "#2f7d4f", "6 4", 1.5),
    ("recall", "#5f6368", "2 3", 1.5),
    ("f1", "#0b5fa5", "", 2.5),
)
"""Field of the curves, colour, dashes and width; the last is drawn over the others."""
_BAR, _ROOM = 22, 320


def thresholds_plot(found: Thresholds, notes: Sequence[str] = ()) -> str:
    """Return an SVG document: left by threshold, right by k, with the interval of F1.

    The dashed line on both sides is F1 at the best threshold.
    """
    top = MARGIN + _HEAD
    best = found.best_threshold
    last = max(2.0, found.cutoffs.at[-1])

    def by_k(k: float) -> float:
        return math.log(k) / math.log(last)

    left, right = MARGIN + _LEFT, MARGIN + 2 * _LEFT + _WIDE + _GAP
    powers = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
    shown = [(by_k(k), str(k)) for k in powers if k <= last]
    parts = [
        drawn_text(f"{shorten(found.judge, 60) or 'annotations'}: which documents to take",
                   MARGIN, MARGIN + 10, "head"),
        *_legend(left, MARGIN + 32),
        *_panel(found.thresholds, left, top, lambda t: t, [(t, f"{t:g}") for t in _TICKS]),
        drawn_text("probability from which on documents are taken", left + _WIDE / 2,
                   top + _HIGH + 34, "tick"),
        *_panel(found.cutoffs, right, top, by_k, shown),
        drawn_text("number k of documents taken of each question", right + _WIDE / 2,
                   top + _HIGH + 34, "tick"),
    ]  # fmt: skip
    if best.f1.value is not None:
        y = top + _HIGH * (1 - best.f1.value)
        parts += [drawn_line(x, y, x + _WIDE, y, "base") for x in (left, right)]
        for x, at in ((left, best.at), (right, by_k(found.best_cutoff.at))):
            f1 = best.f1 if x == left else found.best_cutoff.f1
            where = top + _HIGH * (1 - (f1.value or 0.0))
            parts.append(
                f'<circle class="dot" cx="{x + _WIDE * at:.1f}" cy="{where:.1f}" r="4.5"/>'
            )
    wide = right + _WIDE + MARGIN
    return document("F1 by threshold and by k", wide, top + _HIGH + _FOOT, parts, notes)


def _legend(x: float, y: float) -> list[str]:
    parts = []
    for name, colour, dashes, width in reversed(_SERIES):
        parts.append(drawn_path([(x, y - 4), (x + 28, y - 4)], colour, dashes, width))
        parts.append(drawn_text("F1" if name == "f1" else name, x + 34, y))
        x += 110
    return parts


def _panel(
    curve: Curve,
    left: float,
    top: float,
    place: Callable[[float], float],
    ticks: Sequence[tuple[float, str]],
) -> list[str]:
    parts = []
    for tick in _TICKS:
        y = top + _HIGH * (1 - tick)
        parts.append(drawn_line(left, y, left + _WIDE, y, "rule"))
        parts.append(drawn_text(f"{tick:.1f}", left - 8, y + 4, "end note"))
    for at, label in ticks:
        x = left + _WIDE * at
        parts.append(drawn_line(x, top, x, top + _HIGH, "rule"))
        parts.append(drawn_text(label, x, top + _HIGH + 16, "tick"))

    def points(series: Sequence[Measured], end: str) -> list[tuple[float, float]]:
        found = [(at, getattr(m, end)) for at, m in zip(curve.at, series, strict=True)]
        return [(left + _WIDE * place(a), top + _HIGH * (1 - v)) for a, v in found if v is not None]

    low, high = points(curve.f1, "low"), points(curve.f1, "high")
    if low and high:
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*low, *reversed(high)])
        parts.append(f'<polygon points="{corners}" fill="#0b5fa5" opacity=".15"/>')
    for name, colour, dashes, width in _SERIES:
        parts.append(drawn_path(points(getattr(curve, name), "value"), colour, dashes, width))
    return parts


def amount_plot(
    amounts: Mapping[str, Amount], names: Mapping[str, str], notes: Sequence[str] = ()
) -> str:
    """Return an SVG document: a bar for each question, as long as its mean probability.

    Args:
        amounts: at least one question's; in the order of the bars.
        names: question -> what to call it; its id where it has none.
        notes: lines below.
    """
    labels = [shorten(names.get(q) or q or "all pairs", 48) for q in amounts]
    left = MARGIN + math.ceil(max(map(len, labels)) * 7.0) + 10
    top = MARGIN + 44
    means = [amount.mean or 0.0 for amount in amounts.values()]
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2) if s * 5 >= max(means) or s == 0.2)
    last = step * 5
    bottom = top + _BAR * len(labels)
    parts = [drawn_text("relevant information by question: mean probability of a document", MARGIN,
                        MARGIN + 10, "head")]  # fmt: skip
    for n in range(6):
        x = left + _ROOM * n / 5
        parts.append(drawn_line(x, top - 6, x, bottom, "rule"))
        parts.append(drawn_text(f"{n * step:g}", x, bottom + 16, "tick"))
    for row, (label, amount) in enumerate(zip(labels, amounts.values(), strict=True)):
        y = top + _BAR * row
        long = _ROOM * (amount.mean or 0.0) / last
        parts.append(drawn_text(label, left - 8, y + 15, "end"))
        parts.append(
            f'<rect class="bar" x="{left}" y="{y + 3}" width="{long:.1f}" height="{_BAR - 6}">'
            f"<title>{clean(label)}</title></rect>"
        )
        said = f"{amount.expected:.1f} of {amount.documents} expected"
        if amount.mean is None:
            said = f"none of {amount.unscored} scored"
        parts.append(drawn_text(said, left + _ROOM + 12, y + 15, "note"))
    return document("amount of relevant information", left + _ROOM + 200, bottom + 28, parts, notes)
