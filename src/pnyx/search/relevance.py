"""How likely a retrieved passage is about the question, told by the whole ranking.

A passage alone does not show whether it is about a question or about a neighbouring one. A ranking
does: what is on the question stands apart from what comes after it, and is like the best passages.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from pnyx.corpora.text.tokens import stem
from pnyx.judge.answers import Answer, Judged, Provenance
from pnyx.records import Evidence, judged_text
from pnyx.search.engine import Engine, Hit
from pnyx.search.features.vectors import VECTORS

if TYPE_CHECKING:
    from pnyx.models.embed.embedder import Embedder

__all__ = ["BY_RANK", "RANKED", "RankedRelevance", "content_words"]

Floats = NDArray[np.float64]

BY_RANK: Final = "ranking"
"""The method of these verdicts in their provenance."""

RANKED: Final = 30
"""Hits that are looked at; those of the second half show what is not about the question."""

_BEST: Final = 3
_YES: Final = 0.35
_LEVELS: Final = ((0.36, 0.40), (0.46, 0.50))
"""Usual and greatest cosine, to the question and to the centre, of what is not about it: median and
about the .75 quantile of the development pages; the caps raise AUROC there from .869 to .880."""
_WEIGHTS: Final = "weights/relevance.json"

# Words that carry the form of a motion or a question, not its matter.
_FORM: Final = frozenset(
    "a an the this that these those of to in on for by with at as from than be is are was were been"
    " being do does did has have had should would could can may must will shall it there we you"
    " they i house believes believe supports support motion resolved not no and or more".split()
)


_stem = functools.lru_cache(1 << 16)(stem)


def content_words(text: str) -> frozenset[str]:
    """Return the stems of the words that carry the matter of a question."""
    words = re.findall(r"\w+", text.casefold())
    return frozenset(_stem(word) for word in words if word not in _FORM)


class RankedRelevance:
    """Judges the best passages of a ranking at once: is each about the question?

    A logistic regression on how far a passage's cosine to the question, and to the centre of the
    best three, is above that of the second half of the ranking, on the share of the question's
    words that it holds and the best three hold, and on the best cosine. Where there are no vectors,
    on rank and words alone. Fitted on development pages of `benchmarks/argue`, also without the
    documents that are about the question, by `tools/train_relevance.py`.

    Attributes:
        name: `relevance-by-rank@` and 8 digits of the weights' hash.
        card: how far it can be trusted, in one line.
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        found, digest = _fitted()
        self._fitted, self._embedder = found, embedder
        self.name, self.card = f"relevance-by-rank@{digest}", str(found["card"])

    def judge(
        self, engine: Engine, question: str, hits: Sequence[Hit], documents: Sequence[Evidence]
    ) -> list[Answer]:
        """Return a verdict on each document, with its probability.

        Args:
            engine: what was searched; its vectors are used where it has all of them.
            question: what was searched for.
            hits: best first, at least `RANKED` where there are so many.
            documents: those of the first hits, in order.
        """
        if not documents:
            return []
        kind, table = self.features(engine, question, hits, documents)
        fitted = self._fitted[kind]
        z = table @ np.array(fitted["weights"]) + fitted["bias"]
        chances = 1.0 / (1.0 + np.exp(-z))
        return [self._verdict(kind, float(p)) for p in chances]

    def _verdict(self, kind: str, probability: float) -> Judged:
        p = round(probability, 6)
        said = f"{p:.2f}, by its place in the ranking; yes from {_YES:.2f}"
        provenance = Provenance(self.name, method=BY_RANK, details={"by": kind})
        return Judged(p >= _YES, provenance, probability=p, explanation=said)

    def features(
        self, engine: Engine, question: str, hits: Sequence[Hit], documents: Sequence[Evidence]
    ) -> tuple[str, Floats]:
        """Return which regression is used, and its input, float64 [documents, features]."""
        wanted = content_words(question)
        held = [wanted & content_words(judged_text(one)) for one in documents]
        shares = np.array([len(own) / max(1, len(wanted)) for own in held])
        best = shares[:_BEST].mean() if len(shares) else 0.0
        words = [shares, np.full(len(shares), best)]
        known = engine.feature_info(VECTORS)
        if self._embedder is None or known is None or known.documents != len(engine):
            return "words", np.stack([np.log1p(np.arange(len(documents))), *words], axis=1)
        near, like = _cosines(engine, self._embedder.encode([question])[0], hits)
        columns = [
            *(
                cosines[: len(documents)] - _background(cosines, *levels)
                for cosines, levels in zip((near, like), _LEVELS, strict=True)
            ),
            *words,
            np.full(len(documents), near.max(initial=0.0)),
        ]
        return "vectors", np.stack(columns, axis=1)


def _cosines(
    engine: Engine, question: NDArray[np.float32], hits: Sequence[Hit]
) -> tuple[Floats, Floats]:
    """Return the cosines of hits to the question, and to the centre of the best."""
    rows = np.asarray(engine.vectors([hit.doc_id for hit in hits]), dtype=np.float64)
    centre = rows[:_BEST].mean(axis=0)
    length = float(np.linalg.norm(centre)) or 1.0
    return rows @ question.astype(np.float64), rows @ (centre / length)


def _background(cosines: Floats, usual: float, most: float) -> float:
    """Return the level of what is not about the question: the median of the second half.

    A short ranking is taken to go on at the `usual` level. In a corpus on one question all of it is
    on the question, so that the level is at `most` that of most debates.
    """
    looked_at = np.concatenate([cosines[:RANKED], np.full(max(0, RANKED - len(cosines)), usual)])
    return min(float(np.median(looked_at[RANKED // 2 :])), most)


@functools.cache
def _fitted() -> tuple[dict[str, Any], str]:
    data = resources.files("pnyx.search").joinpath(_WEIGHTS).read_bytes()
    return json.loads(data), hashlib.sha256(data).hexdigest()[:8]
