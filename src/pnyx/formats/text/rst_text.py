"""The blocks of a reStructuredText file, without its markup."""

from __future__ import annotations

import re

from pnyx.formats.text.blocks import Page
from pnyx.formats.text.plain_text import blocks_of_text, composed

_DIRECTIVE = re.compile(r"^[ \t]*\.\.(?:[ \t][^\n]*)?$(?:\n[ \t]+:[\w-]+:[^\n]*$)*", re.MULTILINE)
"""A directive, comment or target with its options; indented lines below it are text."""
_FIELD = re.compile(r"^:[\w -]{1,40}:[ \t]*", re.MULTILINE)
_LINK = re.compile(r"`([^`<\n]{1,200}?)[ \t]*<[^<>`\n]{1,500}>`__?")
_ROLE = re.compile(r":[\w:-]{1,40}:`([^`\n]{1,200})`")
_MARKED = re.compile(r"(\*\*|``|\*|`)(?=\S)([^*`\n]{1,2000}?)(?<=\S)\1_{0,2}(?!\w)")
_NOTE_MARK = re.compile(r"[ \t]?\[(?:\d{1,3}|#\w{0,20}|\*)\]_")


def rst_page(text: str) -> Page:
    """Return the blocks of a reStructuredText file; its first heading is its title."""
    text = composed(text).replace("\r\n", "\n").replace("\r", "\n")
    text = _FIELD.sub("", _DIRECTIVE.sub("", text))
    text = _MARKED.sub(r"\2", _ROLE.sub(r"\1", _LINK.sub(r"\1", _NOTE_MARK.sub("", text))))
    blocks = blocks_of_text(text)
    return Page(blocks, blocks[0].text if blocks and blocks[0].kind == "heading" else "")
