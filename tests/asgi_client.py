"""Requests to an application in this process, without a socket."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any


async def asked(
    app: Any,
    body: bytes = b"",
    method: str = "POST",
    path: str = "/",
    query: str = "",
    **headers: str,
) -> tuple[int, dict[str, str], str]:
    """Send a request with a body in one part; return status, headers and text of the answer."""
    sent: list[dict[str, Any]] = []
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if not waiting:
            await asyncio.Event().wait()  # the client stays
        return waiting.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    lines = {"host": "localhost", **{name.replace("_", "-"): v for name, v in headers.items()}}
    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "scheme": "http", "server": ("localhost", 80),
        "headers": [(name.encode(), value.encode()) for name, value in lines.items()],
        "client": ("127.0.0.1", 1), "root_path": "", "http_version": "1.1",
    }  # fmt: skip
    with contextlib.suppress(ValueError):  # Starlette raises it again once it has answered
        await app(scope, receive, send)
    start = sent[0]
    text = b"".join(message.get("body", b"") for message in sent[1:])
    found = {k.decode().lower(): v.decode() for k, v in start["headers"]}
    return start["status"], found, text.decode()


def ask(app: Any, *args: Any, **headers: Any) -> tuple[int, dict[str, str], str]:
    return asyncio.run(asked(app, *args, **headers))
