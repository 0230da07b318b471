"""Pages that live outside `docs/`: a page that is one link to such a file is that file here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

__all__ = ["setup"]

_ROOT = Path(__file__).parents[2]
_STAND_IN = re.compile(r"\[[^\]]*\]\(\.\./([A-Z]+\.md)\)\s*")
_PAGES = {
    "README.md": "start/tour.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}


def _source_read(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the file in its stand-in's place, and have links to such files lead to their pages."""
    text = source[0]
    if found := _STAND_IN.fullmatch(text):
        file = _ROOT / found[1]
        app.env.note_dependency(str(file))
        text = re.sub(r"\]\(docs/", "](", file.read_text(encoding="utf-8"))
        text = re.sub(r"\]\(([A-Z]+\.md)", lambda link: f"]({_PAGES[link[1]]}", text)
    up = "../" * page.count("/")
    for name, stand_in in _PAGES.items():
        text = text.replace(f"](../{up}{name}", f"]({up}{stand_in}")
    source[0] = text


def setup(app: Sphinx) -> dict[str, Any]:
    """Listen to pages being read."""
    app.connect("source-read", _source_read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
