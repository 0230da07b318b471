"""One shape of a hit and of a case: `--json`, the HTTP API, MCP and the pages say the same."""

from __future__ import annotations

import json
import re

import anyio
import httpx2
import pytest

pytest.importorskip("starlette", reason="starlette is not installed")
pytest.importorskip("mcp", reason="mcp is not installed")

from mcp import Client

from asking_fixture import VOTING, example_index, service_of
from page_fixture import served
from pnyx.serve.api.mcp import build_mcp
from pnyx.serve.asking.application import build_asking

CHOSEN = {"question": VOTING, "points": 2}


@pytest.fixture(scope="module")
def answers():
    """What one service answers over HTTP and to a client of MCP."""
    found = {}

    async def ask_tools(service):
        async with Client(build_mcp(service)) as client:
            for name, given in (("search", {"question": VOTING, "k": 4}), ("argue", CHOSEN)):
                found[name] = (await client.call_tool(name, given)).structured_content

    with pytest.MonkeyPatch.context() as patch, service_of() as service:
        patch.delenv("PNYX_LLM", raising=False)
        anyio.run(ask_tools, service)
        with (
            served(build_asking(service, warm=False)) as address,
            httpx2.Client(base_url=address, timeout=120) as client,
        ):
            asked = {"q": VOTING, "k": 4}
            found["/v1/search"] = client.get("/v1/search", params=asked).json()
            found["/v1/argue"] = client.post("/v1/argue", json=CHOSEN).json()
    return found


def printed(call, *arguments):
    status, out, error = call(*arguments, "--json")
    assert status == 0, error
    return json.loads(out)


def test_a_hit_is_the_same_on_the_command_line_over_http_and_for_mcp(answers, call, own_place):
    hits = printed(call, "search", example_index(), VOTING, "-k", 4)
    assert len(hits) == 4
    assert hits == answers["/v1/search"]["hits"] == answers["search"]["hits"]
    shared = answers["search"].keys() - {"warning"}
    assert {name: answers["search"][name] for name in shared} == answers["/v1/search"]
    assert hits[0]["why"]["parts"]
    assert hits[0]["why"]["value"] == pytest.approx(hits[0]["score"])


def test_a_case_is_the_same_on_the_command_line_over_http_and_for_mcp(answers, call, own_place):
    case = printed(call, "argue", example_index(), VOTING, "--points", 2)
    for other in (case, answers["/v1/argue"], answers["argue"]):
        other["settings"].pop("index")  # a path there, a name here
    assert case == answers["/v1/argue"]
    extra = {"warning", "documents"}
    assert {k: v for k, v in answers["argue"].items() if k not in extra} == case
