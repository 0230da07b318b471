"""Do the intervals of `pnyx measure` contain the truth? A simulation.

    python lab/trials/intervals.py [--repeats 400]
    ... --write docs/lab/coverage.md   # updates its section

Judges answer yes or no with a probability, or rate on five points. Questions are single or in
groups that share a part of the judge's errors. Measures of runs and reports are means over topics
of values in [0, 1]. The truth is the measure on a very large number of questions or topics.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

from pnyx.judging.measures.agreement import measure_agreement
from pnyx.judging.measures.ground_truth import LabelledVerdicts
from pnyx.judging.measures.pairs import Gold, Pair
from pnyx.judging.measures.registry import MEASURES
from pnyx.judging.verdicts import Verdict
from pnyx.stats.base import Bootstrap, Measured
from pnyx.stats.intervals import UNIT, column_means
from pnyx.stats.weighted_measures import Floats

DRAWS, MANY = 300, 200_000
ANSWERS = ("accuracy", "f1", "kappa", "auroc", "average_precision", "brier", "ece")
RATINGS = ("spearman", "kendall", "alpha_ordinal", "alpha_interval", "mean_absolute_error")
JUDGES = {"fair": (1.2, 0.5), "good": (2.5, 0.5), "nearly perfect": (4.0, 0.5),
          "good, yes is rare": (2.5, 0.2)}  # fmt: skip
"""Name -> distance between yes and no in the judge's signal, and the share of yes."""
RATERS = {"fair": 1.0, "good": 0.5}
"""Name -> standard deviation of the judge's error; that of labels is 1.2."""
TOPICS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "spread evenly": lambda rng, n: rng.beta(2, 2, n),
    "near 1": lambda rng, n: rng.beta(6, 0.6, n),
    "near 0": lambda rng, n: rng.beta(0.6, 6, n),
    "mostly 0 or 1": lambda rng, n: rng.beta(0.3, 0.3, n),
    "quarters, mostly 1": lambda rng, n: np.round(rng.beta(9, 0.5, n) * 4) / 4,
    "0 or 1, mostly 1": lambda rng, n: (rng.random(n) < 0.95).astype(np.float64),
}

Drawn = tuple[Floats, Floats]


def answered(rng: np.random.Generator, n: int, judge: str, group: int) -> Drawn:
    """Return labels and calibrated probabilities of yes; a group shares a third of the noise."""
    distance, share = JUDGES[judge]
    yes = (rng.random(n) < share).astype(np.float64)
    shared = np.repeat(rng.standard_normal(-(-n // group)), group)[:n]
    noise = rng.standard_normal(n) if group == 1 else (shared + 2**0.5 * rng.standard_normal(n))
    noise /= 1 if group == 1 else 3**0.5
    signal = distance * yes + noise
    log_odds = distance * signal - distance**2 / 2 + np.log(share / (1 - share))
    return yes, 1 / (1 + np.exp(-log_odds))


def rated(rng: np.random.Generator, n: int, judge: str, group: int) -> Drawn:
    """Return people's and the judge's ratings from 1 to 5."""
    people = 3 + 1.2 * rng.standard_normal(n)
    shared = np.repeat(rng.standard_normal(-(-n // group)), group)[:n]
    error = RATERS[judge] * (shared + 2**0.5 * rng.standard_normal(n)) / 3**0.5
    return tuple(np.clip(np.round(x), 1, 5) for x in (people, people + error))  # type: ignore[return-value]


def joined(task: str, drawn: Drawn, group: int) -> LabelledVerdicts:
    """Return labels and answers in the form that `pnyx measure` uses."""
    pairs = []
    for n, (label, score) in enumerate(zip(*(x.tolist() for x in drawn), strict=True)):
        name = f"t{n // group:04d}" if group > 1 else ""
        if task == "support":
            verdict = Verdict(id=f"{n:05d}", value=score > 0.5, probability=score, line=n)
            pairs.append(Pair(verdict, Gold(bool(label), group=name)))
        else:
            verdict = Verdict(id=f"{n:05d}", value=score, dimension="overall", line=n)
            pairs.append(Pair(verdict, Gold(rating=label, group=name)))
    return LabelledVerdicts(task, "simulated", tuple(pairs))


def truth(name: str, drawn: Drawn, task: str) -> float:
    gold, scores = drawn
    if task == "support" and MEASURES[name].inputs[task][1] == "value":
        scores = (scores > 0.5).astype(np.float64)
    value = MEASURES[name].value(gold, scores)
    assert value is not None
    return value


class Tally:
    """How often intervals contain the truth, their widths, and how often there is none."""

    def __init__(self) -> None:
        self.covered = self.counted = self.none = 0
        self.wide = 0.0

    def add(self, measured: Measured, true: float) -> None:
        if measured.low is None or measured.high is None:
            self.none += measured.value is not None
            return
        self.counted += 1
        self.covered += measured.low - 1e-9 <= true <= measured.high + 1e-9
        self.wide += measured.high - measured.low

    def __str__(self) -> str:
        if not self.counted:
            return "none"
        few = f", none {self.none}" if self.none else ""
        return f"{self.covered / self.counted:.3f}, {self.wide / self.counted:.2f}{few}"


def judges(report: Report, repeats: int, task: str) -> None:
    support = task == "support"
    names = ANSWERS if support else RATINGS
    make = answered if support else rated
    report.head("judge", "questions", *(f"{name}: covered, width" for name in names))
    for judge in JUDGES if support else RATERS:
        for n, group in ((10, 1), (30, 1), (50, 1), (100, 1), (300, 1), (100, 10), (300, 10)):
            rng = np.random.default_rng(3)
            large = make(rng, MANY, judge, group)
            some = large if support else tuple(x[:20_000] for x in large)
            true = {name: truth(name, some, task) for name in names}  # type: ignore[arg-type]
            tallies = {name: Tally() for name in names}
            for repeat in range(repeats):
                data = joined(task, make(rng, n, judge, group), group)
                figures = measure_agreement(data, bootstrap=Bootstrap(DRAWS, repeat)).measures
                for name, tally in tallies.items():
                    if name in figures:
                        tally.add(figures[name], true[name])
            size = f"{n}" if group == 1 else f"{n} in groups of {group}"
            report.row(judge, size, *map(str, tallies.values()))


def topics(report: Report, repeats: int) -> None:
    report.head("values", *(f"{n} topics: covered, width" for n in (5, 10, 20, 50, 100)))
    for shape, make in TOPICS.items():
        rng = np.random.default_rng(7)
        true = float(make(rng, 5_000_000).mean())
        cells = []
        for n in (5, 10, 20, 50, 100):
            tally = Tally()
            for repeat in range(2 * repeats):
                table = make(rng, n)[:, None]
                (mean,) = column_means(table, Bootstrap(DRAWS, repeat), UNIT)
                tally.add(mean, true)
            cells.append(str(tally))
        report.row(shape, *cells)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--repeats", type=int, default=400)
    options = parser.parse_args()
    report = Report("intervals")
    topics(report, options.repeats)
    judges(report, options.repeats, "support")
    judges(report, options.repeats, "quality")
    report.write(options.write)


if __name__ == "__main__":
    main()
