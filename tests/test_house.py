"""`lab/house.py`: names that say too little are found, and fail `make check`."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "lab"))

house = pytest.importorskip("house", reason="lab/ is not in this copy")

SOURCE = """
class Found:
    asked: int = 0
    told: str = ""

def search(own, query):
    found = [query]
    for one in found:
        hits = one
    return hits
"""


def test_names_that_say_too_little_are_found_with_their_lines() -> None:
    names = house.vague_names(Path("engine.py"), ast.parse(SOURCE))
    # `asked` is a key of files; `hits` and `query` say what they hold.
    assert names == [(2, "Found"), (4, "told"), (6, "own"), (7, "found"), (8, "one")]


@pytest.mark.parametrize(
    ("file", "vague"), [("placing.py", True), ("ranking.py", False), ("ring/__init__.py", False)]
)
def test_a_module_is_not_named_after_an_activity(file: str, vague: bool) -> None:
    assert bool(house.vague_names(Path(file), ast.parse(""))) is vague


def test_one_vague_name_fails(monkeypatch, capsys) -> None:
    assert house.main() == 0
    monkeypatch.setattr(house, "VAGUE", frozenset({"text"}))
    assert house.main() == 1
    assert "names say too little" in capsys.readouterr().err


def test_names_in_the_scripts_of_lab_are_listed_with_their_lines(monkeypatch, capsys) -> None:
    assert house.list_names("lab") == 0
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(house, "VAGUE", frozenset({"options"}))
    house.list_names("lab")
    assert re.search(r"^lab/by_size\.py:\d+ options$", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize("limit", ["FILE_LINES", "FUNCTION_LINES"])
def test_a_file_or_function_of_more_lines_fails(monkeypatch, capsys, limit) -> None:
    assert (house.FILE_LINES, house.FUNCTION_LINES) == (450, 60)
    monkeypatch.setattr(house, limit, getattr(house, limit) - 60)
    assert house.main() == 1
    assert f"lines, at most {getattr(house, limit)}" in capsys.readouterr().err


def test_a_docstring_does_not_count_as_lines_of_a_function() -> None:
    (function,) = ast.parse('def f():\n    """One.\n\n    Two.\n    """\n    return 1\n').body
    assert house.lines_of(function) == 2


def test_rooms_are_printed_with_their_doors_and_the_contracts(capsys) -> None:
    house.main()
    printed = capsys.readouterr().out
    (audit,) = (line for line in printed.splitlines() if line.startswith("audit "))
    assert "commands" in audit.split()
    assert "Nothing knows its plugins" in printed
