"""The probability that a retrieved passage is about the question, from the whole ranking.

A passage alone does not show whether it is about a question or a related one. A ranking does:
passages on the question differ from those that follow, and are similar to the best passages.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from pnyx.core.records import Evidence, judged_text
from pnyx.formats.text.tokens import stem
from pnyx.formats.text.words import words_of
from pnyx.judging.answers import Answer, Judged, Provenance
from pnyx.models.embed.embedder import PACKAGED, embedder_from
from pnyx.search.engine import Engine, Hit
from pnyx.search.features.vectors import VECTORS
from pnyx.search.polarity import FORM_WORDS

if TYPE_CHECKING:
    from pnyx.models.embed.embedder import Embedder

Floats = NDArray[np.float64]

BY_RANK: Final = "ranking"
"""The method of these verdicts in their provenance."""

RANKED: Final = 30
"""Number of hits used; the second half represents what is not about the question."""
NEARBY: Final = 120
"""Number of hits among which a passage's neighbours are sought, if there are vectors."""

_BEST: Final = 3
YES: Final = 0.30
"""Minimum probability of a yes."""

_LEVELS: Final = ((0.36, 0.40), (0.46, 0.50), (0.38, 0.42))
"""Typical and maximum cosine of what is not about the question, to it, to the centre, and smoothed:
median and about the 0.75 quantile of the development pages; the caps raise AUROC there from 0.869
to 0.880."""
_NEIGHBOURS, _SHARED, _STEPS = 5, 0.7, 2
"""Smoothing: weight of the nearest passages' cosines, and number of iterations."""
_AROUND, _TOP = 8, 20
"""Number of nearest passages, and of best by smoothed cosine, whose overlap is a feature."""
_WEIGHTS: Final = "weights/relevance.json"

_FORM: Final = FORM_WORDS | frozenset("by with at as from than not no and or more".split())
"""Function words of a question, which do not carry its topic."""

_stem = functools.lru_cache(1 << 16)(stem)


def content_words(text: str) -> frozenset[str]:
    """Return the stems of the content words of a question."""
    return frozenset(_stem(word) for word in words_of(text) if word not in _FORM)


class RankedRelevance:
    """Judges the best passages of a ranking at once: is each about the question?

    A logistic regression on how far a passage's cosine to the question, to the centre of the best
    three, and smoothed over its nearest passages, is above that of the second half of the ranking,
    on the share of the question's words in it and in the best three, on the best cosine,
    and on how many of its nearest passages are among the best. Unless all documents
    have vectors of the packaged embedder, on which it was fitted, it uses rank and words alone.
    Fitted on development pages of `lab/argue`, asked by their titles and in people's own
    words, also without the documents that are about the question
    (`lab/training/train_relevance.py`).

    Args:
        engine: the engine that was searched.
        embedder: the packaged one, if it is open already.
        by: which regression; by default `vectors` if available, else `words`.

    Attributes:
        name: `relevance-by-rank@` and 8 digits of the weights' hash; with `words` if it uses
            only these.
        card: how far it can be trusted, in one line.
    """

    def __init__(
        self, engine: Engine, embedder: Embedder | None = None, by: Literal["words"] | None = None
    ) -> None:
        info = engine.feature_info(VECTORS)
        fits = info is not None and info.made_by == PACKAGED and info.documents == len(engine)
        self._engine, self.by = engine, by or ("vectors" if fits else "words")
        self._embedder = embedder
        if self.by == "vectors" and (embedder is None or embedder.name != PACKAGED):
            self._embedder = embedder_from()
        fitted, digest = _fitted()
        self._fitted = fitted[self.by]
        self.name = f"relevance-by-rank{'-and-words' * (self.by == 'words')}@{digest}"
        self.card = str(self._fitted["card"])

    def judge(
        self, question: str, hits: Sequence[Hit], documents: Sequence[Evidence]
    ) -> list[Answer]:
        """Return a verdict with its probability on each document of the first `hits`."""
        return [self._verdict(p) for p in self.chances(question, hits, documents)]

    def chances(
        self, question: str, hits: Sequence[Hit], documents: Sequence[Evidence]
    ) -> list[float]:
        """Return the probability of each document that it is about the question; see `judge`."""
        if not documents:
            return []
        table = self.features(question, hits, documents)
        z = table @ np.array(self._fitted["weights"]) + self._fitted["bias"]
        return [float(p) for p in 1.0 / (1.0 + np.exp(-z))]

    def _verdict(self, probability: float) -> Judged:
        p = round(probability, 6)
        explanation = f"{p:.2f}, by its place in the ranking; yes from {YES:.2f}"
        provenance = Provenance(self.name, method=BY_RANK, details={"threshold": YES})
        return Judged(p >= YES, provenance, probability=p, explanation=explanation)

    def features(self, question: str, hits: Sequence[Hit], documents: Sequence[Evidence]) -> Floats:
        """Return the features of the regression, float64 [documents, features]."""
        wanted = content_words(question)
        shared_words = [wanted & content_words(judged_text(document)) for document in documents]
        shares = np.array([len(shared) / max(1, len(wanted)) for shared in shared_words])
        best = shares[:_BEST].mean() if len(shares) else 0.0
        words = [shares, np.full(len(shares), best)]
        if self.by == "words" or self._embedder is None:
            return np.stack([np.log1p(np.arange(len(documents))), *words], axis=1)
        rows = np.asarray(self._engine.vectors([hit.doc_id for hit in hits]), dtype=np.float64)
        near, like = _cosines(rows, self._embedder.encode([question])[0])
        smoothed, among_best = _neighbourly(rows, near)
        falling = (near, like, np.sort(smoothed)[::-1])
        columns = [
            *(
                cosines[: len(documents)] - _background(ranked, *levels)
                for cosines, ranked, levels in zip(
                    (near, like, smoothed), falling, _LEVELS, strict=True
                )
            ),
            *words,
            np.full(len(documents), near.max(initial=0.0)),
            among_best[: len(documents)],
        ]
        return np.stack(columns, axis=1)


def _cosines(rows: Floats, question: NDArray[np.float32]) -> tuple[Floats, Floats]:
    """Return the cosines of hits to the question, and to the centre of the best."""
    centre = rows[:_BEST].mean(axis=0)
    length = float(np.linalg.norm(centre)) or 1.0
    return rows @ question.astype(np.float64), rows @ (centre / length)


def _neighbourly(rows: Floats, near: Floats) -> tuple[Floats, Floats]:
    """Return cosines smoothed over each passage's nearest, and the share of best among these."""
    if len(rows) < 2:
        return near, np.ones(len(rows))
    alike = rows @ rows.T
    np.fill_diagonal(alike, -1.0)
    nearest = np.argsort(-alike, axis=1, kind="stable")[:, : min(_AROUND, len(rows) - 1)]
    few = nearest[:, :_NEIGHBOURS]
    weights = np.exp(np.take_along_axis(alike, few, axis=1) / 0.1)
    weights /= weights.sum(axis=1, keepdims=True)
    smoothed = near
    for _ in range(_STEPS):
        smoothed = (1 - _SHARED) * near + _SHARED * (weights * smoothed[few]).sum(axis=1)
    best = np.zeros(len(rows))
    best[np.argsort(-smoothed, kind="stable")[:_TOP]] = 1.0
    return smoothed, best[nearest].mean(axis=1)


def _background(cosines: Floats, usual: float, most: float) -> float:
    """Return the median of the second half, the level of off-topic passages, capped at `most`."""
    padded = np.concatenate([cosines[:RANKED], np.full(max(0, RANKED - len(cosines)), usual)])
    return min(float(np.median(padded[RANKED // 2 :])), most)


@functools.cache
def _fitted() -> tuple[dict[str, Any], str]:
    data = resources.files("pnyx.search").joinpath(_WEIGHTS).read_bytes()
    return json.loads(data), hashlib.sha256(data).hexdigest()[:8]
