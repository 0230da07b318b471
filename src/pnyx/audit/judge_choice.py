"""Choice of a judge: accuracy, calibration, trials, dollars and seconds of several side by side.

It chooses the cheapest judge that is shown not to be less accurate than the best by a margin, or a
cascade of two if that is cheaper still (docs/reference/measures.md, "Choosing a judge").
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import permutations
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import read_json
from pnyx.core.tabular import Result
from pnyx.judging.answers import MANIFEST
from pnyx.judging.calibration.selective import choose_thresholds
from pnyx.judging.measures.agreement import measure_agreement
from pnyx.judging.measures.ground_truth import LabelledVerdicts, join_labels
from pnyx.judging.measures.pairs import Pair
from pnyx.models.chat.prices import Price, price_of
from pnyx.stats.base import BOOTSTRAP, Bootstrap, Measured, row_of
from pnyx.stats.intervals import cluster_mean, paired_shares
from pnyx.stats.significance import AgainstMargin, Comparison, differ, family
from pnyx.stats.weighted_measures import Floats, Index

SHOWN = ("accuracy", "f1", "auroc", "ece", "brier")
ERRORS = (0.05, 0.1, 0.15, 0.2, 0.3)
"""Shares of errors with which a cascade's thresholds are tried on the development half."""
_CENTS = 1e-12  # Costs that differ by less are equal

Cost: TypeAlias = Literal["dollars", "seconds"]
Costs: TypeAlias = tuple[float | None, float | None]
"""US dollars and seconds per answer; None if unknown, which is not 0."""


@dataclass(frozen=True, slots=True)
class ComparedJudge:
    """One judge: `usd` and `seconds` per answer are None if they are unknown, which is not 0.

    `trials` are those of its cards, name -> outcome.
    """

    name: str
    judge: str
    measures: Mapping[str, Measured]
    usd: float | None
    seconds: float | None
    trials: Mapping[str, str]

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return row_of(self, "name judge measures usd seconds trials")


@dataclass(frozen=True, slots=True)
class JudgeCascade:
    """`first` answers when confident, `then` the rest; thresholds are from one half of the labels.

    `accuracy`, the `first_share` of answers and the costs are measured on the other half.
    """

    first: str
    then: str
    error: float
    low: float | None
    high: float | None
    accuracy: Measured
    first_share: float
    usd: float | None
    seconds: float | None

    @property
    def name(self) -> str:
        """Its name in tables."""
        return f"{self.first}, then {self.then}"

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return {
            **row_of(self, "name first then error low high accuracy"),
            "kept": self.first_share,
            **row_of(self, "usd seconds"),
        }


@dataclass(frozen=True, slots=True, repr=False)
class ChosenJudge(Result):
    """Judges compared on the same labelled items, and the choice among them.

    Attributes:
        judges: in the order given.
        baseline: the name of the most accurate judge, or the one that was chosen.
        comparisons: each other judge, and the cascade, compared with the baseline, by accuracy.
        choice: the name of the cheapest that is good enough; None if costs are unknown.
        items: how many labelled items all judges were asked about.
        left_out: labelled items that some judge was not asked about.
    """

    task: str
    judges: Sequence[ComparedJudge]
    baseline: str
    margin: float
    comparisons: Sequence[Comparison]
    cascade: JudgeCascade | None
    choice: str | None
    by: Cost
    items: int
    left_out: int
    clusters: int
    bootstrap: Bootstrap

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each judge, with its accuracy and costs."""
        return [
            {
                "judge": judge.name,
                **judge.measures["accuracy"].row(),
                **row_of(judge, "usd seconds"),
            }
            for judge in self.judges
        ]

    def _heading(self) -> list[str]:
        return [f"Accuracy of {len(self.judges)} judges on the same {self.items:,} labelled items"]

    def _ending(self) -> list[str]:
        if self.choice is None:
            return [f"Most accurate: {shorten(self.baseline)} (costs are not known)"]
        return [f"Cheapest that is good enough, within {self.margin:.2f}: {shorten(self.choice)}"]

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return {
            **row_of(self, "task judges baseline margin by items left_out clusters"),
            "comparisons": [c.row("other", "clusters") for c in self.comparisons],
            **row_of(self, "cascade choice"),
        }


def choose_judge(
    answers: Mapping[str, str | Path],
    labels: str | Path,
    *,
    margin: float = 0.02,
    by: Cost = "dollars",
    baseline: str | None = None,
    prices: Mapping[str, Price] | None = None,
    cards: Sequence[Mapping[str, Any]] = (),
    bootstrap: Bootstrap = BOOTSTRAP,
) -> ChosenJudge:
    """Compare judges of yes and no on the same labelled items, and choose one.

    Args:
        answers: name -> results folder of `pnyx judge` (or answers.jsonl), two or more.
        labels: people's labels of the items.
        margin: accuracy that may be lost, above 0 and below 1, fixed before looking.
        by: the cost to minimize.
        baseline: the judge to compare the others with; by default the most accurate.
        prices: of models; they override the packaged ones.
        cards: JSON written by `pnyx audit card`; those of other judges are ignored.
        bootstrap: for the intervals, and the seed that halves the labels for a cascade.

    Raises:
        InputError: answers are not yes or no, or the judges have no labelled item in common.
    """
    from pnyx.audit.card_file import check_card

    for card in cards:
        check_card(card)
    joined = {name: join_labels(path, labels) for name, path in answers.items()}
    first = next(iter(joined.values()))
    for name, results in joined.items():
        if results.task == "quality" or results.task != first.task:
            expected = "answers of yes and no" if results.task == "quality" else first.task
            raise InputError(f"found {results.task}, expected {expected}", path=answers[name])
    return choose_joined(
        joined,
        {name: _costs_in(path, prices) for name, path in answers.items()},
        margin=margin,
        by=by,
        baseline=baseline,
        cards=cards,
        bootstrap=bootstrap,
    )


def choose_joined(
    joined: Mapping[str, LabelledVerdicts],
    costs: Mapping[str, Costs],
    *,
    margin: float = 0.02,
    by: Cost = "dollars",
    baseline: str | None = None,
    cards: Sequence[Mapping[str, Any]] = (),
    bootstrap: Bootstrap = BOOTSTRAP,
) -> ChosenJudge:
    """Compare judges by answers joined with labels, as `choose_judge` does.

    Args:
        joined: name -> its answers of yes and no with labels, two or more, of one task.
        costs: name -> US dollars and seconds per answer; a judge without them has unknown costs.
        margin: accuracy that may be lost.
        by: the cost to minimize.
        baseline: the judge to compare the others with; by default the most accurate.
        cards: with the trials of the judges.
        bootstrap: settings of the intervals.

    Raises:
        InputError: the judges have no labelled item in common, or the baseline has none scored.
    """
    shared = _Shared(joined, bootstrap)
    judges = [_judge(name, costs.get(name, (None, None)), shared, cards) for name in joined]
    scored = {
        judge.name: a for judge in judges if (a := judge.measures["accuracy"].value) is not None
    }
    best = baseline or max(scored, key=scored.__getitem__, default=judges[0].name)
    if best not in scored:
        raise InputError("none of its labelled answers is scored", path=best)
    everything = np.ones(len(shared.ids), dtype=np.bool_)
    right = {name: shared.right(name) for name in joined}
    tests = [
        shared.compare(name, right[name], best, right[best], everything, margin)
        for name in joined
        if name != best
    ]
    cascade, test = _Cascades(shared, judges, best, margin, by).cheapest()
    comparisons = family([*tests, test] if test else tests)
    return ChosenJudge(
        next(iter(joined.values())).task, judges, best, margin, comparisons, cascade,
        _cheapest(judges, cascade, best, comparisons, by), by, len(shared.ids), shared.left_out,
        int(shared.places.max()) + 1, bootstrap,
    )  # fmt: skip


def _judge(
    name: str,
    costs: Costs,
    shared: _Shared,
    cards: Sequence[Mapping[str, Any]],
) -> ComparedJudge:
    measured = measure_agreement(shared.joined[name], bootstrap=shared.bootstrap).measures
    judge = shared.joined[name].judge
    trials = {
        trial["trial"]: trial["outcome"]
        for card in cards
        if card["judge"] == judge
        for trial in card["trials"]
    }
    main_measures = {key: measured[key] for key in SHOWN if key in measured}
    return ComparedJudge(name, judge, main_measures, *costs, trials)


def _costs_in(path: str | Path, prices: Mapping[str, Price] | None) -> Costs:
    """Return the cost of an answer, by the manifest of a results folder."""
    manifest = read_json(Path(path) / MANIFEST) if Path(path).is_dir() else None
    try:
        return costs_of(manifest or {}, prices)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"holds a damaged manifest ({error})", path=path) from error


def costs_of(manifest: Mapping[str, Any], prices: Mapping[str, Price] | None = None) -> Costs:
    """Return US dollars and seconds per answer, None if the manifest does not determine them.

    Stored replies cost nothing again, and a resumed run took longer than its last part: neither
    gives the cost of an answer. Without a language model it is 0 dollars.
    """
    count = manifest.get("counts", {}).get("asked")
    models, store = manifest.get("models", ()), manifest.get("store", {})
    if not count or store.get("from_store") or manifest.get("kept"):
        return (0.0 if count and not models else None), None
    begun, ended = (datetime.fromisoformat(manifest[n]) for n in ("started", "finished"))
    seconds = (ended - begun).total_seconds() / count
    if not models:
        return 0.0, seconds
    prices_found = [price_of(model["name"], prices) for model in models]
    tokens = manifest.get("tokens", {})
    counts = (tokens.get(f"{n}_tokens", 0) for n in ("prompt", "completion", "cached"))
    if len(set(prices_found)) == 1 and prices_found[0] is not None and tokens:
        return prices_found[0].cost(*counts) / count, seconds
    spent = [model.get("spent", {}).get("cost_usd") for model in models]
    return (None if None in spent else sum(spent) / count), seconds


class _Shared:
    """The labelled items that all judges were asked."""

    def __init__(self, joined: Mapping[str, LabelledVerdicts], bootstrap: Bootstrap) -> None:
        by_id = {name: {p.verdict.id: p for p in results.pairs} for name, results in joined.items()}
        every = set[str]().union(*by_id.values())
        self.ids = sorted(every.intersection(*by_id.values()))
        self.left_out, self.bootstrap = len(every) - len(self.ids), bootstrap
        if not self.ids:
            raise InputError("the judges have no labelled item in common")
        self._pairs = {name: [pairs[i] for i in self.ids] for name, pairs in by_id.items()}
        self.joined = {
            name: LabelledVerdicts(labelled.task, labelled.judge, self._pairs[name])
            for name, labelled in joined.items()
        }
        groups = [pair.group for pair in next(iter(self._pairs.values()))]
        numbers: dict[tuple[str, str], int] = {}
        keys = (
            (group, "") if group else ("", i) for group, i in zip(groups, self.ids, strict=True)
        )
        self.places: Index = np.array([numbers.setdefault(k, len(numbers)) for k in keys], np.intp)

    def pairs(self, name: str) -> Sequence[Pair]:
        return self._pairs[name]

    def right(self, name: str) -> Floats:
        """Return whether each answer is right, NaN if it is unscored."""
        return np.array([
            np.nan if p.verdict.value is None else float(p.verdict.value == p.gold.yes)
            for p in self._pairs[name]
        ])  # fmt: skip

    def compare(
        self, name: str, right: Floats, other: str, theirs: Floats, of: Any, margin: float
    ) -> Comparison:
        """Test accuracy on some of the items, those that both judges scored."""
        of = of & np.isfinite(right) & np.isfinite(theirs)
        differences, places = (right - theirs)[of], self.places[of]
        count, clusters = len(differences), np.unique(places, return_inverse=True)[1]
        sums = np.bincount(clusters, differences)
        (tested,) = differ(sums[:, None] * len(sums) / max(1, count), "randomisation",
                           replace(self.bootstrap, draws=0))  # fmt: skip
        paired = paired_shares(differences, clusters)
        low, high = paired.interval(self.bootstrap.confidence) if count else (None, None)
        chances = (paired.chance(-margin), paired.chance(margin, above=True)) if count else ()
        against = AgainstMargin(margin, chances[0], max(chances)) if chances else None
        return Comparison(tested.test, low, high, against, "", name, other, "accuracy")


class _Cascades:
    """All cascades of two of the judges, chosen on one half of the topics."""

    def __init__(
        self, shared: _Shared, judges: Sequence[ComparedJudge], best: str, margin: float, by: Cost
    ) -> None:
        self._shared, self._judges, self._by = shared, judges, by
        self._best, self._margin = best, margin
        count = int(shared.places.max()) + 1
        chosen = random.Random(shared.bootstrap.seed).sample(range(count), count // 2)
        self._develop = np.isin(shared.places, chosen)

    def cheapest(self) -> tuple[JudgeCascade, Comparison] | tuple[None, None]:
        """Return the cheapest that is good enough on one half, with figures from the other."""
        shared, best = self._shared, self._shared.right(self._best)
        tried = [
            (
                cascade,
                keeps,
                np.where(keeps, shared.right(cascade.first), shared.right(cascade.then)),
            )
            for cascade, keeps in self._thresholds()
        ]
        tests = family([
            shared.compare(cascade.name, right, self._best, best, self._develop, self._margin)
            for cascade, _, right in tried
        ])  # fmt: skip
        ranked = [
            (self._cost(cascade, float(keeps[self._develop].mean())), index)
            for index, (cascade, keeps, _) in enumerate(tried)
            if tests[index].good_enough
        ]
        if not ranked:
            return None, None
        cascade, keeps, right = tried[min(ranked)[1]]
        other = ~self._develop
        share = float(keeps[other].mean())
        usd, seconds = (self._costs(cascade, share, by) for by in ("dollars", "seconds"))
        accuracy = cluster_mean(right[other], shared.places[other], shared.bootstrap)
        test = shared.compare(cascade.name, right, self._best, best, other, self._margin)
        done = replace(cascade, accuracy=accuracy, first_share=share, usd=usd, seconds=seconds)
        return done, test

    def _thresholds(self) -> Iterator[tuple[JudgeCascade, Any]]:
        """Yield cascades that cost less than their last judge, with the answers the first keeps."""
        for first, then in permutations(self._judges, 2):
            costs = _cost_of(first, self._by), _cost_of(then, self._by)
            if costs[0] is None or costs[1] is None or costs[0] >= costs[1] - _CENTS:
                continue
            yield from self._of_two(first.name, then.name)

    def _of_two(self, first: str, then: str) -> Iterator[tuple[JudgeCascade, Any]]:
        pairs = self._shared.pairs(first)
        stated = np.array([p.verdict.value is not None and p.verdict.probability is not None
                           for p in pairs])  # fmt: skip
        used = [p for p, use in zip(pairs, stated & self._develop, strict=True) if use]
        groups = [p.group or p.verdict.id for p in used]
        for error in ERRORS if used else ():
            try:
                regions = choose_thresholds(
                    [p.verdict.probability or 0.0 for p in used],
                    [bool(p.gold.yes) for p in used],
                    error,
                    groups,
                    verdicts=[bool(p.verdict.value) for p in used],
                )
            except ValueError:  # a yes with a lower probability than a no
                return
            keeps = np.array([
                bool(use) and regions.keeps(p.verdict.probability or 0.0, verdict=p.verdict.value)
                for p, use in zip(pairs, stated, strict=True)
            ])  # fmt: skip
            if keeps.any():
                yield JudgeCascade(first, then, error, regions.low, regions.high,
                                   Measured(None, 0, 0), 0.0, None, None), keeps  # fmt: skip

    def _costs(self, cascade: JudgeCascade, share: float, by: Cost) -> float | None:
        costs = {judge.name: _cost_of(judge, by) for judge in self._judges}
        first, then = costs[cascade.first], costs[cascade.then]
        return None if first is None or then is None else first + (1 - share) * then

    def _cost(self, cascade: JudgeCascade, share: float) -> float:
        cost = self._costs(cascade, share, self._by)
        return np.inf if cost is None else cost


def _cost_of(judge: ComparedJudge | JudgeCascade, by: Cost) -> float | None:
    return judge.usd if by == "dollars" else judge.seconds


def _cheapest(
    judges: Sequence[ComparedJudge],
    cascade: JudgeCascade | None,
    best: str,
    comparisons: Sequence[Comparison],
    by: Cost,
) -> str | None:
    """Return the cheapest of the baseline and the judges that are good enough.

    None if the cost of one of them is unknown: it might be the cheapest.
    """
    enough = {best, *(c.run for c in comparisons if c.good_enough)}
    some = [judge for judge in (*judges, *([cascade] if cascade else ())) if judge.name in enough]
    costs = [(_cost_of(judge, by), shorten(judge.name, 400)) for judge in some]
    priced = [(cost, index, name) for index, (cost, name) in enumerate(costs) if cost is not None]
    return min(priced)[2] if len(priced) == len(costs) else None
