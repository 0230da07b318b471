"""A table that compares a judge's figures with earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pnyx.core.errors import escaped
from pnyx.display.tables import Column, Table

if TYPE_CHECKING:
    from pnyx.audit.drift import Drift


def drift_table(moved: Sequence[Drift]) -> Table:
    """Return a row for each figure: then, now, and the interval of the change."""
    columns = [Column("figure", "measure"), Column("then", "number"), Column("now", "number")]
    columns += [Column("better by", "number"), Column("95 % interval", "interval")]
    columns += [Column("", "name")]
    rows = [
        (escaped(m.name, 80), m.then, m.now, m.better, (m.low, m.high), _verdict(m)) for m in moved
    ]
    return Table(columns, rows)


def _verdict(moved: Drift) -> str:
    how = (
        "paired" if moved.paired else "same items, unpaired" if moved.same_items else "other items"
    )
    return f"{moved.verdict} ({how})"
