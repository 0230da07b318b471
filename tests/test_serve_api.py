"""The HTTP API over real HTTP: what it answers, what it refuses, and its description."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tries import tries

pytest.importorskip("starlette", reason="starlette is not installed")

from asking_fixture import VOTING, example_index, service_of
from chat_server import ChatServer
from page_fixture import served
from pnyx.cases.options import ArgueSpec
from pnyx.core.spec import opts_of
from pnyx.judging.tasks import TASKS
from pnyx.search.options import SearchSpec
from pnyx.web.api.openapi import described
from pnyx.web.api.rows import ROWS
from pnyx.web.ask.application import build_asking
from pnyx.web.ask.choices import LONGEST, MOST_HITS, MOST_ITEMS, open_fields

ITEM = {"id": "1", "text": "Fares fell and ridership rose.", "statement": "Ridership rose."}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with (
        pytest.MonkeyPatch.context() as patch,
        service_of() as service,
        served(build_asking(service, warm=False)) as address,
        httpx2.Client(base_url=address, timeout=120) as client,
    ):
        patch.delenv("PNYX_LLM", raising=False)
        yield client


def refused(answer, status=422):
    """The one line that an answer gives as the error."""
    assert answer.status_code == status, answer.text
    error = ROWS["Error"].model_validate(answer.json()).error
    assert error.status == status
    assert "\n" not in error.message
    return error.message


def test_a_search_says_why_each_document_is_where_it_is(client):
    answer = client.get("/v1/search", params={"q": VOTING, "k": 3, "model": "touche"})
    found = ROWS["Search"].model_validate(answer.json())
    assert [hit.rank for hit in found.hits] == [1, 2, 3]
    for hit in found.hits:
        assert hit.why.value == pytest.approx(hit.score)
        r, c, q = hit.why.parts
        assert hit.score == pytest.approx(r.value * c.value * q.value)
        assert hit.quality == pytest.approx(q.raw)
        if hit.label is not None:  # the corpus's topic is the question itself
            assert hit.label.stance == hit.stance
    assert sum(facet.count for facet in found.facets) <= 100


def test_a_facet_narrows_the_results(client):
    everything = client.get("/v1/search", params={"q": VOTING, "k": 100}).json()
    one = everything["facets"][1]
    narrowed = client.get(
        "/v1/search", params={"q": VOTING, "k": 100, "facet": one["number"]}
    ).json()
    assert len(narrowed["hits"]) == one["count"]
    assert {hit["cluster"]["number"] for hit in narrowed["hits"]} == {one["number"]}
    assert narrowed["facets"] == everything["facets"]


def test_sides_are_told_where_they_are_asked_for(client):
    asked = {"q": "Is it right to make people vote?", "stance": "con", "depth": 5, "k": 5}
    found = ROWS["Search"].model_validate(client.get("/v1/search", params=asked).json())
    assert {hit.side for hit in found.hits} <= {"pro", "con", "neutral", None}
    assert all(hit.side_by for hit in found.hits if hit.side)


def test_perspectives_are_covered_missing_or_unscored(client):
    found = client.get("/v1/perspectives", params={"q": VOTING, "k": 2, "count": 3})
    covered = ROWS["Coverage"].model_validate(found.json())
    assert len(covered.perspectives) <= 3
    assert len(covered.documents) == 2
    for one in covered.perspectives:
        assert (one.state == "covered") == bool(one.documents)
        assert (one.scored, one.asked) == (2, 2)
    assert "BERDS" in covered.card


def test_an_argument_is_what_the_command_prints(client, call, own_place):
    answer = client.post("/v1/argue", json={"question": VOTING, "points": 1, "stance": "pro"})
    case = answer.json()
    ROWS["Case"].model_validate(case)
    status, printed, _ = call(
        "argue", example_index(), VOTING, "--points", 1, "--stance", "pro", "--json"
    )
    assert status == 0
    command = json.loads(printed)
    command["settings"].pop("index")
    case["settings"].pop("index")
    assert case == command


def events_of(lines):
    found, name = [], ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            found.append((name, json.loads(line.removeprefix("data: "))))
    return found


def test_the_steps_of_an_argument_are_streamed(client):
    asked = {"question": VOTING, "points": 2, "search": {"model": "bm25", "k1": 0.9}}
    headers = {"accept": "text/event-stream"}
    with client.stream("POST", "/v1/argue", json=asked, headers=headers) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        steps = events_of(answer.iter_lines())
    names = [name for name, _ in steps]
    assert names[0] == "found"
    assert names[-1] == "case"
    case = ROWS["Case"].model_validate(steps[-1][1])
    assert "bm25" in case.settings["search"]
    for side in case.sides:
        told = [
            known for name, known in steps if name == "sentence" and known["side"] == side.stance
        ]
        assert [one["text"] for one in told] == [s["text"] for s in side.response["answer"]]
    # Asked again, it is the same argument, kept.
    assert client.post("/v1/argue", json=asked).json() == steps[-1][1]


def test_a_stream_refuses_by_its_status(client):
    headers = {"accept": "text/event-stream"}
    answer = client.post("/v1/argue", json={"question": VOTING, "points": 0}, headers=headers)
    assert "points" in refused(answer)


def test_items_are_judged_as_by_pnyx_judge(client, call, own_place):
    items = [ITEM, {**ITEM, "id": "2", "statement": "Fares rose.", "group": "g", "mine": [1]}]
    answer = client.post("/v1/judge", json={"task": "support", "items": items})
    judged = ROWS["Answers"].model_validate(answer.json())
    Path("items.jsonl").write_text("\n".join(map(json.dumps, items)), encoding="utf-8")
    assert call("judge", "support", "items.jsonl", "--out", "out")[0] == 0
    lines = Path("out/answers.jsonl").read_text(encoding="utf-8").splitlines()
    assert answer.json()["answers"] == list(map(json.loads, lines))
    assert (judged.counts.asked, judged.counts.scored) == (2, 2)


def test_what_is_unscored_is_no_number(client):
    hard = {"id": "1", "text": "...", "question": "Is tea healthy?", "stance": "pro"}
    judged = client.post("/v1/judge", json={"task": "stance", "items": [hard]}).json()
    (line,) = judged["answers"]
    assert line["value"] is line["probability"] is None
    assert line["unscored"]
    assert judged["counts"] == {
        "asked": 1, "scored": 0, "unscored": 1, "reasons": {line["unscored"].split(":")[0]: 1}
    }  # fmt: skip


@pytest.mark.parametrize("task", TASKS)
def test_every_task_is_answered_or_refused_in_a_line(client, task):
    item = json.loads(TASKS[task].example)
    answer = client.post("/v1/judge", json={"task": task, "items": [item]})
    if answer.status_code == 200:
        ROWS["Answers"].model_validate(answer.json())
    else:
        assert "language model" in refused(answer)


# What is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "q: expected a question"),
        ("q=", "found no words"),
        ("q=%20%0a", "found no words"),
        ("q=x&q=y", "given twice"),
        ("q=x&k=0", "from 1 to 100"),
        ("q=x&k=101", "from 1 to 100"),
        ("q=x&k=ten", "found 'ten'"),
        ("q=x&k=1e1", "found '1e1'"),
        ("q=x&k=-1", "found '-1'"),
        ("q=x&k=%D9%A1", "expected a number"),  # a digit, but no ASCII one
        ("q=x&facet=-1", "facet"),
        ("q=x&model=evil", "SearchSpec.model"),
        ("q=x&mu=nan", "mu"),
        ("q=x&model=bm25&mu=5", "mu"),
        ("q=x&wc=x", "SearchSpec.wc"),
        ("q=x&depth=100000", "at most 1000"),
        ("q=x&bogus=1", "'bogus' is not a field"),
        ("q=x&perspectives=/etc/passwd&diversify=perspectives", "not a field that a request may"),
        ("q=x&embedder=http://127.0.0.1:1/v1%23m", "not a field that a request may choose"),
        ("q=x&lam=0.5", "requires"),
        ("q=x&" + "&".join(f"topic={n}" for n in range(21)), "at most 20"),
    ],
)
def test_searches_that_cannot_be(client, query, said):
    assert said in refused(client.get(f"/v1/search?{query}"))


def test_fifty_perspectives_may_be_asked_for(client):
    for count, status in ((50, 200), (51, 422)):
        answer = client.get("/v1/perspectives", params={"q": VOTING, "k": 2, "count": count})
        assert answer.status_code == status, answer.text


def test_long_questions_are_refused(client):
    assert client.get("/v1/search", params={"q": "x" * LONGEST}).status_code == 200
    assert "at most 2,000" in refused(client.get("/v1/search", params={"q": "x" * (LONGEST + 1)}))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "question: expected"),
        ({"question": 7}, "expected a text"),
        ({"question": ["x"]}, "expected a text"),
        ({"question": "x", "points": "many"}, "points"),
        ({"question": "x", "points": True}, "points: found true"),
        ({"question": "x", "points": 10**9}, "at most 20"),
        ({"question": "x", "stance": "left"}, "stance"),
        ({"question": "x", "examples": "/etc/passwd"}, "not a field that a request may choose"),
        ({"question": "x", "store": "x"}, "not a field that a request may choose"),
        ({"question": "x", "llm": ["http://127.0.0.1:1/v1#m"]}, "not a field"),
        ({"question": "x", "writer": "llm"}, "requires --llm"),
        ({"question": "x", "search": "bm25"}, "search: expected an object"),
        ({"question": "x", "search": {"stance": "pro"}}, "search.stance"),
        ({"question": "x", "search": {"perspectives": "/x"}}, "not a field"),
        ({"question": "x", "\u202eevil\x00": 1}, "not a field"),
        ({"question": "\ud800"}, "invalid UTF-8"),
    ],
)
def test_arguments_that_cannot_be(client, body, said):
    content = json.dumps(body)
    headers = {"content-type": "application/json"}
    message = refused(client.post("/v1/argue", content=content, headers=headers))
    assert said in message
    assert message.isprintable()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"items": [ITEM]}, "task"),
        ({"task": "evil", "items": [ITEM]}, "expected one of: support"),
        ({"task": ["support"], "items": [ITEM]}, "name of a task"),
        ({"task": "support"}, "a list of at least one"),
        ({"task": "support", "items": {}}, "a list of at least one"),
        ({"task": "support", "items": ["x"]}, "items[0]: found 'x'"),
        ({"task": "support", "items": [{"id": "1"}]}, "items[0]: no text"),
        ({"task": "support", "items": [ITEM, ITEM]}, "items[1]: repeats the id of items[0]"),
        ({"task": "support", "items": [{**ITEM, "text": 7}]}, "items[0]: text"),
        ({"task": "support", "items": [ITEM] * (MOST_ITEMS + 1)}, "at most 256"),
        (
            {"task": "support", "items": [ITEM], "options": {"prompt": "/etc/passwd"}},
            "not an option",
        ),
        ({"task": "support", "items": [ITEM], "options": {"judge": ["/"]}}, "not an option"),
        ({"task": "support", "items": [ITEM], "options": {"cheap": "/"}}, "not an option"),
        ({"task": "support", "items": [ITEM], "options": {"llm": "x"}}, "not an option"),
        ({"task": "support", "items": [ITEM], "options": {"samples": 5}}, "requires a language"),
        ({"task": "support", "items": [ITEM], "options": {"format": "x"}}, "one way only"),
        ({"task": "support", "items": [ITEM], "options": [1]}, "options: expected an object"),
        ({"task": "support", "items": [ITEM], "out": "/tmp/x"}, "'out' is not a field"),
    ],
)
def test_items_that_cannot_be(client, body, said):
    assert said in refused(client.post("/v1/judge", json=body))


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "application/json"),
        (b"{", "application/json"),
        (b"[]", "application/json"),
        (b'{"question": NaN}', "application/json"),
        (b"\xff\xfe", "application/json"),
        (b"[" * 100_000, "application/json"),
        (b'{"question": "x"}', "text/plain"),
        (b"question=x", "application/x-www-form-urlencoded"),
    ],
)
def test_bodies_that_cannot_be_read(client, content, kind):
    refused(client.post("/v1/argue", content=content, headers={"content-type": kind}), 400)


def test_other_methods_and_places(client):
    for method, path in (("POST", "/v1/search"), ("GET", "/v1/argue"), ("DELETE", "/v1/judge")):
        assert refused(client.request(method, path), 405)
    assert refused(client.get("/v1/nothing"), 404)


_NAMES = [field.name for field, _ in open_fields(SearchSpec)]


@given(
    question=st.text(max_size=60),
    row=st.dictionaries(
        st.sampled_from([*_NAMES, "k", "facet"]) | st.text(max_size=8),
        st.text(max_size=8) | st.integers().map(str) | st.floats().map(str),
        max_size=3,
    ),
)
@settings(max_examples=tries(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_parameters_are_answered_or_refused_in_a_line(client, question, row):
    if {"rerank", "stance", "diversify", "threshold"} & row.keys():
        row["depth"] = "2"
    query = {k: v for k, v in row.items() if k != "q"}
    params = [
        (k.encode("utf-8", "replace"), v.encode("utf-8", "replace")) for k, v in query.items()
    ]
    params.append((b"q", question.encode("utf-8", "replace")))

    answer = client.get(f"/v1/search?{urlencode(params)}")
    if answer.status_code == 200:
        ROWS["Search"].model_validate(answer.json())
    else:
        assert refused(answer).isprintable()


# Its description ----------------------------------------------------------------------------------


def test_the_description_is_valid():
    validator = pytest.importorskip(
        "openapi_spec_validator", reason="openapi-spec-validator is not installed"
    )
    validator.validate(described(), cls=validator.OpenAPIV31SpecValidator)


def test_each_route_is_described_and_each_described_route_answers(client):
    from starlette.routing import Route

    from pnyx.web.api.routes import api_routes

    known = {
        (route.path, method.lower())
        for route in api_routes(None)
        if isinstance(route, Route)
        for method in route.methods - {"HEAD"}
    }
    told = {(p, method) for p, one in described()["paths"].items() for method in one}
    assert told == known | {("/healthz", "get")}
    assert client.get("/v1/openapi.json").json() == json.loads(json.dumps(described()))
    bodies = {
        "/v1/argue": {"question": VOTING, "stance": "con", "points": 1},
        "/v1/judge": {"task": "support", "items": [ITEM]},
    }
    asked = {"q": VOTING, "k": 1, "count": 1}
    for path, method in sorted(told):
        params = asked if method == "get" and path.startswith("/v1/") else {}
        body = {"json": bodies[path]} if method == "post" else {}
        if path == "/v1/search":
            params = {"q": VOTING, "k": 1}
        answer = client.request(method, path, params=params, **body)
        assert answer.status_code == 200, (path, answer.text)
        content = described()["paths"][path][method]["responses"]["200"]["content"]
        schema = content["application/json"]["schema"]
        if "$ref" in schema:
            ROWS[schema["$ref"].rpartition("/")[2]].model_validate(answer.json())


def test_every_path_and_every_field_is_documented():
    def walk(value, place):
        if isinstance(value, dict):
            for name, one in value.get("properties", {}).items():
                assert one.get("description") or "$ref" in one, (place, name)
            for key, one in value.items():
                walk(one, (*place, key))
        elif isinstance(value, list):
            for number, one in enumerate(value):
                walk(one, (*place, number))

    whole = described()
    walk(whole, ())
    for path, operations in whole["paths"].items():
        for operation in operations.values():
            assert operation["summary"], path
            assert all(one["description"] for one in operation.get("parameters", ()))
            assert all(one["description"] for one in operation["responses"].values())
    for name, schema in whole["components"]["schemas"].items():
        assert schema["description"], name


@pytest.mark.parametrize("spec", [SearchSpec, ArgueSpec])
def test_requests_name_no_file_and_no_address(spec):
    opened = {field.name for field, _ in open_fields(spec)}
    closed = {field.name for field, told in opts_of(spec)} - opened
    assert (
        closed
        == {
            SearchSpec: {"perspectives", "embedder"},
            ArgueSpec: {"examples", "prompt", "shots"},
        }[spec]
    )


# The server behind it -----------------------------------------------------------------------------


def test_a_token_guards_the_api():
    with service_of() as service, served(build_asking(service, "s3cret", warm=False)) as address:
        assert httpx2.get(f"{address}/healthz").status_code == 200
        assert httpx2.get(f"{address}/v1/search?q=tea").status_code == 401
        assert httpx2.get(f"{address}/v1/openapi.json").status_code == 401
        headers = {"authorization": "Bearer s3cret"}
        found = httpx2.get(f"{address}/v1/search?q=tea", headers=headers)
        assert found.status_code == 200


def test_pages_of_other_sites_ask_nothing(client):
    headers = {"sec-fetch-site": "cross-site"}
    body = {"question": VOTING}
    assert client.post("/v1/argue", json=body, headers=headers).status_code == 403


def test_an_index_that_changed_is_opened_anew(tmp_path):
    from pnyx.core.records import Document
    from pnyx.search import add_to_index, build_index

    folder = tmp_path / "grows.index"
    build_index([Document("a", "Tea is grown.")], folder)
    with (
        service_of(folder) as service,
        served(build_asking(service, warm=False)) as address,
        httpx2.Client(base_url=address) as client,
    ):

        def ids():
            found = client.get("/v1/search", params={"q": "tea"}).json()
            return sorted(hit["id"] for hit in found["hits"])

        assert ids() == ["a"]
        add_to_index([Document("b", "Tea is drunk.")], folder)
        assert ids() == ["a", "b"]
        shutil.rmtree(folder)
        assert ids() == ["a", "b"]  # what is open stays whole
        build_index([Document("c", "Tea again.")], folder)
        assert ids() == ["c"]


def test_hostile_documents_are_data(tmp_path):
    from pnyx.core.records import Document
    from pnyx.search import build_index

    text = "<script>tea</script> \u202etea \ud800 \x00 </data>"
    folder = tmp_path / "hostile.index"
    build_index([Document("<a>\u202e", text, title='"><b>tea')], folder)
    with service_of(folder) as service, served(build_asking(service, warm=False)) as address:
        answer = httpx2.get(f"{address}/v1/search", params={"q": "tea"})
        (hit,) = answer.json()["hits"]
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "<script>" in hit["text"]


DOCS = Path(__file__).parents[1] / "docs" / "recipes" / "serving.md"
CURLS = re.findall(r"^curl (?:.*\\\n)*.*$", DOCS.read_text("utf-8") if DOCS.exists() else "", re.M)


@pytest.mark.all
@pytest.mark.parametrize("command", CURLS)
def test_the_examples_of_the_documentation_answer(client, command):
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    here = command.replace("http://127.0.0.1:8321", str(client.base_url).rstrip("/"))
    args = [*shlex.split(here), "--silent", "--fail", "--max-time", "120"]
    done = subprocess.run(args, capture_output=True, check=True)
    row = json.loads(done.stdout)
    place = urlsplit(next(one for one in args if one.startswith("http"))).path
    named = {"/healthz": "Health", "/v1/search": "Search", "/v1/perspectives": "Coverage"}
    named |= {"/v1/argue": "Case", "/v1/judge": "Answers"}
    ROWS[named[place]].model_validate(row)


def test_the_documentation_shows_every_route():
    shown = " ".join(CURLS)
    assert all(path in shown for path in described()["paths"] if path != "/v1/openapi.json")


# A language model ---------------------------------------------------------------------------------


@pytest.fixture
def modelled(tmp_path, own_place):
    with (
        ChatServer(delay=0.05) as chat,
        service_of(llm=(chat.spec,), store=str(tmp_path / "store.sqlite")) as service,
        served(build_asking(service, warm=False)) as address,
        httpx2.Client(base_url=address, timeout=120) as client,
    ):
        yield client, chat


SMALL = {"question": VOTING, "points": 1, "retrieve": 6, "asked": 4, "per_side": 3}


@pytest.mark.all
def test_who_leaves_loses_nothing_that_was_paid_for(modelled):
    client, chat = modelled
    address = urlsplit(str(client.base_url))
    body = json.dumps(SMALL).encode()
    head = (
        f"POST /v1/argue HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/json\r\n"
        f"Accept: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.sendall(head.encode() + body)
        connection.settimeout(60)
        seen = b""
        while seen.count(b"event: judging") < 2:  # the first tells what is asked
            seen += connection.recv(65536)
    until = time.monotonic() + 120
    while True:  # it ends at its next step
        before = len(chat.asked())
        time.sleep(0.5)
        if len(chat.asked()) == before or time.monotonic() > until:
            break
    paid = set(chat.answered())
    assert paid
    case = client.post("/v1/argue", json=SMALL).json()
    assert ROWS["Case"].model_validate(case).weighed is not None
    # Every answer that had come was kept: none was asked for twice.
    answered = chat.answered()
    assert len(answered) == len(set(answered))
    assert set(answered) >= paid  # a fast model may have answered everything before
    count = len(answered)
    again = client.post("/v1/argue", json=SMALL).json()
    assert again == case
    assert len(chat.answered()) == count


def test_the_same_asked_at_once_is_asked_once(modelled):
    client, chat = modelled
    found = []

    def ask():
        found.append(client.post("/v1/argue", json=SMALL).json())

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(one == found[0] for one in found)
    answered = chat.answered()
    assert len(answered) == len(set(answered))


def test_a_model_judges_items_by_the_formats_that_are_chosen(modelled):
    client, chat = modelled
    body = {"task": "support", "items": [ITEM], "options": {"probability": "ask"}}
    judged = ROWS["Answers"].model_validate(client.post("/v1/judge", json=body).json())
    assert judged.counts.asked == 1
    count = len(chat.answered())
    assert count >= 1
    assert client.post("/v1/judge", json=body).json()["answers"] == json.loads(
        json.dumps([one.model_dump(exclude_unset=True) for one in judged.answers])
    )
    assert len(chat.answered()) == count


def test_a_model_that_cannot_be_used_is_a_line(tmp_path, own_place):
    with (
        ChatServer(default="401") as chat,
        service_of(llm=(chat.spec,), store=str(tmp_path / "s.sqlite")) as service,
        served(build_asking(service, warm=False)) as address,
    ):
        body = {"task": "support", "items": [ITEM]}
        answer = httpx2.post(f"{address}/v1/judge", json=body, timeout=60)
        assert re.search("401|key", refused(answer, 502))


def test_limits_are_those_that_are_told():
    told = described()["paths"]["/v1/search"]["get"]["parameters"]
    by_name = {one["name"]: one for one in told}
    assert by_name["k"]["schema"]["maximum"] == MOST_HITS
    assert by_name["q"]["required"]
    assert by_name["depth"]["schema"]["maximum"] == 1000


@pytest.mark.all
def test_claims_that_are_sent_are_judged(client):
    pair = ["Nobody should be made to vote.", "Everybody should have to vote."]
    asked = {"question": VOTING, "claims": pair}
    assert client.post("/v1/argue", json=asked).json()["claims"] == pair
    form = {"q": VOTING, "pro": pair[0], "con": pair[1]}
    client.post("/argue", data=form, headers={"origin": str(client.base_url).rstrip("/")})
    finished = client.get("/argue/wait", params=form, follow_redirects=True)
    assert f'name="pro" value="{pair[0]}"' in finished.text
    assert f'name="con" value="{pair[1]}"' in finished.text
    refused(client.post("/v1/argue", json={**asked, "claims": ["A.", "a."]}))


@pytest.mark.all
def test_what_yes_or_no_cannot_answer_is_asked_back_in_the_form(client):
    question, line = "How many people vote?", "cannot be answered with yes or no"
    assert line in refused(client.post("/v1/argue", json={"question": question}))
    claims = ["Many people vote.", "Few people vote."]
    asked = {"question": question, "claims": claims}
    assert client.post("/v1/argue", json=asked).json()["claims"] == claims
    origin = {"origin": str(client.base_url).rstrip("/")}
    for page in (
        client.get("/", params={"q": question}),
        client.post("/argue", data={"q": question}, headers=origin, follow_redirects=True),
    ):
        assert page.status_code == 200
        form = page.text.split('<form class="ask"')[1].split('<header class="asked">')[0]
        assert line in form
        assert "Write the argument" not in page.text
        assert 'hx-trigger="load"' not in page.text.split('id="perspectives"')[0]
    usual = client.get("/", params={"q": VOTING}).text
    assert line not in usual
    assert "Write the argument" in usual


@pytest.mark.all
def test_both_sides_are_named_by_their_answers_on_the_pages(client):
    origin = {"origin": str(client.base_url).rstrip("/")}
    for question, headings in (
        (VOTING, ("The case for yes", "The case for no")),
        (
            "Should we take the train or the car?",
            ("The case for the train", "The case for the car"),
        ),
    ):
        making = client.post("/argue", data={"q": question}, headers=origin, follow_redirects=True)
        finished = client.get("/argue/wait", params={"q": question}, follow_redirects=True)
        for page in (making, finished):
            assert all(f">{heading}</h2>" in page.text for heading in headings)
            assert "I read this as" not in page.text
        assert 'name="pro" value=""' in finished.text
    found = client.post("/sides", data={"q": question}, headers=origin, follow_redirects=True).text
    assert "For the train" in found
    assert "Against" not in found


def test_a_page_compares_the_topics_that_the_api_leaves_out(tmp_path):
    """The page says how near the topic of a label is; the API only what counts."""
    from pnyx.core.records import Argument
    from pnyx.search import build_index

    folder, question = tmp_path / "labelled.index", "Is it right to pay for sex?"
    topic = "Prostitution should be legal"
    build_index([Argument("a", "Sex work is work.", stance="pro", topic=topic)], folder)
    with service_of(folder) as service, served(build_asking(service, warm=False)) as address:
        query = {"q": question, "k": 20}  # as many as the page shows, so that it is the same search
        (hit,) = httpx2.get(f"{address}/v1/search", params=query).json()["hits"]
        assert hit["label"]["topic"] == topic
        assert hit["label"]["same"] is None
        page = httpx2.get(f"{address}/", params={"q": question}).text
    assert re.search(rf"labelled pro on “{topic}”, (perhaps this|another) question \(p", page)
