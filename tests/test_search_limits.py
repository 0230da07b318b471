"""Limits, defaults and thresholds of searches: the last value before each, and the first after."""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from command import called, printed, write_rows
from pnyx.core.errors import InputError, PnyxError
from pnyx.core.records import Argument, Document, Premise, Qrel, Question
from pnyx.judging.answers import Judged, Provenance
from pnyx.judging.questions import Support
from pnyx.search.build import build_index
from pnyx.search.features import topic_points
from pnyx.search.features.topic_points import k_means_engine, label_clusters, premise_of
from pnyx.search.index import Index
from pnyx.search.lexical.manifest import contents, read_manifest, write_manifest
from pnyx.search.measures.irmeasures import parse_measures
from pnyx.search.parameter_search import Tuning, tune
from pnyx.search.pipeline import Searcher
from pnyx.search.plan import Scoring, SearchPlan
from pnyx.search.quotable import leans
from pnyx.search.ranking import dense
from pnyx.search.ranking.scores import depth_of_parts
from pnyx.search.sides import ask_sides
from pnyx.search.topics import LabelledTopic, TopicMatch, near_topics

THOUSAND_AND_ONE = 1001


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """An index in which 1,001 documents have the word of a question, the shortest first."""
    folder = tmp_path_factory.mktemp("many") / "i"
    texts = ("tea " + "milk " * (n // 10) for n in range(THOUSAND_AND_ONE))
    build_index([Document(f"d{n}", text) for n, text in enumerate(texts)], folder)
    return folder


# Documents ----------------------------------------------------------------------------------------


def test_a_run_has_1000_documents_for_each_topic(many, capsys, tmp_path):
    topics = write_rows(tmp_path / "topics.jsonl", [{"id": "t", "question": "tea"}])
    run = tmp_path / "run.txt"
    arguments = ("search", many, "--topics", topics, "--model", "bm25", "--out", run)
    assert "1,000 documents for 1 topic, " in printed(capsys, *arguments).err
    assert len(run.read_text().splitlines()) == 1000


def test_parameters_are_tuned_on_1000_documents_where_a_measure_has_no_cutoff(many):
    ranked = Index.open(many).search("tea", "bm25", 1001)
    tuning = Tuning(Scoring("bm25"), {"k1": (1.2,)}, "AP", folds=2, draws=0)
    questions = [Question("a", "tea"), Question("b", "tea")]

    def precision(place: int) -> float | None:
        qrels = [Qrel(topic, ranked[place - 1].doc_id, 1) for topic in "ab"]
        return tune(Index.open(many), questions, qrels, tuning).best.mean.value

    assert precision(1000) == pytest.approx(1 / 1000)
    assert precision(1001) == 0.0


@pytest.mark.parametrize(("k", "depth"), [(1, 1000), (1000, 1000), (1001, 1001)])
def test_a_hybrid_fuses_1000_documents_of_each_ranking(k, depth):
    assert depth_of_parts(k) == depth


@pytest.mark.parametrize(("length", "whole"), [(160, True), (161, False)])
def test_a_text_of_up_to_160_characters_is_shown_whole(length, whole, capsys, tmp_path):
    text = "Tea calms people " + "w" * (length - 17)
    build_index([Document("d", text)], tmp_path / "i")
    lines = printed(capsys, "search", tmp_path / "i", "tea").out.splitlines()
    assert (lines[1].strip() == text) is whole


@pytest.mark.parametrize(("count", "end"), [(5, "t4"), (6, "t4, ...")])
def test_five_topics_without_documents_are_named(count, end, many, capsys, tmp_path):
    rows = [{"id": f"t{n}", "question": f"unknown{n}"} for n in range(count)]
    topics = write_rows(tmp_path / "topics.jsonl", [*rows, {"id": "x", "question": "tea"}])
    arguments = ("search", many, "--topics", topics, "-k", 1, "--out", tmp_path / "run.txt")
    first = printed(capsys, *arguments).err.splitlines()[0]
    assert first.startswith(f"pnyx: warning: {count} of {count + 1} topics have no word in common")
    assert first.endswith(f"t0, t1, t2, t3, {end}")


def test_a_corrected_command_is_shown_up_to_1500_characters(many, capsys):
    def shown(words: int) -> str:
        status, _, error = called(capsys, "search", many, *["word"] * words)
        assert status == 2
        return str(error.rstrip("\n")).partition("Use: ")[2]

    whole = shown(100)
    assert whole.endswith("word'")
    assert len(shown(1000)) == 1500


# Topics -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("length", "kept"), [(8000, 8000), (8001, 8000)])
def test_reasons_are_read_up_to_8000_characters(length, kept):
    assert len(premise_of(Document("d", "x" * length))) == kept


def _labels(texts: list[str]) -> Any:
    from pnyx.formats.text.tokens import Tokenizer

    numbers = np.arange(len(texts), dtype=np.int64)
    clusters = np.zeros(len(texts), dtype=np.uint32)
    likeness = np.ones(len(texts))
    return label_clusters(texts, numbers, clusters, likeness, 1, Tokenizer())[0]


def test_a_topic_has_five_terms_and_a_label_of_200_characters():
    label = _labels(["Zebras graze; yaks roam; cows chew; goats climb; sheep sleep; pigs dig."])
    assert len(label.terms) == 5
    whole = "Zebras graze " + "w" * 187
    assert _labels([whole]).label == whole
    assert _labels([f"{whole}w"]).label == whole[:199] + "…"


@pytest.mark.parametrize(
    ("points", "model", "starts"),
    [
        (2000, "KMeans", 4),
        (2001, "KMeans", 1),
        (20_000, "KMeans", 1),
        (20_001, "MiniBatchKMeans", 3),
    ],
)
def test_how_often_topics_are_looked_for_depends_on_how_many_points_there_are(
    points, model, starts, monkeypatch
):
    class Fitted:
        cluster_centers_ = np.ones((1, 2))

        def __init__(self, _: int, **settings: Any) -> None:
            assert settings["random_state"] == 7
            assert settings["n_init"] == starts

        def fit(self, *_: Any, **__: Any) -> Fitted:
            return self

    models = {name: type(name, (Fitted,), {}) for name in ("KMeans", "MiniBatchKMeans")}
    monkeypatch.setitem(sys.modules, "sklearn", SimpleNamespace(__version__="1"))
    monkeypatch.setitem(sys.modules, "sklearn.cluster", SimpleNamespace(**models))
    row = np.ones((points, 2), dtype=np.float32)
    centroids, engine = k_means_engine()(row, np.ones(points, dtype=np.int64), 1, 7)
    assert engine.endswith(f" {model}")
    assert np.linalg.norm(centroids) == pytest.approx(1.0)


def test_a_word_of_a_quarter_of_the_topics_distinguishes_none():
    """Of eight topics, two may share a word; a third makes it common."""
    from pnyx.formats.text.tokens import Tokenizer

    def terms(sharing: int) -> list[tuple[str, ...]]:
        texts = [[f"word{n} shared" if n < sharing else f"word{n}"] for n in range(8)]
        return topic_points._terms(texts, Tokenizer())

    assert all("shared" in found for found in terms(2)[:2])
    assert not any("shared" in found for found in terms(3))


# What is offered, and what decides ----------------------------------------------------------------


def _labelled(same: float, opposite: float = 0.0, topic: str = "Tea") -> LabelledTopic:
    return LabelledTopic(TopicMatch(topic, same, opposite, "meaning", False), 1)


@pytest.mark.parametrize(
    ("topics", "offered"),
    [
        ([_labelled(0.02)], 1),
        ([_labelled(0.0199)], 0),
        ([_labelled(0.012, 0.008)], 1),
        ([_labelled(0.5)] * 4, 3),
        ([_labelled(0.5, topic="t" * 1000)], 1),
        ([_labelled(0.5, topic="t" * 1001)], 0),
    ],
)
def test_up_to_three_topics_are_offered_from_a_probability_of_0_02(topics, offered):
    assert len(near_topics(topics)) == offered


class Says:
    """Answers yes to con with a probability, and no to pro."""

    name, card, kinds = "says", "", frozenset({Support})

    def __init__(self, probability: float) -> None:
        self.probability = probability

    async def answer(self, questions: Any, emit: Any) -> None:
        for position, question in enumerate(questions):
            yes = question.id.startswith("stance/con")
            chance = self.probability if yes else 1 - self.probability
            emit(position, Judged(yes, Provenance("says"), chance))


@pytest.mark.parametrize(("probability", "side"), [(0.7, "con"), (0.6999, None)])
def test_a_verdict_decides_a_side_from_a_probability_of_0_7(probability, side, many):
    question = Question("q", "Is tea good?")
    (sided,) = asyncio.run(ask_sides(Says(probability), [(question, "1", "Tea calms.")]))
    assert sided.side == side
    searcher = Searcher(Index.open(many), SearchPlan(stance="con"), judge=Says(probability))
    hits = searcher.search("tea", 3)
    assert {hits.sides[hit.doc_id].side for hit in hits.hits} == {side}


@pytest.mark.parametrize(("place", "first"), [(100, True), (101, False)])
def test_the_wanted_side_is_put_first_among_100_documents(place, first, tmp_path):
    """Of documents on the other side, one is on the wanted side: at a place in the ranking."""
    topic = "Is tea good?"
    rows = [
        Argument(f"d{n}", "Tea calms.", (Premise("tea " + "milk " * n),),
                 "con" if n == place else "pro", topic)
        for n in range(1, 102)
    ]  # fmt: skip
    build_index(rows, tmp_path / "i")
    scoring = Scoring("bm25", {"k1": 1.2, "b": 1.0})
    index = Index.open(tmp_path / "i")
    ranked = [hit.doc_id for hit in index.retrieve("tea", scoring, 101, None)]
    assert ranked == [f"d{n}" for n in range(1, 102)]
    plan = SearchPlan(scoring, stance="con", topics=(topic,))
    hits = Searcher(index, plan).search(Question("q", "tea"), 101).hits
    assert (hits[0].doc_id == f"d{place}") is first


@pytest.mark.parametrize(
    ("words", "depends"), [("When while because since they", True),
                           ("When while because since although they", False)],
)  # fmt: skip
def test_a_pronoun_among_the_first_five_words_points_back(words, depends):
    assert leans(f"{words} vote, parties win.") is depends


# Ranges -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "name", "least", "most"),
    [
        ("dirichlet", "mu", 1e-6, 1e12),
        ("bm25", "k1", 0.0, 1e6),
        ("bm25", "b", 0.0, 1.0),
        ("touche", "wc", 0.0, 1e6),
        ("touche", "wq", 0.0, 1e6),
        ("hybrid", "dense_weight", 0.0, 1.0),
    ],
)
def test_the_range_of_a_parameter(model, name, least, most):
    scoring = Scoring(model)
    for value in (least, most):
        assert value in Tuning(scoring, {name: (value,)}).grid[name]
    for value in (least - 1e-9, most * 1.0001, float("nan")):
        with pytest.raises(InputError, match="expected a number from"):
            Tuning(scoring, {name: (value,)})


@pytest.mark.parametrize(
    ("scoring", "defaults", "settings"),
    [
        (Scoring("dirichlet"), {"mu": 2000.0}, 11),
        (Scoring("bm25"), {"k1": 1.2, "b": 0.75}, 7 * 6),
        (Scoring("touche"), {"mu": 2000.0, "wc": 10.0, "wq": 5.0}, 11 * 6 * 6),
        (Scoring("touche", flat=True), {"wc": 10.0, "wq": 5.0}, 6 * 6),
        (Scoring("hybrid"), {"mu": 2000.0, "dense_weight": 0.7}, 11 * 11),
        (Scoring("hybrid", fusion="rrf"), {"mu": 2000.0}, 11),
    ],
)
def test_the_usual_values_are_among_those_tried(scoring, defaults, settings):
    tuning = Tuning(scoring)
    assert tuning.default == defaults
    tried = tuning.settings()
    assert tried[0] == defaults
    assert len(tried) == settings


def test_at_most_10000_settings_are_tried():
    def tuning(k1: int, b: int) -> Tuning:
        """Try this many values of each, including the usual ones, 1.2 and 0.75."""
        values = {"k1": [1.2, *range(2, k1 + 1)], "b": [0.75, *np.linspace(0, 0.7, b - 1)]}
        return Tuning(Scoring("bm25"), values)

    assert len(tuning(100, 100).settings()) == 10_000
    with pytest.raises(InputError, match="10,001 settings, expected at most 10,000"):
        tuning(73, 137)


@pytest.mark.parametrize(
    ("allowed", "refused", "problem"),
    [
        ("nDCG@1000000", "nDCG@1000001", "cutoff 1000001, expected 1 to 1000000"),
        ("nDCG@1", "nDCG@0", "cutoff 0, expected 1 to 1000000"),
        ("alpha_nDCG@20", "alpha_nDCG@21", "cutoff 21, expected 1 to 20"),
        ("P(rel=1)@5", "P(rel=0)@5", "rel 0, expected a grade of 1 or more"),
        ("P(rel=1000000)@5", "P(rel=1000001)@5", "rel 1000001, expected a grade"),
    ],
)
def test_the_parameters_of_a_measure_of_runs_have_ranges(allowed, refused, problem):
    pytest.importorskip("ir_measures")
    assert list(parse_measures([allowed]))
    with pytest.raises(InputError, match=problem):
        parse_measures([refused])


@pytest.mark.parametrize(
    ("number", "problem"),
    [(2**53, "expected a whole number"), (2**53 - 1, "has the wrong number of checksums")],
)
def test_a_number_of_a_manifest_is_below_2_to_the_53(number, problem, tmp_path):
    build_index([Document("d", "Tea.")], tmp_path / "i")
    manifest = read_manifest(tmp_path / "i")
    (segment,) = manifest["segments"]
    segment["bytes"] = number
    write_manifest(tmp_path / "i", contents(manifest))
    with pytest.raises(PnyxError, match=problem):
        Index.open(tmp_path / "i").search("tea")


# Searching by vectors -----------------------------------------------------------------------------


@pytest.mark.parametrize(("documents", "by_graph"), [(999_999, False), (1_000_000, True)])
def test_a_graph_is_searched_from_a_million_documents_on(documents, by_graph, monkeypatch):
    class Huge:
        def __len__(self) -> int:
            return documents

        def once(self, _: str, make: Any) -> Any:
            return make()

    opened: list[object] = []
    rows = np.eye(2, dtype=np.float16)
    monkeypatch.setattr(dense, "document_vectors", lambda _: SimpleNamespace(rows=rows))
    monkeypatch.setattr(dense, "_open_graph", opened.append)  # returns None: there is no graph
    numbers, _ = dense.dense_rank(Huge(), np.array([0.0, 1.0], dtype=np.float32), 1)  # type: ignore[arg-type]
    assert numbers.tolist() == [1]
    assert bool(opened) is by_graph


@pytest.mark.parametrize(("k", "wanted"), [(1, 256), (128, 256), (129, 258), (200, 300)])
def test_a_graph_is_asked_for_256_neighbours_or_twice_as_many_as_wanted(k, wanted):
    asked: list[int] = []

    class Graph:
        def search(self, _: object, count: int, **__: object) -> object:
            asked.append(count)
            return SimpleNamespace(keys=np.arange(count, dtype=np.uint64))

    rows = np.ones((300, 1), dtype=np.float32)
    numbers, _ = dense._graph_top(Graph(), rows, np.ones(1, dtype=np.float32), k)
    assert asked == [wanted]
    assert len(numbers) == k
