"""Real debates with every label hidden: documents of an id and a text, questions, and who is right.

Three sets under `$PNYX_DATA`: Debatewise, ProCon and idebate. A page's title is the question; its
arguments, with those of other pages of the same question, are what should be found. Questions are
those of topics on which the packaged models were not trained (`parts_of` of
`lab/berds/debates.py`); development and test questions have no topic in common.
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

from debates import NEAR, Debates, packed_lines, parts_of, table, tidy

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
"""Pages of one question whose titles differ, read by us: those of one sign make the same claim.

All titles were read that are near another (cosine .6) or whose arguments are found for it.
"""

_ONE_QUESTION = 0.89
"""Cosine of titles from which two pages are of one question, and of one claim (all were read)."""

_LEAST_WORDS = 25


@dataclass(frozen=True, slots=True)
class Label:
    """What a portal says of an argument: its page, its side there (1 or -1), the point it makes."""

    page: str
    side: int
    point: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the pages that are about it: 1 of the same claim, -1 of its opposite."""

    question: Question
    part: str
    pages: Mapping[str, int]


@dataclass(slots=True)
class Collection:
    """One set: documents without any label, questions, labels of documents and titles of pages."""

    name: str
    documents: list[Document] = field(default_factory=list)
    labels: dict[str, Label] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)

    def side(self, asked: Asked, doc_id: str) -> int | None:
        """Return the side of a document on a question, 1 or -1; None where it is about another."""
        label = self.labels[doc_id]
        claim = asked.pages.get(label.page)
        return None if claim is None else claim * label.side

    def sides(self, asked: Asked) -> set[int]:
        """Return the sides on which the corpus holds an argument for a question."""
        return {
            asked.pages[label.page] * label.side
            for label in self.labels.values()
            if label.page in asked.pages
        }

    def add(self, page: str, side: int, point: str, text: str) -> None:
        """Add an argument, unless it is too short to be one."""
        if len(text.split()) >= _LEAST_WORDS:
            doc_id = f"{self.name}-{len(self.documents)}"
            self.documents.append(Document(doc_id, text))
            self.labels[doc_id] = Label(page, side, point)


def collections(data: Path) -> dict[str, Collection]:
    """Return the sets by name, with their development and test questions."""
    found = {name: Collection(name) for name in SETS}
    titles = {**_portal(data, found["debatewise"]), **_portal(data, found["procon"])}
    titles |= _idebate(data, found["idebate"])
    debates, encoder = Debates(data), load_encoder()
    parts, vectors = _parts(data, debates, encoder)
    for name, collection in found.items():
        collection.titles = {k: title for k, title in titles.items() if k.startswith(name)}
        keys = [key for key in collection.titles if key in parts]
        own = np.stack([vectors[key] for key in keys])
        near = own @ own.T
        held = {label.page for label in collection.labels.values()}
        done: set[str] = set()
        for row, key in enumerate(keys):
            if key in done or parts[key] not in ("development", "test") or key not in held:
                continue
            pages = {keys[i]: 1 for i in np.flatnonzero(near[row] >= _ONE_QUESTION)} | {key: 1}
            for signs in _SAME:
                pages |= {k: claim * signs[key] for k, claim in signs.items() if key in signs}
            done |= set(pages)
            question = Question(key, titles[key])
            collection.asked.append(Asked(question, parts[key], pages))
    return found


OWN_WORDS = Path(__file__).with_name("own_words.txt")


def own_words() -> Iterator[tuple[str, str, int, str]]:
    """Yield page, its title, 1 (asks for the same) or -1 (for the opposite), and the question."""
    page = title = ""
    for line in OWN_WORDS.read_text("utf-8").splitlines():
        mark, _, text = line.partition(" ")
        if mark == "=":
            page, _, title = text.partition(": ")
        elif mark in ("+", "-"):
            yield page, title, 1 if mark == "+" else -1, text


def reworded(found: Mapping[str, Collection]) -> None:
    """Ask each collection the questions in people's own words, in place of the pages' titles."""
    known = {one.question.id: one for c in found.values() for one in c.asked}
    asked: dict[str, list[Asked]] = {name: [] for name in found}
    for page, title, sign, text in own_words():
        one = known[page]
        if one.question.text != title:
            raise ValueError(f"{page}: title {one.question.text!r}, {title!r} in {OWN_WORDS.name}")
        question = Question(f"{page} {'+' if sign > 0 else '-'}", text)
        pages = {key: sign * claim for key, claim in one.pages.items()}
        asked[page.split(" ", 1)[0]].append(Asked(question, one.part, pages))
    for name, collection in found.items():
        collection.asked = asked[name]


def _portal(data: Path, into: Collection) -> dict[str, str]:
    pages = json.loads((data / f"perspectrum/{into.name}_raw.json").read_text("utf-8"))
    for number, page in enumerate(pages):
        for column, side in (("perspectives_for", 1), ("perspectives_against", -1)):
            for row in page[column]:
                text = tidy(" ".join(row["argument"]["description"]))
                into.add(f"{into.name} {number}", side, tidy(row["perspective_title"]), text)
    return {f"{into.name} {n}": tidy(page["claim_title"]) for n, page in enumerate(pages)}


def _idebate(data: Path, into: Collection) -> dict[str, str]:
    """Points alone: a counter answers a point, and says little without it."""
    folder = data / "arguana_counterargs"
    for row in packed_lines(folder / "arguments.jsonl.gz"):
        if row["type"] == "point":
            side = 1 if row["stance"] == "pro" else -1
            page = f"idebate {row['theme']}/{row['debate']}"
            into.add(page, side, tidy(row["conclusion"]), tidy(row["premise"]))
    rows = packed_lines(folder / "debates.jsonl.gz")
    return {f"idebate {row['theme']}/{row['debate']}": tidy(row["title"]) for row in rows}


def _parts(data: Path, debates: Debates, encoder: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """Return of each page train, development or test, and the vector of its claim.

    Pages that no model was trained on because they are near held-out ones are asked about, too:
    with the development pages where they are near these alone, else with the test pages.
    """
    keys = list(debates.topics)
    rows = list(table(data / "berds" / "pers_det.test.tsv"))
    vectors = np.asarray(encoder.encode([t.claim for t in debates.topics.values()]))
    apart = np.asarray(encoder.encode(sorted({row["perspective"] for row in rows})))
    parts = parts_of(debates)
    of = {part: [i for i, key in enumerate(keys) if parts[key] == part]
          for part in ("development", "test")}  # fmt: skip
    for i, key in enumerate(keys):
        if parts[key] == "dropped":
            chosen = (vectors[of["development"]] @ vectors[i]).max() >= NEAR
            tests = (vectors[of["test"]] @ vectors[i]).max() >= NEAR
            tests = tests or (apart @ vectors[i]).max() >= NEAR
            if chosen != tests:
                parts[key] = "development" if chosen else "test"
    return parts, dict(zip(keys, vectors, strict=True))


def indexed(collection: Collection, work: Path, embedder: Embedder) -> Index:
    """Return the index of a set, with vectors and quality; made in `work` if it is not there."""
    folder = work / collection.name
    if not folder.exists():
        build_index(collection.documents, folder)
        embed_documents(folder, embedder)
        score_documents(folder, QualityModel.load())
    return Index.open(folder)


def without(collection: Collection, asked: Asked, index: Index, work: Path) -> Index:
    """Return the index of a set without what is about a question, made anew in `work`."""
    kept = [d for d in collection.documents if collection.side(asked, d.id) is None]
    return kept_alone(kept, index, work / "without")


def kept_alone(kept: Sequence[Document], index: Index, folder: Path) -> Index:
    """Return an index of some documents of an index, with their vectors, made anew."""
    build_index(kept, folder, replace=folder.exists())
    rows = index.vectors([d.id for d in kept]).astype(np.float16)
    known = read_feature(index.path, index.manifest, VECTORS)
    meta = {} if known is None else dict(known.meta)
    put_feature(folder, VECTORS, {VECTORS: rows}, documents=len(rows), meta=meta)
    return Index.open(folder)
