"""Plans, results and what an index records: defaults, orders and texts, worked out by hand."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from command import called, write_rows
from pnyx.core.errors import IndexFolderError, InputError
from pnyx.core.records import Argument, Document, Premise, Qrel, Question
from pnyx.judging.answers import Judged, Provenance
from pnyx.judging.questions import Support
from pnyx.search.build import add_to_index, build_index
from pnyx.search.engine import Hit, open_again
from pnyx.search.index import Index
from pnyx.search.lexical.manifest import contents, read_manifest, write_manifest
from pnyx.search.parameter_search import Tuning, tune
from pnyx.search.pipeline import Searcher
from pnyx.search.plan import Listwise, Scoring, SearchPlan
from pnyx.search.ranking.diversify import mmr
from pnyx.search.sides import sided_by_label
from pnyx.search.split_documents import DocumentRanking
from pnyx.search.topics import TopicMatch

QUESTION = Question("q", "Is tea good?")


# Plans --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        (SearchPlan(), "auto"),
        (SearchPlan(Scoring("bm25", {"k1": 0.9})), "bm25, k1 0.9"),
        (SearchPlan(Scoring("touche", flat=True)), "touche, R fixed to 1"),
        (
            SearchPlan(Scoring("hybrid")),
            "hybrid of dirichlet and dense (minmax, weight 0.7 on dense, feedback of 3)",
        ),
        (
            SearchPlan(Scoring("hybrid", fusion="rrf", feedback=0)),
            "hybrid of dirichlet and dense (rrf)",
        ),
        (
            SearchPlan(Scoring("bm25"), rerank="pointwise", threshold=0.5, stance="con"),
            "bm25; pointwise reranking of 100; relevant with a probability of at least 0.5; "
            "con side first",
        ),
        (SearchPlan(Scoring("bm25"), diversify="mmr"), "bm25; MMR of 100 with lambda 0.75"),
        (SearchPlan(Scoring("bm25"), diversify="perspectives"), "bm25; for each perspective"),
    ],
)
def test_a_plan_says_what_it_does(plan, text):
    assert str(plan) == text
    assert plan.staged is (";" in text)


@pytest.mark.parametrize(
    ("allowed", "refused", "problem"),
    [
        ({"lam": 0.0}, {"lam": -0.01}, "lambda is -0.01, expected a number from 0 to 1"),
        ({"lam": 1.0}, {"lam": 1.01}, "lambda is 1.01, expected a number from 0 to 1"),
        ({"certainty": 0.5}, {"certainty": 0.49}, "certainty is 0.49, expected a number from 0.5"),
        ({"certainty": 1.0}, {"certainty": 1.01}, "certainty is 1.01"),
        ({"depth": 1}, {"depth": 0}, "depth is 0, expected at least 1"),
        ({}, {"depth": 1.5}, "depth is 1.5, expected a whole number from 1"),
        ({}, {"depth": True}, "depth is True, expected a whole number from 1"),
        ({}, {"threshold": 0.0, "rerank": "pointwise"}, "expected above 0, at most 1"),
        ({"threshold": 1.0, "rerank": "pointwise"},
         {"threshold": 1.01, "rerank": "pointwise"}, "expected above 0, at most 1"),
        ({}, {"threshold": 0.5}, "a threshold needs pointwise reranking"),
        ({}, {"unit": "page"}, "unit is 'page', expected one of: "),
        ({}, {"rerank": "best"}, "rerank is 'best', expected one of: listwise, pointwise"),
        ({}, {"diversify": "x"}, "diversify is 'x', expected one of: mmr, perspectives"),
    ],
)  # fmt: skip
def test_a_plan_has_ranges(allowed, refused, problem):
    SearchPlan(**allowed)
    with pytest.raises(InputError, match=problem):
        SearchPlan(**refused)


@pytest.mark.parametrize(
    ("allowed", "refused", "problem"),
    [
        ({"feedback": 0}, {"feedback": -1}, "feedback is -1, expected at least 0"),
        ({"dense_weight": 1.0}, {"dense_weight": 1.01}, "weight of the dense ranking is 1.01"),
        ({}, {"model": "best"}, "unknown model 'best', expected one of: auto, dirichlet"),
        ({}, {"lexical": "dense"}, "unknown lexical model 'dense'"),
        ({}, {"fusion": "max"}, "unknown fusion 'max'"),
        ({"model": "touche", "flat": True}, {"model": "bm25", "flat": True}, "no relevance score"),
        ({"model": "bm25", "parameters": {"b": 1}}, {"model": "bm25", "parameters": {"mu": 1}},
         "model bm25 has no parameter 'mu', expected: k1, b"),
        ({}, {"model": "dense", "parameters": {"mu": 1}}, "has no parameter 'mu', expected: none"),
    ],
)  # fmt: skip
def test_a_model_has_ranges(allowed, refused, problem):
    Scoring(**allowed)
    with pytest.raises(InputError, match=problem):
        Scoring(**refused)


@pytest.mark.parametrize(
    ("model", "parameters", "embeds"),
    [("auto", {}, True), ("dense", {}, True), ("hybrid", {}, True), ("bm25", {}, False),
     ("touche", {}, True), ("touche", {"wc": 0.0}, False)],
)  # fmt: skip
def test_which_models_embed_the_question(model, parameters, embeds):
    assert Scoring(model, parameters).embeds is embeds


@pytest.mark.parametrize(
    ("count", "windows"),
    [
        (0, []),
        (1, []),
        (2, [(0, 2)]),
        (20, [(0, 20)]),
        (21, [(1, 21), (0, 11)]),
        (30, [(10, 30), (0, 20)]),
        (40, [(20, 40), (10, 30), (0, 20)]),
    ],
)
def test_windows_of_20_documents_move_by_10(count, windows):
    assert [(w.start, w.stop) for w in Listwise().windows(count)] == windows


@pytest.mark.parametrize(
    ("allowed", "refused", "problem"),
    [
        ({"window": 2, "step": 2}, {"window": 1, "step": 1}, "window is 1, expected at least 2"),
        ({"step": 20}, {"step": 21}, "step is 21, expected 1 to the window, 20"),
        ({"step": 1}, {"step": 0}, "step is 0, expected 1 to the window, 20"),
        ({"words": 1}, {"words": 0}, "words is 0, expected at least 1"),
    ],
)
def test_windows_have_ranges(allowed, refused, problem):
    Listwise(**allowed)
    with pytest.raises(InputError, match=problem):
        Listwise(**refused)
    assert Listwise().words == 300


# Results ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results") / "i"
    rows = [Document(f"d{n}", "tea " + "milk " * n, title=f"Title {n}") for n in range(12)]
    build_index(rows, folder)
    return Index.open(folder)


def test_hits_are_shown_and_pickled_with_their_documents(index):
    searcher = Searcher(index, SearchPlan(Scoring("bm25")))
    hits = searcher.search("tea")
    assert len(hits) == 10
    assert [hit.rank for hit in hits] == list(range(1, 11))
    assert str(hits).splitlines()[0] == "10 documents for: tea"
    assert str(searcher.search("tea", 1)).splitlines()[0] == "1 document for: tea"
    again = pickle.loads(pickle.dumps(hits))
    assert again.by is None
    assert [hit.title for hit in again] == [hit.title for hit in hits]
    assert again[0].text == hits[0].text
    row = hits.rows()[0]
    assert (row["rank"], row["id"], row["cluster"], row["quality"]) == (1, "d0", None, None)
    entries = list(hits.run_entries("t"))
    assert [(e.doc_id, e.rank, e.tag) for e in entries[:2]] == [("d0", 1, "t"), ("d1", 2, "t")]
    assert searcher.show("tea").hits == hits.hits
    assert len(searcher.shown(hits, 3)) == 3


def test_of_a_result_two_problems_are_shown(index):
    hits = Searcher(index, SearchPlan(Scoring("bm25"))).search("tea", 1)
    shown = str(replace(hits, problems=("first", "second", "third")))
    assert shown.count("Note: ") == 2
    assert "third" not in shown


def test_all_documents_that_reach_a_threshold_are_returned(index):
    class Sure:
        name, card, kinds = "sure", "", frozenset({Support})

        async def answer(self, questions: Any, emit: Any) -> None:
            for position, _ in enumerate(questions):
                emit(position, Judged(True, Provenance("sure"), 0.6))

    def found(threshold: float) -> int:
        plan = SearchPlan(Scoring("bm25"), rerank="pointwise", threshold=threshold, depth=11)
        return len(Searcher(index, plan, judge=Sure()).search("tea"))

    assert [found(0.6), found(0.6001)] == [11, 0]


def passages(*documents: str) -> Any:
    """Return an engine whose hits are passages of these documents."""

    def fetch(ids: list[str]) -> list[Any]:
        return [SimpleNamespace(id=i, passage=SimpleNamespace(document_id=documents[int(i)]))
                for i in ids]  # fmt: skip

    return SimpleNamespace(fetch=fetch)


def test_documents_are_ranked_by_their_best_passage(monkeypatch):
    monkeypatch.setattr("pnyx.search.split_documents.document_id", lambda r: r.passage.document_id)
    ranking = DocumentRanking(passages("b", "a", "b", "c", "a"))
    hits = [Hit(str(n), n + 1, score) for n, score in enumerate((0.9, 0.9, 0.8, 0.7, 0.6))]
    best = [(ranking.ids([hit])[hit.doc_id], hit.rank, hit.score) for hit in ranking.best(hits)]
    assert best == [("a", 1, 0.9), ("b", 2, 0.9), ("c", 3, 0.7)]
    asked: list[int] = []

    def retrieve(count: int) -> list[Hit]:
        asked.append(count)
        return hits[:count]

    assert len(ranking.retrieve(retrieve, 2)) == 4
    assert asked == [4]
    asked.clear()
    assert len(ranking.retrieve(retrieve, 3)) == 5  # two thirds of six passages
    assert asked == [6]
    asked.clear()
    ranking = DocumentRanking(passages("a", "a", "b", "b", "c"))
    assert len(ranking.retrieve(retrieve, 2)) == 4
    ranking = DocumentRanking(passages(*"aaaab"))
    asked.clear()
    assert len(ranking.retrieve(retrieve, 2)) == 5
    assert asked == [4, 8]


def test_a_pickled_index_is_opened_only_with_the_same_documents(tmp_path):
    build_index([Document("a", "Tea.")], tmp_path / "i")
    index = Index.open(tmp_path / "i")
    where, known_by = str(tmp_path / "i"), index.known_by
    assert open_again(Index.open, where, known_by).known_by == known_by
    add_to_index([Document("b", "Milk.")], tmp_path / "i")
    with pytest.raises(IndexFolderError, match="documents have changed since it was pickled"):
        open_again(Index.open, where, known_by)
    with pytest.raises(IndexFolderError, match="the index no longer exists"):
        open_again(Index.open, str(tmp_path / "gone"), known_by)


def test_mmr_needs_a_vector_of_each_candidate():
    for vectors in ([[1.0, 0.0]], [[1.0, 0.0]] * 3, [1.0, 0.0], [[1.0, 0.0], [1.0, float("nan")]]):
        with pytest.raises(ValueError, match="expected finite vectors"):
            mmr([1.0, 0.5], vectors, 2, 0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("match", "stance", "pro", "con"),
    [
        (TopicMatch("t", 0.8, 0.1, "meaning", True), "pro", (True, 0.8), (False, 0.1)),
        (TopicMatch("t", 0.1, 0.8, "meaning", True), "pro", (False, 0.1), (True, 0.8)),
        (TopicMatch("t", 0.8, 0.1, "meaning", True), "neutral", (False, None), (False, None)),
        (TopicMatch("t", 1.0, 0.0, "words", True), "con", (False, None), (True, None)),
        (TopicMatch("t", 0.0, 1.0, "named", True), "con", (True, None), (False, None)),
    ],
)
def test_a_label_is_as_likely_as_its_topic_where_that_is_not_certain(match, stance, pro, con):
    document = Argument("a", "Tea calms.", (Premise("x"),), stance, "t")
    sided = sided_by_label(document, match)
    assert sided is not None
    verdicts = {side: (v.value, v.probability) for side, v in sided.verdicts.items()}  # type: ignore[union-attr]
    assert verdicts == {"pro": pro, "con": con}
    unused = TopicMatch("t", 0.8, 0.1, "meaning", False)
    assert sided_by_label(document, unused) is None
    assert match.row()["used"]
    assert match.reason.endswith("(p = 0.80)") is (match.why == "meaning")


# Tuning -------------------------------------------------------------------------------------------


def test_settings_are_listed_best_first_and_options_are_exact(index):
    """The first document of a topic is relevant: with b = 1 the shortest is first, with b = 0 all
    are equal and come in their order."""
    tuning = Tuning(Scoring("bm25"), {"k1": (0.1 + 0.2,), "b": (0.0, 1.0)}, "P@1", 2, draws=0)
    qrels = [Qrel(topic, "d0", 1) for topic in ("x", "y")]
    tuned = tune(index, [Question("x", "tea"), Question("y", "milk tea")], qrels, tuning)
    rows = tuned.rows()
    assert len(rows) == len(tuned.settings) == 2 * 3
    assert rows[0]["value"] == max(row["value"] for row in rows)
    assert {n: rows[0][n] for n in ("k1", "b")} == dict(tuned.best.parameters)
    values = [row["value"] for row in rows[1:]]
    assert values == sorted(values, reverse=True)
    assert [value for value, _ in tuned.curve("b")] == [0.0, 0.75, 1.0]
    assert str(tuned).startswith("Best setting: --model bm25 --set k1=")
    precise = tuning.settings()[-1]
    setting = replace(tuned.best, parameters={**precise, "k1": 0.1 + 0.2, "b": 1.0})
    assert replace(tuned, best=setting).options() == [
        "--model", "bm25", "--set", "k1=0.30000000000000004", "--set", "b=1",
    ]  # fmt: skip


def test_the_table_of_settings_has_four_others(index, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    topics = write_rows(tmp_path / "t.jsonl", [{"id": t, "question": "tea"} for t in "xy"])
    (tmp_path / "q.txt").write_text("x 0 d0 1\ny 0 d0 1\n")
    status, out, _ = called(
        capsys, "search", "tune", index.path, "--topics", topics, "--qrels", tmp_path / "q.txt",
        "--model", "bm25", "--try", "b=0.1,0.2,0.3,0.4,0.5", "--measure", "P@1", "--folds", 2,
    )  # fmt: skip
    assert status == 0
    table = out[out.index("setting ") :].splitlines()[1:]
    settings = [line for line in table if "k1 1.2, b " in line]
    assert settings[0].startswith("default, best: k1 1.2, b 0.75")
    assert [line.split("b ")[1].split()[0] for line in settings[1:]] == ["0.5", "0.4", "0.3", "0.2"]


# What an index records ----------------------------------------------------------------------------


def changed(**values: Any) -> Callable[[dict[str, Any]], None]:
    """Return a change of the first segment's entry."""
    return lambda manifest: manifest["segments"][0].update(values)


def with_statistics(**values: Any) -> Callable[[dict[str, Any]], None]:
    """Return the same change in the statistics of the index, which must be equal."""

    def change(manifest: dict[str, Any]) -> None:
        manifest["segments"][0].update(values)
        manifest["statistics"].update(values)

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda m: m.update(segments=[]), "expected segments and features"),
        (lambda m: m.update(segments={}), "expected segments and features"),
        (lambda m: m.update(features=[]), "expected segments and features"),
        (changed(file="segment-000002.data"), "segments are not numbered in order"),
        (changed(documents=4), "its statistics are not those of its segments"),
        (with_statistics(documents=0), "its statistics are impossible"),
        (with_statistics(documents_with_terms=4), "its statistics are impossible"),
        (with_statistics(tokens=1), "its statistics are impossible"),
        (with_statistics(postings=1), "its statistics are impossible"),
        (changed(passages=4), "its passages are impossible"),
        (changed(split_documents=1), "its passages are impossible"),
        (changed(documents=-1), "found -1, expected a whole number"),
        (changed(documents=3.0), "found 3.0, expected a whole number"),
        (changed(documents=True), "found True, expected a whole number"),
        (lambda m: m["sources"]["files"][0].__setitem__(0, 1), "a file is of no source"),
        (lambda m: m["sources"]["files"][0].__setitem__(0, -2), "a file is of no source"),
        (lambda m: m["sources"]["files"][0].__setitem__(1, 7), "a file is of no source"),
        (lambda m: m["sources"]["files"][0].__setitem__(3, 2), "do not have its documents"),
        (lambda m: m["sources"]["sources"].append({"path": "x"}), "a source is not a path"),
        (lambda m: m.update(features={"X": {}}), "feature X"),
    ],
)
def test_a_manifest_that_contradicts_itself_is_damaged(change, problem, tmp_path):
    build_index([Document(f"d{n}", "tea milk") for n in range(3)], tmp_path / "i")
    manifest = read_manifest(tmp_path / "i")
    manifest.setdefault("features", {})
    change(manifest)
    write_manifest(tmp_path / "i", contents(manifest))
    with pytest.raises(IndexFolderError, match=f"is not understood .*{problem}"):
        read_manifest(tmp_path / "i")
