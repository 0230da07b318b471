"""People's answers on a judge's disagreements with labels (DIRAS, Tables 5 and 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pnyx.measure.core.base import Measured, Result, plain, row_of
from pnyx.measure.core.intervals import percentile_interval, share_of

_DRAWS = 10_000


class Checked(Protocol):
    """A disagreement that people were asked about (`pnyx.annotate.reviewing.Disagreement`)."""

    @property
    def label(self) -> bool: ...  # noqa: D102
    @property
    def confidence(self) -> float: ...  # noqa: D102
    @property
    def low(self) -> float: ...  # noqa: D102
    @property
    def high(self) -> float: ...  # noqa: D102
    @property
    def stratum(self) -> int: ...  # noqa: D102
    @property
    def stratum_size(self) -> int: ...  # noqa: D102
    @property
    def scored(self) -> int: ...  # noqa: D102
    @property
    def above(self) -> Mapping[str, int]: ...  # noqa: D102
    @property
    def right(self) -> str: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Cell:
    """How often the judge is right where the answer is clear; counts of answered and unclear."""

    accuracy: Measured
    answered: int
    unclear: int

    def row(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {**self.accuracy.row(), "answered": self.answered, "unclear": self.unclear}


@dataclass(frozen=True, slots=True)
class Estimate:
    """How all disagreements would be answered, estimated from the sample.

    Each stratum's share among the answers counts for the whole stratum (Horvitz and Thompson, JASA
    47, 1952); intervals come from draws of the shares under Jeffreys' prior.
    """

    disagreements: int
    left_out: int
    judge: Measured
    labels: Measured
    unclear: Measured

    def row(self) -> dict[str, Any]:
        """Return it for JSON."""
        return row_of(self, "disagreements left_out judge labels unclear")


@dataclass(frozen=True, slots=True, repr=False)
class Reviewed(Result):
    """How often the judge is right where it disagrees with labels, as in Tables 5 and 8.

    `table`: `at_most`, `above` and `any` of the threshold of confidence -> `all`, `relevant` and
    `irrelevant` (what the labels say) -> cell, of the sample as it is; `bins` the same by (low,
    high]. `share_above` is of all scored annotations, None where the threshold is no edge of a bin.
    """

    threshold: float
    table: Mapping[str, Mapping[str, Cell]]
    bins: Mapping[tuple[float, float], Mapping[str, Cell]]
    share_above: float | None
    estimate: Estimate

    def rows(self) -> list[dict[str, Any]]:
        """Return the judge's accuracy by confidence and by what the labels say."""
        return [{"confidence": name, "labels": side, **cell.row()}
                for name, cells in self.table.items() for side, cell in cells.items()]  # fmt: skip

    def row(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        bins = [
            {"above": low, "at_most": high, **plain(cells)}
            for (low, high), cells in self.bins.items()
        ]
        shown = row_of(self, "threshold share_above table")
        return {**shown, "bins": bins, "estimate": self.estimate.row()}


def measure_review(
    checked: Sequence[Checked], *, threshold: float = 0.95, seed: int = 0
) -> Reviewed:
    """Return how often the judge is right where it disagrees with the labels.

    Args:
        checked: the sample, with people's answers in `right`: judge, labels, unclear or nothing.
        threshold: confidences above it are set against those at most it.
        seed: for the intervals of the estimate.

    Raises:
        ValueError: `checked` is empty.
    """
    if not checked:
        raise ValueError("found no disagreements, expected at least one")
    bins = sorted({(c.low, c.high) for c in checked})
    scored, counts = checked[0].scored, checked[0].above
    above = counts.get(f"{threshold:g}")
    return Reviewed(
        threshold,
        {
            "at_most": _by_label(c for c in checked if c.confidence <= threshold),
            "above": _by_label(c for c in checked if c.confidence > threshold),
            "any": _by_label(checked),
        },
        {bin_: _by_label(c for c in checked if (c.low, c.high) == bin_) for bin_ in bins},
        None if above is None or not scored else above / scored,
        _estimate(checked, seed),
    )


def _by_label(checked: Iterable[Checked]) -> dict[str, Cell]:
    some = list(checked)
    return {
        "all": _cell(some),
        "relevant": _cell([c for c in some if c.label]),
        "irrelevant": _cell([c for c in some if not c.label]),
    }


def _cell(checked: Sequence[Checked]) -> Cell:
    right = sum(c.right == "judge" for c in checked)
    clear = right + sum(c.right == "labels" for c in checked)
    unclear = sum(c.right == "unclear" for c in checked)
    return Cell(share_of(right, clear, len(checked)), clear + unclear, unclear)


def _estimate(checked: Sequence[Checked], seed: int) -> Estimate:
    strata: dict[int, list[Checked]] = {}
    for one in checked:
        strata.setdefault(one.stratum, []).append(one)
    names = ("judge", "labels", "unclear")
    rng = np.random.default_rng(seed)
    values, drawn = np.zeros(3), np.zeros((_DRAWS, 3))
    covered = left_out = answers = 0
    for number in sorted(strata):
        some = strata[number]
        size = some[0].stratum_size
        found = np.array([sum(c.right == name for c in some) for name in names])
        if not found.sum():
            left_out += size
            continue
        covered += size
        answers += int(found.sum())
        values += size * found / found.sum()
        shares = rng.dirichlet(found + 0.5, _DRAWS)
        rest = max(0, size - int(found.sum()))
        drawn += found + rng.multinomial(rest, shares)
    measured = [
        Measured(float(values[i]), answers, len(checked), *percentile_interval(drawn[:, i]))
        if answers
        else Measured(None, 0, len(checked))
        for i in range(3)
    ]
    return Estimate(covered, left_out, *measured)
