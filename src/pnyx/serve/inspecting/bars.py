"""Values with their intervals as small pictures in tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from markupsafe import Markup

    from pnyx.serve.inspecting.records import Value

WIDE: Final = 104
HIGH: Final = 14
_PAD: Final = 5.0


@dataclass(frozen=True, slots=True)
class Scale:
    """The range that the bars of a column share."""

    low: float
    high: float

    def x(self, number: float) -> float:
        """Return where a number stands."""
        share = (number - self.low) / ((self.high - self.low) or 1.0)
        return _PAD + min(1.0, max(0.0, share)) * (WIDE - 2 * _PAD)

    def bar(self, value: Value) -> Markup:
        """Return the picture of a value; empty where there is none. The number stands beside it."""
        from markupsafe import Markup

        if value.value is None:
            return Markup("")
        middle = HIGH / 2
        ends = f'x1="{_PAD}" x2="{WIDE - _PAD}" y1="{middle}" y2="{middle}"'
        parts = [f'<line class="rule" {ends}/>']
        if value.low is not None and value.high is not None:
            ends = f'x1="{self.x(value.low):.1f}" x2="{self.x(value.high):.1f}"'
            parts.append(f'<line class="span" {ends} y1="{middle}" y2="{middle}"/>')
        parts.append(f'<circle class="dot" cx="{self.x(value.value):.1f}" cy="{middle}" r="3.5"/>')
        head = f'<svg class="figure" width="{WIDE}" height="{HIGH}" viewBox="0 0 {WIDE} {HIGH}" '
        # Made of numbers alone.
        return Markup(f'{head}aria-hidden="true" focusable="false">{"".join(parts)}</svg>')  # noqa: S704


def scale_of(values: Iterable[Value]) -> Scale:
    """Return the scale of a column: 0 to 1 where all is in it, else from the least to the most."""
    found = [x for v in values for x in (v.value, v.low, v.high) if x is not None]
    if all(0 <= x <= 1 for x in found):
        return Scale(0.0, 1.0)
    return Scale(min(0.0, *found), max(found))
