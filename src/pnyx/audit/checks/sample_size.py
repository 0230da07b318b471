"""Whether labels are enough to decide about a bar, however narrow the interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from pnyx.audit.checks.labelled_rows import pair_clusters
from pnyx.judging.measures.ground_truth import LabelledVerdicts
from pnyx.judging.measures.pairs import PairColumns
from pnyx.judging.measures.registry import MEASURES
from pnyx.stats.weighted_measures import Floats, Index

MIN_GROUPS = 5
"""Groups of equal size that labels must count for, rounded.

With half of the labels in one of 11 groups, 9 % of the intervals lay wholly below the truth, where
2.5 % are meant (docs/lab/check.md).
"""

MIN_RARER = 5
"""Labels of the rarer answer that a measure of both kinds of answer needs.

Of 30 labels in 6 groups with 10 % yes, 4 % of the intervals of kappa lay wholly below the truth.
"""

UNEVEN = 0.5
"""Share of the groups below which the groups of equal size make intervals too narrow."""

_PARTS: Mapping[str, Callable[[Floats, Floats], npt.NDArray[np.bool_]]] = {
    "sensitivity": lambda gold, _: gold == 1,
    "specificity": lambda gold, _: gold == 0,
    "precision": lambda _, value: value == 1,
    "npv": lambda _, value: value == 0,
}
"""Measure of some answers -> which these are, by (labels, verdicts)."""


def equal_groups(sizes: Index) -> float:
    """Return as how many groups of equal size these count (Kish, Survey Sampling, 1965)."""
    total = float(sizes.sum())
    return total * total / float(sizes @ sizes) if total else 0.0


def enough_groups(sizes: Index) -> bool:
    """Return whether groups of these sizes are enough to decide."""
    return equal_groups(sizes) >= MIN_GROUPS - 0.5


def too_few(joined: LabelledVerdicts, measure: str) -> str:
    """Return why labels are too few to decide about a measure; empty if they are enough."""
    pairs = PairColumns.of(joined.pairs)
    gold, value = pairs.labels(lambda label: label.yes), pairs.value()
    scored = np.isfinite(value)
    if measure in _PARTS:
        scored &= _PARTS[measure](gold, value)
    sizes = np.bincount(np.unique(pair_clusters(pairs)[scored], return_inverse=True)[1])
    if not enough_groups(sizes):
        noun = "groups" if any(pairs.groups) else "labels"
        count, equal = len(sizes), equal_groups(sizes)
        like = "" if count < MIN_GROUPS else f", as uneven as {equal:.1f} equal ones,"
        return f"{count} {noun}{like} are too few to decide ({MIN_GROUPS} are needed)"
    rarer = rarer_labels(gold[scored], measure)
    if rarer is not None and rarer < MIN_RARER:
        return f"{rarer} labels of the rarer answer are too few to decide ({MIN_RARER} are needed)"
    return ""


def rarer_labels(gold: Floats, measure: str) -> int | None:
    """Return how many labels of yes and no (n,) are of the rarer answer; None if it needs none."""
    needs = measure in MEASURES and MEASURES[measure].units == "rarer"
    if not needs or not np.isin(gold, (0.0, 1.0)).all():
        return None
    yes = int(gold.sum())
    return min(yes, len(gold) - yes)
