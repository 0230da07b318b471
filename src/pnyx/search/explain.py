"""Why a document has its score: the exact parts of the score.

Each scoring model is a sum or a product of parts, some of which are made of parts themselves.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from pnyx.search.engine import Explainable
from pnyx.search.plan import PARAMETERS, Scoring
from pnyx.search.ranking.fusion import RRF_CONSTANT, Normalisation, RankedList, lowest, normalised
from pnyx.search.ranking.good_first import COPY, NEAR, QUALITY, Goodness
from pnyx.search.ranking.scores import weights_of_parts

if TYPE_CHECKING:
    from pnyx.models.embed.embedder import Embedder


class Explanation(NamedTuple):
    """A part of a score, or the score itself.

    Attributes:
        name: a model, `R`, `C` or `Q` of the Touché model, or a word of the question; where good
            arguments were put first (`good`) also `relevance`, `neighbours`, `quality`, `copy`.
        value: what it contributes to the whole as a summand or factor; for the whole, the score.
        raw: its unweighted value: a score, a cosine, a quality; None if unknown for the
            document (in a hybrid: the document is not among the best by that model).
        weight: its weight in the whole; None if nothing is weighted.
        rank: in the ranking that is fused by ranks; else None.
        combine: how `parts` make `raw`: `sum` or `product`; empty without parts.
        parts: what `raw` is made of.
    """

    name: str
    value: float
    raw: float | None
    weight: float | None = None
    rank: int | None = None
    combine: Literal["", "sum", "product"] = ""
    parts: tuple[Explanation, ...] = ()

    def row(self) -> dict[str, Any]:
        """Return it as JSON values."""
        values = dict(zip(self._fields, self, strict=True))
        return {**values, "parts": [part.row() for part in self.parts]}


def explain(
    index: Explainable,
    text: str,
    scoring: Scoring,
    ids: Sequence[str],
    embedder: Embedder | None = None,
    *,
    k: int = 10,
) -> list[Explanation]:
    """Return why documents, by id, have the scores that `Engine.retrieve` gives them.

    `text`, `scoring` and `embedder` are as for `Engine.retrieve`; so is `k`, on which the scores of
    a hybrid depend where it is above 1000. The parts of the Touché model are those of its Eq. 1, S
    = R (1 + wC C) (1 + wQ Q). Raises what `Engine.retrieve` raises, and InputError for an unknown
    id.
    """
    if scoring.model == "hybrid":
        return _fused(index, text, scoring, ids, embedder, k)
    if scoring.model == "dense":
        cosines = index.cosines(text, ids, embedder).tolist()
        return [Explanation("dense", cosine, cosine) for cosine in cosines]
    if scoring.model == "touche":
        return _touche(index, text, scoring, ids, embedder)
    return _words(index, text, scoring.model, ids, scoring.parameters)


def explain_good(why: Explanation, good: Goodness) -> Explanation:
    """Return why a document has its score after good arguments were put first."""
    by_model = why._replace(value=(1.0 - NEAR) * good.by_model, weight=1.0 - NEAR)
    near = Explanation("neighbours", NEAR * good.near, good.near, NEAR)
    relevance = Explanation(
        "relevance", good.relevance, good.relevance, combine="sum", parts=(by_model, near)
    )
    parts = [relevance, Explanation("quality", good.boost, good.share, QUALITY)]
    if good.copy_of:
        parts.append(Explanation("copy", COPY, None))
    return Explanation("good", good.score, good.score, combine="product", parts=tuple(parts))


def _words(
    index: Explainable, text: str, model: str, ids: Sequence[str], parameters: Any
) -> list[Explanation]:
    written: dict[str, str] = {}
    for word in re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text):
        for term in index.tokenizer.terms(word):
            written.setdefault(term, word)
    explanations = []
    for terms in index.term_scores(text, ids, model, **parameters):
        parts = tuple(Explanation(written.get(t, t), v, v) for t, v in terms.items())
        score = sum((part.value for part in parts), 0.0)
        explanations.append(Explanation(model, score, score, combine="sum", parts=parts))
    return explanations


def _touche(
    index: Explainable, text: str, scoring: Scoring, ids: Sequence[str], embedder: Embedder | None
) -> list[Explanation]:
    wc, wq = (scoring.parameter(name) for name in ("wc", "wq"))
    mu = scoring.parameters.get("mu", PARAMETERS["mu"].default)
    words = _words(index, text, "dirichlet", ids, {"mu": mu})
    boosts = index.boosts(text, ids, wc, wq, embedder)
    explanations = []
    for by_words, factor, quality in zip(words, *(boost.tolist() for boost in boosts), strict=True):
        parts = [Explanation("R", 1.0, None) if scoring.flat else by_words._replace(name="R")]
        if wc or wq:
            parts += [
                Explanation("C", factor, (factor - 1.0) / wc if wc else None, wc),
                Explanation("Q", 1.0 + wq * quality, quality if wq else None, wq),
            ]
        score = math.prod(part.value for part in parts)
        explanations.append(
            Explanation("touche", score, score, combine="product", parts=tuple(parts))
        )
    return explanations


def _fused(
    index: Explainable,
    text: str,
    scoring: Scoring,
    ids: Sequence[str],
    embedder: Embedder | None,
    k: int,
) -> list[Explanation]:
    rankings, numbers = index.rank_parts(text, scoring, k, embedder), index.numbers(ids)
    words = explain(index, text, scoring.parts[0], ids, embedder, k=k)
    columns = [
        _places(ranking, weight, scoring, numbers)
        for ranking, weight in zip(rankings, weights_of_parts(scoring), strict=True)
    ]
    explanations = []
    for word, by_words, by_vector in zip(words, *columns, strict=True):
        word_part = word._replace(value=by_words.value, weight=by_words.weight, rank=by_words.rank)
        if by_words.raw is None:  # it may match words, but is not among the best by them
            word_part = word_part._replace(raw=None, combine="", parts=())
        parts = (word_part, by_vector)
        score = word_part.value + by_vector.value
        explanations.append(Explanation("hybrid", score, score, combine="sum", parts=parts))
    return explanations


def _places(
    ranking: RankedList, weight: float, scoring: Scoring, numbers: NDArray[np.int64]
) -> list[Explanation]:
    """Return what one ranking adds to the fused score of each document."""
    ranked, scores = ranking
    if scoring.fusion == "rrf":
        values = 1.0 / (RRF_CONSTANT + np.arange(1.0, len(ranked) + 1))
        least, shown_weight = 0.0, None
    else:
        how = cast("Normalisation", scoring.fusion)
        values = weight * normalised(scores, how)
        least, shown_weight = lowest(values, how), weight
    explanations = []
    for number in numbers.tolist():
        places = np.flatnonzero(ranked == number).tolist()
        if not places:
            explanations.append(Explanation("dense", least, None, shown_weight))
        for position in places:  # one
            value, score = float(values[position]), float(scores[position])
            explanations.append(Explanation("dense", value, score, shown_weight, position + 1))
    return explanations
