"""Pages on judges: how well they are calibrated, what trials show, their cards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pnyx.errors import InputError, escaped
from pnyx.files import read_json, read_jsonl
from pnyx.restricted import hides_text
from pnyx.serve.inspecting.asking import NotThereError
from pnyx.serve.inspecting.calibrations import (
    agreement_sections,
    calibration_sections,
    thresholds_section,
)
from pnyx.serve.inspecting.figures import Figure, Section, file_name, files_of
from pnyx.serve.inspecting.pages import Address, Page, Shown
from pnyx.serve.inspecting.stress import examples_of, trial_section, trials_table
from pnyx.view.card import card_sections
from pnyx.view.tables import Table

if TYPE_CHECKING:
    from pnyx.serve.inspecting.catalogue import Catalogue
    from pnyx.serve.inspecting.records import Source
    from pnyx.serve.rendering import Links

Row = Mapping[str, Any]
_MALFORMED: Final = (InputError, KeyError, TypeError, ValueError, AttributeError, IndexError)


def _documents(source: Source) -> Iterator[tuple[str, Row]]:
    """Yield (part, JSON document) of each file of a source that is one."""
    for part in ("document", "measures", "summary"):
        path = source.files.get(part)
        found = read_json(Path(path)) if path else None
        if found is not None:
            yield part, found


def _kind(document: Row) -> str:
    """Return which page shows a document: `calibration`, `stress`, `card`; empty for none."""
    if {"trial", "outcome", "measures"} <= document.keys():
        return "stress"
    if document.get("format") == "pnyx-card":
        return "card"
    measured = document.get("measures")
    if "runs" in document:
        return ""
    told = {"reliability", "compared", "thresholds"} & document.keys()
    if document.get("format") == "pnyx-calibration" or (
        told and (isinstance(measured, dict) or "thresholds" in document)
    ):
        return "calibration"
    return ""


def found_of(catalogue: Catalogue, kind: str) -> list[tuple[Source, Row]]:
    """Return the sources with a document that a kind of page shows."""
    return [
        (source, document)
        for source in catalogue.sources()
        if not source.problem
        for _, document in _documents(source)
        if _kind(document) == kind
    ]


def _of(catalogue: Catalogue, kind: str, name: str) -> tuple[Source, Row]:
    source = catalogue.source(name)
    for _, document in _documents(source):
        if _kind(document) == kind:
            return source, document
    raise NotThereError("this source has nothing of this kind")


def _checked(source: Source, make: Any, *arguments: Any) -> Any:
    """Return what is made of a document; InputError where it is not as Pnyx writes it."""
    try:
        found = make(*arguments)
        return list(found) if isinstance(found, Iterator) else found
    except _MALFORMED as error:
        problem = f"{source.name} is not as pnyx writes it: {escaped(str(error), 80)}"
        raise InputError(problem) from error


def _values(title: str, base: tuple[str, ...], sections: Sequence[Section], **more: Any) -> Row:
    plain: dict[str, Any] = {"crumbs": [], "lead": "", "outcome": None}
    return {**plain, "title": title, "base": base, "sections": sections, **more}


def _links(label: str, name: str, found: Sequence[tuple[Source, Row]]) -> list[Any]:
    chips = [(source.name, (name, source.name), False) for source, _ in found]
    return [(label, chips, len(chips))] if chips else []


def _list(title: str, name: str, lead: str, catalogue: Catalogue) -> Shown:
    found = found_of(catalogue, name)
    values = _values(
        title, (name,), [], lead=lead, more="One by one", choices=_links("Sources", name, found)
    )
    return Shown("inspecting/profile.html.j2", values)


# Calibration --------------------------------------------------------------------------------------


def show_calibration(
    catalogue: Catalogue, _links: Links, parts: Sequence[str], number: int
) -> Shown:
    """Show a judge's calibration, agreement or thresholds, or where there are such figures."""
    _one_page(number)
    if not parts:
        lead = "Do probabilities mean what they say, and do judge and people agree?"
        return _list("Calibration", "calibration", lead, catalogue)
    source, document = _of(catalogue, "calibration", parts[0])
    sections = _checked(source, _sections_of, document)
    values = _values(
        f"Calibration: {source.name}",
        ("calibration", source.name),
        sections,
        crumbs=[("Calibration", ("calibration",))],
        lead=_about(document),
    )
    figures = [figure for one in sections for figure in one.figures]
    return Shown("inspecting/sections.html.j2", values, files_of(figures))


def _sections_of(document: Row) -> list[Section]:
    if "compared" in document:
        return list(agreement_sections(document))
    if "thresholds" in document:
        return [thresholds_section(document)]
    return list(calibration_sections(document))


def _about(document: Row) -> str:
    told = [str(document[name]) for name in ("judge", "task") if document.get(name)]
    return f"{told[0]}, task {told[1]}." if len(told) == 2 else ""


def _one_page(number: int) -> None:
    if number != 1:
        raise NotThereError("this list has one page")


# Trials -------------------------------------------------------------------------------------------


def show_stress(catalogue: Catalogue, _links: Links, parts: Sequence[str], number: int) -> Shown:
    """Show a trial with examples, or all trials."""
    _one_page(number)
    if not parts:
        return _trials(catalogue)
    source, document = _of(catalogue, "stress", parts[0])
    section: Section = _checked(source, trial_section, document)
    items = source.files.get("items")
    examples: list[Any] = []
    if "answers" in source.files and items is not None and not hides_text():
        answers = (row for _, row in catalogue.rows(source.name))
        asked = (row for _, row in read_jsonl(items))
        examples = _checked(source, examples_of, asked, answers)
    problems = "; ".join(str(one.get("said", "")) for one in document.get("problems") or ())
    outcome = {"word": document["outcome"], "bad": document["outcome"] == "failed", "why": problems}
    values = _values(
        f"Trial: {document['trial']}, {document['task']}",
        ("stress", source.name),
        [section],
        crumbs=[("Trials", ("stress",))],
        outcome=outcome,
        no_text=hides_text(),
        examples=examples,
        lead=f"{document['judge']}. Expected: {document['expects']}.",
    )
    return Shown("inspecting/trial.html.j2", values, files_of(section.figures))


def _trials(catalogue: Catalogue) -> Shown:
    found = found_of(catalogue, "stress")
    sections = []
    figures: list[Figure] = []
    if found:
        tables: Table = _checked(found[0][0], trials_table, [row for _, row in found])
        told = "The main measure of each trial, with its 95 % interval."
        figures = [Figure("trials", "Trials", "", tables, told)]
        for n, (source, row) in enumerate(found, 1):
            section: Section = _checked(source, trial_section, row)
            if section.figures[0].picture:
                one = section.figures[0]
                figures.append(
                    Figure(
                        f"curve-{n}",
                        f"{row['trial']}, {row['task']}",
                        one.picture,
                        one.table,
                        one.told,
                    )
                )
        sections = [Section("All trials", (), figures)]
    values = _values(
        "Trials",
        ("stress",),
        sections,
        choices=_links("Trials", "stress", found),
        more="One by one",
        lead="Items were changed in ways whose effect is known. Does the judge notice?",
    )
    return Shown("inspecting/profile.html.j2", values, files_of(figures))


# Cards --------------------------------------------------------------------------------------------


def show_card(catalogue: Catalogue, _links: Links, parts: Sequence[str], number: int) -> Shown:
    """Show a judge's card, or which there are."""
    _one_page(number)
    if not parts:
        lead = "One page on each judge: figures, trials, and when not to use it."
        return _list("Cards of judges", "card", lead, catalogue)
    source, document = _of(catalogue, "card", parts[0])
    sections = _checked(source, lambda: _card(document))
    values = _values(
        f"Judge {escaped(document['judge'], 120)}",
        ("card", source.name),
        sections,
        crumbs=[("Cards", ("card",))],
    )
    figures = [figure for one in sections for figure in one.figures]
    return Shown("inspecting/sections.html.j2", values, files_of(figures))


def _card(document: Row) -> list[Section]:
    sections = []
    for place, (heading, parts) in enumerate(card_sections(_without_paths(document)), 1):
        text: list[str] = []
        figures: list[Figure] = []
        waiting = ("", "")
        for number, part in enumerate(parts, 1):
            name = f"part-{place}-{number}"
            if isinstance(part, Table):
                told, picture = waiting
                figures.append(Figure(name, told or heading, picture, part))
                waiting = ("", "")
            elif isinstance(part, str):
                text.append(part)
            else:
                waiting = part
        if waiting[1]:
            figures.append(Figure(f"part-{place}", waiting[0], waiting[1], Table((), [])))
        sections.append(Section(heading, text, figures))
    return sections


def _without_paths(card: Row) -> Row:
    """Return a card whose files are names: where they lay is nobody's business."""
    asked = [
        {**one, "items": {**one["items"], "path": file_name(one["items"]["path"])}}
        for one in card["asked"]
    ]
    trials = [
        {**one, "source": {**one["source"], "path": file_name(one["source"]["path"])}}
        for one in card["trials"]
    ]
    return {**card, "asked": asked, "trials": trials}


def _page(kind: str, label: str, show: Any) -> Page:
    def addresses(catalogue: Catalogue) -> Iterator[tuple[Address, int]]:
        found = found_of(catalogue, kind)
        if found:
            yield (), 1
        for source, _ in found:
            yield (source.name,), 1

    def of_source(_: Catalogue, source: Source) -> Iterator[tuple[str, Address]]:
        if any(_kind(document) == kind for _, document in _documents(source)):
            yield label, (kind, source.name)

    return Page(kind, show, 0, 1, addresses, of_source=of_source)


PAGES = (
    _page("calibration", "Calibration", show_calibration),
    _page("stress", "Trial", show_stress),
    _page("card", "Card of the judge", show_card),
)
