"""What `pnyx bench perspectives` prints for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pnyx.cli.measure_perspectives_report import corrected_cell, correction_legend, leaning_table
from pnyx.cli.measure_runs import compared_legend, draws_legend, mark
from pnyx.errors import shorten
from pnyx.view.tables import Column, Marked, Table

if TYPE_CHECKING:
    from pnyx.audit.perspective_bench import Benched
    from pnyx.cli.measure_runs import Part

__all__ = ["report"]


def report(found: Benched, source: str) -> list[Part]:
    """Return a row for each system, with whatever is open or corrected beside it."""
    coverage = found.coverage
    names = list(coverage.runs[0].measures)
    opened = any(mean.open for run in coverage.runs for mean in run.measures.values())
    corrected = any(run.corrected for run in coverage.runs)
    compared = {(c.run, c.measure): c for c in coverage.comparisons}
    columns = [Column("system")]
    for name in names:
        columns.append(Column(f"{name}, 95 % interval", "figure"))
        columns += [Column("bounds", "interval")] * opened
        columns += [Column("corrected, 95 % interval", "figure")] * corrected
    rows = []
    for run in coverage.runs:
        row: list[Any] = [run.name]
        for name in names:
            mean = run.measures[name]
            row.append(Marked(mean.measured, mark(compared.get((run.name, name)))))
            row += [(mean.least, mean.most)] * opened
            row += [corrected_cell(run, name)] * corrected
        rows.append(row)
    title = (
        f"{len(found.test)} questions of {shorten(source, 200)}, verdicts by "
        f"{shorten(coverage.judge, 100)}"
    )
    leaning = [leaning_table(found.leaning)] if found.leaning else []
    return [Table(columns, rows, title=title), *leaning, _legend(found, opened, corrected)]


def _legend(found: Benched, opened: bool, corrected: bool) -> list[str]:
    coverage = found.coverage
    said = []
    if found.lambdas:
        chosen = ", ".join(f"{name} {lam:g}" for name, lam in found.lambdas.items())
        on = f", chosen on {len(found.dev)} other questions" if found.dev else ""
        said.append(f"lambda of mmr: {chosen}{on}")
    if found.leaning:
        said.append("p, n: share of documents for the supporting and for the opposing perspective")
    if opened:
        said.append("bounds: over all questions, with unscored pairs read as no, and as yes")
    if corrected:
        said += correction_legend(coverage)
    return said + compared_legend(coverage) + draws_legend("the questions", coverage.bootstrap)
