"""A server of the Model Context Protocol over standard input and output: `pnyx serve --mcp`."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import AsyncIterable, AsyncIterator
from typing import TYPE_CHECKING, Any

from pnyx.core.errors import InputError, MissingExtra
from pnyx.core.files import parse_json_object

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server import MCPServer

    from pnyx.web.ask.service import AskService


def serve_mcp(service: AskService, say: Callable[[str], None]) -> None:
    """Answer a client on standard input until it ends.

    Raises:
        MissingExtra: the library of the protocol is not installed.
    """
    import anyio

    try:
        from pnyx.web.api.mcp import build_mcp
    except ImportError as error:
        raise MissingExtra("a server of the Model Context Protocol", "serve") from error

    server = build_mcp(service)

    async def serve() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(service.warm_up)
            await _run_stdio(server)
            group.cancel_scope.cancel()

    if sys.stdin.isatty():
        say("waiting for a client on standard input (Ctrl-C ends)")
    with contextlib.suppress(BrokenPipeError):
        anyio.run(serve)


async def _run_stdio(server: MCPServer) -> None:
    """Serve over standard input until it ends; half characters become U+FFFD and are answered."""
    import anyio
    from mcp.server.stdio import stdio_server

    wire = os.dup(0)  # tools, and processes that they start, read nothing of it
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    stdin: Any = _lines(anyio.wrap_file(os.fdopen(wire, encoding="utf-8", errors="replace")))
    running = server._lowlevel_server
    async with stdio_server(stdin=stdin) as (reading, writing):
        await running.run(reading, writing, running.create_initialization_options())


async def _lines(stdin: AsyncIterable[str]) -> AsyncIterator[str]:
    async for line in stdin:
        try:
            yield json.dumps(parse_json_object(line, path="-", number=1)) if "\\u" in line else line
        except InputError:  # the protocol says what it is
            yield line
