"""The page that leads to the pages of figures."""

from __future__ import annotations

from typing import Final

from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.pages import Address, Content, PageRoute
from pnyx.web.results.routes import page_routes


def _show(catalogue: Catalogue, _address: Address) -> Content:
    pages = [
        (page.name, *page.entry, sum(bool(parts) for parts, _ in page.addresses(catalogue)))
        for page in page_routes()
        if page.entry is not None
    ]
    return Content("figures", {"pages": pages})


PAGES: Final = (PageRoute("figures", _show, nav="Figures"),)
