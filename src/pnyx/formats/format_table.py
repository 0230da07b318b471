"""The table of all formats, by name; the module that reads a format is imported when it is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from pnyx.formats.base import Format, Kind, table


class FormatTable(Mapping[str, Format]):
    """Name -> format, in the order of `formats.toml`."""

    def __init__(self) -> None:
        self._modules = {
            name: module for module, names in table()["modules"].items() for name in names
        }
        self._loaded: dict[str, Format] = {}

    def __getitem__(self, name: str) -> Format:
        """Return a format; KeyError if there is none of this name."""
        if name not in self._loaded:
            module = import_module(f"pnyx.formats.{self._modules[name]}")
            self._loaded |= {loaded.name: loaded for loaded in module.FORMATS}
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        """Whether there is a format of this name."""
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._modules)

    def __len__(self) -> int:
        """Return the number of formats."""
        return len(self._modules)


FORMATS: Final = FormatTable()
"""Name -> format. To add one, edit `formats.toml` (JSON Lines: also under `recognised`) and its own
module; or write a plugin of the group `pnyx.formats` that recognises its files."""


def kind_of(name: str) -> Kind:
    """Return the kind of records of a format, without importing what reads it."""
    kind: Kind = table()[name]["kind"]
    return kind
