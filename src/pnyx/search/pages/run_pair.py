"""The page of two runs: their measures, and the topics on which they differ most."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pnyx.search.measures.table import RunTable
from pnyx.stats.base import Measured
from pnyx.web.results import words as wording
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.compare import sources_of_runs
from pnyx.web.results.pages import Content
from pnyx.web.results.records import MeasureValue, NotFoundError, SourceRow


@dataclass(frozen=True, slots=True)
class RunDifference:
    """A measure of two runs."""

    measure: str
    first: MeasureValue | None  # value over all topics
    second: MeasureValue | None  # value over all topics
    difference: float | None = None  # mean over shared topics, first minus second
    low: float | None = None  # of its 95 % interval
    high: float | None = None  # of its 95 % interval
    p: float | None = None  # not corrected for the number of measures
    topics: int = 0  # number of shared topics, of `total_topics`
    total_topics: int = 0


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
        comparison, topic_count = compared.get(name), len(topics.get(name, ()))
        row = RunDifference(name, first.get(name), second.get(name), total_topics=topic_count)
        if comparison is not None:
            test = comparison.test
            row = replace(
                row,
                difference=test.difference,
                low=comparison.low,
                high=comparison.high,
                p=test.p if test.topics > 1 else None,
                topics=test.topics,
            )
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


def show_runs(catalogue: Catalogue, first: str, second: str, source: str = "") -> Content:
    """Show the measures of two runs, and the topics on which they differ most."""
    runs = catalogue.run(first).name, catalogue.run(second).name
    sources = sources_of_runs(catalogue, *runs)
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
    # Topics that cannot be compared come first, then the largest differences.
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
