"""Formats of judging arguments beside each other, as tables and a picture, from their JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pnyx.view.tables import Column, Table
from pnyx.view.trials import curves_plot, documents_table, figure, level_name

Row = Mapping[str, Any]


def format_tables(row: Row) -> list[Table]:
    """Return Tables 16 to 18 of ConQRet, a row for each format, and Table 7 where it applies."""
    noise = _curves(row, "context_relevance")
    tables = [
        _points("Context relevance by documents replaced (ConQRet, Table 16)", noise, "share"),
        _steps(noise),
        _points(
            "Groundedness by sentences contradicted (ConQRet, Table 18)",
            _curves(row, "groundedness"),
            "sentences",
        ),
    ]
    single = "Single documents, {} (ConQRet, Table 7)"
    found = (documents_table(one, single.format(name)) for name, one in row["formats"].items())
    return [table for table in (*tables, *found) if table is not None and table.rows]


def sensitivity_plot(row: Row) -> str:
    """Return context relevance by share of documents replaced, a line a format (Figure 13)."""
    title = "Context relevance by share of documents replaced"
    return curves_plot(_curves(row, "context_relevance"), "share", title, title)


def _curves(row: Row, name: str) -> dict[str, Row]:
    return {form: one[name] for form, one in row["formats"].items() if one[name] is not None}


def _points(title: str, curves: Mapping[str, Row], unit: str) -> Table:
    """Return the mean at each level, how it goes with the level, and the fall."""
    levels = next(iter(curves.values()))["levels"] if curves else ()
    columns = [Column("format", "name"), *(Column(level_name(x, unit), "figure") for x in levels)]
    columns += [Column("Pearson", "figure"), Column("fall", "figure"), Column("scored", "counts")]
    rows = [
        (form, *map(figure, [*c["points"], c["pearson"], c["fall"]]), _scored(c))
        for form, c in curves.items()
    ]
    return Table(columns, rows, title=title)


def _steps(curves: Mapping[str, Row]) -> Table:
    """Return whether the score falls at every step, and where it falls least."""
    columns = [Column("format", "name"), Column("falls at every step", "name")]
    columns += [Column("least step", "figure"), Column("from, to", "name")]
    rows: list[Sequence[Any]] = []
    for form, curve in curves.items():
        known = [
            (round(step["value"], 12), n)
            for n, step in enumerate(curve["steps"][: curve["counted"] - 1])
            if step["value"] is not None
        ]
        least = min(known, default=None)
        falls = {True: "yes", False: "no", None: "-"}[curve["strictly_decreasing"]]
        if least is None:
            rows.append((form, falls, None, "-"))
            continue
        ends = curve["levels"][least[1] : least[1] + 2]
        between = ", ".join(level_name(level, "share") for level in ends)
        rows.append((form, falls, figure(curve["steps"][least[1]]), between))
    title = "Does context relevance fall at every step? (ConQRet, Table 17)"
    return Table([*columns, Column("scored", "counts")],
                 [(*cells, _scored(curves[cells[0]])) for cells in rows], title=title)  # fmt: skip


def _scored(curve: Row) -> tuple[int, int]:
    """Return how many items were scored of those asked, over all levels."""
    points = curve["points"]
    return sum(p["scored"] for p in points), sum(p["asked"] for p in points)
