"""Which columns of a table hold verdicts, labels, groups and ids: as named, or by usual names."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pnyx.audit.checks.answer_words import MAX_WORD, read_cell
from pnyx.audit.checks.check_rows import TableRows
from pnyx.errors import InputError, shorten

JUDGE_NAMES: Final = (
    frozenset(
        """verdict judge_verdict judge llm llm_judge judge_label llm_label llm_verdict model_label
        model_verdict judgment judgement judge_judgment judge_judgement judge_score judge_rating
        llm_score llm_rating llm_grade judge_grade judge_pass judge_passed judge_decision
        judge_result judge_output auto_label auto_verdict auto_grade machine_label predicted_label
        predicted_verdict prediction predictions predicted pred y_pred ai_label ai_verdict ai_score
        ai_judge gpt_label evaluator_label grader_label llm_as_a_judge llm_as_judge verdict_llm
        label_llm label_judge judge_evaluation urteil urteil_modell modellurteil""".split()
    ),
    frozenset(
        "passed pass score result decision outcome eval evaluation grade success value rating"
        " verdicts scores".split()
    ),
)
HUMAN_NAMES: Final = (
    frozenset(
        """human human_label human_labels human_verdict human_score human_rating human_grade
        human_judgment human_judgement human_annotation human_pass human_passed human_decision
        human_evaluation human_eval human_feedback gold gold_label golden golden_label label_human
        label_gold manual manual_label manual_score expert expert_label expert_score ground_truth
        ground_truth_label groundtruth expected_label expected_verdict reference_label true_label
        y_true annotator_label annotator_verdict annotation annotated_label person reviewer
        reviewer_label reviewer_verdict sme sme_label truth target_label user_label label_expert
        ist_label mensch urteil_mensch""".split()
    ),
    frozenset(
        "label labels annotator rater expected target correct is_correct user_feedback feedback"
        " thumbs reference".split()
    ),
)
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
_NUMBERED_JUDGES: Final = re.compile(
    r"(?:judge|llm|llm_judge|verdict|grader|evaluator|prediction|pred|model)_?(?:\d+|[a-z])"
    r"|(?:judge|verdict|llm_judge)_\w+|\w+_(?:judge|verdict)"
)
_NUMBERED_PEOPLE: Final = re.compile(
    r"(?:human|annotator|rater|expert|reviewer|labell?er|coder|person|sme|label|annotation|gold)"
    r"_?(?:\d+|[a-z])|(?:human|annotator|rater|expert|reviewer|labell?er|coder)_\w+"
)
_NOT_ANSWERS: Final = re.compile(
    r".*(?:^|_)(?:confidence|confidences?|prob|probs|probability|p|p_yes|wahrscheinlichkeit|konfidenz|cost|latency|tokens?|"
    r"seconds|time|timestamp|date|duration|id|ids|model|name|names|reason|reasoning|rationale|"
    r"explanation|comment|comments|notes?|text|prompt|raw|error|weight|length|count)"
)
_SIDES: Final = frozenset(("a", "b", "tie"))
_SAMPLE = 2000
"""Rows by which columns are guessed."""
_MOST_DISTINCT = 12
OPTIONS: Final = {"judge": "--judge", "human": "--human", "group": "--group"}
_WHAT: Final = {"judge": "verdicts", "human": "labels"}


def usual_name(column: str) -> str:
    """Return the name of a column in lower case with underscores: `humanLabel` is human_label."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", column.strip())
    return re.sub(r"\W+|_+", "_", split).strip("_").lower()


def named_column(name: str, columns: Sequence[str], source: str) -> str:
    """Return the column of this name, in any case if only one has it; InputError for none."""
    if name in columns:
        return name
    for form in (lambda text: str(text).strip().casefold(), usual_name):
        same = [column for column in columns if form(column) == form(name)]
        if len(same) == 1:
            return same[0]
        if same:
            shown = ", ".join(shorten(column, 30) for column in same)
            raise InputError(f"column {shorten(name, 40)!r} is one of {shown}", path=source)
    close = difflib.get_close_matches(name.casefold(), [c.casefold() for c in columns], 1)
    meant = next((column for column in columns if close and column.casefold() == close[0]), None)
    hint = f"; did you mean {shorten(meant, 40)}?" if meant else ""
    shown = ", ".join(shorten(column, 30) for column in columns[:20])
    more = ", ..." if len(columns) > 20 else ""
    found = f"no column {shorten(name, 40)!r}"
    raise InputError(f"{found} (columns: {shown}{more}){hint}", path=source)


@dataclass(frozen=True, slots=True)
class Profile:
    """What the cells of a column look like.

    Attributes:
        answers: they could be verdicts or labels.
        known: most of them are usual words for yes and no, or 1 and 0.
        numeric: most of them are numbers, few different ones or from 0 to 100.
        empty: no cell says anything.
        distinct: how many different ones there are.
        repeats: some occur more than once.
    """

    answers: bool
    known: bool
    numeric: bool
    empty: bool
    distinct: int
    repeats: bool


class ColumnGuess:
    """Columns of a table by their usual names and their cells."""

    def __init__(self, table: TableRows, taken: Collection[str]) -> None:
        self._table, self.taken = table, set(taken)
        self._profiles: dict[str, Profile] = {}

    def profile(self, column: str) -> Profile:
        """Return what a column's cells look like."""
        if column not in self._profiles:
            self._profiles[column] = _profile(
                [r.get(column) for _, r in self._table.rows[:_SAMPLE]]
            )
        return self._profiles[column]

    def first(self, names: Sequence[str], fits: Callable[[Profile], bool] | None = None) -> str:
        """Return the first column that is not taken, has a usual name and fits, else nothing."""
        usual = {usual_name(c): c for c in reversed(self._table.columns) if c not in self.taken}
        found = (usual[name] for name in names if name in usual)
        return next((c for c in found if fits is None or fits(self.profile(c))), "")

    def by_name(self, role: str) -> tuple[str, ...]:
        """Return the columns of verdicts ("judge") or labels ("human") that have usual names.

        InputError: several have, and they are not numbered as those of several judges or people.
        """
        tiers = JUDGE_NAMES if role == "judge" else HUMAN_NAMES
        numbered = _NUMBERED_JUDGES if role == "judge" else _NUMBERED_PEOPLE
        free = [column for column in self._table.columns if column not in self.taken]
        empty = [column for column in free if self.profile(column).empty]
        free = [c for c in free if self.profile(c).answers or self.profile(c).numeric]
        for number, tier in enumerate(tiers):
            columns = [column for column in free if usual_name(column) in tier]
            if not columns and number == 0:
                columns = [c for c in free if _is_numbered(usual_name(c), numbered)]
                if columns:
                    return tuple(columns)
            if len(columns) > 1:
                raise self._ambiguous(role, columns)
            if columns:
                return tuple(columns)
        return tuple([c for c in empty if any(usual_name(c) in tier for tier in tiers)][:1])

    def by_cells(self, role: str) -> tuple[str, ...]:
        """Return the only column left whose cells are answers; InputError for none or several."""
        columns = [
            column
            for column in self._table.columns
            if column not in self.taken
            and self.profile(column).answers
            and not _NOT_ANSWERS.fullmatch(usual_name(column))
            and usual_name(column) not in (*GROUP_NAMES, *ID_NAMES)
        ]
        if len(columns) == 1:
            return tuple(columns)
        if columns:
            raise self._ambiguous(role, columns)
        shown = ", ".join(shorten(column, 30) for column in self._table.columns[:20])
        what = f"no column of {_WHAT[role]} found (columns: {shown})"
        raise InputError(f"{what}: name it with {OPTIONS[role]} COLUMN", path=self._table.source)

    def _ambiguous(self, role: str, columns: Sequence[str]) -> InputError:
        shown = ", ".join(shorten(column, 30) for column in columns[:20])
        what = f"several columns could hold {_WHAT[role]} ({shown})"
        option = OPTIONS[role]
        problem = (
            f"{what}: name one or more, such as {option} {shlex.quote(shorten(columns[0], 30))}"
        )
        if role == "judge" and len(columns) > 1 and all(map(self._holds_sides, columns)):
            first, second = (shlex.quote(shorten(c, 30)) for c in columns[:2])
            problem += f"; for pairs judged in both orders: --a-first {first} --b-first {second}"
        return InputError(problem, path=self._table.source)

    def _holds_sides(self, column: str) -> bool:
        """Say whether the cells of a column say which of two answers is better."""
        cells = (read_cell(row.get(column)) for _, row in self._table.rows[:_SAMPLE])
        return {cell.word for cell in cells if not cell.blank} <= _SIDES


def _is_numbered(name: str, pattern: re.Pattern[str]) -> bool:
    return bool(pattern.fullmatch(name)) and not _NOT_ANSWERS.fullmatch(name)


def _profile(values: Sequence[Any]) -> Profile:
    cells = [cell for cell in map(read_cell, values) if not cell.blank]
    words = {cell.word for cell in cells}
    known = [cell for cell in cells if cell.truth is not None or cell.reason]
    numbers = {cell.number for cell in cells if cell.number is not None}
    few = len(words) <= _MOST_DISTINCT and 2 * len(words) <= max(len(cells), 4)
    short = all(len(cell.shown) <= MAX_WORD // 2 for cell in cells)
    shares = bool(numbers) and all(0 <= number <= 1 for number in numbers)
    percent = bool(numbers) and all(0 <= number <= 100 for number in numbers)
    mostly = 2 * len(known) > len(cells)
    numeric = 2 * sum(cell.number is not None for cell in cells) > len(cells)
    answers = bool(cells) and (mostly or (few and short) or (numeric and shares))
    numeric = numeric and (percent or len(numbers) <= _MOST_DISTINCT)
    return Profile(answers, mostly, numeric, not cells, len(words), len(words) < len(cells))
