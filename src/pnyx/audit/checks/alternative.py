"""The alternative annotator test: may a judge replace one of several people?

Calderon, Reichart and Dror, "The Alternative Annotator Test for LLM-as-a-Judge", ACL 2025. Each
annotator is left out in turn. On each item, the judge and the annotator are compared by how well
they agree with the remaining annotators. The judge wins against an annotator if the annotator is
shown to be better less than `epsilon` more often than the judge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pnyx.audit.checks.items import CheckItem, CheckItems
from pnyx.audit.checks.labelled_rows import check_judge, cluster_numbers, labels_of
from pnyx.core.tabular import Result
from pnyx.stats.base import row_of
from pnyx.stats.distributions import student_below
from pnyx.stats.weighted_measures import Floats, Index

EPSILON = 0.2  # The paper's value for experts; it has 0.15 for skilled annotators, 0.1 for crowds
FALSE_DISCOVERIES = 0.05
MIN_ANNOTATORS = 3
MIN_ITEMS = 30  # Fewest items of an annotator for which the paper's t-test is valid
PASSING = 0.5  # Share of annotators against which the judge must win


@dataclass(frozen=True, slots=True)
class ReplacedAnnotator:
    """The judge as a replacement for one annotator, by agreement with the others.

    Attributes:
        name: the annotator's column.
        items: items that the annotator, another annotator and the judge all answer.
        clusters: groups of these items; an item without a group is a group alone.
        judge_as_good: share of items on which the judge agrees at least as well with the others.
        annotator_as_good: share of items on which the annotator does.
        p: of the test that the annotator is not `epsilon` better; None if that is not valid.
        judge_wins: whether p is significant after the correction of Benjamini and Yekutieli.
    """

    name: str
    items: int
    clusters: int
    judge_as_good: float | None
    annotator_as_good: float | None
    p: float | None = None
    judge_wins: bool = False

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return row_of(self, "name items clusters judge_as_good annotator_as_good p judge_wins")


@dataclass(frozen=True, slots=True, repr=False)
class AlternativeTest(Result):
    """Whether a judge may replace an annotator.

    Attributes:
        judge: the column of verdicts.
        epsilon: how much more often an annotator may be better, as the judge costs less.
        annotators: each annotator left out in turn.
        winning_rate: share of the tested annotators against whom the judge wins (omega).
        advantage: mean share of items on which the judge is as good (rho).
        not_valid: why the test cannot be done; empty if it was.
    """

    judge: str
    epsilon: float
    annotators: tuple[ReplacedAnnotator, ...]
    winning_rate: float | None
    advantage: float | None
    not_valid: str = ""

    @property
    def passes(self) -> bool | None:
        """Whether the judge may replace an annotator; None if the test is not valid."""
        return None if self.winning_rate is None else self.winning_rate >= PASSING

    @property
    def tested(self) -> int:
        """How many annotators the test is valid for."""
        return sum(annotator.p is not None for annotator in self.annotators)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each annotator."""
        return [annotator.row() for annotator in self.annotators]

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        names = "judge epsilon winning_rate advantage passes not_valid annotators"
        return row_of(self, names)


def alternative_annotator_test(
    items: CheckItems, judge: str, *, epsilon: float = EPSILON
) -> AlternativeTest:
    """Test whether a judge may replace an annotator.

    Where items have groups, the standard error of the t-test is that of groups; without groups the
    test is the paper's.

    Args:
        items: a table with three or more columns of people.
        judge: a column of verdicts.
        epsilon: see `AlternativeTest`; from 0, below 1.

    Raises:
        InputError: the table has no such judge.
        ValueError: epsilon is out of range.
    """
    if not 0 <= epsilon < 1:
        raise ValueError(f"epsilon: found {epsilon!r}, expected a number from 0, below 1")
    check_judge(items, judge)
    if len(items.people) < MIN_ANNOTATORS:
        why = f"the test needs {MIN_ANNOTATORS} or more annotators, and there are "
        return AlternativeTest(judge, epsilon, (), None, None, f"{why}{len(items.people)}")
    annotators = [_replace_one(items, judge, name, epsilon) for name in items.people]
    wins = _discoveries([annotator.p for annotator in annotators])
    annotators = [replace(a, judge_wins=win) for a, win in zip(annotators, wins, strict=True)]
    tested = [annotator for annotator in annotators if annotator.p is not None]
    if not tested:
        why = f"no annotator has {MIN_ITEMS} items, of two or more groups, that another annotator"
        why += " and the judge answer too"
        return AlternativeTest(judge, epsilon, tuple(annotators), None, None, why)
    winning_rate = sum(annotator.judge_wins for annotator in tested) / len(tested)
    advantages = [a.judge_as_good for a in tested if a.judge_as_good is not None]
    advantage = math.fsum(advantages) / len(advantages)
    return AlternativeTest(judge, epsilon, tuple(annotators), winning_rate, advantage)


def _replace_one(items: CheckItems, judge: str, name: str, epsilon: float) -> ReplacedAnnotator:
    others = [person for person in items.people if person != name]
    compared: list[CheckItem] = []
    judge_as_good, annotator_as_good = [], []
    for item in items.items:
        label, verdict = item.labels.get(name), item.verdicts.get(judge)
        remaining = labels_of(item, others)
        if label is None or verdict is None or not remaining:
            continue
        of_judge, of_annotator = (_fit(x, remaining, items.kind) for x in (verdict, label))
        compared.append(item)
        judge_as_good.append(of_judge >= of_annotator)
        annotator_as_good.append(of_annotator >= of_judge)
    if not compared:
        return ReplacedAnnotator(name, 0, 0, None, None)
    clusters = cluster_numbers(compared)
    count = int(clusters.max()) + 1
    ours, theirs = (np.array(x, dtype=np.float64) for x in (judge_as_good, annotator_as_good))
    valid = len(compared) >= MIN_ITEMS and count > 1
    p = _p_less(theirs - ours - epsilon, clusters) if valid else None
    return ReplacedAnnotator(
        name, len(compared), count, float(ours.mean()), float(theirs.mean()), p
    )


def _fit(answer: bool | float, labels: Sequence[bool | float], kind: str) -> float:
    """Return how well an answer agrees with labels: a share, or a negative error of ratings."""
    if kind == "yes-no":
        return sum(answer == label for label in labels) / len(labels)
    squares = math.fsum((answer - label) ** 2 for label in labels)
    return -math.sqrt(squares / len(labels))


def _p_less(values: Floats, clusters: Index) -> float:
    """Return the one-sided p that the mean is below 0, by the t-test on sums over clusters.

    With one value in each cluster this is the t-test of one sample.
    """
    count, mean = int(clusters.max()) + 1, float(values.mean())
    sums = np.bincount(clusters, values - mean)
    error = math.sqrt(float(sums @ sums) * count / (count - 1)) / len(values)
    if error <= 1e-12:
        return 0.0 if mean < 0 else 1.0
    return student_below(mean / error, count - 1)


def _discoveries(p_values: Sequence[float | None]) -> list[bool]:
    """Return which are significant, by Benjamini and Yekutieli (Annals of Statistics 29, 2001)."""
    ranked = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    harmonic = sum(1 / rank for rank in range(1, len(ranked) + 1))
    last = 0
    for rank, (p, _) in enumerate(ranked, 1):
        if p <= rank / len(ranked) * FALSE_DISCOVERIES / harmonic:
            last = rank
    significant = {index for _, index in ranked[:last]}
    return [index in significant for index in range(len(p_values))]
