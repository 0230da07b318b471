"""The pages that are figures."""

from __future__ import annotations

from pnyx.serve.inspecting import perspective_pages, quality_pages, trust_pages

__all__ = ["PAGES"]

PAGES = (*quality_pages.PAGES, *perspective_pages.PAGES, *trust_pages.PAGES)
