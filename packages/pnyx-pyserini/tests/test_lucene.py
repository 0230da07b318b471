"""Lucene indexes that Anserini made, read by commands and Python as an index folder is."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from anserini import (
    EXAMPLE,
    anserini,
    example_rows,
    indexed,
    lacking,
    pnyx,
    python,
    without_anserini,
)
from pnyx.core.errors import IndexFolderError, InputError
from pnyx.core.records import Argument, Document

pytest.importorskip("pnyx_pyserini", reason=lacking() or None)
from pnyx_pyserini.java import JARS
from pnyx_pyserini.places import folder_of
from pnyx_pyserini.records import record_of

pytestmark = pytest.mark.skipif(bool(lacking()), reason=lacking() or "-")
needs_anserini = pytest.mark.skipif(bool(without_anserini()), reason=without_anserini() or "-")
DATA = Path(os.environ.get("PNYX_DATA", "none")) / "arguana_counterargs"

PARITY = """
import json, sys
from pnyx.formats import read_evidence
from pnyx.search.build import build_index
from pnyx.search.index import Index
from pnyx.search.open_engine import open_index
from pnyx.search.plan import Scoring
corpus, folder, lucene, asked, depth = sys.argv[1:]
build_index(read_evidence(corpus), folder)
ours, theirs = Index.open(folder), open_index("pyserini:" + lucene)
questions = json.load(open(asked))
told = {"records": list(ours.documents()) == list(theirs.documents()), "count": len(theirs)}
told["questions"] = len(questions)
for model, chosen in (("dirichlet", {}), ("bm25", {}), ("dirichlet", {"mu": 100.0}),
                      ("bm25", {"k1": 0.9, "b": 0.4})):
    worst, strange, hits = 0.0, 0, 0
    for question in questions:
        scoring = Scoring(model, chosen)
        here = ours.retrieve(question, scoring, int(depth))
        there = theirs.retrieve(question, scoring, int(depth))
        assert len(here) == len(there), question
        hits += len(here)
        own = {hit.doc_id: hit.score for hit in here}
        for a, b in zip(here, there):
            worst = max(worst, abs(a.score - b.score) / max(abs(a.score), 1e-2))
            if a.doc_id != b.doc_id:  # documents of one score
                known = own.get(b.doc_id, a.score)
                strange += abs(known - a.score) > 1e-5 * max(abs(a.score), 1e-2)
    told[f"{model} {chosen}"] = {"worst": worst, "strange": strange, "hits": hits}
print(json.dumps(told))
"""


def assert_the_same(told, documents):
    assert (told.pop("records"), told.pop("count")) == (True, documents)
    questions = told.pop("questions")
    assert len(told) == 4
    for model, found in told.items():
        assert found["worst"] < 1e-5, model  # Lucene sums in float32
        assert found["strange"] == 0, model
        assert found["hits"] > questions, model


def compared(tmp_path, documents, lucene, questions, depth=1000):
    from pnyx.formats.documents.evidence import write_jsonl

    with (tmp_path / "own.jsonl").open("w", encoding="utf-8") as file:
        write_jsonl(file, documents)
    (tmp_path / "asked.json").write_text(json.dumps(questions))
    places = (tmp_path / "own.jsonl", tmp_path / "own.index", lucene, tmp_path / "asked.json")
    return python(PARITY, *places, depth)


@pytest.fixture(scope="module")
def example():
    from pnyx.formats.bundled_example import load_example

    return load_example()


def test_it_ranks_and_stores_what_an_index_folder_does(tmp_path, example):
    questions = [question.text for question in example.questions]
    questions += ["vote vote voting school", "unheardof", "", "?", "東京 İstanbul’s"]
    told = compared(tmp_path, example.arguments, EXAMPLE, questions)
    assert_the_same(told, len(example.arguments))


@pytest.mark.all
def test_commands_search_and_judge_it(tmp_path, example):
    where, topics = f"pyserini:{EXAMPLE}", tmp_path / "topics.jsonl"
    question = example.questions[0]
    topics.write_text(json.dumps({"id": question.id, "text": question.text}) + "\n")
    code, out, err = pnyx("search", where, question.text, "--json", "-k", 3)
    assert (code, err) == (0, "")
    assert [hit["stance"] for hit in json.loads(out)]
    run = tmp_path / "run.trec"
    assert pnyx("search", where, "--topics", topics, "--out", run, "-k", 3)[0] == 0
    assert [line.split()[2] for line in run.read_text().splitlines()] == [
        hit["id"] for hit in json.loads(out)
    ]
    judged = ("judge", "relevance", "--run", run, "--index", where, "--topics", topics)
    code, _, err = pnyx(*judged, "--out", tmp_path / "j", PNYX_STORE=str(tmp_path / "s.sqlite"))
    assert code == 0, err
    assert len((tmp_path / "j" / "answers.jsonl").read_text().splitlines()) == 3


@pytest.mark.all
@pytest.mark.slow
def test_commands_argue_report_and_sample_it(tmp_path, example):
    where, question = f"pyserini:{EXAMPLE}", example.questions[0]
    code, out, err = pnyx("argue", where, question.text, "--json")
    assert code in (0, 3), err
    assert json.loads(out)["sides"]
    request = tmp_path / "request.jsonl"
    request.write_text(json.dumps({"id": question.id, "title": question.text}) + "\n")
    code, _, err = pnyx("report", where, "--requests", request, "--out", tmp_path / "report")
    assert code in (0, 3), err
    (tmp_path / "q.jsonl").write_text(json.dumps({"id": "q", "text": question.text}) + "\n")
    sample = ("annotate", "sample", where, tmp_path / "q.jsonl", "--out")
    code, _, err = pnyx(*sample, tmp_path / "pairs.jsonl", "--top", 3, "--rest", 4)
    assert code == 0, err
    assert len((tmp_path / "pairs.jsonl").read_text().splitlines()) == 7


def test_a_model_that_lucene_has_not_is_refused():
    code, out, err = pnyx("search", f"pyserini:{EXAMPLE}", "Tea?", "--model", "touche")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "not by touche: expected dirichlet or bm25" in err


@pytest.mark.all
def test_what_cannot_be_read_is_one_line(tmp_path):
    damaged = tmp_path / "damaged"
    shutil.copytree(EXAMPLE, damaged)
    (damaged / "_0.si").write_bytes(b"no")
    (tmp_path / "empty").mkdir()
    for place, expected in {
        tmp_path / "empty": "holds no Lucene index",
        damaged: "cannot be read (Corrupt",
    }.items():
        code, out, err = pnyx("search", f"pyserini:{place}", "Tea?")
        assert (code, out, len(err.splitlines())) == (2, "", 1)
        assert expected in err


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("/none", "/none: is not there"),
        ("msmarco-v9", "is neither a folder nor in "),
        ("", "expected pyserini:FOLDER or pyserini:NAME"),
    ],
)
def test_what_is_not_there_is_one_line(call, monkeypatch, tmp_path, place, expected):
    monkeypatch.setenv("PYSERINI_CACHE", str(tmp_path))
    code, out, err = call("search", f"pyserini:{place}", "Tea?")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert expected in err


def test_nothing_is_indexed_into_it(call, tmp_path):
    code, out, err = call("index", tmp_path / "a.jsonl", "--out", f"pyserini:{tmp_path}/new")
    assert (code, out) == (2, "")
    assert "is read-only" in err
    assert not list(tmp_path.iterdir())


def test_a_name_is_what_pyserini_has_fetched(tmp_path):
    kept = tmp_path / "indexes"
    checksum = "0f" * 16
    for name in (
        "lucene-inverted.msmarco-v2.1-doc-segmented.20240418.4f9675",
        f"lucene-inverted.beir-v1.0.0-arguana.flat.20221116.505594.{checksum}",
        f"index-msmarco-v1-passage-20221004-252b5e.{checksum}",
        "lucene-hnsw.msmarco-v1-passage.bge-base-en-v1.5.20240117.53514b",
        "lucene-index.twice.20220101.000000",
        "lucene-index.twice.20230101.000000",
    ):
        (kept / name).mkdir(parents=True)
    (kept / "lucene-index.file.20220101.000000").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSERINI_CACHE", str(tmp_path))
        for name, commit in {
            "msmarco-v2.1-doc-segmented": "4f9675",
            "beir-v1.0.0-arguana.flat": "505594",
            "msmarco-v1-passage": "252b5e",
        }.items():
            assert f".{commit}" in folder_of(f"pyserini:{name}").name.replace("-", ".")
        with pytest.raises(IndexFolderError, match="2 of that name"):
            folder_of("pyserini:twice")
        for name in ("msmarco-v2.1-doc", "file", "bge-base-en-v1.5"):
            with pytest.raises(IndexFolderError, match="is neither a folder nor in"):
                folder_of(f"pyserini:{name}")


SEGMENT = {
    "docid": "msmarco_v2.1_doc_00_0#0_0",
    "url": "https://example.org/tea",
    "title": "Tea",
    "headings": "Tea\nWhy",
    "segment": "Tea holds antioxidants.",
    "start_char": 0,
    "end_char": 23,
}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"id": "x", "contents": "Tea calms."}, Document("d", "Tea calms.")),
        (
            SEGMENT,
            Document(
                "d",
                SEGMENT["segment"],
                "Tea",
                SEGMENT["url"],
                extra={"headings": "Tea\nWhy", "start_char": 0, "end_char": 23},
            ),
        ),
        (
            {"_id": "x", "title": "T", "text": "Tea.", "metadata": {"url": "https://a.b"}},
            Document("d", "Tea.", "T", "https://a.b"),
        ),
        ({"pid": "x", "passage": "Tea.", "docid": "y"}, Document("d", "Tea.", extra={"pid": "x"})),
        ({"id": "x", "text": "", "title": "T"}, Document("d", "", "T")),
        (
            {"id": "x", "contents": "T\nTea.", "text": "Tea.", "title": "T"},
            Document("d", "Tea.", "T"),
        ),
        ({"id": "x", "contents": "Tea.", "conclusion": "Tea"}, Argument("d", "Tea")),
    ],
)
def test_what_is_stored_becomes_a_record(row, expected):
    found = record_of("d", json.dumps(row), None)
    assert found == expected
    assert dict(found.extra) == dict(expected.extra)


def test_what_is_no_json_is_the_text_that_was_searched():
    assert record_of("d", "<p>Tea.</p>", "Tea.") == Document("d", "Tea.")
    assert record_of("d", "<p>Tea.</p>", None) == Document("d", "<p>Tea.</p>")
    assert record_of("d", "{braces} only", None) == Document("d", "{braces} only")
    for raw, problem in {
        None: "-storeRaw",
        '{"id": "d", "words": "Tea"}': "has no text",
    }.items():
        with pytest.raises(InputError, match=problem):
            record_of("d", raw, None)


def test_the_packaged_lucene_is_the_published_one():
    sums = dict(
        reversed(line.split()) for line in (JARS[0].parent / "SHA256SUMS").read_text().splitlines()
    )
    assert {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in JARS} == sums


THREADS = """
import json, sys, threading
from pnyx.search.open_engine import index_state, open_index
from pnyx.search.plan import Scoring
where = "pyserini:" + sys.argv[1]
index, state = open_index(where), index_state(where)
expected = index.retrieve("voting at school", Scoring("bm25"), 20)
found = []
def ask():
    for _ in range(5):
        hits = index.retrieve("voting at school", Scoring("bm25"), 20)
        index.fetch([hit.doc_id for hit in hits])
        found.append(hits == expected)
threads = [threading.Thread(target=ask) for _ in range(8)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
print(json.dumps([len(found), all(found), state == index_state(where)]))
"""


@pytest.mark.all
def test_threads_share_it():
    assert python(THREADS, EXAMPLE) == [40, True, True]


@pytest.mark.all
@needs_anserini
@pytest.mark.skipif(not DATA.is_dir(), reason="PNYX_DATA has no arguana_counterargs")
def test_scores_are_those_of_an_index_folder_on_10_000_real_documents(tmp_path):
    with gzip.open(DATA / "arguments.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    with gzip.open(DATA / "debates.jsonl.gz", "rt", encoding="utf-8") as file:
        titles = [json.loads(line)["title"] for line in file]
    rows = [row for row in rows if row["premise"].strip()]
    documents = [Document(row["id"], row["premise"], row["conclusion"]) for row in rows]
    stored = [
        {"id": d.id, "title": d.title, "text": d.text, "contents": f"{d.title}\n{d.text}"}
        for d in documents
    ]
    lucene = indexed(tmp_path / "lucene", stored)
    assert_the_same(compared(tmp_path, documents, lucene, titles[:200]), len(documents))


@pytest.mark.all
@needs_anserini
def test_a_run_is_anserinis_own(tmp_path, example):
    """On a collection in the form of MS MARCO v2.1, by the campaign's baseline."""
    rows = [
        {
            "docid": f"msmarco_v2.1_doc_00_{number}#0_{number}",
            "url": f"https://example.org/{number}",
            "title": argument.conclusion,
            "headings": "",
            "segment": argument.text,
            "start_char": 0,
            "end_char": len(argument.text),
        }
        for number, argument in enumerate(example.arguments)
    ]
    lucene = indexed(tmp_path / "lucene", rows, collection="MsMarcoV2DocCollection")
    topics, run = tmp_path / "topics.tsv", tmp_path / "run.trec"
    topics.write_text("".join(f"{n}\t{q.text}\n" for n, q in enumerate(example.questions)))
    asked = ("-topics", topics, "-topicReader", "TsvInt", "-index", lucene, "-hits", 100)
    anserini("search.SearchCollection", *asked, "-bm25", "-output", tmp_path / "theirs.trec")
    chosen = ("--model", "bm25", "--set", "k1=.9", "--set", "b=.4", "-k", 100, "--out", run)
    code, _, err = pnyx("search", f"pyserini:{lucene}", "--topics", topics, *chosen)
    assert code == 0, err

    def read(path):
        lines = [line.split() for line in path.read_text().splitlines()]
        return {(topic, doc): float(score) for topic, _, doc, _, score, _ in lines}

    ours, theirs = read(run), read(tmp_path / "theirs.trec")
    assert ours.keys() == theirs.keys()
    assert len(ours) > 300
    assert all(score == pytest.approx(theirs[key], abs=2e-4) for key, score in ours.items())
    code, out, _ = pnyx("search", f"pyserini:{lucene}", example.questions[0].text, "--json")
    assert (code, json.loads(out)[0]["url"][:20]) == (0, "https://example.org/")


@pytest.mark.all
@needs_anserini
def test_an_index_by_another_analyzer_is_refused(tmp_path):
    rows = [{**row, "contents": f"the {row['contents']}"} for row in example_rows()]
    lucene = indexed(tmp_path, rows, "-keepStopwords")
    code, _, err = pnyx("search", f"pyserini:{lucene}", "Tea?")
    assert (code, len(err.splitlines())) == (2, 1)
    assert 'have the term "the", expected an index by the English analyzer' in err
