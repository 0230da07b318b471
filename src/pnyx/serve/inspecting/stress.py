"""Trials of a judge as pages: what was changed, what came of it, and examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pnyx.serve.inspecting.figures import Figure, Section
from pnyx.view.tables import Column, Table
from pnyx.view.trials import curve_plot, figure, trial_lines, trial_tables

Row = Mapping[str, Any]
_EXAMPLES: Final = 5


def trials_table(summaries: Iterable[Row]) -> Table:
    """Return a row for each trial: its outcome and its main measure."""
    columns = (
        Column("trial", "name"),
        Column("task", "name"),
        Column("judge", "name"),
        Column("outcome", "name"),
        Column("measure", "name"),
        Column("value, 95 % interval", "figure", "value"),
        Column("of", "counts"),
    )
    rows = []
    for row in summaries:
        found = figure(row["measures"].get(row["primary"]))
        rows.append(
            (row["trial"], row["task"], row["judge"], row["outcome"], row["primary"], found, found)
        )
    return Table(columns, rows)


def trial_section(row: Row) -> Section:
    """Return what a trial's `summary.json` says: outcome, curves, tables.

    Raises:
        KeyError, TypeError, ValueError: it is none.
    """
    picture = curve_plot(row)
    tables = trial_tables(row)
    figures = []
    if picture:
        told = "The line is the mean score; the shade its 95 % interval."
        figures.append(Figure("curve", "Score by amount", picture, tables[1], told))
        del tables[1]
    names = ["measures", "levels", "grid", "ways"]
    figures += [
        Figure(name, _titled(name), "", one) for name, one in zip(names, tables, strict=False)
    ]
    interval = row["interval"]
    drawn = []
    if interval.get("draws"):
        drawn = [
            f"95 % intervals: {interval['draws']:,} draws of {interval['clusters']} "
            f"{interval['clustered_by']}s."
        ]
    # What was expected and what was wrong stand above, in the notice.
    line = trial_lines(row)[-1]
    return Section("What came of it", [f"{line[:1].upper()}{line[1:]}.", *drawn], figures)


def _titled(name: str) -> str:
    return {"measures": "Measures", "ways": "By way"}.get(name, "By amount")


# Examples -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """One question of a trial: how its item was changed, and what was answered.

    Attributes:
        variant: the amount or the way; that of the first of an example is the unchanged item's.
        texts: name of each field that differs from the unchanged item -> its text.
        answer: in words; empty where it is unscored, for `unscored` then says why.
        probability: of yes; None without one.
        changed: whether the answer differs from that to the unchanged item.
    """

    variant: str
    texts: Mapping[str, str]
    answer: str
    probability: float | None
    unscored: str
    changed: bool


@dataclass(frozen=True, slots=True)
class Example:
    """An item of a trial: its unchanged texts, and what was made of it."""

    item: str
    texts: Mapping[str, str]
    changes: Sequence[Change]

    @property
    def distance(self) -> float:
        """How far the answers moved: by a change of the verdict first, then by probability."""
        first = self.changes[0].probability
        moved = [
            abs(c.probability - first)
            for c in self.changes
            if c.probability is not None and first is not None
        ]
        return sum(c.changed for c in self.changes) + max(moved, default=0.0)


_ASKED: Final = ("question", "statement", "text", "document", "documents", "a", "b", "query")


def examples_of(
    items: Iterable[Row], answers: Iterable[Row], count: int = _EXAMPLES
) -> Iterator[Example]:
    """Yield the items whose answers moved most, those first.

    Args:
        items: the lines of the trial's `items.jsonl`.
        answers: those of its `answers.jsonl`.
        count: how many at most.
    """
    asked: dict[str, list[Row]] = {}
    for item in items:
        asked.setdefault(str(item.get("of", item["id"])), []).append(item)
    said: dict[str, list[Row]] = {}
    for answer in answers:
        said.setdefault(str(answer["id"]), []).append(answer)
    found = [_example(name, rows, said) for name, rows in asked.items() if len(rows) > 1]
    yield from sorted(found, key=lambda one: -one.distance)[:count]


def _example(name: str, rows: Sequence[Row], said: Mapping[str, Sequence[Row]]) -> Example:
    first = _texts(rows[0])
    unchanged = _answer(said.get(str(rows[0]["id"]), ()))
    changes = []
    for row in rows:
        answer, probability, unscored = _answer(said.get(str(row["id"]), ()))
        texts = {field: text for field, text in _texts(row).items() if first.get(field) != text}
        changed = not (unscored or unchanged[2]) and answer != unchanged[0]
        variant = str(row.get("variant", ""))
        changes.append(Change(variant, texts, answer, probability, unscored, changed))
    return Example(name, first, changes)


def _texts(row: Row) -> dict[str, str]:
    found = {}
    for name in _ASKED:
        value = row.get(name)
        if isinstance(value, list):
            value = "\n\n".join(map(str, value))
        if value:
            found[name] = str(value)
    return found


def _answer(rows: Sequence[Row]) -> tuple[str, float | None, str]:
    """Return an answer in words, its probability, and why there is none."""
    if not rows:
        return "", None, "not asked"
    said = [
        f"{row['dimension']} {_word(row['value'])}" if row.get("dimension") else _word(row["value"])
        for row in rows
        if row["unscored"] is None
    ]
    reason = "; ".join(dict.fromkeys(row["unscored"] for row in rows if row["unscored"]))
    return ", ".join(said), rows[0].get("probability"), "" if said else reason or "unscored"


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, int | float) else str(value)
