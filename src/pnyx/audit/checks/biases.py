"""Biases of a judge that its verdicts and people's labels show, without asking it again.

Does it say yes to longer texts more often than people do? Is it right more often where people
agree with each other? With whom does it agree? A part with few items gets no figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pnyx.audit.checks.items import CheckItem, CheckItems
from pnyx.audit.checks.labelled_rows import (
    check_judge,
    cluster_numbers,
    join_items,
    labels_of,
    settled_label,
)
from pnyx.judging.measures.agreement import measure_agreement
from pnyx.stats.base import BOOTSTRAP, Bootstrap, Measured, row_of
from pnyx.stats.intervals import cluster_mean, draw_weights, drawn_value
from pnyx.stats.weighted_measures import Floats, Index, ratio

MIN_PART = 20
"""Items that each part of a comparison must have to get a figure."""

TEXT_COLUMNS = ("answer", "response", "output", "completion", "prediction", "text", "argument")
"""Columns that hold what is judged, the usual first."""

_DIFFERENCE = (-2.0, 2.0)  # Range of the difference of two means in [-1, 1]


@dataclass(frozen=True, slots=True)
class LengthBias:
    """How a judge treats longer texts, compared with how people do.

    Attributes:
        column: whose texts were counted; empty if the table has no texts.
        words: the median number of words; longer texts have more.
        longer: mean of judge minus people over the longer texts: for yes and no, how much more
            often the judge says yes; for ratings, how much higher it rates.
        shorter: the same over the others.
        difference: `longer` minus `shorter`: above 0, the judge favours longer texts.
        judge_yes: how often the judge says yes to (longer, shorter) texts; None of ratings.
        people_yes: how often people do.
        no_figure: why there is no figure; empty if there is one.
    """

    column: str
    words: float | None
    longer: Measured
    shorter: Measured
    difference: Measured
    judge_yes: tuple[int, int] | None = None
    people_yes: tuple[int, int] | None = None
    no_figure: str = ""

    @property
    def shown(self) -> bool | None:
        """Whether the interval of the difference excludes 0; None without an interval."""
        low, high = self.difference.low, self.difference.high
        return None if low is None or high is None else low > 0 or high < 0

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        names = "column words longer shorter difference judge_yes people_yes shown no_figure"
        return row_of(self, names)


@dataclass(frozen=True, slots=True)
class ConsensusPart:
    """How right a judge is on items on which people agree to some degree.

    Attributes:
        name: `unanimous` or `split`.
        measure: `accuracy`, or of ratings `mean_absolute_error`, both against people together.
        value: of the judge.
        right: how many verdicts are right; None of ratings.
        tied: items without a majority, which are left out.
        no_figure: why there is no figure; empty if there is one.
    """

    name: str
    measure: str
    value: Measured
    right: int | None
    tied: int = 0
    no_figure: str = ""

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return row_of(self, "name measure value right tied no_figure")


@dataclass(frozen=True, slots=True)
class AnnotatorAgreement:
    """How a judge agrees with one annotator, and the annotator with the others together.

    `others` compares with the majority (of ratings, the mean) of the other annotators; a person
    whose labels have fewer than `MIN_PART` items in common with the judge gets no figure.
    """

    name: str
    accuracy: Measured
    kappa: Measured
    others: Measured
    no_figure: str = ""

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return row_of(self, "name accuracy kappa others no_figure")


@dataclass(frozen=True, slots=True)
class Biases:
    """What verdicts and labels show about a judge's biases; parts that do not apply are empty."""

    judge: str
    length: LengthBias
    consensus: tuple[ConsensusPart, ...]
    annotators: tuple[AnnotatorAgreement, ...]

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return row_of(self, "judge length consensus annotators")


def measure_biases(items: CheckItems, judge: str, *, bootstrap: Bootstrap = BOOTSTRAP) -> Biases:
    """Measure the biases of one judge.

    Args:
        items: the table.
        judge: a column of verdicts.
        bootstrap: how intervals are drawn, over groups.

    Raises:
        InputError: the table has no such judge.
    """
    return Biases(
        judge,
        length_bias(items, judge, bootstrap=bootstrap),
        consensus_parts(items, judge, bootstrap=bootstrap),
        annotator_agreement(items, judge, bootstrap=bootstrap),
    )


def length_bias(items: CheckItems, judge: str, *, bootstrap: Bootstrap = BOOTSTRAP) -> LengthBias:
    """Compare judge and people on the texts that are longer than the median, and on the others."""
    check_judge(items, judge)
    column = _text_column(items.items)
    compared = _compared(items, judge, [i for i in items.items if column in i.texts])
    none = Measured(None, 0, len(items.items))
    if not compared:
        why = f"no labelled row has a text in {column}" if column else "the table has no texts"
        return LengthBias(column, None, none, none, none, no_figure=why)
    rows = [item for item, _, _ in compared]
    words = np.array([len(item.texts[column].split()) for item in rows])
    verdicts, labels = (
        np.array(x, dtype=np.float64) for x in list(zip(*compared, strict=True))[1:]
    )
    median = float(np.median(words))
    longer = words > median
    few = min(int(longer.sum()), int((~longer).sum()))
    if few < MIN_PART:
        why = f"{few} of {len(rows)} texts are {'longer' if longer.sum() == few else 'shorter'}"
        why += f", and a figure needs {MIN_PART} of each"
        return LengthBias(column, median, none, none, none, no_figure=why)
    excess, clusters = verdicts - labels, cluster_numbers(rows)
    yes_no = items.kind == "yes-no"
    bounds = (-1.0, 1.0) if yes_no else None
    of_longer, of_shorter = (
        cluster_mean(excess[side], clusters[side], bootstrap, bounds=bounds)
        for side in (longer, ~longer)
    )
    difference = _difference(excess, longer, clusters, bootstrap, bounded=yes_no)
    judge_yes, people_yes = (
        (int(of[longer].sum()), int(of[~longer].sum())) if yes_no else None
        for of in (verdicts, labels)
    )
    return LengthBias(column, median, of_longer, of_shorter, difference, judge_yes, people_yes)


def consensus_parts(
    items: CheckItems, judge: str, *, bootstrap: Bootstrap = BOOTSTRAP
) -> tuple[ConsensusPart, ...]:
    """Measure a judge on items on which people are unanimous, and on those on which they are not.

    Empty unless some items have two or more labels.
    """
    check_judge(items, judge)
    parts: dict[str, list[CheckItem]] = {"unanimous": [], "split": []}
    for item in items.items:
        votes = labels_of(item, items.people)
        if len(votes) > 1:
            parts["unanimous" if len(set(votes)) == 1 else "split"].append(item)
    if not any(parts.values()):
        return ()
    return tuple(_consensus_part(items, judge, name, bootstrap, of) for name, of in parts.items())


def _consensus_part(
    items: CheckItems, judge: str, name: str, bootstrap: Bootstrap, part: Sequence[CheckItem]
) -> ConsensusPart:
    compared = _compared(items, judge, part)
    settled = sum(settled_label(labels_of(i, items.people), items) is not None for i in part)
    yes_no = items.kind == "yes-no"
    measure = "accuracy" if yes_no else "mean_absolute_error"
    tied = len(part) - settled
    if len(compared) < MIN_PART:
        why = f"{len(compared)} items, and a figure needs {MIN_PART}"
        return ConsensusPart(name, measure, Measured(None, len(compared), settled), None, tied, why)
    errors = np.array([abs(float(verdict) - float(label)) for _, verdict, label in compared])
    clusters = cluster_numbers([item for item, _, _ in compared])
    values = 1 - errors if yes_no else errors
    value = cluster_mean(values, clusters, bootstrap, settled)
    return ConsensusPart(name, measure, value, int(values.sum()) if yes_no else None, tied)


def annotator_agreement(
    items: CheckItems, judge: str, *, bootstrap: Bootstrap = BOOTSTRAP
) -> tuple[AnnotatorAgreement, ...]:
    """Measure a judge against each annotator alone; empty with fewer than two annotators."""
    check_judge(items, judge)
    if len(items.people) < 2:
        return ()
    return tuple(_annotator(items, judge, name, bootstrap) for name in items.people)


def _annotator(
    items: CheckItems, judge: str, name: str, bootstrap: Bootstrap
) -> AnnotatorAgreement:
    labelled = [item for item in items.items if item.labels.get(name) is not None]
    scored = sum(item.verdicts.get(judge) is not None for item in labelled)
    if scored < MIN_PART:
        none = Measured(None, scored, len(labelled))
        why = f"{scored} items in common, and a figure needs {MIN_PART}"
        return AnnotatorAgreement(name, none, none, none, why)
    measures = measure_agreement(join_items(items, judge, (name,)), bootstrap=bootstrap).measures
    people = [person for person in items.people if person != name]
    settled = [(i, settled_label(labels_of(i, people), items)) for i in labelled]
    shared = [(i, float(i.labels[name] == label)) for i, label in settled if label is not None]
    others = Measured(None, len(shared), len(labelled))
    if len(shared) >= MIN_PART:
        same, clusters = [v for _, v in shared], cluster_numbers([i for i, _ in shared])
        others = cluster_mean(same, clusters, bootstrap, len(labelled))
    return AnnotatorAgreement(name, measures["accuracy"], measures["kappa"], others)


def _compared(
    items: CheckItems, judge: str, part: Sequence[CheckItem]
) -> list[tuple[CheckItem, bool | float, bool | float]]:
    """Return the items that judge and people both answer, with verdict and settled label."""
    compared = []
    for item in part:
        verdict = item.verdicts.get(judge)
        label = settled_label(labels_of(item, items.people), items)
        if verdict is not None and label is not None:
            compared.append((item, verdict, label))
    return compared


def _text_column(items: Sequence[CheckItem]) -> str:
    """Return the column of what is judged: by its usual name, else that with the longest texts."""
    sizes: dict[str, int] = {}
    for item in items:
        for column, text in item.texts.items():
            sizes[column] = sizes.get(column, 0) + len(text)
    by_name = {column.strip().lower(): column for column in sizes}
    usual = next((by_name[name] for name in TEXT_COLUMNS if name in by_name), "")
    return usual or max(sizes, key=sizes.__getitem__, default="")


def _difference(
    excess: Floats, longer: Any, clusters: Index, bootstrap: Bootstrap, *, bounded: bool
) -> Measured:
    """Return the mean over longer texts minus that over shorter ones, with its interval."""
    sides = [side.astype(np.float64) for side in (longer, ~longer)]

    def difference(weights: Floats) -> Floats:
        first, second = (ratio(weights @ (side * excess), weights @ side) for side in sides)
        return np.asarray(first - second)

    value = float(difference(np.ones((1, len(excess))))[0])
    drawn = [difference(weights) for weights in draw_weights(clusters, bootstrap)]
    count = int(clusters.max()) + 1
    bounds = _DIFFERENCE if bounded else None
    draws = np.concatenate(drawn) if drawn else np.empty(0)
    size = len(excess)
    return drawn_value(value, draws, size, size, count, bootstrap, bounds=bounds)
