"""The rooms of the package, and what each room offers to the others through its module `doors`.

A room is a folder of `pnyx`. If it has a module `doors`, the upper-case names in that module list
what the room adds: commands, tasks, measures, pages. Nothing else in the core, the engine, the
command line or the pages knows a system by name: removing a room removes its doors.

A lookup of one name imports only the doors in which that name is written, so that a command does
not import rooms that it does not use.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pnyx
from pnyx.core.errors import PluginError

SECTIONS: Final = ("Documents", "Judges", "Campaigns", "Housekeeping")
"""Sections of `pnyx --help`, in their order."""


def load(target: str) -> Any:
    """Import the object that `module:name` names."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


@dataclass(frozen=True, slots=True)
class CommandDoor:
    """A command that a room adds: `search`, or `measure retrieval` below another."""

    name: str
    target: str  # module:name, imported when the command is called
    order: int  # its position in its section, from low to high
    section: str = ""  # one of SECTIONS, for a command on the first page
    summary: str = ""  # one line, for a command on the first page

    def load(self) -> Any:
        """Import the command."""
        return load(self.target)


class RoomCommands(Mapping[str, Any]):
    """The commands that rooms add below a command, by name; each is imported when it is used."""

    def __init__(self, group: str = "") -> None:
        self._group = group

    def __getitem__(self, name: str) -> Any:
        """Import one command."""
        return room_commands(self._group, name)[name].load()

    def __contains__(self, name: object) -> bool:
        return name in room_commands(self._group, str(name))

    def __iter__(self) -> Iterator[str]:
        """Yield the names in their order."""
        return iter(room_commands(self._group))

    def __len__(self) -> int:
        """Return the number of commands."""
        return len(room_commands(self._group))


@dataclass(frozen=True, slots=True)
class MeasureDoor:
    """How `pnyx measure RESULTS` measures the answers to a task.

    Attributes:
        target: module:name of a function of the results (their path, or an iterator of the verdicts
            on standard input) and `cli.measure.options.MeasureSpec`; it returns an `Outcome`.
        options: fields of `MeasureSpec` that it uses, besides `by`; the others are refused.
    """

    target: str
    options: frozenset[str]


@dataclass(frozen=True, slots=True)
class PageDoor:
    """Pages of results that a room adds to `pnyx view`."""

    target: str  # module:name of a sequence of `web.results.pages.PageRoute`
    order: int  # their position among all pages, from low to high


@dataclass(frozen=True, slots=True)
class ReaderDoor:
    """Result files that a room reads into the catalogue of `pnyx view`.

    Attributes:
        read: module:name of the function that reads one: (`Builder`, source number, `GivenSource`).
        kind: the kind of a source that consists of such a file or folder alone.
        file: the name of the file in a folder of results.
        manifest: `kind` in the manifest of such a folder.
        recognise: module:name of the function that recognises such a file by its path.
        documents: module:name of a function from a path to a function from an id to a document.
    """

    read: str
    kind: str
    file: str = ""
    manifest: str = ""
    recognise: str = ""
    documents: str = ""


@cache
def _sources() -> dict[str, str]:
    """Return the text of the `doors` modules by the names of their rooms."""
    paths = (path for folder in pnyx.__path__ for path in Path(folder).glob("*/doors.py"))
    return {path.parent.name: path.read_text(encoding="utf-8") for path in sorted(paths)}


def rooms(name: str = "") -> dict[str, ModuleType]:
    """Return the `doors` modules by room; with a name, those in which it is written, quoted."""
    return {
        room: importlib.import_module(f"pnyx.{room}.doors")
        for room, text in _sources().items()
        if not name or f'"{name}"' in text
    }


def offered(kind: str, name: str = "") -> Iterator[Any]:
    """Yield everything that the rooms (see `rooms`) offer of a kind (`COMMANDS`), room by room."""
    for doors in rooms(name).values():
        yield from getattr(doors, kind, ())


def named(kind: str, sought: str = "") -> dict[str, Any]:
    """Return everything that the rooms offer of a named kind (`TASKS`), by name.

    With `sought`, only rooms that have this name are imported.

    Raises:
        RuntimeError: two rooms use the same name.
    """
    values: dict[str, Any] = {}
    for room, doors in rooms(sought).items():
        for name, value in getattr(doors, kind, {}).items():
            if name in values:
                raise RuntimeError(f"{kind}: two rooms define {name!r}, one of them {room}")
            values[name] = value
    return values


def required(kind: str, name: str) -> Any:
    """Import the object that a room registered as `name` of a named kind (`OPENERS`).

    Raises:
        PluginError: no room registers it.
    """
    targets = named(kind, name)
    if name not in targets:
        raise PluginError(f"this installation has no room for {name!r} ({kind}); reinstall pnyx")
    return load(targets[name])


def room_commands(group: str = "", sought: str = "") -> dict[str, CommandDoor]:
    """Return the commands below `group` (without one: those of the first page), in their order.

    With `sought`, only rooms that have the command of this name are imported.
    """
    commands = {
        name: door
        for door in offered("COMMANDS", f"{group} {sought}".strip() if sought else "")
        for above, _, name in [door.name.rpartition(" ")]
        if above == group
    }
    ranks = {section: rank for rank, section in enumerate(SECTIONS)}
    return dict(
        sorted(commands.items(), key=lambda item: (ranks.get(item[1].section, 0), item[1].order))
    )
