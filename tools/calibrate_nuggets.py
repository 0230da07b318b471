"""Fit the calibration of the packaged judge of nuggets, and print what it was chosen by.

    PNYX_DATA=DATA python tools/calibrate_nuggets.py [--date YYYY-MM-DD]

Writes src/pnyx/judge/calibrations/nugget.json. Fitted on those key points of IBM's train split
whose topics the detector was not trained on (`benchmarks/berds/debates.py` says which), and, that
held fixed, on near-copies made by rule, as for the encoder (tools/calibrate_encoder.py). The dev
split is not fitted on. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import LeaveOneGroupOut

from pnyx.judge.encoder import Calibration
from pnyx.judge.questions import Support
from pnyx.students.judge import AssignmentJudge, load_perspective_student

sys.path[:0] = ["tools", "benchmarks/berds"]
_encoder = importlib.import_module("calibrate_encoder")
_debates = importlib.import_module("debates")
DATA, logistic = _encoder.DATA, _encoder.logistic

OUT = Path("src/pnyx/judge/calibrations/nugget.json")
NAMES = ("detector", "copy", "conflict")
ELSEWHERE = 0.46
"""Average precision of these weights on topics that are not at hand, as measured by others."""


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
    found = []
    for row in rows("labels"):
        text, name = texts[row["arg_id"]], f"{row['arg_id']}/{row['key_point_id']}"
        point = points[row["key_point_id"]]
        pair = Support(name, text["argument"], point, task="nugget", group=text["topic"])
        found.append((pair, row["label"] == "1"))
    return found


def seen(pairs: list[tuple[Support, bool]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features [pairs, 3], labels and groups of what can be judged."""
    usual = Calibration("nugget", dict.fromkeys(NAMES, 0.0), 0.0, 0.5, "", {})
    judge = AssignmentJudge(load_perspective_student(), usual)
    order = sorted(range(len(pairs)), key=lambda i: pairs[i][0].text)
    found = dict(zip(order, judge.features([pairs[i][0] for i in order]), strict=True))
    kept = [(found[i], pairs[i]) for i in range(len(pairs)) if not isinstance(found[i], str)]
    x = np.array([[row[name] for name in NAMES] for row, _ in kept])
    y, groups = zip(*((label, pair.group) for _, (pair, label) in kept), strict=True)
    return x, np.array(y), np.array(groups)


def fitted(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return slope and intercept of the detector."""
    model = LogisticRegression(C=1e6).fit(x[:, :1], y)
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def over_topics(y: np.ndarray, p: np.ndarray, groups: np.ndarray) -> tuple[float, float]:
    """Return the 95 % interval of average precision, topics drawn with replacement."""
    rng, rows = np.random.default_rng(0), [np.flatnonzero(groups == g) for g in np.unique(groups)]
    draws = (
        np.concatenate([rows[n] for n in rng.integers(0, len(rows), len(rows))])
        for _ in range(1000)
    )
    found = [average_precision_score(y[drawn], p[drawn]) for drawn in draws]
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def wording_weights(slope: float, intercept: float) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the weights of copy and conflict, the detector's held fixed, and how they do."""
    from scipy.optimize import minimize

    pairs = [
        (Support(p.id, p.text, p.statement, task="nugget"), v)
        for p, v in _encoder.anchors(_encoder.berds())
    ]
    x, y, _ = seen(pairs)

    def loss(w: np.ndarray) -> float:
        z = intercept + slope * x[:, 0] + x[:, 1:] @ w
        return float(np.logaddexp(0, np.where(y, -z, z)).sum() + 0.01 * w @ w)

    w = minimize(loss, np.zeros(2)).x.round(4)
    p = logistic(intercept + slope * x[:, 0] + x[:, 1:] @ w)
    return dict(zip(NAMES[1:], map(float, w), strict=True)), {"p": p, "y": y}


def main() -> None:
    """Fit, print, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--date", default=datetime.now(UTC).strftime("%Y-%m-%d"))
    arguments = parser.parse_args()
    unseen = unseen_topics()
    x, y, groups = seen([one for one in key_points("train") if one[0].group in unseen])
    slope, intercept = (round(v, 4) for v in fitted(x, y))
    held = np.zeros(len(y))
    for train, test in LeaveOneGroupOut().split(x, y, groups):
        a, b = fitted(x[train], y[train])
        held[test] = logistic(b + a * x[test, 0])
    threshold = round(float(_encoder.best_threshold(held, y, groups)), 4)
    weights, made = wording_weights(slope, intercept)
    accepted = made["p"] >= threshold
    weighed = np.array([slope, *(weights[name] for name in NAMES[1:])])
    x_dev, y_dev, dev = seen([one for one in key_points("dev") if one[0].group in unseen])
    p_dev, p_own = (logistic(intercept + rows @ weighed) for rows in (x_dev, x))
    low, high = over_topics(y, p_own, groups)
    figures = {
        "unseen_pairs": len(y_dev),
        "unseen_groups": len(set(dev)),
        "unseen_ap": round(float(average_precision_score(y_dev, p_dev)), 3),
        "unseen_auroc": round(float(roc_auc_score(y_dev, p_dev)), 3),
        "pairs": len(y),
        "positive": int(y.sum()),
        "groups": len(set(groups)),
        "ap": round(float(average_precision_score(y, p_own)), 3),
        "auroc": round(float(roc_auc_score(y, p_own)), 3),
        "left_out_detector_ap": round(float(average_precision_score(y, held)), 3),
        "left_out_detector_auroc": round(float(roc_auc_score(y, held)), 3),
        "made_pairs": len(made["y"]),
        "made_copies_accepted": round(float(accepted[made["y"]].mean()), 3),
        "made_contradictions_rejected": round(float((~accepted[~made["y"]]).mean()), 3),
    }
    content = {
        "judge": "nuggets@3",
        "fitted": arguments.date,
        "card": {
            "nugget": f"key points in arguments: on held-out topics AP {ELSEWHERE} (measured by "
            f"others); on the {figures['groups']} topics by which it was chosen AP "
            f"{figures['ap']:.2f} [{low:.2f}, {high:.2f}], AUROC {figures['auroc']:.2f} "
            f"({len(y):,} pairs); on {figures['unseen_groups']} unseen ones, which were looked at, "
            f"{figures['unseen_ap']:.2f} and {figures['unseen_auroc']:.2f} ({len(y_dev):,} pairs); "
            "answers to questions: not measured"
        },
        "tasks": {
            "nugget": {
                "weights": {"detector": slope, **weights},
                "intercept": intercept,
                "threshold": threshold,
                "data": "detector: IBM's key points, train split, topics that it was not trained "
                "on; copy and conflict: near-copies made by rule from BERDS's passages",
                "figures": figures,
            }
        },
    }
    OUT.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(content, indent=1))


if __name__ == "__main__":
    main()
