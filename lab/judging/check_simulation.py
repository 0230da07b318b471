"""Do the decisions and plans of `pnyx check` have their stated error rates? A simulation.

    python lab/judging/check_simulation.py [--repeats 100]
    ... --write docs/lab/check.md   # updates its sections

People and a judge label answers to questions with yes or no. Each question has its own share of yes
and its own error rates, drawn from beta distributions, so that answers to a question are
correlated. The true kappa and the true positive rate are those of infinitely many questions.

The baselines use the same samples: the interval of kappa of Fleiss, Cohen and Everitt (Psychol.
Bull. 72, 1969), which assumes independent answers, and the value without an interval.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np
from check_samples import Judge, naive_kappa, sizes_of, table
from common import Report, arguments

from pnyx.audit.checks.bars import BarVerdict, decide_bar
from pnyx.audit.checks.check import check
from pnyx.audit.checks.items import CheckItem
from pnyx.audit.checks.plan import LabelGoal, plan_labels
from pnyx.stats.base import Bootstrap, Measured

BAR = 0.6
TRUTHS = {"at": 0.6, "low": 0.45, "high": 0.75}
SIZES = ((30, 5), (30, 15), (100, 5), (100, 10), (100, 30), (300, 5), (300, 15), (300, 60))
"""Labels and questions."""
FEW = (100, 2)
UNEVEN = ((100, 10), (300, 15), (300, 60))
"""Labels and questions; the n-th question has 1/n of the labels of the first."""
FEW_KINDS = (
    ("30 in 2, independent", "accuracy", [15] * 2, 0.5, 0.0),
    ("30 in 3, independent", "accuracy", [10] * 3, 0.5, 0.0),
    ("200 in 11, 160 of them in one, alike", "kappa", [160] + [4] * 10, 0.5, 0.2),
    ("200 in 11, 100 of them in one, alike", "kappa", [100] + [10] * 10, 0.5, 0.2),
    ("30 in 15, 10 % yes, independent", "kappa", [2] * 15, 0.1, 0.0),
    ("30 in 6, 10 % yes, alike", "kappa", [5] * 6, 0.1, 0.2),
)
"""Name, measure, sizes of questions, share of yes and correlation."""
CORRELATIONS = {0.0: "independent", 0.2: "alike"}
SHARES = (0.5, 0.2)
PLANNED = ((60, 12), (100, 5), (100, 10), (100, 25), (200, 40))
PLANNED_TRUTHS = (0.3, 0.9)
HALF_WIDTH = 0.1
DRAWS = 300
Z95 = 1.96
Interval = tuple[float, float]
PARTS = {
    "decisions": "with 50 % and with 20 % yes, twice as many at the bar",
    "few labels": "three times as many",
    "plans": "with 50 % yes",
}
"""Part of the simulation -> description of its samples."""


@dataclass
class Decisions:
    """Decisions about a measure in many samples, and how often its intervals contain the truth."""

    verdicts: Counter[BarVerdict] = field(default_factory=Counter)
    intervals: int = 0
    covered: int = 0
    width: float = 0.0

    def add(self, verdict: BarVerdict, interval: Interval | None, truth: float) -> None:
        """Add one sample."""
        self.verdicts[verdict] += 1
        if interval is not None:
            self.intervals += 1
            self.covered += interval[0] <= truth <= interval[1]
            self.width += interval[1] - interval[0]

    def share(self, *verdicts: BarVerdict) -> str:
        """Return how often each verdict was given, in percent."""
        total = max(1, self.verdicts.total())
        return ", ".join(f"{100 * self.verdicts[verdict] / total:.1f}" for verdict in verdicts)

    @property
    def coverage(self) -> str:
        """The share of intervals that contain the truth, in percent, and their mean width."""
        count = max(1, self.intervals)
        return f"{100 * self.covered / count:.1f}, {self.width / count:.2f}"

    def __add__(self, other: Decisions) -> Decisions:
        """Return the sum of both."""
        return Decisions(
            self.verdicts + other.verdicts,
            self.intervals + other.intervals,
            self.covered + other.covered,
            self.width + other.width,
        )


METHODS = "kappa", "tpr", "naive", "value"
Cell = dict[tuple[str, str], Decisions]
"""(method, truth) -> its decisions."""


def decide(judge: Judge, truth: str, sizes: Sequence[int], repeats: int) -> Cell:
    """Decide about many samples of a judge with each method."""
    cell = {(method, truth): Decisions() for method in METHODS}
    tpr = Judge(BAR, judge.share, 0.0).right
    rng = np.random.default_rng(11)
    for repeat in range(repeats):
        rows = list(judge.rows(rng, sizes))
        checked = check(table(rows), bootstrap=Bootstrap(DRAWS, repeat))
        decided = checked.decide({"kappa": BAR, "tpr": tpr}).bars
        for method, bar, true in zip(METHODS, decided, (judge.kappa, judge.right), strict=False):
            ends = interval_of(bar.measured)
            cell[method, truth].add(bar.verdict, ends, true)
        kappa, error = naive_kappa(rows)
        ends = None if math.isnan(kappa) else (kappa - Z95 * error, kappa + Z95 * error)
        naive = Measured(None, 0, len(rows)) if ends is None else Measured(kappa, 1, 1, *ends)
        cell["naive", truth].add(decide_bar("", "kappa", BAR, naive).verdict, ends, judge.kappa)
        cell["value", truth].add("above" if kappa >= BAR else "below", None, judge.kappa)
    return cell


def interval_of(measured: Measured) -> Interval | None:
    """Return the interval of a measure, or None."""
    low, high = measured.low, measured.high
    return None if low is None or high is None else (low, high)


def merged(cells: Iterable[Cell]) -> Cell:
    """Return the sum of the decisions of several cells."""
    total: Cell = {}
    for cell in cells:
        for key, decisions in cell.items():
            total[key] = total[key] + decisions if key in total else decisions
    return total


def kinds() -> Iterator[tuple[str, list[int], float]]:
    """Yield the rows of the table: name, sizes of questions, correlation."""
    for labels, questions in SIZES:
        for correlation, name in CORRELATIONS.items():
            yield f"{labels} in {questions}, {name}", sizes_of(labels, questions), correlation
    for labels, questions in UNEVEN:
        sizes = sizes_of(labels, questions, uneven=True)
        yield f"{labels} in {questions}, alike, uneven", sizes, 0.2
    yield "{} in {}, alike".format(*FEW), sizes_of(*FEW), 0.2


def report_decisions(report: Report, repeats: int) -> None:
    """Tabulate how often the decision is wrong, and how often the interval contains the truth."""
    rows: dict[str, Cell] = {}
    for name, sizes, correlation in kinds():
        rows[name] = merged(
            decide(Judge(kappa, share, correlation), truth, sizes, times * repeats)
            for share in SHARES
            for truth, kappa, times in zip(TRUTHS, TRUTHS.values(), (2, 1, 1), strict=True)
        )
    even = [cell for name, cell in rows.items() if "uneven" not in name and " in 2," not in name]
    rows["all but uneven and 2"] = merged(even)
    report.head(
        "labels in questions, errors",
        f"true kappa {TRUTHS['at']:g}: above, below",
        f"true kappa {TRUTHS['low']:g}: above, below",
        f"true kappa {TRUTHS['high']:g}: above, below",
        "interval holds kappa, width",
        "tpr at its bar: above, below",
    )
    for name, cell in rows.items():
        shares = [cell["kappa", truth].share("above", "below") for truth in TRUTHS]
        every = merged({("kappa", ""): cell["kappa", truth]} for truth in TRUTHS)["kappa", ""]
        report.row(name, *shares, every.coverage, cell["tpr", "at"].share("above", "below"))
    report.line()
    report.line("The baselines on the same samples:")
    report.head(
        "labels in questions, errors",
        f"naive interval, true kappa {TRUTHS['at']:g}: above, below",
        f"{TRUTHS['low']:g}: above, below",
        f"{TRUTHS['high']:g}: above, below",
        "interval holds kappa, width",
        f"value alone: above at {TRUTHS['low']:g}, below at {TRUTHS['high']:g}",
    )
    for name, cell in rows.items():
        shares = [cell["naive", truth].share("above", "below") for truth in TRUTHS]
        every = merged({("naive", ""): cell["naive", truth]} for truth in TRUTHS)["naive", ""]
        alone = f"{cell['value', 'low'].share('above')}, {cell['value', 'high'].share('below')}"
        report.row(name, *shares, every.coverage, alone)


def report_few(report: Report, repeats: int) -> None:
    """Tabulate the decisions of intervals alone, with few labels or groups, at the bar."""
    report.head(
        "labels in questions, errors",
        "measure at its bar",
        "by the interval alone: above, below",
        "by `pnyx check`: above, below",
    )
    for name, measure, sizes, share, correlation in FEW_KINDS:
        judge, rng = Judge(BAR, share, correlation), np.random.default_rng(17)
        alone, ruled = Decisions(), Decisions()
        for repeat in range(3 * repeats):
            rows = table(judge.rows(rng, sizes))
            bar = judge.kappa if measure == "kappa" else judge.right
            checked = check(rows, bootstrap=Bootstrap(DRAWS, repeat))
            (decided,) = checked.decide({measure: bar}).bars
            ruled.add(decided.verdict, None, bar)
            alone.add(decide_bar("", measure, bar, decided.measured).verdict, None, bar)
        shares = (decisions.share("above", "below") for decisions in (alone, ruled))
        report.row(name, f"{measure} {bar:.2f}", *shares)


# Plans -------------------------------------------------------------------------------------------


@dataclass
class Plans:
    """Outcomes of plans; lists have an entry for each plan that was followed."""

    named: list[int] = field(default_factory=list)
    reached: list[bool] = field(default_factory=list)
    ratio: list[float] = field(default_factory=list)
    naive: list[float] = field(default_factory=list)
    wrong: list[bool] = field(default_factory=list)
    promised: list[float] = field(default_factory=list)
    already: int = 0
    unnamed: int = 0

    def row(self, *names: str) -> list[str]:
        """Return means, as percentages except for widths."""
        cells = []
        for name in names:
            values = getattr(self, name)
            mean = sum(values) / max(1, len(values))
            cells.append(f"{mean:.2f}" if name in ("ratio", "naive") else f"{100 * mean:.0f} %")
        return cells


def follow_plans(
    labels: int, questions: int, correlation: float, repeats: int, half: bool
) -> Plans:
    """Plan, add the planned labels, and measure again, for a half-width or (not `half`) a bar."""
    plans, rng, each = Plans(), np.random.default_rng(13), labels // questions
    goals = {"half_width": HALF_WIDTH} if half else {"bars": {"kappa": BAR}}
    for repeat in range(repeats):
        truth = TRUTHS["high"] if half else float(rng.uniform(*PLANNED_TRUTHS))
        judge, bootstrap = Judge(truth, 0.5, correlation), Bootstrap(DRAWS, repeat)
        rows = list(judge.rows(rng, [each] * questions))
        (goal,) = plan_labels(table(rows), "judge", bootstrap=bootstrap, **goals).goals
        if goal.reached or goal.more is None:
            plans.already += goal.reached
            plans.unnamed += not goal.reached
            continue
        more = list(judge.rows(rng, [each] * goal.more_groups, questions))
        plans.named.append(goal.more)
        _follow(plans, goal, rows + more, bootstrap, truth)
        if half:
            needed = math.ceil(len(rows) * (Z95 * naive_kappa(rows)[1] / HALF_WIDTH) ** 2)
            new = math.ceil(max(0, needed - len(rows)) / each)
            further = judge.rows(rng, [each] * new, questions)
            plans.naive.append(_half_width([*rows, *further], bootstrap) / HALF_WIDTH)
    return plans


def _half_width(rows: list[CheckItem], bootstrap: Bootstrap) -> float:
    ends = interval_of(check(table(rows), bootstrap=bootstrap).judges[0].figures["kappa"])
    return math.inf if ends is None else (ends[1] - ends[0]) / 2


def _follow(
    plans: Plans, goal: LabelGoal, rows: list[CheckItem], bootstrap: Bootstrap, truth: float
) -> None:
    if goal.half_width is not None:
        half = _half_width(rows, bootstrap)
        plans.reached.append(half <= goal.half_width)
        plans.ratio.append(half / goal.half_width)
        return
    passed = check(table(rows), bootstrap=bootstrap).passes(kappa=BAR)
    plans.reached.append(passed is not None)
    plans.wrong.append(passed is not None and passed != (truth >= BAR))
    plans.promised.append(goal.chance or 0.0)


def report_plans(report: Report, repeats: int) -> None:
    """Tabulate how often the number of labels of a plan is enough."""
    for half in (True, False):
        first = f"half-width {HALF_WIDTH:g}" if half else f"bar {BAR:g}"
        columns = ("reached", "ratio", "naive") if half else ("promised", "reached", "wrong")
        named = (
            ("reached", "half-width / goal", "with a naive number")
            if half
            else ("chance that was named", "decided", "decided wrongly")
        )
        report.head(f"{first}: first labels in questions, errors", "labels named (median)", *named,
                    "enough before, no number")  # fmt: skip
        for labels, questions in PLANNED:
            for correlation, name in CORRELATIONS.items():
                plans = follow_plans(labels, questions, correlation, repeats, half=half)
                number = f"{median(plans.named):,.0f}" if plans.named else "-"
                before = f"{plans.already}, {plans.unnamed} of {repeats}"
                report.row(f"{labels} in {questions}, {name}", number, *plans.row(*columns), before)


REPORTS = {"decisions": report_decisions, "few labels": report_few, "plans": report_plans}


def main() -> None:
    """Run the simulation."""
    parser = arguments(__doc__)
    parser.add_argument("--repeats", type=int, default=100, help="samples of each kind")
    parser.add_argument("--smoke", action="store_true", help="two samples of each kind")
    parser.add_argument("--part", choices=PARTS, nargs="*", default=PARTS, help="what to simulate")
    chosen = parser.parse_args()
    repeats = 2 if chosen.smoke else chosen.repeats
    for part in chosen.part:
        report = Report("check decisions")
        report.name = f"check {part}"
        report.line(f"{repeats} samples of each kind, {PARTS[part]}.")
        REPORTS[part](report, repeats)
        report.write(chosen.write)


if __name__ == "__main__":
    main()
