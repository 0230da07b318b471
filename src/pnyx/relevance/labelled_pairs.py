"""Labelled pairs of question and document (format `labelled-pairs`, docs/reference/formats.md)."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from pnyx.core.errors import InputError, shorten
from pnyx.formats.fields import Fields
from pnyx.formats.label_words import PARTLY
from pnyx.formats.text.segment import trim
from pnyx.judging.answers import Answer, verdict_fields
from pnyx.judging.questions import Shot
from pnyx.judging.verdicts import Source, Verdict, read_verdicts, yes_or_no

FORMAT = "labelled-pairs"
LABELLED = "labelled.jsonl"
"""Name of the file in a results folder of `pnyx annotate label`."""

_VERDICT = ("value", "probability", "unscored", "judge", "partial", "explanation")


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """A question and a document, and whether the document is relevant; empty if not stated.

    Attributes:
        id: unique in the file.
        definition: what is relevant to the question.
        group: pairs of a group are held out together: the question's id, else the item's group,
            else the words of the question.
        value: relevant or not; None if the teacher gave no verdict.
        probability: that it is relevant, in [0, 1]; None if the teacher gives none.
        partial: it is relevant, but only in part (`value` is True).
        weight: how many documents of the corpus the pair represents, above 0.
        unscored: why `value` is None, if the file says so.
        judge: the teacher's name; `explanation` its reason in words.
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


def read_labelled(path: Source) -> Iterator[LabelledPair]:
    """Yield the pairs of a file, streaming; also those without a verdict.

    Args:
        path: JSONL, gzip or not; `-` for standard input; or a results folder of `pnyx annotate
            label`; or such rows in memory.

    Raises:
        InputError: at the first error, with file and line: a value other than true, false, null,
            yes, no or partially, a probability outside [0, 1], a missing field, a repeated id; also
            if there are no pairs at all.
    """
    return map(_pair, read_verdicts(path, FORMAT, files=(LABELLED,)))


def group_of(row: Mapping[str, Any]) -> str:
    """Return the question that an item or labelled pair belongs to; see `LabelledPair`."""
    named = next((row[n] for n in ("question_id", "group") if row.get(n) not in (None, "")), None)
    return str(row["question"] if named is None else named)


def labelled_row(row: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    """Return a relevance item, without any earlier verdict, as a line of labelled pairs."""
    other_fields = {name: value for name, value in row.items() if name not in _VERDICT}
    verdict = verdict_fields(answer)
    named = {name: verdict[name] for name in ("value", "probability", "unscored", "judge")}
    if answer.notes.get("partial"):
        named["partial"] = True
    if verdict["explanation"]:
        named["explanation"] = verdict["explanation"]
    return {**other_fields, **named}


def _pair(verdict: Verdict) -> LabelledPair:
    fields = Fields(verdict.extra)
    word = verdict.value.strip().lower() if isinstance(verdict.value, str) else ""
    question, weight = fields.required("question"), fields.take("weight")
    return LabelledPair(
        id=verdict.id,
        question=question,
        document=fields.required("document"),
        definition=fields.text("definition"),
        group=verdict.question_id or question,
        doc_id=verdict.doc_id,
        value=yes_or_no(verdict.value),
        probability=verdict.probability,
        partial=bool(fields.take("partial")) or word == PARTLY,
        weight=1.0 if weight is None else float(weight),
        unscored=verdict.unscored,
        judge=verdict.judge,
        explanation=fields.text("explanation"),
        extra=fields.rest,
    )


_WORDS = 300


class ShotPool:
    """Draws `count` labelled pairs, half of them relevant, as few-shot examples for an item.

    The order is random but fixed; the item's own question and document are skipped.
    """

    def __init__(self, pairs: Iterable[LabelledPair], count: int = 4, seed: int = 0) -> None:
        if count < 2 or count % 2:
            raise InputError(f"{count} examples, expected an even number: half of them relevant")
        self._half = count // 2
        self._pairs = [pair for pair in pairs if pair.value is not None]
        random.Random(seed).shuffle(self._pairs)
        for value, name in ((True, "relevant"), (False, "irrelevant")):
            count_found = sum(pair.value is value for pair in self._pairs)
            if count_found < self._half:
                raise InputError(
                    f"found {count_found} {name} examples, expected at least {self._half}"
                )

    def shots(self, row: Mapping[str, Any]) -> tuple[Shot, ...]:
        """Return the examples for a relevance item, documents cut to 300 words."""
        chosen: list[tuple[int, LabelledPair]] = []
        for value in (True, False):
            chosen += islice(self._others(row, value), self._half)
        if len(chosen) < 2 * self._half:
            item_id = shorten(str(row["id"]), 40)
            raise InputError(
                f"too few examples for {item_id!r} besides its own question and document"
            )
        return tuple(
            Shot(trim(pair.document, _WORDS), pair.question, bool(pair.value))
            for _, pair in sorted(chosen, key=lambda placed: placed[0])
        )

    def _others(self, row: Mapping[str, Any], value: bool) -> Iterator[tuple[int, LabelledPair]]:
        for index, pair in enumerate(self._pairs):
            if pair.value is value and not _same(pair, row):
                yield index, pair


def _same(pair: LabelledPair, row: Mapping[str, Any]) -> bool:
    """Return whether a pair has the item's question and document, by id or by their words."""
    if pair.doc_id and pair.doc_id == str(row.get("doc_id")) and pair.group == group_of(row):
        return True
    same_question = pair.question.split() == str(row["question"]).split()
    return same_question and pair.document.split() == str(row["document"]).split()
