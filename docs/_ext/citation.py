"""`{references} ../CITATION.cff`: what to cite, from the one file that says it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

__all__ = ["References", "setup"]


class References(SphinxDirective):
    """The works that a citation file names, one a paragraph."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a list of the works."""
        file = Path(self.env.srcdir, self.arguments[0]).resolve()
        self.env.note_dependency(str(file))
        works = yaml.safe_load(file.read_text(encoding="utf-8"))["references"]
        return [nodes.bullet_list("", *(nodes.list_item("", _entry(work)) for work in works))]


def _entry(work: dict[str, Any]) -> nodes.paragraph:
    """Return a work: authors, year, title, where it appeared, what it is to Pnyx."""
    names = [f"{one['given-names']} {one['family-names']}" for one in work["authors"]]
    text = nodes.paragraph()
    text += nodes.Text(f"{', '.join(names)} ({work['year']}). ")
    address = f"https://doi.org/{work['doi']}" if "doi" in work else work["url"]
    text += nodes.reference("", work["title"], refuri=address)
    place = work.get("collection-title") or work["identifiers"][0]["value"]
    text += nodes.Text(f". {place}. ")
    text += nodes.emphasis("", work["notes"])
    return text


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("references", References)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
