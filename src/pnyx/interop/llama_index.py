"""A retriever for LlamaIndex (`llama-index-core`)."""

from __future__ import annotations

from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from pnyx.collection.documents import open as open_collection


class PnyxRetriever(BaseRetriever):  # type: ignore[misc]
    """Returns the hits of a Pnyx collection.

    A node's metadata has the fields of a hit: `rank`, `title`, `stance`, `quality` ...

    Args:
        documents: a `pnyx.Collection`, or what `pnyx.open` takes.
        k: documents returned.
        options: of `Collection.search`, such as `model="bm25"`.
    """

    def __init__(self, documents: object, k: int = 10, **options: Any) -> None:
        super().__init__()
        self._collection = open_collection(documents)
        self._k, self._options = k, options

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        results = self._collection.search(query_bundle.query_str, self._k, **self._options)
        return [
            NodeWithScore(
                node=TextNode(text=row.pop("text"), id_=row["id"], metadata=row),
                score=row.pop("score"),
            )
            for row in results.rows()
        ]
