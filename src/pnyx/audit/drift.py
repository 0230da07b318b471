"""Drift: a judge's card compared with an earlier one, figure by figure.

If both contain outcomes for the same labelled items, a difference is paired: item by item, with an
interval over questions. Otherwise its interval follows Zou and Donner (Statistics in Medicine 27,
2008), with both figures treated as independent: on the same items too wide, never too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeAlias

from pnyx.audit.card import alpha_of
from pnyx.audit.outcomes import paired_interval
from pnyx.audit.trials.trials import TRIALS
from pnyx.core.errors import InputError
from pnyx.stats.base import BOOTSTRAP, Bootstrap
from pnyx.stats.intervals import wilson

Verdict: TypeAlias = Literal["worse", "maybe worse", "same", "better", "not measured"]

_MEASURES = {"f1": 1, "accuracy": 1, "average_precision": 1, "auroc": 1, "ece": -1, "brier": -1}
"""Measure of answers against labels -> 1 if higher is better, else -1."""

Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CardFigure:
    """A figure of a card: its value with its interval, and the items behind it."""

    value: float | None
    low: float | None
    high: float | None
    items: str  # their hash
    sign: int  # 1 if higher is better, else -1
    measure: str = ""  # of answers against labels
    outcomes: Mapping[str, str] = field(default_factory=dict)  # the labels and answers behind it


@dataclass(frozen=True, slots=True)
class Drift:
    """The change of one figure.

    Attributes:
        name: the figure's name, after its task and, for a trial, the trial's name.
        then, now: its values; None if not measured.
        better: now minus then, negated if lower is better; with a 95 % interval.
        same_items: whether both are based on the same items.
        paired: whether items were paired; else the interval treats the figures as independent.
        verdict: `worse` by more than the margin: on the same items by the figures alone, on others
            only if the interval is below 0; `maybe worse` if that interval contains 0; `better` if
            the interval is above 0.
    """

    name: str
    then: float | None
    now: float | None
    better: float | None
    low: float | None
    high: float | None
    same_items: bool
    paired: bool
    verdict: Verdict

    def row(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self)


def compare_cards(
    then: Row, now: Row, margin: float, bootstrap: Bootstrap = BOOTSTRAP
) -> list[Drift]:
    """Return how each figure of an earlier card has changed in a later one.

    Args:
        then: the earlier result of `make_card`, or its JSON.
        now: the later one.
        margin: how much worse a figure may be, from 0.
        bootstrap: settings of the intervals of paired differences.

    Raises:
        InputError: one is not a card, or they have no figure in common.
    """
    from pnyx.audit.card_file import check_card

    for card in (then, now):
        check_card(card)
    before, after = (dict(_figures(card)) for card in (then, now))
    if not before.keys() & after.keys():
        raise InputError("the cards have no figure in common: no task, trial or labels of both")
    return compare_figures(before, after, margin, bootstrap)


def compare_figures(
    then: Mapping[str, CardFigure],
    now: Mapping[str, CardFigure],
    margin: float,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> list[Drift]:
    """Return how each earlier figure has changed, by name; a missing one is not measured."""
    nothing = CardFigure(None, None, None, "", 1)
    return [
        _moved(name, old, now.get(name, nothing), margin, bootstrap) for name, old in then.items()
    ]


def _moved(
    name: str, then: CardFigure, now: CardFigure, margin: float, bootstrap: Bootstrap
) -> Drift:
    same = bool(then.items) and then.items == now.items
    if then.value is None or now.value is None:
        return Drift(name, then.value, now.value, None, None, None, same, False, "not measured")
    better = then.sign * (now.value - then.value)
    paired = paired_interval(then.outcomes, now.outcomes, then.measure, bootstrap)
    if paired is None:
        low, high = _interval(then, now)
    else:
        change, low, high = paired
        better, same = then.sign * change, True
        if then.sign < 0 and low is not None and high is not None:
            low, high = -high, -low
    verdict: Verdict = "same"
    if -better > margin + 1e-9:
        verdict = "worse" if same or (high is not None and high < 0) else "maybe worse"
    elif low is not None and low > 0:
        verdict = "better"
    whether = paired is not None
    return Drift(name, then.value, now.value, better, low, high, same, whether, verdict)


def _interval(then: CardFigure, now: CardFigure) -> tuple[float | None, float | None]:
    """Return the interval of the improvement, by the distances of both figures to their ends."""
    if None in (then.low, then.high, now.low, now.high):
        return None, None
    # For the type checker: none of these is None.
    (t, tl, th), (n, nl, nh) = (
        [float(x) for x in (f.value, f.low, f.high) if x is not None] for f in (then, now)
    )
    low, high = n - t - math.hypot(n - nl, th - t), n - t + math.hypot(nh - n, t - tl)
    return (low, high) if then.sign > 0 else (-high, -low)


def _figures(card: Row) -> Iterator[tuple[str, CardFigure]]:
    """Yield the figures of a checked card that can be compared, by name."""
    for results in card["asked"]:
        yield from _of_results(results)
    for trial in card["trials"]:
        sign = -1 if TRIALS[trial["trial"]].steady else 1
        figure = _figure(trial["measures"][trial["primary"]], trial["items_sha256"], sign)
        yield f"{trial['task']}, {trial['trial']}: {trial['primary']}", figure


def _of_results(result: Row) -> Iterator[tuple[str, CardFigure]]:
    task, items, counts = result["task"], result["items_sha256"], result["counts"]
    if counts["asked"]:
        low, high = wilson(counts["scored"], counts["asked"])
        share = counts["scored"] / counts["asked"]
        yield f"{task}: scored", CardFigure(share, low, high, items, 1)
    for compared in result.get("agreement", {}).get("compared", ()):
        if compared["kind"] == "human-judge":
            alpha = alpha_of(task)
            name = f"{task}: {alpha} with {compared['between'][1]}"
            yield name, _figure(compared["mean"][alpha], items, 1)
    calibration = (result.get("calibration") or {}).get("measures", {})
    measured = {**result.get("measures", {}), **calibration}
    for name, sign in _MEASURES.items():
        if name in measured:
            figure = _figure(measured[name], items, sign)
            yield (
                f"{task}: {name}",
                replace(figure, measure=name, outcomes=result.get("outcomes", {})),
            )


def _figure(row: Row, items: str, sign: int) -> CardFigure:
    return CardFigure(row["value"], row["low"], row["high"], items, sign)
