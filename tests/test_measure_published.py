"""`pnyx measure` on the released predictions of DIRAS, against the paper and against scikit-learn.

The whole set has 660 pairs; where only a part of it is here, the values are compared with
scikit-learn's on the same pairs, straight from the tables, and the published ones are not.
"""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.misc.quicksort import make_py_quicksort
from sklearn import metrics

from pnyx.cli import main

DATA = (
    Path(os.environ.get("PNYX_DATA", Path(__file__).parents[2] / "shared" / "data"))
    / "chatreportretrieve"
)
PAIRS = 660
COLUMNS = {
    "gpt-4": ("chatreport_test_results.csv", "gpt4_guess", "gpt4_confidence"),
    "llama3-tok": ("student_predictions.csv", "gc_llama_2e__tok_guess", "gc_llama_2e__tok_conf"),
}
PUBLISHED = {"gpt-4": (54.01, 86.32, 91.20), "llama3-tok": (41.60, 82.11, 91.35)}
"""Unc., Bin. and Cal. of Tables 1 and 2 (GPT-4's Cal. is misprinted there as 91.10)."""

pytestmark = pytest.mark.skipif(
    not (DATA / "chatreport_test.csv").exists(), reason=f"needs the DIRAS test set in {DATA}"
)


def table(name: str) -> list[dict[str, str]]:
    csv.field_size_limit(2**24)
    with (DATA / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def predictions(judge: str) -> tuple[list[dict[str, str]], np.ndarray, np.ndarray]:
    """Return the gold table, whether each guess is yes, and the confidence in the guess."""
    gold = table("chatreport_test.csv")
    name, guess, confidence = COLUMNS[judge]
    rows = table(name)
    assert len(rows) == len(gold)
    guesses = np.array(["yes" in row[guess].lower() for row in rows])
    return gold, guesses, np.array([float(row[confidence]) for row in rows])


def convert(folder: Path, judge: str) -> tuple[Path, Path]:
    gold, guesses, confidences = predictions(judge)
    answers, labels = folder / "answers.jsonl", folder / "labels.jsonl"
    with answers.open("w") as a, labels.open("w") as b:
        pairs = zip(gold, guesses.tolist(), confidences.tolist(), strict=True)
        for n, (row, guess, confidence) in enumerate(pairs):
            probability = confidence if guess else 1 - confidence
            common = {"id": n, "group": row["Questions"]}
            a.write(json.dumps({
                **common, "task": "relevance", "judge": judge, "value": guess,
                "probability": probability, "unscored": None,
            }) + "\n")  # fmt: skip
            label = {"value": row["gold"], "uncertain": int(row["hard"])}
            b.write(json.dumps({**common, **label}) + "\n")
    return answers, labels


def info_reference(judge: str) -> tuple[float, float]:
    """nDCG and MAP with ties in numba's order, by loops."""
    table_, guess, confidence = predictions(judge)
    p = np.where(guess, confidence, 1 - confidence)
    sort = make_py_quicksort(is_argsort=True).run_quicksort
    gains = {"no": 0.0, "partially": 0.5, "yes": 1.0}
    found = []
    for question in dict.fromkeys(row["Questions"] for row in table_):
        rows = [n for n, row in enumerate(table_) if row["Questions"] == question]
        labels = [table_[rows[n]]["gold"] for n in sort(p[rows])[::-1]]
        gain = np.array([gains[label] for label in labels])
        logs = np.log2(np.arange(len(gain)) + 2)
        hit = np.array([label != "no" for label in labels])
        precision = (np.cumsum(hit) / np.arange(1, len(hit) + 1))[hit].mean()
        found.append(((gain / logs).sum() / (np.sort(gain)[::-1] / logs).sum(), precision))
    ndcg, map_ = np.mean(found, axis=0)
    return float(ndcg), float(map_)


def reference(judge: str) -> dict[str, float]:
    """The recipe, by scikit-learn and numpy alone."""
    table_, guess, confidence = predictions(judge)
    gold = np.array([row["gold"] != "no" for row in table_])
    hard = np.array([row["hard"] == "1" for row in table_])
    p = np.where(guess, confidence, 1 - confidence)
    bins = np.searchsorted([i * 1.0 / 10 for i in range(1, 11)], p, side="left")
    ece = sum(
        abs(p[bins == b].mean() - gold[bins == b].mean()) * (bins == b).mean() for b in set(bins)
    )
    return {
        "f1": metrics.f1_score(gold, guess),
        "accuracy": metrics.accuracy_score(gold, guess),
        "auroc": metrics.roc_auc_score(gold, p),
        "average_precision": metrics.average_precision_score(gold, p),
        "auroc_correct": metrics.roc_auc_score(gold == guess, confidence),
        "ece": ece,
        "brier": metrics.brier_score_loss(gold, p),
        "uncertainty_average_precision": metrics.average_precision_score(hard, 1 - confidence),
    }


@pytest.mark.parametrize("judge", COLUMNS)
def test_the_released_predictions_measure_as_the_recipe_says(judge, tmp_path, capsys):
    answers, labels = convert(tmp_path, judge)
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "measure",
                str(answers),
                "--labels",
                str(labels),
                "--json",
            ]
        )
    assert ended.value.code == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    gold = table("chatreport_test.csv")
    values = {name: m["value"] for name, m in found["measures"].items()}
    for name, expected in reference(judge).items():
        assert values[name] == pytest.approx(expected, abs=1e-12), name
        assert found["measures"][name]["scored"] == len(gold)
        assert found["measures"][name]["low"] < found["measures"][name]["high"]
    # The order of ties is all that differs from the loops.
    expected = info_reference(judge)
    assert values["ndcg"] == pytest.approx(expected[0], abs=0.01)
    assert values["map"] == pytest.approx(expected[1], abs=0.02)
    assert found["interval"]["clusters"] == len({row["Questions"] for row in gold})
    assert values["spearman"] > 0.5
    if len(gold) == PAIRS:
        four = [found["summary"][name]["value"] for name in ("unc", "bin", "cal")]
        assert tuple(round(100 * x, 2) for x in four) == PUBLISHED[judge]
