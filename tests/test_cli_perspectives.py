"""`pnyx perspectives` through its command line: the three sources, exit statuses, hostile text."""

from __future__ import annotations

import json

import pytest

from chat_server import ChatServer
from command import caller
from pnyx.core.records import Argument
from pnyx.formats import load_example
from pnyx.formats.perspectives import perspective_line, read_perspectives
from pnyx.search.build import build_index

QUESTION = "Should zoos be phased out?"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "example.index"
    build_index(load_example().arguments, path)
    return str(path)


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("PNYX_LLM", raising=False)
    monkeypatch.setenv("PNYX_STORE", str(tmp_path / "store.sqlite"))


run = caller("perspectives")


def test_from_an_index_with_sides_and_documents(run, index):
    code, out, err = run(QUESTION, "--index", index, "-n", "4")
    assert code == 0
    assert err == ""  # the one conclusion that the corpus has no label for is sided by the judge
    lines = out.splitlines()
    assert [line.split()[1] for line in lines[::2]] == ["pro", "con", "pro", "con"]
    assert all("index example.index: zoos-" in line for line in lines[1::2])
    assert all(line.endswith("side by corpus label") for line in lines[1::2])


def test_json_says_all_and_out_is_read_by_file(run, index, tmp_path):
    views = tmp_path / "views.jsonl"
    code, out, _ = run(QUESTION, "--index", index, "--json", "--out", str(views))
    assert code == 0
    printed = json.loads(out)
    assert printed["question"] == {"id": "should-zoos-be-phased-out", "text": QUESTION}
    assert printed["source"] == "index example.index"
    assert printed["problems"] == []
    row = printed["perspectives"][0]
    assert set(row) == {"id", "text", "stance", "origin", "kind", "documents", "side_by"}
    assert [p.text for p in read_perspectives(views)] == [
        p["text"] for p in printed["perspectives"]
    ]
    code, out, _ = run(QUESTION.upper(), "--file", str(views), "--json", "-n", "3")
    assert code == 0
    again = json.loads(out)
    assert again["source"] == "views.jsonl"
    for key in ("id", "text", "stance"):
        assert [p[key] for p in again["perspectives"]] == [
            p[key] for p in printed["perspectives"][:3]
        ]


def test_from_a_file_by_id(run, tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text("".join(map(perspective_line, load_example().perspectives)))
    code, out, _ = run(QUESTION, "--file", str(path), "--id", "zoos")
    assert code == 0
    assert len(out.splitlines()) == 12
    code, out, err = run(QUESTION, "--file", str(path))
    assert (code, out) == (2, "")
    assert "p.jsonl: holds perspectives on 8 questions, expected some on" in err
    assert len(err.splitlines()) == 1


def test_from_a_language_model(run, monkeypatch, index):
    with ChatServer() as server:
        code, out, _ = run(QUESTION, "--llm", server.spec, "-n", "5")
        assert code == 0
        assert out.count("test (perspectives@1)") == 2
        assert "Write 5 perspectives" in server.asked()[0]["messages"][0]["content"]
        code, out, _ = run(QUESTION, "--llm", server.spec, "--open-question")
        assert code == 0
        assert out.count("  ?  ") == 2
        # The environment names a model for whatever needs one; --index needs none.
        monkeypatch.setenv("PNYX_LLM", server.spec)
        asked = len(server.asked())
        code, out, _ = run(QUESTION, "--index", index)
        assert (code, len(server.asked())) == (0, asked)
        code, out, _ = run("Is golf a sport?")
        assert (code, len(server.asked())) == (0, asked + 1)


def test_a_model_without_a_usable_answer_is_exit_status_3(run, tmp_path):
    out_path = tmp_path / "views.jsonl"
    with ChatServer(default="refusal") as server:
        code, out, err = run(QUESTION, "--llm", server.spec, "--out", str(out_path))
    assert (code, out) == (3, "")
    assert "pnyx: warning: test gave no perspectives: refusal: " in err
    assert not out_path.exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "give one of --llm, --index and --file"),
        (["--index", "i", "--file", "f"], "give one of --llm, --index and --file"),
        (["--index", "nowhere"], "nowhere"),
        (["--file", "nowhere"], "nowhere: cannot be read"),
        (["--file", "nowhere", "--open-question"], "--open-question requires --llm"),
        (["--index", "i", "--json", "--out", "-"], "both write to standard output"),
        (["--index", "i", "-n", "0"], "-n"),
    ],
)
def test_bad_usage_is_one_line_and_exit_status_2(run, arguments, problem):
    code, out, err = run(QUESTION, *arguments)
    assert (code, out) == (2, "")
    assert problem in err
    assert len(err.splitlines()) == 1


def test_an_empty_question_and_nothing_found(run, index):
    code, _, err = run("?", "--index", index)
    assert (code, "the question is empty" in err) == (2, True)
    code, out, err = run("Is qwertz xylophone?", "--index", index)
    assert (code, out) == (0, "")
    assert "contain a conclusion on it" in err


def test_hostile_conclusions_cannot_move_the_cursor(run, tmp_path):
    text = "Zoos should be phased out\x1b[2J\u2028now, says <script>the board</script>."
    build_index([Argument("a\x1b[1m", text, stance="pro", topic=QUESTION)], tmp_path / "i")
    code, out, _ = run(QUESTION, "--index", str(tmp_path / "i"))
    assert code == 0
    assert all(line.isprintable() for line in out.split("\n"))
    assert r"\x1b[2J" in out
