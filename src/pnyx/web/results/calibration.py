"""Figures of a judge's calibration, from measured JSON.

Every function raises KeyError, TypeError or ValueError for a document of another kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pnyx.display.plots import recalibration_plot, reliability_plot, thresholds_plot
from pnyx.display.tables import Column, Table
from pnyx.display.trials import figure
from pnyx.judging.calibration.curves import curve_from
from pnyx.judging.measures.binary import ReliabilityBin
from pnyx.judging.measures.thresholds import BestThreshold, Curve, Thresholds
from pnyx.stats.base import BOOTSTRAP
from pnyx.web.results.figure import Figure, FigureSection

Row = Mapping[str, Any]
_MEASURES: Final = {
    "ece": "expected calibration error (ECE): mean distance of probability and share of yes",
    "brier": "Brier score: mean squared error of the probability",
    "log_loss": "log loss",
    "calibration": "DIRAS's calibration",
    "auroc": "AUROC: yes above no by probability",
    "auroc_correct": "AUROC of the confidence: right answers above wrong ones",
    "average_precision": "average precision",
}


def document_sections(document: Row) -> list[FigureSection]:
    """Return the sections for a file of `pnyx measure` or `pnyx judge calibrate`."""
    if "thresholds" in document:
        return [_thresholds(document)]
    if document.get("format") == "pnyx-calibration":
        return list(_recalibration(document))
    return [_calibration(document)]


def _columns(names: str, *others: Column) -> list[Column]:
    """Return columns of `NAME:KIND` words, an underscore for each blank, and others."""
    pairs = (word.replace("_", " ").split(":") for word in names.split())
    return [*(Column(name, kind) for name, kind in pairs), *others]  # type: ignore[arg-type]


def _calibration(document: Row) -> FigureSection:
    measures, counts = document["measures"], document.get("counts", {})
    text = []
    if counts:
        text.append(f"{counts['scored']:,} of {counts['asked']:,} answers are scored.")
        if without := counts.get("without_probability", 0):
            text.append(f"{without:,} have no probability and are not in these figures.")
    columns = [Column("measure", "measure"), Column("value, 95 % interval", "figure", "value"),
               Column("answers", "counts")]  # fmt: skip
    figures_by_label = {
        label: figure(measures[n]) for n, label in _MEASURES.items() if n in measures
    }
    table = Table(columns, [(label, value, value) for label, value in figures_by_label.items()])
    figures = [Figure("calibration", "Calibration", "", table)]
    if bins := document.get("reliability"):
        figures.insert(0, _reliability(bins, str(document.get("task", ""))))
    return FigureSection("Calibration", text, figures)


def _reliability(rows: Sequence[Row], task: str) -> Figure:
    """Return a reliability diagram with the numbers of its bins."""
    keys = ("from", "to", "count", "mean_probability", "share", "low", "high")
    bins = [ReliabilityBin(*(row[key] for key in keys)) for row in rows]
    columns = _columns(
        "from:number to:number answers:count mean_probability:number share_of_yes:number",
        Column("95 % interval", "interval", "share"),
    )
    cells = [(b.start, b.end, b.count, b.mean_probability, b.share, (b.low, b.high)) for b in bins]
    drawn = reliability_plot(bins, task) if any(b.count for b in bins) else ""
    caption = (
        "Dots: mean probability and share of yes in a bin, on the dashed line where they agree; "
        "lines: Wilson's 95 % intervals; bars: how many answers."
    )
    return Figure("reliability", "Reliability diagram", drawn, Table(columns, cells), caption)


def _recalibration(document: Row) -> Iterator[FigureSection]:
    curve = curve_from(document["method"], document["parameters"])
    threshold = float(document["threshold"])
    about = document.get("about", {})
    at = [n / 20 for n in range(21)]
    table = Table(_columns("stated:number recalibrated:number"),
                  list(zip(at, map(float, curve(at)), strict=True)))  # fmt: skip
    caption = (
        f"Curve: {document['method']}; yes from a recalibrated probability of {threshold:.2f}."
    )
    picture = recalibration_plot(curve, threshold)
    figures = [Figure("curve", "Recalibration", picture, table, caption)]
    text = []
    if counts := about.get("counts", {}):
        text.append(
            f"Fitted on {counts['fitted']:,} answers of {counts['groups']:,} topics, "
            f"{counts['yes']:,} of them yes by their labels."
        )
    if "figures" in about:
        before, after = about["figures"]["before"], about["figures"]["after"]
        columns = _columns("measure:name before:figure after:figure answers:counts")
        rows = [
            (_MEASURES.get(name, name), figure(before[name]), *[figure(after[name])] * 2)
            for name in before
            if name in after
        ]
        note = "Values after calibration are cross-fitted over topics."
        figures.append(Figure("gain", "Before and after", "", Table(columns, rows), note))
    yield FigureSection("Recalibration", text, figures)
    if document.get("sure"):
        yield _selective(document["sure"])


def _selective(sure: Row) -> FigureSection:
    columns = _columns(
        "answer:name kept_where_the_probability_is:name kept:counts wrong:count",
        Column("at most wrong, 95 %", "share"),
    )
    rows = [
        (answer, "nowhere" if end is None else f"{word} {end:.3f}",
         (sure[answer]["kept"], sure["labelled"]), sure[answer]["errors"], sure[answer]["bound"])
        for answer, word, end in (("no", "at most", sure["low"]), ("yes", "at least", sure["high"]))
    ]  # fmt: skip
    text = [f"Where answers are kept so that at most {sure['error']:.0%} are wrong."]
    title = "Selective answers"
    return FigureSection(title, text, [Figure("selective", title, "", Table(columns, rows))])


def _thresholds(document: Row) -> FigureSection:
    by_threshold = _curve(document["thresholds"], "threshold")
    by_k = _curve(document["cutoffs"], "k")
    best = _choice(document["best_threshold"])
    thresholds = Thresholds(
        str(document["judge"]), by_threshold, by_k, best, _choice(document["best_cutoff"]),
        figure(document["gain"]), {}, {}, BOOTSTRAP,
    )  # fmt: skip
    columns = _columns("by:name at:number F1:figure precision:figure recall:figure")
    rows = [
        (name, at, *points)
        for name, curve in (("threshold", by_threshold), ("k", by_k))
        for at, *points in zip(curve.at, curve.f1, curve.precision, curve.recall, strict=True)
    ]
    caption = "F1 by threshold, with its 95 % interval, next to F1 by number of documents."
    title = "Which documents to take"
    drawn = Figure("thresholds", title, thresholds_plot(thresholds), Table(columns, rows), caption)
    value = "" if best.f1.value is None else f", at {best.f1.value:.3f}"
    text = f"F1 is highest from a probability of {best.at:g} on{value}; chosen on the same labels."
    return FigureSection("Thresholds", [text], [drawn])


def _curve(rows: Sequence[Row], at: str) -> Curve:
    names = ("f1", "precision", "recall", "mean_f1")
    points = (tuple(figure(row[name]) for row in rows) for name in names)
    return Curve(tuple(float(row[at]) for row in rows), *points)


def _choice(row: Row) -> BestThreshold:
    return BestThreshold(float(row["at"]), figure(row["f1"]), figure(row["held_out_f1"]))
