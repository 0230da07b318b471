"""Definitions of the measures of reports, for tables of measures."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Final

from pnyx.reports.measures.registry import report_measures

_OWN: Final = frozenset({"sentence_precision", "citation_precision", "nugget_recall"})
"""Measures that exist only for reports."""


def with_reports(definitions: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """Add reports' measures to `definitions`, for a table of the measures `names`.

    `f1` differs between reports and answers: it is that of reports if the table has measures that
    only reports have.
    """
    if _OWN.isdisjoint(names):
        return {**_definitions(), **definitions}
    return {**definitions, **_definitions()}


@cache
def _definitions() -> dict[str, str]:
    definitions = {}
    for name, measure in report_measures().items():
        first = (measure.of.__doc__ or "").partition("\n\n")[0]
        text = " ".join(first.split()).removeprefix("Return ").removeprefix("the ")
        text = text.replace("None if", "no value if")
        definitions[name] = text if "_" in text.partition(" ")[0] else text[:1].upper() + text[1:]
    return definitions
