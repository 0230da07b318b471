"""What measures mean, in words: from their functions, else from `definitions.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources

__all__ = ["definitions_of"]


def definitions_of(measures: Iterable[str]) -> dict[str, str]:
    """Return measure -> its definition, for those that have one here."""
    found = {name: _definition(name) for name in dict.fromkeys(measures)}
    return {name: text for name, text in found.items() if text}


def _definition(name: str) -> str:
    """Return the definition of a measure, whatever its cutoff, or that of one it is a part of."""
    known = _known()
    base = name.partition("@")[0].partition("(")[0].strip()
    return next((known[one] for one in (name, base, base.rpartition(".")[2]) if one in known), "")


@cache
def _known() -> Mapping[str, str]:
    from pnyx.measure.reports.registry import REPORT_MEASURES

    text = resources.files(__package__ or "").joinpath("definitions.toml").read_text("utf-8")
    found = dict(tomllib.loads(text)["measures"])
    for name, measure in REPORT_MEASURES.items():
        first = (measure.of.__doc__ or "").partition("\n\n")[0]
        words = " ".join(first.split()).removeprefix("Return ")
        found[name] = words[:1].upper() + words[1:]
    return found
