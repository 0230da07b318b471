"""Pages of `pnyx serve` on a service that says what it was asked, and waits of `pnyx label`."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("starlette", reason="starlette is not installed")

from asgi_client import ask
from asking_fixture import service_of
from pnyx.core.errors import PnyxError
from pnyx.core.records import Document, LeaderboardCell
from pnyx.formats import write_leaderboard
from pnyx.formats.text.tokens import Tokenizer
from pnyx.search import build_index
from pnyx.web.application import build_app
from pnyx.web.ask.pages import Standing, Standings, _Pages, routes
from pnyx.web.ask.pool import Busy
from pnyx.web.label import label_session
from pnyx.web.label.organiser import AgreementPage, Organising
from pnyx.web.rendering import Links, Site
from pnyx.web.results.open_catalogue import open_catalogue
from pnyx.web.results.routes import address_of, rendered, show, site_of

FORM = {"content_type": "application/x-www-form-urlencoded"}


class Service:
    """Notes what it is asked; finds no document."""

    model_name = ""
    index = SimpleNamespace(tokenizer=None)

    def __init__(self) -> None:
        self.asked: list[tuple[str, object]] = []

    async def perspectives(self, question, *, k):
        self.asked.append((question, k))
        raise PnyxError("no perspectives")

    async def document(self, doc_id):
        self.asked.append(("document", doc_id))
        return


def test_perspectives_are_compared_with_ten_documents():
    service = Service()
    app = build_app(routes(service), Site("s"))  # type: ignore[arg-type]
    ask(app, b"q=Why%3F", "POST", "/perspectives", **FORM)
    status, _, text = ask(app, b"q=Why%3F&n=40", "POST", "/perspectives", hx_request="true", **FORM)
    assert (status, "Not decided: no perspectives" in text) == (200, True)
    assert service.asked == [("Why?", 10)] * 2


def test_a_document_that_is_not_there_is_named_with_200_characters():
    service = Service()
    app = build_app(routes(service), Site("s"))  # type: ignore[arg-type]
    status, _, text = ask(app, b"", "GET", "/doc", f"id={'x' * 201}")
    assert (status, f"no document &#39;{'x' * 200}&#39;." in text) == (404, True)
    assert ask(app, b"", "GET", "/doc/d1")[0] == 404
    assert service.asked == [("document", "x" * 201), ("document", "d1")]


def test_a_page_says_how_many_are_on_each_side_and_how_long_that_takes(monkeypatch):
    monkeypatch.setattr("pnyx.web.ask.pages.size_of", lambda _: "9 documents")
    pages = _Pages(Service())  # type: ignore[arg-type]
    results = [SimpleNamespace(standing=side) for side in ("pro", "pro", "con", "off", "")]
    assert pages._said([], None, 0.1) == "Nothing was found."
    assert pages._said(results, None, 0.126) == (
        "5 of 9 documents, found in 0.13 s. Deciding their sides takes some seconds."
    )
    for pace, wait in ((0.1, "1 s"), (0.2, "1 s"), (0.8, "4 s")):
        pages._pace = pace
        assert pages._said(results, None, 0.1).endswith(f"Deciding their sides takes about {wait}.")
    assert pages._said(results, Standing({}, 1.25), 0.1) == (
        "5 of 9 documents: 2 for, 1 against, 0 undecided, 1 about something else. "
        "Sides decided in 1.2 s."
    )


def test_sides_of_a_question_are_decided_once():
    calls = []

    class Known(Service):
        opened = SimpleNamespace(state=(1,))

        async def work(self, work):
            calls.append(1)
            return Standing({}, 0.5)

    async def main():
        standings = Standings(Known())  # type: ignore[arg-type]
        assert standings.known("Why?", 20) is None
        await standings.tell("Why?", 20)
        await standings.tell("Why?", 20)
        assert standings.known("Why?", 20) == Standing({}, 0.5)
        assert standings.known("Why?", 40) is None
        await standings.tell("Why?", 40)

    asyncio.run(main())
    assert len(calls) == 2


class Deciding(Service):
    """Decides nothing in half a second."""

    opened = SimpleNamespace(state=(1,))
    index = SimpleNamespace(tokenizer=Tokenizer())

    async def work(self, work):
        return Standing({}, 0.5)

    async def search(self, question, *, k, every_topic):
        self.asked.append((question, k, every_topic))
        return SimpleNamespace(hits=(), problems=("A\nproblem.",))

    def described(self):
        return ("one document",)

    def known_perspectives(self, question, *, k):
        self.asked.append((question, k))


def test_sides_are_a_part_of_the_page_for_a_script_and_else_a_page():
    service = Deciding()
    app = build_app(routes(service), Site("s"))  # type: ignore[arg-type]
    form = b"q=Why%3F&n=40"
    status, headers, _ = ask(app, form, "POST", "/sides", **FORM)
    assert (status, headers["location"], service.asked) == (303, "/?q=Why%3F&n=40", [])
    status, _, text = ask(app, form, "POST", "/sides", hx_request="true", **FORM)
    assert (status, "<html" in text, "Nothing was found." in text) == (200, False, True)
    assert service.asked == [("Why?", 40, True)]
    status, _, text = ask(app, b"", "GET", "/", "q=Why%3F")
    assert (status, "A problem." in text) == (200, True)
    assert service.asked[1:] == [("Why?", 20, True), ("Why?", 10)]


def fill(pool, most: int) -> None:
    async def main() -> None:
        go = threading.Event()
        waiting = [asyncio.ensure_future(pool.run(lambda: go.wait(20))) for _ in range(most)]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await pool.run(lambda: None)
        go.set()
        assert all(await asyncio.gather(*waiting))

    asyncio.run(main())


def test_a_remote_index_and_a_language_model_get_more_threads(monkeypatch, tmp_path):
    """They wait for other machines: 24 searches, and 8 arguments, besides 400 and 64 that wait."""
    monkeypatch.setattr("pnyx.web.ask.service.is_remote", lambda _: True)
    store, index = str(tmp_path / "store.sqlite"), tmp_path / "one.index"
    build_index([Document("one", "A text.")], index)
    model = {"llm": ("http://127.0.0.1:9/v1#m",), "store": store}  # it is not asked
    with service_of(index, **model) as service:
        assert service._quick._threads._max_workers == 24
        assert service._slow._threads._max_workers == 8
        fill(service._quick, 24 + 400)
        fill(service._slow, 8 + 64)


# Waits of labelling -------------------------------------------------------------------------------


def test_labels_are_written_again_after_ten_times_as_long_as_it_took(monkeypatch):
    now = [0.0]
    waits: list[float] = []

    def write() -> None:
        now[0] += 0.5

    file = label_session._File(write)
    monkeypatch.setattr(label_session, "time", SimpleNamespace(monotonic=lambda: now[0]))
    file._changed = SimpleNamespace(wait=lambda: None, clear=lambda: None)  # type: ignore[assignment]
    file._ended = SimpleNamespace(is_set=lambda: bool(waits), wait=waits.append)  # type: ignore[assignment]
    file._run()
    assert waits == [5.0]


def test_agreement_is_computed_again_after_five_times_as_long(monkeypatch):
    """A page waits for two seconds, then it is shown without."""
    now, limits, computed = [100.0], [], []

    def agreement(_) -> AgreementPage:
        now[0] += 2.0
        computed.append(now[0])
        return AgreementPage()

    original = asyncio.wait

    async def waiting(tasks, *, timeout):
        limits.append(timeout)
        return await original(tasks)

    monkeypatch.setattr("pnyx.web.label.organiser.agreement_of", agreement)
    fake = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("pnyx.web.label.organiser.time", fake)
    monkeypatch.setattr(asyncio, "wait", waiting)

    async def main() -> None:
        desk = SimpleNamespace(book=SimpleNamespace(count=1))
        pages = Organising(desk, None)  # type: ignore[arg-type]
        await pages._agree()
        for seconds, count in ((112.0, 2), (112.01, 2), (200.0, 2)):
            now[0], desk.book.count = seconds, count
            await pages._agree()

    asyncio.run(main())
    assert computed == [102.0, 114.01]  # at 112 it still rests, at 200 there is nothing new
    assert limits == [2.0] * 4


# Leaderboards -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("runs", "shown"), [(10, 10), (11, 10)])
def test_ten_runs_of_each_of_several_leaderboards_are_shown(tmp_path, runs, shown):
    for name in ("one", "two"):
        cells = [LeaderboardCell(f"r{n:02}", "t1", "f1", n / 100) for n in range(runs)]
        with (tmp_path / f"{name}.jsonl").open("w") as stream:
            write_leaderboard(stream, cells, "leaderboard-jsonl")
    catalogue = open_catalogue([str(tmp_path)])
    address = address_of("/leaderboard")
    page = rendered(show(catalogue, address), address, site_of(["x"]), Links())
    assert sum(f">r{n:02}<" in page for n in range(runs)) == shown
    assert ("All 11 runs" in page) is (runs > shown)
    assert ">r10<" in page or runs == 10  # the best come first
    one = address_of("/leaderboard/one/f1.up")
    rows = show(catalogue, one).values["board"].page.rows
    assert [row.name for row in rows][:2] == ["r00", "r01"]
