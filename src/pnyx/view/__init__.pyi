"""The public names of this room, each with its home."""

from .card import card_html, card_markdown
from .case_json import render_json
from .judges import judges_html
from .markdown import render_markdown
from .report import render_html

__all__ = [
    "card_html",
    "card_markdown",
    "judges_html",
    "render_html",
    "render_json",
    "render_markdown",
]
