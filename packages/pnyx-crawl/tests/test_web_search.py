"""Searching: serper.dev's API over real HTTP, and files of results."""

from __future__ import annotations

import contextlib
import io
import json
import time
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.errors import InputError, PnyxError
from pnyx.core.files import clean_text
from pnyx.core.records import Question
from pnyx.formats.runs.search_results import (
    QuestionResults,
    SearchResult,
    read_search_results,
    write_search_results,
)
from pnyx.models.http.responses import RetryPolicy
from pnyx_crawl.archive import Archive
from pnyx_crawl.search import (
    APIS,
    SearchApi,
    Searched,
    SearchFailedError,
    Serper,
    look_up,
    read_serper,
    search_all,
)
from web_server import SearchServer

QUICK = RetryPolicy(
    timeout=60.0, attempts=3, connect_attempts=2, first_wait=0.01, longest_wait=0.02
)
URLS = [f"https://example.org/{i}" for i in range(40)]


def search(server: SearchServer, query: str = "tea", count: int = 10, page: int = 1):
    kept: list[tuple[list[SearchResult], bytes]] = []

    async def main() -> None:
        api = Serper("secret-key", server.url, QUICK)
        try:
            await api.search(query, count, page, lambda *found: kept.append(found))
        finally:
            await api.close()

    anyio.run(main)
    (found,) = kept
    return found


def test_serper_is_asked_as_it_wants_to_be():
    with SearchServer({"tea": URLS}) as server:
        results, raw = search(server, count=20)
        search(server, count=500, page=3)
    assert server.queries == [{"q": "tea", "num": 20}, {"q": "tea", "num": 100, "page": 3}]
    path, headers = server.asked[0]
    assert path == "/search"
    assert headers["x-api-key"] == "secret-key"
    assert headers["content-type"] == "application/json"
    assert "authorization" not in headers
    assert results[1] == SearchResult(URLS[1], "Title 2", "Snippet 2", 2)
    assert len(results) == 10
    assert json.loads(raw)["credits"] == 1


@pytest.mark.parametrize(
    "script",
    [
        [500],
        [429, 503],
        [408, 425],
        ["hang up"],
        [b"<html>"],
        [b'{"organic": 7}'],
        [b"[" * 100_000],
    ],
)
def test_what_may_pass_is_tried_again(script):
    with SearchServer({"tea": URLS}, script) as server:
        results, _ = search(server)
    assert len(results) == 10
    assert len(server.queries) == len(script) + 1


@pytest.mark.parametrize(
    ("script", "reason", "attempts"),
    [
        ([500] * 9, "HTTP 500: .*(3 attempts)", 3),
        ([429] * 9, "HTTP 429", 3),
        ([422] * 9, "HTTP 422: .*bad query", 1),
        ([b'{"message": "odd"}'] * 9, "malformed: found .*expected an object with a list", 2),
        ([b""] * 9, "malformed", 2),
    ],
)
def test_a_query_that_fails_for_good_fails_alone(script, reason, attempts):
    with SearchServer({}, script) as server, pytest.raises(SearchFailedError, match=reason):
        search(server)
    assert len(server.queries) == attempts


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, r"the key is refused or missing \(set SERPER_API_KEY\)"),
        (403, "the key is refused"),
        (400, "the account has no credits left"),
        (402, "payment is required"),
        (404, "the address is not that of the API"),
        (405, "the address is not that of the API"),
        (302, "keys are not sent on"),
    ],
)
def test_an_api_that_will_never_answer_ends_the_search_and_no_message_holds_the_key(status, reason):
    with SearchServer({}, [status] * 9) as server, pytest.raises(PnyxError, match=reason) as caught:
        search(server)
    assert len(server.queries) == 1
    assert f"HTTP {status}" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(Serper("secret-key"))


def test_an_api_that_is_not_there():
    with SearchServer({}) as server:
        pass
    with pytest.raises(SearchFailedError, match=r"connection: .*\(2 attempts\)"):
        search(server)


def test_a_key_and_an_address_are_needed(monkeypatch):
    monkeypatch.delenv("SERPER_API_KEY", raising=False)
    with pytest.raises(InputError, match="set SERPER_API_KEY"):
        APIS["serper"](None)
    monkeypatch.setenv("SERPER_API_KEY", "k")
    with pytest.raises(InputError, match="expected the address"):
        APIS["serper"]("google.com")
    for name, api in APIS.items():
        made = api("https://proxy.example/v1")
        assert isinstance(made, SearchApi)
        assert made.name == name


def test_what_has_no_link_is_no_result():
    entries = [{"link": "u"}, {"title": "x"}, 7, {"link": 3}, {"link": "v", "title": 1}]
    body = json.dumps({"organic": entries}).encode()
    assert read_serper(body) == [SearchResult("u", rank=1), SearchResult("v", rank=2)]
    assert read_serper(b'{"searchParameters": {}}') == []


# --- searching for questions

QUESTIONS = [Question(f"q{i}", f"query\n {i}") for i in range(3)]


def search_questions(server, path: Path, count: int, questions=QUESTIONS) -> Searched:
    found = Searched()
    api = Serper("key", server.url, QUICK)
    with Archive(path) as archive:
        anyio.run(search_all, questions, api, archive, count, found, lambda *_: None)
    return found


def test_as_many_pages_as_are_needed_and_none_twice(tmp_path):
    found = {"query 0": URLS, "query 1": URLS[:13], "query 2": []}
    with SearchServer(found) as server:
        first = search_questions(server, tmp_path / "a", 25)
        asked = len(server.queries)
        again = search_questions(server, tmp_path / "a", 25)
        assert len(server.queries) == asked == 3 + 3 + 1  # 10, 10, 5; 10, 3, none; none
        search_questions(server, tmp_path / "a", 5)
    assert (first.requests, again.requests) == (7, 0)
    assert first.results == again.results
    assert [r.url for r in first.results["q0"].results] == URLS[:25]
    assert [r.rank for r in first.results["q0"].results] == list(range(1, 26))
    assert len(first.results["q1"].results) == 13
    assert first.results["q2"].results == ()
    assert first.results["q0"].query == "query 0"
    assert len(server.queries) == asked + 3  # fewer results are another query


def test_a_question_that_fails_is_asked_again_and_its_pages_are_kept(tmp_path):
    with SearchServer({"query 0": URLS}) as server:
        server.script = []
        one = QUESTIONS[:1]
        search_questions(server, tmp_path / "a", 10, one)
        server.script = [500] * 3
        failed = search_questions(server, tmp_path / "a", 20, one)
        assert list(failed.failed) == ["q0"]
        whole = search_questions(server, tmp_path / "a", 20, one)
    assert len(whole.results["q0"].results) == 20


def test_an_api_that_answers_nothing_is_given_up(tmp_path):
    many = [Question(str(i), f"query {i}") for i in range(50)]
    with SearchServer({}, [500] * 999) as server:
        with pytest.raises(PnyxError, match="serper has answered none of the last 5 queries"):
            search_questions(server, tmp_path / "a", 10, many)
        assert len(server.queries) <= 9 * 3


# --- files of results

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(clean_text)
filled = texts.filter(str.strip)


@given(
    st.lists(
        st.builds(
            QuestionResults,
            filled,
            texts.filter(lambda t: not t or bool(t.strip())),
            st.lists(filled, max_size=3).map(
                lambda urls: tuple(SearchResult(u, rank=i) for i, u in enumerate(urls, 1))
            ),
            extra=st.dictionaries(st.sampled_from(["country", "x"]), texts, max_size=2),
        ),
        min_size=1,
        max_size=3,
        unique_by=lambda r: r.question_id,
    )
)
def test_results_are_read_as_they_were_written(tmp_path_factory, records):
    path = tmp_path_factory.getbasetemp() / "results.jsonl"
    stream = io.StringIO()
    write_search_results(stream, records)
    path.write_text(stream.getvalue(), encoding="utf-8", newline="")
    assert list(read_search_results(str(path))) == records


def test_results_may_be_plain_addresses(tmp_path):
    path = tmp_path / "r"
    path.write_text('{"question_id": 7, "results": ["https://a/", {"link": "https://b/"}]}\n')
    (found,) = read_search_results(str(path))
    assert found.question_id == "7"
    assert found.results == (SearchResult("https://a/", rank=1), SearchResult("https://b/", rank=2))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"results": []}', "no question_id"),
        ('{"question_id": "1"}', "results: found None, expected a list"),
        ('{"question_id": "1", "results": [7]}', "results[1]: found 7, expected an object"),
        ('{"question_id": "1", "results": ["u", {"title": "x"}]}', "results[2]: no url or link"),
        (
            '{"question_id": "1", "results": [{"url": "u", "title": 7}]}',
            "results[1]: title: found 7",
        ),
    ],
)
def test_bad_results_are_one_line(line, problem, tmp_path):
    path = tmp_path / "r"
    path.write_text('{"question_id": "0", "results": []}\n' + line + "\n")
    with pytest.raises(InputError) as caught:
        list(read_search_results(str(path)))
    assert str(caught.value).startswith(f"{path}:2: ")
    assert problem in str(caught.value)


def test_given_results_are_taken_as_far_as_they_are_wanted():
    known = {"q0": QuestionResults("q0", "", tuple(SearchResult(u) for u in URLS))}
    found = Searched()
    look_up(QUESTIONS, known, 3, found)
    assert [r.url for r in found.results["q0"].results] == URLS[:3]
    assert set(found.failed) == {"q1", "q2"}
    assert found.results["q0"].query == "query\n 0"


# --- the archive


def test_an_archive_is_one_processs_own_and_nothing_else(tmp_path):
    with Archive(tmp_path / "a"), pytest.raises(PnyxError, match="another process is using"):
        Archive(tmp_path / "a")
    Archive(tmp_path / "a").__exit__()
    (tmp_path / "b").write_bytes(b"no database " * 500)
    with pytest.raises(InputError, match="is damaged"):
        Archive(tmp_path / "b")
    import sqlite3

    with contextlib.closing(sqlite3.connect(tmp_path / "c")) as other:
        other.execute("CREATE TABLE x (y)")
    with pytest.raises(InputError, match="is not an archive of pnyx files web"):
        Archive(tmp_path / "c")


@pytest.mark.parametrize(
    ("seconds", "known"), [(0, True), (86_399, True), (86_401, False), (-60, False)]
)
def test_a_robots_txt_is_kept_for_a_day(tmp_path, monkeypatch, seconds, known):
    with Archive(tmp_path / "a") as archive:
        read = time.time()
        archive.keep_robots("https://a.test", "read", "User-agent: *")
        # It was written a moment after `read`, so that it is a moment younger than `seconds`.
        monkeypatch.setattr(time, "time", lambda: read + seconds + 0.5)
        expected = ("read", "User-agent: *") if known else None
        assert archive.robots("https://a.test") == expected
