"""Pages of `pnyx view`."""

from __future__ import annotations

from pnyx.serve.inspecting.pages import Page

__all__ = ["PAGES"]

PAGES: tuple[Page, ...] = ()
