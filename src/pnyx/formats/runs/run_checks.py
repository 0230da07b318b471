"""Warnings about a readable run: ranks against scores, several tags, ties, excessive depth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import RunEntry
from pnyx.formats.base import Row
from pnyx.formats.runs.trec import trec_eval_order
from pnyx.formats.tracks.rules import Finding

USUAL_DEPTH = 1000
"""Documents per topic that TREC accepts in a run."""

FIRST_RANK = 1


class _RankedDocument(NamedTuple):
    """A document of a topic: its score, its rank and the number of its line or row."""

    score: float
    rank: int
    number: int


class _Case(NamedTuple):
    """A case of a warning: its topic, its line or row, a description, and its count."""

    topic: str
    number: int
    words: str
    adds: int = 1


_Documents = Mapping[str, _RankedDocument]


def checked_run(
    rows: Iterable[Row[RunEntry]], *, lines: bool = True
) -> Iterator[Row[RunEntry] | Finding]:
    """Yield the rows of a run, then a warning for each kind of peculiarity.

    A warning counts the cases and names the first, with its line if rows are `lines`.
    """
    topics: dict[str, dict[str, _RankedDocument]] = {}
    tags: dict[str, _Case] = {}
    for row in rows:
        yield row
        if not isinstance(row, InputError):
            number, entry = row
            topic, tag = entry.topic_id, entry.tag
            document = _RankedDocument(entry.score, entry.rank, number)
            topics.setdefault(topic, {})[entry.doc_id] = document
            tags.setdefault(tag, _Case(topic, number, f"{shorten(tag, 40)!r}"))
    checks = (_tags(tags), _ranks_below_one(topics), _ranks(topics), _ties(topics), _depth(topics))
    for category, problem, case, effect in filter(None, checks):
        first = f"first in topic {shorten(case.topic, 40)}: {case.words}"
        line = case.number if lines else None
        yield Finding(category, f"{problem} ({first}); {effect}", "warning", line, case.topic)


_Warning = tuple[str, str, _Case, str]
"""A category, the problem, its first case, and the consequence."""


def _of_topics(cases: Sequence[object], topics: Mapping[str, _Documents]) -> str:
    return f"{len(cases):,} of {len(topics):,} topic" + "s" * (len(topics) != 1)


def _tags(tags: Mapping[str, _Case]) -> _Warning | None:
    if len(tags) < 2:
        return None
    first, second, *more = tags.values()
    named = f"{first.words}, {second.words}" + ", ..." * bool(more)
    return "tags", f"{len(tags):,} tags ({named})", second, "all are measured as one run"


def _ranks_below_one(topics: Mapping[str, _Documents]) -> _Warning | None:
    cases = [
        _Case(topic, document.number, f"{shorten(doc_id, 40)} has rank {document.rank}")
        for topic, documents in topics.items()
        for doc_id, document in documents.items()
        if document.rank < FIRST_RANK
    ]
    if not cases:
        return None
    ranks = sum(map(len, topics.values()))
    problem = f"{len(cases):,} of {ranks:,} ranks are below {FIRST_RANK}"
    return "rank_zero", problem, cases[0], f"ranks start at {FIRST_RANK}"


def _ranks(topics: Mapping[str, _Documents]) -> _Warning | None:
    every = (_disagreement(topic, documents) for topic, documents in topics.items())
    cases = [case for case in every if case is not None]
    if not cases:
        return None
    problem = f"ranks disagree with scores in {_of_topics(cases, topics)}"
    return "ranks", problem, cases[0], "the scores are used, as in trec_eval"


def _disagreement(topic: str, documents: _Documents) -> _Case | None:
    """Return the first document with a better rank than one with a higher score."""
    worst = ""
    for group in _by_score(documents):
        best = min(group, key=lambda doc: documents[doc].rank)
        rank, number = documents[best].rank, documents[best].number
        if worst and rank < documents[worst].rank:
            words = f"{shorten(best, 40)} has rank {rank} and a lower score than "
            words += f"{shorten(worst, 40)} on rank {documents[worst].rank}"
            return _Case(topic, number, words)
        worst = max(group, key=lambda doc: documents[doc].rank)  # over all so far
    return None


def _by_score(documents: _Documents) -> list[list[str]]:
    """Return the documents, best first, grouped by score, as trec_eval ranks."""
    order = trec_eval_order({doc_id: doc.score for doc_id, doc in documents.items()})
    return [[doc for _, doc in group] for _, group in groupby(order, key=itemgetter(0))]


def _ties(topics: Mapping[str, _Documents]) -> _Warning | None:
    cases, reordered = [], []
    for topic, documents in topics.items():
        ties = [group for group in _by_score(documents) if len(group) > 1]
        if ties:
            first, second = sorted(ties[0], key=lambda doc: documents[doc].number)[:2]
            words = f"{shorten(first, 40)} and {shorten(second, 40)}"
            number = documents[second].number
            cases.append(_Case(topic, number, words, sum(map(len, ties))))
            ranks = [[documents[doc].rank for doc in group] for group in ties]
            reordered += [topic] * any(group != sorted(group) for group in ranks)
    if not cases:
        return None
    count = sum(case.adds for case in cases)
    problem = f"{count:,} documents share a score with another in {_of_topics(cases, topics)}"
    effect = "trec_eval orders equal scores by document id, last first"
    if reordered:
        effect += f", not by rank as {_of_topics(reordered, topics)}"
    return "ties", problem, cases[0], effect


def _depth(topics: Mapping[str, _Documents]) -> _Warning | None:
    cases = [
        _Case(topic, list(documents.values())[USUAL_DEPTH].number, f"{len(documents):,}")
        for topic, documents in topics.items()
        if len(documents) > USUAL_DEPTH
    ]
    if not cases:
        return None
    problem = f"more than {USUAL_DEPTH:,} documents in {_of_topics(cases, topics)}"
    return "depth", problem, cases[0], "TREC accepts no more"
