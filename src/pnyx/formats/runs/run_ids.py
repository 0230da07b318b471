"""Ids of documents for TREC runs, whose columns cannot hold blanks and line ends, and their map."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from pnyx.core.errors import InputError
from pnyx.core.files import read_jsonl, write_jsonl
from pnyx.core.records import RunEntry

_UNSAFE = re.compile("[ \t\r\n\0%]|^\ufeff")
_HAS_UNSAFE = re.compile("[ \t\r\n\0]|^\ufeff")


def map_path(run: str | Path) -> Path:
    """Return the file next to a run that maps its ids to the original document ids."""
    return Path(f"{run}.ids.jsonl")


class SafeIds:
    """Replaces document ids that a run cannot hold; all others are unchanged.

    `is_taken` decides whether an id belongs to another document of the index.
    """

    def __init__(self, is_taken: Callable[[str], bool]) -> None:
        self.changed: dict[str, str] = {}
        self._is_taken = is_taken
        self._given: set[str] = set()

    def entries(self, entries: Iterable[RunEntry]) -> Iterator[RunEntry]:
        """Yield entries with ids that a run can hold."""
        for entry in entries:
            safe = self.safe(entry.doc_id)
            yield entry if safe == entry.doc_id else replace(entry, doc_id=safe)

    def safe(self, doc_id: str) -> str:
        """Return an id that a run can hold: blanks and line ends are percent-encoded."""
        if not _HAS_UNSAFE.search(doc_id):
            return doc_id
        if doc_id not in self.changed:
            encoded = name = _UNSAFE.sub(lambda match: quote(match[0]), doc_id)
            number = 1
            while name in self._given or self._is_taken(name):
                number += 1
                name = f"{encoded}~{number}"
            self._given.add(name)
            self.changed[doc_id] = name
        return self.changed[doc_id]

    def write_map(self, run: str | Path) -> Path | None:
        """Write the changed ids next to the run, or remove the map of an earlier run.

        Returns the file, or None if no id was changed.
        """
        path = map_path(run)
        if not self.changed:
            path.unlink(missing_ok=True)
            return None
        write_jsonl(path, ({"run_id": name, "id": doc} for doc, name in self.changed.items()))
        return path


def document_ids(run: str | Path) -> dict[str, str]:
    """Return the replaced ids of a run from the map next to it: new id -> original id."""
    path = map_path(run)
    if str(run) == "-" or not path.is_file():
        return {}
    ids = {}
    for number, row in read_jsonl(path):
        name, doc_id = row.get("run_id"), row.get("id")
        if not (isinstance(name, str) and isinstance(doc_id, str)):
            raise InputError("expected run_id and id, both text", path=path, line=number)
        ids[name] = doc_id
    return ids


def with_document_ids(entries: Iterable[RunEntry], run: str | Path) -> Iterator[RunEntry]:
    """Yield the entries of a run with the original document ids, from the map next to the run."""
    original_ids = document_ids(run)
    for entry in entries:
        doc_id = original_ids.get(entry.doc_id)
        yield entry if doc_id is None else replace(entry, doc_id=doc_id)
