"""How long a side is: points, premises and words are limits, whatever the model writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chat_server import ChatServer
from command import called, rows_of, run, write_rows
from pnyx.formats.bundled_example import load_example
from pnyx.search.build import build_index

pytestmark = pytest.mark.usefixtures("own_place")

QUESTION = "Should zoos be phased out?"
WRITER = "You write one side of a debate"
REPORTER = "You write a short report"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("lengths") / "example.index"
    build_index(load_example().arguments, path)
    return str(path)


def _points(points: int, premises: int) -> Callable[[str], str | None]:
    """Return what answers the writer with so many points of so many premises."""

    def sentence(text: str) -> dict[str, Any]:
        return {"text": text, "citations": [1]}

    written = [
        {
            "conclusion": sentence(f"Point number {n}."),
            "premises": [
                sentence(f"Premise number {n}.{m} has six words.") for m in range(premises)
            ],
        }
        for n in range(points)
    ]
    return lambda prompt: json.dumps({"points": written}) if WRITER in prompt else None


def _argue(
    index: str, tmp_path: Path, reply: Any, *more: object
) -> tuple[list[str], list[dict[str, Any]], str]:
    """Return the sentences of one side, the writer's calls, and the problems of the side."""
    out = tmp_path / "out.jsonl"
    with ChatServer(reply=reply) as server:
        command = ("argue", index, QUESTION, "--stance", "pro", "--out", out)
        run(*command, "--llm", server.spec, "--store", tmp_path / "store.sqlite", *more)
        asked = server.asked()
    calls = [one for one in asked if WRITER in one["messages"][0]["content"]]
    judged = [one for one in asked if "check the citations" in one["messages"][0]["content"]]
    assert len(judged) == 1
    (row,) = rows_of(out)
    return [one["text"] for one in row["answer"]], calls, judged[0]["messages"][1]["content"]


def test_points_and_premises_are_limits(index: str, tmp_path: Path) -> None:
    written, calls, judged = _argue(index, tmp_path, _points(11, 3), "--points", "4")
    assert len(written) == 16
    assert [text for text in written if "Point" in text] == [f"Point number {n}." for n in range(4)]
    assert "Point number 4." not in judged  # what is left out is not judged
    assert "at most 4 points" in calls[0]["messages"][0]["content"]


@pytest.mark.parametrize(("premises", "kept"), [(3, 8), (4, 8)])
def test_a_point_has_at_most_three_premises(
    index: str, tmp_path: Path, premises: int, kept: int
) -> None:
    written, _, _ = _argue(index, tmp_path, _points(2, premises))
    assert len(written) == kept
    assert not any(text.startswith("Premise number 0.3") for text in written)


def test_what_is_left_out_is_said(
    index: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _argue(index, tmp_path, _points(5, 4), "--points", "4")
    said = capsys.readouterr().err
    assert "left out 9 of 25 sentences: at most 4 points of 3 premises were requested" in said


@pytest.mark.parametrize(("words", "kept"), [(20, 3), (21, 4), (26, 4)])
def test_words_are_a_limit_on_prose_with_quotations(
    index: str, tmp_path: Path, words: int, kept: int
) -> None:
    # 3 words, and 6 in each premise: 3, 9, 15, 21, 27.
    written, calls, _ = _argue(index, tmp_path, _points(1, 6), "--prose", words)
    assert len(written) == kept
    system = calls[0]["messages"][0]["content"]
    assert f"prose of about {words} words" in system
    assert "copied word for word" in system


def test_the_writer_is_named_by_its_prompt_and_a_prompt_of_the_user_is_used(
    index: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompt = tmp_path / "mine.toml"
    prompt.write_text(
        'name = "mine"\nversion = 3\nlanguage = "en"\nsource = "us"\nmax_tokens = 500\n'
        'inputs = ["claim", "documents"]\nsystem = "You write one side of a debate, briefly."\n'
        "user = '{{ documents }} {{ block(\"claim\", claim) }}'\n"
    )
    with ChatServer(reply=_points(1, 5)) as server:
        command = ("argue", index, QUESTION, "--stance", "pro", "--json", "--prompt", prompt)
        status, out, _ = called(capsys, *command, "--llm", server.spec)
    printed = json.loads(out)
    assert status == 0
    assert printed["settings"]["writer"] == "test (mine@3)"
    (side,) = printed["sides"]
    judged = [row for row in side["verdicts"] if row["task"] == "support"]
    assert len(judged) == 6  # its own rules: no limit on premises


@pytest.mark.parametrize("more", [("--prose", "50"), ("--prompt", "argue-prose")])
def test_a_plan_takes_the_choices_of_the_writer(
    index: str, capsys: pytest.CaptureFixture[str], more: tuple[str, str]
) -> None:
    with ChatServer() as server:
        command = ("argue", index, QUESTION, "--llm", server.spec, "--plan", "--json", *more)
        status, out, _ = called(capsys, *command)
        assert (status, server.asked()) == (0, [])
    assert json.loads(out)["sentences"] > 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--prose", "100"), "--prose requires --llm"),
        (("--prompt", "argue"), "--prompt requires --llm"),
        (("--prose", "19", "--llm", "http://127.0.0.1:9/v1#m"), "--prose"),
        (("--prompt", "relevance", "--llm", "http://127.0.0.1:9/v1#m"), "inputs: found 'text'"),
        (("--prompt", "none", "--llm", "http://127.0.0.1:9/v1#m"), "no prompt 'none'"),
    ],
)
def test_choices_that_do_not_fit_are_refused(
    index: str, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], said: str
) -> None:
    status, _, err = called(capsys, "argue", index, QUESTION, *more)
    assert (status, err.count("\n")) == (2, 1)
    assert said in err


def test_a_report_is_written_by_a_prompt_of_the_user(
    index: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    requests = write_rows(tmp_path / "r.jsonl", [{"request_id": "zoos", "title": QUESTION}])
    command = ("report", index, "--requests", requests, "--questions", "0")
    out = ("--out", tmp_path / "run.jsonl")
    prompt = tmp_path / "mine.toml"
    prompt.write_text(
        'name = "mine"\nversion = 1\nlanguage = "en"\nsource = "us"\nmax_tokens = 500\n'
        'inputs = ["request", "documents"]\nsystem = "Write a report in the style of the house."\n'
        "user = '{{ documents }} {{ block(\"request\", request) }}'\n"
    )
    reply = json.dumps({"sentences": [{"text": "Zoos breed animals.", "citations": [1]}]})
    with ChatServer(reply=lambda p: reply if "style of the house" in p else None) as server:
        status, _, _ = called(capsys, *command, *out, "--llm", server.spec, "--prompt", prompt)
        assert status == 0
        asked = [one["messages"][0]["content"] for one in server.asked()]
        assert sum("style of the house" in prompt for prompt in asked) == 1
    status, _, err = called(capsys, *command, *out, "--prompt", prompt)
    assert (status, "--prompt requires --llm" in err) == (2, True)


def test_the_writer_sees_titles_and_no_footnote_marks(tmp_path: Path) -> None:
    text = "Zoos should be phased out, as animals suffer in them.[3] Reserves do better.¹"
    rows = [
        {"id": f"d{n}", "title": f"Zoos today {n}", "text": text.replace("Zoos", f"The {n} zoos")}
        for n in range(3)
    ]
    documents = write_rows(tmp_path / "docs.jsonl", rows)
    folder = tmp_path / "docs.index"
    assert run("index", documents, "--out", folder, "--words-only") == 0
    requests = write_rows(tmp_path / "r.jsonl", [{"request_id": "zoos", "title": QUESTION}])
    with ChatServer() as server:
        command = ("report", folder, "--requests", requests, "--out", tmp_path / "run.jsonl")
        run(*command, "--llm", server.spec, "--questions", "0")
        (asked,) = (b for b in server.asked() if REPORTER in b["messages"][0]["content"])
    shown = asked["messages"][1]["content"]
    assert "\nZoos today 0\nThe 0 zoos should be phased out, as animals suffer in them. " in shown
    assert "[3]" not in shown
    assert "¹" not in shown
