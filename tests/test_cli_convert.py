"""`pnyx files convert` as it is called."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from command import caller, rows_of

DATA = Path(os.environ.get("PNYX_DATA", Path(__file__).parents[2] / "shared" / "data"))
ARGUMENT_KEYS = ["id", "conclusion", "premises", "stance", "text", "topic", "source"]
EVERY = ["csv", "tsv", "beir", "argsme", "jsonl"]

call = caller("files", "convert")


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "perspectrum").is_dir(), reason=f"no published dumps in {DATA}")
@pytest.mark.parametrize(
    ("name", "file", "targets"),
    [
        ("procon", "perspectrum/procon_raw.json", EVERY),
        pytest.param("debatewise", "perspectrum/debatewise_raw.json", EVERY, marks=pytest.mark.all),
        pytest.param(
            "idebate", "arguana_counterargs/arguments.jsonl.gz", ["argsme"], marks=pytest.mark.all
        ),
    ],
)
def test_the_published_dumps_survive_every_format(name, file, targets, tmp_path, call):
    arguments = tmp_path / "arguments.jsonl"
    assert call(DATA / file, "--format", name, "--to", "arguments", "-o", arguments)[0] == 0
    rows = rows_of(arguments)
    assert all(list(row)[:7] == ARGUMENT_KEYS for row in rows)
    assert all(row["source"] == name for row in rows)
    for target in targets:
        there, back = tmp_path / target, tmp_path / "back"
        assert call(arguments, "--to", target, "-o", there)[0] == 0
        assert call(there, "--to", "arguments", "-o", back)[0] == 0
        assert back.read_bytes() == arguments.read_bytes()


def test_columns_gzip_and_json_summary(tmp_path, call):
    source, out = tmp_path / "docs.csv", tmp_path / "corpus.jsonl.gz"
    source.write_text("docno,body\nd1,Tea\n")
    argv = ("--column", "id=docno", "--column", "text=body", "--to", "beir", "-o", out, "--json")
    code, stdout, _ = call(source, *argv)
    assert code == 0
    assert json.loads(stdout) == {"from": "csv", "to": "beir", "records": 1, "out": str(out)}
    with gzip.open(out, "rt") as stream:
        assert json.loads(stream.read()) == {
            "_id": "d1",
            "title": "",
            "text": "Tea",
            "metadata": {},
        }


def test_citation_styles(tmp_path, call):
    source = tmp_path / "r.jsonl"
    row = {
        "metadata": {"team_id": "t", "run_id": "r", "narrative_id": "1"},
        "references": ["a", "b"],
        "answer": [{"text": "s", "citations": ["b"]}],
    }
    source.write_text(json.dumps(row) + "\n")
    _, out, _ = call(source, "--to", "rag25", "--style", "indices")
    assert json.loads(out)["answer"] == [{"text": "s", "citations": [1]}]
    _, out, _ = call(source, "--to", "ragtime")
    assert json.loads(out)["metadata"] == {"team_id": "t", "run_id": "r", "topic_id": "1"}
    code, out, err = call(source, "--to", "ragtime", "--style", "scores")
    assert (code, out) == (2, "")
    assert "needs a score" in err


def test_questions_and_qrels(tmp_path, call):
    topics = tmp_path / "t.tsv"
    topics.write_text("1\tIs tea healthy?\n")
    assert call(topics, "--to", "touche-topics", "-o", tmp_path / "t.xml")[0] == 0
    _, out, _ = call(tmp_path / "t.xml", "--to", "questions")
    assert json.loads(out) == {"id": "1", "text": "Is tea healthy?"}
    qrels = tmp_path / "q"
    qrels.write_text("1 0 d 2\n")
    assert call(qrels, "--to", "beir-qrels")[1] == "query-id\tcorpus-id\tscore\n1\td\t2\n"


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["--to", "run"], "jsonl cannot be converted to 'run': expected one of jsonl,"),
        (["--to", "folder"], "cannot be converted to 'folder'"),
        (["--to", "jsonl", "--style", "ids"], "--style is for responses"),
        (["--to", "jsonl", "--column", "id"], "expected FIELD=COLUMN"),
        (["--to", "jsonl", "--format", "nope"], "no format 'nope'"),
        (["--to", "arguments"], "plain document"),
        (["--to", "csv"], "duplicate id"),
    ],
)
def test_one_line_status_2_and_nothing_written(argv, problem, tmp_path, call):
    source, out = tmp_path / "in.jsonl", tmp_path / "out"
    source.write_text('{"id": "1", "text": "a"}\n{"id": "1", "text": "b"}\n')
    code, stdout, err = call(source, *argv, "-o", out)
    assert (code, stdout) == (2, "")
    assert problem in err
    assert err.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.jsonl"]


def test_an_existing_file_survives_a_failed_conversion(tmp_path, call):
    source, out = tmp_path / "in.jsonl", tmp_path / "out"
    source.write_text('{"id": "1", "text": "a"}\n{"id": "2"}\n')
    out.write_text("precious")
    assert call(source, "--to", "beir", "-o", out)[0] == 2
    assert out.read_text() == "precious"
