"""Figures: a picture, its numbers and its files; and pages made of figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pnyx.display.svg import inline
from pnyx.display.tables import Table
from pnyx.web.rendering import slug
from pnyx.web.results.pages import Content, PageFile, Parts


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture with its numbers."""

    name: str  # lower-case, unique in a page
    title: str  # a heading
    picture: str  # SVG; empty if there is nothing to draw
    table: Table  # the numbers
    caption: str = ""  # a sentence for screen readers

    def inline(self) -> str:
        """Return the picture as a part of a page."""
        from markupsafe import Markup

        drawn = inline(self.picture, self.name, self.caption) if self.picture else ""
        return Markup(drawn)  # noqa: S704 - our own drawing, which escapes every text

    def numbers(self) -> str:
        """Return the numbers as a table of HTML."""
        from markupsafe import Markup

        return Markup(self.table.html())  # noqa: S704 - which escapes every cell

    def files(self) -> Iterator[tuple[str, PageFile]]:
        """Yield its files, by name."""
        if self.picture:
            yield f"{self.name}.svg", PageFile("image/svg+xml", lambda: [self.picture])
        yield f"{self.name}.csv", PageFile("text/csv", lambda: [self.table.csv()])


@dataclass(frozen=True, slots=True)
class FigureSection:
    """A part of a page: sentences, then figures; one without a picture is a table."""

    heading: str
    text: Sequence[str] = ()
    figures: Sequence[Figure] = ()

    @property
    def key(self) -> str:
        """An anchor within its page."""
        return slug(self.heading).lower()


class LinkGroup(NamedTuple):
    """Links that a page offers under a label: (words, parts); `total` in all."""

    label: str
    pages: Sequence[tuple[str, Parts]]
    total: int


def link_group(
    label: str, targets: Sequence[tuple[str, Parts]], most: int | None = None
) -> list[LinkGroup]:
    """Return links under a label, the first `most` of them; empty if there are none."""
    return [LinkGroup(label, targets[:most], len(targets))] if targets else []


def figure_page(
    title: str,
    base: Parts,
    sections: Sequence[FigureSection],
    *,
    lead: str = "",
    crumbs: Sequence[tuple[str, Parts]] = (),
    choices: Sequence[LinkGroup] = (),
    more: str = "",
    template: str = "figure",
    **values: Any,
) -> Content:
    """Return a page of figures, with their files; `crumbs` are (words, parts) of its parents."""
    files = dict(pair for s in sections for figure in s.figures for pair in figure.files())
    common = {"title": title, "base": base, "sections": sections, "lead": lead, "crumbs": crumbs,
             "choices": choices, "more": more, "outcome": None}  # fmt: skip
    return Content(template, {**common, **values}, files)


def file_name(path: object) -> str:
    """Return the last part of a path in a file: its location is private."""
    return str(path).replace("\\", "/").rstrip("/").rpartition("/")[2]
