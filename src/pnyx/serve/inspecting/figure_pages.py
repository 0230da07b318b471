"""The pages that are figures, the page that leads to them, and the page of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pnyx.serve.inspecting import perspective_pages, quality_pages, table_pages, trust_pages
from pnyx.serve.inspecting.asking import NotThereError
from pnyx.serve.inspecting.pages import Page, Shown

if TYPE_CHECKING:
    from pnyx.serve.inspecting.catalogue import Catalogue
    from pnyx.serve.rendering import Links

_FIGURES: Final = (*quality_pages.PAGES, *perspective_pages.PAGES, *trust_pages.PAGES)
_TOLD: Final = {
    "quality": ("Quality profile", "Ratings by dimension: of a judge, a side, a topic, a text.",
                "ratings of pnyx judge quality"),
    "perspectives": ("Perspectives", "Which documents support which perspective; what is missing.",
                     "verdicts of pnyx judge support --perspectives"),
    "calibration": ("Calibration", "Do probabilities mean what they say? Agreement with people.",
                    "pnyx measure support, pnyx calibrate, pnyx audit agreement, with --json"),
    "stress": ("Trials", "Does a judge notice what it must, and nothing else?",
               "results of pnyx audit stress"),
    "card": ("Cards of judges", "Figures and trials of a judge, and when not to use it.",
             "pnyx audit card --out card.json"),
}  # fmt: skip


def show(catalogue: Catalogue, _links: Links, _parts: Sequence[str], number: int) -> Shown:
    """Show which figures there are."""
    if number != 1:
        raise NotThereError("this list has one page")
    found: list[tuple[str, Any, int]] = []
    for page in _FIGURES:
        count = sum(1 for own, _ in page.addresses(catalogue) if own)
        found.append((page.name, _TOLD[page.name], count))
    return Shown("inspecting/figures.html.j2", {"found": found})


PAGES = (
    Page("figures", show, nav="Figures"),
    *_FIGURES,
    *table_pages.PAGES,
)
