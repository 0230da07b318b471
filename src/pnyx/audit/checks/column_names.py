"""Which columns of a table hold verdicts, labels, groups and ids: as named, or by usual names."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from pnyx.audit.checks.answer_words import MAX_WORD, read_cell
from pnyx.audit.checks.check_rows import TableRows
from pnyx.core.errors import InputError, shorten

_ANSWER = r"(?:label|verdict|score|rating|grade|judge?ment|decision|evaluation|pass(?:ed)?)"
_NAMES: Final = {
    "judge": (
        re.compile(
            rf"(?:judge|llm|llm_judge|ai)_{_ANSWER}|judge_(?:result|output)|verdict|judge|llm|"
            r"(?:auto|machine|model|predicted|gpt|evaluator|grader)_(?:label|verdict|grade)|"
            r"(?:ai|llm)_judge|llm_as_(?:a_)?judge|judge?ment|pred(?:icted|ictions?)?|y_pred|"
            r"(?:verdict_llm|label_(?:llm|judge))|urteil(?:_modell)?|modellurteil"
        ),
        re.compile(
            r"pass|passed|scores?|result|decision|outcome|eval|evaluation|grade|success|value|"
            r"rating|verdicts"
        ),
    ),
    "human": (
        re.compile(
            rf"(?:human|manual|expert|sme|reviewer|annotator|expected|true)_{_ANSWER}|"
            r"human_(?:labels|annotation|eval|feedback)|(?:gold(?:en)?|ground_truth|reference|"
            r"target|user|annotated|ist)_label|label_(?:human|gold|expert)|human|gold|golden|"
            r"manual|expert|ground_?truth|y_true|annotation|person|reviewer|sme|truth|mensch|"
            r"urteil_mensch"
        ),
        re.compile(
            r"labels?|annotator|rater|expected|target|(?:is_)?correct|(?:user_)?feedback|thumbs"
        ),
    ),
}
"""Usual names of columns of verdicts and labels; the second ones count only without the first."""
GROUP_NAMES: Final = (
    "question_id", "question", "topic_id", "topic", "group", "qid", "query_id", "query", "session",
    "session_id", "conversation_id", "thread_id", "prompt_id", "cluster", "task_id", "user_input",
    "input", "prompt", "document_id", "doc_id", "user_id", "frage", "frage_id",
)  # fmt: skip
ID_NAMES: Final = (
    "id", "item_id", "uid", "uuid", "example_id", "sample_id", "row_id", "test_id", "case_id",
    "test_case_id", "record_id", "response_id", "answer_id", "trace_id", "item", "key", "idx",
    "index", "row", "no", "nr", "column_1",
)  # fmt: skip
ANNOTATOR_NAMES: Final = (
    "annotator", "annotator_id", "annotator_name", "rater", "rater_id", "labeler", "labeller",
    "labeled_by", "labelled_by", "labeler_id", "worker", "worker_id", "reviewer", "reviewer_id",
    "coder", "completed_by", "person", "annotated_by", "expert",
)  # fmt: skip
JUDGE_NAME_NAMES: Final = (
    "judge", "judge_name", "judge_model", "judge_id", "evaluator", "evaluator_name", "grader",
    "llm_judge", "scorer",
)  # fmt: skip
_NUMBERED: Final = {
    "judge": re.compile(
        r"(?<!\w)(?:"
        r"(?:judge|llm|llm_judge|verdict|grader|evaluator|prediction|pred|model)_?(?:\d+|[a-z])"
        r"|(?:judge|verdict|llm_judge)_\w+|\w+_(?:judge|verdict))"
    ),
    "human": re.compile(
        r"(?:human|annotator|rater|expert|reviewer|labell?er|coder|person|sme|label|annotation|"
        r"gold)_?(?:\d+|[a-z])|(?:human|annotator|rater|expert|reviewer|labell?er|coder)_\w+"
    ),
}
"""Names of columns of several judges or people: `judge_1`, `rater_b`, `human_jo`."""
_NOT_ANSWERS: Final = re.compile(
    r".*(?:^|_)(?:confidences?|probs?|probability|p|p_yes|wahrscheinlichkeit|konfidenz|cost|"
    r"latency|tokens?|seconds|time|timestamp|date|duration|ids?|model|names?|reason|reasoning|"
    r"rationale|explanation|comments?|notes?|text|prompt|raw|error|weight|length|count|contexts?|"
    r"inputs?|response|reference)"
)
_SIDES: Final = frozenset(("a", "b", "tie"))
_SAMPLE = 2000
"""Maximum rows to read for guessing columns."""
_MOST_DISTINCT = 12
OPTIONS: Final = {"judge": "--verdict", "human": "--human", "group": "--group"}
_CONTENT: Final = {"judge": "verdicts", "human": "labels"}


def usual_name(column: str) -> str:
    """Return the name of a column in lower case with underscores: `humanLabel` is human_label."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", column.strip())
    return re.sub(r"\W+|_+", "_", split).strip("_").lower()


def is_usual_name(column: str, role: str) -> bool:
    """Return whether columns of verdicts ("judge") or labels ("human") are usually called so."""
    return any(pattern.fullmatch(usual_name(column)) for pattern in _NAMES[role])


def named_column(name: str, columns: Sequence[str], source: str) -> str:
    """Return the column of this name, in any case if only one has it; InputError for none."""
    if name in columns:
        return name
    for form in (lambda text: str(text).strip().casefold(), usual_name):
        same = [column for column in columns if form(column) == form(name)]
        if len(same) == 1:
            return same[0]
        if same:
            problem = f"column {shorten(name, 40)!r} is one of {shown_names(same)}"
            raise InputError(problem, path=source)
    close = difflib.get_close_matches(name.casefold(), [c.casefold() for c in columns], 1)
    meant = next((column for column in columns if close and column.casefold() == close[0]), None)
    hint = f"; did you mean {shorten(meant, 40)}?" if meant else ""
    problem = f"no column {shorten(name, 40)!r} (columns: {shown_names(columns)}){hint}"
    raise InputError(problem, path=source)


def shown_names(columns: Iterable[str]) -> str:
    """Return names of columns for a message, of many the first 20."""
    names = [shorten(column, 30) for column in columns]
    return ", ".join((*names[:20], "...") if len(names) > 20 else names)


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """What the cells of a column look like.

    Attributes:
        answers: they could be verdicts or labels.
        usual: most of them are usual words for yes and no, or 1 and 0.
        numeric: most of them are numbers, few different ones or from 0 to 100.
        empty: every cell is blank.
        distinct: number of distinct cells.
        repeats: some occur more than once.
    """

    answers: bool
    usual: bool
    numeric: bool
    empty: bool
    distinct: int
    repeats: bool


class ColumnGuess:
    """Columns of a table by their usual names and their cells."""

    def __init__(self, table: TableRows) -> None:
        self._table, self.taken = table, set[str]()
        self._profiles: dict[str, ColumnProfile] = {}

    def profile(self, column: str) -> ColumnProfile:
        """Return what a column's cells look like."""
        if column not in self._profiles:
            self._profiles[column] = _profile(
                [r.get(column) for _, r in self._table.rows[:_SAMPLE]]
            )
        return self._profiles[column]

    def _usual(self, column: str) -> str:
        """Return the usual name of a column; one numbered because it is repeated keeps its name."""
        name = re.sub(r" \(\d+\)$", "", column)
        return usual_name(name if name in self._table.columns else column)

    def first(
        self, names: Sequence[str], fits: Callable[[ColumnProfile], bool] | None = None
    ) -> str:
        """Return the first column that is not taken, has a usual name and fits, else nothing."""
        usual = {usual_name(c): c for c in reversed(self._table.columns) if c not in self.taken}
        columns = (usual[name] for name in names if name in usual)
        return next((c for c in columns if fits is None or fits(self.profile(c))), "")

    def by_name(self, role: str) -> tuple[str, ...]:
        """Return the columns of verdicts ("judge") or labels ("human") that have usual names.

        InputError: several have, and they are not numbered as those of several judges or people.
        """
        first, second = _NAMES[role]
        numbered = _NUMBERED[role]
        free = [column for column in self._table.columns if column not in self.taken]
        empty = [column for column in free if self.profile(column).empty]
        free = [c for c in free if self.profile(c).answers or self.profile(c).numeric]
        named = [column for column in free if first.fullmatch(self._usual(column))]
        if not named:
            several = tuple(c for c in free if _is_numbered(self._usual(c), numbered))
            if several:
                return several
            named = [column for column in free if second.fullmatch(self._usual(column))]
            if len(named) > 1:  # a "reference" may be a text, and a "score" a number
                named = [column for column in named if self.profile(column).usual] or named
        if len(named) > 1:
            raise self._ambiguous(role, named)
        usual = (column for column in empty if is_usual_name(self._usual(column), role))
        return tuple(named or islice(usual, 1))

    def by_cells(self, role: str, advice: str = "") -> tuple[str, ...]:
        """Return the only column left whose cells are answers; InputError for none or several."""
        columns = [
            column
            for column in self._table.columns
            if column not in self.taken
            and self.profile(column).answers
            and not _NOT_ANSWERS.fullmatch(self._usual(column))
            and self._usual(column) not in (*GROUP_NAMES, *ID_NAMES)
        ]
        if len(columns) == 1:
            return tuple(columns)
        if columns:
            raise self._ambiguous(role, columns)
        missing = f"no column of {_CONTENT[role]} found"
        problem = f"{missing} (columns: {shown_names(self._table.columns)})"
        problem += f": name it with {OPTIONS[role]} COLUMN{advice}"
        raise InputError(problem, path=self._table.source)

    def _ambiguous(self, role: str, columns: Sequence[str]) -> InputError:
        first, second = (shlex.quote(shorten(column, 30)) for column in columns[:2])
        problem = (
            f"several columns could hold {_CONTENT[role]} ({shown_names(columns)}): name one or "
            f"more, such as {OPTIONS[role]} {first}"
        )
        if role == "judge" and all(map(self._holds_sides, columns)):
            problem += f"; for pairs judged in both orders: --a-first {first} --b-first {second}"
        return InputError(problem, path=self._table.source)

    def _holds_sides(self, column: str) -> bool:
        """Return whether the cells of a column say which of two answers is better."""
        cells = (read_cell(row.get(column)) for _, row in self._table.rows[:_SAMPLE])
        return {cell.word for cell in cells if not cell.blank} <= _SIDES


def _is_numbered(name: str, pattern: re.Pattern[str]) -> bool:
    return bool(pattern.fullmatch(name)) and not _NOT_ANSWERS.fullmatch(name)


def _profile(values: Sequence[Any]) -> ColumnProfile:
    cells = [cell for cell in map(read_cell, values) if not cell.blank]
    words = {cell.word for cell in cells}
    numbers = {cell.number for cell in cells if cell.number is not None}
    usual = 2 * sum(cell.truth is not None or bool(cell.reason) for cell in cells) > len(cells)
    numeric = 2 * sum(cell.number is not None for cell in cells) > len(cells)
    shares = numeric and all(0 <= number <= 1 for number in numbers)
    percent = all(0 <= number <= 100 for number in numbers)
    few = len(words) <= _MOST_DISTINCT and 2 * len(words) <= max(len(cells), 4)
    short = all(len(cell.text) <= MAX_WORD // 2 for cell in cells)
    return ColumnProfile(
        answers=bool(cells) and (usual or (few and short) or shares),
        usual=usual,
        numeric=numeric and (percent or len(numbers) <= _MOST_DISTINCT),
        empty=not cells,
        distinct=len(words),
        repeats=len(words) < len(cells),
    )
