"""What a search engine does for the stages of a search, all by document id.

`pnyx.search.index.Index` is one; nothing but `Engine` is used of it above this room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pnyx.records import Evidence
from pnyx.search.plan import Scoring

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pnyx.models.embed.embedder import Embedder


class Hit(NamedTuple):
    """A retrieved document: its id, 1-based rank and score."""

    doc_id: str
    rank: int
    score: float


class FeatureInfo(NamedTuple):
    """A feature that an engine has: of how many documents, and the model that made it."""

    documents: int
    made_by: str


class Topic(NamedTuple):
    """The topic cluster of a document: its number, its most typical conclusion, telling words."""

    number: int
    label: str
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopicQuery:
    """Asks for at most `count` documents on a question's topics.

    `vector` is its unit vector (d,) by `embedder`, `least` the least cosine of a topic to it.
    """

    text: str
    vector: NDArray[np.float32]
    embedder: str
    least: float
    count: int


class Engine(Protocol):
    """A collection of documents that can be ranked for a question.

    Features are `vectors`, `quality` and `clusters`; any may be missing. Methods that take ids
    raise InputError for an unknown one, and where the feature that they read is missing or lacks
    documents.
    """

    @property
    def name(self) -> str:
        """Short, for people."""

    def __len__(self) -> int:
        """Return how many documents there are."""

    def retrieve(
        self, text: str, scoring: Scoring, k: int, embedder: Embedder | None = None
    ) -> list[Hit]:
        """Return the best `k` documents for a question, best first, ties in a fixed order.

        `scoring` is not `auto`; `embedder` is needed where `scoring.embeds`. Raises InputError
        where the engine lacks what the model needs, ModelError where the embedder cannot be used.
        """

    def fetch(self, ids: Sequence[str]) -> list[Evidence]:
        """Return documents by id, in the order asked."""

    def feature_info(self, name: str) -> FeatureInfo | None:
        """Return what there is of a feature; None where there is nothing."""

    def vectors(self, ids: Sequence[str]) -> NDArray[np.float32]:
        """Return the unit vectors of documents; shape (documents, dimensions)."""

    def quality(self, ids: Sequence[str]) -> NDArray[np.float32]:
        """Return the predicted quality of documents, in [0, 1]; shape (documents,)."""

    def quality_shares(self, ids: Sequence[str]) -> NDArray[np.float64]:
        """Return the share of documents of lower quality, NaN for unknown; shape (documents,)."""

    def topics(self, ids: Sequence[str]) -> list[Topic | None]:
        """Return the topic of each document, None for one that has none."""

    def on_topics(self, asked: TopicQuery) -> tuple[list[str], list[str]]:
        """Return ids of documents on a question's topics, best first, and what went wrong."""
