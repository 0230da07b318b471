"""Plugins that other distributions add by entry point, imported when used.

How to write one: docs/reference/plugins.md. Built-in names take precedence: a plugin with the same
name is left out, with a message.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from pnyx.core.errors import PluginError, escaped

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

Kind: TypeAlias = Literal[
    "commands", "judges", "students", "formats", "measures", "prompts", "engines", "workers"
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

APART: Final = {
    "build": "pnyx-build",
    "drafts-markdown": "pnyx-build",
    "files web": "pnyx-crawl",
    "pyserini:": "pnyx-pyserini",
    "--engine": "pnyx-ray",
    **dict.fromkeys(("--kind combined", "--kind late-interaction", "--kind lora"), "pnyx-train"),
}
"""Commands, formats, engines, an option and kinds of student of Pnyx in separate distributions ->
what to install."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point of the group `pnyx.KIND`; `package` has the distribution and its version."""

    kind: Kind
    name: str
    package: str
    summary: str
    _entry: EntryPoint = field(repr=False)

    def load(self, expected: Any = object) -> Any:
        """Import the plugin; PluginError if that fails or it is not an instance of `expected`."""
        try:
            value = self._entry.load()
        except (Exception, SystemExit) as error:
            why = f"{type(error).__name__}: {error}"
            raise PluginError(f"{self} cannot be loaded: {escaped(why)}") from error
        if not isinstance(value, expected):
            types = expected if isinstance(expected, tuple) else (expected,)
            wanted = " or ".join(kind.__name__ for kind in types)
            raise PluginError(f"{self} is of the type {type(value).__name__}, expected {wanted}")
        return value

    def __str__(self) -> str:
        return f"{self.package}: {self._entry.value} (pnyx.{self.kind}: {self.name})"


LEFT_OUT: dict[Plugin, str] = {}
"""Plugins that were found but are not used -> the reason."""


def plugins(kind: Kind, built_in: Collection[str] = ()) -> dict[str, Plugin]:
    """Return the installed plugins of a kind by name; the first of several with one name wins."""
    by_name: dict[str, Plugin] = {}
    for plugin in installed(kind):
        if plugin.name in built_in:
            _leave_out(plugin, "Pnyx already has that name")
        elif by_name.setdefault(plugin.name, plugin) is not plugin:
            _leave_out(plugin, f"{by_name[plugin.name].package} already has that name")
    return by_name


def plugin_commands(group: str, built_in: Collection[str]) -> dict[str, Plugin]:
    """Return the commands that plugins add below a group (empty: `pnyx` itself), by name."""
    above = f"{group} ".lstrip()
    commands = plugins("commands", {f"{above}{name}" for name in built_in})
    split = {name: name.rpartition(" ") for name in commands}
    return {word: commands[name] for name, (path, _, word) in split.items() if path == group}


def loaded(kind: Kind, built_in: Collection[str], expected: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and value of the plugins of the expected types; skip those that fail to load."""
    for name, plugin in plugins(kind).items():
        try:
            value = plugin.load()
        except PluginError as error:
            _leave_out(plugin, str(error))
            continue
        if isinstance(value, expected) and name in built_in:
            _leave_out(plugin, "Pnyx already has that name")
        elif isinstance(value, expected):
            yield name, value


def _leave_out(plugin: Plugin, why: str) -> None:
    """Report once that a plugin is not used."""
    if plugin not in LEFT_OUT:
        LEFT_OUT[plugin] = why
        sys.stderr.write(f"pnyx: left out: {why if str(plugin) in why else f'{plugin}: {why}'}\n")


def installed(kind: Kind) -> list[Plugin]:
    """Return all plugins of a kind, in the order of their distributions."""
    return [plugin for plugin in _installed(tuple(sys.path)) if plugin.kind == kind]


@cache
def _installed(path: tuple[str, ...]) -> list[Plugin]:
    distributions: dict[str, Distribution] = {}
    for folder in _folders(path):
        from importlib import metadata  # slow to import, and rarely needed

        distribution = metadata.Distribution.at(folder)
        distributions.setdefault(distribution.name, distribution)
    return [
        Plugin(kind, entry.name, f"{name} {about.version}", about.metadata["Summary"] or "", entry)
        for name, about in sorted(distributions.items())
        for kind in KINDS
        for entry in about.entry_points.select(group=f"pnyx.{kind}")
    ]


def _folders(path: tuple[str, ...]) -> Iterator[str]:
    """Yield the metadata folders that name a group of Pnyx; reading all takes ten times longer."""
    for folder in path:
        with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
            for entry in entries:
                file = Path(entry.path, "entry_points.txt")
                named = entry.name.endswith((".dist-info", ".egg-info")) and file.is_file()
                if named and b"[pnyx." in file.read_bytes():
                    yield entry.path
