"""RAG records, a question with its contexts and answer, from the rows of other tools.

Columns are recognised by name; docs/reference/formats/items.md ("RAG rows") lists the names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pnyx.core.errors import InputError, escaped, shorten
from pnyx.formats.rag.rag_cells import (
    ASSISTANT_ROLES,
    USER_ROLES,
    contexts_of,
    is_blank,
    text_of_cell,
)
from pnyx.formats.text.citations import without_marks

COLUMN_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "question": (
        *("question", "user_input", "input", "query", "prompt", "user_query", "user_question"),
        *("questions", "instruction", "inputs"),
    ),
    "contexts": (
        *("contexts", "retrieved_contexts", "retrieval_context", "retrieved_documents"),
        *("retrieved_passages", "retrieved_chunks", "retrieved_docs", "source_documents"),
        *("passages", "documents", "chunks", "passage", "retrieved_context", "context"),
        *("docs", "sources", "source_nodes", "document"),
    ),
    "answer": (
        *("answer", "response", "actual_output", "generated_answer", "output", "generated_text"),
        *("model_answer", "llm_answer", "generation", "prediction", "completion", "result"),
        *("answers", "outputs"),
    ),
    "reference": (
        *("ground_truth", "ground_truths", "reference", "expected_output", "expected_response"),
        *("expected_answer", "reference_answer", "golden_answer", "gold_answer"),
    ),
    "id": ("id", "record_id", "query_id", "question_id", "sample_id", "qid", "uid"),
    "run_id": (
        *("run_id", "run", "system", "system_id", "app_id", "app_name", "model", "model_name"),
        "query_run",
    ),
}
"""Field -> usual names of its column, in lower case; the first one with a value is used."""

_TOOLS: Final = (
    ("ragas", {"user_input", "retrieved_contexts", "response"}),
    ("ragas", {"question", "contexts", "answer"}),
    ("DeepEval", {"input", "retrieval_context", "actual_output"}),
    ("DeepEval", {"input", "context", "actual_output"}),
    ("open-rag-eval", {"query", "passage", "generated_answer"}),
    ("open-rag-eval", {"query", "passages", "generated_answer"}),
    ("LangChain", {"query", "source_documents", "result"}),
    ("TruLens", {"input", "contexts", "output"}),
    ("TruLens", {"input", "retrieved_contexts", "output"}),
)
"""Tool -> the columns of question, contexts and answer in its rows; the first match is used."""

_NUMBERED: Final = re.compile(
    r"(?:retrieved|retrieval)?[ _]?(?:context|passage|document|doc|chunk|source)s?[ _]?(\d{1,4})"
)
"""One of several columns with a context each, such as `context_1`."""

Fault = tuple[str, str]
"""The number of a row that was skipped, and why."""

_SHOWN_COLUMNS: Final = 12
_SHOWN_ROWS: Final = 5


@dataclass(frozen=True, slots=True)
class RagRecord:
    """A question, what was retrieved for it, and the answer that was generated.

    Attributes:
        id: unique in its file.
        group: equal for records with the same question or the same id, in any run.
        run_id: the system that answered; may be empty.
    """

    id: str
    group: str
    question: str
    contexts: tuple[str, ...]
    answer: str
    reference: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class RagColumns:
    """The columns of each field; several columns may hold a context each."""

    columns: Mapping[str, tuple[str, ...]]
    tool: str = ""

    def cells(self, row: Mapping[str, Any], name: str) -> list[Any]:
        """Return the non-empty cells of a field."""
        cells = (row.get(column) for column in self.columns.get(name, ()))
        return [cell for cell in cells if not is_blank(cell)]

    def shown(self) -> str:
        """Return the columns of question, contexts and answer, and the tool with these names."""
        names = (self.columns.get(name, ()) for name in ("question", "contexts", "answer"))
        listed = ", ".join(escaped(_first_and_last(columns), 60) for columns in names if columns)
        return f"{listed} ({self.tool})" if self.tool else listed


@dataclass(frozen=True, slots=True)
class RagRecords:
    """The records of a file, with the columns they were read from and the rows skipped."""

    source: str
    columns: RagColumns
    records: Sequence[RagRecord]
    skipped: Sequence[Fault] = ()
    is_numbered: bool = False  # ids are row numbers, since the file has none

    @property
    def _name(self) -> str:
        return "standard input" if self.source == "-" else escaped(self.source)

    def line(self, items: int, what: str) -> str:
        """Return one line with the number of records and the columns read."""
        count = f"{len(self.records):,} record{'s' * (len(self.records) != 1)}"
        line = f"{self._name}: {count} of {self.columns.shown()}: {items:,} {what}"
        return line + "; ids are row numbers" * self.is_numbered

    def skipped_line(self) -> str:
        """Return one line with the rows skipped and the reasons; empty for none."""
        if not self.skipped:
            return ""
        by_reason: dict[str, list[str]] = {}
        for number, reason in self.skipped:
            by_reason.setdefault(reason, []).append(number)
        reasons = []
        for reason, numbers in by_reason.items():
            more = ", ..." if len(numbers) > _SHOWN_ROWS else ""
            rows = f"row{'s' * (len(numbers) > 1)} {', '.join(numbers[:_SHOWN_ROWS])}{more}"
            reasons.append(f"{len(numbers):,} with {reason} ({escaped(rows, 80)})")
        count = len(self.skipped)
        head = f"{self._name}: skipped {count:,} row{'s' * (count != 1)}"
        return f"{head}: {'; '.join(reasons)}"


def find_columns(
    rows: Sequence[Mapping[str, Any]], named: Mapping[str, str] | None = None
) -> RagColumns | None:
    """Return which columns hold contexts and an answer, or None if none do.

    Args:
        rows: the first rows of a file.
        named: field -> column, for those with unusual names.

    Raises:
        InputError: a named column is missing, or its field is unknown.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns: dict[str, tuple[str, ...]] = {
        _field(name): (_column(column, names),) for name, column in (named or {}).items()
    }
    free = [name for name in names if (name,) not in columns.values()]
    filled = [name for name in free if any(not is_blank(row.get(name)) for row in rows)]
    for name, usual in COLUMN_NAMES.items():
        if name not in columns:
            columns[name] = _usual(usual, filled) or _usual(usual, free)
    if not columns["contexts"]:
        matches = ((column, _NUMBERED.fullmatch(_plain(column))) for column in free)
        numbers = {column: int(match[1]) for column, match in matches if match}
        columns["contexts"] = tuple(sorted(numbers, key=lambda column: numbers[column]))
    if not columns["contexts"] or not columns["answer"]:
        return None
    used = {name: listed for name, listed in columns.items() if listed}
    return RagColumns(used, "" if named else _tool(used))


def rag_records(
    rows: Iterable[tuple[str, Mapping[str, Any]]],
    columns: RagColumns,
    source: str,
    faults: Sequence[Fault] = (),
    *,
    needs_question: bool = False,
) -> RagRecords:
    """Return the records of numbered rows; rows with the same id are passages of one record.

    `faults` are rows that could not be read; it is complete once the last row has been read.

    Raises:
        InputError: two records have the same id, or no row holds an answer with contexts.
    """
    drafts = _merged(_draft(number, row, columns) for number, row in rows)
    read = [(draft, draft.missing(needs_question=needs_question)) for draft in drafts]
    complete = [draft for draft, reason in read if not reason]
    skipped = [*faults, *((draft.row, reason) for draft, reason in read if reason)]
    is_numbered = "id" not in columns.columns
    result = RagRecords(source, columns, _identified(complete), skipped, is_numbered)
    if not complete:
        reasons = result.skipped_line().partition(": skipped ")[2] or "it holds no rows"
        raise InputError(f"no row holds an answer with contexts: {reasons}")
    return result


@dataclass(slots=True)
class _Draft:
    """The cells of a row; later rows may add passages to it."""

    row: str
    id: str
    run_id: str
    question: str | None
    answer: str | None
    contexts: list[str]
    reference: str
    is_passage: bool  # may be one passage of several

    def missing(self, *, needs_question: bool) -> str:
        """Return why a row cannot be judged; empty if it can."""
        if self.answer is None:
            return "an answer that is not one text"
        words, _ = without_marks(self.answer)
        if not any(character.isalnum() for character in words):
            return "no answer"
        if not self.contexts:
            return "no contexts"
        return "no question" if needs_question and not (self.question or "").strip() else ""


def _draft(number: str, row: Mapping[str, Any], columns: RagColumns) -> _Draft:
    def text(name: str, roles: Sequence[str] = USER_ROLES) -> str | None:
        return text_of_cell(next(iter(columns.cells(row, name)), None), roles)

    contexts = [text for cell in columns.cells(row, "contexts") for text in contexts_of(cell)]
    return _Draft(
        number,
        (text("id") or "").strip(),
        (text("run_id") or "").strip(),
        text("question"),
        text("answer", ASSISTANT_ROLES),
        contexts,
        text("reference") or "",
        is_passage=len(contexts) <= 1,
    )


def _merged(drafts: Iterable[_Draft]) -> list[_Draft]:
    """Return one draft for rows with the same id, run and answer: each row has one passage."""
    latest: dict[tuple[str, str], _Draft] = {}
    ordered = []
    for draft in drafts:
        first = latest.get((draft.run_id, draft.id)) if draft.id else None
        if first is not None and _differ(first.question, draft.question):
            problem = f"row {draft.row}: id {shorten(draft.id, 40)!r} is already that of row "
            raise InputError(f"{problem}{first.row}, with another question")
        if first is None or not _continues(first, draft):
            ordered.append(draft)
            latest[draft.run_id, draft.id] = draft
            continue
        first.question = first.question or draft.question
        first.answer = first.answer or draft.answer
        first.contexts += [text for text in draft.contexts if text not in first.contexts]
    return ordered


def _continues(first: _Draft, draft: _Draft) -> bool:
    """Return whether a row is about the same answer: equal, or missing in rows of passages."""
    if first.answer == draft.answer:
        return True
    are_passages = first.is_passage and draft.is_passage
    return are_passages and not _differ(first.answer, draft.answer)


def _differ(text: str | None, other: str | None) -> bool:
    return bool(text and other and text != other)


def _identified(drafts: Sequence[_Draft]) -> list[RagRecord]:
    """Return records with unique ids, and with a group for each question."""
    runs_of = Counter(draft.id for draft in drafts)
    taken = Counter[str]()
    group_of_question: dict[str, str] = {}
    group_of_id: dict[str, str] = {}
    records = []
    for draft in drafts:
        name = draft.id or draft.row
        question = (draft.question or "").strip()
        group = group_of_id.get(draft.id) or group_of_question.get(question) or name
        if question:
            group_of_question.setdefault(question, group)
        if draft.id:
            group_of_id[draft.id] = group
        if draft.id and draft.run_id and runs_of[draft.id] > 1:
            name = f"{draft.run_id}/{name}"
        unique = name
        while unique in taken:
            taken[name] += 1
            unique = f"{name}-{taken[name]}"
        taken[unique] = 1
        contexts, answer = tuple(draft.contexts), draft.answer or ""
        records.append(
            RagRecord(unique, group, question, contexts, answer, draft.reference, draft.run_id)
        )
    return records


def _snake(name: str) -> str:
    """Return a column's name in the form used for comparison: `actual_output` of `actualOutput`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", str(name).strip())
    return re.sub(r"[\s_-]+", "_", words.lower())


def _plain(name: str) -> str:
    """Return the last part of a path in the form used for comparison."""
    return _snake(str(name).rpartition(".")[2])


def _usual(usual: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Return the column with the first of some usual names; a whole name before part of a path."""
    for shape in (_snake, _plain):
        by_name = {shape(column): column for column in reversed(columns)}
        for name in usual:
            if name in by_name:
                return (by_name[name],)
    return ()


def _field(name: str) -> str:
    plain = "contexts" if name == "context" else name
    if plain not in COLUMN_NAMES:
        expected = ", ".join(COLUMN_NAMES)
        raise InputError(f"--column {shorten(name, 40)}=...: expected one of the fields {expected}")
    return plain


def _column(column: str, columns: Sequence[str]) -> str:
    if column not in columns:
        raise InputError(f"no column {shorten(column, 40)!r} (found: {shown_columns(columns)})")
    return column


def shown_columns(columns: Iterable[str]) -> str:
    """Return the names of a file's columns for messages."""
    names = [shorten(str(name), 30) for name in columns]
    more = ", ..." if len(names) > _SHOWN_COLUMNS else ""
    return ", ".join(names[:_SHOWN_COLUMNS]) + more or "none"


def _first_and_last(columns: Sequence[str]) -> str:
    return columns[0] if len(columns) == 1 else f"{columns[0]} to {columns[-1]}"


def _tool(columns: Mapping[str, Sequence[str]]) -> str:
    fields = ("question", "contexts", "answer")
    names = {_snake(columns[name][0]) for name in fields if name in columns}
    return next((tool for tool, tool_names in _TOOLS if tool_names == names), "")
