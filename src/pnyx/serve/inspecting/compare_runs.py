"""Two runs side by side: measures with their difference over topics, and reports in two columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pnyx.judge.reports.records import JudgedReport
from pnyx.serve.inspecting.asking import NotThereError
from pnyx.serve.inspecting.findings import NuggetLine
from pnyx.serve.inspecting.pages import Shown
from pnyx.serve.inspecting.report import (
    measures_of,
    nugget_lines,
    sentence_lines,
)
from pnyx.serve.inspecting.wording import legend, measure_label

if TYPE_CHECKING:
    from pnyx.serve.inspecting.catalogue import Catalogue
    from pnyx.serve.inspecting.records import Source, Value


@dataclass(frozen=True, slots=True)
class Difference:
    """A measure of two runs.

    Attributes:
        first, second: values over all topics; None where nothing is scored.
        difference: the mean over the topics on which both have a value, first less second.
        low, high: its 95 % interval; None where it cannot be drawn.
        topics: how many topics that is, of `asked`.
    """

    name: str
    label: str
    first: Value | None
    second: Value | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    topics: int
    asked: int


def runs_sources(catalogue: Catalogue, first: str, second: str) -> list[Source]:
    """Return the sources that measure or judge both runs, those with judged reports first."""
    ids = {catalogue.run(first).id, catalogue.run(second).id}
    found = []
    for one in catalogue.sources():
        sql = "SELECT DISTINCT run FROM {} WHERE source = ?"
        judged = {row[0] for row in catalogue.all(sql.format("report"), one.id)}
        measured = {row[0] for row in catalogue.all(sql.format("value"), one.id)}
        if ids <= judged or ids <= measured:
            found.append((not ids <= judged, one))
    return [one for _, one in sorted(found, key=lambda pair: pair[0])]


def differences(
    catalogue: Catalogue, source: Source, first: str, second: str
) -> tuple[list[Difference], dict[str, dict[str, tuple[float | None, float | None]]]]:
    """Return each measure of both runs, and measure -> topic -> both values."""
    import numpy as np

    from pnyx.measure.core.significance import differ

    names = catalogue.run(first).name, catalogue.run(second).name
    whole = [
        {one.measure: one for one in catalogue.values(source=source.name, run=name)}
        for name in names
    ]
    held = _by_topic(catalogue, source, names)
    found = []
    for measure in dict.fromkeys([*whole[0], *whole[1], *held]):
        pairs = held.get(measure, {})
        gaps = [math.nan if a is None or b is None else a - b for a, b in pairs.values()]
        both = [gap for gap in gaps if not math.isnan(gap)]
        tested = differ(np.array(both).reshape(-1, 1), "t")[0] if both else None
        found.append(
            Difference(
                measure, measure_label(measure), whole[0].get(measure), whole[1].get(measure),
                math.fsum(both) / len(both) if both else None,
                tested.low if tested and len(both) > 1 else None,
                tested.high if tested and len(both) > 1 else None,
                tested.test.p if tested and len(both) > 1 else None,
                len(both), len(pairs),
            )
        )  # fmt: skip
    return found, held


def _by_topic(
    catalogue: Catalogue, source: Source, names: tuple[str, str]
) -> dict[str, dict[str, tuple[float | None, float | None]]]:
    sql = (
        "SELECT v.measure, t.name, r.name, v.value FROM value v JOIN run r ON r.id = v.run "
        "JOIN topic t ON t.id = v.topic WHERE v.source = ? AND r.name IN (?, ?) "
        "ORDER BY v.place, t.name"
    )
    cells: dict[str, dict[str, dict[str, float | None]]] = {}
    for measure, topic, run, value in catalogue.all(sql, source.id, *names):
        cells.setdefault(measure, {}).setdefault(topic, {})[run] = value
    first, second = names
    return {
        measure: {topic: (own.get(first), own.get(second)) for topic, own in topics.items()}
        for measure, topics in cells.items()
    }


def show_runs(catalogue: Catalogue, first: str, second: str, source: str = "") -> Shown:
    """Show the measures of two runs, and the topics on which they differ most."""
    names = catalogue.run(first).name, catalogue.run(second).name
    sources = runs_sources(catalogue, first, second)
    if not sources:
        raise NotThereError("no source measures or judges both runs")
    chosen = catalogue.source(source) if source else sources[0]
    if chosen.id not in {one.id for one in sources}:
        raise NotThereError("this source does not have both runs")
    found, held = differences(catalogue, chosen, first, second)
    main = next((one.name for one in found if one.difference is not None), "")
    reports = [
        {one.topic for one in catalogue.reports(source=chosen.name, run=name, kind="judged")}
        for name in names
    ]
    topics = [
        {
            "topic": catalogue.topic(topic),
            "first": pair[0],
            "second": pair[1],
            "gap": None if None in pair else pair[0] - pair[1],  # type: ignore[operator]
            "reports": topic in reports[0] & reports[1],
        }
        for topic, pair in held.get(main, {}).items()
    ]
    # What cannot be compared first, then where they are farthest apart.
    topics.sort(key=lambda one: (one["gap"] is not None, -abs(one["gap"] or 0.0)))  # type: ignore[arg-type]
    values = {
        "names": names,
        "source": chosen,
        "sources": sources,
        "measures": found,
        "main": measure_label(main) if main else "",
        "topics": topics,
    }
    return Shown("inspecting/compare_runs.html.j2", values)


def show_topic(catalogue: Catalogue, first: str, second: str, source: str, topic: str) -> Shown:
    """Show two runs' reports on a topic in two columns, with the nuggets that only one answers."""
    places = [catalogue.report_at(source, run, topic, kind="judged") for run in (first, second)]
    reports = [catalogue.judged_report(at) for at in places]
    lines = [sentence_lines(one) for one in reports]
    values = {
        "source": catalogue.source(source),
        "topic": catalogue.topic(topic),
        "places": places,
        "reports": reports,
        "lines": lines,
        "legend": legend(one.state for some in lines for one in some),
        "nuggets": nuggets_of_both(*reports),
        "measures": _measures(reports),
    }
    return Shown("inspecting/compare_topic.html.j2", values)


def nuggets_of_both(
    first: JudgedReport, second: JudgedReport
) -> list[tuple[str, list[tuple[NuggetLine | None, NuggetLine | None]]]]:
    """Return the nuggets in groups: open in one, answered by one alone, by both, by neither."""
    sides = [{one.id: one for one in nugget_lines(report)} for report in (first, second)]
    groups: dict[str, list[tuple[NuggetLine | None, NuggetLine | None]]] = {
        name: [] for name in ("Unscored in one", "Only the first", "Only the second", "Both",
                              "Neither")
    }  # fmt: skip
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        a, b = sides[0].get(name), sides[1].get(name)
        states = [one.state if one else "unscored" for one in (a, b)]
        if "uncited" in states:
            continue  # known to have no answer: nobody can give one
        if "unscored" in states:
            group = "Unscored in one"
        elif states == ["yes", "no"]:
            group = "Only the first"
        elif states == ["no", "yes"]:
            group = "Only the second"
        else:
            group = "Both" if states == ["yes", "yes"] else "Neither"
        groups[group].append((a, b))
    return [(name, found) for name, found in groups.items() if found]


def _measures(reports: Sequence[JudgedReport]) -> list[dict[str, Any]]:
    found = [measures_of(one) for one in reports]
    return [
        {
            "label": a.label,
            "first": a,
            "second": b,
            "gap": None if a.value is None or b.value is None else a.value - b.value,
        }
        for a, b in zip(*found, strict=True)
    ]
