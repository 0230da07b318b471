"""A first stage for the clear cases of ChatReportRetrieve: the lexical student before a strong one.

    python lab/diras/teaching.py --out TEACHING
    PNYX_DATA=DATA python lab/diras/cascade.py STRONG --teaching TEACHING
    ... --write docs/lab/cascade.md   # renews its section

STRONG is a folder of `pnyx annotate distil`, trained without these questions. The lexical student
is trained here, on TEACHING's qa.jsonl and climretrieve.jsonl. Question by question: both students'
curves (Platt) and thresholds of F1, and the regions of the lexical one, are fitted on people's
labels of the other questions, as by `pnyx judge calibrate --error`. These are few; so the
regions of the lexical one are also fitted on the teacher's labels of the questions that its
training held out. Seconds are those of the whole judge on the pairs of all questions, its files
opened already.
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
"""Own probabilities, labels and questions."""
Opener = Callable[[], StudentJudge]


@dataclass(frozen=True)
class Asked:
    """All questions' answers, each question by a judge that was fitted on the others.

    Attributes:
        probability: float64 [n].
        verdict: bool [n].
        first: bool [n], whether the first stage decided.
        seconds: of all questions together.
    """

    probability: Floats
    verdict: Floats
    first: Floats
    seconds: float


def recalibration(
    judge: Judge, p: Floats, yes: Floats, groups: Floats, error: float | None = None
) -> Recalibration:
    """Return the result of `pnyx judge calibrate --method platt --threshold f1 [--error E]`."""
    labels = yes.tolist()
    curve = fit("platt", p.tolist(), labels)
    mapped = curve(p).tolist()
    limit = best_f1_threshold(mapped, labels)
    sure = None
    if error is not None:
        verdicts = [q >= limit for q in mapped]
        sure = choose_thresholds(p.tolist(), labels, error, groups.tolist(), verdicts=verdicts)
    return Recalibration(judge.name, "relevance", "student", curve, limit, sure)


def by_question(pairs: Pairs, make: Callable[[Floats], Judge]) -> Asked:
    """Ask each question's pairs of the judge that `make` fits on the pairs that it is given."""
    count = len(pairs.asked)
    probability, verdict, first = np.empty(count), np.empty(count, bool), np.zeros(count, bool)
    seconds = 0.0
    for name in pairs.names:
        own = np.flatnonzero(pairs.groups == name)
        judge = make(pairs.groups != name)
        begun = time.perf_counter()
        answers = ask(judge, [pairs.asked[place] for place in own])
        seconds += time.perf_counter() - begun
        for place, answer in zip(own, answers, strict=True):
            if not isinstance(answer, Judged) or answer.probability is None:
                raise SystemExit(f"{pairs.asked[place].id} is unscored: {answer}")
            probability[place], verdict[place] = answer.probability, answer.value
            first[place] = answer.notes.get("stage") == "cheap"
    return Asked(probability, verdict, first, seconds)


def own_probabilities(pairs: Pairs, judge: StudentJudge) -> Floats:
    """Return a student's own probabilities of all pairs, before any curve of this set."""
    answers = judge.judge(pairs.asked)
    return np.array([a.probability if isinstance(a, Judged) else np.nan for a in answers])


def alone(pairs: Pairs, opened: Opener, p: Floats) -> Asked:
    """Ask one student, opened anew: it has read none of the texts."""
    judge = opened()

    def make(rest: Floats) -> Judge:
        found = recalibration(judge, p[rest], pairs.yes[rest], pairs.groups[rest])
        return Recalibrated(judge, found)

    return by_question(pairs, make)


def cascaded(
    pairs: Pairs,
    opened: tuple[Opener, Opener],
    p: tuple[Floats, Floats],
    error: float,
    held: Labelled | None = None,
) -> Asked:
    """Ask the first student, and the second one where the first is not sure.

    Args:
        pairs: to be answered.
        opened: opens the one and the other.
        p: their own probabilities of `pairs`.
        error: at most this share of either verdict that stands is to be wrong.
        held: what the first is fitted on, in place of the other questions of `pairs`.
    """
    cheap, strong = opened[0](), opened[1]()

    def make(rest: Floats) -> Judge:
        known = pairs.yes[rest], pairs.groups[rest]
        first = recalibration(cheap, *(held or (p[0][rest], *known)), error)
        last = recalibration(strong, p[1][rest], *known)
        assert first.sure is not None
        return Cascade(Recalibrated(cheap, first), Recalibrated(strong, last), first.sure)

    return by_question(pairs, make)


def figures(pairs: Pairs, found: Asked, places: Floats) -> list[float]:
    """Return AUROC and F1 of some pairs."""
    yes = pairs.yes[places].astype(float)
    scores = (("auroc", found.probability), ("f1", found.verdict.astype(float)))
    return [MEASURES[name].value(yes, values[places]) for name, values in scores]


def difference(pairs: Pairs, one: Asked, other: Asked) -> list[str]:
    """Return each difference with its 95 % interval: whole questions are drawn anew."""
    places = [np.flatnonzero(pairs.groups == name) for name in pairs.names]
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(DRAWS):
        drawn = np.concatenate([places[n] for n in rng.integers(0, len(places), len(places))])
        if pairs.yes[drawn].all() or not pairs.yes[drawn].any():
            continue
        draws.append(np.subtract(figures(pairs, one, drawn), figures(pairs, other, drawn)))
    low, high = np.percentile(np.array(draws), [2.5, 97.5], axis=0)
    whole = np.arange(len(pairs.yes))
    at = np.subtract(figures(pairs, one, whole), figures(pairs, other, whole))
    return [f"{d:+.3f} [{a:+.3f}, {b:+.3f}]" for d, a, b in zip(at, low, high, strict=True)]


def print_table(report: Report, pairs: Pairs, found: dict[str, Asked], strong: str) -> None:
    count = len(pairs.asked)
    less = (f"{name} minus the strong one's" for name in MEASURED)
    report.head("judge", "decided first", "of these wrong", *MEASURED, *less, "pairs/s")
    for name, asked in found.items():
        values = [f"{value:.3f}" for value in figures(pairs, asked, np.arange(count))]
        wrong = int((asked.verdict != pairs.yes)[asked.first].sum())
        stage = [f"{asked.first.mean():.0%}", f"{wrong} of {asked.first.sum()}"]
        report.row(
            name,
            *(stage if name.startswith("cascade") else ("-", "-")),
            *values,
            *(["-"] * 2 if name == strong else difference(pairs, asked, found[strong])),
            f"{count / asked.seconds:.0f}",
        )


def taught(teaching: Path, out: Path) -> tuple[Labelled, str]:
    """Train the lexical student; return what it held out, and a few words on the training."""
    labelled = [pair for name in TAUGHT_BY for pair in read_labelled(teaching / name)]
    begun = time.perf_counter()
    found = distil(labelled, LexicalTrainer(), Distillation("lexical"), out)
    seconds = time.perf_counter() - begun
    names = set(found.counts["held_out_questions"])
    held = [example_of(p) for p in labelled if p.group in names and p.value is not None]
    answers = open_student(out).judge([example.question for example in held])
    said = (
        f"The lexical student learned from {found.counts['trained_on']} pairs in {seconds:.0f} s; "
        f"held out were {len(held)} of {len(names)} questions."
    )
    fields = ([a.probability for a in answers], [e.value for e in held], [e.group for e in held])
    return tuple(np.array(field) for field in fields), said


def compare(
    report: Report, pairs: Pairs, cheap: str, strong: str, errors: Sequence[float], held: Labelled
) -> None:
    opened = _opener(cheap), _opener(strong)
    p = own_probabilities(pairs, opened[0]()), own_probabilities(pairs, opened[1]())
    name = f"{Path(strong).name} alone"
    found = {"lexical alone": alone(pairs, opened[0], p[0]), name: alone(pairs, opened[1], p[1])}
    for fitted, on in (("other questions", None), ("held-out teaching", held)):
        for error in errors:
            row = f"cascade, error {error:g}, by {fitted}"
            found[row] = cascaded(pairs, opened, p, error, on)
    print_table(report, pairs, found, name)


def _opener(folder: str) -> Opener:
    """Return what opens a student and has it load what it loads at the first question."""

    def opened() -> StudentJudge:
        judge = open_student(folder)
        judge.judge([ask_relevance("warm", "Is it warm?", "It is warm where the sun shines.")])
        return judge

    return opened


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("strong", metavar="STRONG")
    parser.add_argument("--teaching", type=Path, required=True, help="folder of teaching.py")
    parser.add_argument("--error", type=float, action="append", help="instead of the usual ones")
    parser.add_argument("--data", type=Path, default=os.environ.get("PNYX_DATA", "../shared/data"))
    options = parser.parse_args()
    pairs = Pairs(Path(options.data) / "chatreportretrieve")
    report = Report("diras cascade")
    with tempfile.TemporaryDirectory() as folder:
        cheap = Path(folder) / "lexical"
        held, said = taught(options.teaching, cheap)
        words = np.mean([len(q.text.split()) for q in pairs.asked])
        report.line()
        report.line(
            f"ChatReportRetrieve: {len(pairs.yes)} pairs of {len(pairs.names)} questions, "
            f"{pairs.yes.mean():.0%} relevant, passages of {words:.0f} words on average. {said} "
            "AUROC is of probabilities calibrated on the other questions, a curve for each "
            f"question; 95 % bootstrap intervals from {DRAWS} resamples of questions."
        )
        errors = options.error or ERRORS
        compare(report, pairs, str(cheap), options.strong, errors, held)
    report.write(options.write)


if __name__ == "__main__":
    main()
