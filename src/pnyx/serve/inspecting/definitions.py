"""What measures mean, in words: from their functions, else from `definitions.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Final


def definitions_of(measures: Iterable[str]) -> dict[str, str]:
    """Return measure -> its definition, for those that have one here."""
    names = list(dict.fromkeys(measures))
    # `f1` is another measure of reports than of answers.
    reports = not _OF_REPORTS.isdisjoint(names)
    known = _of_files() | _of_reports() if reports else _of_reports() | _of_files()
    found = {name: _definition(name, known) for name in names}
    return {name: text for name, text in found.items() if text}


_OF_REPORTS: Final = frozenset({"sentence_precision", "citation_precision", "nugget_recall"})


def _definition(name: str, known: Mapping[str, str]) -> str:
    """Return the definition of a measure, whatever its cutoff, or that of one it is a part of."""
    base = name.partition("@")[0].partition("(")[0].strip()
    return next((known[one] for one in (name, base, base.rpartition(".")[2]) if one in known), "")


@cache
def _of_files() -> dict[str, str]:
    text = resources.files(__package__ or "").joinpath("definitions.toml").read_text("utf-8")
    return dict(tomllib.loads(text)["measures"])


@cache
def _of_reports() -> dict[str, str]:
    from pnyx.measure.reports.registry import report_measures

    found = {}
    for name, measure in report_measures().items():
        first = (measure.of.__doc__ or "").partition("\n\n")[0]
        words = " ".join(first.split()).removeprefix("Return ").removeprefix("the ")
        words = words.replace("None where", "no value where")
        found[name] = words if "_" in words.partition(" ")[0] else words[:1].upper() + words[1:]
    return found
