"""Agreement of a judge with people, compared with the agreement between people."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pnyx.core.errors import InputError, shorten
from pnyx.core.tabular import Result
from pnyx.formats.base import located
from pnyx.formats.label_words import ADJUDICATED
from pnyx.judging.labels import consensus, counted_labels
from pnyx.judging.measures.binary import weighted_accuracy
from pnyx.judging.measures.ground_truth import Key, grade_of
from pnyx.judging.measures.registry import MEASURES, Spread
from pnyx.judging.measures.trials import numbered
from pnyx.judging.verdicts import Source, Verdict, file_of, of_one_judge, read_verdicts, shown_value
from pnyx.stats.alpha import ALPHA_LEVELS, RatedUnits, weighted_kappa
from pnyx.stats.base import BOOTSTRAP, Bootstrap, Measured, plain
from pnyx.stats.correlation import weighted_kendall, weighted_spearman
from pnyx.stats.intervals import SIGNED, UNIT, Range, draw_weights, interval_of
from pnyx.stats.weighted_measures import Floats, Weighted

_PAIRED: dict[str, Weighted] = {
    "accuracy": weighted_accuracy,
    "kappa": weighted_kappa,
    "spearman": weighted_spearman,
    "kendall": weighted_kendall,
}
RATER_MEASURES = (*(f"alpha_{level}" for level in ALPHA_LEVELS), *_PAIRED)
"""Names of the measures, each in [-1, 1], 1 is best (docs/reference/measures.md)."""

_PREFERRED = {"a": 1.0, "tie": 0.0, "b": -1.0}
_COMMON = 2  # Items that two raters must share to be compared
_DRAWN_PAIRS = 200  # With more pairs of raters, no intervals are drawn

Between = Literal["human-judge", "human-human", "raters"]
Index = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Compared:
    """Two sides, or the raters within one file, compared."""

    kind: Between  # a judge with people, two files of labels, or one file
    names: tuple[str, ...]  # of the sides; for one file, its name
    raters: int
    per_dimension: Mapping[str, Mapping[str, Measured]]
    mean: Mapping[str, Measured]  # over the dimensions with a value

    def row(self) -> dict[str, Any]:
        """Return the object in `--json` output."""
        return {
            "kind": self.kind,
            "between": list(self.names),
            "raters": self.raters,
            "per_dimension": plain(self.per_dimension),
            "mean": plain(self.mean),
        }


@dataclass(frozen=True, slots=True, repr=False)
class RaterAgreement(Result):
    """All comparisons of one judge and one or more files of labels."""

    compared: Sequence[Compared]
    clusters: int
    clustered_by: str
    bootstrap: Bootstrap
    unscored: int = 0

    def rows(self) -> list[dict[str, Any]]:
        """Return one object for each measured value."""
        return [
            {
                "kind": c.kind,
                "between": " / ".join(c.names),
                "dimension": d,
                "measure": n,
                **m.row(),
            }
            for c in self.compared
            for d, measures in (*c.per_dimension.items(), ("mean", c.mean))
            for n, m in measures.items()
        ]

    def row(self) -> dict[str, Any]:
        """Return the `--json` object; `measures` are those of the judge and the first labels."""
        facts = {"clusters": self.clusters, "clustered_by": self.clustered_by}
        return {
            "measures": plain(self.compared[0].mean) if self.compared else {},
            "compared": [row.row() for row in self.compared],
            "unscored": self.unscored,
            "interval": self.bootstrap.row("cluster bootstrap", **facts),
        }


@dataclass(slots=True)
class _Side:
    """The labels of one side as numbers; `numbered` is whether they were numbers."""

    name: str
    labels: list[Verdict] = field(default_factory=list)
    numbered: bool = False
    keys: set[Key] = field(default_factory=set)

    def raters(self) -> list[dict[Key, float]]:
        """Return the labels of each rater; an adjudicator is not a rater."""
        raters: dict[str, dict[Key, float]] = {}
        for label in self.labels:
            if label.annotator != ADJUDICATED:
                raters.setdefault(label.annotator, {})[label.key] = label.value
        return list(raters.values())

    def together(self) -> dict[Key, float]:
        """Return one value per key: the mean of several raters' numbers, else the majority."""
        votes = counted_labels(self.labels, lambda label: float(label.value))
        if self.numbered:
            return {key: float(np.mean(values)) for key, values in votes.items()}
        labels = {key: consensus(values) for key, values in votes.items()}
        return {key: value for key, value in labels.items() if value is not None}


def measure_raters(
    answers: Source | None,
    labels: Sequence[Source],
    *,
    judge: str | None = None,
    names: Sequence[str] = (),
    bootstrap: Bootstrap = BOOTSTRAP,
) -> RaterAgreement:
    """Measure the agreement of a judge with people, between label files, and within a file.

    Args:
        answers: a judge's answers (yes or no, numbers, or a, b and tie); None for people alone.
        labels: human labels, one or more files; raters within one have an `annotator`.
            `adjudicated` is not a rater: its labels replace the combined labels of the others.
        judge: the judge whose answers count, if there are several.
        names: of the labels, in order; by default their files', or `labels 1`, `labels 2`.
        bootstrap: how intervals are drawn: over groups or, if no item has one, over items.

    Returns:
        The judge with each file, then the files with each other, then the raters within each file
        with several. Values are None if undefined. If more than 200 pairs of raters are compared,
        accuracy, kappa, Spearman and Kendall have no intervals.

    Raises:
        InputError: a file is malformed, or none of its items match.
    """
    groups: dict[str, str] = {}
    people = [_read(label, f"labels {n}", groups) for n, label in enumerate(labels, 1)]
    for side, name in zip(people, names, strict=False):
        side.name = name
    sides: list[tuple[Between, tuple[str, ...], list[dict[Key, float]], set[Key] | None]] = []
    unscored = 0
    if answers is not None:
        answered = _read(answers, "judge", groups, judge=judge)
        for side in people:
            ratings, theirs = answered.together(), side.together()
            common = answered.keys & theirs.keys()
            if not common:
                raise InputError(
                    f"no answer of {shorten(answered.name, 40)!r} has a label in {side.name}"
                )
            unscored = max(unscored, len(common - ratings.keys()))
            sides.append(("human-judge", (answered.name, side.name), [ratings, theirs], common))
    for first, second in combinations(people, 2):
        pair = [first.together(), second.together()]
        if pair[0].keys() & pair[1].keys():
            sides.append(("human-human", (first.name, second.name), pair, None))
    sides += [
        ("raters", (side.name,), raters, None)
        for side in people
        if len(raters := side.raters()) > 1
    ]
    named = any(groups.values())
    compared = [
        _compare(kind, names, raters, common, groups, bootstrap)
        for kind, names, raters, common in sides
    ]
    count = len({group or f"item {item}" for item, group in groups.items()})
    return RaterAgreement(compared, count, "group" if named else "item", bootstrap, unscored)


def check_labels(labels: Sequence[Source], items: Collection[str]) -> None:
    """Refuse label files, before anything is asked, without a label for any of the items."""
    for number, label in enumerate(labels, 1):
        side = _read(label, f"labels {number}", {})
        if not any(item in items for item, _ in side.keys):
            raise InputError(f"no label in {side.name} is of one of the items")


def _read(source: Source, name: str, groups: dict[str, str], *, judge: str | None = None) -> _Side:
    path = file_of(source) if isinstance(source, str | Path) else ""
    side = _Side(shorten(Path(path).name, 60) if path and name != "judge" else name)
    rows: Iterator[Verdict] = read_verdicts(source, "answers" if name == "judge" else "labels")
    if name == "judge":
        rows = of_one_judge(rows, judge, source)
    for row in rows:
        if name == "judge":
            side.name = row.judge or side.name
        try:
            value = _number(row.value)
        except InputError as error:
            raise located(error, path or "rows", row.line) from error
        side.keys.add(row.key)
        groups[row.id] = groups.get(row.id) or row.group or row.question_id
        if value is not None:
            side.numbered |= isinstance(row.value, int | float) and not isinstance(row.value, bool)
            side.labels.append(replace(row, value=value))
    return side


def _number(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, str) and value in _PREFERRED:
        return _PREFERRED[value]
    try:
        return grade_of(value)
    except InputError as error:
        expected = "yes or no, a number, or one of a, b and tie"
        raise InputError(f"value: found {shown_value(value)}, expected {expected}") from error


# One comparison ----------------------------------------------------------------------------------


def _compare(
    kind: Between,
    names: tuple[str, ...],
    raters: Sequence[Mapping[Key, float]],
    all_keys: set[Key] | None,
    groups: Mapping[str, str],
    bootstrap: Bootstrap,
) -> Compared:
    keys = sorted(set().union(*(rater.keys() for rater in raters)))
    rated = [key for key in keys if sum(key in rater for rater in raters) > 1]
    table = np.array([[rater.get(key, np.nan) for key in rated] for rater in raters])
    dimensions = sorted({dimension for _, dimension in rated})
    drawn_by = [groups.get(item, "") or f"item {item}" for item, _ in rated]
    clusters = numbered(drawn_by) if rated else np.empty(0, dtype=np.intp)
    by_dimension = {
        name: np.array([n for n, key in enumerate(rated) if key[1] == name], dtype=np.intp)
        for name in dimensions
    }
    counts = {
        name: len(columns) if all_keys is None else sum(key[1] == name for key in all_keys)
        for name, columns in by_dimension.items()
    }
    functions_of = {name: _functions(table[:, columns]) for name, columns in by_dimension.items()}
    values = {
        (name, measure): float(function(np.ones((1, len(by_dimension[name]))))[0])
        for name, functions in functions_of.items()
        for measure, function in functions.items()
    }
    many = len(raters) * (len(raters) - 1) // 2 > _DRAWN_PAIRS
    drawn: dict[tuple[str, str], list[Floats]] = {at: [] for at in values}
    for weights in draw_weights(clusters, bootstrap):
        for name, measure in values:
            if not (many and measure in _PAIRED):
                sampled = weights[:, by_dimension[name]]
                drawn[name, measure].append(functions_of[name][measure](sampled))
    per_dimension = {
        name: {
            measure: _measured(
                values[name, measure],
                drawn[name, measure],
                len(by_dimension[name]),
                counts[name],
                len(np.unique(clusters[by_dimension[name]])),
                bootstrap,
                _spread(measure, table[:, by_dimension[name]]),
            )
            for measure in RATER_MEASURES
        }
        for name in dimensions
    }
    mean = {
        measure: _mean_of(
            measure, dimensions, values, drawn, per_dimension, len(np.unique(clusters)), bootstrap
        )
        for measure in RATER_MEASURES
    }
    return Compared(kind, names, len(raters), per_dimension, mean if dimensions else {})


def _functions(table: Floats) -> dict[str, Callable[[Floats], Floats]]:
    units = RatedUnits(table)
    functions: dict[str, Callable[[Floats], Floats]] = {
        f"alpha_{level}": partial(units.alpha, level) for level in ALPHA_LEVELS
    }
    has = np.isfinite(table)
    common = [
        (table[i], table[j], np.flatnonzero(has[i] & has[j]))
        for i, j in combinations(range(len(table)), 2)
    ]
    pairs = [(a[rows], b[rows], rows) for a, b, rows in common if len(rows) >= _COMMON]
    return functions | {name: partial(_pair_mean, m, pairs) for name, m in _PAIRED.items()}


def _pair_mean(
    measure: Weighted, pairs: Sequence[tuple[Floats, Floats, Index]], weights: Floats
) -> Floats:
    """Return the mean over pairs of raters that have a value."""
    if not pairs:
        return np.full(len(weights), np.nan)
    total, count = np.zeros(len(weights)), np.zeros(len(weights))
    for first, second, rows in pairs:
        value = measure(first, second, weights[:, rows])
        has = np.isfinite(value)
        total += np.where(has, value, 0.0)
        count += has
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _measured(
    value: float,
    drawn: Sequence[Floats],
    scored: int,
    total: int,
    clusters: int,
    bootstrap: Bootstrap,
    spread: Spread,
) -> Measured:
    if not np.isfinite(value):
        return Measured(None, scored, total)
    draws = np.concatenate(drawn) if drawn else np.empty(0)
    return Measured(value, scored, total, *spread.interval(value, draws, clusters, bootstrap))


def _mean_of(
    measure: str,
    dimensions: Sequence[str],
    values: Mapping[tuple[str, str], float],
    drawn: Mapping[tuple[str, str], Sequence[Floats]],
    per_dimension: Mapping[str, Mapping[str, Measured]],
    clusters: int,
    bootstrap: Bootstrap,
) -> Measured:
    """Return the mean over the dimensions with a value; a draw counts if each has one."""
    defined = [name for name in dimensions if np.isfinite(values[name, measure])]
    scored = sum(per_dimension[name][measure].scored for name in dimensions)
    total = sum(per_dimension[name][measure].asked for name in dimensions)
    if not defined:
        return Measured(None, scored, total)
    value = float(np.mean([values[name, measure] for name in defined]))
    tables = [np.concatenate(drawn[name, measure]) for name in defined if drawn[name, measure]]
    without_interval = [
        measured for name in defined if (measured := per_dimension[name][measure]).low is None
    ]
    if not tables or without_interval:
        return Measured(
            value,
            scored,
            total,
            None,
            None,
            without_interval[0].no_interval if without_interval else "",
        )
    if len(dimensions) == 1:
        return per_dimension[dimensions[0]][measure]
    ends = interval_of(value, np.mean(tables, axis=0), clusters, bootstrap, bounds=_bounds(measure))
    return Measured(value, scored, total, *ends)


def _bounds(measure: str) -> Range:
    return UNIT if measure == "accuracy" else SIGNED


def _spread(measure: str, table: Floats) -> Spread:
    """Return the interval settings of `pnyx measure`; the last rater's values are the labels."""
    gold = np.where(np.isfinite(table[-1]), table[-1], np.nanmax(table, axis=0))
    spread = MEASURES[measure].spread(gold, gold)
    return replace(spread, bounds=_bounds(measure))
