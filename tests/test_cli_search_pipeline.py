"""`pnyx index` with topics and vectors and `pnyx search` with every combination of its stages.

The index has ten documents; the one of 300,000 is in lab/search/combinations.py.
"""

from __future__ import annotations

import itertools
import json
import shutil

import pytest

from chat_server import ChatServer
from command import called, write_rows
from command import run as pnyx
from embedding_server import EmbeddingServer
from index_fixture import needs_graphs
from pnyx.core.files import json_line
from pnyx.formats import load_example
from pnyx.formats.perspectives import perspective_line
from pnyx.search.lexical.record_codec import to_row

pytestmark = pytest.mark.usefixtures("run_once")

QUESTION = "Should zoos be phased out?"
MODELS = ("bm25", "dirichlet", "touche", "dense", "hybrid")


def _corpus(folder, count):
    zoos = [a for a in load_example().arguments if a.id.startswith("zoos")]
    zoos = sorted(zoos, key=lambda a: int(a.id.rpartition("-")[2]))[: count - 3]
    others = [a for a in load_example().arguments if not a.id.startswith("zoos")][:3]
    path = folder / "arguments.jsonl"
    path.write_text("".join(json_line(to_row(a)) + "\n" for a in [*zoos, *others]))
    return str(path)


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("PNYX_LLM", raising=False)
    monkeypatch.setenv("PNYX_STORE", str(tmp_path / "store.sqlite"))


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """Ten documents with everything that can be known of them."""
    folder = tmp_path_factory.mktemp("ten")
    path = str(folder / "ten.index")
    knowing = ("--clusters", "--cluster-count", "3")
    assert pnyx("index", _corpus(folder, 10), "--out", path, *knowing) == 0
    return path


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The same documents, and nothing beside their words."""
    folder = tmp_path_factory.mktemp("plain")
    path = str(folder / "plain.index")
    pnyx("index", _corpus(folder, 10), "--out", path, "--words-only")
    return path


@pytest.fixture(scope="module")
def server():
    with ChatServer() as running:
        yield running


# --- every combination

STAGES = list(
    itertools.product(MODELS, (None, "encoder", "listwise", "pointwise"), (None, "mmr", "both"))
)


@pytest.mark.all
@pytest.mark.parametrize(("model", "rerank", "diversify"), STAGES)
def test_every_combination_ranks_ten_documents(capsys, index, server, model, rerank, diversify):
    arguments = ["search", index, QUESTION, "--model", model, "--json", "-k", "10"]
    if rerank is not None:
        arguments += ["--rerank"]
    if rerank in ("listwise", "pointwise"):
        arguments += ["--llm", server.spec]
    if rerank == "pointwise":
        arguments += ["--pointwise"]
    if diversify is not None:
        arguments += ["--diversify", "perspectives" if diversify == "both" else diversify]
    status, out, error = called(capsys, *arguments)
    rows = json.loads(out)
    assert status == 0, error
    assert len(rows) >= 7
    assert len({row["id"] for row in rows}) == len(rows)
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    scores = [row["score"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert (rows[0]["perspective"] is not None) == (diversify == "both")
    staged = rerank is not None or diversify is not None
    assert not staged or scores == [1 / rank for rank in range(1, len(rows) + 1)]
    again = called(capsys, *arguments)
    assert again[:2] == (status, out)
    assert again[2].partition("pnyx: cost: ")[0] == error.partition("pnyx: cost: ")[0]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("rerank", [False, True])
def test_one_side_comes_first(capsys, index, model, rerank):
    options = ["--model", model, "--stance", "con", "--json", *(["--rerank"] if rerank else [])]
    status, out, _ = called(capsys, "search", index, QUESTION, *options)
    assert status == 0
    sides = [row["side"] for row in json.loads(out)]
    places = [{"con": 0, None: 1, "pro": 2}[side] for side in sides]
    assert places == sorted(places)
    labelled = [row for row in json.loads(out) if row["stance"] and row["id"].startswith("zoos")]
    assert all(row["side"] == row["stance"] for row in labelled)
    assert {row["side_by"] for row in labelled} == {"corpus label"}
    assert {row["side"] for row in labelled} == {"pro", "con"}


def test_a_model_is_told_the_side_and_then_ranks_for_it(capsys, index):
    with ChatServer() as server:
        options = (
            "--rerank",
            "--stance",
            "pro",
            "--llm",
            server.spec,
            "--set",
            "window=4",
            "--set",
            "step=2",
        )
        by_words = ("--model", "dirichlet")
        status, _, error = called(capsys, "search", index, QUESTION, *by_words, *options)
        assert status == 0
        assert error.startswith("pnyx: cost: 3 calls of test, ")
        prompts = [request["messages"][-1]["content"] for request in server.asked()]
    assert len(prompts) == 3  # of seven documents: 4-7, 2-5, 1-4
    assert all("argue the pro side" in prompt for prompt in prompts)


# --- what is shown


def test_topics_are_shown_as_facets(capsys, index, plain):
    status, out, _ = called(capsys, "search", index, QUESTION, "--model", "touche", "-k", 5)
    assert status == 0
    facets = out[out.index("topics:\n") :].splitlines()[1:]
    counts = [int(line.split()[0]) for line in facets]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == 5
    rows = json.loads(called(capsys, "search", index, QUESTION, "--json")[1])
    assert all(row["cluster"]["number"] in range(3) and row["cluster"]["label"] for row in rows)
    assert "topics:" not in called(capsys, "search", plain, QUESTION)[1]
    assert json.loads(called(capsys, "search", plain, QUESTION, "--json")[1])[0]["cluster"] is None


def test_a_hit_says_for_which_perspective_it_was_found(capsys, plain, tmp_path):
    views = tmp_path / "views.jsonl"
    made = [p for p in load_example().perspectives if p.question_id == "zoos"][:2]
    views.write_text("".join(map(perspective_line, made)))
    options = ("--diversify", "perspectives", "--perspectives", views, "-k", 4)
    status, out, _ = called(capsys, "search", plain, QUESTION, *options)
    assert status == 0
    shown = [line.strip() for line in out.splitlines() if line.startswith("      for: ")]
    assert len(shown) == 4
    assert shown[0] == f"for: {made[0].text}"
    assert f"for: {made[1].text}" in shown


def test_a_run_of_a_whole_pipeline(capsys, index, tmp_path, server):
    topics, run = tmp_path / "topics.jsonl", tmp_path / "run.trec"
    rows = [{"id": q.id, "text": q.text} for q in load_example().questions]
    write_rows(topics, rows)
    options = ("--model", "touche", "--rerank", "--diversify", "mmr", "--llm", server.spec)
    arguments = ("search", index, "--topics", topics, "--out", run, *options)
    status, _, error = called(capsys, *arguments)
    said = f"pnyx: {run}: 52 documents for 8 topics, tag touche-rerank-mmr\n"
    assert (status, error.partition("pnyx: cost: 8 calls of test, ")[0]) == (0, said)
    lines = [line.split() for line in run.read_text().splitlines()]
    assert {line[5] for line in lines} == {"touche-rerank-mmr"}
    assert {line[0] for line in lines} == {q.id for q in load_example().questions}
    before = len(server.asked())
    first = run.read_bytes()
    assert called(capsys, *arguments)[0] == 0
    assert (run.read_bytes(), len(server.asked())) == (first, before)


# --- what is missing is said


def test_what_a_model_does_not_answer_is_said_and_exit_status_3(capsys, index):
    with ChatServer(default="refusal") as server:
        for options, said in (
            (("--rerank",), "1 of 1 windows got no answer and kept their order: "),
            (("--rerank", "--pointwise"), "10 of 10 documents got no verdict and were put last"),
            (("--diversify", "perspectives"), "no perspectives: the question itself is searched"),
        ):
            arguments = ("search", index, QUESTION, "--llm", server.spec, *options, "--json")
            status, out, error = called(capsys, *arguments)
            assert status == 3
            assert said in error
            plain = called(capsys, "search", index, QUESTION, "--model", "hybrid", "--json")[1]
            assert [r["id"] for r in json.loads(out)] == [r["id"] for r in json.loads(plain)]


NEEDS = [
    (("--model", "touche"), "has no clusters: pnyx index --update INDEX --clusters"),
    (("--model", "touche", "--set", "wc=0"), "has no quality: pnyx index --update INDEX --quality"),
    (("--model", "dense"), "has no vectors: pnyx index --update INDEX --vectors"),
    (("--model", "hybrid"), "has no vectors: pnyx index --update INDEX --vectors"),
]


@pytest.mark.parametrize(("options", "said"), NEEDS)
def test_what_the_index_lacks_is_one_line_before_anything_is_asked(capsys, plain, options, said):
    with ChatServer() as server:
        asking = ("--rerank", "--diversify", "perspectives", "--llm", server.spec)
        status, out, error = called(capsys, "search", plain, QUESTION, *options, *asking)
        assert (status, out, error.count("\n")) == (2, "", 1)
        assert said in error
        assert server.asked() == []


WRONG = [
    (("--model", "touche", "--set", "wc=-1"), "wc is -1, expected a number from 0 to 1e+06"),
    (("--model", "touche", "--set", "wq=nan"), "'nan' is not a finite number"),
    (("--model", "touche", "--set", "mu=0"), "mu is 0, expected a number from"),
    (("--set", "wc=1"), "model auto has no parameter 'wc', expected: mu"),
    (("--model", "dense", "--set", "mu=1"), "model dense has no parameter 'mu', expected: none"),
    (("--model", "hybrid", "--set", "k1=1"), "model hybrid has no parameter 'k1', expected: mu"),
    (
        (
            "--set",
            "flat",
        ),
        "model auto has no relevance score to fix at 1",
    ),
    (
        ("--model", "dense", "--set", "embedder=bert"),
        "embedder: found 'bert', expected minilm-int8",
    ),
    (
        ("--model", "dense", "--set", "embedder=http://127.0.0.1:9/v1#other"),
        "the index was embedded by minilm-int8, but the question would be by endpoint:other",
    ),
    (
        ("--model", "touche", "--set", "embedder=http://127.0.0.1:9/v1#other"),
        "the index's clusters were made with the embedder minilm-int8, not with endpoint:other",
    ),
    (("--diversify", "mmr", "--set", "lambda=2"), "lambda is 2, expected a number from 0 to 1"),
    (("--stance", "pro", "--certainty", "2"), "certainty is 2, expected a number from 0.5 to 1"),
    (("--set", "lambda=.5"), "--set lambda requires --diversify mmr"),
    (("--model", "bm25", "--set", "fusion=rrf"), "--set fusion requires --model hybrid"),
    (
        ("--model", "hybrid", "--set", "fusion=rrf", "--set", "dense-weight=.3"),
        "--set dense-weight requires --model hybrid and",
    ),
    (
        ("--model", "bm25", "--set", "embedder=minilm-int8"),
        "--set embedder requires --model touche, dense or hybrid",
    ),
    (("--set", "window=5"), "--set window requires --rerank by --llm"),
    (("--rerank", "--set", "step=5"), "--set step requires --rerank with --llm"),
    (("--pointwise",), "--pointwise requires --rerank"),
    (("--set", "count=5"), "--set count requires --diversify perspectives"),
    (("--depth", "5"), "--depth requires --rerank, --threshold, --diversify or --stance"),
    (
        ("--llm", "http://127.0.0.1:9/v1#m"),
        "--llm requires --rerank, --threshold, --stance or --diversify",
    ),
    (("--certainty", ".7"), "--certainty requires --stance"),
    (("--perspectives", "x.jsonl"), "--perspectives requires --diversify perspectives"),
    (("--diversify", "perspectives", "--perspectives", "x.jsonl"), "x.jsonl: "),
    (
        ("--rerank", "--llm", "http://127.0.0.1:9/v1#m", "--set", "window=3", "--set", "step=9"),
        "step is 9, expected 1 to the window, 3",
    ),
]


@pytest.mark.parametrize(("options", "said"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_value_is_one_line(capsys, index, options, said):
    status, out, error = called(capsys, "search", index, QUESTION, *options)
    assert (status, out) == (2, "")
    assert said in error
    assert "Traceback" not in error


def test_questions_without_words_break_nothing(capsys, index, server):
    for model, diversify in itertools.product(MODELS, (None, "mmr", "perspectives")):
        for rerank in ((), ("--rerank",), ("--rerank", "--llm", server.spec)):
            options = ["--model", model, *rerank]
            options += ["--diversify", diversify] if diversify else []
            status, _, error = called(capsys, "search", index, "?!", *options)
            assert status in (0, 3), (options, error)  # vectors find something, judges say nothing


# --- what auto stands for


def test_auto_is_the_hybrid_where_there_are_vectors_and_dirichlet_where_not(
    capsys, index, plain, tmp_path
):
    def found(folder, *options):
        status, out, error = called(capsys, "search", folder, QUESTION, *options, "--json")
        assert (status, error) == (0, "")
        return json.loads(out)

    values = ("lexical=dirichlet", "fusion=minmax", "dense-weight=0.7", "feedback=3", "mu=500")
    settings = [word for value in values for word in ("--set", value)]
    hybrid = found(index, "--model", "hybrid", *settings)
    auto = found(index, "--set", "mu=500")
    assert auto == found(index, "--model", "auto", "--set", "mu=500")
    # The hybrid's scores, of which the order shown is made.
    own = {hit["id"]: hit["why"]["parts"][0]["parts"][0]["raw"] for hit in auto}
    scores = {hit["id"]: hit["score"] for hit in hybrid}
    shared = own.keys() & scores.keys()
    assert shared
    assert {name: own[name] for name in shared} == {name: scores[name] for name in shared}
    assert found(plain, "--set", "mu=500") == found(
        plain, "--model", "dirichlet", "--set", "mu=500"
    )
    assert hybrid != found(index, "--model", "dirichlet", "--set", "mu=500")
    topics, run = tmp_path / "topics.jsonl", tmp_path / "a.run"
    topics.write_text(json.dumps({"id": "1", "question": QUESTION}) + "\n")
    for folder, tag in ((index, "hybrid"), (plain, "dirichlet")):
        assert called(capsys, "search", folder, "--topics", topics, "--out", run)[0] == 0
        assert {line.split()[5] for line in run.read_text().splitlines()} == {tag}


def test_auto_says_why_it_leaves_vectors_out(capsys, index, tmp_path):
    grown = tmp_path / "grown"
    shutil.copytree(index, grown)
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"id": "new", "text": "Zoos teach children about animals."}) + "\n")
    assert called(capsys, "index", more, "--add", grown, "--words-only")[0] == 0
    status, out, error = called(capsys, "search", grown, QUESTION, "--json")
    by_words = called(capsys, "search", grown, QUESTION, "--model", "dirichlet", "--json")[1]
    assert (status, out) == (0, by_words)
    assert error == (
        "pnyx: warning: ranked by dirichlet, without the index's vectors: 1 document has no "
        "vector yet: pnyx index --update INDEX --vectors\n"
    )
    with EmbeddingServer() as server:
        own = tmp_path / "own"
        corpus = _corpus(tmp_path, 8)
        assert called(capsys, "index", corpus, "--out", own, "--embedder", server.spec)[0] == 0
        error = called(capsys, "search", own, QUESTION)[2]
        assert "ranked by dirichlet, without the index's vectors: they are by endpoint:" in error
        assert error.endswith("name it with --set embedder=SPEC\n")
        status, out, error = called(
            capsys, "search", own, QUESTION, "--set", f"embedder={server.spec}", "--json"
        )
        assert (status, error) == (0, "")
        assert len(json.loads(out)) == 8
    status, _, error = called(
        capsys, "search", index, QUESTION, "--set", "embedder=http://127.0.0.1:9/v1#x"
    )
    assert status == 2
    assert "the index was embedded by minilm-int8" in error


# --- making it


NEW = json.dumps({"id": "new", "text": "Zoos teach children about animals."}) + "\n"


def test_added_documents_get_the_features_that_the_index_has(capsys, tmp_path):
    folder, more = tmp_path / "i", tmp_path / "more.jsonl"
    assert called(capsys, "index", _corpus(tmp_path, 8), "--out", folder, "--clusters")[0] == 0
    more.write_text(NEW)
    status, out, error = called(capsys, "index", more, "--add", folder, "--json")
    made = json.loads(out)
    assert (status, error) == (0, "")
    assert (made["documents"], made["added"]) == (9, 1)
    assert (made["quality"]["added"], made["vectors"]["embedded"]) == (1, 1)
    assert made["assign"]["assigned"] == 1
    for model in ("touche", "hybrid"):
        status, out, _ = called(capsys, "search", folder, QUESTION, "--model", model, "--json")
        assert (status, "new" in {row["id"] for row in json.loads(out)}) == (0, True)
    # An index of words stays one.
    words = tmp_path / "words"
    assert called(capsys, "index", _corpus(tmp_path, 8), "--out", words, "--words-only")[0] == 0
    status, out, error = called(capsys, "index", more, "--add", words, "--json")
    assert (status, error) == (0, "")
    assert not {"quality", "vectors", "assign"} & set(json.loads(out))


def test_documents_added_by_words_only_are_named(capsys, tmp_path):
    folder, more = tmp_path / "i", tmp_path / "more.jsonl"
    assert called(capsys, "index", _corpus(tmp_path, 8), "--out", folder, "--clusters")[0] == 0
    more.write_text(NEW)
    status, _, error = called(capsys, "index", more, "--add", folder, "--words-only")
    assert status == 0
    command = f"pnyx index --update {folder} --quality --assign --vectors"
    said = "the added documents have no clusters and quality and vectors yet: "
    assert error.splitlines()[-1] == f"pnyx: warning: {said}{command}"
    status, _, error = called(capsys, "search", folder, QUESTION, "--model", "touche")
    assert status == 2
    assert "has clusters of 8 of its 9 documents" in error
    status, out, _ = called(capsys, *command.split()[1:], "--json")
    made = json.loads(out)
    assert (status, made["assign"]["assigned"], made["vectors"]["embedded"]) == (0, 1, 1)
    status, out, _ = called(capsys, "search", folder, QUESTION, "--model", "hybrid", "--json")
    assert (status, len(json.loads(out))) == (0, 9)


def test_an_index_grows_by_its_own_embedder_only(capsys, tmp_path):
    folder, more = tmp_path / "i", tmp_path / "more.jsonl"
    more.write_text(NEW)
    with EmbeddingServer() as server:
        own = ("--embedder", server.spec)
        assert called(capsys, "index", _corpus(tmp_path, 8), "--out", folder, *own)[0] == 0
        status, out, error = called(capsys, "index", more, "--add", folder)
        assert (status, out, error.count("\n")) == (2, "", 1)
        assert "its vectors are by endpoint:" in error
        assert "name it by --embedder, or add words only (--words-only)" in error
        assert called(capsys, "index", more, "--add", folder, *own)[0] == 0
    # Named vectors are made anew, by whatever is named.
    more.write_text(NEW.replace("new", "newer"))
    status, out, _ = called(capsys, "index", more, "--add", folder, "--vectors", "--json")
    made = json.loads(out)["vectors"]
    assert (status, made["embedder"], made["embedded"]) == (
        0,
        "minilm-int8",
        9,
    )  # one text comes twice


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--assign",), "--assign: the index has no topics yet; use --clusters"),
        (("--ann",), "--ann: the index has no vectors yet; add --vectors"),
        (("--clusters", "--assign"), "--clusters and --assign exclude each other"),
        (("--quality", "--cluster-count", "3"), "--cluster-count requires --clusters"),
        (("--quality", "--space", "dual"), "--space requires --clusters"),
        (("--quality", "--embedder", "minilm-int8"), "--embedder requires --clusters, --assign"),
        (("--vectors", "--words-only"), "--words-only requires --out or --add"),
        (("--vectors", "--embedder", "bert"), "embedder: found 'bert', expected minilm-int8"),
        (("--clusters", "--cluster-count", "99"), "k is 99, expected at most 10 (distinct texts)"),
    ],
)
def test_what_cannot_be_made_is_one_line(capsys, plain, options, said):
    status, out, error = called(capsys, "index", "--update", plain, *options)
    assert (status, out) == (2, "")
    assert said in error


@needs_graphs
def test_the_dual_space_and_the_graph_are_options(capsys, tmp_path):
    folder = tmp_path / "i"
    options = ("--clusters", "--space", "dual", "--cluster-count", 2, "--ann")
    status, _, error = called(capsys, "index", _corpus(tmp_path, 10), "--out", folder, *options)
    assert (status, error.count("\n")) == (0, 5)
    assert "a graph of 10 vectors" in error
    status, out, _ = called(
        capsys,
        "search",
        folder,
        QUESTION,
        "--model",
        "touche",
        "--set",
        "wq=0",
        "--set",
        "flat",
        "--json",
    )
    assert (status, len(json.loads(out))) == (0, 10)


# --- arguing with it


def test_argue_searches_by_the_same_pipeline(capsys, index):
    options = ("--model", "hybrid", "--set", "lexical=touche", "--diversify", "mmr", "--json")
    status, out, _ = called(capsys, "argue", index, QUESTION, *options)
    assert status == 0
    search = json.loads(out)["settings"]["search"]
    assert search.startswith(
        "hybrid of touche and dense (minmax, weight 0.7 on dense, feedback of 3); MMR of 100 with "
        "lambda 0.75, "
        "by question; 10 documents"
    )


# --- a threshold in place of k


def test_a_threshold_finds_as_many_as_are_relevant(capsys, plain, tmp_path):
    status, out, _ = called(capsys, "search", plain, QUESTION, "--rerank", "--json", "-k", 10)
    judged = json.loads(out)
    assert status == 0
    bound = sorted((row["probability"] for row in judged), reverse=True)[3]
    expected = [row["id"] for row in judged if row["probability"] >= bound]
    status, out, error = called(capsys, "search", plain, QUESTION, "--threshold", bound, "--json")
    assert (status, error) == (0, "")
    assert [row["id"] for row in json.loads(out)] == expected
    status, out, _ = called(capsys, "search", plain, QUESTION, "--threshold", bound)
    assert out.count("  P 0.") == len(expected)
    status, out, error = called(capsys, "search", plain, QUESTION, "--threshold", 1, "--json")
    assert (status, json.loads(out)) == (0, [])
    assert f"none of the best {len(judged)} reaches a probability of 1" in error
    topics = tmp_path / "topics.tsv"
    topics.write_text(f"1\t{QUESTION}\n2\tzzzz\n")
    run = tmp_path / "run.trec"
    options = ("--topics", topics, "--out", run, "--threshold")
    assert called(capsys, "search", plain, *options, bound)[0] == 0
    assert [line.split()[2] for line in run.read_text().splitlines()] == expected
    status, _, error = called(capsys, "search", plain, *options, 1)
    assert (status, run.read_text()) == (0, "")
    assert "1 of 2 topics have no word in common with the index: 2" in error
    assert "1 of 2 topics have no document that reaches the threshold: 1" in error


def test_what_a_model_does_not_judge_is_said_and_not_dropped(capsys, plain):
    with ChatServer(default="refusal") as refusing:
        options = ("--threshold", 0.5, "--llm", refusing.spec, "--depth", 3)
        status, out, error = called(capsys, "search", plain, QUESTION, *options)
    assert (status, out) == (3, "")
    assert "3 of 3 documents got no verdict and were left out, relevant or not" in error
    status, _, error = called(capsys, "search", plain, QUESTION, "--threshold", 2)
    assert (status, error.count("\n")) == (2, 1)
    assert "threshold is 2, expected above 0, at most 1" in error
