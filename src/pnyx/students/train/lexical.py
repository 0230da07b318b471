"""The student without a network: logistic regression over the words that a pair shares."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from pnyx.judge.questions import Support
from pnyx.students.lexical import FEATURES_VERSION, MAX_WORDS, WORDS, Lexicon
from pnyx.students.linear import WEIGHTS
from pnyx.students.train.base import Example, Report, Trained, Trainer
from pnyx.students.train.regression import STRENGTHS, fit_examples

__all__ = ["LexicalTrainer", "learn_lexicon"]

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

    def train(
        self,
        examples: Sequence[Example],
        work: Path,  # noqa: ARG002 - it takes seconds: nothing to resume
        out: Path,
        report: Report,
        unseen: Sequence[Support] = (),  # noqa: ARG002 - what it learns is of its examples alone
    ) -> Trained:
        """See `Trainer`."""
        from safetensors.numpy import save_file

        report(0, 2, "counting words")
        lexicon = learn_lexicon(example.question.text for example in examples)
        x = lexicon.features([example.question for example in examples])
        report(1, 2, "fitting")
        spread = x.std(axis=0)
        scale = 1 / np.where(spread > 0, spread, 1.0)  # all are penalised alike
        weights, strength = fit_examples(x, examples, scale, self.strengths)
        words = list(lexicon.weights)
        (out / WORDS).write_text(json.dumps({"words": words}) + "\n", encoding="utf-8")
        idf = np.array(list(lexicon.weights.values()), dtype=np.float64)
        save_file({"weights": weights, "idf": idf}, out / WEIGHTS)
        report(2, 2, "fitting")
        settings = {"features": FEATURES_VERSION, "unseen": lexicon.unseen}
        return Trained(settings, {"strength": strength, "words": len(words)})


def learn_lexicon(passages: Iterable[str]) -> Lexicon:
    """Return inverse document frequencies of the `MAX_WORDS` most frequent words of passages."""
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
