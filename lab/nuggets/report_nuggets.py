"""How well does the packaged judge find nuggets of reports? Tables of docs/lab/nuggets.md.

    PNYX_DATA=DATA PNYX_NUGGETS=LABELS python lab/nuggets/report_nuggets.py --former OLD.json

Compares the shipped calibration with a former one (`git show COMMIT:src/pnyx/judging/calibrations/
nugget.json > OLD.json`), with the overlap of words alone, and with always saying no, on the
held-out pairs of `lab/training/calibrate_nuggets.py`. Intervals are of
2,000 draws of whole questions (articles, arguments).
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pnyx.judging.calibration.curves import best_f1_threshold, logistic
from pnyx.judging.measures.binary import weighted_auroc, weighted_ece, weighted_f1
from pnyx.judging.questions import Support
from pnyx.stats.base import Bootstrap
from pnyx.stats.intervals import draw_weights, percentile_interval

sys.path[:0] = ["lab/training", "lab/berds"]
_tool = importlib.import_module("calibrate_nuggets")
_labels = importlib.import_module("nugget_labels")

Numbers = np.ndarray[Any, Any]
Pairs = list[tuple[Support, bool]]
MEASURES = ("precision", "recall", "F1", "AUROC", "ECE")


class Scorer:
    """Probability and verdict of each row of features; NaN without a probability."""

    def __init__(self, name: str, score: Callable[[Numbers], Numbers], threshold: float) -> None:
        self.name, self.score, self.threshold = name, score, threshold
        self.is_probability = name.startswith("judge")

    def measures(self, x: Numbers, y: Numbers, weights: Numbers) -> Numbers:
        """Return the measures, shape [draws, 5]."""
        score, gold = self.score(x), y.astype(float)
        predicted = (score >= self.threshold).astype(float)
        hits = weights @ (gold * predicted)
        with np.errstate(invalid="ignore", divide="ignore"):
            columns = [hits / (weights @ predicted), hits / (weights @ gold)]
        columns += [weighted_f1(gold, predicted, weights), weighted_auroc(gold, score, weights)]
        empty = np.full(len(weights), np.nan)
        columns.append(weighted_ece(gold, score, weights) if self.is_probability else empty)
        return np.stack(columns, axis=1)


def calibrated(path: Path, name: str) -> Scorer:
    """Return the scorer of a calibration file; features missing from it have weight 0."""
    task = json.loads(path.read_text(encoding="utf-8"))["tasks"]["nugget"]
    weights = np.array([task["weights"].get(feature, 0.0) for feature in _tool.NAMES])
    return Scorer(name, lambda x: logistic(task["intercept"] + x @ weights), task["threshold"])


def overlap_alone(development: tuple[Numbers, Numbers]) -> Scorer:
    """Score by the share of a nugget's words in the text; threshold from development data."""
    column = _tool.NAMES.index("overlap")
    x, y = development
    return Scorer("overlap of words", lambda x: x[:, column], best_f1_threshold(x[:, column], y))


def cell(values: Numbers, draws: Numbers) -> str:
    """Return a measure with its interval, or a dash."""
    low, high = percentile_interval(draws)
    if not np.isfinite(values) or low is None:
        return "-"
    texts = [f"{round(float(value), 2) + 0.0:.2f}" for value in (values, low, high)]  # never -0.00
    return f"{texts[0]} [{texts[1]}, {texts[2]}]"


def table(scorers: list[Scorer], x: Numbers, y: Numbers, groups: Numbers) -> list[str]:
    """Return a row for each scorer, and the differences of the second and others."""
    clusters = np.unique(groups, return_inverse=True)[1]
    once = np.ones((1, len(y)))
    weights = np.concatenate(list(draw_weights(clusters, Bootstrap(2000))))
    rows, results = [], []
    for scorer in scorers:
        values, draws = scorer.measures(x, y, once)[0], scorer.measures(x, y, weights)
        results.append((values, draws))
        cells = [cell(values[i], draws[:, i]) for i in range(len(MEASURES))]
        rows.append(f"| {scorer.name} | {' | '.join(cells)} |")
    for title, other in (("shipped less former", 0), ("shipped less overlap", 2)):
        values, draws = (results[1][i] - results[other][i] for i in (0, 1))
        cells = [cell(values[i], draws[:, i]) for i in range(len(MEASURES))]
        rows.append(f"| {title} | {' | '.join(cells)} |")
    return rows


def recall_table(scorers: list[Scorer], pairs: Pairs, x: Numbers) -> list[str]:
    """Return rows of the mean share of insights that reports give, by judges and by people."""
    people = {
        (p.extra["report"], p.extra["insight"]): label
        for p, label in _labels.whole_reports("held-out")
    }
    groups = {p.extra["report"]: p.group for p, _ in pairs}

    def by_report(verdicts: dict[tuple[int, str], bool]) -> Numbers:
        shares = defaultdict(list)
        for (report, _), verdict in verdicts.items():
            shares[report].append(verdict)
        return np.array([np.mean(shares[report]) for report in groups])

    clusters = np.unique(list(groups.values()), return_inverse=True)[1]
    weights = np.concatenate(list(draw_weights(clusters, Bootstrap(2000))))
    rows = []
    true = by_report(people)
    for name, scorer in [("people", None), *((s.name, s) for s in scorers)]:
        verdicts = dict(people) if scorer is None else dict.fromkeys(people, False)
        if scorer is not None:
            for (pair, _), yes in zip(pairs, scorer.score(x) >= scorer.threshold, strict=True):
                verdicts[pair.extra["report"], pair.extra["insight"]] |= bool(yes)
        shares = by_report(verdicts)
        cells = [
            cell(np.float64(v.mean()), weights @ v / weights.sum(axis=1))
            for v in (shares, shares - true)
        ]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return rows


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--former", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    detector = _tool.CachedDetector(options.cache)
    development = _tool.seen(_labels.report_lines("development"), detector)[:2]
    scorers = [
        calibrated(options.former, "judge, former"),
        calibrated(_tool.OUT, "judge, as shipped"),
        overlap_alone(development),
        Scorer("always no", lambda x: np.zeros(len(x)), 1.0),
    ]
    for name, pairs in _tool.held_out_sets().items():
        x, y, groups = _tool.seen(pairs, detector)
        print(
            f"\n{name}: {len(y):,} pairs, {100 * y.mean():.1f} % yes, {len(set(groups))} groups\n"
        )
        print(f"| | {' | '.join(MEASURES)} |\n|---|---|---|---|---|---|")
        print(*table(scorers, x, y, groups), sep="\n")
        if name == "lines":
            print("\n| | recall of insights | less that by people |\n|---|---|---|")
            print(*recall_table(scorers, pairs, x), sep="\n")


if __name__ == "__main__":
    main()
