"""People's labels as gold, and a judge's answers joined with them (docs/measures.md)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from pnyx.corpora import read_items
from pnyx.errors import InputError, shorten

__all__ = [
    "Gold",
    "Joined",
    "Key",
    "Labels",
    "Pair",
    "grade_of",
    "join_labels",
    "majority",
    "read_labels",
]

Key: TypeAlias = tuple[str, str]
"""(id, dimension); the dimension is empty except for ratings."""

_WORDS = {"yes": 1.0, "true": 1.0, "partially": 0.5, "no": 0.0, "false": 0.0}
_LARGEST = 1e9
"""Ratings, gains and labels beyond are no grades; their squares would lose all precision."""

_ANSWER_TASKS = {
    "support": ("support", "perspectives", "stance"),
    "relevance": ("relevance",),
    "quality": ("quality",),
}
"""What is measured -> whose answers it takes: the first three ask the same kind of question."""


@dataclass(frozen=True, slots=True)
class Gold:
    """What people say of one question, all annotators together.

    Attributes:
        yes: the majority; None for quality.
        gain: mean grade of a relevance label; None where labels are not graded.
        uncertain: whether most annotators were unsure; None where they do not say or are split.
        rating: mean of the ratings; None except for quality.
        group: the topic that the labels name; empty where they name none.
    """

    yes: bool | None = None
    gain: float | None = None
    uncertain: bool | None = None
    rating: float | None = None
    group: str = ""


@dataclass(frozen=True, slots=True)
class Labels:
    """A file of labels.

    Attributes:
        gold: what counts, by id and dimension.
        tied: questions whose annotators are evenly split; they have no gold.
    """

    gold: Mapping[Key, Gold]
    tied: frozenset[Key]


@dataclass(frozen=True, slots=True)
class Pair:
    """One labelled question that was asked.

    Attributes:
        key: id and dimension.
        group: the topic; empty where neither label nor answer names one. Where there is no
            `group`, the answer's `question_id` is it.
        gold: the label.
        value: the answer (yes as 1, no as 0); None where it is unscored.
        probability: of yes, None where the judge gave none.
        unscored: why there is no answer; empty where there is one.
        line: of the answer in its file; answers to one question keep that order.
    """

    key: Key
    group: str
    gold: Gold
    value: float | None
    probability: float | None = None
    unscored: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Joined:
    """A judge's answers with the labels of the same questions.

    Attributes:
        task: what is measured: support, relevance or quality.
        judge: whose answers they are.
        pairs: one for each question with both, by key.
        answers_without_label: answers to questions without a label.
        labels_without_answer: labelled questions with no line among the answers.
        tied: labels without a majority, left out.
    """

    task: str
    judge: str
    pairs: tuple[Pair, ...]
    answers_without_label: int = 0
    labels_without_answer: int = 0
    tied: int = 0


@dataclass(slots=True)
class _Votes:
    """The labels of one question as they are read."""

    group: str = ""
    grades: list[float] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    uncertain: list[bool] = field(default_factory=list)


def read_labels(path: str | Path, task: str) -> Labels:
    """Read labels JSONL; several annotators of one question become one gold.

    Args:
        path: the file, or `-`.
        task: support or relevance (a value is true, false, yes, no, partially or a number; above
            0 is yes) or quality (a number).

    Raises:
        InputError: at the first fault, naming file and line.
    """
    votes: dict[Key, _Votes] = {}
    graded = False
    for line, row in read_items(str(path), "labels"):
        key = row["id"], row.get("dimension") or ""
        try:
            graded |= _vote(votes.setdefault(key, _Votes()), row, task)
        except InputError as error:
            raise InputError(error.problem, path=path, line=line) from error
    explicit = any(v.gains for v in votes.values())
    gold: dict[Key, Gold] = {}
    tied = []
    for key, v in votes.items():
        if task == "quality":
            gold[key] = Gold(rating=_mean(v.grades), group=v.group)
            continue
        yes = majority([grade > 0 for grade in v.grades])
        if yes is None:
            tied.append(key)
            continue
        gains = v.gains if explicit else v.grades if graded else []
        gold[key] = Gold(yes, _mean(gains), majority(v.uncertain), group=v.group)
    return Labels(gold, frozenset(tied))


def _vote(votes: _Votes, row: Mapping[str, Any], task: str) -> bool:
    """Add one line; return whether its value is a grade rather than yes or no."""
    group = _text(row.get("group"))
    if votes.grades and group != votes.group:
        found = f"{shorten(group, 40)!r} and {shorten(votes.group, 40)!r}"
        raise InputError(f"group: found {found} for the same id, expected one")
    votes.group = group
    value = row["value"]
    votes.grades.append(_rating(value, "value") if task == "quality" else grade_of(value))
    if row.get("gain") is not None:
        votes.gains.append(_rating(row["gain"], "gain"))
    if row.get("uncertain") is not None:
        votes.uncertain.append(row["uncertain"] > 0)
    if isinstance(value, str):
        return value.strip().lower() == "partially"
    return not isinstance(value, bool)


def grade_of(value: Any) -> float:
    """Return what a yes/no label says, yes where it is above 0.

    Raises:
        InputError: it says neither.
    """
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and value.strip().lower() in _WORDS:
        return _WORDS[value.strip().lower()]
    if isinstance(value, str | list):
        found = shorten(repr(value), 40)
        raise InputError(
            f"value: found {found}, expected true, false, yes, no, partially or a number"
        )
    return _rating(value, "value")


def _rating(value: Any, name: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST:
        return float(value)
    found = shorten(repr(value), 40)
    raise InputError(f"{name}: found {found}, expected a number of at most {_LARGEST:.0f}")


def majority(votes: Sequence[bool]) -> bool | None:
    """Return what more than half say, None where they are split or there are none."""
    twice = 2 * sum(votes)
    return None if twice == len(votes) else twice > len(votes)


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def join_labels(
    answers: str | Path, labels: str | Path, task: str, *, judge: str | None = None
) -> Joined:
    """Join a judge's answers with labels on `id` and `dimension`.

    Args:
        answers: answers JSONL, or `-`.
        labels: labels JSONL, or `-`.
        task: support, relevance or quality.
        judge: whose answers count, where the file holds those of several.

    Raises:
        InputError: a line is not what it must be, a line occurs twice, the answers are another
            task's or several judges', or no answer has a label.
        ValueError: there is no such task.
    """
    if task not in _ANSWER_TASKS:
        raise ValueError(f"no task {task!r}, expected one of {', '.join(_ANSWER_TASKS)}")
    found = read_labels(labels, task)
    name, rows = _answers(answers, task, judge)
    pairs = [_pair(row, found.gold[key], path=answers, line=line, task=task)
             for key, (line, row) in sorted(rows.items()) if key in found.gold]  # fmt: skip
    without_label = sum(key not in found.gold and key not in found.tied for key in rows)
    if not pairs:
        raise InputError(_no_pairs(rows, found), path=answers)
    return Joined(
        task,
        name,
        tuple(pairs),
        answers_without_label=without_label,
        labels_without_answer=sum(key not in rows for key in found.gold),
        tied=len(found.tied),
    )


def _answers(
    path: str | Path, task: str, judge: str | None
) -> tuple[str, dict[Key, tuple[int, dict[str, Any]]]]:
    """Return the judge's name and its answers with their lines."""
    rows: dict[Key, tuple[int, dict[str, Any]]] = {}
    names: dict[str, None] = {}
    tasks = _ANSWER_TASKS[task]
    first = ""
    for line, row in _of_judge(path, judge, names):
        first = first or row["task"]
        if row["task"] not in tasks:
            problem = f"task: found {shorten(row['task'], 40)!r}, expected {' or '.join(tasks)}"
            raise InputError(problem, path=path, line=line)
        if row["task"] != first:
            problem = f"task: found {row['task']!r} after {first!r}, expected one task in the file"
            raise InputError(problem, path=path, line=line)
        rows[row["id"], row.get("dimension") or ""] = line, row
    shown = ", ".join(shorten(name, 40) for name in list(names)[:5])
    if judge is None and len(names) > 1:
        raise InputError(
            f"holds the answers of {len(names)} judges ({shown}), expected one: "
            "name it with --judge",
            path=path,
        )
    if not rows:
        raise InputError(
            f"holds no answers of {shorten(judge or '', 40)!r} (judges found: {shown})", path=path
        )
    return next(iter(names)) if judge is None else judge, rows


def _of_judge(
    path: str | Path, judge: str | None, names: dict[str, None]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield one judge's lines, and collect the names of all."""
    for line, row in read_items(str(path), "answers"):
        names[row["judge"]] = None
        if len(names) == 1 if judge is None else row["judge"] == judge:
            yield line, row


def _pair(row: Mapping[str, Any], gold: Gold, *, path: str | Path, line: int, task: str) -> Pair:
    value = row["value"]
    try:
        if value is not None and task == "quality":
            value = _rating(value, "value")
        elif not isinstance(value, bool | None):
            found = shorten(repr(value), 40)
            raise InputError(f"value: found {found}, expected true, false or null")
    except InputError as error:
        raise InputError(error.problem, path=path, line=line) from error
    group = gold.group or _text(row.get("group")) or _text(row.get("question_id"))
    return Pair(
        (row["id"], row.get("dimension") or ""),
        group,
        gold,
        None if value is None else float(value),
        None if value is None else row.get("probability"),
        row["unscored"] or "",
        line,
    )


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _no_pairs(rows: Mapping[Key, Any], labels: Labels) -> str:
    def shown(keys: Sequence[Key]) -> str:
        return ", ".join(repr(shorten(" ".join(filter(None, key)), 40)) for key in keys[:2])

    if any(key in labels.tied for key in rows):
        return "no answer has a label that is not tied"
    return (
        f"no answer has a label (answers are to {shown(list(rows))}; "
        f"labels are of {shown([*labels.gold, *labels.tied])})"
    )
