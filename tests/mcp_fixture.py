"""A session with `pnyx serve --mcp`, as a client has it: a process, its input and output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import anyio


def mcp_session(
    index: str | Path, asked: Iterable[tuple[str, Mapping[str, Any]]], store: Path
) -> dict[str, Any]:
    """Return `instructions` (name and text), `tools`, and the `answers` to calls of tools."""
    from mcp import Client, StdioServerParameters

    # The client passes no environment on by itself.
    own = {"PNYX_STORE": str(store), "OMP_NUM_THREADS": "1"}
    own["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    found: dict[str, Any] = {}

    async def session() -> None:
        arguments = ["-m", "pnyx", "serve", str(index), "--mcp"]
        server = StdioServerParameters(command=sys.executable, args=arguments, env=own)
        async with Client(server) as client:
            found["instructions"] = client.server_info.name, client.instructions
            found["tools"] = (await client.list_tools()).tools
            found["answers"] = [await client.call_tool(name, dict(given)) for name, given in asked]

    anyio.run(session)
    return found
