"""One shape of a hit and of a case: `--json`, the HTTP API, MCP and the pages say the same."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import anyio
import httpx2
import pytest

pytest.importorskip("starlette", reason="starlette is not installed")
pytest.importorskip("mcp", reason="mcp is not installed")

from mcp import Client

from asking_fixture import VOTING, example_index, service_of
from case_fixture import build_case
from command import rows_of, write_rows
from page_fixture import served
from pnyx.cases.page.report import render_html
from pnyx.cases.rows import case_row
from pnyx.core.records import Argument, Premise
from pnyx.search.build import build_index
from pnyx.stats.base import Measured
from pnyx.web.api.mcp import build_mcp
from pnyx.web.ask.application import build_asking

QUESTION = "Is it right to make people vote?"
"""No topic of the corpus has its words, so that judges tell the sides and measures have a base."""
CHOSEN = {"question": QUESTION, "points": 2}

ITEMS = [
    {"id": str(n), "text": text, "statement": "Buses got cheaper.", "group": "fares"}
    for n, text in enumerate(("Fares fell and ridership rose.", "Tea is grown on hills."))
]


@pytest.fixture(scope="module")
def answers():
    """What one service answers over HTTP and to a client of MCP."""
    found = {}

    async def ask_tools(service):
        async with Client(build_mcp(service)) as client:
            for name, given in (
                ("search", {"question": VOTING, "k": 4}),
                ("argue", CHOSEN),
                ("perspectives", {"question": VOTING, "k": 4}),
                ("judge", {"task": "support", "items": ITEMS}),
            ):
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
            found["/v1/perspectives"] = client.get("/v1/perspectives", params=asked).json()
            judged = {"task": "support", "items": ITEMS}
            found["/v1/judge"] = client.post("/v1/judge", json=judged).json()
            default = {"question": QUESTION}
            found["default"] = client.post("/v1/argue", json=default).json()
            client.post("/argue", data={"q": QUESTION})
            made = client.get("/argue/wait", params={"q": QUESTION}, follow_redirects=True)
            found["page"] = made.text
    return found


def printed(call, *arguments):
    status, out, error = call(*arguments, "--json")
    assert status == 0, error
    return json.loads(out)


@pytest.mark.all
def test_a_hit_is_the_same_on_the_command_line_over_http_and_for_mcp(answers, call, own_place):
    hits = printed(call, "search", example_index(), VOTING, "-k", 4)
    assert len(hits) == 4
    assert hits == answers["/v1/search"]["hits"] == answers["search"]["hits"]
    shared = answers["search"].keys() - {"warning"}
    assert {name: answers["search"][name] for name in shared} == answers["/v1/search"]
    assert hits[0]["why"]["parts"]
    assert hits[0]["why"]["value"] == pytest.approx(hits[0]["score"])


@pytest.mark.all
def test_a_case_is_the_same_on_the_command_line_over_http_and_for_mcp(answers, call, own_place):
    case = printed(call, "argue", example_index(), QUESTION, "--points", 2)
    for other in (case, answers["/v1/argue"], answers["argue"]):
        other["settings"].pop("index")  # a path there, a name here
    assert case == answers["/v1/argue"]
    extra = {"warning", "documents"}
    assert {k: v for k, v in answers["argue"].items() if k not in extra} == case


@pytest.mark.all
def test_perspectives_are_the_same_on_the_command_line_over_http_and_for_mcp(
    answers, call, own_place
):
    listed = printed(call, "perspectives", VOTING, "--index", example_index())
    over_http, for_mcp = answers["/v1/perspectives"], answers["perspectives"]
    assert {n: for_mcp[n] for n in over_http} == over_http
    shared = ("id", "text", "stance")
    assert len(listed["perspectives"]) > 2
    for one, other in zip(listed["perspectives"], over_http["perspectives"], strict=True):
        assert [one[n] for n in shared] == [other[n] for n in shared]
        assert one["documents"] == other["taken_from"]
    for name in ("question", "source", "problems"):
        assert listed[name] == over_http[name]
    found = printed(call, "search", example_index(), VOTING, "-k", 4)
    assert over_http["documents"] == [hit["id"] for hit in found]


@pytest.mark.all
def test_answers_are_the_same_on_the_command_line_over_http_and_for_mcp(answers, call, own_place):
    write_rows("items.jsonl", ITEMS)
    status, _, error = call("judge", "support", "items.jsonl", "--out", "results")
    assert status == 0, error
    rows = rows_of("results/answers.jsonl")
    manifest = json.loads(Path("results/manifest.json").read_text())
    over_http = answers["/v1/judge"]
    assert answers["judge"] == over_http
    assert (over_http["judge"], over_http["card"]) == (manifest["judge"], manifest["card"])
    assert over_http["answers"] == rows
    assert {n: manifest["counts"][n] for n in over_http["counts"]} == over_http["counts"]
    assert over_http["counts"]["scored"] == len(ITEMS)


def figures_of(html):
    """What a page shows of each side's measures: value, interval, base."""
    found = re.findall(r'<div class="figure">.*?</div>', html, re.DOTALL)
    return [
        (
            re.search(r'class="value[^"]*">([^<]*)<', one)[1],
            "".join(re.findall(r"</span>(\[[^<]*\])</span>", one)),
            re.search(r'class="base">([^<]*)<', one)[1],
        )
        for one in found
    ]


def figures_in(case):
    """The same of the rows of a case."""
    return [
        (
            "unscored" if m["value"] is None else f"{m['value']:.2f}",
            "" if m["low"] is None else f"[{m['low']:.2f}, {m['high']:.2f}]",
            f"{m['scored']} of {m['asked']} scored",
        )
        for side in case["sides"]
        for m in side["measures"].values()
    ]


@pytest.mark.all
def test_the_page_shows_the_measures_that_the_rows_have(answers):
    shown = figures_of(answers["page"])
    assert len(shown) == 4
    assert shown == figures_in(answers["default"])


@pytest.mark.all
def test_the_page_says_how_many_are_on_the_question_as_the_rows_do(answers):
    number = answers["default"]["expected_about"]
    sides = answers["default"]["sides"]
    cited = {doc_id for side in sides for doc_id in side["response"]["references"]}
    assert number["scored"] == number["read"] == 30
    said = f"Probably about {number['value']:.0f} of the 30 passages read argue a side of the"
    assert f"{said} question; {len(cited)} cited." in answers["page"]


def test_intervals_stand_in_the_rows_as_on_the_page():
    case = build_case()
    measures = {
        "sentence_precision": Measured(0.75, scored=8, asked=10, low=0.5125, high=0.9375),
        "on_this_side": Measured(None, scored=0, asked=4),
        "on_the_question": Measured(0.5, scored=2, asked=2),
    }
    case = replace(case, sides=tuple(replace(side, measures=measures) for side in case.sides))
    rows = case_row(case).model_dump()
    assert figures_of(render_html(case)) == figures_in(rows)
    assert (
        rows["sides"][0]["measures"]["sentence_precision"] == measures["sentence_precision"].row()
    )


HOSTILE_TOPIC = '</a><script>alert(1)</script> Prostitution Should Be Legal & "taxed"'


def test_a_near_topic_is_a_link_that_asks_it_whatever_its_name(tmp_path):
    records = [
        Argument(
            side, f"Legal brothels {word}", (Premise(f"Prostitution {word}."),), side, HOSTILE_TOPIC
        )
        for side, word in (("pro", "are safe"), ("con", "do harm"))
    ]
    build_index(records, tmp_path / "debates.index")
    asked = {"q": "Do brothels harm a prostitute?"}
    with (
        service_of(tmp_path / "debates.index") as service,
        served(build_asking(service, warm=False)) as address,
        httpx2.Client(base_url=address, timeout=120, follow_redirects=True) as client,
    ):
        found = client.get("/", params=asked).text
        client.post("/argue", data=asked)
        argued = client.get("/argue/wait", params=asked).text
        link = str(httpx2.QueryParams({"q": HOSTILE_TOPIC}))
        for page in (found, argued):
            said = re.search(r'<p class="meant">Did you mean <a href="([^"]*)"[^>]*>', page)
            assert said is not None
            assert httpx2.URL(said[1].replace("&amp;", "&")).params["q"] == HOSTILE_TOPIC
            assert "<script>alert(1)</script>" not in page
            assert "(2 passages)" in page
        meant = client.get(f"/?{link}")
        assert meant.status_code == 200
        assert "Did you mean" not in meant.text
