"""Fit the calibration of the packaged judge of nuggets, and print the figures behind each choice.

    PNYX_DATA=DATA PNYX_NUGGETS=LABELS python lab/training/calibrate_nuggets.py [--cache FILE]

Writes src/pnyx/judging/calibrations/nugget.json. Everything is fitted on development pairs: those
of reports and summaries in `lab/training/nugget_labels.py`, and key points of IBM's train split on
topics that the detector was not trained on (see `lab/berds/debate_sets.py`). The weight of word
overlap relative to the detector is chosen by the mean of the average precisions of the four sets.
The Platt curve and the threshold of best F1 are chosen on the reports. Copy and conflict are fitted
on near-copies made by rule, as for the encoder (lab/training/calibrate_encoder.py). The held-out
pairs are only measured. Needs scikit-learn and scipy.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from pnyx.judging.answers import Answer, Judged, Provenance
from pnyx.judging.calibration import curves
from pnyx.judging.encoder import Calibration
from pnyx.judging.measures.binary import (
    weighted_auroc,
    weighted_average_precision,
    weighted_ece,
    weighted_f1,
)
from pnyx.judging.questions import Support
from pnyx.judging.students.judge import AssignmentJudge, load_perspective_student

sys.path[:0] = ["lab/training", "lab/berds"]
_encoder = importlib.import_module("calibrate_encoder")
_debates = importlib.import_module("debate_sets")
labels = importlib.import_module("nugget_labels")
DATA = _encoder.DATA

OUT = Path("src/pnyx/judging/calibrations/nugget.json")
NAMES = ("detector", "overlap", "copy", "conflict")
NAME = "nuggets@4"
REPORTS = ("lines", "reports")
"""The sets on which curve and threshold are chosen."""
MOST_OVERLAP = 20
"""Largest weight of overlap to try; the detector has weight 1."""

Pairs = list[tuple[Support, bool]]
Seen = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Features [pairs, 4], labels and groups."""


def unseen_topics() -> set[str]:
    """Return the topics of key points that the detector was not trained on."""
    parts = _debates.parts_of(_debates.Debates(DATA))
    named = {k.removeprefix("points "): v for k, v in parts.items() if k.startswith("points ")}
    return {topic for topic, part in named.items() if part != "train"}


def key_points(part: str) -> list[tuple[Support, bool]]:
    """Return the labelled pairs of a split (`train` or `dev`): argument, key point."""

    def rows(name: str) -> list[dict[str, str]]:
        path = DATA / f"ibm_kpa_2021/{name}_{part}.csv"
        with path.open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))

    texts = {row["arg_id"]: row for row in rows("arguments")}
    points = {row["key_point_id"]: row["key_point"] for row in rows("key_points")}
    pairs = []
    for row in rows("labels"):
        text, name = texts[row["arg_id"]], f"{row['arg_id']}/{row['key_point_id']}"
        point = points[row["key_point_id"]]
        pair = Support(name, text["argument"], point, task="nugget", group=text["topic"])
        pairs.append((pair, row["label"] == "1"))
    return pairs


class CachedDetector:
    """The packaged detector, with a file that caches its probabilities, which take half an hour."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._detector = path, load_perspective_student()
        self.name = self._detector.name
        self._cache: dict[tuple[str, str], float] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                self._cache[row["text"], row["statement"]] = row["probability"]

    def judge(self, questions: Sequence[Support]) -> list[Answer]:
        """Answer each question, from the file if possible."""
        missing = {(q.text, q.statement): q for q in questions}
        missing = {key: q for key, q in missing.items() if key not in self._cache}
        answers = self._detector.judge(list(missing.values()))
        lines = []
        for (text, statement), answer in zip(missing, answers, strict=True):
            assert isinstance(answer, Judged)
            assert answer.probability is not None
            self._cache[text, statement] = answer.probability
            row = {"text": text, "statement": statement, "probability": answer.probability}
            lines.append(json.dumps(row) + "\n")
        if self._path is not None and lines:
            with self._path.open("a", encoding="utf-8") as stream:
                stream.writelines(lines)
        return [self._answer(self._cache[q.text, q.statement]) for q in questions]

    def _answer(self, probability: float) -> Judged:
        return Judged(probability >= 0.5, Provenance(self.name), probability=probability)


def seen(pairs: Pairs, detector: CachedDetector) -> Seen:
    """Return the features of the pairs that can be judged."""
    usual = Calibration("nugget", dict.fromkeys(NAMES, 0.0), 0.0, 0.5, "", {})
    judge = AssignmentJudge(detector, usual)
    order = sorted(range(len(pairs)), key=lambda i: pairs[i][0].text)
    features = {}
    for start in range(0, len(order), 64):
        places = order[start : start + 64]
        rows = judge.features([pairs[i][0] for i in places])
        features.update(zip(places, rows, strict=True))
    usable = [i for i in range(len(pairs)) if not isinstance(features[i], str)]
    x = np.array([[features[i][name] for name in NAMES] for i in usable])
    y = np.array([pairs[i][1] for i in usable])
    return x, y, np.array([pairs[i][0].group for i in usable])


def unseen_key_points(part: str) -> Pairs:
    """Return the pairs of a split on topics that the detector was not trained on."""
    unseen = unseen_topics()
    return [pair for pair in key_points(part) if pair[0].group in unseen]


def development_sets() -> dict[str, Pairs]:
    """Return the pairs on which the calibration is fitted, by their set."""
    return {
        "lines": labels.report_lines("development"),
        "reports": labels.whole_reports("development"),
        "summaries": labels.summaries("development"),
        "key_points": unseen_key_points("train"),
    }


def held_out_sets() -> dict[str, Pairs]:
    """Return the held-out pairs, by their set; groups of key points are arguments."""
    points = unseen_key_points("dev")
    return {
        "lines": labels.report_lines("held-out"),
        "reports": labels.whole_reports("held-out"),
        "summaries": labels.summaries("held-out"),
        "key_points": [(replace(pair, group=pair.text), label) for pair, label in points],
    }


def overlap_weight(sets: Mapping[str, Seen]) -> int:
    """Return the weight of overlap (detector: 1) with the best mean average precision."""

    def mean_precision(weight: int) -> float:
        return float(
            np.mean(
                [
                    average_precision_score(y, x[:, 0] + weight * x[:, 1])
                    for x, y, _ in sets.values()
                ]
            )
        )

    return max(range(MOST_OVERLAP + 1), key=mean_precision)


def wording_weights(
    weights: Mapping[str, float], intercept: float, detector: CachedDetector
) -> tuple[dict[str, float], np.ndarray, np.ndarray]:
    """Return the weights of copy and conflict with the other weights fixed; features and labels."""
    pairs = [
        (Support(p.id, p.text, p.statement, task="nugget"), v)
        for p, v in _encoder.anchors(_encoder.berds())
    ]
    x, y, _ = seen(pairs, detector)
    fixed = intercept + x[:, :2] @ [weights[name] for name in NAMES[:2]]
    w = _encoder.wording_weights(fixed, x[:, 2:], y).round(4)
    return dict(zip(NAMES[2:], map(float, w), strict=True)), x, y


def fit_task(sets: Mapping[str, Seen], detector: CachedDetector) -> tuple[dict[str, Any], Seen]:
    """Return the calibration, and the near-copies on which its weights of wording were fitted."""
    ratio = overlap_weight(sets)
    x, y = (np.concatenate([sets[name][part] for name in REPORTS]) for part in (0, 1))
    score = x[:, 0] + ratio * x[:, 1]
    curve = curves.fit("platt", curves.logistic(score - score.mean()).tolist(), y.tolist())
    assert isinstance(curve, curves.Platt)
    weights = {"detector": round(curve.slope, 4), "overlap": round(ratio * curve.slope, 4)}
    intercept = round(curve.intercept - curve.slope * float(score.mean()), 4)
    wording, near, truth = wording_weights(weights, intercept, detector)
    weights |= wording
    p = curves.logistic(intercept + x @ [weights[name] for name in NAMES])
    threshold = round(curves.best_f1_threshold(p.tolist(), y.tolist()), 4)
    task = {"weights": weights, "intercept": intercept, "threshold": threshold}
    return task, (near, truth, truth)


def figures_of(task: Mapping[str, Any], rows: Seen) -> dict[str, float]:
    """Return measures with 95 % intervals; groups are drawn with replacement."""
    x, y, groups = rows
    p = probabilities(task, x)
    predicted = p >= task["threshold"]
    hits = predicted & y
    measures = {
        "f1": (weighted_f1, predicted),
        "auroc": (weighted_auroc, p),
        "ap": (weighted_average_precision, p),
        "ece": (weighted_ece, p),
    }
    return {
        "pairs": len(y),
        "positive": int(y.sum()),
        "groups": len(set(groups)),
        "precision": round(float(hits.sum() / predicted.sum()), 3),
        "recall": round(float(hits.sum() / y.sum()), 3),
        **_encoder.with_intervals(measures, y, groups),
    }


def probabilities(task: Mapping[str, Any], x: np.ndarray) -> np.ndarray:
    """Return P(yes) of rows of features; features missing from a calibration have weight 0."""
    weights = [task["weights"].get(name, 0.0) for name in NAMES]
    return np.asarray(curves.logistic(task["intercept"] + x @ weights))


def card_of(figures: Mapping[str, Mapping[str, float]]) -> str:
    """Return the line for the judge's card: held-out figures, then the development data."""

    def measure(row: Mapping[str, float], name: str) -> str:
        return f"{row[name]:.2f} [{row[f'{name}_low']:.2f}, {row[f'{name}_high']:.2f}]"

    lines, reports, points = (figures[name] for name in ("lines", "reports", "key_points"))
    return (
        f"calibrated on nuggets of reports: on unseen questions and teams F1 "
        f"{measure(lines, 'f1')} on lines of reports (precision {lines['precision']:.2f}, recall "
        f"{lines['recall']:.2f}), {measure(reports, 'f1')} on whole reports; chosen on "
        f"{figures['development_lines']['pairs']:,} other pairs; key points in arguments, which "
        f"were looked at: F1 {points['f1']:.2f}, AUROC {points['auroc']:.2f}; answers to "
        "questions: not measured"
    )


def main() -> None:
    """Fit, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--date", default=datetime.now(UTC).strftime("%Y-%m-%d"))
    parser.add_argument("--cache", type=Path, help="keep the detector's answers in this file")
    arguments = parser.parse_args()
    detector = CachedDetector(arguments.cache)
    development = {name: seen(p, detector) for name, p in development_sets().items()}
    task, (near, truth, _) = fit_task(development, detector)
    accepted = probabilities(task, near) >= task["threshold"]
    figures: dict[str, Any] = {
        name: figures_of(task, seen(pairs, detector)) for name, pairs in held_out_sets().items()
    }
    figures |= {f"development_{name}": figures_of(task, rows) for name, rows in development.items()}
    figures["near_copies"] = _encoder.near_copy_figures(accepted, truth)
    data = (
        "overlap against detector: lines of reports, whole reports (SummHay), news summaries "
        "(REALSumm) and IBM's key points, development parts; curve and threshold: the reports; "
        "copy and conflict: near-copies made by rule from BERDS's passages"
    )
    content = {
        "judge": NAME,
        "fitted": arguments.date,
        "card": {"nugget": card_of(figures)},
        "tasks": {"nugget": {**task, "data": data, "figures": figures}},
    }
    OUT.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(content, indent=1))


if __name__ == "__main__":
    main()
