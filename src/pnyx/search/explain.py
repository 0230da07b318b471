"""Why a document has its score: the parts that the score is made of, exactly.

Each scoring model is a sum or a product of parts, some of which are made of parts themselves.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from pnyx.search.index import Index
from pnyx.search.plan import PARAMETERS, Scoring
from pnyx.search.ranking.dense import cosines_of
from pnyx.search.ranking.fusion import RRF_CONSTANT, Normalisation, RankedList, lowest, normalised
from pnyx.search.ranking.good_first import COPY, NEAR, QUALITY, Goodness
from pnyx.search.ranking.scoring import (
    question_vector,
    rank_parts,
    touche_boosts,
    weights_of_parts,
)

if TYPE_CHECKING:
    from pnyx.models.embed.embedder import Embedder

Numbers = NDArray[np.int64]


class Explanation(NamedTuple):
    """A part of a score, or the score itself.

    Attributes:
        name: a model, `R`, `C` or `Q` of the Touché model, or a word of the question; where good
            arguments were put first (`good`) also `relevance`, `neighbours`, `quality`, `copy`.
        value: what it adds to the whole, or multiplies it by; of the whole, the score.
        raw: what it is in itself: a score, a cosine, a quality; None where it is not known of the
            document (in a hybrid: the document is not among the best by that model).
        weight: how much it counts in the whole; None where nothing is weighted.
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
        own = dict(zip(self._fields, self, strict=True))
        return {**own, "parts": [part.row() for part in self.parts]}


def explain(
    index: Index,
    text: str,
    scoring: Scoring,
    ids: Sequence[str],
    embedder: Embedder | None = None,
    *,
    k: int = 10,
) -> list[Explanation]:
    """Return why documents, by id, have the scores that `Index.retrieve` gives them.

    `text`, `scoring` and `embedder` are as for `Index.retrieve`; so is `k`, on which the scores of
    a hybrid depend where it is above 1000. The parts of the Touché model are those of its Eq. 1, S
    = R (1 + wC C) (1 + wQ Q). Raises what `Index.retrieve` raises.
    """
    return _explained(index, text, scoring, index.numbers(ids), embedder, k)


def explain_good(why: Explanation, good: Goodness) -> Explanation:
    """Return why a document has its score once good arguments are put first."""
    own = why._replace(value=(1.0 - NEAR) * good.own, weight=1.0 - NEAR)
    near = Explanation("neighbours", NEAR * good.near, good.near, NEAR)
    relevance = Explanation(
        "relevance", good.relevance, good.relevance, combine="sum", parts=(own, near)
    )
    parts = [relevance, Explanation("quality", good.boost, good.share, QUALITY)]
    if good.copy_of:
        parts.append(Explanation("copy", COPY, None))
    return Explanation("good", good.score, good.score, combine="product", parts=tuple(parts))


def _explained(
    index: Index, text: str, scoring: Scoring, numbers: Numbers, embedder: Embedder | None, k: int
) -> list[Explanation]:
    if scoring.model == "hybrid":
        return _fused(index, text, scoring, numbers, embedder, k)
    if scoring.model == "dense":
        return _dense(index, text, numbers, embedder)
    if scoring.model == "touche":
        return _touche(index, text, scoring, numbers, embedder)
    return _words(index, text, scoring.model, numbers, scoring.parameters)


def _words(
    index: Index, text: str, model: str, numbers: Numbers, parameters: Any
) -> list[Explanation]:
    written: dict[str, str] = {}
    for word in re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text):
        for term in index.tokenizer.terms(word):
            written.setdefault(term, word)
    found = []
    for terms in index.term_scores(text, numbers, model, **parameters):
        parts = tuple(Explanation(written.get(t, t), v, v) for t, v in terms.items())
        score = sum((part.value for part in parts), 0.0)
        found.append(Explanation(model, score, score, combine="sum", parts=parts))
    return found


def _dense(
    index: Index, text: str, numbers: Numbers, embedder: Embedder | None
) -> list[Explanation]:
    question = question_vector(index, text, embedder)
    cosines = np.zeros(len(numbers)) if question is None else cosines_of(index, question, numbers)
    return [Explanation("dense", cosine, cosine) for cosine in cosines.tolist()]


def _touche(
    index: Index, text: str, scoring: Scoring, numbers: Numbers, embedder: Embedder | None
) -> list[Explanation]:
    wc, wq = (scoring.parameter(name) for name in ("wc", "wq"))
    boosts = touche_boosts(index, text, embedder, wc, wq)
    mu = scoring.parameters.get("mu", PARAMETERS["mu"].default)
    found = []
    for words, number in zip(
        _words(index, text, "dirichlet", numbers, {"mu": mu}), numbers.tolist(), strict=True
    ):
        flat = Explanation("R", 1.0, None)
        parts = [flat if scoring.flat else words._replace(name="R")]
        if boosts is not None:
            factor = float(boosts.cluster_factors[boosts.codes[number] >> boosts.shift])
            quality = float(boosts.quality[number])
            parts += [
                Explanation("C", factor, (factor - 1.0) / wc if wc else None, wc),
                Explanation("Q", 1.0 + wq * quality, quality if wq else None, wq),
            ]
        score = 1.0
        for part in parts:
            score *= part.value
        found.append(Explanation("touche", score, score, combine="product", parts=tuple(parts)))
    return found


def _fused(
    index: Index, text: str, scoring: Scoring, numbers: Numbers, embedder: Embedder | None, k: int
) -> list[Explanation]:
    rankings = rank_parts(index, text, scoring, k, embedder)
    words = _explained(index, text, scoring.parts[0], numbers, embedder, k)
    columns = [
        _places(ranking, weight, scoring, numbers)
        for ranking, weight in zip(rankings, weights_of_parts(scoring), strict=True)
    ]
    found = []
    for word, by_words, by_vector in zip(words, *columns, strict=True):
        known = word._replace(value=by_words.value, weight=by_words.weight, rank=by_words.rank)
        if by_words.raw is None:  # it may hold words, but is not among the best by them
            known = known._replace(raw=None, combine="", parts=())
        parts = (known, by_vector)
        score = known.value + by_vector.value
        found.append(Explanation("hybrid", score, score, combine="sum", parts=parts))
    return found


def _places(
    ranking: RankedList, weight: float, scoring: Scoring, numbers: Numbers
) -> list[Explanation]:
    """Return what one ranking adds to the fused score of each document."""
    own, scores = ranking
    if scoring.fusion == "rrf":
        values = 1.0 / (RRF_CONSTANT + np.arange(1.0, len(own) + 1))
        least, shown = 0.0, None
    else:
        how = cast("Normalisation", scoring.fusion)
        values = weight * normalised(scores, how)
        least, shown = lowest(values, how), weight
    found = []
    for number in numbers.tolist():
        places = np.flatnonzero(own == number).tolist()
        if not places:
            found.append(Explanation("dense", least, None, shown))
        for place in places:  # one
            value, score = float(values[place]), float(scores[place])
            found.append(Explanation("dense", value, score, shown, place + 1))
    return found
