"""The pages of an argument over HTTP: its request, its steps in words, its files."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import httpx2
import pytest

pytest.importorskip("starlette", reason="starlette is not installed")

from case_fixture import build_case
from page_fixture import served
from pnyx.core.errors import PnyxError
from pnyx.web.application import build_app
from pnyx.web.ask import arguments
from pnyx.web.ask.arguments import ArgumentPages
from pnyx.web.ask.job import Step
from pnyx.web.rendering import Site

QUESTION = "Should parks stay?"
CLAIMS = {"pro": "Parks are useful.", "con": "Parks are costly."}
STEPS = [
    ("found", {"documents": 1}),
    ("judging", {"done": 3, "asked": 7, "unscored": 0}),
    ("sides", {"pro": 2, "con": 1, "undecided": 4, "passed_over": 5}),
    ("writing", {"side": "con", "documents": 2}),
    ("sentence", {"side": "con", "place": 0, "text": "A\nB.", "role": None, "citations": ["d"]}),
    ("written", {"side": "con", "sentences": 1}),
    ("judged", {"side": "con", "scored": 1, "asked": 2}),
    ("judged", {"side": "pro", "scored": 0, "asked": 0}),
]
CON = "“Parks are costly”"
SHOWN = [
    {"name": "found", "side": None, "said": "1 document found; deciding which side each is on"},
    {"name": "judging", "side": None, "said": "3 of 7 verdicts so far", "done": 3, "asked": 7},
    {
        "name": "sides",
        "side": None,
        "said": "2 for “Parks are useful”, 1 for “Parks are costly”, 4 undecided, 5 on neither",
    },
    {
        "name": "writing",
        "side": "con",
        "said": f"Writing the case for {CON}",
        "note": "from 2 documents",
    },
    {"name": "sentence", "side": "con", "text": "A B.", "role": "", "cites": "1 citation"},
    {
        "name": "written",
        "side": "con",
        "said": f"Checking the citations of the case for {CON}",
        "note": "1 sentence",
    },
    {
        "name": "judged",
        "side": "con",
        "said": f"Finished: the case for {CON}",
        "note": "1 of 2 citations have a verdict",
    },
    {"name": "judged", "side": "pro", "said": "Finished: the case for “Parks are useful”"},
]


class Service:
    """Argues in these steps; after them with a case, or an error."""

    model_name = ""

    def __init__(self, error: str = "", pause: float = 0) -> None:
        self.error, self.pause = error, pause

    async def argue(self, question, row):
        await asyncio.sleep(self.pause)
        for name, values in STEPS:
            yield Step(name, values)
        if self.error:
            raise PnyxError(self.error)
        yield Step("case", case=build_case())


@pytest.fixture
def client():
    service = Service()
    app = build_app(ArgumentPages(service).routes(), Site("test"))
    with served(app) as address, httpx2.Client(base_url=address, timeout=20) as http:
        yield SimpleNamespace(http=http, service=service)


def events_of(client, query):
    """Return the comments and the events (name, values) of an argument."""
    stream = client.http.get("/argue/events", params=query).text
    blocks = [block.splitlines() for block in stream.strip().split("\n\n")]
    events = [
        (block[0].removeprefix("event: "), json.loads(block[1].removeprefix("data: ")))
        for block in blocks
        if not block[0].startswith(":")
    ]
    return [block[0] for block in blocks if block[0].startswith(":")], events


def test_an_argument_is_shown_step_by_step_and_has_files(client):
    query = {"q": QUESTION, **CLAIMS}
    assert client.http.get("/argue/events", params=query).status_code == 404  # not yet requested
    page = client.http.post("/argue", data=query, follow_redirects=True)
    assert f"The case for {CON}<" in page.text
    comments, events = events_of(client, query)
    assert comments == []
    assert [values for name, values in events if name == "step"] == SHOWN
    assert events[-1][0] == "end"
    address = events[-1][1]["href"]
    case = build_case()
    lines = client.http.get(f"{address}/argument.jsonl").text.splitlines()
    assert [json.loads(line)["references"] for line in lines] == [
        list(side.response.references) for side in case.sides
    ]
    assert client.http.get(f"{address}/argument.md").text.startswith(f"# {case.question.text}")
    report = client.http.get(f"{address}/argument.html")
    assert report.headers["content-disposition"] == 'attachment; filename="argument.html"'
    for path, message in (
        (f"{address}/other", "There is no such file for an argument."),
        ("/argument/0", "the server keeps only the latest 64. Ask the question again."),
    ):
        answer = client.http.get(path)
        assert (answer.status_code, message in answer.text) == (404, True)


def test_a_failed_argument_ends_in_its_message_and_a_slow_one_stays_alive(client, monkeypatch):
    monkeypatch.setattr(arguments, "_BEAT", 0.05)
    client.service.error, client.service.pause = "the model  is away", 0.2
    client.http.post("/argue", data={"q": QUESTION})
    comments, events = events_of(client, {"q": QUESTION})
    assert set(comments) == {": still at it"}
    assert events[-1] == ("fail", {"said": "the model is away"})
    assert "end" not in dict(events)


def test_a_question_without_sides_goes_back_to_its_form_unless_it_has_claims(client):
    query = {"q": "What is a park?"}
    answer = client.http.post("/argue", data=query)
    assert (answer.status_code, answer.headers["location"]) == (303, "/?q=What+is+a+park%3F")
    assert client.http.get("/argue/events", params=query).status_code == 404
    answer = client.http.post("/argue", data=query | CLAIMS)
    assert answer.headers["location"].startswith("/argue?q=What")
    answer = client.http.post("/argue", data=query | {"pro": "Parks are useful."})
    assert answer.status_code == 400
