"""`pnyx mcp`: search, perspectives, argue and judge for a language model, over standard input."""

from __future__ import annotations

import contextlib
import sys

import click

from pnyx.app.judge_specs import PaidModelSpec
from pnyx.app.search_specs import ArgueSpec, SearchSpec
from pnyx.cli.common.options import say
from pnyx.cli.common.params import verb
from pnyx.errors import MissingExtra

__all__ = ["command"]


@verb(
    "mcp",
    without={"model": "plan", "search": "stance certainty", "argue": "stance points definition"},
    rare={"model": "budget", "argue": "retrieve per_side", "search": "topic"},
)
@click.argument("index")
def command(index: str, argue: ArgueSpec, search: SearchSpec, model: PaidModelSpec) -> int:
    """Serve INDEX to a language model by the Model Context Protocol, on standard input and output.

    Four tools: search, perspectives, argue and judge. A client starts this command itself: put it
    into its settings. What is chosen here holds for every call.

    \b
    Example:
      pnyx mcp my.index
      pnyx mcp my.index --llm local --budget-tokens 100000
    """
    import anyio

    from pnyx.serve.asking.service import Asking, open_service

    try:
        from pnyx.serve.api.mcp import build_mcp
    except ImportError as error:
        raise MissingExtra("a server of the Model Context Protocol", "serve") from error

    asking = Asking(index=index, search=search, argue=argue, model=model)
    with open_service(asking, say) as service:
        server = build_mcp(service)

        async def serve() -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(service.warm_up)
                await server.run_stdio_async()
                group.cancel_scope.cancel()

        if sys.stdin.isatty():
            say("waiting for a client on standard input (Ctrl-C ends)")
        with contextlib.suppress(BrokenPipeError):
            anyio.run(serve)
    return 0
