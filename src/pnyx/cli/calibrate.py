"""`pnyx judge calibrate`: recalibrate probabilities, and find when answers are certain."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.options import Outcome, warn
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, escaped, shorten
from pnyx.core.files import read_json
from pnyx.core.spec import Spec, file_opt, opt, out_opt
from pnyx.display.results import calibration_parts

if TYPE_CHECKING:
    from pnyx.judging.calibration.recalibration import Recalibration
    from pnyx.judging.measures.pairs import Pair
    from pnyx.stats.base import Measured

FEWEST = 20
"""With fewer labelled answers, a curve reflects chance more than the judge."""
_LOG_LOSS_CLIP = 1e-6
_FOLDS = 5
_MEASURES = ("ece", "brier", "log_loss", "auroc", "f1", "accuracy")


class CalibrateSpec(Spec, heading="Calibration"):
    """Options of `pnyx judge calibrate`."""

    labels: str = file_opt(..., metavar="LABELS")
    out: str = out_opt(..., metavar="CALIBRATION")
    method: Literal["isotonic", "platt", "temperature"] = opt("isotonic", "Curve to fit.")
    threshold: Literal["half", "f1"] = opt(
        "half",
        "Threshold for yes: probability 1/2, or best F1.",
        "--yes-threshold",
        replaces=("--threshold",),
    )
    error: float | None = opt(
        None,
        "Also find thresholds beyond which at most this share of answers is wrong.",
        within="(0, 1)",
    )


@verb("calibrate", short_help="Recalibrate a judge's probabilities on people's labels.")
@click.argument("answers")
def command(answers: str, spec: CalibrateSpec) -> int | Outcome:
    """Fit a curve from a judge's probabilities of yes to better ones, on LABELS.

    ANSWERS is the answers.jsonl of one judge and task, or the results folder that holds it. The
    figures before and after use the same answers, those after it cross-fitted.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx judge support ex/items.jsonl --out results
      $ pnyx judge calibrate results --labels ex/item-labels.jsonl \\
          --method platt --out calibration.json
      ...
      measure                 before                 after
      ece       0.070 [0.000, 0.130]  0.042 [0.000, 0.093]
      brier     0.093 [0.075, 0.113]  0.085 [0.060, 0.120]

    \b
    More: pnyx judge calibrate --help-all, docs/recipes/cascades.md.
    \f
    \b
    isotonic     any rising curve; needs hundreds of labels
    platt        logistic in the log-odds, two parameters; for a few dozen labels
    temperature  one parameter: corrects over- or underconfidence only

    Figures are cross-fitted over topics (the answers' group; without groups, over answers); the
    curve in the file is fitted on all answers. With --error E, also find the probability ranges in
    which a cascade keeps the judge's answer: the widest in which at most a share E is wrong, with
    95 % confidence separately for yes and no. Exit status 3: some answers could not be
    cross-fitted.
    """
    from pnyx.judging.calibration.recalibration import write_calibration
    from pnyx.judging.verdicts import file_of

    data = _read(Path(file_of(answers)), spec.labels)
    calibration, figures = _calibrate(data, spec)
    write_calibration(spec.out, calibration)
    for line in _warnings(data, calibration):
        warn(line)
    unscored = any(m.scored < m.asked for m in figures)
    if spec.out == "-":
        return EXIT_UNSCORED if unscored else 0
    return Outcome(calibration.row(), calibration_parts(calibration, spec.out), unscored)


@dataclass(frozen=True, slots=True)
class _Data:
    """One judge's answers that are labelled and have a probability."""

    judge: str
    task: str
    source: str
    prompts: tuple[dict[str, Any], ...]
    pairs: tuple[Pair, ...]
    counts: dict[str, int]
    files: dict[str, dict[str, str]]

    @property
    def probabilities(self) -> list[float]:
        stated = (pair.verdict.probability for pair in self.pairs)
        return [probability for probability in stated if probability is not None]


def _read(answers: Path, labels: str) -> _Data:
    from pnyx.core.folders import file_hash
    from pnyx.judging.measures.ground_truth import join_labels
    from pnyx.judging.verdicts import read_verdicts

    files = {}
    for what, path in (("answers", answers), ("labels", Path(labels))):
        if not path.is_file():
            raise InputError("expected a file: the calibration records its hash", path=path)
        files[what] = {"file": escaped(path.name), "sha256": str(file_hash(path))}
    task = next(read_verdicts(answers)).task
    joined = join_labels(answers, labels, "relevance" if task == "relevance" else "support")
    used = tuple(pair for pair in joined.pairs if pair.verdict.probability is not None)
    methods = list(dict.fromkeys(pair.verdict.extra.get("method") or "" for pair in used))
    if len(methods) > 1:
        examples = ", ".join(repr(shorten(name, 40)) for name in methods[:5])
        problem = f"holds answers of {len(methods)} methods ({examples}), expected one"
        raise InputError(problem, path=answers)
    unscored = sum(pair.verdict.value is None for pair in joined.pairs)
    yes = sum(pair.gold.yes is True for pair in used)
    counts = {
        "fitted": len(used),
        "yes": yes,
        "groups": len({pair.group for pair in used}),
        "unscored": unscored,
        "without_probability": len(joined.pairs) - len(used) - unscored,
        "without_label": joined.answers_without_label,
    }
    if len(used) < FEWEST or yes in (0, len(used)):
        raise InputError(
            f"found {len(used)} labelled answers with a probability, {yes} of them labelled yes; "
            f"expected at least {FEWEST}, of both kinds",
            path=answers,
        )
    prompts = _prompts(answers, files["answers"]["sha256"])
    return _Data(joined.judge, task, methods[0], prompts, used, counts, files)


def _prompts(answers: Path, digest: str) -> tuple[dict[str, Any], ...]:
    """Return the prompts named by the manifest next to the answers, if it belongs to them."""
    from pnyx.judging.answers import MANIFEST

    try:
        manifest = read_json(answers.parent / MANIFEST) or {}
        prompts = manifest["prompts"] if manifest["answers_sha256"] == digest else []
    except KeyError:
        return ()  # The answers may have no manifest, or one of other answers next to them.
    keys = ("name", "version", "hash")
    return tuple(
        {name: p[name] for name in keys if isinstance(p.get(name), str | int)}
        for p in (prompts if isinstance(prompts, list) else [])
        if isinstance(p, dict)
    )


def _calibrate(data: _Data, spec: CalibrateSpec) -> tuple[Recalibration, list[Measured]]:
    """Return the calibration, and its cross-fitted figures."""
    from datetime import UTC, datetime

    from pnyx.judging.calibration.curves import best_f1_threshold, crossfit, fit, folds_of
    from pnyx.judging.calibration.recalibration import Recalibration
    from pnyx.judging.calibration.selective import choose_thresholds

    p = data.probabilities
    y = [pair.gold.yes is True for pair in data.pairs]
    groups = [pair.group for pair in data.pairs]
    choose: Callable[[Sequence[float], Sequence[bool]], float] = (
        best_f1_threshold if spec.threshold == "f1" else lambda _p, _y: 0.5
    )
    folds = folds_of(groups, _FOLDS)
    fitted = crossfit(spec.method, p, y, folds, choose)
    before = [
        None if score is None else (probability, pair.verdict.value is True)
        for probability, pair, score in zip(p, data.pairs, fitted, strict=True)
    ]
    figures = {"before": _figures(data, before), "after": _figures(data, fitted)}
    curve = fit(spec.method, p, y)
    mapped = curve(p).tolist()
    limit = choose(mapped, y)
    sure = None
    if spec.error is not None:
        verdicts = [q >= limit for q in mapped]
        sure = choose_thresholds(p, y, spec.error, groups, verdicts=verdicts)
    about = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "counts": data.counts | {"folds": len(set(folds))},
        "figures": {
            when: {name: m.row() for name, m in of.items()} for when, of in figures.items()
        },
        "files": data.files,
    }
    calibration = Recalibration(
        data.judge, data.task, data.source, curve, limit, sure, data.prompts, about
    )
    return calibration, list(figures["after"].values())


def _figures(data: _Data, scores: Sequence[tuple[float, bool] | None]) -> dict[str, Measured]:
    """Measure probability and verdict of each pair, None where unscored; the log loss in nats."""
    from pnyx.judging.measures.agreement import measure_agreement
    from pnyx.judging.measures.ground_truth import LabelledVerdicts
    from pnyx.stats.base import Measured

    pairs, losses = [], []
    for pair, score in zip(data.pairs, scores, strict=True):
        probability, yes = score or (None, None)
        verdict = replace(pair.verdict, value=yes, probability=probability)
        pairs.append(replace(pair, verdict=verdict))
        if probability is not None:
            # An isotonic curve returns 0 and 1, for which the log loss of an error is infinite:
            # clipped.
            clipped = min(1 - _LOG_LOSS_CLIP, max(_LOG_LOSS_CLIP, probability))
            losses.append(-math.log(clipped if pair.gold.yes else 1 - clipped))
    task = "relevance" if data.task == "relevance" else "support"
    measures = dict(measure_agreement(LabelledVerdicts(task, data.judge, tuple(pairs))).measures)
    mean = math.fsum(losses) / len(losses) if losses else None
    measures["log_loss"] = Measured(mean, len(losses), len(pairs))
    return {name: measures[name] for name in _MEASURES}


def _warnings(data: _Data, calibration: Recalibration) -> list[str]:
    counts, lines = data.counts, []
    for name, what in (
        ("unscored", "labelled answers are unscored and were left out"),
        ("without_probability", "labelled answers have no probability and were left out"),
        ("without_label", "answers have no label and were left out"),
    ):
        if counts[name]:
            lines.append(f"{counts[name]} {what}")
    if counts["groups"] < 2:
        lines.append("all answers belong to one group: cross-fitted over answers, not topics")
    p = sorted(data.probabilities)
    low, high = calibration.curve([p[0], p[-1]]).tolist()
    if high - low < 1e-6:
        lines.append("the curve is flat: on these labels the probabilities carry no information")
    sure = calibration.sure
    if sure is not None and (sure.missed or 0.0) > sure.error:
        lines.append(
            f"cascade: {sure.per_class}; --error {sure.error:g} limits errors among the kept "
            f"answers, not among all yes answers: choose a smaller value"
        )
    if calibration.sure is not None and calibration.sure.share == 0:
        lines.append(f"cascade: {calibration.sure}; the strong judge would answer everything")
    return lines
