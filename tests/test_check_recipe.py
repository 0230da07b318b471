"""The recipe "80 human labels and my judge": its commands print what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from command import run

RECIPES = Path(__file__).parents[1] / "docs" / "recipes"
PAGE = (RECIPES / "check-a-judge.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n\$ pnyx (.*?)\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(("command", "shown"), BLOCKS)
def test_a_command_of_the_recipe_prints_what_it_shows(
    command: str,
    shown: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(RECIPES)
    monkeypatch.setenv("COLUMNS", "100")
    words, _, asks_status = command.partition("; ")
    status = run(*shlex.split(words))
    printed = capsys.readouterr().out
    start, _, end = shown.partition("...\n")
    if end or asks_status:
        assert printed.startswith(start)
        assert not asks_status or end.strip() == str(status)
    else:
        assert printed.rstrip() == start.rstrip() or printed.startswith(start)


def test_the_recipe_is_linked_and_short() -> None:
    assert len(BLOCKS) == 3
    assert "check-a-judge.md" in (RECIPES / "index.md").read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
    assert len(prose.split()) < 600
