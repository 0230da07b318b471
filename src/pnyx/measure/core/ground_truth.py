"""What people say, and a judge's verdicts joined with it (docs/measures.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pnyx.corpora import read_qrels
from pnyx.corpora.base import located
from pnyx.errors import InputError, shorten
from pnyx.judge.labels import consensus, counted_labels
from pnyx.judge.verdicts import (
    YES_NO_TASKS,
    Source,
    Verdict,
    file_of,
    of_one_judge,
    read_verdicts,
    shown_value,
    yes_or_no,
)

Key: TypeAlias = tuple[str, str]  # (id, dimension); the dimension is empty except for ratings

Truth: TypeAlias = Callable[[Verdict], bool | None]
"""Says whether a pair is relevant; None where nobody has said."""

_WORDS = {"yes": 1.0, "true": 1.0, "partially": 0.5, "no": 0.0, "false": 0.0}
_LARGEST = 1e9
"""Larger ratings, gains and labels are refused; their squares would lose all precision."""

_TAKEN: Mapping[str, tuple[str, ...]] = {
    "support": ("support", "perspectives", "stance", *YES_NO_TASKS),
    "relevance": ("relevance", *YES_NO_TASKS),
    "quality": ("quality",),
}
"""What is measured -> tasks whose answers can be; the first that takes a task is the usual one."""


@dataclass(frozen=True, slots=True)
class Gold:
    """What people say of a question: majority, mean grade, whether most doubted, mean rating."""

    yes: bool | None = None
    gain: float | None = None
    uncertain: bool | None = None
    rating: float | None = None
    group: str = ""


@dataclass(frozen=True, slots=True)
class Labels:
    """Gold of several annotators by key; questions without a majority are `tied` and have none."""

    gold: Mapping[Key, Gold]
    tied: frozenset[Key] = frozenset()


@dataclass(frozen=True, slots=True)
class Pair:
    """A labelled question that was asked: the judge's verdict, and what people say."""

    verdict: Verdict
    gold: Gold

    @property
    def group(self) -> str:
        """The topic of the label, else of the answer; empty where neither names one."""
        return self.gold.group or self.verdict.group or self.verdict.question_id


@dataclass(frozen=True, slots=True)
class Joined:
    """A judge's answers with labels of the same questions, on support, relevance or quality.

    `tied` counts labels without a majority, which are left out; `labels_without_answer` those whose
    question has no line among the answers.
    """

    task: str
    judge: str
    pairs: tuple[Pair, ...]
    answers_without_label: int = 0
    labels_without_answer: int = 0
    tied: int = 0


class _Label(NamedTuple):
    """What one person says of an item."""

    line: int
    group: str
    grade: float
    gain: float | None
    uncertain: bool | None
    graded: bool


def _label(verdict: Verdict, task: str) -> _Label:
    """Read one label; `graded` is whether its value is a grade rather than yes or no."""
    value, gain, unsure = verdict.value, verdict.extra.get("gain"), verdict.extra.get("uncertain")
    partly = isinstance(value, str) and value.strip().lower() == "partially"
    return _Label(
        verdict.line,
        verdict.group,
        _rating(value, "value") if task == "quality" else grade_of(value),
        None if gain is None else _rating(gain, "gain"),
        None if unsure is None else unsure > 0,
        partly or not isinstance(value, bool | str),
    )


def read_labels(source: Source, task: str) -> Labels:
    """Read labels; several annotators become one gold (`grade_of`), `adjudicated` counts alone."""

    def label(verdict: Verdict) -> _Label:
        try:
            return _label(verdict, task)
        except InputError as error:
            raise located(error, _path(source), verdict.line) from error

    votes = counted_labels(read_verdicts(source, "labels"), label)
    explicit = any(label.gain is not None for labels in votes.values() for label in labels)
    graded = any(label.graded for labels in votes.values() for label in labels)
    gold: dict[Key, Gold] = {}
    alike: dict[Gold, Gold] = {}  # Most labels of a group say the same
    tied = set[Key]()
    for key in list(votes):
        labels = votes.pop(key)
        group = _one_group(labels, source)
        grades = [label.grade for label in labels]
        if task == "quality":
            one = Gold(rating=_mean(grades), group=group)
        elif (yes := consensus([grade > 0 for grade in grades])) is not None:
            stated = [label.gain for label in labels if label.gain is not None]
            gains = stated if explicit else grades if graded else []
            unsure = [label.uncertain for label in labels if label.uncertain is not None]
            one = Gold(yes, _mean(gains), consensus(unsure), group=group)
        else:
            tied.add(key)
            continue
        gold[key] = alike.setdefault(one, one)
    return Labels(gold, frozenset(tied))


def _one_group(labels: Sequence[_Label], source: Source) -> str:
    first = labels[0].group
    for label in labels:
        if label.group != first:
            found = f"{shorten(label.group, 40)!r} and {shorten(first, 40)!r}"
            problem = InputError(f"group: found {found} for the same id, expected one")
            raise located(problem, _path(source), label.line)
    return first


def _path(source: Source) -> str:
    return file_of(source) if isinstance(source, str | Path) else "rows"


def grade_of(value: Any) -> float:
    """Return what a yes/no label says, yes where it is above 0; InputError: it says neither."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and value.strip().lower() in _WORDS:
        return _WORDS[value.strip().lower()]
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
) -> Joined:
    """Join a judge's answers with labels on id and dimension.

    Args:
        answers: answers JSONL, a results folder, `-`, or what `pnyx.ask` returned.
        labels: labels JSONL, `-`, or rows or answers in memory; by default each answer's own field
            `label`, carried along from its item.
        task: support, relevance or quality; by default what the first answer is about.
        judge: whose answers count, where there are several judges'.

    Raises:
        InputError: a line is malformed or occurs twice, the answers are another task's or several
            judges', or no answer has a label.
        ValueError: there is no such task.
    """
    if task is not None and task not in _TAKEN:
        raise ValueError(f"no task {task!r}, expected support, relevance or quality")
    first = ""

    def checked(verdict: Verdict) -> Verdict:
        nonlocal task, first
        task = task or next((name for name, of in _TAKEN.items() if verdict.task in of), "support")
        allowed = _TAKEN[task]
        if verdict.task not in allowed:
            problem = f"task: found {shorten(verdict.task, 40)!r}, expected {' or '.join(allowed)}"
            raise InputError(problem)
        first = first or verdict.task
        if verdict.task != first:
            found = f"{verdict.task!r} after {first!r}"
            raise InputError(f"task: found {found}, expected one task in the file")
        value = _answer(verdict.value, task)
        return verdict if value is verdict.value else replace(verdict, value=value)

    verdicts = of_one_judge(read_verdicts(answers), judge, answers, checked)
    rows = {verdict.key: verdict for verdict in verdicts}
    gold = _own_labels(rows, _path(answers)) if labels is None else read_labels(labels, str(task))
    pairs = [Pair(row, gold.gold[k]) for k, row in sorted(rows.items()) if k in gold.gold]
    if not pairs:
        raise InputError(_no_pairs(rows, gold), path=_path(answers))
    return Joined(
        str(task),
        pairs[0].verdict.judge,
        tuple(pairs),
        answers_without_label=sum(k not in gold.gold and k not in gold.tied for k in rows),
        labels_without_answer=sum(key not in rows for key in gold.gold),
        tied=len(gold.tied),
    )


def _answer(value: Any, task: str) -> Any:
    if task == "quality":
        return None if value is None else _rating(value, "value")
    if isinstance(value, str):  # a judge's answer is no label: it is not written in words
        raise InputError(f"value: found {shown_value(value)}, expected true, false or null")
    return yes_or_no(value)


def _own_labels(rows: Mapping[Key, Verdict], path: str) -> Labels:
    gold = {}
    for key, row in rows.items():
        if row.extra.get("label") is None:
            continue
        try:
            gold[key] = Gold(grade_of(row.extra["label"]) > 0)
        except InputError as error:
            problem = InputError(f"label: {error.problem.removeprefix('value: ')}")
            raise located(problem, path, row.line) from error
    return Labels(gold)


def _no_pairs(rows: Mapping[Key, Any], labels: Labels) -> str:
    def shown(keys: Sequence[Key]) -> str:
        shown_keys = (repr(shorten(" ".join(filter(None, key)), 40)) for key in keys[:2])
        return ", ".join(shown_keys) or "none"

    if any(key in labels.tied for key in rows):
        return "no answer has a label that is not tied"
    return (
        f"no answer has a label (answers are to {shown(list(rows))}; "
        f"labels are of {shown([*labels.gold, *labels.tied])})"
    )


def truth_of_labels(source: Source) -> Truth:
    """Return what people's labels say, joined on id; of several, the majority."""
    gold = read_labels(source, "relevance").gold

    def truth(verdict: Verdict) -> bool | None:
        label = gold.get((verdict.id, ""))
        return None if label is None else label.yes

    return truth


def truth_of_qrels(path: str | Path, *, least: int = 1, unjudged: bool = False) -> Truth:
    """Return what TREC or BEIR qrels say, joined on question and document.

    Yes is from grade `least` on. With `unjudged`, pairs that are not there are irrelevant.
    InputError: a line is broken.
    """
    labels: dict[tuple[str, str], bool] = {}
    for qrel in read_qrels(str(path)):
        key = qrel.topic_id, qrel.doc_id
        labels[key] = labels.get(key, False) or qrel.grade >= least

    def truth(verdict: Verdict) -> bool | None:
        if not (verdict.question_id and verdict.doc_id):
            lacking = f"pair {shorten(verdict.id, 40)!r} lacks question_id or doc_id"
            raise InputError(f"{lacking}, which qrels need")
        return labels.get((verdict.question_id, verdict.doc_id), False if unjudged else None)

    return truth
