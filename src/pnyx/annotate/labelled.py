"""Pairs of question and document with their labels: what a teacher leaves and a student learns.

The file is the format `labelled-pairs` (docs/formats.md): the relevance items as they were sampled,
each with the teacher's verdict. People may write one by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pnyx.corpora import read_items
from pnyx.corpora.fields import Fields
from pnyx.corpora.items import LABEL_WORDS, PARTLY
from pnyx.judge.answers import Answer, verdict_fields

__all__ = ["FORMAT", "LABELLED", "LabelledPair", "group_of", "labelled_row", "read_labelled"]

FORMAT = "labelled-pairs"
LABELLED = "labelled.jsonl"
"""Name of the file in a results folder of `pnyx annotate label`."""

_VERDICT = ("value", "probability", "unscored", "judge", "partial", "explanation")


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """A question and a document, and whether the document is relevant.

    Attributes:
        id: unique in the file.
        question: its text, not blank.
        document: the passage, not blank.
        definition: what is relevant to the question; empty without one.
        group: the question that the pair belongs to, and by which pairs are held out: its id, else
            the item's group, else the words of the question.
        doc_id: of the document; empty where the file names none.
        value: relevant or not; None where the teacher gave no verdict.
        probability: that it is relevant, in [0, 1]; None where the teacher gives none.
        partial: it is relevant, but only in part (`value` is True).
        weight: how many documents of the corpus the pair represents, above 0.
        unscored: why `value` is None, where the file says so.
        judge: the teacher's name; empty where the file names none.
        explanation: the teacher's reason in words; empty where it gave none.
        extra: all other fields of the line.
    """

    id: str
    question: str
    document: str
    definition: str = ""
    group: str = ""
    doc_id: str = ""
    value: bool | None = None
    probability: float | None = None
    partial: bool = False
    weight: float = 1.0
    unscored: str = ""
    judge: str = ""
    explanation: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)


def read_labelled(path: str | Path) -> Iterator[LabelledPair]:
    """Yield the pairs of a file, streaming; also those without a verdict.

    Args:
        path: JSONL, gzip or not; `-` for standard input; or a results folder of `pnyx annotate
            label`.

    Raises:
        InputError: at the first fault, naming file and line: a value other than true, false, null,
            yes, no or partially, a probability out of [0, 1], a field missing, an id twice; also
            where there is no pair at all.
    """
    source = Path(path) / LABELLED if str(path) != "-" and Path(path).is_dir() else path
    for _, row in read_items(str(source), FORMAT):
        yield _pair(row)


def group_of(row: Mapping[str, Any]) -> str:
    """Return which question a relevance item or labelled pair belongs to; see `LabelledPair`."""
    named = next((row[n] for n in ("question_id", "group") if row.get(n) not in (None, "")), None)
    return str(row["question"] if named is None else named)


def labelled_row(row: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    """Return a relevance item with the teacher's verdict, as a line of labelled pairs.

    Args:
        row: the item; all its fields go along, but a former verdict does not.
        answer: to its question.
    """
    kept = {name: value for name, value in row.items() if name not in _VERDICT}
    verdict = verdict_fields(answer)
    named = {name: verdict[name] for name in ("value", "probability", "unscored", "judge")}
    if answer.notes.get("partial"):
        named["partial"] = True
    if verdict["explanation"]:
        named["explanation"] = verdict["explanation"]
    return {**kept, **named}


def _pair(row: Mapping[str, Any]) -> LabelledPair:
    """Return the pair of a line that the format has checked."""
    fields = Fields(row)
    question, value = fields.required("question"), fields.take("value")
    word = value.strip().lower() if isinstance(value, str) else ""
    probability, weight = fields.take("probability"), fields.take("weight")
    for name in ("question_id", "group"):
        fields.take(name)
    return LabelledPair(
        id=fields.identifier("id"),
        question=question,
        document=fields.required("document"),
        definition=fields.text("definition"),
        group=group_of(row),
        doc_id=_identifier(fields, "doc_id"),
        value=LABEL_WORDS[word] if word else value,
        probability=None if probability is None else float(probability),
        partial=bool(fields.take("partial")) or word == PARTLY,
        weight=1.0 if weight is None else float(weight),
        unscored=fields.text("unscored"),
        judge=fields.text("judge"),
        explanation=fields.text("explanation"),
        extra=fields.rest,
    )


def _identifier(fields: Fields, name: str) -> str:
    value = fields.take(name)
    return "" if value is None else str(value)
