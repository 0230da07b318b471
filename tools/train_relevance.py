"""Train the packaged student of relevance, and calibrate it on people's labels.

    PNYX_DATA=DATA python tools/train_relevance.py [--out FOLDER]

Trains `combined` on GPT-4's labels of general questions and on ClimRetrieve, ten to forty minutes
on two cores; refits curve and threshold on ChatReportRetrieve, none of whose questions it was
trained on; prints how it does there, question by question; writes
src/pnyx/models/weights/relevance. Interrupted, the same command goes on.
docs/decisions/packaged-relevance.md says why so.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "diras"))

import teaching
from recipe import read_table, relevance_label

from pnyx.annotate.card import figure_rows, student_card
from pnyx.annotate.distil import Distillation, calibrate, distil
from pnyx.annotate.labelled import read_labelled
from pnyx.annotate.students.base import PARTLY, Example
from pnyx.annotate.students.combined import CombinedTrainer
from pnyx.files import atomic_folder
from pnyx.judge.students.files import CARD, MANIFEST, Student, read_student, write_manifest
from pnyx.judge.students.judge import load_scorer
from pnyx.judge.tasks.relevance import ask_relevance
from pnyx.measure.base import Measured

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
OUT = Path("src/pnyx/models/weights/relevance")
TARGETS = {"no": 0.0, "partially": PARTLY, "yes": 1.0}


def people() -> list[Example]:
    """Return ChatReportRetrieve with people's labels; what is relevant in part is relevant."""
    found = []
    rows = read_table(DATA / "chatreportretrieve" / "chatreport_test.csv")
    for number, row in enumerate(rows):
        question = row["Questions"]
        asked = ask_relevance(
            str(number), question, row["Paragraphs"], definition=row["Background"], group=question
        )
        label = relevance_label(row)["value"]
        found.append(Example(asked, TARGETS[label], label != "no", question))
    return found


def train(work: Path) -> Path:
    """Train, unless that is done already, and return the student's folder."""
    folder = work / "relevance"
    if folder.is_dir():
        return folder
    work.mkdir(parents=True, exist_ok=True)
    pairs = []
    for name, rows in (
        ("qa", teaching.question_answering(DATA)),
        ("climretrieve", teaching.climate(DATA)),
    ):
        path = work / f"{name}.jsonl"
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in teaching.unique(rows)]
        path.write_text("".join(lines), encoding="utf-8")
        pairs += list(read_labelled(path))

    def report(done: int, of: int, word: str) -> None:
        print(f"\r{word} {done} of {of}", end="", file=sys.stderr, flush=True)

    distil(pairs, CombinedTrainer(), Distillation("relevance"), folder, report=report)
    return folder


def recalibrated(student: Student, folder: Path, examples: Sequence[Example]) -> Student:
    """Return the student with a curve and a threshold of people's labels."""
    scorer = load_scorer(student.kind, folder, student.settings)
    scores = scorer.score([example.question for example in examples])
    curve, threshold, figures = calibrate(examples, scores, "platt")
    shown = ", ".join(
        f"{name} {figures[key].value:.2f}"
        for name, key in (("F1", "f1"), ("AUROC", "auroc"), ("ECE", "ece"))
    )
    counts = student.about["counts"]
    questions = len({example.group for example in examples})
    card = (
        f"taught by GPT-4's labels of {counts['trained_on']} pairs, calibrated on people's: on "
        f"{len(examples)} ChatReportRetrieve pairs of {questions} questions not trained on: {shown}"
    )
    about = {
        **student.about,
        # The questions are the data sets' texts, which stay out of the package.
        "counts": {
            **counts,
            "held_out_questions": sorted(map(_digest, counts["held_out_questions"])),
        },
        "people": {name: one.row() for name, one in figures.items()},
    }
    return dataclasses.replace(student, curve=curve, threshold=threshold, card=card, about=about)


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:8]


def card_of(student: Student, figures: Mapping[str, Any]) -> str:
    """Return the card with people's labels added."""
    return "\n".join(
        [
            student_card(student),
            "## On people's labels",
            "",
            "ChatReportRetrieve (DIRAS), pairs of questions that were not trained on; curve and "
            "threshold of each question from the other questions, those of the package from all:",
            "",
            *figure_rows(figures),
            "",
            "Base: all-MiniLM-L6-v2 (Apache-2.0). Labels: general questions and ChatReportRetrieve "
            "from DIRAS (MIT), ClimRetrieve.",
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--work", type=Path, default=Path("relevance-training"))
    arguments = parser.parse_args()
    folder = train(arguments.work)
    student = recalibrated(read_student(folder), folder, people())
    figures: dict[str, Measured] = student.about["people"]
    with atomic_folder(arguments.out, replace=True) as out:
        for name in student.files:
            shutil.copy(folder / name, out / name)
        (out / CARD).write_text(card_of(student, figures), encoding="utf-8")
        write_manifest(out, student)
    print(f"\n{student.card}\n{arguments.out / MANIFEST}: yes from {student.threshold:.3f}")
    print("\n".join(figure_rows(figures)))


if __name__ == "__main__":
    main()
