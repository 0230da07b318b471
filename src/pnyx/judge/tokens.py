"""Probability by token (DIRAS "Tok"): how likely the model was to write the other answer."""

from __future__ import annotations

import math

from pnyx.models.replies import Reply, Token

__all__ = ["probability_of_yes"]

_LEAST = 1e-6
"""Answers are kept to 6 decimals."""


def probability_of_yes(reply: Reply, span: tuple[int, int]) -> float | None:
    """Return P(yes) / (P(yes) + P(no)) where the answer's word begins, summed over spellings."""
    found = _token_at(reply, span[0])
    if found is None:
        return None
    token, before = found
    yes = _mass(token, before, "yes")
    no = _mass(token, before, "no")
    if yes is None and no is None:
        return None
    listed = [math.exp(logprob) for _, logprob in token.alternatives]
    most = min(*listed, max(0.0, 1.0 - math.fsum(listed)))
    yes, no = (most if yes is None else yes), (most if no is None else no)
    if yes + no == 0.0:  # listed, but so unlikely that no float holds it
        return None
    return min(max(yes / (yes + no), _LEAST), 1.0 - _LEAST)


def _token_at(reply: Reply, start: int) -> tuple[Token, str] | None:
    if not reply.tokens:
        return None
    try:
        pieces = [token.text.encode("utf-8", "surrogateescape") for token in reply.tokens]
    except UnicodeEncodeError:  # half characters: out of a damaged store
        return None
    offset = b"".join(pieces).find(reply.text.encode("utf-8", "replace"))
    if offset < 0:
        return None
    place = offset + len(reply.text[:start].encode("utf-8", "replace"))
    for token, piece in zip(reply.tokens, pieces, strict=True):
        if place < len(piece):
            return token, piece[:place].decode("utf-8", "replace")
        place -= len(piece)
    return None


def _mass(token: Token, before: str, word: str) -> float | None:
    """Return the probability of all alternatives that begin to spell `word`; None without any."""
    likely = [
        math.exp(logprob)
        for text, logprob in token.alternatives
        if _spells(_after(text, before), word)
    ]
    return sum(likely) if likely else None


def _after(text: str, before: str) -> str:
    """Return what an alternative says once its quotation mark and white space are passed."""
    if before and text.startswith(before):
        return text[len(before) :]
    return text.lstrip().removeprefix('"')


def _spells(text: str, word: str) -> bool:
    said = text.strip().strip('"').lower()
    return bool(said) and (word.startswith(said) or _first_word(said) == word)


def _first_word(text: str) -> str:
    for place, character in enumerate(text):
        if not character.isalpha():
            return text[:place]
    return text
