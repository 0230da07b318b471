"""Measures read into a catalogue: of files, of leaderboards, and those of judged reports."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pnyx.errors import InputError
from pnyx.files import read_json
from pnyx.judge.reports.records import JudgedReport
from pnyx.serve.inspecting.building import Builder
from pnyx.serve.inspecting.given import Found


def read_own_measures(builder: Builder, source: int, found: Found) -> None:
    """Read the measures.json of a results folder."""
    path = found.files["measures"]
    builder.file(source, path, "measures")
    document = read_json(Path(path))
    if document is None:
        raise InputError("is no JSON object, expected measures", path=path)
    read_measures(builder, source, document)


def read_measures(builder: Builder, source: int, document: Mapping[str, Any]) -> None:
    """Read what `pnyx measure ... --json` prints: measures of a judge, or of runs."""
    rows = document.get("runs") or document.get("retrievers")
    if not isinstance(rows, list):
        _values(builder, source, None, None, document.get("measures"))
        _groups(builder, source, None, document.get("per_group"))
        return
    compared = document.get("compared")
    first = [one for one in compared if isinstance(one, str)] if isinstance(compared, list) else []
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("run"), str):
            raise InputError("runs: found no name of a run, expected one")
        run = builder.run(row["run"])
        _values(builder, source, run, None, row.get("measures"), first)
        _groups(builder, source, run, row.get("per_group"), first)
    _differences(builder, source, document)


def _groups(
    builder: Builder, source: int, run: int | None, groups: Any, first: Sequence[str] = ()
) -> None:
    if isinstance(groups, dict) and run is not None:
        for topic, measures in groups.items():
            _values(builder, source, run, builder.topic(topic), measures, first)


def _values(
    builder: Builder,
    source: int,
    run: int | None,
    topic: int | None,
    measures: Any,
    first: Sequence[str] = (),
) -> None:
    """Add measures in their order, after those that runs are compared by."""
    if not isinstance(measures, dict):
        return
    names = [*(name for name in first if name in measures), *measures]
    for place, name in enumerate(dict.fromkeys(names)):
        told = measures[name]
        figures = told if isinstance(told, dict) else {"value": told}
        if "value" not in figures:
            continue
        held = [_number(figures.get(key)) for key in ("value", "low", "high")]
        counts = [_count(figures.get(key)) for key in ("scored", "asked")]
        why = figures.get("no_interval")
        told = (source, run, topic, name, place, *held, *counts)
        builder.value(told, why if isinstance(why, str) else "")


def _differences(builder: Builder, source: int, document: Mapping[str, Any]) -> None:
    for one in document.get("comparisons") or ():
        if not isinstance(one, dict) or not isinstance(one.get("run"), str):
            continue
        p = _number(one.get("p_holm", one.get("p")))
        significant = one.get("significant")
        builder.difference(
            (
                source, builder.run(one["run"]),
                builder.run(str(one.get("baseline") or document.get("baseline") or "")),
                str(one.get("measure", "")), _number(one.get("difference")),
                _number(one.get("low")), _number(one.get("high")), p,
                None if significant is None else int(bool(significant)),
            )
        )  # fmt: skip


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_board(builder: Builder, source: int, found: Found) -> None:
    """Read a leaderboard's file, in any of its formats."""
    from pnyx.corpora import averaged, read_leaderboard

    (path,) = found.files.values()
    builder.file(source, path, "leaderboard")
    board = read_leaderboard(path)
    stated = {(one.run_id, one.measure) for one in board.stated}
    topics = {one.topic_id for one in board.cells}
    scored: dict[tuple[str, str], int] = {}
    for cell in board.cells:
        key = cell.run_id, cell.measure
        scored[key] = scored.get(key, 0) + (cell.value is not None)
    whole = [
        one
        for one in (averaged(board.cells) if board.cells else ())
        if one.topic_id == "all" and (one.run_id, one.measure) not in stated
    ]
    places = {name: place for place, name in enumerate(board.measures)}
    for cell in (*board.cells, *board.stated, *whole):
        over_all = cell.topic_id == "all"
        counts = (int(cell.value is not None), 1)
        if over_all:
            counts = scored.get((cell.run_id, cell.measure), counts[0]), len(topics) or 1
        builder.value(
            (source, builder.run(cell.run_id), None if over_all else builder.topic(cell.topic_id),
             cell.measure, places[cell.measure], cell.value, None, None, *counts)
        )  # fmt: skip


class ReportMeasures:
    """The measures of judged reports, run by run: of each report, and their means over topics."""

    def __init__(self, builder: Builder, source: int) -> None:
        self.builder, self.source = builder, source
        self.held: dict[int, dict[str, list[float | None]]] = {}
        self.topics: set[str] = set()

    def take(self, report: JudgedReport, run: int, topic: int) -> None:
        """Measure a report."""
        from pnyx.measure.reports.registry import MAIN, measure_report

        found = measure_report(report, names=MAIN)
        self.topics.add(report.topic_id)
        self.held.setdefault(run, {})[report.topic_id] = [found[name].value for name in MAIN]
        for place, name in enumerate(MAIN):
            one = found[name]
            self.builder.value(
                (self.source, run, topic, name, place, one.value, None, None, one.scored, one.asked)
            )

    def finish(self) -> None:
        """Add the means over all topics, with intervals: those of `measure_reports`."""
        import numpy as np

        from pnyx.measure.core.base import BOOTSTRAP
        from pnyx.measure.core.intervals import column_means
        from pnyx.measure.reports.registry import MAIN, REPORT_MEASURES

        ranges = [REPORT_MEASURES[name].range for name in MAIN]
        for run, own in self.held.items():
            empty: list[float | None] = [None] * len(MAIN)
            # In the order of `measure_reports`, whose draws these are to be.
            rows = [own.get(topic, empty) for topic in sorted(self.topics)]
            table = np.array([[math.nan if x is None else x for x in row] for row in rows])
            means = column_means(table, BOOTSTRAP, ranges)
            for place, (name, one) in enumerate(zip(MAIN, means, strict=True)):
                self.builder.value(
                    (self.source, run, None, name, place, one.value, one.low, one.high, one.scored,
                     one.asked), one.no_interval,
                )  # fmt: skip
