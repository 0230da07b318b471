"""Display names of judges. Files always have the id, which says which models answered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

PACKAGED: Final = "packaged"

_MODELS: Final = re.compile(
    r"(?:(?:answers|minilm-int8|nuggets|overall-quality|rules)@\d+"
    r"|relevance-by-rank(?:-and-words)?@[0-9a-f]{8}|student:perspectives@59211a1f)(?![\w@])"
)
"""The ids of packaged judges; tests/test_judge_naming.py compares them with the judges."""
_SEVERAL: Final = re.compile(rf"{PACKAGED}\({PACKAGED}(?:, {PACKAGED})*\)")
_RECALIBRATED: Final = re.compile(r"\+[a-z]+@[0-9a-f]{8}(?![\w@])")
_DIGEST: Final = re.compile(r"(student:[^@(),]{1,200}|cascade\(.{1,300}\))@[0-9a-f]{8}(?![\w@])")
_VERSION: Final = re.compile(r"@(?:\d+|[0-9a-f]{8})(?![\w@])")
_SHORT: Final = 120
"""Longest card that is shown with the name, in characters."""
WEAK: Final = "weak: treat as hints"
"""Suffix of the card of a judge that is only indicative; always shown with the judge's name."""

UNMEASURED: Final = "run pnyx measure against labels before trusting it"
"""Suffix of the card of a judge without known figures."""


def short_name(judge: str) -> str:
    """Return a judge's id without digests and components: `packaged`, or a model's name."""
    name = _MODELS.sub(PACKAGED, judge)
    name = _DIGEST.sub(r"\1", name).replace("+sides", "")
    name = _SEVERAL.sub(PACKAGED, _RECALIBRATED.sub(", recalibrated", name))
    return PACKAGED if set(name.split(", ")) == {PACKAGED} else name


def undated_name(judge: str) -> str:
    """Return a judge's id without digests and versions, for judges with equal short names."""
    return _VERSION.sub("", judge)


def introduced(judges: Mapping[str, str]) -> list[str]:
    """Return a line for each short name: its card if short, else only whether it is weak.

    Args:
        judges: id -> card.
    """
    cards: dict[str, str] = {}
    for judge, card in judges.items():
        name = short_name(str(judge))  # a header from a file may hold anything
        cards[name] = max(cards.get(name, ""), str(card or ""), key=len)
    return [f"{name}{_card_suffix(card)}" for name, card in cards.items()]


def _card_suffix(card: str) -> str:
    if len(card) > _SHORT and card.endswith(UNMEASURED):
        return f": not measured; {UNMEASURED}"
    if len(card) > _SHORT:
        weak = f" ({WEAK})" if card.endswith(WEAK) else ""
        return f"{weak}; accuracy: pnyx doctor"
    return f": {card}" if card else ""
