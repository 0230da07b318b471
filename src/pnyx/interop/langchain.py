"""A retriever for LangChain (`langchain-core`)."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from pnyx.collection.documents import open as open_collection


class PnyxRetriever(BaseRetriever):  # type: ignore[misc]
    """Returns the hits of a Pnyx collection.

    A document's metadata has the fields of a hit: `rank`, `score`, `title`, `stance`, `quality` ...

    Args:
        documents: a `pnyx.Collection`, or what `pnyx.open` takes.
        k: documents returned.
        options: of `Collection.search`, such as `{"model": "bm25"}`.
    """

    documents: Any
    k: int = 10
    options: dict[str, Any] = Field(default_factory=dict)

    def model_post_init(self, context: Any, /) -> None:
        """Open the documents."""
        super().model_post_init(context)
        self.documents = open_collection(self.documents)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
    ) -> list[Document]:
        results = self.documents.search(query, self.k, **self.options)
        return [
            Document(page_content=row.pop("text"), id=row["id"], metadata=row)
            for row in results.rows()
        ]
