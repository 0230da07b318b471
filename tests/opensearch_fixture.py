"""A real one-node cluster for tests, or the reason why there is none."""

from __future__ import annotations

import contextlib
import importlib.util
import random
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

TOOL = Path(__file__).resolve().parents[1] / "lab" / "opensearch.py"
PORTS = range(19_200, 32_000, 10)
"""Of first nodes: below those that the system gives away."""


def lacking() -> str:
    """Return why there can be no cluster here; empty where there can be one."""
    if importlib.util.find_spec("opensearchpy") is None:
        return "opensearch-py is not installed"
    spec = importlib.util.spec_from_file_location("opensearch_tool", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.missing()


def tool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True)


def free_port(count: int) -> int:
    """Return the first of some ports in a row that nobody listens on."""
    while True:
        first = random.SystemRandom().choice(PORTS)
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for port in range(first, first + count):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first


@contextmanager
def cluster(folder: Path, *, nodes: int = 1):
    """Start a cluster in a folder; its address, `HOST:PORT`, while it runs."""
    asked = ["--folder", str(folder), "--nodes", str(nodes), "--heap", "512m"]
    started = tool("start", *asked, "--port", str(free_port(nodes)))
    try:
        assert started.returncode == 0, started.stderr
        yield started.stdout.strip().removeprefix("http://")
    finally:
        tool("stop", "--remove", "--folder", str(folder))
