"""Blocks of a text: what a reader of a file finds, and what passages are made of."""

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
        level: of a heading, from 1; 0 for everything else.
        speaker: who says a turn or wrote a post; empty where nobody is named.
    """

    text: str
    kind: BlockKind = "paragraph"
    level: int = 0
    speaker: str = ""
