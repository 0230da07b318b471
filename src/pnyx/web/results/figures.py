"""The pages that are figures, and the page that leads to them."""

from __future__ import annotations

from typing import Final

from pnyx.perspectives import pages as perspectives
from pnyx.quality import pages as quality
from pnyx.web.results import documents
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.pages import Address, Content, PageRoute

_FIGURES: Final = (quality.PAGE, perspectives.PAGE, *documents.PAGES)
_ABOUT: Final = {
    "quality": ("Quality profile", "Ratings by dimension: of a judge, a side, a topic, a text.",
                "ratings of pnyx judge quality"),
    "perspectives": ("Perspectives", "Which documents support which perspective; what is missing.",
                     "verdicts of pnyx judge support --perspectives"),
    "calibration": ("Calibration", "Do probabilities mean what they say?",
                    "pnyx measure support, pnyx calibrate, with --json"),
    "stress": ("Trials", "Does a judge notice what it must, and nothing else?",
               "results of pnyx audit stress"),
    "card": ("Cards of judges", "Figures and trials of a judge, and when not to use it.",
             "pnyx audit card --out card.json"),
}  # fmt: skip
"""Name of a page -> its heading, what it shows, what it is made of."""


def _show(catalogue: Catalogue, _address: Address) -> Content:
    pages = [
        (page.name, *_ABOUT[page.name], sum(bool(parts) for parts, _ in page.addresses(catalogue)))
        for page in _FIGURES
    ]
    return Content("figures", {"pages": pages})


PAGES: Final = (PageRoute("figures", _show, nav="Figures"), *_FIGURES)
