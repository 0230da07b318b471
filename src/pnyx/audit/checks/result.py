"""The result of a check: figures, disagreements and groups of each judge, and the decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pnyx.audit.checks.alternative import AlternativeTest
from pnyx.audit.checks.bars import DEFAULT_BARS, Decision, canonical_bars, decide_bar
from pnyx.audit.checks.biases import Biases
from pnyx.audit.checks.items import Answer, CheckItem, CheckItems
from pnyx.audit.checks.sample_size import too_few
from pnyx.audit.drift import Drift
from pnyx.audit.judge_choice import ChosenJudge
from pnyx.audit.outcomes import outcomes_of
from pnyx.core.errors import InputError, escaped, shorten
from pnyx.core.tabular import Result
from pnyx.judging.measures.agreement import Agreement
from pnyx.judging.measures.raters import Compared
from pnyx.judging.measures.rates import CorrectedRate
from pnyx.stats.base import Bootstrap, Measured, plain, row_of


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item on which the judge and people disagree.

    Attributes:
        item: the row, with its texts.
        verdict, label: what the judge says, and people together.
        confidence: the judge's probability of its verdict; None if it states none.
    """

    item: CheckItem
    verdict: Answer
    label: Answer
    confidence: float | None

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`; texts are in the table."""
        facts = row_of(self.item, "id line group dimension")
        return facts | row_of(self, "verdict label confidence")


@dataclass(frozen=True, slots=True)
class GroupAccuracy:
    """How many verdicts of a group are right; a figure only from `MIN_GROUP_LABELS` on."""

    name: str
    right: int
    accuracy: Measured

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return row_of(self, "name right accuracy")


@dataclass(frozen=True, slots=True, repr=False)
class CheckedJudge(Result):
    """One judge against people.

    Attributes:
        name: its column.
        figures: all measures that the table allows, by name, equal to those of `pnyx measure`.
            `sensitivity` is the share of people's yes to which the judge says yes, `precision` the
            share of its yes to which people say yes; `specificity` and `npv` are the same of no.
        agreement: what `measure_agreement` says.
        rate: the judge's share of yes, corrected; None of ratings.
        disagreements: the most confident first; of ratings, the furthest apart.
        groups: how many verdicts are right in each group; empty of ratings.
        biases: by the length of texts, and by how far people agree.
        alternative: whether it may replace one of three or more people; None with fewer.
    """

    name: str
    figures: Mapping[str, Measured]
    agreement: Agreement
    rate: CorrectedRate | None
    disagreements: Sequence[Disagreement]
    groups: Sequence[GroupAccuracy]
    biases: Biases
    alternative: AlternativeTest | None

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each measure."""
        return [{"measure": name, **measured.row()} for name, measured in self.figures.items()]

    def _heading(self) -> list[str]:
        return [f"{shorten(self.name)}: {len(self.disagreements):,} disagreements with people"]

    @property
    def unscored(self) -> int:
        """How many labelled answers are unscored."""
        return int(self.agreement.counts["unscored"])

    @property
    def unlabelled(self) -> int:
        """How many answers have no label that counts."""
        return sum(self.agreement.joined.unlabelled.values())

    def too_few(self, measure: str) -> str:
        """Return why labels are too few to decide about a measure; empty if they are enough."""
        return too_few(self.agreement.joined, measure)

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return {
            "judge": self.name,
            "counts": self.agreement.counts,
            "measures": plain(self.figures),
            "per_dimension": plain(self.agreement.per_dimension),
            "dimension_mean": plain(self.agreement.dimension_mean),
            "rate": plain(self.rate),
            "clusters": self.agreement.clusters,
            "clustered_by": self.agreement.clustered_by,
            "disagreements": plain(list(self.disagreements)),
            "groups": plain(list(self.groups)),
            "biases": self.biases.row(),
            "alternative": plain(self.alternative),
            "outcomes": outcomes_of(self.agreement.joined),
        }


@dataclass(frozen=True, slots=True, repr=False)
class CheckedTable(Result):
    """Judges checked against people's labels in one table.

    Attributes:
        items: the table as it was understood.
        judges: one or more, in the order of the table.
        compared: people with each other, and the judges with each of them; see `compare_people`.
        tied: items on which people are tied, which are left out.
        bars: what the judges must reach.
        choice: of several judges of yes and no, which to take.
        drift: how figures have moved since an earlier check.
    """

    items: CheckItems
    judges: Sequence[CheckedJudge]
    compared: Sequence[Compared]
    tied: int
    bars: Mapping[str, float]
    bootstrap: Bootstrap
    choice: ChosenJudge | None = None
    drift: Sequence[Drift] = field(default=())

    def decide(self, bars: Mapping[str, float] | None = None) -> Decision:
        """Compare every judge with bars: by default those of the check, else kappa 0.6.

        Args:
            bars: measure -> the least value that is good enough; the most where lower is better.

        Raises:
            InputError: a measure is unknown, or the table does not allow it.
        """
        wanted = canonical_bars(bars or {}) or self.bars or DEFAULT_BARS[self.items.kind]
        decided = [
            decide_bar(judge.name, name, bar, self._figure(judge, name), judge.too_few(name))
            for judge in self.judges
            for name, bar in wanted.items()
        ]
        return Decision(decided, sum(judge.unscored for judge in self.judges))

    def passes(self, **bars: float) -> bool | None:
        """Return whether every judge reaches these bars; None if it is undecided."""
        return self.decide(bars).passed

    def _figure(self, judge: CheckedJudge, name: str) -> Measured:
        if name not in judge.figures:
            there = ", ".join(judge.figures)
            raise InputError(f"bar {escaped(name, 40)}: not measured here, expected one of {there}")
        return judge.figures[name]

    @property
    def unscored(self) -> int:
        """How many labelled answers of all judges are unscored."""
        return sum(judge.unscored for judge in self.judges)

    @property
    def people(self) -> Measured | None:
        """Agreement of people with each other: alpha, nominal or of ratings ordinal.

        It is a ceiling for any judge; None if no item has two labels.
        """
        alpha = "alpha_nominal" if self.items.kind == "yes-no" else "alpha_ordinal"
        return self.compared[0].mean[alpha] if self.compared else None

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each judge and measure."""
        return [{"judge": judge.name, **row} for judge in self.judges for row in judge.rows()]

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`, which a later check can be compared with."""
        from pnyx._version import __version__

        facts = {"pnyx": __version__, "check": 1}
        return {
            **facts,
            **row_of(self.items, "source kind group people words notes"),
            "judges": plain(list(self.judges)),
            "people_agreement": plain(self.people),
            "compared": plain(list(self.compared)),
            "tied": self.tied,
            "decision": self.decide().row() | {"default": not self.bars},
            "choice": plain(self.choice),
            "drift": plain(list(self.drift)),
            "interval": self.bootstrap.row("cluster bootstrap"),
        }
