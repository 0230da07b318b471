"""Read the verdicts and labels that `pnyx check` compares, with notes on a table's answers."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pnyx.audit.checks.answer_scale import AnswerColumn, MappedColumn, map_answers
from pnyx.audit.checks.answer_words import AnswerCell, read_cell
from pnyx.audit.checks.check_rows import TableRows
from pnyx.audit.checks.column_names import is_usual_name
from pnyx.audit.checks.items import Answer, CheckItem, CheckItems
from pnyx.audit.checks.json_rows import rows_of_objects
from pnyx.audit.checks.table import read_table_rows
from pnyx.audit.checks.table_layout import Named, label_layout, verdict_layout
from pnyx.audit.checks.wide_rows import (
    WideRow,
    WideTable,
    apply_adjudication,
    group_by_id,
    join_labels_by_id,
    unique_ids,
    wide_table,
)
from pnyx.core.errors import InputError, shorten
from pnyx.judging.value_rows import joined_values, plain_values

_MIN_CONFIDENT = 3
"""Verdicts of no with a probability above 0.5 that show that it is not that of yes."""


def read_check_items(
    source: object,
    *,
    judge: str | Iterable[str] = (),
    human: str | Iterable[str] = (),
    group: str | None = None,
    id: str | None = None,  # noqa: A002 - as on the command line
    probability: str | Iterable[str] = (),
    yes: object = (),
    no: object = (),
    labels: object = None,
) -> CheckItems:
    """Read a table of verdicts and labels.

    Args:
        source: a file, a results folder, `-`, a data frame, a list of dicts, a dict of columns;
            with `labels` also a dict of id -> verdict, or a list of verdicts.
        judge: columns of verdicts, or names in a column that names judges; guessed by default.
        human: columns of labels, or names in a column that names people; guessed by default.
        group: column that clusters the rows; guessed by default.
        id: column of ids; guessed by default.
        probability: columns of the probability of yes, one for each judge.
        yes: values that count as yes, commas between them, or bounds: "4,5", "score>=0.5".
        no: values that count as no.
        labels: a second table with labels, joined by id; a dict of id -> label; or a list of `Path`
            of several files, whose people are kept apart.

    Raises:
        InputError: the table cannot be read, a column is missing or ambiguous, it is not clear what
            a value counts as, or lists of verdicts and of labels have different lengths.
        MissingExtra: Parquet or XLSX without the library that reads it.
    """
    if labels is not None:
        source, labels = map(plain_values, joined_values(source, labels))
    named = Named(_texts(judge), _texts(human), group or "", id or "", _texts(probability))
    rows, columns = (source, ()) if labels is None else _rows_by_id(source, "verdict")
    named = replace(named, judge=named.judge or columns)
    table = read_table_rows(rows)
    layout = verdict_layout(table, named, with_labels=labels is None)
    wide = wide_table(table, layout)
    notes = [*table.notes, *layout.notes]
    files: dict[str, tuple[str, ...]] = {}
    for file, source_of_labels in _label_sources(labels).items():
        rows, columns = _rows_by_id(source_of_labels, "label")
        second = read_table_rows(rows)
        second_named = replace(named, human=named.human or columns)
        second_layout = label_layout(second, second_named, layout.dimension)
        people_before = wide.people
        labelled = wide_table(second, second_layout)
        join_labels_by_id(wide, labelled, table.source, layout.id, file)
        files[file] = tuple(person for person in wide.people if person not in people_before)
        notes += [*second.notes, *second_layout.notes]
    apply_adjudication(wide)
    group_column = layout.group or group_by_id(wide, layout.id)
    unique_ids(wide, layout.id, grouped=group_column != layout.group)
    try:
        items = _check_items(wide, table, group_column, notes, _texts(yes), _texts(no))
    except InputError as error:
        raise InputError(error.problem, path=table.source, line=error.line) from error
    return replace(items, files=files) if len(files) > 1 else items


def _is_table(value: object) -> bool:
    """Return whether a value of a list or dict is not an answer but a row, a column or a file."""
    is_array = bool(getattr(value, "shape", ()))  # a number of numpy has no dimensions
    return is_array or isinstance(value, Mapping | list | tuple | Path)


def _label_sources(labels: object) -> Mapping[str, object]:
    """Return the tables of labels by the names of their files; one alone has no name."""
    if labels is None:
        return {}
    if not (isinstance(labels, list | tuple) and labels and isinstance(labels[0], Path)):
        return {"": labels}
    if len(labels) == 1:
        return {"": labels[0]}
    names = [Path(path).name for path in labels]
    unique = names if len(set(names)) == len(names) else map(str, labels)
    return dict(zip(unique, labels, strict=True))


def _texts(value: Any) -> tuple[str, ...]:
    """Return the values of an option as texts: it may be None, a value, or several."""
    if value is None:
        return ()
    values = value if isinstance(value, list | tuple | set | frozenset) else (value,)
    return tuple(map(str, values))


def _rows_by_id(source: Any, column: str) -> tuple[Any, tuple[str, ...]]:
    """Return the rows of a dict of id -> answer, or of answers alone, and their column.

    Other sources are returned as they are, without a column. Several columns, of a dict of
    id -> column -> answer, are all of answers unless one has a usual name.
    """
    if not isinstance(source, Mapping | list | tuple) or not source:
        return source, ()
    entries = list(source.items() if isinstance(source, Mapping) else enumerate(source, start=1))
    values = [value for _, value in entries]
    if isinstance(source, Mapping) and all(isinstance(value, Mapping) for value in values):
        rows = list(rows_of_objects(source))
        names = tuple(name for name in rows[0] if name != "id")
        role = "judge" if column == "verdict" else "human"
        return rows, () if any(is_usual_name(name, role) for name in names) else names
    if any(map(_is_table, values)):
        return source, ()
    return [{"id": str(key), column: value} for key, value in entries], (column,)


def _check_items(
    wide: WideTable,
    table: TableRows,
    group: str,
    notes: Sequence[str],
    yes: Sequence[str],
    no: Sequence[str],
) -> CheckItems:
    columns, count = _answer_columns(wide), len(wide.judges)
    mapped = map_answers(columns, yes, no)
    verdicts = dict(zip(wide.judges, mapped.columns[:count], strict=True))
    labels = dict(zip(wide.people, mapped.columns[count:], strict=True))
    open_cells = [
        note
        for column, answers in zip(columns, mapped.columns, strict=True)
        for note in open_notes(column, answers)
    ]
    probabilities, probability_notes = _probabilities(wide, verdicts)
    items = [
        CheckItem(
            id=row.id,
            group=row.group,
            line=row.line,
            verdicts={name: column.answers[index] for name, column in verdicts.items()},
            labels={name: column.answers[index] for name, column in labels.items()},
            probabilities={
                name: share
                for name, shares in probabilities.items()
                if (share := shares[index]) is not None
            },
            unscored={
                name: column.reasons[index]
                for name, column in verdicts.items()
                if index in column.reasons
            },
            texts=row.texts,
            dimension=row.dimension,
        )
        for index, row in enumerate(wide.rows)
    ]
    return CheckItems(
        items,
        mapped.kind,
        wide.judges,
        wide.people,
        group,
        table.source,
        (*notes, *wide.notes, *mapped.notes, *open_cells, *probability_notes),
        word_pair(columns, mapped.columns),
    )


def _answer_columns(wide: WideTable) -> list[AnswerColumn]:
    """Return the columns of verdicts, then those of labels."""
    rows, lines = wide.rows, [row.line for row in wide.rows]
    verdicts = [
        AnswerColumn(judge, "judge", [_verdict(row, judge) for row in rows], lines)
        for judge in wide.judges
    ]
    labels = [
        AnswerColumn(person, "human", [read_cell(row.labels.get(person)) for row in rows], lines)
        for person in wide.people
    ]
    return verdicts + labels


def _verdict(row: WideRow, judge: str) -> AnswerCell:
    """Return the cell of a verdict; an empty one has the reason why it is unscored, if known."""
    cell, reason = read_cell(row.verdicts.get(judge)), row.reasons.get(judge, "")
    return replace(cell, blank=False, reason=reason) if cell.blank and reason else cell


def _probabilities(
    wide: WideTable, verdicts: Mapping[str, MappedColumn]
) -> tuple[dict[str, list[float | None]], list[str]]:
    """Return the probabilities of yes of each judge, in [0, 1], and what was assumed of them."""
    columns: dict[str, list[float | None]] = {}
    notes: list[str] = []
    for judge in wide.judges:
        if not any(judge in row.probabilities for row in wide.rows):
            continue
        name = shorten(judge, 40)
        cells = [_probability(row, judge) for row in wide.rows]
        stated = [cell.number for cell in cells if cell.number is not None]
        is_percent = bool(stated) and statistics.median(stated) > 1
        if is_percent:
            notes.append(f"{name}: probabilities are read as percentages")
        shares: list[float | None] = []
        for row, cell in zip(wide.rows, cells, strict=True):
            share = cell.number
            if share is not None and is_percent and not cell.text.endswith("%"):
                share /= 100
            if share is not None and not 0 <= share <= 1:
                expected = "expected 0 to 1, or 0 to 100 in all rows"
                problem = f"found {shorten(cell.text, 40)}, {expected}"
                raise InputError(f"probability of {name}: {problem}", line=row.line)
            shares.append(share)
        answers = verdicts[judge].answers
        if _is_confidence(shares, answers):
            shares = [
                1 - share if share is not None and answer is False else share
                for share, answer in zip(shares, answers, strict=True)
            ]
            notes.append(
                f"{name}: probabilities are read as those of the verdict: none is below 0.5, not "
                "even of a no"
            )
        columns[judge] = shares
    return columns, notes


def _probability(row: WideRow, judge: str) -> AnswerCell:
    """Return the cell of a probability: a number or nothing; InputError for another."""
    cell = read_cell(row.probabilities.get(judge))
    if cell.number is None and not cell.blank:
        problem = f"found {shorten(cell.text, 40)}, expected a number"
        raise InputError(f"probability of {shorten(judge, 40)}: {problem}", line=row.line)
    return cell


def _is_confidence(shares: Sequence[float | None], answers: Sequence[Answer]) -> bool:
    """Return whether probabilities are of the verdict, yes or no, and not of yes."""
    stated = [
        (share, answer)
        for share, answer in zip(shares, answers, strict=True)
        if share is not None and isinstance(answer, bool)
    ]
    confident = sum(answer is False and share > 0.5 for share, answer in stated)
    return confident >= _MIN_CONFIDENT and all(share >= 0.5 for share, _ in stated)


USUAL = ("yes", "no")
"""The words of sentences if a table has numbers, truth values, or several words for one answer."""


def word_pair(columns: Sequence[AnswerColumn], mapped: Sequence[MappedColumn]) -> tuple[str, str]:
    """Return the words for yes and no if each is one word throughout, else `USUAL`."""
    words: dict[bool, set[str]] = {True: set(), False: set()}
    for column, answers in zip(columns, mapped, strict=True):
        for cell, answer in zip(column.cells, answers.answers, strict=True):
            if isinstance(answer, bool):
                plain = cell.number is not None or cell.word in ("true", "false")
                words[answer].add("" if plain else cell.word)
    if len(words[True]) != 1 or len(words[False]) != 1:
        return USUAL
    yes, no = words[True].pop(), words[False].pop()
    return (yes, no) if yes and no else USUAL


def open_notes(column: AnswerColumn, mapped: MappedColumn) -> tuple[str, ...]:
    """Return a note on verdicts that are unscored, or on labels that are not answers, if any."""
    if not mapped.reasons:
        return ()
    reasons = Counter(mapped.reasons.values())
    lines: dict[str, int] = {}
    for index, reason in mapped.reasons.items():
        lines.setdefault(reason, column.lines[index])
    parts = [f"{count:,} empty" for reason, count in reasons.items() if reason == "empty"]
    others = [reason for reason, _ in reasons.most_common() if reason != "empty"]
    parts += [f"{reasons[reason]:,} {reason!r}, line {lines[reason]}" for reason in others[:3]]
    if len(others) > 3:
        parts.append(f"{sum(reasons[reason] for reason in others[3:]):,} for other reasons")
    count, whole = len(mapped.reasons), len(column.cells)
    what = "verdicts are unscored" if column.side == "judge" else "labels do not count"
    return (f"{column.short}: {count:,} of {whole:,} {what} ({'; '.join(parts)})",)
