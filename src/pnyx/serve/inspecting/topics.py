"""Topics and runs: a list of each, and a page for each one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pnyx.serve.inspecting.asking import ON_A_PAGE, paged, pages_of
from pnyx.serve.inspecting.bars import scale_of
from pnyx.serve.inspecting.definitions import definitions_of
from pnyx.serve.inspecting.pages import Address, Page, Shown
from pnyx.serve.inspecting.records import Listed, ReportAt, Value

if TYPE_CHECKING:
    from pnyx.serve.inspecting.catalogue import Catalogue
    from pnyx.serve.rendering import Links


def _listed(items: Sequence[object], number: int) -> Listed[object]:
    first = (number - 1) * ON_A_PAGE
    return paged(items[first : first + ON_A_PAGE], len(items), number)


def _topics(catalogue: Catalogue, _links: Links, _parts: Address, number: int) -> Shown:
    topics = sorted(catalogue.topics(), key=lambda one: one.scored == one.asked)
    return Shown("inspecting/topics.html.j2", {"listed": _listed(topics, number)})


def _runs(catalogue: Catalogue, _links: Links, _parts: Address, number: int) -> Shown:
    runs = sorted(catalogue.runs(), key=lambda one: one.scored == one.asked)
    return Shown("inspecting/runs.html.j2", {"listed": _listed(runs, number)})


def _topic(catalogue: Catalogue, _links: Links, parts: Address, number: int) -> Shown:
    topic = catalogue.topic(parts[0])
    values = catalogue.values(topic=topic.name)
    shown = {
        "topic": topic,
        "tables": _tables(catalogue.reports(topic=topic.name), values, "run", number),
        "sources": catalogue.judged_on(topic=topic.name),
        "facets": catalogue.facet_keys("topic", topic.name),
        "definitions": definitions_of(one.measure for one in values),
    }
    return Shown("inspecting/topic.html.j2", shown)


def _run(catalogue: Catalogue, _links: Links, parts: Address, number: int) -> Shown:
    run = catalogue.run(parts[0])
    values = catalogue.values(run=run.name, topics=True)
    shown = {
        "run": run,
        "tables": _tables(catalogue.reports(run=run.name), values, "topic", number),
        "sources": catalogue.judged_on(run=run.name),
        "facets": catalogue.facet_keys("run", run.name),
        "definitions": definitions_of(one.measure for one in values),
        "titles": {one.name: one.title for one in catalogue.topics()},
    }
    return Shown("inspecting/run.html.j2", shown)


@dataclass(slots=True)
class _Row:
    """A run on a topic, by one source: its reports (one for each side), and its measures."""

    name: str
    reports: list[ReportAt] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)

    @property
    def unscored(self) -> int:
        """How many findings and measures have no value."""
        without = sum(one.value is None for one in self.values.values())
        return without + sum(one.asked - one.scored for one in self.reports)


def _tables(
    reports: Iterable[ReportAt], values: Iterable[Value], by: str, number: int
) -> list[dict[str, object]]:
    """Return a table for each source, with a row for each run or topic.

    The row over all topics stands first; then come those with most that is unscored.
    """
    tables: dict[str, dict[str, _Row]] = {}

    def row(one: ReportAt | Value) -> _Row:
        name: str = getattr(one, by)
        return tables.setdefault(one.source, {}).setdefault(name, _Row(name))

    for report in reports:
        row(report).reports.append(report)
    for value in values:
        row(value).values[value.measure] = value
    return [_table(source, list(rows.values()), number) for source, rows in tables.items()]


def _table(source: str, rows: list[_Row], number: int) -> dict[str, object]:
    whole = [one for one in rows if not one.name]
    own = sorted((one for one in rows if one.name), key=lambda one: (-one.unscored, one.name))
    measures = list(dict.fromkeys(name for one in rows for name in one.values))
    pages = pages_of(len(own))
    first = (min(number, pages) - 1) * ON_A_PAGE
    return {
        "source": source,
        "measures": measures,
        "whole": whole[0] if whole else None,
        "bars": {m: scale_of([v]).bar(v) for one in whole for m, v in one.values.items()},
        "listed": Listed(own[first : first + ON_A_PAGE], len(own), number, pages, first + 1),
        "has_reports": any(one.reports for one in own),
    }


def _every_topic(catalogue: Catalogue) -> Iterable[tuple[Address, int]]:
    for one in catalogue.topics():
        yield (one.name,), pages_of(len(catalogue.runs()))


def _every_run(catalogue: Catalogue) -> Iterable[tuple[Address, int]]:
    for one in catalogue.runs():
        yield (one.name,), pages_of(len(catalogue.topics()))


PAGES = (
    Page(
        "topics",
        _topics,
        addresses=lambda catalogue: [((), pages_of(len(catalogue.topics())))],
        nav="Topics",
    ),
    Page(
        "runs",
        _runs,
        addresses=lambda catalogue: [((), pages_of(len(catalogue.runs())))],
        nav="Runs",
    ),
    Page("topic", _topic, least=1, most=1, addresses=_every_topic),
    Page("run", _run, least=1, most=1, addresses=_every_run),
)
