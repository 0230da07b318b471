"""Comparisons: the page to choose them, two judges, and two runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice
from typing import Final

from pnyx.core.errors import shorten
from pnyx.core.rooms import load, named
from pnyx.judging.judge_names import short_name
from pnyx.web.results import words as wording
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.judge_pair import compare_judges
from pnyx.web.results.pages import Address, Content, PageRoute, Parts, is_number
from pnyx.web.results.records import NotFoundError, SourceRow, cut_page, pages_of

MOST_PAIRS: Final = 100
"""Pairs of runs, and of judges, that are listed and exported; a server shows any pair."""

_OF_RUNS: Final = {2: "runs", 3: "runs", 4: "reports"}
"""Number of parts after two runs in an address (a source, a topic) -> the comparison."""


def _show(catalogue: Catalogue, address: Address) -> Content:
    what, *rest = address.parts or ("",)
    if not what:
        return _show_choice(catalogue)
    comparisons = named("COMPARISONS")
    of_runs = _OF_RUNS.get(len(rest)) if what == "runs" else None
    if of_runs in comparisons:
        content: Content = load(comparisons[of_runs])(catalogue, *rest)
        return content
    if what == "judges" and len(rest) in (2, 3):
        number = rest[2] if len(rest) == 3 else "1"
        if is_number(number):
            return _show_judges(catalogue, rest[0], rest[1], int(number))
    raise NotFoundError("there is no such comparison")


# What can be compared -----------------------------------------------------------------------------


def _show_choice(catalogue: Catalogue) -> Content:
    judges = [source for source in catalogue.sources() if source.asked]
    values = {
        "run_options": [(name, name) for name in sorted(run.name for run in catalogue.runs())],
        "judge_options": [
            (s.name, f"{s.name}: {shorten(short_name(s.judge), 50)}") for s in judges
        ],
        "run_pairs": list(islice(_pairs_of_runs(catalogue), MOST_PAIRS + 1)),
        "judge_pairs": list(islice(_pairs_of_judges(catalogue), MOST_PAIRS + 1)),
        "most": MOST_PAIRS,
    }
    return Content("compare", values)


def _pairs_of_runs(catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    """Yield the pairs of runs that a source both measures or judges."""
    if "runs" not in named("COMPARISONS"):
        return
    groups: dict[int, dict[str, None]] = {}
    sql = (
        "SELECT DISTINCT o.source, r.name FROM (SELECT source, run FROM value WHERE run NOT NULL "
        "UNION SELECT source, run FROM report WHERE kind = 'judged') o JOIN run r ON r.id = o.run "
        "ORDER BY o.source, r.name"
    )
    for source, run in catalogue.all(sql):
        groups.setdefault(source, {})[run] = None
    seen: set[tuple[str, str]] = set()
    for names in groups.values():
        for pair in combinations(names, 2):
            if pair not in seen:
                seen.add(pair)
                yield pair


def _pairs_of_judges(catalogue: Catalogue) -> Iterator[tuple[SourceRow, SourceRow]]:
    """Yield the pairs of sources that both judged an item."""
    sql = (
        "SELECT 1 FROM judgement a JOIN judgement b ON b.source = ? AND b.item = a.item "
        "WHERE a.source = ? LIMIT 1"
    )
    judged = [source for source in catalogue.sources() if source.asked]
    for first, second in combinations(judged, 2):
        if catalogue.all(sql, second.id, first.id):
            yield first, second


def prepare(catalogue: Catalogue) -> None:
    """Compare the judges that the page offers; with very many items that takes seconds."""
    for first, second in islice(_pairs_of_judges(catalogue), MOST_PAIRS):
        compare_judges(catalogue, first, second)


def sources_of_runs(catalogue: Catalogue, first: str, second: str) -> list[SourceRow]:
    """Return the sources that measure or judge both runs, those with judged reports first."""
    ids = {catalogue.run(first).id, catalogue.run(second).id}
    sources = []
    for source in catalogue.sources():
        sql = "SELECT DISTINCT run FROM {} WHERE source = ?"
        judged = {row[0] for row in catalogue.all(sql.format("report"), source.id)}
        measured = {row[0] for row in catalogue.all(sql.format("value"), source.id)}
        if ids <= judged or ids <= measured:
            sources.append((not ids <= judged, source))
    return [source for _, source in sorted(sources, key=lambda pair: pair[0])]


# Two judges ---------------------------------------------------------------------------------------


def _show_judges(catalogue: Catalogue, first: str, second: str, number: int) -> Content:
    """Show two judges side by side: unscored items of either first, then disagreements."""
    sources = catalogue.source(first), catalogue.source(second)
    compared = compare_judges(catalogue, *sources)
    page = cut_page([*compared.unscored, *compared.differing], number)
    unscored = [pair for pair in page.rows if pair.unscored]
    values = {
        "sources": sources,
        "compared": compared,
        "page": page,
        "unscored": unscored,
        "differing": page.rows[len(unscored) :],
        "first_differing": max(0, page.first - 1 - len(compared.unscored)) + 1,
        "values": [wording.worded(value)[1] for value in compared.values],
        "words": wording,
    }
    return Content("compare_judges", values)


def _addresses(catalogue: Catalogue) -> Iterator[tuple[Parts, int]]:
    yield (), 1
    for judge, other in islice(_pairs_of_judges(catalogue), MOST_PAIRS):
        compared = compare_judges(catalogue, judge, other)
        pages = pages_of(len(compared.unscored) + len(compared.differing))
        for number in range(1, pages + 1):
            yield ("judges", judge.name, other.name, *([str(number)] if number > 1 else [])), 1
    for first, second in islice(_pairs_of_runs(catalogue), MOST_PAIRS):
        yield ("runs", first, second), 1
        for source in sources_of_runs(catalogue, first, second):
            yield ("runs", first, second, source.name), 1
            if "reports" not in named("COMPARISONS"):
                continue
            topics = [
                {row.topic for row in catalogue.reports(source=source.name, run=run, kind="judged")}
                for run in (first, second)
            ]
            for topic in sorted(topics[0] & topics[1]):
                yield ("runs", first, second, source.name, topic), 1


PAGES: Final = (PageRoute("compare", _show, _addresses, most=5, nav="Compare"),)
