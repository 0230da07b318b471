"""Which document supports which perspective on a question: the values of a page, and its table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from pnyx.measure.core.base import Measured
from pnyx.measure.perspectives.table import PERSPECTIVE_MEASURES, Bounded, Table, table_of
from pnyx.measure.perspectives.verdicts import Verdicts
from pnyx.records import Perspective
from pnyx.view.tables import Column
from pnyx.view.tables import Table as Shown

State: TypeAlias = Literal["yes", "no", "unscored"]
_DEPTHS: Final = (5, 10, 20)
_MEASURES: Final = ("MRecall", "Precision")


@dataclass(frozen=True, slots=True)
class Cell:
    """A pair of perspective and document.

    Attributes:
        state: whether the document supports the perspective, as far as anybody said.
        probability: of yes, in [0, 1]; None where there is none.
        tint: the probability in tenths, 0 to 10; a yes without one has 10, a no 0.
        reason: why it is unscored.
    """

    state: State
    probability: float | None
    tint: int
    reason: str = ""

    @property
    def weak(self) -> bool:
        """Whether it is a yes that is likelier a no, by its probability."""
        return self.state == "yes" and self.probability is not None and self.probability < 0.5


@dataclass(frozen=True, slots=True)
class Row:
    """A perspective: `rank` is that of the first document which supports it, from 1."""

    perspective: Perspective
    cells: Sequence[Cell]
    rank: int | None

    @property
    def open(self) -> int:
        """How many of its pairs are unscored."""
        return sum(cell.state == "unscored" for cell in self.cells)

    @property
    def state(self) -> State:
        """Whether some document supports it; `unscored` where that is not settled."""
        if self.rank is not None:
            return "yes"
        return "unscored" if self.open else "no"


@dataclass(frozen=True, slots=True)
class Matrix:
    """A question: its documents, best first, against its perspectives."""

    topic: str
    documents: Sequence[str]
    rows: Sequence[Row]
    measures: Mapping[str, Bounded]

    @property
    def covered(self) -> Measured:
        """The share of perspectives that a document supports, of those where it is settled."""
        settled = [row.state for row in self.rows if row.state != "unscored"]
        share = settled.count("yes") / len(settled) if settled else None
        return Measured(share, len(settled), len(self.rows))

    @property
    def supporting(self) -> Sequence[int]:
        """How many perspectives each document supports."""
        cells = (row.cells for row in self.rows)
        return [sum(cell.state == "yes" for cell in column) for column in zip(*cells, strict=True)]

    def count(self, state: State) -> int:
        """Return how many perspectives are in a state."""
        return sum(row.state == state for row in self.rows)


def matrix_of(
    topic: str, documents: Sequence[str], perspectives: Sequence[Perspective], verdicts: Verdicts
) -> Matrix:
    """Return the matrix of a question from verdicts on its pairs.

    Args:
        topic: the question's id.
        documents: their ids, best first.
        perspectives: those on the question, at least one.
        verdicts: which document supports which perspective.
    """
    table = table_of(topic, documents, perspectives, verdicts)
    rows = []
    for place, perspective in enumerate(perspectives):
        cells = [
            _cell(table, row, place, verdicts.of(topic, document, perspective.id).unscored)
            for row, document in enumerate(documents)
        ]
        ranks = [rank for rank, cell in enumerate(cells, 1) if cell.state == "yes"]
        rows.append(Row(perspective, cells, min(ranks, default=None)))
    measures = {}
    for k in [k for k in _DEPTHS if k <= len(documents)] or [len(documents)]:
        for name in _MEASURES:
            found = (PERSPECTIVE_MEASURES[name] @ k).of(table) if k else None
            if found is not None:
                measures[f"{name}@{k}"] = found
    return Matrix(topic, documents, rows, measures)


def _cell(table: Table, row: int, column: int, reason: str) -> Cell:
    stated = float(table.probability[row, column])
    probability = None if math.isnan(stated) else stated
    if table.unscored[row, column]:
        return Cell("unscored", None, 0, reason)
    yes = bool(table.yes[row, column])
    share = float(yes) if probability is None else probability
    return Cell("yes" if yes else "no", probability, math.floor(10 * share + 0.5))


def matrix_table(matrix: Matrix) -> Shown:
    """Return the matrix as a table, a row for each pair: what a file of it holds."""
    columns = (
        Column("perspective", "name"),
        Column("side", "name"),
        Column("rank", "count"),
        Column("document", "name"),
        Column("supports", "name"),
        Column("probability", "number"),
        Column("unscored", "name"),
    )
    rows = [
        (
            row.perspective.id,
            row.perspective.stance or "",
            rank,
            document,
            "" if cell.state == "unscored" else cell.state,
            cell.probability,
            cell.reason,
        )
        for row in matrix.rows
        for rank, (document, cell) in enumerate(zip(matrix.documents, row.cells, strict=True), 1)
    ]
    return Shown(columns, rows)
