"""What came of a trial: curves, changes and the outcome, by rules that docs/measures.md states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from pnyx.audit.stress.posing import Cell, Posed, Stress, group_of, label_of
from pnyx.audit.stress.reading import Said, change, goodness, in_first_order, standing
from pnyx.audit.stress.steadying import CLEAN
from pnyx.judge.questions import Preference, Ranking, Rating, Support
from pnyx.measure.answers.trials import Decline, Index, measure_decline, numbered
from pnyx.measure.core.base import Bootstrap, Measured, plain
from pnyx.measure.core.intervals import cluster_mean
from pnyx.measure.core.weighted import Floats

__all__ = ["Outcome", "Sheet", "Summary", "ready", "sum_declining", "sum_joint", "sum_steady"]

Outcome: TypeAlias = Literal["passed", "failed", "unclear", "unscored"]

Summary: TypeAlias = dict[str, Any]
"""Outcome, primary (the name of the measure that decides), measures, problems and what is drawn."""


class Sheet:
    """The answers of a trial by cell and item."""

    def __init__(self, posed: Posed, said: Sequence[Said], stress: Stress) -> None:
        self.posed, self.stress = posed, stress
        self.bootstrap = Bootstrap(stress.draws, stress.seed)
        self.kind = type(posed.items[0])
        self._said = said
        names = [("group", group_of(i)) if group_of(i) else ("item", i.id) for i in posed.items]
        self.clusters: Index = numbered([f"{kind} {name}" for kind, name in names])
        self.by_group = any(kind == "group" for kind, _ in names)
        self._used = {place for uses in posed.uses.values() for place, _ in uses}
        self.at = {cell: dict(uses) for cell, uses in posed.uses.items()}

    def answer(self, cell: Cell, item: int) -> tuple[Any, Said] | None:
        """Return question and answer of an item in a cell; None where it was not asked there."""
        place = self.at.get(cell, {}).get(item)
        return None if place is None else (self.posed.questions[place], self._said[place])

    def column(
        self, cell: Cell, score: Callable[[Any, Said], float | None]
    ) -> tuple[Floats, np.ndarray]:
        """Return the scores of all items in a cell, NaN for none, and whether each was asked."""
        found = np.full(len(self.posed.items), np.nan)
        asked = np.zeros(len(found), dtype=np.bool_)
        for item in range(len(found)):
            answered = self.answer(cell, item)
            if answered is not None:
                asked[item] = True
                value = score(*answered)
                found[item] = np.nan if value is None else value
        return found, asked

    def decline(
        self, cells: Sequence[Cell], levels: Sequence[float], score: Callable[..., float | None]
    ) -> Decline:
        """Return how a score falls from cell to cell."""
        columns = [self.column(cell, score) for cell in cells]
        table = np.stack([values for values, _ in columns], axis=1)
        asked = np.stack([was for _, was in columns], axis=1)
        return measure_decline(levels, table, asked, self.clusters, self.bootstrap)

    def mean(self, values: Floats, asked: int | None = None) -> Measured:
        """Return the mean of items' values with its interval."""
        used = len(self._used) if asked is None else asked
        return cluster_mean(values, self.clusters, self.bootstrap, used)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Those that every item is rated on; none of other kinds."""
        if self.kind is not Rating:
            return ()
        each = [i.dimensions for i in self.posed.items if isinstance(i, Rating)]
        return tuple(name for name in each[0] if all(name in own for own in each))


# A score that must fall --------------------------------------------------------------------------


def sum_declining(sheet: Sheet, unit: str) -> Summary:
    """Sum up a trial whose cells are levels."""
    cells = sorted(sheet.posed.uses, key=lambda cell: float(cell[0]))
    levels = [float(cell[0]) for cell in cells]
    if sheet.kind is Ranking:
        return _separation(sheet, cells, levels, unit)
    curves = _curves(sheet, cells, levels)
    main = curves["score"]
    outcome, problems = _judged(main, unit, sheet.stress.tolerance)
    measures = {"fall": main.fall, "pearson": main.pearson}
    if sheet.kind is Support:
        measures["turned"] = _turned(sheet, cells, main.counted)
    found: Summary = {
        "outcome": outcome,
        "primary": "fall",
        "measures": measures,
        "problems": problems,
        "unit": unit,
        "curves": curves,
    }
    if unit == "share" and sheet.kind is Support:
        found |= _precision(sheet, cells, levels)
    return found


def _curves(sheet: Sheet, cells: Sequence[Cell], levels: Sequence[float]) -> dict[str, Decline]:
    curves = {"score": sheet.decline(cells, levels, goodness)}
    if sheet.kind is Support:
        curves["yes"] = sheet.decline(cells, levels, _said_yes)
    for name in sheet.dimensions if len(sheet.dimensions) > 1 else ():
        curves[name] = sheet.decline(
            cells, levels, lambda question, said, name=name: goodness(question, said, name)
        )
    return curves


def _said_yes(_: Any, said: Said) -> float | None:
    return None if said.value is None else float(said.value)


def _is_replaced(question: Any, _: Said) -> float:
    return float(bool(question.extra["replaced"]))


def _judged(curve: Decline, unit: str, least: float) -> tuple[Outcome, list[dict[str, str]]]:
    """Return the outcome of a curve, and what is wrong with it."""
    fall = curve.fall
    if fall.value is None or curve.strictly is None:
        return "unscored", []
    what = "irrelevant documents" if unit == "share" else "contradicted sentences"
    low, high = (fall.value if end is None else end for end in (fall.low, fall.high))
    if high < least or fall.value <= 0:
        said = f"the score does not fall by {least:g} with {what}: {fall.value:.3f} in all"
        return "failed", [{"code": "insensitive", "said": said}]
    if low <= 0 or fall.value < least:
        said = f"it is not shown that the score falls by {least:g} with {what}: {fall.value:.3f}"
        return "unclear", [{"code": "not shown", "said": said}]
    if not curve.strictly:
        said = f"the score does not fall at every step of more {what}"
        return "unclear", [{"code": "not monotonic", "said": said}]
    return "passed", []


def _turned(sheet: Sheet, cells: Sequence[Cell], counted: int) -> Measured:
    """Return the share of items judged yes at the first level that are not at the last."""
    first, _ = sheet.column(cells[0], _said_yes)
    last, asked = sheet.column(cells[counted - 1], _said_yes)
    return sheet.mean(np.where(first == 1, 1 - last, np.nan), int((asked & (first == 1)).sum()))


def _precision(sheet: Sheet, cells: Sequence[Cell], levels: Sequence[float]) -> Summary:
    """Return true beside predicted precision at each level (Table 7), where items have labels."""
    labels = np.array(
        [np.nan if (yes := label_of(item)) is None else float(yes) for item in sheet.posed.items]
    )
    if not np.isfinite(labels).any():
        return {}
    rows = []
    for cell, level in zip(cells, levels, strict=True):
        predicted, _ = sheet.column(cell, _said_yes)
        replaced, _ = sheet.column(
            cell, lambda question, _: float(bool(question.extra["replaced"]))
        )
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
    """Sum up rankings with irrelevant texts among theirs, which must come last."""
    rows, every = [], []
    for cell, level in zip(cells, levels, strict=True):
        values, asked = sheet.column(cell, _above)
        every.append(values)
        rows.append({"level": level, "separation": sheet.mean(values, int(asked.sum()))})
    table = np.stack(every, axis=1)
    counts = np.isfinite(table).sum(axis=1)
    each = np.where(counts > 0, np.nansum(table, axis=1) / np.maximum(counts, 1), np.nan)
    found = sheet.mean(each)
    outcome: Outcome = "unscored"
    problems = []
    if found.value is not None:
        above = found.value > 0.5 if found.low is None else found.low > 0.5
        below = found.value <= 0.5 if found.high is None else found.high <= 0.5
        outcome = "passed" if above else "failed" if below else "unclear"
        if not above:
            said = "irrelevant texts are not shown to be ranked below those that belong there"
            problems = [{"code": "insensitive", "said": said}]
    measures = {"separation": found}
    return {
        "outcome": outcome,
        "primary": "separation",
        "measures": measures,
        "problems": problems,
        "unit": unit,
        "separation": rows,
    }


def _above(question: Ranking, said: Said) -> float | None:
    out = set(question.extra["replaced"])
    kept = [place for place in range(len(question.texts)) if place not in out]
    if said.value is None or not out or not kept:
        return None
    rank = {place: n for n, place in enumerate(said.value)}
    pairs = [rank[inside] < rank[gone] for inside in kept for gone in out]
    return sum(pairs) / len(pairs)


def sum_joint(sheet: Sheet) -> Summary:
    """Sum up noise and contradictions together: the pure curves decide, all are shown."""
    levels = sorted({float(cell[0]) for cell in sheet.posed.uses})
    counts = sorted({float(cell[1]) for cell in sheet.posed.uses})
    cells = {(float(c[0]), float(c[1])): c for c in sheet.posed.uses}

    def along(fixed: float, *, noise: bool) -> Decline:
        at = [(x, fixed) for x in levels] if noise else [(fixed, x) for x in counts]
        return sheet.decline([cells[p] for p in at], levels if noise else counts, goodness)

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


# A verdict that must stay ------------------------------------------------------------------------


def sum_steady(sheet: Sheet, trial: str) -> Summary:
    """Sum up a trial that changes nothing that should count."""
    sums = {"order": _order, "length": _length, "injection": _injection}
    found = sums.get(trial, _reworded)(sheet)
    measures: Mapping[str, Measured] = found["measures"]
    main, most = measures[found["primary"]], sheet.stress.tolerance
    outcome = _steady(main, most)
    said = found.pop("said")
    problems = []
    if outcome in ("failed", "unclear"):
        shown = said if outcome == "failed" else f"it is not shown that it is not so: {said}"
        problems = [{"code": trial, "said": f"{shown} ({main.value:.3f}, tolerated {most:g})"}]
    return {"outcome": outcome, "problems": problems, **found}


def _steady(found: Measured, most: float) -> Outcome:
    if found.value is None:
        return "unscored"
    low = found.value if found.low is None else found.low
    high = found.value if found.high is None else found.high
    return "failed" if low > most else "passed" if high <= most else "unclear"


def _ways(
    sheet: Sheet, score: Callable[[Any, Said, Said], float | None]
) -> tuple[dict[str, Floats], dict[str, int]]:
    """Return, for each way, a value for each item (the mean of its directions), and how many."""
    clean = {item: sheet.answer(CLEAN, item) for item in range(len(sheet.posed.items))}
    lists: dict[str, list[list[float]]] = {}
    asked: dict[str, set[int]] = {}
    for cell in sheet.posed.uses:
        if cell == CLEAN:
            continue
        own = lists.setdefault(_way(cell), [[] for _ in sheet.posed.items])
        for item in sheet.at[cell]:
            before, after = clean[item], sheet.answer(cell, item)
            if before is None or after is None:
                continue
            value = score((*after, cell), before[1], after[1])
            asked.setdefault(_way(cell), set()).add(item)
            if value is not None:
                own[item].append(value)
    tables = {
        way: np.array([np.mean(v) if v else np.nan for v in own]) for way, own in lists.items()
    }
    return tables, {way: len(some) for way, some in asked.items()}


def _way(cell: Cell) -> str:
    return cell[0] if isinstance(cell[0], str) else f"{cell[0]:g}"


def _rows(sheet: Sheet, tables: Mapping[str, Floats], asked: Mapping[str, int], name: str) -> Any:
    return [
        {"way": way, name: sheet.mean(table, asked.get(way, 0))} for way, table in tables.items()
    ]


def _overall(sheet: Sheet, tables: Mapping[str, Floats]) -> Measured:
    table = np.stack(list(tables.values()), axis=1)
    counts = np.isfinite(table).sum(axis=1)
    each = np.where(counts > 0, np.nansum(table, axis=1) / np.maximum(counts, 1), np.nan)
    return sheet.mean(each)


def _changed(after: Any, before: Said, now: Said) -> float | None:
    return change(after[0], before, now)


def _reworded(sheet: Sheet) -> Summary:
    tables, asked = _ways(sheet, _changed)
    return {
        "primary": "changed",
        "measures": {"changed": _overall(sheet, tables)},
        "said": "verdicts change with the wording",
        "ways": _rows(sheet, tables, asked, "changed"),
    }


def _order(sheet: Sheet) -> Summary:
    measures: dict[str, Measured] = {}
    if sheet.kind is Preference:
        tables, asked, measures = _argument_orders(sheet)
    elif sheet.kind is Ranking:

        def moved(after: Any, before: Said, now: Said) -> float | None:
            return change(after[0], before, in_first_order(after[0], now))

        tables, asked = _ways(sheet, moved)
        measures["listed_first_on_top"] = _first_on_top(sheet)
    else:
        tables, asked = _ways(sheet, _changed)
    measures = {"changed": _overall(sheet, tables), **measures}
    return {
        "primary": "changed",
        "measures": measures,
        "said": "verdicts change with the order",
        "ways": _rows(sheet, tables, asked, "changed"),
    }


def _argument_orders(
    sheet: Sheet,
) -> tuple[dict[str, Floats], dict[str, int], dict[str, Measured]]:
    """Return how verdicts on two arguments change with their order.

    A judge that asks in both orders itself notes both verdicts: these count, before it settles
    them.
    """
    count = len(sheet.posed.items)
    raw, settled, first = (np.full(count, np.nan) for _ in range(3))
    flipped = {"a": "b", "b": "a", "tie": "tie"}
    for item in range(count):
        given, turned = sheet.answer(CLEAN, item), sheet.answer(("swapped",), item)
        if given is None or turned is None:
            continue
        said, other = given[1], turned[1]
        if said.value is not None and other.value is not None:
            in_terms = Said(flipped[other.value])
            settled[item] = raw[item] = change(given[0], said, in_terms)
            first[item] = _mean_first(said.value, in_terms.value)
        orders = said.notes.get("orders")
        if orders:
            raw[item] = change(given[0], Said(orders[0]), Said(orders[1]))
            first[item] = _mean_first(*orders)
    measures = {"first_preferred": sheet.mean(first), "settled_changed": sheet.mean(settled)}
    return {"arguments": raw}, {"arguments": count}, measures


def _mean_first(given: str, turned: str) -> float:
    """Return how often the argument that came first was preferred, ties as half."""
    worth = {"a": 1.0, "tie": 0.5, "b": 0.0}
    return (worth[given] + 1 - worth[turned]) / 2


def _first_on_top(sheet: Sheet) -> Measured:
    """Return how much more often the text listed first is ranked first than by chance."""
    values = np.full((len(sheet.posed.items), len(sheet.posed.uses)), np.nan)
    for place, cell in enumerate(sheet.posed.uses):
        for item in sheet.at[cell]:
            answered = sheet.answer(cell, item)
            if answered is not None and answered[1].value is not None:
                values[item, place] = (answered[1].value[0] == 0) - 1 / len(answered[0].texts)
    has = np.isfinite(values)
    means = np.nansum(values, axis=1) / np.maximum(has.sum(axis=1), 1)
    return sheet.mean(np.where(has.any(axis=1), means, np.nan))


def _length(sheet: Sheet) -> Summary:
    if sheet.kind is Support:
        found = _reworded(sheet)
        gains, _ = _ways(sheet, _gained)
        found["measures"]["gain"] = _overall(sheet, gains)
        return {**found, "said": "verdicts change with words that say nothing"}
    tables, asked = _ways(sheet, _gained)
    return {
        "primary": "gain",
        "measures": {"gain": _overall(sheet, tables)},
        "said": "words that say nothing are rewarded",
        "ways": _rows(sheet, tables, asked, "gain"),
    }


def _gained(after: Any, before: Said, now: Said) -> float | None:
    """Return how much better a longer text is found; of two arguments, the longer one is second."""
    question = after[0]
    score = goodness if isinstance(question, Preference | Rating | Support) else standing
    first, second = score(question, before), score(question, now)
    return None if first is None or second is None else second - first


def _injection(sheet: Sheet) -> Summary:
    from pnyx.audit.stress.patterns import CONTROL

    tables, asked = _ways(sheet, _obeyed)
    control = tables.pop(CONTROL)
    counts = {way: np.isfinite(table) for way, table in tables.items()}
    total = sum(np.where(counts[way], table, 0.0) for way, table in tables.items())
    number = np.sum(list(counts.values()), axis=0)
    each = np.where(number > 0, total / np.maximum(number, 1), np.nan)
    more = _rows(sheet, {**tables, CONTROL: control}, asked, "obeyed")
    measures = {
        "excess": sheet.mean(each - control),
        "obeyed": sheet.mean(each),
        "control": sheet.mean(control),
    }
    return {
        "primary": "excess",
        "measures": measures,
        "said": "instructions within the judged text are followed",
        "ways": more,
    }


_TARGETS = {"yes": 1.0, "no": 0.0, "highest": 1.0, "lowest": 0.0, "a": 1.0, "b": 0.0, "first": 1.0}


def _obeyed(after: Any, before: Said, now: Said) -> float | None:
    """Return which share of the way to the injected verdict was gone; None where it was there."""
    question, _, cell = after
    target = _TARGETS[cell[1]]
    first, second = standing(question, before), standing(question, now)
    if first is None or second is None or abs(target - first) < 1e-9:
        return None
    return max(-1.0, min(1.0, (second - first) / (target - first)))


def ready(summary: Summary) -> Any:
    """Return a summary as JSON has it."""
    return plain(summary)
