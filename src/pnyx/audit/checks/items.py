"""The content of a checked table: verdicts of judges and labels of people, item by item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Answer: TypeAlias = bool | float | None
"""Yes or no, or a rating; None for an empty label, or a verdict that is unscored."""

Kind: TypeAlias = Literal["yes-no", "rating"]


@dataclass(frozen=True, slots=True)
class CheckItem:
    """One row of the table.

    Attributes:
        id: unique in the table, or in its dimension; the row's number where the table has no column
            of ids.
        group: what clusters the items, such as their question; empty if there is none.
        line: the row's line in its file, or its number from 1 in memory.
        verdicts: column of a judge -> its verdict.
        labels: column (or annotator) -> this person's label.
        probabilities: column of a judge -> probability of yes, in [0, 1]; only where it is stated.
        unscored: column of a judge -> why it has no verdict; only where it has none.
        texts: further column -> its cell as text, in the order of the table: shown with a
            disagreement, and the source of text lengths.
        dimension: what is rated, in Pnyx's own answers on several dimensions; else empty.
    """

    id: str
    group: str
    line: int
    verdicts: Mapping[str, Answer]
    labels: Mapping[str, Answer]
    probabilities: Mapping[str, float] = field(default_factory=dict)
    unscored: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    dimension: str = ""


@dataclass(frozen=True, slots=True)
class CheckItems:
    """A table of verdicts and labels, as `pnyx check` understood it.

    Attributes:
        items: the rows, in the order of the table.
        kind: whether verdicts and labels are yes and no or ratings.
        judges: columns of verdicts, one or more.
        people: columns of labels (or annotators), one or more.
        group: the column of groups; empty if there is none.
        source: the file, or what the table is, for messages.
        notes: what was guessed, mapped or left out, a line each, to be shown to the user.
        words: the table's words for yes and for no, such as `pass` and `fail`.
        files: of labels in several files: name of each file -> its people.
    """

    items: Sequence[CheckItem]
    kind: Kind
    judges: tuple[str, ...]
    people: tuple[str, ...]
    group: str = ""
    source: str = "table"
    notes: tuple[str, ...] = ()
    words: tuple[str, str] = ("yes", "no")
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
