"""What `pnyx bench perspectives` prints for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pnyx.cli.measure_perspectives_report import corrected_cells, correction_legend, leaning_rows
from pnyx.cli.measure_runs import compared_legend, draws_legend, mark
from pnyx.cli.tables import interval, number, table
from pnyx.errors import shorten

if TYPE_CHECKING:
    from pnyx.audit.perspective_bench import Benched

__all__ = ["lines"]


def lines(found: Benched, source: str) -> list[str]:
    """Return a row for each system, with whatever is open or corrected beside it."""
    coverage = found.coverage
    names = list(coverage.runs[0].measures)
    opened = any(mean.open for run in coverage.runs for mean in run.measures.values())
    corrected = any(run.corrected for run in coverage.runs)
    compared = {(c.run, c.measure): c for c in coverage.comparisons}
    rows = [["system"]]
    for name in names:
        rows[0] += [name, "95 % interval"]
        rows[0] += ["bounds"] if opened else []
        rows[0] += ["corrected", "95 % interval"] if corrected else []
    for run in coverage.runs:
        row = [run.name]
        for name in names:
            mean = run.measures[name]
            better = mark(compared.get((run.name, name)))
            row += [f"{number(mean.measured.value)} {better:1}",
                    interval(mean.measured.low, mean.measured.high)]  # fmt: skip
            row += [interval(mean.least, mean.most)] if opened else []
            row += corrected_cells(run, name) if corrected else []
        rows.append(row)
    return [
        f"{len(found.test)} questions of {shorten(source, 200)}, verdicts by "
        f"{shorten(coverage.judge, 100)}",
        "",
        *table(rows),
        *(["", *table(leaning_rows(found.leaning), left=2)] if found.leaning else []),
        "",
        *_legend(found, opened, corrected),
    ]


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
