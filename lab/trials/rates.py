"""Do the intervals of corrected rates contain the truth? A simulation of judges and labels.

    python lab/trials/rates.py [--repeats 2000]
    ... --write docs/lab/corrected-rates.md   # updates its section

People say yes to a share of the items, and the judge has a given sensitivity and specificity.
People label some of 1000 items: at random, whole groups, or equal numbers of yes and no. The judges
differ from those with which the intervals were chosen (other seeds and rates).
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from intervals import Tally

sys.path.append(str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

from pnyx.judging.measures.ground_truth import LabelledVerdicts
from pnyx.judging.measures.pairs import Gold, Pair
from pnyx.judging.measures.rates import corrected_rate
from pnyx.judging.verdicts import Verdict
from pnyx.stats.base import Bootstrap
from pnyx.stats.weighted_measures import Floats

ITEMS, GROUP = 1000, 10
SHOWN = ("people", "rogan_gladen", "prediction_powered")


@dataclass(frozen=True)
class World:
    """Share of people's yes, and the judge's sensitivity and specificity.

    `alike` is the standard deviation, in log-odds, of the part that items of a group share in
    people's labels and in the judge's errors.
    """

    yes: float
    sensitivity: float
    specificity: float
    alike: float = 0.0


WORLDS = {
    "good judge": World(0.45, 0.92, 0.88),
    "fair judge": World(0.35, 0.75, 0.75),
    "judge near chance": World(0.6, 0.6, 0.5),
    "yes is rare": World(0.07, 0.85, 0.93),
    "yes is very rare": World(0.03, 0.7, 0.97),
    "no is rare": World(0.93, 0.9, 0.7),
}
GROUPED = {
    "good judge, groups of 10": World(0.45, 0.92, 0.88, 1.0),
    "yes is rare, groups of 10": World(0.07, 0.85, 0.93, 1.0),
}


def log_odds(share: float) -> float:
    return float(np.log(share / (1 - share)))


def draw(rng: np.random.Generator, world: World, items: int) -> tuple[Floats, Floats]:
    """Return the answers of people and of the judge to items, which are ordered by group."""
    alike = [world.alike * np.repeat(rng.standard_normal(items // GROUP), GROUP) for _ in range(2)]

    def answers_of(share: float | Floats, by: Floats) -> Floats:
        return rng.random(items) < 1 / (1 + np.exp(-(share + by)))

    people = answers_of(log_odds(world.yes), alike[0])
    says = np.where(people, log_odds(world.sensitivity), -log_odds(world.specificity))
    return people, answers_of(says, alike[1])


def labelled(rng: np.random.Generator, people: Floats, how: str, n: int) -> Floats:
    """Return which items are labelled."""
    if how == "groups":
        groups = rng.permutation(len(people) // GROUP)[: n // GROUP]
        return np.isin(np.arange(len(people)) // GROUP, groups)
    order = rng.permutation(len(people))
    if how == "balanced":
        yes = people[order]
        order = np.concatenate([order[yes][: n // 2], order[~yes][: n // 2]])
    return np.isin(np.arange(len(people)), order[:n])


def join(people: Floats, judge: Floats, has: Floats, *, grouped: bool) -> LabelledVerdicts:
    """Return labels and answers in the form that `pnyx measure` uses."""
    groups = [f"g{n // GROUP}" if grouped else "" for n in range(len(people))]
    pairs = tuple(
        Pair(
            Verdict(id=f"{n}", value=bool(judge[n]), line=n), Gold(bool(people[n]), group=groups[n])
        )
        for n in np.flatnonzero(has).tolist()
    )
    others = Counter((groups[n], bool(judge[n])) for n in np.flatnonzero(~has).tolist())
    return LabelledVerdicts("support", "simulated", pairs, unlabelled=others)


def table(
    report: Report, worlds: dict[str, World], how: str, sizes: tuple[int, ...], repeats: int
) -> None:
    report.head("judge", "labels", *(f"{n}: held, width, bias" for n in SHOWN))
    for name, world in worlds.items():
        true = world.yes
        if world.alike:
            true = float(draw(np.random.default_rng(1_000_003), world, 2_000_000)[0].mean())
        for n in sizes:
            tallies, off = {key: Tally() for key in SHOWN}, {key: list[float]() for key in SHOWN}
            for seed in range(repeats):
                rng = np.random.default_rng([20_26, seed])
                people, judge = draw(rng, world, ITEMS)
                joined = join(people, judge, labelled(rng, people, how, n), grouped=world.alike > 0)
                rate = corrected_rate(joined, bootstrap=Bootstrap(200, seed))
                for key in SHOWN:
                    measured = getattr(rate, key)
                    tallies[key].add(measured, true)
                    off[key] += [] if measured.value is None else [measured.value - true]
            cells = (
                f"{tallies[key]}, {np.mean(off[key]):+.3f}, undefined {repeats - len(off[key])}"
                for key in SHOWN
            )
            report.row(name, str(n), *(cell.removesuffix(", undefined 0") for cell in cells))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--repeats", type=int, default=2000)
    options = parser.parse_args()
    report = Report("rates")
    table(report, WORLDS, "items", (5, 10, 20, 50, 100, 300), options.repeats)
    table(report, GROUPED, "items", (20, 50, 100), options.repeats)
    table(report, GROUPED, "groups", (50, 100, 300), options.repeats)
    table(report, {n: WORLDS[n] for n in ("good judge", "yes is rare")}, "balanced",
          (20, 50, 100), options.repeats)  # fmt: skip
    report.write(options.write)


if __name__ == "__main__":
    main()
