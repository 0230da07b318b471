"""Texts as the late-interaction student reads them: tokens in pieces, each of one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pnyx.judge.passages import read_passage

__all__ = ["MAX_TOKENS", "Piece", "pieces_of", "read_tokenizer", "sentence_spans"]

MAX_TOKENS = 320
"""Of a piece; longer texts are several."""

_MAX_PIECES = 8
"""Some 1,500 words; what comes after is not read."""

_MAX_CHARACTERS = 32_768
_SHORTEST = 4
"""Words: shorter sentences (headings, numbers of a list) go with the next one."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of tokens.

    Attributes:
        ids: int64 [tokens], the special ones at both ends included.
        sentences: int64 [tokens], the number of the sentence within the piece, from 0 and without
            a gap; -1 for the special tokens.
    """

    ids: Ints
    sentences: Ints


def read_tokenizer(data: bytes) -> Any:
    """Return a tokenizer that neither cuts nor fills up.

    Raises:
        ValueError: the bytes are no tokenizer.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(data.decode("utf-8"))
    except Exception as error:  # the library raises its own, undocumented class
        raise ValueError(str(error)) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return where the sentences of a text begin and end, short ones joined with the next."""
    spans: list[tuple[int, int]] = []
    place, start, words = 0, 0, 0
    for sentence in read_passage(text).sentences:
        place = text.index(sentence, place)
        if not words:
            start = place
        place += len(sentence)
        words += len(sentence.split())
        if words >= _SHORTEST:
            spans.append((start, place))
            words = 0
    if words and spans:
        spans[-1] = (spans[-1][0], place)
    elif words:
        spans.append((start, place))
    return spans or [(0, len(text))]


def pieces_of(tokenizer: Any, text: str) -> list[Piece]:
    """Cut a text into pieces of at most `MAX_TOKENS` tokens, between sentences where that goes.

    Args:
        tokenizer: of `read_tokenizer`.
        text: any.

    Returns:
        At least one piece; the text after the last of them is not read.
    """
    text = text[:_MAX_CHARACTERS]
    # The tokenizer takes no lone surrogates: it sees a stand-in of the same length.
    encoded = tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8"))
    ends = [end for _, end in sentence_spans(text)]
    ids = np.array(encoded.ids, dtype=np.int64)
    special = np.array(encoded.special_tokens_mask, dtype=bool)
    starts = np.array([start for start, _ in encoded.offsets], dtype=np.int64)
    inner = ids[~special]
    owners = np.minimum(np.searchsorted(ends, starts[~special], side="right"), len(ends) - 1)
    first, last = ids[0], ids[-1]
    pieces = []
    for begin, end in _cuts(owners, MAX_TOKENS - 2)[:_MAX_PIECES]:
        body = np.concatenate([[first], inner[begin:end], [last]])
        _, numbers = np.unique(owners[begin:end], return_inverse=True)
        pieces.append(Piece(body, np.concatenate([[-1], numbers, [-1]]).astype(np.int64)))
    return pieces


def _cuts(owners: Ints, most: int) -> list[tuple[int, int]]:
    """Return begin and end of each run of whole sentences; a longer sentence is cut."""
    cuts: list[tuple[int, int]] = []
    begin = 0
    while begin < len(owners):
        end = min(begin + most, len(owners))
        if end < len(owners):
            whole = int(np.searchsorted(owners[begin:end], owners[end], side="left")) + begin
            end = whole if whole > begin else end
        cuts.append((begin, end))
        begin = end
    return cuts or [(0, 0)]
