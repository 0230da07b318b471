"""Do the decision and the plan of `pnyx check` keep what they promise? By simulation.

    python benchmarks/judging/check_simulation.py [--repeats 300]
    ... --write docs/benchmarks/check.md   # renews its section

People say yes or no to the rows of questions, and so does a judge. Each question has its own share
of yes and its own error rates, drawn from beta distributions, so that rows of a question are alike.
The true kappa is that of infinitely many questions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np
from common import Report, arguments

from pnyx.audit.checks.bars import decide_bar
from pnyx.audit.checks.items import CheckItem, CheckItems
from pnyx.audit.checks.joined import join_items
from pnyx.audit.checks.plan import LabelGoal, plan_labels
from pnyx.measure.answers.agreement import measure_agreement
from pnyx.measure.core.base import Bootstrap, Measured
from pnyx.measure.core.weighted import Floats

BAR = 0.6
TRUTHS = {"below": 0.45, "at": 0.6, "above": 0.75}
SIZES = ((30, 5), (30, 15), (100, 5), (100, 10), (100, 30), (300, 5), (300, 15), (300, 60))
"""Labels and questions."""
CORRELATIONS = (0.05, 0.2)
SHARES = (0.5, 0.2)
PLANNED = ((60, 12), (100, 5), (100, 10), (100, 25), (200, 40))
HALF_WIDTH = 0.1
DRAWS = 300


@dataclass(frozen=True)
class Judge:
    """A judge with equal errors on yes and no.

    Attributes:
        kappa: its true kappa.
        share: of yes in people's labels.
        correlation: of rows of a question, in what people and the judge say.
    """

    kappa: float
    share: float
    correlation: float

    @property
    def right(self) -> float:
        """Return how often it must be right to have its kappa, by bisection."""
        low, high = 0.5, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self._kappa(middle) < self.kappa else (low, middle)
        return low

    def _kappa(self, right: float) -> float:
        yes = self.share * right + (1 - self.share) * (1 - right)
        chance = self.share * yes + (1 - self.share) * (1 - yes)
        return (right - chance) / (1 - chance)

    def rows(
        self, rng: np.random.Generator, questions: int, each: int, first: int
    ) -> Iterator[CheckItem]:
        """Yield rows of questions that are numbered from `first`."""
        right = self.right
        share, on_yes, on_no = (self._beta(rng, x, questions) for x in (self.share, right, right))
        for question in range(questions):
            people = rng.random(each) < share[question]
            chance = np.where(people, on_yes[question], on_no[question])
            judge = people == (rng.random(each) < chance)
            name = f"q{first + question:05d}"
            for row, (label, verdict) in enumerate(
                zip(people.tolist(), judge.tolist(), strict=True)
            ):
                yield CheckItem(
                    f"{name}-{row:03d}", name, row, {"judge": verdict}, {"human": label}
                )

    def _beta(self, rng: np.random.Generator, mean: float, count: int) -> Floats:
        size = 1 / self.correlation - 1
        return rng.beta(mean * size, (1 - mean) * size, count)


def table(rows: list[CheckItem]) -> CheckItems:
    """Return rows as `pnyx check` reads them."""
    return CheckItems(rows, "yes-no", ("judge",), ("human",), "question")


def kappa(rows: list[CheckItem], seed: int) -> Measured:
    """Return what `pnyx check` measures."""
    joined = join_items(table(rows), "judge")
    return measure_agreement(joined, bootstrap=Bootstrap(DRAWS, seed)).measures["kappa"]


class Decisions:
    """What was decided about judges of one true kappa."""

    def __init__(self, truth: float) -> None:
        self._truth = truth
        self.said = {"above": 0, "below": 0, "undecided": 0}
        self.count = self.covered = self.intervals = 0
        self.width = 0.0

    def add(self, measured: Measured) -> None:
        """Add the kappa of one sample."""
        self.count += 1
        self.said[decide_bar("judge", "kappa", BAR, measured).verdict] += 1
        if measured.low is not None and measured.high is not None:
            self.intervals += 1
            self.covered += measured.low <= self._truth <= measured.high
            self.width += measured.high - measured.low

    def share(self, said: str) -> str:
        """Return how often this was said."""
        return f"{100 * self.said[said] / self.count:.1f} %"


def decide(judge: Judge, labels: int, questions: int, repeats: int) -> Decisions:
    """Decide about many samples of one judge."""
    decisions = Decisions(judge.kappa)
    rng = np.random.default_rng(11)
    for repeat in range(repeats):
        rows = list(judge.rows(rng, questions, labels // questions, 0))
        decisions.add(kappa(rows, repeat))
    return decisions


def report_decisions(report: Report, repeats: int) -> None:
    """Tabulate how often the decision is wrong, and how often the interval holds the truth."""
    report.head(
        "labels in questions; correlation; yes",
        "said above: truth below, at the bar",
        "said below: truth above, at the bar",
        "undecided: below, at, above",
        "covered",
        "width",
    )
    total: dict[str, list[Decisions]] = {name: [] for name in TRUTHS}
    for labels, questions in SIZES:
        for correlation in CORRELATIONS:
            for share in SHARES:
                of = {
                    name: decide(Judge(truth, share, correlation), labels, questions, repeats)
                    for name, truth in TRUTHS.items()
                }
                for name, decisions in of.items():
                    total[name].append(decisions)
                named = f"{labels} in {questions}; {correlation:g}; {share:.0%}".replace("%", " %")
                report.row(named, *_cells({name: [one] for name, one in of.items()}))
    report.row("all", *_cells(total))


def _cells(of: dict[str, list[Decisions]]) -> list[str]:
    def share(truth: str, said: str) -> str:
        several = of[truth]
        return f"{100 * sum(d.said[said] for d in several) / sum(d.count for d in several):.1f} %"

    every = [decisions for several in of.values() for decisions in several]
    intervals = sum(decisions.intervals for decisions in every)
    return [
        f"{share('below', 'above')}, {share('at', 'above')}",
        f"{share('above', 'below')}, {share('at', 'below')}",
        ", ".join(share(name, "undecided") for name in TRUTHS),
        f"{sum(decisions.covered for decisions in every) / max(1, intervals):.3f}",
        f"{sum(decisions.width for decisions in every) / max(1, intervals):.2f}",
    ]


@dataclass
class Plans:
    """What became of plans for judges of one kind."""

    named: list[int]
    reached: int = 0
    wrong: int = 0
    already: int = 0
    unnamed: int = 0
    promised: float = 0.0
    ratio: float = 0.0

    def add(self, goal: LabelGoal, measured: Measured, truth: float) -> None:
        """Add what was measured with the labels that a plan named."""
        self.named.append(goal.more or 0)
        if measured.low is None or measured.high is None:
            return
        half = (measured.high - measured.low) / 2
        if goal.half_width is not None:
            self.reached += half <= goal.half_width
            self.ratio += half / goal.half_width
            return
        verdict = decide_bar("judge", "kappa", BAR, measured).verdict
        self.reached += verdict != "undecided"
        self.wrong += verdict == ("below" if truth >= BAR else "above")
        self.promised += goal.chance or 0.0


def follow_plans(
    judge: Judge, labels: int, questions: int, repeats: int, half_width: float | None
) -> Plans:
    """Plan, label what the plan names, and measure again."""
    plans, rng, each = Plans([]), np.random.default_rng(13), labels // questions
    bars = None if half_width is not None else {"kappa": BAR}
    for repeat in range(repeats):
        rows = list(judge.rows(rng, questions, each, 0))
        bootstrap = Bootstrap(DRAWS, repeat)
        plan = plan_labels(
            table(rows), "judge", half_width=half_width, bars=bars, bootstrap=bootstrap
        )
        (goal,) = plan.goals
        if goal.reached:
            plans.already += 1
        elif goal.more is None:
            plans.unnamed += 1
        else:
            rows += judge.rows(rng, goal.more_groups, each, questions)
            plans.add(goal, kappa(rows, repeat), judge.kappa)
    return plans


def report_plans(report: Report, repeats: int) -> None:
    """Tabulate how often the labels that a plan names are enough."""
    for half_width in (HALF_WIDTH, None):
        if half_width is not None:
            report.head(
                f"goal: half-width {half_width:g}; labels in questions; correlation",
                "labels named (median)",
                "half-width reached",
                "within a tenth of it",
                "half-width / goal",
                "enough before, no number",
            )
        else:
            report.head(
                f"goal: bar {BAR:g}; labels in questions; correlation",
                "labels named (median)",
                "decided",
                "chance that was named",
                "decided wrongly",
                "enough before, no number",
            )
        for labels, questions in PLANNED:
            for correlation in CORRELATIONS:
                judge = Judge(TRUTHS["above"], 0.5, correlation)
                plans = follow_plans(judge, labels, questions, repeats, half_width)
                _report_plans(
                    report, f"{labels} in {questions}; {correlation:g}", plans, half_width
                )


def _report_plans(report: Report, name: str, plans: Plans, half_width: float | None) -> None:
    count = max(1, len(plans.named))
    before = f"{plans.already}, {plans.unnamed}"
    number = f"{median(plans.named):,.0f}" if plans.named else "-"
    if half_width is None:
        cells = [f"{100 * x / count:.0f} %" for x in (plans.reached, plans.promised, plans.wrong)]
    else:
        cells = [f"{100 * plans.reached / count:.0f} %", "", f"{plans.ratio / count:.2f}"]
    report.row(name, number, *cells, before)


def main() -> None:
    """Run the simulation."""
    parser = arguments(__doc__)
    parser.add_argument("--repeats", type=int, default=300, help="samples of each kind")
    parser.add_argument("--smoke", action="store_true", help="two samples of each kind")
    chosen = parser.parse_args()
    repeats = 2 if chosen.smoke else chosen.repeats
    report = Report("check")
    report_decisions(report, repeats)
    report_plans(report, max(2, repeats // 3))
    report.write(chosen.write)


if __name__ == "__main__":
    main()
