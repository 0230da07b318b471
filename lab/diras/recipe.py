"""DIRAS's published predictions as answers and labels, measured through Pnyx's public functions.

The recipe of the paper was reconstructed from its tables: a guess is yes if it contains "yes"; the
probability of relevance is the confidence in a yes, and 1 minus the confidence in a no; partially
relevant counts as relevant but has gain 0.5; rankings are within questions, in the order of the
file, which decides ties in rank_eval.
"""

from __future__ import annotations

import csv
import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rank_eval import as_published

from pnyx import measure_agreement
from pnyx.judging import Agreement, join_labels
from pnyx.stats import Measured

Row = Mapping[str, str]
BINS = {"<= .95": ("0-90", "90-95"), "> .95": ("95-98", "98-100")}
"""Confidence of the model -> suffixes of the files of hand-checked disagreements."""


def read_table(path: Path) -> list[dict[str, str]]:
    csv.field_size_limit(2**24)
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


# --- labels


def relevance_label(row: Row) -> dict[str, Any]:
    """Return the label of a ChatReportRetrieve row: yes, no or partially; uncertain or not."""
    gold = row["gold"].lower()
    value = "yes" if "yes" in gold else "no" if "no" in gold else "partially"
    return {"value": value, "uncertain": int(row["hard"]), "group": row["Questions"]}


def graded_label(row: Row) -> dict[str, Any]:
    """Return the label of a ClimRetrieve row: grade 1 to 3, always relevant.

    Questions are compared without case and surrounding spaces.
    """
    gain = int(row["relevance"]) / 3
    return {"value": True, "gain": gain, "group": row["question"].lower().strip()}


def checked_label(row: Row) -> dict[str, Any]:
    """Return the label of a hand-checked disagreement: the guess, inverted if it was wrong."""
    return {"value": _says_yes(row["llama_guess"]) == (float(row["annotation"]) == 1)}


# --- answers


def guess_answers(
    guesses: Sequence[str], confidences: Sequence[str], scale: float = 1.0
) -> list[dict[str, Any]]:
    """Return yes or no with its confidence in [0, scale]; unscored if either is missing."""
    answers = []
    for guess, confidence in zip(guesses, confidences, strict=True):
        if not guess.strip() or not confidence.strip():
            answers.append(_unscored())
            continue
        yes, sure = _says_yes(guess), float(confidence) / scale
        answers.append({"value": yes, "probability": sure if yes else 1 - sure, "unscored": None})
    return answers


def rank_answers(scores: Sequence[float]) -> list[dict[str, Any]]:
    """Map scores on any scale to probabilities with the same order and ties."""
    distinct = {score: rank for rank, score in enumerate(sorted(set(scores)))}
    top = max(1, len(distinct) - 1)
    ranked = [distinct[score] / top for score in scores]
    return [{"value": p >= 0.5, "probability": p, "unscored": None} for p in ranked]


def _says_yes(guess: str) -> bool:
    return "yes" in guess.lower()


def _unscored() -> dict[str, Any]:
    return {"value": None, "probability": None, "unscored": "no guess or no confidence"}


# --- measures


@dataclass(frozen=True)
class Figures:
    """One row of a table.

    Attributes:
        true: computed correctly.
        published: computed as by rank_eval, for comparison with the published figures.
    """

    true: Agreement
    published: Agreement

    @property
    def pairs(self) -> str:
        counts = self.true.counts
        scored, total = counts["scored"], counts["asked"]
        return f"{total}" if scored == total else f"{scored} of {total}"

    @property
    def questions(self) -> int:
        return len(self.true.per_group)


def measure(
    labels: Sequence[Mapping[str, Any]], answers: Sequence[Mapping[str, Any]], folder: Path
) -> Figures:
    """Write answers and labels as files of Pnyx, and measure them through its public functions."""
    written = folder / "answers.jsonl", folder / "labels.jsonl"
    common = {"task": "relevance", "judge": "published"}
    _write(written[0], [{"id": str(n), **common, **row} for n, row in enumerate(answers)])
    _write(written[1], [{"id": str(n), **row} for n, row in enumerate(labels)])
    joined = join_labels(*written, "relevance")
    true = measure_agreement(joined)
    return Figures(true, as_published(joined, true))


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def random_figures(
    labels: Sequence[Mapping[str, Any]], folder: Path, names: Sequence[str]
) -> tuple[dict[str, float], dict[str, float], Figures]:
    """Return means over the paper's five seeds (published, true), and the last run's figures."""
    runs = []
    for seed in range(40, 45):
        draw = random.Random(seed)
        runs.append(measure(labels, rank_answers([draw.random() for _ in labels]), folder))
    published = {n: _mean([r.published.measures[n] for r in runs]) for n in names}
    return published, {n: _mean([r.true.measures[n] for r in runs]) for n in names}, runs[-1]


def _mean(measured: Sequence[Measured]) -> float:
    values = [m.value for m in measured if m.value is not None]
    return math.fsum(values) / len(values) if values else math.nan


def checked_accuracy(folder: Path, name: str, work: Path) -> dict[tuple[str, str], Measured]:
    """Return how often the model was right when it disagreed with the original labels.

    Args:
        folder: folder of the hand-checked files.
        name: name of the data set.
        work: folder to write to.

    Returns:
        (bin of confidence; all, rel or irr) -> share of the checked disagreements; rel are those
        that were originally relevant. Empty parts are missing.
    """
    accuracies = {}
    for label, ends in BINS.items():
        rows = [r for end in ends for r in read_table(folder / f"{name}_test_data_{end}.csv")]
        checked = [row for row in rows if row["annotation"].strip()]
        parts = {
            "all": checked,
            "rel": [row for row in checked if _originally_relevant(row)],
            "irr": [row for row in checked if not _originally_relevant(row)],
        }
        for part, chosen in parts.items():
            if chosen:
                answers = guess_answers([r["llama_guess"] for r in chosen], ["1"] * len(chosen))
                labels = [checked_label(row) for row in chosen]
                figures = measure(labels, answers, work)
                accuracies[label, part] = figures.true.measures["accuracy"]
    return accuracies


def _originally_relevant(row: Row) -> bool:
    """Return whether a row was labelled relevant: "gold" in RAG-Bench, 1 in the other sets."""
    return row["label"] == "gold" if "label" in row else float(row["oracle"]) == 1
