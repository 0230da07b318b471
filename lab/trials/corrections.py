"""Do the intervals of a leaderboard corrected by people's labels hold? A simulation.

    python lab/trials/corrections.py [--repeats 2000]
    ... --write docs/lab/corrected-means.md   # updates its section

People label some topics, and a judge scores all. Labels have several distributions, most of which
have many values at 0 or 1. The judge's scores have the same distribution, shifted and narrower, and
the given correlation with the labels. The truth is the mean of the distribution of labels; for
differences, it is the difference between the means of two systems, which share a part of the
difficulty of topics.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

from pnyx.judging.measures.ppi import prediction_powered
from pnyx.stats.intervals import UNIT
from pnyx.stats.weighted_measures import Floats

TRUTH = 2_000_000
SIZES = ((5, 25), (10, 20), (10, 40), (25, 75))
LINKS = (0.0, 0.5, 0.9)
NAMES = ("Student's t", "with ends", "people alone, with ends")
SHARED = 0.7
"""Correlation of two systems' labels on a topic."""

Shape = Callable[[Floats], Floats]
"""Maps numbers that are uniform in [0, 1] to labels."""


def at_zero(share: float, rest: Shape = lambda u: u) -> Shape:
    """Return a distribution with a share of labels at 0."""
    return lambda u: np.where(u < share, 0.0, rest((u - share) / (1 - share)))


def at_one(share: float) -> Shape:
    """Return a distribution with a share of labels at 1."""
    return lambda u: np.where(u > 1 - share, 1.0, u / (1 - share))


SHAPES: dict[str, Shape] = {
    "in the middle": lambda u: 0.3 + 0.2 * u + 0.2 * u**2,
    "three grades": lambda u: np.digitize(u, [0.3, 0.75]) / 2,
    "half at 0": at_zero(0.5),
    "0.7 at 0": at_zero(0.7),
    "0.9 at 0": at_zero(0.9),
    "0.7 at 1": at_one(0.7),
    "0.9 at 1": at_one(0.9),
    "0.8 at a bound": lambda u: np.clip((u - 0.4) / 0.2, 0.0, 1.0),
    "yes or no, 0.9 yes": lambda u: (u > 0.1).astype(np.float64),
    "0.1 at 0, else near 1": at_zero(0.1, lambda u: 0.9 + 0.1 * u),
}
"""Name -> distribution of labels."""

_ERF = np.vectorize(NormalDist().cdf)
_GRID = np.linspace(-6, 6, 4001)
_BELOW = _ERF(_GRID)


def spread(normal: Floats) -> Floats:
    """Map standard normal numbers to uniform numbers in [0, 1]."""
    return np.asarray(np.interp(normal, _GRID, _BELOW))


def judged(rng: np.random.Generator, normal: Floats, link: float, shape: Shape) -> Floats:
    """Return the judge's scores of topics, which are correlated with people's labels."""
    other = link * normal + (1 - link**2) ** 0.5 * rng.standard_normal(normal.shape)
    return 0.2 + 0.7 * shape(spread(other))


def means(rng: np.random.Generator, shape: Shape, link: float, size: int) -> tuple[Floats, Floats]:
    """Return people's labels and the judge's scores of topics."""
    normal = rng.standard_normal(size)
    return shape(spread(normal)), judged(rng, normal, link, shape)


def differences(
    rng: np.random.Generator, shape: Shape, link: float, size: int
) -> tuple[Floats, Floats]:
    """Return the differences between a system and a slightly worse one, for people and judge."""
    hard = SHARED**0.5 * rng.standard_normal(size)
    sides = []
    for better in (0.5, 0.0):
        normal = hard + (1 - SHARED) ** 0.5 * rng.standard_normal(size) + better
        sides.append((shape(spread(normal)), judged(rng, normal, link, shape)))
    (people, judge), (less_people, less_judge) = sides
    return people - less_people, judge - less_judge


Draw = Callable[[np.random.Generator, Shape, float, int], tuple[Floats, Floats]]


def covered(
    draw: Draw, shape: Shape, link: float, sizes: tuple[int, int], truth: float, repeats: int
) -> list[tuple[float, float]]:
    """Return coverage and mean width of each interval of `NAMES`."""
    labelled, further = sizes
    rng = np.random.default_rng(5)
    bounds = UNIT if draw is means else None
    hits, wide, counted = np.zeros((3, len(NAMES)))
    for _ in range(repeats):
        people, judge = draw(rng, shape, link, labelled + further)
        parts = people[:labelled], judge[:labelled], judge[labelled:]
        plain, estimate = prediction_powered(*parts), prediction_powered(*parts, bounds=bounds)
        for column, interval in enumerate((plain.corrected, estimate.corrected, estimate.people)):
            if interval.low is None or interval.high is None:
                continue  # Student's, of equal labels
            hits[column] += interval.low <= truth <= interval.high
            wide[column] += interval.high - interval.low
            counted[column] += 1
    return list(zip((hits / counted).tolist(), (wide / counted).tolist(), strict=True))


def table(report: Report, draw: Draw, repeats: int) -> None:
    """Report coverage and width for each distribution, correlation and number of labels."""
    names = NAMES if draw is means else NAMES[:1]
    columns = (f"{name}: covered, width" for name in names)
    report.head("labels", "correlation", "labelled of all", *columns)
    least = np.ones(len(names))
    for name, shape in SHAPES.items():
        truth = float(draw(np.random.default_rng(4), shape, 0.0, TRUTH)[0].mean())
        for link in LINKS:
            for sizes in SIZES:
                coverage = covered(draw, shape, link, sizes, truth, repeats)[: len(names)]
                least = np.minimum(least, [share for share, _ in coverage])
                cells = (f"{share:.3f}, {width:.2f}" for share, width in coverage)
                report.row(name, f"{link}", f"{sizes[0]} of {sum(sizes)}", *cells)
    report.line()
    text = ", ".join(f"{name} {share:.3f}" for name, share in zip(names, least, strict=True))
    report.line(f"Least share covered: {text}.")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--repeats", type=int, default=2000)
    options = parser.parse_args()
    report = Report("corrected means")
    report.line()
    report.line("Means of labels from 0 to 1:")
    table(report, means, options.repeats)
    report.line()
    report.line("Differences of two systems, from -1 to 1:")
    table(report, differences, options.repeats)
    report.write(options.write)


if __name__ == "__main__":
    main()
