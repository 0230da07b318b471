"""The page of each judge's card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pnyx.audit.display.card import card_sections
from pnyx.core.errors import escaped
from pnyx.display.tables import Table
from pnyx.judging.judge_names import short_name
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.documents import DocumentPage, JsonDocument, build_checked
from pnyx.web.results.figure import Figure, FigureSection, figure_page, file_name
from pnyx.web.results.pages import Content, FigureEntry
from pnyx.web.results.records import SourceRow


def _show_card(_: Catalogue, source: SourceRow, document: JsonDocument) -> Content:
    return figure_page(
        f"Judge {escaped(short_name(document['judge']), 120)}",
        ("card", source.name),
        build_checked(source, _card_sections, document),
        crumbs=[("Cards", ("card",))],
    )


def _card_sections(card: JsonDocument) -> list[FigureSection]:
    return [
        _card_section(number, heading, parts)
        for number, (heading, parts) in enumerate(card_sections(_without_paths(card)), 1)
    ]


def _card_section(section: int, heading: str, parts: Sequence[Any]) -> FigureSection:
    """Return a section of a card; a picture is joined with the table that follows it."""
    text: list[str] = []
    figures: list[Figure] = []
    caption, picture = "", ""
    for number, part in enumerate(parts, 1):
        if isinstance(part, Table):
            figures.append(Figure(f"part-{section}-{number}", caption or heading, picture, part))
            caption, picture = "", ""
        elif isinstance(part, str):
            text.append(part)
        else:
            caption, picture = part
    if picture:
        figures.append(Figure(f"part-{section}", caption, picture, Table((), [])))
    return FigureSection(heading, text, figures)


def _without_paths(card: JsonDocument) -> JsonDocument:
    """Return a card with file names instead of paths, which are private."""

    def named(rows: Sequence[JsonDocument], key: str) -> list[JsonDocument]:
        return [{**r, key: {**r[key], "path": file_name(r[key]["path"])}} for r in rows]

    return {**card, "asked": named(card["asked"], "items"),
            "trials": named(card["trials"], "source")}  # fmt: skip


def _checked_sections(card: JsonDocument) -> list[FigureSection]:
    from pnyx.audit.card_file import check_card

    check_card(card)
    return _card_sections(card)


CARDS: Final = DocumentPage(
    "card",
    lambda document: document.get("format") == "pnyx-card",
    _checked_sections,
    _show_card,
    FigureEntry(
        "Cards of judges",
        "Figures and trials of a judge, and when not to use it.",
        "pnyx audit card --out card.json",
    ),
    "One page on each judge: figures, trials, and when not to use it.",
    "Sources",
    "Card of the judge",
)
