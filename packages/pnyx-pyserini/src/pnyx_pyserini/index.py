"""A Lucene index open for searching: an `Engine` that ranks by words."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import IndexFolderError, InputError, shorten
from pnyx.core.records import Evidence
from pnyx.formats.text.tokens import Tokenizer
from pnyx.search.engine import (
    EngineType,
    FeatureInfo,
    Hit,
    Remembering,
    Topic,
    TopicQuery,
    open_again,
)
from pnyx.search.plan import AUTO, Scoring, check_least
from pnyx.search.ranking.models import BM25, MODELS, make_model
from pnyx_pyserini.addresses import SCHEME, folder_of
from pnyx_pyserini.java import java, java_errors
from pnyx_pyserini.records import record_of

if TYPE_CHECKING:
    from pnyx.models.embed.embedder import Embedder

T = TypeVar("T")

_ID, _CONTENTS, _RAW = "id", "contents", "raw"
"""The fields of Anserini's indexes."""
_LUCENE: Final = "org.apache.lucene."
_MOST_WORDS: Final = 1_000
"""Maximum number of different words in a question; Lucene allows 1,024 clauses."""
_COMMON: Final = 0.01
"""If more than this share of documents has the term "the", the English analyzer did not make it."""


class LuceneIndex(Remembering):
    """A Lucene index made by Anserini, in its state when it was opened; thread-safe.

    Document numbers are those of Lucene. It has no features (vectors, quality, topics).
    """

    def __init__(self, path: Path, reader: Any, known_by: str) -> None:
        super().__init__()
        self.path, self.known_by = path, known_by
        self.tokenizer = Tokenizer()
        self._reader = reader

    @classmethod
    def open(cls, address: str) -> Self:
        """Open `pyserini:FOLDER_OR_NAME`.

        Raises IndexFolderError if there is no index, if it is damaged, if its release of Lucene
        cannot be read, or if Anserini's English analyzer did not make it.
        """
        path = folder_of(address)
        if not path.is_dir():
            raise IndexFolderError("is not there", path=path)
        with java_errors(path):
            folder = java("java.nio.file.Path").of(str(path.absolute()))
            directory = java(_LUCENE + "store.FSDirectory").open(folder)
            reader = java(_LUCENE + "index.DirectoryReader").open(directory)
            commit = str(reader.getIndexCommit().getSegmentsFileName())
            check_made_by_anserini(path, reader)
        return cls(path, reader, hashlib.sha256((path / commit).read_bytes()).hexdigest())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle its path and commit; another process starts its own Java virtual machine."""
        return open_again, (type(self).open, f"{SCHEME}{self.path.absolute()}", self.known_by)

    @property
    def name(self) -> str:
        """See `Engine`."""
        return f"index {self.path.name}"

    def __len__(self) -> int:
        return int(self._reader.numDocs())

    # Ranking -------------------------------------------------------------------------------------

    def retrieve(
        self,
        text: str,
        scoring: Scoring,
        k: int,
        embedder: Embedder | None = None,  # noqa: ARG002
    ) -> list[Hit]:
        """Return the best `k` documents; ties are in index order, scores are float32."""
        if scoring.model == AUTO:
            raise ValueError("auto is not a model: choose_scoring must choose one first")
        if scoring.model not in MODELS:
            problem = f"a Lucene index is searched by words alone, not by {scoring.model}"
            raise InputError(f"{problem}: expected {' or '.join(MODELS)}", path=self.path)
        check_least("k", k, 1)
        searched = self._searcher(scoring.model, scoring.parameters)
        query = self._query(text)
        if query is None:
            return []
        with java_errors(self.path):
            top = searched.search(query, min(k, max(1, len(self)))).scoreDocs
            scores = [float(row.score) for row in top]
            ids = self._ids([int(row.doc) for row in top])
        return list(map(Hit, ids, count(1), scores))

    def _searcher(self, model: str, parameters: Mapping[str, float]) -> Any:
        scoring = make_model(model, parameters)
        searcher = java(_LUCENE + "search.IndexSearcher")(self._reader)
        similarities = _LUCENE + "search.similarities."
        if isinstance(scoring, BM25):
            similarity = java(similarities + "BM25Similarity")(scoring.k1, scoring.b)
        else:
            similarity = java(similarities + "LMDirichletSimilarity")(scoring.mu)
        searcher.setSimilarity(similarity)
        return searcher

    def _query(self, text: str) -> Any:
        """Return a query for the words of a question; None if it has no words."""
        counts = Counter(self.tokenizer.terms(text))
        if len(counts) > _MOST_WORDS:
            words = f"the question has {len(counts):,} different words"
            raise InputError(f"{words}, expected at most {_MOST_WORDS:,}")
        query = java(_LUCENE + "search.BooleanQuery$Builder")()
        should = java(_LUCENE + "search.BooleanClause$Occur").SHOULD
        for term, often in counts.items():
            word: Any = _term_query(_CONTENTS, term)
            if often > 1:
                word = java(_LUCENE + "search.BoostQuery")(word, float(often))
            query.add(word, should)
        return query.build() if counts else None

    def nearest(self, vector: NDArray[np.float32], k: int) -> list[Hit]:  # noqa: ARG002
        """Raise InputError: there are no vectors."""
        self._raise_missing("vectors")

    def compile(self) -> None:
        """Do nothing: Java compiles what it runs often."""

    # Documents -----------------------------------------------------------------------------------

    def __contains__(self, doc_id: object) -> bool:
        return isinstance(doc_id, str) and self._number(doc_id) is not None

    def document(self, doc_id: str) -> Evidence:
        """Return the record with this id; KeyError where there is none."""
        number = self._number(doc_id)
        if number is None:
            raise KeyError(doc_id)
        return self._record(number)

    def fetch(self, ids: Sequence[str]) -> list[Evidence]:
        """See `Engine`."""
        return list(self.documents_at(self.numbers(ids).tolist()))

    def numbers(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """See `DocumentIndex`."""
        numbers = list(map(self._number, ids))
        for doc_id, number in zip(ids, numbers, strict=True):
            if number is None:
                raise InputError(f"has no document {shorten(doc_id, 60)!r}", path=self.path)
        return np.array(numbers, dtype=np.int64)

    def documents_at(self, numbers: Sequence[int]) -> Iterator[Evidence]:
        """See `DocumentIndex`."""
        return map(self._record, numbers)

    def documents(self) -> Iterator[Evidence]:
        """Return every record in the order of the index."""
        return self.documents_at(range(len(self)))

    def _number(self, doc_id: str) -> int | None:
        with java_errors(self.path):
            searcher = java(_LUCENE + "search.IndexSearcher")(self._reader)
            query = java(_LUCENE + "search.ConstantScoreQuery")(_term_query(_ID, doc_id))
            top = searcher.search(query, 1).scoreDocs
            return int(top[0].doc) if len(top) else None

    def _ids(self, numbers: Sequence[int]) -> list[str]:
        values = java(_LUCENE + "index.MultiDocValues").getBinaryValues(self._reader, _ID)
        if values is None:  # stored with the texts, which is several times slower
            stored, only = self._reader.storedFields(), java("java.util.Set").of(_ID)
            return [str(stored.document(number, only).get(_ID)) for number in numbers]
        ids = {}
        for number in sorted(numbers):  # values can be read forwards only
            values.advanceExact(number)
            ids[number] = str(values.binaryValue().utf8ToString())
        return [ids[number] for number in numbers]

    def _record(self, number: int) -> Evidence:
        with java_errors(self.path):
            fields = self._reader.storedFields().document(number)
            doc_id, raw, contents = map(fields.get, (_ID, _RAW, _CONTENTS))
        texts = (None if text is None else str(text) for text in (raw, contents))
        try:
            return record_of(str(doc_id), *texts)
        except InputError as error:
            problem = f"document {shorten(str(doc_id), 60)!r}: {error.problem}"
            raise IndexFolderError(problem, path=self.path) from error

    # Features ------------------------------------------------------------------------------------

    def feature_info(self, name: str) -> FeatureInfo | None:  # noqa: ARG002
        """Return None: there are no features."""
        return None

    def _raise_missing(self, what: str) -> NoReturn:
        raise InputError(f"a Lucene index has no {what}", path=self.path)

    def vectors(self, ids: Sequence[str]) -> NDArray[np.float32]:  # noqa: ARG002
        """Raise InputError: there are none."""
        self._raise_missing("vectors")

    def quality(self, ids: Sequence[str]) -> NDArray[np.float32]:  # noqa: ARG002
        """Raise InputError: there is none."""
        self._raise_missing("quality")

    def quality_shares(self, ids: Sequence[str]) -> NDArray[np.float64]:  # noqa: ARG002
        """Raise InputError: there are none."""
        self._raise_missing("quality")

    def topics(self, ids: Sequence[str]) -> list[Topic | None]:  # noqa: ARG002
        """Raise InputError: there are none."""
        self._raise_missing("topics")

    def on_topics(self, query: TopicQuery) -> tuple[list[str], list[str]]:  # noqa: ARG002
        """Return nothing: there are no topics."""
        return [], []


def _term_query(field: str, term: str) -> Any:
    return java(_LUCENE + "search.TermQuery")(java(_LUCENE + "index.Term")(field, term))


def check_made_by_anserini(path: Path, reader: Any) -> None:
    """Raise IndexFolderError unless all documents have ids and terms of the English analyzer."""
    documents = int(reader.numDocs())
    if reader.hasDeletions():
        problem = "holds deleted documents, expected an index merged by Anserini's -optimize"
        raise IndexFolderError(problem, path=path)
    for field in (_ID, _CONTENTS) if documents else ():
        if not int(reader.getDocCount(field)):
            problem = f"has no terms in the field {field}, expected an index of words by Anserini"
            raise IndexFolderError(problem, path=path)
    common = int(reader.docFreq(java(_LUCENE + "index.Term")(_CONTENTS, "the")))
    if common > _COMMON * documents:
        problem = f'{common:,} of {documents:,} documents have the term "the"'
        expected = "expected an index by the English analyzer, without stop words"
        raise IndexFolderError(f"{problem}, {expected}", path=path)


def state_of(address: str) -> tuple[int | str, ...]:
    """Return the latest commit of an index; see `EngineType`."""
    try:
        path = folder_of(address)
    except (IndexFolderError, InputError) as error:
        raise OSError(str(error)) from error
    commits = [(stat.st_mtime_ns, stat.st_size, p.name) for p, stat in _commits(path)]
    return max(commits, default=())


def _commits(path: Path) -> Iterator[tuple[Path, Any]]:
    for commit in path.glob("segments_*"):
        yield commit, commit.stat()


LUCENE: Final = EngineType(LuceneIndex.open, state_of)
