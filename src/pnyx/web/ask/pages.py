"""The pages of `pnyx serve`: a question, the results on each side, and one document."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pnyx.cases.open_writer import argue_plan
from pnyx.cases.page.notes import near_said
from pnyx.core.errors import PnyxError
from pnyx.core.records import Question, question_id
from pnyx.display.text import one_line
from pnyx.judging.statements import why_no_sides
from pnyx.models.http.flow import run_blocking
from pnyx.search.ranking.good_first import POOL
from pnyx.search.split_documents import size_of
from pnyx.search.topics import labelled_topics, near_topics
from pnyx.web.application import html, not_found, see, sent_form
from pnyx.web.ask.address import SearchQuery, read_search_query
from pnyx.web.ask.arguments import ArgumentPages
from pnyx.web.ask.coverage import coverage_values
from pnyx.web.ask.document_content import document_view
from pnyx.web.ask.examples import example_questions
from pnyx.web.ask.highlights import Marker
from pnyx.web.ask.pool import SharedResults, while_there
from pnyx.web.ask.views import ResultView, result_views, results_view
from pnyx.web.rendering import Links

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from pnyx.cases.side_choice import PlacedPassage
    from pnyx.web.ask.service import AskService


_KEPT: Final = 128


@dataclass(frozen=True, slots=True)
class Standing:
    """The sides of the best documents."""

    placed: Mapping[str, PlacedPassage]  # id -> its relevance to the question, and its sides
    seconds: float  # how long it took to decide them


class Standings:
    """Decides the sides of documents, each question once at a time; keeps the latest results."""

    def __init__(self, service: AskService) -> None:
        self._service = service
        self._kept = SharedResults(_KEPT)

    def _key(self, question: str, k: int) -> tuple[object, ...]:
        return (question, k, self._service.opened.state)

    def known(self, question: str, k: int) -> Standing | None:
        """Return the sides of the best `k` documents if they are stored; no judge is asked."""
        standing: Standing | None = self._kept.get(self._key(question, k))
        return standing

    async def tell(self, question: str, k: int) -> Standing:
        """Return the sides of the best `k` documents. Raises InputError, ModelError, Busy."""

        async def make() -> Standing:
            return await self._service.work(lambda: self._tell(question, k))

        standing: Standing = await self._kept.ask(self._key(question, k), make)
        return standing

    def _tell(self, text: str, k: int) -> Standing:
        from pnyx.cases.passage_sides import RANKED
        from pnyx.cases.side_assignment import placing_of

        started = time.monotonic()
        question = Question(question_id(text), text)
        asking = self._service.asking
        searcher = self._service.opened.searcher(asking.search)
        (ranking,) = searcher.search([question], max(k, RANKED, POOL))
        shown_ids = {hit.doc_id for hit in searcher.shown(ranking, k).hits}
        last = max((hit.rank for hit in ranking.hits if hit.doc_id in shown_ids), default=0)
        read = [hit.doc_id for hit in ranking.hits[: max(last, RANKED)]]
        documents = searcher.engine.fetch(read)
        plan = argue_plan(asking.argue)
        placing = placing_of(searcher, question, self._service.judge, plan)
        placed = run_blocking(lambda: placing.place(documents, shown_ids))
        by_id = {passage.document.id: passage for passage in placed}
        return Standing(by_id, time.monotonic() - started)


_LINKS: Final = Links()
_COVERED_BY: Final = 10
"""Documents compared with each perspective: as many as a search returns by default."""


def routes(service: AskService) -> list[BaseRoute]:
    """Return the routes of all pages, answered by `service`."""
    from starlette.routing import Route

    pages = _Pages(service)
    routes = [
        Route("/", pages.ask),
        Route("/sides", pages.sides, methods=["POST"]),
        Route("/perspectives", pages.perspectives, methods=["POST"]),
        Route("/doc", pages.document),
        Route("/doc/{id}", pages.document),
        *ArgumentPages(service).routes(),
    ]
    return [Route(r.path, _there(r.endpoint), methods=sorted(r.methods or ())) for r in routes]


def _there(page: Callable[[Request], Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
    """Return a page whose work ends when its browser leaves."""

    async def answer(request: Request) -> Response:
        await request.body()  # kept, since the form is read from it
        return await while_there(request, page(request))

    return answer


class _Pages:
    def __init__(self, service: AskService) -> None:
        self._service = service
        self._standings = Standings(service)
        self._pace = 0.0  # seconds per document when sides were last decided

    async def ask(self, request: Request) -> Response:
        """Show the first page or, with a question, its results."""
        if not request.query_params.get("q", "").strip():
            return await self._first(request)
        query = read_search_query(request.query_params)
        page, titles = await self._page(query, self._standings.known(query.question, query.count))
        covered = self._service.known_perspectives(query.question, k=_COVERED_BY)
        views = {"views": None} if covered is None else coverage_values(covered, _LINKS, titles)
        served = self._service.described()
        return self._html(
            request,
            "asking/results.html.j2",
            page=page,
            **views,
            served=served,
            fields=query.fields(),
        )

    async def _first(self, request: Request) -> Response:
        index = self._service.index
        examples = await asyncio.to_thread(index.once, "examples", lambda: example_questions(index))
        return html(
            request, "asking/first.html.j2", examples=examples, served=self._service.described()
        )

    async def sides(self, request: Request) -> Response:
        """Decide the sides; for htmx, return the part of the page that they change."""
        query = read_search_query(dict(await sent_form(request)))
        if "hx-request" not in request.headers:
            await self._standings.tell(query.question, query.count)
            return see(query.link(_LINKS))
        try:
            sides = await self._standings.tell(query.question, query.count)
        except PnyxError as error:
            page, _ = await self._page(query, None, failed=one_line(str(error)))
        else:
            self._pace = sides.seconds / max(1, len(sides.placed))
            page, _ = await self._page(query, sides)
        return self._html(request, "asking/sides.html.j2", page=page)

    async def perspectives(self, request: Request) -> Response:
        """Decide which perspectives are covered; for htmx, return that part of the page."""
        query = read_search_query(dict(await sent_form(request)))
        if "hx-request" not in request.headers:
            await self._service.perspectives(query.question, k=_COVERED_BY)
            return see(query.link(_LINKS, anchor="perspectives"))
        try:
            coverage = await self._service.perspectives(query.question, k=_COVERED_BY)
        except PnyxError as error:
            values = {"views": None, "summary": f"Not decided: {one_line(str(error))}"}
        else:
            _, titles = await self._page(query, None)
            values = coverage_values(coverage, _LINKS, titles)
        return self._html(request, "asking/perspectives.html.j2", **values, fields=query.fields())

    def _html(self, request: Request, template: str, **values: Any) -> Response:
        """Return a page or a part of it.

        A language model is asked only when a button is pressed.
        """
        return html(request, template, model=self._service.model_name, **values)

    async def document(self, request: Request) -> Response:
        """Show one document, by its id."""
        doc_id = request.path_params.get("id") or request.query_params.get("id", "")
        document = await self._service.document(doc_id)
        if document is None:
            raise not_found(f"The index has no document {one_line(doc_id)[:200]!r}.")
        question = one_line(request.query_params.get("q", ""))[:2000]
        index = self._service.index
        marker = Marker(index.tokenizer, question)
        page = await asyncio.to_thread(document_view, index, document, marker, question, _LINKS)
        return html(request, "asking/document.html.j2", page=page)

    async def _page(
        self, query: SearchQuery, sides: Standing | None, failed: str = ""
    ) -> tuple[dict[str, Any], Mapping[str, str]]:
        started = time.monotonic()
        answer = await self._service.search(query.question, k=query.count, every_topic=True)
        took = time.monotonic() - started
        marker = Marker(self._service.index.tokenizer, query.question)
        results = await asyncio.to_thread(
            result_views, answer.hits, sides.placed if sides else None, query, marker, _LINKS
        )
        summary = self._said(results, sides, took)
        page = results_view(
            query, results, _LINKS, waiting=sides is None, summary=summary,
            problems=answer.problems, failed=failed,
        )  # fmt: skip
        page["asked_back"] = why_no_sides(query.question)
        topics = labelled_topics(hit.match for hit in answer.hits)
        page["near"] = near_said(near_topics(topics))
        return page, {result.retrieved.hit.doc_id: result.title for result in results}

    def _said(self, results: Sequence[ResultView], sides: Standing | None, took: float) -> str:
        """Return the number of results, by side, and how long that took or will take."""
        count = len(results)
        if not count:
            return "Nothing was found."
        of_all = f"{count} of {size_of(self._service.index)}"
        if sides is None:
            wait = "takes some seconds"
            if self._pace:
                wait = f"takes about {max(1.0, count * self._pace):.0f} s"
            return f"{of_all}, found in {took:.2f} s. Deciding their sides {wait}."
        counts = [f"{sum(r.standing == s for r in results)} {w}" for s, w in _COUNTED.items()]
        return f"{of_all}: {', '.join(counts)}. Sides decided in {sides.seconds:.1f} s."


_COUNTED: Final = {
    "pro": "for",
    "con": "against",
    "undecided": "undecided",
    "off": "about something else",
}
