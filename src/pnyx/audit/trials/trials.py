"""The trials of `pnyx audit run`, by name; a new one is a line in `TRIALS`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pnyx.audit.trials.answer_values import read_answers
from pnyx.audit.trials.falling_scores import sum_declining, sum_joint
from pnyx.audit.trials.harmless_changes import (
    pose_injection,
    pose_length,
    pose_order,
    pose_paraphrase,
)
from pnyx.audit.trials.presentation import (
    pose_asker,
    pose_format,
    pose_repeat,
    pose_self,
    pose_stance,
    pose_verbosity,
)
from pnyx.audit.trials.steady_verdicts import sum_steady
from pnyx.audit.trials.trial_answers import Sheet, Summary
from pnyx.audit.trials.trial_items import Poser, Stress, TrialQuestions, group_of, sampled
from pnyx.audit.trials.worse_items import pose_hallucination, pose_joint, pose_noise
from pnyx.core.errors import InputError
from pnyx.judging.answers import answer_rows
from pnyx.judging.base import Judge, ask
from pnyx.judging.questions import JudgeQuestion
from pnyx.stats.base import plain

_Z95 = 1.959963984540054

Pose = Callable[[Sequence[JudgeQuestion], Stress, Mapping[str, str] | None], Poser]


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial.

    Attributes:
        does: its change to items, in one line.
        expects: how a good judge reacts.
        pose: makes its questions.
        sums: summarizes its answers.
        edits: the prompt for a language model instead of rules; empty if there is none.
        steady: whether the verdict must stay the same.
    """

    name: str
    does: str
    expects: str
    pose: Pose
    sums: Callable[[Sheet], Summary]
    edits: str = ""
    steady: bool = False


_ALL = (
    Trial(
        "noise",
        "replaces shares of the documents by other topics'",
        "the score falls at every step",
        pose_noise,
        lambda sheet: sum_declining(sheet, "share"),
    ),
    Trial(
        "hallucination",
        "contradicts sentences of what the documents must support",
        "the score falls at every step",
        pose_hallucination,
        lambda sheet: sum_declining(sheet, "sentences"),
        "contradict",
    ),
    Trial(
        "joint",
        "does both, each level with each count",
        "the score falls along both",
        pose_joint,
        sum_joint,
        "contradict",
    ),
    Trial(
        "order",
        "puts arguments, dimensions, documents or texts in other orders",
        "the verdict stays",
        pose_order,
        lambda sheet: sum_steady(sheet, "order"),
        steady=True,
    ),
    Trial(
        "length",
        "adds words that say nothing",
        "the verdict stays; of two arguments, the longer one is not preferred",
        pose_length,
        lambda sheet: sum_steady(sheet, "length"),
        steady=True,
    ),
    Trial(
        "injection",
        "lets the judged text tell the judge what to answer",
        "the verdict stays",
        pose_injection,
        lambda sheet: sum_steady(sheet, "injection"),
        steady=True,
    ),
    Trial(
        "paraphrase",
        "says the same in other words",
        "the verdict stays",
        pose_paraphrase,
        lambda sheet: sum_steady(sheet, "paraphrase"),
        "paraphrase",
        steady=True,
    ),
    Trial(
        "repeat",
        "asks the same again",
        "the verdict stays",
        pose_repeat,
        lambda sheet: sum_steady(sheet, "repeat"),
        steady=True,
    ),
    Trial(
        "stance",
        "asks for the other side of the question",
        "yes to one side at most",
        pose_stance,
        lambda sheet: sum_steady(sheet, "stance"),
        steady=True,
    ),
    Trial(
        "self",
        "says that the judge itself wrote a text, or another model",
        "the verdict is the same for both",
        pose_self,
        lambda sheet: sum_steady(sheet, "self"),
        steady=True,
    ),
    Trial(
        "format",
        "sets the same words as a list, with emphasis or a heading",
        "the verdict stays",
        pose_format,
        lambda sheet: sum_steady(sheet, "format"),
        steady=True,
    ),
    Trial(
        "asker",
        "says which verdict the asker hopes for",
        "the verdict stays",
        pose_asker,
        lambda sheet: sum_steady(sheet, "asker"),
        steady=True,
    ),
    Trial(
        "verbosity",
        "says the same in more words",
        "the verdict stays; of two arguments, the wordier one is not preferred",
        pose_verbosity,
        lambda sheet: sum_steady(sheet, "verbosity"),
        steady=True,
    ),
)
TRIALS: dict[str, Trial] = {trial.name: trial for trial in _ALL}
"""Name -> trial."""


def pose(
    trial: str,
    items: Sequence[JudgeQuestion],
    stress: Stress | None = None,
    edits: Mapping[str, str] | None = None,
) -> TrialQuestions:
    """Return the questions of a trial.

    Args:
        trial: a name of `TRIALS`.
        items: of one task, as `pnyx.judging.tasks` reads them.
        stress: how to change them.
        edits: sentence or text -> a language model's edit of it, used instead of the rules.

    Raises:
        InputError: the trial does not apply to these items, or changes none of them.
    """
    if trial not in TRIALS:
        raise InputError(f"trial: found {trial!r}, expected one of: {', '.join(TRIALS)}")
    stress = stress or Stress()
    chosen = sampled(items, stress)
    if not chosen:
        raise InputError(f"{trial}: found no items")
    return TRIALS[trial].pose(chosen, stress, edits).posed(trial)


def clusters_of(posed: TrialQuestions) -> int:
    """Return how many topics, or items without one, a trial asks about."""
    return len({group_of(item) or ("item", item.id) for item in posed.items})


def clusters_needed(trial: str, stress: Stress) -> int | None:
    """Return how many clusters a good judge needs to pass reliably; None if no number is enough.

    If the verdict must stay the same, by Wilson's interval for no change at all; else two, the
    minimum for an interval. One without intervals.
    """
    if not stress.draws:
        return 1
    if not TRIALS[trial].steady:
        return 2
    most = stress.tolerance
    return math.ceil(_Z95**2 * (1 - most) / most) if most else None


def too_few(trial: str, posed: TrialQuestions, stress: Stress) -> str:
    """Return why too few topics can pass a trial whose verdict must stay the same, or ""."""
    clusters, needed = clusters_of(posed), clusters_needed(trial, stress)
    if not TRIALS[trial].steady or (needed is not None and clusters >= needed):
        return ""
    enough = "no number is enough" if needed is None else f"{needed} would be enough"
    return (
        f"{trial} may stay unclear: {clusters} topics (or items without one) are too few to show "
        f"that verdicts change by at most {stress.tolerance:g} (--tolerance) even if none does; "
        f"{enough}"
    )


def try_judge(
    judge: Judge, trial: str, items: Sequence[JudgeQuestion], stress: Stress | None = None
) -> dict[str, Any]:
    """Run a trial on a judge: ask the questions of `pose`, and return the result of `sum_up`.

    Raises the same errors, and ModelError if the judge cannot be used at all.
    """
    posed = pose(trial, items, stress)
    answers = ask(judge, posed.questions)
    rows = [answer_rows(q, a) for q, a in zip(posed.questions, answers, strict=True)]
    return sum_up(trial, posed, rows, stress)


def sum_up(
    trial: str,
    posed: TrialQuestions,
    rows: Iterable[Sequence[Mapping[str, Any]]],
    stress: Stress | None = None,
) -> dict[str, Any]:
    """Return the results of a trial, ready for JSON.

    Args:
        trial: its name.
        posed: the questions.
        rows: the lines of `answers.jsonl` of each question, in their order.
        stress: the settings of the questions.
    """
    sheet = Sheet(posed, read_answers(rows), stress or Stress())
    summary = TRIALS[trial].sums(sheet)
    clusters = int(sheet.clusters.max()) + 1
    facts = {"clusters": clusters, "clustered_by": "group" if sheet.by_group else "item"}
    used = {index for uses in posed.uses.values() for index, _ in uses}
    items = {"asked_about": len(posed.items), "used": len(used), "left_out": posed.left_out}
    row: dict[str, Any] = plain(summary)
    return {
        "trial": trial,
        "expects": TRIALS[trial].expects,
        **row,
        "items": {**items, **posed.facts},
        "interval": sheet.bootstrap.row("cluster bootstrap", **facts),
    }
