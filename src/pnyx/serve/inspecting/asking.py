"""The file of a catalogue, asked, and lists in pages."""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pnyx.serve.inspecting.records import Listed

ON_A_PAGE: Final = 100
"""Items on a page of a list."""


class NotThereError(LookupError):
    """An address names what the catalogue does not have."""


class Asked:
    """A file of SQLite that is only read.

    Args:
        path: the file that `Builder` wrote.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._idle: list[sqlite3.Connection] = []  # several threads ask at once
        weakref.finalize(self, _close, self._idle)

    def all(self, sql: str, *values: Any) -> list[Any]:
        """Return all rows of a query."""
        try:
            connection = self._idle.pop()
        except IndexError:
            uri = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
            connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        try:
            found: list[Any] = connection.execute(sql, values).fetchall()
        finally:
            self._idle.append(connection)
        return found

    def one(self, sql: str, *values: Any) -> Any:
        """Return the first row of a query; NotThereError where there is none."""
        found = self.all(f"{sql} LIMIT 1", *values)
        if not found:
            raise NotThereError("this is not among the results")
        return found[0]

    def listed(self, select: str, tail: str, page: int, *values: Any) -> Listed[Any]:
        """Return one page of the rows of `select` with the clauses `tail` (FROM to ORDER BY)."""
        total = self.all(f"SELECT count(*) {tail.partition(' ORDER BY ')[0]}", *values)[0][0]
        rows = f"{select} {tail} LIMIT {ON_A_PAGE} OFFSET {(page - 1) * ON_A_PAGE}"
        return paged(self.all(rows, *values), total, page)


def _close(connections: Sequence[sqlite3.Connection]) -> None:
    for one in connections:
        one.close()


def pages_of(total: int) -> int:
    """Return on how many pages so many items stand."""
    return max(1, -(-total // ON_A_PAGE))


def paged(items: Sequence[Any], total: int, page: int) -> Listed[Any]:
    """Return a page of a list; NotThereError where it ends before."""
    pages = pages_of(total)
    if not 1 <= page <= pages:
        raise NotThereError(f"this list has {pages} pages")
    return Listed(items, total, page, pages, (page - 1) * ON_A_PAGE + 1)
