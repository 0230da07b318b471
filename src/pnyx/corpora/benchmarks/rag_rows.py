"""RAG records, a question with its contexts and answer, from rows as other tools write them.

Columns are recognised by name; docs/formats.md ("RAG rows") lists the names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pnyx.corpora.benchmarks.rag_cells import contexts_of, is_blank, text_of_cell
from pnyx.errors import InputError, escaped, shorten

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
"""Field -> usual names of its column, in lower case; the first one with a value counts."""

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
"""Tool -> the columns of question, contexts and answer in its rows; the first that fits."""

_NUMBERED: Final = re.compile(
    r"(?:retrieved|retrieval)?[ _]?(?:context|passage|document|doc|chunk|source)s?[ _]?(\d{1,4})"
)
"""One of several columns with a context each, such as `context_1`."""

Fault = tuple[str, str]
"""The place of a row that was skipped, and why."""

_SHOWN_COLUMNS: Final = 12
_SHOWN_ROWS: Final = 5


@dataclass(frozen=True, slots=True)
class RagRecord:
    """A question, what was retrieved for it, and the answer that was generated.

    Attributes:
        id: unique in its file.
        group: equal for records on the same question, of whatever run.
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
    """Which columns hold what; several columns may hold a context each."""

    columns: Mapping[str, tuple[str, ...]]
    tool: str = ""

    def cells(self, row: Mapping[str, Any], name: str) -> list[Any]:
        """Return the cells of a field that hold something."""
        cells = (row.get(column) for column in self.columns.get(name, ()))
        return [cell for cell in cells if not is_blank(cell)]

    def shown(self) -> str:
        """Return the columns of question, contexts and answer, and whose names they are."""
        names = (self.columns.get(name, ()) for name in ("question", "contexts", "answer"))
        listed = ", ".join(escaped(_first_and_last(columns), 60) for columns in names if columns)
        return f"{listed} ({self.tool})" if self.tool else listed


@dataclass(frozen=True, slots=True)
class RagRecords:
    """The records of a file, and what is to be said of how they were read."""

    source: str
    columns: RagColumns
    records: Sequence[RagRecord]
    skipped: Sequence[Fault] = ()
    is_numbered: bool = False  # ids are row numbers, as the file has none

    @property
    def _name(self) -> str:
        return "standard input" if self.source == "-" else escaped(self.source)

    def line(self, items: int, what: str) -> str:
        """Return what was read, in one line."""
        count = f"{len(self.records):,} record{'s' * (len(self.records) != 1)}"
        line = f"{self._name}: {count} of {self.columns.shown()}: {items:,} {what}"
        return line + "; ids are row numbers" * self.is_numbered

    def skipped_line(self) -> str:
        """Return how many rows were skipped, which and why; empty for none."""
        if not self.skipped:
            return ""
        by_reason: dict[str, list[str]] = {}
        for place, why in self.skipped:
            by_reason.setdefault(why, []).append(place)
        reasons = []
        for why, places in by_reason.items():
            more = ", ..." if len(places) > _SHOWN_ROWS else ""
            rows = f"row{'s' * (len(places) > 1)} {', '.join(places[:_SHOWN_ROWS])}{more}"
            reasons.append(f"{len(places):,} with {why} ({escaped(rows, 80)})")
        count = len(self.skipped)
        head = f"{self._name}: skipped {count:,} row{'s' * (count != 1)}"
        return f"{head}: {'; '.join(reasons)}"


def find_columns(
    rows: Sequence[Mapping[str, Any]], named: Mapping[str, str] | None = None
) -> RagColumns | None:
    """Return which columns hold contexts and an answer, or None where none do.

    Args:
        rows: the first rows of a file.
        named: field -> column, for those with unusual names.

    Raises:
        InputError: a named column is not there, or its field is unknown.
    """
    filled = list(dict.fromkeys(n for row in rows for n in row))
    known = {name for name in filled if any(not is_blank(row.get(name)) for row in rows)}
    columns: dict[str, tuple[str, ...]] = {}
    for name, column in (named or {}).items():
        columns[_field(name)] = (_column(column, filled),)
    taken = {column for own in columns.values() for column in own}
    free = [column for column in filled if column not in taken]
    for name, usual in COLUMN_NAMES.items():
        if name not in columns:
            columns[name] = _usual(usual, [c for c in free if c in known]) or _usual(usual, free)
    if "contexts" not in (named or {}) and not columns["contexts"]:
        columns["contexts"] = _numbered(filled)
    if not columns["contexts"] or not columns["answer"]:
        return None
    used = {name: own for name, own in columns.items() if own}
    return RagColumns(used, "" if named else _tool(used))


def rag_records(
    rows: Iterable[tuple[str, Mapping[str, Any]]],
    columns: RagColumns,
    source: str,
    faults: Sequence[Fault] = (),
    *,
    needs_question: bool = False,
) -> RagRecords:
    """Return the records of rows, each with its place; rows of one id are one record's passages.

    `faults` are rows that could not be read; it is complete when the last row was taken.

    Raises:
        InputError: two records have the same id, or no row holds an answer with contexts.
    """
    drafts = _merged(_draft(place, row, columns) for place, row in rows)
    read = [(draft, draft.missing(needs_question=needs_question)) for draft in drafts]
    complete = [draft for draft, why in read if not why]
    skipped = [*faults, *((draft.place, why) for draft, why in read if why)]
    is_numbered = "id" not in columns.columns
    result = RagRecords(source, columns, _identified(complete), skipped, is_numbered)
    if not complete:
        why = result.skipped_line().partition(": skipped ")[2] or "it holds no rows"
        raise InputError(f"no row holds an answer with contexts: {why}")
    return result


@dataclass(slots=True)
class _Draft:
    """What a row holds, before it is known whether more rows follow on the same record."""

    place: str
    id: str
    run_id: str
    question: str | None
    answer: str | None
    contexts: list[str]
    reference: str

    def missing(self, *, needs_question: bool) -> str:
        """Return why a row cannot be judged; empty if it can."""
        if self.answer is None:
            return "an answer that is not one text"
        if not any(character.isalnum() for character in self.answer):
            return "no answer"
        if not self.contexts:
            return "no contexts"
        return "no question" if needs_question and not (self.question or "").strip() else ""


def _draft(place: str, row: Mapping[str, Any], columns: RagColumns) -> _Draft:
    def text(name: str) -> str | None:
        return text_of_cell(next(iter(columns.cells(row, name)), None))

    return _Draft(
        place,
        (text("id") or "").strip(),
        (text("run_id") or "").strip(),
        text("question"),
        text("answer"),
        [text for cell in columns.cells(row, "contexts") for text in contexts_of(cell)],
        text("reference") or "",
    )


def _merged(drafts: Iterable[_Draft]) -> Iterator[_Draft]:
    """Yield one draft for rows of one id, run and answer: each row has one of its passages."""
    known: dict[tuple[str, str], _Draft] = {}
    ordered = []
    for draft in drafts:
        first = known.get((draft.run_id, draft.id)) if draft.id else None
        if first is not None and _differ(first.question, draft.question):
            problem = f"row {draft.place}: id {shorten(draft.id, 40)!r} is already that of row "
            raise InputError(f"{problem}{first.place}, with another question")
        if first is None or _differ(first.answer, draft.answer):
            ordered.append(draft)
            known[draft.run_id, draft.id] = draft
            continue
        first.question, first.answer = (
            first.question or draft.question,
            first.answer or draft.answer,
        )
        first.contexts += [text for text in draft.contexts if text not in first.contexts]
    yield from ordered


def _differ(text: str | None, other: str | None) -> bool:
    return bool(text and other and text != other)


def _identified(drafts: Sequence[_Draft]) -> list[RagRecord]:
    """Return records with unique ids, and with a group for each question."""
    runs_of = Counter(draft.id for draft in drafts)
    taken = Counter[str]()
    groups: dict[str, str] = {}
    records = []
    for draft in drafts:
        name = draft.id or draft.place
        question = (draft.question or "").strip()
        group = draft.id or (groups.setdefault(question, name) if question else name)
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
    """Return a column's name as it is compared: `actual_output` of `actualOutput`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", str(name).strip())
    return re.sub(r"[\s_-]+", "_", words.lower())


def _plain(name: str) -> str:
    """Return the last part of a path as it is compared."""
    return _snake(str(name).rpartition(".")[2])


def _usual(usual: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Return the column with the first of some usual names; a whole name before part of a path."""
    for shape in (_snake, _plain):
        known = {shape(column): column for column in reversed(columns)}
        for name in usual:
            if name in known:
                return (known[name],)
    return ()


def _numbered(columns: Sequence[str]) -> tuple[str, ...]:
    matches = ((column, _NUMBERED.fullmatch(_plain(column))) for column in columns)
    numbers = {column: int(match[1]) for column, match in matches if match}
    return tuple(sorted(numbers, key=lambda column: numbers[column]))


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
    """Return the names of a file's columns as messages show them."""
    names = [shorten(str(name), 30) for name in columns]
    more = ", ..." if len(names) > _SHOWN_COLUMNS else ""
    return ", ".join(names[:_SHOWN_COLUMNS]) + more or "none"


def _first_and_last(columns: Sequence[str]) -> str:
    return columns[0] if len(columns) == 1 else f"{columns[0]} to {columns[-1]}"


def _tool(columns: Mapping[str, Sequence[str]]) -> str:
    asked = ("question", "contexts", "answer")
    names = {_snake(columns[name][0]) for name in asked if name in columns}
    return next((tool for tool, own in _TOOLS if own == names), "")
