"""Merging of several nugget banks of a topic: duplicates become one nugget, and nothing is lost.

Candidates are found by the embedder and confirmed by a judge, in both directions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from pnyx.core.nuggets import Nugget, NuggetAnswer, NuggetBank, NuggetReference
from pnyx.formats.text.segment import named_words
from pnyx.formats.text.words import words_of
from pnyx.judging.answers import Answer, Judged
from pnyx.judging.base import Judge, ask
from pnyx.judging.questions import Support
from pnyx.models.embed.embedder import Embedder
from pnyx.models.embed.encoder import load_encoder

CANDIDATES_FROM, CLOSE_FROM = 0.7, 0.9
"""Minimum cosine of a pair that a judge is asked about; the second is for the packaged judge, which
confuses questions on one subject (docs/lab/nuggets.md)."""

MERGING = (
    "nuggets, and answers to one question, are merged where they have the same words, or where "
    "each gives the other by the judge, with a probability of at least one half, into the first of "
    "them, banks in the order of team, run and content; answers are merged before questions; "
    "questions of which one wants all answers and another any, or which both want all of "
    "different answers, stay apart; a merged nugget is vital where at least half of those that say "
    "so are"
)
"""The rules in words."""

_SAME_QUESTION = (
    "Text and statement are questions, and nobody answers them. The text gives the statement if "
    "whoever answers the one question has thereby answered the other."
)


@dataclass(frozen=True, slots=True)
class MergedBanks:
    """The result of merging.

    Attributes:
        banks: one for each topic, in the order of their ids.
        report: a row for each pair of nuggets or answers that a judge was asked about, or that have
            the same words: `topic_id`, `what` (question, claim, answer), `first` and `second`
            (bank, id, text), `cosine`, `probabilities` (in both directions; none for the same
            words), whether they are the `same`, and, for questions that ask the same but are not
            merged, why they stay `apart`.
        nuggets_in: number of nuggets in all input banks.
        unscored: pairs on which the judge gave no verdict; they are not merged.
    """

    banks: list[NuggetBank]
    report: list[dict[str, Any]]
    nuggets_in: int
    unscored: int

    @property
    def apart(self) -> list[dict[str, Any]]:
        """The rows of questions that ask the same but are not merged."""
        return [row for row in self.report if "apart" in row]


@dataclass
class _Entry:
    """A nugget, or an answer, with its origin."""

    bank: str
    id: str
    text: str
    question: str = ""
    kind: str = "claim"

    def row(self) -> dict[str, str]:
        return {"bank": self.bank, "id": self.id, "text": self.text}


@dataclass
class _Merger:
    judge: Judge
    embedder: Embedder
    candidates_from: float
    cautious: bool
    report: list[dict[str, Any]] = field(default_factory=list)
    unscored: int = 0

    def groups(self, topic: str, entries: Sequence[_Entry]) -> list[list[int]]:
        """Return groups whose members say the same as the first; groups do not chain further."""
        first: dict[tuple[str, ...], int] = {}
        groups: dict[int, list[int]] = {}
        for index, entry in enumerate(entries):
            home = first.setdefault((entry.kind, *words_of(entry.text)), index)
            groups.setdefault(home, []).append(index)
            if home != index:  # the same words need no judge
                self._add(topic, (entries[home], entry), 1.0, (), same=True)
        same = self._confirmed(topic, entries, self._pairs(entries, list(groups)))
        left: dict[int, list[int]] = {}
        for index, group in groups.items():
            home = next((member for member in left if (member, index) in same), index)
            left.setdefault(home, []).extend(group)
        return [sorted(group) for group in left.values()]

    def _pairs(
        self, entries: Sequence[_Entry], places: Sequence[int]
    ) -> dict[tuple[int, int], float]:
        """Return the candidate pairs of one kind, with their cosines."""
        if len(places) < 2:
            return {}
        vectors = self.embedder.encode([entries[index].text for index in places])
        cosines = vectors @ vectors.T
        similarities = {}
        for j, second in enumerate(places):
            for i, first in enumerate(places[:j]):
                one_kind = entries[first].kind == entries[second].kind
                near = one_kind and cosines[i, j] >= self.candidates_from
                if near and self.cautious:
                    near = entries[first].kind != "question" and (
                        named_words(entries[first].text) == named_words(entries[second].text)
                    )
                if near:
                    similarities[first, second] = min(1.0, round(float(cosines[i, j]), 6))
        return similarities

    def _confirmed(
        self, topic: str, entries: Sequence[_Entry], pairs: dict[tuple[int, int], float]
    ) -> set[tuple[int, int]]:
        """Return the pairs that imply each other."""
        both_ways = [(entries[a], entries[b]) for pair in pairs for a, b in (pair, pair[::-1])]
        questions = [_ask(topic, *pair) for pair in both_ways]
        answers = ask(self.judge, questions) if questions else []
        same = set()
        for number, (pair, cosine) in enumerate(pairs.items()):
            both = answers[2 * number : 2 * number + 2]
            self.unscored += any(not isinstance(answer, Judged) for answer in both)
            if merged := all(map(_sure, both)):
                same.add(pair)
            stated = [getattr(answer, "probability", None) for answer in both]
            self._add(topic, (entries[pair[0]], entries[pair[1]]), cosine, stated, same=merged)
        return same

    def _add(
        self,
        topic: str,
        pair: tuple[_Entry, _Entry],
        cosine: float,
        stated: Sequence[float | None],
        *,
        same: bool,
    ) -> None:
        first, second = pair
        row = {"topic_id": topic, "what": first.kind, "first": first.row(), "second": second.row()}
        self.report.append({**row, "cosine": cosine, "probabilities": list(stated), "same": same})


def _sure(answer: Answer) -> bool:
    """Whether an answer is yes, and at least as likely as not: merging loses a distinction."""
    if not isinstance(answer, Judged) or answer.value is not True:
        return False
    return answer.probability is None or answer.probability >= 0.5


_Group = Sequence[tuple[str, Nugget]]
"""Nuggets that say the same, each with the name of its bank; the first one is kept."""


def merge_banks(
    banks: Iterable[tuple[str, NuggetBank]],
    judge: Judge,
    *,
    embedder: Embedder | None = None,
    candidates_from: float = CANDIDATES_FROM,
    cautious: bool = False,
    run_id: str = "",
) -> MergedBanks:
    """Merge all banks of each topic into one, by `MERGING`; their order does not matter.

    Title, team and other fields come from the first bank; questions never merge with claims.

    Args:
        banks: each with its name in the report.
        judge: answers Support questions of the task `nugget`.
        embedder: finds the candidates; the packaged one by default.
        candidates_from: minimum cosine for asking the judge, in [-1, 1].
        cautious: for a judge that confuses countries or years, or what is asked: questions are
            merged only if they have the same words, and answers and claims only if they name the
            same numbers and capitalised words.
        run_id: of the merged banks; empty for the first one's.
    """
    merger = _Merger(judge, embedder or load_encoder(), candidates_from, cautious)
    topics: dict[str, list[tuple[str, NuggetBank]]] = {}
    fields = attrgetter("topic_id", "team_id", "run_id")
    order = sorted(banks, key=lambda named: (fields(named[1]), repr(named[1]), named[0]))
    for name, bank in order:
        topics.setdefault(bank.topic_id, []).append((name, bank))
    merged = [_merged(merger, topic, some, run_id) for topic, some in topics.items()]
    count = sum(len(bank.nuggets) for some in topics.values() for _, bank in some)
    return MergedBanks(merged, merger.report, count, merger.unscored)


def _merged(
    merger: _Merger, topic: str, banks: Sequence[tuple[str, NuggetBank]], run_id: str
) -> NuggetBank:
    nuggets = [(name, nugget) for name, bank in banks for nugget in bank.nuggets]
    entries = [
        _Entry(name, nugget.id, nugget.text, kind="claim" if nugget.is_claim else "question")
        for name, nugget in nuggets
    ]
    united: list[tuple[int, Nugget]] = []
    for group in merger.groups(topic, entries):
        united_groups = _united(merger, topic, [nuggets[index] for index in group])
        united += [(group[some[0]], nugget) for some, nugget in united_groups]
    united.sort(key=lambda placed: placed[0])
    first = banks[0][1]
    return replace(
        first,
        nuggets=tuple(_with_own_ids([nugget for _, nugget in united])),
        title=next((bank.title for _, bank in banks if bank.title), ""),
        run_id=run_id or first.run_id,
    )


def _with_own_ids(nuggets: Sequence[Nugget]) -> list[Nugget]:
    """Number nuggets whose id is taken: ids of different banks are not related."""
    taken: set[str] = set()
    with_ids = []
    for nugget in nuggets:
        name, number = nugget.id, 1
        while name in taken:
            number += 1
            name = f"{nugget.id}-{number}"
        taken.add(name)
        with_ids.append(nugget if name == nugget.id else replace(nugget, id=name))
    return with_ids


def _united(merger: _Merger, topic: str, group: _Group) -> list[tuple[list[int], Nugget]]:
    """Return (positions in the group, merged nugget): one unless their aggregators forbid it."""
    if len(group) == 1:
        return [([0], group[0][1])]
    answers = _Answers.of(merger, topic, group)
    groups: list[list[int]] = []
    for index in range(len(group)):
        why = ""
        for some in groups:
            problem = _conflict(
                [group[member][1] for member in [*some, index]], answers, [*some, index]
            )
            if not problem:
                some.append(index)
                break
            why = why or problem
        else:
            groups.append([index])
            if why:
                _keep_apart(merger, topic, group, index, why)
    return [(some, _one(group, some, answers)) for some in groups]


def _keep_apart(merger: _Merger, topic: str, group: _Group, index: int, why: str) -> None:
    """Record in the row of the pair that would have been merged why it is not."""
    rows = [{"bank": name, "id": nugget.id, "text": nugget.text} for name, nugget in group]
    for row in merger.report:
        pair = row["same"] and row["topic_id"] == topic and row["second"] == rows[index]
        if pair and row["first"] in rows[:index]:
            row["apart"] = why
            return


def _conflict(nuggets: Sequence[Nugget], answers: _Answers, places: Sequence[int]) -> str:
    """Return why questions cannot be merged (a union would ask for less than an AND), or ""."""
    several = [n for n in nuggets if len(n.answers) > 1 or (n.answers and n.aggregator)]
    kinds = {
        "OR" if nugget.aggregator in ("", "Default") else nugget.aggregator for nugget in several
    }
    classes_of_each = [answers.classes[index] for index in places]
    if len(kinds) > 1 and len(set().union(*classes_of_each)) > 1:
        return " and ".join(sorted(kinds))
    if "AND" in kinds and not max(classes_of_each, key=len).issuperset(
        set().union(*classes_of_each)
    ):
        return "AND of different answers"
    return ""


def _one(group: _Group, places: Sequence[int], answers: _Answers) -> Nugget:
    """Return one nugget from some of a group; a single one is unchanged."""
    first = group[places[0]][1]
    if len(places) == 1:
        return first
    some = [group[index] for index in places]
    nuggets = [nugget for _, nugget in some]
    # The aggregator is that of a nugget with answers.
    answered = [nugget for nugget in nuggets if nugget.answers] or nuggets
    lost = [{"bank": bank, "id": n.id, "text": n.text, **_beside(n)} for bank, n in some[1:]]
    return replace(
        first,
        answers=answers.united(places),
        references=_references(nuggets),
        sub_nuggets=tuple(_with_own_ids([p for nugget in nuggets for p in nugget.sub_nuggets])),
        importance=_importance(nuggets),
        aggregator=next((nugget.aggregator for nugget in answered if nugget.aggregator), ""),
        extra={**first.extra, "merged": [*first.extra.get("merged", ()), *lost]},
    )


def _beside(nugget: Nugget) -> dict[str, Any]:
    """Return the fields of a merged nugget other than text, answers and references."""
    fields: dict[str, Any] = {"importance": nugget.importance, "aggregator": nugget.aggregator}
    fields |= {"extra": dict(nugget.extra)}
    return {name: value for name, value in fields.items() if value}


@dataclass(frozen=True)
class _Answers:
    """The answers of nuggets that ask the same."""

    entries: list[tuple[_Entry, int, NuggetAnswer]]
    same: list[list[int]]
    classes: list[frozenset[int]]

    @classmethod
    def of(cls, merger: _Merger, topic: str, group: _Group) -> _Answers:
        """Group the answers that say the same."""
        question = group[0][1].text
        entries = [
            (_Entry(name, f"{nugget.id}/{n}", answer.text, question, "answer"), index, answer)
            for index, (name, nugget) in enumerate(group)
            for n, answer in enumerate(nugget.answers)
        ]
        same = merger.groups(topic, [entry for entry, _, _ in entries])
        classes: list[set[int]] = [set() for _ in group]
        for number, some in enumerate(same):
            for answer in some:
                classes[entries[answer][1]].add(number)
        return cls(entries, same, [frozenset(part) for part in classes])

    def united(self, places: Sequence[int]) -> tuple[NuggetAnswer, ...]:
        """Return the answers of some nuggets, each once."""
        united = []
        for some in self.same:
            members = [self.entries[index] for index in some if self.entries[index][1] in places]
            if not members:
                continue
            parts = [answer for _, _, answer in members]
            extra = {key: value for part in reversed(parts) for key, value in part.extra.items()}
            lost = [
                {"bank": entry.bank, "id": entry.id, "text": duplicate.text}
                | ({"extra": dict(duplicate.extra)} if duplicate.extra else {})
                for entry, _, duplicate in members[1:]
                if duplicate.text != parts[0].text
                or any(extra[k] != v for k, v in duplicate.extra.items())
            ]
            if lost:
                extra["merged"] = [*extra.get("merged", ()), *lost]
            united.append(replace(parts[0], references=_references(parts), extra=extra))
        return tuple(united)


def _references(parts: Sequence[Nugget | NuggetAnswer]) -> tuple[NuggetReference, ...]:
    """Return all references, each document and position in it once."""
    references: dict[str, NuggetReference] = {}
    for part in parts:
        for reference in part.references:
            key = repr((reference.doc_id, sorted(reference.extra.items(), key=repr)))
            references.setdefault(key, reference)
    return tuple(references.values())


def _importance(nuggets: Sequence[Nugget]) -> str:
    """Return vital if at least half of the nuggets rated vital or okay are; else their rating."""
    stated = [nugget.importance for nugget in nuggets if nugget.importance]
    votes = [importance for importance in stated if importance in ("vital", "okay")]
    if not votes:
        return stated[0] if stated else ""
    return "vital" if 2 * votes.count("vital") >= len(votes) else "okay"


def _ask(topic: str, answer: _Entry, wanted: _Entry) -> Support:
    return Support(
        id=f"{topic}/{answer.bank}/{answer.id}/{wanted.bank}/{wanted.id}",
        text=answer.text,
        statement=wanted.text,
        task="nugget",
        question=wanted.question,
        guideline=_SAME_QUESTION if wanted.kind == "question" else "",
        group=topic,
    )
