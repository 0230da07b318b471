"""Does `pnyx check` of several results choose well? A simulation of judges with known accuracy.

    python lab/trials/judge_choices.py [--repeats 4000]
    ... --write docs/lab/choosing-judges.md   # updates its section

An expensive judge and a cheap one answer the same labelled items, single ones or groups of five
that share a third of the noise. The tables show how often the cheap judge is called good enough if
it is worse by exactly the margin (at most 0.025 is allowed) and if it is equally good, and how
often a cascade is chosen whose true accuracy is lower by the margin or more.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from statistics import NormalDist

import numpy as np
from intervals import Tally

sys.path.append(str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

from pnyx.audit.judge_choice import choose_judge
from pnyx.stats.base import Bootstrap, Measured
from pnyx.stats.intervals import paired_shares
from pnyx.stats.weighted_measures import Floats

MARGIN, MANY, GROUP = 0.05, 40_000, 5
SIZES = (30, 100, 300, 1000)
PRICES = {"cheap": 0.1, "dear": 1.0}


def noise(rng: np.random.Generator, items: int, group: int) -> Floats:
    if group == 1:
        return rng.standard_normal(items)
    shared = np.repeat(rng.standard_normal(-(-items // group)), group)[:items]
    return (shared + 2**0.5 * rng.standard_normal(items)) / 3**0.5


def right(rng: np.random.Generator, items: int, shares: tuple[float, float], group: int) -> Floats:
    """Return whether each judge is right, (2, items); their errors are correlated."""
    common = noise(rng, items, group)
    limits = [2**0.5 * NormalDist().inv_cdf(share) for share in shares]
    return np.array(
        [common + noise(rng, items, group) < limit for limit in limits], dtype=np.float64
    )


def tests(report: Report, repeats: int) -> None:
    """Report how often the test against the margin finds that a judge is good enough."""
    report.head("accuracy of the dear judge", "items", "worse by the margin: good enough",
                "as good: good enough", "interval held, width")  # fmt: skip
    for dear in (0.95, 0.8):
        for group in (1, GROUP):
            for items in SIZES:
                enough, tally = [0, 0], Tally()
                places = np.arange(items) // group
                for seed in range(repeats):
                    rng = np.random.default_rng([7, seed])
                    for column, cheap in enumerate((dear - MARGIN, dear)):
                        a, b = right(rng, items, (cheap, dear), group)
                        paired = paired_shares(a - b, places)
                        enough[column] += paired.chance(-MARGIN) < 0.025
                        low, high = paired.interval()
                        tally.add(Measured(0.0, 1, 1, low, high), cheap - dear)
                size = f"{items}" if group == 1 else f"{items} in groups of {group}"
                shares = (f"{n / repeats:.3f}" for n in enough)
                report.row(f"{dear:g}", size, *shares, str(tally))


def says(rng: np.random.Generator, people: Floats, worth: float) -> Floats:
    """Return calibrated probabilities of yes; `worth` is the strength of the judge's signal."""
    signal = worth * (2 * people - 1) + rng.standard_normal(len(people))
    return 1 / (1 + np.exp(-2 * worth * signal))


def cascades(report: Report, repeats: int) -> None:
    """Report what is chosen: the expensive judge, the cheap one, or their cascade."""
    report.head("cheap judge's accuracy", "labels", "cheap", "cascade", "dear",
                "cascades worse by the margin", "true cost")  # fmt: skip
    for worth in (0.8, 1.3, 1.7):
        large = np.random.default_rng(1), np.ones(MANY)
        cheap_is = float((says(*large, worth) > 0.5).mean())
        for items in (100, 300, 1000):
            taken, bad, cost = {"cheap": 0, "cascade": 0, "dear": 0}, 0, 0.0
            for seed in range(repeats):
                kind, worse, spent = choice(np.random.default_rng([9, seed]), items, worth, seed)
                taken[kind], bad, cost = taken[kind] + 1, bad + worse, cost + spent
            shares = (f"{n / repeats:.3f}" for n in taken.values())
            row = f"{cheap_is:.3f}", f"{items}", *shares, f"{bad / repeats:.3f}"
            report.row(*row, f"{cost / repeats:.2f}")


def choice(
    rng: np.random.Generator, items: int, worth: float, seed: int
) -> tuple[str, bool, float]:
    """Return the choice, whether it is a cascade that is worse by the margin, and its cost."""
    both = {"cheap": worth, "dear": 1.9}
    people = (rng.random(items) < 0.4).astype(np.float64)
    with tempfile.TemporaryDirectory() as folder:
        for name, how in both.items():
            write(Path(folder) / name, name, says(rng, people, how))
        labels = Path(folder) / "labels.jsonl"
        rows = ({"id": f"{n}", "value": bool(y)} for n, y in enumerate(people))
        labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
        answers = {name: Path(folder) / name for name in both}
        result = choose_judge(answers, labels, margin=MARGIN, baseline="dear", by="seconds",
                             bootstrap=Bootstrap(0, seed))  # fmt: skip
    if result.cascade is None or result.choice != result.cascade.name:
        return str(result.choice), False, PRICES[str(result.choice)]
    truth = (np.random.default_rng(11).random(MANY) < 0.4).astype(np.float64)
    first, then = (says(np.random.default_rng(n), truth, w) for n, w in enumerate(both.values()))
    low, high = result.cascade.low, result.cascade.high
    confident = (first <= (-1 if low is None else low)) | (first >= (2 if high is None else high))
    accuracy = np.where(confident, (first > 0.5) == truth, (then > 0.5) == truth).mean()
    dear = ((then > 0.5) == truth).mean()
    return "cascade", bool(accuracy <= dear - MARGIN), PRICES["cheap"] + float(1 - confident.mean())


def write(folder: Path, name: str, probabilities: Floats) -> None:
    """Write a results folder whose seconds per answer are the price of the judge."""
    folder.mkdir()
    fixed = {"task": "support", "unscored": None, "judge": name}
    rows = [
        {"id": f"{n}", "value": p > 0.5, "probability": p, **fixed}
        for n, p in enumerate(probabilities.tolist())
    ]
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    minutes, seconds = divmod(round(PRICES[name] * len(rows)), 60)
    times = {"started": "2026-01-01T00:00:00Z"}
    times["finished"] = f"2026-01-01T00:{minutes:02d}:{seconds:02d}Z"
    manifest = {"judge": name, "counts": {"asked": len(rows)}, **times}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--repeats", type=int, default=4000)
    options = parser.parse_args()
    report = Report("choosing")
    tests(report, options.repeats)
    cascades(report, max(1, options.repeats // 40))
    report.write(options.write)


if __name__ == "__main__":
    main()
