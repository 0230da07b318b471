"""Scores and rankings against arithmetic by hand and against a slow, plain implementation."""

import json
import math
import os
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from pnyx.core.errors import InputError
from pnyx.core.records import Argument, Document, Premise
from pnyx.formats.text.tokens import Tokenizer
from pnyx.search.build import add_to_index, build_index
from pnyx.search.index import Index
from pnyx.search.lexical.kernels import best
from pnyx.search.lexical.postings import LENGTHS, encode_lengths
from pnyx.search.ranking.models import MODELS

DATA = Path(os.environ.get("PNYX_DATA", Path(__file__).parents[1] / ".." / "shared" / "data"))

TINY = [
    Document("d1", "voting voting duty"),
    Document("d2", "duty tax"),
    Document("d3", "tax tax tax school voting"),
    Document("empty", "!"),
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny") / "index"
    build_index(TINY, folder, language="none")
    return Index.open(folder)


def test_dirichlet_worked_by_hand(tiny):
    # T = 3 + 2 + 5 = 10 tokens. voting: cf = 3, p = (3 + 1) / (10 + 1) = 4/11.
    # tax: cf = 4, p = 5/11. mu = 10; lengths below 40 are exact.
    # d1: voting tf 2: ln(1 + 2 / (10 * 4/11)) + ln(10 / (3 + 10)) = ln 1.55 - ln 1.3
    #     = 0.438254931 - 0.262364264 = 0.175890667
    # d3: voting tf 1: ln(1 + 1 / (40/11)) + ln(10 / 15) = ln 1.275 - ln 1.5
    #     = 0.242946179 - 0.405465108 < 0, clipped to 0
    #     tax tf 3: ln(1 + 3 / (50/11)) + ln(10 / 15) = ln 1.66 - ln 1.5
    #     = 0.506817602 - 0.405465108 = 0.101352494
    # d2: tax tf 1: ln(1 + 1 / (50/11)) + ln(10 / 12) = ln 1.22 - ln 1.2
    #     = 0.198850859 - 0.182321557 = 0.016529302
    hits = tiny.search("voting tax", "dirichlet", mu=10)
    assert [(h.doc_id, h.rank) for h in hits] == [("d1", 1), ("d3", 2), ("d2", 3)]
    expected = [0.175890667, 0.101352494, 0.016529302]
    assert [h.score for h in hits] == pytest.approx(expected, abs=1e-6)


def test_bm25_worked_by_hand(tiny):
    # N = 3 documents hold words, T = 10, avgdl = 10/3; k1 = 1.2, b = 0.75.
    # voting: df = 2, idf = ln(1 + (3 - 2 + 0.5) / 2.5) = ln 1.6 = 0.470003629; tax: the same.
    # d1: tf 2, dl 3: K = 1.2 * (0.25 + 0.75 * 0.9) = 1.11; 2 / 3.11 = 0.643086817
    #     0.470003629 * 0.643086817 = 0.302253138
    # d3: dl 5: K = 1.2 * (0.25 + 0.75 * 1.5) = 1.65; voting 1 / 2.65 = 0.377358491,
    #     tax 3 / 4.65 = 0.645161290; 0.470003629 * 1.022519781 = 0.480588008
    # d2: tax tf 1, dl 2: K = 1.2 * (0.25 + 0.75 * 0.6) = 0.84; 1 / 1.84 = 0.543478261
    #     0.470003629 * 0.543478261 = 0.255436755
    hits = tiny.search("voting tax", "bm25")
    assert [h.doc_id for h in hits] == ["d3", "d1", "d2"]
    expected = [0.480588008, 0.302253138, 0.255436755]
    assert [h.score for h in hits] == pytest.approx(expected, abs=1e-6)


def test_documents_that_match_with_a_zero_score_are_found_and_others_are_not(tiny):
    # With mu = 2000, school in d3: ln(1 + 1 / (2000 * 2/11)) + ln(2000 / 2005) > 0, but voting's
    # p = 4/11 gives ln(1 + 11/8000) - ln(2005/2000) < 0: clipped, and still a match, as in Lucene.
    hits = tiny.search("voting", "dirichlet")
    assert [(h.doc_id, h.score) for h in hits] == [
        ("d1", pytest.approx(0.0012473, abs=1e-6)),
        ("d3", 0.0),
    ]
    scores = tiny.score_all("voting", "dirichlet")
    assert np.signbit(scores).tolist() == [False, True, False, True]


def test_repeated_query_terms_count_repeatedly(tiny):
    once, twice = (tiny.search(q, "bm25")[0].score for q in ("duty", "duty duty"))
    assert twice == 2 * once


@pytest.mark.parametrize("kernel", ["numpy", pytest.param("numba", marks=pytest.mark.all)])
def test_ties_are_in_document_order_and_k_cuts_them(kernel, tmp_path):
    build_index([Document(f"{n:03}", "same words") for n in range(300)], tmp_path / "i")
    hits = Index.open(tmp_path / "i", kernel=kernel).search("words", k=7)
    assert [h.doc_id for h in hits] == [f"{n:03}" for n in range(7)]
    assert len(Index.open(tmp_path / "i", kernel=kernel).search("words", k=10_000)) == 300


@pytest.mark.parametrize("model", MODELS)
def test_contract_of_every_model(model, tiny):
    assert MODELS[model].name == model
    scores = tiny.score_all("voting tax nowhere", model)
    assert scores.shape == (4,)
    assert np.isfinite(scores).all()
    assert (scores >= 0).all()
    assert np.signbit(scores).tolist() == [False, False, False, True]
    hits = tiny.search("voting tax nowhere", model, k=4)
    assert tiny.numbers([h.doc_id for h in hits]).tolist() == best(scores, 4).tolist()
    assert [h.score for h in hits] == scores[best(scores, 4)].tolist()
    assert tiny.search("", model) == tiny.search("nowhere ¿", model) == []
    with pytest.raises(InputError, match="has no parameter 'zeta', expected: "):
        tiny.search("x", model, zeta=1)


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ("dirichlet", {"mu": 0}),
        ("dirichlet", {"mu": math.nan}),
        ("dirichlet", {"mu": math.inf}),
        ("bm25", {"b": 1.01}),
        ("bm25", {"k1": -1}),
    ],
)
def test_parameters_out_of_range_are_refused(tiny, model, parameters):
    with pytest.raises(InputError, match="expected a number from"):
        tiny.search("x", model, **parameters)


def test_extreme_parameters_give_finite_scores(tiny):
    for parameters in ({"mu": 1e-6}, {"mu": 1e12}):
        assert np.isfinite(tiny.score_all("voting tax", "dirichlet", **parameters)).all()
    for parameters in ({"k1": 0}, {"k1": 0, "b": 1}, {"k1": 1e6}, {"b": 0}):
        assert np.isfinite(tiny.score_all("voting tax", "bm25", **parameters)).all()
    with pytest.raises(InputError, match="unknown model 'tfidf', expected one of: dirichlet, bm25"):
        tiny.search("x", "tfidf")
    with pytest.raises(InputError, match="k is 0"):
        tiny.search("x", k=0)


# A slow, plain implementation --------------------------------------------------------------------


class Plain:
    """Dictionaries and loops only; nothing of the engine but its tokenizer and length byte."""

    def __init__(self, documents):
        self.terms = Tokenizer().terms
        self.counts = {name: Counter(self.terms(text)) for name, text in documents}
        codes = encode_lengths(np.array([sum(c.values()) for c in self.counts.values()]))
        self.dl = dict(zip(self.counts, LENGTHS[codes].tolist(), strict=True))
        self.cf, self.df = Counter(), Counter()
        for count in self.counts.values():
            self.cf.update(count)
            self.df.update(count.keys())
        self.total = sum(self.cf.values())
        self.n = sum(1 for count in self.counts.values() if count)
        self.holders = {}
        for place, (name, count) in enumerate(self.counts.items()):
            for term, tf in count.items():
                self.holders.setdefault(term, []).append((place, tf, self.dl[name]))
        self.names = list(self.counts)

    def impacts(self, model, term):
        """Yield (place, what the term adds to the score of the document there)."""
        p = (self.cf[term] + 1) / (self.total + 1)
        idf = math.log(1 + (self.n - self.df[term] + 0.5) / (self.df[term] + 0.5))
        for place, tf, dl in self.holders.get(term, ()):
            if model == "dirichlet":
                score = math.log(1 + tf / (2000 * p)) + math.log(2000 / (dl + 2000))
                yield place, max(0.0, score)
            else:
                length = 1 - 0.75 + 0.75 * dl / (self.total / self.n)
                yield place, idf * tf / (tf + 1.2 * length)

    def search(self, question, model):
        scores = {}
        for term, repeats in Counter(self.terms(question)).items():
            for place, impact in self.impacts(model, term):
                scores[place] = scores.get(place, 0.0) + repeats * impact
        ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
        return [(self.names[place], score) for place, score in ranked]


def assert_same_ranking(index, plain, question):
    for model in MODELS:
        expected = plain.search(question, model)
        hits = index.search(question, model, k=len(index))
        assert len(hits) == len(expected)
        by_name = dict(expected)
        for hit, (name, score) in zip(hits, expected, strict=True):
            # Scores that are equal but for the last bit may change places.
            assert hit.doc_id == name or abs(by_name[hit.doc_id] - score) < 1e-12
        assert max(abs(h.score - s) for h, (_, s) in zip(hits, expected, strict=True)) < 1e-5


def synthetic(count, seed):
    """Documents of Zipf-distributed words; some very long, some empty, some repeating a word."""
    rng = random.Random(seed)
    words = [f"w{i}" for i in range(3000)]
    weights = [1 / (i + 1) for i in range(3000)]
    for number in range(count):
        length = rng.choice([0, 3, 20, 60, 200, 900 if number % 50 == 0 else 90])
        text = " ".join(rng.choices(words, weights, k=length))
        yield Document(
            f"doc{number}", text + " loud" * (rng.randrange(700) if number % 90 == 0 else 0)
        )


@pytest.fixture(scope="module")
def random_documents():
    return list(synthetic(2000, seed=7))


@pytest.fixture(scope="module", params=["numpy", pytest.param("numba", marks=pytest.mark.all)])
def random_indexes(request, random_documents, tmp_path_factory):
    """The same documents indexed at once, and in four parts."""
    folder = tmp_path_factory.mktemp("random")
    build_index(random_documents, folder / "whole")
    build_index(random_documents[:700], folder / "parts")
    for first, stop in ((700, 701), (701, 1500), (1500, 2000)):
        add_to_index(random_documents[first:stop], folder / "parts")
    return [Index.open(folder / name, kernel=request.param) for name in ("whole", "parts")]


QUESTIONS = ["w0 w1 w2", "w5 w5 w2999 loud", "loud", "w17 w40 w900 w1200 unseen", "w0"]


def test_random_documents_rank_as_in_the_plain_implementation(random_documents, random_indexes):
    plain = Plain((d.id, d.text) for d in random_documents)
    for index in random_indexes:
        for question in QUESTIONS:
            assert_same_ranking(index, plain, question)


def test_adding_gives_the_scores_of_indexing_at_once_bit_for_bit(random_indexes):
    whole, parts = random_indexes
    assert len(parts) == len(whole) == 2000
    for question in QUESTIONS:
        for model in MODELS:
            a, b = (index.score_all(question, model) for index in (whole, parts))
            assert a.tobytes() == b.tobytes()
            assert whole.search(question, model, k=50) == parts.search(question, model, k=50)


def test_records_come_back_as_they_went_in(random_documents, random_indexes):
    for index in random_indexes:
        assert list(index.documents()) == random_documents
        assert index.document("doc1499") == index.document_at(1499) == random_documents[1499]
        assert "doc1999" in index
        assert "doc2000" not in index
        with pytest.raises(KeyError):
            index.document("doc2000")


def debatewise():
    path = DATA / "perspectrum" / "debatewise_raw.json"
    if not path.exists():
        pytest.skip(f"{path} is not here (set PNYX_DATA)")
    debates = json.loads(path.read_text(encoding="utf-8"))
    arguments = []
    for d, debate in enumerate(debates):
        for side in ("for", "against"):
            for a, point in enumerate(debate[f"perspectives_{side}"]):
                text = " ".join((point.get("argument") or {}).get("description", []))
                stance = "pro" if side == "for" else "con"
                premises = (Premise(text),) if text else ()
                title = point["perspective_title"]
                arguments.append(Argument(f"{d}-{side}-{a}", title, premises, stance))
    return [debate["claim_title"] for debate in debates], arguments


@pytest.mark.all
def test_every_debatewise_title_ranks_as_in_the_plain_implementation(tmp_path):
    titles, arguments = debatewise()
    plain = Plain((a.id, a.text) for a in arguments)
    build_index(arguments[:1000], tmp_path / "i")
    for first, stop in ((1000, 1100), (1100, 2000), (2000, len(arguments))):
        add_to_index(arguments[first:stop], tmp_path / "i")
    index = Index.open(tmp_path / "i")
    assert len(index) == len(arguments) > 2000
    assert len(titles) > 300
    for title in titles:
        assert_same_ranking(index, plain, title)
