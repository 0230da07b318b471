"""A figure of a page: its picture, the numbers it is drawn of, and what of it is a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pnyx.serve.inspecting.pages import Kept
from pnyx.serve.rendering import slug
from pnyx.view.svg import inline
from pnyx.view.tables import Table


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture with its numbers.

    Attributes:
        name: lower-case letters, digits and dashes; another for each figure of a page.
        title: a heading.
        picture: an SVG document of `pnyx.view`; empty where there is nothing to draw.
        table: the numbers.
        told: a sentence for those who do not see it, and below it for all.
    """

    name: str
    title: str
    picture: str
    table: Table
    told: str = ""

    def inline(self) -> str:
        """Return the picture as a part of a page."""
        from markupsafe import Markup

        drawn = inline(self.picture, self.name, self.told) if self.picture else ""
        return Markup(drawn)  # noqa: S704 - our own drawing, which escapes every text

    def numbers(self) -> str:
        """Return the numbers as a table of HTML."""
        from markupsafe import Markup

        return Markup(self.table.html())  # noqa: S704 - which escapes every cell

    def endings(self) -> list[str]:
        """Return the endings of the files it can be kept as."""
        return ["svg", "csv"] if self.picture else ["csv"]

    def files(self) -> dict[str, Kept]:
        """Return the files that hold it, by name."""
        found = {f"{self.name}.csv": Kept("text/csv", lambda: [self.table.csv()])}
        if self.picture:
            found[f"{self.name}.svg"] = Kept("image/svg+xml", lambda: [self.picture])
        return found


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page: sentences, then figures; one without a picture is a table."""

    heading: str
    text: Sequence[str] = ()
    figures: Sequence[Figure] = ()

    @property
    def key(self) -> str:
        """A name for addresses within its page."""
        return slug(self.heading).lower()


def files_of(figures: Iterable[Figure]) -> dict[str, Kept]:
    """Return the files of a page's figures, by name."""
    return {name: kept for one in figures for name, kept in one.files().items()}


def file_name(path: object) -> str:
    """Return the last part of a path that a file names: where it lay is nobody's business."""
    return str(path).replace("\\", "/").rstrip("/").rpartition("/")[2]
