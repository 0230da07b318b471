"""Pairs of document and perspective that a judge answered and people labelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pnyx.corpora import read_items
from pnyx.errors import InputError, shorten
from pnyx.judge.results import ANSWERS
from pnyx.measure.gold import grade_of, read_labels

__all__ = ["Labelled", "LabelledVerdict", "read_labelled_verdicts"]


@dataclass(frozen=True, slots=True)
class LabelledVerdict:
    """A pair that the judge answered and people labelled.

    Attributes:
        question_id: of its question; questions are drawn whole.
        doc_id: of its document; empty where the file names none.
        perspective_id: of its perspective; empty where the file names none.
        truth: what people say.
        value: what the judge says.
        probability: of yes; None where it gives none.
    """

    question_id: str
    doc_id: str
    perspective_id: str
    truth: bool
    value: bool
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Labelled:
    """Pairs that one judge answered and people labelled.

    Attributes:
        judge: whose verdicts.
        pairs: at least one.
        unscored: labelled pairs that the judge left open; they are not among them.
    """

    judge: str
    pairs: tuple[LabelledVerdict, ...]
    unscored: int = 0


def read_labelled_verdicts(
    answers: str | Path, labels: str | Path | None = None, *, judge: str | None = None
) -> Labelled:
    """Read a judge's answers to pairs that people labelled.

    Args:
        answers: a results folder or answers JSONL of `pnyx judge support`, with `question_id` (or
            `group`), `doc_id` (or `text_id`) and `perspective_id`.
        labels: labels JSONL, joined on id; by default each answer has its `label`, carried along
            from the items. Answers without one are left out.
        judge: whose answers count, where the file holds those of several.

    Raises:
        InputError: a line is not what it must be, or no scored answer has a label.
    """
    folder = Path(answers)
    source = str(folder / ANSWERS if str(answers) != "-" and folder.is_dir() else answers)
    gold = None if labels is None else read_labels(labels, "support").gold
    pairs, names, unscored = [], dict[str, None](), 0
    for line, row in read_items(source, "answers"):
        if judge is not None and row["judge"] != judge:
            continue
        names[row["judge"]] = None
        try:
            truth = _truth(row, gold)
            if truth is not None and not isinstance(row["value"], bool | None):
                found = shorten(repr(row["value"]), 40)
                raise InputError(f"value: found {found}, expected true, false or null")
        except InputError as error:
            raise InputError(error.problem, path=source, line=line) from error
        if truth is not None and row["value"] is None:
            unscored += 1
        elif truth is not None:
            pairs.append(_labelled(row, truth))
    if len(names) > 1:
        shown = ", ".join(repr(shorten(name, 40)) for name in list(names)[:5])
        problem = f"holds the answers of several judges ({shown}): name one (--judge)"
        raise InputError(problem, path=source)
    if not pairs:
        raise InputError("holds no scored answer with a label", path=source)
    return Labelled(next(iter(names)), tuple(pairs), unscored)


def _truth(row: Mapping[str, Any], gold: Mapping[Any, Any] | None) -> bool | None:
    if gold is not None:
        found = gold.get((row["id"], row.get("dimension") or ""))
        return None if found is None else found.yes
    if row.get("label") is None:
        return None
    try:
        return grade_of(row["label"]) > 0
    except InputError as error:
        raise InputError(f"label: {error.problem.removeprefix('value: ')}") from error


def _labelled(row: Mapping[str, Any], truth: bool) -> LabelledVerdict:
    def text(*names: str) -> str:
        return next((str(row[n]) for n in names if row.get(n) not in (None, "")), "")

    return LabelledVerdict(
        text("question_id", "group", "id"),
        text("doc_id", "text_id"),
        text("perspective_id"),
        truth,
        row["value"],
        row.get("probability"),
    )
