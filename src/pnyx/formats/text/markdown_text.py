"""The blocks of a Markdown text, without its markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pnyx.formats.text.blocks import Block, BlockKind, Page
from pnyx.formats.text.plain_text import blocks_of_text, composed, in_one_line, with_turns

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(
    r"\A---[ \t]*\n(?P<head>.{0,20000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL
)
_TITLE = re.compile(r"^title:[ \t]*(?P<title>.+)$", re.MULTILINE | re.IGNORECASE)
_NOTE_MARK = re.compile(r"\[\^[^\]\s]{1,60}\](?!\()")
_NOTE = re.compile(r"^[ ]{0,3}\[\^[^\]\s]{1,60}\]:[ \t]*", re.MULTILINE)
_TARGET = re.compile(r"^(?=[ ]{0,3}\[[^\]\n]{1,80}\]:[ \t]*\S)", re.MULTILINE)
_CHECK_BOX = re.compile(r"\A\[[ xX]\][ \t]+")
_OPENING: dict[str, BlockKind] = {
    "heading_open": "heading",
    "list_item_open": "item",
    "blockquote_open": "turn",
}
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,500}>|<!--(?:[^<-]++|(?!-->|<!--)[<-])*+-->")
_LONE_MARKS = re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)")
"""Unpaired marks of emphasis, which Markdown keeps as text."""


def markdown_page(text: str) -> Page:
    """Return the blocks and the title of a Markdown text."""
    from markdown_it import MarkdownIt

    text = composed(text).replace("\r\n", "\n").replace("\r", "\n")
    title = ""
    if front := _FRONT_MATTER.match(text):
        named = _TITLE.search(front["head"])
        title = in_one_line(named["title"].strip(" \t\"'")) if named else ""
        text = text[front.end() :]
    text = _NOTE_MARK.sub("", _NOTE.sub("\n", text))
    text = _TARGET.sub("\n", text)  # a link target ends a paragraph
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    blocks = with_turns(list(_blocks(parser.parse(text))))
    heading = next((block.text for block in blocks if block.kind == "heading"), "")
    first = blocks[0].text if blocks and blocks[0].kind == "heading" else ""
    return Page(blocks, title or first or heading)


def _blocks(tokens: Sequence[Token]) -> Iterator[Block]:
    kinds: list[tuple[BlockKind, int]] = []
    row: list[str] | None = None
    for token in tokens:
        if token.type in _OPENING:
            level = int(token.tag[1:]) if token.type == "heading_open" else 0
            kinds.append((_OPENING[token.type], level))
        elif token.type in ("heading_close", "list_item_close", "blockquote_close"):
            kinds.pop()
        elif token.type == "tr_open":
            row = []
        elif token.type == "tr_close" and row is not None:
            yield from _block(" | ".join(row), "paragraph", 0)
            row = None
        elif token.type == "inline" and row is not None:
            row.append(" ".join(_inline(token)))
        elif token.type == "inline":
            yield from _paragraphs(token, kinds)
        elif token.type in ("fence", "code_block", "html_block"):
            html = token.type == "html_block"
            yield from blocks_of_text(_TAG.sub(" ", token.content) if html else token.content)


def _paragraphs(token: Token, kinds: list[tuple[BlockKind, int]]) -> Iterator[Block]:
    """Yield a run of text as blocks of the kind that is open."""
    kind, level = kinds[-1] if kinds else ("paragraph", 0)
    for part in _inline(token):
        yield from _block(part, kind, level)
    if kind == "item":
        kinds[-1] = ("paragraph", 0)


def _block(text: str, kind: BlockKind, level: int) -> Iterator[Block]:
    text = in_one_line(text)
    if kind == "item":
        text = _CHECK_BOX.sub("", text)
    if text.strip("| "):
        yield Block(text, kind, level)


def _inline(token: Token) -> list[str]:
    """Return the paragraphs of a run of text, separated by two HTML line breaks."""
    parts: list[str] = []
    for child in token.children or ():
        if child.type == "text":
            parts.append(_LONE_MARKS.sub("", child.content))
        elif child.type == "code_inline":
            parts.append(child.content)
        elif child.type in ("softbreak", "hardbreak"):
            parts.append(" " if child.type == "softbreak" else "\n")
        elif child.type == "image":
            parts.append(child.content)
        elif child.type == "html_inline" and child.content.lower().startswith("<br"):
            parts.append("\n")
    return re.split(r"\n\s*\n", "".join(parts))
