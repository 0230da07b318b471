"""An argued case as a file: a page, Markdown or JSON, as `pnyx argue` writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pnyx.errors import InputError
from pnyx.files import write_text
from pnyx.view.markdown import render_markdown
from pnyx.view.report import render_html
from pnyx.write.case import Case
from pnyx.write.rows import case_row


def render_json(case: Case) -> str:
    """Return the case as `pnyx argue --json` prints it."""
    return json.dumps(case_row(case).model_dump(), ensure_ascii=False, indent=2) + "\n"


RENDERERS: Final[Mapping[str, Callable[[Case], str]]] = MappingProxyType(
    {".html": render_html, ".md": render_markdown, ".json": render_json}
)
"""Ending of a file -> what writes a case in that format."""


def save_case(case: Case, path: str | Path) -> None:
    """Write a case to a file, in the format that the ending of its name says; see `Case.save`."""
    render = RENDERERS.get(Path(path).suffix.lower())
    if render is None:
        raise InputError(f"expected a name that ends in {', '.join(RENDERERS)}", path=path)
    write_text(path, render(case))
