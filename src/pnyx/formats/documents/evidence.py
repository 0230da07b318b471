"""Documents and arguments as JSON lines: plain, BEIR, Pyserini and Pnyx's own arguments format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pnyx.core.compression import ENDINGS
from pnyx.core.errors import InputError, shorten
from pnyx.core.records import SIDES, STANCES, Argument, Document, Evidence, Premise, Side, Stance
from pnyx.formats.base import (
    EmptyDocumentError,
    Options,
    Row,
    format_of,
    json_lines,
    row_writer,
    scanned,
)
from pnyx.formats.fields import Fields, an_object, merged, string, within

ID_NAMES = ("id", "_id", "docid", "doc_id", "docno")
TEXT_NAMES = ("text", "contents")
MSMARCO_TEXT = ("segment", "passage", "body")
"""Id fields of segments of documents (v2.1), passages (v2), and documents (both)."""
_QUOTED_TITLE = re.compile(r'"([^\n]+)"[ \t\r]*\n')
_DOCUMENT = ("title", "url", "source", "conclusion", "premises")
_ARGUMENT = ("id", "conclusion", "premises", "stance", "text", "topic", "source", "url")


def parse_evidence(row: Mapping[str, Any]) -> Evidence:
    """Read an argument if the row has a conclusion or premises, else a document."""
    if "premises" in row or "conclusion" in row:
        return parse_argument(row)
    fields = Fields(row)
    identifier = fields.identifier(*ID_NAMES)
    return document(fields, identifier, required_text(fields, identifier, *TEXT_NAMES))


def required_text(fields: Fields, identifier: str, *names: str) -> str:
    """Return the text of a document, or its title if the text is empty (TREC-COVID, SCIDOCS).

    EmptyDocumentError if both are missing, InputError if there is no field for a text.
    """
    present = next((name for name in names if name in fields.rest), None)
    if present is None:
        return fields.required(*names)
    text = fields.text(*names)
    if not text.strip():
        text = fields.text("title")
    if not text.strip():
        raise EmptyDocumentError(f"{present} is empty", identifier)
    return text


def document(fields: Fields, identifier: str, text: str, title: str = "") -> Document:
    """Return a document with the remaining fields as `extra`."""
    title, url, source = title or fields.text("title"), fields.text("url"), fields.text("source")
    return Document(identifier, text, title, url, source, fields.rest)


def parse_argument(row: Mapping[str, Any]) -> Argument:
    """Read an argument; premises are texts or objects, unknown fields go to `extra`."""
    fields = Fields(row)
    identifier = fields.identifier(*ID_NAMES)
    premises = fields.listed("premises")
    argument = Argument(
        id=identifier,
        conclusion=fields.text("conclusion"),
        premises=tuple(_parse_premise(p, i) for i, p in enumerate(premises, start=1)),
        stance=cast("Stance | None", fields.choice("stance", STANCES)),
        topic=fields.text("topic"),
        source=fields.text("source"),
        url=fields.text("url"),
        body=fields.text(*TEXT_NAMES),
        extra=fields.rest,
    )
    return check_body(argument)


def check_body(argument: Argument) -> Argument:
    """Drop a body that is only conclusion and premises joined."""
    plain = replace(argument, body=None)
    if not (argument.body or "").strip() or argument.body == plain.text:
        argument = plain
    if not argument.text.strip():
        raise EmptyDocumentError("no text: conclusion and premises are empty", argument.id)
    return argument


def _parse_premise(value: Any, position: int) -> Premise:
    if isinstance(value, str):
        return Premise(value)
    fields = Fields(an_object(value, f"premise {position}", "text or an object"))
    with within(f"premise {position}"):
        text = string(fields.rest.pop("text", None), "text")
        return Premise(text, cast("Side | None", fields.choice("stance", SIDES)), fields.rest)


def premise_row(premise: Premise) -> str | dict[str, Any]:
    """Return a premise as text if that is complete, else as an object."""
    if premise.stance is None and not premise.extra:
        return premise.text
    row: dict[str, Any] = {"text": premise.text}
    if premise.stance is not None:
        row["stance"] = premise.stance
    return dict(merged(row, premise.extra, ("text", "stance")))


def argument_row(argument: Argument) -> dict[str, Any]:
    """Return the object of the `arguments` format; `url` and unknown fields only if present."""
    row: dict[str, Any] = {name: getattr(argument, name) for name in _ARGUMENT}
    row["premises"] = [premise_row(p) for p in argument.premises]
    if not argument.url:
        del row["url"]
    return dict(merged(row, argument.extra, _ARGUMENT))


def _document_row(document: Document) -> dict[str, Any]:
    row = {name: getattr(document, name) for name in ("id", "title", "text", "url", "source")}
    row = {name: value for name, value in row.items() if value or name in ("id", "text")}
    return dict(merged(row, document.extra, _DOCUMENT))


def _evidence_row(record: Evidence) -> dict[str, Any]:
    return argument_row(record) if isinstance(record, Argument) else _document_row(record)


def _pyserini(row: Mapping[str, Any]) -> Document:
    """Read `id, contents`; a missing title may be a first line in double quotes (as in DPR)."""
    fields = Fields(row)
    identifier = fields.identifier("id", "docid")
    text = required_text(fields, identifier, "contents")
    title = fields.text("title")
    quoted = None if title else _QUOTED_TITLE.match(text)
    if quoted is not None and text[quoted.end() :].strip():
        title, text = quoted[1], text[quoted.end() :]
    return document(fields, identifier, text, title)


def _msmarco(row: Mapping[str, Any]) -> Document:
    fields = Fields(row)
    identifier = fields.identifier("pid", "docid")
    return document(fields, identifier, required_text(fields, identifier, *MSMARCO_TEXT))


def _only_argument(row: Mapping[str, Any]) -> Argument:
    if "premises" not in row and "conclusion" not in row:
        raise InputError("no conclusion and no premises, expected an argument")
    return parse_argument(row)


def only_arguments(record: Evidence, holder: str = "the format holds") -> Argument:
    """Return the record; InputError for a plain document."""
    if not isinstance(record, Argument):
        raise InputError(f"{shorten(record.id)!r} is a plain document, and {holder} arguments")
    return record


BEIR_FILES = ("corpus.jsonl", *(f"corpus.jsonl{ending}" for ending in ENDINGS))
"""Names of the file of documents in a BEIR folder; the first that exists is used."""


def beir_file(source: str) -> str:
    """Return the corpus file of a BEIR folder, or the file itself."""
    folder = Path(source)
    if source == "-" or not folder.is_dir():
        return source
    for name in BEIR_FILES:
        if (folder / name).is_file():
            return str(folder / name)
    raise InputError("holds no corpus.jsonl, expected a BEIR folder", path=source)


def flatten_metadata(row: Mapping[str, Any]) -> dict[str, Any]:
    """Move the fields of BEIR's `metadata` to the top level, where all readers look for them."""
    rest = dict(row)
    metadata = rest.pop("metadata", None)
    if metadata is None:
        return rest
    clash = sorted((set(rest) | {"id"}) & set(an_object(metadata, "metadata")))
    if clash:
        raise InputError(f"metadata repeats the field {shorten(clash[0], 40)}")
    return {**rest, **metadata}


def parse_beir(row: Mapping[str, Any]) -> Evidence:
    """Read `_id, title, text, metadata`; an argument where the metadata holds its premises."""
    flat = flatten_metadata(row)
    if "premises" in flat:
        flat["conclusion"] = flat.pop("title", "")
    return parse_evidence(flat)


def _scan_beir(source: str, options: Options) -> Iterator[Row[Evidence]]:
    options.refuse_columns(source, "BEIR")
    return scanned(beir_file(source), parse_beir)


def beir_row(flat: dict[str, Any], record_id: str, *, titled: bool = True) -> dict[str, Any]:
    """Return `_id, title, text, metadata`; fields unknown to BEIR go to the metadata."""
    if "_id" in flat or "metadata" in flat:
        raise InputError(
            f"{shorten(record_id)!r}: BEIR cannot hold an unknown field _id or metadata"
        )
    row = {"_id": flat.pop("id")}
    row |= {"title": flat.pop("conclusion", flat.pop("title", ""))} if titled else {}
    return row | {"text": flat.pop("text"), "metadata": flat}


write_jsonl = row_writer(_evidence_row)

FORMATS = (
    json_lines("jsonl", parse_evidence, write_jsonl, columns=True),
    json_lines(
        "arguments",
        _only_argument,
        row_writer(lambda record: argument_row(only_arguments(record))),
        columns=True,
    ),
    format_of(
        "beir", _scan_beir, row_writer(lambda record: beir_row(_evidence_row(record), record.id))
    ),
    json_lines("pyserini", _pyserini, columns=True),
    json_lines("msmarco", _msmarco, columns=True),
)
