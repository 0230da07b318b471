"""Corpora by their `ir_datasets` id: `ir_datasets:argsme/1.0` (MacAvaney et al., SIGIR 2021)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pnyx.core.errors import InputError, MissingExtra, shorten
from pnyx.core.files import clean_value
from pnyx.core.network import check_network
from pnyx.core.records import SIDES, Argument, Document, Evidence, Premise, Stance
from pnyx.formats.base import EmptyDocumentError, Options, Row, format_of, scanned

PREFIX = "ir_datasets:"
_TITLES = ("title", "headline")


def _scan(source: str, options: Options) -> Iterator[Row[Evidence]]:
    """Yield the documents of a dataset, numbered from 1; those of args.me as arguments."""
    options.refuse_columns(source, "a dataset")
    check_network(source)
    try:
        import ir_datasets
    except ImportError as error:
        raise MissingExtra("reading ir_datasets", "datasets") from error
    name = source.removeprefix(PREFIX)
    try:
        dataset = ir_datasets.load(name)
    except KeyError as error:
        raise InputError("no such dataset; see https://ir-datasets.com", path=source) from error
    if not dataset.has_docs():
        raise InputError("the dataset has no documents", path=source)
    yield from scanned(source, _evidence, rows=_documents(dataset, source), unit="document")


def _documents(dataset: Any, source: str) -> Iterator[Row[Any]]:
    try:
        yield from enumerate(dataset.docs_iter(), start=1)
    except Exception as error:  # downloads may raise anything
        raise InputError(f"cannot be fetched: {shorten(str(error))}", path=source) from error


def _evidence(doc: Any) -> Evidence:
    if hasattr(doc, "conclusion") and hasattr(doc, "premises"):
        return _argument(doc)
    values = clean_value(dict(doc._asdict()))
    identifier = values.pop("doc_id")
    title = next((values.pop(n) for n in _TITLES if isinstance(values.get(n), str)), "")
    text = values.pop("text", None)
    if not isinstance(text, str):
        text = doc.default_text()
    url = values.pop("url", None)
    if not text.strip():
        text = title
    if not text.strip():
        raise EmptyDocumentError(f"{shorten(identifier)!r} has no text", identifier)
    extra = {k: v for k, v in values.items() if isinstance(v, str | int | float) and v != ""}
    return Document(identifier, text, title, url if isinstance(url, str) else "", "", extra)


def _argument(doc: Any) -> Argument:
    """Map args.me: the stance of a premise is its stance towards the conclusion."""
    sides = {side.upper(): side for side in SIDES}
    premises = tuple(Premise(p.text, sides.get(p.stance.name.upper())) for p in doc.premises)
    stances = {p.stance for p in premises}
    stance: Stance | None = stances.pop() if len(stances) == 1 else None
    domain = getattr(doc.source_domain, "name", "")
    source = {"debateorg": "debate.org", "canadian_parliament": "canadian-parliament"}
    if not (doc.conclusion.strip() or any(p.text.strip() for p in premises)):
        raise EmptyDocumentError(f"{shorten(doc.doc_id)!r} has no text", doc.doc_id)
    return Argument(
        id=doc.doc_id,
        conclusion=doc.conclusion,
        premises=premises,
        stance=stance,
        source=source.get(domain, domain),
        url=doc.source_url or "",
    )


FORMATS = (format_of("ir_datasets", _scan),)
