"""Verdicts on pairs of document and perspective, from a judge, people or qrels.

A document judged passage by passage supports a perspective if one of its passages does; if none
does and one is unscored or missing, the pair is undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import read_head
from pnyx.core.records import Qrel
from pnyx.formats import read_qrels, sniff
from pnyx.formats.base import located
from pnyx.formats.runs.rankings import NO_SUBTOPIC
from pnyx.judging.labels import consensus, counted_labels
from pnyx.judging.measures.ground_truth import grade_of
from pnyx.judging.perspectives import pair_id
from pnyx.judging.verdicts import Source, UnscoredPairs, Verdict, file_of, of_one_judge, shown_value
from pnyx.judging.verdicts import read_verdicts as read_rows

Unjudged: TypeAlias = Literal["unscored", "no"]
"""How pairs missing from qrels count: unscored, or no if the qrels list only supporting pairs."""


Place: TypeAlias = tuple[str, str, str]


MISSING = Verdict(unscored="no verdict")

NO = Verdict(value=False)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Verdicts on pairs, by question, document and perspective.

    `by_id` holds labels that do not name a pair, by item id (`pnyx.judging.perspectives.pair_id`);
    `other` is the verdict on a pair that is in neither.
    """

    judge: str
    pairs: Mapping[Place, Verdict]
    by_id: Mapping[str, Verdict] = field(default_factory=dict)
    other: Verdict = MISSING

    def of(self, question_id: str, doc_id: str, perspective_id: str) -> Verdict:
        """Return the verdict on a pair; `other` if there is none."""
        key = question_id, doc_id, perspective_id
        verdict = self.pairs.get(key)
        if verdict is None and self.by_id:
            verdict = self.by_id.get(pair_id(*key))
        return self.other if verdict is None else verdict


def read_verdicts(
    source: Source | Verdicts,
    *,
    judge: str | None = None,
    unjudged: Unjudged = "unscored",
) -> Verdicts:
    """Read verdicts on pairs of document and perspective.

    Args:
        source: a results folder or answers of `pnyx judge support`, or the result of `pnyx.ask`;
            labels JSONL (the majority of several annotators); or TREC diversity qrels, whose
            subtopics are perspectives. Answers name the pair by `question_id` (or `group`),
            `doc_id` and `perspective_id`; labels do the same, or use the item's id.
        judge: whose answers to read, if the file holds those of several judges.
        unjudged: how to treat pairs missing from qrels.

    Raises:
        InputError: at the first error, with file and line; also if a pair has two verdicts, the
            answers are by several judges or for another task, or the qrels have no subtopics.
    """
    if isinstance(source, Verdicts):
        return source
    if not isinstance(source, str | Path):
        return _answers(source, judge)
    path = file_of(source)
    # Anything that does not look like JSON must be qrels; their reader reports what is wrong.
    if read_head(path, 1 << 10).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return _answers(path, judge) if sniff(path, "items") == "answers" else _labels(path)
    pairs = {
        (q.topic_id, q.doc_id, q.subtopic): Verdict(value=q.grade >= 1) for q in read_qrels(path)
    }
    if all(subtopic in NO_SUBTOPIC for _, _, subtopic in pairs):
        problem = "found plain qrels, expected diversity qrels: topic perspective document grade"
        raise InputError(problem, path=path)
    return Verdicts(f"qrels:{_named(path)}", pairs, other=NO if unjudged == "no" else MISSING)


def _named(path: str) -> str:
    return "standard input" if path == "-" else Path(path).name


def qrels_of_verdicts(
    verdicts: Verdicts, pairs: Iterable[Place], unscored: UnscoredPairs = "error"
) -> Iterator[Qrel]:
    """Yield verdicts as TREC diversity qrels: grade 1 for yes, 0 for no."""
    for question_id, doc_id, perspective_id in pairs:
        verdict = verdicts.of(question_id, doc_id, perspective_id)
        if verdict.value is None and unscored == "error":
            pair_ids = ", ".join(shorten(x, 40) for x in (question_id, doc_id, perspective_id))
            why = shorten(verdict.unscored, 60)
            raise InputError(
                f"qrels: the pair {pair_ids} is unscored ({why}); choose how to treat such pairs: "
                "skip (no line) or zero (no)"
            )
        if verdict.value is not None or unscored == "zero":
            yield Qrel(question_id, doc_id, int(bool(verdict.value)), perspective_id)


@dataclass(slots=True)
class _Passages:
    """The verdicts on the passages of a document, by their numbers."""

    count: int
    verdicts: dict[int, Verdict] = field(default_factory=dict)

    def verdict(self) -> Verdict:
        verdicts = self.verdicts.values()
        scored = [v.probability for v in verdicts if v.value is not None]
        stated = [p for p in scored if p is not None]
        highest = max(stated) if stated and len(stated) == len(scored) else None
        if any(v.value for v in verdicts):
            return Verdict(value=True, probability=highest)
        if reason := next((v.unscored for v in verdicts if v.value is None), ""):
            return Verdict(unscored=reason)
        if len(self.verdicts) < self.count:
            missing = self.count - len(self.verdicts)
            return Verdict(unscored=f"passages: no verdict on {missing} of {self.count}")
        return Verdict(value=False, probability=highest)


class _Collected:
    def __init__(self) -> None:
        self._passages: dict[Place, _Passages] = {}
        self._by_id: dict[str, Verdict] = {}

    def add(self, verdict: Verdict, *, by_id: bool) -> Verdict:
        """Add one, and return it; InputError: it names no pair, or one that has a verdict."""
        key = _place(verdict, by_id=by_id)
        if key is None:
            self._by_id[verdict.id] = verdict
            return verdict
        number, count = (_number(verdict.extra, name) for name in ("passage", "passages"))
        if number > count:
            raise InputError(f"passage: found {number}, expected at most {count} (passages)")
        passages = self._passages.setdefault(key, _Passages(count))
        if number in passages.verdicts or passages.count != count:
            pair_ids = ", ".join(shorten(part, 40) for part in key)
            raise InputError(f"the pair {pair_ids} has a verdict in an earlier line")
        passages.verdicts[number] = verdict
        return verdict

    def answer(self, verdict: Verdict) -> Verdict:
        """Add the answer to a pair, and return it; InputError also: no yes or no, another task."""
        if verdict.task not in ("support", "perspectives"):
            value_text = shorten(verdict.task, 40)
            raise InputError(f"task: found {value_text!r}, expected support or perspectives")
        if not isinstance(verdict.value, bool | None):
            value_text = shown_value(verdict.value)
            raise InputError(f"value: found {value_text}, expected true, false or null")
        return self.add(verdict, by_id=False)

    def verdicts(self, judge: str) -> Verdicts:
        pairs = {key: passages.verdict() for key, passages in self._passages.items()}
        return Verdicts(judge, pairs, self._by_id)


def _place(verdict: Verdict, *, by_id: bool) -> Place | None:
    """Return the pair that a verdict names; None if it names none and need not."""
    if by_id and not verdict.doc_id and not verdict.perspective_id:
        return None
    for name in ("question_id", "doc_id", "perspective_id"):
        if not getattr(verdict, name):
            expected = "an id, as pnyx judge support --run writes it"
            raise InputError(f"{name}: found none, expected {expected}")
    return verdict.question_id, verdict.doc_id, verdict.perspective_id


def _number(extra: Mapping[str, Any], name: str) -> int:
    """Return the number of a passage, or of passages; 1 where the document was not cut."""
    value = extra.get(name)
    if value is None or (type(value) is int and value >= 1):
        return value or 1
    raise InputError(f"{name}: found {shown_value(value)}, expected a number from 1 on")


def _answers(source: Source, judge: str | None) -> Verdicts:
    collected = _Collected()
    verdicts = list(of_one_judge(read_rows(source), judge, source, collected.answer))
    return collected.verdicts(verdicts[0].judge)


def verdicts_of_answers(judge: str, rows: Iterable[Mapping[str, Any]]) -> Verdicts:
    """Return the verdicts of one judge's answers, as `read_verdicts` reads them."""
    collected = _Collected()
    for row in read_rows(rows):
        collected.answer(row)
    return collected.verdicts(judge)


def _labels(path: str) -> Verdicts:
    first: dict[str, Verdict] = {}

    def vote(verdict: Verdict) -> tuple[bool, Verdict]:
        try:
            before = first.setdefault(verdict.id, verdict)
            if _place(before, by_id=True) != _place(verdict, by_id=True):
                raise InputError(f"id {shorten(verdict.id, 40)!r} names another pair than before")
            return grade_of(verdict.value) > 0, verdict
        except InputError as error:
            raise located(error, path, verdict.line) from error

    collected = _Collected()
    for (identifier, _), votes in counted_labels(read_rows(path, "labels"), vote).items():
        value = consensus([yes for yes, _ in votes])
        label = replace(votes[0][1], value=value, unscored="tie" if value is None else "")
        try:
            collected.add(label, by_id=True)
        except InputError as error:
            pair_id = shorten(identifier, 40)
            raise InputError(f"id {pair_id!r}: {error.problem}", path=path) from error
    return collected.verdicts(f"labels:{_named(path)}")
