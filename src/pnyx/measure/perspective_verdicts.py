"""Who supports what: verdicts on pairs of document and perspective, from a judge, people or qrels.

A document that was judged passage by passage supports a perspective where one of its passages
does; where none does and one is unscored, or missing, that is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from pnyx.corpora import read_items, read_qrels, sniff
from pnyx.errors import InputError, shorten
from pnyx.files import read_head
from pnyx.judge.perspectives import pair_id
from pnyx.judge.results import ANSWERS
from pnyx.measure.gold import grade_of, majority
from pnyx.records import Qrel

__all__ = [
    "MISSING",
    "UNJUDGED",
    "UNSCORED",
    "Unjudged",
    "UnscoredPairs",
    "Verdict",
    "Verdicts",
    "qrels_of_verdicts",
    "read_verdicts",
    "verdicts_of_answers",
    "verdicts_of_qrels",
]

Unjudged: TypeAlias = Literal["unscored", "no"]
"""What pairs are that qrels lack: open, or no, for qrels that list only what supports."""

UNJUDGED: tuple[Unjudged, ...] = get_args(Unjudged)

UnscoredPairs: TypeAlias = Literal["error", "skip", "zero"]
"""What becomes of unscored pairs in qrels: nothing is written, they have no line, or grade 0."""

UNSCORED: tuple[UnscoredPairs, ...] = get_args(UnscoredPairs)

Place: TypeAlias = tuple[str, str, str]
"""Question, document, perspective."""

_TASKS = ("support", "perspectives")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a document supports a perspective.

    Attributes:
        value: yes or no; None where it is unscored.
        probability: of yes, in [0, 1]; None where there is none. Of several passages, the highest.
        unscored: why there is no value; empty where there is one.
    """

    value: bool | None
    probability: float | None = None
    unscored: str = ""


MISSING = Verdict(None, None, "no verdict")
"""A pair that nobody was asked about."""

_NO = Verdict(False)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Verdicts on pairs, by question, document and perspective.

    Attributes:
        judge: who gave them.
        pairs: (question, document, perspective) -> verdict.
        by_id: id -> verdict, of labels that name no pair; the id is then that of the item
            (`pnyx.judge.perspectives.pair_id`).
        other: what a pair is that is in neither.
    """

    judge: str
    pairs: Mapping[Place, Verdict]
    by_id: Mapping[str, Verdict] = field(default_factory=dict)
    other: Verdict = MISSING

    def of(self, question_id: str, doc_id: str, perspective_id: str) -> Verdict:
        """Return the verdict on a pair; `MISSING` where nobody was asked."""
        place = question_id, doc_id, perspective_id
        found = self.pairs.get(place)
        if found is None and self.by_id:
            found = self.by_id.get(pair_id(*place))
        return self.other if found is None else found


def read_verdicts(
    path: str | Path,
    *,
    judge: str | None = None,
    unjudged: Unjudged = "unscored",
    relevant_from: int = 1,
) -> Verdicts:
    """Read verdicts on pairs of document and perspective.

    Args:
        path: a results folder or answers of `pnyx judge support`; labels JSONL, of several
            annotators the majority; or TREC diversity qrels, where a perspective is a subtopic.
            Answers name the pair by `question_id` (or `group`), `doc_id` and `perspective_id`;
            labels so, or by the item's id.
        judge: whose answers count, where the file holds those of several.
        unjudged: what pairs are that qrels lack.
        relevant_from: the least grade of qrels that is a yes.

    Raises:
        InputError: at the first fault, naming file and line; also where a pair has two verdicts,
            the answers are several judges' or another task's, or the qrels know no subtopics.
    """
    source = _file(path)
    # Whatever does not look like JSON can only be qrels, whose reader says what is wrong with it.
    if not read_head(source, 1 << 10).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        named = "standard input" if source == "-" else Path(source).name
        found = verdicts_of_qrels(
            read_qrels(source), unjudged=unjudged, relevant_from=relevant_from, name=named
        )
        if not any(subtopic not in ("0", "Q0", "q0") for _, _, subtopic in found.pairs):
            problem = (
                "found plain qrels, expected diversity qrels: topic perspective document grade"
            )
            raise InputError(problem, path=source)
        return found
    if sniff(source, "items") == "answers":
        return _answers(source, judge)
    return _labels(source)


def _file(path: str | Path) -> str:
    folder = Path(path)
    if str(path) == "-" or not folder.is_dir():
        return str(path)
    if (folder / ANSWERS).exists():
        return str(folder / ANSWERS)
    raise InputError(f"holds no {ANSWERS}: expected the results of pnyx judge support", path=path)


# From qrels, and to them -------------------------------------------------------------------------


def verdicts_of_qrels(
    qrels: Iterable[Qrel],
    *,
    unjudged: Unjudged = "unscored",
    relevant_from: int = 1,
    name: str = "qrels",
) -> Verdicts:
    """Return what diversity qrels say; each subtopic is a perspective.

    Args:
        qrels: what `pnyx.read_qrels` yields.
        unjudged: what pairs are that they lack.
        relevant_from: the least grade that is a yes.
        name: of the file.
    """
    pairs = {(q.topic_id, q.doc_id, q.subtopic): Verdict(q.grade >= relevant_from) for q in qrels}
    return Verdicts(f"qrels:{name}", pairs, other=_NO if unjudged == "no" else MISSING)


def qrels_of_verdicts(
    verdicts: Verdicts, pairs: Iterable[Place], unscored: UnscoredPairs = "error"
) -> Iterator[Qrel]:
    """Yield verdicts as TREC diversity qrels: grade 1 for yes, 0 for no.

    Args:
        verdicts: who supports what.
        pairs: (question, document, perspective), each once, that are to be written.
        unscored: what becomes of unscored pairs.

    Raises:
        InputError: a pair is unscored, and `unscored` is `error`.
    """
    for question_id, doc_id, perspective_id in pairs:
        found = verdicts.of(question_id, doc_id, perspective_id)
        if found.value is None and unscored == "error":
            shown = ", ".join(shorten(x, 40) for x in (question_id, doc_id, perspective_id))
            raise InputError(
                f"qrels: the pair {shown} is unscored ({shorten(found.unscored, 60)}); say what is "
                "to become of such pairs: skip (no line) or zero (no)"
            )
        if found.value is not None or unscored == "zero":
            yield Qrel(question_id, doc_id, int(bool(found.value)), perspective_id)


# From answers and labels -------------------------------------------------------------------------


@dataclass(slots=True)
class _Passages:
    """The verdicts on the passages of a document, by their numbers, as they are read."""

    count: int
    found: dict[int, Verdict] = field(default_factory=dict)

    def verdict(self) -> Verdict:
        said = self.found.values()
        if any(one.value for one in said):
            return Verdict(True, _highest([one for one in said if one.value is not None]))
        if reason := next((one.unscored for one in said if one.value is None), ""):
            return Verdict(None, None, reason)
        if len(self.found) < self.count:
            missing = self.count - len(self.found)
            return Verdict(None, None, f"passages: no verdict on {missing} of {self.count}")
        return Verdict(False, _highest(list(said)))


def _highest(verdicts: Sequence[Verdict]) -> float | None:
    stated = [one.probability for one in verdicts if one.probability is not None]
    return max(stated) if len(stated) == len(verdicts) else None


class _Collected:
    """Verdicts as they are read from lines."""

    def __init__(self) -> None:
        self._passages: dict[Place, _Passages] = {}
        self._by_id: dict[str, Verdict] = {}

    def add(self, row: Mapping[str, Any], verdict: Verdict, *, by_id: bool) -> None:
        """Add one line.

        Raises:
            InputError: it names no pair, or one that has a verdict.
        """
        place = _place(row, by_id=by_id)
        if place is None:
            self._by_id[row["id"]] = verdict
            return
        number, count = (_number(row, name) for name in ("passage", "passages"))
        if number > count:
            raise InputError(f"passage: found {number}, expected at most {count} (passages)")
        passages = self._passages.setdefault(place, _Passages(count))
        if number in passages.found or passages.count != count:
            shown = ", ".join(shorten(part, 40) for part in place)
            raise InputError(f"the pair {shown} has a verdict in an earlier line")
        passages.found[number] = verdict

    def verdicts(self, judge: str) -> Verdicts:
        """Return what was collected."""
        pairs = {place: passages.verdict() for place, passages in self._passages.items()}
        return Verdicts(judge, pairs, self._by_id)


def _place(row: Mapping[str, Any], *, by_id: bool) -> Place | None:
    """Return the pair that a line names; None where it names none and need not."""
    question = row.get("question_id")
    question = row.get("group") if question in (None, "") else question
    parts = {"question_id": question, **{n: row.get(n) for n in ("doc_id", "perspective_id")}}
    if by_id and row.get("doc_id") is None and row.get("perspective_id") is None:
        return None
    for name, value in parts.items():
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            found = "none" if value in (None, "") else shorten(repr(value), 40)
            raise InputError(
                f"{name}: found {found}, expected an id, as pnyx judge support --run writes it"
            )
    return str(question), str(row["doc_id"]), str(row["perspective_id"])


def _number(row: Mapping[str, Any], name: str) -> int:
    """Return the number of a passage, or of passages; 1 where the document was not cut."""
    value = row.get(name)
    if value is None:
        return 1
    if type(value) is int and value >= 1:
        return value
    raise InputError(f"{name}: found {shorten(repr(value), 40)}, expected a number from 1 on")


def verdicts_of_answers(judge: str, rows: Iterable[Mapping[str, Any]]) -> Verdicts:
    """Return the verdicts of one judge's answers, as `read_verdicts` reads them from a file.

    Raises:
        InputError: a row names no pair, or one that has a verdict, or is another task's.
    """
    collected = _Collected()
    for row in rows:
        collected.add(row, _answer(row), by_id=False)
    return collected.verdicts(judge)


def _answers(path: str, judge: str | None) -> Verdicts:
    collected, names = _Collected(), dict[str, None]()

    def add(row: Mapping[str, Any]) -> None:
        names[row["judge"]] = None
        if judge is None and len(names) > 1:
            shown = ", ".join(repr(shorten(name, 40)) for name in names)
            raise InputError(f"holds the answers of several judges ({shown}): name one (--judge)")
        if judge is None or row["judge"] == judge:
            collected.add(row, _answer(row), by_id=False)

    _each(path, "answers", add)
    if judge is not None and judge not in names:
        shown = ", ".join(shorten(name, 40) for name in list(names)[:5])
        problem = f"holds no answers of {shorten(judge, 40)!r} (judges found: {shown})"
        raise InputError(problem, path=path)
    return collected.verdicts(judge or next(iter(names)))


def _answer(row: Mapping[str, Any]) -> Verdict:
    if row["task"] not in _TASKS:
        found = shorten(row["task"], 40)
        raise InputError(f"task: found {found!r}, expected {' or '.join(_TASKS)}")
    if not isinstance(row["value"], bool | None):
        found = shorten(repr(row["value"]), 40)
        raise InputError(f"value: found {found}, expected true, false or null")
    if row["value"] is None:
        return Verdict(None, None, row["unscored"])
    return Verdict(row["value"], row.get("probability"))


def _labels(path: str) -> Verdicts:
    votes: dict[str, list[bool]] = {}
    first: dict[str, Mapping[str, Any]] = {}

    def vote(row: Mapping[str, Any]) -> None:
        votes.setdefault(row["id"], []).append(grade_of(row["value"]) > 0)
        before = first.setdefault(row["id"], row)
        if _place(before, by_id=True) != _place(row, by_id=True):
            raise InputError(f"id {shorten(row['id'], 40)!r} names another pair than before")

    _each(path, "labels", vote)
    collected = _Collected()
    for identifier, said in votes.items():
        value = majority(said)
        verdict = Verdict(value, None, "tie" if value is None else "")
        try:
            collected.add(first[identifier], verdict, by_id=True)
        except InputError as error:
            shown = shorten(identifier, 40)
            raise InputError(f"id {shown!r}: {error.problem}", path=path) from error
    name = "standard input" if path == "-" else Path(path).name
    return collected.verdicts(f"labels:{name}")


def _each(path: str, name: str, take: Callable[[Mapping[str, Any]], None]) -> None:
    """Take each line of a judges' file; what is wrong with one is raised with its place."""
    for line, row in read_items(path, name):
        try:
            take(row)
        except InputError as error:
            raise InputError(error.problem, path=path, line=line) from error
