"""What two leaderboards have in common: runs, topics, and cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pnyx.core.errors import InputError, shorten
from pnyx.formats.questions import topic_order
from pnyx.formats.reports.leaderboards import Leaderboard
from pnyx.stats.weighted_measures import Floats, ratio


@dataclass(frozen=True, slots=True)
class Shared:
    """The overlap of two leaderboards by one measure of each."""

    runs: Sequence[str]  # in both, by name
    topics: Sequence[str]  # in both; empty if values are over all topics
    first: Floats  # values (runs, topics), NaN if missing on either side
    second: Floats  # the same for the other leaderboard
    runs_apart: tuple[Sequence[str], Sequence[str]]  # only in the first, only in the second
    topics_apart: tuple[Sequence[str], Sequence[str]]  # the same for topics
    unscored: tuple[int, int]  # shared cells without a value, for each leaderboard

    @property
    def cells(self) -> tuple[int, int]:
        """How many cells are compared, and how many there could be."""
        return int(np.isfinite(self.first).sum()), self.first.size

    def means(self, topics: Floats | None = None) -> tuple[Floats, Floats]:
        """Return macro averages (draws, runs) of both, by how often topics (draws, n) are drawn."""
        weights = np.ones((1, self.first.shape[1])) if topics is None else topics
        has = np.isfinite(self.first).astype(np.float64)
        counted = weights @ has.T
        first, second = (
            ratio(weights @ np.where(has > 0, side, 0.0).T, counted)
            for side in (self.first, self.second)
        )
        return first, second

    def row(self) -> dict[str, Any]:
        """Return the objects `runs`, `topics` and `cells` of `--json`."""
        compared, size = self.cells
        unscored = {"unscored": self.unscored[0], "unscored_in_reference": self.unscored[1]}
        return {
            "runs": _row(self.runs, self.runs_apart),
            "topics": _row(self.topics, self.topics_apart),
            "cells": {"compared": compared, "shared": size, **unscored},
        }


def _row(both: Sequence[str], unshared: tuple[Sequence[str], Sequence[str]]) -> dict[str, Any]:
    names = ("shared", "only_here", "only_in_reference")
    return {name: list(some) for name, some in zip(names, (both, *unshared), strict=True)}


def share(first: Leaderboard, second: Leaderboard, measure: str, other: str) -> Shared:
    """Return the overlap of two leaderboards by a measure of each; a cell must be in both."""
    sides = [_table(first, measure), _table(second, other)]
    if not all(topics for _, topics in sides):
        sides = [_stated(first, measure), _stated(second, other)]
    (board, its_topics), (two, other_topics) = sides
    runs, runs_apart = _both(list(board), list(two))
    topics, topics_apart = _both(its_topics, other_topics)
    tables = [
        np.array([[_number(side[run].get(topic)) for topic in topics] for run in runs], dtype=float)
        .reshape(len(runs), len(topics))
        for side in (board, two)
    ]  # fmt: skip
    missing = [int(np.isnan(table).sum()) for table in tables]
    both = np.isfinite(tables[0]) & np.isfinite(tables[1])
    first_, second_ = (np.where(both, table, np.nan) for table in tables)
    named = () if topics == [""] else topics
    return Shared(runs, named, first_, second_, runs_apart, topics_apart, (missing[0], missing[1]))


def _table(
    board: Leaderboard, measure: str
) -> tuple[dict[str, dict[str, float | None]], list[str]]:
    values: dict[str, dict[str, float | None]] = {}
    topics: dict[str, None] = {}
    for cell in board.cells:
        if cell.measure == measure:
            values.setdefault(cell.run_id, {})[cell.topic_id] = cell.value
            topics[cell.topic_id] = None
    return values, list(topics)


def _stated(
    board: Leaderboard, measure: str
) -> tuple[dict[str, dict[str, float | None]], list[str]]:
    """Return the values over all topics, as if for one topic without a name."""
    cells = [cell for cell in board.stated if cell.measure == measure]
    return {cell.run_id: {"": cell.value} for cell in cells}, [""]


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _both(a: Sequence[str], b: Sequence[str]) -> tuple[list[str], tuple[list[str], list[str]]]:
    mine, other = set(a), set(b)
    both = sorted((name for name in a if name in other), key=topic_order)
    return both, ([n for n in a if n not in other], [n for n in b if n not in mine])


def paired_measures(
    first: Leaderboard,
    second: Leaderboard,
    names: Sequence[str] = (),
    pairs: Sequence[tuple[str, str]] = (),
) -> list[tuple[str, str]]:
    """Return pairs of measures: `pairs`, `names` or all in common; InputError for none."""
    wanted = [*((name, name) for name in names), *pairs]
    for pair in wanted:
        for board, name in zip((first, second), pair, strict=True):
            if name not in board.measures:
                available = shorten(", ".join(board.measures), 200)
                problem = f"no measure {shorten(name, 60)!r} (found: {available})"
                raise InputError(problem, path=board.name)
    if wanted:
        return list(dict.fromkeys(wanted))
    other = set(second.measures)
    both = [(name, name) for name in first.measures if name in other]
    if not both:
        here, there = (shorten(", ".join(board.measures), 80) for board in (first, second))
        problem = (
            f"has no measure in common with {shorten(second.name, 100)} ({here}; there {there})"
        )
        raise InputError(f"{problem}: name one of each", path=first.name)
    return both
