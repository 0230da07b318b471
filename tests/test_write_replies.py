"""Replies of writers in the forms that real models use: what is read, what gets a repair turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chat_server import ChatServer
from command import rows_of, run
from pnyx.cases.replies import cited_ids, points_reply, sentences_of, sentences_reply
from pnyx.core.records import Document
from pnyx.formats.bundled_example import load_example
from pnyx.judging.llm.structured_replies import UnreadableReply, validated, watching_departures
from pnyx.search.build import build_index

POINT = {
    "conclusion": {"text": "Fines work.", "citations": [1]},
    "premises": [{"text": "Turnout rises.", "citations": [1, 2]}],
}
READ = [("conclusion", "Fines work.", [1]), ("premise", "Turnout rises.", [1, 2])]


def _read(*points: Any, **more: Any) -> list[tuple[str, str, list[int]]]:
    text = json.dumps({"points": points, **more})
    return list(sentences_of(validated(points_reply(), text)))


@pytest.mark.parametrize(
    ("cited", "numbers"),
    [
        (["1"], [1]),
        (1, [1]),
        ("1", [1]),
        (1.0, [1]),
        ("[1]", [1]),
        ("Document 1", [1]),
        (["document 1", "Doc 2"], [1, 2]),
        ("Documents 1 and 2", [1, 2]),
        ("[1], [2]", [1, 2]),
        (["1, 2"], [1, 2]),
        ("#3", [3]),
        (None, []),
        ("", []),
        ([], []),
        (["123456789"], [123456789]),
    ],
)
def test_citations_are_read_in_whatever_form_they_are_named(cited: Any, numbers: list[int]) -> None:
    with watching_departures() as departures:
        read = _read({"conclusion": {"text": "C.", "citations": cited}, "premises": []})
    assert read == [("conclusion", "C.", numbers)]
    assert bool(departures) == (cited != [])


@pytest.mark.parametrize(
    "cited", ["the first", "1-3", "1.5", 1.5, True, [True], {"n": 1}, [[1]], "d1", "1234567890"]
)
def test_citations_that_could_mean_something_else_are_not_guessed(cited: Any) -> None:
    with pytest.raises(UnreadableReply):
        _read({"conclusion": {"text": "C.", "citations": cited}, "premises": []})


@pytest.mark.parametrize(
    ("change", "read"),
    [
        ({"title": "Fines"}, READ),
        ({"premises": None}, READ[:1]),
        (
            {"premises": ["Turnout rises. [1, 2]"]},
            [READ[0], ("premise", "Turnout rises. [1, 2]", [])],
        ),
        ({"premises": {"text": "Turnout rises.", "citations": [1, 2]}}, READ),
        ({"premises": "So."}, [READ[0], ("premise", "So.", [])]),
        ({"conclusion": "Fines work."}, [("conclusion", "Fines work.", []), READ[1]]),
        ({"conclusion": {"text": "C."}}, [("conclusion", "C.", []), READ[1]]),
        (
            {"conclusion": {"Text": "C.", "Citations": [2], "strength": 3}},
            [("conclusion", "C.", [2]), READ[1]],
        ),
    ],
)
def test_points_are_read_in_whatever_shape_says_the_same(change: Any, read: Any) -> None:
    with watching_departures() as departures:
        assert _read({**POINT, **change}) == read
    assert departures


def test_a_reply_as_asked_for_is_read_without_a_note_and_premises_may_be_left_out() -> None:
    with watching_departures() as departures:
        assert _read(POINT) == READ
    assert departures == set()
    assert _read({"conclusion": POINT["conclusion"]}) == READ[:1]
    assert _read({"conclusion": POINT["conclusion"], "title": "Fines"}) == READ[:1]
    assert _read(POINT, title="A case") == READ


@pytest.mark.parametrize(
    "point",
    [
        {"premises": []},
        {"conclusion": {"citations": [1]}, "premises": []},
        {"conclusion": {"text": " ", "citations": [1]}, "premises": []},
        {"conclusion": {"text": "C.", "sources": [1]}, "premises": []},
        {"conclusion": "C.", "reasons": ["R."]},
        {"conclusion": {"text": 3, "citations": [1]}, "premises": []},
        {"conclusion": "C.", "premises": 3},
        {"conclusion": "C.", "Conclusion": "Not C."},
        "C.",
    ],
)
def test_points_that_say_less_than_a_point_are_not_read(point: Any) -> None:
    with pytest.raises(UnreadableReply):
        _read(point)


def test_a_reply_without_points_is_not_an_argument_of_none() -> None:
    with pytest.raises(UnreadableReply):
        validated(points_reply(), '{"verdict": "yes"}')
    assert _read() == []


def test_sentences_of_reports_are_read_alike() -> None:
    text = '{"sentences": ["Fines work [1].", {"text": "B.", "citations": "2", "note": ""}]}'
    read = validated(sentences_reply(), text)
    assert [(one.text, one.citations) for one in read.sentences] == [
        ("Fines work [1].", []),
        ("B.", [2]),
    ]


@pytest.mark.parametrize(
    ("text", "clean", "cited"),
    [
        ("So [1].", "So.", ["a"]),
        ("So [Document 1].", "So.", ["a"]),
        ("So (Documents 1 and 2).", "So.", ["a", "b"]),
        ("So (source 2) it is.", "So it is.", ["b"]),
        ("So [document 3].", "So [document 3].", []),
        ("So (1 and 2).", "So (1 and 2).", []),
        ("So (documents).", "So (documents).", []),
    ],
)
def test_marks_in_the_text_count_and_go(text: str, clean: str, cited: list[str]) -> None:
    shown = [Document("a", "A."), Document("b", "B.")]
    assert cited_ids(text, [], shown, []) == (clean, cited)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("replies") / "example.index"
    build_index(load_example().arguments, path)
    return str(path)


def _argued(index: str, tmp_path: Path, reply: Any) -> tuple[list[str], list[Any]]:
    """Return the sentences of one side, and the calls of the writer."""
    out = tmp_path / "out.jsonl"
    with ChatServer(reply=reply) as server:
        command = ("argue", index, "Should zoos be phased out?", "--stance", "pro", "--out", out)
        run(*command, "--llm", server.spec, "--store", tmp_path / "store.sqlite")
        calls = [one for one in server.asked() if _WRITER in one["messages"][0]["content"]]
    (row,) = rows_of(out)
    return [one["text"] for one in row["answer"]], calls


_WRITER = "You write one side of a debate"
LOOSE = json.dumps(
    {
        "points": [
            {
                "title": "Fines",
                "conclusion": "Fines work [Document 1].",
                "premises": ["Turnout rises [1, 2]."],
            }
        ]
    }
)


def test_a_side_is_not_lost_to_a_loosely_written_reply(index: str, tmp_path: Path) -> None:
    sentences, calls = _argued(index, tmp_path, lambda p: LOOSE if _WRITER in p else None)
    assert sentences == ["Fines work.", "Turnout rises."]
    assert len(calls) == 1


def test_an_unreadable_side_gets_a_repair_turn(index: str, tmp_path: Path) -> None:
    def answer(prompt: str) -> str | None:
        if _WRITER not in prompt:
            return None
        return LOOSE if "could not be read" in prompt else '{"points": [{"premises": []}]}'

    sentences, calls = _argued(index, tmp_path, answer)
    assert sentences == ["Fines work.", "Turnout rises."]
    assert [len(one["messages"]) for one in calls] == [2, 4]
    assert "points.0.conclusion" in calls[1]["messages"][-1]["content"]
