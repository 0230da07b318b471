"""Students and untrained judges on ChatReportRetrieve.

    PNYX_DATA=DATA python lab/diras/students.py [STUDENT ...]
    ... --speed                            # also pairs per second on this machine
    ... --write docs/lab/relevance-students.md   # updates its section

STUDENT is a folder of `pnyx annotate distil`, trained without these questions. AUROC, AP and Info
(mean of nDCG and MAP) use raw scores. F1 and ECE use a curve (Platt) and a threshold fitted on the
other questions. Differences are from the bar: the default judge of `pnyx judge relevance`. Two
choices were made on these pairs: the similarity of that judge, and the students that `combined`
adds.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from recipe import guess_answers, read_table, relevance_label

from pnyx import Support
from pnyx.judging.answers import Judged
from pnyx.judging.calibration.curves import best_f1_threshold, crossfit
from pnyx.judging.measures.registry import MEASURES
from pnyx.judging.stances import ask_relevance
from pnyx.judging.students.student import open_student
from pnyx.stats import ndcg, ranking_average_precision

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

DRAWS = 2000
GAINS = {"no": 0.0, "partially": 0.5, "yes": 1.0}
SHOWN = ("AUROC", "AP", "F1", "Info")
BAR = "pnyx judge relevance: closest window (the bar)"

Scores = np.ndarray


class Pairs:
    """ChatReportRetrieve as relevance questions with people's labels."""

    def __init__(self, folder: Path) -> None:
        rows = read_table(folder / "chatreport_test.csv")
        self.released = read_table(folder / "chatreport_test_results.csv")
        self.students = read_table(folder / "student_predictions.csv")
        self.questions = [
            ask_relevance(str(n), r["Questions"], r["Paragraphs"], definition=r["Background"])
            for n, r in enumerate(rows)
        ]
        labels = [relevance_label(row)["value"] for row in rows]
        self.gains = np.array([GAINS[label] for label in labels])
        self.yes = self.gains > 0
        self.groups = np.array([row["Questions"] for row in rows])
        self.names = sorted(set(self.groups))


# --- systems


def similarities(questions: Sequence[Support], *, sentences: bool, definition: bool) -> Scores:
    """Return the packaged encoder's cosine with the whole passage or its closest sentence."""
    from pnyx.judging.passages import read_passage
    from pnyx.models.embed.encoder import load_encoder

    encoder = load_encoder()
    cosines = []
    for q in questions:
        query = f"{q.statement} {q.guideline}" if definition else q.statement
        texts = list(read_passage(q.text).sentences) if sentences else [q.text]
        vectors = encoder.encode([query, *(texts or [q.text])])
        cosines.append(float((vectors[1:] @ vectors[0]).max()))
    return (np.array(cosines) + 1) / 2


def mean_of_sentences(questions: Sequence[Support]) -> Scores:
    """Return the cosine of question and definition with the mean vector of the sentences."""
    from pnyx.judging.students.combined import closeness
    from pnyx.models.embed.encoder import load_encoder

    return (closeness(load_encoder(), questions) + 1) / 2


def student_scores(folder: str) -> Callable[[Pairs], Scores]:
    def run(pairs: Pairs) -> Scores:
        answers = open_student(folder).judge(pairs.questions)
        if any(not isinstance(answer, Judged) for answer in answers):
            raise SystemExit(f"{folder}: some pairs are unscored")
        return np.array([answer.provenance.details["raw"] for answer in answers])

    return run


def released(
    table: str, guess: str, confidence: str, scale: float = 1.0
) -> Callable[[Pairs], Scores]:
    """Return a function for the probabilities of a model whose answers DIRAS released."""

    def run(pairs: Pairs) -> Scores:
        rows = getattr(pairs, table)
        answers = guess_answers([r[guess] for r in rows], [r[confidence] for r in rows], scale)
        return np.array([answer["probability"] for answer in answers], dtype=float)

    return run


def answered_by(name: str) -> Callable[[Pairs], Scores]:
    """Return a function for the probabilities of a packaged judge."""

    def run(pairs: Pairs) -> Scores:
        import pnyx

        answers = pnyx.ask(getattr(pnyx, name)(), pairs.questions)
        return np.array([answer.probability for answer in answers])

    return run


SYSTEMS: dict[str, Callable[[Pairs], Scores]] = {
    "untrained: passage with question": lambda p: similarities(
        p.questions, sentences=False, definition=False
    ),
    "untrained: passage with definition": lambda p: similarities(
        p.questions, sentences=False, definition=True
    ),
    "untrained: closest sentence with definition": lambda p: similarities(
        p.questions, sentences=True, definition=True
    ),
    "untrained: mean of sentences with definition": lambda p: mean_of_sentences(p.questions),
    BAR: answered_by("EncoderJudge"),
    "GPT-3.5 (released)": released("released", "gpt35_guess", "gpt35_confidence"),
    "Llama3-8B fine-tuned, Tok (released)": released(
        "students", "gc_llama_2e__tok_guess", "gc_llama_2e__tok_conf"
    ),
    "GPT-4 (released)": released("released", "gpt4_guess", "gpt4_confidence"),
}


# --- figures


class SystemFigures:
    """The figures of a system, pooled and by question."""

    def __init__(self, pairs: Pairs, raw: Scores) -> None:
        folds = [pairs.names.index(name) for name in pairs.groups]
        fitted = crossfit("platt", raw.tolist(), pairs.yes.tolist(), folds, best_f1_threshold)
        self.pairs, self.raw = pairs, raw
        self.probability = np.array([p for p, _ in fitted])
        self.verdict = np.array([v for _, v in fitted])
        self.info = {name: self._info(pairs.groups == name) for name in pairs.names}

    def _info(self, mask: Scores) -> float:
        gains, raw = self.pairs.gains[mask], self.raw[mask]
        return (ndcg(gains, raw) + ranking_average_precision(gains > 0, raw)) / 2

    def measures(self, places: Scores, names: Sequence[str]) -> dict[str, float]:
        yes = self.pairs.yes[places].astype(float)
        values = {
            "AUROC": ("auroc", self.raw),
            "AP": ("average_precision", self.raw),
            "F1": ("f1", self.verdict.astype(float)),
            "ECE": ("ece", self.probability),
        }
        figures = {
            name: MEASURES[measure].value(yes, scores[places])
            for name, (measure, scores) in values.items()
        }
        info = float(np.mean([self.info[name] for name in names]))
        return {**figures, "Info": info}


def draws_of(pairs: Pairs) -> Iterator[tuple[Scores, list[str]]]:
    """Yield samples of questions with their pairs, if these contain both labels."""
    places = {name: np.flatnonzero(pairs.groups == name) for name in pairs.names}
    rng = np.random.default_rng(0)
    for _ in range(DRAWS):
        names = [pairs.names[i] for i in rng.integers(0, len(pairs.names), len(pairs.names))]
        drawn = np.concatenate([places[name] for name in names])
        if not pairs.yes[drawn].all() and pairs.yes[drawn].any():
            yield drawn, names


def intervals(system: SystemFigures) -> str:
    """Return a line with the measures of a system and their 95 % intervals."""
    at = system.measures(np.arange(len(system.pairs.yes)), system.pairs.names)
    draws = [system.measures(drawn, names) for drawn, names in draws_of(system.pairs)]
    low, high = np.percentile([list(draw.values()) for draw in draws], [2.5, 97.5], axis=0)
    return ", ".join(
        f"{name} {value:.3f} [{low[n]:.3f}, {high[n]:.3f}]"
        for n, (name, value) in enumerate(at.items())
    )


def differences(system: SystemFigures, bar: SystemFigures) -> dict[str, tuple[float, float, float]]:
    """Return (difference, low, high) of each measure, from samples of questions."""
    pairs = system.pairs
    everything = np.arange(len(pairs.yes))
    at = {
        k: (system.measures(everything, pairs.names)[k], bar.measures(everything, pairs.names)[k])
        for k in SHOWN
    }
    draws: list[list[float]] = []
    for drawn, names in draws_of(pairs):
        ours, other = system.measures(drawn, names), bar.measures(drawn, names)
        draws.append([ours[k] - other[k] for k in SHOWN])
    low, high = np.percentile(np.array(draws), [2.5, 97.5], axis=0)
    return {k: (at[k][0] - at[k][1], low[i], high[i]) for i, k in enumerate(SHOWN)}


# --- speed


def speed(report: Report, folder: str, pairs: Pairs) -> None:
    """Report pairs per second: each passage with one question, and each with all questions."""
    judge = open_student(folder)
    judge.judge(pairs.questions[:8])
    alone = [q for q in pairs.questions if q.statement != pairs.questions[0].statement]
    begun = time.perf_counter()
    open_student(folder).judge(alone)
    single = len(alone) / (time.perf_counter() - begun)
    questions = {q.statement: q.guideline for q in pairs.questions}
    crossed = [
        ask_relevance(f"{n}/{k}", statement, q.text, definition=definition)
        for n, q in enumerate(alone)
        for k, (statement, definition) in enumerate(questions.items())
    ]
    begun = time.perf_counter()
    open_student(folder).judge(crossed)
    many = len(crossed) / (time.perf_counter() - begun)
    words = np.mean([len(q.text.split()) for q in alone])
    report.line(
        f"- {Path(folder).name}: {single:.0f} pairs/s, each passage with one question; {many:.0f} "
        f"pairs/s, each with {len(questions)} (passages of {words:.0f} words on average)"
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("students", nargs="*", metavar="STUDENT")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--data", type=Path, default=os.environ.get("PNYX_DATA", "../shared/data"))
    options = parser.parse_args()
    pairs = Pairs(Path(options.data) / "chatreportretrieve")
    report = Report("diras students")
    systems = SYSTEMS | {f"student {Path(s).name}": student_scores(s) for s in options.students}
    measured = {name: SystemFigures(pairs, run(pairs)) for name, run in systems.items()}
    everything = np.arange(len(pairs.yes))
    share = pairs.yes.mean()
    report.line()
    report.line(
        f"ChatReportRetrieve: {len(pairs.yes)} pairs of {len(pairs.names)} questions, "
        f"{share:.0%} relevant. 95 % bootstrap intervals from {DRAWS} resamples of questions. "
        "Chosen on these pairs: the bar's similarity, and what `combined` adds."
    )
    names = ("AUROC", "AP", "F1", "Info", "ECE")
    report.head("system", *names, *(f"{name} minus the bar" for name in SHOWN))
    for name, figures in measured.items():
        values = figures.measures(everything, pairs.names)
        cells = [f"{values[n]:.3f}" for n in names]
        if name != BAR:
            cells += [
                f"{d:+.3f} [{low:+.3f}, {high:+.3f}]"
                for d, low, high in differences(figures, measured[BAR]).values()
            ]
        else:
            cells += ["-"] * len(SHOWN)
        report.row(name, *cells)
    report.line()
    report.line(f"The bar, {intervals(measured[BAR])}.")
    if options.speed:
        report.line()
        for student in options.students:
            speed(report, student, pairs)
    report.write(options.write)


if __name__ == "__main__":
    main()
