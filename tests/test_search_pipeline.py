"""The search pipeline from Python: the order of its stages, with judges that know the answer."""

from __future__ import annotations

import anyio
import numpy as np
import pytest

from pnyx.core.errors import InputError
from pnyx.core.records import Document, Perspective, Question
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.judging.questions import Ranking, Support
from pnyx.search.build import build_index
from pnyx.search.features.vectors import embed_documents
from pnyx.search.index import Index
from pnyx.search.perspectives import PerspectiveSet
from pnyx.search.pipeline import Searcher
from pnyx.search.plan import AUTO, SCORINGS, Listwise, Scoring, SearchPlan
from pnyx.search.ranking.rerank import rerank_pointwise
from pnyx.search.ranking.scores import rank_documents

BY = Provenance("oracle")
TOPIC = Question("t", "word")


class Oracle:
    """Ranks by the number in a document; says yes with the probability that it is told."""

    name, card, kinds = "oracle", "", frozenset({Ranking, Support})

    def __init__(self, yes=lambda _: None):
        self.asked = []
        self.yes = yes

    async def answer(self, questions, emit):
        for position, question in enumerate(questions):
            await anyio.lowlevel.checkpoint()
            self.asked.append(question)
            if isinstance(question, Ranking):
                order = sorted(range(len(question.texts)), key=lambda i: number(question.texts[i]))
                emit(position, Judged(order, BY))
                continue
            probability = self.yes(question)
            if probability is None:
                emit(position, Unscored("refusal", BY))
            else:
                emit(position, Judged(probability >= 0.5, BY, probability))


class Backwards(Oracle):
    """Turns every window around."""

    async def answer(self, questions, emit):
        for position, question in enumerate(questions):
            await anyio.lowlevel.checkpoint()
            self.asked.append(question)
            emit(position, Judged(list(range(len(question.texts)))[::-1], BY))


class Axes:
    """Embeds a text on the axis of the number in it, modulo 4."""

    name, dimensions = "axes", 4

    def encode(self, texts):
        rows = np.zeros((len(texts), 4), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[number(text) % 4] = 1
        return rows


class Views:
    """Knows one perspective for each word."""

    name = "views"

    def __init__(self, *words):
        self.words = words

    def find(self, questions):
        return [
            PerspectiveSet(
                tuple(Perspective(f"{q.id}-{word}", q.id, word, None) for word in self.words),
                self.name,
                failed=not self.words,
            )
            for q in questions
        ]


def number(text):
    digits = "".join(c for c in text if c.isdigit())
    return int(digits) if digits else 0


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """Twelve documents, ranked 0, 1, 2 ... by Dirichlet for "word": the shorter the better."""
    folder = tmp_path_factory.mktemp("pipeline") / "i"
    rows = [
        Document(f"d{n}", f"n{n} word word {'left' if n % 2 else 'right'} " + "other " * (3 * n))
        for n in range(12)
    ]
    build_index(rows, folder)
    embed_documents(folder, Axes())
    return Index.open(folder)


def numbers(found):
    return [int(hit.doc_id[1:]) for hit in found.hits]


def test_without_stages_it_is_the_models_ranking(index):
    (found,) = Searcher(index).search([TOPIC], 12)
    assert list(found.hits) == index.search("word", k=12)
    assert numbers(found) == list(range(12))
    assert (found.problems, found.unscored, found.sides, found.found_for) == ((), 0, {}, {})


def test_each_question_gets_its_own_answer_in_order(index):
    questions = [Question(str(i), "left" if i % 2 else "right") for i in range(150)]
    found = list(Searcher(index).search(iter(questions), 3))
    assert [f.question for f in found] == questions
    assert all({n % 2 for n in numbers(f)} == {int(f.question.id) % 2} for f in found)
    assert list(Searcher(index).search([], 3)) == []


def test_listwise_reranking_moves_only_the_first_depth(index):
    plan = SearchPlan(rerank="listwise", depth=4, listwise=Listwise(3, 2))
    (found,) = Searcher(index, plan, judge=Backwards()).search([TOPIC], 6)
    # Ranks 2 to 4 first: 0 3 2 1; then 1 to 2: 3 0 2 1.
    assert numbers(found) == [3, 0, 2, 1, 4, 5]
    assert [hit.score for hit in found.hits] == [1 / rank for rank in range(1, 7)]
    with pytest.raises(InputError, match="needs a judge that ranks"):
        Searcher(index, plan)


def test_pointwise_reranking_goes_by_probability_and_unscored_is_no_number(index):
    told = {1: 0.9, 3: 0.2, 4: 0.9, 5: 0.6}
    judge = Oracle(lambda question: told.get(number(question.text)))
    plan = SearchPlan(rerank="pointwise", depth=6)
    (found,) = Searcher(index, plan, judge=judge).search([TOPIC], 8)
    # 1 and 4 tie and keep their order; 0 and 2 have no verdict and stand behind even the 0.2.
    assert numbers(found) == [1, 4, 5, 3, 0, 2, 6, 7]
    assert found.unscored == 2
    assert found.problems == ("2 of 6 documents got no verdict and were put last: refusal",)


def test_pointwise_takes_a_verdict_without_probability():
    class Bare(Oracle):
        async def answer(self, questions, emit):
            for position, question in enumerate(questions):
                await anyio.lowlevel.checkpoint()
                emit(position, Judged(number(question.text) % 2 == 1, BY))

    (found, empty) = rerank_pointwise([(TOPIC, ["1", "2", "3"]), (TOPIC, [])], Bare())
    assert found.order == (0, 2, 1)
    assert (found.windows, found.unscored, empty.order) == (3, 0, ())


def test_mmr_takes_the_best_of_each_kind_first(index):
    plan = SearchPlan(diversify="mmr", lam=0.5)
    (found,) = Searcher(index, plan).search([TOPIC], 12)
    # Documents whose number is equal modulo 4 are copies of each other to the embedder.
    assert numbers(found)[:4] == [0, 1, 2, 3]
    assert sorted(numbers(found)) == list(range(12))
    (plain,) = Searcher(index, SearchPlan(diversify="mmr", lam=1.0)).search([TOPIC], 12)
    assert numbers(plain) == list(range(12))


def test_mmr_embeds_documents_where_the_index_has_no_vectors(tmp_path):
    rows = [Document(f"d{n}", f"n{n // 4 * 4} word " + "x " * n) for n in range(8)]
    build_index([*rows, Document("d9", "n1 word " + "x " * 40)], tmp_path / "i")
    searcher = Searcher(
        Index.open(tmp_path / "i"), SearchPlan(diversify="mmr", lam=0.5), embedder=Axes()
    )
    (found,) = searcher.search([TOPIC], 3)
    assert numbers(found)[:2] == [0, 9]


def test_perspectives_are_searched_in_turns_and_named(index):
    plan = SearchPlan(diversify="perspectives")
    source = Views("left", "right")
    (found,) = Searcher(index, plan, perspectives=source).search([TOPIC], 6)
    assert numbers(found) == [1, 0, 3, 2, 5, 4]
    assert [found.found_for[hit.doc_id].text for hit in found.hits] == ["left", "right"] * 3


def test_each_perspectives_own_ranking_is_reranked_before_the_merge(index):
    judge = Backwards()
    plan = SearchPlan(diversify="perspectives", rerank="listwise", depth=3)
    searcher = Searcher(index, plan, judge=judge, perspectives=Views("left", "right"))
    (found,) = searcher.search([TOPIC], 6)
    assert numbers(found) == [5, 4, 3, 2, 1, 0]
    assert [q.query for q in judge.asked] == ["word left", "word right"]
    assert len({q.id for q in judge.asked}) == 2


def test_without_perspectives_the_question_itself_is_searched_and_it_is_said(index):
    plan = SearchPlan(diversify="perspectives")
    (found,) = Searcher(index, plan, perspectives=Views()).search([TOPIC], 5)
    assert numbers(found) == [0, 1, 2, 3, 4]
    assert found.problems == ("no perspectives: the question itself is searched",)
    assert found.unscored == 1


def test_the_wanted_side_comes_first_then_the_undecided(index):
    def yes(question):
        n = number(question.text)
        if n == 2:
            return None
        pro = 0.9 if n % 3 == 0 else 0.1 if n % 3 == 1 else 0.5
        return pro if question.id.startswith("stance/pro") else 1 - pro

    asked = Question("t", "Should word happen?")
    plan = SearchPlan(stance="con", depth=7)
    (found,) = Searcher(index, plan, judge=Oracle(yes)).search([asked], 9)
    # con: 1, 4; none: 2 (unscored) and 5 (unsure); pro: 0, 3, 6; 7 and 8 are beyond the depth.
    assert numbers(found) == [1, 4, 2, 5, 0, 3, 6, 7, 8]
    assert [found.sides[f"d{n}"].side for n in (1, 2, 5, 0)] == ["con", None, None, "pro"]
    assert found.sides["d1"].by == "oracle"
    assert found.unscored == 1
    assert found.problems == ("1 of 7 documents have no verdict on their side: refusal",)


@pytest.mark.parametrize("model", SCORINGS)
def test_every_model_refuses_what_it_cannot_use(index, model):
    with pytest.raises(InputError, match=f"model {model} has no parameter 'zeta'"):
        Scoring(model, {"zeta": 1.0})
    scoring = Scoring(model)
    assert str(scoring).startswith(model)
    if model == AUTO:
        with pytest.raises(ValueError, match="auto is not a model"):
            rank_documents(index, "word", scoring, 3)
    elif scoring.embeds and scoring.model != "touche":
        with pytest.raises(InputError, match="a dense ranking needs an embedder"):
            rank_documents(index, "word", scoring, 3)


def test_auto_is_the_best_that_the_index_can_do(index, tmp_path):
    build_index([Document("d", "word")], tmp_path / "bare")
    for folder, embedder, model in (
        (index, Axes(), "hybrid"), (index, None, "dirichlet"),
        (Index.open(tmp_path / "bare"), Axes(), "dirichlet"),
    ):  # fmt: skip
        searcher = Searcher(folder, embedder=embedder)
        assert searcher.plan.scoring == Scoring(model)
        assert bool(searcher.note) == (folder is index and embedder is None)
    assert searcher.note == ""
    assert "they are by axes" in Searcher(index).note
    plan = SearchPlan(Scoring(lexical="bm25", parameters={"k1": 0.9}))
    assert Searcher(index, plan).plan.scoring.model == "bm25"
    (found,) = Searcher(index, plan, embedder=Axes()).search([TOPIC], 3)
    wanted = rank_documents(
        index, "word", Scoring("hybrid", {"k1": 0.9}, lexical="bm25"), 3, Axes()
    )
    assert numbers(found) == wanted[0].tolist()


def test_a_hybrids_weight_goes_from_its_lexical_part_to_its_dense_part(index):
    def order(weight):
        scoring = Scoring("hybrid", dense_weight=weight)
        return rank_documents(index, "n7 left", scoring, 12, Axes())[0].tolist()

    by_words = rank_documents(index, "n7 left", Scoring("dirichlet"), 12)[0].tolist()
    dense = rank_documents(index, "n7 left", Scoring("dense"), 12, Axes())[0].tolist()
    # Its last has 0, as those have that it does not hold.
    assert order(0.0)[: len(by_words) - 1] == by_words[:-1]
    assert order(1.0) == dense
    assert order(0.5) not in (by_words, dense)


@pytest.mark.parametrize("fusion", ["rrf", "minmax", "zscore"])
def test_a_hybrid_holds_what_either_ranking_found(index, fusion):
    scoring = Scoring("hybrid", fusion=fusion, lexical="bm25", parameters={"k1": 0.9})
    found, scores = rank_documents(index, "n7 left", scoring, 12, Axes())
    assert (np.diff(scores) <= 0).all()
    assert set(found.tolist()) == set(range(12))  # the dense ranking has all
    assert found[0] == 7


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Scoring("bert"), "unknown model 'bert', expected one of: auto, dirichlet, bm25"),
        (lambda: Scoring("hybrid", lexical="dense"), "unknown lexical model 'dense'"),
        (lambda: Scoring("hybrid", fusion="max"), "unknown fusion 'max'"),
        (lambda: Scoring("hybrid", dense_weight=2), "is 2, expected a number from 0 to 1"),
        (lambda: Scoring("bm25", flat=True), "no relevance score to fix"),
        (lambda: SearchPlan(rerank="all"), "rerank is 'all', expected one of: listwise, pointwise"),
        (lambda: SearchPlan(diversify="x"), "diversify is 'x', expected one of: mmr, perspectives"),
        (lambda: SearchPlan(lam=float("nan")), "lambda is nan"),
        (lambda: SearchPlan(depth=0), "depth is 0, expected at least 1"),
        (lambda: SearchPlan(certainty=0.4), "certainty is 0.4"),
    ],
)
def test_a_wrong_value_is_one_line(make, said):
    with pytest.raises(InputError) as caught:
        make()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_k_is_checked_with_and_without_stages(index):
    for plan in (SearchPlan(), SearchPlan(diversify="mmr")):
        with pytest.raises(InputError, match="k is 0, expected at least 1"):
            list(Searcher(index, plan).search([TOPIC], 0))


def test_a_threshold_keeps_as_many_as_reach_it_and_unscored_are_no_number(index):
    told = {1: 0.9, 3: 0.2, 4: 0.9, 5: 0.6}

    def found(threshold, k=None):
        plan = SearchPlan(rerank="pointwise", threshold=threshold, depth=6)
        judge = Oracle(lambda question: told.get(number(question.text)))
        (one,) = Searcher(index, plan, judge=judge).search([TOPIC], k)
        return one

    some = found(0.6)  # the bound itself is kept
    assert numbers(some) == [1, 4, 5]
    assert [(h.rank, h.score) for h in some.hits] == [(1, 1.0), (2, 1 / 2), (3, 1 / 3)]
    assert [some.probabilities[hit.doc_id] for hit in some.hits] == [0.9, 0.9, 0.6]
    assert (some.unscored, some.candidates) == (2, 6)
    assert some.problems == (
        "2 of 6 documents got no verdict and were left out, relevant or not: refusal",
    )
    assert numbers(found(0.6, k=1)) == [1]
    assert numbers(found(0.2)) == [1, 4, 5, 3]
    none = found(0.91)
    assert (none.hits, none.unscored, none.candidates) == ((), 2, 6)


def test_a_threshold_holds_for_each_perspective_and_before_what_follows(index):
    judge = Oracle(lambda question: 0.7 if number(question.text) in (2, 3, 7) else 0.1)

    def found(question=TOPIC, **stages):
        plan = SearchPlan(rerank="pointwise", threshold=0.5, **stages)
        views = Views("left", "right")
        searcher = Searcher(index, plan, embedder=Axes(), judge=judge, perspectives=views)
        (one,) = searcher.search([question])
        return one

    assert numbers(found(diversify="mmr")) == [2, 3, 7]
    by_view = found(Question("t", "Is it?"), diversify="perspectives")
    assert sorted(numbers(by_view)) == [2, 3, 7]
    assert {n: p.text for n, p in by_view.found_for.items()} == {
        "d3": "left",
        "d2": "right",
        "d7": "left",
    }


@pytest.mark.parametrize("wrong", [{"threshold": 0.0}, {"threshold": 1.1}, {"threshold": -0.5}])
def test_a_wrong_threshold_is_refused(wrong):
    with pytest.raises(InputError, match="expected above 0, at most 1"):
        SearchPlan(rerank="pointwise", **wrong)
    for rerank in (None, "listwise"):
        with pytest.raises(InputError, match="a threshold needs pointwise reranking"):
            SearchPlan(rerank=rerank, threshold=0.5)
