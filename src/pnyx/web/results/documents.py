"""Pages made of one JSON document: calibrations, agreement, thresholds, and what rooms add."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from pnyx.core.errors import InputError, escaped
from pnyx.core.files import read_json
from pnyx.core.rooms import load, offered
from pnyx.judging.judge_names import short_name
from pnyx.web.results.calibration import document_sections
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.figure import FigureSection, figure_page, link_group
from pnyx.web.results.pages import Address, Content, FigureEntry, PageRoute, Parts
from pnyx.web.results.records import NotFoundError, SourceRow

JsonDocument: TypeAlias = Mapping[str, Any]
SourceDocuments: TypeAlias = Sequence[tuple[SourceRow, JsonDocument]]
T = TypeVar("T")

_MALFORMED: Final = (InputError, KeyError, TypeError, ValueError, AttributeError, IndexError)


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """The pages of JSON documents of one kind: one for each source, and one that lists them.

    Attributes:
        name: the first part of their addresses.
        fits: whether a document is of this kind.
        sections: the figures of a document; raises one of `_MALFORMED` if Pnyx did not write it.
        show: makes the page of a source's document.
        entry: what the page "Figures" says; its heading is the title of the list.
        lead: the first sentence of the list.
        sources: what the list calls the sources.
        link: what the page of a source calls the page.
        summary: the figures of all documents, for the list.
    """

    name: str
    fits: Callable[[JsonDocument], bool]
    sections: Callable[[JsonDocument], Sequence[FigureSection]]
    show: Callable[[Catalogue, SourceRow, JsonDocument], Content]
    entry: FigureEntry
    lead: str
    sources: str
    link: str
    summary: Callable[[SourceDocuments], Sequence[FigureSection]] = lambda _: ()

    @property
    def route(self) -> PageRoute:
        """Its line of the route table."""
        return PageRoute(
            self.name, self._show, self._addresses, most=1, of_source=self._of_source,
            entry=self.entry,
        )  # fmt: skip

    def _all(self, catalogue: Catalogue) -> SourceDocuments:
        return [
            (source, document)
            for source in catalogue.sources()
            if not source.problem
            for document in self._documents(source)
        ]

    def _documents(self, source: SourceRow) -> Iterator[JsonDocument]:
        return (document for document in _documents(source) if _page_of(document) is self)

    def _show(self, catalogue: Catalogue, address: Address) -> Content:
        """Show a source's document, or the list of documents of this kind."""
        if not address.parts:
            return self._show_list(catalogue)
        source = catalogue.source(address.part(0))
        for document in self._documents(source):
            return self.show(catalogue, source, document)
        raise NotFoundError("this source has no document of this kind")

    def _show_list(self, catalogue: Catalogue) -> Content:
        documents = self._all(catalogue)
        choices = link_group(self.sources, [(s.name, (self.name, s.name)) for s, _ in documents])
        return figure_page(
            self.entry.heading, (self.name,), self.summary(documents), lead=self.lead,
            choices=choices, more="One at a time",
        )  # fmt: skip

    def _addresses(self, catalogue: Catalogue) -> Iterator[tuple[Parts, int]]:
        documents = self._all(catalogue)
        if documents:
            yield (), 1
        for source, _ in documents:
            yield (source.name,), 1

    def _of_source(self, _: Catalogue, source: SourceRow) -> Iterator[tuple[str, Parts]]:
        if any(self._documents(source)):
            yield self.link, (self.name, source.name)


@cache
def document_pages() -> tuple[DocumentPage, ...]:
    """Return the pages of calibrations, then those of the rooms."""
    return (CALIBRATION, *map(load, offered("DOCUMENTS")))


def _page_of(document: JsonDocument) -> DocumentPage | None:
    """Return the page of a document; a room's own pages take precedence over calibrations."""
    return next((page for page in reversed(document_pages()) if page.fits(document)), None)


def _documents(source: SourceRow) -> Iterator[JsonDocument]:
    """Yield the JSON documents that a source's files are."""
    for part in ("document", "measures", "summary"):
        path = source.files.get(part)
        document = read_json(Path(path)) if path else None
        if document is not None:
            yield document


def check_document(document: JsonDocument) -> None:
    """Return the page of a document; raises one of `_MALFORMED` if Pnyx did not write it."""
    page = _page_of(document)
    for section in page.sections(document) if page else ():
        for figure in section.figures:
            figure.numbers()


def build_checked(source: SourceRow, make: Callable[..., T], *arguments: Any) -> T:
    """Return the result for a document; InputError if Pnyx did not write it."""
    try:
        return make(*arguments)
    except _MALFORMED as error:
        problem = (
            f"{source.name} was not written by pnyx, or was changed: {escaped(str(error), 80)}"
        )
        raise InputError(problem) from error


# Calibrations -------------------------------------------------------------------------------------


def _is_calibration(document: JsonDocument) -> bool:
    if "runs" in document:
        return False
    has_figures = not document.keys().isdisjoint({"reliability", "thresholds"})
    measured = isinstance(document.get("measures"), dict) or "thresholds" in document
    return document.get("format") == "pnyx-calibration" or (has_figures and measured)


def _show_calibration(_: Catalogue, source: SourceRow, document: JsonDocument) -> Content:
    about = [short_name(str(document[name])) for name in ("judge", "task") if document.get(name)]
    return figure_page(
        f"Calibration: {source.name}",
        ("calibration", source.name),
        build_checked(source, document_sections, document),
        crumbs=[("Calibration", ("calibration",))],
        lead=f"{about[0]}, task {about[1]}." if len(about) == 2 else "",
    )


CALIBRATION: Final = DocumentPage(
    "calibration",
    _is_calibration,
    document_sections,
    _show_calibration,
    FigureEntry(
        "Calibration",
        "Do probabilities mean what they say?",
        "pnyx measure, pnyx judge calibrate, with --json",
    ),
    "Do probabilities mean what they say, and do judge and people agree?",
    "Sources",
    "Calibration",
)
