"""Every name that the documentation gives as `pnyx.NAME` can be imported."""

from __future__ import annotations

import importlib
import re
from functools import reduce
from pathlib import Path

import pytest

import pnyx
from pnyx.core.plugins import KINDS

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
CODE = re.compile(r"```(?:python|py|pycon)\n.*?```|(?<!`)`[^`]+`(?!`)", re.S)
NAME = re.compile(r"(?<![\w./@-])pnyx((?:\.[A-Za-z_]\w*)+)(?![\w/-]|\.\w)")


def names_of(page: Path) -> set[str]:
    text = page.read_text("utf-8")
    names = {name[1] for code in CODE.finditer(text) for name in NAME.finditer(code[0])}
    return names - {f".{kind}" for kind in KINDS}  # groups of entry points


def resolves(name: str) -> bool:
    parts = name.strip(".").split(".")
    for count in range(len(parts), 0, -1):
        try:
            start = importlib.import_module(".".join(["pnyx", *parts[:count]]))
        except ModuleNotFoundError as error:
            if error.name and not error.name.startswith("pnyx"):
                return True  # the module is there, and needs a library that is not installed
            continue
        return _has(start, parts[count:])
    return _has(pnyx, parts)


def _has(start: object, parts: list[str]) -> bool:
    try:
        reduce(getattr, parts, start)
    except AttributeError:
        return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_in_the_documentation_exist(page: Path) -> None:
    assert [name for name in sorted(names_of(page)) if not resolves(name)] == []


def test_a_wrong_name_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("See `pnyx.judging.ask_asynch` and `pnyx.measure_agreement(a, b)`.", "utf-8")
    assert names_of(page) == {".judging.ask_asynch", ".measure_agreement"}
    assert [resolves(name) for name in sorted(names_of(page))] == [False, True]
