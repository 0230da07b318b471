"""Blocks of a text, which readers of files produce and passages consist of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

BlockKind: TypeAlias = Literal["heading", "paragraph", "item", "turn"]
"""A heading, a paragraph, a list item, or a turn of a speaker or post of a thread."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a document, in reading order.

    Attributes:
        text: plain text in one line, without markup, NFC.
        kind: see `BlockKind`.
        level: level of a heading, from 1; 0 for everything else.
        speaker: who says a turn or wrote a post; empty if nobody is named. Further paragraphs
            of a post have its speaker, too.
    """

    text: str
    kind: BlockKind = "paragraph"
    level: int = 0
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """The contents of a file: its blocks in reading order, its title and address if any."""

    blocks: tuple[Block, ...] = ()
    title: str = ""
    url: str = ""

    @property
    def text(self) -> str:
        """All blocks, separated by blank lines; a speaker's name is a line before a turn.

        The text of a single block, as a row of a table, is without its speaker.
        """
        if len(self.blocks) == 1:
            return self.blocks[0].text
        return "\n\n".join(map(block_text, self.blocks))


def block_text(block: Block) -> str:
    """Return a block's text within its document: a name must not become part of a sentence."""
    named = block.kind == "turn" and block.speaker
    return f"{block.speaker}:\n{block.text}" if named else block.text
