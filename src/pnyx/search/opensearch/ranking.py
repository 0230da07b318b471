"""Ranking documents of an OpenSearch index for questions: ranked lists of document numbers.

Documents are numbered in the order of loading, as in an index folder, so that the same code fuses
rankings and breaks ties.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import InputError
from pnyx.formats.text.tokens import Tokenizer
from pnyx.search.opensearch import schema
from pnyx.search.opensearch.answers import SearchHit, read_count, read_ranking
from pnyx.search.opensearch.client import Cluster
from pnyx.search.plan import check_least
from pnyx.search.ranking.fusion import RankedList
from pnyx.search.ranking.models import BM25, CollectionStatistics, Model, Term, make_model

_AT_ONCE: Final = 10_000
"""Documents in one answer, the usual limit of a cluster."""
_MOST_WORDS: Final = 1_000
"""Different words of one question, below the usual limit of a cluster (1,024 clauses)."""
_EXPLAINED: Final = 500
"""Number of documents whose terms are scored at once."""
_KEPT_TERMS: Final = 100_000
_ROUNDED: Final = 1.01
"""Largest norm of a document's vector: a unit vector rounded to 16-bit floats."""
_BY_ALL: Final[dict[str, Any]] = {"search_type": "dfs_query_then_fetch"}
"""Search type that scores with the statistics of all shards."""

Query = dict[str, Any]

EVERY: Final[Query] = {"match_all": {}}


class RemoteRanking:
    """Ranks the documents of one index; thread-safe.

    `ids` of a ranking are collected in a dict, number -> `_id`, that the caller hands over.
    """

    def __init__(self, cluster: Cluster, index: str, meta: Mapping[str, Any]) -> None:
        self._cluster, self._index = cluster, index
        counts = meta["statistics"]
        self.tokenizer = Tokenizer.from_manifest(meta["tokenizer"])
        self._collection = CollectionStatistics(counts["documents_with_terms"], counts["tokens"])
        self._documents: int = counts["documents"]
        self._terms: dict[str, Term] = {}
        self._lock = threading.Lock()

    def words(self, text: str, model: str, parameters: Mapping[str, float]) -> Query | None:
        """Return the query for a question's words; None if it has none."""
        scoring = make_model(model, parameters)
        counts = Counter(map(schema.term_of, self.tokenizer.terms(text)))
        if len(counts) > _MOST_WORDS:
            problem = f"the question has {len(counts):,} different words"
            raise InputError(f"{problem}, expected at most {_MOST_WORDS:,}")
        if not counts:
            return None
        return self._query(counts, model, scoring)

    def _query(self, counts: Mapping[str, int], model: str, scoring: Model) -> Query:
        usual = scoring == make_model(model, {})
        field = schema.WORDS[model if usual else "dirichlet"]
        clauses = [{"term": {field: {"value": t, "boost": n}}} for t, n in counts.items()]
        query: Query = {"bool": {"should": clauses, "minimum_should_match": 1}}
        return query if usual else self._scripted(query, scoring, counts)

    def _scripted(self, query: Query, scoring: Model, counts: Mapping[str, int]) -> Query:
        """Score with parameters other than those of the index: a script counts the terms."""
        terms = self._known([*counts])
        some = [term for term in counts if terms[term].document_frequency]
        shared = {"field": schema.WORDS["dirichlet"], "terms": some}
        if isinstance(scoring, BM25):
            weights = [counts[t] * scoring.weight(terms[t], self._collection) for t in some]
            average = self._collection.tokens / max(1, self._collection.documents)
            more = {"weights": weights, "k1": scoring.k1, "b": scoring.b, "average": average}
            return scored(query, schema.BM25, shared | more)
        tokens = self._collection.tokens + 1.0
        scales = [tokens / (terms[t].collection_frequency + 1.0) / scoring.mu for t in some]
        more = {"scales": scales, "counts": [counts[t] for t in some], "mu": scoring.mu}
        return scored(query, schema.DIRICHLET, shared | more)

    def _known(self, terms: Sequence[str]) -> dict[str, Term]:
        """Return the document and collection frequencies of terms; each is looked up once."""
        with self._lock:
            cached = {term: self._terms[term] for term in terms if term in self._terms}
        new = [term for term in terms if term not in cached]
        if new:
            cached |= zip(new, self._counted(new), strict=True)
        with self._lock:
            if len(self._terms) > _KEPT_TERMS:
                self._terms = {}
            self._terms |= cached
        return cached

    def _counted(self, terms: Sequence[str]) -> list[Term]:
        field, rows = schema.WORDS["dirichlet"], list[Query]()
        for position, term in enumerate(terms):
            params = {"field": field, "term": term}
            query = scored({"term": {field: term}}, schema.FREQUENCY, params)
            # The name of the sum identifies the request that an answer belongs to.
            sums = {str(position): {"sum": {"script": {"source": "_score"}}}}
            rows += [{}, {"size": 0, "track_total_hits": True, "query": query, "aggs": sums}]
        answer = self._cluster.lines(f"/{self._index}/_msearch", rows)
        counts: list[Term] = []
        for position, part in enumerate(answer.field("responses").elements(len(terms))):
            documents = read_count(part)
            most = float(self._collection.tokens)
            total = part.field("aggregations", str(position), "value")
            counts.append(Term(documents, round(total.number(documents, most))))
        return counts

    def term_scores(
        self, text: str, keys: Sequence[str], model: str, parameters: Mapping[str, float]
    ) -> dict[str, dict[str, float]]:
        """Return what each term adds to the scores of the documents in the index, by key."""
        scoring, counts = make_model(model, parameters), Counter(self.tokenizer.terms(text))
        each = [self._query({schema.term_of(t): n}, model, scoring) for t, n in counts.items()]
        for name, (query,) in zip(counts, map(dict.values, each), strict=True):
            query["_name"] = name
        by_document: dict[str, dict[str, float]] = {}
        for start in range(0, len(keys), _EXPLAINED):
            some = list(keys[start : start + _EXPLAINED])
            term_query: Query = {"bool": {"filter": {"ids": {"values": some}}, "should": each}}
            body = {"query": term_query, "size": len(some), "_source": False}
            more = {"include_named_queries_score": "true", **_BY_ALL}
            for hit in self._cluster.hits(self._index, body, **more):
                scores = hit.named_scores()
                by_document[hit.id] = {term: scores[term] for term in counts if term in scores}
        return by_document

    def top(
        self,
        query: Query,
        k: int,
        ids: dict[int, str],
        *,
        by: Query | None = None,
        matching: int | None = None,
        highest: float = math.inf,
    ) -> RankedList:
        """Return the best `k` numbers and their scores; `by` is a script in place of the score.

        `matching` is the number of documents that match the query, if known, `highest` the
        largest absolute score.
        """
        check_least("k", k, 1)
        first: Any = {"_score": "desc"} if by is None else {"_script": by}
        body: Query = {"query": query, "sort": [first, {"number": "asc"}], "_source": False}
        hits: list[SearchHit] = []
        while len(hits) < k:
            body["size"] = min(_AT_ONCE, k - len(hits))
            page = self._cluster.hits(self._index, body, len(hits), matching, **_BY_ALL)
            hits += page
            if len(page) < body["size"]:
                break
            body["search_after"] = [value.value for value in hits[-1].sort_values(2)]
        rows = list(read_ranking(hits, self._documents, highest))
        numbers_by_key = {key: number for number, key in ids.items()}
        for hit, (_, number) in zip(hits, rows, strict=True):
            if (ids.setdefault(number, hit.id), numbers_by_key.setdefault(hit.id, number)) != (
                hit.id,
                number,
            ):
                raise hit.answer.wrong("the number that the document had before", "another")
        numbers = np.array([number for _, number in rows], dtype=np.int64)
        return numbers, np.array([score for score, _ in rows])

    def nearest(self, unit: NDArray[np.float32], k: int, ids: dict[int, str]) -> RankedList:
        """Return the documents with the largest dot product with a vector, by number."""
        script = {"source": schema.COSINE, "params": {"q": unit.astype(np.float64).tolist()}}
        by = {"type": "number", "order": "desc", "script": script}
        query = {"exists": {"field": "vector"}}
        highest = _ROUNDED * float(np.linalg.norm(unit))
        return self.top(query, k, ids, by=by, matching=self._documents, highest=highest)


def scored(query: Query, script: str, params: Mapping[str, Any]) -> Query:
    """Return a query whose scores are those of a script."""
    script_body = {"source": script, "params": dict(params)}
    return {"script_score": {"query": query, "script": script_body}}
