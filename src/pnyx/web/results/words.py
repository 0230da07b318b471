"""Values of judges and names of measures in words, for templates."""

from __future__ import annotations

from typing import Any, Final

from pnyx.display.states import State, said_of

YES_NO: Final = ("yes", "no")
_LABELS: Final = {"f1": "F1", "f1_weighted": "F1, weighted",
                  "nugget_recall_weighted": "Nugget recall, weighted"}  # fmt: skip
_PREFERENCES: Final = {"a": "the first is better", "b": "the second is better", "tie": "neither"}


def measure_label(name: str) -> str:
    """Return the name of a measure on a page; names such as nDCG@10 are unchanged."""
    if "@" in name or name != name.lower():
        return name
    return _LABELS.get(name) or name.replace("_", " ").strip().capitalize() or "Measure"


def worded(
    value: Any,
    probability: float | None = None,
    words: tuple[str, str] = YES_NO,
    scale: Any = None,
) -> tuple[State, str]:
    """Return the sign and the word of a judge's value; `scale` is that of a rating."""
    if value is None:
        return "unscored", "unscored"
    if isinstance(value, bool):
        return said_of(value, probability, words)
    if isinstance(value, int | float):
        return "uncited", f"{value:g}{_bounds(scale)}"
    if isinstance(value, list):
        places = ", ".join(str(position + 1) for position in value if isinstance(position, int))
        return "uncited", f"best first: {places}"
    return "uncited", _PREFERENCES.get(str(value), str(value))


def _bounds(scale: Any) -> str:
    if not (isinstance(scale, list) and len(scale) == 2):
        return ""
    if not all(isinstance(end, int | float) and not isinstance(end, bool) for end in scale):
        return ""
    return f" of {scale[0]:g} to {scale[1]:g}"
