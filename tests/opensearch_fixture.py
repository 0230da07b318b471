"""A real one-node cluster for tests, or the reason why there is none."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

TOOL = Path(__file__).resolve().parents[1] / "tools" / "opensearch.py"
FIRST_PORT = 19200


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


@contextmanager
def cluster(folder: Path, *, nodes: int = 1, port: int = FIRST_PORT):
    """Start a cluster in a folder; its address, `HOST:PORT`, while it runs."""
    asked = ["--folder", str(folder), "--port", str(port), "--nodes", str(nodes), "--heap", "512m"]
    started = tool("start", *asked)
    try:
        assert started.returncode == 0, started.stderr
        yield started.stdout.strip().removeprefix("http://")
    finally:
        tool("stop", "--remove", "--folder", str(folder))
