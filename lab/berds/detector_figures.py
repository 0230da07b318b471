"""Figures of the packaged detector of perspectives, compared with the untrained similarity.

    PNYX_DATA=DATA python lab/berds/detector_figures.py [--folder FOLDER]
    ... --write docs/lab/perspective-detector.md   # updates its section

Curves and thresholds are fitted on Debatewise pages that were not used in training. Figures are for
other such pages and for the labelled pairs of BERDS. FOLDER contains another detector, as written
by lab/training/train_perspectives.py.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import detection
import numpy as np
from card import Figures, rows_of
from detection import BERDS, DEVELOPMENT, PAGES, HeldOut

from pnyx.judging.questions import Support
from pnyx.judging.students.judge import load_perspective_student
from pnyx.judging.students.student import StudentJudge, load_scorer, read_student

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))


@dataclass(frozen=True, slots=True)
class DetectorFigures:
    """The figures of a detector.

    Attributes:
        figures: from `detection.compare`; the detector is "packaged".
        sides: for each set, the result of `detection.right_sides`.
        pace: pairs per second, on BERDS.
        development: AUROC and AP on the development pages (`detection.order`).
    """

    figures: Figures
    sides: Mapping[str, Sequence[int]]
    pace: float
    development: Mapping[str, Mapping[str, Sequence[float]]]


def measure(judge: StudentJudge, held_out: HeldOut) -> DetectorFigures:
    """Measure a detector on all held-out pairs."""
    p, pace = {}, 0.0
    for name, pairs in held_out.sets.items():
        start = time.monotonic()
        answers = judge.judge([Support("", pair.text, pair.statement) for pair in pairs])
        p[name] = np.array([answer.probability for answer in answers])
        if name == BERDS:
            pace = len(pairs) / (time.monotonic() - start)
    odds = {name: np.log(v / (1 - v)) for name, v in p.items()}
    return DetectorFigures(
        figures=detection.compare(held_out.sets, held_out.near, {"packaged": odds}),
        sides={
            name: detection.right_sides(held_out.sets[name], p[name]) for name in (PAGES, BERDS)
        },
        pace=pace,
        development=detection.order(
            held_out.sets[DEVELOPMENT], held_out.near[DEVELOPMENT], {"packaged": odds[DEVELOPMENT]}
        ),
    )


def development_odds(judge: StudentJudge, held_out: HeldOut) -> detection.Floats:
    """Return log-odds of the pairs of the development pages only."""
    answers = judge.judge([Support("", p.text, p.statement) for p in held_out.sets[DEVELOPMENT]])
    p = np.array([answer.probability for answer in answers])
    return np.log(p / (1 - p))


def open_detector(folder: Path) -> StudentJudge:
    """Open a detector that lab/training/train_perspectives.py wrote."""
    student = read_student(folder, "support")
    return StudentJudge(student, load_scorer(student.kind, folder, student.settings))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--folder", type=Path, help="a detector; the packaged one by default")
    options = parser.parse_args()
    report = Report("berds detector")
    judge = open_detector(options.folder) if options.folder else load_perspective_student()
    held_out = detection.held_out(DATA)
    measured = measure(judge, held_out)
    report.line()
    report.line(
        f"Detector: {judge.name}, {measured.pace:.0f} pairs a second on BERDS, all statements "
        "about a passage asked at once."
    )
    for name, pairs in held_out.sets.items():
        report.line(f"- {name}: {len(pairs)} pairs, {sum(p.label for p in pairs)} in support, "
                    f"{len({p.group for p in pairs})} questions or pages")  # fmt: skip
    report.line()
    for row in rows_of(measured.figures):
        report.line(row)
    report.line()
    right, of = zip(*(measured.sides[name] for name in (PAGES, BERDS)), strict=True)
    report.line("Of two statements of which the passage supports one, that one scores higher in"
                f" {right[0]} of {of[0]} passages on Debatewise pages and {right[1]} of {of[1]} of "
                "BERDS. On the development pages, which chose the model, the detector has AUROC "
                f"{measured.development['packaged']['AUROC'][0]:.3f} and AP "
                f"{measured.development['packaged']['AP'][0]:.3f}.")  # fmt: skip
    report.write(options.write)


if __name__ == "__main__":
    main()
