"""The default judge of relevance, and students, on arguments.

    PNYX_DATA=DATA python lab/diras/argument_sets.py [STUDENT ...]
    ... --write docs/lab/relevance-students.md   # updates its section

No student was trained or chosen on these sets. The curve of the default judge for questions without
a definition is fitted on them, but it does not change rankings. Webis-ArgQuality-20 has questions
only, and a scale of relevance. SIGIR-19 has queries with a description of the searcher and the
purpose, which is not a definition of relevance, and grades 1 to 4. For AUROC, texts above the
median of the set are relevant; for nDCG, gains are linear from the lowest value. Both are means
over questions, with bootstrap intervals over questions.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from students import mean_of_sentences, similarities

import pnyx
from pnyx import Support
from pnyx.judging.answers import Answer, Judged
from pnyx.judging.measures.registry import MEASURES
from pnyx.judging.stances import ask_relevance
from pnyx.judging.students.student import open_student
from pnyx.stats import ndcg

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments, read_csv

DRAWS = 2000
BAR = "untrained: whole passage"


@dataclass(frozen=True)
class Pairs:
    name: str
    questions: Sequence[Support]
    gains: np.ndarray
    groups: np.ndarray


def webis(folder: Path) -> Pairs:
    topics = {row["Topic ID"]: row for row in read_csv(folder / "webis-argquality20-topics.csv")}
    rows = read_csv(folder / "webis-argquality20-arguments.csv")
    questions = [
        ask_relevance(str(n), topics[row["Topic ID"]]["Long Query"], row["Premise"])
        for n, row in enumerate(rows)
    ]
    gains = np.array([float(row["Relevance"]) for row in rows])
    return Pairs("Webis-ArgQuality-20", questions, gains - gains.min(), _topics(rows))


def sigir(folder: Path) -> Pairs:
    topics = {int(row["Topic ID"]): row for row in read_csv(folder / "topics.csv")}
    rows = [
        row
        for row in read_csv(folder / "arguments.csv")
        if int(row["Topic ID"]) in topics and row["Premise"].strip()
    ]
    questions = []
    for number, row in enumerate(rows):
        topic = topics[int(row["Topic ID"])]
        questions.append(
            ask_relevance(
                str(number), topic["Query"], row["Premise"], definition=topic["Description"]
            )
        )
    gains = np.array([max(float(row["Relevance"] or 0), 0.0) for row in rows])
    return Pairs("SIGIR-19", questions, gains, _topics(rows))


def _topics(rows: Sequence[dict[str, str]]) -> np.ndarray:
    return np.array([row["Topic ID"] for row in rows])


def judge(name: str) -> Callable[[Sequence[Support]], np.ndarray]:
    def run(questions: Sequence[Support]) -> np.ndarray:
        return _scores(pnyx.ask(getattr(pnyx, name)(), questions), "probability")

    return run


def student(folder: str) -> Callable[[Sequence[Support]], np.ndarray]:
    def run(questions: Sequence[Support]) -> np.ndarray:
        return _scores(open_student(folder).judge(questions), "raw")

    return run


def _scores(answers: Sequence[Answer], name: str) -> np.ndarray:
    values = []
    for answer in answers:
        if not isinstance(answer, Judged):
            raise SystemExit(f"a pair is unscored: {answer.reason}")
        values.append(answer.provenance.details["raw"] if name == "raw" else answer.probability)
    return np.array(values, dtype=float)


def by_question(pairs: Pairs, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return AUROC and nDCG of each question; NaN if undefined."""
    cut = np.median(pairs.gains)
    areas, gains = [], []
    for name in sorted(set(pairs.groups)):
        mask = pairs.groups == name
        yes = (pairs.gains[mask] > cut).astype(float)
        areas.append(
            MEASURES["auroc"].value(yes, scores[mask]) if 0 < yes.sum() < len(yes) else np.nan
        )
        gains.append(ndcg(pairs.gains[mask], scores[mask]))
    return np.array(areas), np.array(gains, dtype=float)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("students", nargs="*", metavar="STUDENT")
    parser.add_argument("--data", type=Path, default=os.environ.get("PNYX_DATA", "../shared/data"))
    options = parser.parse_args()
    data = Path(options.data)
    systems: dict[str, Callable[[Sequence[Support]], np.ndarray]] = {
        BAR: lambda questions: similarities(questions, sentences=False, definition=True),
        "untrained: mean of sentences": mean_of_sentences,
        "pnyx judge relevance: closest window": judge("EncoderJudge"),
        **{f"student {Path(folder).name}": student(folder) for folder in options.students},
    }
    report = Report("diras elsewhere")
    sets = [webis(data / "webis_argquality20"), sigir(data / "sigir19_argsearch")]
    for pairs in sets:
        report.line()
        report.line(
            f"{pairs.name}: {len(pairs.questions)} pairs of {len(set(pairs.groups))} questions"
        )
        report.head("system", "AUROC", "nDCG", "AUROC minus the bar", "nDCG minus the bar")
        bar = by_question(pairs, systems[BAR](pairs.questions))
        for name, run in systems.items():
            figures = by_question(pairs, run(pairs.questions))
            cells = [f"{np.nanmean(values):.3f}" for values in figures]
            cells += [
                _difference(values - other) for values, other in zip(figures, bar, strict=True)
            ]
            report.row(name, *(cells if name != BAR else [*cells[:2], "-", "-"]))
    report.write(options.write)


def _difference(each: np.ndarray) -> str:
    each = each[~np.isnan(each)]
    draws = np.random.default_rng(0).choice(each, (DRAWS, len(each))).mean(axis=1)
    low, high = np.percentile(draws, [2.5, 97.5])
    return f"{each.mean():+.3f} [{low:+.3f}, {high:+.3f}]"


if __name__ == "__main__":
    main()
