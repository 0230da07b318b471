"""Cells of verdicts and labels as answers: yes and no, or ratings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pnyx.audit.checks.answer_words import AnswerCell, seems_negative
from pnyx.audit.checks.choices import Choices, choices_for, read_values
from pnyx.audit.checks.items import Answer, Kind
from pnyx.core.errors import InputError, shorten

_SHOWN_WORDS = 6
_MOST_OTHER_WORDS = 10
"""Labels besides those of --yes that count as no; with more different ones, --no is required."""
_TRIVIAL = frozenset(("yes", "no", "true", "false", "1", "0"))


@dataclass(frozen=True)
class AnswerColumn:
    """A column of verdicts or of labels: its cells, and the line of each in the table."""

    name: str
    side: Literal["judge", "human"]
    cells: Sequence[AnswerCell]
    lines: Sequence[int]

    @cached_property
    def answers(self) -> list[AnswerCell]:
        """The cells that hold an answer: not empty ones, nor reasons why there is none."""
        return [cell for cell in self.cells if not cell.blank and not cell.reason]

    @cached_property
    def numbers(self) -> frozenset[float]:
        """The distinct numbers."""
        return frozenset(cell.number for cell in self.answers if cell.number is not None)

    @cached_property
    def share(self) -> float:
        """The share of numbers among the answers."""
        return sum(cell.number is not None for cell in self.answers) / len(self.answers)

    @property
    def is_numeric(self) -> bool:
        """Whether it holds numbers; words among verdicts do not count if they are few."""
        if self.side == "human":
            return self.share == 1
        words = any(cell.truth is not None and cell.number is None for cell in self.answers)
        return not words and self.share > 0.5

    @property
    def is_binary(self) -> bool:
        """Whether no number is other than 0 and 1."""
        return self.numbers <= {0.0, 1.0}

    @property
    def range(self) -> str:
        """The least and the largest number, for messages."""
        return f"{min(self.numbers):g} to {max(self.numbers):g}"

    @property
    def short(self) -> str:
        """Its name, for messages."""
        return shorten(self.name, 40)

    def error(self, problem: str, line: int | None = None) -> InputError:
        """Return the error of a problem with this column."""
        return InputError(f"{self.short}: {problem}", line=line)


@dataclass(frozen=True, slots=True)
class MappedColumn:
    """The answers of a column, and the reason for each missing answer."""

    answers: Sequence[Answer]
    reasons: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class MappedAnswers:
    """Answers of all columns, in their order; `notes` say what counts as yes and as no."""

    kind: Kind
    columns: Sequence[MappedColumn]
    notes: tuple[str, ...]


def map_answers(
    columns: Sequence[AnswerColumn], yes: Sequence[str], no: Sequence[str]
) -> MappedAnswers:
    """Map the cells of all columns to yes and no, or to ratings if both sides have ratings.

    InputError: it is not clear what counts as yes, or a label is not understood.
    """
    cells: dict[str, list[AnswerCell]] = {}  # a judge and a person may have the same name
    for column in columns:
        if not column.answers:
            what = "verdict" if column.side == "judge" else "label"
            raise column.error(f"no row has a {what}")
        cells.setdefault(column.name, []).extend(column.answers)
    chosen_yes, chosen_no = read_values(yes, "--yes", cells), read_values(no, "--no", cells)
    chosen = {name: choices_for(name, chosen_yes, chosen_no) for name in cells}
    kind = _kind_of(columns, chosen)
    if kind == "rating":
        mapped = [_mapped(column, _rating) for column in columns]
        return MappedAnswers(kind, mapped, ())
    mapped = []
    truths: Counter[tuple[str, bool]] = Counter()
    for column in columns:
        choices = chosen[column.name]
        rule = _Rule(column, choices, _other_words(column, columns, choices))
        mapped.append(_mapped(column, rule.truth))
        _check_bounds(column, choices, mapped[-1].answers)
        for cell, answer in zip(column.cells, mapped[-1].answers, strict=True):
            if isinstance(answer, bool):
                truths[rule.description(cell), answer] += 1
    return MappedAnswers(kind, mapped, _mapping_notes(truths))


def _mapped(column: AnswerColumn, answer_of: Callable[[AnswerCell, int], Answer]) -> MappedColumn:
    answers = list(map(answer_of, column.cells, column.lines))
    reasons = {
        index: _reason(cell)
        for index, (cell, answer) in enumerate(zip(column.cells, answers, strict=True))
        if answer is None and (column.side == "judge" or not cell.blank)
    }
    return MappedColumn(answers, reasons)


def _rating(cell: AnswerCell, _line: int) -> Answer:
    return None if cell.reason else cell.number


def _kind_of(columns: Sequence[AnswerColumn], chosen: Mapping[str, Choices]) -> Kind:
    if any(choices.yes or choices.no for choices in chosen.values()):
        return "yes-no"
    for column in columns:
        if column.side == "human" and 0.5 < column.share < 1 and not column.is_binary:
            word = next(cell for cell in column.answers if cell.number is None)
            expected = f"expected a number ({column.range}), or an empty cell"
            problem = f"found {shorten(word.text, 40)!r}, {expected}"
            raise column.error(problem, column.lines[column.cells.index(word)])
    scales = [column for column in columns if column.is_numeric and not column.is_binary]
    if not scales:
        return "yes-no"
    graded = [column for column in scales if max(column.numbers) >= 2]
    for column in columns:
        fits = column in scales or any(
            min(scale.numbers) <= min(column.numbers) <= max(column.numbers) <= max(scale.numbers)
            for scale in graded
            if column.is_numeric
        )
        if not fits:
            raise _mixed(column, scales[0])
    shares = [column for column in scales if max(column.numbers) <= 1]
    if shares and graded:
        raise _mixed(shares[0], graded[0])
    return "rating"


def _mixed(column: AnswerColumn, scale: AnswerColumn) -> InputError:
    """Return the error for a column whose answers are not on the scale of another."""
    values = sorted(scale.numbers)
    upper = values[(len(values) + 1) // 2 :] or values[-1:]
    counted = ">=0.5" if values[-1] <= 1 else "=" + ",".join(f"{value:g}" for value in upper[-3:])
    content = _word_list(column.answers)
    if column.is_numeric and not column.is_binary:
        content = f"numbers ({column.range})"
    return InputError(
        f"{scale.short} holds numbers ({scale.range}), {column.short} holds {content}: say which "
        f'numbers count as yes, such as --yes "{scale.name}{counted}"'
    )


def _word_list(cells: Iterable[AnswerCell]) -> str:
    """Return the first distinct words of cells, quoted, for a message."""
    words: dict[str, str] = {}
    for cell in cells:
        words.setdefault(cell.word, shorten(cell.text, 30))
    first = list(words.values())[:_SHOWN_WORDS]
    more = ", ..." if len(words) > _SHOWN_WORDS else ""
    return ", ".join(map(repr, first)) + more


def _reason(cell: AnswerCell) -> str:
    if cell.blank:
        return "empty"
    return cell.reason or f"not understood: {shorten(cell.text, 60)}"


def _other_words(
    column: AnswerColumn, columns: Sequence[AnswerColumn], choices: Choices
) -> Mapping[str, bool]:
    """Return the answers for unusual words that neither --yes nor --no names.

    If --yes names words of the column, the others count as no, and vice versa. Among
    verdicts, these are only the words of labels, or a single word: others may be failures.
    """
    truths = [(cell, choices.truth(cell)) for cell in column.answers]
    unknown = dict.fromkeys(
        cell.word for cell, truth in truths if truth is None and cell.is_unknown
    )
    is_named = any(truth is not None for _, truth in truths)
    if not is_named or (choices.yes and choices.no) or not unknown:
        return {}
    truth = not choices.yes
    if column.side == "judge":
        labels = {cell.word for c in columns if c.side == "human" for cell in c.answers}
        shared = [word for word in unknown if word in labels]
        single = list(unknown) if len(unknown) == 1 and len(next(iter(unknown))) <= 30 else []
        return dict.fromkeys(shared or single, truth)
    if len(unknown) > _MOST_OTHER_WORDS:
        option = "--no" if choices.yes else "--yes"
        words = _word_list(cell for cell in column.answers if cell.word in unknown)
        problem = f"{len(unknown):,} other labels ({words}): name those that count with {option}"
        raise column.error(problem)
    return dict.fromkeys(unknown, truth)


def _check_bounds(column: AnswerColumn, choices: Choices, answers: Sequence[Answer]) -> None:
    """Refuse a bound that was meant for another column: it counts every number as the same."""
    truths = {answer for answer in answers if answer is not None}
    if len(truths) != 1 or len(column.numbers) < 2 or not choices.has_bound or choices.for_column:
        return
    bound = next(value.text for value in choices.values if value.comparison)
    meant = "yes" if True in truths else "no"
    raise column.error(
        f"{bound} counts every number ({column.range}) as {meant}: "
        f'name the column of each option, such as --yes "{column.short}{bound}"'
    )


class _Rule:
    """The rule that maps the cells of one column to answers."""

    def __init__(self, column: AnswerColumn, choices: Choices, others: Mapping[str, bool]) -> None:
        self._column, self._choices, self._others = column, choices, others
        self._named = any(choices.truth(cell) is not None for cell in column.answers)
        self._by_number = choices.on_numbers and self._numbers_named()
        if not self._named and not self._by_number:
            self._check_clear()

    def _numbers_named(self) -> bool:
        """Whether numbers that are not named count as the opposite of those that are."""
        column = self._column
        if not column.is_numeric:
            return False
        if self._named or self._choices.has_bound:
            return True
        if not column.is_binary:
            return all(number.is_integer() for number in column.numbers)
        if column.numbers == {1.0}:
            option = f'add --yes or --no "{column.name}=1"'
            raise column.error(f"every number is 1, and --yes does not name it: {option}")
        return False

    def truth(self, cell: AnswerCell, line: int) -> bool | None:
        """Return the answer in a cell; InputError for a label that is not understood."""
        if cell.blank:
            return None
        named = self._choices.truth(cell)
        if named is not None or cell.reason:
            return named
        if self._by_number and cell.number is not None:
            if self._choices.yes and self._choices.no:
                self._check_understood(cell, line)
                return None
            return not self._choices.yes
        if cell.truth is not None:
            self._check_named(cell, line)
            return cell.truth
        if cell.word in self._others:
            return self._others[cell.word]
        self._check_understood(cell, line)
        return None

    def description(self, cell: AnswerCell) -> str:
        """Return how a note describes a cell: the bound that it meets, else its text."""
        if cell.number is not None and self._choices.has_bound:
            values = self._choices.values
            bound = next((value.text for value in values if value.matches(cell)), "otherwise")
            return f"{shorten(self._column.name, 30)} {bound}"
        return shorten(cell.text, 30)

    def _check_named(self, cell: AnswerCell, line: int) -> None:
        """Refuse a usual word that --yes or --no should name and does not."""
        only_yes = bool(self._choices.yes) and not self._choices.no
        only_no = bool(self._choices.no) and not self._choices.yes
        if self._named and ((only_yes and cell.truth) or (only_no and not cell.truth)):
            option, word = ("--yes", "yes") if only_yes else ("--no", "no")
            text = shorten(cell.text, 30)
            problem = f"{text!r} usually counts as {word}, but {option} does not name it: add it"
            raise self._column.error(problem, line)

    def _check_understood(self, cell: AnswerCell, line: int) -> None:
        """Refuse a label that is not understood; such a verdict is unscored."""
        if self._column.side == "judge":
            return
        usual = _word_list(
            answer
            for answer in self._column.answers
            if answer.truth is not None and self._choices.truth(answer) is None
        )
        expected = f"expected yes or no as in {usual}" if usual else "expected yes or no"
        text = shorten(cell.text, 40)
        problem = f"found {text!r}, {expected}: name it with --yes or --no, or leave it empty"
        raise self._column.error(problem, line)

    def _check_clear(self) -> None:
        """Refuse a column without a single usual answer, which --yes or --no must explain."""
        column = self._column
        if column.is_numeric and not column.is_binary:
            raise InputError(
                f"{column.short} holds numbers ({column.range}): say which count as yes, such as "
                f'--yes "{column.name}>=0.5"'
            )
        if any(cell.truth is not None for cell in column.answers):
            return
        words = Counter(cell.word for cell in column.answers).most_common()
        likely = next((word for word, _ in words if not seems_negative(word)), words[0][0])
        first = next(cell for cell in column.answers if cell.word == likely)
        holds = f"{column.short} holds {_word_list(column.answers)}"
        example = f"--yes {shorten(first.text, 30)!r}"
        raise InputError(f"{holds}: say which count as yes, such as {example}")


def _mapping_notes(truths: Counter[tuple[str, bool]]) -> tuple[str, ...]:
    words: dict[bool, dict[str, str]] = {True: {}, False: {}}
    for (text, truth), _ in truths.most_common():
        words[truth].setdefault(text.casefold(), text)
    if words[True].keys() | words[False].keys() <= _TRIVIAL:
        return ()
    parts = []
    for truth, name in ((True, "yes"), (False, "no")):
        texts = list(words[truth].values())
        if texts:
            more = ", ..." if len(texts) > _SHOWN_WORDS else ""
            count = "counts" if len(texts) == 1 else "count"
            parts.append(f"{', '.join(texts[:_SHOWN_WORDS])}{more} {count} as {name}")
    return ("; ".join(parts),)
