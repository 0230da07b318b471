"""Fit the calibration of the packaged judge of answers, and print its held-out figures.

    PNYX_DATA=DATA python lab/training/calibrate_answers.py [--date YYYY-MM-DD]

Writes src/pnyx/judging/calibrations/answer.json. A pair is a passage and a sentence that GPT-4
wrote about a passage (DIRAS's reasons: `... states that SENTENCE`). A passage supports a sentence
that was written about it. A passage that does not answer the question does not support a sentence
about another passage for the same question. The weights of detector and overlap are fitted on half
of the questions; supported and unsupported pairs have equal total weight. The weights of copy and
conflict are fitted on near-copies of the same passages, made by rule. The other half is held out.
Needs scikit-learn and scipy.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import importlib
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from pnyx.judging.calibration.curves import logistic
from pnyx.judging.encoder import Calibration, EncoderJudge
from pnyx.judging.measures.binary import weighted_auroc, weighted_ece, weighted_f1
from pnyx.judging.questions import Support
from pnyx.judging.students.judge import AnswerJudge, load_perspective_student

sys.path.insert(0, "lab/training")
_encoder = importlib.import_module("calibrate_encoder")

OUT = Path("src/pnyx/judging/calibrations/answer.json")
NAMES = ("detector", "overlap", "copy", "conflict")
THRESHOLD = 0.5
OTHERS = 3
"""Maximum number of passages that do not support a sentence, for each one that does."""
_SAYS = re.compile(
    r"(?:states?|mentions?|indicates?|says?|explains?|specif(?:y|ies)|notes?|confirms?|clarifies|"
    r"describes?|details?|reveals?|highlights?) (?:clearly |explicitly )?that (.+)"
)

Pairs = list[tuple[Support, bool]]


def claims(name: str) -> Iterator[tuple[Support, bool]]:
    """Yield a passage, a sentence, and whether the sentence is about this passage."""
    by_question: dict[str, list[dict[str, str]]] = {}
    path = _encoder.DATA / f"diras_general_qa/train/{name}_train_data.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            by_question.setdefault(row["question"], []).append(row)
    rng = random.Random(0)
    for question, rows in by_question.items():
        others = [row["document"] for row in rows if "Yes" not in row["guess"]]
        for row in rows:
            for sentence in re.split(r"(?<=[.!?]) ", row["reason"] * ("Yes" in row["guess"])):
                match = _SAYS.search(sentence)
                if match is None or "question" in match[1]:
                    continue
                claim = match[1][0].upper() + match[1][1:]
                texts = [row["document"], *rng.sample(others, min(OTHERS, len(others)))]
                for n, text in enumerate(texts):
                    pair = Support(name, text, claim, group=question, from_answer=True)
                    yield pair, n == 0


def is_development(question: str) -> bool:
    """Whether the calibration is fitted on a question; the others are held out."""
    return hashlib.sha256(question.encode()).digest()[-1] % 2 == 0


def features(pairs: Pairs) -> np.ndarray:
    """Return the features of pairs."""
    judge = AnswerJudge(
        load_perspective_student(),
        Calibration("answer", dict.fromkeys(NAMES, 0.0), 0.0, THRESHOLD, "", {}),
    )
    rows: Any = judge.features([pair for pair, _ in pairs])
    return np.array([[row[name] for name in NAMES] for row in rows])


def fitted(pairs: Pairs, near: Pairs) -> tuple[dict[str, float], float]:
    """Fit the weights of detector and overlap, then those of the wording; return intercept, too."""
    x, y = features(pairs)[:, :2], np.array([label for _, label in pairs])
    model = LogisticRegression(C=100, class_weight="balanced", max_iter=1000).fit(x, y)
    intercept = round(float(model.intercept_[0]), 4)
    x, y = features(near), np.array([label for _, label in near])
    fixed = intercept + x[:, :2] @ model.coef_[0]
    weights = [*model.coef_[0], *_encoder.wording_weights(fixed, x[:, 2:], y)]
    return {n: round(float(w), 4) for n, w in zip(NAMES, weights, strict=True)}, intercept


def figures(p: np.ndarray, pairs: Pairs, threshold: float) -> dict[str, Any]:
    """Return measures with intervals from bootstrap samples of questions."""
    y, groups = np.array([v for _, v in pairs]), np.array([q.group for q, _ in pairs])
    yes = p >= threshold
    measures = {"auroc": (weighted_auroc, p), "f1": (weighted_f1, yes), "ece": (weighted_ece, p)}
    return {
        "pairs": len(y),
        "positive": int(y.sum()),
        "groups": len(set(groups)),
        "share_yes": round(float(yes.mean()), 3),
        "sensitivity": round(float(yes[y].mean()), 3),
        "specificity": round(float((~yes[~y]).mean()), 3),
        **_encoder.with_intervals(measures, y, groups),
    }


def compared(pairs: Pairs) -> dict[str, Any]:
    """Return the figures of the packaged judges of citations and perspectives."""
    by_judge = {}
    questions: Sequence[Support] = [pair for pair, _ in pairs]
    for name, judge in (("citation", EncoderJudge()), ("perspectives", load_perspective_student())):
        answers: Any = judge._judge(questions) if name == "citation" else judge.judge(questions)
        p = np.array([answer.probability for answer in answers])
        by_judge[name] = figures(p, pairs, answers[0].provenance.details["threshold"])
    return by_judge


def main() -> None:
    """Fit, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--date", default=datetime.now(UTC).strftime("%Y-%m-%d"))
    arguments = parser.parse_args()
    pairs = [pair for name in ("rag_bench", "qampari") for pair in claims(name)]
    parts = {
        part: [p for p in pairs if is_development(p[0].group) == part] for part in (True, False)
    }
    near = {part: _encoder.anchors(some) for part, some in parts.items()}
    weights, intercept = fitted(parts[True], near[True])

    def probabilities(some: Pairs) -> np.ndarray:
        p: np.ndarray = logistic(intercept + features(some) @ [weights[name] for name in NAMES])
        return p

    held_out = figures(probabilities(parts[False]), parts[False], THRESHOLD)
    fitting = figures(probabilities(parts[True]), parts[True], THRESHOLD)
    yes, truth = probabilities(near[False]) >= THRESHOLD, np.array([v for _, v in near[False]])
    measured = {
        "held_out": held_out,
        "development": fitting,
        "near_copies": _encoder.near_copy_figures(yes, truth),
        "others_held_out": compared(parts[False]),
    }
    card = (
        f"support of sentences about passages: on {held_out['groups']} unseen questions AUROC "
        f"{held_out['auroc']:.2f} [{held_out['auroc_low']:.2f}, {held_out['auroc_high']:.2f}], F1 "
        f"{held_out['f1']:.2f} [{held_out['f1_low']:.2f}, {held_out['f1_high']:.2f}]; "
        f"sentences by GPT-4; chosen on {fitting['pairs']} pairs of {fitting['groups']} "
        "other questions"
    )
    data = "sentences of DIRAS's reasons about passages; copy and conflict: near-copies by rule"
    task = {"weights": weights, "intercept": intercept, "threshold": THRESHOLD}
    content = {
        "judge": "answers@1",
        "fitted": arguments.date,
        "card": {"support": card},
        "tasks": {"support": {**task, "data": data, "figures": measured}},
    }
    OUT.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(content, indent=1))


if __name__ == "__main__":
    main()
