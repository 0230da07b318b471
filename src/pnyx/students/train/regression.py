"""Students that are logistic regressions, with an intercept for each training question.

How many of a question's documents are relevant depends on sampling, and says nothing of others.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pnyx.errors import PnyxError
from pnyx.judge.calibration.curves import folds_of
from pnyx.measure.answers.binary import weighted_auroc
from pnyx.measure.core.weighted import measured_once
from pnyx.models.embed.encoder import load_encoder
from pnyx.students.lexical import FEATURES_VERSION as LEXICAL_VERSION
from pnyx.students.lexical import MAX_WORDS, WORDS, Lexicon
from pnyx.students.linear import WEIGHTS, Floats
from pnyx.students.logistic import FEATURES, FEATURES_VERSION, similarity_features
from pnyx.students.train.base import Course, Example, Report, Trained, Trainer

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Inverse strengths of the penalty to choose from."""

_OWN = 10.0
"""An intercept is penalised as a weight a tenth its size: hardly, yet all labels may be alike."""
_FOLDS = 5
_STEPS = 200
_HALVINGS = 40
_ENOUGH = 1e-10
"""Newton's decrement for each pair below which the fit is done."""


@dataclass(frozen=True, slots=True)
class Regression:
    """P(yes) = logistic(x @ weights + intercept), the mean intercept of the training questions."""

    weights: Floats
    intercept: float
    strength: float


def fit_regressions(
    x: Floats, targets: Floats, groups: Sequence[str], strengths: Sequence[float] = STRENGTHS
) -> Regression:
    """Fit to targets in [0, 1] with the strength that orders left-out questions best (AUROC).

    Features x, float64 [n, features], are penalised alike; by default the middle strength.
    """
    folds, names = np.array(folds_of(groups, _FOLDS)), np.array(groups)
    if len(np.unique(folds)) < 2:
        return fit_regression(x, targets, groups, strengths[len(strengths) // 2])
    found = []
    with _one_thread():
        for strength in strengths:
            scores = np.empty(len(targets))
            for fold in np.unique(folds):
                rest = folds != fold
                fitted = fit_regression(x[rest], targets[rest], names[rest].tolist(), strength)
                scores[~rest] = x[~rest] @ fitted.weights
            found.append(_mean_auroc(targets, scores, names))
        return fit_regression(x, targets, groups, strengths[int(np.argmax(found))])


def _fit_examples(
    x: Floats, examples: Sequence[Example], scale: Floats, strengths: Sequence[float]
) -> tuple[Floats, float]:
    """Fit with each feature penalised as if scaled; return weights with intercept, and strength."""
    targets = np.array([example.target for example in examples])
    groups = [example.group for example in examples]
    found = fit_regressions(x * scale, targets, groups, strengths)
    return np.append(found.weights * scale, found.intercept), found.strength


def _one_thread() -> AbstractContextManager[Any]:
    """Keep the many small products on one core (needs threadpoolctl): several only wait."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return contextlib.nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits


def _mean_auroc(targets: Floats, scores: Floats, names: npt.NDArray[np.str_]) -> float:
    order = np.argsort(names, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], names[order][1:] != names[order][:-1]]))
    truth = (targets >= 0.5).astype(np.float64)
    aurocs = [
        measured_once(weighted_auroc, truth[own], scores[own])
        for own in np.split(order, starts[1:])
    ]
    defined = [value for value in aurocs if value is not None]
    return float(np.mean(defined)) if defined else 0.0


def fit_regression(
    x: Floats, targets: Floats, groups: Sequence[str], strength: float
) -> Regression:
    """Fit weights, the questions' own intercepts and the common one by Newton's method.

    It minimises the summed log loss plus the squared weights, and the intercepts a hundredth as
    much, over twice the strength. Own intercepts are eliminated: their Hessian is diagonal.
    """
    if not np.isfinite(x).all():
        raise PnyxError("a feature is no finite number: nothing can be fitted to it")
    _, own = np.unique(np.array(groups), return_inverse=True)
    problem = _Problem(x, targets, own, strength)
    place = np.zeros(problem.size)
    with np.errstate(over="ignore", under="ignore"):
        loss = problem.loss(place)
        for _ in range(_STEPS):
            step, decrement = problem.step(place)
            if decrement < _ENOUGH * len(x):
                return problem.regression(place - step)
            scale = 1.0
            for _ in range(_HALVINGS):
                nearer = problem.loss(place - scale * step)
                if nearer <= loss - 0.25 * scale * decrement:
                    break
                scale /= 2
            place, loss = place - scale * step, nearer
    raise PnyxError(f"the regression did not end within {_STEPS} steps")


class _Problem:
    """Places are weights, the common intercept and the own intercepts, in one vector."""

    def __init__(
        self, x: Floats, targets: Floats, own: npt.NDArray[np.intp], strength: float
    ) -> None:
        order = np.argsort(own, kind="stable")
        self._own, self._targets, self._strength = own[order], targets[order], strength
        self._x = np.concatenate([x, np.ones((len(x), 1))], axis=1)[order]
        self._starts = np.flatnonzero(np.diff(self._own, prepend=-1))
        penalty = np.full(self._x.shape[1], 1 / strength)
        penalty[-1] /= _OWN**2
        self._shared = len(penalty)
        own_penalty = np.full(len(self._starts), 1 / (strength * _OWN**2))
        self._penalty = np.concatenate([penalty, own_penalty])
        self.size = len(self._penalty)

    def _logits(self, place: Floats) -> Floats:
        z: Floats = self._x @ place[: self._shared] + place[self._shared :][self._own]
        return z

    def loss(self, place: Floats) -> float:
        z = self._logits(place)
        fit = np.logaddexp(0.0, z) - self._targets * z
        return float(fit.sum() + 0.5 * (self._penalty * place**2).sum())

    def step(self, place: Floats) -> tuple[Floats, float]:
        """Return Newton's step, to be taken away, and its decrement."""
        p = np.exp(-np.logaddexp(0.0, -self._logits(place)))
        off, curved = p - self._targets, p * (1 - p)
        slope = np.concatenate([self._x.T @ off, np.add.reduceat(off, self._starts)])
        slope += self._penalty * place
        first, last = slope[: self._shared], slope[self._shared :]
        weighted = self._x * curved[:, None]
        shared = self._x.T @ weighted + np.diag(self._penalty[: self._shared])
        across = np.add.reduceat(weighted, self._starts, axis=0)
        diagonal = np.add.reduceat(curved, self._starts) + self._penalty[self._shared :]
        reduced = shared - across.T @ (across / diagonal[:, None])
        step = np.linalg.solve(reduced, first - across.T @ (last / diagonal))
        step = np.concatenate([step, (last - across @ step) / diagonal])
        return step, float(slope @ step)

    def regression(self, place: Floats) -> Regression:
        shares = np.bincount(self._own) / len(self._own)
        intercept = place[self._shared - 1] + shares @ place[self._shared :]
        return Regression(place[: self._shared - 1], float(intercept), self._strength)


_SCALE = 5.0
"""Of the cosines, which vary less than the products: both are penalised alike."""
_BLOCK = 256


@dataclass(frozen=True, slots=True)
class LogisticTrainer(Trainer):
    """Fits weights over the packaged encoder called `encoder` to the teacher's probabilities.

    `strengths` are inverse strengths of the penalty, of which left-out questions choose one.
    """

    kind: ClassVar[str] = "logistic"
    encoder: str = "minilm-int8"
    strengths: tuple[float, ...] = STRENGTHS

    @property
    def what(self) -> str:
        """See `Trainer`."""
        return f"logistic regression over {self.encoder}"

    def _train(self, course: Course) -> Trained:
        from safetensors.numpy import save_file

        x = self._features(course.examples, course.report)
        scale = np.ones(x.shape[1])
        scale[: len(FEATURES)] = _SCALE
        weights, strength = _fit_examples(x, course.examples, scale, self.strengths)
        save_file({"weights": weights}, course.out / WEIGHTS)
        settings = {"encoder": self.encoder, "features": FEATURES_VERSION}
        return Trained(settings, {"strength": strength})

    def _features(self, examples: Sequence[Example], report: Report) -> Floats:
        encoder = load_encoder(self.encoder)
        blocks = []
        for start in range(0, len(examples), _BLOCK):
            report(start, len(examples), "embedding")
            questions = [example.question for example in examples[start : start + _BLOCK]]
            blocks.append(similarity_features(encoder, questions))
        report(len(examples), len(examples), "embedding")
        return np.concatenate(blocks)


_FEWEST = 2
"""Passages that a word stands in to be known: one is no frequency, and may be a name."""


@dataclass(frozen=True, slots=True)
class LexicalTrainer(Trainer):
    """Learns how rare words are, and fits the weights to the teacher's probabilities.

    `strengths` are inverse strengths of the penalty, of which left-out questions choose one.
    """

    kind: ClassVar[str] = "lexical"
    strengths: tuple[float, ...] = STRENGTHS

    @property
    def what(self) -> str:
        """See `Trainer`."""
        return "logistic regression over shared words"

    def _train(self, course: Course) -> Trained:
        from safetensors.numpy import save_file

        course.report(0, 2, "counting words")
        lexicon = learn_lexicon(example.question.text for example in course.examples)
        x = lexicon.features([example.question for example in course.examples])
        course.report(1, 2, "fitting")
        spread = x.std(axis=0)
        scale = 1 / np.where(spread > 0, spread, 1.0)  # all are penalised alike
        weights, strength = _fit_examples(x, course.examples, scale, self.strengths)
        words = list(lexicon.weights)
        (course.out / WORDS).write_text(json.dumps({"words": words}) + "\n", encoding="utf-8")
        idf = np.array(list(lexicon.weights.values()), dtype=np.float64)
        save_file({"weights": weights, "idf": idf}, course.out / WEIGHTS)
        course.report(2, 2, "fitting")
        settings = {"features": LEXICAL_VERSION, "unseen": lexicon.unseen}
        return Trained(settings, {"strength": strength, "words": len(words)})


def learn_lexicon(passages: Iterable[str]) -> Lexicon:
    """Return inverse document frequencies of the `MAX_WORDS` most frequent words of passages.

    The weight of a word in d of n distinct passages is ln((n + 1) / (d + 1/2)), at least 0.
    """
    empty = Lexicon({}, 1.0)
    different = dict.fromkeys(passages)
    counts: Counter[str] = Counter()
    for text in different:
        counts.update({term for terms in empty.sentences(text) for term in terms})
    kept = sorted(
        (term for term, count in counts.items() if count >= _FEWEST),
        key=lambda term: (-counts[term], term),
    )[:MAX_WORDS]
    whole = len(different) + 1
    weights = {term: max(0.0, math.log(whole / (counts[term] + 0.5))) for term in sorted(kept)}
    return Lexicon(weights, math.log(whole / 0.5))
