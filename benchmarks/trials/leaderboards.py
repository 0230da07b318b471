"""Do the intervals of `pnyx compare` hold? By simulation, with known truth.

    python benchmarks/trials/leaderboards.py
    ... --write docs/benchmarks/leaderboards.md   # renews its section

Taus: 15 systems whose quality in people's and the judge's eyes correlates, topics of varying
difficulty, noise. The truth is the mean coefficient over many other samples of as many topics with
the same systems. Corrections: topics' labels of several shapes, a judge of several worths; the
truth is the mean of all labels there could be.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import NormalDist

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

from pnyx.measure.core.intervals import interval_of
from pnyx.measure.core.ppi import prediction_powered
from pnyx.measure.core.weighted import Floats
from pnyx.measure.leaderboards.coefficients import coefficients

SYSTEMS, OTHER, DRAWS, REPEATS = 15, 300, 400, 400
SHOWN = ("kendall_tau_b", "tau_ap", "pearson")
CORRECTED = 4000
NORMAL = NormalDist().inv_cdf(0.975)


def topics(
    rng: np.random.Generator, quality: Floats, count: int, size: int, noise: float
) -> Floats:
    """Return values (count, systems, topics)."""
    harder = rng.normal(0, 0.7, (count, 1, size))
    return quality[:, None] + harder + rng.normal(0, noise, (count, len(quality), size))


def taus(report: Report) -> None:
    ones = np.ones((1, SYSTEMS))
    report.head("topics", "noise", *(f"{name}: covered, width" for name in SHOWN))
    for size in (10, 25, 50):
        for noise in (0.5, 1.5):
            rng = np.random.default_rng(11)
            held, wide = dict.fromkeys(SHOWN, 0), dict.fromkeys(SHOWN, 0.0)
            for _ in range(REPEATS):
                people = rng.normal(0, 0.5, SYSTEMS)
                judge = 0.8 * people + rng.normal(0, 0.25, SYSTEMS)
                sides = [topics(rng, side, OTHER + 1, size, noise) for side in (judge, people)]
                truth = coefficients(*(side[1:].mean(axis=2) for side in sides), ones)
                drawn = rng.multinomial(size, [1 / size] * size, size=DRAWS) / size
                found = coefficients(*(drawn @ side[0].T for side in sides), ones)
                for name in SHOWN:
                    own = coefficients(*(side[0].mean(axis=1)[None] for side in sides), ones)
                    low, high, _ = interval_of(float(own[name][0]), found[name], size)
                    if low is not None and high is not None:
                        held[name] += bool(low <= truth[name].mean() <= high)
                        wide[name] += high - low
            cells = (f"{held[n] / REPEATS:.3f}, {wide[n] / REPEATS:.2f}" for n in SHOWN)
            report.row(str(size), f"{noise}", *cells)


def labels(rng: np.random.Generator, shape: str, link: float, size: int) -> tuple[Floats, Floats]:
    """Return people's labels and the judge's scores of topics."""
    one = rng.standard_normal(size)
    other = link * one + (1 - link**2) ** 0.5 * rng.standard_normal(size)
    if shape == "three grades":
        return np.digitize(one, [-0.5, 0.7]) / 2, np.digitize(other, [-1.0, 0.2]) / 2
    if shape == "skewed":  # most topics near 0
        return np.exp(one) / 5, np.exp(0.5 * other) / 3
    return 0.5 + 0.2 * one, 0.7 + 0.1 * other


def corrections(report: Report) -> None:
    names = ("normal quantile", "corrected", "people alone")
    head = (
        "labels",
        "correlation",
        "labelled of all",
        *(f"{name}: covered, width" for name in names),
    )
    report.head(*head)
    for shape in ("normal", "three grades", "skewed"):
        rng = np.random.default_rng(5)
        truth = float(labels(rng, shape, 0.0, 4_000_000)[0].mean())
        for link in (0.0, 0.5, 0.9):
            for labelled, further in ((5, 25), (10, 40), (25, 75)):
                held, wide = np.zeros(3), np.zeros(3)
                for _ in range(CORRECTED):
                    people, judge = labels(rng, shape, link, labelled + further)
                    sides = people[:labelled], judge[:labelled], judge[labelled:]
                    found = prediction_powered(*sides)
                    rest = sides[0] - (found.trust or 0.0) * sides[1]
                    spread = (
                        rest.var() / labelled + (found.trust or 0.0) ** 2 * sides[2].var() / further
                    )
                    middle = found.corrected.value or 0.0
                    half = NORMAL * spread**0.5
                    ends = [(middle - half, middle + half)]
                    ends += [(m.low or 0.0, m.high or 0.0) for m in (found.corrected, found.people)]
                    held += [low <= truth <= high for low, high in ends]
                    wide += [high - low for low, high in ends]
                cells = (
                    f"{h / CORRECTED:.3f}, {w / CORRECTED:.2f}"
                    for h, w in zip(held, wide, strict=True)
                )
                report.row(shape, f"{link}", f"{labelled} of {labelled + further}", *cells)


def main() -> None:
    options = arguments(__doc__).parse_args()
    report = Report("leaderboard intervals")
    taus(report)
    corrections(report)
    report.write(options.write)


if __name__ == "__main__":
    main()
