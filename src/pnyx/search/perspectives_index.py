"""Perspectives without a language model, from the conclusions of an index, on both sides.

Conclusions on the question are given sides and grouped; on each side the most relevant and most
diverse are taken, in turns (docs/explain/decisions/diversity.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import SIDES, Argument, Evidence, Perspective, Question, Stance
from pnyx.judging.base import Judge
from pnyx.judging.passages import read_passage
from pnyx.models.http.flow import run_blocking
from pnyx.search.engine import Engine, TopicQuery
from pnyx.search.perspectives import PerspectiveSet, Search
from pnyx.search.plan import PERSPECTIVES, Scoring
from pnyx.search.quotable import MIN_REASON, flaw, is_quotable, reason_probabilities
from pnyx.search.ranking.diversify import mmr, round_robin
from pnyx.search.sides import CORPUS_LABEL, ask_sides, match_labels, sided_by_label
from pnyx.search.topics import TopicMatcher

if TYPE_CHECKING:
    from pnyx.models.embed.encoder import Encoder

_DEPTH = 60
_ON_TOPIC = 0.4
"""Minimum cosine of a conclusion with the question if its topic has no label."""
_WITHIN_TOPIC = 0.3
"""The same if the document is in a topic cluster with at least the cosine `_ON_TOPIC`."""
_SAME = 0.7
"""Minimum cosine of two conclusions on one side that count as one perspective."""
_LAMBDA = 0.5
_SENTENCES = 12
"""Maximum sentences read from a document without a conclusion."""
_LEAST_WORDS = 3
_MAX_CHARACTERS = 1000


@dataclass(slots=True)
class _Candidate:
    document: Evidence
    text: str
    kind: str
    vector: NDArray[np.float32]
    near: float
    side: Stance | None = None
    side_by: str = ""
    members: list[str] = field(default_factory=list)


class IndexPerspectives:
    """Takes perspectives, at most `count` on a question, from the conclusions in an index.

    A document without a conclusion, or with one that it argues against (args.me), is represented
    by the sentence most like the question among those that likely state a reason. `judge` answers
    `stance` questions where the corpus has no label on the question (`matcher`); the packaged
    judge, the default, is unsure of many (docs/explain/decisions/sides.md). `search` finds
    documents, by default by Dirichlet; the best `depth` are read, and as many on the question's
    topics. Raises InputError for numbers below 1.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        count: int = PERSPECTIVES,
        judge: Judge | None = None,
        search: Search | None = None,
        depth: int = _DEPTH,
        matcher: TopicMatcher | None = None,
    ) -> None:
        if count < 1 or depth < 1:
            raise InputError(f"count is {count} and depth {depth}, expected at least 1")
        self._engine = engine
        self._count = count
        self._judge = judge
        self._search: Search = search or (
            lambda text, k: engine.retrieve(text, Scoring("dirichlet"), k)
        )
        self._depth = depth
        self._matcher = matcher or TopicMatcher()

    @property
    def name(self) -> str:
        """The engine's name."""
        return self._engine.name

    def find(self, questions: Sequence[Question]) -> list[PerspectiveSet]:
        """See `PerspectiveSource`."""
        from pnyx.judging.students.judge import PackagedJudge
        from pnyx.models.embed.encoder import load_encoder

        encoder, judge = load_encoder(), self._judge or PackagedJudge("stance")
        return [self._find(question, encoder, judge) for question in questions]

    def _find(self, question: Question, encoder: Encoder, judge: Judge) -> PerspectiveSet:
        target = encoder.encode([question.text])[0]
        hits = [hit.doc_id for hit in self._search(question.text, self._depth)]
        query = TopicQuery(question.text, target, encoder.name, _ON_TOPIC, self._depth)
        of_topic, unused = self._engine.on_topics(query)
        ids = list(dict.fromkeys([*hits, *of_topic]))
        members = frozenset(of_topic)
        candidates = []
        documents = self._engine.fetch(ids)
        matches = match_labels(question, documents, self._matcher)
        for document, match in zip(documents, matches, strict=True):
            label = sided_by_label(document, match)
            candidate = _candidate(document, target, encoder)
            least = _WITHIN_TOPIC if document.id in members else _ON_TOPIC
            if candidate is not None and (label is not None or candidate.near >= least):
                if label is not None:
                    candidate.side, candidate.side_by = label.side or "neutral", CORPUS_LABEL
                candidates.append(candidate)
        problems = [*unused, *_take_sides(question, candidates, judge)]
        chosen = _choose(candidates, self._count)
        if not chosen:
            problems = [*unused, f"none of {len(ids)} documents found contain a conclusion on it"]
        elif not set(SIDES) <= {c.side for c in chosen}:
            problems.append("they do not cover both sides")
        perspectives = []
        for n, candidate in enumerate(chosen, start=1):
            extra: dict[str, Any] = {"origin": self.name, "kind": candidate.kind}
            extra |= {
                "documents": [candidate.document.id, *candidate.members],
                "side_by": candidate.side_by,
            }
            perspectives.append(
                Perspective(
                    f"{question.id}-p{n}", question.id, candidate.text, candidate.side, extra
                )
            )
        return PerspectiveSet(tuple(perspectives), self.name, tuple(problems))


def _candidate(
    document: Evidence, target: NDArray[np.float32], encoder: Encoder
) -> _Candidate | None:
    """Return a document's conclusion, or else a sentence; `near` is that of its closest."""
    if conclusion := _conclusion(document):
        texts, kind = [conclusion], "conclusion"
    else:
        sentences = read_passage(document.text).sentences[:_SENTENCES]
        opposed = document.conclusion if isinstance(document, Argument) else ""
        lines = (_line(sentence) for sentence in sentences if sentence not in opposed)
        texts, kind = list(filter(_states, lines)), "sentence"
    if not texts:
        return None
    vectors = encoder.encode(texts)
    near = vectors @ target
    best = int(near.argmax()) if kind == "conclusion" else _arguing(texts, vectors, near)
    return _Candidate(document, texts[best], kind, vectors[best], float(near.max()))


def _arguing(texts: Sequence[str], vectors: NDArray[np.float32], near: NDArray[np.float32]) -> int:
    """Return the position of the closest sentence: one with a reason, or quotable, or any."""
    likely = reason_probabilities(texts, vectors) >= MIN_REASON
    alone = np.array([is_quotable(text) and not flaw(text) for text in texts])
    for wanted in (alone & likely, alone):
        if (wanted & (near >= _WITHIN_TOPIC)).any():
            return int(np.where(wanted, near, -np.inf).argmax())
    return int(near.argmax())


def _conclusion(document: Evidence) -> str:
    """Return the statement that an argument supports; empty if it states none."""
    if not isinstance(document, Argument):
        return ""
    text = _line(document.conclusion)
    # Without a topic, its stance is towards its conclusion: con argues against that.
    argues_for_it = document.topic or document.stance != "con"
    return text if argues_for_it and _states(text) else ""


def _line(text: str) -> str:
    return " ".join(text[: 4 * _MAX_CHARACTERS].split())[:_MAX_CHARACTERS]


def _states(text: str) -> bool:
    """Return whether a text can be a statement: enough words, and not a question."""
    return len(re.findall(r"\w+", text)) >= _LEAST_WORDS and not text.endswith("?")


def _take_sides(question: Question, candidates: Sequence[_Candidate], judge: Judge) -> list[str]:
    """Ask the judge for the sides that no label decides; return any problems."""
    unknown = [c for c in candidates if not c.side_by]
    items = [(question, c.document.id, c.text) for c in unknown]
    reasons = []
    verdicts = run_blocking(lambda: ask_sides(judge, items))
    for candidate, sided in zip(unknown, verdicts, strict=True):
        reasons += sided.reasons
        candidate.side, candidate.side_by = sided.side, sided.by
    problems = []
    if open_ones := sum(c.side is None for c in candidates):
        problems.append(f"the side of {open_ones} of {len(candidates)} conclusions is not known")
    if reasons:
        problems.append(f"{len(reasons)} verdicts on sides are unscored: {shorten(reasons[0])}")
    return problems


def _choose(candidates: Sequence[_Candidate], count: int) -> list[_Candidate]:
    """Take both sides in turns, then, if there is room, those on no or an unknown side."""
    by_side: dict[Stance | None, list[_Candidate]] = {}
    for candidate in candidates:
        by_side.setdefault(candidate.side, []).append(candidate)
    sided = [_grouped(by_side.get(side, [])) for side in SIDES]
    others = _grouped([*by_side.get("neutral", []), *by_side.get(None, [])])
    turns = round_robin([[(s, i) for i in range(len(g))] for s, g in enumerate(sided)], count)
    chosen = [sided[s][i] for s, i in turns]
    return [*chosen, *others][:count]


def _grouped(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Group candidates that say the same, and order the groups by `mmr`."""
    labelled = [c for c in candidates if c.side_by == CORPUS_LABEL]
    judged = [c for c in candidates if c.side_by != CORPUS_LABEL]
    groups: list[_Candidate] = []
    for some in filter(None, (labelled, judged)):
        vectors = np.stack([c.vector for c in some])
        near = [max(0.0, c.near) for c in some]
        for candidate in (some[i] for i in mmr(near, vectors, len(some), _LAMBDA)):
            alike = [float(candidate.vector @ other.vector) for other in groups]
            if alike and max(alike) >= _SAME:
                groups[int(np.argmax(alike))].members.append(candidate.document.id)
            else:
                groups.append(candidate)
    return groups
