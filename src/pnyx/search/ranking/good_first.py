"""Good arguments first: the display order of a ranking (docs/explain/decisions/good-first.md).

Relevance is estimated from a document and those most similar to it, and multiplied by quality;
near-copies of higher documents are moved down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pnyx.search.engine import Engine, Hit

POOL: Final = 200
"""Number of first documents among which each one's neighbours are sought."""

NEIGHBOURS: Final = 5
NEAR: Final = 0.7
"""Weight of the neighbours' scores against the document's own."""

QUALITY: Final = 0.25
"""Share of a score that the best quality in the collection adds to it."""

ALIKE: Final = 0.95
"""Minimum cosine of a near-copy to a document above it."""

COPY: Final = 0.5
"""Factor of the score of a near-copy."""

_STEPS: Final = 2
_SHARPNESS: Final = 10.0
_UNKNOWN: Final = 0.5
"""Assumed share of documents of lower quality if the quality is unknown."""

Floats = NDArray[np.float64]


class Goodness(NamedTuple):
    """The parts of a score: ((1 - `NEAR`) by_model + `NEAR` near) (1 + `QUALITY` share) copy."""

    by_model: float  # the score by the model that ranked
    near: float  # mean score of the nearest documents
    share: float | None  # of documents of lower quality
    copy_of: str = ""  # the document above that it nearly repeats

    @property
    def relevance(self) -> float:
        """Estimated relevance to the question."""
        return (1.0 - NEAR) * self.by_model + NEAR * self.near

    @property
    def boost(self) -> float:
        """The factor for quality."""
        return 1.0 + QUALITY * (_UNKNOWN if self.share is None else self.share)

    @property
    def score(self) -> float:
        """The resulting score."""
        return self.relevance * self.boost * (COPY if self.copy_of else 1.0)


def good_first(engine: Engine, hits: Sequence[Hit]) -> tuple[list[Hit], Mapping[str, Goodness]]:
    """Put good arguments first; return all hits in the new order, and their score parts by id.

    The engine has vectors and quality of all hits, best first by the model that ranked; at least
    `POOL` of them, so that the order does not depend on how many are wanted.
    """
    if not hits:
        return [], {}
    ids = [hit.doc_id for hit in hits]
    vectors = np.asarray(engine.vectors(ids), dtype=np.float64)
    model_scores = np.array([hit.score for hit in hits], dtype=np.float64)
    near = _of_neighbours(model_scores, vectors)
    shares = engine.quality_shares(ids)
    boosts = 1.0 + QUALITY * np.where(np.isnan(shares), _UNKNOWN, shares)
    scores = (((1.0 - NEAR) * model_scores + NEAR * near) * boosts).tolist()  # as `Goodness` says
    # The best first; scores that differ only by rounding keep their order.
    keys = [-round(score, 9) for score in scores]
    places = sorted(range(len(ids)), key=keys.__getitem__)
    copy_of = [""] * len(ids)
    for position, first in _copies(vectors, places[:POOL]).items():
        copy_of[position] = ids[first]
        scores[position] *= COPY
        keys[position] = -round(scores[position], 9)
    places.sort(key=keys.__getitem__)
    ranked = [
        Hit(ids[position], rank, scores[position]) for rank, position in enumerate(places, start=1)
    ]
    quality_shares = [None if share != share else share for share in shares.tolist()]  # NaN
    parts = map(Goodness, model_scores.tolist(), near.tolist(), quality_shares, copy_of)
    return ranked, dict(zip(ids, parts, strict=True))


def _of_neighbours(model_scores: Floats, vectors: Floats) -> Floats:
    """Return the mean score of each document's nearest in the pool, by exp(cosine / 0.1)."""
    pool = min(POOL, len(model_scores))
    count = min(NEIGHBOURS, pool - 1)
    if count < 1:
        return model_scores
    cosines = vectors @ vectors[:pool].T
    np.fill_diagonal(cosines, -np.inf)  # similarity of a document to itself
    every, nearest = (
        np.arange(len(model_scores)),
        np.empty((len(model_scores), count), dtype=np.int64),
    )
    weights = np.empty(nearest.shape)
    for column in range(count):  # repeated argmax for a few neighbours costs much less than sorting
        nearest[:, column] = at = cosines.argmax(axis=1)
        weights[:, column] = cosines[every, at]
        cosines[every, at] = -np.inf
    weights = np.exp(_SHARPNESS * weights)
    weights /= weights.sum(axis=1, keepdims=True)
    near = model_scores
    for step in range(_STEPS):
        scores = model_scores if step == 0 else (1.0 - NEAR) * model_scores + NEAR * near
        near = (weights * scores[nearest]).sum(axis=1)
    return near


def _copies(vectors: Floats, places: Sequence[int]) -> dict[int, int]:
    """Return, for each near-copy among the ordered places, the nearest document above it."""
    best = vectors[places]
    cosines = best @ best.T
    firsts: dict[int, int] = {}
    for row, above in np.argwhere(np.tril(cosines >= ALIKE, -1)).tolist():
        nearer = row not in firsts or cosines[row, above] > cosines[row, firsts[row]]
        if above not in firsts and nearer:  # a copy is not an original for others
            firsts[row] = above
    return {places[row]: places[first] for row, first in firsts.items()}
