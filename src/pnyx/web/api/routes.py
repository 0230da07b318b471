"""The HTTP API: `/v1/search`, `/v1/perspectives`, `/v1/argue`, `/v1/judge`."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pnyx.cases.rows import case_row
from pnyx.core.errors import InputError, ModelError, PnyxError, shorten
from pnyx.core.files import parse_json
from pnyx.models.http.flow import LeftError
from pnyx.search.plan import FOUND
from pnyx.web.api.rows import search_values
from pnyx.web.application import event
from pnyx.web.ask.choices import open_fields, question_text
from pnyx.web.ask.pool import Busy, while_there

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from pnyx.web.ask.service import AskService

Handler = Callable[["Request"], Awaitable["Response"]]

_GONE: Final = 499
"""nginx's status for a client that closed the connection."""


class UnreadableError(InputError):
    """The body of a request cannot be read."""


def api_routes(service: AskService) -> list[BaseRoute]:
    """Return the routes of the API."""
    from starlette.routing import Route

    api = _Api(service)
    return [
        Route("/v1/search", _told(api.search)),
        Route("/v1/perspectives", _told(api.perspectives)),
        Route("/v1/argue", _told(api.argue), methods=["POST"]),
        Route("/v1/judge", _told(api.judge), methods=["POST"]),
        Route("/v1/openapi.json", _told(api.openapi)),
    ]


class _Api:
    def __init__(self, service: AskService) -> None:
        self._service = service

    async def search(self, request: Request) -> Response:
        parameters = _query(request)
        question, k, facet = (parameters.pop(name, None) for name in ("q", "k", "facet"))
        count = FOUND if k is None else k
        results = self._service.search(_question(question, "q"), parameters, k=count, facet=facet)
        return _json(search_values(await while_there(request, results)))

    async def perspectives(self, request: Request) -> Response:
        parameters = _query(request)
        question, k = (parameters.pop(name, None) for name in ("q", "k"))
        count = FOUND if k is None else k
        coverage = self._service.perspectives(_question(question, "q"), parameters, k=count)
        return _json((await while_there(request, coverage)).model_dump())

    async def argue(self, request: Request) -> Response:
        options = await _body(request)
        question = _question(options.pop("question", None), "question")
        if "text/event-stream" in request.headers.get("accept", ""):
            return await _stream(request, self._service, question, options)
        case = await while_there(request, self._service.case(question, options))
        return _json(case_row(case).model_dump())

    async def judge(self, request: Request) -> Response:
        body = await _body(request)
        expected = ("task", "items", "options")
        for name in body:
            if name not in expected:
                short = shorten(name, 40)
                raise InputError(f"{short!r} is not a field, expected: {', '.join(expected)}")
        task, options = body.get("task"), body.get("options") or {}
        if not isinstance(task, str):
            raise InputError("task: expected the name of a task")
        if not isinstance(options, Mapping):
            raise InputError("options: expected an object")
        judged = self._service.judge_items(task, body.get("items") or [], options)
        return _json((await while_there(request, judged)).model_dump())

    async def openapi(self, _: Request) -> Response:
        from pnyx.web.api.openapi import described

        return _json(described())


def _json(row: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    from pydantic_core import to_json
    from starlette.responses import Response

    try:
        content = to_json(row, inf_nan_mode="null")
    except ValueError:  # Lone surrogates, which documents may contain, are escaped.
        content = json.dumps(row, allow_nan=False, separators=(",", ":")).encode()
    return Response(content, status, headers, "application/json")


def _told(handler: Handler) -> Handler:
    """Return a handler that reports errors as one line of JSON."""

    async def handling(request: Request) -> Response:
        try:
            return await handler(request)
        except PnyxError as error:
            status, headers = status_of(error)
            row = {"error": {"status": status, "message": str(error)}}
            return _json(row, status, headers)

    return handling


def status_of(error: PnyxError) -> tuple[int, dict[str, str]]:
    """Return the HTTP status of an error, and further headers of its response."""
    if isinstance(error, Busy):
        return 503, {"retry-after": str(error.after)}
    if isinstance(error, LeftError):
        return _GONE, {}
    if isinstance(error, InputError):
        return (400 if isinstance(error, UnreadableError) else 422), {}
    return (502 if isinstance(error, ModelError) else 500), {}


def _question(question: Any, name: str) -> str:
    if question is None:
        raise InputError(f"{name}: expected a question")
    return question_text(question)


def _query(request: Request) -> dict[str, Any]:
    """Return the query parameters; a repeated one is a list or an error."""
    from pnyx.search.options import SearchSpec

    many = {f.name for f, _ in open_fields(SearchSpec) if isinstance(f.default, tuple)}
    parameters: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name in many:
            parameters.setdefault(name, []).append(value)
        elif name in parameters:
            raise InputError(f"{shorten(name, 40)}: given twice, expected once")
        else:
            parameters[name] = value
    return parameters


async def _body(request: Request) -> dict[str, Any]:
    """Return the JSON object of a request's body."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        content_type = shorten(kind or "none", 40)
        raise UnreadableError(f"content-type: found {content_type}, expected application/json")
    try:
        body = parse_json(await request.body())
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"the body is not JSON: {shorten(str(error))}") from error
    if not isinstance(body, dict):
        raise UnreadableError("the body is not a JSON object")
    return body


# A stream -----------------------------------------------------------------------------------------


async def _stream(
    request: Request, service: AskService, question: str, options: Mapping[str, Any]
) -> Response:
    """Stream the steps of an argument as events; immediate errors get an HTTP status."""
    from starlette.responses import StreamingResponse

    steps = service.argue(question, options)
    first = await while_there(request, anext(steps))

    async def events() -> AsyncIterator[str]:
        async with contextlib.aclosing(steps):
            try:
                yield event(first.name, first.values)
                async for step in steps:
                    data = step.values if step.case is None else case_row(step.case).model_dump()
                    yield event(step.name, data)
            except PnyxError as error:
                yield event("error", {"status": status_of(error)[0], "message": str(error)})

    return StreamingResponse(events(), media_type="text/event-stream")
