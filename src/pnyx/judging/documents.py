"""The interface of documents that a judge is asked about, whichever room keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

from pnyx.core.records import Argument, Evidence
from pnyx.core.rooms import required

PASSAGES: Final = "passages"
"""The feature that counts passages; see `pnyx.search.engine.Engine`."""


class Featured(Protocol):
    """An object with features, such as an index."""

    def feature_info(self, name: str) -> Any:
        """Return the information about a feature; None if there is none."""


class Documents(Featured, Protocol):
    """Documents by id, which another room stores."""

    @property
    def path(self) -> str | Path:
        """Their location."""

    @property
    def known_by(self) -> Any:
        """Their fingerprint, as JSON; features do not count."""

    def __len__(self) -> int: ...

    def __contains__(self, doc_id: object) -> bool: ...

    def document(self, doc_id: str) -> Evidence:
        """Return the record with this id; KeyError if there is none."""

    def documents(self) -> Iterator[Evidence]:
        """Return all records in order."""

    def fetch(self, ids: Sequence[str]) -> Sequence[Evidence]:
        """Return the records with these ids, in their order."""


def open_documents(where: str | Path) -> Documents:
    """Open an index of documents (door `OPENERS`).

    Raises:
        PnyxError: it is not an index, or cannot be opened.
    """
    documents: Documents = required("OPENERS", "index")(where)
    return documents


def has_passages(index: Featured) -> bool:
    """Whether some documents are passages of longer ones."""
    return index.feature_info(PASSAGES) is not None


def passages_of_document(index: Documents, doc_id: str) -> list[Evidence]:
    """Return the passages of a document that was split, in order; empty for any other id."""
    first = f"{doc_id}#1"
    if not has_passages(index) or first not in index:
        return []
    passage = index.document(first).passage
    if passage is None or passage.document != doc_id:
        return []
    return list(index.fetch([f"{doc_id}#{number}" for number in range(1, passage.count + 1)]))


def find_document(index: Documents, doc_id: str) -> Evidence | None:
    """Return a document or passage by its id, including split documents; None if unknown."""
    if doc_id in index:
        return index.document(doc_id)
    passages = passages_of_document(index, doc_id)
    return _joined(doc_id, passages) if passages else None


def _joined(doc_id: str, passages: Sequence[Evidence]) -> Evidence:
    """Return a document as it was before it was split, with headings and speakers as lines."""
    parts: list[str] = []
    heading = speaker = ""
    for part in passages:
        if (passage := part.passage) is not None:
            parts += [passage.heading] if passage.heading not in ("", heading) else []
            parts += [f"{passage.speaker}:"] if passage.speaker not in ("", speaker) else []
            heading, speaker = passage.heading, passage.speaker
        body = part.body if isinstance(part, Argument) else part.text
        parts.append(body or "")
    text = "\n\n".join(parts)
    first = passages[0]
    if isinstance(first, Argument):
        return replace(first, id=doc_id, body=text, passage=None)
    return replace(first, id=doc_id, text=text, passage=None)
