"""The parts of a score make it up exactly, by every model."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index_fixture import Fake, full_index
from pnyx.core.records import Document
from pnyx.search import Index, Scoring, add_to_index, build_index, rank_documents
from pnyx.search.document_quality import document_quality
from pnyx.search.explain import explain
from pnyx.search.features.clusters import clusters_of
from tries import tries

WAYS = [
    Scoring("dirichlet"),
    Scoring("dirichlet", {"mu": 10.0}),
    Scoring("bm25"),
    Scoring("bm25", {"k1": 0.9, "b": 0.4}),
    Scoring("touche"),
    Scoring("touche", {"wc": 0.0, "wq": 2.0}),
    Scoring("touche", {"wc": 3.0, "wq": 0.0}),
    Scoring("touche", {"wc": 0.0, "wq": 0.0}),
    Scoring("touche", flat=True),
    Scoring("dense"),
    Scoring("hybrid"),
    Scoring("hybrid", feedback=0, dense_weight=0.4),
    Scoring("hybrid", lexical="bm25", fusion="zscore"),
    Scoring("hybrid", lexical="touche", fusion="rrf"),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return Index.open(full_index(tmp_path_factory.mktemp("explain") / "full.index"))


def made_of(one):
    """What a part's own parts make."""
    values = [part.value for part in one.parts]
    return sum(values, 0.0) if one.combine == "sum" else math.prod(values)


def check(one):
    assert one.value == pytest.approx(one.raw, rel=1e-12)

    def below(part):
        assert (part.combine == "") == (part.parts == ())
        if part.parts:
            assert made_of(part) == pytest.approx(part.raw, rel=1e-12)
        for own in part.parts:
            below(own)

    below(one)


@pytest.mark.parametrize("scoring", WAYS, ids=str)
@given(words=st.lists(st.integers(0, 63), min_size=1, max_size=6))
@settings(max_examples=tries(15), deadline=None)
def test_parts_make_up_the_score(index, scoring, words):
    text = " ".join(f"word{n}" for n in words) + " often tea"
    hits = index.retrieve(text, scoring, 30, Fake())
    why = explain(index, text, scoring, [hit.doc_id for hit in hits], Fake(), k=30)
    assert [one.name for one in why] == [scoring.model] * len(hits)
    for hit, one in zip(hits, why, strict=True):
        assert one.value == pytest.approx(hit.score, rel=1e-9, abs=1e-12)
        check(one)


def test_the_parts_of_touche_are_its_equation(index):
    text, scoring = "word3 word7 tea", Scoring("touche", {"wc": 7.0, "wq": 2.5})
    ids = [hit.doc_id for hit in index.retrieve(text, scoring, 5, Fake())]
    known = clusters_of(index)
    cosines = known.cosines(Fake().encode([text])[0])
    plain = index.score_all(text, "dirichlet")
    for doc_id, one in zip(ids, explain(index, text, scoring, ids, Fake()), strict=True):
        (number,) = index.numbers([doc_id])
        r, c, q = one.parts
        assert [part.name for part in one.parts] == ["R", "C", "Q"]
        assert r.value == pytest.approx(plain[number], rel=1e-12)
        assert c.raw == pytest.approx(cosines[known.cluster[number]], rel=1e-9)
        assert c.value == pytest.approx(1 + 7.0 * c.raw, rel=1e-12)
        assert q.raw == pytest.approx(document_quality(index)[number])
        assert q.value == pytest.approx(1 + 2.5 * q.raw, rel=1e-12)


def test_words_are_those_of_the_question(tmp_path):
    build_index(
        [Document("a", "Voters vote at polls."), Document("b", "Tea."), Document("c", "Votes.")],
        tmp_path / "i",
    )
    index = Index.open(tmp_path / "i")
    first, none = explain(index, "Voting, tea? Polling!", Scoring("dirichlet"), ["a", "b"])
    assert [part.name for part in first.parts] == ["Voting", "Polling"]
    assert [part.name for part in none.parts] == ["tea"]
    # By hand, Lucene's form: log(1 + tf / (mu p)) + log(mu / (dl + mu)), p = (cf + 1) / (T + 1).
    tokens = index.statistics.tokens
    (poll,) = (part for part in first.parts if part.name == "Polling")
    length = len(list(index.tokenizer.terms("Voters vote at polls.")))
    p = 2 / (tokens + 1)
    assert poll.value == pytest.approx(
        math.log(1 + 1 / (2000 * p)) + math.log(2000 / (length + 2000)), rel=1e-12
    )


@pytest.mark.parametrize("model", ["bm25", "dirichlet"])
def test_words_make_up_the_score_in_every_segment_however_often_they_occur(tmp_path, model):
    texts = ["tea", "tea " * 40 + "law", "law tea", "law " * 16, "cup", "tea " * 15]
    for start in (0, 3):  # a segment each
        records = [Document(f"d{n}", texts[n]) for n in range(start, start + 3)]
        (add_to_index if start else build_index)(records, tmp_path / "i")
    index = Index.open(tmp_path / "i")
    text = "tea law tea cup"  # "tea" counts twice
    numbers, scores = index.rank(text, model)
    assert len(numbers) == 6
    terms = index.term_scores(text, index.doc_ids(numbers[::-1]), model)[::-1]
    assert [sum(own.values()) for own in terms] == scores.tolist()
    by_number = dict(zip(numbers.tolist(), terms, strict=True))
    assert [list(by_number[number]) for number in (0, 2, 3)] == [["tea"], ["tea", "law"], ["law"]]


def test_who_is_missing_from_one_ranking_counts_as_its_lowest(index):
    scoring = Scoring("hybrid", feedback=0)
    text = "rare17"  # one document holds it; the others are found by their vectors alone
    hits = index.retrieve(text, scoring, 20, Fake())
    why = explain(index, text, scoring, [hit.doc_id for hit in hits], Fake(), k=20)
    by_words = {hit.doc_id: one.parts[0] for hit, one in zip(hits, why, strict=True)}
    known = [part for part in by_words.values() if part.raw is not None]
    assert len(known) == 1
    assert all(part.value == 0.0 for part in by_words.values() if part.raw is None)


def test_what_cannot_be_ranked_cannot_be_explained(index):
    assert explain(index, "word3", Scoring("dirichlet"), []) == []
    numbers, _ = rank_documents(index, "word3", Scoring("dirichlet"), 3)
    assert np.all(numbers >= 0)
    (none,) = explain(index, "unheard", Scoring("dirichlet"), ["doc1"])
    assert (none.value, none.parts) == (0.0, ())
