"""`pnyx index`, as users call it."""

import gzip
import json
import signal
import subprocess
import sys

import pytest

from command import printed, write_rows
from embedding_server import EmbeddingServer
from pnyx.search.features.vectors import document_vectors
from pnyx.search.index import Index
from pnyx.search.open_engine import verify_index
from pnyx.search.pipeline import Searcher

ROWS = [
    {"id": "a1", "conclusion": "Ban smoking", "premises": ["It harms lungs"], "stance": "pro"},
    {"id": "a2", "conclusion": "Adults may choose", "premises": ["Freedom"], "stance": "con"},
]
for row in ROWS:
    row["topic"] = "tobacco"


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "arguments.jsonl"
    write_rows(path, ROWS)
    return path


def test_a_corpus_becomes_an_index(corpus, tmp_path, capsys):
    shown = printed(capsys, "index", corpus, "--out", tmp_path / "i")
    assert shown.out == ""
    assert "2 documents, 8 tokens" in shown.err
    verify_index(tmp_path / "i")
    assert Index.open(tmp_path / "i").document("a2").stance == "con"


def test_a_new_index_has_what_the_default_search_needs(corpus, tmp_path, capsys):
    shown = printed(capsys, "index", corpus, "--out", tmp_path / "i")
    _, quality, vectors = shown.err.splitlines()
    assert "quality of 2 documents, " in quality
    assert "vectors of 2 documents, " in vectors
    found = Searcher(Index.open(tmp_path / "i"))
    assert (found.plan.scoring.model, found.note) == ("hybrid", "")
    assert Index.open(tmp_path / "i").feature("quality", "").documents == 2
    shown = printed(capsys, "index", corpus, "--out", tmp_path / "words", "--words-only")
    assert shown.err.count("\n") == 1
    assert set(Index.open(tmp_path / "words").manifest.get("features", {})) == set()
    options = ("--words-only", "--quality", "--json")
    shown = printed(capsys, "index", corpus, "--out", tmp_path / "some", *options)
    assert json.loads(shown.out)["quality"]["added"] == 2
    assert set(Index.open(tmp_path / "some").manifest["features"]) == {"quality"}


STOPPED = """
import os, signal, sys
from pnyx.cli import main
from pnyx.models.embed.encoder import Encoder

Encoder.at_once = 4
encode, asked = Encoder.encode, []

def stopping(self, texts):
    asked.extend(texts)
    if len(asked) > 8:
        os.kill(os.getpid(), signal.Signals[sys.argv[1]])
    return encode(self, texts)

Encoder.encode = stopping
main(sys.argv[2:])
"""


def stopped(name, *arguments):
    command = [sys.executable, "-c", STOPPED, name, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture
def many(tmp_path):
    path = tmp_path / "many.jsonl"
    rows = [{"id": f"d{n}", "text": f"Reason number {n} for taxes."} for n in range(20)]
    write_rows(path, rows)
    return path


@pytest.mark.all
def test_a_kill_while_texts_are_embedded_costs_no_text_twice(many, tmp_path, capsys):
    folder = tmp_path / "i"
    assert stopped("SIGKILL", "index", many, "--out", folder).returncode == -signal.SIGKILL
    verify_index(folder)
    assert len(Index.open(folder).search("taxes", k=30)) == 20
    # The same command says how it goes on.
    shown = printed(capsys, "index", many, "--out", folder, code=2)
    goes_on = f"pnyx index --update {folder} --vectors"
    assert shown.err == (
        f"pnyx: {folder}: exists already, without vectors of all its documents: {goes_on} makes "
        "them; use --add to add documents, --force to replace it\n"
    )
    # --update alone makes what is lacking.
    shown = printed(capsys, "index", "--update", folder, "--json")
    made = json.loads(shown.out)["vectors"]
    assert (made["documents"], made["reused"], made["embedded"]) == (20, 8, 12)
    printed(capsys, "index", many, "--out", tmp_path / "whole")
    whole, resumed = (document_vectors(Index.open(p)).rows for p in (tmp_path / "whole", folder))
    assert (whole == resumed).all()
    shown = printed(capsys, "index", many, "--out", folder, code=2)
    more = "use --add to add documents, --force to replace it"
    assert shown.err == f"pnyx: {folder}: exists already: {more}\n"


@pytest.mark.all
def test_an_interrupted_index_says_how_it_goes_on(many, tmp_path):
    done = stopped("SIGINT", "index", many, "--out", tmp_path / "an i", "--embedder", "minilm-int8")
    assert done.returncode == 130
    command = f"pnyx index --update '{tmp_path}/an i' --vectors --embedder minilm-int8"
    assert done.stderr.splitlines()[-1] == f"pnyx: interrupted; to continue: {command}"


def test_what_is_left_is_named_with_its_own_options_only(many, tmp_path, capsys):
    printed(capsys, "index", many, "--out", tmp_path / "i", "--words-only", "--vectors")
    options = ("--embedder", "minilm-int8", "--clusters", "--cluster-count", 2)
    shown = printed(capsys, "index", many, "--out", tmp_path / "i", *options, code=2)
    assert "without quality of all its documents" in shown.err
    assert f"pnyx index --update {tmp_path / 'i'} --quality makes them" in shown.err


@pytest.mark.all
def test_an_embedder_that_gives_up_leaves_the_words(many, tmp_path, capsys):
    with EmbeddingServer() as server:
        spec = server.spec
    own = ("--embedder", spec)
    shown = printed(capsys, "index", many, "--out", tmp_path / "i", *own, code=2)
    *_, advice, error = shown.err.splitlines()
    command = f"pnyx index --update {tmp_path / 'i'} --vectors --embedder '{spec}'"
    assert advice.endswith(f"the words are indexed; {command} continues after this error:")
    assert "returns no vectors" in error or "cannot be reached" in error
    assert len(Index.open(tmp_path / "i").search("taxes", k=30)) == 20


def test_json_reports_what_was_done(corpus, tmp_path, capsys):
    shown = printed(capsys, "index", corpus, "--out", tmp_path / "i", "--json")
    row = json.loads(shown.out)
    assert (row["documents"], row["added"], row["segments"]) == (2, 2, 1)
    assert row["bytes"] == (tmp_path / "i" / "segment-000001.data").stat().st_size


def test_gzip_columns_and_several_corpora(corpus, tmp_path, capsys):
    csv = tmp_path / "more.csv.gz"
    csv.write_bytes(gzip.compress(b"key,body\nc1,Taxes work\nc2,Taxes fail\n"))
    options = ["--column", "id=key", "--column", "text=body"]
    printed(capsys, "index", csv, *options, "--out", tmp_path / "i")
    shown = printed(capsys, "index", corpus, "--add", tmp_path / "i", "--json")
    assert json.loads(shown.out)["added"] == 2
    assert [d.id for d in Index.open(tmp_path / "i").documents()] == ["c1", "c2", "a1", "a2"]


def test_fields_and_language_are_kept_when_adding(corpus, tmp_path, capsys):
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({**ROWS[0], "id": "a3", "topic": "the tobacco"}), encoding="utf-8")
    options = ["--fields", "topic", "--language", "none"]
    printed(capsys, "index", corpus, "--out", tmp_path / "i", *options)
    printed(capsys, "index", more, "--add", tmp_path / "i")
    index = Index.open(tmp_path / "i")
    assert [h.doc_id for h in index.search("the", "bm25")] == ["a3"]
    assert len(index.search("tobacco")) == 3


def test_an_existing_index_is_replaced_only_by_force(corpus, tmp_path, capsys):
    printed(capsys, "index", corpus, "--out", tmp_path / "i")
    shown = printed(capsys, "index", corpus, "--out", tmp_path / "i", code=2)
    assert shown.err.endswith("use --add to add documents, --force to replace it\n")
    printed(capsys, "index", corpus, "--out", tmp_path / "i", "--force")


def test_broken_standard_input_is_one_line_and_leaves_nothing(tmp_path):
    command = [sys.executable, "-m", "pnyx", "index", "-", "--out", str(tmp_path / "x")]
    done = subprocess.run(command, input=b'{"bad', capture_output=True, timeout=300)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.count(b"\n") == 1
    assert done.stderr.startswith(b"pnyx: standard input:1: not valid JSON")
    assert list(tmp_path.iterdir()) == []


GOOD = json.dumps({"id": "a", "text": "words"})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        GOOD.encode() + b"\n" + GOOD.encode() + b"\n",  # the id comes twice
        GOOD.encode() + b'\n{"id": "b"}\n',
        GOOD.encode() + b'\n{"id": "b", "text": "caf\xe9"}\n',
        GOOD.encode() + b'\n{"id": "b", "text": "\0"}\n',
    ],
)
def test_bad_corpora_exit_2_with_one_line_and_leave_nothing(tmp_path, capsys, content):
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(content)
    shown = printed(capsys, "index", path, "--out", tmp_path / "i", code=2)
    assert shown.err.count("\n") == 1
    assert shown.err.startswith(f"pnyx: {path}") or "same id" in shown.err
    assert [p.name for p in tmp_path.iterdir()] == ["corpus.jsonl"]


def test_the_same_id_in_two_corpora_is_refused(corpus, tmp_path, capsys):
    other = tmp_path / "other.jsonl"
    other.write_bytes(corpus.read_bytes())
    shown = printed(capsys, "index", corpus, other, "--out", tmp_path / "i", code=2)
    assert shown.err == "pnyx: records 1 and 3 have the same id 'a1', expected distinct ids\n"


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--out", "a", "--add", "b"],
        ["--add", "b", "--fields", "topic"],
        ["--add", "b", "--force"],
    ],
)
def test_unclear_orders_are_usage_errors(corpus, options, capsys):
    assert "(see pnyx index --help)" in printed(capsys, "index", corpus, *options, code=2).err


def test_wrong_options_say_what_is_expected(corpus, tmp_path, capsys):
    out = ["--out", tmp_path / "i"]
    shown = printed(capsys, "index", corpus, *out, "--language", "klingon", code=2)
    assert "expected one of: none, arabic" in shown.err
    shown = printed(capsys, "index", corpus, *out, "--column", "text", code=2)
    assert shown.err == "pnyx: --column text: expected FIELD=COLUMN\n"
    shown = printed(capsys, "index", corpus, "--add", tmp_path / "nowhere", code=2)
    assert "is not there, expected a folder made by pnyx index" in shown.err


def test_a_corpus_without_words_warns(tmp_path, capsys):
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": "a", "text": "!!!"}\n')
    shown = printed(capsys, "index", path, "--out", tmp_path / "i")
    assert "warning: no document contains a word" in shown.err
