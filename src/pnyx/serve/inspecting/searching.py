"""Words searched in reports and in what judges said; a server's page, which no export has."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pnyx.serve.inspecting.building import SEARCHED, SENTENCES_A_REPORT
from pnyx.serve.inspecting.records import Judgement, Listed, ReportAt

if TYPE_CHECKING:
    from pnyx.serve.inspecting.catalogue import Catalogue

_WORD: Final = re.compile(r"\w+")
_MOST_WORDS: Final = 12


@dataclass(frozen=True, slots=True)
class Hit:
    """What has the words: a judgement, or a sentence (`n`, from 0) of a report, and its text."""

    text: str
    judgement: Judgement | None = None
    report: ReportAt | None = None
    n: int = 0


def search(catalogue: Catalogue, words: str, page: int = 1) -> Listed[Hit]:
    """Return what has all the words, the last as the beginning of one; judgements first.

    Ids of topics, runs and items are not words of a text: topics and runs have lists.
    """
    found = _WORD.findall(words)[:_MOST_WORDS]
    if not found:
        return Listed((), 0)
    quoted = " ".join(f'"{one}"' for one in found) + "*"
    listed = catalogue.listed(
        "SELECT rowid", "FROM words WHERE words MATCH ? ORDER BY rowid DESC", page, quoted
    )
    hits = [_hit(catalogue, number) for (number,) in listed.items]
    return Listed(hits, listed.total, listed.page, listed.pages, listed.first)


def _hit(catalogue: Catalogue, number: int) -> Hit:
    if number > 0:
        judgement = catalogue.judgement_by_id(number)
        row = catalogue.row(judgement)
        shown = (row.get(name) for name in SEARCHED)
        return Hit(next((one for one in shown if isinstance(one, str) and one), ""), judgement)
    report, n = divmod(-number, SENTENCES_A_REPORT)
    at = catalogue.report_by_id(report)
    texts = catalogue.texts(at)
    return Hit(texts[n] if n < len(texts) else "", report=at, n=n)
