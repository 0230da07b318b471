"""The rooms of the package, and what each offers to the others through its module `doors`.

A room is a folder of `pnyx`. Where it has a module `doors`, the names of that module in capitals
say what the room adds: commands, tasks, measures, pages. Nothing else in the core, the engine, the
command line or the pages knows a system by name: a room that is removed takes its doors with it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

import pnyx

SECTIONS: Final = ("Documents", "Judges", "Campaigns", "Housekeeping")
"""Sections of `pnyx --help`, in their order."""


def load(target: str) -> Any:
    """Import what `module:name` names."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


@dataclass(frozen=True, slots=True)
class CommandDoor:
    """A command that a room adds: `search`, or `measure retrieval` below another."""

    name: str
    target: str  # module:name, imported when the command is called
    order: int  # where it stands among its kind, from low to high
    section: str = ""  # of SECTIONS, of a command on the first page
    summary: str = ""  # one line, of a command on the first page

    def load(self) -> Any:
        """Import the command."""
        return load(self.target)


@dataclass(frozen=True, slots=True)
class PageDoor:
    """Pages of results that a room adds to `pnyx view`."""

    target: str  # module:name of a sequence of `web.results.pages.PageRoute`
    order: int  # their position among all pages, from low to high


@dataclass(frozen=True, slots=True)
class ReaderDoor:
    """Files of results that a room reads into the catalogue of `pnyx view`.

    Attributes:
        read: module:name of what reads a source: (`Builder`, number of the source, `GivenSource`).
        kind: the kind of a source that is such a file, or such a folder, alone.
        file: the name of the file in a folder of results.
        manifest: `kind` in the manifest of a folder that is one.
        recognise: module:name of what tells whether the file at a path is one.
        documents: module:name of what opens one at a path: a function from an id to a document.
    """

    read: str
    kind: str
    file: str = ""
    manifest: str = ""
    recognise: str = ""
    documents: str = ""


@cache
def rooms() -> dict[str, ModuleType]:
    """Return the doors of each room that has some, by the room's name."""
    names = sorted(part.name for part in pkgutil.iter_modules(pnyx.__path__) if part.ispkg)
    return {
        name: importlib.import_module(f"pnyx.{name}.doors")
        for name in names
        if find_spec(f"pnyx.{name}.doors") is not None
    }


def offered(kind: str) -> Iterator[Any]:
    """Yield what the rooms offer of a kind (`COMMANDS`), room by room."""
    for doors in rooms().values():
        yield from getattr(doors, kind, ())


def named(kind: str) -> dict[str, Any]:
    """Return what the rooms offer of a kind that is kept by name (`TASKS`).

    Raises:
        RuntimeError: two rooms use one name.
    """
    found: dict[str, Any] = {}
    for room, doors in rooms().items():
        for name, value in getattr(doors, kind, {}).items():
            if name in found:
                raise RuntimeError(f"{room}: {name!r} of {kind} has two rooms")
            found[name] = value
    return found


def room_commands(group: str = "") -> dict[str, CommandDoor]:
    """Return the commands below `group` (those of the first page without one), in their order."""
    found = {
        name: door
        for door in offered("COMMANDS")
        for above, _, name in [door.name.rpartition(" ")]
        if above == group
    }
    ranks = {section: rank for rank, section in enumerate(SECTIONS)}
    return dict(
        sorted(found.items(), key=lambda item: (ranks.get(item[1].section, 0), item[1].order))
    )
