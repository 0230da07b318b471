"""Trials of a judge, its agreement and its formats, as tables and curves, from their JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pnyx.core.errors import escaped
from pnyx.display.svg import MARGIN, SERIES, Axes, document, drawn_path, drawn_text, ticks
from pnyx.display.tables import Column, Table
from pnyx.judging.judge_names import short_name
from pnyx.stats.base import Measured

_LABELS = {"share": "replaced", "sentences": "contradicted"}
_DASHES = ("", "7 4", "2 3")
_KINDS = {
    "human-judge": "judge and people",
    "human-human": "people and people",
    "raters": "raters of one file",
}
Row = Mapping[str, Any]


def figure(row: Row | None) -> Measured:
    """Return a measured value from its JSON object; an empty one from None."""
    if row is None:
        return Measured(None, 0, 0)
    return Measured(row["value"], row["scored"], row["asked"], row["low"], row["high"],
                    row.get("no_interval", ""))  # fmt: skip


# Trials ------------------------------------------------------------------------------------------


def trial_lines(row: Row) -> list[str]:
    """Return the outcome of a trial in words, one line each."""
    items = row["items"]
    left = ", ".join(f"{count} {why}" for why, count in items["left_out"].items())
    used = f"{items['used']} of {items['asked_about']} items"
    return [
        f"{row['trial']}, {row['task']}: {row['outcome']}",
        f"expected: {row['expects']}",
        *(problem["said"] for problem in row["problems"]),
        used + (f" (left out: {left})" if left else ""),
    ]


def trial_tables(row: Row) -> list[Table]:
    """Return the measures of a trial: overall, then by level or variant."""
    parts = (_curves(row), _precision(row), documents_table(row), _grid(row), _ways(row))
    return [measures_table(row["measures"], "of"), *(part for part in parts if part is not None)]


def measures_table(measures: Row, counted: str) -> Table:
    """Return a row for each measure: its value with its interval, and its count."""
    columns = Column("measure", "measure"), Column("value, 95 % interval", "figure")
    figures = {name: figure(value) for name, value in measures.items()}
    return Table(
        (*columns, Column(counted, "counts")), [(name, m, m) for name, m in figures.items()]
    )


def _curves(row: Row) -> Table | None:
    curves = row.get("curves")
    if not curves:
        return None
    names = list(curves)
    columns = [Column(_LABELS[row["unit"]], "name")]
    columns += [Column(escaped(name, 30), "figure") for name in names]
    columns.append(Column("items", "counts"))
    rows = []
    for n, level in enumerate(curves[names[0]]["levels"]):
        points = [figure(curves[name]["points"][n]) for name in names]
        rows.append((level_name(level, row["unit"]), *points, points[0]))
    return Table(columns, rows)


def level_name(level: float, unit: str) -> str:
    """Return a level of a trial in words."""
    return f"{100 * level:.0f} %" if unit == "share" else f"{level:g}"


_PRECISION = {name: f"{name} precision" for name in ("true", "predicted", "error")}


def _precision(row: Row) -> Table | None:
    return _by_level(row["precision"], _PRECISION) if row.get("precision") else None


def documents_table(row: Row, title: str = "") -> Table | None:
    """Return the measures of single documents' scores at each level; None without any."""
    if not row.get("documents"):
        return None
    measures = {"separation": "own above others", **_PRECISION}
    titles = {name: title for name, title in measures.items() if name in row["documents"][0]}
    counted = "documents" if "true" in titles else "items"
    return _by_level(row["documents"], titles, counted, title)


def _by_level(
    rows: Sequence[Row], titles: Mapping[str, str], counted: str = "", title: str = ""
) -> Table:
    columns = [
        Column("replaced", "name"),
        *(Column(column_title, "figure") for column_title in titles.values()),
    ]
    columns += [Column(counted, "counts")] if counted else []
    cells: list[Sequence[Any]] = []
    for row in rows:
        figures = [figure(row[name]) for name in titles]
        last = figures[-1:] if counted else ()
        cells.append((level_name(row["level"], "share"), *figures, *last))
    return Table(columns, cells, title=title)


def _grid(row: Row) -> Table | None:
    if not row.get("grid"):
        return None
    columns = [Column("replaced", "name"), Column("contradicted", "name")]
    columns += [Column("score", "figure"), Column("items", "counts")]
    rows = [
        (level_name(cell["level"], "share"), f"{cell['sentences']:g}", *[figure(cell["score"])] * 2)
        for cell in row["grid"]
    ]
    return Table(columns, rows)


def _ways(row: Row) -> Table | None:
    rows = row.get("ways") or row.get("separation")
    if not rows:
        return None
    name = [key for key in rows[0] if key not in ("way", "level")][0]  # noqa: RUF015 - may be none
    columns = (Column("way", "name"), Column(name, "figure"), Column("items", "counts"))
    named = [row["way"] if "way" in row else level_name(row["level"], "share") for row in rows]
    figures = [figure(row[name]) for row in rows]
    return Table(columns, [(way, value, value) for way, value in zip(named, figures, strict=True)])


def curve_plot(row: Row) -> str:
    """Return the curves of a trial with their intervals as an SVG document; empty without any."""
    curves: Mapping[str, Row] = row.get("curves") or {
        f"{count} contradicted": curve for count, curve in row.get("by_sentences", {}).items()
    }
    if not curves:
        return ""
    first = dict(list(curves.items())[: len(SERIES)])
    head, title = f"{row['trial']}: {row['outcome']}", f"{row['trial']}, {row['task']}"
    return curves_plot(first, row.get("unit", "share"), head, f"{title}: score by level", band=True)


def curves_plot(
    curves: Mapping[str, Row], unit: str, head: str, title: str, *, band: bool = False
) -> str:
    """Return curves over the same levels as an SVG document, beyond `SERIES` in dashes."""
    axes = Axes(MARGIN + 46, MARGIN + 36, 360, 220)
    levels: Sequence[float] = next(iter(curves.values()))["levels"]
    most = max(levels) or 1
    parts = [drawn_text(head, MARGIN, MARGIN + 8, "head")]
    parts += axes.up([(tick, f"{tick:.1f}") for tick in ticks(0.0, 1.0) if tick <= 1])
    parts += axes.across([(level / most, level_name(level, unit)) for level in levels if level])
    for number, (name, curve) in enumerate(curves.items()):
        series, dashes = SERIES[number % len(SERIES)], _DASHES[number // len(SERIES) % 3]
        points = [
            (level / most, figure(point))
            for level, point in zip(levels, curve["points"], strict=True)
        ]
        if number == 0 and band:
            low = [(x, m.low) for x, m in points if m.low is not None]
            high = [(x, m.high) for x, m in points if m.high is not None]
            parts += axes.band(low, high)
        line = [(x, m.value) for x, m in points if m.value is not None]
        parts.append(axes.path(line, series, dashes))
        right, down = axes.x(1) + 10, axes.top + 16 * number + 10
        if len(curves) > len(SERIES):
            parts.append(drawn_path([(right, down - 4), (right + 26, down - 4)], series, dashes, 2))
            right += 32
        parts.append(drawn_text(escaped(name, 30), right, down, f"ink {series}"))
    label = "share of documents replaced" if unit == "share" else "sentences contradicted"
    parts.append(drawn_text(label, axes.x(0.5), axes.y(0) + 34, "tick"))
    return document(title, int(axes.x(1) + 190), int(axes.y(0) + 40), parts, [])


# Agreement ---------------------------------------------------------------------------------------


def rater_title(row: Row) -> str:
    """Return the names of the compared raters."""
    names = " and ".join(escaped(short_name(name), 60) for name in row["between"])
    many = f", {row['raters']} raters" if row["kind"] == "raters" else ""
    return f"{_KINDS[row['kind']]}: {names}{many}"


def rater_table(row: Row) -> Table:
    """Return a comparison (`Compared.row()`), a row for each measure; first the mean."""
    named = [name for name in row["per_dimension"] if name]
    columns = [Column("measure", "measure")]
    columns.append(Column(f"mean of {len(named)}" if named else "value, 95 % interval", "figure"))
    columns += [Column(escaped(name, 30), "figure") for name in named]
    columns.append(Column("items", "counts"))
    rows: list[Sequence[Any]] = []
    for name, mean in row["mean"].items():
        cells = [figure(row["per_dimension"][dimension][name]) for dimension in named]
        rows.append((name, figure(mean), *cells, figure(mean)))
    return Table(columns, rows)


def rater_parts(rows: Sequence[Row]) -> list[str | Table]:
    """Return the title and the table of each comparison."""
    return [part for row in rows for part in (rater_title(row), rater_table(row))]


# Comparison of formats for judging arguments ---------------------------------------------------


def format_tables(row: Row) -> list[Table]:
    """Return Tables 16 to 18 of ConQRet, a row for each format, and Table 7 if it applies."""
    noise = _format_curves(row, "context_relevance")
    tables = [
        _points("Context relevance by documents replaced (ConQRet, Table 16)", noise, "share"),
        _steps(noise),
        _points(
            "Groundedness by sentences contradicted (ConQRet, Table 18)",
            _format_curves(row, "groundedness"),
            "sentences",
        ),
    ]
    single = "Single documents, {} (ConQRet, Table 7)"
    by_format = (
        documents_table(trial, single.format(name)) for name, trial in row["formats"].items()
    )
    return [table for table in (*tables, *by_format) if table is not None and table.rows]


def sensitivity_plot(row: Row) -> str:
    """Return context relevance by share of documents replaced, a line per format (Figure 13)."""
    title = "Context relevance by share of documents replaced"
    return curves_plot(_format_curves(row, "context_relevance"), "share", title, title)


def _format_curves(row: Row, name: str) -> dict[str, Row]:
    return {form: trial[name] for form, trial in row["formats"].items() if trial[name] is not None}


def _points(title: str, curves: Mapping[str, Row], unit: str) -> Table:
    """Return the mean at each level, its correlation with the level, and the drop."""
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
        drops = [
            (round(step["value"], 12), n)
            for n, step in enumerate(curve["steps"][: curve["counted"] - 1])
            if step["value"] is not None
        ]
        least = min(drops, default=None)
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
