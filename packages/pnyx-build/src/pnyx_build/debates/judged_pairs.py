"""From debates to judged pairs: documents, relevance by side, negatives, and the split by topic.

ConQRet, section 4.3: the documents that a side cites are relevant to the topic and that side; an
equal number of documents of other topics are not. No topic or document is in both splits.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import SIDES, Debate, Question, Side
from pnyx.formats.conqret import SPLITS, ConqretTopic, Split
from pnyx.formats.debates import bare_title
from pnyx.formats.text.words import words_of


@dataclass(frozen=True, slots=True)
class GatheredSource:
    """A document cited by debates, identified by its link, or by its title if it has no link."""

    id: str
    title: str
    url: str
    debates: tuple[str, ...]


def gather_sources(debates: Sequence[Debate]) -> tuple[list[Debate], list[GatheredSource]]:
    """Give every source the id of its document; return the debates and the documents, in order.

    Ids contain no spaces, since runs and qrels cannot hold them. A source with neither title nor
    link has none.

    Raises:
        InputError: two debates have the same id.
    """
    documents: dict[str, GatheredSource] = {}
    gathered: list[Debate] = []
    used: set[str] = set()
    for debate in debates:
        identifier = re.sub(r"\s+", "-", debate.id.strip())
        if identifier in used:
            raise InputError(f"two debates have the id {shorten(identifier)!r}")
        used.add(identifier)
        sources = []
        for number, source in enumerate(debate.sources, start=1):
            # What two mentions of one source have in common.
            key = source.url.partition("#")[0]
            key = key if source.url else " ".join(words_of(bare_title(source)))
            if not key:
                sources.append(replace(source, doc_id=""))
                continue
            if key not in documents:
                name = f"{identifier}-s{number}"
                documents[key] = GatheredSource(name, bare_title(source), source.url, ())
            document = documents[key]
            if identifier not in document.debates:
                named = (*document.debates, identifier)
                documents[key] = replace(document, debates=named)
            sources.append(replace(source, doc_id=document.id))
        gathered.append(replace(debate, id=identifier, sources=tuple(sources)))
    return gathered, list(documents.values())


def split_topics(debates: Sequence[Debate], share: float, seed: int) -> dict[str, Split]:
    """Return debate id -> split: about `share` of the debates train, in (0, 1].

    Debates that cite a common document stay together, so that no document is in both parts.
    """
    groups = _groups(debates)
    random.Random(seed).shuffle(groups)
    groups.sort(key=len, reverse=True)  # large ones first, since small ones fit everywhere
    left = {"train": share * len(debates), "test": (1 - share) * len(debates)}
    splits: dict[str, Split] = {}
    for group in groups:
        split: Split = "train" if share == 1 or left["train"] >= left["test"] else "test"
        left[split] -= len(group)
        splits |= dict.fromkeys(group, split)
    return {debate.id: splits[debate.id] for debate in debates}


def _groups(debates: Sequence[Debate]) -> list[list[str]]:
    """Return the ids of debates that share documents, directly or through others, together."""
    parent = {debate.id: debate.id for debate in debates}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    first: dict[str, str] = {}
    for debate in debates:
        for source in debate.sources:
            if source.doc_id:
                parent[root(debate.id)] = root(first.setdefault(source.doc_id, debate.id))
    groups: dict[str, list[str]] = {}
    for debate in debates:
        groups.setdefault(root(debate.id), []).append(debate.id)
    return list(groups.values())


def judge_pairs(
    debates: Sequence[Debate],
    splits: Mapping[str, Split],
    readable: Collection[str],
    seed: int,
) -> dict[Split, list[ConqretTopic]]:
    """Return the topics of each split with their relevant and irrelevant documents.

    The documents that a side's arguments cite are relevant. An equal number of irrelevant documents
    is drawn, without replacement, from those that other topics of the split cite for a side; a
    topic gets fewer if there are not enough.

    Args:
        debates: with the ids of documents in their sources.
        splits: debate id -> split.
        readable: ids of the documents that have a text; others are in no pair.
        seed: of the draw; each topic has its own draw.
    """
    relevant = {debate.id: _relevant(debate, readable) for debate in debates}
    judged: dict[Split, list[ConqretTopic]] = {}
    for split in SPLITS:
        inside = {debate.id: debate for debate in debates if splits[debate.id] == split}
        pool = sorted({doc for name in inside for docs in relevant[name].values() for doc in docs})
        judged[split] = []
        for name, debate in inside.items():
            cited = {source.doc_id for source in debate.sources}
            others = [doc for doc in pool if doc not in cited]
            wanted = sum(map(len, relevant[name].values()))
            drawn = random.Random(f"{seed} {name}").sample(others, min(wanted, len(others)))
            question = Question(name, debate.topic)
            judged[split].append(ConqretTopic(question, relevant[name], tuple(drawn), debate))
    return judged


def _relevant(debate: Debate, readable: Collection[str]) -> dict[Side, tuple[str, ...]]:
    documents = {s.id: s.doc_id for s in debate.sources if s.doc_id in readable}
    return {
        side: tuple(
            dict.fromkeys(
                documents[cited]
                for point in debate.side(side)
                for cited in point.cited
                if cited in documents
            )
        )
        for side in SIDES
    }
