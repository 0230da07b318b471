"""A student trained on a teacher's labels and calibrated on held-out questions (DIRAS)."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import atomic_folder, write_text
from pnyx.core.placement import make_folder
from pnyx.core.tabular import Result
from pnyx.judging.calibration.curves import (
    Curve,
    CurveName,
    best_f1_threshold,
    crossfit,
    fit,
    folds_of,
)
from pnyx.judging.measures.agreement import measure_agreement
from pnyx.judging.measures.ground_truth import LabelledVerdicts
from pnyx.judging.measures.pairs import Gold, Pair
from pnyx.judging.stances import ask_relevance
from pnyx.judging.students.student import (
    CARD,
    MANIFEST,
    Score,
    Student,
    check_name,
    load_scorer,
    write_manifest,
)
from pnyx.judging.students.trainer import Report, Trained, Trainer, TrainingExample, quiet
from pnyx.judging.verdicts import Verdict
from pnyx.relevance.labelled_pairs import LabelledPair
from pnyx.stats.base import Measured

_FOLDS = 5
_PARTLY = 0.75
"""Training target of a partly relevant pair whose probability is unknown."""
_PLAN = "plan.json"
_NAMES = {
    "f1": "F1",
    "accuracy": "accuracy",
    "auroc": "AUROC",
    "average_precision": "average precision",
    "ece": "calibration error (ECE)",
    "brier": "Brier score",
    "ndcg": "nDCG",
    "map": "MAP",
}
"""Measures of a student, in order -> their names on its card."""
_BY_ORDER = frozenset({"auroc", "average_precision", "ndcg", "map"})


@dataclass(frozen=True, slots=True)
class Distillation:
    """How to train a student of any kind; InputError for an invalid share or name.

    Attributes:
        name: letters, digits, `.`, `_` and `-`.
        held_out: the share of pairs to hold out, in whole questions, in (0, 1).
        curve: the calibration method.
        seed: for the choice of questions and for training.
    """

    name: str
    held_out: float = 0.25
    curve: CurveName = "platt"
    seed: int = 0

    def __post_init__(self) -> None:
        check_name(self.name)
        if not 0 < self.held_out < 1:
            raise InputError(f"held out: found {self.held_out:g}, expected between 0 and 1")


@dataclass(frozen=True, slots=True, repr=False)
class DistilledStudent(Result):
    """A trained student, as written, and its accuracy.

    Attributes:
        counts: pairs and questions asked, unscored, trained on and held out.
        figures: on the held-out questions, compared with the teacher, cross-fitted calibration.
    """

    student: Student
    counts: Mapping[str, Any]
    figures: Mapping[str, Measured] = field(default_factory=dict)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each figure."""
        return [{"figure": name, **figure.row()} for name, figure in self.figures.items()]


def example_of(pair: LabelledPair) -> TrainingExample:
    """Return the training example of a pair that has a verdict."""
    if pair.value is None:
        raise ValueError(f"{pair.id} has no verdict")
    target = pair.probability
    if target is None:
        target = _PARTLY if pair.partial else float(pair.value)
    question = ask_relevance(
        pair.id, pair.question, pair.document, definition=pair.definition, group=pair.group
    )
    return TrainingExample(question, target, pair.value, pair.group, pair.explanation)


def split_questions(
    examples: Sequence[TrainingExample], share: float, seed: int
) -> tuple[list[TrainingExample], list[TrainingExample]]:
    """Split examples at random by whole questions; both parts contain both verdicts."""
    sizes = Counter(example.group for example in examples)
    if len(sizes) < 2:
        raise InputError(f"{len(sizes)} question has labels, expected at least 2: one is held out")
    if len(verdicts := {example.value for example in examples}) < 2:
        label = "relevant" if verdicts == {True} else "irrelevant"
        raise InputError(
            f"all {len(examples)} labelled pairs are {label}, expected relevant and irrelevant ones"
        )
    least = 2 if len(sizes) >= 4 else 1
    rng = random.Random(seed)
    names = sorted(sizes)
    for _ in range(1000):
        rng.shuffle(names)
        test_groups: set[str] = set()
        pairs = 0
        for name in names[:-1]:
            if len(test_groups) >= least and pairs >= share * len(examples):
                break
            test_groups.add(name)
            pairs += sizes[name]
        train, test = (
            [e for e in examples if (e.group in test_groups) is on] for on in (False, True)
        )
        if all({example.value for example in part} == {True, False} for part in (train, test)):
            return train, test
    raise InputError(
        "no questions can be held out so that both parts hold relevant and irrelevant documents: "
        "label more pairs"
    )


def distil(
    pairs: Sequence[LabelledPair],
    trainer: Trainer,
    plan: Distillation,
    out: str | Path,
    *,
    report: Report = quiet,
    replace: bool = False,
) -> DistilledStudent:
    """Train a student, calibrate it on held-out questions and write its folder.

    A repeated call with the same pairs and plan resumes an interrupted one: checkpoints are in
    `OUT.partial` until the student is written.

    Args:
        pairs: with verdicts; those without one are counted and left out.
        trainer: of the chosen kind of student.
        plan: the settings common to all kinds.
        out: the folder to write.
        report: receives the progress.
        replace: whether to replace an existing student.

    Raises:
        InputError: too few labels or questions, `out` exists or is not a student, or `OUT.partial`
            holds checkpoints of another training.
        PnyxError: a library is missing, or the training failed.
    """
    _check_out(Path(out), replace)
    examples = [example_of(pair) for pair in pairs if pair.value is not None]
    counts = _counts(pairs)
    if not examples:
        raise InputError(f"none of {len(pairs)} pairs has a verdict: nothing to learn from")
    train, held_out = split_questions(examples, plan.held_out, plan.seed)
    counts |= {
        "trained_on": len(train),
        "held_out": len(held_out),
        "held_out_questions": sorted({example.group for example in held_out}),
    }
    work = _work_folder(Path(out), examples, trainer, plan)
    with atomic_folder(out, replace=replace) as folder:
        test_questions = [example.question for example in held_out]
        trained = trainer.train(train, work, folder, report, test_questions)
        scorer = load_scorer(trainer.kind, folder, trained.settings)
        scores = scorer.score(test_questions)
        curve, threshold, figures = calibrate(held_out, scores, plan.curve)
        student = _student(plan, trainer, trained, (curve, threshold), counts, figures)
        folder.joinpath(CARD).write_text(_card(student), encoding="utf-8")
        student = write_manifest(folder, student)
    shutil.rmtree(work, ignore_errors=True)
    return DistilledStudent(student, counts, figures)


def _check_out(out: Path, replace: bool) -> None:
    """Reject an existing `out` before training starts; never replace anything but a student."""
    if str(out) == "-":
        raise InputError("found '-', expected the name of a folder to write")
    if not os.path.lexists(out):
        return
    if not replace:
        raise InputError("exists already", path=out)
    ours = out.is_dir() and ((out / MANIFEST).is_file() or not any(out.iterdir()))
    if not ours:
        raise InputError("exists and is not a student, so it is not replaced", path=out)


def _counts(pairs: Sequence[LabelledPair]) -> dict[str, Any]:
    reasons = Counter(
        (pair.unscored or "no verdict").partition(":")[0] for pair in pairs if pair.value is None
    )
    return {
        "asked": len(pairs),
        "unscored": reasons.total(),
        "reasons": dict(reasons.most_common()),
        "relevant": sum(pair.value is True for pair in pairs),
        "questions": len({pair.group for pair in pairs if pair.value is not None}),
        "teachers": sorted({pair.judge for pair in pairs if pair.judge}),
    }


def _work_folder(
    out: Path, examples: Sequence[TrainingExample], trainer: Trainer, plan: Distillation
) -> Path:
    """Return the folder of checkpoints, which is valid only for these pairs and this plan."""
    digest = hashlib.sha256()
    for example in examples:
        q = example.question
        fields = [q.statement, q.guideline, q.text, example.target, example.value, example.group]
        digest.update(json.dumps([*fields, example.explanation]).encode("utf-8", "surrogatepass"))
    settings = {"kind": trainer.kind, **trainer.plan()}
    common = {"held_out": plan.held_out, "seed": plan.seed, "pairs": digest.hexdigest()}
    text = json.dumps({**settings, **common}, sort_keys=True, indent=1) + "\n"
    work = out.with_name(f"{out.name}.partial")
    plan_file = work / _PLAN
    if plan_file.is_file() and plan_file.read_text(encoding="utf-8") == text:
        return work
    if any(path.is_file() and path != plan_file for path in work.rglob("*")):
        raise InputError(
            "belongs to a training on other pairs or with other settings: remove it, or choose "
            "another --out",
            path=work,
        )
    make_folder(work)
    write_text(plan_file, text)
    return work


def calibrate(
    held_out: Sequence[TrainingExample], scores: Sequence[Score], method: CurveName
) -> tuple[Curve, float, dict[str, Measured]]:
    """Return the curve and the threshold with the best F1 on held-out pairs, and the measures."""
    scored = [
        (example, score)
        for example, score in zip(held_out, scores, strict=True)
        if not isinstance(score, str)
    ]
    truth = [example.value for example, _ in scored]
    if len(set(truth)) < 2:
        raise InputError("the held-out pairs that the student can read all have the same verdict")
    raw = [score for _, score in scored]
    folds = folds_of([example.group for example, _ in scored], _FOLDS)
    calibrated = iter(crossfit(method, raw, truth, folds, best_f1_threshold))
    judged = [score if isinstance(score, str) else next(calibrated) for score in scores]
    # One curve keeps the order of pairs, but several folds do not: rank measures use raw scores.
    ordered = [score if isinstance(score, str) else (score, False) for score in scores]
    by_order, by_curve = (_measures(held_out, answers) for answers in (ordered, judged))
    figures = {
        name: by_order[name] if name in _BY_ORDER else by_curve[name]
        for name in _NAMES
        if name in by_curve
    }
    curve = fit(method, raw, truth)
    return curve, best_f1_threshold(curve(raw).tolist(), truth), figures


def _measures(
    held_out: Sequence[TrainingExample], answers: Sequence[tuple[float, bool] | str | None]
) -> Mapping[str, Measured]:
    """Return the measures of probabilities and verdicts; a string says why a pair has none."""
    pairs = []
    for example, answer in zip(held_out, answers, strict=True):
        gold = Gold(example.value, example.target, group=example.group)
        name = example.question.id
        if isinstance(answer, tuple):
            verdict = Verdict(name, value=answer[1], probability=answer[0])
        else:
            verdict = Verdict(name, unscored=answer or "uncalibrated")
        pairs.append(Pair(verdict, gold))
    return measure_agreement(LabelledVerdicts("relevance", "student", tuple(pairs))).measures


def _student(
    plan: Distillation,
    trainer: Trainer,
    trained: Trained,
    calibrated: tuple[Curve, float],
    counts: Mapping[str, Any],
    figures: Mapping[str, Measured],
) -> Student:
    f1, auroc, ece = (figures[name].value for name in ("f1", "auroc", "ece"))
    figure_texts = ", ".join(
        f"{name} {'-' if value is None else f'{value:.2f}'}"
        for name, value in (("F1", f1), ("AUROC", auroc), ("ECE", ece))
    )
    questions = len(counts["held_out_questions"])
    card = (
        f"{trainer.what}, {counts['trained_on']} labelled pairs; against its teacher on "
        f"{counts['held_out']} pairs of {questions} questions not trained on: {figure_texts}"
    )
    about = {
        "counts": dict(counts),
        "figures": {name: measured.row() for name, measured in figures.items()},
        "training": {**trainer.plan(), **trained.about},
        "held_out": plan.held_out,
        "seed": plan.seed,
    }
    return Student(plan.name, trainer.kind, trained.settings, *calibrated, card, about)


def _card(student: Student) -> str:
    """Return the card of a student as Markdown."""
    about = student.about
    counts: Mapping[str, Any] = about["counts"]
    teachers = ", ".join(shorten(name, 80) for name in counts["teachers"]) or "not named"
    unscored = f", {counts['unscored']} of them without a verdict and left out"
    lines = [
        f"# {student.name}",
        "",
        f"- **What**: {student.card}.",
        f"- **Task**: is a document relevant to a question, under a definition of relevance? "
        f"Yes from a probability of {student.threshold:.3f}.",
        f"- **Teacher**: {_plain(teachers)}.",
        f"- **Labels**: {counts['asked']} pairs of {counts['questions']} questions"
        f"{unscored if counts['unscored'] else ''}; {counts['relevant']} relevant.",
        f"- **Trained on** {counts['trained_on']} pairs; **calibrated and tested on** "
        f"{counts['held_out']} pairs of {len(counts['held_out_questions'])} other questions.",
        "- **Limits**: it imitates its teacher, with whose labels it is compared here; on other "
        "domains, measure it again (`pnyx measure`).",
        "",
        *_figure_rows(about["figures"]),
    ]
    return "\n".join([*lines, "", f"Training: {_settings(about['training'])}.", ""])


def _figure_rows(figures: Mapping[str, Mapping[str, Any]]) -> list[str]:
    lines = [
        "| held-out questions | value | 95 % interval | scored of asked |",
        "| --- | --- | --- | --- |",
    ]
    for name, row in figures.items():
        low, high = row["low"], row["high"]
        bounds = "-" if low is None else f"{low:.3f} to {high:.3f}"
        value = "-" if row["value"] is None else f"{row['value']:.3f}"
        lines.append(f"| {_NAMES[name]} | {value} | {bounds} | {row['scored']} of {row['asked']} |")
    return lines


def _settings(row: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key} ({_settings(value)})"
        if isinstance(value, Mapping)
        else f"{key} {_plain(str(value))}"
        for key, value in row.items()
    )


def _plain(text: str) -> str:
    """Escape a name so that it is not read as Markdown or HTML."""
    return "".join(c if c.isalnum() or c in " .,:;/@+-_#()" else " " for c in text)
