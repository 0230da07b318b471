"""Real debates as unlabelled documents (id and text), with questions and separate labels.

There are three sets under `$PNYX_DATA`: Debatewise, ProCon and idebate. The title of a page is the
question; the relevant documents are its arguments and those of other pages on the same question.
Only topics on which the packaged models were not trained are used (`parts_of` of
`lab/berds/debate_sets.py`). Development and test questions have no topic in common.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "berds"))

from debate_sets import NEAR, Debates, packed_lines, parts_of, table, tidy

from pnyx.core.records import Document, Question
from pnyx.judging.students.surface_quality import QualityModel
from pnyx.models.embed.embedder import Embedder
from pnyx.models.embed.encoder import load_encoder
from pnyx.search.build import build_index
from pnyx.search.document_quality import score_documents
from pnyx.search.features.access import put_feature, read_feature
from pnyx.search.features.vectors import VECTORS, embed_documents
from pnyx.search.index import Index

SETS = ("debatewise", "procon", "idebate")

_PALESTINE = (
    "idebate international/global-middle-east-thb-palestinian-statehood-should-be-recognised-united",  # noqa: E501
    "idebate international/global-government-should-un-recognize-palestinian-state",
)
_MIGRANTS = (
    "idebate international/global-society-immigration-minorities-house-believes-nations-world-should",  # noqa: E501
    "idebate society/immigration-minorities-all-states-should-immediately-ratify-un-convention-rights",  # noqa: E501
)

_SAME: Sequence[Mapping[str, int]] = (
    {"debatewise 7": 1, "debatewise 233": 1, "debatewise 261": -1},
    {"debatewise 11": 1, "debatewise 282": 1},
    {"debatewise 42": 1, "debatewise 81": 1},
    {"debatewise 44": 1, "debatewise 273": -1},
    {"debatewise 54": 1, "debatewise 147": 1},
    {"debatewise 59": 1, "debatewise 105": 1},
    {"debatewise 77": 1, "debatewise 107": 1},
    {"debatewise 144": 1, "debatewise 251": 1, "debatewise 217": -1},
    {"debatewise 173": 1, "debatewise 220": 1},
    {"debatewise 239": 1, "debatewise 305": 1},
    {"debatewise 245": 1, "debatewise 297": -1},
    {_PALESTINE[0]: 1, _PALESTINE[1]: 1},
    {_MIGRANTS[0]: 1, _MIGRANTS[1]: 1},
)
"""Pages on the same question with different titles, checked by hand; equal signs: the same claim.

We read all titles that are close to another (cosine 0.6) or whose arguments are retrieved for it.
"""

_ONE_QUESTION = 0.89
"""From this cosine of titles on, two pages make the same claim (all such pairs were read)."""

_LEAST_WORDS = 25


@dataclass(frozen=True, slots=True)
class Label:
    """The labels of an argument in its portal: its page, its side there (1 or -1), its point."""

    page: str
    side: int
    point: str


@dataclass(frozen=True, slots=True)
class DebateQuestion:
    """A question, and the pages about it: 1 for the same claim, -1 for its opposite."""

    question: Question
    part: str
    pages: Mapping[str, int]


@dataclass(slots=True)
class Collection:
    """One set: unlabelled documents, questions, labels of documents, and titles of pages."""

    name: str
    documents: list[Document] = field(default_factory=list)
    labels: dict[str, Label] = field(default_factory=dict)
    questions: list[DebateQuestion] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)

    def side(self, item: DebateQuestion, doc_id: str) -> int | None:
        """Return the side of a document on a question, 1 or -1; None if it is about another one."""
        label = self.labels[doc_id]
        claim = item.pages.get(label.page)
        return None if claim is None else claim * label.side

    def sides(self, item: DebateQuestion) -> set[int]:
        """Return the sides of a question for which the corpus contains an argument."""
        return {
            item.pages[label.page] * label.side
            for label in self.labels.values()
            if label.page in item.pages
        }

    def add(self, page: str, side: int, point: str, text: str) -> None:
        """Add an argument, unless it is too short."""
        if len(text.split()) >= _LEAST_WORDS:
            doc_id = f"{self.name}-{len(self.documents)}"
            self.documents.append(Document(doc_id, text))
            self.labels[doc_id] = Label(page, side, point)


def collections(data: Path) -> dict[str, Collection]:
    """Return the sets by name, with their development and test questions."""
    by_name = {name: Collection(name) for name in SETS}
    titles = {**_portal(data, by_name["debatewise"]), **_portal(data, by_name["procon"])}
    titles |= _idebate(data, by_name["idebate"])
    debates, encoder = Debates(data), load_encoder()
    parts, vectors = _parts(data, debates, encoder)
    for name, collection in by_name.items():
        collection.titles = {k: title for k, title in titles.items() if k.startswith(name)}
        keys = [key for key in collection.titles if key in parts]
        title_vectors = np.stack([vectors[key] for key in keys])
        near = title_vectors @ title_vectors.T
        argued = {label.page for label in collection.labels.values()}
        done: set[str] = set()
        for row, key in enumerate(keys):
            if key in done or parts[key] not in ("development", "test") or key not in argued:
                continue
            pages = {keys[i]: 1 for i in np.flatnonzero(near[row] >= _ONE_QUESTION)} | {key: 1}
            for signs in _SAME:
                pages |= {k: claim * signs[key] for k, claim in signs.items() if key in signs}
            done |= set(pages)
            question = Question(key, titles[key])
            collection.questions.append(DebateQuestion(question, parts[key], pages))
    return by_name


OWN_WORDS = Path(__file__).with_name("own_words.txt")


def own_words() -> Iterator[tuple[str, str, int, str]]:
    """Yield page, title, 1 (asks for the same claim) or -1 (for the opposite), and question."""
    page = title = ""
    for line in OWN_WORDS.read_text("utf-8").splitlines():
        mark, _, text = line.partition(" ")
        if mark == "=":
            page, _, title = text.partition(": ")
        elif mark in ("+", "-"):
            yield page, title, 1 if mark == "+" else -1, text


def reworded(by_name: Mapping[str, Collection]) -> None:
    """Replace the questions of each collection (titles of pages) by people's own words."""
    by_id = {item.question.id: item for c in by_name.values() for item in c.questions}
    questions: dict[str, list[DebateQuestion]] = {name: [] for name in by_name}
    for page, title, sign, text in own_words():
        item = by_id[page]
        if item.question.text != title:
            raise ValueError(f"{page}: title {item.question.text!r}, {title!r} in {OWN_WORDS.name}")
        question = Question(f"{page} {'+' if sign > 0 else '-'}", text)
        pages = {key: sign * claim for key, claim in item.pages.items()}
        questions[page.split(" ", 1)[0]].append(DebateQuestion(question, item.part, pages))
    for name, collection in by_name.items():
        collection.questions = questions[name]


def _portal(data: Path, into: Collection) -> dict[str, str]:
    pages = json.loads((data / f"perspectrum/{into.name}_raw.json").read_text("utf-8"))
    for number, page in enumerate(pages):
        for column, side in (("perspectives_for", 1), ("perspectives_against", -1)):
            for row in page[column]:
                text = tidy(" ".join(row["argument"]["description"]))
                into.add(f"{into.name} {number}", side, tidy(row["perspective_title"]), text)
    return {f"{into.name} {n}": tidy(page["claim_title"]) for n, page in enumerate(pages)}


def _idebate(data: Path, into: Collection) -> dict[str, str]:
    """Add only points: a counter answers a point, and says little without it."""
    folder = data / "arguana_counterargs"
    for row in packed_lines(folder / "arguments.jsonl.gz"):
        if row["type"] == "point":
            side = 1 if row["stance"] == "pro" else -1
            page = f"idebate {row['theme']}/{row['debate']}"
            into.add(page, side, tidy(row["conclusion"]), tidy(row["premise"]))
    rows = packed_lines(folder / "debates.jsonl.gz")
    return {f"idebate {row['theme']}/{row['debate']}": tidy(row["title"]) for row in rows}


def _parts(data: Path, debates: Debates, encoder: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the part of each page (train, development or test) and the vector of its claim.

    Pages that were left out of training because they are close to held-out pages are used, too:
    for development if they are close only to development pages, else for the test.
    """
    keys = list(debates.topics)
    rows = list(table(data / "berds" / "pers_det.test.tsv"))
    vectors = np.asarray(encoder.encode([t.claim for t in debates.topics.values()]))
    berds_vectors = np.asarray(encoder.encode(sorted({row["perspective"] for row in rows})))
    parts = parts_of(debates)
    of = {part: [i for i, key in enumerate(keys) if parts[key] == part]
          for part in ("development", "test")}  # fmt: skip
    for i, key in enumerate(keys):
        if parts[key] == "dropped":
            chosen = (vectors[of["development"]] @ vectors[i]).max() >= NEAR
            tests = (vectors[of["test"]] @ vectors[i]).max() >= NEAR
            tests = tests or (berds_vectors @ vectors[i]).max() >= NEAR
            if chosen != tests:
                parts[key] = "development" if chosen else "test"
    return parts, dict(zip(keys, vectors, strict=True))


def indexed(collection: Collection, work: Path, embedder: Embedder) -> Index:
    """Return the index of a set, with vectors and quality; build it in `work` if it is missing."""
    folder = work / collection.name
    if not folder.exists():
        build_index(collection.documents, folder)
        embed_documents(folder, embedder)
        score_documents(folder, QualityModel.load())
    return Index.open(folder)


def without(collection: Collection, item: DebateQuestion, index: Index, work: Path) -> Index:
    """Return a new index of a set without the documents about a question."""
    documents = [d for d in collection.documents if collection.side(item, d.id) is None]
    return subset_index(documents, index, work / "without")


def subset_index(documents: Sequence[Document], index: Index, folder: Path) -> Index:
    """Return a new index of some documents of an index, with their vectors."""
    build_index(documents, folder, replace=folder.exists())
    rows = index.vectors([d.id for d in documents]).astype(np.float16)
    feature = read_feature(index.path, index.manifest, VECTORS)
    meta = {} if feature is None else dict(feature.meta)
    put_feature(folder, VECTORS, {VECTORS: rows}, documents=len(rows), meta=meta)
    return Index.open(folder)
