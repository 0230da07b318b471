"""The Touché model: relevance, boosted by the topic and by the quality of an argument.

    S(q, d) = R(q, d) (1 + wC C(q, d)) (1 + wQ Q(d))

R is Dirichlet-smoothed query likelihood, C the cosine of the question to the centroid of the
document's topic cluster, clipped to [0, 1], and Q the document's predicted quality in [0, 1]
(Gienapp 2021, Eq. 1). Every document of the index is scored; nothing is a rerank of a top list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pnyx.errors import InputError
from pnyx.search.clusters import Clusters, check_embedder, clusters_of
from pnyx.search.index import Index
from pnyx.search.kernels import Boosts, best
from pnyx.search.models import Floats
from pnyx.search.plan import PARAMETERS, check_least, check_parameter
from pnyx.search.quality import document_quality

if TYPE_CHECKING:
    from pnyx.models.embedding import Embedder

__all__ = ["touche_rank", "touche_scores"]

_SHIFT = 4
"""Bits of quality in a document's code, enough for a tight bound: with 300 clusters the table of
bounds has 19 KB, which the first cache holds."""

_LAST_STEP = (1 << _SHIFT) - 1
_QUALITIES = np.arange(1 << _SHIFT) / _LAST_STEP


def touche_rank(
    index: Index,
    question: str,
    embedder: Embedder | None,
    k: int = 10,
    *,
    wc: float = PARAMETERS["wc"].default,
    wq: float = PARAMETERS["wq"].default,
    mu: float = PARAMETERS["mu"].default,
    flat: bool = False,
) -> tuple[NDArray[np.int64], Floats]:
    """Return numbers and scores of the best `k` documents, best first, ties in document order.

    Args:
        index: with clusters where `wc` is positive, and with quality where `wq` is.
        question: plain text.
        embedder: the one that the clusters were made with; None will do where `wc` is 0.
        k: how many, at least 1.
        wc: weight of the topic, 0 to 1e6.
        wq: weight of quality, 0 to 1e6. A document of unknown quality is not boosted.
        mu: of the Dirichlet prior.
        flat: fix R at 1: all documents are ranked, by topic and quality alone (the paper's last
            two runs). Otherwise only those that hold a word of the question.

    Raises:
        InputError: a number out of range, an embedder other than that of the clusters, or an index
            without what a weight asks for (the line names the command).
        IndexFolderError: a part of the index is damaged.
        ModelError: the embedder cannot be used.
    """
    check_least("k", k, 1)
    boosts = _boosts(index, question, embedder, wc, wq)
    if not flat:
        return index.rank(question, "dirichlet", k, boosts=boosts, mu=mu)
    scores = _flat(index, boosts)
    numbers = best(scores, k)
    return numbers, scores[numbers]


def touche_scores(
    index: Index,
    question: str,
    embedder: Embedder | None,
    *,
    wc: float = PARAMETERS["wc"].default,
    wq: float = PARAMETERS["wq"].default,
    mu: float = PARAMETERS["mu"].default,
    flat: bool = False,
) -> Floats:
    """Return the score of every document, by number; float64 (documents,); see `touche_rank`.

    A document without any word of the question scores -0.0 (unless `flat`).
    """
    boosts = _boosts(index, question, embedder, wc, wq)
    if flat:
        return _flat(index, boosts)
    scores = index.score_all(question, "dirichlet", mu=mu)
    return scores if boosts is None else boosts.apply(scores)


def _flat(index: Index, boosts: Boosts | None) -> Floats:
    ones = np.ones(len(index))
    return ones if boosts is None else boosts.apply(ones)


def _boosts(
    index: Index, question: str, embedder: Embedder | None, wc: float, wq: float
) -> Boosts | None:
    check_parameter("wc", wc)
    check_parameter("wq", wq)
    if wc == 0.0 and wq == 0.0:
        return None
    parts = (wc > 0.0, wq > 0.0)
    documents = index.once(("touche", parts), lambda: _prepare(index, *parts))
    known = documents.known
    if known is None:
        return documents.weigh(np.zeros(0), wc, wq)
    if embedder is None:
        raise InputError("wc is positive, which needs an embedder, to compare question and topics")
    check_embedder(known, embedder.name, index.path)
    return documents.weigh(known.cosines(embedder.encode([question])[0]), wc, wq)


# What does not depend on the question ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Documents:
    """Cluster and quality of all documents, ready to be weighed."""

    known: Clusters | None
    codes: NDArray[np.uint16] | NDArray[np.uint32]
    quality: NDArray[np.float32]

    def weigh(self, cosines: Floats, wc: float, wq: float) -> Boosts:
        factors = np.ones(len(cosines) + 1)
        factors[:-1] += wc * cosines
        # A few units in the last place cover the rounding to float32 and of the exact product.
        steps = ((1.0 + 2**-21) * (1.0 + wq * _QUALITIES)).astype(np.float32)
        bounds = np.multiply.outer(factors.astype(np.float32), steps).reshape(-1)
        return Boosts(self.codes, _SHIFT, bounds, factors, self.quality, float(wq))


def _prepare(index: Index, topics: bool, quality: bool) -> _Documents:
    known = clusters_of(index) if topics else None
    rows = 0 if known is None else len(known)
    clusters = np.zeros(len(index), dtype=np.uint32)
    if known is not None:
        clusters = np.minimum(known.cluster, np.uint32(rows))
    values = np.zeros(len(index), dtype=np.float32)
    if quality:
        values = np.nan_to_num(document_quality(index), nan=0.0)
    steps = np.ceil(values.astype(np.float64) * _LAST_STEP).astype(np.uint32)
    codes = (clusters << np.uint32(_SHIFT)) + steps
    small = (rows + 1) << _SHIFT <= 1 << 16
    return _Documents(known, codes.astype(np.uint16) if small else codes, values)
