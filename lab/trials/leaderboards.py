"""Do the intervals of `pnyx compare` contain the truth? A simulation.

    python lab/trials/leaderboards.py
    ... --write docs/lab/leaderboards.md   # updates its section

There are 15 systems whose quality according to people and to the judge is correlated, topics of
varying difficulty, and noise. The truth is the mean coefficient over many other samples with the
same systems and number of topics. For leaderboards corrected by people's labels see corrections.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

from pnyx.reports.leaderboards.coefficients import coefficients
from pnyx.stats.intervals import interval_of
from pnyx.stats.weighted_measures import Floats

SYSTEMS, OTHER, DRAWS, REPEATS = 15, 300, 400, 400
SHOWN = ("kendall_tau_b", "tau_ap", "pearson")


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
            covered, wide = dict.fromkeys(SHOWN, 0), dict.fromkeys(SHOWN, 0.0)
            for _ in range(REPEATS):
                people = rng.normal(0, 0.5, SYSTEMS)
                judge = 0.8 * people + rng.normal(0, 0.25, SYSTEMS)
                sides = [topics(rng, side, OTHER + 1, size, noise) for side in (judge, people)]
                truth = coefficients(*(side[1:].mean(axis=2) for side in sides), ones)
                drawn = rng.multinomial(size, [1 / size] * size, size=DRAWS) / size
                drawn_values = coefficients(*(drawn @ side[0].T for side in sides), ones)
                for name in SHOWN:
                    values = coefficients(*(side[0].mean(axis=1)[None] for side in sides), ones)
                    low, high, _ = interval_of(float(values[name][0]), drawn_values[name], size)
                    if low is not None and high is not None:
                        covered[name] += bool(low <= truth[name].mean() <= high)
                        wide[name] += high - low
            cells = (f"{covered[n] / REPEATS:.3f}, {wide[n] / REPEATS:.2f}" for n in SHOWN)
            report.row(str(size), f"{noise}", *cells)


def main() -> None:
    options = arguments(__doc__).parse_args()
    report = Report("leaderboard intervals")
    taus(report)
    report.write(options.write)


if __name__ == "__main__":
    main()
