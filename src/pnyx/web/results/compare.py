"""Two side by side: two runs, their reports on a topic, two judges; and the page that chooses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Final

from pnyx.core.errors import shorten
from pnyx.judging.naming import short_name
from pnyx.reports.measures.registry import SHOWN, measure_report
from pnyx.reports.tree.records import JudgedNugget, JudgedReport
from pnyx.search.measures.table import RunTable
from pnyx.stats.base import Measured
from pnyx.web.results import wording
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.judge_pair import compare_judges
from pnyx.web.results.pages import Address, Content, PageRoute, Parts, is_number
from pnyx.web.results.records import MeasureValue, NotFoundError, SourceRow, cut_page, pages_of

MOST_PAIRS: Final = 100
"""Pairs of runs, and of judges, that are listed and exported; a server shows any pair."""


def _show(catalogue: Catalogue, address: Address) -> Content:
    what, *rest = address.parts or ("",)
    if not what:
        return _show_choice(catalogue)
    if what == "runs" and len(rest) in (2, 3):
        return _show_runs(catalogue, *rest)
    if what == "runs" and len(rest) == 4:
        return _show_topic(catalogue, *rest)
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
    """Yield the pairs of runs that a source measures or judges both of."""
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
    """Yield the pairs of sources that judged an item both."""
    sql = (
        "SELECT 1 FROM judgement a JOIN judgement b ON b.source = ? AND b.item = a.item "
        "WHERE a.source = ? LIMIT 1"
    )
    judged = [source for source in catalogue.sources() if source.asked]
    for first, second in combinations(judged, 2):
        if catalogue.all(sql, second.id, first.id):
            yield first, second


def prepare(catalogue: Catalogue) -> None:
    """Compare the judges that the page offers: of very many items that takes seconds."""
    for first, second in islice(_pairs_of_judges(catalogue), MOST_PAIRS):
        compare_judges(catalogue, first, second)


# Two runs -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunDifference:
    """A measure of two runs."""

    measure: str
    first: MeasureValue | None  # value over all topics
    second: MeasureValue | None  # value over all topics
    difference: float | None = None  # mean over shared topics, first less second
    low: float | None = None  # of its 95 % interval
    high: float | None = None  # of its 95 % interval
    p: float | None = None  # not corrected for the number of measures
    topics: int = 0  # how many that is, of `asked`
    asked: int = 0


def _sources_of_runs(catalogue: Catalogue, first: str, second: str) -> list[SourceRow]:
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


def _differences(
    catalogue: Catalogue, source: SourceRow, runs: tuple[str, str], table: RunTable[Measured]
) -> list[RunDifference]:
    first, second = (
        {value.measure: value for value in catalogue.values(source=source.name, run=run)}
        for run in runs
    )
    topics = {measure: set[str]() for _, _, measure, *_ in table}
    for cell in table:
        topics[cell.measure].add(cell.query_id)
    compared = {c.measure: c for c in table.compare([(*runs, name) for name in topics])}
    rows = []
    for name in dict.fromkeys([*first, *second, *topics]):
        one, asked = compared.get(name), len(topics.get(name, ()))
        row = RunDifference(name, first.get(name), second.get(name), asked=asked)
        if one is not None:
            p = one.test.p if one.test.topics > 1 else None
            row = replace(
                row, difference=one.test.difference, low=one.low, high=one.high, p=p,
                topics=one.test.topics,
            )  # fmt: skip
        rows.append(row)
    return rows


def _run_table(
    catalogue: Catalogue, source: SourceRow, runs: tuple[str, str]
) -> RunTable[Measured]:
    sql = (
        "SELECT r.name, t.name, v.measure, v.value FROM value v JOIN run r ON r.id = v.run "
        "JOIN topic t ON t.id = v.topic WHERE v.source = ? AND r.name IN (?, ?) ORDER BY v.place"
    )
    cells: dict[str, dict[str, dict[str, Measured]]] = {run: {} for run in runs}
    for run, topic, measure, value in catalogue.each(sql, source.id, *runs):
        cell = Measured(value, int(value is not None), 1)
        cells[run].setdefault(topic, {})[measure] = cell
    return RunTable(cells)


def _show_runs(catalogue: Catalogue, first: str, second: str, source: str = "") -> Content:
    """Show the measures of two runs, and the topics on which they differ most."""
    runs = catalogue.run(first).name, catalogue.run(second).name
    sources = _sources_of_runs(catalogue, *runs)
    if not sources:
        raise NotFoundError("no source measures or judges both runs")
    chosen = catalogue.source(source) if source else sources[0]
    if chosen not in sources:
        raise NotFoundError("this source does not have both runs")
    table = _run_table(catalogue, chosen, runs)
    measures = _differences(catalogue, chosen, runs, table)
    main = next((m.measure for m in measures if m.difference is not None), "")
    judged = [
        {row.topic for row in catalogue.reports(source=chosen.name, run=run, kind="judged")}
        for run in runs
    ]
    cells = {(cell.run, cell.query_id): cell.value for cell in table if cell.measure == main}
    rows = []
    for topic in dict.fromkeys(topic for _, topic in cells):
        a, b = (cells.get((run, topic)) for run in runs)
        gap = None if a is None or b is None else a - b
        rows.append((catalogue.topic(topic), (a, b), gap, topic in judged[0] & judged[1]))
    # What cannot be compared first, then where they are farthest apart.
    rows.sort(key=lambda row: (row[2] is not None, -abs(row[2] or 0.0)))
    values = {
        "runs": runs,
        "source": chosen,
        "sources": sources,
        "measures": measures,
        "main": wording.measure_label(main) if main else "",
        "topics": rows,
        "words": wording,
    }
    return Content("compare_runs", values)


def _show_topic(catalogue: Catalogue, first: str, second: str, source: str, topic: str) -> Content:
    """Show two runs' reports on a topic in two columns, with the nuggets that only one answers."""
    rows = [catalogue.report(source, run, topic, kind="judged") for run in (first, second)]
    reports = [catalogue.judged_report(row) for row in rows]
    values = {
        "source": catalogue.source(source),
        "topic": catalogue.topic(topic),
        "rows": rows,
        "reports": reports,
        "nuggets": _nuggets_of_both(*reports),
        "measures": zip(SHOWN, *(measure_report(r, names=SHOWN).values() for r in reports),
                        strict=True),
        "words": wording,
    }  # fmt: skip
    return Content("compare_topic", values)


_GROUPS: Final = {
    ("yes", "no"): "Answered by {first} alone",
    ("no", "yes"): "Answered by {second} alone",
    ("yes", "yes"): "Answered by both",
    ("no", "no"): "Missed by both",
}
"""The states of a nugget in two reports -> the heading it stands under."""

_OPEN: Final = "Unscored in one"


def _nuggets_of_both(
    first: JudgedReport, second: JudgedReport
) -> list[tuple[str, str, list[JudgedNugget]]]:
    """Return (heading, sign, nuggets): open in one, answered by one alone, by both, by neither."""
    sides = [{n.id: n for _, n in wording.nuggets_in_order(r)} for r in (first, second)]
    groups: dict[str, list[JudgedNugget]] = {name: [] for name in (_OPEN, *_GROUPS.values())}
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        nuggets = [side.get(name) for side in sides]
        a, b = ("unscored" if n is None else wording.nugget_state(n) for n in nuggets)
        if "uncited" not in (a, b):  # known to have no answer: nobody can give one
            group = _GROUPS.get((a, b), _OPEN)
            groups[group].append(next(nugget for nugget in nuggets if nugget is not None))
    signs = dict(zip(groups, ("unscored", "mixed", "mixed", "yes", "no"), strict=True))
    return [
        (group.format(first=first.run_id, second=second.run_id), signs[group], nuggets)
        for group, nuggets in groups.items()
        if nuggets
    ]


# Two judges ---------------------------------------------------------------------------------------


def _show_judges(catalogue: Catalogue, first: str, second: str, number: int) -> Content:
    """Show two judges side by side: what one left unscored first, then their disagreements."""
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
        for source in _sources_of_runs(catalogue, first, second):
            yield ("runs", first, second, source.name), 1
            topics = [
                {row.topic for row in catalogue.reports(source=source.name, run=run, kind="judged")}
                for run in (first, second)
            ]
            for topic in sorted(topics[0] & topics[1]):
                yield ("runs", first, second, source.name, topic), 1


PAGES: Final = (PageRoute("compare", _show, _addresses, most=5, nav="Compare"),)
