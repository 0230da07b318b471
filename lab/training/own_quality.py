"""Train and measure a model of argument quality on people's ratings, for `pnyx index`.

    python lab/training/own_quality.py webis-argquality20.csv --method paper --out paper
    python lab/training/own_quality.py rated.csv --column quality=stars --out mine
    pnyx index args.jsonl --out my.index --quality --quality-model mine

RATED is a table (.csv, .tsv) or JSONL, gzip or not: text, quality (any scale), and optionally
is_argument (true or false) and topic. Webis-ArgQuality-20 and IBM-ArgQ-Rank-30kArgs are read as
they were published. The figures are for held-out topics, compared with text length alone, which is
hard to beat. MODEL contains weights that cannot execute code, quality.json and card.md. Needs
scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_fields
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from quality_recipes import (
    RatedTexts,
    paper_protocol,
    train_paper_model,
    train_surface_model,
)

from pnyx._version import __version__
from pnyx.cli.options import ColumnSpec
from pnyx.core.errors import InputError, PnyxError, escaped, shorten
from pnyx.core.files import atomic_folder
from pnyx.display.tables import Column, Table, filled
from pnyx.formats.rated_texts import RatedText, read_rated
from pnyx.judging.calibration.curves import folds_of
from pnyx.judging.measures.binary import weighted_brier, weighted_f1
from pnyx.judging.students.surface_quality import SURFACE, VERSION, QualityModel
from pnyx.search.quality_models import (
    FILES,
    FORMAT,
    MANIFEST,
    NAME,
    WEIGHTS,
    WORDS,
    Arrays,
    PaperModel,
    full_name,
    sha256,
)
from pnyx.stats.base import Bootstrap, Measured
from pnyx.stats.correlation import weighted_pearson, weighted_r2, weighted_spearman
from pnyx.stats.intervals import SIGNED, UNIT, Range, draw_weights, drawn_value
from pnyx.stats.weighted_measures import Weighted

CARD = "card.md"
_LEAST = 20
LABELS = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "r2": "R2",
    "mse": "squared error",
    "f1": "F1, argument or not",
}
"""Measure -> its displayed name, in display order."""

Report: TypeAlias = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class MadeModel:
    """The result of a training: name with version, method, and counts of the texts.

    `figures` is system -> measure -> value, by models that had not seen the text's topic;
    `as_in_the_paper` has the figures of `paper_protocol`, and is empty for other methods.
    """

    name: str
    method: str
    counts: Mapping[str, int]
    figures: Figures
    as_in_the_paper: Mapping[str, float]

    def row(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return {"model": self.name, "method": self.method, **self.about()}

    def about(self) -> dict[str, Any]:
        """Return counts and figures ready for JSON."""
        figures = {
            s: {name: measured.row() for name, measured in m.items()}
            for s, m in self.figures.items()
        }
        paper = dict(self.as_in_the_paper)
        return {"counts": dict(self.counts), "figures": figures, "as_in_the_paper": paper}


def rated_texts(rows: Iterable[RatedText]) -> tuple[RatedTexts, dict[str, int]]:
    """Return the texts for a training, and their counts.

    Quality is scaled so that arguments lie in [0, 1]; other texts have 0.
    """
    read = list(rows)
    if len(read) < _LEAST:
        raise InputError(f"{len(read)} rated texts, expected at least {_LEAST}")
    argument = np.array([row.is_argument for row in read])
    if not argument.any():
        raise InputError("no text is an argument, so quality cannot be learned")
    quality = np.array([row.quality for row in read], dtype=np.float64)
    low, high = float(quality[argument].min()), float(quality[argument].max())
    if low == high:
        raise InputError(f"all arguments have the quality {low:g}, so it cannot be learned")
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.where(argument, (quality - low) / (high - low), 0.0)
    if not np.isfinite(scaled).all():
        raise InputError(f"quality: found {low:g} to {high:g}, which is too wide to be scaled")
    topics = [row.topic for row in read]
    named = len(set(topics)) if len(set(topics)) > 1 else 0
    groups = topics if named else [f"{number:09d}" for number in range(len(read))]
    rated = RatedTexts.of([row.text for row in read], scaled, argument, groups)
    return rated, {"texts": len(read), "arguments": int(argument.sum()), "topics": named}


def make_quality_model(
    rows: Iterable[RatedText],
    out: str | Path,
    method: str = "packaged",
    *,
    name: str | None = None,
    folds: int = 10,
    replace: bool = False,
    report: Report | None = None,
) -> MadeModel:
    """Train a quality model on all texts, cross-validate it over topics, and write both.

    `method` is `packaged`, that model's recipe, or `paper`, the Touché paper's two steps. The model
    is called after the folder `out` unless `name` says otherwise. Topics, or texts without any, are
    left out in at most `folds` parts. With `replace` an existing model is replaced; `report` is
    told of progress.

    Raises:
        InputError: too few ratings, `out` exists or is not a quality model, or a bad name.
    """
    _check_out(Path(out), replace)
    rated, counts = rated_texts(rows)
    figures = cross_validate(rated, method, folds, report)
    paper = paper_protocol(rated) if method == "paper" else {}
    with atomic_folder(out, replace=replace) as folder:
        model = METHODS[method](rated, method)
        result = MadeModel("", method, counts, figures, paper)
        full = write_quality_model(folder, model, name or Path(out).name, result.about())
        result = with_fields(result, name=full)
        folder.joinpath(CARD).write_text(_card(result), encoding="utf-8")
    return result


def _check_out(out: Path, replace: bool) -> None:
    """Raise before training if the folder cannot be written or replaced."""
    if not out.exists():
        return
    if not replace:
        raise InputError("exists already", path=out)
    if not (out / MANIFEST).is_file():
        raise InputError("exists and is not a quality model, so it is not replaced", path=out)


_HOW = {
    "packaged": "ridge regression on surface features and hashed words, the recipe of the model in "
    "the package; its penalty was chosen by leaving topics of these texts out",
    "paper": "the Touché paper's two steps: a support vector machine that tells arguments from "
    "other texts, then a linear support vector regression, both on tf-idf of words",
}


def _card(model: MadeModel) -> str:
    counts, lines = model.counts, list[str]()
    left = f"{counts['topics']} topics left out in turn" if counts["topics"] else "texts left out"
    drawn = "topics" if counts["topics"] else "texts"
    lines += [
        f"# {shorten(model.name, 80)}",
        "",
        f"- **What**: {_HOW[model.method]}.",
        f"- **Trained on** {counts['texts']} texts, {counts['arguments']} of them arguments; the "
        "quality scaled to [0, 1] over the arguments, 0 for the others.",
        f"- **Figures**: by models that had not seen the text's topic ({left}); 95 % intervals of "
        f"draws of {drawn}. Whoever chose the method or these texts by such figures has chosen on "
        "them.",
        "- **Limits**: it predicts ratings like these, of texts like these; measure it anew "
        "elsewhere. Compare it with the length alone.",
        "",
        "| " + " | ".join(("measure", *model.figures)) + " |",
        "| --- " * (1 + len(model.figures)) + "|",
    ]
    lines += [f"| {' | '.join(row)} |" for row in figure_cells(model.figures)]
    if model.as_in_the_paper:
        figures = ", ".join(f"{LABELS[name]} {v:.4f}" for name, v in model.as_in_the_paper.items())
        lines += ["", f"As in the paper (10 folds in the file's order, words of all): {figures}."]
    return "\n".join([*lines, ""])


def figure_cells(figures: Figures) -> list[Sequence[str]]:
    """Return a row for each measure: its name, then the value of each system with its interval."""
    return [
        (label, *(_cell(measures[name]) for measures in figures.values()))
        for name, label in LABELS.items()
        if any(name in measures for measures in figures.values())
    ]


def _cell(measured: Measured) -> str:
    has_interval = measured.low is not None and measured.high is not None
    bounds = f"[{measured.low:.4f}, {measured.high:.4f}]" if has_interval else "-"
    return "-" if measured.value is None else f"{measured.value:.4f} {bounds}"


LENGTHS = slice(0, 6)
"""The surface features of length: the logarithm of the distinct words, with five knots."""

METHODS: Mapping[str, Callable[[RatedTexts, str], QualityModel | PaperModel]] = {
    "packaged": train_surface_model,
    "paper": train_paper_model,
}
"""Name -> function that trains the model."""

QUALITY_MEASURES: Mapping[str, Weighted] = {
    "pearson": weighted_pearson,
    "spearman": weighted_spearman,
    "r2": weighted_r2,
    "mse": weighted_brier,
}
_BOUNDS = {"pearson": SIGNED, "spearman": SIGNED, "mse": UNIT}
LENGTH_ALONE = "length alone"
_BOOTSTRAP = Bootstrap(1000)

Floats = NDArray[np.float64]
Figures: TypeAlias = dict[str, dict[str, Measured]]


def cross_validate(
    rated: RatedTexts, method: str, folds: int = 10, report: Report | None = None
) -> Figures:
    """Measure a method of `METHODS`, and length alone, by cross-validation over topics.

    Topics are left out in at most `folds` parts, and drawn for 95 % intervals. `f1` is of arguments
    among all texts: length alone and the packaged recipe call all of them arguments.
    """
    fold_of = np.array(folds_of(rated.topics.tolist(), folds))
    out = {name: np.zeros(len(fold_of)) for name in (method, LENGTH_ALONE)}
    called = np.ones(len(fold_of), dtype=bool)
    for fold in range(int(fold_of.max()) + 1):
        fit, test = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        model = METHODS[method](rated.part(fit), method)
        texts = [rated.texts[row] for row in test.tolist()]
        out[method][test] = model.predict(texts)
        if isinstance(model, PaperModel):
            called[test] = [model.accepts(text) for text in texts]
        out[LENGTH_ALONE][test] = _by_length(rated.part(fit), rated.part(test))
        if report is not None:
            report(fold + 1, int(fold_of.max()) + 1, "folds")
    return {
        method: _measures(rated, out[method], called),
        LENGTH_ALONE: _measures(rated, out[LENGTH_ALONE], np.ones(len(fold_of), dtype=bool)),
    }


def _by_length(fit: RatedTexts, test: RatedTexts) -> Floats:
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    fit_lengths, test_lengths = (
        np.stack([t.surface for t in part.seen])[:, LENGTHS] for part in (fit, test)
    )
    line = make_pipeline(StandardScaler(), Ridge(10.0)).fit(fit_lengths, fit.quality)
    return np.clip(np.asarray(line.predict(test_lengths), dtype=np.float64), 0.0, 1.0)


def _measures(rated: RatedTexts, quality: Floats, called: NDArray[np.bool_]) -> dict[str, Measured]:
    clusters = np.unique(rated.topics, return_inverse=True)[1]
    by_name = {
        name: _measured(measure, rated.quality, quality, clusters, _BOUNDS.get(name))
        for name, measure in QUALITY_MEASURES.items()
    }
    if not rated.argument.all():
        gold, predicted = rated.argument.astype(float), called.astype(float)
        by_name["f1"] = _measured(weighted_f1, gold, predicted, clusters, UNIT)
    return by_name


def _measured(
    measure: Weighted,
    gold: Floats,
    score: Floats,
    clusters: NDArray[np.intp],
    bounds: Range | None,
) -> Measured:
    value = float(measure(gold, score, np.ones((1, len(gold))))[0])
    drawn = [measure(gold, score, weights) for weights in draw_weights(clusters, _BOOTSTRAP)]
    count, topics = len(gold), int(clusters.max()) + 1
    return drawn_value(
        value, np.concatenate(drawn), count, count, topics, _BOOTSTRAP, bounds=bounds
    )


def write_quality_model(
    folder: Path, model: QualityModel | PaperModel, name: str, about: Mapping[str, Any]
) -> str:
    """Write a model into an empty folder; return its name with the first 8 digits of its hash.

    The caller has the figures and writes the card. `about` is counts and figures, ready for JSON.
    """
    from safetensors.numpy import save_file

    if not NAME.fullmatch(name):
        raise InputError(f"name: found {shorten(name, 40)!r}, expected letters, digits, '.', '_'")
    if isinstance(model, PaperModel):
        kind, (settings, arrays) = "paper", _paper_parts(model)
        words = json.dumps({"words": sorted(model.words)}) + "\n"
        folder.joinpath(WORDS).write_text(words, encoding="utf-8")
    else:
        kind, (settings, arrays) = "packaged", _surface_parts(model)
    save_file({key: np.ascontiguousarray(a) for key, a in arrays.items()}, folder / WEIGHTS)
    row = {
        "format": FORMAT[0],
        "format_version": FORMAT[1],
        "pnyx": __version__,
        "name": name,
        "kind": kind,
        "neutral": model.neutral,
        "settings": settings,
        "files": {file: sha256(folder / file) for file in sorted(FILES[kind])},
        **about,
    }
    text = json.dumps(row, indent=1, ensure_ascii=False, allow_nan=False)
    folder.joinpath(MANIFEST).write_text(text + "\n", encoding="utf-8")
    return full_name(row)


def _surface_parts(model: QualityModel) -> tuple[dict[str, Any], Arrays]:
    head = model.long
    settings = {"features": VERSION, "surface": list(SURFACE), "intercept": head.intercept}
    return settings, {
        "mean": model.mean.astype(np.float32),
        "deviation": model.deviation.astype(np.float32),
        "idf": model.idf.astype(np.float16),
        "surface": head.surface.astype(np.float32),
        "words": head.words.astype(np.float16),
    }


_OF_MACHINE = ("starts", "words", "values", "weights")


def _paper_parts(model: PaperModel) -> tuple[dict[str, Any], Arrays]:
    settings: dict[str, Any] = {"intercept": model.intercept, "machine": None}
    arrays: Arrays = {"idf": model.idf, "weights": model.weights}
    if (machine := model.machine) is not None:
        settings["machine"] = {"intercept": machine.intercept, "gamma": machine.gamma}
        arrays |= {f"machine_{part}": getattr(machine, part) for part in _OF_MACHINE}
    return settings, arrays


def _report(model: MadeModel, out: str) -> list[str]:
    counts = model.counts
    topics = f" of {counts['topics']} topics" if counts["topics"] else ""
    arguments = (
        "all taken for arguments"
        if counts["arguments"] == counts["texts"]
        else f"{counts['arguments']} of them arguments"
    )
    left = "topics" if counts["topics"] else "texts"
    path = escaped(out)
    title = (
        f"{counts['texts']} texts{topics}, {arguments}; each predicted with its "
        f"{'topic' if counts['topics'] else 'fold'} left out; 95 % intervals of draws of {left}"
    )
    columns = [Column("measure"), *(Column(name, "figure") for name in model.figures)]
    parts = [Table(columns, figure_cells(model.figures), title=title).text()]
    if model.as_in_the_paper:
        figures = ", ".join(f"{LABELS[name]} {v:.4f}" for name, v in model.as_in_the_paper.items())
        parts.append(
            filled(f"as in the paper, 10 folds in the file's order, words of all: {figures}")
        )
    used = f"pnyx index --quality --quality-model {path}"
    return [*parts, f"wrote {model.name} to {path}: use it by\n{used}"]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rated", help="table (.csv, .tsv) or JSONL of rated texts")
    parser.add_argument("--out", required=True, help="folder of the model to write")
    parser.add_argument("--method", choices=sorted(METHODS), default="packaged")
    parser.add_argument("--name", help="name of the model (default: the folder's)")
    parser.add_argument("--folds", type=int, default=10, help="of the cross-validation")
    parser.add_argument("--column", action="append", default=[], help="FIELD=COLUMN, repeatable")
    parser.add_argument("--force", action="store_true", help="replace the folder if it exists")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    if options.folds < 2:
        parser.error("--folds: expected at least 2")
    try:
        rows = read_rated(options.rated, ColumnSpec(columns=tuple(options.column)).mapping)
        model = make_quality_model(
            rows,
            options.out,
            options.method,
            name=options.name,
            folds=options.folds,
            replace=options.force,
        )
    except PnyxError as error:
        print(f"own_quality: {error}", file=sys.stderr)
        return 2
    print(json.dumps(model.row()) if options.json else "\n\n".join(_report(model, options.out)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
