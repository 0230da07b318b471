"""A cascade on ChatReportRetrieve: the lexical student decides clear cases, a strong one the rest.

    python lab/diras/teacher_labels.py --out TEACHING
    PNYX_DATA=DATA python lab/diras/cascade.py STRONG --teaching TEACHING
    ... --write docs/lab/cascade.md   # updates its section

STRONG is a folder of `pnyx annotate distil`, trained without these questions. The lexical student
is trained here, on qa.jsonl and climretrieve.jsonl of TEACHING. For each question, the curves
(Platt) and F1 thresholds of both students, and the certain regions of the lexical one, are fitted
on people's labels of the other questions, as by `pnyx judge calibrate --error`. Because these are
few, the regions are also fitted on the teacher's labels of questions that were held out in
training. Seconds are those of the whole judge on all pairs, with its files already open.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from students import Pairs

from pnyx.judging.answers import Judged
from pnyx.judging.base import Judge, ask
from pnyx.judging.calibration.curves import best_f1_threshold, fit
from pnyx.judging.calibration.recalibration import Recalibrated, Recalibration
from pnyx.judging.calibration.selective import choose_thresholds
from pnyx.judging.measures.registry import MEASURES
from pnyx.judging.panel import Cascade
from pnyx.judging.stances import ask_relevance
from pnyx.judging.students.lexical import LexicalTrainer
from pnyx.judging.students.student import StudentJudge, open_student
from pnyx.relevance.distillation import Distillation, distil, example_of
from pnyx.relevance.labelled_pairs import read_labelled

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

TAUGHT_BY = ("qa.jsonl", "climretrieve.jsonl")
ERRORS = (0.05, 0.1, 0.2, 0.3)
DRAWS = 2000
MEASURED = ("AUROC", "F1")

Floats = np.ndarray
Labelled = tuple[Floats, Floats, Floats]
"""Probabilities of the student, labels and questions."""
Opener = Callable[[], StudentJudge]


@dataclass(frozen=True)
class CrossFittedAnswers:
    """Answers to all questions, each by a judge that was fitted on the other questions.

    Attributes:
        probability: float64 [n].
        verdict: bool [n].
        first: bool [n], whether the first stage decided.
        seconds: total time.
    """

    probability: Floats
    verdict: Floats
    first: Floats
    seconds: float


def recalibration(
    judge: Judge, p: Floats, yes: Floats, groups: Floats, error: float | None = None
) -> Recalibration:
    """Return the result of `pnyx judge calibrate --method platt --yes-threshold f1 [--error E]`."""
    labels = yes.tolist()
    curve = fit("platt", p.tolist(), labels)
    mapped = curve(p).tolist()
    limit = best_f1_threshold(mapped, labels)
    sure = None
    if error is not None:
        verdicts = [q >= limit for q in mapped]
        sure = choose_thresholds(p.tolist(), labels, error, groups.tolist(), verdicts=verdicts)
    return Recalibration(judge.name, "relevance", "student", curve, limit, sure)


def by_question(pairs: Pairs, make: Callable[[Floats], Judge]) -> CrossFittedAnswers:
    """Ask about each question the judge that `make` fits on the pairs of the other questions."""
    count = len(pairs.questions)
    probability, verdict, first = np.empty(count), np.empty(count, bool), np.zeros(count, bool)
    seconds = 0.0
    for name in pairs.names:
        positions = np.flatnonzero(pairs.groups == name)
        judge = make(pairs.groups != name)
        begun = time.perf_counter()
        answers = ask(judge, [pairs.questions[position] for position in positions])
        seconds += time.perf_counter() - begun
        for position, answer in zip(positions, answers, strict=True):
            if not isinstance(answer, Judged) or answer.probability is None:
                raise SystemExit(f"{pairs.questions[position].id} is unscored: {answer}")
            probability[position], verdict[position] = answer.probability, answer.value
            first[position] = answer.notes.get("stage") == "cheap"
    return CrossFittedAnswers(probability, verdict, first, seconds)


def own_probabilities(pairs: Pairs, judge: StudentJudge) -> Floats:
    """Return the student's uncalibrated probabilities of all pairs."""
    answers = judge.judge(pairs.questions)
    return np.array([a.probability if isinstance(a, Judged) else np.nan for a in answers])


def alone(pairs: Pairs, opened: Opener, p: Floats) -> CrossFittedAnswers:
    """Ask one student, newly opened, so that it has not cached any text."""
    judge = opened()

    def make(rest: Floats) -> Judge:
        curve = recalibration(judge, p[rest], pairs.yes[rest], pairs.groups[rest])
        return Recalibrated(judge, curve)

    return by_question(pairs, make)


def cascaded(
    pairs: Pairs,
    opened: tuple[Opener, Opener],
    p: tuple[Floats, Floats],
    error: float,
    held_out: Labelled | None = None,
) -> CrossFittedAnswers:
    """Ask the first student, and the second one if the first is not certain.

    Args:
        pairs: the pairs to judge.
        opened: functions that open the first and the second student.
        p: their uncalibrated probabilities of `pairs`.
        error: maximum share of wrong answers among the first student's final yes, and its final no.
        held_out: data to fit the first student on, instead of the other questions of `pairs`.
    """
    cheap, strong = opened[0](), opened[1]()

    def make(rest: Floats) -> Judge:
        labels = pairs.yes[rest], pairs.groups[rest]
        first = recalibration(cheap, *(held_out or (p[0][rest], *labels)), error)
        last = recalibration(strong, p[1][rest], *labels)
        assert first.sure is not None
        return Cascade(Recalibrated(cheap, first), Recalibrated(strong, last), first.sure)

    return by_question(pairs, make)


def figures(pairs: Pairs, answers: CrossFittedAnswers, places: Floats) -> list[float]:
    """Return AUROC and F1 of some pairs."""
    yes = pairs.yes[places].astype(float)
    scores = (("auroc", answers.probability), ("f1", answers.verdict.astype(float)))
    return [MEASURES[name].value(yes, values[places]) for name, values in scores]


def difference(pairs: Pairs, ours: CrossFittedAnswers, other: CrossFittedAnswers) -> list[str]:
    """Return each difference with its 95 % interval from samples of whole questions."""
    places = [np.flatnonzero(pairs.groups == name) for name in pairs.names]
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(DRAWS):
        drawn = np.concatenate([places[n] for n in rng.integers(0, len(places), len(places))])
        if pairs.yes[drawn].all() or not pairs.yes[drawn].any():
            continue
        draws.append(np.subtract(figures(pairs, ours, drawn), figures(pairs, other, drawn)))
    low, high = np.percentile(np.array(draws), [2.5, 97.5], axis=0)
    whole = np.arange(len(pairs.yes))
    at = np.subtract(figures(pairs, ours, whole), figures(pairs, other, whole))
    return [f"{d:+.3f} [{a:+.3f}, {b:+.3f}]" for d, a, b in zip(at, low, high, strict=True)]


def print_table(
    report: Report, pairs: Pairs, by_judge: dict[str, CrossFittedAnswers], strong: str
) -> None:
    count = len(pairs.questions)
    less = (f"{name} minus the strong one's" for name in MEASURED)
    report.head("judge", "decided first", "of these wrong", *MEASURED, *less, "pairs/s")
    for name, answers in by_judge.items():
        values = [f"{value:.3f}" for value in figures(pairs, answers, np.arange(count))]
        wrong = int((answers.verdict != pairs.yes)[answers.first].sum())
        stage = [f"{answers.first.mean():.0%}", f"{wrong} of {answers.first.sum()}"]
        report.row(
            name,
            *(stage if name.startswith("cascade") else ("-", "-")),
            *values,
            *(["-"] * 2 if name == strong else difference(pairs, answers, by_judge[strong])),
            f"{count / answers.seconds:.0f}",
        )


def taught(teaching: Path, out: Path) -> tuple[Labelled, str]:
    """Train the lexical student; return the held-out data and a sentence about the training."""
    labelled = [pair for name in TAUGHT_BY for pair in read_labelled(teaching / name)]
    begun = time.perf_counter()
    student = distil(labelled, LexicalTrainer(), Distillation("lexical"), out)
    seconds = time.perf_counter() - begun
    names = set(student.counts["held_out_questions"])
    examples = [example_of(p) for p in labelled if p.group in names and p.value is not None]
    answers = open_student(out).judge([example.question for example in examples])
    note = (
        f"The lexical student learned from {student.counts['trained_on']} pairs in {seconds:.0f} "
        f"s; {len(examples)} pairs of {len(names)} questions were held out."
    )
    fields = (
        [a.probability for a in answers],
        [e.value for e in examples],
        [e.group for e in examples],
    )
    return tuple(np.array(field) for field in fields), note


def compare(
    report: Report,
    pairs: Pairs,
    cheap: str,
    strong: str,
    errors: Sequence[float],
    held_out: Labelled,
) -> None:
    opened = _opener(cheap), _opener(strong)
    p = own_probabilities(pairs, opened[0]()), own_probabilities(pairs, opened[1]())
    name = f"{Path(strong).name} alone"
    answers = {"lexical alone": alone(pairs, opened[0], p[0]), name: alone(pairs, opened[1], p[1])}
    for fitted, on in (("other questions", None), ("held-out teaching", held_out)):
        for error in errors:
            row = f"cascade, error {error:g}, by {fitted}"
            answers[row] = cascaded(pairs, opened, p, error, on)
    print_table(report, pairs, answers, name)


def _opener(folder: str) -> Opener:
    """Return a function that opens a student and makes it load everything it needs."""

    def opened() -> StudentJudge:
        judge = open_student(folder)
        judge.judge([ask_relevance("warm", "Is it warm?", "It is warm where the sun shines.")])
        return judge

    return opened


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("strong", metavar="STRONG")
    parser.add_argument("--teaching", type=Path, required=True, help="folder of teacher_labels.py")
    parser.add_argument("--error", type=float, action="append", help="instead of the usual ones")
    parser.add_argument("--data", type=Path, default=os.environ.get("PNYX_DATA", "../shared/data"))
    options = parser.parse_args()
    pairs = Pairs(Path(options.data) / "chatreportretrieve")
    report = Report("diras cascade")
    with tempfile.TemporaryDirectory() as folder:
        cheap = Path(folder) / "lexical"
        held_out, note = taught(options.teaching, cheap)
        words = np.mean([len(q.text.split()) for q in pairs.questions])
        report.line()
        report.line(
            f"ChatReportRetrieve: {len(pairs.yes)} pairs of {len(pairs.names)} questions, "
            f"{pairs.yes.mean():.0%} relevant, passages of {words:.0f} words on average. {note} "
            "AUROC is of probabilities calibrated on the other questions, a curve for each "
            f"question; 95 % bootstrap intervals from {DRAWS} resamples of questions."
        )
        errors = options.error or ERRORS
        compare(report, pairs, str(cheap), options.strong, errors, held_out)
    report.write(options.write)


if __name__ == "__main__":
    main()
