"""All formats by name.

A further format is a module with its own `FORMATS`, its name here, and a line in `corpora.sniff`.
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
