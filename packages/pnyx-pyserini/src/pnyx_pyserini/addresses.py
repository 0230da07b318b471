"""Find the folder of an address: a path, or the name of an index that Pyserini has fetched."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from pnyx.core.errors import IndexFolderError, InputError, shorten

SCHEME: Final = "pyserini:"
CACHE: Final = "PYSERINI_CACHE"


def folder_of(address: str) -> Path:
    """Return the folder of `pyserini:FOLDER_OR_NAME`; names are looked up in Pyserini's cache.

    Raises IndexFolderError if there is no such folder.
    """
    rest = address.removeprefix(SCHEME)
    if not rest:
        raise InputError(f"{SCHEME} has no index name, expected {SCHEME}FOLDER or {SCHEME}NAME")
    if Path(rest).is_dir() or "/" in rest or os.sep in rest:
        return Path(rest)
    home = os.environ.get(CACHE) or Path.home() / ".cache" / "pyserini"
    cache = Path(home) / "indexes"
    names = sorted(entry.name for entry in cache.iterdir()) if cache.is_dir() else []
    matches = [name for name in names if _has_name(rest, name) and (cache / name).is_dir()]
    if len(matches) == 1:
        return cache / matches[0]
    if matches:
        names_found = ", ".join(matches)
        raise IndexFolderError(
            f"{len(matches)} indexes have this name in {cache}: {names_found}", path=address
        )
    fetch = f"python -m pyserini.search.lucene --index {shorten(rest, 60)} fetches it"
    how = f"{fetch}, or unpack its archive and name the folder (docs/recipes/lucene.md)"
    raise IndexFolderError(f"is neither a folder nor in {cache}: {how}", path=address)


def _has_name(name: str, folder: str) -> bool:
    """Whether a folder has the name, as `lucene-inverted.NAME.20240418.4f9675` or an older form.

    Pyserini may append the checksum of the archive.
    """
    inner = re.fullmatch(
        r"(?:lucene-inverted|lucene-index|index)[.-](.+?)[.-]\d{8}[.-][0-9a-f]{6,7}(?:\.[0-9a-f]{32})?",
        folder,
    )
    return folder == name or (inner is not None and inner[1] == name)
