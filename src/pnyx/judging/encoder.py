"""Calibrated similarity of the packaged encoder as a judge: weak, as its card says.

docs/explain/decisions/packaged-encoder.md describes how the scores were chosen and fitted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from pnyx.core.errors import PnyxError, shorten
from pnyx.judging.answers import Answer, Judged, Provenance, Unscored
from pnyx.judging.base import Emit, answer_chunks, by_text
from pnyx.judging.calibration.curves import logistic
from pnyx.judging.judge_names import WEAK
from pnyx.judging.passages import TextWindows, read_passage, wording
from pnyx.judging.questions import JudgeQuestion, Support, blank
from pnyx.models.embed.encoder import Encoder, load_encoder

_PACKAGED = "minilm-int8"
_CHUNK = 32
"""Questions answered between two emits: enough to share work, few enough to show progress."""

Vectors = Mapping[str, npt.NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Calibration:
    """P(yes) = 1 / (1 + exp(-(intercept + sum of weight x feature)))."""

    task: str
    weights: Mapping[str, float]
    intercept: float
    threshold: float  # the lowest probability of a yes
    data: str  # the labelled pairs used for the fit
    figures: Mapping[str, float]  # held-out measures by name

    def probability(self, features: Mapping[str, float]) -> float:
        """Return P(yes) in (0, 1), rounded to 6 decimals so that it is the same on all machines."""
        z = self.intercept + sum(w * features[name] for name, w in self.weights.items())
        return round(float(logistic(np.asarray(z))), 6)

    def verdict(
        self, judge: str, features: Mapping[str, float], evidence: str = "", **more: Any
    ) -> Answer:
        """Return a judge's answer based on these features, which it lists."""
        probability = self.probability(features)
        listing = ", ".join(f"{name} {value:.2f}" for name, value in features.items())
        details = {**features, "threshold": self.threshold, **more}
        return Judged(
            value=probability >= self.threshold,
            probability=probability,
            provenance=Provenance(judge, method="calibrated", details=details),
            explanation=f"{listing}; yes from a probability of {self.threshold:.2f}",
            evidence=evidence,
        )


def load_calibrations(name: str) -> tuple[dict[str, Any], dict[str, Calibration]]:
    """Return the packaged file of an encoder (`judge`, `card` ...), its calibrations by task."""
    file = resources.files("pnyx.judging") / "calibrations" / f"{name}.json"
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        tasks = {task: Calibration(task, **row) for task, row in content.pop("tasks").items()}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise PnyxError(f"the calibration of {name} is missing or damaged: {error}") from error
    return content, tasks


class EncoderJudge:
    """Answers Support questions of the tasks `support` and `relevance`.

    - `support`: the similarity of the statement to the closest window of one to three sentences,
        and whether it repeats, or repeats and contradicts, the passage's own words.
    - `relevance`: the same similarity to the question and its relevance definition, if given.

    The same question gets exactly the same answer alone and among others. Encoder and calibrations
    (by task) are the packaged ones by default; `cards` has held-out figures by task.
    """

    def __init__(
        self, encoder: Encoder | None = None, calibrations: Mapping[str, Calibration] | None = None
    ) -> None:
        self._given = encoder
        self.cards: Mapping[str, str] = {}
        if calibrations is None:
            name = _PACKAGED if encoder is None else encoder.name
            about, self._calibrations = load_calibrations(name)
            self.name = str(about["judge"])
            self.cards = about["card"]
        else:
            self._calibrations = dict(calibrations)
            self.name = f"{self._encoder.name}@custom"
        self.kinds: frozenset[type] = frozenset({Support})

    @property
    def card(self) -> str:
        """The figures of all tasks in one line; empty for custom calibrations."""
        return "; ".join([*self.cards.values(), WEAK]) if self.cards else ""

    @cached_property
    def _encoder(self) -> Encoder:
        return load_encoder() if self._given is None else self._given

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`, those about the same text together."""
        await answer_chunks(by_text(questions, self.name), _CHUNK, self._judge, emit)

    def features(self, questions: Sequence[Support]) -> list[dict[str, float] | str]:
        """Return the calibrations' features of each question, or why it cannot be judged."""
        return [score if isinstance(score, str) else score[0] for score in self._measure(questions)]

    def _judge(self, questions: Sequence[Support]) -> list[Answer]:
        return [
            self._verdict(question, score)
            for question, score in zip(questions, self._measure(questions), strict=True)
        ]

    def _verdict(self, question: Support, score: str | tuple[dict[str, float], str]) -> Answer:
        if isinstance(score, str):
            return Unscored(score, Provenance(self.name, method="calibrated"))
        features, evidence = score
        calibration = self._calibrations[_calibration_name(question)]
        return calibration.verdict(self.name, features, evidence, calibration=calibration.task)

    def _measure(self, questions: Sequence[Support]) -> list[str | tuple[dict[str, float], str]]:
        passages = {q.text: read_passage(q.text) for q in questions}
        problems = [self._problem(q) for q in questions]
        needed: dict[str, None] = {}
        for question, problem in zip(questions, problems, strict=True):
            if not problem:
                needed.update(dict.fromkeys((_query(question), *passages[question.text].windows)))
        texts = list(needed)
        vectors = dict(zip(texts, self._encoder.encode(texts), strict=True))
        return [
            problem or self._scores(question, passages[question.text], vectors)
            for question, problem in zip(questions, problems, strict=True)
        ]

    def _problem(self, question: Support) -> str:
        if problem := blank(question):
            return problem
        if _calibration_name(question) not in self._calibrations:
            return f"task: no calibration for {shorten(question.task, 40)!r}"
        return ""

    def _scores(
        self, question: Support, passage: TextWindows, vectors: Vectors
    ) -> tuple[dict[str, float], str]:
        windows = np.stack([vectors[text] for text in passage.windows]) @ vectors[_query(question)]
        unique = list(dict.fromkeys(passage.sentences))
        sentences = windows[: len(unique)]  # the windows start with the sentences, each once
        features = {"similarity": round(float(windows.max()), 6)}
        if question.task == "support":
            score = wording(question.statement, passage)
            features |= {"copy": round(score.copy, 6), "conflict": round(score.conflict, 6)}
        return features, unique[int(sentences.argmax())]


def _calibration_name(question: Support) -> str:
    guided = question.task == "relevance" and question.guideline.strip()
    return "relevance+guideline" if guided else question.task


def _query(question: Support) -> str:
    """Return the text compared with the windows; a definition is worth more than the model."""
    return question.sought if question.task == "relevance" else question.statement
