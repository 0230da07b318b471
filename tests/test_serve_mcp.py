"""`pnyx serve --mcp` as a client meets it: a process, its standard input and output."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

from asking_fixture import VOTING, example_index
from mcp_fixture import mcp_session
from pnyx.web.api.mcp import UNTRUSTED

pytestmark = pytest.mark.slow

ITEM = {"id": "1", "text": "Fares fell and ridership rose.", "statement": "Ridership rose."}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Tools, and what they answer, of one session with a real process."""
    asked = [
        ("search", {"question": VOTING, "k": 2}),
        ("perspectives", {"question": VOTING, "k": 1}),
        ("argue", {"question": VOTING, "points": 1, "stance": "pro"}),
        ("judge", {"task": "support", "items": [ITEM]}),
        ("judge", {"task": "sides", "items": [{"id": "1", "text": "Tea.", "question": "Tea?"}]}),
        ("search", {"question": " "}),
        ("search", {"question": "tea", "k": 21}),
        ("judge", {"task": "support", "items": [{"id": "1"}]}),
    ]
    return mcp_session(example_index(), asked, tmp_path_factory.mktemp("mcp") / "store")


def test_tools_say_how_they_are_used(answers):
    tools = {tool.name: tool for tool in answers["tools"]}
    assert set(tools) == {"search", "perspectives", "argue", "judge"}
    for tool in tools.values():
        assert tool.description
        assert tool.output_schema["type"] == "object"
        assert tool.annotations.read_only_hint
        for name, schema in tool.input_schema["properties"].items():
            assert schema["description"], (tool.name, name)
    assert UNTRUSTED in answers["instructions"][1]


def test_answers_are_structured_and_marked_as_untrusted(answers):
    search, views, case, judged = (one.structured_content for one in answers["answers"][:4])
    assert not any(one.is_error for one in answers["answers"][:4])
    assert [one["rank"] for one in search["hits"]] == [1, 2]
    for one in (search, views, case):
        assert one["warning"] == UNTRUSTED
    assert {one["state"] for one in views["perspectives"]} <= {"covered", "missing", "unscored"}
    (side,) = case["sides"]
    assert set(side["response"]["references"]) == {one["id"] for one in case["documents"]}
    support = [one for one in side["verdicts"] if one["task"] == "support"]
    assert {one["sentence"] for one in support} == set(range(len(side["response"]["answer"])))
    assert all(one["value"] is True for one in support)  # quoted
    assert (judged["counts"]["asked"], judged["counts"]["scored"]) == (1, 1)


def test_what_cannot_be_asked_is_an_error_that_says_why(answers):
    refused = answers["answers"][4:]
    assert all(one.is_error for one in refused)
    said = [one.content[0].text for one in refused]
    for text, part in zip(
        said, ("language model", "no words", "less than or equal to 20", "items[0]: no text"),
        strict=True,
    ):  # fmt: skip
        assert part in text


@pytest.mark.all
def test_half_characters_get_an_answer_and_standard_output_carries_the_protocol_alone():
    """Half characters as JSON writes them; the client's library cannot send any."""
    first = {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }  # fmt: skip
    sent = (
        json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": first}),
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", '
        '"arguments": {"question": "voting \\ud800 compulsory", "k": 1}}}',
    )
    with subprocess.Popen(
        [sys.executable, "-m", "pnyx", "serve", str(example_index()), "--mcp"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        process.stdin.write("".join(f"{line}\n" for line in sent))
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        assert process.stdout.read() == ""
        assert process.wait(60) == 0
    assert [one["id"] for one in answers] == [0, 1]
    assert answers[1]["result"]["structuredContent"]["hits"]
