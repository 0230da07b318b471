"""The public surface: exactly `__all__`, light to import, each command documented."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from types import FunctionType, ModuleType

import click
import pytest

import pnyx
from command import write_rows
from pnyx.cli import COMMANDS
from pnyx.core.rooms import room_commands
from pnyx.formats.bundled_example import load_example, write_example

HEAVY = {"numpy", "numba", "onnxruntime", "httpx2", "pydantic", "jinja2", "rich", "tokenizers"}


def test_all_is_exactly_what_can_be_reached() -> None:
    assert len(pnyx.__all__) == len(set(pnyx.__all__))
    stub = Path(pnyx.__file__).with_name("__init__.pyi").read_text(encoding="utf-8")
    [listed] = [
        ast.literal_eval(node.value)
        for node in ast.parse(stub).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    assert set(listed) == set(pnyx.__all__)
    for name in pnyx.__all__:
        assert getattr(pnyx, name).__doc__ or name == "__version__"
    assert sorted(dir(pnyx)) == sorted(pnyx.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = pnyx.nothing


ROOMS = [name for name in pnyx.__all__ if isinstance(getattr(pnyx, name), ModuleType)]


@pytest.mark.parametrize("room", ROOMS)
def test_the_names_of_a_room_are_documented_and_no_modules(room: str) -> None:
    offered = getattr(pnyx, room)
    assert offered.__doc__
    for name in offered.__all__:
        value = getattr(offered, name)
        assert value.__doc__ or not isinstance(value, type | FunctionType), name
        assert not isinstance(value, ModuleType), name


def test_few_names_stand_at_the_top() -> None:
    assert len(set(pnyx.__all__) - set(ROOMS)) <= 50


def test_public_names_are_listed_in_the_stubs_of_rooms_alone() -> None:
    source = Path(pnyx.__file__).parent
    for path in source.rglob("*.py"):
        name = str(path.relative_to(source))
        if path.name != "__init__.py" and name not in (
            "__main__.py",
            "core/errors.py",
            "core/records.py",
        ):
            assert not re.search(r"^__all__", path.read_text("utf-8"), re.MULTILINE), name


TRAINING = {"accelerate", "gguf", "onnx", "peft", "torch", "transformers"}
"""Libraries of the plugin pnyx-train."""


def test_nothing_of_pnyx_imports_what_trains() -> None:
    for path in Path(pnyx.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            parts = {part for name in names for part in name.split(".")}
            assert not parts & TRAINING, path


def _imported_by(code: str) -> set[str]:
    program = f"{code}\nimport sys, json; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "import pnyx",
        "from pnyx.cli import app; app.main(['--help'], standalone_mode=False)",
        "from pnyx.cli import app; app.main(['argue', '--help'], standalone_mode=False)",
        "import pnyx.search.plan, pnyx.cases.plan",
    ],
)
def test_help_imports_nothing_heavy(code: str) -> None:
    assert _imported_by(code) & HEAVY == set()


_COUNTED = """
import contextlib, io, sys
from pnyx.cli import main
try:
    with contextlib.redirect_stdout(io.StringIO()):
        main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
print(sum(name.split(".")[0] == "pnyx" for name in sys.modules))
"""


def _modules_of(folder: Path, *arguments: str) -> int:
    """Return how many modules of Pnyx a command imports."""
    done = subprocess.run(
        [sys.executable, "-c", _COUNTED, *arguments],
        capture_output=True, text=True, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_commands_import_few_modules(tmp_path: Path) -> None:
    """Somebody who follows the main jobs through the code has this many files to read."""
    write_example(load_example(), tmp_path)
    question = "Should social media platforms be required to verify the age of their users?"
    documents = ("argue", "arguments.jsonl", question)
    _modules_of(tmp_path, *documents)  # indexes the documents
    assert _modules_of(tmp_path, *documents) <= 150
    item = {"id": "1", "text": "Fares fell and more people rode.", "statement": "Fares fell."}
    write_rows(tmp_path / "items.jsonl", [item])
    assert _modules_of(tmp_path, "judge", "support", "items.jsonl", "--out", "items") <= 110
    rag = {"question": "Did fares fall?", "contexts": [item["text"]], "answer": "Fares fell."}
    write_rows(tmp_path / "rag.jsonl", [rag])
    assert _modules_of(tmp_path, "judge", "support", "rag.jsonl", "--out", "rag") <= 110


@pytest.mark.parametrize("verb", COMMANDS)
def test_each_command_has_help_with_a_worked_example(verb: str) -> None:
    command = room_commands()[verb].load()
    assert isinstance(command, click.Command)
    assert command.name == verb
    text = command.get_help(click.Context(command, info_name=f"pnyx {verb}"))
    assert f"pnyx {verb}" in text.split("Example", 1)[1]
    leaves = {"": command, **getattr(command, "words", {})}
    if isinstance(command, click.Group):
        leaves = dict(command.commands)
    for name, leaf in leaves.items():
        text = leaf.get_help(click.Context(leaf, info_name=f"pnyx {verb} {name}"))
        assert f"pnyx {verb} {name}" in text.split("Example", 1)[1]
        for parameter in leaf.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{verb} {name} {parameter.name}"
        assert any(p.name == "as_json" for p in leaf.params)


def test_the_command_line_reference_is_what_the_commands_say() -> None:
    tool = Path(__file__).parents[1] / "lab" / "cli_reference.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], check=False)
    assert done.returncode == 0, (
        "docs/reference/cli.md is out of date: run python lab/cli_reference.py"
    )
