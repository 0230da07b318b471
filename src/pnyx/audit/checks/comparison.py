"""Several judges of one table compared, and a check compared with an earlier one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pnyx.audit.checks.answer_words import number_of, read_cell
from pnyx.audit.checks.items import CheckItems
from pnyx.audit.drift import CardFigure, Drift, compare_figures
from pnyx.audit.judge_choice import ChosenJudge, choose_joined
from pnyx.core.errors import InputError, escaped
from pnyx.core.files import read_json
from pnyx.judging.measures.ground_truth import LabelledVerdicts
from pnyx.judging.measures.registry import MEASURES
from pnyx.stats.base import Bootstrap

CHOICE_MARGIN = 0.02
"""Accuracy that may be lost by a cheaper judge."""

_FIELDS = ("kind", "judges", "check")
DRIFT_MEASURES = {
    "yes-no": ("accuracy", "kappa", "f1", "auroc", "ece", "brier"),
    "rating": ("accuracy", "alpha_ordinal", "spearman", "mean_absolute_error"),
}
"""Kind of table -> the measures that are compared with an earlier check's."""


def choose_among(
    items: CheckItems,
    joined: Mapping[str, LabelledVerdicts],
    cost: Sequence[str],
    margin: float | None,
    bootstrap: Bootstrap,
) -> ChosenJudge | None:
    """Compare several judges of yes and no on the same items, and choose the cheapest good enough.

    Args:
        items: the table.
        joined: judge -> its answers with labels.
        cost: columns of US dollars an answer, one for each judge; empty if they are not known.
        margin: accuracy that may be lost; `CHOICE_MARGIN` by default.
        bootstrap: how intervals are drawn.

    Raises:
        InputError: a cost is not a number from 0, there is not one column for each judge, or
            there are costs without several judges of yes and no.
    """
    judges = items.judges
    if len(judges) < 2 or items.kind != "yes-no":
        if cost:
            problem = "costs require two or more judges of yes and no"
            raise InputError(problem, path=items.source)
        return None
    if cost and len(cost) != len(judges):
        problem = f"found {len(cost)} for cost, expected a column for each of {len(judges)} judges"
        raise InputError(f"{problem}, in their order", path=items.source)
    columns = zip(judges, cost, strict=True) if cost else ()
    costs = {judge: (_mean_cost(items, column), None) for judge, column in columns}
    allowed = CHOICE_MARGIN if margin is None else margin
    return choose_joined(joined, costs, margin=allowed, bootstrap=bootstrap)


def _mean_cost(items: CheckItems, column: str) -> float:
    """Return the mean of a column of costs; empty cells are left out."""
    costs = []
    for item in items.items:
        text = item.texts.get(column, "").strip()
        if read_cell(text).blank:
            continue
        value = number_of(text.lstrip("$"))
        if value is None or value < 0:
            problem = f"{escaped(column, 40)}: found {escaped(text, 40)!r}, expected dollars from 0"
            raise InputError(problem, path=items.source, line=item.line)
        costs.append(value)
    if not costs:
        raise InputError(f"no row has a cost in {escaped(column, 40)!r}", path=items.source)
    return math.fsum(costs) / len(costs)


def compare_with_earlier(
    earlier: str | Path | Mapping[str, Any],
    now: Mapping[str, Any],
    margin: float,
    bootstrap: Bootstrap,
) -> list[Drift]:
    """Return how the figures of each judge have moved since an earlier check.

    Figures are paired item by item where both checks are of the same labelled items.

    Raises:
        InputError: it is not a check's JSON, or has no judge or kind in common.
    """
    path = earlier if isinstance(earlier, str | Path) else "earlier check"
    then = read_json(earlier) if isinstance(earlier, str | Path) else dict(earlier)
    if then is None or any(name not in then for name in _FIELDS):
        raise InputError("expected a check: JSON that pnyx check --out wrote", path=path)
    if then["kind"] != now["kind"]:
        problem = f"found a check of {escaped(then['kind'], 20)}, expected {now['kind']}"
        raise InputError(problem, path=path)
    try:
        before, after = _figures(then), _figures(now)
        if len(then["judges"]) == len(now["judges"]) == 1:
            old, new = (row["judges"][0]["judge"] for row in (then, now))
            before = {f"{new}{key.removeprefix(old)}": value for key, value in before.items()}
        drift = compare_figures(before, after, margin, bootstrap)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"holds a damaged check ({error!r})", path=path) from error
    if not before.keys() & after.keys():
        judges = ", ".join(escaped(row["judge"], 40) for row in then["judges"])
        raise InputError(f"no judge in common: it is of {judges}", path=path)
    return drift


def _figures(row: Mapping[str, Any]) -> dict[str, CardFigure]:
    """Return the figures of a check's JSON that are compared, by judge and measure."""
    figures = {}
    for judge in row["judges"]:
        outcomes = judge["outcomes"]
        for name in DRIFT_MEASURES[row["kind"]]:
            if name not in judge["measures"]:
                continue
            measured = judge["measures"][name]
            figures[f"{judge['judge']}: {name}"] = CardFigure(
                measured["value"],
                measured["low"],
                measured["high"],
                outcomes.get("sha256", ""),
                -1 if MEASURES[name].best == 0 else 1,
                name,
                outcomes,
            )
    return figures
