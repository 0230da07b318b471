"""The sets of `hybrid.py`: those of `effectiveness.py`, and real Touché topics over debates."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from effectiveness_sets import DATA, Collection, _words, debates, sigir, webis, without_sides
from effectiveness_systems import prepare

from pnyx.core.records import Qrel, Question
from pnyx.models.embed.embedder import Embedder
from pnyx.search.build import build_index
from pnyx.search.features.access import put_feature, read_feature
from pnyx.search.features.vectors import VECTORS
from pnyx.search.index import Index

__all__ = ["Searched", "searched_sets", "touche_topics"]


@dataclass(frozen=True)
class Searched:
    """A set with its index.

    Attributes:
        collection: topics and judgements.
        index: its index with vectors.
        qrels: grades of the ranked items.
        debates: document -> its debates, if debates are ranked (each at its best document); empty
            if documents are ranked.
    """

    collection: Collection
    index: Index
    qrels: Sequence[Qrel]
    debates: dict[str, list[str]] = field(default_factory=dict)
    graded: bool = False
    """Whether people judged documents, in pools."""

    @property
    def name(self) -> str:
        """The name of the set."""
        return self.collection.name

    def ranked(self, numbers: np.ndarray) -> list[str]:
        """Return the ranked items (documents or debates) of a ranking of documents, each once."""
        ids = self.index.doc_ids(numbers)
        if not self.debates:
            return ids
        return list(dict.fromkeys(debate for doc in ids for debate in self.debates.get(doc, ())))


def searched_sets(work: Path, embedder: Embedder) -> list[Searched]:
    """Return all sets; indexes are built in `work`, or reused from an earlier run."""
    graded = [webis(), sigir()]
    titled = debates()
    out = [
        Searched(c, prepare(c, work, embedder).index, c.qrels["relevance"], graded=True)
        for c in graded
    ]
    by_name = {
        c.name: Searched(c, prepare(c, work, embedder).index, without_sides(c.qrels["sides"]))
        for c in titled
    }
    return [*out, *by_name.values(), _touche(work, by_name["idebate"], by_name["debatewise"])]


# --- Touché topics over debates ---------------------------------------------------------------


PORTALS = ("idebate", "debatewise")


def _touche(work: Path, *portals: Searched) -> Searched:
    collection = touche_topics([portal.collection for portal in portals])
    stands_for: dict[str, list[str]] = defaultdict(list)
    for portal in portals:
        for q in portal.qrels:
            stands_for[q.doc_id].append(q.topic_id)
    index = _joined(work, collection, portals)
    return Searched(collection, index, collection.qrels["relevance"], dict(stands_for))


def touche_topics(collections: Sequence[Collection]) -> Collection:
    """Return Touché's topics of 2020 and 2021 with grades of debates.

    The grade of a debate is the best grade of its judged arguments. Few debates are judged (two per
    topic), and none were retrieved by a dense engine; the others count as not relevant.

    Args:
        collections: those of `PORTALS`, and possibly others.
    """
    portals = [c for c in collections if c.name in PORTALS]
    titles = {(c.name, _words(q.text)): q.id for c in portals for q in c.questions}
    grades: dict[tuple[str, str], int] = defaultdict(int)
    with (DATA / "touche/debate_links_idebate_debatewise.tsv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            debate = titles.get((row["portal"], _words(row["debate_title"])))
            if debate is not None:
                key = (row["topic"], debate)
                grades[key] = max(grades[key], int(row["relevance"]))
    relevant = {topic for (topic, _), grade in grades.items() if grade > 0}
    texts = {n: t for year in (2020, 2021) for n, t in _topics(year).items() if n in relevant}
    qrels = [Qrel(topic, debate, g) for (topic, debate), g in grades.items() if topic in texts]
    return Collection(
        "touche",
        [record for c in portals for record in c.records],
        [Question(number, text) for number, text in texts.items()],
        {"relevance": qrels}, None, "", {},
    )  # fmt: skip


def _topics(year: int) -> dict[str, str]:
    root = ElementTree.parse(DATA / f"touche/topics-task-1-{year}.xml").getroot()
    return {
        topic.findtext("number", "").strip(): topic.findtext("title", "").strip()
        for topic in root.iter("topic")
    }


def _joined(work: Path, collection: Collection, portals: Sequence[Searched]) -> Index:
    """Index the documents of several sets with their existing vectors."""
    folder = work / collection.name
    if not folder.exists():
        build_index(collection.records, folder)
        parts = [read_feature(p.index.path, p.index.manifest, VECTORS) for p in portals]
        rows = np.concatenate([part.array(VECTORS) for part in parts if part is not None])
        meta = dict(parts[0].meta) if parts[0] is not None else {}
        put_feature(folder, VECTORS, {VECTORS: rows}, documents=len(rows), meta=meta)
    return Index.open(folder)
