"""Negates sentences or turns them into questions at the auxiliary of their main clause."""

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
_LEAST_DENIED: Final = 4
_LEANING: Final = frozenset(
    "and but or nor so yet however therefore thus also because then hence moreover".split()
)
"""First words of sentences that cannot follow "that"."""
_MARKS: Final = re.compile(r"[,;:?!()\"“”—–]")
_NOT: Final = re.compile(r"n['’]t$")
_HOUSE: Final = re.compile(r"^this house (?:would|should) (?=\w)", re.IGNORECASE)


def negated(sentence: str) -> str | None:
    """Return a sentence with "not" after its first auxiliary, or without it if it is there.

    None if there is no auxiliary, another clause before it, or another negation.
    """
    words = sentence.split()
    position = _first_auxiliary(words)
    if position is None:
        return None
    before, after = words[:position], words[position + 1 :]
    if after[0].lower() == "not":
        return " ".join([*before, words[position], *after[1:]]) if len(after) > 1 else None
    verb = ["cannot"] if words[position] == "can" else [words[position], "not"]
    return " ".join([*before, *verb, *after])


def denied(sentence: str) -> str | None:
    """Return "It is not true that ..." for four or more words; None for a question."""
    words = sentence.split()
    first = words[0].lower() if words else ""
    if len(words) < _LEAST_DENIED or "?" in sentence or first.strip(",") in _LEANING:
        return None
    start = first if first in _LOWERED else words[0]
    return " ".join(["It is not true that", start, *words[1:]])


def as_question(claim: str) -> str | None:
    """Return the question that a claim answers with yes; None if it has a second verb."""
    words = _HOUSE.sub("We should ", " ".join(claim.split()).rstrip(".! ")).split()
    position = _first_auxiliary(words)
    if position is None or words[position + 1].lower() == "not":
        return None
    behind = {word.lower() for word in words[position + 1 :]}
    if not (_AUXILIARIES | _OTHER_CLAUSE | _JOINS).isdisjoint(behind):
        return None
    if _MARKS.search(" ".join(words)):
        return None
    first = words[0].lower() if words[0].lower() in _LOWERED else words[0]
    return (
        " ".join([words[position].title(), first, *words[1:position], *words[position + 1 :]]) + "?"
    )


def _first_auxiliary(words: list[str]) -> int | None:
    """Return the position of a sentence's first auxiliary, in its main clause; None if unclear."""
    low = [word.lower().strip(".,;:!?") for word in words]
    position = next((at for at, word in enumerate(low) if word in _AUXILIARIES), 0)
    if not 0 < position < len(words) - 1 or low[position - 1] in _NOT_BEFORE:
        return None
    subject = low[:position]
    if not _OTHER_CLAUSE.isdisjoint(subject) or _MARKS.search(" ".join(words[:position])):
        return None
    negations = [at for at, word in enumerate(low) if word in _NEGATIONS or _NOT.search(word)]
    return position if negations in ([], [position + 1]) else None
