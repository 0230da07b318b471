"""Human labels, and their join with a judge's verdicts (docs/reference/measures.md)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx.core.tabular import Result
from pnyx.formats import read_qrels
from pnyx.formats.base import located
from pnyx.formats.label_words import ADJUDICATED, GRADE_WORDS, PARTLY
from pnyx.judging.labels import consensus, counted
from pnyx.judging.measures.pairs import Gold, Pair, PairColumns
from pnyx.judging.value_rows import joined_values, rows_in_form
from pnyx.judging.verdicts import (
    YES_NO_TASKS,
    Source,
    Verdict,
    VerdictRow,
    file_of,
    of_one_judge,
    read_verdict_rows,
    shown_value,
    yes_or_no,
)

Key: TypeAlias = tuple[str, str]  # (id, dimension); the dimension is empty except for ratings
LabelKey: TypeAlias = str | Key  # The id alone if there is no dimension

Truth: TypeAlias = Callable[[Verdict], bool | None]
"""Returns whether a pair is relevant; None if it is not labelled."""

_LARGEST = 1e9
"""Larger ratings, gains and labels are refused: their squares would lose all precision."""

_TAKEN: Mapping[str, tuple[str, ...]] = {
    "support": ("support", "perspectives", "stance", *YES_NO_TASKS),
    "relevance": ("relevance", *YES_NO_TASKS),
    "quality": ("quality",),
}
"""Measured task -> tasks whose answers it accepts; the first match is the default."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Combined labels by key; questions without a majority are `tied` and have none.

    `scale_note` warns that numbers look like a scale on which no label is a no; else empty.
    """

    gold: Mapping[LabelKey, Gold]
    tied: frozenset[LabelKey] = frozenset()
    scale_note: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class LabelledVerdicts(Result):
    """A judge's answers with labels of the same questions, on support, relevance or quality.

    `tied` counts labels without a majority, which are left out; `labels_without_answer` those whose
    question has no answer; `unlabelled` counts answers without a usable label by group and value.
    Only some of the verdicts' `extra` is kept. `scale_note`: as in `Labels`.
    """

    task: str
    judge: str
    pairs: Sequence[Pair]
    answers_without_label: int = 0
    labels_without_answer: int = 0
    tied: int = 0
    unlabelled: Mapping[tuple[str, Any], int] = field(default_factory=dict)
    scale_note: str = ""

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each pair: the judge's verdict on an item, and its label."""
        return [
            {
                "id": pair.verdict.id,
                "group": pair.group or None,
                "dimension": pair.verdict.dimension or None,
                "value": pair.verdict.value,
                "probability": pair.verdict.probability,
                "label": pair.gold.rating if self.task == "quality" else pair.gold.yes,
                "unscored": pair.verdict.unscored or None,
            }
            for pair in self.pairs
        ]

    def _heading(self) -> list[str]:
        judge = f" of {shorten(self.judge)}" if self.judge else ""
        return [
            f"{len(self.pairs):,} answers{judge} with labels ({self.task})",
            f"{self.answers_without_label:,} answers without a label, "
            f"{self.labels_without_answer:,} labels without an answer, {self.tied:,} tied labels",
        ]


class _Scale:
    """Detects numbers that all count as yes although they look like a scale or like shares."""

    def __init__(self) -> None:
        self._least, self._largest, self._has_no, self._count = math.inf, -math.inf, False, 0

    def add(self, grade: float) -> None:
        """Add a label."""
        self._count += 1
        self._has_no |= grade <= 0
        self._least, self._largest = min(self._least, grade), max(self._largest, grade)

    def note(self) -> str:
        """Return a warning, or "" if some label is a no or all are 1."""
        if self._has_no or not self._count or self._least == self._largest == 1:
            return ""
        span = f"{self._least:g} to {self._largest:g}"
        return (
            f"no label is a no: the {self._count:,} labels are numbers from {span}, and a number "
            "above 0 counts as yes; write 0, no or false for no"
        )


class _Label(NamedTuple):
    """One person's label of an item."""

    line: int
    group: str
    grade: float
    gain: float | None
    uncertain: bool | None
    graded: bool


def _label(row: VerdictRow, task: str) -> _Label:
    """Read one label; `graded` is whether its value is a grade rather than yes or no."""
    verdict, _, value, _, line = row
    gain, unsure = verdict.extra.get("gain"), verdict.extra.get("uncertain")
    partly = isinstance(value, str) and value.strip().lower() == PARTLY
    return _Label(
        line if verdict.group else 0,  # so that equal labels without a group can be shared
        verdict.group,
        _rating(value, "value") if task == "quality" else grade_of(value),
        None if gain is None else _rating(gain, "gain"),
        None if unsure is None else unsure > 0,
        partly or not isinstance(value, bool | str),
    )


def _key(row: VerdictRow) -> LabelKey:
    return (row[1], row[0].dimension) if row[0].dimension else row[1]


def _sorted_by(key: LabelKey) -> tuple[str, str]:
    return key if isinstance(key, tuple) else (key, "")


def _votes(source: Source, task: str) -> Iterator[tuple[LabelKey, bool, _Label]]:
    """Yield each label: its key, whether it is decisive, and its content."""
    last, alike = None, dict[bool, _Label]()
    for row in read_verdict_rows(source, "labels"):
        if row[0] is not last:
            last, alike = row[0], {}
        value = row[2]
        label = alike.get(value) if isinstance(value, bool) and not last.group else None
        if label is None:
            try:
                label = _label(row, task)
            except InputError as error:
                raise located(error, _path(source), row[4]) from error
            if isinstance(value, bool):
                alike[value] = label
        yield _key(row), last.annotator == ADJUDICATED, label


def read_labels(source: Source, task: str) -> Labels:
    """Read labels; several annotators are combined (`grade_of`), `adjudicated` counts alone."""
    votes, several = counted(_votes(source, task))
    every = chain(votes.values(), *several.values())
    explicit = graded = False
    for label in every:
        explicit, graded = explicit or label.gain is not None, graded or label.graded
    scale = _Scale()
    for label in chain(votes.values(), *several.values()) if graded and task != "quality" else ():
        scale.add(label.grade)
    gold: dict[LabelKey, Gold] = {}
    single: dict[_Label, Gold] = {}
    alike: dict[Gold, Gold] = {}  # Most labels of a group are equal
    tied = set[LabelKey]()
    for key, first in votes.items():
        labels = several.get(key) or [first]
        if len(labels) == 1 and first in single:
            gold[key] = single[first]
            continue
        group = _one_group(labels, source)
        grades = [label.grade for label in labels]
        if task == "quality":
            combined = Gold(rating=_mean(grades), group=group)
        elif (yes := consensus([grade > 0 for grade in grades])) is not None:
            stated = [label.gain for label in labels if label.gain is not None]
            gains = stated if explicit else grades if graded else []
            unsure = [label.uncertain for label in labels if label.uncertain is not None]
            combined = Gold(yes, _mean(gains), consensus(unsure), group=group)
        else:
            tied.add(key)
            continue
        gold[key] = alike.setdefault(combined, combined)
        if len(labels) == 1:
            single[first] = gold[key]
    return Labels(gold, frozenset(tied), scale.note())


def _one_group(labels: Sequence[_Label], source: Source) -> str:
    first = labels[0].group
    for label in labels:
        if label.group != first:
            names = f"{shorten(label.group, 40)!r} and {shorten(first, 40)!r}"
            problem = InputError(f"group: found {names} for the same id, expected one")
            raise located(problem, _path(source), label.line or labels[0].line)
    return first


def _path(source: Source) -> str:
    return file_of(source) if isinstance(source, str | Path) else "rows"


def grade_of(value: Any) -> float:
    """Return the grade of a label, yes if above 0; InputError if it is not valid."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and value.strip().lower() in GRADE_WORDS:
        return GRADE_WORDS[value.strip().lower()]
    if isinstance(value, str | list):
        expected = "true, false, yes, no, partially or a number"
        raise InputError(f"value: found {shown_value(value)}, expected {expected}")
    return _rating(value, "value")


def _rating(value: Any, name: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST:
        return float(value)
    expected = f"a number of at most {_LARGEST:.0f}"
    raise InputError(f"{name}: found {shown_value(value)}, expected {expected}")


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def join_labels(
    answers: Source,
    labels: Source | None = None,
    task: str | None = None,
    *,
    judge: str | None = None,
) -> LabelledVerdicts:
    """Join a judge's answers with labels on id and dimension.

    Args:
        answers: answers JSONL, a results folder, `-`, the result of `pnyx.ask`, id -> value, or a
            data frame or rows with `id` and `value`. Lists of values are joined by position, two
            pandas series by index.
        labels: labels JSONL, `-`, or the same in memory; by default each answer's own field
            `label`, copied from its item.
        task: support, relevance or quality; by default the task of the first answer.
        judge: the judge whose answers count, if there are several.

    Raises:
        InputError: a line is malformed or occurs twice, the answers have another task or several
            judges, or no answer has a label.
        ValueError: the task is unknown.
    """
    if task is not None and task not in _TAKEN:
        raise ValueError(f"no task {task!r}, expected support, relevance or quality")
    if not isinstance(answers, str | Path):
        answers, labels = joined_values(answers, labels)
        answers = rows_in_form(answers, "answers", task)
    taken: dict[str, str] = {}  # the answers' task -> the measured task
    last: Verdict | None = None

    def checked(row: VerdictRow) -> VerdictRow:
        nonlocal last
        verdict, key, value, probability, line = row
        if verdict is not last:
            _check_task(verdict.task, taken, task)
            last = verdict
        if (value is not None and not isinstance(value, bool)) or task == "quality":
            value = _answer(value, taken[verdict.task])
        return verdict, key, value, probability, line

    rows = iter(
        _distinct(answers, of_one_judge(read_verdict_rows(answers), judge, answers, checked))
    )
    first = next(rows)
    task = next(iter(taken.values()))
    gold = None if labels is None else read_labels(labels, task)
    joining = _Joining(gold, _path(answers))
    for row in chain((first,), rows):
        joining.add(row)
    return joining.joined(task, first[0].judge)


def _check_task(task: str, taken: dict[str, str], wanted: str | None) -> None:
    """Record the measured task of the answers; InputError if they cannot be measured."""
    measured = wanted or next((n for n, tasks in _TAKEN.items() if task in tasks), "support")
    if task not in _TAKEN[measured]:
        expected = " or ".join(_TAKEN[measured])
        raise InputError(f"task: found {shorten(task, 40)!r}, expected {expected}")
    if taken and task not in taken:
        order = f"{task!r} after {next(iter(taken))!r}"
        raise InputError(f"task: found {order}, expected one task in the file")
    taken[task] = measured


def _distinct(source: Source, rows: Iterator[VerdictRow]) -> Iterable[VerdictRow]:
    """Keep the last of several verdicts on an item in memory; files cannot have several."""
    if isinstance(source, str | Path):
        return rows
    return {_key(row): row for row in rows}.values()


class _Joining:
    """Answers joined with labels one by one; without labels, with their own field `label`."""

    def __init__(self, labels: Labels | None, path: str) -> None:
        self._own, self._path = labels is None, path
        self._labels = labels or Labels({})
        self._pairs, self._unlabelled, self._tied = PairColumns(), 0, False
        self._shown: list[LabelKey] = []
        self._others = Counter[tuple[str, Any]]()
        self._scale, self._graded = _Scale(), False

    def add(self, row: VerdictRow) -> None:
        """Add an answer."""
        key = _key(row)
        gold = self._own_label(row) if self._own else self._labels.gold.get(key)
        if gold is not None:
            self._pairs.add(row, gold)
            return
        if len(self._shown) < 2:
            self._shown.append(key)
        tied = key in self._labels.tied
        if not row[0].dimension:
            self._others[row[0].group or row[0].question_id, row[2]] += 1
        self._tied |= tied
        self._unlabelled += not tied

    def _own_label(self, row: VerdictRow) -> Gold | None:
        label = row[0].extra.get("label")
        if label is None:
            return None
        try:
            grade = grade_of(label)
        except InputError as error:
            problem = InputError(f"label: {error.problem.removeprefix('value: ')}")
            raise located(problem, self._path, row[4]) from error
        self._graded |= not isinstance(label, bool | str)
        self._scale.add(grade)
        return _OWN[grade > 0]

    def joined(self, task: str, judge: str) -> LabelledVerdicts:
        """Return the joined pairs; InputError if there are none."""
        if not len(self._pairs):
            raise InputError(self._no_pairs(), path=self._path)
        return LabelledVerdicts(
            task,
            judge,
            self._pairs.by_id(),
            answers_without_label=self._unlabelled,
            labels_without_answer=0 if self._own else len(self._labels.gold) - len(self._pairs),
            tied=len(self._labels.tied),
            unlabelled=self._others,
            scale_note=self._scale.note() if self._graded else self._labels.scale_note,
        )

    def _no_pairs(self) -> str:
        def shown(keys: Sequence[LabelKey]) -> str:
            names = (" ".join(filter(None, _sorted_by(key))) for key in keys[:2])
            return ", ".join(repr(shorten(name, 40)) for name in names) or "none"

        if self._tied:
            return "no answer has a label that is not tied"
        labelled = [*islice(self._labels.gold, 2), *self._labels.tied]
        return (
            f"no answer has a label (answers are to {shown(self._shown)}; "
            f"labels are of {shown(labelled)})"
        )


_OWN = (Gold(yes=False), Gold(yes=True))


def _answer(value: Any, task: str) -> Any:
    if task == "quality":
        return None if value is None else _rating(value, "value")
    if isinstance(value, str):  # unlike a label, a judge's answer is never written in words
        raise InputError(f"value: found {shown_value(value)}, expected true, false or null")
    return yes_or_no(value)


def truth_of_labels(source: Source) -> Truth:
    """Return a function that looks up human labels by id; of several, the majority counts."""
    gold = read_labels(source, "relevance").gold

    def truth(verdict: Verdict) -> bool | None:
        label = gold.get(verdict.id)
        return None if label is None else label.yes

    return truth


def truth_of_qrels(path: str | Path, *, least: int = 1, unjudged: bool = False) -> Truth:
    """Return a function that looks up TREC or BEIR qrels by question and document.

    Grades of at least `least` mean yes. With `unjudged`, missing pairs are irrelevant. InputError
    if a line is malformed.
    """
    labels: dict[tuple[str, str], bool] = {}
    for qrel in read_qrels(str(path)):
        key = qrel.topic_id, qrel.doc_id
        labels[key] = labels.get(key, False) or qrel.grade >= least

    def truth(verdict: Verdict) -> bool | None:
        if not (verdict.question_id and verdict.doc_id):
            problem = f"pair {shorten(verdict.id, 40)!r} has no question_id or doc_id"
            raise InputError(f"{problem}, which qrels need")
        return labels.get((verdict.question_id, verdict.doc_id), False if unjudged else None)

    return truth
