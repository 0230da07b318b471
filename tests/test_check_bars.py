"""The three-way decision of `pnyx check` on intervals, at and next to its boundaries."""

from __future__ import annotations

import math

import pytest

from pnyx.audit.checks.bars import (
    DEFAULT_BARS,
    LOWER_IS_BETTER,
    DecidedBar,
    Decision,
    canonical_bars,
    decide_bar,
)
from pnyx.core.errors import InputError
from pnyx.stats.base import Measured

NEXT = 1e-9


def measured(low: float | None, high: float | None, why: str = "") -> Measured:
    return Measured(0.5, 40, 40, low, high, why)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.6, 0.9, "above"),
        (0.6 - NEXT, 0.9, "undecided"),
        (0.2, 0.6, "undecided"),
        (0.2, 0.6 - NEXT, "below"),
        (0.6, 0.6, "above"),
    ],
)
def test_a_bar_is_compared_with_the_whole_interval(low: float, high: float, verdict: str) -> None:
    decided = decide_bar("j", "kappa", 0.6, measured(low, high))
    assert decided.verdict == verdict
    assert bool(decided.why) == (verdict == "undecided")


@pytest.mark.parametrize("measure", ["ece", "brier", "mean_absolute_error"])
@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.01, 0.1, "above"),
        (0.01, 0.1 + NEXT, "undecided"),
        (0.1, 0.3, "undecided"),
        (0.1 + NEXT, 0.3, "below"),
    ],
)
def test_the_bar_of_an_error_is_the_most_that_is_allowed(
    measure: str, low: float, high: float, verdict: str
) -> None:
    decided = decide_bar("j", measure, 0.1, measured(low, high))
    assert decided.verdict == verdict
    assert decided.row()["at"] == "most"


def test_errors_are_the_measures_that_are_best_at_0() -> None:
    assert {"ece", "brier", "mean_absolute_error"} == LOWER_IS_BETTER


def test_without_an_interval_it_cannot_be_told_and_the_reason_is_given() -> None:
    decided = decide_bar("j", "kappa", 0.6, measured(None, None, "fewer than two topics"))
    assert (decided.verdict, decided.why) == ("undecided", "no interval: fewer than two topics")
    assert decide_bar("j", "kappa", 0.6, measured(None, None)).why == "no interval: none was drawn"
    assert decide_bar("j", "kappa", 0.6, Measured(None, 0, 9)).why == "nothing is scored"
    undefined = decide_bar("j", "auroc", 0.6, Measured(None, 9, 9))
    assert undefined.why == "it has no value on these labels"


def decided(*verdicts: str) -> list[DecidedBar]:
    return [DecidedBar("j", "kappa", 0.6, measured(0, 1), v) for v in verdicts]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verdicts", "unscored", "passed", "status"),
    [
        (["above", "above"], 0, True, 0),
        (["above", "undecided"], 0, None, 3),
        (["undecided", "below"], 0, False, 1),
        (["above", "below"], 5, False, 1),
        (["above"], 1, None, 3),
    ],
)
def test_all_bars_together(
    verdicts: list[str], unscored: int, passed: bool | None, status: int
) -> None:
    decision = Decision(decided(*verdicts), unscored)
    assert (decision.passed, decision.exit_status) == (passed, status)


def test_bars_have_one_name_and_lie_in_the_range_of_their_measure() -> None:
    bars = {"tpr": 0.8, "tnr": 1, "mae": 3.5, "kappa": -1, "ppv": 0, "auroc": 1.0}
    assert canonical_bars(bars) == {
        "sensitivity": 0.8,
        "specificity": 1,
        "mean_absolute_error": 3.5,
        "kappa": -1,
        "precision": 0,
        "auroc": 1,
    }


@pytest.mark.parametrize(
    ("bars", "problem"),
    [
        ({"kappa": 1.01}, "bar kappa: found 1.01, expected a number from -1 to 1"),
        ({"kappa": -1.01}, "expected a number from -1 to 1"),
        ({"tpr": 80}, "bar tpr: found 80, expected a number from 0 to 1"),
        ({"mae": -0.1}, "expected at least 0"),
        ({"kappa": math.nan}, "expected a finite number"),
        ({"kappa": math.inf}, "expected a finite number"),
        ({"kappa": True}, "expected a finite number"),
        ({"tpr": 0.5, "recall": 0.6}, "bar recall: sensitivity is given twice"),
    ],
)
def test_a_bar_that_cannot_be_is_refused(bars: dict[str, float], problem: str) -> None:
    with pytest.raises(InputError) as error:
        canonical_bars(bars)
    assert problem in str(error.value)


def test_the_usual_bars_are_those_of_their_sources() -> None:
    assert DEFAULT_BARS == {"yes-no": {"kappa": 0.6}, "rating": {"alpha_ordinal": 0.667}}
