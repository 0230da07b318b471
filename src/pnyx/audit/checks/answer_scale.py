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
from pnyx.errors import InputError, shorten

_SHOWN_WORDS = 6
_MOST_OTHER_WORDS = 10
"""Labels besides those of --yes that count as no; with more different ones, --no is required."""
_TRIVIAL = frozenset(("yes", "no", "true", "false", "1", "0"))


@dataclass(frozen=True, slots=True)
class AnswerPlace:
    """A cell with its line in the table."""

    line: int
    cell: AnswerCell


@dataclass(frozen=True)
class AnswerColumn:
    """A column of verdicts or of labels."""

    name: str
    side: Literal["judge", "human"]
    places: Sequence[AnswerPlace]

    @cached_property
    def said(self) -> list[AnswerPlace]:
        """The cells that say something."""
        return [place for place in self.places if not place.cell.blank and not place.cell.reason]

    @cached_property
    def numbers(self) -> frozenset[float]:
        """The different numbers."""
        return frozenset(p.cell.number for p in self.said if p.cell.number is not None)

    @cached_property
    def share(self) -> float:
        """The share of numbers among the cells that say something."""
        return sum(place.cell.number is not None for place in self.said) / len(self.said)

    @property
    def is_numeric(self) -> bool:
        """Whether it holds numbers; words among verdicts do not count if they are few."""
        if self.side == "human":
            return self.share == 1
        words = any(p.cell.truth is not None and p.cell.number is None for p in self.said)
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
    """The answers of a column, and why there is none where there is none."""

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
    cells = {column.name: [place.cell for place in column.said] for column in columns}
    for column in columns:
        if not cells[column.name]:
            what = "verdict" if column.side == "judge" else "label"
            raise column.error(f"no row has a {what}")
    chosen_yes, chosen_no = read_values(yes, "--yes", cells), read_values(no, "--no", cells)
    chosen = {name: choices_for(name, chosen_yes, chosen_no) for name in cells}
    kind = _kind_of(columns, chosen)
    if kind == "rating":
        mapped = [_mapped(column, _rating) for column in columns]
        return MappedAnswers(kind, mapped, ())
    mapped = []
    said: Counter[tuple[str, bool]] = Counter()
    for column in columns:
        choices = chosen[column.name]
        rule = _Rule(column, choices, _other_words(column, columns, choices))
        mapped.append(_mapped(column, rule.truth))
        _check_bounds(column, choices, mapped[-1].answers)
        for place, answer in zip(column.places, mapped[-1].answers, strict=True):
            if isinstance(answer, bool):
                said[rule.shown(place.cell), answer] += 1
    return MappedAnswers(kind, mapped, _mapping_notes(said))


def _mapped(column: AnswerColumn, answer_of: Callable[[AnswerPlace], Answer]) -> MappedColumn:
    answers = [answer_of(place) for place in column.places]
    reasons = {
        index: _reason(place.cell)
        for index, (place, answer) in enumerate(zip(column.places, answers, strict=True))
        if answer is None and (column.side == "judge" or not place.cell.blank)
    }
    return MappedColumn(answers, reasons)


def _rating(place: AnswerPlace) -> Answer:
    return None if place.cell.reason else place.cell.number


def _kind_of(columns: Sequence[AnswerColumn], chosen: Mapping[str, Choices]) -> Kind:
    if any(choices.yes or choices.no for choices in chosen.values()):
        return "yes-no"
    for column in columns:
        _check_numbers(column)
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


def _check_numbers(column: AnswerColumn) -> None:
    """Refuse a word among labels that are ratings."""
    if column.side == "human" and 0.5 < column.share < 1 and not column.is_binary:
        word = next(place for place in column.said if place.cell.number is None)
        found = f"found {shorten(word.cell.shown, 40)!r}"
        problem = f"{found}, expected a number ({column.range}), or an empty cell"
        raise column.error(problem, word.line)


def _mixed(column: AnswerColumn, scale: AnswerColumn) -> InputError:
    """Return the error of one column on a scale and another that is not on this one."""
    values = sorted(scale.numbers)
    upper = values[(len(values) + 1) // 2 :] or values[-1:]
    counted = ">=0.5" if values[-1] <= 1 else "=" + ",".join(f"{value:g}" for value in upper[-3:])
    content = _shown_words(place.cell for place in column.said)
    if column.is_numeric and not column.is_binary:
        content = f"numbers ({column.range})"
    return InputError(
        f"{scale.short} holds numbers ({scale.range}), {column.short} holds {content}: say which "
        f'numbers count as yes, such as --yes "{scale.name}{counted}"'
    )


def _shown_words(cells: Iterable[AnswerCell]) -> str:
    shown: dict[str, str] = {}
    for cell in cells:
        shown.setdefault(cell.word, shorten(cell.shown, 30))
    some = list(shown.values())[:_SHOWN_WORDS]
    more = ", ..." if len(shown) > _SHOWN_WORDS else ""
    return ", ".join(map(repr, some)) + more


def _reason(cell: AnswerCell) -> str:
    if cell.blank:
        return "empty"
    return cell.reason or f"not understood: {shorten(cell.shown, 60)}"


def _other_words(
    column: AnswerColumn, columns: Sequence[AnswerColumn], choices: Choices
) -> Mapping[str, bool]:
    """Return what words mean that are neither known nor named by --yes and --no.

    If --yes names words of the column, the others count as no, and the other way round. Among
    verdicts, these are only the words of labels, or a single word: others may be failures.
    """
    unknown = dict.fromkeys(
        place.cell.word
        for place in column.said
        if place.cell.is_unknown and choices.truth(place.cell) is None
    )
    named = {p.cell.word for p in column.said if choices.truth(p.cell) is not None}
    if not named or (choices.yes and choices.no) or not unknown:
        return {}
    truth = not choices.yes
    if column.side == "judge":
        labels = {p.cell.word for other in columns if other.side == "human" for p in other.said}
        shared = [word for word in unknown if word in labels]
        single = list(unknown) if len(unknown) == 1 and len(next(iter(unknown))) <= 30 else []
        return dict.fromkeys(shared or single, truth)
    if len(unknown) > _MOST_OTHER_WORDS:
        option = "--no" if choices.yes else "--yes"
        shown = _shown_words(p.cell for p in column.said if p.cell.word in unknown)
        found = f"{len(unknown):,} other labels ({shown})"
        raise column.error(f"{found}: name those that count with {option}")
    return dict.fromkeys(unknown, truth)


def _check_bounds(column: AnswerColumn, choices: Choices, answers: Sequence[Answer]) -> None:
    """Refuse a bound that was meant for another column: it counts every number as the same."""
    said = {answer for answer in answers if answer is not None}
    if len(said) != 1 or len(column.numbers) < 2 or not choices.has_bound or choices.is_own:
        return
    bound = next(value.text for value in choices.values if value.comparison)
    meant = "yes" if True in said else "no"
    raise column.error(
        f"{bound} counts every number ({column.range}) as {meant}: "
        f'name the column of each option, such as --yes "{column.short}{bound}"'
    )


class _Rule:
    """What the cells of one column count as."""

    def __init__(self, column: AnswerColumn, choices: Choices, others: Mapping[str, bool]) -> None:
        self._column, self._choices, self._others = column, choices, others
        self._named = any(choices.truth(place.cell) is not None for place in column.said)
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

    def truth(self, place: AnswerPlace) -> bool | None:
        """Return what a cell counts as; InputError for a label that is not understood."""
        cell = place.cell
        if cell.blank:
            return None
        named = self._choices.truth(cell)
        if named is not None or cell.reason:
            return named
        if self._by_number and cell.number is not None:
            if self._choices.yes and self._choices.no:
                self._check_understood(place)
                return None
            return not self._choices.yes
        if cell.truth is not None:
            return self._usual(place, cell.truth)
        if cell.word in self._others:
            return self._others[cell.word]
        self._check_understood(place)
        return None

    def shown(self, cell: AnswerCell) -> str:
        """Return what of a cell a note says: the bound that it fits, else the cell."""
        if cell.number is not None and self._choices.has_bound:
            values = self._choices.values
            bound = next((value.text for value in values if value.matches(cell)), "otherwise")
            return f"{shorten(self._column.name, 30)} {bound}"
        return shorten(cell.shown, 30)

    def _usual(self, place: AnswerPlace, truth: bool) -> bool:
        """Return what a usual word says, unless --yes or --no should have named it."""
        only_yes = bool(self._choices.yes) and not self._choices.no
        only_no = bool(self._choices.no) and not self._choices.yes
        if self._named and ((only_yes and truth) or (only_no and not truth)):
            option, word = ("--yes", "yes") if only_yes else ("--no", "no")
            shown = shorten(place.cell.shown, 30)
            problem = f"{shown!r} usually counts as {word}, but {option} does not name it: add it"
            raise self._column.error(problem, place.line)
        return truth

    def _check_understood(self, place: AnswerPlace) -> None:
        """Refuse a label that is not understood; such a verdict is unscored."""
        if self._column.side == "judge":
            return
        shown = shorten(place.cell.shown, 40)
        known = _shown_words(
            p.cell for p in self._column.said if self._choices.truth(p.cell) is None
            and p.cell.truth is not None
        )  # fmt: skip
        expected = f"expected yes or no as in {known}" if known else "expected yes or no"
        problem = f"found {shown!r}, {expected}: name it with --yes or --no, or leave it empty"
        raise self._column.error(problem, place.line)

    def _check_clear(self) -> None:
        """Refuse a column without a single usual answer, which --yes or --no must explain."""
        column, said = self._column, self._column.said
        if column.is_numeric and not column.is_binary:
            raise InputError(
                f"{column.short} holds numbers ({column.range}): say which count as yes, such as "
                f'--yes "{column.name}>=0.5"'
            )
        if any(place.cell.truth is not None for place in said):
            return
        words = Counter(place.cell.word for place in said).most_common()
        likely = next((word for word, _ in words if not seems_negative(word)), words[0][0])
        first = next(place.cell for place in said if place.cell.word == likely)
        shown = _shown_words(place.cell for place in said)
        example = f"--yes {shorten(first.shown, 30)!r}"
        raise InputError(f"{column.short} holds {shown}: say which count as yes, such as {example}")


def _mapping_notes(truths: Counter[tuple[str, bool]]) -> tuple[str, ...]:
    words: dict[bool, dict[str, str]] = {True: {}, False: {}}
    for (shown, truth), _ in truths.most_common():
        words[truth].setdefault(shown.casefold(), shown)
    if all(word in _TRIVIAL for known in words.values() for word in known):
        return ()
    parts = []
    for truth, name in ((True, "yes"), (False, "no")):
        some = list(words[truth].values())
        if some:
            shown = ", ".join(some[:_SHOWN_WORDS]) + (", ..." if len(some) > _SHOWN_WORDS else "")
            parts.append(f"{shown} {'counts' if len(some) == 1 else 'count'} as {name}")
    return ("; ".join(parts),)
