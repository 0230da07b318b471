"""The outcome for each file of a folder, summarised in one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from pnyx.core.errors import escaped

Outcome: TypeAlias = Literal["read", "empty", "unreadable", "other", "unknown", "link"]
"""The outcome for a file: `other` contains something other than documents, such as questions."""

_MOST_NAMED: Final = 10
"""Number of names in a message; the rest are counted."""
_LABELS: Final[dict[Outcome, str]] = {
    "empty": "without text",
    "unreadable": "unreadable",
    "other": "with other data",
    "unknown": "of unknown type",
    "link": "link that is not followed",
}


def named(names: Sequence[str]) -> str:
    """Return names in one line: the first ones, and how many more there are."""
    listed = ", ".join(escaped(name, 80) for name in names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{listed} and {more:,} more" if more > 0 else listed


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The outcome for one file.

    Attributes:
        name: its path within the folder.
        outcome: whether and how it was read.
        problem: why it cannot be read, or what else it contains.
        assumed: the encoding that was assumed, as it is shown.
        column: the column of texts that was chosen, if it has no usual name.
        rows: rows that were left out as unreadable.
    """

    name: str
    outcome: Outcome
    problem: str = ""
    assumed: str = ""
    column: str = ""
    rows: int = 0


@dataclass(slots=True)
class FileAccount:
    """The outcomes for the files of `source`."""

    source: str
    files: list[FileOutcome] = field(default_factory=list)

    @property
    def skipped(self) -> int:
        """How many files were not read."""
        return sum(file.outcome != "read" for file in self.files)

    def line(self) -> str:
        """Return the number of files and their outcomes, naming those not read."""
        total = len(self.files)
        read = total - self.skipped
        files = f"{total:,} file" if total == 1 else f"{total:,} files"
        parts = [f"{files}: {read:,} read"]
        for outcome, label in _LABELS.items():
            matching = [file for file in self.files if file.outcome == outcome]
            if matching:
                names = [f"{f.name}: {f.problem}" if f.problem else f.name for f in matching]
                listed = [escaped(name, 160) for name in names]
                label = (
                    "links that are not followed" if outcome == "link" and matching[1:] else label
                )
                parts.append(f"{len(matching):,} {label} ({_listed(listed)})")
        return ", ".join(parts)

    def notes(self) -> list[str]:
        """Return what was assumed about files: encodings, columns of texts, rows left out."""
        lines = []
        assumed = [f"{f.name} ({f.assumed})" for f in self.files if f.assumed]
        columns = [f"{f.name} ({f.column!r})" for f in self.files if f.column]
        rows = [f"{f.name} ({f.rows:,})" for f in self.files if f.rows]
        if assumed:
            lines.append(f"not in UTF-8, encoding assumed: {named(assumed)}")
        if columns:
            lines.append(f"no column named text, longest column taken: {named(columns)}")
        if rows:
            lines.append(f"rows that cannot be read were left out: {named(rows)}")
        return lines


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    first = ", ".join(names[:_MOST_NAMED])
    return f"{first} and {more:,} more" if more > 0 else first
