"""Debate pages as JSON, in the layout of ConQRet (Dhole et al., NAACL 2025, appendix A).

A page has a title, an introduction, pro and con arguments with paragraphs, and its sources. The
same file is read as its arguments, its cited documents, or its questions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import (
    SIDES,
    Argument,
    Debate,
    DebatePoint,
    Document,
    Premise,
    Question,
    Source,
)
from pnyx.formats.base import (
    Format,
    Options,
    Row,
    format_of,
    json_documents,
    row_writer,
    scanned,
    unique,
    with_options,
)
from pnyx.formats.fields import Fields, a_list, an_object, merged, string, within
from pnyx.formats.text.pages import slug_of

_NUMBERED = re.compile(r"\s{0,9}(\d{1,4})\.\s{1,9}(?=\S)")
_POINT = ("title", "paragraphs", "citations")
_SOURCE = ("id", "title", "url", "docid")
_DEBATE = ("id", "title", "question", "introduction", "pros", "cons", "sources", "url")


def bare_title(source: Source) -> str:
    """Return a source's title without the number that ConQRet's older pages have before it."""
    title = " ".join(source.title.split())
    return _NUMBERED.sub("", title, count=1) if not source.id else title


_Each: TypeAlias = Callable[[Debate, list[str]], Iterator[Any]]
"""Yields the records of a page and records the sources that it leaves out."""


# Reading and writing pages ------------------------------------------------------------------------


def _parse(row: dict[str, Any]) -> Debate:
    fields = Fields(row)
    url = fields.text("url").strip()
    title = fields.text("title").strip() or _first_title(fields.rest.get("titles"))
    if not title:
        raise InputError("no title")
    return Debate(
        id=fields.identifier("id") if row.get("id") is not None else _name(url, title),
        title=title,
        question=fields.text("question").strip(),
        introduction=fields.strings("introduction"),
        pros=_points(fields, "pros"),
        cons=_points(fields, "cons"),
        sources=tuple(
            _source(source, f"sources[{i}]") for i, source in enumerate(fields.listed("sources"))
        ),
        url=url,
        extra=fields.rest,
    )


def _first_title(titles: Any) -> str:
    if titles is None:
        return ""
    texts = (
        string(title, f"titles[{i}]").strip() for i, title in enumerate(a_list(titles, "titles"))
    )
    return next((text for text in texts if text), "")


def _name(url: str, title: str) -> str:
    """Name a page that has no id by its address, else by its title."""
    try:
        name = slug_of(url) if url else ""
    except ValueError as error:
        problem = f"url: found {shorten(url, 60)!r}, expected an address ({error})"
        raise InputError(problem) from error
    return name or re.sub(r"[^\w.-]+", "-", title).strip("-") or title


def _points(fields: Fields, name: str) -> tuple[DebatePoint, ...]:
    return tuple(_point(point, f"{name}[{i}]") for i, point in enumerate(fields.listed(name)))


def _point(value: Any, where: str) -> DebatePoint:
    with within(where):
        fields = Fields(an_object(value))
        title, paragraphs = fields.text("title").strip(), fields.strings("paragraphs")
        if not title and not any(text.strip() for text in paragraphs):
            raise InputError("no title and no paragraphs")
        cited = fields.listed("citations")
        if cited and len(cited) != len(paragraphs):
            problem = f"citations: found {len(cited)} lists, expected one for each of "
            raise InputError(problem + f"{len(paragraphs)} paragraphs")
        return DebatePoint(
            title=title,
            paragraphs=paragraphs,
            citations=tuple(_ids(ids, f"citations[{i}]") for i, ids in enumerate(cited)),
            extra=fields.rest,
        )


def _ids(value: Any, name: str) -> tuple[str, ...]:
    return tuple(
        Fields({f"{name}[{i}]": identifier}).identifier(f"{name}[{i}]")
        for i, identifier in enumerate(a_list(value, name))
    )


def _source(value: Any, where: str) -> Source:
    with within(where):
        fields = Fields(an_object(value))
        for name in ("id", "docid"):
            number = fields.rest.get(name)
            if isinstance(number, int) and not isinstance(number, bool):
                fields.rest[name] = str(number)
        return Source(
            id=fields.text("id").strip(),
            title=fields.text("title"),
            url=fields.text("url").strip(),
            doc_id=fields.text("docid").strip(),
            extra=fields.rest,
        )


def _row(debate: Debate) -> dict[str, Any]:
    row = {
        "id": debate.id,
        "title": debate.title,
        "question": debate.question,
        "introduction": list(debate.introduction),
        "pros": [_point_row(pro) for pro in debate.pros],
        "cons": [_point_row(con) for con in debate.cons],
        "sources": [_source_row(source) for source in debate.sources],
        "url": debate.url,
    }
    return dict(merged(row, debate.extra, _DEBATE))


def _point_row(point: DebatePoint) -> dict[str, Any]:
    row: dict[str, Any] = {"title": point.title, "paragraphs": list(point.paragraphs)}
    if point.citations:
        row["citations"] = [list(cited) for cited in point.citations]
    return dict(merged(row, point.extra, _POINT))


def _source_row(source: Source) -> dict[str, Any]:
    # An id is written as an integer if reading gives the same text again.
    whole = re.fullmatch("0|[1-9][0-9]{0,17}", source.doc_id) is not None
    row = {
        "id": source.id,
        "title": source.title,
        "url": source.url or None,
        "docid": int(source.doc_id) if whole else source.doc_id or None,
    }
    return dict(merged(row, source.extra, _SOURCE))


write_debates = row_writer(_row)


def _scan(source: str) -> Iterator[Row[Debate]]:
    return scanned(source, _parse, rows=json_documents(source, "page"))


def read_debates(path: str) -> Iterator[Debate]:
    """Yield the debate pages of a file; InputError at the first fault or if there are none."""
    return FORMATS[0].reader(path)


# The same file as arguments, documents and questions ----------------------------------------------


def debate_arguments(debate: Debate) -> Iterator[Argument]:
    """Yield the arguments of both sides; `documents` in `extra` are the ids of what they cite."""
    doc_ids = {source.id: source.doc_id for source in debate.sources if source.id and source.doc_id}
    for side in SIDES:
        for number, point in enumerate(debate.side(side), start=1):
            cited = list(
                dict.fromkeys(
                    doc_ids[source_id] for source_id in point.cited if source_id in doc_ids
                )
            )
            yield Argument(
                id=f"{debate.id}-{side}-{number}",
                conclusion=point.title,
                premises=tuple(Premise(text) for text in point.paragraphs if text.strip()),
                stance=side,
                topic=debate.topic,
                url=debate.url,
                extra={"debate": debate.id, **({"documents": cited} if cited else {})},
            )


def _documents(debate: Debate, left_out: list[str]) -> Iterator[Document]:
    """Yield the sources a page cites, by title; those with neither title nor id are left out."""
    for number, source in enumerate(debate.sources, start=1):
        title = bare_title(source)
        if not title:
            left_out.append(source.doc_id or f"{debate.id}-{source.id or number}")
            continue
        identifier = source.doc_id or f"{debate.id}-{source.id or number}"
        yield Document(identifier, title, url=source.url, extra={"debate": debate.id})


def _view(name: str, each: _Each) -> Format:
    """Return a format that reads other records from a file of debates."""

    def scan(source: str, options: Options) -> Iterator[Row[Any]]:
        options.refuse_columns(source)
        left_out: list[str] = []

        def rows() -> Iterator[Row[Any]]:
            for row in _scan(source):
                if isinstance(row, InputError):
                    yield row
                else:
                    yield from ((row[0], record) for record in each(row[1], left_out))

        yield from unique(rows(), lambda record: record.id, source)
        options.warn_of(left_out, "source has no title", "sources have no title")

    return format_of(name, scan, view_of="debates")


FORMATS = (
    format_of("debates", with_options(_scan), write_debates),
    _view("debate-arguments", lambda debate, _: debate_arguments(debate)),
    _view("debate-sources", _documents),
    _view("debate-questions", lambda debate, _: iter((Question(debate.id, debate.topic),))),
)
