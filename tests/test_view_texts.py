"""The texts and the calls behind a judgement, as `pnyx view` shows them."""

from __future__ import annotations

import pytest

from chat_server import ChatServer
from command import rows_of, run, write_rows
from pnyx.judging.store.store import Store
from pnyx.models.chat.types import Message
from pnyx.web.rendering import Links
from pnyx.web.results.open_catalogue import open_catalogue
from pnyx.web.results.routes import address_of, rendered, show, site_of
from pnyx.web.results.texts import (
    Exchange,
    asked_texts,
    calls_behind,
    exchange_at,
    listed_texts,
    marked,
    prompt_blocks,
)

ITEMS = [
    {"id": "i1", "text": "Fares were halved in May.", "statement": "Fares fell."},
    {"id": "i2", "text": "Tea is grown on hills.", "statement": "Fares fell."},
]


@pytest.fixture
def judged(tmp_path, own_place):
    """Results of a language model, their store next to them, and its address."""
    write_rows(tmp_path / "items.jsonl", ITEMS)
    out, store = tmp_path / "results", tmp_path / "replies.sqlite"
    with ChatServer() as server:
        args = ("--judge", server.spec, "--store", store, "--out", out)
        assert run("judge", "support", tmp_path / "items.jsonl", *args) == 0
    return out, store


def test_a_judgement_shows_the_request_and_the_reply(judged):
    out, store = judged
    catalogue = open_catalogue([str(out)])
    line = rows_of(out / "answers.jsonl")[0]
    (source,) = catalogue.sources()
    behind = calls_behind(source, line)
    assert (behind.problem, behind.store, len(behind.calls)) == ("", str(store), 1)
    (call,) = behind.calls
    assert call.messages[-1].role == "user"
    assert call.reply
    assert call.parameters["temperature"] == 0
    assert None not in call.parameters.values()
    assert not {"messages", "schema"} & call.parameters.keys()
    assert dict(prompt_blocks(behind.calls))["document"] == ITEMS[0]["text"]
    (judgement, _) = sorted(catalogue.judgements().rows, key=lambda row: row.n)
    texts = asked_texts(catalogue, judgement, line, prompt_blocks(behind.calls))
    assert [(text.label, text.judged) for text in texts][:1] == [("document", True)]
    address = address_of("/judgement/results/1")
    page = rendered(show(catalogue, address), address, site_of(["x"]), Links())
    assert "Fares were halved in May." in page


def test_calls_that_cannot_be_shown_say_why(judged, tmp_path, monkeypatch):
    out, store = judged
    (source,) = open_catalogue([str(out)]).sources()
    line = rows_of(out / "answers.jsonl")[0]
    assert calls_behind(source, {}).problem == (
        "No language model was asked, so there is no prompt."
    )
    assert calls_behind(source, {"prompt_hash": "x"}).problem.startswith("The line has the hash")
    other = str(tmp_path / "none.sqlite")
    assert calls_behind(source, line, other).problem.startswith("The judgement store")
    assert ": give another" not in calls_behind(source, line, other).problem
    with Store(store, read_only=True) as opened:
        assert exchange_at("0" * 64, opened).problem == "it is not in this store"
    store.rename(tmp_path / "moved.sqlite")
    assert calls_behind(source, line).problem.endswith(": give another with --store FILE.")
    moved = calls_behind(source, line, str(tmp_path / "moved.sqlite"))
    assert (moved.problem, len(moved.calls)) == ("", 1)
    monkeypatch.setenv("PNYX_NO_TEXT", "1")
    assert "hidden (--no-text)" in calls_behind(source, line).problem


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("<<<document ab\nOne.\nTwo.\ndocument ab>>>\n", [("document", "One.\nTwo.")]),
        ("<<<document ab\nOne.\ndocument cd>>>", []),
        ("<<<a x\n<<<b y\nb y>>>\na x>>>\n<<<b y\nIn.\nb y>>>",
         [("a", "<<<b y\nb y>>>"), ("b", "In.")]),
        ("<<<a x\nOne.\na x>>>\n<<<a x\nTwo.\na x>>>", [("a", "One."), ("a", "Two.")]),
        ("a x>>>\n<<<a x\nOne.\na x>>>", [("a", "One.")]),
        ("a x>>>\n<<<a x\nOne.", []),
        ("<<<" + "a" * 40 + " x\nO\n" + "a" * 40 + " x>>>", [("a" * 40, "O")]),
        ("<<<" + "a" * 41 + " x\nO\n" + "a" * 41 + " x>>>", []),
    ],
)  # fmt: skip
def test_texts_of_a_prompt_are_between_their_marks(text, blocks):
    system = Message("system", "<<<s x\nNo.\ns x>>>")
    calls = [Exchange("1", messages=(system, Message("user", "Hello."))),
             Exchange("2", messages=(system, Message("user", text)))]  # fmt: skip
    assert prompt_blocks(calls) == blocks


def test_a_text_is_cut_around_its_evidence():
    assert [segment.kind for segment in marked("One. Two.", "Two")] == ["text", "mark", "text"]
    assert [segment.kind for segment in marked("One. Two.", "")] == ["text"]
    assert [segment.kind for segment in marked("One. Two.", "Three")] == ["text"]


def test_texts_of_a_line_come_before_those_of_its_item(tmp_path):
    rows = [
        {"id": "i1", "task": "support", "value": True},
        {"id": "i2", "task": "support", "value": True, "text": "Of the line.", "statement": "S."},
        {"id": "i3", "task": "support", "value": True},
    ]
    write_rows(tmp_path / "a.jsonl", rows)
    write_rows(tmp_path / "items.jsonl", ITEMS)
    catalogue = open_catalogue([str(tmp_path)])
    listed = sorted(catalogue.judgements(source="a").rows, key=lambda row: row.n)
    assert listed_texts(catalogue, listed) == [
        "Fares were halved in May. · Fares fell.", "Of the line. · S.", "",
    ]  # fmt: skip
    texts = asked_texts(catalogue, listed[0], catalogue.line(listed[0]), [])
    assert [(text.label, text.words[:1], text.judged) for text in texts] == [
        ("text", ["Fares"], True), ("statement", ["Fares"], False),
    ]  # fmt: skip
    assert catalogue.item(listed[2]) == {}
