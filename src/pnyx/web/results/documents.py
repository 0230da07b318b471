"""Pages made of one JSON document: calibrations, agreement, thresholds, trials, cards of judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from pnyx.audit.display.card import card_sections
from pnyx.audit.pages.trials import examples_of, trial_section, trials_table
from pnyx.core.errors import InputError, escaped
from pnyx.core.files import read_json, read_jsonl
from pnyx.core.restricted import hides_text
from pnyx.display.tables import Table
from pnyx.judging.naming import short_name
from pnyx.web.results.calibration import document_sections
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.figure import Figure, FigureSection, figure_page, file_name, link_group
from pnyx.web.results.pages import Address, Content, PageRoute, Parts
from pnyx.web.results.records import NotFoundError, SourceRow

Document = Mapping[str, Any]
T = TypeVar("T")

_MALFORMED: Final = (InputError, KeyError, TypeError, ValueError, AttributeError, IndexError)


def _documents(source: SourceRow) -> Iterator[Document]:
    """Yield the JSON documents that a source's files are."""
    for part in ("document", "measures", "summary"):
        path = source.files.get(part)
        document = read_json(Path(path)) if path else None
        if document is not None:
            yield document


def _page_name(document: Document) -> str:
    """Return the name of the page that shows a document; empty for none."""
    if {"trial", "outcome", "measures"} <= document.keys():
        return "stress"
    if document.get("format") == "pnyx-card":
        return "card"
    if "runs" in document:
        return ""
    has_figures = not document.keys().isdisjoint({"reliability", "thresholds"})
    measured = isinstance(document.get("measures"), dict) or "thresholds" in document
    if document.get("format") == "pnyx-calibration" or (has_figures and measured):
        return "calibration"
    return ""


def check_document(document: Document) -> None:
    """Make what the page of a document shows; one of `_MALFORMED`: it is not as Pnyx writes it."""
    from pnyx.audit.card_file import check_card

    sections: Sequence[FigureSection] = ()
    name = _page_name(document)
    if name == "card":
        check_card(document)
        sections = _card_sections(document)
    elif name == "calibration":
        sections = document_sections(document)
    elif name == "stress":
        sections = [trial_section(document)]
    for section in sections:
        for figure in section.figures:
            figure.numbers()


def _all_of(catalogue: Catalogue, name: str) -> list[tuple[SourceRow, Document]]:
    return [
        (source, document)
        for source in catalogue.sources()
        if not source.problem
        for document in _documents(source)
        if _page_name(document) == name
    ]


def _checked(source: SourceRow, make: Callable[..., T], *arguments: Any) -> T:
    """Return what is made of a document; InputError where it is not as Pnyx writes it."""
    try:
        return make(*arguments)
    except _MALFORMED as error:
        problem = f"{source.name} is not as pnyx writes it: {escaped(str(error), 80)}"
        raise InputError(problem) from error


def _show_list(catalogue: Catalogue, name: str) -> Content:
    title, lead, label, _ = _LISTS[name]
    documents = _all_of(catalogue, name)
    links = [(source.name, (name, source.name)) for source, _ in documents]
    sections = _all_trials(documents) if name == "stress" else []
    choices = link_group(label, links)
    return figure_page(title, (name,), sections, lead=lead, choices=choices, more="One by one")


def _show(name: str, catalogue: Catalogue, address: Address) -> Content:
    """Show a source's document, or which there are of a kind."""
    if not address.parts:
        return _show_list(catalogue, name)
    source = catalogue.source(address.part(0))
    for document in _documents(source):
        if _page_name(document) == name:
            return _PAGES[name](catalogue, source, document)
    raise NotFoundError("this source has nothing of this kind")


def _show_calibration(_: Catalogue, source: SourceRow, document: Document) -> Content:
    about = [short_name(str(document[name])) for name in ("judge", "task") if document.get(name)]
    return figure_page(
        f"Calibration: {source.name}",
        ("calibration", source.name),
        _checked(source, document_sections, document),
        crumbs=[("Calibration", ("calibration",))],
        lead=f"{about[0]}, task {about[1]}." if len(about) == 2 else "",
    )


# Trials -------------------------------------------------------------------------------------------


def _show_trial(catalogue: Catalogue, source: SourceRow, document: Document) -> Content:
    section = _checked(source, trial_section, document)
    examples: list[Any] = []
    if {"answers", "items"} <= source.files.keys() and not hides_text():
        answers = (line for _, line in catalogue.lines(source.name))
        items = (row for _, row in read_jsonl(source.files["items"]))
        examples = _checked(source, examples_of, items, answers)
    problems = "; ".join(str(problem.get("said", "")) for problem in document.get("problems") or ())
    outcome = document["outcome"]
    return figure_page(
        f"Trial: {document['trial']}, {document['task']}",
        ("stress", source.name),
        [section],
        crumbs=[("Trials", ("stress",))],
        lead=f"{short_name(document['judge'])}. Expected: {document['expects']}.",
        template="trial",
        outcome={"word": outcome, "bad": outcome == "failed", "why": problems},
        no_text=hides_text(),
        examples=examples,
    )


def _all_trials(documents: Sequence[tuple[SourceRow, Document]]) -> list[FigureSection]:
    if not documents:
        return []
    table = _checked(documents[0][0], trials_table, [document for _, document in documents])
    caption = "The main measure of each trial, with its 95 % interval."
    figures = [Figure("trials", "Trials", "", table, caption)]
    for n, (source, document) in enumerate(documents, 1):
        first = _checked(source, trial_section, document).figures[0]
        if first.picture:
            title = f"{document['trial']}, {document['task']}"
            curve = Figure(f"curve-{n}", title, first.picture, first.table, first.caption)
            figures.append(curve)
    return [FigureSection("All trials", (), figures)]


# Cards --------------------------------------------------------------------------------------------


def _show_card(_: Catalogue, source: SourceRow, document: Document) -> Content:
    return figure_page(
        f"Judge {escaped(short_name(document['judge']), 120)}",
        ("card", source.name),
        _checked(source, _card_sections, document),
        crumbs=[("Cards", ("card",))],
    )


def _card_sections(card: Document) -> list[FigureSection]:
    return [
        _card_section(place, heading, parts)
        for place, (heading, parts) in enumerate(card_sections(_without_paths(card)), 1)
    ]


def _card_section(place: int, heading: str, parts: Sequence[Any]) -> FigureSection:
    """Return a section of a card; a picture stands with the table that follows it."""
    text: list[str] = []
    figures: list[Figure] = []
    caption, picture = "", ""
    for number, part in enumerate(parts, 1):
        if isinstance(part, Table):
            figures.append(Figure(f"part-{place}-{number}", caption or heading, picture, part))
            caption, picture = "", ""
        elif isinstance(part, str):
            text.append(part)
        else:
            caption, picture = part
    if picture:
        figures.append(Figure(f"part-{place}", caption, picture, Table((), [])))
    return FigureSection(heading, text, figures)


def _without_paths(card: Document) -> Document:
    """Return a card whose files are names: where they lay is nobody's business."""

    def named(rows: Sequence[Document], key: str) -> list[Document]:
        return [{**r, key: {**r[key], "path": file_name(r[key]["path"])}} for r in rows]

    return {**card, "asked": named(card["asked"], "items"),
            "trials": named(card["trials"], "source")}  # fmt: skip


# The table ----------------------------------------------------------------------------------------

_PAGES: Final = {"calibration": _show_calibration, "stress": _show_trial, "card": _show_card}
_LISTS: Final = {
    "calibration": ("Calibration", "Do probabilities mean what they say, and do judge and people "
                    "agree?", "Sources", "Calibration"),
    "stress": ("Trials", "Items were changed in ways whose effect is known. Does the judge notice?",
               "Trials", "Trial"),
    "card": ("Cards of judges", "One page on each judge: figures, trials, and when not to use it.",
             "Sources", "Card of the judge"),
}  # fmt: skip
"""Name of a page -> its title, its lead, what its sources are called, what one is."""


def _addresses(name: str, catalogue: Catalogue) -> Iterator[tuple[Parts, int]]:
    documents = _all_of(catalogue, name)
    if documents:
        yield (), 1
    for source, _ in documents:
        yield (source.name,), 1


def _of_source(name: str, _: Catalogue, source: SourceRow) -> Iterator[tuple[str, Parts]]:
    if any(_page_name(document) == name for document in _documents(source)):
        yield _LISTS[name][3], (name, source.name)


PAGES: Final = tuple(
    PageRoute(name, partial(_show, name), partial(_addresses, name), most=1,
         of_source=partial(_of_source, name))
    for name in _PAGES
)  # fmt: skip
