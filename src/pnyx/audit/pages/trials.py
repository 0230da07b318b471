"""The page of each trial of a judge: its results, and examples of the changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pnyx.core.files import read_jsonl
from pnyx.core.restricted_mode import hides_text
from pnyx.display.tables import Column, Table
from pnyx.display.trials import curve_plot, figure, trial_lines, trial_tables
from pnyx.judging.judge_names import short_name
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.documents import DocumentPage, JsonDocument, SourceDocuments, build_checked
from pnyx.web.results.figure import Figure, FigureSection, figure_page
from pnyx.web.results.pages import Content, FigureEntry
from pnyx.web.results.records import SourceRow

Row = Mapping[str, Any]
_EXAMPLES: Final = 5
_ASKED: Final = ("question", "statement", "text", "document", "documents", "a", "b", "query")
_TITLES: Final = {"measures": "Measures", "levels": "By amount", "grid": "By amount",
                  "ways": "By way"}  # fmt: skip


def trials_table(summaries: Iterable[Row]) -> Table:
    """Return a row for each trial: its outcome and its main measure."""
    columns = [Column(head, "name") for head in ("trial", "task", "judge", "outcome")]
    columns.append(Column("measure", "measure"))
    columns += [Column("value, 95 % interval", "figure", "value"), Column("of", "counts")]
    rows = []
    for row in summaries:
        value = figure(row["measures"].get(row["primary"]))
        names = (short_name(str(row[k])) for k in ("trial", "task", "judge", "outcome", "primary"))
        rows.append((*names, value, value))
    return Table(columns, rows)


def trial_section(row: Row) -> FigureSection:
    """Return a trial's curves and tables; KeyError, TypeError, ValueError: not a summary."""
    picture, tables = curve_plot(row), trial_tables(row)
    figures = []
    if picture:
        caption = "The line is the mean score; the shade its 95 % interval."
        figures.append(Figure("curve", "Score by amount", picture, tables.pop(1), caption))
    figures += [
        Figure(name, title, "", table)
        for (name, title), table in zip(_TITLES.items(), tables, strict=False)
    ]
    interval = row["interval"]
    # The notice above has the expectation and the problems.
    line = trial_lines(row)[-1]
    text = [f"{line[:1].upper()}{line[1:]}."]
    if interval.get("draws"):
        by = f"{interval['clusters']} {interval['clustered_by']}s"
        text.append(f"95 % intervals: {interval['draws']:,} draws of {by}.")
    return FigureSection("Results", text, figures)


@dataclass(frozen=True, slots=True)
class ChangedItem:
    """One question of a trial: how its item was changed, and the answer."""

    variant: str  # the amount or the way
    texts: Mapping[str, str]  # field that differs from the unchanged item -> text
    answer: str  # in words; empty if unscored
    probability: float | None  # of yes; None without one
    unscored: str
    changed: bool  # whether the answer is another


@dataclass(frozen=True, slots=True)
class TrialExample:
    """An item of a trial: its unchanged texts, and the changed versions."""

    item: str
    texts: Mapping[str, str]
    changes: Sequence[ChangedItem]

    @property
    def distance(self) -> float:
        """How far the answers moved: by a change of the verdict first, then by probability."""
        probabilities = [c.probability for c in self.changes if c.probability is not None]
        first = self.changes[0].probability
        moved = [] if first is None else [abs(p - first) for p in probabilities]
        return sum(c.changed for c in self.changes) + max(moved, default=0.0)


def examples_of(items: Iterable[Row], answers: Iterable[Row]) -> list[TrialExample]:
    """Return the trial's items, those whose answers moved most first."""
    by_item: dict[str, list[Row]] = {}
    for item in items:
        by_item.setdefault(str(item.get("of", item["id"])), []).append(item)
    by_id: dict[str, list[Row]] = {}
    for answer in answers:
        by_id.setdefault(str(answer["id"]), []).append(answer)
    examples = [_example(name, rows, by_id) for name, rows in by_item.items() if len(rows) > 1]
    return sorted(examples, key=lambda example: -example.distance)[:_EXAMPLES]


def _example(name: str, rows: Sequence[Row], answers: Mapping[str, Sequence[Row]]) -> TrialExample:
    first = _texts(rows[0])
    unchanged = _answer(answers.get(str(rows[0]["id"]), ()))
    changes = []
    for row in rows:
        answer, probability, unscored = _answer(answers.get(str(row["id"]), ()))
        texts = {field: text for field, text in _texts(row).items() if first.get(field) != text}
        changed = not (unscored or unchanged[2]) and answer != unchanged[0]
        variant = str(row.get("variant", ""))
        changes.append(ChangedItem(variant, texts, answer, probability, unscored, changed))
    return TrialExample(name, first, changes)


def _texts(row: Row) -> dict[str, str]:
    values = {name: row.get(name) for name in _ASKED}
    return {
        name: "\n\n".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in values.items()
        if value
    }


def _answer(rows: Sequence[Row]) -> tuple[str, float | None, str]:
    """Return an answer in words, its probability, and why it is missing."""
    if not rows:
        return "", None, "not asked"
    words = [
        f"{row['dimension']} {_word(row['value'])}" if row.get("dimension") else _word(row["value"])
        for row in rows
        if row["unscored"] is None
    ]
    reason = "; ".join(dict.fromkeys(row["unscored"] for row in rows if row["unscored"]))
    return ", ".join(words), rows[0].get("probability"), "" if words else reason or "unscored"


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, int | float) else str(value)


# Pages --------------------------------------------------------------------------------------------


def _show_trial(catalogue: Catalogue, source: SourceRow, document: JsonDocument) -> Content:
    section = build_checked(source, trial_section, document)
    examples: list[Any] = []
    if {"answers", "items"} <= source.files.keys() and not hides_text():
        answers = (line for _, line in catalogue.lines(source.name))
        items = (row for _, row in read_jsonl(source.files["items"]))
        examples = build_checked(source, examples_of, items, answers)
    problems = "; ".join(str(problem.get("said", "")) for problem in document.get("problems") or ())
    outcome = document["outcome"]
    return figure_page(
        f"Trial: {document['trial']}, {document['task']}",
        ("stress", source.name),
        [section],
        crumbs=[("Trials", ("stress",))],
        lead=f"{short_name(document['judge'])}. Expected: {document['expects']}.",
        template="trial",
        outcome={"word": outcome, "bad": outcome == "failed", "why": problems},
        no_text=hides_text(),
        examples=examples,
    )


def _all_trials(documents: SourceDocuments) -> list[FigureSection]:
    if not documents:
        return []
    table = build_checked(documents[0][0], trials_table, [document for _, document in documents])
    caption = "The main measure of each trial, with its 95 % interval."
    figures = [Figure("trials", "Trials", "", table, caption)]
    for n, (source, document) in enumerate(documents, 1):
        first = build_checked(source, trial_section, document).figures[0]
        if first.picture:
            title = f"{document['trial']}, {document['task']}"
            curve = Figure(f"curve-{n}", title, first.picture, first.table, first.caption)
            figures.append(curve)
    return [FigureSection("All trials", (), figures)]


TRIALS: Final = DocumentPage(
    "stress",
    lambda document: {"trial", "outcome", "measures"} <= document.keys(),
    lambda document: [trial_section(document)],
    _show_trial,
    FigureEntry(
        "Trials",
        "Does a judge notice what it should, and ignore the rest?",
        "results of pnyx audit run",
    ),
    "Items were changed in ways whose effect is known. Does the judge notice?",
    "Trials",
    "Trial",
    _all_trials,
)
