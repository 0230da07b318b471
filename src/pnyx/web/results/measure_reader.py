"""Reads measures into a catalogue, from files and leaderboards."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pnyx.core.errors import InputError
from pnyx.formats import averaged, read_leaderboard
from pnyx.web.results.builder import Builder

MICRO: Final = "_micro"
"""Suffix of the name of a share over the items of all topics together."""


def read_measures(builder: Builder, source: int, document: Mapping[str, Any]) -> None:
    """Read the output of `pnyx measure ... --json`: measures of a judge, or of runs."""
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
    """Return the names of measures, F1 first: pages sort by the first."""
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
    beside = (name_or_micro for name in first for name_or_micro in (name, f"{name}{MICRO}"))
    names = [*(name for name in beside if name in measures), *measures]
    for position, name in enumerate(dict.fromkeys(names)):
        cell = measures[name]
        cell = cell if isinstance(cell, dict) else {"value": cell}
        if "value" in cell:
            numbers = [_number(cell.get(key)) for key in ("value", "low", "high")]
            counts = [_count(cell.get(key)) for key in ("scored", "asked")]
            why = cell.get("no_interval")
            row = (source, run, topic, name, position, *numbers, *counts)
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
    """Read a leaderboard in any format; missing means are added."""
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
