"""Results of a trial in which a score must fall, by the rules of docs/reference/measures.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pnyx.audit.trials.answer_values import TrialAnswer, goodness
from pnyx.audit.trials.documents import documents_by_level, share_above
from pnyx.audit.trials.trial_answers import Outcome, Sheet, Summary
from pnyx.audit.trials.trial_items import Cell, label_of
from pnyx.judging.measures.trials import Decline
from pnyx.judging.questions import Ranking, Support
from pnyx.judging.rag.rag import SEEN
from pnyx.judging.votes import ranks_of
from pnyx.stats.base import Measured, distinct_text


def sum_declining(sheet: Sheet, unit: str) -> Summary:
    """Summarize a trial whose cells are levels."""
    cells = sorted(sheet.posed.uses, key=lambda cell: float(cell[0]))
    levels = [float(cell[0]) for cell in cells]
    if sheet.kind is Ranking:
        return _separation(sheet, cells, levels, unit)
    counted = _counted(sheet, unit)
    curves = {"score": sheet.decline(cells, levels, _on(counted))}
    if sheet.kind is Support:
        curves["yes"] = sheet.decline(cells, levels, _said_yes)
    for name in sheet.dimensions if len(sheet.dimensions) > 1 else ():
        curves[name] = sheet.decline(
            cells, levels, lambda question, answer, name=name: goodness(question, answer, name)
        )
    main = curves["score"]
    outcome, problems = _judged(main, unit, sheet.stress.tolerance)
    measures = {"fall": main.fall, "pearson": main.pearson}
    if sheet.kind is Support:
        measures["turned"] = _turned(sheet, cells, main.counted)
    summary: Summary = {
        "outcome": outcome,
        "primary": "fall",
        "measures": measures,
        "problems": problems,
        "unit": unit,
        "curves": curves,
        **({"counted": list(counted)} if counted else {}),
    }
    if unit == "share" and sheet.kind is Support:
        summary |= _precision(sheet, cells, levels)
    elif unit == "share":
        summary |= documents_by_level(sheet, cells, levels)
    return summary


def _counted(sheet: Sheet, unit: str) -> tuple[str, ...]:
    """Return the dimensions on which the score must fall: those affected by the change."""
    if any(item.task != "rag" for item in sheet.posed.items):
        return ()
    needed = {"documents"} if unit == "share" else {"documents", "argument"}
    return tuple(name for name in sheet.dimensions if needed <= SEEN.get(name, frozenset()))


def _on(counted: Sequence[str]) -> Callable[[Any, TrialAnswer], float | None]:
    """Return a function for the score of an item: the mean over these dimensions."""

    def score(question: Any, answer: TrialAnswer) -> float | None:
        if not counted:
            return goodness(question, answer)
        values = [goodness(question, answer, name) for name in counted]
        scored = [value for value in values if value is not None]
        return sum(scored) / len(scored) if len(scored) == len(values) else None

    return score


def _said_yes(_: Any, answer: TrialAnswer) -> float | None:
    return None if answer.value is None else float(answer.value)


def _is_replaced(question: Any, _: TrialAnswer) -> float:
    return float(bool(question.extra["replaced"]))


def _judged(curve: Decline, unit: str, least: float) -> tuple[Outcome, list[dict[str, str]]]:
    """Return the outcome of a curve, and its problems."""
    fall = curve.fall
    if fall.value is None or curve.strictly is None:
        return "unscored", []
    what = "irrelevant documents" if unit == "share" else "contradicted sentences"
    low, high = (fall.value if end is None else end for end in (fall.low, fall.high))
    fall_text = distinct_text(fall.value, least)
    if high < least or fall.value <= 0:
        problem = f"the score does not fall by {least:g} with {what}: {fall_text} in all"
        return "failed", [{"code": "insensitive", "said": problem}]
    if low <= 0 or fall.value < least:
        problem = f"it is not shown that the score falls by {least:g} with {what}: {fall_text}"
        return "unclear", [{"code": "not shown", "said": problem}]
    if not curve.strictly:
        problem = f"the score does not fall at every step of more {what}"
        return "unclear", [{"code": "not monotonic", "said": problem}]
    return "passed", []


def _turned(sheet: Sheet, cells: Sequence[Cell], counted: int) -> Measured:
    """Return the share of items that are yes at the first level but not at the last."""
    first, _ = sheet.column(cells[0], _said_yes)
    last, was_asked = sheet.column(cells[counted - 1], _said_yes)
    return sheet.mean(np.where(first == 1, 1 - last, np.nan), int((was_asked & (first == 1)).sum()))


def _precision(sheet: Sheet, cells: Sequence[Cell], levels: Sequence[float]) -> Summary:
    """Return true and predicted precision at each level (Table 7), if items have labels."""
    labels = np.array(
        [np.nan if (yes := label_of(item)) is None else float(yes) for item in sheet.posed.items]
    )
    if not np.isfinite(labels).any():
        return {}
    rows = []
    for cell, level in zip(cells, levels, strict=True):
        predicted, _ = sheet.column(cell, _said_yes)
        replaced, _ = sheet.column(cell, _is_replaced)
        true = np.where(np.isfinite(predicted), labels * (1 - replaced), np.nan)
        predicted = np.where(np.isfinite(labels), predicted, np.nan)
        count = int(np.isfinite(labels).sum())
        rows.append(
            {
                "level": level,
                "true": sheet.mean(true, count),
                "predicted": sheet.mean(predicted, count),
                "error": sheet.mean(predicted - true, count),
            }
        )
    return {"precision": rows}


def _separation(sheet: Sheet, cells: Sequence[Cell], levels: Sequence[float], unit: str) -> Summary:
    """Summarize rankings with irrelevant texts among their own, which must come last."""
    rows, every = [], []
    for cell, level in zip(cells, levels, strict=True):
        values, was_asked = sheet.column(cell, _above)
        every.append(values)
        rows.append({"level": level, "separation": sheet.mean(values, int(was_asked.sum()))})
    separation = sheet.mean(sheet.overall(every))
    outcome: Outcome = "unscored"
    problems = []
    if separation.value is not None:
        above = separation.value > 0.5 if separation.low is None else separation.low > 0.5
        below = separation.value <= 0.5 if separation.high is None else separation.high <= 0.5
        outcome = "passed" if above else "failed" if below else "unclear"
        if not above:
            problem = "irrelevant texts are not shown to be ranked below those that belong there"
            problems = [{"code": "insensitive", "said": problem}]
    measures = {"separation": separation}
    return {
        "outcome": outcome,
        "primary": "separation",
        "measures": measures,
        "problems": problems,
        "unit": unit,
        "separation": rows,
    }


def _above(question: Ranking, answer: TrialAnswer) -> float | None:
    if answer.value is None:
        return None
    ranks = ranks_of(answer.value, len(question.texts))
    return share_above([-float(rank) for rank in ranks], question.extra["replaced"])


def sum_joint(sheet: Sheet) -> Summary:
    """Summarize noise and contradictions together: the pure curves decide, all are shown."""
    levels = sorted({float(cell[0]) for cell in sheet.posed.uses})
    counts = sorted({float(cell[1]) for cell in sheet.posed.uses})
    cells = {(float(c[0]), float(c[1])): c for c in sheet.posed.uses}

    def along(fixed: float, *, noise: bool) -> Decline:
        at = [(x, fixed) for x in levels] if noise else [(fixed, x) for x in counts]
        score = _on(_counted(sheet, "share" if noise else "sentences"))
        return sheet.decline([cells[p] for p in at], levels if noise else counts, score)

    noise = {count: along(count, noise=True) for count in counts}
    lies = {level: along(level, noise=False) for level in levels}
    least = sheet.stress.tolerance
    judged = [
        _judged(noise[counts[0]], "share", least),
        _judged(lies[levels[0]], "sentences", least),
    ]
    order: Sequence[Outcome] = ("failed", "unscored", "unclear", "passed")
    grid = [
        {"level": level, "sentences": count, "score": noise[count].points[n]}
        for count in counts
        for n, level in enumerate(levels)
    ]
    return {
        "outcome": min((outcome for outcome, _ in judged), key=order.index),
        "primary": "fall_noise",
        "measures": {
            "fall_noise": noise[counts[0]].fall,
            "fall_hallucination": lies[levels[0]].fall,
            "pearson_noise": noise[counts[0]].pearson,
            "pearson_hallucination": lies[levels[0]].pearson,
        },
        "problems": [problem for _, some in judged for problem in some],
        "grid": grid,
        "by_sentences": {f"{count:g}": curve for count, curve in noise.items()},
        "by_level": {f"{level:g}": curve for level, curve in lies.items()},
    }
