"""Read the verdicts and labels that `pnyx check` compares, from any table."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pnyx.audit.checks.answer_scale import AnswerColumn, Place, map_answers
from pnyx.audit.checks.answer_words import number_of, read_cell
from pnyx.audit.checks.check_rows import TableRows
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
from pnyx.audit.checks.word_pair import word_pair
from pnyx.errors import InputError, shorten

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
        InputError: the table cannot be read, a column is missing or ambiguous, or it is not clear
            what a value counts as.
        MissingExtra: Parquet or XLSX without the library that reads it.
    """
    named = Named(_texts(judge), _texts(human), group or "", id or "", _texts(probability))
    given = _by_id(source, "verdict", only=labels is not None)
    if given is not source and not named.judge:
        named = replace(named, judge=tuple(name for name in given[0] if name != "id"))
    table = read_table_rows(given)
    layout = verdict_layout(table, named, with_labels=labels is None)
    wide = wide_table(table, layout)
    notes = [*table.notes, *layout.notes]
    files: dict[str, tuple[str, ...]] = {}
    for file, one in _label_sources(labels).items():
        given = _by_id(one, "label", only=True)
        if given is not one and not named.human:
            named = replace(named, human=tuple(name for name in given[0] if name != "id"))
        second = read_table_rows(given)
        label_columns = label_layout(second, named, layout.dimension)
        before = wide.people
        wide = join_labels_by_id(
            wide, second, label_columns, source=table.source, id_column=layout.id, file=file
        )
        files[file] = tuple(person for person in wide.people if person not in before)
        notes += [*second.notes, *label_columns.notes]
    apply_adjudication(wide)
    group_column = layout.group or group_by_id(wide, layout.id)
    unique_ids(wide, layout.id, grouped=group_column != layout.group)
    try:
        items = _check_items(wide, table, group_column, notes, _texts(yes), _texts(no))
    except InputError as error:
        raise InputError(error.problem, path=table.source, line=error.line) from error
    return replace(items, files=files) if len(files) > 1 else items


def _label_sources(labels: object) -> Mapping[str, object]:
    """Return the tables of labels by the names of their files; one alone has no name."""
    if labels is None:
        return {}
    if not (isinstance(labels, list | tuple) and labels and isinstance(labels[0], Path)):
        return {"": labels}
    if len(labels) == 1:
        return {"": labels[0]}
    names = [Path(path).name for path in labels]
    shown = names if len(set(names)) == len(names) else map(str, labels)
    return dict(zip(shown, labels, strict=True))


def _texts(value: Any) -> tuple[str, ...]:
    """Return what was given for an option: nothing, a text, a value, or several."""
    if value is None:
        return ()
    values = value if isinstance(value, list | tuple | set | frozenset) else (value,)
    return tuple(str(one) for one in values)


def _by_id(source: Any, column: str, *, only: bool) -> Any:
    """Return rows of a dict of id -> answer, or of a list of answers; others as they are."""
    if hasattr(source, "to_dict") and not hasattr(source, "columns"):  # a series of pandas
        source = source.to_dict()
    if not only or not isinstance(source, Mapping | list | tuple) or not source:
        return source
    if isinstance(source, Mapping):
        if all(isinstance(value, Mapping) for value in source.values()):
            return list(rows_of_objects(source))
        if any(
            isinstance(value, list | tuple) or hasattr(value, "shape") for value in source.values()
        ):
            return source
        return [{"id": str(key), column: value} for key, value in source.items()]
    if not any(isinstance(one, Mapping) for one in source):
        return [{"id": str(number), column: one} for number, one in enumerate(source, start=1)]
    return source


def _check_items(
    wide: WideTable,
    table: TableRows,
    group: str,
    notes: Sequence[str],
    yes: Sequence[str],
    no: Sequence[str],
) -> CheckItems:
    rows = wide.rows
    columns = [
        *(AnswerColumn(name, "judge", [_verdict(r, name) for r in rows]) for name in wide.judges),
        *(AnswerColumn(name, "human", [_label(r, name) for r in rows]) for name in wide.people),
    ]
    mapped = map_answers(columns, yes, no)
    verdicts = dict(zip(wide.judges, mapped.columns, strict=False))
    labels = dict(zip(wide.people, mapped.columns[len(wide.judges) :], strict=True))
    probabilities, more = _probabilities(wide)
    for name, shares in probabilities.items():
        if _is_confidence(shares, verdicts[name].answers):
            probabilities[name] = [
                1 - share if share is not None and answer is False else share
                for share, answer in zip(shares, verdicts[name].answers, strict=True)
            ]
            more.append(
                f"{shorten(name, 40)}: probabilities are read as those of the verdict: none is "
                "below 0.5, not even of a no"
            )
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
        for index, row in enumerate(rows)
    ]
    all_notes = (*notes, *wide.notes, *mapped.notes, *more)
    return CheckItems(
        items,
        mapped.kind,
        wide.judges,
        wide.people,
        group,
        table.source,
        tuple(all_notes),
        word_pair(columns, mapped.columns),
    )


def _verdict(row: WideRow, judge: str) -> Place:
    """Return the cell of a verdict; an empty one says why it is unscored, if this is known."""
    cell, reason = read_cell(row.verdicts.get(judge)), row.reasons.get(judge, "")
    if cell.blank and reason:
        cell = replace(cell, blank=False, reason=reason)
    return Place(row.line, cell)


def _label(row: WideRow, person: str) -> Place:
    return Place(row.line, read_cell(row.labels.get(person)))


def _probabilities(wide: WideTable) -> tuple[dict[str, list[float | None]], list[str]]:
    """Return the probabilities of yes of each judge, in [0, 1], and what was assumed of them."""
    columns: dict[str, list[float | None]] = {}
    notes: list[str] = []
    for judge in wide.judges:
        if not any(judge in row.probabilities for row in wide.rows):
            continue
        cells = [(row.line, row.probabilities.get(judge)) for row in wide.rows]
        numbers = [_number(cell, line, judge) for line, cell in cells]
        stated = [number for number in numbers if number is not None]
        is_percent = bool(stated) and max(stated) > 1 and statistics.median(stated) > 1
        if is_percent:
            notes.append(f"{shorten(judge, 40)}: probabilities are read as percentages")
        columns[judge] = []
        for number, (line, cell) in zip(numbers, cells, strict=True):
            is_share = not is_percent or str(cell).strip().endswith("%")
            share = number if number is None or is_share else number / 100
            if share is not None and not 0 <= share <= 1:
                found = f"found {shorten(str(cell), 40)}, expected 0 to 1, or 0 to 100 in all rows"
                raise InputError(f"probability of {shorten(judge, 40)}: {found}", line=line)
            columns[judge].append(share)
    return columns, notes


def _is_confidence(shares: Sequence[float | None], answers: Sequence[Answer]) -> bool:
    """Say whether probabilities are of the verdict, yes or no, and not of yes."""
    stated = [(share, answer) for share, answer in zip(shares, answers, strict=True)
              if share is not None and isinstance(answer, bool)]  # fmt: skip
    sure = [share for share, answer in stated if answer is False and share > 0.5]
    return len(sure) >= _MIN_CONFIDENT and all(share >= 0.5 for share, _ in stated)


def _number(cell: Any, line: int, judge: str) -> float | None:
    if isinstance(cell, bool):
        cell = str(cell)
    if read_cell(cell).blank:
        return None
    number = cell if isinstance(cell, int | float) else number_of(str(cell))
    if number is None:
        found = f"found {shorten(str(cell), 40)}, expected a number"
        raise InputError(f"probability of {shorten(judge, 40)}: {found}", line=line)
    return float(number)
