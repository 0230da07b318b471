"""Measures read into a catalogue: of files, of leaderboards, and those of judged reports."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pnyx.core.errors import InputError, escaped
from pnyx.formats import averaged, read_leaderboard
from pnyx.formats.reports.judged import JudgedReport
from pnyx.formats.runs.sources import run_names
from pnyx.web.results.builder import Builder
from pnyx.web.results.sources import GivenSource

MICRO: Final = "_micro"
"""Ends the name of a share over the items of all topics, as of one long report."""

_POOLED: Final = ("sentence_precision", "citation_precision", "citation_relevance",
                  "citation_recall", "nugget_recall")  # fmt: skip


def measure_runs(builder: Builder, source: int, runs_source: GivenSource) -> None:
    """Measure runs on their qrels, with what `pnyx measure retrieval` takes by default."""
    from pnyx.search.measures.retrieval import measure_retrieval

    paths, files = runs_source.runs, runs_source.files
    runs = dict(zip(run_names(paths), paths, strict=True))
    wanted = runs_source.baseline or paths[0]
    baseline = next((name for name, path in runs.items() if wanted in (name, path)), None)
    if baseline is None:
        names = escaped(", ".join(runs), 200)
        raise InputError(f"--baseline {escaped(wanted)}: expected one of the runs {names}")
    for part, path in (*runs.items(), *files.items()):
        builder.file(source, path, part)
    builder.about(source, task="retrieval")
    result = measure_retrieval(runs, files["qrels"], baseline=baseline)
    read_measures(builder, source, result.row())


def read_measures(builder: Builder, source: int, document: Mapping[str, Any]) -> None:
    """Read what `pnyx measure ... --json` prints: measures of a judge, or of runs."""
    rows = document.get("runs") or document.get("retrievers")
    if not isinstance(rows, list):
        _add(builder, source, None, None, document.get("measures"))
        return
    compared = document.get("compared")
    first = _f1_first(compared) if isinstance(compared, list) else []
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("run"), str):
            raise InputError("runs: found no name of a run, expected one")
        run = builder.run(row["run"])
        _add(builder, source, run, None, _with_micro(row, first), first)
        topics = row.get("per_group")
        for topic, measures in topics.items() if isinstance(topics, dict) else ():
            _add(builder, source, run, builder.topic(topic), measures, first)
    for comparison in document.get("comparisons") or ():
        if isinstance(comparison, dict) and isinstance(comparison.get("run"), str):
            _compare(builder, source, comparison, document.get("baseline"))


def _f1_first(names: Iterable[Any]) -> list[str]:
    """Return the names of measures, that of F1 before all others: pages sort by the first."""
    return sorted(
        (name for name in names if isinstance(name, str)), key=lambda name: name.lower() != "f1"
    )


def _with_micro(row: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the measures of a run, and those named over the items of all topics, if given."""
    measures, items = row.get("measures"), row.get("items")
    if not (isinstance(measures, dict) and isinstance(items, dict)):
        return measures
    cells = {name: items[name] for name in names if isinstance(items.get(name), dict)}
    return measures | {
        f"{name}{MICRO}": {**cell, "value": cell["pooled"]}
        for name, cell in cells.items()
        if "pooled" in cell
    }


def _add(
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
    beside = (one for name in first for one in (name, f"{name}{MICRO}"))
    names = [*(name for name in beside if name in measures), *measures]
    for place, name in enumerate(dict.fromkeys(names)):
        cell = measures[name]
        cell = cell if isinstance(cell, dict) else {"value": cell}
        if "value" in cell:
            numbers = [_number(cell.get(key)) for key in ("value", "low", "high")]
            counts = [_count(cell.get(key)) for key in ("scored", "asked")]
            why = cell.get("no_interval")
            row = (source, run, topic, name, place, *numbers, *counts)
            builder.value(row, why if isinstance(why, str) else "")


def _compare(builder: Builder, source: int, row: Mapping[str, Any], baseline: Any) -> None:
    runs = builder.run(row["run"]), builder.run(str(row.get("baseline") or baseline or ""))
    numbers = [_number(row.get(key)) for key in ("difference", "low", "high")]
    p, significant = _number(row.get("p_holm", row.get("p"))), row.get("significant")
    flag = None if significant is None else int(bool(significant))
    builder.add("difference", (source, *runs, str(row.get("measure", "")), *numbers, p, flag))


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_leaderboard_file(builder: Builder, source: int, part: str, path: str) -> None:
    """Read a leaderboard, in any of its formats; means that it does not state are added."""
    builder.file(source, path, "leaderboard")
    board = read_leaderboard(path)
    stated = {(cell.run_id, cell.measure) for cell in board.stated}
    topics = {cell.topic_id for cell in board.cells}
    scored = Counter((c.run_id, c.measure) for c in board.cells if c.value is not None)
    means = [
        cell
        for cell in (averaged(board.cells) if board.cells else ())
        if cell.topic_id == "all" and (cell.run_id, cell.measure) not in stated
    ]
    on_topics = {(cell.run_id, cell.measure) for cell in board.cells}
    order = {name: position for position, name in enumerate(_f1_first(board.measures))}
    for cell in (*board.cells, *board.stated, *means):
        key, over_all = (cell.run_id, cell.measure), cell.topic_id == "all"
        counts = (int(cell.value is not None), 1)
        if over_all:
            counts = scored[key] if key in on_topics else counts[0], len(topics) or 1
        topic = None if over_all else builder.topic(cell.topic_id)
        where = (source, builder.run(cell.run_id), topic, cell.measure, order[cell.measure])
        builder.value((*where, cell.value, None, None, *counts))


class ReportMeasures:
    """Measures of reports, one by one as memory may not hold all, and of runs over all topics."""

    def __init__(self, builder: Builder, source: int) -> None:
        self.builder, self.source = builder, source
        self.runs: dict[int, dict[str, list[float | None]]] = {}
        self.topics: set[str] = set()
        self.pooled: dict[int, dict[str, tuple[float, int, int]]] = {}

    def add(self, report: JudgedReport, run: int, topic: int) -> None:
        """Measure a report."""
        from pnyx.reports.measures.registry import SHOWN, measure_report

        measures = measure_report(report, names=SHOWN)
        self.topics.add(report.topic_id)
        values = [measures[name].value for name in SHOWN]
        self.runs.setdefault(run, {})[report.topic_id] = values
        self._write(run, topic, measures)
        pooled = self.pooled.setdefault(run, {})
        for name in _POOLED:
            m = measures[name]
            got, scored, asked = pooled.get(name, (0.0, 0, 0))
            got += 0.0 if m.value is None else m.value * m.scored
            pooled[name] = got, scored + m.scored, asked + m.asked

    def finish(self) -> None:
        """Add the means over all topics, which are those of `pnyx measure report`."""
        from pnyx.reports.measures.measuring import means_over_topics
        from pnyx.reports.measures.registry import SHOWN
        from pnyx.stats.base import Measured

        absent: list[float | None] = [None] * len(SHOWN)
        for run, values in self.runs.items():
            per_topic = {
                topic: {
                    name: Measured(value, 0, 0)
                    for name, value in zip(SHOWN, values.get(topic, absent), strict=True)
                }
                for topic in sorted(self.topics)
            }
            self._write(run, None, means_over_topics(per_topic, SHOWN))
            for name, (got, scored, asked) in self.pooled[run].items():
                of = asked if name == "citation_recall" else scored
                place = SHOWN.index(name) + 0.5  # beside the mean over topics
                where = (self.source, run, None, f"{name}{MICRO}", place)
                self.builder.value((*where, got / of if of else None, None, None, scored, asked))

    def _write(self, run: int, topic: int | None, measures: Mapping[str, Any]) -> None:
        for place, (name, m) in enumerate(measures.items()):
            where = (self.source, run, topic, name, place)
            self.builder.value((*where, m.value, m.low, m.high, m.scored, m.asked), m.no_interval)
