"""Turn a document stored in a Lucene index into a record of Pnyx."""

from __future__ import annotations

from typing import Any

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import parse_json_object
from pnyx.core.records import Document, Evidence
from pnyx.formats.documents.evidence import (
    ID_NAMES,
    MSMARCO_TEXT,
    document,
    flatten_metadata,
    parse_evidence,
)
from pnyx.formats.fields import Fields, string

_TEXTS = ("text", *MSMARCO_TEXT)


def record_of(doc_id: str, raw: str | None, contents: str | None) -> Evidence:
    """Return the record of the stored line or page, or else of the indexed text.

    A line of JSON is read as a document or argument, as by the readers of Pnyx; anything else is
    text. Raises InputError if neither is stored, or if the line has no text field.
    """
    if raw is not None and raw.lstrip().startswith("{"):
        row = _row_of(raw)
        if row is not None:
            return _record(doc_id, row, contents)
    text = contents if contents is not None else raw
    if text is None:
        raise InputError("is not stored: expected an index made with -storeRaw")
    return Document(doc_id, text)


def _row_of(raw: str) -> dict[str, Any] | None:
    try:
        return parse_json_object(raw, path="", number=1)
    except InputError:
        return None  # a text in braces that is not JSON


def _record(doc_id: str, row: dict[str, Any], contents: str | None) -> Evidence:
    if "_id" in row:  # as in BEIR
        row = flatten_metadata(row)
    for name in ID_NAMES:
        row.pop(name, None)
    searched = row.pop("contents", contents)
    if "premises" in row or "conclusion" in row:
        return parse_evidence({"id": doc_id, **row})
    fields = Fields(row)
    text = fields.text(*_TEXTS) or searched
    if text is None:
        if any(name in row for name in _TEXTS):
            return document(fields, doc_id, "")
        names = ", ".join(shorten(name, 30) for name in list(row)[:8])
        raise InputError(f"has no text (fields found: {names})")
    return document(fields, doc_id, string(text, "contents"))
