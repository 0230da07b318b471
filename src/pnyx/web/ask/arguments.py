"""The pages of an argument: the request, its progress, and the result."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pnyx.cases.options import ArgueSpec
from pnyx.core.errors import PnyxError, count_of
from pnyx.core.records import SIDES, Question
from pnyx.display.text import one_line
from pnyx.judging.statements import side_names, why_no_sides
from pnyx.web.application import event, html, not_found, see, sent_form
from pnyx.web.ask.address import SearchQuery, document_link, read_search_query
from pnyx.web.ask.choices import chosen
from pnyx.web.ask.pool import SharedResults
from pnyx.web.rendering import Links

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from pnyx.cases.case import Case
    from pnyx.web.ask.job import Step
    from pnyx.web.ask.service import AskService

_KEPT: Final = 64
_TICKETS: Final = 256
_LINKS: Final = Links()
_BEAT: Final = 15.0
"""Seconds of silence after which a comment is sent to keep the stream alive."""
_FILES: Final[Mapping[str, tuple[str, str]]] = {
    "argument.jsonl": ("JSONL", "application/x-ndjson"),
    "argument.md": ("Markdown", "text/markdown; charset=utf-8"),
    "argument.html": ("Report, one HTML file", "text/html; charset=utf-8"),
}


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A question to argue, with the claims of pro and con if given."""

    question: str
    claims: tuple[str, str] | None

    @property
    def names(self) -> Mapping[str, str]:
        """What follows "the case for", by side."""
        return dict(
            zip(SIDES, side_names(Question("", self.question, claims=self.claims)), strict=True)
        )

    def row(self) -> dict[str, Any]:
        return {"claims": self.claims} if self.claims else {}

    def link(self, *parts: str) -> str:
        return _LINKS.to(
            "argue", *parts, q=self.question, **dict(zip(SIDES, self.claims or (), strict=False))
        )


def _read(parameters: Mapping[str, Any]) -> _Wanted:
    """Read the query of an address, or a form. Raises as `read_search_query` and `chosen` do."""
    question = read_search_query(parameters).question
    pair = one_line(str(parameters.get("pro", ""))), one_line(str(parameters.get("con", "")))
    if not any(pair):
        return _Wanted(question, None)
    chosen(ArgueSpec(), {"claims": pair}).asked_for(question)
    return _Wanted(question, pair)


class ArgumentPages:
    """Pages that argue a question, started only by a POST, and the latest finished arguments."""

    def __init__(self, service: AskService) -> None:
        self._service = service
        self._kept = SharedResults(_KEPT)
        """Address -> an argument, and the seconds it took."""
        self._asked = SharedResults(_TICKETS)

    def routes(self) -> list[Route]:
        """Return the routes of these pages."""
        from starlette.routing import Route

        return [
            Route("/argue", self._ask, methods=["POST"]),
            Route("/argue", self._making),
            Route("/argue/events", self._events),
            Route("/argue/wait", self._wait),
            Route("/argument/{id}", self._argument),
            Route("/argument/{id}/{name}", self._file),
        ]

    async def _ask(self, request: Request) -> Response:
        wanted = _read(dict(await sent_form(request)))
        if wanted.claims is None and why_no_sides(wanted.question):
            return see(
                SearchQuery(wanted.question).link(_LINKS)
            )  # that page explains the error in its form
        self._asked.put(wanted, True)
        return see(wanted.link())

    async def _making(self, request: Request) -> Response:
        wanted = _read(request.query_params)
        job = None
        if self._asked.get(wanted):
            job = {"events": wanted.link("events"), "wait": wanted.link("wait")}
        return html(
            request,
            "asking/making.html.j2",
            question=wanted.question,
            claims=wanted.claims,
            headings={side: f"The case for {name}" for side, name in wanted.names.items()},
            back=SearchQuery(wanted.question).link(_LINKS),
            job=job,
            writer=self._service.model_name,
        )

    def _check_asked(self, request: Request) -> _Wanted:
        wanted = _read(request.query_params)
        if not self._asked.get(wanted):
            raise not_found("No argument has been requested for this question yet.")
        return wanted

    async def _wait(self, request: Request) -> Response:
        """Answer when the argument is finished, for a page without JavaScript."""
        wanted = self._check_asked(request)
        started = time.monotonic()
        case = await self._service.case(wanted.question, wanted.row())
        return see(self._keep(case, started))

    async def _events(self, request: Request) -> Response:
        from starlette.responses import StreamingResponse

        wanted = self._check_asked(request)
        return StreamingResponse(self._stream(wanted), media_type="text/event-stream")

    async def _stream(self, wanted: _Wanted) -> AsyncIterator[str]:
        started = time.monotonic()
        try:
            async with contextlib.aclosing(
                self._service.argue(wanted.question, wanted.row())
            ) as steps:
                async for step in _with_beats(steps):
                    if step is None:
                        yield ": still at it\n\n"
                    elif step.case is not None:
                        yield event("end", {"href": self._keep(step.case, started)})
                    else:
                        yield event("step", _shown(step, wanted.names))
        except PnyxError as error:
            yield event("fail", {"said": one_line(str(error))})

    def _keep(self, case: Case, started: float) -> str:
        """Keep a finished argument; return its address."""
        from pnyx.cases.rows import case_row

        content = json.dumps(case_row(case).model_dump(), sort_keys=True, ensure_ascii=True)
        key = hashlib.blake2b(content.encode(), digest_size=8).hexdigest()
        self._kept.put(key, self._kept.get(key) or (case, time.monotonic() - started))
        return _LINKS.to("argument", key)

    def _find(self, request: Request) -> tuple[Case, float]:
        stored: tuple[Case, float] | None = self._kept.get(request.path_params["id"])
        if stored is None:
            raise not_found(
                f"This argument is no longer available: the server keeps only the latest {_KEPT}. "
                f"Ask the question again."
            )
        return stored

    async def _argument(self, request: Request) -> Response:
        from pnyx.cases.page.report import case_values

        case, seconds = self._find(request)
        key = request.path_params["id"]

        def document_href(doc_id: str) -> str:
            document = case.documents.get(doc_id)
            passage = None if document is None else document.passage
            return document_link(_LINKS, doc_id, case.question.text, passage)

        return html(
            request,
            "asking/argument.html.j2",
            **case_values(case),
            document_href=document_href,
            back=SearchQuery(case.question.text).link(_LINKS),
            downloads=[(f[0], _LINKS.to("argument", key, name)) for name, f in _FILES.items()],
            took=f"Made in {seconds:.1f} s.",
        )

    async def _file(self, request: Request) -> Response:
        from starlette.responses import Response

        name = request.path_params["name"]
        case, _ = self._find(request)
        if name not in _FILES:
            raise not_found("There is no such file for an argument.")
        text = await asyncio.to_thread(_written(name), case)
        # Sent as an attachment: the report has a security policy of its own, which this one would
        # override.
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        data = text.encode("utf-8", "replace")
        return Response(data, media_type=_FILES[name][1], headers=headers)


def _written(name: str) -> Callable[[Case], str]:
    from pnyx.cases.page.markdown import render_markdown
    from pnyx.cases.page.report import render_html

    writers = {
        "argument.jsonl": _jsonl,
        "argument.md": render_markdown,
        "argument.html": render_html,
    }
    return writers[name]


def _jsonl(case: Case) -> str:
    from pnyx.formats import write_responses

    stream = io.StringIO()
    write_responses(stream, [side.response for side in case.sides], "ids")
    return stream.getvalue()


async def _with_beats(steps: AsyncIterator[Step]) -> AsyncIterator[Step | None]:
    """Yield each step, and None after a while without one."""
    source = steps.__aiter__()
    coming = asyncio.ensure_future(anext(source, None))
    try:
        while True:
            done, _ = await asyncio.wait([coming], timeout=_BEAT)
            if not done:
                yield None
                continue
            step = coming.result()
            if step is None:
                return
            yield step
            coming = asyncio.ensure_future(anext(source, None))
    finally:
        if not coming.done():
            coming.cancel()
            with contextlib.suppress(asyncio.CancelledError, PnyxError):
                await coming


# Steps in words -----------------------------------------------------------------------------------


def _shown(step: Step, names: Mapping[str, str]) -> dict[str, Any]:
    """Return a step in words, as text for the page's script to insert."""
    values = step.values
    side = values.get("side") if values.get("side") in SIDES else None
    event: dict[str, Any] = {"name": step.name, "side": side}
    if step.name in _SAID:
        event["said"] = _SAID[step.name](values, names)
    if step.name == "writing":
        event["note"] = f"from {count_of(values['documents'], 'document')}"
    if step.name == "written":
        event["note"] = count_of(values["sentences"], "sentence")
    if step.name == "judged" and values["asked"]:
        citations = count_of(values["asked"], "citation")
        event["note"] = f"{values['scored']} of {citations} have a verdict"
    if step.name == "sentence":
        event |= {"text": one_line(str(values["text"])), "role": str(values.get("role") or "")}
        event["cites"] = count_of(len(values["citations"]), "citation")
    if step.name == "judging":
        event |= {"done": values["done"], "asked": values["asked"]}
    return event


_SAID: Final[Mapping[str, Callable[[Mapping[str, Any], Mapping[str, str]], str]]] = {
    "found": lambda k, _: (
        f"{count_of(k['documents'], 'document')} found; deciding which side each is on"
    ),
    "judging": lambda k, _: f"{k['done']} of {count_of(k['asked'], 'verdict')} so far",
    "sides": lambda k, names: (
        f"{k['pro']} for {names['pro']}, {k['con']} for {names['con']}, "
        f"{k['undecided']} undecided, {k['passed_over']} on neither"
    ),
    "writing": lambda k, names: f"Writing the case for {names[k['side']]}",
    "written": lambda k, names: f"Checking the citations of the case for {names[k['side']]}",
    "judged": lambda k, names: f"Finished: the case for {names[k['side']]}",
}
"""Step -> its description, from its values and the names of the sides."""
