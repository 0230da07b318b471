"""How far a judge's probabilities can be trusted: figures of what was measured, from its JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pnyx.judge.calibration.recalibration import curve_from
from pnyx.measure.answers.binary import ReliabilityBin
from pnyx.measure.answers.thresholds import Choice, Curve, Thresholds
from pnyx.measure.core.base import BOOTSTRAP
from pnyx.serve.inspecting.figures import Figure, Section, file_name
from pnyx.view.calibrations import recalibration_plot
from pnyx.view.plots import reliability_plot, thresholds_plot
from pnyx.view.tables import Column, Table
from pnyx.view.trials import figure, rater_table, rater_title

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


def calibration_sections(document: Row) -> Iterator[Section]:
    """Yield what a file of `pnyx measure ... --json`, or of `pnyx calibrate`, says of calibration.

    Raises:
        KeyError, TypeError, ValueError: it is none.
    """
    if document.get("format") == "pnyx-calibration":
        yield from _recalibration(document)
        return
    measures = {
        name: document["measures"][name] for name in _MEASURES if name in document["measures"]
    }
    counts = document.get("counts", {})
    text = []
    if counts:
        text.append(f"{counts['scored']:,} of {counts['asked']:,} answers are scored.")
        if lacking := counts.get("without_probability", 0):
            text.append(f"{lacking:,} have no probability and are in none of these figures.")
    figures = [Figure("calibration", "Calibration", "", measured_table(measures, _MEASURES))]
    if bins := document.get("reliability"):
        figures.insert(0, reliability_figure(bins, str(document.get("task", ""))))
    yield Section("Calibration", text, figures)


def reliability_figure(rows: Sequence[Row], task: str, name: str = "reliability") -> Figure:
    """Return a reliability diagram with the numbers of its bins."""
    bins = [
        ReliabilityBin(
            b["from"], b["to"], b["count"], b["mean_probability"], b["share"], b["low"], b["high"]
        )
        for b in rows
    ]
    columns = (
        Column("from", "number"),
        Column("to", "number"),
        Column("answers", "count"),
        Column("mean probability", "number"),
        Column("share of yes", "number"),
        Column("95 % interval", "interval", "share"),
    )
    table = Table(
        columns,
        [(b.start, b.end, b.count, b.mean_probability, b.share, (b.low, b.high)) for b in bins],
    )
    drawn = reliability_plot(bins, task) if any(one.count for one in bins) else ""
    told = (
        "Dots: mean probability and share of yes in a bin, on the dashed line where they agree; "
        "lines: Wilson's 95 % intervals; bars: how many answers."
    )
    return Figure(name, "Reliability diagram", drawn, table, told)


def measured_table(measures: Row, names: Mapping[str, str] | None = None) -> Table:
    """Return measures with interval and base, a row for each."""
    columns = (
        Column("measure", "name"),
        Column("value, 95 % interval", "figure", "value"),
        Column("answers", "counts"),
    )
    found = [((names or {}).get(name, name), figure(one)) for name, one in measures.items()]
    return Table(columns, [(name, one, one) for name, one in found])


def _recalibration(document: Row) -> Iterator[Section]:
    curve = curve_from(document["method"], document["parameters"])
    threshold = float(document["threshold"])
    about = document.get("about", {})
    counts = about.get("counts", {})
    at = [n / 20 for n in range(21)]
    rows = list(zip(at, map(float, curve(at)), strict=True))
    columns = Column("stated", "number"), Column("recalibrated", "number")
    told = f"Curve: {document['method']}; yes from a recalibrated probability of {threshold:.2f}."
    drawn = Figure(
        "curve", "Recalibration", recalibration_plot(curve, threshold), Table(columns, rows), told
    )
    text = []
    if counts:
        text.append(
            f"Fitted on {counts['fitted']:,} answers of {counts['groups']:,} topics, "
            f"{counts['yes']:,} of them yes by their labels."
        )
    figures = [drawn]
    if "figures" in about:
        figures.append(
            Figure(
                "gain",
                "Before and after",
                "",
                _before_after(about["figures"]),
                "Those after are cross-fitted over topics.",
            )
        )
    yield Section("Recalibration", text, figures)
    if document.get("sure"):
        yield _selective(document["sure"])


def _before_after(found: Row) -> Table:
    columns = (
        Column("measure", "name"),
        Column("before", "figure"),
        Column("after", "figure"),
        Column("answers", "counts"),
    )
    names = [name for name in found["before"] if name in found["after"]]
    rows = [
        (
            _MEASURES.get(n, n),
            figure(found["before"][n]),
            figure(found["after"][n]),
            figure(found["after"][n]),
        )
        for n in names
    ]
    return Table(columns, rows)


def _selective(sure: Row) -> Section:
    columns = (
        Column("answer", "name"),
        Column("kept where the probability is", "name"),
        Column("kept", "counts"),
        Column("wrong", "count"),
        Column("at most wrong, 95 %", "share"),
    )
    places = {"no": ("at most", sure["low"]), "yes": ("at least", sure["high"])}
    rows = [
        (
            answer,
            "nowhere" if end is None else f"{word} {end:.3f}",
            (sure[answer]["kept"], sure["labelled"]),
            sure[answer]["errors"],
            sure[answer]["bound"],
        )
        for answer, (word, end) in places.items()
    ]
    text = f"Where answers are kept so that at most {sure['error']:.0%} are wrong."
    return Section(
        "Selective answers",
        [text],
        [Figure("selective", "Selective answers", "", Table(columns, rows))],
    )


def agreement_sections(document: Row) -> Iterator[Section]:
    """Yield what a file of `pnyx audit agreement --json` says, a part for each comparison."""
    for number, row in enumerate(document["compared"], 1):
        row = {**row, "between": [file_name(name) for name in row["between"]]}
        title = rater_title(row)
        yield Section(
            title[:1].upper() + title[1:],
            [],
            [Figure(f"agreement-{number}", "Agreement", "", rater_table(row))],
        )


def thresholds_section(document: Row) -> Section:
    """Return what a file of `pnyx measure thresholds --json` says.

    Raises:
        KeyError, TypeError, ValueError: it is none.
    """
    by_threshold = _curve(document["thresholds"], "threshold")
    by_k = _curve(document["cutoffs"], "k")
    found = Thresholds(
        str(document["judge"]),
        by_threshold,
        by_k,
        _choice(document["best_threshold"]),
        _choice(document["best_cutoff"]),
        figure(document["gain"]),
        {},
        {},
        BOOTSTRAP,
    )
    columns = (
        Column("by", "name"),
        Column("at", "number"),
        Column("F1", "figure"),
        Column("precision", "figure"),
        Column("recall", "figure"),
    )
    rows = [
        (name, at, *points)
        for name, curve in (("threshold", by_threshold), ("k", by_k))
        for at, *points in zip(curve.at, curve.f1, curve.precision, curve.recall, strict=True)
    ]
    told = "F1 by threshold, with its 95 % interval, beside F1 by number of documents."
    drawn = Figure(
        "thresholds", "Which documents to take", thresholds_plot(found), Table(columns, rows), told
    )
    best = found.best_threshold
    text = f"F1 is highest from a probability of {best.at:g} on"
    if best.f1.value is not None:
        text += f", at {best.f1.value:.3f}"
    return Section("Thresholds", [f"{text}; chosen on the same labels."], [drawn])


def _curve(rows: Sequence[Row], place: str) -> Curve:
    names = ("f1", "precision", "recall", "mean_f1")
    return Curve(
        tuple(float(row[place]) for row in rows),
        *(tuple(figure(row[name]) for row in rows) for name in names),
    )


def _choice(row: Row) -> Choice:
    return Choice(float(row["at"]), figure(row["f1"]), figure(row["held_out_f1"]))
