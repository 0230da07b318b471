"""`pnyx search`, as users call it."""

import json
import os
import subprocess
import sys

import pytest

from command import printed, write_rows
from pnyx.core.records import Argument, Document, Premise
from pnyx.search.build import build_index

RECORDS = [
    Argument("pro1", "Ban smoking", (Premise("Smoke harms lungs.\nAlways."),), "pro"),
    Argument("con1", "Adults may choose", (Premise("Smoking is a free choice"),), "con"),
    Document("doc1", "Taxes on smoking pay for care.", title="Taxes"),
    Document("evil\x1b[2J", "evil \x1b[31mred\x07 text\u202e", title="<script>\x00"),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli") / "index"
    build_index(RECORDS, folder)
    return str(folder)


def test_hits_are_shown_with_stance_title_and_excerpt(index, capsys):
    shown = printed(capsys, "search", index, "ban smoking", "--model", "bm25")
    lines = shown.out.splitlines()
    assert lines[0].split() == ["1", lines[0].split()[1], "pro1", "[pro]"]
    assert lines[1:3] == ["      Ban smoking", "      Smoke harms lungs. Always."]
    assert float(lines[0].split()[1]) > 0
    assert "doc1" in shown.out
    assert "[None]" not in shown.out
    assert shown.err == ""


def test_json_is_a_list_of_rows(index, capsys):
    shown = printed(capsys, "search", index, "ban smoking", "-k", 2, "--json", "--set", "mu=10")
    rows = json.loads(shown.out)
    assert [row["rank"] for row in rows] == [1, 2]
    known = {"rank", "score", "id", "title", "stance", "text", "url", "source", "label", "why"}
    known |= {"document"}
    unknown = {name for name, value in rows[0].items() if value is None}
    assert unknown == {"probability", "side", "side_by", "perspective", "quality",
                       "quality_share", "cluster", "passage"}  # fmt: skip
    assert rows[0].keys() == known | unknown
    assert rows[0]["id"] == "pro1"
    assert rows[0]["stance"] == "pro"
    assert rows[0]["text"] == RECORDS[0].text


def test_hostile_documents_cannot_touch_the_terminal(index, capsys):
    shown = printed(capsys, "search", index, "evil")
    assert len(shown.out.splitlines()) == 3
    assert all(c.isprintable() for c in shown.out.replace("\n", ""))
    assert r"evil\x1b[2J" in shown.out
    as_json = printed(capsys, "search", index, "evil", "--json").out
    assert json.loads(as_json)[0]["id"] == "evil\x1b[2J"
    assert "\x1b" not in as_json


@pytest.mark.parametrize("question", ["zebra", "¿?", "the of", '\u202e(+"~*', "'; --", "AND NOT"])
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_questions_without_known_words_are_empty_with_one_warning(index, capsys, question, flags):
    shown = printed(capsys, "search", index, *flags, "--", question)
    assert shown.out == ("[]\n" if flags else "")
    assert shown.err == "pnyx: warning: no word of the question is in the index\n"


@pytest.mark.all
def test_gibberish_is_said_to_match_nothing_where_vectors_find_something(tmp_path, capsys):
    path = tmp_path / "d.jsonl"
    path.write_text('{"id": "a", "text": "Fares fell."}\n{"id": "b", "text": "Tea is brewed."}\n')
    printed(capsys, "index", path, "--out", tmp_path / "i")
    shown = printed(capsys, "search", tmp_path / "i", "qwxz vbnm", "--json")
    assert len(json.loads(shown.out)) == 2
    assert shown.err.startswith("pnyx: warning: no word of the question is in the index; showing")
    for more in ([], ["--model", "dense", "--set", "feedback=0"]):
        assert printed(capsys, "search", tmp_path / "i", "brewed", *more).err == ""


def test_topics_become_a_trec_run(index, tmp_path, capsys):
    topics = tmp_path / "topics.jsonl"
    rows = [
        {"id": "1", "text": "smoking"},
        {"id": "2", "text": "zebra"},
        {"id": "3", "text": "taxes"},
    ]
    write_rows(topics, rows)
    run = tmp_path / "run.trec"
    options = ["--topics", topics, "--model", "bm25", "--tag", "mine"]
    shown = printed(capsys, "search", index, *options, "--out", run)
    assert shown.err.splitlines() == [
        "pnyx: warning: 1 of 3 topics have no word in common with the index: 2",
        f"pnyx: {run}: 4 documents for 3 topics, tag mine",
    ]
    lines = [line.split() for line in run.read_text().splitlines()]
    assert [line[0] for line in lines] == ["1", "1", "1", "3"]
    assert [line[3] for line in lines] == ["1", "2", "3", "1"]
    assert all(line[1] == "Q0" and line[5] == "mine" for line in lines)
    assert printed(capsys, "search", index, *options, "--out", "-").out == run.read_text()


def test_a_failing_run_leaves_nothing(index, tmp_path, capsys):
    topics = tmp_path / "topics.jsonl"
    for content in ('{"id": "1", "text": "smoking"}\n{"bad', ""):
        topics.write_text(content)
        shown = printed(
            capsys,
            "search",
            index,
            "--topics",
            topics,
            "--out",
            tmp_path / "r",
            code=2,
        )
        assert shown.err.count("\n") == 1
        assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--set", "mu=-1"], "mu is -1, expected a number from"),
        (["--set", "k1=1"], "model auto has no parameter 'k1', expected: mu"),
        (["--model", "bm25", "--set", "b=2"], "b is 2, expected a number from 0 to 1"),
        (["--model", "bm25", "--set", "mu=2"], "model bm25 has no parameter 'mu', expected: k1, b"),
        (["-k", "0"], "0 is not in the range"),
        (["--tag", "x"], "requires --topics"),
        (["--out", "x"], "--topics and --out must be given together"),
        (["--topics", "x"], "either a QUESTION or --topics"),
    ],
)
def test_wrong_options_say_what_is_expected(index, capsys, options, expected):
    assert expected in printed(capsys, "search", index, "smoking", *options, code=2).err


def test_what_is_no_index_is_one_line(tmp_path, capsys):
    shown = printed(capsys, "search", tmp_path, "x", code=2)
    assert "holds no documents" in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.all
def test_undecodable_arguments_and_a_poor_terminal(index):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [
        sys.executable.encode(),
        b"-m",
        b"pnyx",
        b"search",
        index.encode(),
        b"smoking \xff\xe9",
    ]
    done = subprocess.run([*command, b"--json"], env=environment, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == 3
