"""`pnyx mcp`: search, perspectives, argue and judge for a language model, over standard input."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import AsyncIterable, AsyncIterator
from typing import TYPE_CHECKING, Any

import click

from pnyx.cases.options import ArgueSpec
from pnyx.cli.options import say
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, MissingExtra
from pnyx.core.files import parse_json_object
from pnyx.formats.text_types import SourceName
from pnyx.judging.options import PaidModelSpec
from pnyx.search.common_index import IndexCommand, index_folder
from pnyx.search.options import SearchSpec

if TYPE_CHECKING:
    from mcp.server import MCPServer


@verb(
    "mcp",
    kind=IndexCommand,
    without={
        "model": "plan",
        "search": "stance certainty",
        "argue": "stance points definition claims",
    },
    rare={"model": "budget", "argue": "retrieve per_side", "search": "topic"},
)
@click.argument("index")
def command(index: SourceName, argue: ArgueSpec, search: SearchSpec, model: PaidModelSpec) -> int:
    """Serve INDEX to a language model by the Model Context Protocol, on standard input and output.

    Four tools: search, perspectives, argue and judge. Clients start this command themselves: add
    it to their settings. Options apply to every call.

    \b
    Example:
      pnyx mcp my.index
      pnyx mcp my.index --llm local --budget-tokens 100000
    """
    import anyio

    from pnyx.web.ask.service import ServerSettings, open_service

    try:
        from pnyx.web.api.mcp import build_mcp
    except ImportError as error:
        raise MissingExtra("a server of the Model Context Protocol", "serve") from error

    asking = ServerSettings(index=index_folder(index), search=search, argue=argue, model=model)
    with open_service(asking, say) as service:
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
    return 0


async def _run_stdio(server: MCPServer) -> None:
    """Serve over standard input until it ends; invalid characters become U+FFFD."""
    import anyio
    from mcp.server.stdio import stdio_server

    wire = os.dup(0)  # Tools, and processes that they start, must not read from it.
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
        except InputError:  # the encoding of the protocol
            yield line
