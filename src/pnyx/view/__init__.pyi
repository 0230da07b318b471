"""The public names of this room, each with its home."""

from .markdown import render_markdown
from .report import render_html

__all__ = [
    "render_html",
    "render_markdown",
]
