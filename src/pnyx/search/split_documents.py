"""Documents that an index stores as passages, ranked by their best passage."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pnyx.core.errors import count_of
from pnyx.core.records import Evidence, document_id
from pnyx.judging.documents import has_passages
from pnyx.search.engine import Engine, Hit


def size_of(engine: Engine) -> str:
    """Return the size of an engine in words: "279 passages", or "40 documents"."""
    return count_of(len(engine), "passage" if has_passages(engine) else "document")


def place_of(evidence: Evidence) -> str:
    """Return where in its document a passage is, in words; may be empty."""
    return "" if evidence.passage is None else evidence.passage.described


def shown_title(evidence: Evidence) -> str:
    """Return the title to display: the title, or the id of the document."""
    return evidence.title if evidence.title.strip() else document_id(evidence)


def passage_fields(evidence: Evidence) -> dict[str, str | int]:
    """Return where a passage is from as further fields; none for a whole document."""
    return {} if evidence.passage is None else evidence.passage.fields()


class DocumentRanking:
    """Ranks the documents of an engine, of which some are split, by their best passage."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._documents: dict[str, str] = {}

    def retrieve(self, retrieve: Callable[[int], list[Hit]], documents: int) -> list[Hit]:
        """Return enough hits to cover the `documents` wanted, or all hits there are."""
        wanted = 2 * documents
        while True:
            hits = retrieve(wanted)
            if len(hits) < wanted or len(set(self.ids(hits).values())) >= documents:
                return hits
            wanted *= 2

    def ids(self, hits: Sequence[Hit]) -> dict[str, str]:
        """Return the id of each hit's document, by the hit's own id."""
        unknown = [hit.doc_id for hit in hits if hit.doc_id not in self._documents]
        for record in self._engine.fetch(unknown) if unknown else ():
            self._documents[record.id] = document_id(record)
        return {hit.doc_id: self._documents[hit.doc_id] for hit in hits}

    def best(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the best passage of each document, ordered by score, ties by document id."""
        ids = self.ids(hits)
        first: dict[str, Hit] = {}
        for hit in hits:
            first.setdefault(ids[hit.doc_id], hit)
        ranked = sorted(first.values(), key=lambda hit: (-hit.score, ids[hit.doc_id]))
        return [hit._replace(rank=rank) for rank, hit in enumerate(ranked, start=1)]
