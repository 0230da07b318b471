"""All formats by name: what tests, `pnyx validate`, `pnyx convert` and the docs go through.

A further format is a module with its own `FORMATS`, and its name here (and a line in
`pnyx.corpora.sniff`, if it can be recognised).
"""

from __future__ import annotations

from pnyx.corpora import (
    argsme,
    drafts_markdown,
    dumps,
    evidence,
    folder,
    guidelines,
    irdatasets,
    items,
    perspectives,
    questions,
    responses,
    search_results,
    tables,
    topics_xml,
    trec,
)
from pnyx.corpora.base import Format

__all__ = ["FORMATS"]

_MODULES = (
    evidence, tables, argsme, folder, irdatasets, dumps, questions, topics_xml, guidelines,
    perspectives, trec, responses, search_results, items, drafts_markdown,
)  # fmt: skip

FORMATS: dict[str, Format] = {f.name: f for module in _MODULES for f in module.FORMATS}
"""Every format by the name that `--format`, `--from` and `--to` take."""
