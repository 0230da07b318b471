"""The tool that trains quality models, imported from the repository's folder of tools."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[1] / "tools"


def tool(name: str) -> ModuleType:
    """Import a tool; skip the test where the tools are not in this copy."""
    if not TOOLS.is_dir():
        pytest.skip("the tools are not in this copy")
    sys.path.insert(0, str(TOOLS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(TOOLS))
