"""From options of a search to its plan, and from an index to the model that suits it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from index_fixture import Fake
from pnyx.core.errors import InputError, OptionError
from pnyx.core.records import Argument, Document, Premise, Question
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.search.build import build_index
from pnyx.search.commands import _lines, _tag, _why_empty
from pnyx.search.document_quality import FEATURE, rated_text
from pnyx.search.engine import FeatureInfo, Hit
from pnyx.search.explain import Explanation, explain, explain_good
from pnyx.search.features.access import put_feature
from pnyx.search.features.vectors import embed_documents
from pnyx.search.hits import RetrievedDocument
from pnyx.search.index import Index
from pnyx.search.open_engine import engine_type, stands_for_index
from pnyx.search.open_search import _plan, open_searcher, scoring_of
from pnyx.search.options import SearchSpec
from pnyx.search.plan import Scoring, SearchPlan
from pnyx.search.ranking.good_first import Goodness
from pnyx.search.ranking.scores import choose_scoring
from pnyx.search.sides import SideVerdict, match_labels, stance_side
from pnyx.search.topics import TopicMatch, TopicMatcher


def plan_of(listwise: bool = False, **options: Any) -> SearchPlan:
    return _plan(SearchSpec(**options), listwise=listwise)


def test_a_search_without_options_is_the_usual_one():
    assert plan_of() == SearchPlan()
    assert plan_of().good_first
    assert not plan_of(model="hybrid").good_first
    assert plan_of(rerank=True).rerank == "pointwise"
    assert plan_of(rerank=True, listwise=True).rerank == "listwise"
    assert plan_of(threshold=0.5).rerank == "pointwise"
    assert plan_of(listwise=True).rerank is None


@pytest.mark.parametrize(
    ("options", "window", "step"),
    [
        ({}, 20, 10),
        ({"window": 5}, 5, 5),
        ({"window": 30}, 30, 10),
        ({"step": 3}, 20, 3),
        ({"window": 8, "step": 2}, 8, 2),
    ],
)
def test_the_stride_is_at_most_the_window(options, window, step):
    listwise = plan_of(rerank=True, listwise=True, **options).listwise
    assert (listwise.window, listwise.step) == (window, step)


def test_options_of_the_model_and_of_the_stages_are_handed_on():
    spec = SearchSpec(model="hybrid", mu=100.0, lexical="bm25", fusion="zscore", feedback=0)
    with pytest.raises(InputError, match="has no parameter 'mu'"):
        scoring_of(spec)
    spec = SearchSpec(model="hybrid", mu=100.0, fusion="zscore", dense_weight=0.0, feedback=0)
    assert scoring_of(spec) == Scoring("hybrid", {"mu": 100.0}, fusion="zscore", dense_weight=0.0,
                                       feedback=0)  # fmt: skip
    plan = plan_of(diversify="mmr", lam=0.0, depth=7, stance="con", certainty=0.9, topic=("zoos",))
    assert (plan.lam, plan.depth, plan.stance, plan.certainty, plan.topics) == (
        0.0, 7, "con", 0.9, ("zoos",),
    )  # fmt: skip


# The model that suits an index --------------------------------------------------------------------


class Engine:
    """Knows how many documents have vectors, and by whom."""

    def __init__(self, vectors: int | None, made_by: str = "minilm") -> None:
        self.info = None if vectors is None else FeatureInfo(vectors, made_by)

    def __len__(self) -> int:
        return 10

    def feature_info(self, name: str) -> FeatureInfo | None:
        return self.info if name == "vectors" else None


@pytest.mark.parametrize(
    ("vectors", "embedder", "model", "note"),
    [
        (10, "minilm", "hybrid", ""),
        (None, "minilm", "dirichlet", ""),
        (9, "minilm", "dirichlet", "1 document has no vector yet: pnyx index --update"),
        (10, "other", "dirichlet", "they are by minilm: name it with --set embedder=SPEC"),
    ],
)
def test_vectors_of_all_documents_by_the_same_embedder_are_used(vectors, embedder, model, note):
    engine: Any = Engine(vectors)
    choice = choose_scoring(engine, Scoring(), embedder)
    assert choice.scoring.model == model
    assert choice.note.startswith(note)
    assert bool(choice.note) is bool(note)
    assert choose_scoring(engine, Scoring("bm25"), embedder).scoring == Scoring("bm25")
    assert choose_scoring(engine, Scoring(lexical="bm25"), embedder).scoring.by_words == "bm25"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """Four documents with vectors; the quality of one is not known."""
    folder = tmp_path_factory.mktemp("specs") / "i"
    build_index([Document(f"d{n}", f"tea {'milk ' * n}") for n in range(4)], folder)
    embed_documents(folder, Fake())
    values = np.array([0.2, np.nan, 0.5, 0.2], dtype=np.float32)
    put_feature(folder, FEATURE, {"values": values}, documents=4,
                meta={"model": "m", "neutral": 0.5, "unscored": 1})  # fmt: skip
    return Index.open(folder)


def test_quality_is_compared_with_that_of_the_documents_of_which_it_is_known(index):
    ids = [f"d{n}" for n in range(4)]
    assert index.quality(ids).tolist() == pytest.approx([0.2, np.nan, 0.5, 0.2], nan_ok=True)
    shares = index.quality_shares(ids).tolist()
    assert shares == pytest.approx([0.0, np.nan, 2 / 3, 0.0], nan_ok=True)
    factors, quality = index.boosts("tea", ids, 0.0, 5.0, None)
    assert factors.tolist() == [1.0] * 4
    assert quality.tolist() == pytest.approx([0.2, 0.0, 0.5, 0.2])
    factors, quality = index.boosts("tea", ids, 0.0, 0.0, None)
    assert (factors.tolist(), quality.tolist()) == ([1.0] * 4, [0.0] * 4)
    assert index.cosines(" ", ids, Fake()).tolist() == [0.0] * 4


def test_options_that_have_no_effect_on_the_chosen_model_are_refused(index):
    said: list[str] = []

    def opened(**options: Any) -> Any:
        return open_searcher(index, SearchSpec(**options), None, None, said.append)

    assert opened().plan.scoring.model == "dirichlet"
    assert said == ["warning: ranked by dirichlet, without the index's vectors: they are by fake: "
                    "name it with --set embedder=SPEC"]  # fmt: skip
    with pytest.raises(OptionError, match="embedder requires --model touche, dense or hybrid"):
        opened(model="bm25", embedder="minilm-int8")
    for name in ("window", "step"):
        with pytest.raises(OptionError, match=f"{name}.* requires --rerank with --llm"):
            opened(model="bm25", rerank=True, **{name: 5})


def test_an_address_of_an_unknown_engine_is_a_folder(tmp_path):
    assert engine_type("opensearch://h:1/x") is not None
    assert engine_type(tmp_path) is None
    assert engine_type("c:/documents") is None
    assert not stands_for_index(tmp_path)
    build_index([Document("a", "Tea.")], tmp_path / "i")
    assert stands_for_index(tmp_path / "i")
    assert stands_for_index("opensearch://h:1/x")


def test_ranks_that_are_fused_count_from_one(index):
    scoring = Scoring("hybrid", fusion="rrf", feedback=0)
    ids = [f"d{n}" for n in range(4)]
    ranked = {
        model: [hit.doc_id for hit in index.retrieve("tea", Scoring(model), 4, Fake())]
        for model in ("dirichlet", "dense")
    }
    for doc_id, why in zip(ids, explain(index, "tea", scoring, ids, Fake()), strict=True):
        for model, part in zip(("dirichlet", "dense"), why.parts, strict=True):
            rank = ranked[model].index(doc_id) + 1
            assert (part.rank, part.weight) == (rank, None)
            assert part.value == pytest.approx(1 / (60 + rank))


# What is shown ------------------------------------------------------------------------------------


def test_a_hit_is_shown_with_all_that_is_known_of_it():
    document = Argument("a", "Ban tea.", (Premise("It harms."),), "pro", "Milk")
    match = TopicMatch("Milk", 0.1, 0.8, "meaning", True)
    verdicts: Any = {"con": Judged(True, Provenance("the judge"), 0.9)}
    sided = SideVerdict(verdicts, frozenset({"con"}))
    hit = RetrievedDocument(Hit("a", 3, 0.25), document, match, "con", sided, probability=0.5)
    first, title, text = _lines(hit).splitlines()
    assert first == "   3    0.2500  a  P 0.500  [con: pro on “Milk”]  argues con, by the judge"
    assert (title, text) == ("      Ban tea.", "      It harms.")
    same = RetrievedDocument(Hit("a", 3, 0.25), document, match, "pro")
    assert _lines(same).splitlines()[0] == "   3    0.2500  a  [pro]"


@pytest.mark.parametrize(
    ("candidates", "reason"),
    [
        (0, "no word of the question is in the index"),
        (3, "none of the best 3 reaches a probability of 0.5"),
        (30, "none of the best 7 reaches a probability of 0.5"),
    ],
)
def test_why_nothing_was_found(candidates, reason):
    result: Any = SimpleNamespace(candidates=candidates)
    searcher: Any = SimpleNamespace(plan=plan_of(threshold=0.5, depth=7))
    assert _why_empty(result, searcher) == reason


@pytest.mark.parametrize(
    ("options", "tag"),
    [
        ({}, "auto"),
        ({"rerank": True, "stance": "pro"}, "auto-rerank-pro"),
        ({"threshold": 0.5, "diversify": "mmr"}, "auto-p0.5-mmr"),
    ],
)
def test_the_tag_of_a_run_names_its_stages(options, tag):
    searcher: Any = SimpleNamespace(plan=plan_of(**options))
    assert _tag(searcher, SearchSpec(**options)) == tag


def test_the_text_that_is_rated_is_the_premises():
    premises = (Premise("It harms."), Premise(" "), Premise("It costs."))
    assert rated_text(Argument("a", "Ban tea.", premises)) == "It harms. It costs."
    assert rated_text(Document("d", "Tea is good.", title="Tea")) == "Tea is good."


# Sides and scores ---------------------------------------------------------------------------------


def said(pro: float | None, con: float | None, yes: str = "both") -> Any:
    values = {"both": (True, True), "pro": (True, False), "con": (False, True)}[yes]
    return {side: Judged(value, Provenance("j"), p)
            for side, value, p in zip(("pro", "con"), values, (pro, con), strict=True)}  # fmt: skip


@pytest.mark.parametrize(
    ("stance", "certainty", "sides"),
    [
        (said(0.8, 0.6), 0.5, {"pro"}),
        (said(0.6, 0.8), 0.5, {"con"}),
        (said(0.7, 0.7), 0.5, {"pro", "con"}),
        (said(0.8, 0.6), 0.7, {"pro"}),
        (said(0.6, 0.6), 0.7, set()),
        (said(0.7, 0.3, "pro"), 0.7, {"pro"}),
        (said(None, 0.9), 0.7, {"pro", "con"}),  # one without a probability is certain
        (said(None, 0.6), 0.7, {"pro"}),
        ({"pro": Unscored("x", Provenance("j")), "con": said(0.1, 0.9)["con"]}, 0.5, {"con"}),
    ],
)
def test_the_more_probable_of_two_sides_is_taken(stance, certainty, sides):
    assert stance_side(stance, certainty) == sides


def test_a_verdict_on_sides_names_its_judge_and_what_is_missing():
    gone = Unscored("timeout", Provenance("j"))
    verdict = SideVerdict({"pro": gone, "con": said(0.1, 0.9)["con"]}, frozenset({"con"}))
    assert (verdict.side, verdict.by, verdict.labelled) == ("con", "j", False)
    assert verdict.reasons == ["timeout"]
    both = SideVerdict(said(0.7, 0.7), frozenset({"pro", "con"}))
    assert (both.side, both.by, both.reasons) == (None, "", [])


def test_a_score_with_good_arguments_first_is_explained_by_its_parts():
    good = Goodness(0.5, 1.0, 0.4, "other")
    why = explain_good(Explanation("hybrid", 0.5, 0.5), good)
    relevance, quality, copy = why.parts
    assert [part.value for part in relevance.parts] == pytest.approx([0.3 * 0.5, 0.7 * 1.0])
    assert [part.weight for part in relevance.parts] == pytest.approx([0.3, 0.7])
    assert relevance.value == pytest.approx(0.85)
    assert (quality.value, quality.raw, quality.weight) == (pytest.approx(1.1), 0.4, 0.25)
    assert (copy.name, copy.value) == ("copy", 0.5)
    assert why.value == pytest.approx(0.85 * 1.1 * 0.5)
    alone = explain_good(Explanation("hybrid", 0.5, 0.5), good._replace(copy_of="", share=None))
    assert len(alone.parts) == 2
    assert alone.value == pytest.approx(0.85 * 1.125)


def test_a_question_of_claims_is_compared_by_what_pro_says():
    question = Question("q", "Which is better?", claims=("Tea is good", "Milk is good"))
    (match,) = match_labels(
        question, [Argument("a", "x", (), "pro", "Tea is good")], TopicMatcher()
    )
    assert match is not None
    assert (match.why, match.relation) == ("words", 1)
