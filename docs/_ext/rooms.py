"""The Python reference from docstrings: `{room} pnyx.search` is the page of a room."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, GoogleDocstring
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

import pnyx

__all__ = ["PublicNames", "Room", "setup"]

_WITH_SECTIONS = ("class", "exception", "function", "method", "module")
"""What has docstrings in sections. In those of fields and properties a colon is just a colon."""


class Room(SphinxDirective):
    """A room: what it is for, its names in a table, then each with its docstring."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return what autosummary and autodoc make of the room."""
        (name,) = self.arguments
        room = importlib.import_module(name)
        names = sorted(room.__all__, key=str.lower)
        values = [one for one in names if not _has_docstring(getattr(room, one))]
        text = [".. autosummary::", "   :nosignatures:", ""]
        text += [f"   {name}.{one}" for one in names if one not in values]
        text += ["", f".. automodule:: {name}", "   :members:", "   :show-inheritance:"]
        text += [f"   :exclude-members: {', '.join(values)}", ""]
        for one in values:
            text += [
                f".. py:data:: {one}",
                f"   :module: {name}",
                "",
                f"   {_said_of(room, one)}",
                "",
            ]
        return _parsed(self, text)


class PublicNames(SphinxDirective):
    """The names of `pnyx` itself, each with its summary and a link to the room that has it."""

    def run(self) -> list[nodes.Node]:
        """Return a table: name, its first line, room."""
        lines = [".. list-table::", "   :widths: 24 56 20", ""]
        for name in sorted(pnyx.__all__, key=str.lower):
            value = getattr(pnyx, name)
            if inspect.ismodule(value) or name == "__version__":
                continue
            home = f"{_room_of(name)}.{name}"
            said = inspect.getdoc(value).partition("\n")[0]
            room = home.rpartition(".")[0]
            lines += [f"   * - :py:obj:`~{home}`", f"     - {said}", f"     - :py:mod:`{room}`"]
        return _parsed(self, lines)


def _has_docstring(value: Any) -> bool:
    """Tell a class or function from a value, which only the source documents."""
    return inspect.isclass(value) or inspect.isroutine(value)


def _said_of(room: ModuleType, name: str) -> str:
    """Return the string that follows a value where it is defined."""
    stub = Path(str(room.__file__)).with_suffix(".pyi")
    home = room.__name__
    for node in ast.parse(stub.read_text("utf-8")).body if stub.exists() else ():
        if isinstance(node, ast.ImportFrom) and any(one.name == name for one in node.names):
            home = f"{home}.{node.module}"
            break
    said = ModuleAnalyzer.for_module(home).find_attr_docs().get(("", name))
    if not said:
        raise LookupError(f"{home}.{name} has no docstring below it")
    return " ".join(said).strip()


def _parsed(directive: SphinxDirective, lines: list[str]) -> list[nodes.Node]:
    """Return what lines of reStructuredText, on a page in Markdown, say."""
    return directive.parse_text_to_nodes("\n".join(["```{eval-rst}", *lines, "```"]))


def _room_of(name: str) -> str:
    """Return the room in which a name of `pnyx` is documented."""
    value = getattr(pnyx, name)
    rooms = [r for r in pnyx.__all__ if inspect.ismodule(getattr(pnyx, r))]
    homes = [r for r in rooms if getattr(getattr(pnyx, r), name, None) is value]
    if not homes:
        raise LookupError(f"pnyx.{name} is in no room's __all__")
    own = [r for r in homes if value.__module__.startswith(f"pnyx.{r}")]
    return f"pnyx.{(own or homes)[0]}"


def _sections(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Turn the sections of a docstring (Args, Raises ...) into reStructuredText."""
    if what in _WITH_SECTIONS:
        settings = Config(napoleon_use_rtype=False)
        lines[:] = GoogleDocstring(lines, settings, app, what, name, value, options).lines()


def _skipped(*event: Any) -> bool | None:
    """Skip fields of a NamedTuple, which are among the attributes of its docstring."""
    _, _, _, value, *_ = event
    return True if type(value).__name__ == "_tuplegetter" else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("room", Room)
    app.add_directive("public-names", PublicNames)
    app.connect("autodoc-process-docstring", _sections)
    app.connect("autodoc-skip-member", _skipped)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
