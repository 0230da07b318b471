"""What a search engine does for the stages of a search, all by document id.

`pnyx.search.index.Index` is one, `pnyx.search.opensearch.index.RemoteIndex` another, plugins may
bring more (`EngineType`); `open_index` opens all.
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
    """A feature that an engine has: of how many documents, and the model that made it.

    `passages` counts the documents that are passages of longer ones.
    """

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

    Features are `vectors`, `quality`, `clusters` and `passages`; any may be missing. Methods that
    take ids raise InputError for an unknown one, and where the feature that they read is missing or
    lacks documents.
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

    def on_topics(self, query: TopicQuery) -> tuple[list[str], list[str]]:
        """Return ids of documents on a question's topics, best first, and what went wrong."""


class Readable(Protocol):
    """Documents that have numbers, in the order of indexing."""

    def __len__(self) -> int: ...

    @property
    def path(self) -> str | Path:
        """Where it is: a folder, or an address without secrets."""

    @property
    def tokenizer(self) -> Tokenizer:
        """What makes terms of texts."""

    def documents_at(self, numbers: Sequence[int]) -> Iterator[Evidence]:
        """Return the records with these 0-based numbers, in the order asked."""

    def feature_info(self, name: str) -> FeatureInfo | None:
        """See `Engine`."""


@runtime_checkable
class DocumentIndex(Engine, Readable, Protocol):
    """An engine whose documents have numbers, and can be walked."""

    @property
    def known_by(self) -> Any:
        """What its documents are known again by, as JSON; features do not count."""

    def __contains__(self, doc_id: object) -> bool:
        """Whether there is a document with this id."""

    def document(self, doc_id: str) -> Evidence:
        """Return the record with this id, as it was indexed; KeyError where there is none."""

    def documents(self) -> Iterator[Evidence]:
        """Return every record in the order of indexing."""

    def numbers(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Return the numbers of documents by id; InputError for an unknown one."""

    def nearest(self, vector: NDArray[np.float32], k: int) -> list[Hit]:
        """Return the documents with the largest cosines to a unit vector, best first."""

    def once(self, key: object, make: Callable[[], T]) -> T:
        """Return what `make` gave when it was first called for this key."""

    def compile(self) -> None:
        """Load now what makes later searches quicker, if anything does."""


@runtime_checkable
class Explainable(DocumentIndex, Protocol):
    """An engine that knows what its scores are made of; `pnyx.search.explain` tells it."""

    def term_scores(
        self, text: str, ids: Sequence[str], model: str, **parameters: float
    ) -> list[dict[str, float]]:
        """Return what each term adds to each document's score; their sum in order is the score."""

    def cosines(
        self, text: str, ids: Sequence[str], embedder: Embedder | None
    ) -> NDArray[np.float64]:
        """Return the cosines of documents to a question, 0 to one of no words."""

    def boosts(
        self, text: str, ids: Sequence[str], wc: float, wq: float, embedder: Embedder | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Return 1 + wC C of documents (1 where there is no topic), and Q (0 where unknown)."""

    def rank_parts(
        self, text: str, scoring: Scoring, k: int, embedder: Embedder | None
    ) -> list[RankedList]:
        """Return the rankings that a hybrid fuses in the end, words before vectors."""


_RECENT: Final = 32
"""Rankings that are remembered, so that what was ranked need not be ranked again to explain it."""


class Remembering:
    """Remembers what was made of an index: it is immutable."""

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
        """Return what `make` gave for this key if that is among the latest few; else make it."""
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
    """An engine that is opened by address, `NAME:REST`: OpenSearch, or a plugin's.

    Attributes:
        open: the index at an address; PnyxError where there is none.
        state: what tells one state of it from another, in milliseconds; OSError where it cannot be
            told now.
        verify: reads all that an index has; IndexFolderError for damage.
    """

    open: Callable[[str], DocumentIndex]
    state: Callable[[str], tuple[int | str, ...]]
    verify: Callable[[Any], None] = _read


def open_again(opened: Callable[[str], DocumentIndex], where: str, known_by: Any) -> DocumentIndex:
    """Open a pickled index; IndexFolderError if it is gone or holds other documents.

    Args:
        opened: how its class opens one.
        where: an absolute path, or an address.
        known_by: what it held when it was pickled.
    """
    if Path(where).is_absolute() and not Path(where).exists():
        advice = "make one that stays: pnyx.open(documents, to=FOLDER)"
        raise IndexFolderError(f"the index is not there any more; {advice}", path=where)
    index = opened(where)
    if index.known_by != known_by:
        raise IndexFolderError("holds other documents than when it was pickled", path=where)
    return index
