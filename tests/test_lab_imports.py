"""The scripts of `lab/` import what exists: in Pnyx, next to them, or in a library."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAB = ROOT / "lab"
SCRIPTS = [path for path in sorted(LAB.rglob("*.py")) if "peer_inputs" not in path.parts]
NEIGHBOURS = {path.stem for path in (*SCRIPTS, *(ROOT / "tests").glob("*.py"))}
LIBRARIES = frozenset(
    (
        "bm25s cosmic_ray coverage deepeval faiss genai_prices minima_llm onnx openai ragas ray "
        "torch transformers"
    ).split()
)
"""What a script may need that the tests do not install."""

pytestmark = pytest.mark.skipif(not SCRIPTS, reason="lab/ is not in this copy")


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """Yield module and name of each import in a script; without a name for `import MODULE`."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) == "importlib.import_module"
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node.args[0].value, ""


def is_there(module: str, name: str) -> bool:
    """Whether an import would work where all libraries are installed."""
    top = module.partition(".")[0]
    if not top.startswith("pnyx"):
        local = top in NEIGHBOURS or top in LIBRARIES or top in sys.stdlib_module_names
        return local or importlib.util.find_spec(top) is not None
    try:
        imported = importlib.import_module(module)
        if name and not hasattr(imported, name):
            importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError as error:
        return (error.name or "").partition(".")[0] in LIBRARIES
    return True


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(LAB)))
def test_what_a_script_imports_exists(path: Path) -> None:
    assert [names for names in imports(path) if not is_there(*names)] == []


def test_a_module_or_name_that_is_gone_is_noticed() -> None:
    assert not is_there("found", "read")
    assert not is_there("pnyx.search.plan", "Plans")
    assert is_there("pnyx.search.plan", "SearchPlan")
