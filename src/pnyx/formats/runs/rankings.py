"""Runs and qrels in the form for retrieval measures: a ranking and judgements for each topic."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import Qrel
from pnyx.formats import read_qrels, read_run
from pnyx.formats.questions import topic_order
from pnyx.formats.runs.sources import Run
from pnyx.formats.runs.trec import trec_eval_order

Qrels: TypeAlias = str | Path | Iterable[Qrel] | Iterable[Mapping[str, Any]] | Mapping[str, Any]
"""A file, what `pnyx.read_qrels` yields, a data frame, rows, or topic -> document -> grade."""

MAX_GRADE = 1_000_000  # trec_eval's code holds a counter for each grade up to the highest

NO_SUBTOPIC = {"0", "Q0", "q0"}
"""Values of the second column of plain qrels, possibly mixed in one file (Touché 2020)."""


@dataclass(frozen=True, slots=True)
class Rankings:
    """A run: topic -> document ids, best first; its tags; topics whose rank column disagrees."""

    by_topic: Mapping[str, Sequence[str]]
    tags: tuple[str, ...]
    rearranged: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judgements:
    """Qrels: topic -> document -> subtopic -> grade; the subtopic of plain qrels is 0."""

    by_topic: Mapping[str, Mapping[str, Mapping[str, int]]]

    @property
    def diverse(self) -> bool:
        """Whether some topic has several subtopics."""
        return any(
            len({subtopic for grades in documents.values() for subtopic in grades}) > 1
            for documents in self.by_topic.values()
        )

    def grades(self, topic: str) -> dict[str, int]:
        """Return document -> grade, the best of several subtopics."""
        return {doc: max(by.values()) for doc, by in self.by_topic[topic].items()}

    @property
    def best_grades(self) -> dict[str, dict[str, int]]:
        """Topic -> document -> grade; see `grades`."""
        return {topic: self.grades(topic) for topic in self.by_topic}

    @property
    def without_relevant(self) -> tuple[str, ...]:
        """The topics without a document graded 1 or more."""
        return tuple(t for t in self.by_topic if not any(g > 0 for g in self.grades(t).values()))


def topics_measured(
    ranked: Mapping[str, Rankings], judged: Collection[str], topics_of: str, having: str
) -> dict[str, list[str]]:
    """Return the topics that each run is measured on; InputError if there are none."""
    for name, rankings in ranked.items():
        if not any(topic in judged for topic in rankings.by_topic):
            here, there = some_topics(rankings.by_topic), some_topics(judged)
            problem = f"no topic has {having} (topics are {here}; {having} are of {there})"
            raise InputError(problem, path=name)
    everywhere = [t for t in judged if all(t in r.by_topic for r in ranked.values())]
    if topics_of == "both" and not everywhere:
        raise InputError(f"no topic is in the {having} and in every run")
    if topics_of != "run":
        return dict.fromkeys(ranked, everywhere if topics_of == "both" else list(judged))
    return {name: [t for t in judged if t in r.by_topic] for name, r in ranked.items()}


def some_topics(topics: Iterable[str]) -> str:
    """Return the first topics for a message."""
    return ", ".join(repr(shorten(topic, 30)) for topic in list(topics)[:3]) or "none"


def rankings_of(entries: Run) -> Rankings:
    """Order a run's documents as trec_eval does: by score in single precision, then by id."""
    scores, tags = scores_of(entries)
    by_topic, rearranged = {}, []
    for topic in sorted(scores, key=topic_order):
        documents = scores[topic]
        order = trec_eval_order({doc: score for doc, (score, _) in documents.items()})
        by_topic[topic] = [doc for _, doc in order]
        ranks = [documents[doc][1] for doc in by_topic[topic]]
        if any(later < earlier for earlier, later in pairwise(ranks)):
            rearranged.append(topic)
    return Rankings(by_topic, tags, tuple(rearranged))


def scores_of(entries: Run) -> tuple[dict[str, dict[str, tuple[float, int]]], tuple[str, ...]]:
    """Collect a run as topic -> document -> (score, rank), and its tags."""
    scores: dict[str, dict[str, tuple[float, int]]] = {}
    tags: dict[str, None] = {}
    for e in read_run(entries):
        documents = scores.setdefault(e.topic_id, {})
        if e.doc_id in documents or not math.isfinite(e.score):
            what = "ranked twice" if e.doc_id in documents else f"given the score {e.score}"
            raise InputError(f"topic {shorten(e.topic_id)}: {shorten(e.doc_id)} is {what}")
        documents[e.doc_id] = (e.score, e.rank)
        tags[e.tag] = None
    return scores, tuple(tags)


def judgements_of(qrels: Qrels) -> Judgements:
    """Collect qrels by topic; InputError: none, a pair judged twice, a grade above a million."""
    grades: dict[str, dict[str, dict[str, int]]] = {}
    for q in read_qrels(qrels):
        by_subtopic = grades.setdefault(q.topic_id, {}).setdefault(q.doc_id, {})
        subtopic = "0" if q.subtopic in NO_SUBTOPIC else q.subtopic
        if subtopic in by_subtopic or q.grade > MAX_GRADE:
            twice, high = "judged twice", f"grade {q.grade}, expected at most {MAX_GRADE}"
            problem = twice if subtopic in by_subtopic else high
            raise InputError(f"topic {shorten(q.topic_id)}, {shorten(q.doc_id)}: {problem}")
        by_subtopic[subtopic] = q.grade
    if not grades:
        raise InputError("the qrels contain no judgements")
    return Judgements({topic: grades[topic] for topic in sorted(grades, key=topic_order)})
