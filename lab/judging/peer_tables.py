"""The input tables for Pnyx and its peers, which are the same on every machine."""

from __future__ import annotations

import csv
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

Row: TypeAlias = dict[str, str]

SEED = 48
ANSWERS = 8
"""Number of answers per question."""

Counts: TypeAlias = tuple[int, int, int, int]
"""Number of answers that people pass, of these passed by the judge; the same for failed ones."""

LABELLED: Counts = (16, 9, 104, 75)
UNLABELLED: Counts = (74, 42, 406, 293)
PAIRS = 40


def write_tables(folder: Path) -> float:
    """Write `results.csv`, `all.csv` and `pairs.csv`; return the true rate of passes in `all.csv`.

    `results.csv` has 120 verdicts with labels, 8 for each of 15 questions; `all.csv` has these and
    480 without labels, of 60 further questions; `pairs.csv` has 40 pairs judged in both orders.
    """
    rng = random.Random(SEED)
    labelled = _answers(rng, LABELLED, first=0)
    unlabelled = _answers(rng, UNLABELLED, first=len(labelled) // ANSWERS)
    passes = sum(row["label"] == "pass" for row in labelled + unlabelled)
    _write(folder / "results.csv", labelled)
    _write(folder / "all.csv", labelled + [row | {"label": ""} for row in unlabelled])
    _write(folder / "pairs.csv", _pairs(rng))
    return passes / len(labelled + unlabelled)


def _answers(rng: random.Random, counts: Counts, first: int) -> list[Row]:
    """Return verdicts with these counts; the judge makes more errors on some questions."""
    people_pass, judge_passes, people_fail, judge_fails = counts
    keys = [(first + n // ANSWERS, n % ANSWERS) for n in range(people_pass + people_fail)]
    difficulty = {question: rng.gauss(0, 1.2) for question, _ in keys}
    passed = set(rng.sample(keys, people_pass))
    order = sorted(keys, key=lambda key: difficulty[key[0]] + rng.gauss(0, 0.7), reverse=True)
    wrong = set([key for key in order if key in passed][: people_pass - judge_passes])
    wrong |= set([key for key in order if key not in passed][: people_fail - judge_fails])
    return [_answer(rng, key, key in passed, (key in passed) != (key in wrong)) for key in keys]


def _answer(rng: random.Random, key: tuple[int, int], label: bool, verdict: bool) -> Row:
    question, number = key
    confidence = rng.uniform(0.55, 0.99)
    return {
        "id": f"q{question:02d}-{number}",
        "question": f"q{question:02d}",
        "answer": " ".join(["word"] * rng.randint(20, 120)),
        "verdict": _word(verdict),
        "label": _word(label),
        "probability": f"{confidence if verdict else 1 - confidence:.3f}",
    }


def _word(passed: bool) -> str:
    return "pass" if passed else "fail"


def _pairs(rng: random.Random) -> list[Row]:
    """Return pairs with the answers preferred by the judge (A first, B first) and by people."""
    return [_pair(rng, number) for number in range(PAIRS)]


def _pair(rng: random.Random, number: int) -> Row:
    human = rng.choice("AB")
    preferred = human if rng.random() < 0.75 else "AB".replace(human, "")
    favours_first = rng.random() < 0.25
    return {
        "pair": f"p{number:02d}",
        "forward": "A" if favours_first else preferred,
        "backward": "B" if favours_first else preferred,
        "human": human,
    }


def _write(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
