"""The scripts that train quality models, imported from lab/training of the repository."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[1] / "lab" / "training"


def tool(name: str) -> ModuleType:
    """Import a script; skip the test where lab/ is not in this copy."""
    if not TOOLS.is_dir():
        pytest.skip("lab/ is not in this copy")
    sys.path.insert(0, str(TOOLS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(TOOLS))
