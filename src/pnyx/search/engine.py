"""The interface of a search engine; all methods use document ids.

Implemented by `pnyx.search.index.Index`, `pnyx.search.opensearch.index.RemoteIndex` and plugins
(`EngineType`); `open_index` opens them all.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar, runtime_checkable

from pnyx.core.errors import IndexFolderError
from pnyx.core.records import Evidence
from pnyx.search.plan import Scoring

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pnyx.formats.text.tokens import Tokenizer
    from pnyx.models.embed.embedder import Embedder
    from pnyx.search.ranking.fusion import RankedList

T = TypeVar("T")


class Hit(NamedTuple):
    """A retrieved document: its id, 1-based rank and score."""

    doc_id: str
    rank: int
    score: float


class FeatureInfo(NamedTuple):
    """A feature of an engine: how many documents have it, and the model that made it.

    `passages` counts the documents that are passages of longer ones.
    """

    documents: int
    made_by: str


class Topic(NamedTuple):
    """The topic cluster of a document: its number, most typical conclusion, distinctive terms."""

    number: int
    label: str
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopicQuery:
    """Asks for at most `count` documents on a question's topics.

    `vector` is its unit vector (d,) by `embedder`, `least` the minimum cosine of a topic to it.
    """

    text: str
    vector: NDArray[np.float32]
    embedder: str
    least: float
    count: int


class Engine(Protocol):
    """A collection of documents that can be ranked for a question.

    Features are `vectors`, `quality`, `clusters` and `passages`; any may be missing. Methods that
    take ids raise InputError for an unknown one, or if the feature that they read is missing or
    incomplete.
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
        if the index lacks what the model needs, ModelError if the embedder cannot be used.
        """

    def fetch(self, ids: Sequence[str]) -> list[Evidence]:
        """Return documents by id, in the order asked."""

    def feature_info(self, name: str) -> FeatureInfo | None:
        """Return the coverage and the model of a feature; None if there is none."""

    def vectors(self, ids: Sequence[str]) -> NDArray[np.float32]:
        """Return the unit vectors of documents; shape (documents, dimensions)."""

    def quality(self, ids: Sequence[str]) -> NDArray[np.float32]:
        """Return the predicted quality of documents, in [0, 1]; shape (documents,)."""

    def quality_shares(self, ids: Sequence[str]) -> NDArray[np.float64]:
        """Return the share of documents of lower quality, NaN for unknown; shape (documents,)."""

    def topics(self, ids: Sequence[str]) -> list[Topic | None]:
        """Return the topic of each document, None for one that has none."""

    def on_topics(self, query: TopicQuery) -> tuple[list[str], list[str]]:
        """Return ids of documents on a question's topics, best first, and any problems."""


class Readable(Protocol):
    """Documents numbered in the order of indexing."""

    def __len__(self) -> int: ...

    @property
    def path(self) -> str | Path:
        """Where it is: a folder, or an address without secrets."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that turns texts into terms."""

    def documents_at(self, numbers: Sequence[int]) -> Iterator[Evidence]:
        """Return the records with these 0-based numbers, in the order asked."""

    def feature_info(self, name: str) -> FeatureInfo | None:
        """See `Engine`."""


@runtime_checkable
class DocumentIndex(Engine, Readable, Protocol):
    """An engine whose documents are numbered and can be iterated over."""

    @property
    def known_by(self) -> Any:
        """The identity of its documents, as JSON; features do not count."""

    def __contains__(self, doc_id: object) -> bool:
        """Whether there is a document with this id."""

    def document(self, doc_id: str) -> Evidence:
        """Return the record with this id, as it was indexed; KeyError if there is none."""

    def documents(self) -> Iterator[Evidence]:
        """Return every record in the order of indexing."""

    def numbers(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Return the numbers of documents by id; InputError for an unknown one."""

    def nearest(self, vector: NDArray[np.float32], k: int) -> list[Hit]:
        """Return the documents with the largest cosines to a unit vector, best first."""

    def once(self, key: object, make: Callable[[], T]) -> T:
        """Return the cached result of the first `make` call for this key."""

    def compile(self) -> None:
        """Preload whatever makes later searches faster."""


@runtime_checkable
class Explainable(DocumentIndex, Protocol):
    """An engine that can break its scores down into parts, for `pnyx.search.explain`."""

    def term_scores(
        self, text: str, ids: Sequence[str], model: str, **parameters: float
    ) -> list[dict[str, float]]:
        """Return what each term adds to each document's score; their sum in order is the score."""

    def cosines(
        self, text: str, ids: Sequence[str], embedder: Embedder | None
    ) -> NDArray[np.float64]:
        """Return the cosines of documents to a question, 0 for a question without words."""

    def boosts(
        self, text: str, ids: Sequence[str], wc: float, wq: float, embedder: Embedder | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Return 1 + wC C of documents (1 without a topic), and Q (0 if unknown)."""

    def rank_parts(
        self, text: str, scoring: Scoring, k: int, embedder: Embedder | None
    ) -> list[RankedList]:
        """Return the rankings that a hybrid fuses, lexical before dense."""


_RECENT: Final = 32
"""Rankings kept so that explaining a search need not rank again."""


class Remembering:
    """Caches results derived from an index, which is immutable."""

    def __init__(self) -> None:
        self._made: dict[object, Any] = {}
        self._recent: OrderedDict[object, Any] = OrderedDict()
        self._making = threading.RLock()

    def once(self, key: object, make: Callable[[], T]) -> T:
        """See `DocumentIndex`."""
        with self._making:
            if key not in self._made:
                self._made[key] = make()
            value: T = self._made[key]
            return value

    def lately(self, key: object, make: Callable[[], T]) -> T:
        """Return the `make` result for this key from a small cache of recent ones, or call it."""
        with self._making:
            if key in self._recent:
                self._recent.move_to_end(key)
                remembered: T = self._recent[key]
                return remembered
        value = make()
        with self._making:
            self._recent[key] = value
            while len(self._recent) > _RECENT:
                self._recent.popitem(last=False)
        return value


def _read(index: DocumentIndex) -> None:
    for _ in index.documents():
        pass


class EngineType(NamedTuple):
    """An engine opened by an address `NAME:REST`: OpenSearch, or one from a plugin.

    Attributes:
        open: opens the index at an address; PnyxError if there is none.
        state: identifies the index's current state within milliseconds; OSError if it cannot be
            read now.
        verify: reads everything in an index; IndexFolderError for damage.
    """

    open: Callable[[str], DocumentIndex]
    state: Callable[[str], tuple[int | str, ...]]
    verify: Callable[[Any], None] = _read


def open_again(opened: Callable[[str], DocumentIndex], where: str, known_by: Any) -> DocumentIndex:
    """Open a pickled index; IndexFolderError if it is gone or holds other documents.

    Args:
        opened: how its class opens one.
        where: an absolute path, or an address.
        known_by: the identity of its documents when it was pickled.
    """
    if Path(where).is_absolute() and not Path(where).exists():
        advice = "make a permanent one: pnyx.open(documents, to=FOLDER)"
        raise IndexFolderError(f"the index no longer exists; {advice}", path=where)
    index = opened(where)
    if index.known_by != known_by:
        raise IndexFolderError("its documents have changed since it was pickled", path=where)
    return index
