"""Another engine than the index folder: everything after ranking works on ids alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pnyx.cases.argument import argue
from pnyx.cases.case import Draft
from pnyx.cases.plan import Plan
from pnyx.core.errors import InputError
from pnyx.core.records import Argument, Citation, Document, Question, Sentence
from pnyx.judging.answers import Judged, Provenance
from pnyx.judging.questions import Ranking, Support
from pnyx.search.build import build_index
from pnyx.search.engine import Engine, FeatureInfo, Hit, Topic
from pnyx.search.features.clusters import Facet, facets
from pnyx.search.perspectives_index import IndexPerspectives
from pnyx.search.pipeline import Searcher
from pnyx.search.plan import Scoring, SearchPlan

QUESTION = Question("q", "Should tea be banned?")
BY = Provenance("oracle")
TEXTS = {
    "ban": "tea tea tea Tea should be banned as it stains the teeth of everybody.",
    "copy": "tea tea Tea should be banned as it stains all the teeth of everybody.",
    "keep": "tea Tea should not be banned since it calms people down in the evening.",
    "off": "tea A word about cups and saucers of another century altogether.",
    "no": "Nothing of the kind.",
}


class Memory:
    """Documents in a dictionary, ranked by how often they hold a word of the question."""

    name = "memory"

    def __init__(self, vectors: bool = True) -> None:
        self.documents = {name: Document(name, text) for name, text in TEXTS.items()}
        self.has_vectors = vectors

    def __len__(self):
        return len(self.documents)

    def retrieve(self, text, scoring, k, embedder=None):
        assert scoring.model in ("dirichlet", "hybrid")
        words = set(text.casefold().strip("?").split())
        counts = {n: sum(w in words for w in d.text.split()) for n, d in self.documents.items()}
        best = sorted((n for n in counts if "tea" in TEXTS[n]), key=lambda n: -counts[n])[:k]
        return [Hit(name, rank, float(counts[name])) for rank, name in enumerate(best, 1)]

    def fetch(self, ids):
        return [self.documents[doc_id] for doc_id in ids]

    def feature_info(self, name):
        known = {"clusters": "fake"} | ({"vectors": "minilm-int8"} if self.has_vectors else {})
        return FeatureInfo(len(self), known[name]) if name in known else None

    def vectors(self, ids):
        places = {"ban": [1, 0, 0], "copy": [1, 0, 0], "keep": [0, 1, 0]}
        return np.array([places.get(doc_id, [0, 0, 1]) for doc_id in ids], dtype=np.float32)

    def quality(self, ids):
        return np.full(len(ids), 0.5, dtype=np.float32)

    def quality_shares(self, ids):
        return np.full(len(ids), 0.5)

    def topics(self, ids):
        return [None if n == "no" else Topic(int(n == "off"), "Tea", ("tea",)) for n in ids]

    def on_topics(self, asked):
        assert asked.vector.ndim == 1
        return ["keep"], ["a note"]


class Oracle:
    """Knows the side of each text, and ranks by their length."""

    name, card, kinds = "oracle", "", frozenset({Support, Ranking})

    async def answer(self, questions, emit):
        for position, question in enumerate(questions):
            if isinstance(question, Ranking):
                order = sorted(range(len(question.texts)), key=lambda i: len(question.texts[i]))
                emit(position, Judged(order, BY))
                continue
            if question.task == "relevance":
                said = "banned" in question.text
            elif question.task == "stance":
                said = ("not be" in question.text) == question.id.startswith("stance/con")
            else:
                said = True
            emit(position, Judged(said, BY, 0.9 if said else 0.1))


class Writer:
    """Cites whatever it is given."""

    name = "writer"

    async def write(self, question, side, documents):
        return Draft(tuple(Sentence(d.text, (Citation(d.id),)) for d in documents))


def ids(engine, **options):
    plan = SearchPlan(Scoring("dirichlet"), **options)
    (found,) = Searcher(engine, plan, judge=Oracle()).search([QUESTION])
    return [hit.doc_id for hit in found.hits], found


def test_every_stage_runs_on_ids():
    engine: Engine = Memory()
    assert ids(engine)[0] == ["ban", "copy", "keep", "off"]
    assert ids(engine, rerank="listwise")[0] == ["off", "ban", "copy", "keep"]
    assert ids(engine, diversify="mmr", lam=0.4)[0] == ["ban", "keep", "off", "copy"]
    order, found = ids(engine, rerank="pointwise", threshold=0.5)
    assert (order, found.probabilities["off"]) == (["ban", "copy", "keep"], 0.1)
    order, found = ids(engine, stance="con")
    assert order == ["keep", "ban", "copy", "off"][:1] + order[1:]
    assert {n: one.side for n, one in found.sides.items()}["keep"] == "con"
    assert found.sides["ban"].by == "oracle"


def test_auto_asks_the_engine_what_it_has():
    assert Searcher(Memory()).plan.scoring.model == "hybrid"
    assert Searcher(Memory(vectors=False)).plan.scoring.model == "dirichlet"


def test_perspectives_and_facets_come_from_another_engine():
    (found,) = IndexPerspectives(Memory(), judge=Oracle()).find([QUESTION])
    assert found.source == "memory"
    assert found.problems[0] == "a note"
    assert {p.extra["documents"][0] for p in found.perspectives} <= set(TEXTS)
    assert facets(Memory(), ["off", "ban", "no", "keep"]) == [
        Facet(0, "Tea", ("tea",), 2),
        Facet(1, "Tea", ("tea",), 1),
    ]


def test_argue_runs_on_another_engine():
    searcher = Searcher(Memory(), SearchPlan(Scoring("dirichlet")))
    case = argue(searcher, QUESTION, judge=Oracle(), writer=Writer())
    assert [(side.side, side.response.references) for side in case.sides] == [
        ("pro", ("ban", "copy")),
        ("con", ("keep",)),
    ]
    assert case.passed_over == 1  # off topic
    turned = argue(searcher, QUESTION, judge=Oracle(), writer=Writer(), plan=Plan(("con", "pro")))
    assert turned.sides == case.sides[::-1]


def test_only_what_a_writer_takes_whole_is_a_quotation():
    """What another writer says may stand in a passage that says the contrary of it."""

    class Quoting(Writer):
        async def write(self, question, side, documents):
            return replace(await super().write(question, side, documents), quotes=True)

    searcher = Searcher(Memory(), SearchPlan(Scoring("dirichlet")))
    for writer, judge in ((Writer(), "oracle"), (Quoting(), "verbatim")):
        case = argue(searcher, QUESTION, judge=Oracle(), writer=writer)
        support = [a for side in case.sides for a in side.support.values()]
        assert {a.provenance.judge for a in support} == {BY.judge if judge == "oracle" else judge}
        assert ("sentence_precision" in case.sides[0].measures) == (judge == "oracle")


def test_the_index_folder_is_an_engine_too(tmp_path):
    index: Engine = build_index(
        [Argument("a", "Ban tea"), Document("b", "Tea calms.")], tmp_path / "i"
    )
    assert index.name == "index i"
    hits = index.retrieve("tea", Scoring("dirichlet"), 5)
    assert [d.id for d in index.fetch([hit.doc_id for hit in hits])] == [h.doc_id for h in hits]
    assert index.feature_info("vectors") is None
    with pytest.raises(InputError, match="has no document 'c'"):
        index.fetch(["a", "c"])
    for read in (index.vectors, index.quality, index.topics):
        with pytest.raises(InputError, match="pnyx index --update"):
            read(["a"])
