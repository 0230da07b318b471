"""Tables about a distilled student."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pnyx.core.errors import escaped
from pnyx.display.tables import Column, Table

if TYPE_CHECKING:
    from pnyx.relevance.distillation import DistilledStudent


def distilled_table(distilled: DistilledStudent, out: str) -> Table:
    """Return the table of a student's measures on held-out questions."""
    counts, student = distilled.counts, distilled.student
    columns = (
        Column("held-out questions"),
        Column("value", "number"),
        Column("95 % interval", "interval"),
        Column("scored of asked", "counts"),
    )
    head = (
        f"{student.kind}: trained on {counts['trained_on']} pairs, calibrated on "
        f"{counts['held_out']} pairs of {len(counts['held_out_questions'])} other questions; yes "
        f"from {student.threshold:.3f}"
    )
    rows = [(name, m, m, f"{m.scored} of {m.asked}") for name, m in distilled.figures.items()]
    use = f"wrote {escaped(out)}: use it with --judge {escaped(out)}"
    return Table(columns, rows, notes=(use,), title=head)
