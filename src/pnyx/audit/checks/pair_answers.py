"""A judge's answers to preference questions as pairs judged in both orders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from pnyx.audit.checks.pair_words import Choice
from pnyx.audit.checks.pairs import JudgedPair
from pnyx.core.errors import InputError, shorten
from pnyx.judging.labels import counted_labels
from pnyx.judging.verdicts import Source, Verdict, file_of, of_one_judge, read_verdicts, shown_value

_CHOICES: tuple[Choice, ...] = get_args(Choice)
_TASKS = ("preference", "sides")


def read_pairs(
    answers: Source, labels: Source | None = None, *, judge: str | None = None
) -> list[JudgedPair]:
    """Read a judge's answers to preference questions, with people's labels.

    Args:
        answers: answers.jsonl of `pnyx judge preference`, its results folder, or what `pnyx.ask`
            returned.
        labels: people's labels (a, b or tie) by id; by default each answer's own field `label`.
        judge: whose answers count, if the file has those of several judges.

    Raises:
        InputError: a line is malformed or of another task, or no label belongs to an answer.
    """
    path = file_of(answers) if isinstance(answers, str | Path) else "rows"
    votes = None if labels is None else _votes(labels)
    pairs = [
        _judged_pair(verdict, _label(verdict) if votes is None else votes.get(verdict.id, ()))
        for verdict in of_one_judge(read_verdicts(answers), judge, answers, _checked)
    ]
    if votes is not None and not any(pair.labels for pair in pairs):
        raise InputError("no answer has a label: the ids do not match", path=path)
    return pairs


def _checked(verdict: Verdict) -> Verdict:
    """Return a verdict on two texts; InputError if it is another task's."""
    if verdict.task not in ("", *_TASKS):
        raise InputError(f"task: found {shorten(verdict.task, 40)!r}, expected preference")
    _label(verdict)  # Refused if it is malformed, whether it counts or not
    return replace(verdict, value=_choice(verdict.value, "value"))


def _label(verdict: Verdict) -> tuple[Choice, ...]:
    """Return the label in the answer's own field; empty if it has none."""
    label = _choice(verdict.extra.get("label"), "label")
    return () if label is None else (label,)


def _judged_pair(verdict: Verdict, labels: tuple[Choice, ...]) -> JudgedPair:
    group = verdict.group or verdict.question_id
    notes = verdict.extra.get("notes")
    orders = notes.get("orders") if isinstance(notes, dict) else None
    if verdict.value is None:  # One order may have a verdict: the pair as a whole has none
        return JudgedPair(verdict.id, group, None, None, labels)
    if isinstance(orders, list) and len(orders) == 2 and all(o in _CHOICES for o in orders):
        return JudgedPair(verdict.id, group, orders[0], orders[1], labels)
    return JudgedPair(verdict.id, group, verdict.value, None, labels, one_order=True)


def _votes(labels: Source) -> dict[str, tuple[Choice, ...]]:
    """Return people's labels of each pair; an `adjudicated` label counts alone."""
    path = file_of(labels) if isinstance(labels, str | Path) else "rows"
    votes: dict[str, tuple[Choice, ...]] = {}

    def choice(verdict: Verdict) -> Choice | None:
        try:
            return _choice(verdict.value, "value")
        except InputError as error:
            raise InputError(error.problem, path=path, line=verdict.line) from error

    for (key, _), choices in counted_labels(read_verdicts(labels, "labels"), choice).items():
        votes[key] = tuple(label for label in choices if label is not None)
    return votes


def _choice(value: Any, name: str) -> Choice | None:
    """Return a, b or tie, in lower case; None without a value."""
    if value is None:
        return None
    word = value.strip().lower() if isinstance(value, str) else value
    if word in _CHOICES:
        return word
    raise InputError(f"{name}: found {shown_value(value)}, expected a, b or tie")
