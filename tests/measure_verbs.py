"""`pnyx measure` of the command line in this process, for the tests of its verbs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pnyx.cli import main


def runner(*verb: str) -> Callable[..., int]:
    """Return a function that runs `pnyx VERB ARGUMENTS` and returns its exit status."""

    def run(*arguments: object) -> int:
        with pytest.raises(SystemExit) as ended:
            main([*verb, *map(str, arguments)])
        assert isinstance(ended.value.code, int)
        return ended.value.code

    return run


def refuser(*verb: str) -> Callable[..., str]:
    """Return a function that holds a refusal to one printable line and returns it."""
    run = runner(*verb)

    def refused(capsys: Any, *arguments: object) -> str:
        assert run(*arguments) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("pnyx: ")
        assert printed.err.count("\n") == 1
        assert printed.err.rstrip("\n").isprintable()
        return printed.err

    return refused
