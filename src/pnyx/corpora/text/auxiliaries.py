"""Sentences with a single auxiliary, negated or asked; any other sentence is left alone."""

from __future__ import annotations

import re
from typing import Final

_AUXILIARIES: Final = frozenset("is are was were should must can could will would".split())
_NEGATIONS: Final = frozenset("no nor not never cannot neither none nobody nothing without".split())
_OTHER_CLAUSE: Final = frozenset(
    "who whom whose which that what why how because although while whereas if unless when where"
    " whether since until as but has have had does did ought may might shall".split()
)
_JOINS: Final = frozenset("and or".split())
_NOT_BEFORE: Final = frozenset(
    "a an the to of free good ill own no his her its my our your their".split()
)
"""Words before "will", "can" or "must" where it is a noun: "the will of the people"."""
_LOWERED: Final = frozenset(
    "a an the this that these those all it there we they he she our their people many most"
    " some".split()
)
_MARKS: Final = re.compile(r"[,;:?!()\"“”—–]|n['’]t\b")
_HOUSE: Final = re.compile(r"^this house (?:would|should) (?=\w)", re.IGNORECASE)


def negated(sentence: str) -> str | None:
    """Return a sentence with "not" behind its only auxiliary, or without it if it is there.

    None where there is no auxiliary, a second one, or another clause.
    """
    words = sentence.split()
    place = _only_auxiliary([*words[:-1], words[-1].rstrip(".")] if words else [])
    if place is None:
        return None
    before, after = words[:place], words[place + 1 :]
    if after[0].lower() == "not":
        return " ".join([*before, words[place], *after[1:]]) if len(after) > 1 else None
    verb = ["cannot"] if words[place] == "can" else [words[place], "not"]
    return " ".join([*before, *verb, *after])


def as_question(claim: str) -> str | None:
    """Return the question that a claim with a single auxiliary answers with yes, or None."""
    words = _HOUSE.sub("We should ", " ".join(claim.split()).rstrip(".! ")).split()
    place = _only_auxiliary(words)
    if place is None or words[place + 1].lower() == "not":
        return None
    first = words[0].lower() if words[0].lower() in _LOWERED else words[0]
    return " ".join([words[place].title(), first, *words[1:place], *words[place + 1 :]]) + "?"


def _only_auxiliary(words: list[str]) -> int | None:
    """Return where the only auxiliary is, with words before and behind; None where in doubt."""
    low = [word.lower() for word in words]
    places = [place for place, word in enumerate(low) if word in _AUXILIARIES]
    if len(places) != 1 or _MARKS.search(" ".join(words)):
        return None
    (place,) = places
    negations = [at for at, word in enumerate(low) if word in _NEGATIONS]
    if negations not in ([], [place + 1]) or not _OTHER_CLAUSE.isdisjoint(low):
        return None
    if not 0 < place < len(words) - 1 or low[place - 1] in _NOT_BEFORE:
        return None
    return None if _JOINS.intersection(low[place + 1 :]) else place
