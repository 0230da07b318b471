"""The embedded engine: an inverted index with the features of its documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pnyx.core.records import Evidence
from pnyx.search.document_quality import document_quality
from pnyx.search.engine import Hit, Topic, TopicQuery, open_again
from pnyx.search.features.vectors import document_vectors
from pnyx.search.lexical.index import WordIndex
from pnyx.search.plan import Scoring
from pnyx.search.ranking.dense import cosines_of, dense_rank
from pnyx.search.ranking.fusion import RankedList
from pnyx.search.ranking.scores import question_vector, rank_documents, rank_parts, touche_boosts

if TYPE_CHECKING:
    from pnyx.models.embed.embedder import Embedder


class Index(WordIndex):
    """An index open for searching, an `Engine`; immutable, so it may be shared between threads.

    Later changes of the folder are seen only after reopening it, even if the old files are gone.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle its path and identity, so that another process opens the same folder."""
        return open_again, (type(self).open, str(self.path.absolute()), self.known_by)

    @property
    def name(self) -> str:
        """The folder's name, for people."""
        return f"index {self.path.name}"

    def retrieve(
        self, text: str, scoring: Scoring, k: int, embedder: Embedder | None = None
    ) -> list[Hit]:
        """See `Engine`."""
        return self._hits(*rank_documents(self, text, scoring, k, embedder))

    @property
    def known_by(self) -> Any:
        """See `DocumentIndex`."""
        return [segment["checksums"] for segment in self.manifest["segments"]]

    def nearest(self, vector: NDArray[np.float32], k: int) -> list[Hit]:
        """See `DocumentIndex`."""
        return self._hits(*dense_rank(self, vector, k))

    def fetch(self, ids: Sequence[str]) -> list[Evidence]:
        """See `Engine`."""
        return list(map(self.document_at, self.numbers(ids).tolist()))

    def vectors(self, ids: Sequence[str]) -> NDArray[np.float32]:
        """See `Engine`."""
        return document_vectors(self).rows[self.numbers(ids)].astype(np.float32)

    def quality(self, ids: Sequence[str]) -> NDArray[np.float32]:
        """See `Engine`."""
        return document_quality(self)[self.numbers(ids)]

    def quality_shares(self, ids: Sequence[str]) -> NDArray[np.float64]:
        """Return the share of documents of lower predicted quality; shape (documents,).

        The share is among documents of known quality, and NaN for a document of unknown quality.
        """
        order = self.once("quality in order", self._qualities)
        qualities = self.quality(ids)
        shares = np.searchsorted(order, qualities) / max(1, len(order))
        return np.where(np.isnan(qualities), np.nan, shares)

    def _qualities(self) -> NDArray[np.float32]:
        values = document_quality(self)
        return np.sort(values[~np.isnan(values)])

    def cosines(
        self, text: str, ids: Sequence[str], embedder: Embedder | None
    ) -> NDArray[np.float64]:
        """See `Explainable`."""
        question, numbers = question_vector(self, text, embedder), self.numbers(ids)
        return np.zeros(len(ids)) if question is None else cosines_of(self, question, numbers)

    def boosts(
        self, text: str, ids: Sequence[str], wc: float, wq: float, embedder: Embedder | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """See `Explainable`."""
        boosts, numbers = touche_boosts(self, text, embedder, wc, wq), self.numbers(ids)
        if boosts is None:
            return np.ones(len(ids)), np.zeros(len(ids), dtype=np.float32)
        codes = boosts.codes[numbers]
        return boosts.cluster_factors[codes >> boosts.shift], boosts.quality[numbers]

    def rank_parts(
        self, text: str, scoring: Scoring, k: int, embedder: Embedder | None
    ) -> list[RankedList]:
        """See `Explainable`."""
        return rank_parts(self, text, scoring, k, embedder)

    def topics(self, ids: Sequence[str]) -> list[Topic | None]:
        """See `Engine`."""
        from pnyx.search.features.clusters import clusters_of

        return clusters_of(self).topics(self.numbers(ids))

    def on_topics(self, query: TopicQuery) -> tuple[list[str], list[str]]:
        """See `Engine`."""
        from pnyx.search.features.clusters import rank_on_topics, why_not_used

        if (problems := why_not_used(self, query)) is not None:
            return [], problems
        return self.doc_ids(rank_on_topics(self, query)), []
