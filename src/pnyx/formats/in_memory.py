"""Documents, topics, runs and qrels in memory, in the forms of PyTerrier, ranx and others.

A data frame (pandas, polars), rows as dicts, named tuples of ir_measures, the nested dicts of
pytrec_eval and ranx, their objects with `to_dict`, texts, or Pnyx's own records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import Argument, Document, Evidence, Qrel, Question, RunEntry
from pnyx.formats.base import Row, located, parse_rows, strict
from pnyx.formats.cells import frame_rows, is_missing, plain_cell, plain_row
from pnyx.formats.documents.evidence import ID_NAMES, parse_evidence
from pnyx.formats.fields import rename
from pnyx.formats.runs.retrieval_tables import (
    entry_of_member,
    entry_of_row,
    members,
    qrel_of_member,
    qrel_of_row,
    question_of_member,
    question_of_row,
    ranked_entries,
)

T = TypeVar("T", RunEntry, Qrel, Question)

_EXPECTED: Final = (
    "a file or folder, a data frame, or documents as records, dicts with a text, or texts"
)
_NAME: Final = "documents"


def given_evidence(source: object, columns: Mapping[str, str] | None = None) -> Iterator[Evidence]:
    """Yield the documents of `source`, in order; those without an id are numbered from 1.

    The ids of a data frame may be its index (`frame_rows`).

    `columns`: Pnyx field -> the source's name for it. Cells without a value (None, NaN) are left
    out. InputError names the faulty row (from 1).
    """
    rows = _numbered(rows_in_memory(source), columns or {})
    read = parse_rows(rows, _parse, _NAME, "row")
    return (record for _, record in strict(read, _NAME, "documents"))


def _numbered(rows: Iterable[object], columns: Mapping[str, str]) -> Iterator[Row[Any]]:
    for number, row in enumerate(rows, start=1):
        if isinstance(row, str):
            yield number, {"id": str(number), "text": row}
        elif isinstance(row, Mapping):
            try:
                renamed = rename(row, columns)
            except InputError as error:
                yield located(error, _NAME, number, "row")
                continue
            cells = plain_row(renamed, ID_NAMES)
            has_id = not cells.keys().isdisjoint(ID_NAMES)
            yield number, cells if has_id else {"id": str(number), **cells}
        else:
            yield number, row


def rows_in_memory(source: object) -> Iterable[object]:
    """Return the rows of a data frame, or any other iterable unchanged."""
    if (rows := frame_rows(source, ID_NAMES)) is not None:
        return rows
    if isinstance(source, Iterable) and not isinstance(source, Mapping | bytes):
        return source
    raise InputError(f"found {shorten(type(source).__name__, 40)}, expected {_EXPECTED}")


def _parse(row: object) -> Evidence:
    if isinstance(row, Document | Argument):
        return row
    if not isinstance(row, Mapping):
        raise InputError(f"found {shorten(type(row).__name__, 40)}, expected {_EXPECTED}")
    return parse_evidence(row)


_TAG = "run"


def run_in_memory(source: object) -> Iterator[RunEntry]:
    """Yield the entries of a run; without ranks, documents are ranked by score.

    InputError names the faulty row (from 1) or topic.
    """
    nested = _nested(source)
    if nested is not None:
        entries = ranked_entries(members(nested, entry_of_member(_TAG), "run"))
    else:
        rows = list(_rows(source, "run", "topics, documents and scores"))
        entries = parse_rows(rows, _parser(RunEntry, entry_of_row), "run", "row")
        if not any(_has_rank(row) for row in rows):
            entries = ranked_entries(entries)
    return (entry for _, entry in strict(entries, "run", "documents"))


def qrels_in_memory(source: object) -> Iterator[Qrel]:
    """Yield judgements; InputError names the faulty row (from 1) or topic."""
    nested = _nested(source)
    if nested is not None:
        qrels = members(nested, qrel_of_member, "qrels")
    else:
        rows = _rows(source, "qrels", "topics, documents and grades")
        qrels = parse_rows(rows, _parser(Qrel, qrel_of_row), "qrels", "row")
    return (qrel for _, qrel in strict(qrels, "qrels", "judgments"))


def questions_in_memory(source: object) -> Iterator[Question]:
    """Yield topics, also of a dict of id -> text; InputError names the row (from 1)."""
    if isinstance(source, Mapping):
        pairs = [(str(topic), value) for topic, value in source.items()]
        questions = parse_rows(enumerate(pairs, start=1), question_of_member, "topics", "row")
    else:
        rows = _rows(source, "topics", "ids and queries")
        questions = parse_rows(rows, _parser(Question, question_of_row), "topics", "row")
    return (question for _, question in strict(questions, "topics", "topics"))


def _nested(source: object) -> Iterator[Row[tuple[str, Any]]] | None:
    """Return topic -> document -> number as numbered pairs; None for anything else."""
    if not isinstance(source, Mapping) and hasattr(source, "to_dict"):
        source = None if hasattr(source, "columns") else source.to_dict()
    if not isinstance(source, Mapping):
        return None
    return (
        (number, (str(topic), _numbers(documents)))
        for number, (topic, documents) in enumerate(source.items(), start=1)
    )


def _numbers(documents: object) -> object:
    if not isinstance(documents, Mapping):
        return documents
    return {str(document): plain_cell(value) for document, value in documents.items()}


def _rows(source: object, name: str, expected: str) -> Iterator[Row[object]]:
    rows: Iterable[object] | None = frame_rows(source, ("qid", "query_id", "id"))
    if rows is None:
        if not isinstance(source, Iterable) or isinstance(source, str | bytes | Mapping):
            problem = f"found {shorten(type(source).__name__, 40)}"
            raise InputError(f"{name}: {problem}, expected a file, a data frame or {expected}")
        rows = source
    return enumerate(rows, start=1)


def _has_rank(row: Row[object]) -> bool:
    value = None if isinstance(row, InputError) else row[1]
    return isinstance(value, RunEntry) or "rank" in (_cells(value) or {})


def _cells(row: object) -> dict[str, Any] | None:
    if hasattr(row, "_asdict"):  # a named tuple, as of ir_measures
        row = row._asdict()
    if not isinstance(row, Mapping):
        return None
    return {str(name): plain_cell(cell) for name, cell in row.items() if not is_missing(cell)}


def _parser(kind: type[T], parse: Callable[[object], T]) -> Callable[[object], T]:
    def parse_row(row: object) -> T:
        if isinstance(row, kind):
            return row
        cells = _cells(row)
        if cells is None:
            problem = f"found {shorten(type(row).__name__, 40)}, expected a dict or named tuple"
            raise InputError(problem)
        return parse(cells)

    return parse_row
